"""Renders the audit as JUnit XML, as Jenkins and GitLab read it: a suite for each site, a test case for each rule.

A rule fails if one of its findings is at least as severe as ``--fail-on`` says. A rule
that was not checked is skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml import etree

from sitemap_harvest.export import without_forbidden

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sitemap_harvest.audit.site_audit import SiteAudit
    from sitemap_harvest.model import Finding

_MOST_FINDINGS = 50  # of a rule in its test case; the totals are exact


def render_junit(audits: Sequence[SiteAudit]) -> bytes:
    """Return the test suites of *audits*."""
    suites = etree.Element("testsuites", name="sitemap_harvest")
    for audit in audits:
        suites.append(_suite(audit))
    _count(suites, "tests", "failures", "errors")
    data: bytes = etree.tostring(suites, xml_declaration=True, encoding="UTF-8", pretty_print=True)
    return data


def _suite(audit: SiteAudit) -> etree._Element:
    suite = etree.Element("testsuite", name=without_forbidden(audit.summary.site))
    reasons = {one.rule: one.reason for one in audit.summary.not_checked}
    found: dict[str, list[Finding]] = {}
    for finding in audit.findings:
        found.setdefault(finding.rule, []).append(finding)
    for rule in dict.fromkeys([*audit.checked, *reasons, *found]):
        case = etree.SubElement(suite, "testcase", classname=_class_name(audit.summary.site, rule), name=rule, time="0")
        if findings := found.get(rule):
            _add_findings(case, findings, audit)
        elif rule in reasons:
            etree.SubElement(case, "skipped", message=without_forbidden(reasons[rule]))
    _count(suite, "tests", "failures", "errors", "skipped")
    return suite


def _class_name(site: str, rule: str) -> str:
    """Return the name of a class: the part before its only dot is the package."""
    return f"{without_forbidden(site).replace('.', '_')}.{rule.partition('/')[0]}"


def _add_findings(case: etree._Element, findings: list[Finding], audit: SiteAudit) -> None:
    """Add *findings*, those of one rule, to its test *case*: as its failure, or as its output if they may pass."""
    rule = findings[0].rule
    severity, total = audit.rules[rule].severity, audit.rules[rule].findings
    lines = [line for finding in findings[:_MOST_FINDINGS] for line in _lines(finding)]
    if (left_out := total - len(findings[:_MOST_FINDINGS])) > 0:
        lines.append(f"and {left_out:,} more findings")
    text = without_forbidden("\n".join(lines))
    if severity.rank <= audit.fail_on.rank:
        more = f" (and {total - 1:,} more findings)" if total > 1 else ""
        message = without_forbidden(findings[0].message + more)
        etree.SubElement(case, "failure", type=str(severity), message=message).text = text
    else:
        etree.SubElement(case, "system-out").text = text


def _lines(finding: Finding) -> Iterator[str]:
    yield f"{finding.severity}: {finding.sitemap or finding.site}: {finding.message}"
    for sample in finding.samples:
        places = [("entry", sample.position), ("line", sample.line)]
        where = ", ".join(f"{name} {number}" for name, number in places if number is not None)
        parts = [sample.loc, sample.value, where and f"({where})"]
        yield f"  {' '.join(part for part in parts if part)}"


def _count(suite: etree._Element, *names: str) -> None:
    """Set the counts *names*, which the schema allows here."""
    elements = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for name in names:
        suite.set(name, str(sum(1 for _ in suite.iter(elements[name]))))
    suite.set("time", "0")
