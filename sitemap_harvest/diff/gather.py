"""The rows that a comparison is about, sorted by URL, in blocks: out of core, within a limit of memory.

Only rows that one snapshot has and the other has not are read in full. Of
those in both, one column is scanned, for URLs that are among them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.diff.classify import GONE, KEPT, NEW, Block
from sitemap_harvest.diff.fields import FLAT, READ, flat
from sitemap_harvest.store.extents import Intervals

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sitemap_harvest.diff.documents import Places
    from sitemap_harvest.diff.snapshot import Snapshot

MEMORY_MB = 256  # what DuckDB keeps in memory; beyond it, it writes to the temporary folder
_BLOCK_ROWS = 50_000
_BITS_A_ROW = 16  # so that one kept row in sixteen, at most, is read for nothing
_MAX_BITS = 1 << 28  # 32 MB
_TOUCHED = pa.schema([("side", pa.int8()), ("document", pa.int32()), ("row", pa.int64()), *FLAT])
_PLACE = 3  # columns of _TOUCHED before those of FLAT


def connect(folder: Path) -> Any:
    """Return a DuckDB connection in memory that writes to *folder* what does not fit."""
    import duckdb  # here: it takes a tenth of a second to load, and most runs compare nothing

    return duckdb.connect(
        config={
            "memory_limit": f"{MEMORY_MB}MB",
            "temp_directory": str(folder),
            "preserve_insertion_order": False,
            "threads": 2,
        }
    )


class Touched:
    """The rows of URLs that may have changed."""

    def __init__(self, connection: Any) -> None:
        """Keep them in a table of *connection*."""
        self._connection = connection
        self._filled: set[str] = set()
        names = {pa.int8(): "tinyint", pa.int32(): "integer", pa.int64(): "bigint", pa.float64(): "double"}
        names |= {pa.string(): "varchar", pa.bool_(): "boolean"}
        columns = ", ".join(f"{field.name} {names[field.type]}" for field in _TOUCHED)
        connection.execute(f"create temp table touched ({columns})")

    def gather(self, before: Snapshot, after: Snapshot, places: tuple[Places, Places]) -> bool:
        """Read the rows that differ, and those with their URLs; return whether there are any.

        *places* tell where the rows stand in either snapshot.
        """
        earlier, later = before.extents().intervals(), after.extents().intervals()
        gone, new = earlier.minus(later), later.minus(earlier)
        if not len(gone) and not len(new):
            return False
        self._add(before, gone, GONE, places[0])
        self._add(after, new, NEW, places[1])
        kept = self._with_their_urls(after, earlier.minus(gone), len(gone) + len(new))
        self._add(after, kept, KEPT, places[1])
        return True

    def blocks(self) -> Iterator[Block]:
        """Yield all rows, sorted by URL (its bytes), each URL in one block."""
        active = [name for name in FLAT.names if name in self._filled or name == "key"]
        query = f"select side, document, row, {', '.join(active)} from touched order by key"  # noqa: S608 - our names
        reader = self._connection.sql(query).to_arrow_reader(_BLOCK_ROWS)
        for table in _whole_urls(reader):
            arrays = {name: table[name].combine_chunks() for name in table.column_names}
            side, document, row = (arrays.pop(name).to_numpy() for name in _TOUCHED.names[:_PLACE])
            yield Block(arrays, side, document.astype(np.int64), row)

    def close(self) -> None:
        """Forget them."""
        self._connection.execute("drop table touched")

    def _add(self, snapshot: Snapshot, wanted: Intervals, side: int, places: Places) -> None:
        if not len(wanted):
            return
        batches = (self._flat(batch, side, places) for batch in snapshot.rows(wanted, READ))
        self._connection.register("arriving", pa.RecordBatchReader.from_batches(_TOUCHED, batches))
        self._connection.execute("insert into touched from arriving")

    def _flat(self, batch: pa.RecordBatch, side: int, places: Places) -> pa.RecordBatch:
        columns = flat(batch)
        rows = batch["row"]
        documents = pa.array(places.documents(rows.to_numpy()), pa.int32())
        self._filled |= {name for name, column in columns.items() if column.null_count < len(column)}
        arrays = [pa.repeat(pa.scalar(side, pa.int8()), len(rows)), documents, rows, *columns.values()]
        return pa.RecordBatch.from_arrays(arrays, schema=_TOUCHED)

    def _with_their_urls(self, after: Snapshot, kept: Intervals, touched: int) -> Intervals:
        """Return those of the rows *kept* that have a URL of a touched row; and some others, which do no harm.

        A set of bits, one for each hash of a key, is a hundredth of the keys
        themselves. What it lets through in error is a URL of which no row differs.
        """
        if not len(kept):
            return kept
        size = 1 << int(np.clip(touched * _BITS_A_ROW, 1 << 16, _MAX_BITS) - 1).bit_length()
        mask = np.uint64(size - 1)
        bits = np.zeros(size // 8, dtype=np.uint8)
        for batch in self._connection.sql("select hash(key) as h from touched").to_arrow_reader(_BLOCK_ROWS):
            place = batch["h"].to_numpy() & mask
            np.bitwise_or.at(bits, place >> np.uint64(3), _bit(place))
        found = []
        for ids, hashes in _hashes(self._connection, after, kept):
            place = hashes & mask
            found.append(ids[(bits[place >> np.uint64(3)] & _bit(place)) != 0])
        return Intervals.of_ids(np.concatenate(found))


def count_urls(connection: Any, snapshot: Snapshot) -> int:
    """Return how many different URLs *snapshot* has: different hashes of 64 bits, which are as good."""
    wanted = snapshot.extents().intervals()
    hashes = np.zeros(len(wanted), dtype=np.uint64)
    filled = 0
    for _, part in _hashes(connection, snapshot, wanted):
        hashes[filled : filled + len(part)] = part
        filled += len(part)
    hashes.sort()
    return int(np.count_nonzero(hashes[1:] != hashes[:-1])) + bool(len(hashes))


def _hashes(connection: Any, snapshot: Snapshot, wanted: Intervals) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the ids of rows *wanted*, and the hash of the key of each; of ``loc``, where there is none."""
    keyless = []
    for batch in _hashed(connection, snapshot, wanted, "key"):
        ids, hashes = batch["row"].to_numpy(), batch["h"].to_numpy()
        if batch["absent"].true_count:
            absent = batch["absent"].to_numpy(zero_copy_only=False)
            keyless.append(ids[absent])
            ids, hashes = ids[~absent], hashes[~absent]
        yield ids, hashes
    if keyless:
        for batch in _hashed(connection, snapshot, Intervals.of_ids(np.concatenate(keyless)), "loc"):
            yield batch["row"].to_numpy(), batch["h"].to_numpy()


def _hashed(connection: Any, snapshot: Snapshot, wanted: Intervals, column: str) -> Any:
    schema = pa.schema([("row", pa.int64()), (column, pa.string())])
    connection.register("arriving", pa.RecordBatchReader.from_batches(schema, snapshot.rows(wanted, [column])))
    query = f"select row, hash({column}) as h, {column} is null as absent from arriving"  # noqa: S608 - names of ours
    return connection.sql(query).to_arrow_reader(_BLOCK_ROWS)


def _bit(place: np.ndarray) -> np.ndarray:
    return np.left_shift(np.uint8(1), (place & np.uint64(7)).astype(np.uint8))


def _whole_urls(reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """Yield the rows of *reader* in tables of some 50,000, none of which ends within a URL."""
    waiting: list[pa.RecordBatch] = []
    for batch in reader:
        if not batch.num_rows:
            continue
        key = batch["key"]
        differ = pc.indices_nonzero(pc.not_equal(key, key[len(key) - 1]))
        begun = differ[-1].as_py() + 1 if len(differ) else 0  # from there on it is the last URL of the batch
        if begun:
            yield pa.Table.from_batches([*waiting, batch.slice(0, begun)])
            waiting = []
        waiting.append(batch.slice(begun))
    if waiting:
        yield pa.Table.from_batches(waiting)
