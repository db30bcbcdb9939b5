"""What a crawl shows on the screen: the live progress line, and the summary at the end."""

from __future__ import annotations

import logging
import sys
import time
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.filesize import decimal
from rich.live import Live
from rich.table import Table
from rich.text import Text
from scrapy import signals

from sitemap_harvest.cli.output import say
from sitemap_harvest.engine.run_state import RUN
from sitemap_harvest.engine.run_summary import Tally
from sitemap_harvest.integration.spider_attributes import harvest_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy.crawler import Crawler

    from sitemap_harvest.engine.run_summary import Notes, Summary

NO_OUTPUT = "No output file was given, so nothing is saved: add -O urls.jsonl"
_MOST_PROBLEMS = 8  # codes shown; the document records have all of them


class ProgressLine:
    """Scrapy extension: one line with documents done and queued, URLs and speed, removed at the end."""

    def __init__(self, crawler: Crawler) -> None:
        started = time.monotonic()
        self._handlers: list[tuple[logging.StreamHandler[Any], Any]] = []
        self._live = Live(
            console=Console(stderr=True),
            get_renderable=lambda: Text(line(harvest_of(crawler).summary, time.monotonic() - started)),
            refresh_per_second=5,
            transient=True,
            redirect_stdout=False,
        )

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Show the line while the spider is open."""
        extension = cls(crawler)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        """Start. From now on log lines are printed above the live line."""
        before = sys.stderr
        self._live.start()
        for handler in logging.root.handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is before:
                self._handlers.append((handler, handler.setStream(sys.stderr)))

    def spider_closed(self) -> None:
        """Stop, and restore the log."""
        for handler, stream in self._handlers:
            handler.setStream(stream)
        self._live.stop()


def line(summary: Summary, seconds: float) -> str:
    """Return the line for a run that has taken *seconds*."""
    rate = summary.urls / seconds if seconds > 0 else 0.0
    return (
        f"{summary.documents:,} documents done, {summary.queued:,} queued · {summary.urls:,} URLs"
        f" · {rate:,.0f} per second · {int(seconds) // 60}:{int(seconds) % 60:02}"
    )


def show(summary: Summary, stats: Mapping[str, Any], *, console: Console, has_output: bool) -> None:
    """Print the table, and the failures as text."""
    if stats.get("finish_reason") == "wrong_argument":
        return  # the log has the reason in one line
    console.print(_table(summary))
    for line in _lines(summary, stats):
        say(console, line)
    if summary.urls and not has_output:
        say(console, NO_OUTPUT)


def _lines(summary: Summary, stats: Mapping[str, Any]) -> Iterator[str]:
    if sum(summary.sites.values()) > 1:
        yield summary.sites_in_words()
    if summary.urls:
        yield from _notes("No URLs found:", summary.site_notes)
        yield from _notes("Failed or incomplete:", summary.notes)
        if summary.dropped:
            yield f"URLs dropped by filters: {summary.filters_in_words()}"
    else:
        yield summary.why_nothing()
    if words := summary.changes_in_words():
        yield f"{words[0].upper()}{words[1:]}."
    if summary.problems:
        by_count = sorted(summary.problems.items(), key=lambda pair: (-pair[1], pair[0]))
        most = ", ".join(f"{code} {count:,}" for code, count in by_count[:_MOST_PROBLEMS])
        more = f", and {len(by_count) - _MOST_PROBLEMS} more kinds" if len(by_count) > _MOST_PROBLEMS else ""
        yield f"Problems in the documents: {most}{more}"
    yield _ending(summary, stats)


def _notes(title: str, notes: Notes) -> Iterator[str]:
    if notes.first:
        yield title
        yield from (f"  {note}" for note in notes.lines())


def _ending(summary: Summary, stats: Mapping[str, Any]) -> str:
    reason = stats.get("finish_reason")
    if reason is None:
        return "The run was aborted: its outputs may be truncated, and the files that they replace are lost."
    run = f"Run {stats[RUN]}: e" if RUN in stats else "E"
    ended = f"{run}nded after {stats['elapsed_time_seconds']:,.1f} seconds"
    if reason == "finished":
        return f"{ended}."
    known = f"{summary.queued:,} known document{' was' if summary.queued == 1 else 's were'}"
    return f"{ended}, early ({reason}){f': {known} not read' if summary.queued else ''}."


def _table(summary: Summary) -> Table:
    table = Table(title=None, show_edge=False, pad_edge=False)
    table.add_column("outcome")
    for name in ("documents", "URLs", "bytes", "download s"):
        table.add_column(name, justify="right")
    for outcome, tally in summary.by_outcome():
        table.add_row(str(outcome), *_cells(tally))
    size, seconds = (sum(getattr(one, name) for one in summary.tallies.values()) for name in ("bytes", "seconds"))
    table.add_section()
    table.add_row("total", *_cells(Tally(summary.documents, summary.urls, size, seconds)))
    return table


def _cells(tally: Tally) -> tuple[str, str, str, str]:
    return f"{tally.documents:,}", f"{tally.urls:,}", decimal(tally.bytes), f"{tally.seconds:,.1f}"
