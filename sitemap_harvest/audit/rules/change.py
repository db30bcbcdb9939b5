"""Rules about changes between runs."""

from __future__ import annotations

from sitemap_harvest.audit.problems import UNCHECKED_IF_LEFT_OUT
from sitemap_harvest.audit.rule import rule
from sitemap_harvest.model import Severity

_LATEST = "(select max(run) from runs)"
_UNPAIRED = "counterpart is null and pattern is null"  # else the page is likely still there under another URL


@rule("change/mass-removal", Severity.WARNING, "{urls} removed since the last run ({share})", of_site=True,
      needs="history", unchecked=UNCHECKED_IF_LEFT_OUT)  # fmt: skip
def mass_removal(share: float = 0.2, urls: float = 10) -> str:
    """A large part of the URLs of the site was removed from its sitemaps in one run.

    If it was not intended, the generator failed or lost a section, and search engines
    crawl these pages less often. URLs that were likely renamed do not count, nor do
    entries that expired in a feed or a news sitemap, nor fewer than 10 URLs.

    Fix: Compare the sitemaps with the pages of the site, and publish complete ones.
    """
    return f"""
        with gone as (
            select sitemap, loc, reason from changes where run = {_LATEST} and kind = 'removed' and {_UNPAIRED}
        ), facts as (
            select (select count(*) from gone) as gone, coalesce(
                (select urls from runs as earlier where earlier.run = runs.baseline),
                runs.urls + runs.removed + runs.expired - runs.added
            ) as urls
            from runs where run = {_LATEST}
        )
        select sitemap, loc, reason as value, facts.gone / facts.urls as share
        from gone, facts where facts.gone >= {urls} and facts.gone >= {share} * facts.urls
    """  # noqa: S608 - numbers and our own conditions


@rule("change/mass-addition", Severity.NOTICE, "{urls} added since the last run ({share})", of_site=True,
      needs="history")  # fmt: skip
def mass_addition(share: float = 0.5, urls: float = 10) -> str:
    """A large part of the URLs of the site was added to its sitemaps in one run.

    It may be a new section, or a flaw of the generator: filters, search results, or
    pages that were spammed into the site. URLs that were likely renamed do not count, nor
    do those of sitemaps that were read for the first time, of feeds and of news sitemaps.

    Fix: Look at samples of the new URLs, and list only pages that search engines should
    show.
    """
    return f"""
        with new as (
            select sitemap, loc from changes where run = {_LATEST} and kind = 'added' and {_UNPAIRED}
                and sitemap not in (from news_sitemaps union all select url from sitemaps where kind = 'feed')
        ), facts as (
            select (select count(*) from new) as added, urls from runs where run = {_LATEST}
        )
        select sitemap, loc, added / urls as share
        from new, facts where added >= {urls} and added >= {share} * urls
    """  # noqa: S608 - numbers and our own conditions


@rule("change/flapping", Severity.NOTICE, "{urls} removed and added again at least {times:time}", of_site=True,
      needs="history")  # fmt: skip
def flapping(times: float = 3) -> str:
    """A URL was removed from the sitemaps and added again several times.

    The threshold is the number of times that it was added again after a removal.

    The generator depends on something that changes by chance, such as stock, the order of
    a query with a limit, or the server that responds. Search engines and users of the
    data see a page that comes and goes.

    Fix: List a page as long as it exists, and sort before limiting the number of entries.
    """
    return f"""
        with found as (
            select sitemap, loc, run, kind, coalesce(key, loc) as url,
                min(run) filter (kind = 'removed') over (partition by url) as removed
            from changes where kind in ('added', 'removed') and {_UNPAIRED}
        )
        select arg_max(sitemap, run) as sitemap, arg_max(loc, run) as loc,
            if(count(*) = 1, 'once', count(*) || ' times') as value
        from found where kind = 'added' and run > removed group by url having count(*) >= {times}
    """  # noqa: S608 - numbers and our own conditions


@rule("change/sitemap-gone", Severity.WARNING, "removed together with {urls}: {value}", needs="history",
      unchecked=UNCHECKED_IF_LEFT_OUT)  # fmt: skip
def sitemap_gone() -> str:
    """A sitemap is gone, and no other sitemap lists its URLs.

    If it was not intended, search engines crawl its pages less often. A sitemap that was
    renamed or split does not count, nor does a feed.

    Fix: Publish the sitemap again, and name it in the index or in robots.txt.
    """
    return f"""
        select sitemap, loc, documents.left as value
        from changes join gone_sitemaps as documents on url = sitemap
        where changes.run = {_LATEST} and changes.kind = 'removed' and {_UNPAIRED} and documents.kind <> 'feed'
    """  # noqa: S608 - our own conditions
