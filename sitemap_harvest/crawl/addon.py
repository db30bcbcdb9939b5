"""One line in somebody's project: ``ADDONS = {"sitemap_harvest.crawl.Addon": 300}``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.extensions import feedexport
from scrapy.utils.misc import load_object

from sitemap_harvest.crawl import defaults

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

_OURS = frozenset({"sitemap_harvest.crawl.feeds.FeedExporter"})


class Addon:
    """Offers the settings of :mod:`sitemap_harvest.crawl.defaults`; whatever the project sets itself stays.

    Those with a value of their own, such as ``DOWNLOAD_MAXSIZE``, our spiders
    bring along themselves: the project's own spiders keep what they have.
    """

    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:
        """Make the spiders known, where the project has not named them itself."""
        settings.add_to_list("SPIDER_MODULES", defaults.SPIDER_MODULE)

    def update_settings(self, settings: BaseSettings) -> None:
        """Offer the parts that let batches travel."""
        settings.set("ITEM_PROCESSOR", defaults.ITEM_PROCESSOR, priority="addon")
        for name, path in defaults.FEED_EXPORTERS.items():
            if name not in settings.getdict("FEED_EXPORTERS"):
                settings["FEED_EXPORTERS"][name] = path
        for path, order in defaults.DOWNLOADER_MIDDLEWARES.items():
            settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", load_object(path), order)
        self._replace_feed_exporter(settings)

    @staticmethod
    def _replace_feed_exporter(settings: BaseSettings) -> None:
        stock = feedexport.FeedExporter
        given = {load_object(cls): order for cls, order in settings.getdict("EXTENSIONS").items()}
        if stock not in given:  # one that the project has set itself, or switched off, stays
            settings.set_in_component_priority_dict("EXTENSIONS", stock, None)
            for path, order in defaults.EXTENSIONS.items():
                if order is not None:
                    settings.setdefault_in_component_priority_dict("EXTENSIONS", load_object(path), order)
