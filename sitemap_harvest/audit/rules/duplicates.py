"""Rules about URLs that are listed several times, in the same or in another spelling."""

from __future__ import annotations

from sitemap_harvest.audit.rule import rule
from sitemap_harvest.model import Severity


@rule("url/duplicate-in-sitemap", Severity.WARNING, "{urls} listed again in the same sitemap", has_share=True)
def duplicate_in_sitemap() -> str:
    """A sitemap lists the same URL several times.

    URLs are compared in canonical form, so ``HTTPS://a.example`` and
    ``https://a.example/`` are the same. Readers request the URL once, but cannot know
    which of several ``lastmod`` values applies, and the repeated entries count towards
    the limit of 50,000.

    Fix: List each URL once. Let the generator collect URLs in a set.
    """
    return """
        with candidates as (
            select hash(document, key_hash) as id from sitemap_urls where key_hash in (from repeated)
            group by id having count(*) > 1
        )
        select sitemap, loc, position, 'first at position ' || first_position as value
        from (
            select sitemap, loc, position, min(position) over (partition by sitemap, key) as first_position
            from sitemap_urls where hash(document, key_hash) in (from candidates)
        ) where position > first_position
    """


@rule(
    "url/duplicate-across-sitemaps",
    Severity.NOTICE,
    "{urls} listed in several sitemaps",
    of_site=True,
    has_share=True,
    screaming_frog="URLs in Multiple Sitemaps",
)
def duplicate_across_sitemaps() -> str:
    """Several sitemaps of the site list the same URL.

    The copies contradict each other as soon as only one of them is updated, and totals
    over several sitemaps are too high. A sitemap of images or videos, or a news sitemap,
    may list a page in addition to a sitemap of another kind: 90% of its entries or more
    have images or videos, or half of them are news. A sitemap in which fewer entries have
    images is a sitemap of pages. Feeds do not count, nor does the same document at several
    addresses.

    Fix: List each URL in one sitemap, the one of its section or page type.
    """
    return """
        with shared as (
            select key_hash from sitemap_urls where key_hash in (from repeated)
            group by key_hash having min(document) <> max(document)
        ), with_media as (
            select document, count(videos) as videos, count(images) as images from media group by document
        ), listed as (
            select one.sitemap, one.position, one.loc, one.key, coalesce(sha256, final_url, url) as document,
                case when url in (from news_sitemaps) then 'news' when 10 * videos >= 9 * entries then 'videos'
                    when 10 * images >= 9 * entries then 'images' else 'page' end as content
            from sitemap_urls one join sitemaps on url = sitemap
            left join with_media on with_media.document = number
            where one.key_hash in (from shared)
        )
        select sitemap, loc, position, 'also in ' || first_sitemap as value
        from (
            select *, first_value(sitemap) over listings as first_sitemap,
                first_value(document) over listings as first_document
            from listed window listings as (partition by key, content order by sitemap, position)
        ) where document <> first_document
        qualify row_number() over (partition by key order by sitemap, position) = 1
    """


@rule(
    "url/conflicting-lastmod",
    Severity.WARNING,
    "{urls} with a different lastmod in another sitemap, such as {value}",
    of_site=True,
)
def conflicting_lastmod(hours: float = 14) -> str:
    """Several sitemaps give different ``lastmod`` values for the same URL.

    Readers cannot know which one applies, and search engines stop using the dates of a
    site that they find to be wrong. Dates are compared at the precision of the coarser
    one, and may differ by 14 hours, because dates and times without a time zone may be
    in any. Feeds do not count, as they have the date of publication, nor do sitemaps
    that could not be read in this run.

    Fix: List each URL in one sitemap, or take its date from the same place for all of them.
    """
    return f"""
        with dated as (
            select *, period_end(lastmod, lastmod_precision) as until from sitemap_urls
            where key_hash in (from repeated) and lastmod is not null and outcome in ('read', 'partial', 'unchanged')
        ), conflicts as (
            select key_hash from dated group by key_hash
            having min(document) <> max(document)
                and max(lastmod) > min(until) + to_microseconds(({hours} * 3600e6)::bigint)
        )
        select sitemap, loc, position, lastmod_text || ', but ' || newest.text || ' in ' || newest.sitemap as value
        from (
            select *, arg_max({{'text': lastmod_text, 'sitemap': sitemap}}, row(lastmod, sitemap))
                over (partition by key) as newest
            from dated where key_hash in (from conflicts)
        ) where sitemap <> newest.sitemap
        qualify row_number() over (partition by key order by until, sitemap, position) = 1
    """  # noqa: S608 - a number


def _twins(twin: str, condition: str) -> str:
    """Return the query for the URLs with *condition* whose *twin*, another key, is listed too; once for each URL."""
    return f"""
        with paths as (
            select sitemap, loc, position, key, site, split_part(split_part(key, '#', 1), '?', 1) as path
            from sitemap_urls where key is not null
        ), variants as (
            select sitemap, loc, position, key, {twin} as twin from paths where {condition}
        ), others as (
            select distinct key_hash from sitemap_urls where key_hash in (select hash(twin) from variants)
        )
        select sitemap, loc, position, twin as value from variants where hash(twin) in (from others)
        qualify row_number() over (partition by key order by sitemap, position) = 1
    """  # noqa: S608 - expressions of this module


_QUERY = "key[length(path) + 1 :]"  # with the fragment
_SITES = "(select distinct site from sitemap_urls)"


def _has_twin_site(twin: str) -> str:
    """Return the condition, the same for all URLs, that URLs of a site and of its *twin* are listed: few have both."""
    return f"(select count(*) > 0 from {_SITES} as one join {_SITES} as other on other.site = {twin})"  # noqa: S608


@rule("url/trailing-slash-twins", Severity.WARNING, "{urls} listed with and without a trailing slash", of_site=True)
def trailing_slash_twins() -> str:
    """A URL is listed both with and without a trailing slash.

    For search engines ``/a`` and ``/a/`` are different URLs. If both respond, they
    compete as duplicates; otherwise one of them redirects, and a sitemap should not list
    redirects.

    Fix: Decide on one form, list it, and let the server redirect the other one to it.
    """
    return _twins(f"path[:-2] || {_QUERY}", "ends_with(path, '/') and not ends_with(path, '//')")


@rule("url/case-twins", Severity.WARNING, "{urls} also listed in lower case", of_site=True)
def case_twins() -> str:
    """A URL is listed twice, with upper-case letters in its path and in lower case.

    Paths are case-sensitive, so search engines see two pages that compete as duplicates.
    Query strings are compared as they are: ids there differ by letter case.

    Fix: Decide on one form, usually lower case, list it, and redirect the other one to it.
    """
    path = """if(contains(path, '%'), array_to_string(list_transform(
        string_split(path, '%'), lambda part, nth: if(nth = 1, lower(part), part[:2] || lower(part[3:]))
    ), '%'), lower(path))"""  # all but escapes in lower case
    return _twins(f"{path} || {_QUERY}", f"path <> lower(path) and path <> {path}")


@rule("url/www-twins", Severity.WARNING, "{urls} listed with and without www.", of_site=True)
def www_twins() -> str:
    """A URL is listed both with and without ``www.``.

    These are two hosts, so search engines see two pages that compete as duplicates, or
    one of them redirects.

    Fix: Decide on one host, list only its URLs, and redirect the other host to it.
    """
    has_twin = _has_twin_site("replace(one.site, '://www.', '://') and contains(one.site, '://www.')")
    return _twins(
        "replace(site, '://www.', '://') || key[length(site) + 1 :]", f"contains(site, '://www.') and {has_twin}"
    )


@rule("url/scheme-twins", Severity.WARNING, "{urls} listed with http and https", of_site=True)
def scheme_twins() -> str:
    """A URL is listed both with ``http`` and with ``https``.

    Search engines see two pages that compete as duplicates, or the ``http`` one
    redirects.

    Fix: List only the ``https`` URL, and redirect ``http`` to it.
    """
    has_twin = _has_twin_site("'https' || one.site[5:] and starts_with(one.site, 'http:')")
    return _twins("'https' || key[5:]", f"starts_with(site, 'http:') and {has_twin}")


@rule("url/index-file-twins", Severity.WARNING, "{urls} also listed without the name of the index file", of_site=True)
def index_file_twins() -> str:
    """A folder is listed both by its own URL and by that of its index file.

    ``/a/`` and ``/a/index.html`` are the same page, but search engines see two pages
    that compete as duplicates.

    Fix: List the URL of the folder, link to it, and redirect the index file to it.
    """
    name = r"(?i)/(?:index|default)\.(?:html?|xhtml|shtml|php|aspx?|jsp|cfm|cgi)$"
    return _twins(f"regexp_replace(path, '{name}', '/') || {_QUERY}", f"regexp_matches(path, '{name}')")
