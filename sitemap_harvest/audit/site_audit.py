"""``SiteAudit``: the audit of one site with its findings, as the reports show it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sitemap_harvest.model import AuditSummary, Finding

_FINDINGS_OF_RULE = 1_000  # a site may have more sitemaps than this, each with a finding of the same rule


@dataclass(slots=True, kw_only=True)
class SiteAudit:
    """The result of the audit of one site: its summary, and the findings in bounded memory."""

    summary: AuditSummary | None = None
    """``None`` until all findings were added."""
    findings: list[Finding] = field(default_factory=list)
    """The findings, of each rule the first 1,000."""
    totals: Counter[str] = field(default_factory=Counter)
    """The number of findings by rule, including those left out of ``findings``."""

    def add(self, finding: Finding) -> None:
        """Add *finding*."""
        self.totals[finding.rule] += 1
        if self.totals[finding.rule] <= _FINDINGS_OF_RULE:
            self.findings.append(finding)
