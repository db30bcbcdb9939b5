"""The result of a site's audit."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from sitemap_harvest import open_store
from sitemap_harvest.audit.site_audit import RuleTotal
from sitemap_harvest.diff import compare
from sitemap_harvest.model import Finding, Severity
from tests.audit.auditing import SITE, audit_of_web
from tests.site import index, urlset

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.run import Web


@pytest.mark.quick
def test_a_rule_shows_its_first_finding_of_the_highest_severity() -> None:
    severities = (Severity.NOTICE, Severity.WARNING, Severity.WARNING, Severity.NOTICE)
    findings = [
        Finding(
            site="https://a.example",
            run="r",
            rule="lastmod/missing",
            severity=severity,
            sitemap=None if number == 3 else f"https://a.example/{number}.xml",
            count=10,
            message="URLs without lastmod",
        )
        for number, severity in enumerate(severities)
    ]
    total = RuleTotal(first=findings[0])
    for finding in findings:
        total.add(finding)
    assert total == RuleTotal(first=findings[1], findings_by_severity=Counter(severities), count=40, documents=3)
    assert (total.severity, total.findings) == (Severity.WARNING, 4)


NAMES = [f"{SITE}/{name}" for name in ("robots.txt", "index.xml", "a.xml", "b.xml", "sitemap.xml")]
ROBOTS, INDEX, A, B, FOUND = NAMES
WEB: Web = {
    ROBOTS: f"Sitemap: {INDEX}".encode(),
    INDEX: index(A, B).encode(),
    A: urlset(f"{SITE}/1").encode(),
    B: urlset(f"{SITE}/2").encode(),
}


@pytest.mark.parametrize(
    ("webs", "arguments", "unread"),
    [
        pytest.param([WEB], {}, 0, id="all-was-read"),
        pytest.param([dict.fromkeys(NAMES, 503)], {}, 1, id="no-response"),
        pytest.param([WEB, dict.fromkeys(NAMES, 503)], {}, 4, id="no-response-any-more"),
        pytest.param([{ROBOTS: 500, FOUND: WEB[A]}], {}, 1, id="only-robots-txt-fails"),
        pytest.param([{FOUND: WEB[A]}, {FOUND: 503}], {}, 1, id="found-by-probing-and-fails"),
        pytest.param([WEB, WEB | {A: B}], {}, 1, id="redirects-to-another-one"),
        pytest.param([WEB | {A: B}], {}, 0, id="always-redirected"),
        pytest.param([WEB, WEB | {A: 404}], {}, 1, id="absent"),
        pytest.param([WEB, WEB], {"skip": "a.xml"}, 0, id="skipped-by-a-filter"),
    ],
)
def test_the_audit_counts_the_same_documents_as_unread_as_a_comparison(
    webs: list[Web], arguments: dict[str, str], unread: int, tmp_path: Path
) -> None:
    audit = audit_of_web(tmp_path, *webs, rules=[], site=SITE, **arguments)
    assert list(audit.findings()) == []
    (history,) = open_store(str(tmp_path)).histories()
    with compare(None, history.at("latest")) as found:
        assert (audit.summary().unread, found.summary.unread) == (unread, unread)
    assert history.at("latest").run.complete is (unread == 0 and not arguments)
