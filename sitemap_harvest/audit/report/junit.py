"""Renders the audit as JUnit XML, as Jenkins and GitLab read it: a suite for each site, a test case for each rule.

A rule fails if one of its findings is at least as severe as ``--fail-on`` says. A rule
that was not checked is skipped. Of the problem codes, only those that were found are
test cases, so that the counts are those of the summary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml import etree

from sitemap_harvest.audit.rule import RULES
from sitemap_harvest.export import without_forbidden
from sitemap_harvest.model import CATALOGUE, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sitemap_harvest.audit.site_audit import SiteAudit
    from sitemap_harvest.model import Finding

_MOST_FINDINGS = 50  # of a rule in its test case; the totals are exact


def render_junit(audits: Sequence[SiteAudit]) -> bytes:
    """Return the test suites of *audits*."""
    totals = etree.Element("testsuites", name="sitemap_harvest", tests="0", failures="0", errors="0", time="0")
    texts = []  # which need far less memory than elements
    for audit in audits:
        suite = _suite(audit)
        for name in ("tests", "failures"):
            totals.set(name, str(int(totals.get(name, "0")) + int(suite.get(name, "0"))))
        etree.indent(suite, level=1)
        texts.append(b"\n  " + etree.tostring(suite, encoding="UTF-8", xml_declaration=False))
    totals.text = "\n"
    begin, end = etree.tostring(totals, encoding="UTF-8", xml_declaration=True).rsplit(b"\n", 1)
    return b"".join([begin, *texts, b"\n", end, b"\n"])


def _suite(audit: SiteAudit) -> etree._Element:
    suite = etree.Element("testsuite", name=without_forbidden(audit.summary.site))
    reasons = {one.rule: one.reason for one in audit.summary.not_checked}
    found: dict[str, list[Finding]] = {}
    for finding in audit.findings:
        found.setdefault(finding.rule, []).append(finding)
    checked = (rule for rule in audit.checked if rule in RULES or rule not in CATALOGUE)
    for rule in dict.fromkeys([*checked, *reasons, *found]):
        case = etree.SubElement(suite, "testcase", classname=_class_name(audit.summary.site, rule), name=rule, time="0")
        if findings := found.get(rule):
            _add_findings(case, findings, audit)
        elif rule in reasons:
            etree.SubElement(case, "skipped", message=without_forbidden(reasons[rule]))
    for name, element in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(sum(1 for _ in suite.iter(element))))
    suite.set("time", "0")
    return suite


def _class_name(site: str, rule: str) -> str:
    """Return the name of a class: the part before its only dot is the package."""
    return f"{without_forbidden(site).replace('.', '_')}.{rule.partition('/')[0]}"


def _add_findings(case: etree._Element, findings: list[Finding], audit: SiteAudit) -> None:
    """Add *findings*, those of one rule, to its test *case*: as its failure, or as its output if they may pass."""
    by_severity = audit.rules[findings[0].rule].findings_by_severity
    fails = {severity: severity.rank <= audit.fail_on.rank for severity in by_severity}
    for is_failure, name in ((True, "failure"), (False, "system-out")):
        some = [finding for finding in findings if fails[finding.severity] is is_failure]
        if not some:
            continue
        some.sort(key=lambda finding: finding.severity.rank)
        total = sum(count for severity, count in by_severity.items() if fails[severity] is is_failure)
        element = etree.SubElement(case, name)
        if is_failure:
            more = f" (and {counted(total - 1, 'more finding')})" if total > 1 else ""
            element.set("type", str(some[0].severity))
            element.set("message", without_forbidden(some[0].message + more))
        lines = [line for finding in some[:_MOST_FINDINGS] for line in _lines(finding)]
        if (left_out := total - len(some[:_MOST_FINDINGS])) > 0:
            lines.append(f"and {counted(left_out, 'more finding')}")
        element.text = without_forbidden("\n".join(lines))


def _lines(finding: Finding) -> Iterator[str]:
    yield f"{finding.severity}: {finding.sitemap or finding.site}: {finding.message}"
    for sample in finding.samples:
        places = [("entry", sample.position), ("line", sample.line)]
        where = ", ".join(f"{name} {number}" for name, number in places if number is not None)
        if where and sample.sitemap and sample.sitemap != finding.sitemap:
            where += f" of {sample.sitemap}"
        parts = [sample.loc, sample.value, where and f"({where})"]
        yield f"  {' '.join(part for part in parts if part)}"
