"""The reader of each kind of document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemap_harvest.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.formats.collector import Collector
    from sitemap_harvest.formats.source import Source
    from sitemap_harvest.model import UrlBatch


def read_entries(source: Source, kind: Kind, into: Collector, *, base: str, fast_path: bool) -> Iterator[UrlBatch]:
    """Yield the URLs of *source*, a document of *kind*, and collect all else *into* the collector.

    *base*: the URL that those in web pages are relative to. A document of a kind that
    lists nothing is read for its size and digest, and for problems of its compression.
    """
    # Each reader is imported when it is needed: few runs need all.
    if kind in {Kind.SITEMAP, Kind.INDEX}:
        from sitemap_harvest.formats.xml.sitemap import read_sitemap

        yield from read_sitemap(source, kind, into, fast_path=fast_path)
        return
    text = source.text(into.problems)
    if kind is Kind.FEED:
        from sitemap_harvest.formats.feeds import read_json_feed, read_xml_feed

        yield from (read_json_feed if source.start.head.startswith("{") else read_xml_feed)(text, into)
    elif kind is Kind.LIST:
        from sitemap_harvest.formats.text import read_text

        yield from read_text(text, into)
    elif kind is Kind.LINKS:
        from sitemap_harvest.formats.html.links import read_links

        yield from read_links(text, into, url=base)
    elif kind is Kind.HTML:
        from sitemap_harvest.formats.html.links import read_hints

        read_hints(text, into, url=base)
    elif kind is Kind.ROBOTS:
        from sitemap_harvest.formats.robots import read_robots

        yield from read_robots(text, into)
    else:
        for _ in source.utf8(into.problems):
            pass  # for its size and digest, and for problems of its compression
