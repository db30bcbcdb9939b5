"""``sitemap-harvest query``: SQL over the snapshots of a store."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import closing
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from sitemap_harvest.cli import output
from sitemap_harvest.cli.plain import distinct, plain
from sitemap_harvest.engine.exit_codes import RunOutcome
from sitemap_harvest.model import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from scrapy.settings import Settings

    from sitemap_harvest.snapshots.store.store import History

_MOST_ROWS = 100  # on a terminal
_FORMAT = "tsv"  # elsewhere
USAGE = '--store S "SELECT ..."'
EPILOG = (
    "Views: urls, sitemaps, problems, pending, pages (of the last snapshot of each site, or of the snapshots that --at "
    "selects); changes, runs, sites (of all runs). Times are in UTC. "
    f"A terminal shows the first {_MOST_ROWS} rows as a table; a pipe gets all rows as TSV, unless -o names a format. "
    "Exit codes: 0 success; 2 wrong usage, or an invalid query."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this action."""
    parser.add_argument("sql", metavar="SQL", help="one DuckDB SELECT statement")
    output.add_store(parser)
    parser.add_argument("--site", metavar="SITE", help="only this site")
    parser.add_argument(
        "--at",
        metavar="WHEN",
        default="latest",
        help="the snapshots to query: latest, previous, first, a run ID, a date, a timestamp, an age (7d), or all",
    )
    output.add_output(parser)


def run(opts: argparse.Namespace, settings: Settings) -> RunOutcome:
    """Run the query. Raises :exc:`HarvestError`."""
    from sitemap_harvest.snapshots.store.sql_views import Views  # DuckDB takes 0.1 seconds to load

    destination = opts.output
    if destination is None and output.screen_width() is None:
        destination = _FORMAT
    path, name = output.checked_output(destination) if destination else (None, None)
    store = output.store_of(opts, settings)
    histories = store.histories() if opts.site is None else [output.stored_site(store, opts.site)]
    _check_time(opts.at, histories)
    with closing(Views(histories, at=opts.at)) as views:
        batches = _batches(views.query(opts.sql), name)
        if destination:
            rows = output.write(map(output.AnyBatch, batches), destination)
            if path != "-":
                output.tell(counted(rows, "row"))
            elif not opts.output and _is_redirected():
                written = f"{counted(rows, 'row')} as TSV"
                output.tell(f"{written}. For another format, add -o csv, or -o rows.csv for a file")
        else:
            _show(batches)
    return RunOutcome.WHOLE


def _is_redirected() -> bool:
    """Whether a user at a terminal has redirected standard output to a file."""
    return sys.stderr.isatty() and stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode)


def _check_time(when: str, histories: Sequence[History]) -> None:
    """Raise :exc:`StoreError` if no site has such a snapshot: the result would be empty without explanation."""
    if when in {"latest", "all"}:
        return
    found, errors = output.with_snapshot(histories, when)
    if errors and not found:
        raise errors[0]


def _batches(reader: pa.RecordBatchReader, name: str | None) -> Iterator[pa.RecordBatch]:
    """Yield the rows for the format *name*, preceded by an empty batch, so that the columns are known in any case."""
    names = list(distinct(reader.schema.names))
    empty = pa.RecordBatch.from_pylist([], schema=pa.schema([pa.field("_", one.type) for one in reader.schema]))
    for batch in chain([empty], reader):
        named = pa.RecordBatch.from_arrays(batch.columns, names=names)
        yield named if name == "parquet" else plain(named, keeps_dates=name == "xlsx")


def _show(batches: Iterator[pa.RecordBatch]) -> None:
    """Print the first rows. The others are not even counted, which could take long."""
    shown, rows = list[pa.RecordBatch](), 0
    while rows <= _MOST_ROWS and (batch := next(batches, None)) is not None:
        shown.append(batch.slice(0, _MOST_ROWS + 1 - rows))
        rows += len(shown[-1])
    output.show(pa.Table.from_batches(shown).slice(0, _MOST_ROWS))
    if rows > _MOST_ROWS:
        output.tell(f"These are the first {_MOST_ROWS:,} rows. To get all, add -o rows.csv")
    elif not rows:
        output.tell("0 rows")
