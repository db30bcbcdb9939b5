"""What the search for the sitemaps of a site has come to, judged by what was tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sitemap_harvest.model import Cause, Evidence, FoundBy, Outcome, SiteResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemap_harvest.plan.site import Site

_LOOKED_AT = frozenset({Outcome.ABSENT, Outcome.NOT_A_SITEMAP})
_MOST_TOLD = 3  # documents in one line of words


class Verdict(NamedTuple):
    """The result of one site."""

    result: SiteResult
    reason: str
    cause: Cause | None = None


def judge(site: Site, *, is_over: bool) -> Verdict:
    """Return what came of *site*; *is_over* tells that all there was to try has been tried.

    What the site names itself weighs more than guesses. That the server keeps us
    out weighs more than that something is not there: there may be more behind it.
    """
    if site.hindrance is not None:
        return Verdict(SiteResult.UNFINISHED, site.hindrance)
    if site.lists:
        return Verdict(SiteResult.FOUND, _found(site))
    if site.lender is not None:
        return Verdict(SiteResult.FOUND, f"what it names was read for {site.lender}")
    if not is_over or site.limits:
        why = f"a limit was reached ({', '.join(site.limits)})" if site.limits else "the run ended before"
        return Verdict(SiteResult.UNFINISHED, why)
    return _of_nothing(site)


def _of_nothing(site: Site) -> Verdict:
    """Return what came of *site*, of which no document that lists URLs was read."""
    if not site.evidence:
        return Verdict(SiteResult.ABSENT, "nothing was asked for: no snapshot of it knows a feed (poll=yes)")
    if large := [one for one in site.evidence if one.outcome is Outcome.TOO_LARGE]:
        return Verdict(SiteResult.UNFINISHED, _words(site, large))
    named = [one for one in site.evidence if not _is_guess(one)]
    guesses = [one for one in site.evidence if _is_guess(one)]
    if verdict := _of_named(site, named):
        return verdict
    if site.passes_over:
        return Verdict(SiteResult.FOUND, f"its sitemaps were passed over: {_words(site, named)}")
    return _of_guesses(site, guesses, named) if site.is_site else _absent(site, named)


def _found(site: Site) -> str:
    urls = f"{site.urls:,} URL{'' if site.urls == 1 else 's'}"
    return f"{urls} in {site.lists:,} document{'' if site.lists == 1 else 's'}"


def _of_named(site: Site, named: Sequence[Evidence]) -> Verdict | None:
    """Return what documents that somebody named, and that gave nothing, tell; ``None`` if it is not decisive."""
    for outcome, result in (
        (Outcome.BLOCKED, SiteResult.BLOCKED),
        (Outcome.FORBIDDEN, SiteResult.FORBIDDEN),
        (Outcome.FAILED, SiteResult.UNREACHABLE),
    ):
        if some := [one for one in named if one.outcome is outcome]:
            return Verdict(result, _words(site, some), some[0].cause if result is SiteResult.UNREACHABLE else None)
    if private := [one for one in named if one.cause is Cause.PRIVATE]:
        return Verdict(SiteResult.UNREACHABLE, _words(site, private), Cause.PRIVATE)
    return None


def _of_guesses(site: Site, guesses: Sequence[Evidence], named: Sequence[Evidence]) -> Verdict:
    """Return what the answers to *guesses* tell of *site*, where what is *named* is not decisive."""
    if site.base is None:
        return _of_silence(site, guesses)
    if blocked := [one for one in guesses if one.outcome is Outcome.BLOCKED]:
        return Verdict(SiteResult.BLOCKED, _words(site, blocked))
    usual = [one for one in guesses if one.found_by is FoundBy.WELL_KNOWN]
    homes = [one for one in guesses if one.found_by is FoundBy.HOME]
    if verdict := _of_what_was_not_seen(site, guesses, usual):
        return verdict
    if homes and homes[0].outcome is Outcome.ABSENT and not site.has_robots and not named:
        return Verdict(SiteResult.NOT_A_SITE, f"neither a robots.txt nor a home page is there; {_words(site, homes)}")
    return _absent_site(site, named, usual, homes)


def _of_what_was_not_seen(site: Site, guesses: Sequence[Evidence], usual: Sequence[Evidence]) -> Verdict | None:
    """Return why there may be a sitemap that was not found; ``None`` if robots.txt and *usual* names were seen."""
    failed = [one for one in guesses if _is_robots(one) and (one.outcome is Outcome.PARTIAL or _has_failed(one))]
    failed += [one for one in usual if one.outcome is Outcome.FAILED]
    if failed:
        # A robots.txt that was cut is no answer that can be used; a usual name may have an answer that cannot be read.
        cause = Cause.SERVER_ERROR if failed[0].outcome is Outcome.PARTIAL else failed[0].cause
        return Verdict(SiteResult.UNREACHABLE, _words(site, failed), cause)
    if any(one.outcome in _LOOKED_AT for one in usual):
        return None
    if forbidden := [one for one in guesses if one.outcome is Outcome.FORBIDDEN]:
        return Verdict(SiteResult.FORBIDDEN, _words(site, forbidden))
    return None


def _has_failed(one: Evidence) -> bool:
    """Whether there was no answer that tells whether it is there: a 4xx says that it is not, for robots."""
    return one.outcome is Outcome.FAILED and one.cause is not None


def _of_silence(site: Site, guesses: Sequence[Evidence]) -> Verdict:
    """Return what it means that no variant of the site has given an answer."""
    first = next((one for one in guesses if one.found_by is FoundBy.ARGUMENT), None)
    if any(one.cause is Cause.NOT_HTTP for one in guesses):
        return Verdict(SiteResult.NOT_A_SITE, _words(site, guesses))
    return Verdict(SiteResult.UNREACHABLE, _words(site, guesses), first.cause if first else None)


def _absent(site: Site, named: Sequence[Evidence]) -> Verdict:
    return Verdict(SiteResult.ABSENT, _words(site, named) if named else "the documents that were read list no URL")


def _absent_site(
    site: Site, named: Sequence[Evidence], usual: Sequence[Evidence], homes: Sequence[Evidence]
) -> Verdict:
    robots = "robots.txt names no sitemap" if site.has_robots else "there is no robots.txt"
    first = _words(site, named) if named else robots
    home = ", nor does the home page lead to one" if homes else ""
    return Verdict(SiteResult.ABSENT, f"{first}, and none of {len(usual)} usual names is there{home}")


def _is_guess(one: Evidence) -> bool:
    return one.found_by.is_guess or _is_robots(one)


def _is_robots(one: Evidence) -> bool:
    """Whether it is the robots.txt that the search began with, or a variant of it."""
    return one.found_by in {FoundBy.ARGUMENT, FoundBy.VARIANT} and one.url.endswith("/robots.txt")


def _words(site: Site, some: Sequence[Evidence]) -> str:
    told = "; ".join(f"{_short(one.url, site)}: {one.reason}" for one in some[:_MOST_TOLD])
    rest = len(some) - _MOST_TOLD
    return f"{told}; and {rest} more" if rest > 0 else told


def _short(url: str, site: Site) -> str:
    """Return *url*, or its path if it is on *site* as the user named it."""
    return url.removeprefix(site.root) if url.startswith(f"{site.root}/") else url
