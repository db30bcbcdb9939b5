"""``sitemap-harvest query``: SQL over the snapshots of a store."""

from __future__ import annotations

from contextlib import closing
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from sitemap_harvest.cli import output
from sitemap_harvest.engine.exit_codes import RunOutcome
from sitemap_harvest.errors import StoreError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from scrapy.settings import Settings

    from sitemap_harvest.snapshots.store.store import History

USAGE = '--store S "SELECT ..."'
EPILOG = (
    "Views: urls, sitemaps, problems (of the last snapshot of each site, or of the snapshots that --at selects); "
    "changes, runs, sites (of all runs). Times are in UTC. "
    "Exit codes: 0 success; 2 wrong usage, or an invalid query."
)
_MOST_ROWS = 1000  # shown as a table; files have all rows


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

    store = output.store_of(opts, settings)
    name = output.file_and_format(opts.output)[1] if opts.output else None
    histories = store.histories() if opts.site is None else [store.site(opts.site)]
    _check_time(opts.at, histories)
    with closing(Views(histories, at=opts.at)) as views:
        reader = views.query(opts.sql)
        if name:
            rows = output.write(_batches(reader, keep_types=name == "parquet"), opts.output)
            output.tell(f"{rows:,} rows")
        else:
            _show(reader)
    return RunOutcome.WHOLE


def _check_time(when: str, histories: Sequence[History]) -> None:
    """Raise :exc:`StoreError` if no site has such a snapshot: the result would be empty without explanation."""
    if when in {"latest", "all"}:
        return
    errors = []
    for history in histories:
        try:
            history.run(when)
        except StoreError as error:
            errors.append(error)
    if errors and len(errors) == len(histories):
        raise errors[0]


def _batches(reader: pa.RecordBatchReader, *, keep_types: bool) -> Iterator[output.AnyBatch]:
    """Yield the rows, preceded by an empty batch, so that the column names are known in any case."""
    empty = pa.RecordBatch.from_pylist([], schema=reader.schema)
    for batch in chain([empty], reader):
        yield output.AnyBatch(batch) if keep_types else output.plain(batch)


def _show(reader: pa.RecordBatchReader) -> None:
    """Print the first rows, and the number of the others."""
    shown: list[pa.RecordBatch] = []
    rows = 0
    for batch in reader:
        shown.append(batch.slice(0, max(_MOST_ROWS - rows, 0)))
        rows += batch.num_rows
    output.show(pa.Table.from_batches(shown, reader.schema))
    if rows > _MOST_ROWS:
        output.tell(f"{rows - _MOST_ROWS:,} more rows: write them to a file with -O rows.csv")
