"""What a run keeps of one site, and what the last snapshot knows of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from sitemap_harvest.errors import StoreError
from sitemap_harvest.model import FoundBy, Kind, LedgerBatch, Outcome, SitemapRecord
from sitemap_harvest.plan import (
    Belief,
    Lead,
    Observed,
    believe,
    document_key,
    final_key,
    is_exact,
    is_settled,
    is_trusted,
    must_be_read_since,
    needs_lister,
    observe,
    succeed,
)
from sitemap_harvest.store import Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sitemap_harvest.model import SitemapRef, UrlBatch
    from sitemap_harvest.store import DocumentWriter, SiteWriter, Snapshot

_AS_BEFORE = (
    "kind", "content_type", "layers", "encoding", "bytes_unpacked", "entries", "out_of_scope", "problems", "sha256"
)  # fmt: skip
WRITE_ERRORS = (OSError, pa.ArrowException)
"""What is raised where a store cannot be written."""
_OF_THE_STORE = ("rows_from", "fresh_at", "fresh_run", "read_at", "absent_runs")


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a document without asking for it."""

    record: SitemapRecord
    """Its ledger row."""
    references: Sequence[SitemapRef]
    """The documents that it names."""
    urls: Callable[[], Iterator[UrlBatch]]
    """Yields what it lists."""


class SiteKeeper:
    """Keeps one site, and knows it from the last snapshot."""

    def __init__(
        self,
        writer: SiteWriter,
        *,
        started_at: datetime,
        baseline: Snapshot | None,
        absent_runs: int,
        polls: bool,
        give_up: Callable[[Exception], None],
    ) -> None:
        """Keep with *writer*; a document leaves when it was absent in as many runs as *absent_runs*.

        *started_at* is when the run began, also where it was interrupted since, and *baseline* what its changes are
        against. *polls*: nothing is taken out of a feed. *give_up* is told why the store cannot be used.
        """
        self.writer = writer
        self.started_at = started_at
        self.baseline = baseline
        self._polls = polls
        self._give_up = give_up
        self._absent_runs = absent_runs
        self._records: list[SitemapRecord] = []
        self._heard: dict[str, SitemapRecord] = {}  # the last of each document
        self._taken_over = {document_key(url): kept for url, kept in writer.kept.items()}
        self._recalled: set[str] = set()

    def load(self) -> None:
        """Read what the last snapshot knows of the documents, so that damage shows at once.

        Raises :exc:`StoreError`.
        """
        _ = self.known, self._references, self.writer.reading

    @cached_property
    def known(self) -> Mapping[str, SitemapRecord]:
        """The ledger of the last snapshot, by :func:`document_key`, with the rows of documents that left in it."""
        if self.writer.before is None:
            return {}
        batches = map(LedgerBatch, self.writer.before.sitemaps().to_batches())
        return {document_key(row.url): row for batch in batches for row in batch.rows()}

    @cached_property
    def _polled(self) -> frozenset[str]:
        """The runs that have asked for feeds only, and have taken nothing out of them."""
        return frozenset(run.id for run in self.writer.history.runs if run.arguments.get("poll") == "yes")

    @cached_property
    def _references(self) -> Mapping[str, Sequence[SitemapRef]]:
        """The documents that each document names, says the last snapshot."""
        before = self.writer.before
        return {} if before is None else {document_key(url): refs for url, refs in before.references().items()}

    @cached_property
    def _pending(self) -> frozenset[str]:
        """The documents that have rows whose removal is pending, says the last snapshot."""
        if (before := self.writer.before) is None:
            return frozenset()
        urls = before.sitemaps().column("url")
        return frozenset(document_key(urls[number].as_py()) for number in set(before.pending.extents.document.tolist()))

    def of(self, lead: Lead) -> Known | None:
        """Return what the last snapshot knows of the document of *lead*; ``None`` if it has no rows of it."""
        key = document_key(lead.url)
        record = self.known.get(key)
        if record is None or record.left is not None or record.rows_from is None:
            return None
        if record.rows_from in self._polled and not self._polls:
            return None  # some of its rows may be such as it does not list any more
        reading = self.writer.reading
        assert reading is not None  # noqa: S101 - there is a snapshot; this tells mypy
        return Known(record, self._references.get(key, ()), lambda: reading.urls_of(record.url))

    def own_document(self, lead: Lead, url: str) -> Lead | None:
        """Return a lead to the document at *url*, where that of *lead* was found, if it is known by itself.

        ``None`` if it is not, or if that of *lead* was found there before.
        """
        key, target = document_key(lead.url), document_key(url)
        row, known = self.known.get(target), self.known.get(key)
        if target == key or row is None or row.left is not None or row.rows_from is None:
            return None
        if known is not None and final_key(known, key) == target:
            return None
        return replace(
            lead, url=row.url, found_by=FoundBy.SNAPSHOT, parent=row.parent, depth=row.depth, site_root=False
        )

    def taken_over(self, lead: Lead) -> Known | None:
        """Return what the run that was interrupted has read of the document of *lead*; ``None`` if it has not."""
        kept = self._taken_over.get(document_key(lead.url))
        if kept is None or kept.extents is None:
            return None
        return Known(kept.record, kept.references or (), lambda: self.writer.urls_of(kept))

    def recall(self, is_met: Callable[[str], bool]) -> list[Lead]:
        """Return leads to documents of the last snapshot that the run has not met and that may be part of the site.

        Documents that others list come after those: by then it is known whether
        they are still listed. Those that none lists any more come last: they may
        redirect to one that is listed. So call this again whenever all leads are
        done with, until there are none. Only feeds are returned where these are polled.
        """
        gone = self._gone(is_met)
        waiting = {
            key: row
            for key, row in self.known.items()
            if row.left is None
            # What was never there, or may not be followed, is no lead.
            and not (row.rows_from is None and (row.found_by.is_guess or row.outcome is Outcome.OUT_OF_SCOPE))
            and not (self._polls and row.kind is not Kind.FEED)
            and not (key in gone or key in self._recalled or is_met(row.url))
        }
        lists = self._lists_now()
        later = frozenset().union(*(lists.get(key, ()) for key in waiting))
        listed = frozenset().union(*lists.values())
        first = [key for key in waiting if key not in later]
        found = [key for key in first if key in listed or not needs_lister(waiting[key])] or first or list(waiting)
        self._recalled.update(found)
        return [_recalled(waiting[key]) for key in found]

    def _gone(self, is_met: Callable[[str], bool]) -> set[str]:
        """Return the keys of the documents that were listed and are not any more, but by such as are gone too."""
        before = {document_key(ref.loc) for refs in self._references.values() for ref in refs}
        unmet = {key for key, row in self.known.items() if key in before and not is_met(row.url)}
        lists = self._lists_now()
        gone: set[str] = set()
        while True:
            listed = set().union(*(refs for key, refs in lists.items() if key not in gone))
            if unmet - listed == gone:
                return gone
            gone = unmet - listed

    def _lists_now(self) -> dict[str, frozenset[str]]:
        """Return the keys that each document lists, as far as is known by now."""
        lists = {key: refs for key, refs in self._references.items() if key in self.known}
        lists |= {
            document_key(url): kept.references for url, kept in self.writer.kept.items() if kept.references is not None
        }
        return {key: frozenset(document_key(ref.loc) for ref in refs) for key, refs in lists.items()}

    def document(self, lead: Lead) -> DocumentKeeper:
        """Begin to keep the document of *lead*."""
        address = self._address(lead.url)
        return DocumentKeeper(self.writer.document(address), None if address == lead.url else address, self._give_up)

    def _address(self, url: str) -> str:
        """Return *url* as it was spelt when the document was met first."""
        known = self.known.get(document_key(url))
        return known.url if known is not None else url

    def read(
        self, document: DocumentKeeper, record: SitemapRecord, references: Sequence[SitemapRef], *, sound: int | None
    ) -> None:
        """Keep what was read of *document*, as far as *record* can be believed.

        *references* are the documents that it names; *sound* is the last position
        that is beyond doubt, ``None`` where all are.
        """
        belief = believe(self.known, record, absent_runs=self._absent_runs)
        key = document_key(record.url)
        extents, named = None, None
        if document.has_failed:
            return
        if belief is Belief.REPLACE and not self._polls:
            extents, named = document.writer.all(), references
        elif belief in {Belief.REPLACE, Belief.ADD}:
            old = self.writer.old_extents(document.writer.url)
            extents = document.writer.added(old, sound=sound if self.known else None)
            named = list({document_key(ref.loc): ref for ref in (*references, *self._references.get(key, ()))}.values())
        if belief in {Belief.REPLACE, Belief.ADD}:
            record.rows_from = self.writer.run_id
        if belief is Belief.REPLACE:
            record.fresh_at = record.read_at = record.fetched_at
            record.fresh_run = self.writer.run_id
        self.writer.keep(document.writer.url, Kept(replace(record), extents, named))

    def lent(self, key: str) -> Known | None:
        """Return the document at *key* as it was kept in this run; ``None`` if it was not met."""
        if (record := self._heard.get(key)) is None:
            return None
        kept = self.writer.kept.get(self._address(record.url))
        if kept is None or kept.extents is None:
            known = self.known.get(key)
            reading = self.writer.reading
            urls = (
                (lambda: reading.urls_of(known.url)) if known is not None and reading is not None else lambda: iter(())
            )
            return Known(record, self._references.get(key, ()), urls)
        return Known(record, kept.references or (), lambda: self.writer.urls_of(kept))

    def borrow(self, lent: Known, lead: Lead) -> None:
        """Keep the document of *lead* as it was read for another site.

        Of one that was read in part, nothing: its rows are joined with those of the
        other site's last snapshot, which may be older than this site's.
        """
        record = replace(
            lent.record,
            url=lead.url,
            root=lead.root,
            parent=lead.parent,
            depth=lead.depth,
            found_by=lead.found_by,
            lastmod=lead.lastmod,
            lastmod_text=lead.lastmod_text,
            rows_from=None,
            fresh_at=None,
            fresh_run=None,
            read_at=None,
            absent_runs=0,
        )
        known = self.of(lead)
        is_same = known is not None and is_exact(known.record) and known.record.sha256 == record.sha256
        if record.complete and known is not None and is_same:
            record.outcome = Outcome.UNCHANGED
            self.confirm(record, known, now=lent.record.fresh_at or datetime.now(UTC), was_downloaded=True)
        elif record.complete:
            record.outcome = Outcome.READ
            document = DocumentKeeper(
                self.writer.document(self._address(lead.url)), self._address(lead.url), self._give_up
            )
            for batch in lent.urls():
                document.add(batch)
            self.read(document, record, lent.references, sound=None)
        else:
            record.entries = 0
        self.note(record)

    def confirm(self, record: SitemapRecord, known: Known, *, now: datetime, was_downloaded: bool) -> None:
        """Put into *record* what is known of its document, which is as it was.

        *was_downloaded* tells that its body shows that, and not only its server says so.
        """
        for name in _AS_BEFORE:
            setattr(record, name, getattr(known.record, name))
        for name in ("etag", "last_modified"):  # a 304 need not repeat them
            setattr(record, name, getattr(record, name) or getattr(known.record, name))
        record.complete = True
        record.rows_from = known.record.rows_from
        record.fresh_at, record.fresh_run = now, self.writer.run_id
        record.read_at = now if was_downloaded else known.record.read_at

    def note(self, record: SitemapRecord) -> None:
        """Note *record*, a ledger row of this run; tell it which rows stand for the document, if older ones do."""
        known = self.known.get(document_key(record.url))
        if record.rows_from is None and known is not None and known.left is None:
            for name in _OF_THE_STORE:
                setattr(record, name, getattr(known, name))
            record.absent_runs += record.outcome is Outcome.ABSENT
        self._records.append(record)
        self._heard[document_key(record.url)] = record

    def trusts(self, parent: str | None) -> bool:
        """Whether the dates that the document at *parent* gives have earned trust."""
        return parent is not None and is_trusted(self._observed.get(document_key(parent), Observed()))

    @cached_property
    def _observed(self) -> Mapping[str, Observed]:
        before = self.writer.before
        return {} if before is None else {key: Observed(*counts) for key, counts in before.run.trust.items()}

    def observed(self, after: Mapping[str, SitemapRecord]) -> dict[str, list[int]]:
        """Return what was seen of the dates of each index up to this run, whose ledger by key is *after*."""
        seen = dict(self._observed)
        for key, observed in observe(self.known, after).items():
            seen[key] = seen.get(key, Observed()).plus(observed)
        return {key: list(observed) for key, observed in seen.items() if key in after}

    def waits_since(self, since: str, ledger: Iterable[SitemapRecord]) -> str | None:
        """Return since which run all documents must be read, so that a URL which *since* did not find is gone for sure.

        ``None`` if they all were. *ledger* is that of the new snapshot.
        """
        after = {document_key(row.url): row for row in ledger}
        since = must_be_read_since(since, self.writer.run_id, self.known, after)
        return None if is_settled(since, self.writer.run_id, after, self._lists_now()) else since

    def ledger(self, *, now: datetime) -> list[SitemapRecord]:
        """Return the ledger of the new snapshot: its documents by the addresses that their rows have."""
        references = self._lists_now()
        before = {key: frozenset(document_key(ref.loc) for ref in refs) for key, refs in self._references.items()}
        documents = succeed(
            self.known,
            self._records,
            references=references,
            references_before=before,
            run=self.writer.run_id,
            now=now,
            absent_runs=self._absent_runs,
            pending=self._pending,
        )
        return [replace(one.row, url=self._address(one.row.url)) for one in documents.values()]


def _recalled(row: SitemapRecord) -> Lead:
    """Return a lead to a document that the last snapshot knows by its *row*."""
    return Lead(
        url=row.url,
        root=row.root,
        found_by=FoundBy.SNAPSHOT,
        parent=row.parent,
        depth=row.depth,
        lastmod=row.lastmod,
        lastmod_text=row.lastmod_text,
    )


class DocumentKeeper:
    """Keeps the rows of one document, under the address by which it was met first."""

    def __init__(self, writer: DocumentWriter, address: str | None, give_up: Callable[[Exception], None]) -> None:
        """Give rows to *writer*; *address* is what they name as their document, ``None`` if that is right already.

        *give_up* is told why the store cannot be used.
        """
        self.writer = writer
        self._address = address
        self._give_up = give_up
        self.has_failed = False

    def passing(self, batches: Iterable[UrlBatch]) -> Iterator[UrlBatch]:
        """Yield *batches*, each once it is kept, or once it has turned out that it cannot be."""
        for batch in batches:
            if not self.has_failed:
                self._try(batch)
            yield batch

    def _try(self, batch: UrlBatch) -> None:
        try:
            self.add(batch)
        except (*WRITE_ERRORS, StoreError) as error:
            self.has_failed = True
            self._give_up(error)

    def add(self, batch: UrlBatch) -> None:
        """Keep *batch*."""
        if self._address is not None:
            batch = batch.with_columns(sitemap=pa.array([self._address] * len(batch), pa.string()))
        self.writer.add(batch)
