"""Read everything that a site publishes about its own URLs.

>>> from sitemap_harvest import read
>>> document = read(b"https://a.example/one", url="https://a.example/sitemap.txt")
>>> document.kind
<Kind.LIST: 'list'>
>>> [entry.loc for entry in document.rows()]
['https://a.example/one']
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sitemap_harvest import plots
    from sitemap_harvest.api import HarvestProcessError, HarvestResult, ResultTable, harvest
    from sitemap_harvest.diff import Changes, compare
    from sitemap_harvest.errors import ArgumentError, HarvestError, MissingPackageError, OptionError, StoreError
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
    "Changes",
    "Document",
    "Evidence",
    "Finding",
    "FindingSample",
    "FoundBy",
    "HarvestError",
    "HarvestProcessError",
    "HarvestResult",
    "History",
    "Kind",
    "LastmodTrust",
    "Limits",
    "MissingPackageError",
    "NotChecked",
    "Occurrence",
    "OptionError",
    "Outcome",
    "PageRecord",
    "PageSource",
    "Problem",
    "ResultTable",
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
    "compare",
    "harvest",
    "open_store",
    "plots",
    "read",
]

_HOMES = (
    "sitemap_harvest.errors",
    "sitemap_harvest.model",
    "sitemap_harvest.formats",
    "sitemap_harvest.snapshots.store",
    "sitemap_harvest.diff",
    "sitemap_harvest.api",
)
_SPIDERS = {
    "HarvestSpider": "sitemap_harvest.spiders",
    "SitemapSpider": "sitemap_harvest.spiders.sitemap",
    "ChangesSpider": "sitemap_harvest.spiders.sitemap",
    "AuditSpider": "sitemap_harvest.spiders.sitemap",
}
"""Where the spiders are: not here, because they need Scrapy."""


def __getattr__(name: str) -> Any:
    """Import a public name on first use.

    Scrapy imports this package for every command, to find the command ``harvest``. Arrow
    and lxml take 0.3 seconds to load, so they are imported only when they are needed.
    """
    _check_script()
    if name == "plots":
        return import_module("sitemap_harvest.plots")
    if name in __all__:
        for home in _HOMES:
            if hasattr(module := import_module(home), name):
                value = globals()[name] = getattr(module, name)
                return value
    if name in _SPIDERS:  # an AttributeError would become an ImportError without this text
        raise ImportError(f"{name} is in another module, because it needs Scrapy: from {_SPIDERS[name]} import {name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _check_script() -> None:
    """Raise an error if a library has imported the script, which has the name of a module of Python.

    Otherwise pyarrow would wait for ever for pandas, which imports ``csv``.
    """
    script = getattr(sys.modules.get("__main__"), "__file__", None) or ""
    stem = os.path.splitext(os.path.basename(script))[0]  # noqa: PTH119, PTH122 - pathlib takes longer to import
    is_pythons = os.path.dirname(script) == os.path.dirname(os.__file__)  # noqa: PTH120 - such as "python -m cProfile"
    is_imported = getattr(sys.modules.get(stem), "__file__", None) == script
    if stem in sys.stdlib_module_names and is_imported and not is_pythons:
        from sitemap_harvest.errors import HarvestError

        message = f"rename {script}: it has the name of a module of Python, and a library has imported it instead"
        raise HarvestError(message)


def __dir__() -> list[str]:
    """Return the public names, and those that are already imported."""
    return sorted({*__all__, *globals()})
