"""Audits made by hand, for the tests of the reports."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, ClassVar

from sitemap_harvest.audit.site_audit import SiteAudit
from sitemap_harvest.model import AuditSummary, Finding, FindingSample, NotChecked, Severity
from sitemap_harvest.snapshots.store import Run

SITE = "https://www.example.com"
SITEMAP = f"{SITE}/sitemap.xml"
_BEGAN = datetime(2026, 3, 9, 6, tzinfo=UTC)
NASTY = (
    "https://www.example.com/a|b`c``d`<script>alert(1)</script>&amp;@admin #123 [x](http://evil) {0} \\ \x00\x1b\ufffe"
)
"""A URL that tries to be markup, a mention, a reference and a link, with characters that XML cannot contain."""


class FakeAudit:
    """What :meth:`SiteAudit.collect` reads of an audit."""

    facts = None
    named_at: ClassVar[dict[str, tuple[str, int | None]]] = {}

    def __init__(self, findings: list[Finding], checked: list[str], not_checked: list[NotChecked]) -> None:
        self._findings = findings
        self._not_checked = tuple(not_checked)
        self.checked = checked
        self.run = Run(id="20260309T060000Z-000000", started_at=_BEGAN, ended_at=_BEGAN)

    def findings(self) -> Any:
        return iter(self._findings)

    def summary(self) -> AuditSummary:
        return AuditSummary(
            site=SITE,
            run="20260309T060000Z-000000",
            urls=3,
            sitemaps=1,
            errors=sum(one.severity is Severity.ERROR for one in self._findings),
            rules=tuple(dict.fromkeys(one.rule for one in self._findings)),
            not_checked=self._not_checked,
        )


def finding(rule: str, severity: Severity = Severity.ERROR, **values: Any) -> Finding:
    """Return a finding of one occurrence; *values* are its other fields."""
    given = {"site": SITE, "run": "20260309T060000Z-000000", "sitemap": SITEMAP, "count": 1, "message": "the message"}
    return Finding(rule=rule, severity=severity, **(given | values))


def sample(loc: str | None = None, **values: Any) -> FindingSample:
    """Return a sample in the sitemap."""
    return FindingSample(loc=loc, **({"sitemap": SITEMAP} | values))


def audited(*findings: Finding, checked: list[str] | None = None, **not_checked: str) -> SiteAudit:
    """Return the audit with *findings*; *not_checked* has reasons by rule, with ``_`` for ``/``."""
    skipped = [NotChecked(rule=rule.replace("_", "/", 1), reason=reason) for rule, reason in not_checked.items()]
    site = SiteAudit()
    rules = checked or [one.rule for one in findings]
    assert list(site.collect(FakeAudit(list(findings), rules, skipped))) == list(findings)  # type: ignore[arg-type]
    return site
