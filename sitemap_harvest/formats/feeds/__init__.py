"""Readers of feeds, one entry per item: RSS and RDF, Atom, CDF, and JSON Feed.

``docs/explain/reading.md`` explains the choices.
"""

from sitemap_harvest.formats.feeds.json import read_json_feed
from sitemap_harvest.formats.feeds.xml import read_xml_feed

__all__ = ["read_json_feed", "read_xml_feed"]
