"""Each report says of a rule that found something in a part of the site that the other part was not checked."""

from __future__ import annotations

import json
from io import BytesIO
from typing import TYPE_CHECKING

import openpyxl
import pytest
from lxml import html

from sitemap_harvest.audit.report.html import HtmlReport
from sitemap_harvest.audit.report.markdown import render_markdown
from sitemap_harvest.audit.report.sarif import render_sarif
from sitemap_harvest.audit.report.xlsx import render_xlsx
from tests.audit.reporting import audited, finding

if TYPE_CHECKING:
    from pathlib import Path

    from sitemap_harvest.audit.site_audit import SiteAudit


@pytest.fixture
def audit() -> SiteAudit:
    """The audit of a site whose rule ``url/robots-disallowed`` was checked for one of two hosts."""
    reasons = {"url_robots-disallowed": "a host is unknown", "change_flapping": "there is one run"}
    return audited(finding("url/robots-disallowed"), **reasons)


def test_the_summary_counts_each_rule_once(audit: SiteAudit) -> None:
    assert audit.summary.not_checked_by_reason == {"there is one run": ["change/flapping"]}
    assert audit.summary.partly_checked_by_reason == {"a host is unknown": ["url/robots-disallowed"]}
    assert audit.summary.in_words().endswith("; rules passed: 0, not checked: 1, checked in part: 1")


def test_the_page_says_so(audit: SiteAudit, tmp_path: Path) -> None:
    report = HtmlReport(tmp_path / "a.html")
    report.add(audit)
    report.close()
    page = html.document_fromstring((tmp_path / "a.html").read_bytes().decode())
    (section,) = page.cssselect("#not-checked")
    assert " ".join(" ".join(section.itertext()).split()) == (
        "Not checked These rules neither passed nor failed, because something was missing: "
        "There is one run change/flapping "
        "These rules found something, but were checked only in part: A host is unknown url/robots-disallowed"
    )
    (tile,) = page.cssselect(".tiles a[href='#not-checked']")
    assert " ".join(" ".join(tile.itertext()).split()) == "1 rule not checked, 1 only in part"


def test_the_files_say_so(audit: SiteAudit) -> None:
    assert "- `only in part: a host is unknown`: `url/robots-disallowed`" in render_markdown([audit]).decode()
    (run,) = json.loads(render_sarif([audit]))["runs"]
    assert [one["message"]["text"] for one in run["invocations"][0]["toolExecutionNotifications"]] == [
        "url/robots-disallowed was checked only in part, because a host is unknown",
        "change/flapping was not checked, because there is one run",
    ]
    book = openpyxl.load_workbook(BytesIO(render_xlsx([audit])))
    assert [row[:2] for row in book["not checked"].iter_rows(min_row=2, values_only=True)] == [
        ("url/robots-disallowed", "only in part: a host is unknown"),
        ("change/flapping", "there is one run"),
    ]
    assert [row[-1] for row in book["summary"].iter_rows(values_only=True)] == ["not checked", 1]
