"""Renders the audit as an Excel workbook."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

from sitemap_harvest.audit.explanation import explanation_of
from sitemap_harvest.workbook import Workbook

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemap_harvest.audit.site_audit import SiteAudit

_SUMMARY = {
    "site": 40, "run": 26, "URLs": 12, "documents": 12, "not read": 10, "pending removals": 16, "errors": 10,
    "warnings": 10, "notices": 10, "passed": 10, "not checked": 12,
}  # fmt: skip
_FINDINGS = {
    "severity": 10, "rule": 30, "document": 60, "count": 10, "share": 10, "threshold": 10, "message": 60, "fix": 60,
    "site": 40,
}  # fmt: skip
_SAMPLES = {
    "severity": 10, "rule": 30, "document": 60, "URL": 60, "position": 10, "line": 10, "value": 60, "site": 40
}  # fmt: skip
_NOT_CHECKED = {"rule": 30, "reason": 60, "site": 40}


def render_xlsx(audits: Sequence[SiteAudit]) -> bytes:
    """Return the workbook with the summary, the findings and the samples of *audits*. Raises :exc:`OSError`."""
    file = BytesIO()
    book = Workbook(file)
    sheets = [
        book.sheet(name, columns)
        for name, columns in (
            ("summary", _SUMMARY),
            ("findings", _FINDINGS),
            ("samples", _SAMPLES),
            ("not checked", _NOT_CHECKED),
        )
    ]
    findings = [(finding, audit) for audit in audits for finding in audit.findings]
    findings.sort(key=lambda pair: pair[0].severity.rank)
    sheets[1].write(
        (one.severity, one.rule, one.sitemap, one.count, one.share, one.threshold, one.message,
         explanation_of(one.rule).fix, one.site)
        for one, _ in findings
    )  # fmt: skip
    sheets[2].write(
        (one.severity, one.rule, sample.sitemap or one.sitemap, sample.loc, sample.position, sample.line,
         sample.value, one.site)
        for one, _ in findings
        for sample in one.samples
    )  # fmt: skip
    sheets[3].write(
        (one.rule, f"{'only in part: ' if one.rule in summary.partly_checked else ''}{one.reason}", summary.site)
        for summary in (audit.summary for audit in audits)
        for one in summary.not_checked
    )
    sheets[0].write(map(_summary, audits))
    if left_out := sum(total.findings for audit in audits for total in audit.rules.values()) - len(findings):
        more = "1 more finding is" if left_out == 1 else f"{left_out:,} more findings are"
        sheets[0].write([[f"{more} not in this file. Use -O to save all findings."]])
    book.close()
    return file.getvalue()


def _summary(audit: SiteAudit) -> Sequence[Any]:
    one = audit.summary
    counts = (
        one.urls,
        one.sitemaps,
        one.unread,
        one.pending,
        one.errors,
        one.warnings,
        one.notices,
        one.passed,
        len(one.not_checked) - len(one.partly_checked),
    )
    return (one.site, one.run, *counts)
