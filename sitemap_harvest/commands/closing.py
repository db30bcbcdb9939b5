"""What a person is told when a crawl has ended, and what a script is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.filesize import decimal
from rich.table import Table

from sitemap_harvest.commands.output import say
from sitemap_harvest.crawl.summary import Tally
from sitemap_harvest.crawl.watching.ending import Verdict, verdict
from sitemap_harvest.crawl.watching.run_mark import RUN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from sitemap_harvest.crawl.summary import Notes, Summary

_MOST_PROBLEMS = 8  # codes shown; the ledger has them all
FINE = Verdict.WHOLE.exit_code
WRONG_USAGE = Verdict.WRONG_USAGE.exit_code
NOTHING_FOUND = Verdict.NOTHING_FOUND.exit_code
PARTLY_FAILED = Verdict.PARTLY_FAILED.exit_code


def exit_code(summary: Summary, stats: Mapping[str, Any], *, errors: int = 0) -> int:
    """Return 0 if URLs were harvested and nothing failed, 2 if it was not begun, 4 if URLs were and something failed.

    If there was no URL, 3, or 5 to 8 if there is one reason for it.
    *errors* tells how many the log has, or would have if it showed them.
    """
    return verdict(summary, stats, errors=errors).exit_code


def show(summary: Summary, stats: Mapping[str, Any], *, console: Console, has_output: bool) -> None:
    """Print the closing table, and in words what did not go well."""
    if stats.get("finish_reason") == "wrong_argument":
        return  # the log has said it in one line
    console.print(_table(summary))
    if sum(summary.sites.values()) > 1:
        say(console, summary.sites_in_words())
    if summary.urls and summary.site_notes.first:
        _print_notes(console, "Nothing found:", summary.site_notes)
    if not summary.urls:
        say(console, summary.why_nothing())
    elif summary.notes.first:
        _print_notes(console, "Not read, or not whole:", summary.notes)
    if summary.urls and summary.dropped:
        say(console, f"URLs that the filters dropped: {summary.filters_in_words()}")
    if words := summary.changes_in_words():
        say(console, f"{words[0].upper()}{words[1:]}.")
    if summary.problems:
        by_count = sorted(summary.problems.items(), key=lambda pair: (-pair[1], pair[0]))
        most = ", ".join(f"{code} {count:,}" for code, count in by_count[:_MOST_PROBLEMS])
        most += f", and {len(by_count) - _MOST_PROBLEMS} more kinds" if len(by_count) > _MOST_PROBLEMS else ""
        say(console, f"Problems of the documents: {most}")
    say(console, _ending(summary, stats))
    if summary.urls and not has_output:
        show_no_output(console)


def _print_notes(console: Console, title: str, notes: Notes) -> None:
    for line in (title, *(f"  {note}" for note in notes.lines())):
        say(console, line)


def show_no_output(console: Console) -> None:
    """Say that nothing is kept of the run."""
    say(console, "No output is named, so nothing is kept: add -O urls.jsonl")


def _ending(summary: Summary, stats: Mapping[str, Any]) -> str:
    reason = stats.get("finish_reason")
    if reason is None:
        return "The run was broken off: its files may be cut, and those that they replace are gone."
    run = f"Run {stats[RUN]}: e" if RUN in stats else "E"
    lasted = f"{run}nded after {stats['elapsed_time_seconds']:,.1f} seconds"
    if reason == "finished":
        return f"{lasted}."
    known = f"{summary.queued:,} known document{' was' if summary.queued == 1 else 's were'}"
    left = f": {known} not read" if summary.queued else ""
    return f"{lasted}, early ({reason}){left}."


def _table(summary: Summary) -> Table:
    table = Table(title=None, show_edge=False, pad_edge=False)
    table.add_column("outcome")
    for name in ("documents", "URLs", "bytes", "download s"):
        table.add_column(name, justify="right")
    for outcome, tally in summary.by_outcome():
        table.add_row(str(outcome), *_cells(tally))
    tallies = summary.tallies.values()
    total = Tally(
        documents=summary.documents,
        urls=summary.urls,
        bytes=sum(tally.bytes for tally in tallies),
        seconds=sum(tally.seconds for tally in tallies),
    )
    table.add_section()
    table.add_row("in all", *_cells(total))
    return table


def _cells(tally: Tally) -> tuple[str, str, str, str]:
    return f"{tally.documents:,}", f"{tally.urls:,}", decimal(tally.bytes), f"{tally.seconds:,.1f}"
