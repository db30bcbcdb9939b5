"""``Collector``: collects what readers find: entries as batches, references as a list, flaws as problems."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cache, lru_cache
from sys import getsizeof
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.dates import read_date
from sitemap_harvest.formats import columns
from sitemap_harvest.formats.problem_log import ProblemLog
from sitemap_harvest.model import CHANGEFREQS, MAX_ROWS, SitemapRef, UrlBatch
from sitemap_harvest.model.problem import MAX_SAMPLES
from sitemap_harvest.urls import MAX_BASE_CHARS, WHITESPACE, address_columns, resolve, without_user

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sitemap_harvest.model import FoundBy

_MAX_RECORDS = 20_000  # images, alternates and the like of one batch: as Python objects they take some 10 MB
_MAX_BATCH_BYTES = 4 * 1024 * 1024  # of the document text, and of the URLs, of one batch
_MAX_SITEMAP_BYTES = 32 * 1024 * 1024  # of the texts of references as Python objects
_SITEMAP_BYTES = 320  # of each, on average, if more than 100,000 are allowed
_WITH_ATTRIBUTES = frozenset({"extra", "pagemap"})
_TRIMMED = ("lastmod", "changefreq", "priority")
_CHANGEFREQS = pa.array(CHANGEFREQS)

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one document. Reading stops at the first one reached, with a problem."""

    unpacked_bytes: int = 200 * MIB
    """Maximum bytes after decompression, four times what the protocol allows."""
    ratio: int = 200
    """Maximum ratio of decompressed to compressed bytes, after :attr:`ratio_from`. Sitemaps compress by factors of 10
    to 60."""
    ratio_from: int = 10 * MIB
    """Decompressed bytes before the ratio is checked."""
    layers: int = 3
    """Maximum number of compression layers."""
    urls: int = 1_000_000
    """Maximum number of entries of one document, twenty times what the protocol allows."""
    sitemaps: int = 100_000
    """Maximum number of sitemaps that one document may name, twice what the protocol allows in an index."""


class LimitReached(Exception):  # noqa: N818 - not an error: it ends the reading of one document
    """The document has more entries than the limit."""


class Collector:
    """The entries, references and problems found in one document so far.

    A reader calls :meth:`add`, :meth:`refer` and :meth:`problem`, and yields from
    :meth:`full_batches`; :meth:`last_batches` yields the rest.
    """

    def __init__(
        self,
        *,
        document: str,
        base: str | None,
        limits: Limits,
        w3c_dates: bool = True,
        was_cut: bool = False,
        bytes_read: Callable[[], int] = lambda: 0,
    ) -> None:
        """Collect the contents of *document*; *base* is the base of relative URLs (``None``: there is none).

        *w3c_dates*: whether the format requires W3C dates, which feeds do not.
        *was_cut*: whether the document was truncated. *bytes_read* returns how much of
        it was read.
        """
        self.problems = ProblemLog(document, was_cut=was_cut)
        self.refs: list[SitemapRef] = []
        self.hints: dict[str, SitemapRef] = {}
        self._sitemap_bytes = 0  # of the texts in these
        self.added = 0
        """Entries and references, including those that were not a URL."""
        self._given = 0  # rows of the batches yielded
        self._document = document
        self._base = base
        self._limit = limits.urls
        self._most_sitemaps = limits.sitemaps
        self._most_sitemap_bytes = max(_MAX_SITEMAP_BYTES, limits.sitemaps * _SITEMAP_BYTES)
        self._w3c_dates = w3c_dates
        self._bytes_read = bytes_read
        # Each relative URL becomes at least as long as the base.
        self._max_rows = min(MAX_ROWS, _MAX_BATCH_BYTES // min(max(1, len(base or "")), MAX_BASE_CHARS))
        self._clear()

    def _clear(self) -> None:
        self._position: list[int] = []
        self._loc: list[str] = []
        self._lastmod: list[str | None] = []
        self._changefreq: list[str | None] = []
        self._priority: list[str | None] = []
        self._sparse: dict[str, dict[int, Any]] = {}
        self._records = self._chars = 0  # in self._sparse, and in self._loc
        self._batch_start = self._bytes_read()
        self._added_before = self.added

    def add(
        self,
        position: int,
        loc: str,
        lastmod: str | None = None,
        changefreq: str | None = None,
        priority: str | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        """Add an entry by its texts as published. *more* holds other columns of ``UrlEntry``, as plain values.

        Raises :exc:`LimitReached` once the document has more entries than allowed.
        """
        self._count(1)
        self.problems.reached = position
        self._position.append(position)
        self._loc.append(loc)
        self._chars += len(loc)
        self._lastmod.append(lastmod)
        self._changefreq.append(changefreq)
        self._priority.append(priority)
        if more:
            row = len(self._loc) - 1
            for name, value in more.items():
                self._sparse.setdefault(name, {})[row] = value
                self._records += len(value) if isinstance(value, list) else 1
                if name in _WITH_ATTRIBUTES:  # attributes are records too
                    self._records += sum(len(record["attributes"] or ()) for record in value)

    @property
    def entries(self) -> int:
        """URLs yielded, and references."""
        return self._given + len(self.refs)

    def _count(self, entries: int) -> None:
        if self.added + entries > self._limit:
            self.problems.add("document/too-many-urls", f"more than {self._limit} entries")
            raise LimitReached
        self.added += entries

    def _count_sitemap(self) -> None:
        if len(self.refs) + len(self.hints) >= self._most_sitemaps:
            self.problems.add("document/too-many-sitemaps", f"more than {self._most_sitemaps} sitemaps")
            raise LimitReached
        if self._sitemap_bytes > self._most_sitemap_bytes:
            detail = f"the sitemap URLs have more than {self._most_sitemap_bytes} bytes in total"
            self.problems.add("document/too-many-sitemaps", detail)
            raise LimitReached
        self._count(1)

    def add_columns(self, texts: Mapping[str, Any], apart: Collector) -> Iterator[UrlBatch]:
        """Add entries as whole columns, and those of *apart* between them, and yield them as batches.

        *texts* has an array for ``position`` and ``loc``, and for other columns if an entry has a value.
        Those of fields other than ``loc`` are trimmed.
        """
        self.problems.absorb(apart.problems)
        texts = _merged(texts, apart._texts()) if apart._loc else texts
        rows = len(texts["position"])
        self._count(rows)
        for start in range(0, rows, self._max_rows):
            part = {name: column.slice(start, self._max_rows) for name, column in texts.items()}
            self.problems.reached = part["position"][-1].as_py()
            yield from self._batch(part)

    def apart(self, rows: int) -> Collector:
        """Return a collector for entries that :meth:`add_columns` adds with *rows* others.

        Raises :exc:`LimitReached` like :meth:`add`, without a problem in this collector.
        """
        other = copy(self)
        other.problems = ProblemLog(self._document, was_cut=self.problems.was_cut)
        other.problems.is_well_formed = self.problems.is_well_formed
        other.refs, other.hints = [], {}
        other._clear()  # noqa: SLF001 - of the same class
        other._count(rows)  # noqa: SLF001 - the same
        return other

    def refer(self, position: int, loc: str, lastmod: str | None = None) -> None:
        """Add a reference to another document, by its texts as published.

        Raises :exc:`LimitReached` once the document names more than allowed.
        """
        self._count_sitemap()
        address = resolve(loc, self._base)
        if address.flaw:
            self.problems.add(address.flaw, entry=position, excerpt=loc)
        if address.loc is None:
            return
        if (asked := without_user(address.loc)) != address.loc:
            self.problems.add("loc/user-name", entry=position, excerpt=asked)
        text = None if lastmod is None else lastmod.strip(WHITESPACE)
        read = read_date(text) if text else None
        if text is not None and not read:
            self.problems.add("lastmod/unreadable", entry=position, excerpt=text)
        elif read and read.zoned is False:
            self.problems.add("lastmod/no-zone", entry=position, excerpt=text)
        elif read and not read.is_w3c:
            self.problems.add("lastmod/not-w3c", entry=position, excerpt=text)
        self._sitemap_bytes += getsizeof(address.loc) + getsizeof(text)
        self.refs.append(
            SitemapRef(loc=address.loc, position=position, lastmod=read.value if read else None, lastmod_text=text)
        )
        self.problems.reached = position

    def hint(self, loc: str, found_by: FoundBy) -> None:
        """Add a document that this one hints at, which is not one of its entries. Each counts once."""
        if loc not in self.hints:
            self._count_sitemap()
            self._sitemap_bytes += getsizeof(loc)
            self.hints[loc] = SitemapRef(loc=loc, position=len(self.hints) + 1, found_by=found_by)

    @property
    def is_full(self) -> bool:
        """Whether there is enough for a batch."""
        added = self.added - self._added_before
        if added >= self._max_rows or self._records >= _MAX_RECORDS or self._chars >= _MAX_BATCH_BYTES:
            return True
        return abs(self._bytes_read() - self._batch_start) >= _MAX_BATCH_BYTES  # reading may have restarted

    def full_batches(self) -> Iterator[UrlBatch]:
        """Yield the collected entries if there are enough for a batch.

        Yields an empty batch if a part as large as a batch has no entries, so that the
        caller can do something else between two parts of any document.
        """
        if not self.is_full:
            return
        if self._loc:
            yield from self.last_batches()
        else:
            self._clear()
            yield UrlBatch.of(())

    def last_batches(self) -> Iterator[UrlBatch]:
        """Yield all collected entries."""
        if not self._loc:
            return
        texts, rows = self._texts(), len(self._loc)
        self._clear()
        for start in range(0, rows, self._max_rows):
            yield from self._batch({name: column.slice(start, self._max_rows) for name, column in texts.items()})

    def _texts(self) -> dict[str, pa.Array]:
        """Return the collected entries as columns, without those in which none has a value."""
        texts = {"position": pa.array(self._position, pa.int64()), "loc": pa.array(self._loc, pa.string())}
        for name in _TRIMMED:
            column = pa.array(getattr(self, f"_{name}"), pa.string())
            if column.null_count < len(column):
                texts[name] = columns.trimmed(column)
        for name, values in self._sparse.items():
            column = (values.get(row) for row in range(len(self._loc)))
            texts[name] = pa.array(column, UrlBatch.schema().field(name).type)
        return texts

    def _batch(self, texts: dict[str, Any]) -> Iterator[UrlBatch]:
        """Yield the entries with the columns *texts* as a batch, if there are any."""
        rows = len(texts["loc"])
        urls = address_columns(texts["loc"], self._base)
        found: dict[str, pa.Array | pa.Scalar] = {
            "position": texts["position"],
            "loc": urls.loc,
            "loc_raw": pc.coalesce(texts["loc_raw"], urls.loc_raw) if "loc_raw" in texts else urls.loc_raw,
            "key": urls.key,
            "site": urls.site,
        }
        for code, flawed in urls.flaws.items():
            self._note(code, flawed, texts, "loc")
        if "lastmod" in texts:
            found |= self._dates(texts)
        if (priority := texts.get("priority")) is not None:
            found["priority"], found["priority_text"] = columns.priorities(priority)
            if found["priority_text"].null_count < rows:
                self._note("priority/unreadable", found["priority_text"].is_valid(), texts, "priority")
        if (changefreq := texts.get("changefreq")) is not None:
            is_known = pc.is_in(changefreq, value_set=_CHANGEFREQS)
            if is_known.false_count > changefreq.null_count:
                is_unknown = pc.and_(changefreq.is_valid(), pc.invert(is_known))
                self._note("changefreq/unknown", is_unknown, texts, "changefreq")
        if urls.loc.null_count == rows:
            return
        found["sitemap"] = pa.repeat(pa.scalar(self._document, pa.string()), rows)
        arrays = _nulls(rows) | texts | found  # in the order of the first
        table = pa.RecordBatch.from_arrays([*arrays.values()], schema=UrlBatch.schema())
        if urls.loc.null_count:
            table = table.filter(urls.loc.is_valid())
        self._given += table.num_rows
        yield UrlBatch(table)

    def _dates(self, texts: dict[str, Any]) -> dict[str, pa.Array]:
        """Return the columns of the dates of the entries with the columns *texts*."""
        lastmod = texts["lastmod"]
        read = columns.dates(lastmod)
        if read.instant.null_count > lastmod.null_count:
            self._note("lastmod/unreadable", pc.and_(read.instant.is_null(), lastmod.is_valid()), texts, "lastmod")
        if read.zoned.false_count:
            self._note("lastmod/no-zone", pc.invert(read.zoned), texts, "lastmod")
        if self._w3c_dates and read.is_w3c.false_count:
            self._note("lastmod/not-w3c", pc.invert(read.is_w3c), texts, "lastmod")
        return {
            "lastmod": read.instant,
            "lastmod_text": lastmod,
            "lastmod_precision": read.precision,
            "lastmod_zoned": read.zoned,
        }

    def _note(self, code: str, flawed: list[int] | pa.BooleanArray, texts: Mapping[str, Any], column: str) -> None:
        """Record a problem for each of the *flawed* rows, numbers or a mask, with the first few as samples."""
        if not isinstance(flawed, list):
            flawed = pc.indices_nonzero(pc.fill_null(flawed, fill_value=False)).to_pylist()
        without_sample = len(flawed[MAX_SAMPLES:])
        for row in flawed[:MAX_SAMPLES]:
            count, without_sample = 1 + without_sample, 0
            place, excerpt = texts["position"][row].as_py(), texts[column][row].as_py()
            self.problems.add(code, entry=place, excerpt=excerpt, count=count)


def _merged(one: Mapping[str, pa.Array], other: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Return the rows of *one* and *other*, which each are sorted by position, in that order."""
    parts = {}
    for name in {**one, **other}:
        kind = (one if name in one else other)[name].type
        both = ((texts.get(name), len(texts["position"])) for texts in (one, other))
        parts[name] = pa.concat_arrays([pa.nulls(rows, kind) if column is None else column for column, rows in both])
    order = pa.array(np.argsort(parts["position"].to_numpy(), kind="stable"))
    return {name: column.take(order) for name, column in parts.items()}


@cache
def _columns_of_nulls() -> dict[str, pa.Array]:
    """Return as many nulls as a batch has rows, by column. The columns of one type share memory."""
    schema = UrlBatch.schema()
    nulls = {kind: pa.nulls(MAX_ROWS, kind) for kind in set(schema.types)}
    return {field.name: nulls[field.type] for field in schema}


@lru_cache(maxsize=64)
def _nulls(rows: int) -> dict[str, pa.Array]:
    """Return nulls for *rows*, by column; documents of one size are usual."""
    return {name: nulls.slice(0, rows) for name, nulls in _columns_of_nulls().items()}
