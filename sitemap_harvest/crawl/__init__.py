"""Everything that knows Scrapy: spiders, and the parts that let batches travel through it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemap_harvest.crawl.addon import Addon

if TYPE_CHECKING:
    from sitemap_harvest.crawl.spiders.harvest import HarvestSpider

__all__ = ["Addon", "HarvestSpider"]


def __getattr__(name: str) -> Any:
    """Import the spider when it is asked for: a project's settings need only the rest, which takes no time."""
    if name != "HarvestSpider":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sitemap_harvest.crawl.spiders.harvest import HarvestSpider

    return HarvestSpider
