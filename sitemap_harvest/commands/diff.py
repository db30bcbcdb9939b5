"""``scrapy harvest diff``: what changed between two kept runs over a site, without a crawl."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa
from rich.console import Console

from sitemap_harvest.commands import closing, output
from sitemap_harvest.diff import compare
from sitemap_harvest.errors import StoreError
from sitemap_harvest.model import SummaryBatch

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from scrapy.settings import Settings

    from sitemap_harvest.diff import Changes
    from sitemap_harvest.model import ChangeSummary
    from sitemap_harvest.store import History, Run

HELP = "Tell what changed on a site between two runs that are kept."
ARGUMENTS = "--store S SITE [AFTER [BEFORE]]"
EPILOG = (
    "A run is latest, previous, first, its id, a date or an instant (the last run that began before its end). "
    "Exit codes: 0 compared; 2 wrong usage, or there is no such run."
)
_FIRST_CHANGES = 20
_COLUMNS = ("kind", "loc", "fields", "reason")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this action."""
    parser.add_argument("site", metavar="SITE", help="the site, as it was named to the crawl")
    parser.add_argument(
        "runs",
        metavar="AFTER [BEFORE]",
        nargs="*",
        default=[],
        help="two runs, in any order (default: latest, and the run before AFTER)",
    )
    output.add_store(parser)
    output.add_output(parser)
    parser.add_argument("--summary", action="store_true", help="only the summary, not each change")


def run(opts: argparse.Namespace, settings: Settings) -> int:
    """Compare, and return the exit code. Raises :exc:`HarvestError`."""
    if opts.output:
        output.file_and_format(opts.output)
    history = output.store_of(opts, settings).site(opts.site)
    before, after = _runs(history, opts.runs)
    with compare(history.snapshot(before), history.snapshot(after)) as changes:
        if not opts.output:
            _show(changes, only_summary=opts.summary)
            return closing.FINE
        if opts.summary:
            output.write([SummaryBatch.of([changes.summary])], opts.output)
        else:
            output.write(changes.batches(), opts.output)
        output.tell(changes.summary.in_words())
    return closing.FINE


def _runs(history: History, named: list[str]) -> tuple[Run, Run]:
    """Return the earlier and the later of the runs *named*. Raises :exc:`StoreError`."""
    if len(named) > 2:
        raise StoreError(f"{' '.join(named)}: two runs are compared, AFTER and BEFORE")
    after = history.run(named[0] if named else "latest")
    if len(named) == 2:
        before = history.run(named[1])
        if before.id == after.id:
            raise StoreError(f"{named[0]} and {named[1]} are the same run, {after.id}")
        return (before, after) if before.id < after.id else (after, before)
    earlier = [one for one in history.runs if one.id < after.id]
    if not earlier:
        raise StoreError(f"{history.site}: there is no run before {after.id} to compare it with")
    return earlier[-1], after


def _show(changes: Changes, *, only_summary: bool) -> None:
    """Print the summary, and the first changes."""
    console = Console(file=sys.stdout)
    summary = changes.summary
    for line in _lines(summary):
        output.say(console, line)
    if only_summary or not len(changes):
        return
    batches = islice(changes.batches(), 1)
    first = pa.Table.from_batches([batch.arrow for batch in batches]).select(_COLUMNS).slice(0, _FIRST_CHANGES)
    output.show(first, console)
    if len(changes) > _FIRST_CHANGES:
        words = f"{len(changes) - _FIRST_CHANGES:,} more changes: write them to a file with -O changes.csv"
        output.say(console, words)


def _lines(summary: ChangeSummary) -> Iterator[str]:
    yield summary.in_words()
    yield f"URLs: {summary.urls_before:,} before, {summary.urls_after:,} after, {summary.unchanged:,} unchanged"
    if summary.stale:
        yield f"Not confirmed in this run: {summary.stale:,} URLs ({summary.stale_share:.1%})"
        for sitemap in summary.stale_sitemaps[:5]:
            yield f"  {sitemap.url}: {sitemap.reason or sitemap.outcome}"
    for pattern in summary.patterns:
        yield f"Many as one: {pattern.name}, {pattern.count:,} URLs ({pattern.detail})"
    for left in summary.sitemaps_left[:5]:
        yield f"Left: {left.url}: {left.reason}"
    for one in summary.differences:
        yield f"Not the same in both runs: {one.name} was {one.before}, is {one.after}"
