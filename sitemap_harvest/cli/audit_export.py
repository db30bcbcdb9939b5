"""The options ``--crawl-export`` and ``--crawl-column`` of ``sitemap-harvest audit``."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from sitemap_harvest.audit.crawl_columns import FIELDS
from sitemap_harvest.cli import output
from sitemap_harvest.errors import ArgumentError, there_is_no
from sitemap_harvest.model import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from sitemap_harvest.audit.crawl_export import CrawlExport


def add_crawl_export(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--crawl-export",
        metavar="FILE",
        help="check the listed pages with the export of a crawler, such as Screaming Frog: CSV, JSON Lines or Parquet",
    )
    parser.add_argument(
        "--crawl-column",
        dest="crawl_columns",
        action="append",
        default=[],
        metavar="FIELD=COLUMN",
        help="with --crawl-export: the name of a column that is not recognized, such as status=Code",
    )


def check_pages(details: Sequence[str], *, has_export: bool, has_probe: bool) -> None:
    """Raise :exc:`ArgumentError` if all of *details*, rules, need records of pages that the audit will not have."""
    from sitemap_harvest.audit import RULES

    missing = set() if has_export else {"crawl-export"} if has_probe else {"crawl-export", "pages"}
    needs = {(RULES[name].needs or "").partition(".")[0] if name in RULES else "" for name in details}
    if needs and needs <= missing:
        add = f"{'--probe N or ' if 'pages' in needs else ''}--crawl-export FILE"
        message = f"--details {', '.join(details)}: checked only with records of pages; add {add}"
        raise ArgumentError("--details", details, f"given with {add}", message=message)


def opened(opts: argparse.Namespace) -> AbstractContextManager[CrawlExport | None]:
    """Read the crawl export that *opts* name; ``None`` without one. Raises :exc:`HarvestError`."""
    columns = {}
    for text in opts.crawl_columns:
        field, equals, column = text.partition("=")
        if not (field and equals and column):
            message = f"--crawl-column {text}: it must be FIELD=COLUMN, such as status=Code"
            raise ArgumentError("--crawl-column", text, "FIELD=COLUMN", message=message)
        if field not in FIELDS:
            message = f"--crawl-column {text}: {field!r}: {there_is_no('field', field, FIELDS)}"
            raise ArgumentError("--crawl-column", text, "FIELD=COLUMN", message=message)
        columns[field] = column
    if opts.crawl_export is None:
        if columns:
            message = "--crawl-column names a column of a crawl export: add --crawl-export FILE"
            raise ArgumentError("--crawl-column", opts.crawl_columns, "given with --crawl-export", message=message)
        return nullcontext()
    from sitemap_harvest.audit.crawl_export import CrawlExport  # DuckDB takes 0.1 seconds to load

    export = CrawlExport(opts.crawl_export, columns)
    fields = [f"{field}: {', '.join(names)}" for field, names in export.columns.items()]
    skipped = f", {counted(export.skipped, 'row')} without a URL" if export.skipped else ""
    output.tell(f"{export.path}: {counted(export.pages, 'page')}{skipped}; columns: {'; '.join(fields)}")
    return export
