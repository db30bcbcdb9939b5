"""Rules about sitemaps as documents: how they are served, and how they are linked with each other."""

from __future__ import annotations

from sitemap_harvest.audit.problems import NAMED, UNCHECKED_IF_UNREAD_NAMES, UNREAD_NAMES
from sitemap_harvest.audit.rule import rule
from sitemap_harvest.model import Severity

_READ = "outcome in ('read', 'unchanged', 'partial')"


@rule("sitemap/not-fetched", Severity.ERROR, "not fetched: {value}", needs=None, google="Couldn't fetch")
def not_fetched() -> str:
    """A sitemap that robots.txt or an index names could not be fetched.

    The URLs that it lists are unknown to readers. The message has the status or the
    reason.

    Fix: Serve the sitemap, or remove its reference.
    """
    return f"""
        select url as sitemap, reason as value
        from sitemaps
        where outcome in ('absent', 'blocked', 'failed') and kind is distinct from 'challenge' and {NAMED}
    """  # noqa: S608 - our own condition


@rule("sitemap/robots-disallowed", Severity.ERROR, "robots.txt disallows fetching it", needs=None)
def robots_disallowed() -> str:
    """The robots.txt of its host disallows fetching the sitemap.

    Search engines that obey robots.txt do not read it, even if the same robots.txt
    names it.

    Spec: https://www.rfc-editor.org/rfc/rfc9309

    Fix: Allow the path of the sitemap in robots.txt.
    """
    return f"""
        select url as sitemap, reason as value from sitemaps where outcome = 'forbidden' and {NAMED}
    """  # noqa: S608 - our own condition


@rule("sitemap/not-a-sitemap", Severity.ERROR, "not a sitemap: {value}", needs=None, google="Unsupported format")
def not_a_sitemap() -> str:
    """The document at the address of a sitemap is something else.

    It is a web page, a file that is not text, the challenge page of a firewall, or a
    page that reports a missing page with status 200.

    Fix: Serve the sitemap at this URL, or remove its reference. Exempt sitemaps from
    bot protection.
    """
    return f"""
        select url as sitemap, reason as value
        from sitemaps
        where (outcome = 'not-a-sitemap' or (outcome = 'blocked' and kind = 'challenge')) and {NAMED}
    """  # noqa: S608 - our own condition


@rule("sitemap/incomplete", Severity.ERROR, "read only in part: {value}", needs=None)
def incomplete() -> str:
    """Only a part of the sitemap could be read, or it is too large for the limits of this package.

    The entries that are missing are unknown to readers. If the reason is a problem of the
    document, such as ``xml/truncated``, that is a finding too, with the place.

    Fix: Check whether the server or a proxy closes the connection early, and fix the
    problem that the message names. If the sitemap is too large, split it.
    """
    return """
        select url as sitemap, reason as value
        from sitemaps
        where outcome in ('partial', 'too-large')
    """


@rule("sitemap/redirected", Severity.NOTICE, "redirects to {value}", needs=None)
def redirected() -> str:
    """A sitemap redirects to another URL.

    Readers follow redirects, but each costs a request, and URLs below the folder of the
    old address may be out of scope at the new one. A redirect to another host is a
    warning, because the sitemap of another host may not list the URLs of this one.

    Spec: https://www.sitemaps.org/protocol.html#location

    Fix: Name the final URL in robots.txt or in the index.
    """
    host = "regexp_extract({}, '^https?://(?:www\\.)?([^/:]+)', 1)"
    return f"""
        select url as sitemap, final_url as value,
            case when {host.format("final_url")} <> {host.format("url")} then 'warning' end as severity
        from sitemaps
        where final_url <> url and document_key(final_url) <> key and kind is not null and kind <> 'robots'
            and {NAMED}
    """  # noqa: S608 - our own expressions


@rule("sitemap/empty", Severity.WARNING, "lists nothing", needs=None, google="Empty sitemap")
def empty() -> str:
    """A sitemap is well-formed, but lists nothing.

    Usually the generator failed, or the section that the sitemap covers is gone.

    Fix: Repair the generator, or remove the sitemap and its reference.
    """
    return "select url as sitemap from sitemaps where kind in ('sitemap', 'index') and complete and entries = 0"


@rule("sitemap/near-limit", Severity.NOTICE, "close to a limit of the protocol: {value}", needs=None)
def near_limit(share: float = 0.9) -> str:
    """A sitemap is close to the limit of 50,000 entries or of 50 MB.

    When it grows beyond the limit, search engines reject it or ignore the rest.

    Spec: https://www.sitemaps.org/protocol.html#index

    Fix: Split the sitemap, and name the parts in an index.
    """
    return f"""
        select url as sitemap, greatest(entries / 50_000, bytes_unpacked / 52_428_800) as share,
            case when entries / 50_000 >= bytes_unpacked / 52_428_800
                then format('{{:,}} entries of 50,000', entries)
                else format('{{:.1f}} MB of 50 MB', bytes_unpacked / 1_048_576) end as value
        from sitemaps
        where kind in ('sitemap', 'index', 'list') and entries <= 50_000 and bytes_unpacked <= 52_428_800
            and (entries > {share} * 50_000 or bytes_unpacked > {share} * 52_428_800)
    """  # noqa: S608 - a number


@rule("sitemap/http-on-https-site", Severity.WARNING, "served by http, but lists {value}")
def http_on_https_site() -> str:
    """A sitemap is served by ``http``, but lists ``https`` URLs.

    By the protocol, a sitemap may list only URLs with its own scheme.

    Spec: https://www.sitemaps.org/protocol.html#location

    Fix: Serve the sitemap by ``https``, and name that address.
    """
    return """
        select sitemap, format('{:,} https {}', count(*) filter (starts_with(site, 'https:')),
            if(count(*) filter (starts_with(site, 'https:')) = 1, 'URL', 'URLs')) as value
        from sitemap_urls
        where starts_with(sitemap, 'http:')
            and sitemap in (select url from sitemaps where not starts_with(coalesce(final_url, url), 'https:'))
        group by sitemap
        having count(*) filter (starts_with(site, 'https:')) > count(*) / 2
    """


@rule("sitemap/wrong-content-type", Severity.NOTICE, "the Content-Type is {value}", needs=None)
def wrong_content_type() -> str:
    """A document is served with the ``Content-Type`` of another format.

    Most readers ignore the header, but some refuse the document, and browsers show it
    wrongly.

    Fix: Serve XML as ``application/xml``, text as ``text/plain``, RSS as
    ``application/rss+xml``, Atom as ``application/atom+xml``.
    """
    return f"""
        with typed as (
            select *, lower(trim(split_part(content_type, ';', 1))) as type
            from sitemaps where content_type is not null and {_READ}
        )
        select url as sitemap, type as value
        from typed
        where not (type in ('', 'application/octet-stream', 'binary/octet-stream')
                or (len(layers) > 0 and regexp_matches(type, 'gzip|zip|compress|zstd|brotli')))
            and case
                when kind in ('sitemap', 'index') then not regexp_matches(type, '[/+]xml$')
                when kind = 'feed' then not regexp_matches(type, '[/+](xml|json)$')
                when kind in ('list', 'robots') then type <> 'text/plain'
                else false
            end
    """  # noqa: S608 - our own condition


@rule("sitemap/slow", Severity.NOTICE, "the download took {value}, more than {seconds:second}", needs=None)
def slow(seconds: float = 5) -> str:
    """The download of a sitemap took long.

    Search engines may give up, and read sitemaps less often. The waits of the crawl between
    its requests do not count.

    Fix: Generate the sitemap in advance rather than for each request, and compress it.
    """
    return f"""
        select url as sitemap, format('{{:.1f}} seconds', seconds) as value
        from sitemaps where {_READ} and seconds > {seconds}
    """  # noqa: S608 - a number


@rule("sitemap/large-uncompressed", Severity.NOTICE, "{value} sent without compression", needs=None)
def large_uncompressed(megabytes: float = 10) -> str:
    """A large sitemap is sent without compression.

    XML compresses to a tenth of its size or less, so each download costs ten times the
    traffic and time.

    Fix: Publish it as ``.xml.gz``, or let the server compress responses.
    """
    return f"""
        select url as sitemap, format('{{:.1f}} MB', bytes_downloaded / 1_000_000) as value
        from sitemaps
        where bytes_downloaded > {megabytes} * 1_000_000 and bytes_downloaded >= 0.9 * bytes_unpacked
            and starts_with(url, 'http')
    """  # noqa: S608 - a number


@rule(
    "sitemap/listed-twice",
    Severity.NOTICE,
    "{count:sitemap} listed several times by indexes",
    of_site=True,
    needs=None,
)
def listed_twice() -> str:
    """Indexes name the same sitemap several times.

    Readers fetch it once, but the extra references count towards the limit of an index.

    Fix: Name each sitemap in one index, once.
    """
    return """
        select min(c.loc) as loc, min(c.sitemap) as sitemap, 'named ' || count(*) || ' times' as value
        from children c join sitemaps s on s.url = c.sitemap
        where s.kind = 'index' and c.found_by is null
        group by c.key having count(*) > 1
    """


@rule(
    "sitemap/nested-index",
    Severity.WARNING,
    "lists indexes, such as {value}",
    needs=None,
    google="Nested sitemap indexes",
)
def nested_index() -> str:
    """An index names another index.

    The protocol allows only sitemaps in an index, and search engines do not follow
    nested indexes. If an index names itself, there is only ``sitemap/cycle``.

    Spec: https://www.sitemaps.org/protocol.html#index

    Fix: Name the sitemaps of the inner index in the outer one, or name both indexes in
    robots.txt.
    """
    return """
        select c.sitemap, c.loc, c.position, c.loc as value
        from children c
        join sitemaps s on s.url = c.sitemap and s.kind = 'index'
        join sitemaps inside on inside.key = c.key and inside.kind = 'index' and inside.key <> s.key
        where c.found_by is null
    """


@rule("sitemap/cycle", Severity.ERROR, "the index leads back to itself through {value}", needs=None)
def cycle() -> str:
    """An index leads back to itself.

    It names itself, or an index below it names it. Readers without protection against
    cycles request the same documents again and again.

    Fix: Name only sitemaps in an index.
    """
    return """
        with recursive named as (
            select s.key as above, c.key as below
            from children c
            join sitemaps s on s.url = c.sitemap and s.kind = 'index'
            where c.found_by is null and c.key in (select key from sitemaps where kind = 'index')
        ), leads as (
            select above, below from named
            union
            select leads.above, named.below from leads join named on named.above = leads.below
        )
        select c.sitemap, c.loc, c.position, c.loc as value
        from children c
        join sitemaps s on s.url = c.sitemap and s.kind = 'index'
        where c.found_by is null and (c.key = s.key or (c.key, s.key) in (from leads))
    """


@rule(
    "sitemap/index-lastmod-stale",
    Severity.WARNING,
    "{count:sitemap} with a lastmod older than the newest entry, such as {value}",
)
def index_lastmod_stale(days: float = 1) -> str:
    """The ``lastmod`` of a sitemap in its index is older than the newest entry of the sitemap.

    Search engines use it to decide which sitemaps to read again, so they miss new
    entries. A year, a month or a day may mean its last instant.

    Spec: https://www.sitemaps.org/protocol.html#sitemapIndexTagDefinitions

    Fix: Set ``lastmod`` in the index to the time at which the sitemap last changed.
    """
    return f"""
        with newest as (
            select s.key, max(u.lastmod) as lastmod,
                arg_max(coalesce(u.lastmod_text, u.lastmod::varchar), row(u.lastmod, u.lastmod_text)) as text
            from urls u join sitemaps s on s.url = u.sitemap
            where u.lastmod <= u.fetched_at
            group by s.key
        )
        select c.sitemap, c.loc, c.position,
            c.lastmod_text || ', but the newest entry is from ' || newest.text as value
        from children c
        join sitemaps s on s.url = c.sitemap and s.kind = 'index'
        join newest on newest.key = c.key
        where newest.lastmod > period_end(c.lastmod, case
            when regexp_full_match(c.lastmod_text, '\\s*\\d{{4}}\\s*') then 'year'
            when regexp_full_match(c.lastmod_text, '\\s*\\d{{4}}-\\d\\d\\s*') then 'month'
            when contains(c.lastmod_text, ':') then 'second' else 'day' end) + to_hours((24 * {days})::int)
        qualify row_number() over (partition by c.sitemap, c.key order by c.position) = 1
    """  # noqa: S608 - a number


@rule("sitemap/index-lastmod-missing", Severity.NOTICE, "{count:sitemap} without lastmod ({share})", needs=None)
def index_lastmod_missing(share: float = 0.5) -> str:
    """An index gives no ``lastmod`` for many of its sitemaps.

    With ``lastmod``, readers skip the sitemaps that have not changed. Without it they
    have to read all of them each time.

    Spec: https://www.sitemaps.org/protocol.html#sitemapIndexTagDefinitions

    Fix: Give each sitemap a correct ``lastmod``.
    """
    return f"""
        with listed as (
            select sitemap, key, arg_min(loc, position) as loc, min(position) as position,
                count(lastmod_text) = 0 as is_missing
            from children
            where found_by is null and sitemap in (select url from sitemaps where kind = 'index')
            group by sitemap, key
        ), counted as (
            select *, avg(is_missing::int) over (partition by sitemap) as missing from listed
        )
        select sitemap, loc, position, missing as share from counted where is_missing and missing >= {share}
    """  # noqa: S608 - a number


@rule("sitemap/unlisted", Severity.NOTICE, "named by nothing any more: {value}", needs="site.history",
      unchecked=UNCHECKED_IF_UNREAD_NAMES)  # fmt: skip
def unlisted() -> str:
    """A sitemap that robots.txt or an index named in an earlier run is named by nothing any more.

    It is no longer part of the site, so it is not requested, and may still exist. Search
    engines that know it may go on reading it, although its entries are no longer
    maintained. ``change/sitemap-gone`` lists the URLs that have gone with it. A sitemap
    that is named with another query, such as a version, does not count.

    Fix: Name the sitemap again, or delete it.
    """
    return f"""
        select url as sitemap, "left" as value from gone_sitemaps
        where kind in ('sitemap', 'index', 'list', 'feed')
            and (ends_with("left", ' no longer lists the document') or ends_with("left", ' is no longer listed'))
            and split_part(url, '?', 1) not in (select split_part(url, '?', 1) from sitemaps)
            and not exists ({UNREAD_NAMES})
    """  # noqa: S608 - our own condition
