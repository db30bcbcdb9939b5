"""``sitemap-harvest diff``: the changes between two stored runs of a site, without a crawl."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sitemap_harvest.cli import output
from sitemap_harvest.cli.diff_report import change_lines, pending_lines, summary_lines
from sitemap_harvest.config import value_parsers
from sitemap_harvest.diff import compare, compare_each
from sitemap_harvest.engine.exit_codes import RunOutcome
from sitemap_harvest.errors import StoreError
from sitemap_harvest.model import ChangeBatch, SummaryBatch
from sitemap_harvest.snapshots.store.cursors import Cursor, cursor_of, gap, move, runs_since

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from scrapy.settings import Settings

    from sitemap_harvest.diff import Changes
    from sitemap_harvest.model import Batch, ChangeSummary
    from sitemap_harvest.snapshots.store import History, Run

USAGE = "--store S SITE [FROM [TO] | --after RUN | --consumer NAME]"
EPILOG = (
    "A run is latest, previous, first, a run ID, a date, a timestamp or an age (2w, 7d, 36h). A date or a timestamp "
    "selects the last run that started by then, and an age the last run that is at least that old. "
    "Exit codes: 0 success; 2 wrong usage, or no such run."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this action."""
    parser.add_argument("site", metavar="SITE", help="the site, such as https://www.example.com")
    parser.add_argument(
        "runs",
        metavar="FROM [TO]",
        nargs="*",
        default=[],
        help="two runs, in either order (default: the run before TO, and latest)",
    )
    parser.add_argument("--after", metavar="RUN", help="show the changes of each run after RUN, oldest first")
    parser.add_argument(
        "--consumer",
        metavar="NAME",
        help="show the changes that the consumer NAME has not received; with -O, also move its cursor. "
        "To create a consumer, add --after",
    )
    output.add_store(parser)
    output.add_output(parser)
    parser.add_argument("--summary", action="store_true", help="print only the summary, not each change")


def run(opts: argparse.Namespace, settings: Settings) -> RunOutcome:
    """Compare. Raises :exc:`HarvestError`."""
    if opts.output:
        output.checked_output(opts.output)
    history = output.stored_site(output.store_of(opts, settings), opts.site)
    if opts.after is not None or opts.consumer is not None:
        _deliver(history, opts)
    else:
        before, after = _runs(history, opts.runs)
        _put(iter([compare(history.snapshot(before), history.snapshot(after), most_named=None)]), history, opts)
    return RunOutcome.WHOLE


def _deliver(history: History, opts: argparse.Namespace) -> None:
    """Show or write the changes of each run after the named one, or after the cursor, and move the cursor."""
    if opts.runs:
        raise StoreError(
            f"{' '.join(opts.runs)}: runs cannot be combined with --after or --consumer, which compare each run with "
            "the previous one; omit the runs"
        )
    if opts.consumer is not None:
        output.parsed_option("--consumer", opts.consumer, value_parsers.consumer)
    if opts.after is not None:
        start = history.run(opts.after).id
    elif (cursor := cursor_of(history, opts.consumer)) is not None:
        start = cursor.run
        if (words := gap(history, cursor)) is not None:
            output.tell(words)
    else:
        hint = "to create it, give the run after which it starts, such as --after latest"
        raise StoreError(f"{history.site}: there is no consumer named {opts.consumer}; {hint}")
    runs = runs_since(history, start)
    _put(compare_each(map(history.snapshot, runs), most_named=None), history, opts)
    if len(runs) == 1:
        output.tell(f"{history.site}: there is no run after {runs[0].id}")
    if opts.consumer is not None and opts.output and not opts.summary:
        move(history, Cursor(opts.consumer, runs[-1].id))


def _runs(history: History, named: Sequence[str]) -> Sequence[Run]:
    """Return the earlier and the later of the runs *named*. Raises :exc:`StoreError`.

    One run is compared with the last; the last, or none, with the run before it.
    """
    if len(named) > 2:
        raise StoreError(f"{' '.join(named)}: give at most two runs, FROM and TO")
    if len(named) < 2:
        named = ("previous" if not named or named[0] == "latest" else named[0], "latest")
    now = datetime.now(UTC)
    before, after = sorted((history.run(one, now=now) for one in named), key=lambda run: run.id)
    if before.id == after.id:
        raise StoreError(f"{history.site}: {named[0]} and {named[1]} are the same run, {after.id}")
    return before, after


def _put(found: Iterator[Changes], history: History, opts: argparse.Namespace) -> None:
    """Print the changes of *history* in *found*, or write them and print their number."""
    if not opts.output:
        for changes in found:
            with changes:
                _show(changes, history, only_summary=opts.summary)
        return
    summaries: list[ChangeSummary] = []

    def batches() -> Iterator[Batch[Any]]:
        if not opts.summary:
            yield ChangeBatch.of([])  # so that a file without changes has columns
        for changes in found:
            with changes:
                summaries.append(changes.summary)
                if not opts.summary:
                    yield from changes.batches()
        if opts.summary:
            yield SummaryBatch.of(summaries)

    output.write(batches(), opts.output)
    for summary in summaries:
        output.tell(summary.in_words())


def _show(changes: Changes, history: History, *, only_summary: bool) -> None:
    """Print the report of a comparison."""
    width = output.screen_width()
    for line in summary_lines(changes.summary, width=width):
        output.say(line)
    for line in change_lines(changes, width=width, only_totals=only_summary):
        output.say(line)
    if not only_summary:
        pending = history.snapshot(history.run(changes.summary.run)).pending_urls()
        for line in pending_lines(changes.summary, pending, width=width):
            output.say(line)
