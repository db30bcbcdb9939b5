"""No text of a site breaks a report, whatever it contains."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree, html
from markdown_it import MarkdownIt

from sitemap_harvest.audit.report.junit import render_junit
from sitemap_harvest.audit.report.markdown import render_markdown
from sitemap_harvest.audit.report.sarif import render_sarif
from sitemap_harvest.escape import visible
from tests.audit.reporting import SITEMAP, audited, finding, sample

MARKUP = st.text(st.sampled_from("`|\\<>&[]()!*_~#@-+.:/ \n\r\t\x00\u2028ab{}1\"'"), min_size=1, max_size=40)
TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40) | MARKUP


@given(TEXTS)
def test_every_text_is_shown_as_code(text: str) -> None:
    audit = audited(finding("url/fragment", sitemap=f"{SITEMAP}?{text}", message=text, samples=(sample(text),) * 2))
    page = html.fromstring(MarkdownIt("gfm-like", {"linkify": False}).render(render_markdown([audit]).decode()))
    shown = [code.text_content() for code in page.iter("code")]
    expected = visible(text)
    if expected.strip(" "):  # of spaces alone, it is enough that they do no harm
        assert shown.count(expected) >= 2  # in the table, and in the list
    assert not [code for code in page.iter("code") if len(code)]
    assert not {"a", "img", "script", "em", "strong", "s", "del"} & {element.tag for element in page.iter()}


@given(TEXTS)
def test_every_text_is_in_well_formed_xml(text: str) -> None:
    audit = audited(finding("url/fragment", message=text, samples=(sample(text, value=text),)))
    (failure,) = etree.fromstring(render_junit([audit])).iter("failure")
    assert len(failure) == 0
    assert failure.text.startswith(f"error: {SITEMAP}: ")


@given(TEXTS)
def test_every_text_is_in_one_message(text: str) -> None:
    audit = audited(finding("url/fragment", message="m", sitemap=text, samples=(sample(text, sitemap=None),)))
    (result,) = json.loads(render_sarif([audit]))["runs"][0]["results"]
    shown = result["message"]["text"].removeprefix("m: ").replace("{{", "{").replace("}}", "}")
    for character in "[]\\":
        shown = shown.replace(f"\\{character}", character)
    assert shown == visible(text) or text in "m"
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.isascii()
    assert not set(uri) & set(' "<>\\^`{|}\x7f')
