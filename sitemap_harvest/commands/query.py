"""``scrapy harvest query``: SQL over the snapshots of a store."""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa
from rich.console import Console

from sitemap_harvest.commands import closing, output
from sitemap_harvest.errors import StoreError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from scrapy.settings import Settings

    from sitemap_harvest.store.history import History

HELP = "Ask the snapshots of a store in SQL."
ARGUMENTS = '--store S "SELECT ..."'
EPILOG = (
    "Views: urls, sitemaps, problems (of the last snapshot of each site, or of those that --at names); "
    "changes, runs, sites (of all runs). Times are in UTC. "
    "Exit codes: 0 answered; 2 wrong usage, or the query cannot be answered."
)
_MOST_ROWS = 1000  # shown as a table; a file has all


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this action."""
    parser.add_argument("sql", metavar="SQL", help="one SELECT statement, in the words of DuckDB")
    output.add_store(parser)
    parser.add_argument("--site", metavar="SITE", help="only this site")
    parser.add_argument(
        "--at",
        metavar="WHEN",
        default="latest",
        help="the snapshots to ask: latest, previous, first, a date, an instant, the id of a run, or all",
    )
    output.add_output(parser)


def run(opts: argparse.Namespace, settings: Settings) -> int:
    """Answer, and return the exit code. Raises :exc:`HarvestError`."""
    from sitemap_harvest.store.views import Views  # DuckDB takes 0.1 seconds to load

    store = output.store_of(opts, settings)
    if opts.output:
        output.file_and_format(opts.output)
    one = None if opts.site is None else [store.site(opts.site)]
    _check_time(opts.at, store.histories() if one is None else one)
    with Views(lambda: store.histories() if one is None else one, at=opts.at) as views:
        reader = views.query(opts.sql)
        if opts.output:
            rows = output.write(_batches(reader, keep_types=opts.output.endswith("parquet")), opts.output)
            output.tell(f"{rows:,} rows")
        else:
            _show(reader)
    return closing.FINE


def _check_time(when: str, histories: Sequence[History]) -> None:
    """Raise :exc:`StoreError` if no site has a snapshot of that time: an answer would be empty without a word."""
    if when in {"latest", "all"}:
        return
    errors = []
    for history in histories:
        try:
            history.run(when)
        except StoreError as error:
            errors.append(error)
        else:
            return
    if errors:
        raise errors[0]


def _batches(reader: pa.RecordBatchReader, *, keep_types: bool) -> Iterator[output.AnyBatch]:
    """Yield the rows, and first of all none: the names of the columns are told in any case."""
    for batch in chain([_none(reader.schema)], reader):
        yield output.AnyBatch(batch) if keep_types else output.plain(batch)


def _none(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


def _show(reader: pa.RecordBatchReader) -> None:
    """Print the first rows, and how many more there are."""
    shown: list[pa.RecordBatch] = []
    left = 0
    for batch in reader:
        room = _MOST_ROWS - sum(one.num_rows for one in shown)
        shown.append(batch.slice(0, room))
        left += max(batch.num_rows - room, 0)
    console = Console(file=sys.stdout)
    output.show(pa.Table.from_batches(shown, reader.schema), console)
    if left:
        output.tell(f"{left:,} more rows: write them to a file with -O rows.csv")
