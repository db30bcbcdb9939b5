"""A site with all flaws, and one without any."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from sitemap_harvest.audit import RULES
from sitemap_harvest.model import CATALOGUE
from tests.audit import clean_site, flawed_site
from tests.audit.web import WebInMemory, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.audit.web import Web

pytestmark = pytest.mark.thorough


OF_PAGES = {name for name in RULES if name.startswith("page/")}


def findings(
    folder: Path, web: Callable[[int, datetime], Web], *arguments: str, runs: int, slow: Any = (), options: Any = None
) -> tuple[list[dict[str, Any]], str]:
    """Return the findings of the last of several *runs* over *web*, and the words of the audit."""
    settings = {"RETRY_TIMES": 0, "SITEMAP_HARVEST_AUDIT": options or {}}
    arguments = (*arguments, "-a", f"store={folder / 's'}")
    with WebInMemory() as served:
        served.slow = dict(slow)
        for number in range(1, runs):
            served.web = web(number, datetime.now(UTC))
            run(served, folder, "crawl", *arguments, "-a", "emit=none", **settings)
        served.web = web(runs, datetime.now(UTC))
        words = run(served, folder, "audit", *arguments, "-O", "findings.jsonl", **settings)
    return [json.loads(line) for line in (folder / "findings.jsonl").read_text().splitlines()], words


def test_every_rule_finds_its_flaw_in_the_flawed_site(tmp_path: Path) -> None:
    site = flawed_site
    found, _ = findings(tmp_path, site.web, *site.SITES, runs=site.RUNS, slow=site.SLOW, options=site.OPTIONS)
    assert {finding["rule"] for finding in found} - (CATALOGUE.keys() - RULES.keys()) == RULES.keys() - OF_PAGES


def test_no_rule_finds_a_flaw_in_the_clean_site(tmp_path: Path) -> None:
    found, words = findings(tmp_path, clean_site.web, clean_site.SITE, runs=clean_site.RUNS)
    assert found == []
    assert f"rules passed: {len(RULES) - len(OF_PAGES)}, not checked: {len(OF_PAGES)}" in words
