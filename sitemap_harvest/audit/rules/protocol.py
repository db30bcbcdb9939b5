"""Limits of the protocol, under the codes that ``sitemap-harvest validate`` uses for them."""

from __future__ import annotations

from sitemap_harvest.audit.rule import rule
from sitemap_harvest.model import Severity

_READ = "outcome in ('read', 'unchanged', 'partial', 'too-large')"


@rule(
    "protocol/too-many-entries",
    Severity.ERROR,
    "{value} entries, but only 50,000 are allowed",
    needs=None,
    google="Too many URLs",
    screaming_frog="XML Sitemap with over 50k URLs",
)
def too_many_entries() -> str:
    """A sitemap or an index has more than 50,000 entries.

    Search engines reject it, or ignore the entries beyond the limit.

    Spec: https://www.sitemaps.org/protocol.html#index

    Fix: Split the document, and list the parts in an index.
    """
    return f"""
        select url as sitemap, format('{{:,}}', entries) as value
        from sitemaps where kind in ('sitemap', 'index', 'list') and entries > 50_000 and {_READ}
    """  # noqa: S608 - our own condition


@rule(
    "protocol/too-large",
    Severity.ERROR,
    "{value} MB, but only 50 MB are allowed",
    needs=None,
    google="Sitemap file size error",
    screaming_frog="XML Sitemap over 50MB",
)
def too_large() -> str:
    """A sitemap or an index is larger than 50 MB after decompression.

    Search engines reject it.

    Spec: https://www.sitemaps.org/protocol.html#index

    Fix: Split the document, and list the parts in an index.
    """
    return f"""
        select url as sitemap, format('{{:.1f}}', ceil(bytes_unpacked * 10 / 1_048_576) / 10) as value
        from sitemaps where kind in ('sitemap', 'index', 'list') and bytes_unpacked > 52_428_800 and {_READ}
    """  # noqa: S608 - our own condition


@rule("protocol/loc-too-long", Severity.ERROR, "{urls} longer than 2,048 characters", has_share=True)
def loc_too_long() -> str:
    """A URL has more than 2,048 characters.

    The schema of the protocol does not allow it, and search engines ignore the entry.

    Spec: https://www.sitemaps.org/protocol.html#locdef

    Fix: Shorten the URL.
    """
    return """
        select sitemap, loc[:100] as loc, position, format('{:,} characters', length(loc)) as value
        from sitemap_urls where length(loc) > 2_048
    """


@rule("protocol/too-many-images", Severity.WARNING, "{urls} with more than 1,000 images")
def too_many_images() -> str:
    """An entry has more than 1,000 images.

    Google ignores the images beyond the limit.

    Spec: https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps

    Fix: List at most 1,000 images for each page.
    """
    return """
        select sitemap, any_value(loc) as loc, position, format('{:,} images', count(*)) as value
        from images group by sitemap, position having count(*) > 1_000
    """


@rule(
    "protocol/too-many-news",
    Severity.ERROR,
    "{value} news articles, but only 1,000 are allowed",
    google="Too many News URLs",
)
def too_many_news() -> str:
    """A news sitemap has more than 1,000 articles.

    Google News ignores the articles beyond the limit.

    Spec: https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap

    Fix: Split the sitemap, or remove articles older than two days.
    """
    return """
        select sitemap, format('{:,}', count(*)) as value from news group by sitemap having count(*) > 1_000
    """


@rule(
    "protocol/future-lastmod",
    Severity.WARNING,
    "{count:sitemap} with a lastmod in the future, such as {value}",
    needs=None,
)
def future_lastmod(hours: float = 24) -> str:
    """The ``lastmod`` of a sitemap in its index is in the future.

    Search engines cannot use it, and may distrust the other dates of the site.

    Spec: https://www.sitemaps.org/protocol.html#sitemapIndexTagDefinitions

    Fix: Use the time of the last change of the sitemap, with its time zone.
    """
    return f"""
        select c.sitemap, c.loc, c.position, c.lastmod_text as value
        from children c join sitemaps s on s.url = c.sitemap
        where c.lastmod > s.fetched_at + to_hours({hours}::int)
        qualify row_number() over (partition by c.sitemap, c.key order by c.position) = 1
    """  # noqa: S608 - a number
