"""The result of the search for sitemaps of one site: found, absent, blocked and so on, with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sitemap_harvest.discovery.well_known import WELL_KNOWN
from sitemap_harvest.model import Cause, Evidence, FoundBy, Outcome, SiteResult, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemap_harvest.discovery.site_state import SiteState

ENDED_EARLY = "the run ended early"
MAX_EVIDENCE = 50  # documents: all that a search tries; the document records have the rest
_MOST_NAMED = 3  # documents named in one reason


class SearchOutcome(NamedTuple):
    """The result for one site."""

    result: SiteResult
    reason: str
    cause: Cause | None = None


def search_outcome(site: SiteState, *, is_over: bool) -> SearchOutcome:
    """Return the result for *site*. *is_over*: whether every candidate was tried.

    Documents that the site names weigh more than probed ones. Being blocked weighs more
    than a missing document: there may be sitemaps behind the block.
    """
    if site.unavailable is not None:
        return SearchOutcome(SiteResult.UNFINISHED, site.unavailable)
    if site.lists:
        return SearchOutcome(SiteResult.FOUND, f"{counted(site.urls, 'URL')} in {counted(site.lists, 'document')}")
    if site.shared_from is not None:
        return SearchOutcome(SiteResult.FOUND, f"the documents of this site were read for {site.shared_from}")
    if not is_over or site.limits:
        why = f"a limit was reached ({', '.join(site.limits)})" if site.limits else ENDED_EARLY
        return SearchOutcome(SiteResult.UNFINISHED, why)
    return _of_nothing(site)


def _of_nothing(site: SiteState) -> SearchOutcome:
    """Return the result for *site* if no document that lists URLs was read."""
    if not site.evidence:
        read = "the documents that were read list no URLs"
        feeds_only = "the run requests only feeds, and the last snapshot of the site has none"
        result = SiteResult.FOUND if site.skips else SiteResult.ABSENT
        return SearchOutcome(result, read if site.documents else feeds_only)
    if large := [one for one in site.evidence if one.outcome is Outcome.TOO_LARGE]:
        return SearchOutcome(SiteResult.UNFINISHED, _words(site, large))
    named = [one for one in site.evidence if not _is_probed(site, one)]
    probes = [one for one in site.evidence if _is_probed(site, one)]
    if verdict := _of_named(site, named):
        return verdict
    if site.skips:
        return SearchOutcome(SiteResult.FOUND, f"the sitemaps were skipped: {_words(site, named)}")
    if site.first.site_root:
        return _of_probes(site, probes, named)
    return _of_private(site, named) or SearchOutcome(
        SiteResult.ABSENT, _words(site, named) if named else "the documents that were read list no URLs"
    )


def _of_named(site: SiteState, named: Sequence[Evidence]) -> SearchOutcome | None:
    """Return the result if documents that something named failed; ``None`` if they do not decide it."""
    for outcome, result in (
        (Outcome.BLOCKED, SiteResult.BLOCKED),
        (Outcome.FORBIDDEN, SiteResult.FORBIDDEN),
        (Outcome.FAILED, SiteResult.UNREACHABLE),
        (Outcome.PARTIAL, SiteResult.UNREACHABLE),  # before its first URL
    ):
        if some := [one for one in named if one.outcome is outcome]:
            cause = some[0].cause if result is SiteResult.UNREACHABLE else None
            return SearchOutcome(result, _words(site, _with_probes(site, some)), cause)
    return None


def _of_private(site: SiteState, named: Sequence[Evidence]) -> SearchOutcome | None:
    """Return the result if private addresses in *named* were not requested: what is there is unknown."""
    private = [one for one in named if one.cause is Cause.PRIVATE]
    if private and private[0].found_by is FoundBy.ARGUMENT:  # the target itself
        return SearchOutcome(SiteResult.UNREACHABLE, _words(site, private), Cause.PRIVATE)
    return SearchOutcome(SiteResult.UNFINISHED, _words(site, private)) if private else None


def _of_probes(site: SiteState, probes: Sequence[Evidence], named: Sequence[Evidence]) -> SearchOutcome:
    """Return the result for *site* from the responses to *probes*, if *named* does not decide it."""
    if site.base is None:
        return _without_response(site, probes)
    if blocked := [one for one in probes if one.outcome is Outcome.BLOCKED]:
        return SearchOutcome(SiteResult.BLOCKED, _words(site, blocked))
    usual = [one for one in probes if one.found_by is FoundBy.WELL_KNOWN]
    homes = [one for one in probes if one.found_by is FoundBy.HOME]
    if verdict := _of_unseen(site, probes, usual) or _of_private(site, named):
        return verdict
    if not site.has_home and not site.has_robots and not named:
        why = _words(site, homes) if site.postponed is None else site.postponed.reason
        return SearchOutcome(SiteResult.NOT_A_SITE, f"there is neither a robots.txt nor a home page; {why}")
    robots = "robots.txt lists no sitemap" if site.has_robots else "there is no robots.txt"
    robots = "the sitemaps listed in robots.txt list no URLs" if site.is_declared else robots
    first = _words(site, named) if named else robots
    if site.postponed is not None:
        return SearchOutcome(SiteResult.ABSENT, f"{first}, and none is at {WELL_KNOWN[0]}; {site.postponed.reason}")
    home = ", nor does the home page lead to a sitemap" if homes else ""
    return SearchOutcome(SiteResult.ABSENT, f"{first}, and none of the {len(usual)} well-known paths exists{home}")


def _of_unseen(site: SiteState, probes: Sequence[Evidence], usual: Sequence[Evidence]) -> SearchOutcome | None:
    """Return why a sitemap may exist unseen; ``None`` if robots.txt and the *usual* names could be checked."""
    failed = [one for one in probes if _is_robots(one) and _hides_sitemaps(site, one)]
    failed += [one for one in usual if one.outcome in {Outcome.FAILED, Outcome.PARTIAL}]
    if failed:
        # A truncated robots.txt is unusable; a well-known path may have a response that cannot be read.
        is_truncated = _is_robots(failed[0]) and failed[0].outcome is Outcome.PARTIAL
        cause = Cause.SERVER_ERROR if is_truncated else failed[0].cause
        return SearchOutcome(SiteResult.UNREACHABLE, _words(site, _with_probes(site, failed)), cause)
    if site.has_looked or site.postponed is not None:
        return None
    if forbidden := [one for one in probes if one.outcome is Outcome.FORBIDDEN]:
        return SearchOutcome(SiteResult.FORBIDDEN, _words(site, forbidden))
    return None


def _hides_sitemaps(site: SiteState, robots: Evidence) -> bool:
    """Whether *robots*, a robots.txt that was not read completely, may list sitemaps."""
    # A failure without a cause is a 4xx: the document does not exist, which is also true of robots.txt.
    # Once a variant of robots.txt has a response, those without one were wrong guesses.
    harmless = {None} if not site.is_elsewhere else set(Cause) - {Cause.SERVER_ERROR} | {None}
    is_failure = robots.outcome is Outcome.FAILED and robots.cause not in harmless
    return is_failure or robots.outcome in {Outcome.PARTIAL, Outcome.BLOCKED}


def _with_probes(site: SiteState, failed: Sequence[Evidence]) -> list[Evidence]:
    """Return *failed* with the probes of the site that failed in the same way, its own robots.txt first."""
    same = {one.outcome for one in failed}
    others = [one for one in site.evidence if _is_probed(site, one) and one.outcome in same and one not in failed]
    others = [one for one in others if not _is_robots(one) or _hides_sitemaps(site, one)]
    first = [one for one in others if one.found_by is FoundBy.ARGUMENT]
    return [*first, *failed, *(one for one in others if one not in first)]


def _without_response(site: SiteState, probes: Sequence[Evidence]) -> SearchOutcome:
    """Return the result if no variant of the site responded."""
    first = next((one for one in probes if one.found_by is FoundBy.ARGUMENT), None)
    if any(one.cause is Cause.NOT_HTTP for one in probes):
        return SearchOutcome(SiteResult.NOT_A_SITE, _words(site, probes))
    return SearchOutcome(SiteResult.UNREACHABLE, _words(site, probes), first.cause if first else None)


def _is_probed(site: SiteState, one: Evidence) -> bool:
    return one.found_by.is_guess or (site.first.site_root and _is_robots(one))


def _is_robots(one: Evidence) -> bool:
    """Whether it is the robots.txt that started the search, or a variant of it."""
    return one.found_by in {FoundBy.ARGUMENT, FoundBy.VARIANT} and one.url.endswith("/robots.txt")


def _words(site: SiteState, some: Sequence[Evidence]) -> str:
    """Return the reasons of *some*; a URL on the site that the user named is shortened to its path.

    The only one has no URL if it is what the user named.
    """
    if [one.url for one in some] == [site.root]:
        return str(some[0].reason)
    folder = f"{site.root}/"
    urls = (one.url.removeprefix(site.root) if one.url.startswith(folder) else one.url for one in some)
    texts = [f"{url}: {one.reason}" for url, one in zip(urls, some[:_MOST_NAMED], strict=False)]
    rest = len(some) - _MOST_NAMED
    least = "at least " if len(site.evidence) >= MAX_EVIDENCE else ""
    return "; ".join([*texts, f"and {least}{rest} more"] if rest > 0 else texts)
