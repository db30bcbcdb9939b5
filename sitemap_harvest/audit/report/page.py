"""``SitePage``: everything that the page of one site shows, apart from its form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from sitemap_harvest.audit.comparison import is_comparable, why_no_difference, why_not_compared
from sitemap_harvest.audit.explanation import explanation_of
from sitemap_harvest.audit.facts import LeftOut
from sitemap_harvest.dates import distinct_moments
from sitemap_harvest.model import SiteResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from sitemap_harvest.audit.explanation import Explanation
    from sitemap_harvest.audit.facts import DocumentFacts, RunFacts, SiteFacts
    from sitemap_harvest.audit.site_audit import RuleTotal, SiteAudit
    from sitemap_harvest.model import AuditSummary, Finding, Severity

_FINDINGS = 10  # of each rule
_FINDINGS_OF_PAGE = 700  # the most severe, and one of each other rule
_DETAILED = 2  # findings of each rule with all their samples


class AuditVerdict(StrEnum):
    """The result of an audit in one word."""

    FAILED = "failed"
    """No URL was read."""
    EMPTY = "empty"
    """All documents were read completely, and list no URL."""
    ERROR = "error"
    """The most severe finding is an error."""
    WARNING = "warning"
    NOTICE = "notice"
    PASSED = "passed"
    """Nothing was found."""


_HEADLINES = {
    AuditVerdict.FAILED: "No URLs could be read",
    AuditVerdict.EMPTY: "The sitemaps list no URLs",
    AuditVerdict.ERROR: "Needs fixing",
    AuditVerdict.WARNING: "Works, with flaws",
    AuditVerdict.NOTICE: "Good, could be better",
    AuditVerdict.PASSED: "No problems found",
}


class Trend(StrEnum):
    """How the findings of a rule differ from those of the previous run."""

    NEW = "new"
    MORE = "more"
    FEWER = "fewer"
    MOVED = "moved"
    """As many, but in other documents."""
    SAME = "same"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRow:
    """One rule that found something, in this run or in the previous one."""

    rule: str
    severity: Severity
    text: Explanation
    total: RuleTotal
    """Of this run; of the previous one if the findings are gone."""
    findings: Sequence[Finding] = ()
    """The first ten findings, or fewer on a large page; after the second, each has one sample."""
    trend: Trend | None = None
    """``None`` without a previous run, or if the rule was not checked then, or not in the same way."""
    before: int | None = None
    """Occurrences in the previous run; ``None`` without a trend."""
    new_in: frozenset[str | None] = frozenset()
    """The documents that had no finding of the rule in the previous run, if that is known."""
    gone_from: Sequence[str] = ()
    """The documents that have none any more, if that is known."""

    @property
    def documents(self) -> int | None:
        """Number of documents with a finding; ``None`` if the finding is about the site."""
        return None if self.findings and self.findings[0].sitemap is None else self.total.findings


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRow:
    """One row of the tree of documents."""

    level: int
    """1 for the roots of the tree."""
    document: DocumentFacts | None
    """``None`` if the row is about documents that are left out."""
    children: int = 0
    """Rows of the level below it."""
    left_out: LeftOut | None = None
    """The documents that the row is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePage:
    """What the page of one site shows."""

    site: str
    summary: AuditSummary
    verdict: AuditVerdict
    headline: str
    score: int | None
    """``None`` if no URL was read."""
    score_before: int | None
    """That of the previous run; ``None`` if there is none, or it cannot be compared."""
    not_compared: str | None
    """Why the score is not compared with that of the previous run; ``None`` if it is, or without such a run."""
    has_before: bool
    """Whether the findings are compared with those of a previous run."""
    baseline: datetime | None
    """When the run began that the user compares with; ``None``: the previous run."""
    rules: Sequence[RuleRow]
    """Errors first."""
    changed: Sequence[RuleRow]
    """The rules whose findings are new, gone, more or fewer, in that order."""
    tree: Sequence[TreeRow]
    facts: SiteFacts | None

    @property
    def url_rows(self) -> list[tuple[str, int | None]]:
        """The begin of each run, and the number of its URLs; ``None`` if they were not counted."""
        runs = () if self.facts is None else self.facts.runs
        return [(label, run.urls) for label, run in zip(_labels(runs), runs, strict=True)]

    @property
    def change_rows(self) -> list[tuple[str, int, int]]:
        """The begin of each run, and the numbers of URLs that were added and removed."""
        runs = () if self.facts is None else self.facts.runs
        counts = [(run.changes.get("added", 0), run.changes.get("removed", 0)) for run in runs]
        return [(label, *pair) for label, pair in zip(_labels(runs), counts, strict=True)]

    def count(self, severity: str) -> int:
        """Return the number of rules with findings of *severity*."""
        return sum(one.severity == severity for one in self.rules)


def _labels(runs: Sequence[RunFacts]) -> list[str]:
    moments = distinct_moments([run.started_at for run in runs])
    return [f"{at}{'' if run.complete else ' (incomplete)'}" for at, run in zip(moments, runs, strict=True)]


def page_of(audit: SiteAudit) -> SitePage:
    """Return the page of *audit*."""
    before, not_compared = audit.before, None
    baseline = before.run.started_at if before is not None and audit.has_baseline else None
    if before is not None and (not_compared := why_not_compared(audit, before)):
        before = None
    elif before is not None:
        not_compared = why_no_difference(audit, before)
    findings = _by_rule(audit)
    findings_before = {} if before is None else _by_rule(before)
    rules = sorted(
        (
            _row(name, total, findings[name], audit, before, findings_before.get(name, []))
            for name, total in audit.rules.items()
        ),
        key=lambda row: (row.severity.rank, -row.total.count, row.rule),
    )
    rules = list(_within_limits(rules))
    earlier = {} if before is None else before.rules
    gone = [
        (name, total)
        for name, total in earlier.items()
        if name not in audit.rules and before is not None and is_comparable(name, audit, before)
    ]
    changed = [row for row in rules if row.trend not in {None, Trend.SAME}]
    changed += [
        RuleRow(rule=name, severity=total.severity, text=explanation_of(name), total=total, trend=Trend.GONE)
        for name, total in gone
    ]
    order = list(Trend)
    verdict = _verdict(audit)
    return SitePage(
        site=audit.summary.site,
        summary=audit.summary,
        verdict=verdict,
        headline=_HEADLINES[verdict],
        score=audit.score,
        score_before=None if before is None or not_compared else before.score,
        not_compared=not_compared,
        has_before=before is not None,
        baseline=baseline,
        rules=rules,
        changed=sorted(changed, key=lambda row: (order.index(row.trend or Trend.SAME), row.severity.rank, row.rule)),
        tree=[] if audit.facts is None else list(_tree(audit.facts)),
        facts=audit.facts,
    )


def _verdict(audit: SiteAudit) -> AuditVerdict:
    if not audit.summary.urls:
        facts = audit.facts
        is_empty = facts is not None and facts.result == SiteResult.FOUND and facts.run.complete
        return AuditVerdict.EMPTY if is_empty else AuditVerdict.FAILED
    if not audit.rules:
        return AuditVerdict.PASSED
    return AuditVerdict(str(min((total.severity for total in audit.rules.values()), key=lambda one: one.rank)))


def _by_rule(audit: SiteAudit) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for finding in audit.findings:
        found.setdefault(finding.rule, []).append(finding)
    return found


def _row(
    name: str,
    total: RuleTotal,
    findings: Sequence[Finding],
    audit: SiteAudit,
    before: SiteAudit | None,
    findings_before: Sequence[Finding],
) -> RuleRow:
    row = RuleRow(rule=name, severity=total.severity, text=explanation_of(name), total=total, findings=findings)
    if before is None or not is_comparable(name, audit, before):
        return row
    if (earlier := before.rules.get(name)) is None:
        return replace(row, trend=Trend.NEW, before=0)
    new, gone = frozenset[str | None](), list[str]()
    if earlier.findings == len(findings_before) and total.findings == len(findings):  # none was left out
        now, then = ({one.sitemap for one in some} for some in (findings, findings_before))
        new, gone = frozenset(now - then), sorted(filter(None, then - now))
    trend = Trend.MORE if total.count > earlier.count else Trend.FEWER
    if total.count == earlier.count:
        trend = Trend.MOVED if new or gone else Trend.SAME
    return replace(row, trend=trend, before=earlier.count, new_in=new, gone_from=gone)


def _within_limits(rows: Sequence[RuleRow]) -> Iterator[RuleRow]:
    """Yield *rows*, the most severe first, with the findings and samples that the page has room for."""
    left = _FINDINGS_OF_PAGE
    for row in rows:
        few = row.findings[: min(_FINDINGS, max(left, 1))]
        left -= len(few)
        shown = [replace(one, samples=one.samples[: None if at < _DETAILED else 1]) for at, one in enumerate(few)]
        yield replace(row, findings=shown)


def _tree(facts: SiteFacts) -> Iterator[TreeRow]:
    """Yield the rows of the tree, each document before those that it names."""
    known = {one.url for one in facts.documents}
    children: dict[str | None, list[DocumentFacts | LeftOut]] = {}
    for one in facts.documents:
        is_child = one.parent in known and one.parent != one.url
        children.setdefault(one.parent if is_child else None, []).append(one)
    for parent, others in facts.left_out.items():
        children.setdefault(parent, []).append(others)
    waiting = [(1, one) for one in reversed(children.get(None, []))]
    while waiting:
        level, node = waiting.pop()
        if isinstance(node, LeftOut):
            yield TreeRow(level=level, document=None, left_out=node)
            continue
        below = children.pop(node.url, [])
        yield TreeRow(level=level, document=node, children=len(below))
        waiting += [(level + 1, child) for child in reversed(below)]
