"""``sitemap-harvest export``: writes the snapshots of a store to the tables of a database."""

from __future__ import annotations

import sys
from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from sitemap_harvest.cli import output
from sitemap_harvest.databases import KINDS, DatabaseLocation, Mode, kind_of, open_database, parse_location
from sitemap_harvest.databases.store_export import StoreExport
from sitemap_harvest.display import counted
from sitemap_harvest.engine.exit_codes import RunOutcome
from sitemap_harvest.errors import DatabaseError
from sitemap_harvest.redact import without_login

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import Settings

    from sitemap_harvest.databases.store_export import ExportCounts

_CANCELLED = "57014"  # the code of PostgreSQL
_NOUNS = {"urls": "URL", "sitemaps": "document", "problems": "problem", "changes": "change", "runs": "run"}
USAGE = "--store S DATABASE [SITE...]"
EPILOG = (
    "Tables: urls, sitemaps, problems (of the last snapshot of each site); changes, runs (of all runs); "
    "sitemap_harvest_exports (the last exported run of each site). A site is written in one transaction. "
    "Exit codes: 0 success; 2 wrong usage, or the database cannot be opened or has other tables; "
    "3 the store has no runs; 4 a site could not be read or written; 130 interrupted."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this action."""
    parser.add_argument(
        "database",
        metavar="DATABASE",
        help="the database: a file (seo.duckdb, seo.sqlite), a server (postgresql://me@localhost/seo), or a "
        "folder of Delta tables (delta:///data/seo); all but DuckDB need an extra of this package: sqlite, "
        "postgresql or delta",
    )
    parser.add_argument("sites", nargs="*", default=[], metavar="SITE", help="only these sites")
    output.add_store(parser)
    parser.add_argument("--full", action="store_true", help="write all runs in the store, also those exported before")


def run(opts: argparse.Namespace, settings: Settings) -> RunOutcome:
    """Export. Raises :exc:`HarvestError`."""
    location = _location(opts.database)
    store = output.store_of(opts, settings)
    named = list({history.site: history for history in map(store.site, opts.sites)}.values())
    if not location.is_server and "://" not in location.address:
        output.make_folder("DATABASE", opts.database, location.address)
    with open_database(location) as database, _progress() as progress:
        task = progress.add_task("", total=len(named) or store.size(), rows=0)
        rows = 0

        def count(more: int) -> None:
            nonlocal rows
            progress.update(task, rows=(rows := rows + more))

        export = StoreExport(database, is_full=opts.full, on_rows=count)
        export.check()
        try:
            for sites in export.export(named or store.iter_histories()):
                progress.advance(task, sites)
            error = None
        except DatabaseError as raised:
            if _is_interrupted(raised):
                raise KeyboardInterrupt from raised
            if not export.counts.sites:
                raise
            error = raised
    for message in export.counts.failed:
        output.tell(message)
    if error is not None:
        output.tell(f"{opts.command}: {error}", "run the command again to continue")
    output.tell(_described(export.counts))
    if error is not None or export.counts.failed:
        return RunOutcome.PARTLY_FAILED
    return RunOutcome.WHOLE if export.counts.sites or export.counts.up_to_date else RunOutcome.NOTHING_FOUND


def _location(given: str) -> DatabaseLocation:
    """Return the location of the database *given*. Raises :exc:`DatabaseError`."""
    uri, _, kind = given.rpartition(":")  # as in the outputs of crawls: s3://bucket/seo:delta
    if not uri or kind not in KINDS:
        uri, kind = given, kind_of(given)
    location = parse_location(uri, kind, default=Mode.APPEND)
    if location.table or location.partition or location.mode is not Mode.APPEND:
        message = "an export has no parameters table, mode, key and partition; remove them"
        raise DatabaseError(f"{without_login(given)}: {message}")
    return location


def _is_interrupted(error: DatabaseError) -> bool:
    """Whether Ctrl-C has ended a statement: drivers then raise errors of their own."""
    cause = error.__cause__  # a RuntimeError in DuckDB
    if isinstance(cause, RuntimeError) or getattr(cause, "sqlstate", None) == _CANCELLED:
        return True
    return cause is not None and isinstance(cause.__cause__, KeyboardInterrupt)


def _progress() -> Progress:
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("sites, {task.fields[rows]:,} rows"), TimeElapsedColumn())
    is_terminal = sys.stderr.isatty()
    file = sys.stderr if is_terminal else StringIO()  # before version 15, it ends with an empty line elsewhere too
    return Progress(*columns, console=Console(file=file), transient=True, disable=not is_terminal)


def _described(counts: ExportCounts) -> str:
    """Return *counts* as text."""
    if not counts.sites:
        if not counts.up_to_date:
            return "The store has no runs."
        return f"nothing new: {counted(counts.up_to_date, 'site')} up to date"
    rows = ", ".join(counted(counts.rows[table], noun) for table, noun in _NOUNS.items())
    others = f" ({counts.up_to_date:,} up to date)" if counts.up_to_date else ""
    return f"{counted(counts.sites, 'site')} exported{others}: {rows}"
