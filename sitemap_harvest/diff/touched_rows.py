"""The rows that differ between two snapshots, sorted by URL in blocks, with bounded memory.

Only rows that one snapshot lacks are read in full. Of the rows in both, only the key
column is scanned, for URLs that also have a differing row.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sitemap_harvest.diff.classify import GONE, KEPT, NEW, Block
from sitemap_harvest.diff.fields import FLAT, READ, flat
from sitemap_harvest.diff.temporary_files import Sorted
from sitemap_harvest.snapshots.store.row_ranges import Intervals

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sitemap_harvest.diff.documents import Places
    from sitemap_harvest.snapshots.store import Snapshot

MEMORY_MB = 256  # memory limit of DuckDB; beyond it, DuckDB writes to the temporary folder
_BATCH_ROWS = 50_000
_PLACE = {"side": pa.int8(), "document": pa.int32(), "row": pa.int64()}
_TOUCHED = pa.schema([*_PLACE.items(), *FLAT])


class Work:
    """A folder for temporary files, and a DuckDB connection that uses it, created on first use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def duckdb(self) -> Any:
        """The connection. Its tables are in memory up to a limit, then in the folder."""
        import duckdb  # here: loading takes 0.1 seconds, and is not needed if nothing has changed

        limits = {"memory_limit": f"{MEMORY_MB}MB", "temp_directory": str(self.folder)}
        return duckdb.connect(config={**limits, "preserve_insertion_order": False, "threads": 2})

    def query(self, sql: str, **tables: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        """Yield the result of *sql* over *tables*, which are read once."""
        failed: list[BaseException] = []
        for name, table in tables.items():
            self.duckdb.register(name, pa.RecordBatchReader.from_batches(table.schema, _watched(table, failed)))
        try:
            yield from self.duckdb.sql(sql).to_arrow_reader(_BATCH_ROWS)
        except Exception as error:
            if failed:  # DuckDB replaces reading errors with its own
                raise failed[0] from error
            raise

    def close(self) -> None:
        """Close the connection and its tables."""
        if "duckdb" in vars(self):
            self.duckdb.close()


def _watched(batches: Iterator[pa.RecordBatch], failed: list[BaseException]) -> Iterator[pa.RecordBatch]:
    try:
        yield from batches
    except BaseException as error:
        failed.append(error)
        raise


def touched(before: Snapshot, after: Snapshot, places: tuple[Places, Places], work: Work) -> Iterator[Block]:
    """Yield the rows in only one snapshot, and all rows of their URLs, by URL; each URL is in one block.

    *places* find the documents of the rows in either snapshot.
    """
    earlier, later = before.row_ranges().intervals(), after.row_ranges().intervals()
    gone, new = earlier.minus(later), later.minus(earlier)
    if not (count := len(gone) + len(new)):
        return
    rows = Sorted(work.folder, _TOUCHED, count)
    filled = {"key"}
    for snapshot, wanted, side in ((before, gone, GONE), (after, new, NEW)):
        _add(rows, snapshot, wanted, side, places[side == NEW], filled)
    if len(kept := earlier.minus(gone)):
        _add(rows, after, _with_keys_of(rows, after, kept, work), KEPT, places[1], filled)
    active = [name for name in FLAT.names if name in filled]
    for batch in rows.batches([*_PLACE, *active]):
        side, document, row = (batch[name].to_numpy() for name in _PLACE)
        yield Block({name: batch[name] for name in active}, side, document.astype(np.int64), row)


def _add(rows: Sorted, snapshot: Snapshot, wanted: Intervals, side: int, places: Places, filled: set[str]) -> None:
    """Add the *wanted* rows, and add to *filled* the names of their columns that have values."""
    for batch in snapshot.rows(wanted, READ) if len(wanted) else ():
        columns = flat(batch)
        filled |= {name for name, column in columns.items() if column.null_count < len(column)}
        document = pa.array(places.documents(batch["row"].to_numpy()), pa.int32())
        arrays = [pa.repeat(pa.scalar(side, pa.int8()), len(document)), document, batch["row"], *columns.values()]
        rows.add(pa.RecordBatch.from_arrays(arrays, schema=_TOUCHED))


def _with_keys_of(rows: Sorted, snapshot: Snapshot, wanted: Intervals, work: Work) -> Intervals:
    """Return those of the rows *wanted* of *snapshot* whose URL one of *rows* has."""
    found = [np.array([], dtype=np.int64)]
    # By hash, which takes half the time and less memory: that two URLs have the same one by chance does no harm.
    query = "select row from kept semi join (select hash(key) as h from touched) as t on hash(kept.key) = t.h"
    tables = {"touched": rows.keys(), "kept": _keys(snapshot, wanted)}
    found += [batch["row"].to_numpy() for batch in work.query(query, **tables)]
    return Intervals.of_ids(np.concatenate(found))


def _keys(snapshot: Snapshot, wanted: Intervals) -> pa.RecordBatchReader:
    """Return the ids of the rows *wanted*, and the key of each, or ``loc`` if it has no key."""
    schema = pa.schema({"row": pa.int64(), "key": pa.string()})
    return pa.RecordBatchReader.from_batches(schema, _keys_of(snapshot, wanted, schema))


def _keys_of(snapshot: Snapshot, wanted: Intervals, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    keyless = [np.array([], dtype=np.int64)]
    for batch in snapshot.rows(wanted, ["key"]):
        if batch["key"].null_count:
            keyless.append(batch.filter(batch["key"].is_null())["row"].to_numpy())
            batch = batch.filter(batch["key"].is_valid())  # noqa: PLW2901 - the others follow
        yield batch.cast(schema)
    if len(ids := np.concatenate(keyless)):
        for batch in snapshot.rows(Intervals.of_ids(ids), ["loc"]):
            yield batch.rename_columns(schema.names).cast(schema)


def count_urls(snapshot: Snapshot, wanted: Intervals | None = None) -> int:
    """Return the number of distinct URLs in the rows *wanted* of *snapshot* (``None``: all rows).

    Counts distinct 64-bit hashes. Does not use DuckDB, which a first run needs for
    nothing else, and which takes 50 MB.
    """
    wanted = snapshot.row_ranges().intervals() if wanted is None else wanted
    hashes = np.zeros(len(wanted), dtype=np.int64)
    filled = 0
    for keys in (batch["key"].to_pylist() for batch in _keys(snapshot, wanted)):
        hashes[filled : filled + len(keys)] = np.fromiter(map(hash, keys), dtype=np.int64, count=len(keys))
        filled += len(keys)
    hashes.sort()
    return int(np.count_nonzero(hashes[1:] != hashes[:-1])) + bool(len(hashes))
