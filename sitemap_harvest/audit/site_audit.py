"""``SiteAudit``: the audit of one site with its findings, as the reports show it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sitemap_harvest.audit.score import score
from sitemap_harvest.model import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sitemap_harvest.audit.audit import Audit
    from sitemap_harvest.audit.facts import SiteFacts
    from sitemap_harvest.model import AuditSummary, Finding
    from sitemap_harvest.snapshots.store import Run

_FINDINGS_OF_SEVERITY = 1_000  # of a rule: a site may have more sitemaps, each with a finding of the same rule


def _no_file(_url: str) -> None:
    """Nothing was read from a file."""


@dataclass(slots=True, kw_only=True)
class RuleTotal:
    """What one rule found in the whole site."""

    first: Finding
    """The first finding of the highest severity."""
    findings_by_severity: Counter[Severity] = field(default_factory=Counter)
    """Findings, including those that :attr:`SiteAudit.findings` leaves out."""
    count: int = 0
    """Occurrences in all of them."""
    documents: int = 0
    """Findings about a document; the others are about the site."""

    @property
    def severity(self) -> Severity:
        """The highest of its findings."""
        return self.first.severity

    def add(self, finding: Finding) -> None:
        """Count *finding*."""
        self.findings_by_severity[finding.severity] += 1
        self.count += finding.count
        self.documents += finding.sitemap is not None
        if finding.severity.rank < self.severity.rank:
            self.first = finding

    @property
    def findings(self) -> int:
        """Number of findings of all severities."""
        return self.findings_by_severity.total()


@dataclass(slots=True, kw_only=True)
class SiteAudit:
    """The result of the audit of one site: its summary, and the findings in bounded memory."""

    summary: AuditSummary = field(init=False)
    """Set when all findings were read."""
    run: Run = field(init=False)
    """The run of the snapshot; set with the summary."""
    findings: list[Finding] = field(default_factory=list)
    """The findings, of each severity of a rule the first 1,000."""
    rules: dict[str, RuleTotal] = field(default_factory=dict)
    """The rules that found something, by id."""
    facts: SiteFacts | None = None
    """What the HTML report shows beside the findings; ``None`` without such a report."""
    before: SiteAudit | None = None
    """The audit of the previous snapshot, or of the baseline, with the same rules; ``None`` if there is none, or
    without an HTML report."""
    has_baseline: bool = False
    """Whether :attr:`before`, and the changes in :attr:`facts`, are relative to a snapshot that the user named."""
    checked: tuple[str, ...] = ()
    """IDs of the rules and the problem codes that were evaluated."""
    named_at: dict[str, tuple[str, int | None]] = field(default_factory=dict)
    """For documents that could not be read, by URL: the document that named each first, and its position there."""
    fail_on: Severity = Severity.ERROR
    """The lowest severity of the findings that fail the audit."""
    file_of: Callable[[str], Path | None] = _no_file
    """Returns the local file that the document at a URL was read from; ``None`` if it was not read from a file."""

    def collect(self, audit: Audit) -> Iterator[Finding]:
        """Yield the findings of *audit*, and keep the result. Raises :exc:`StoreError`."""
        for finding in audit.findings():
            self._add(finding)
            yield finding
        self.summary, self.facts, self.checked = audit.summary(), audit.facts, tuple(audit.checked)
        self.run, self.named_at = audit.run, audit.named_at

    @property
    def score(self) -> int | None:
        """The score of the site; ``None`` if no URL was read."""
        if not self.summary.urls:
            return None
        return score(total.severity for total in self.rules.values())

    def _add(self, finding: Finding) -> None:
        total = self.rules.setdefault(finding.rule, RuleTotal(first=finding))
        total.add(finding)
        if total.findings_by_severity[finding.severity] <= _FINDINGS_OF_SEVERITY:
            self.findings.append(finding)
