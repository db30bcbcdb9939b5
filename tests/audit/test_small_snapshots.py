"""A small snapshot is audited with fewer and simpler queries, which change no result."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from sitemap_harvest.audit import RULES, RuleOptions, dataset
from sitemap_harvest.audit.audit import Audit
from sitemap_harvest.model import Severity
from tests.audit import flawed_site
from tests.audit.auditing import SITE, audit_of_web
from tests.snapshots.store.making import Making

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.run import Web

rule_module = import_module("sitemap_harvest.audit.rule")  # the package has a function of this name
NOW = datetime.now(UTC)


def flawed_web(run: int) -> Web:
    """Return what the flawed site serves in a run of the engine."""
    answers = flawed_site.web(run, NOW - timedelta(minutes=1)).items()
    return {url: body if status == 200 else status or None for url, (status, _, body) in answers}


def results(audit: Audit, monkeypatch: pytest.MonkeyPatch, *, with_shortcuts: bool) -> list[Any]:
    """Return all that *audit* finds."""
    with monkeypatch.context() as patch:
        if not with_shortcuts:
            patch.setattr(dataset, "_TINY", 0)
            patch.setattr(rule_module, "_SOURCES", {})
        again = Audit(audit._snapshot, audit._history)
        found = [*again.findings()]
    return [found, again.checked, again.trust, again.named_at, again.summary()]


def test_shortcuts_change_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audit = audit_of_web(tmp_path, *map(flawed_web, range(1, 4)), site=flawed_site.SITE)
    found = results(audit, monkeypatch, with_shortcuts=True)
    assert found == results(audit, monkeypatch, with_shortcuts=False)
    assert {one.rule.partition("/")[0] for one in found[0]} > rule_module._SOURCES.keys()


def test_rules_about_a_subject_find_nothing_without_its_rows(tmp_path: Path) -> None:
    audit = audit_of_web(tmp_path, flawed_web(1), site=flawed_site.SITE)
    with audit, audit._loaded() as loaded:
        for source in rule_module._SOURCES.values():
            loaded._connection.execute(f"alter view {source} rename to full_{source}")
            loaded._connection.execute(f"create view {source} as from full_{source} where false")
        of_subjects = [rule for rule in RULES.values() if rule.source is not None]
        assert len(of_subjects) > 20
        assert [rule.id for rule in of_subjects if loaded.rows(rule.query(**rule.thresholds))] == []


def test_a_rule_of_a_user_has_no_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_module, "RULES", {})

    @rule_module.rule("image/shop", Severity.NOTICE, "{urls} without images")
    def without_images() -> str:
        return "select sitemap, loc from urls"

    assert rule_module.RULES["image/shop"].source is None
    assert RULES["image/missing-required"].source == "images"


@pytest.mark.parametrize("query", ["select 'x' as count from urls where false", "select 1 as other from urls"])
def test_an_invalid_rule_that_finds_nothing_is_reported(tmp_path: Path, query: str) -> None:
    making = Making(tmp_path)
    snapshot = making.run({f"{SITE}/s.xml": [f"{SITE}/1"]})
    wrong = rule_module.AuditRule(id="shop/wrong", severity=Severity.NOTICE, message="", query=lambda: query)
    for _ in range(2):  # queries that were found valid are remembered
        audit = Audit(snapshot, making.store.history(SITE), {"x/y": RuleOptions()}, rules=[wrong])
        assert [*audit.findings()] == []
        (unchecked,) = audit.summary().not_checked
        assert unchecked.reason.startswith("the rule failed: ")
