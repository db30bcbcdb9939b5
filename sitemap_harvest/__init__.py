"""Read everything that a site publishes about its own URLs.

>>> from sitemap_harvest import read
>>> document = read(b"https://a.example/one", url="https://a.example/sitemap.txt")
>>> document.kind
<Kind.LIST: 'list'>
>>> [entry.loc for entry in document.rows()]
['https://a.example/one']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sitemap_harvest.errors import ArgumentError, HarvestError, OptionError, StoreError
    from sitemap_harvest.formats import Document, Limits, read
    from sitemap_harvest.model import (
        AuditSummary,
        Cause,
        Change,
        ChangeBatch,
        ChangeKind,
        ChangeSummary,
        Evidence,
        Finding,
        FindingSample,
        FoundBy,
        Kind,
        LastmodTrust,
        NotChecked,
        Occurrence,
        Outcome,
        PageRecord,
        PageSource,
        Problem,
        Sample,
        SitemapRecord,
        SitemapRef,
        SiteRecord,
        SiteResult,
        UrlBatch,
        UrlEntry,
    )
    from sitemap_harvest.snapshots.store import History, Run, Snapshot, Store, open_store

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "AuditSummary",
    "Cause",
    "Change",
    "ChangeBatch",
    "ChangeKind",
    "ChangeSummary",
    "Document",
    "Evidence",
    "Finding",
    "FindingSample",
    "FoundBy",
    "HarvestError",
    "History",
    "Kind",
    "LastmodTrust",
    "Limits",
    "NotChecked",
    "Occurrence",
    "OptionError",
    "Outcome",
    "PageRecord",
    "PageSource",
    "Problem",
    "Run",
    "Sample",
    "SiteRecord",
    "SiteResult",
    "SitemapRecord",
    "SitemapRef",
    "Snapshot",
    "Store",
    "StoreError",
    "UrlBatch",
    "UrlEntry",
    "__version__",
    "open_store",
    "read",
]

_HOMES = (
    "sitemap_harvest.errors",
    "sitemap_harvest.model",
    "sitemap_harvest.formats",
    "sitemap_harvest.snapshots.store",
)


def __getattr__(name: str) -> Any:
    """Import a public name on first use.

    Scrapy imports this package for every command, to find the command ``harvest``. Arrow
    and lxml take 0.3 seconds to load, so they are imported only when they are needed.
    """
    if name in __all__:
        for home in _HOMES:
            if hasattr(module := import_module(home), name):
                value = globals()[name] = getattr(module, name)
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
