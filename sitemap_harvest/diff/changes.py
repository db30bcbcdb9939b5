"""``Changes``: the result of a comparison, read in batches, and the file that holds the changes until then.

Until all changes are found it is not known which of them belong to a mass change or a rename.
"""

from __future__ import annotations

import shutil
import weakref
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.diff.classify import CHANGED, EXPIRED, FIELDS, KINDS, LASTMOD, REMOVED, as_text
from sitemap_harvest.diff.documents import LEFT_FEED, LEFT_NEWS
from sitemap_harvest.diff.pairing import BUMPED, PAIRED
from sitemap_harvest.display import first_rows, summary_as_html, table_as_html
from sitemap_harvest.errors import HarvestError
from sitemap_harvest.frames import ArrowData
from sitemap_harvest.model import Change, ChangeBatch, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sitemap_harvest.diff.classify import Block, Found
    from sitemap_harvest.diff.documents import DocumentPairs
    from sitemap_harvest.diff.temporary_files import TemporaryFile
    from sitemap_harvest.model import ChangeSummary

_MAP = arrow_schema(Change).field("before").type
FOUND = pa.schema(
    {
        "change": pa.int64(),
        "kind": pa.int8(),
        "loc": pa.string(),
        "key": pa.string(),
        "title": pa.string(),
        "document": pa.int32(),
        "document_before": pa.int32(),
        "fields": arrow_schema(Change).field("fields").type,
        "before": _MAP,
        "after": _MAP,
        "reason": pa.string(),
        "is_bumped": pa.bool_(),
    }
)
"""Columns of the file. Changes, kinds and documents are numbers; ``is_bumped``: only ``lastmod`` is later."""


class Changes(ArrowData):
    """The changes between two snapshots. A context manager: closing it removes its temporary files."""

    def __init__(
        self, summary: ChangeSummary, urls: list[str], changes: TemporaryFile, pairs: TemporaryFile, folder: Path
    ) -> None:
        """Take the results. *folder* is removed by :meth:`close`."""
        self.summary = summary
        """Summary for the site as a whole."""
        self._urls = pa.array(urls, pa.string())
        self._changes = changes
        self._pairs = pairs
        self._is_mass_bump = any(pattern.name == BUMPED for pattern in summary.patterns)
        self._remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self._changes.rows

    def __repr__(self) -> str:
        return f"<Changes: {self.summary.in_words()}>"

    def _repr_html_(self) -> str:
        lines = (f"{one.name}: {one.count:,}: {one.detail}" for one in self.summary.patterns)
        if not self._remove.alive:
            return summary_as_html(f"Changes (closed): {self.summary.in_words()}", lines)
        first = first_rows((batch.arrow for batch in self.batches()), ChangeBatch.schema())
        return summary_as_html(
            f"Changes: {self.summary.in_words()}", lines, table_as_html("changes", first, rows=len(self))
        )

    def close(self) -> None:
        """Remove the temporary files. The summary stays available."""
        self._remove()

    def batches(self) -> Iterator[ChangeBatch]:
        """Yield the changes sorted by ``key`` (``loc`` if there is none; by bytes), those of one URL by kind.

        The order depends on nothing else, not even on the order in which documents were
        read. Can be called repeatedly until :meth:`close`, and raises :exc:`HarvestError` from then on.
        """
        if not self._remove.alive:
            raise HarvestError("the changes were closed, and their files are removed")
        more = self._pairs.batches()
        pairs = PAIRED.empty_table()
        for part in self._changes.batches():
            end = part["change"][-1].as_py() + 1
            while (
                not (pairs.num_rows and pairs["change"][-1].as_py() >= end) and (batch := next(more, None)) is not None
            ):
                pairs = pa.concat_tables([pairs, pa.Table.from_batches([batch])])
            rows = int(np.searchsorted(pairs["change"].to_numpy(), end))
            yield self._batch(part, pairs.slice(0, rows))
            pairs = pairs.slice(rows)

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the changes, or *columns* of them, as an Arrow table in memory.

        :meth:`batches` yields them with flat memory.
        """
        return ChangeBatch.table(self.batches(), columns)

    def _batch(self, part: pa.RecordBatch, pairs: pa.Table) -> ChangeBatch:
        """Return *part* of the stored changes, with the *pairs* of these changes, as a public batch."""
        facts = {name: getattr(self.summary, name) for name in ("site", "run", "baseline")}
        where = np.full(part.num_rows, -1)
        where[pairs["change"].to_numpy() - part["change"][0].as_py()] = np.arange(pairs.num_rows)
        at = pa.array(where, mask=where < 0)
        columns = {
            **{name: part[name] for name in ("loc", "key", "fields", "before", "after", "reason")},
            "kind": pa.array(KINDS, pa.string()).take(part["kind"]),
            "sitemap": self._urls.take(part["document"]),
            "sitemap_before": self._urls.take(part["document_before"]),
            **{name: pa.repeat(pa.scalar(text, pa.string()), part.num_rows) for name, text in facts.items()},
            **{name: pairs[name].combine_chunks().take(at) for name in PAIRED.names[1:]},
        }
        if self._is_mass_bump:
            columns["pattern"] = pc.if_else(part["is_bumped"], BUMPED, columns["pattern"])
        schema = ChangeBatch.schema()
        return ChangeBatch(pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema))


def written(block: Block, found: Found, documents: DocumentPairs, start: int) -> pa.RecordBatch:
    """Return the changes *found* in *block*, numbered from *start*, with the columns :data:`FOUND`."""
    rows, document = pa.array(found.row), block.document[found.row]
    key = block.columns["key"].take(rows)
    if "keyless" in block.columns:
        key = pc.if_else(block.columns["keyless"].take(rows).is_valid(), pa.scalar(None, pa.string()), key)
    before = block.document[found.row_before]
    changes = {
        "change": pa.array(np.arange(start, start + len(rows))),
        "kind": pa.array(found.kind, pa.int8()),
        "loc": as_text(block.columns, "loc", found.row),
        "key": key,
        "title": as_text(block.columns, "title", found.row),
        "document": pa.array(document, pa.int32()),
        "document_before": pa.array(before, pa.int32(), mask=before == document),
        **_differences(block, found),
        "reason": _reasons(found, document, documents),
        "is_bumped": _is_bumped(block, found),
    }
    return pa.RecordBatch.from_pydict(changes, schema=FOUND)


def _differences(block: Block, found: Found) -> dict[str, pa.Array]:
    """Return ``fields``, ``before`` and ``after``: a list and two maps for each change."""
    has = found.fields[:, None] & (1 << np.arange(len(FIELDS)))[None, :] != 0
    change, field = np.nonzero(has)  # by change, then in the order of the fields
    names = pa.array(FIELDS, pa.string()).take(pa.array(field))
    ends = np.concatenate([[0], np.cumsum(has.sum(axis=1))]).astype(np.int32)
    is_changed = found.kind == CHANGED
    offsets = pa.array(ends, mask=np.concatenate([~is_changed, [False]]))
    maps = {}
    for name, rows in (("before", found.row_before), ("after", found.row)):
        texts = _texts(block, field, rows[change])
        maps[name] = pa.MapArray.from_arrays(offsets, names, texts, _MAP)
    lists = pa.ListArray.from_arrays(pa.array(ends), names, type=FOUND.field("fields").type)
    return {"fields": lists, **maps}


def _texts(block: Block, field: np.ndarray, rows: np.ndarray) -> pa.StringArray:
    """Return the text of each of *field* (field numbers) in the corresponding row."""
    parts, places = [pa.array([], pa.string())], [np.array([], dtype=np.int64)]
    for number in np.unique(field).tolist():
        place = np.flatnonzero(field == number)
        parts.append(as_text(block.columns, FIELDS[number], rows[place]))
        places.append(place)
    return pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(places))))


def _reasons(found: Found, document: np.ndarray, documents: DocumentPairs) -> pa.StringArray:
    """Return the reason of each removal; null for other changes."""
    words = [*documents.reasons, LEFT_FEED, LEFT_NEWS]
    at = np.where(
        found.kind == EXPIRED, np.where(documents.is_feed[document], len(words) - 2, len(words) - 1), document
    )
    is_gone = np.isin(found.kind, (REMOVED, EXPIRED))
    return pa.array(words, pa.string()).take(pa.array(at, mask=~is_gone))


def _is_bumped(block: Block, found: Found) -> pa.BooleanArray:
    """Return which changes are only a later ``lastmod``."""
    if "lastmod" not in block.columns:
        return pa.repeat(pa.scalar(value=False), len(found.kind))
    lastmod = block.columns["lastmod"]
    one, other = lastmod.take(pa.array(found.row_before)), lastmod.take(pa.array(found.row))
    is_alone = pa.array(found.fields == LASTMOD)
    return pc.fill_null(pc.and_(is_alone, pc.greater(other, one)), fill_value=False)
