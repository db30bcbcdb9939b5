"""Rules about a site as a whole."""

from __future__ import annotations

from sitemap_harvest.audit.problems import LEAVES_OUT, UNCHECKED_IF_LEFT_OUT, UNCHECKED_IF_UNREAD_NAMES, UNREAD_NAMES
from sitemap_harvest.audit.rule import rule
from sitemap_harvest.model import Severity

_RESULT = "(select result from runs where run = (select max(run) from runs))"


@rule("site/no-sitemap", Severity.ERROR, "{value}", of_site=True, needs="site",
      unchecked=UNCHECKED_IF_LEFT_OUT.where(f"{_RESULT} in ('absent', 'unfinished')"))  # fmt: skip
def no_sitemap() -> str:
    """No sitemap was found, or none could be read.

    Without a sitemap, search engines find pages only by links. The message has the
    result of the search: ``absent``, ``blocked``, ``forbidden``, ``unreachable`` or
    ``not-a-site``, with the reason.

    Spec: https://www.sitemaps.org/protocol.html#submit_robots

    Fix: If there is a sitemap, name it in robots.txt, and let the server and its
    firewall serve it to every client.
    """
    return f"""
        select result || if(result = 'unreachable', ': no usable response: ', ': ') || reason as value
        from runs
        where run = (select max(run) from runs)
            and (result in ('blocked', 'forbidden', 'unreachable', 'not-a-site')
                or (result = 'absent' and not {LEAVES_OUT}))
    """  # noqa: S608 - our own condition


@rule("site/robots-unreadable", Severity.WARNING, "robots.txt cannot be read: {value}", of_site=True, needs=None)
def robots_unreadable() -> str:
    """The robots.txt of the site failed, or is not a robots.txt.

    While robots.txt fails with a server error, search engines may stop crawling the
    whole site. A web page in its place contains no rules and names no sitemap. If nothing
    on the site responds, there is only ``site/no-sitemap``.

    Spec: https://www.rfc-editor.org/rfc/rfc9309#section-2.3.1

    Fix: Serve robots.txt as plain text with status 200, or let the server respond with
    404 if there is none.
    """
    return """
        with robots as (
            select * from sitemaps
            where parent is null and found_by in ('argument', 'variant') and ends_with(url, '/robots.txt')
                and kind is distinct from 'empty'  -- which allows everything
        )
        select url as sitemap, reason as value
        from robots
        where (outcome in ('failed', 'not-a-sitemap', 'partial') or status = 429)
            and not exists (from robots where outcome in ('read', 'unchanged', 'absent'))
            and exists (from sitemaps where status is not null or outcome in ('read', 'not-a-sitemap'))
    """


@rule("site/repeated-in-robots", Severity.NOTICE, "{count:sitemap} named several times: {value}", needs=None)
def repeated_in_robots() -> str:
    """A robots.txt names the same sitemap several times.

    Readers fetch it once. Usually, two plugins or templates write robots.txt, and one of
    them may write an outdated address later.

    Spec: https://www.sitemaps.org/protocol.html#submit_robots

    Fix: Name each sitemap once.
    """
    return """
        select c.sitemap, min(c.loc) as loc,
            min(c.loc) || ' in lines ' || list_aggregate(list_sort(list(c.position)), 'string_agg', ', ') as value
        from children c join sitemaps s on s.url = c.sitemap and s.kind = 'robots'
        where c.found_by is null
        group by c.sitemap, c.key having count(*) > 1
    """


@rule("site/not-in-robots", Severity.WARNING, "listed neither in robots.txt nor in an index", needs=None,
      unchecked=UNCHECKED_IF_UNREAD_NAMES)  # fmt: skip
def not_in_robots() -> str:
    """A sitemap is named neither by robots.txt nor by an index.

    Search engines that were not told its address do not find it. This audit found it at
    a usual path, by a link, or in an earlier run: it was named by a robots.txt or an
    index that is gone.

    Spec: https://www.sitemaps.org/protocol.html#submit_robots

    Fix: Add a line ``Sitemap:`` with its full URL to robots.txt.
    """
    return f"""
        with gone as (select url from sitemaps where outcome = 'absent' and rows_from is null)
        select url as sitemap, if(parent in (from gone), 'named by ' || parent || ', which is gone', found_by) as value
        from sitemaps
        where kind in ('sitemap', 'index') and outcome in ('read', 'unchanged', 'partial')
            and (found_by not in ('argument', 'robots', 'index', 'snapshot') or parent in (from gone))
            and key not in (select key from children where found_by is null)
            and not exists ({UNREAD_NAMES})
    """  # noqa: S608 - our own condition


@rule("site/mixed-schemes", Severity.WARNING, "http and https are mixed: {value}", of_site=True, has_share=True)
def mixed_schemes() -> str:
    """URLs of one host are listed with both ``http`` and ``https``.

    Search engines treat them as different pages. Usually one of the two redirects, so
    its entries are wasted.

    Fix: List all URLs with ``https``.
    """
    return """
        with hosts as (
            select regexp_extract(site, '^https?://(.*)$', 1) as host, starts_with(site, 'http:') as is_plain,
                count(*) as urls, min(loc) as loc
            from urls where site is not null group by all
        )
        select case when plain.urls <= secure.urls then plain.loc else secure.loc end as loc,
            least(plain.urls, secure.urls) as count,
            format('{} ({:,} http, {:,} https)', plain.host, plain.urls, secure.urls) as value
        from hosts plain join hosts secure on plain.host = secure.host
        where plain.is_plain and not secure.is_plain
    """


@rule("site/mixed-www", Severity.WARNING, "URLs with and without www. are mixed: {value}", of_site=True, has_share=True)
def mixed_www() -> str:
    """URLs of one host are listed both with and without ``www.``.

    Search engines treat them as different pages. Usually one of the two hosts redirects
    to the other, so its entries are wasted.

    Fix: List only the host that the site uses.
    """
    return """
        with hosts as (
            select regexp_extract(site, '^https?://(.*)$', 1) as host, count(*) as urls, min(loc) as loc
            from urls where site is not null group by 1
        )
        select case when bare.urls <= www.urls then bare.loc else www.loc end as loc,
            least(bare.urls, www.urls) as count,
            format('{} ({:,} without www., {:,} with it)', bare.host, bare.urls, www.urls) as value
        from hosts bare join hosts www on www.host = 'www.' || bare.host
    """


@rule("site/foreign-hosts", Severity.NOTICE, "{urls} not on the host of the site: {most:host}", of_site=True,
      has_share=True)  # fmt: skip
def foreign_hosts() -> str:
    """Listed URLs are on other hosts than the site.

    That is valid if the robots.txt of these hosts names the sitemap. Often it is a
    left-over of a move, or an unintended host of a CDN. URLs that the sitemap may not list
    also have the rule ``url/out-of-scope``. Links in feeds do not count.

    Spec: https://www.sitemaps.org/protocol.html#sitemaps_cross_submits

    Fix: List URLs of other hosts in sitemaps of these hosts.
    """
    return r"""
        with home as (
            select distinct regexp_replace(host_of(coalesce(final_url, url)), '^www\.', '') as host
            from sitemaps where parent is null
        ), hosts as (
            select regexp_replace(host_of(site), '^www\.', '') as host, count(*) as urls, min(loc) as loc
            from sitemap_urls where site is not null group by 1
        )
        select loc, urls as count, host as value
        from hosts
        where host <> '' and host not in (from home) and exists (from home where host <> '')
    """


@rule("site/home-page-missing", Severity.NOTICE, "no sitemap lists the home page", of_site=True,
      needs="site.urls", needs_all=True)  # fmt: skip
def home_page_missing() -> str:
    """No sitemap lists the home page of the site.

    It is usually the most important page, and the first one that a list of all pages
    should have. It may be listed as ``/index.html``. Feeds and news sitemaps are no such
    lists.

    Fix: List the home page.
    """
    return r"""
        with home as (
            select distinct regexp_replace(host_of(root), '^www\.', '') as host, root || '/' as loc
            from sitemaps where regexp_matches(root, '^https?://[^/]+$')
        )
        select loc
        from home
        where exists (from sitemap_urls where sitemap not in (from news_sitemaps)) and host not in (
            select regexp_replace(host_of(key), '^www\.', '') from urls
            where (ends_with(key, '/') or contains(key, '/index.') or contains(key, '/default.'))
                and regexp_matches(key, '^https?://[^/]+/(?:(?:index|default)\.[a-z]+)?$')
        )
    """
