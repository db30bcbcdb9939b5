"""The report as JUnit XML."""

from __future__ import annotations

from lxml import etree

from sitemap_harvest.audit.report.junit import render_junit
from sitemap_harvest.model import Severity
from tests.audit.reporting import NASTY, SITE, audited, finding, sample

COUNTS = {"name", "tests", "failures", "errors", "time"}
ALLOWED = {
    "testsuites": ({"testsuite"}, COUNTS),
    "testsuite": ({"testcase", "properties", "system-out"}, COUNTS | {"skipped", "timestamp", "hostname", "id"}),
    "testcase": ({"skipped", "error", "failure", "system-out"}, {"name", "time", "classname"}),
    "failure": (set(), {"type", "message"}),
    "skipped": (set(), {"type", "message"}),
    "system-out": (set(), set()),
}
"""The children and attributes of each element."""


def test_each_rule_is_a_test_case() -> None:
    audit = audited(
        finding("sitemap/empty", samples=(sample(f"{SITE}/a", position=3, value="v"), sample(line=7))),
        finding("url/fragment", Severity.WARNING, sitemap=None, samples=(sample(f"{SITE}/b", position=2),)),
        checked=["sitemap/empty", "url/fragment", "url/unescaped"],
        change_flapping="there is no earlier run of the site",
    )
    assert (
        render_junit([audit]).decode()
        == """\
<?xml version='1.0' encoding='UTF-8'?>
<testsuites name="sitemap_harvest" tests="4" failures="1" errors="0" time="0">
  <testsuite name="https://www.example.com" tests="4" failures="1" errors="0" skipped="1" time="0">
    <testcase classname="https://www_example_com.sitemap" name="sitemap/empty" time="0">
      <failure type="error" message="the message">error: https://www.example.com/sitemap.xml: the message
  https://www.example.com/a v (entry 3)
  (line 7)</failure>
    </testcase>
    <testcase classname="https://www_example_com.url" name="url/fragment" time="0">
      <system-out>warning: https://www.example.com: the message
  https://www.example.com/b (entry 2 of https://www.example.com/sitemap.xml)</system-out>
    </testcase>
    <testcase classname="https://www_example_com.url" name="url/unescaped" time="0"/>
    <testcase classname="https://www_example_com.change" name="change/flapping" time="0">
      <skipped message="there is no earlier run of the site"/>
    </testcase>
  </testsuite>
</testsuites>
"""
    )


def test_the_report_has_only_what_the_schema_of_jenkins_allows() -> None:
    audit = audited(finding("sitemap/empty"), finding("url/fragment", Severity.NOTICE), change_flapping="no")
    for element in etree.fromstring(render_junit([audit, audited()])).iter():
        children, attributes = ALLOWED[element.tag]
        assert {child.tag for child in element} <= children
        assert {*element.keys()} <= attributes


def test_fail_on_decides_what_fails() -> None:
    audit = audited(finding("url/fragment", Severity.WARNING), finding("priority/ignored", Severity.NOTICE))
    for severity, failures in ((Severity.ERROR, "0"), (Severity.WARNING, "1"), (Severity.NOTICE, "2")):
        audit.fail_on = severity
        assert etree.fromstring(render_junit([audit])).get("failures") == failures


def test_a_failure_has_only_the_findings_that_fail() -> None:
    audit = audited(
        finding("lastmod/missing", Severity.NOTICE, message="mild"),
        finding("lastmod/missing", Severity.WARNING, message="bad"),
        finding("lastmod/missing", Severity.ERROR, message="worse"),
    )
    audit.fail_on = Severity.WARNING
    (failure, output) = etree.fromstring(render_junit([audit])).iter("failure", "system-out")
    assert dict(failure.attrib) == {"type": "error", "message": "worse (and 1 more finding)"}
    lines = [f"{severity}: {SITE}/sitemap.xml: {text}" for severity, text in (("error", "worse"), ("warning", "bad"))]
    assert failure.text.splitlines() == lines
    assert output.text == f"notice: {SITE}/sitemap.xml: mild"


def test_many_findings_are_cut_short_but_counted() -> None:
    mild = [finding("url/fragment", Severity.NOTICE) for _ in range(1_001)]
    bad = [finding("url/fragment", message="bad") for _ in range(1_001)]
    (case,) = etree.fromstring(render_junit([audited(*mild, *bad)])).iter("testcase")
    failure, output = case
    assert failure.get("message") == "bad (and 1,000 more findings)"
    assert failure.text.splitlines()[50:] == output.text.splitlines()[50:] == ["and 951 more findings"]


def test_codes_of_problems_that_were_not_found_are_no_test_cases() -> None:
    audit = audited(finding("xml/truncated"), checked=["shop/own-rule", "url/fragment", "xml/junk-after"])
    (cases,) = [[case.get("name") for case in suite] for suite in etree.fromstring(render_junit([audit]))]
    assert cases == ["shop/own-rule", "url/fragment", "xml/truncated"]


def test_text_of_the_site_is_no_markup() -> None:
    (failure,) = etree.fromstring(
        render_junit([audited(finding("url/fragment", message=NASTY, samples=(sample(NASTY),)))])
    ).iter("failure")
    shown = NASTY.replace("\x00", "\ufffd").replace("\x1b", "\ufffd").replace("\ufffe", "\ufffd")
    assert failure.get("message") == shown
    assert failure.text.splitlines()[1] == f"  {shown}"


def test_no_site_is_a_valid_report() -> None:
    assert etree.fromstring(render_junit([])).get("tests") == "0"
