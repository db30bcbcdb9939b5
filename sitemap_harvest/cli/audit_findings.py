"""The findings of ``sitemap-harvest audit``: audits stored sites, and shows what was found, or writes it to a file."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sitemap_harvest.cli import output
from sitemap_harvest.cli.closed_pipe import unless_closed
from sitemap_harvest.engine.exit_codes import RunOutcome
from sitemap_harvest.errors import StoreError
from sitemap_harvest.model import MAX_ROWS, FindingBatch, OccurrenceBatch, counted
from sitemap_harvest.snapshots.merge import NOT_ASKED_FOR

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from sitemap_harvest.audit.audit import Audit
    from sitemap_harvest.audit.crawl_export import CrawlExport
    from sitemap_harvest.audit.site_audit import RuleTotal, SiteAudit
    from sitemap_harvest.cli.audit_reports import AuditReports
    from sitemap_harvest.config.settings import HarvestSettings
    from sitemap_harvest.model import AuditSummary, Batch, Finding, LastmodTrust, Severity
    from sitemap_harvest.snapshots.store import History, Snapshot, Store

_MOST_NAMES = 3  # in one line; the reports have all of them


def audit_sites(
    store: Store,
    histories: Sequence[History],
    opts: argparse.Namespace,
    options: HarvestSettings,
    limit: Severity | None,
    reports: AuditReports,
) -> tuple[RunOutcome, bool]:
    """Audit the sites of *histories* in *store*, and show or write the findings; *limit*: that of ``--fail-on``.

    Return the outcome, and whether all of them have URLs.
    """
    from sitemap_harvest.audit.audit import Audit  # DuckDB takes 0.1 seconds to load
    from sitemap_harvest.audit.explanation import gaps_in_words
    from sitemap_harvest.audit.site_audit import SiteAudit

    rules: dict[str, RuleTotal] = {}
    known: Counter[str] = Counter()  # occurrences that were written, by rule
    nothing: list[str] = []  # a line for each site without URLs
    summaries: list[AuditSummary] = []
    trust: list[list[LastmodTrust]] = []  # of each site: in all its dates, and in those of the worst document
    unread: list[Sequence[str]] = []  # lines for each site

    def batches() -> Iterator[Batch[Any]]:
        """Yield the findings; with ``--details``, count them, and yield the occurrences."""
        yield OccurrenceBatch.of([]) if opts.details else FindingBatch.of([])  # so that the columns are known
        for history in histories:
            snapshot = history.at(opts.at)
            before = _before(snapshot, history, store, options, opts) if reports.need_facts else None
            site, pages = SiteAudit(before=before), _pages(opts.export, snapshot)
            with_facts = reports.need_facts
            with Audit(snapshot, history, options.audit, with_facts=with_facts, pages=pages, store=store) as audit:
                findings = (_counted(finding, rules) for finding in site.collect(audit))
                while some := FindingBatch.of(islice(findings, MAX_ROWS)):
                    if not opts.details:
                        yield some
                yield from audit.occurrences(opts.details)
                known.update(audit.written)
            _use_baseline(opts.baseline, site, snapshot, history)
            summaries.append(site.summary)
            nothing.extend(_nothing_read(site))
            trust.append(audit.trust[:2])
            unread.append(_unread(audit, is_stored=bool(opts.store)))
            reports.add(site)

    written = batches()
    if opts.output:
        with unless_closed():
            output.write(written, opts.output)
    for _ in written:
        pass  # counted
    write_line = output.tell if opts.output else output.say
    if rules and not opts.output:
        found = sorted(rules.items(), key=lambda one: (one[1].severity.rank, one[0]))
        rows = pa.Table.from_pylist([_row(*one) for one in found])
        output.show(rows, whole=["severity", "rule"], optional=["documents", "in"], has_separators=True)
    gaps = gaps_in_words(opts.details, known, {rule: total.count for rule, total in rules.items()})
    for line in [*_lines(summaries, unread, trust, opts.details), *gaps, *nothing]:
        write_line(line)
    if rules and not (opts.output or reports):
        output.say("The findings were not saved. To save each with its samples, add -O findings.jsonl")
    reports.write()
    is_over = limit is not None and any(one.severity.rank <= limit.rank for one in rules.values())
    return RunOutcome.PARTLY_FAILED if is_over else RunOutcome.WHOLE, not nothing


def _pages(export: CrawlExport | None, snapshot: Snapshot) -> Iterable[pa.RecordBatch]:
    return () if export is None else export.batches(snapshot.site, snapshot.run.id)


def _before(
    snapshot: Snapshot, history: History, store: Store, options: HarvestSettings, opts: argparse.Namespace
) -> SiteAudit | None:
    """Return the audit of the baseline, or of the snapshot before *snapshot*; ``None`` without a readable one."""
    from sitemap_harvest.audit.audit import Audit
    from sitemap_harvest.audit.site_audit import SiteAudit

    if not any(run.id < snapshot.run.id for run in history.runs):
        return None
    before = SiteAudit()
    try:
        run = history.run(opts.baseline or "latest", now=snapshot.run.started_at, before=snapshot.run.id)
        earlier = history.snapshot(run)
        pages = _pages(opts.export, earlier)
        for _ in before.collect(Audit(earlier, history, options.audit, pages=pages, store=store)):
            pass  # counted
    except StoreError as error:
        output.tell(f"The report does not show what has changed: {error}")
        return None
    return before


def _use_baseline(baseline: str | None, site: SiteAudit, snapshot: Snapshot, history: History) -> None:
    """Give *site*, the audit of *snapshot* for a report, the changes since *baseline*, if the user named one."""
    from sitemap_harvest.audit.facts import since_baseline
    from sitemap_harvest.diff import compare

    if baseline is not None and site.before is not None and site.facts is not None:
        site.has_baseline = True
        with compare(history.snapshot(site.before.run), snapshot) as changes:
            site.facts = since_baseline(site.facts, changes)


def _counted(finding: Finding, rules: dict[str, RuleTotal]) -> Finding:
    """Return *finding*, counted in *rules*."""
    from sitemap_harvest.audit.site_audit import RuleTotal

    rules.setdefault(finding.rule, RuleTotal(first=finding)).add(finding)
    return finding


def _nothing_read(site: SiteAudit) -> Iterator[str]:
    """Yield a line if *site* has no URLs, with its worst finding."""
    if not site.summary.urls:
        worst = min(site.findings, key=lambda one: one.severity.rank, default=None)
        yield f"No URL was read from {site.summary.site}{f': {worst.message}' if worst else ''}"


def _row(rule: str, total: RuleTotal) -> dict[str, Any]:
    """Return the row of *rule* in the table."""
    first = total.first
    return {
        "severity": total.severity,
        "rule": rule,
        "documents": total.documents or None,
        "count": total.count,
        "first finding": first.message,
        "in": (first.sitemap or "").removeprefix(first.site) or first.sitemap,
    }


def _unread(audit: Audit, *, is_stored: bool) -> list[str]:
    """Return lines with the first documents of the site that were not read; a crawl has listed those that failed."""
    documents = [one for one in audit.unread if is_stored or one.reason == NOT_ASKED_FOR]
    lines = [f"Not read completely: {one.url}: {one.reason or one.outcome}" for one in documents[:_MOST_NAMES]]
    if more := len(documents[_MOST_NAMES:]):
        lines.append(f"Not read completely: {counted(more, 'other document')} of {audit.summary().site}")
    if left_out := audit.left_out:
        others = f" and {counted(len(left_out) - _MOST_NAMES, 'other document')}" if left_out[_MOST_NAMES:] else ""
        lines.append(f"Not requested: {', '.join(left_out[:_MOST_NAMES])}{others}")
    return lines


def _lines(
    summaries: Sequence[AuditSummary],
    unread: Sequence[Sequence[str]],
    trust: Sequence[Sequence[LastmodTrust]],
    details: Sequence[str],
) -> Iterator[str]:
    """Yield the result of each site, its lines about *unread* documents, and the *trust* in its dates; unchecked rules.

    With *details*, only those of the unchecked rules, each by its name: they have no rows.
    """
    for summary, documents, scores in zip(summaries, unread, trust, strict=True):
        yield summary.in_words()
        yield from documents
        yield from (one.in_words() for one in scores if one is scores[0] or one.score < scores[0].score)
    not_checked: dict[tuple[str, str], tuple[dict[str, None], list[str]]] = {}  # rules and sites
    for summary in summaries:
        whole, in_part = summary.not_checked_by_reason, summary.partly_checked_by_reason
        for words, by_reason in (("Not checked", whole), ("Checked only in part", in_part)):
            for reason, names in by_reason.items():
                if not (named := [name for name in names if not details or name in details]):
                    continue
                rules, sites = not_checked.setdefault((words, reason), ({}, []))
                rules.update(dict.fromkeys(named))
                sites.append(summary.site)
    for (words, reason), (rules, sites) in not_checked.items():
        where = ""
        if len(sites) < len(summaries):
            where = f" for {', '.join(sites) if len(sites) <= _MOST_NAMES else f'{len(sites):,} sites'}"
        shown = ", ".join(rules) if details or len(rules) <= _MOST_NAMES else f"{len(rules)} rules"
        yield f"{words}{where}, because {reason}: {shown}"
