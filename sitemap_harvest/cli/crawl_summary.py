"""What ``sitemap-harvest crawl`` shows of a run: one line while it runs, a table and a few lines at its end."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from rich.filesize import decimal

from sitemap_harvest.cli.output import screen_width, tell
from sitemap_harvest.cli.tables import table_lines
from sitemap_harvest.engine.run_state import RUN
from sitemap_harvest.engine.run_summary import Tally

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sitemap_harvest.engine.run_summary import Summary

NO_OUTPUT = "No output file was given, so nothing is saved: add -O urls.jsonl"
_NUMBERS = ("documents", "URLs", "bytes", "download (s)")
_MOST_PROBLEMS = 8  # codes shown; the document records have all of them


def line(summary: Summary, seconds: float) -> str:
    """Return the line for a run that has taken *seconds*."""
    rate = summary.urls / seconds if seconds > 0 else 0.0
    if words := summary.probe_in_words():
        return f"{words} · {int(seconds) // 60}:{int(seconds) % 60:02}"
    return (
        f"{summary.documents:,} documents done, {summary.queued:,} queued · {summary.urls:,} URLs"
        f" · {rate:,.0f} per second · {int(seconds) // 60}:{int(seconds) % 60:02}"
    )


def show(summary: Summary, stats: Mapping[str, Any], *, has_output: bool | None) -> None:
    """Print the table, and the failures as text; for *has_output* see :func:`crawl`."""
    if stats.get("finish_reason") == "wrong_argument" or summary.is_stored:
        return  # the log has the reason in one line; the audit of stored snapshots has its own output
    size, seconds = (sum(getattr(one, name) for one in summary.tallies.values()) for name in ("bytes", "seconds"))
    rows = [
        (name, f"{tally.documents:,}", f"{tally.urls:,}", decimal(tally.bytes), f"{tally.seconds:,.1f}")
        for name, tally in [*summary.by_outcome(), ("total", Tally(summary.documents, summary.urls, size, seconds))]
    ]
    names = ("outcome", *_NUMBERS)
    width = screen_width(sys.stderr)
    for line in table_lines(names, rows, width=width, right=_NUMBERS, optional=_NUMBERS[:1:-1], has_total=True):
        tell(line)
    for line in _lines(summary, stats, has_output=bool(has_output)):
        tell(line, cuts=True)
    if summary.urls and has_output is False:
        tell(NO_OUTPUT)


def _lines(summary: Summary, stats: Mapping[str, Any], *, has_output: bool) -> Iterator[str]:
    if sum(summary.sites.values()) > 1:
        yield summary.sites_in_words()
    if summary.urls:
        for title, notes in (("No URLs found:", summary.site_notes), ("Failed or incomplete:", summary.notes)):
            if notes.first:
                yield title
                yield from (f"  {note}" for note, _ in notes.lines())
        if summary.dropped:
            yield f"URLs dropped by filters: {summary.filters_in_words()}"
    else:
        yield summary.why_nothing()
    if words := summary.probe_in_words():
        yield f"{words[0].upper()}{words[1:]}."
    if words := summary.changes_in_words():
        yield f"{words[0].upper()}{words[1:]}."
    if summary.problems:
        by_count = sorted(summary.problems.items(), key=lambda pair: (-pair[1], pair[0]))
        most = ", ".join(f"{code} {count:,}" for code, count in by_count[:_MOST_PROBLEMS])
        left_out = len(by_count) - _MOST_PROBLEMS
        more = f", and {left_out} more code{'' if left_out == 1 else 's'}" if left_out > 0 else ""
        yield f"Problems in the documents: {most}{more}"
    yield _ending(summary, stats, has_output=has_output)


def _ending(summary: Summary, stats: Mapping[str, Any], *, has_output: bool) -> str:
    reason = stats.get("finish_reason")
    if reason is None:
        lost = ": the output files may be truncated, and their previous contents are lost" if has_output else ""
        return f"The run was aborted{lost}."
    run = f"Run {stats[RUN]}: e" if RUN in stats else "E"
    ended = f"{run}nded after {stats['elapsed_time_seconds']:,.1f} seconds"
    if reason == "finished":
        return f"{ended}."
    known = f"{summary.queued:,} known document{' was' if summary.queued == 1 else 's were'}"
    return f"{ended}, early ({reason}){f': {known} not read' if summary.queued else ''}."
