"""Renders the audit as an Excel workbook. Text is only ever text: neither a formula nor a link."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

import xlsxwriter

from sitemap_harvest.audit.explanation import explanation_of
from sitemap_harvest.export import without_forbidden

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet

    from sitemap_harvest.audit.site_audit import SiteAudit

_MOST_ROWS = 1_048_576  # of a sheet
_MOST_CHARS = 32_767  # of a cell
_SUMMARY = {
    "site": 40, "run": 26, "URLs": 12, "documents": 12, "not read": 10, "errors": 10, "warnings": 10, "notices": 10,
    "passed": 10, "not checked": 12,
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
    """Return the workbook with the summary, the findings and the samples of *audits*."""
    file = BytesIO()
    with xlsxwriter.Workbook(file, {"constant_memory": True}) as workbook:  # rows wait in temporary files
        bold = workbook.add_format({"bold": True})
        sheets = [workbook.add_worksheet(name) for name in ("summary", "findings", "samples", "not checked")]
        findings = [(finding, audit) for audit in audits for finding in audit.findings]
        findings.sort(key=lambda pair: pair[0].severity.rank)
        left_out = sum(total.findings for audit in audits for total in audit.rules.values()) - len(findings)
        left_out += _write(
            sheets[1],
            _FINDINGS,
            (
                (one.severity, one.rule, one.sitemap, one.count, one.share, one.threshold, one.message,
                 explanation_of(one.rule).fix, one.site)
                for one, _ in findings
            ),
            bold,
        )  # fmt: skip
        samples_left_out = _write(
            sheets[2],
            _SAMPLES,
            (
                (one.severity, one.rule, sample.sitemap or one.sitemap, sample.loc, sample.position, sample.line,
                 sample.value, one.site)
                for one, _ in findings
                for sample in one.samples
            ),
            bold,
        )  # fmt: skip
        _write(
            sheets[3],
            _NOT_CHECKED,
            (
                (
                    one.rule,
                    f"{'only in part: ' if one.rule in summary.partly_checked else ''}{one.reason}",
                    summary.site,
                )
                for summary in (audit.summary for audit in audits)
                for one in summary.not_checked
            ),
            bold,
        )
        notes = [
            f"{number:,} more {name}{' is' if number == 1 else 's are'} not in this file. Use -O to save all findings."
            for number, name in ((left_out, "finding"), (samples_left_out, "sample"))
            if number
        ]
        _write(sheets[0], _SUMMARY, [*map(_summary, audits), *([note] for note in notes)], bold)
    return file.getvalue()


def _summary(audit: SiteAudit) -> Sequence[Any]:
    one = audit.summary
    counts = (
        one.urls,
        one.sitemaps,
        one.unread,
        one.errors,
        one.warnings,
        one.notices,
        one.passed,
        len(one.not_checked) - len(one.partly_checked),
    )
    return (one.site, one.run, *counts)


def _write(sheet: Worksheet, columns: dict[str, int], rows: Iterable[Sequence[Any]], bold: Format) -> int:
    """Write *rows* below a head of *columns*, each with its width; return the number of rows that do not fit."""
    number = left_out = 0
    for column, (name, width) in enumerate(columns.items()):
        sheet.set_column(column, column, width)
        sheet.write_string(0, column, name, bold)
    for row in rows:
        if number + 1 >= _MOST_ROWS:
            left_out += 1
            continue
        number += 1
        for column, value in enumerate(row):
            if isinstance(value, str):
                sheet.write_string(number, column, without_forbidden(value)[:_MOST_CHARS])
            elif value is not None:
                sheet.write_number(number, column, value)
    sheet.freeze_panes(1, 0)
    sheet.autofilter(0, 0, number, len(columns) - 1)
    return left_out
