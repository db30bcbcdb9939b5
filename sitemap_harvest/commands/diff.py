"""``scrapy harvest diff``: what changed between two kept runs over a site, without a crawl."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from rich.console import Console

from sitemap_harvest.commands import closing, output
from sitemap_harvest.crawl.snapshot_wishes import check_consumer_name
from sitemap_harvest.diff import compare, compare_each
from sitemap_harvest.errors import StoreError
from sitemap_harvest.model import SummaryBatch
from sitemap_harvest.store.cursors import Cursor, cursor_of, gap, move, runs_since

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from scrapy.settings import Settings

    from sitemap_harvest.diff import Changes
    from sitemap_harvest.model import Batch, ChangeSummary
    from sitemap_harvest.store import History, Run

HELP = "Tell what changed on a site between two runs that are kept, or in each run after one."
ARGUMENTS = "--store S SITE [AFTER [BEFORE] | --after RUN | --consumer NAME]"
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
    parser.add_argument("--after", metavar="RUN", help="the changes of each run after RUN, one run after the other")
    parser.add_argument(
        "--consumer",
        metavar="NAME",
        help="the changes that NAME has not received; with -O, its cursor moves when they are written. "
        "A new consumer begins after the run that --after names",
    )
    output.add_store(parser)
    output.add_output(parser)
    parser.add_argument("--summary", action="store_true", help="only the summary, not each change")


def run(opts: argparse.Namespace, settings: Settings) -> int:
    """Compare, and return the exit code. Raises :exc:`HarvestError`."""
    if opts.output:
        output.file_and_format(opts.output)
    history = output.store_of(opts, settings).site(opts.site)
    if opts.after is not None or opts.consumer is not None:
        _deliver(history, opts)
    else:
        before, after = _runs(history, opts.runs)
        _tell(iter([compare(history.snapshot(before), history.snapshot(after))]), opts)
    return closing.FINE


def _deliver(history: History, opts: argparse.Namespace) -> None:
    """Tell the changes of each run after the one that is named, or after the cursor, and move the cursor."""
    if opts.runs:
        words = "--after and --consumer compare each run with the one before"
        raise StoreError(f"{' '.join(opts.runs)}: {words}")
    if opts.consumer is not None:
        check_consumer_name(opts.consumer, option="--consumer")
    runs = runs_since(history, _start(history, opts))
    _tell(compare_each(map(history.snapshot, runs)), opts)
    if len(runs) == 1:
        output.tell(f"{history.site}: there is no run after {runs[0].id}")
    if opts.consumer is not None and opts.output and not opts.summary:
        move(history, Cursor(opts.consumer, runs[-1].id))


def _start(history: History, opts: argparse.Namespace) -> str:
    """Return the id of the run after which the changes begin."""
    if opts.after is not None:
        return history.run(opts.after).id
    if (cursor := cursor_of(history, opts.consumer)) is None:
        begin = "to begin one, name the run before its first changes, such as --after latest"
        raise StoreError(f"{history.site}: there is no consumer {opts.consumer}; {begin}")
    if (words := gap(history, cursor)) is not None:
        output.tell(f"{words}")
    return cursor.run


def _tell(found: Iterator[Changes], opts: argparse.Namespace) -> None:
    """Show what was *found*, or write it and say how much it is."""
    if not opts.output:
        for changes in found:
            with changes:
                _show(changes, only_summary=opts.summary)
        return
    summaries: list[ChangeSummary] = []
    if opts.summary:
        for changes in found:
            with changes:
                summaries.append(changes.summary)
        output.write([SummaryBatch.of(summaries)], opts.output)
    else:
        output.write(_batches(found, summaries), opts.output)
    for summary in summaries:
        output.tell(summary.in_words())


def _batches(found: Iterator[Changes], summaries: list[ChangeSummary]) -> Iterator[Batch[Any]]:
    """Yield the changes of all that was *found*, one comparison after the other; add their summaries to *summaries*."""
    for changes in found:
        with changes:
            summaries.append(changes.summary)
            yield from changes.batches()


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
