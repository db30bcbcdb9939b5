"""The report as an Excel workbook, read by another library."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import openpyxl
import pytest
from openpyxl.utils.escape import unescape

from sitemap_harvest import workbook
from sitemap_harvest.audit.explanation import explanation_of
from sitemap_harvest.audit.report import xlsx
from sitemap_harvest.model import Severity
from tests.audit.reporting import SITE, SITEMAP, audited, finding, sample


def sheets(*audits: Any) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of each sheet of the workbook of *audits*."""
    book = openpyxl.load_workbook(BytesIO(xlsx.render_xlsx(audits)))
    assert all(cell.data_type in "sn" and cell.hyperlink is None for sheet in book for row in sheet for cell in row)
    return {sheet.title: list(sheet.iter_rows(values_only=True)) for sheet in book}


def test_the_sheets() -> None:
    found = finding("loc/relative", count=7, share=0.5, samples=(sample("/a", position=3), sample(value="v", line=2)))
    mild = finding("url/fragment", Severity.NOTICE, sitemap=None, threshold=2.0)
    assert sheets(audited(mild, found, change_flapping="there is one run")) == {
        "summary": [
            ("site", "run", "URLs", "documents", "not read", "pending removals", "errors", "warnings", "notices",
             "passed", "not checked"),
            (SITE, "20260309T060000Z-000000", 3, 1, 0, 0, 1, 0, 0, 0, 1),
        ],
        "findings": [
            ("severity", "rule", "document", "count", "share", "threshold", "message", "fix", "site"),
            ("error", "loc/relative", SITEMAP, 7, 0.5, None, "the message",
             "Write the full URL, with https:// and the host.", SITE),
            ("notice", "url/fragment", None, 1, None, 2, "the message",
             explanation_of("url/fragment").fix, SITE),
        ],
        "samples": [
            ("severity", "rule", "document", "URL", "position", "line", "value", "site"),
            ("error", "loc/relative", SITEMAP, "/a", 3, None, None, SITE),
            ("error", "loc/relative", SITEMAP, None, None, 2, "v", SITE),
        ],
        "not checked": [("rule", "reason", "site"), ("change/flapping", "there is one run", SITE)],
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("=cmd|' /C calc'!A0", id="formula"),
        pytest.param("{=1+1}", id="array-formula"),
        pytest.param("https://www.example.com/", id="url"),
        pytest.param("12", id="number"),
        pytest.param("_x0041_", id="escape"),
        pytest.param(" a\tb ", id="blanks"),
    ],
)
def test_text_is_only_text(text: str) -> None:
    _, row = sheets(audited(finding("url/fragment", samples=(sample(text),))))["samples"]
    assert unescape(row[3]) == text


def test_what_a_cell_cannot_contain_is_replaced_or_cut() -> None:
    text = "\x00\ufffe" + "x" * 40_000
    _, row = sheets(audited(finding("url/fragment", samples=(sample(text),))))["samples"]
    assert row[3] == "\ufffd\ufffd" + "x" * 32_764 + "…"


def test_findings_that_the_audit_has_left_out_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbook, "_MOST_ROWS", 801)
    found = sheets(audited(*(finding("url/fragment", samples=(sample("a"),) * 2) for _ in range(1_010))))
    assert {name: len(rows) for name, rows in found.items()} == {
        "summary": 3, "findings": 801, "findings 2": 201, "samples": 801, "samples 2": 801, "samples 3": 401,
        "not checked": 1,
    }  # fmt: skip
    assert found["summary"][2][0] == "10 more findings are not in this file. Use -O to save all findings."
