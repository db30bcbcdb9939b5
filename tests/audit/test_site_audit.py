"""The result of a site's audit."""

from __future__ import annotations

from collections import Counter

import pytest

from sitemap_harvest.audit.site_audit import RuleTotal
from sitemap_harvest.model import Finding, Severity


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
