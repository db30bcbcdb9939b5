"""What ``sitemap-harvest crawl`` shows of a run: one line while it runs, a table and a few lines at its end."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from rich.filesize import decimal

from sitemap_harvest.cli.output import screen_width, tell
from sitemap_harvest.cli.parsers import PROGRAM
from sitemap_harvest.cli.tables import table_lines
from sitemap_harvest.engine.exit_codes import RunOutcome, dropped_all
from sitemap_harvest.engine.run_state import RUN
from sitemap_harvest.engine.run_summary import Tally
from sitemap_harvest.model import Outcome, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sitemap_harvest.engine.run_summary import Summary
    from sitemap_harvest.reporting.run_reports import ErrorCount

NO_OUTPUT = "No output file was given, so nothing is saved: add -O urls.jsonl"
_NUMBERS = ("documents", "URLs", "bytes", "download (s)")
_MOST_PROBLEMS = 8  # codes shown; the document records have all of them
_STOPPED = "shutdown"  # the reason of Scrapy for a signal
_SERIOUS = frozenset({Outcome.FAILED, Outcome.BLOCKED, Outcome.FORBIDDEN})
_STYLES = {RunOutcome.WHOLE: "green", RunOutcome.PARTLY_FAILED: "yellow", RunOutcome.INTERRUPTED: "yellow"}
_WORDS = {
    RunOutcome.WHOLE: "complete",
    RunOutcome.PARTLY_FAILED: "part of the run failed",
    RunOutcome.NOTHING_FOUND: "no URL was harvested",
}


def line(summary: Summary, seconds: float) -> str:
    """Return the line for a run that has taken *seconds*."""
    rate = summary.urls / seconds if seconds > 0 else 0.0
    if words := summary.probe_in_words():
        return f"{words} · {int(seconds) // 60}:{int(seconds) % 60:02}"
    return (
        f"{summary.documents:,} documents done, {summary.queued:,} queued · {summary.urls:,} URLs"
        f" · {rate:,.0f} per second · {int(seconds) // 60}:{int(seconds) % 60:02}"
    )


def show(
    summary: Summary,
    stats: Mapping[str, Any],
    outcome: RunOutcome,
    *,
    has_output: bool | None,
    checkpointed: int | None = None,
    errors: ErrorCount | None = None,
    kept: Iterable[str] = (),
) -> None:
    """Print the table, and the failures as text; for *has_output* see :func:`crawl`.

    *checkpointed*: documents that a run with ``resume`` would reuse; ``None`` without a store.
    *errors*: those in the log, which are shown if they are the only reason of the result.
    *kept*: messages about outputs that were not replaced, which the log does not show.
    On a terminal, failures have a colour too (see https://no-color.org).
    """
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
        tell(line, style=_style_of_row(line.partition(" ")[0], summary))
    ending = _ending(summary, stats, outcome, has_output=has_output, checkpointed=checkpointed)
    # Otherwise a document or a site is the reason, or the last line has it: the run ended early.
    is_reason = outcome is RunOutcome.PARTLY_FAILED and not summary.has_failed and stats["finish_reason"] == "finished"
    logged = _logged(errors) if is_reason and errors else ()
    dropped = 0 if dropped_all(summary, stats) else stats.get("item_dropped_count", 0)  # otherwise the last line has it
    if dropped:
        logged = (("", f"Pipelines dropped {counted(dropped, 'item')}."), *logged)
    logged = (*logged, *(("yellow", message) for message in kept))
    for style, line in (*_lines(summary, outcome), *logged, (_STYLES.get(outcome, "red"), ending)):
        tell(line, style=style, cuts=True)
    if summary.urls and has_output is False and checkpointed is None:
        tell(NO_OUTPUT)


def _style_of_row(name: str, summary: Summary) -> str:
    """Return the style of the row of the table that begins with *name*."""
    if name in _SERIOUS:
        return "red" if summary.has_failed else ""  # a probe may fail, such as that of the site with https
    tally = summary.tallies.get(Outcome(name)) if name in {*Outcome} else None
    return "yellow" if tally is not None and (tally.failures or name == Outcome.INTERRUPTED) else ""


def _lines(summary: Summary, outcome: RunOutcome) -> Iterator[tuple[str, str]]:
    """Yield the style and the text of each line between the table and the last line, in a fixed order."""
    if sum(summary.sites.values()) > 1:
        yield "", summary.sites_in_words()
    if summary.urls or outcome is RunOutcome.INTERRUPTED:
        for style, title, notes in (
            ("yellow", "No URLs found:", (summary.site_notes,)),
            ("yellow", "Failed or incomplete:", (summary.notes,)),
            ("yellow", "Not read:", (summary.interrupted,)),
            ("", "Failed, but not needed:", (summary.out_of_scope, summary.guesses)),
        ):
            if lines := [line for one in notes for line in one.lines()]:
                yield style, title
                yield from (("", f"  {note if fields else _as_typed(note)}") for note, fields in lines)
        if summary.dropped:
            yield "", f"URLs {summary.dropped_in_words()}"
    else:
        yield "red", summary.why_nothing()
    yield from _hints(summary)
    sentences = (summary.probe_in_words(), summary.changes_in_words(), summary.snapshots_in_words())
    for words in filter(None, sentences):
        yield "", f"{words[0].upper()}{words[1:]}."
    yield from (("yellow", f"{_as_typed(note)}.") for note, _ in summary.emptied.lines())
    if summary.problems:
        yield "", f"Problems in the documents: {_problems_in_words(summary)}"


def _as_typed(note: str) -> str:
    """Return *note* with the options that write the kind of items that it names to a file of its own."""
    return re.sub(r"\(emit=(\w+)", r"(crawl with --emit \1 -O \1.jsonl", note)


def _logged(errors: ErrorCount) -> Iterator[tuple[str, str]]:
    if errors.first:
        yield "yellow", "Errors:"
        yield from (("", f"  {message}") for message in errors.first)
        if more := errors.errors - len(errors.first):
            yield "", f"  and {more:,} more, in the log"


def _hints(summary: Summary) -> Iterator[tuple[str, str]]:
    if sites := summary.how_to_search():
        yield "yellow", f"To search {sites} for sitemaps: {PROGRAM} crawl {sites}"


def _problems_in_words(summary: Summary) -> str:
    by_count = sorted(summary.problems.items(), key=lambda pair: (-pair[1], pair[0]))
    most = ", ".join(f"{code} {count:,}" for code, count in by_count[:_MOST_PROBLEMS])
    left_out = len(by_count) - _MOST_PROBLEMS
    return most + (f", and {counted(left_out, 'more code')}" if left_out > 0 else "")


def _ending(
    summary: Summary,
    stats: Mapping[str, Any],
    outcome: RunOutcome,
    *,
    has_output: bool | None,
    checkpointed: int | None,
) -> str:
    reason = stats.get("finish_reason")
    code = "" if has_output is None or not outcome.exit_code else f" (exit code {outcome.exit_code})"
    if reason is None:
        lost = ["what it had read is not in the output files"] if has_output else []
        if checkpointed is None:
            return f"The run was aborted{': ' if lost else ''}{'; '.join(lost)}{code}."
        from sitemap_harvest.engine.snapshot_session import SAVES  # few runs are aborted

        lost.append(f"{'other ' if summary.stored else ''}snapshots in the store are unchanged")
        ended = f"The run was aborted: {'; '.join(lost)}{code}."
        if not checkpointed:
            return f"{ended} There is nothing to resume yet: {SAVES}."
        documents = counted(checkpointed, "document")
        return (
            f"{ended} Run the same command again with --resume to reuse the {documents} that it had saved; "
            f"what it read later is requested again ({SAVES})."
        )
    run = f"Run {stats[RUN]}: " if RUN in stats else ""
    known = f"{summary.queued:,} queued document{' was' if summary.queued == 1 else 's were'} not read"
    early = "" if reason in {"finished", _STOPPED} else f", early ({reason})"
    facts = [known] if summary.queued and reason != "finished" else []
    if reason == "finished":
        if not summary.has_enough or outcome is not RunOutcome.WHOLE:
            words = _WORDS.get(outcome, "no URL was found")
            if dropped_all(summary, stats):
                items = stats["item_dropped_count"]
                words = "pipelines dropped the only item" if items == 1 else f"pipelines dropped all {items:,} items"
            facts.append(words)
        if summary.has_enough:
            facts.append(f"the limit of {counted(summary.urls, 'URL')} was reached")
            if summary.stored or has_output is None:  # for an audit
                facts.append("snapshots and audits have all URLs of the documents that were read")
    verb = "interrupted" if reason == _STOPPED else "ended"
    ended = f"{run}{verb} after {stats['elapsed_time_seconds']:,.1f} seconds{early}"
    ended = f"{ended[0].upper()}{ended[1:]}{': ' if facts else ''}{'; '.join(facts)}{code}."
    has_store = checkpointed is not None
    return ended + (_how_to_go_on(summary, reason, has_store=has_store) if known in facts else "")


def _how_to_go_on(summary: Summary, reason: str, *, has_store: bool) -> str:
    """Return what a run that ended early for *reason* leaves to do; empty if the same command would not help."""
    which = "this document" if summary.queued == 1 else "these documents"
    if summary.stored:
        return f" Run the same command again to read the rest: it requests {which} first."
    if has_store or reason != _STOPPED:
        return ""
    return " Run the same command again: without a store, it reads all documents again."
