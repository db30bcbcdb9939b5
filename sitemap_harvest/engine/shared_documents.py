"""Documents that several sites of a run name: read once, and copied into the snapshot of each site."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from sitemap_harvest.engine.interfaces import KnownDocument
from sitemap_harvest.model import FoundBy, Kind, LedgerBatch, Outcome
from sitemap_harvest.snapshots.merge_policy import is_exact
from sitemap_harvest.urls import document_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sitemap_harvest.discovery.candidate import Candidate
    from sitemap_harvest.engine.site_snapshot import SiteSnapshot
    from sitemap_harvest.snapshots.store import Snapshot


def copy_shared(
    recipient: SiteSnapshot,
    candidates: Iterable[tuple[Candidate, str]],
    *,
    owner_of: Callable[[str], str | None],
    find: Callable[[str | None, str], KnownDocument | None],
) -> None:
    """Copy to the snapshot of *recipient* the documents of *candidates*, and all below, as read for other sites.

    Each of *candidates* comes with the URL that it was read from, which differs after a
    redirect.

    *owner_of* returns the site for which the document at a URL was read; *find* returns
    the document at a URL as such a site stores it, ``None`` if it does not.
    """
    todo, seen = deque(candidates), set()
    while todo:
        candidate, url = todo.popleft()
        owner = owner_of(url)
        if document_key(candidate.url) in seen or owner is None or owner == candidate.root:
            continue
        seen.add(document_key(candidate.url))
        if (copied := find(owner, url)) is None:
            continue
        final_url = copied.record.final_url if copied.record.outcome is Outcome.SKIPPED else None
        if final_url is not None and (target := find(owner_of(final_url), final_url)) is not None:  # a redirect
            copied = replace(target, record=replace(target.record, final_url=final_url))
        _copy(recipient, copied, candidate)
        found_by = FoundBy.ROBOTS if copied.record.kind is Kind.ROBOTS else FoundBy.INDEX
        children = [candidate.child(reference, reference.found_by or found_by) for reference in copied.references]
        todo += [(child, child.url) for child in children]


def _copy(site: SiteSnapshot, copied: KnownDocument, candidate: Candidate) -> None:
    """Store the document of *candidate* for *site*, as it was read for another site.

    A partly read document is not copied: its rows are merged with those of the
    other site's last snapshot, which may be older than this site's.
    """
    record = replace(
        copied.record,
        url=candidate.url,
        root=candidate.root,
        parent=candidate.parent,
        depth=candidate.depth,
        found_by=candidate.found_by,
        lastmod=candidate.lastmod,
        lastmod_text=candidate.lastmod_text,
        rows_from=None,
        fresh_at=None,
        fresh_run=None,
        read_at=None,
        absent_runs=0,
    )
    known = site.of(candidate)
    is_same = known is not None and is_exact(known.record) and known.record.sha256 == record.sha256
    if record.complete and known is not None and is_same:
        record, now = replace(record, outcome=Outcome.UNCHANGED), copied.record.fresh_at or datetime.now(UTC)
        record = site.confirmed(record, known, was_downloaded=True, now=now)
    elif record.complete:
        writer = site.document(candidate)
        for _ in site.passing(copied.urls(), writer):
            pass  # it is stored
        record = site.finish(writer, replace(record, outcome=Outcome.READ), copied.references, sound=None)
    else:
        record = replace(record, entries=0)
    site.noted(record)


def documents_of(snapshot: Snapshot) -> dict[str, KnownDocument]:
    """Return the documents of a site whose snapshot was published in this run, by key."""
    references = snapshot.references()
    return {
        document_key(row.url): KnownDocument(row, references.get(row.url, ()), partial(snapshot.urls_of, row.url))
        for batch in map(LedgerBatch, snapshot.sitemaps().to_batches())
        for row in batch.rows()
        if row.left is None
    }
