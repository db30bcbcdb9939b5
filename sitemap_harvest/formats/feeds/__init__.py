"""Reader of feeds, one entry per item: RSS and RDF, Atom, CDF, and JSON Feed.

``docs/explain/reading.md`` explains the choices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemap_harvest.formats.feeds.json import read_json_feed
from sitemap_harvest.formats.feeds.xml import read_xml_feed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.formats.collector import Collector
    from sitemap_harvest.formats.source import Source
    from sitemap_harvest.model import UrlBatch

__all__ = ["read_feed"]


def read_feed(source: Source, into: Collector) -> Iterator[UrlBatch]:
    """Read the feed in *source*, yielding batches."""
    read = read_json_feed if source.head.startswith("{") else read_xml_feed
    yield from read(source.text(into.problems), into)
