"""How a run has ended, in a word and as an exit code: for the closing table, the closing record and the metrics."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sitemap_harvest.model import SiteResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sitemap_harvest.crawl.summary import Summary

OUTPUT_ERRORS = ("feedexport/failed_count/", "sitemap_harvest/output_failed")
"""Stats that are there if an output could not be stored: how they begin."""


class Verdict(StrEnum):
    """How a run has ended, in the order of the exit codes, which count from 0."""

    WHOLE = "whole"
    """URLs were harvested, and nothing failed."""
    NOT_STARTED = "not-started"
    """Scrapy could not start."""
    WRONG_USAGE = "wrong-usage"
    """An argument or a setting is wrong, and nothing was fetched."""
    NOTHING_FOUND = "nothing-found"
    """No URL was harvested, for several reasons, or as there just is no sitemap."""
    PARTLY_FAILED = "partly-failed"
    """URLs were harvested, and something failed."""
    BLOCKED = "blocked"
    """No URL was found: all that was named is blocked."""
    FORBIDDEN = "forbidden"
    """The same: robots.txt forbids it."""
    UNREACHABLE = "unreachable"
    """The same: there is no answer that can be used."""
    NOT_A_SITE = "not-a-site"
    """The same: it is no site."""

    @property
    def exit_code(self) -> int:
        """What ``scrapy harvest crawl`` ends with."""
        return list(Verdict).index(self)


_OF_RESULT = {
    SiteResult.BLOCKED: Verdict.BLOCKED,
    SiteResult.FORBIDDEN: Verdict.FORBIDDEN,
    SiteResult.UNREACHABLE: Verdict.UNREACHABLE,
    SiteResult.NOT_A_SITE: Verdict.NOT_A_SITE,
}
"""Instead of ``nothing-found``, where all that was named ended so."""


def verdict(summary: Summary, stats: Mapping[str, Any], *, errors: int = 0) -> Verdict:
    """Return how the run ended that *summary* and *stats* tell of.

    *errors* tells how many the log has, or would have if it showed them.
    """
    if stats.get("finish_reason") == "wrong_argument":
        return Verdict.WRONG_USAGE
    if not summary.urls:
        (result, *others) = summary.sites or (None,)
        return Verdict.NOTHING_FOUND if others or result is None else _OF_RESULT.get(result, Verdict.NOTHING_FOUND)
    has_errors = errors or any(name.startswith(OUTPUT_ERRORS) for name in stats)
    is_whole = stats.get("finish_reason") == "finished" and not has_errors
    return Verdict.WHOLE if is_whole and not summary.has_failed else Verdict.PARTLY_FAILED
