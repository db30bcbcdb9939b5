"""One line in somebody's project: ``ADDONS = {"sitemap_harvest.crawl.Addon": 300}``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.extensions import feedexport
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.misc import load_object

from sitemap_harvest.crawl import defaults

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


class Addon:
    """Offers the settings of :mod:`sitemap_harvest.crawl.defaults`; whatever the project sets itself stays.

    Those with a value of their own, such as ``DOWNLOAD_MAXSIZE``, our spiders
    bring along themselves: the project's own spiders keep what they have.
    """

    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:
        """Make the spiders known, where the project has not named them itself."""
        given = settings.getlist("SPIDER_MODULES")
        if defaults.SPIDER_MODULE not in given:  # before theirs: of two spiders of one name, the last one counts
            priority = max(settings.getpriority("SPIDER_MODULES") or 0, SETTINGS_PRIORITIES["addon"])
            settings.set("SPIDER_MODULES", [defaults.SPIDER_MODULE, *given], priority)

    def update_settings(self, settings: BaseSettings) -> None:
        """Offer the parts that let batches travel."""
        if (settings.getpriority("ITEM_PROCESSOR") or 0) < SETTINGS_PRIORITIES["addon"]:
            settings.set("ITEM_PROCESSOR", defaults.ITEM_PROCESSOR, priority="addon")
        for name, path in defaults.FEED_EXPORTERS.items():
            if name not in settings.getdict("FEED_EXPORTERS"):
                settings["FEED_EXPORTERS"][name] = path
        for path, order in defaults.DOWNLOADER_MIDDLEWARES.items():
            settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", load_object(path), order)
        self._offer_extensions(settings)

    @staticmethod
    def _offer_extensions(settings: BaseSettings) -> None:
        stock = feedexport.FeedExporter
        given = {load_object(cls) for cls in settings.getdict("EXTENSIONS")}
        for path, order in defaults.EXTENSIONS.items():
            cls = load_object(path)
            if issubclass(cls, stock) and stock in given:
                continue  # the one that the project has set itself, or switched off, stays
            if order is None:
                settings.set_in_component_priority_dict("EXTENSIONS", cls, None)
            else:
                settings.setdefault_in_component_priority_dict("EXTENSIONS", cls, order)
