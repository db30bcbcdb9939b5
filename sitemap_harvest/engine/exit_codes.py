"""``RunOutcome``: the result of a run as a word and an exit code, for the closing table, closing record and metrics."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from sitemap_harvest.model import SiteResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sitemap_harvest.engine.run_summary import Summary

OUTPUT_ERRORS = ("feedexport/failed_count/", "sitemap_harvest/output_failed")
"""Prefixes of the stats that exist if an output could not be stored."""


class RunOutcome(StrEnum):
    """The result of a run, in the order of the exit codes, which count from 0."""

    meaning: str
    """A sentence for users."""

    def __new__(cls, word: str, meaning: str) -> Self:
        """Create the result with that *word*."""
        outcome = str.__new__(cls, word)
        outcome._value_ = word
        outcome.meaning = meaning
        return outcome

    WHOLE = "whole", "URLs were harvested, and nothing failed."
    NOT_STARTED = "not-started", "Scrapy could not start."
    WRONG_USAGE = "wrong-usage", "An option, argument or setting is wrong. Nothing was fetched."
    NOTHING_FOUND = "nothing-found", "No URL was harvested: there is no sitemap, or there are several reasons."
    PARTLY_FAILED = "partly-failed", "URLs were harvested, but part of the run failed."
    BLOCKED = "blocked", "No URL was found: all targets are blocked."
    FORBIDDEN = "forbidden", "No URL was found: robots.txt disallows all targets."
    UNREACHABLE = "unreachable", "No URL was found: no target gave a usable response."
    NOT_A_SITE = "not-a-site", "No URL was found: no target is a site."

    @property
    def exit_code(self) -> int:
        """The exit code of ``scrapy harvest crawl``."""
        return list(RunOutcome).index(self)


_OF_RESULT = {
    SiteResult.BLOCKED: RunOutcome.BLOCKED,
    SiteResult.FORBIDDEN: RunOutcome.FORBIDDEN,
    SiteResult.UNREACHABLE: RunOutcome.UNREACHABLE,
    SiteResult.NOT_A_SITE: RunOutcome.NOT_A_SITE,
}
"""Replaces ``nothing-found`` if all targets have this result."""


def verdict(summary: Summary, stats: Mapping[str, Any], *, errors: int = 0) -> RunOutcome:
    """Return the result of the run with that *summary* and *stats*.

    *errors*: number of errors in the log, including those below the log level.
    """
    if stats.get("finish_reason") == "wrong_argument":
        return RunOutcome.WRONG_USAGE
    if not summary.urls:
        (result, *others) = summary.sites or (None,)
        return (
            RunOutcome.NOTHING_FOUND if others or result is None else _OF_RESULT.get(result, RunOutcome.NOTHING_FOUND)
        )
    has_errors = errors or any(name.startswith(OUTPUT_ERRORS) for name in stats)
    is_whole = stats.get("finish_reason") == "finished" and not has_errors
    return RunOutcome.WHOLE if is_whole and not summary.has_failed else RunOutcome.PARTLY_FAILED
