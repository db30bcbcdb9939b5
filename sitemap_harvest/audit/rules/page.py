"""Rules about the listed pages themselves, from the records of a probe or of a crawl export."""

from __future__ import annotations

from sitemap_harvest.audit.problems import LEAVES_OUT, UNCHECKED_IF_UNREAD
from sitemap_harvest.audit.rule import Unchecked, rule
from sitemap_harvest.model import Severity

_SUCCESS = "status between 200 and 299"
# A probe has a sample of all pages.
_UNCHECKED = Unchecked(
    "select reason from coverage where reason is not null and (select listed from probes) is null",
    "the crawl export lacks some of the listed URLs",
)
_OF_SITEMAPS = "kind not in ('feed', 'links')"
_NO_PAGE_OF_SITEMAPS = "no page that a sitemap lists was checked, only those of feeds and pages of links"
_UNCHECKED_OF_SITEMAPS = Unchecked(
    f"""
    {_UNCHECKED.query}
    union all
    select '{_NO_PAGE_OF_SITEMAPS}' where not exists (from listed_pages where {_OF_SITEMAPS})
    """,
    f"{_UNCHECKED.words}, or if {_NO_PAGE_OF_SITEMAPS}",
)
_UNCHECKED_NOT_LISTED = Unchecked(
    f"""
    select reason from coverage where reason is not null and exported = 0
    union all
    {UNCHECKED_IF_UNREAD.query}
    """,  # noqa: S608 - our own queries
    f"the crawl export has none of the listed URLs, or if {UNCHECKED_IF_UNREAD.words}",
)
_ERROR = "coalesce(status >= 400, error is not null)"
_REDIRECTED = "(len(redirects) > 0 or coalesce(status between 300 and 399, false))"
_AFTER = f"if({_REDIRECTED}, ' after a redirect', '')"


def _pages(condition: str, value: str) -> str:
    """Return the query for the listed pages with *condition*, with their share of the checked pages of a sitemap."""
    return f"""
        with shares as (
            select document, avg(coalesce({condition}, false)::int) as share from listed_pages group by 1
        )
        select sitemap, loc, position, {value} as value, share from listed_pages join shares using (document)
        where {condition}
    """  # noqa: S608 - expressions of this module


@rule(
    "page/redirect",
    Severity.WARNING,
    "{urls} with a redirect ({share} of the checked pages of this sitemap)",
    needs="pages",
    unchecked=_UNCHECKED_OF_SITEMAPS,
    google="Page with redirect",
    screaming_frog="Redirection (3xx)",
    sitebulb="Redirect (3XX) URL in XML Sitemaps",
)
def redirect() -> str:
    """A listed URL redirects to another one.

    Search engines index the target, and may not count the entry of the sitemap for it.
    Each redirect costs a request more. The value is the status of the first redirect and
    the URLs that follow.

    Fix: List the URL at the end of the redirects.
    """
    targets = "nullif(array_to_string(redirects, ', then '), '')"
    return _pages(
        f"{_REDIRECTED} and {_OF_SITEMAPS}", f"concat_ws(' to ', coalesce(redirect_statuses[1], status), {targets})"
    )


@rule(
    "page/client-error",
    Severity.ERROR,
    "{urls} with a client error, such as {value} ({share} of the checked pages of this sitemap)",
    needs="pages",
    unchecked=_UNCHECKED,
    google="Not found (404)",
    screaming_frog="Client Error (4xx)",
    sitebulb="Not Found (4XX) URL in XML Sitemaps",
)
def client_error() -> str:
    """A listed URL responds with a status from 400 to 499, such as 404.

    Search engines do not index such a page, and remove it if it was indexed. Google treats
    429 as a server error. If the status is 403 or 429, check whether the server refuses
    only this crawler.

    Spec: https://developers.google.com/search/docs/crawling-indexing/http-network-errors

    Fix: Remove the URL from the sitemap, or restore the page.
    """
    return _pages("status between 400 and 499", f"status || {_AFTER}")


@rule(
    "page/server-error",
    Severity.ERROR,
    "{urls} with a server error, such as {value} ({share} of the checked pages of this sitemap)",
    needs="pages",
    unchecked=_UNCHECKED,
    google="Server error (5xx)",
    screaming_frog="Server Error (5xx)",
    sitebulb="Error (5XX) URL in XML Sitemaps",
)
def server_error() -> str:
    """A listed URL responds with a status of 500 or more.

    Search engines crawl a site with server errors more slowly, and remove pages whose
    errors last.

    Spec: https://developers.google.com/search/docs/crawling-indexing/http-network-errors

    Fix: Find the cause in the log of the server.
    """
    return _pages("status >= 500", f"status || {_AFTER}")


@rule(
    "page/unreachable",
    Severity.ERROR,
    "{urls} without a response, such as {value} ({share} of the checked pages of this sitemap)",
    needs="pages",
    unchecked=_UNCHECKED,
    screaming_frog="No Response",
    sitebulb="Timed out URL in XML Sitemaps",
)
def unreachable() -> str:
    """A listed URL does not respond: the host has no address, the connection fails, or the request times out.

    Search engines treat it as a server error. Pages that robots.txt forbids to request do
    not count.

    Spec: https://developers.google.com/search/docs/crawling-indexing/http-network-errors

    Fix: Check the host name, its DNS records and its certificate, and the load of the server.
    """
    return _pages("status is null and error is not null", "error")


@rule("page/error-share", Severity.ERROR, "errors in {value}", of_site=True, needs="pages", unchecked=_UNCHECKED)
def error_share(share: float = 0.01) -> str:
    """Many of the listed pages respond with an error or not at all.

    Bing ignores sitemaps with many such URLs, and search engines crawl the site more
    slowly. If only a sample of the listed pages was requested, the message contains the
    confidence interval of the share among all listed pages: with 95% confidence, the share
    is within it. It is the score interval of Wilson.

    Spec: https://www.itl.nist.gov/div898/handbook/prc/section2/prc241.htm

    Fix: Remove the URLs of pages that do not exist, and repair the others.
    """
    return f"""
        with sampled as (
            select count(*) < coalesce(
                (select listed from probes), (select count(distinct key_hash) from urls)
            ) as is_sample from pages where source = 'probe'
        ), counts as (
            select count(*) as pages, count_if(error) as errors, errors / pages as share,
                bool_and(probed) and (select is_sample from sampled) as is_sample, 1.96 * 1.96 / pages as z
            from (
                select key_hash, bool_or({_ERROR}) as error, bool_and(source = 'probe') as probed
                from listed_pages group by 1
            )
        ), intervals as (
            select *, round(100.0 * errors / pages, 1) as percentage, (share + z / 2) / (1 + z) as middle,
                sqrt(z * share * (1 - share) + z * z / 4) / (1 + z) as margin from counts
        )
        select errors as count, share, if(is_sample,
            format('{{:,}} of {{:,}} checked pages ({{:.1f}}%; 95% confidence interval {{:.1f}}% to {{:.1f}}%)',
                errors, pages, percentage, 100 * greatest(middle - margin, 0), 100 * least(middle + margin, 1)),
            format('{{:,}} of {{:,}} checked pages ({{:.1f}}%)', errors, pages, percentage)) as value
        from intervals where share > {share}
    """  # noqa: S608 - a number and our own condition


_LIMITS = "max-(?:snippet|image-preview|video-preview)|unavailable_after"


def _noindex(directives: str) -> str:
    """Return the condition that *directives*, a text or null, has ``noindex`` or ``none``, for any crawler."""
    names = rf"regexp_replace(lower({directives}), '(?:{_LIMITS})\s*:\s*[^,\s]*', '', 'g')"
    return rf"coalesce(regexp_matches({names}, '(?:^|[\s,;:])(?:noindex|none)(?:[\s,;]|$)'), false)"


_NOINDEX = f"({_noindex('x_robots_tag')} or {_noindex('meta_robots')})"


@rule(
    "page/noindex",
    Severity.ERROR,
    "{urls} with noindex, such as {value} ({share} of the checked pages of this sitemap)",
    needs="pages.directives",
    unchecked=_UNCHECKED_OF_SITEMAPS,
    google="Excluded by 'noindex' tag",
    screaming_frog="Non-Indexable URLs in Sitemap",
    sitebulb="Noindex URL in XML Sitemaps",
)
def noindex() -> str:
    """A listed page tells search engines not to index it, with ``noindex`` or ``none``.

    The sitemap asks for what the page forbids. The directive may be in the header
    ``X-Robots-Tag`` or in a ``robots`` meta tag, for all crawlers or for one, such as
    ``googlebot: noindex``.

    Spec: https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag

    Fix: Remove the URL from the sitemap, or the directive from the page.
    """
    tags = f"""concat_ws('; ', if({_noindex("x_robots_tag")}, 'X-Robots-Tag: ' || x_robots_tag, null),
        if({_noindex("meta_robots")}, 'meta robots: ' || meta_robots, null))"""
    return _pages(f"{_SUCCESS} and {_NOINDEX} and {_OF_SITEMAPS}", tags)


_ELSEWHERE = "coalesce(split_part(canonical_key, '#', 1) <> split_part(key, '#', 1), false)"


@rule(
    "page/canonical-elsewhere",
    Severity.ERROR,
    "{urls} with another canonical URL ({share} of the checked pages of this sitemap)",
    needs="pages.canonical",
    unchecked=_UNCHECKED_OF_SITEMAPS,
    google="Alternate page with proper canonical tag",
    screaming_frog="Non-Indexable URLs in Sitemap",
    sitebulb="Canonicalized URL in XML Sitemaps",
)
def canonical_elsewhere() -> str:
    """A listed page names another URL as its canonical one, in a ``link`` element or a ``Link`` header.

    Both are signals for the canonical URL, and contradict each other. Search engines
    usually index only the other URL. URLs that differ in the scheme or in a trailing
    slash are different, and those that differ in the fragment are not. Pages that redirect
    do not count.

    Spec: https://developers.google.com/search/docs/crawling-indexing/consolidate-duplicate-urls

    Fix: List the canonical URL, or correct the link of the page.
    """
    return _pages(f"{_SUCCESS} and {_ELSEWHERE} and not {_REDIRECTED} and {_OF_SITEMAPS}", "canonical")


@rule(
    "page/soft-404",
    Severity.WARNING,
    "{count:missing page} with status 200, such as {value} ({share} of the checked pages of this sitemap)",
    needs="pages.title",
    unchecked=_UNCHECKED,
    google="Soft 404",
)
def soft_404() -> str:
    """A listed page responds with status 200, but says that it does not exist.

    Search engines treat it as a missing page, but crawl it again and again.

    Spec: https://developers.google.com/search/docs/crawling-indexing/http-network-errors

    Fix: Respond with status 404 or 410, and remove the URL from the sitemap.
    """
    return _pages(f"{_SUCCESS} and soft_404 is not null", "soft_404")


@rule("page/lastmod-differs", Severity.NOTICE, "{urls} whose Last-Modified differs from lastmod, such as {value}",
      needs="pages.last_modified", unchecked=_UNCHECKED_OF_SITEMAPS)  # fmt: skip
def lastmod_differs(page_days: float = 7, lastmod_days: float = 30) -> str:
    """The ``Last-Modified`` header of a page differs from its ``lastmod``.

    It is later by more than 7 days, so the sitemap may not show a change; or earlier by
    more than 30 days, so ``lastmod`` may show a change that did not happen. Times of the
    request do not count, nor those that half of the pages share, such as the time of a
    deployment.

    Fix: Take both from the time of the last significant change of the page.
    """
    later = f"last_modified > period_end(lastmod, lastmod_precision) + to_microseconds(({page_days} * 86400e6)::bigint)"
    generated = "if(source = 'probe', 600, 54000)"  # seconds; the times of a crawl export are in any time zone
    earlier = f"lastmod > last_modified + to_microseconds(({lastmod_days} * 86400e6)::bigint)"
    return f"""
        with dated as (
            select date_trunc('hour', last_modified) as hour, count(*) as pages, sum(pages) over () as total
            from listed_pages where {_SUCCESS} and last_modified is not null group by 1
        ), shared as (select hour from dated where total >= 10 and 2 * pages >= total)
        select sitemap, loc, position,
            strftime(last_modified, '%Y-%m-%d') || ', but lastmod is ' || lastmod_text as value
        from listed_pages
        where {_OF_SITEMAPS} and {_SUCCESS} and ({later} or {earlier})
            and date_trunc('hour', last_modified) not in (from shared)
            and coalesce(abs(epoch(requested_at) - epoch(last_modified)) > {generated}, true)
    """  # noqa: S608 - numbers and our own conditions


@rule(
    "page/not-listed",
    Severity.WARNING,
    "{count:indexable page} in no sitemap",
    of_site=True,
    needs="crawl-export",
    unchecked=_UNCHECKED_NOT_LISTED,
    screaming_frog="URLs not in Sitemap",
)
def not_listed() -> str:
    """A page of the site can be indexed, but no sitemap lists it.

    Search engines find it only by links, and notice its changes late. Pages count that
    respond with status 200 and HTML, without ``noindex`` and without another canonical
    URL. Only pages on the host of the site count, and no targets of redirects from listed
    URLs. Pages of a list after the first usually
    need no entry. Only a crawl export can show such pages: see ``--crawl-export``.

    Fix: Add the page to a sitemap, unless search engines should not index it.
    """
    return rf"""
        with own as (
            select site from (select distinct site from sitemap_urls union select site from pages)
            where regexp_replace(host_of(site), '^www\.', '')
                in (select regexp_replace(host_of(site), '^www\.', '') from pages)
        )
        select url as loc from pages
        where source = 'crawl-export' and status = 200 and not {_REDIRECTED} and page_site in (from own)
            and coalesce(indexable, not {_NOINDEX} and not {_ELSEWHERE})
            and regexp_matches(coalesce(content_type, 'text/html'), '(?i)^\s*(?:text/html|application/xhtml\+xml)')
            and key_hash not in (select key_hash from urls where kind <> 'links' and key_hash is not null)
            and key_hash not in (from pending)
            and key_hash not in (select final_hash from listed_pages where final_hash is not null)
            and not {LEAVES_OUT}
    """  # noqa: S608 - our own conditions
