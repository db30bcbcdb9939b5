"""The Scrapy add-on: ``ADDONS = {"sitemap_harvest.addon.Addon": 300}``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.misc import load_object

from sitemap_harvest.integration import default_settings as defaults

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


class Addon:
    """Adds the settings of :mod:`~sitemap_harvest.integration.default_settings`.

    Settings of the project take precedence. Plain values, such as ``DOWNLOAD_MAXSIZE``,
    are set by the package's spiders themselves: other spiders of the project are not
    affected.
    """

    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:
        """Make the spiders available, unless the project lists them itself."""
        given = settings.getlist("SPIDER_MODULES")
        if defaults.SPIDER_MODULE not in given:  # before the project's: of spiders with the same name, the last wins
            priority = settings.getpriority("SPIDER_MODULES") or 0
            settings.set("SPIDER_MODULES", [defaults.SPIDER_MODULE, *given], priority)

    def update_settings(self, settings: BaseSettings) -> None:
        """Add the components that batches need."""
        if (settings.getpriority("ITEM_PROCESSOR") or 0) < SETTINGS_PRIORITIES["addon"]:
            settings.set("ITEM_PROCESSOR", defaults.ITEM_PROCESSOR, priority="addon")
        defaults.add_outputs(settings)
        for path, order in defaults.DOWNLOADER_MIDDLEWARES.items():
            settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", load_object(path), order)
