"""``AuditResults``: what a run emits of the sites it has stored: the pages of probes, and the findings of audits."""

from __future__ import annotations

import logging
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any

from sitemap_harvest.config.arguments import check_details
from sitemap_harvest.engine.interfaces import PAUSE
from sitemap_harvest.engine.run_state import fields
from sitemap_harvest.errors import StoreError
from sitemap_harvest.model import FindingBatch, TrustBatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sitemap_harvest.audit.audit import Audit
    from sitemap_harvest.engine.probe import Probe
    from sitemap_harvest.engine.run_state import RunParts
    from sitemap_harvest.engine.snapshot_session import SnapshotSession
    from sitemap_harvest.model import Batch

logger = logging.getLogger(__name__)

_FINDINGS_TOGETHER = 1_000  # in a batch


class AuditResults:
    """Probes and audits sites when their snapshots are stored, and yields what ``emit`` includes."""

    def __init__(self, parts: RunParts, as_wanted: Callable[[Batch[Any]], Iterator[Any]]) -> None:
        """*as_wanted* yields a batch, or its rows."""
        self._parts = parts
        self._config = parts.config
        self._summary = parts.summary
        self._as_wanted = as_wanted
        self._has_many_sites = len({one.root for one in parts.config.candidates}) > 1
        self._to_audit: deque[tuple[str, str | None]] = deque()  # sites, each with the run; None: the named one

    def stored_site(self, root: str, run_id: str | None = None) -> Iterator[Any]:
        """Queue the site *root*, whose snapshot is stored, for its probe, or yield the results of its audit.

        *run_id* is the run of the snapshot; ``None``: the one that the arguments name.
        """
        if self._parts.probe is None:
            yield from self._audited(root, run_id)
        else:
            self._parts.probe.queue.append(root)

    def probed(self, *, is_over: bool = False) -> Iterator[Any]:
        """Yield the records of pages, and the results of the audits of sites whose probe has ended.

        *is_over*: whether no more pages are requested.
        """
        probe, session = self._parts.probe, self._parts.session
        if probe is None or session is None:
            return
        probe.checkpoint()
        while probe.queue and (is_over or probe.has_room):
            yield from self._begin_probe(probe.queue.popleft(), probe, session, is_over=is_over)
        ended = list(probe.take(all_sites=is_over))
        while probe.records:
            record = probe.records.popleft()
            if "pages" in self._config.emit:
                yield record
        for site in ended:
            session.release(site.root)
            yield from self._audited(site.root, site.snapshot.run.id)

    def _begin_probe(self, root: str, probe: Probe, session: SnapshotSession, *, is_over: bool) -> Iterator[Any]:
        """Begin the probe of the site *root*; if the run is over, audit the site without one."""
        if is_over:
            logger.warning("Probe of %s: the run ended before it began", root, extra=fields("probe-ended", site=root))
            session.release(root)
            yield from self._audited(root)
            return
        try:
            probe.begin(*session.reopen(root))
        except StoreError as error:
            session.release(root)
            self._failed(root, "probe", error)

    def _audited(self, root: str, run_id: str | None = None) -> Iterator[Any]:
        """Yield the findings and the summary of the site *root*, if the user wants an audit.

        Sites may list URLs of each other, and are checked against each other's robots.txt, so
        several are audited when all have ended.
        """
        if self._config.audits:
            self._to_audit.append((root, run_id))
        if not self._has_many_sites:
            yield from self.due()

    def due(self) -> Iterator[Any]:
        """Yield the results of the audits that are due."""
        session = self._parts.session
        while self._to_audit and session is not None:
            root, run_id = self._to_audit.popleft()
            try:
                yield from self._findings(session.audit(root, run_id))
            except StoreError as error:
                self._failed(root, "audit", error)

    def _failed(self, root: str, what: str, error: StoreError) -> None:
        self._summary.has_failed = True
        extra = fields(f"{what}-failed", site=root)
        logger.error("The %s of %s failed: %s", what, root, error, extra=extra)

    def _findings(self, audit: Audit) -> Iterator[Any]:
        """Yield the findings or occurrences, and the summary of *audit*. Raises :exc:`StoreError`."""
        details = check_details(self._config.details)
        with audit:
            findings = audit.findings()
            while some := list(islice(findings, _FINDINGS_TOGETHER)):
                if "findings" in self._config.emit:
                    yield from self._as_wanted(FindingBatch.of(some))
                yield PAUSE
            for batch in audit.occurrences(details):
                yield from self._as_wanted(batch)
                yield PAUSE
        yield from self._summarized(audit, details)

    def _summarized(self, audit: Audit, details: Sequence[str]) -> Iterator[Any]:
        """Yield the summary of *audit*, and log it."""
        from sitemap_harvest.audit.explanation import gaps_in_words  # few runs need the rules

        summary = audit.summary()
        counts = {name: getattr(summary, name) for name in ("errors", "warnings", "notices")}
        for name, count in counts.items():
            self._summary.count(f"sitemap_harvest/findings/{name}", count)
        logger.info("Audit of %s", summary.in_words(), extra=fields("audit", site=summary.site, **counts))
        for one in audit.trust[:1]:
            logger.info("%s", one.in_words())
        for reason, rules in summary.not_checked_by_reason.items():
            logger.info("Not checked, because %s: %s", reason, ", ".join(rules))
        for line in gaps_in_words(details, audit.written, audit.found):
            logger.info("%s", line)
        for reason, rules in summary.partly_checked_by_reason.items():
            logger.info("Checked only in part, because %s: %s", reason, ", ".join(rules))
        if "audits" in self._config.emit:
            yield summary
        if "trust" in self._config.emit and audit.trust:
            yield from self._as_wanted(TrustBatch.of(audit.trust))
