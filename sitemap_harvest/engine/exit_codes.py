"""``RunOutcome``: the result of a run as a word and an exit code, with the text that explains it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sitemap_harvest.model import SiteResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sitemap_harvest.engine.run_summary import Summary

OUTPUT_ERRORS = ("feedexport/failed_count/", "sitemap_harvest/output_failed")
"""Prefixes of the stats that exist if an output could not be stored."""
OUTPUT_CLOSED = "output_closed"
"""The finish reason of a run whose reader, such as ``head``, has closed the pipe: it has what it wants."""
LOST_ITEMS = "sitemap_harvest/lost_items"
"""The stat that exists if a pipeline failed on items."""
_OF_SIGINT = 130  # 128 plus the number of the signal, as shells have it
_INTERRUPTED = frozenset({"shutdown", None})  # by a signal; by a second one, which leaves Scrapy no time for a reason


class RunOutcome(StrEnum):
    """The result of a run, in the order of the exit codes, which count from 0, except for the last."""

    WHOLE = "whole"
    NOT_STARTED = "not-started"
    WRONG_USAGE = "wrong-usage"
    NOTHING_FOUND = "nothing-found"
    PARTLY_FAILED = "partly-failed"
    BLOCKED = "blocked"
    FORBIDDEN = "forbidden"
    UNREACHABLE = "unreachable"
    NOT_A_SITE = "not-a-site"
    INTERRUPTED = "interrupted"

    @property
    def exit_code(self) -> int:
        """The exit code of ``sitemap-harvest crawl``."""
        return _OF_SIGINT if self is RunOutcome.INTERRUPTED else list(RunOutcome).index(self)

    @property
    def meaning(self) -> str:
        """A sentence for users."""
        return _MEANINGS[self]


_MEANINGS = {
    RunOutcome.WHOLE: "URLs were harvested, and nothing failed.",
    RunOutcome.NOT_STARTED: "Scrapy could not start.",
    RunOutcome.WRONG_USAGE: "An option, argument or setting is invalid. Nothing was fetched or written.",
    RunOutcome.NOTHING_FOUND: "No URL was harvested: no URL was found, or filters or pipelines dropped all URLs.",
    RunOutcome.PARTLY_FAILED: "URLs were harvested, but part of the run failed.",
    RunOutcome.BLOCKED: "No URL was found: all targets are blocked.",
    RunOutcome.FORBIDDEN: "No URL was found: robots.txt disallows all targets.",
    RunOutcome.UNREACHABLE: "No URL was found: no target gave a usable response.",
    RunOutcome.NOT_A_SITE: "No URL was found: no target is a site.",
    RunOutcome.INTERRUPTED: "The run was interrupted, for example by Ctrl-C.",
}


_OF_ALL = frozenset({SiteResult.BLOCKED, SiteResult.FORBIDDEN, SiteResult.UNREACHABLE, SiteResult.NOT_A_SITE})
"""Results that are that of the run, under the same word, if all targets have them."""


def dropped_all(summary: Summary, stats: Mapping[str, Any]) -> bool:
    """Whether pipelines dropped all items of the run, and neither an output nor the store has any."""
    is_lost = LOST_ITEMS in stats or stats.get("item_scraped_count", 0)
    return bool(stats.get("item_dropped_count")) and not is_lost and not summary.is_stored


def verdict(summary: Summary, stats: Mapping[str, Any], *, errors: int = 0) -> RunOutcome:
    """Return the result of the run with that *summary* and *stats*.

    *errors*: number of errors in the log, including those below the log level.
    """
    if stats.get("finish_reason") == "wrong_argument":
        return RunOutcome.WRONG_USAGE
    if stats.get("finish_reason") in _INTERRUPTED:
        return RunOutcome.INTERRUPTED
    if not summary.urls and not summary.is_stored:
        (result, *others) = summary.sites or (None,)
        return RunOutcome(result) if result in _OF_ALL and not others else RunOutcome.NOTHING_FOUND
    if dropped_all(summary, stats):
        return RunOutcome.NOTHING_FOUND
    has_errors = errors or any(name.startswith((*OUTPUT_ERRORS, LOST_ITEMS)) for name in stats)
    is_whole = stats.get("finish_reason") in {"finished", OUTPUT_CLOSED} and not has_errors
    return RunOutcome.WHOLE if is_whole and not summary.has_failed else RunOutcome.PARTLY_FAILED
