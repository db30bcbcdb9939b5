"""Compare two snapshots, and the bare join of the same rows in DuckDB, side by side.

    python -m tests.benchmarks.diff --rows 1000000
    python -m tests.benchmarks.diff --rows 10000000 --case renamed

1 % of the URLs are added, 1 % removed, 3 % changed. Each runs in a separate process, which reports its processor
seconds and its peak memory. The bare join is a full outer join of two Parquet files by key that counts what differs.
Case ``renamed``: every document has a new name, so no row is the same. ``https``: every URL has a new scheme, so all
are removed and added. ``same``: no row differs. All files are in a temporary folder.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sitemap_harvest import FoundBy, Kind, Outcome, SitemapRecord, UrlEntry
from sitemap_harvest.diff import compare
from sitemap_harvest.model import LedgerBatch, arrow_schema
from sitemap_harvest.snapshots.store.row_ranges import Intervals, RowRanges
from sitemap_harvest.snapshots.store.snapshot import Pending

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DOCUMENT_ROWS = 50_000
CHUNK_ROWS = 50_000
JOIN = """select count(*) filter (b.key is null), count(*) filter (a.key is null),
    count(*) filter (a.key is not null and b.key is not null and (a.lastmod is distinct from b.lastmod
    or a.changefreq is distinct from b.changefreq or a.priority is distinct from b.priority))
    from '{before}' a full join '{after}' b on a.key = b.key"""
START = datetime(2026, 11, 1, tzinfo=UTC)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="URLs of each snapshot (1000000)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (3)")
    parser.add_argument("--case", choices=["usual", "renamed", "https", "same"], default="usual")
    parser.add_argument("--folder", type=Path, help="where the data are, or are to be (a temporary folder)")
    parser.add_argument("--only", choices=["join", "diff"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        globals()[f"run_{options.only}"](options)
        return
    with tempfile.TemporaryDirectory() as folder:
        options.folder = options.folder or Path(folder)
        make(options)
        measure(options)


def measure(options: argparse.Namespace) -> None:
    print(f"{options.rows} rows against {options.rows}, case {options.case}, {options.rounds} rounds")
    ratios = []
    for number in range(1, options.rounds + 1):
        join, diff = (run(only, options) for only in ("join", "diff"))
        ratios.append(diff[0] / join[0])
        print(
            f"round {number}: join {join[0]:6.2f} CPU s, {join[1]:4.0f} MB"
            f"   diff {diff[0]:6.2f} CPU s, {diff[1]:4.0f} MB   ratio {ratios[-1]:5.2f}   {join[2]}   {diff[2]}"
        )
    print(f"median ratio {statistics.median(ratios):.2f}")


def run(only: str, options: argparse.Namespace) -> tuple[float, float, str]:
    """Run one of the two; return its processor seconds, its peak memory in MB and its result."""
    command = [sys.executable, "-m", "tests.benchmarks.diff", "--only", only, "--folder", str(options.folder)]
    command += ["--rows", str(options.rows), "--case", options.case]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output.strip()


def run_join(options: argparse.Namespace) -> None:
    import duckdb

    limits = {"memory_limit": "512MB", "temp_directory": str(options.folder), "preserve_insertion_order": False}
    with duckdb.connect(config=limits) as connection:
        before, after = (parquet(options, side) for side in ("before", "after"))
        print(*connection.execute(JOIN.format(before=before, after=after)).fetchone())


def run_diff(options: argparse.Namespace) -> None:
    before, after = (Stored.opened(options, side) for side in ("before", "after"))
    with compare(before, after, folder=options.folder) as changes:
        rows = sum(len(batch) for batch in changes.batches())
    summary = changes.summary
    print(summary.removed, summary.added, summary.changed, summary.moved, summary.unchanged, rows)


def parquet(options: argparse.Namespace, side: str) -> Path:
    return options.folder / f"{side}-{options.case}-{options.rows}.parquet"


def make(options: argparse.Namespace) -> None:
    """Write both sides, and for the later one a row store: the rows that the earlier one does not have."""
    if parquet(options, "new").exists():
        return
    first = {"before": 0, "after": 0 if options.case == "same" else options.rows // 100}
    files: dict[str, pq.ParquetWriter] = {}
    for side, start in first.items():
        for number in range(start, start + options.rows, CHUNK_ROWS):
            table = rows(np.arange(number, min(number + CHUNK_ROWS, start + options.rows)), side, options)
            write(files, parquet(options, side), table)
            if side == "after":
                write(files, parquet(options, "new"), table.filter(pc.greater_equal(table["row"], 10 * options.rows)))
    for file in files.values():
        file.close()


def write(files: dict[str, pq.ParquetWriter], path: Path, table: pa.Table) -> None:
    if str(path) not in files:
        files[str(path)] = pq.ParquetWriter(path, table.schema, compression="zstd")
    files[str(path)].write_table(table)


def rows(number: np.ndarray, side: str, options: argparse.Namespace) -> pa.Table:
    """Return the rows of the URLs *number*; in the later snapshot, 3 % have a later lastmod."""
    text = pa.array(number).cast(pa.string())
    section = pa.array(number % 97).cast(pa.string())
    scheme = "http" if (options.case, side) == ("https", "before") else "https"
    loc = pc.binary_join_element_wise(
        f"{scheme}://www.example.com/catalog/section-", section, "/product-", text, "-with-a-name.html", ""
    )
    later = is_changed(number, side, options) * 1000
    lastmod = pa.array((1_700_000_000 + number % 10_000_000 + later) * 1_000_000, pa.timestamp("us", "UTC"))
    given = {
        "loc": loc,
        "key": loc,
        "site": pa.repeat("https://www.example.com", len(number)),
        "sitemap": names(number, side, options),
        "lastmod": lastmod,
        "lastmod_text": lastmod.cast(pa.timestamp("s", "UTC")).cast(pa.string()),
        "changefreq": pa.repeat("weekly", len(number)),
        "priority": pa.array((number % 10) / 10),
    }
    columns = {
        entry.name: given.get(entry.name, pa.nulls(len(number), entry.type))
        for entry in arrow_schema(UrlEntry)
        if entry.name != "position"
    }
    return pa.table({"row": pa.array(number + is_other(number, side, options) * 10 * options.rows), **columns})


def is_changed(number: np.ndarray, side: str, options: argparse.Namespace) -> np.ndarray:
    return (number % 33 == 0) & (side == "after") & (options.case != "same")


def is_other(number: np.ndarray, side: str, options: argparse.Namespace) -> np.ndarray:
    """Return which URLs have a different row in the later snapshot."""
    is_renamed = (options.case in {"renamed", "https"}) & (side == "after")
    return is_changed(number, side, options) | (number >= options.rows) | is_renamed


def names(number: np.ndarray, side: str, options: argparse.Namespace) -> pa.StringArray:
    prefix = f"https://www.example.com/{'new-' if (options.case, side) == ('renamed', 'after') else ''}sitemap-"
    return pc.binary_join_element_wise(prefix, pa.array(number // DOCUMENT_ROWS).cast(pa.string()), ".xml", "")


@dataclass
class Run:
    id: str
    urls: int
    partly_read: int = 0
    result: str | None = None
    started_at: datetime = START
    arguments: dict[str, str] = field(default_factory=dict)


@dataclass
class Stored:
    """A snapshot in one Parquet file."""

    site: str
    run: Run
    row_store: list[Path]
    ledger: pa.Table
    listed: RowRanges

    @classmethod
    def opened(cls, options: argparse.Namespace, side: str) -> Stored:
        """Return the snapshot of *side*, without reading its rows."""
        first = options.rows // 100 if side == "after" and options.case != "same" else 0
        last = first + options.rows
        parts, urls = [], []
        for index, one in enumerate(range(first // DOCUMENT_ROWS, (last - 1) // DOCUMENT_ROWS + 1)):
            number = np.arange(max(first, one * DOCUMENT_ROWS), min(last, (one + 1) * DOCUMENT_ROWS))
            ids = number + is_other(number, side, options) * 10 * options.rows
            parts.append(RowRanges.of(index, np.arange(1, len(ids) + 1), ids))
            urls += names(number[:1], side, options).to_pylist()
        row_store = [parquet(options, name) for name in ("before", "new")[: 1 + (side == "after")]]
        run = Run(side, options.rows)
        return cls("https://www.example.com", run, row_store, ledger(urls, side), RowRanges.joined(parts))

    def sitemaps(self) -> pa.Table:
        return self.ledger

    def columns(self, *names: str) -> list[list[Any]]:
        return [self.ledger[name].to_pylist() for name in names]

    def named_documents(self) -> frozenset[str]:
        return frozenset()

    def row_ranges(self) -> RowRanges:
        return self.listed

    @property
    def pending(self) -> Pending:
        return Pending(RowRanges.joined([]), since=[], runs=[], partial=[])

    def rows(self, wanted: Intervals, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield rows by id. Row groups and columns without values are not read."""
        for path in self.row_store:
            with pq.ParquetFile(path) as file:
                for group in range(file.num_row_groups):
                    if not meets(wanted, file, group):
                        continue
                    ids = file.read_row_group(group, ["row"])["row"].combine_chunks()
                    mask = among(wanted, ids.to_numpy())
                    if not mask.any():
                        continue
                    table = read_group(file, group, columns).add_column(0, "row", ids)
                    yield from (table if mask.all() else table.filter(pa.array(mask))).combine_chunks().to_batches()


def among(wanted: Intervals, ids: np.ndarray) -> np.ndarray:
    at = np.searchsorted(wanted.start, ids, side="right") - 1
    return (at >= 0) & (ids < (wanted.start + wanted.count)[at])


def meets(wanted: Intervals, file: pq.ParquetFile, group: int) -> bool:
    """Whether a row group may hold requested rows, by its least and greatest id."""
    bounds = file.metadata.row_group(group).column(0).statistics
    at = int(np.searchsorted(wanted.start, bounds.max, side="right")) - 1
    return at >= 0 and bool(wanted.start[at] + wanted.count[at] > bounds.min)


def read_group(file: pq.ParquetFile, group: int, columns: Sequence[str]) -> pa.Table:
    """Return *columns* of a row group; columns without values cost nothing."""
    metadata = file.metadata.row_group(group)
    chunks = [metadata.column(index) for index in range(metadata.num_columns)]
    filled = {
        chunk.path_in_schema.partition(".")[0] for chunk in chunks if chunk.statistics.null_count < chunk.num_values
    }
    table = file.read_row_group(group, [name for name in columns if name in filled])
    for index, name in enumerate(columns):
        if name not in filled:
            kind = file.schema_arrow.field(name).type
            table = table.add_column(index, name, pa.nulls(metadata.num_rows, kind))
    return table


def ledger(urls: list[str], run: str) -> pa.Table:
    """Return the records of documents that *run* has read completely."""
    records: list[Any] = [
        SitemapRecord(
            url=url,
            parent="https://www.example.com/robots.txt",
            root="https://www.example.com",
            found_by=FoundBy.ROBOTS,
            kind=Kind.SITEMAP,
            outcome=Outcome.READ,
            complete=True,
            rows_from=run,
            fresh_at=START + timedelta(minutes=1),
            fresh_run=run,
        )
        for url in urls
    ]
    records.append(replace(records[0], url=records[0].parent, parent=None, kind=Kind.ROBOTS))
    return pa.Table.from_batches([LedgerBatch.of(records).arrow])


if __name__ == "__main__":
    main()
