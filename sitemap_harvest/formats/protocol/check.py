"""``check``: validates a document against the rules of the sitemap protocol.

Specs: https://www.sitemaps.org/protocol.html and the two schemas that it names,
https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap
(images, news). Pure: the clock is the argument ``now``. Memory use is flat, except for
some 40 bytes per entry.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.formats.problem_log import ProblemLog
from sitemap_harvest.formats.protocol.schema import check_structure
from sitemap_harvest.model import Kind
from sitemap_harvest.model.problem import MAX_SAMPLES
from sitemap_harvest.urls import Scope, site_of, url_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from sitemap_harvest.formats.document import Document
    from sitemap_harvest.model import Problem, SitemapRef, UrlBatch

_MOST_ENTRIES = 50_000
_MOST_BYTES = 52_428_800  # 50 MiB, decompressed
_MOST_NEWS = 1_000
_KINDS = frozenset({Kind.SITEMAP, Kind.INDEX, Kind.LIST})  # kinds with rules in the protocol
_MOST_IMAGES = 1_000  # of one entry
_MOST_LOC_CHARS = 2_048
_SLACK = timedelta(days=1)  # a date without a zone may be 14 hours off, a clock some minutes
_TO_BE_ESCAPED = r'[<>"{}|\\^`]'
_LISTS = ("alternates", "images", "videos", "news")


@dataclass(slots=True, kw_only=True)
class Listed:
    """Counts of the contents of a document."""

    urls: int = 0
    """URLs of pages."""
    sitemaps: int = 0
    """References to other documents."""
    alternates: int = 0
    """Language and device versions of pages."""
    images: int = 0
    """Images of pages."""
    videos: int = 0
    """Videos of pages."""
    news: int = 0
    """Entries that are news articles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The counts of a document, and the rules that it breaks."""

    listed: Listed
    """Number of items of each sort."""
    problems: tuple[Problem, ...]
    """Problems whose codes begin with ``protocol/``. Those found by reading are in ``Document.problems``."""


def check(document: Document, *, now: datetime, location: str | None = None) -> Verdict:
    """Return the counts of *document*, and the rules that it breaks. Never raises for a document.

    *now* is the instant that dates are compared with. *location* is the URL that the
    document is served at: if given, entries are checked against the rule that a sitemap
    lists URLs of its own site, below its own folder.
    """
    log = ProblemLog(document.url)
    rules = _Rules(document.kind, log, now=now, location=location)
    for batch in document.urls():
        rules.batch(batch)
    rules.references(list(document.sitemaps()), document.url)
    if document.kind in _KINDS:
        _check_size(document, rules.listed, log)
        _note_repeats(document, rules.hashes, log)
    if document.kind in {Kind.SITEMAP, Kind.INDEX}:
        is_cut = document.goes_on and not any(problem.code.startswith("xml/") for problem in document.problems)
        check_structure(document.blocks(), document.kind, log, is_cut=is_cut)
    return Verdict(listed=rules.listed, problems=log.all())


def _check_size(document: Document, listed: Listed, log: ProblemLog) -> None:
    if document.entries > _MOST_ENTRIES:
        log.add("protocol/too-many-entries", f"{document.entries:,} entries, but only 50,000 are allowed")
    if document.bytes_unpacked > _MOST_BYTES:
        detail = f"{document.bytes_unpacked:,} bytes after decompression, but only 52,428,800 are allowed"
        log.add("protocol/too-large", detail)
    if listed.news > _MOST_NEWS:
        log.add("protocol/too-many-news", f"{listed.news:,} news articles, but only 1,000 are allowed")
    if document.encoding != "utf-8":
        log.add("protocol/not-utf-8", f"the document was read as {document.encoding}")


class _Rules:
    """Checks the entries of one document, and counts them."""

    def __init__(self, kind: Kind, log: ProblemLog, *, now: datetime, location: str | None) -> None:
        self.listed = Listed()
        self.hashes = array("q")
        """Hashes of the keys of the entries."""
        self._kind = kind
        self._log = log
        self._latest = now + _SLACK
        self._location = url_key(location) if location else None
        self._site = site_of(location) if location else None
        self._scope = Scope.of([location]) if location else None

    def batch(self, batch: UrlBatch) -> None:
        """Process the next entries."""
        self.listed.urls += len(batch)
        for name in _LISTS:
            found = pc.sum(pc.list_value_length(batch[name])).as_py() or 0
            setattr(self.listed, name, getattr(self.listed, name) + found)
        if self._kind not in {Kind.SITEMAP, Kind.LIST}:
            return
        self.hashes.extend(hash(key) for key in batch["key"].to_pylist() if key is not None)
        self._note("protocol/too-many-images", pc.greater(pc.list_value_length(batch["images"]), _MOST_IMAGES), batch)
        self._note("protocol/loc-not-escaped", pc.match_substring_regex(batch["loc"], _TO_BE_ESCAPED), batch)
        is_future = pc.greater(batch["lastmod"], pa.scalar(self._latest, batch["lastmod"].type))
        self._note("protocol/future-lastmod", is_future, batch, "lastmod_text")
        if self._kind is Kind.LIST:  # for XML the structure is checked instead
            self._note("protocol/loc-too-long", pc.greater(pc.utf8_length(batch["loc"]), _MOST_LOC_CHARS), batch)
        if self._scope:
            reason = self._scope.columns(batch["key"], batch["site"]).reason
            self._note("protocol/other-site", pc.not_equal(reason, "path"), batch)
            self._note("protocol/outside-folder", pc.equal(reason, "path"), batch)

    def references(self, refs: list[SitemapRef], url: str) -> None:
        """Process the references of the document at *url*."""
        self.listed.sitemaps = len(refs)
        if self._kind is not Kind.INDEX:
            return
        own = {url_key(url) or url, self._location}
        for ref in refs:
            place: dict[str, Any] = {"entry": ref.position, "excerpt": ref.loc}
            key = url_key(ref.loc)
            if key is not None:
                self.hashes.append(hash(key))
            if (key or ref.loc) in own:
                self._log.add("protocol/self-reference", **place)
            if self._site and site_of(ref.loc) not in {None, self._site}:
                self._log.add("protocol/other-site", **place)
            if ref.lastmod is not None and ref.lastmod > self._latest:
                self._log.add("protocol/future-lastmod", entry=ref.position, excerpt=ref.lastmod_text)

    def _note(self, code: str, mask: pa.BooleanArray, batch: UrlBatch, excerpt: str = "loc") -> None:
        """Record the problem *code* for each row with a true *mask*."""
        if not (count := pc.sum(mask).as_py()):
            return
        first = batch.arrow.filter(mask).slice(0, MAX_SAMPLES)
        samples = zip(first["position"].to_pylist(), first[excerpt].to_pylist(), strict=True)
        for number, (position, text) in enumerate(samples):
            self._log.add(code, entry=position, excerpt=text, count=1 if number else count - first.num_rows + 1)


def _note_repeats(document: Document, hashes: array[int], log: ProblemLog) -> None:
    """Record each entry of *document* whose URL came before; *hashes* are those of all keys, in document order.

    All keys of a million entries would take 150 MB. So their hashes are sorted, and the
    document is read again for a few samples, only if a hash occurs twice. Different
    URLs with the same hash count as duplicates by mistake: this happens in one of 30
    million documents with a million entries.
    """
    found = pa.array(hashes, pa.int64())
    order = pc.array_sort_indices(found)  # a stable sort: equal hashes stay in document order
    ordered = found.take(order)
    is_repeat = pc.equal(ordered.slice(1), ordered.slice(0, max(0, len(ordered) - 1)))
    repeats = order.slice(1).filter(is_repeat)
    first_few = repeats.take(pc.array_sort_indices(repeats)).slice(0, MAX_SAMPLES).to_pylist()
    earlier = {number: pc.index(found, found[number]).as_py() for number in first_few}
    wanted = {*earlier, *earlier.values()}
    places: dict[int, tuple[int, str]] = {}
    entries = enumerate(_entries(document))
    while len(places) < len(wanted):
        number, place = next(entries)
        if number in wanted:
            places[number] = place
    for number, first in earlier.items():
        position, loc = places[number]
        count = 1 if number != first_few[0] else len(repeats) - len(first_few) + 1
        detail = f"entry {position} repeats entry {places[first][0]}"
        log.add("protocol/duplicate", detail, entry=position, excerpt=loc, count=count)


def _entries(document: Document) -> Iterator[tuple[int, str]]:
    """Yield position and URL of each entry with a key, in document order."""
    if document.kind is Kind.INDEX:
        yield from ((ref.position, ref.loc) for ref in document.sitemaps() if url_key(ref.loc) is not None)
        return
    for batch in document.urls():
        columns = (batch[name].to_pylist() for name in ("position", "loc", "key"))
        yield from ((position, loc) for position, loc, key in zip(*columns, strict=True) if key is not None)
