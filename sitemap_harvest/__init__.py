"""Read everything that a site publishes about its own URLs.

>>> from sitemap_harvest import read
>>> document = read(b"https://a.example/one", url="https://a.example/sitemap.txt")
>>> document.kind
<Kind.LIST: 'list'>
>>> [entry.loc for entry in document.rows()]
['https://a.example/one']
"""

from sitemap_harvest.errors import ArgumentError, HarvestError, OptionError
from sitemap_harvest.formats import Document, Limits, read
from sitemap_harvest.model import (
    FoundBy,
    Kind,
    Outcome,
    Problem,
    Sample,
    SitemapRecord,
    SitemapRef,
    UrlBatch,
    UrlEntry,
)

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "Document",
    "FoundBy",
    "HarvestError",
    "Kind",
    "Limits",
    "OptionError",
    "Outcome",
    "Problem",
    "Sample",
    "SitemapRecord",
    "SitemapRef",
    "UrlBatch",
    "UrlEntry",
    "__version__",
    "read",
]
