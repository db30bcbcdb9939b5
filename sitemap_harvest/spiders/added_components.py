"""The components that a run adds to the settings of its crawler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemap_harvest.config.settings import ALWAYS, FALLBACK
from sitemap_harvest.integration.default_settings import bring_outputs
from sitemap_harvest.integration.guards import enable_guards
from sitemap_harvest.integration.replay import ReplayMiddleware
from sitemap_harvest.reporting.json_log import start_log
from sitemap_harvest.spiders.start_requests import CLOSEST_TO_THE_SPIDER, StartRequestsMiddleware

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy import Spider


def enable_components(spider: Spider, *arguments: Mapping[str, Any]) -> None:
    """Add the components of the run of *spider* to its settings; *arguments* are those given, then the defaults."""
    settings = spider.crawler.settings
    start_log(settings, spider)
    enable_guards(settings)
    bring_outputs(settings)
    settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", StartRequestsMiddleware, CLOSEST_TO_THE_SPIDER)
    if any("root" in given for given in arguments):  # before HttpCacheMiddleware
        settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", ReplayMiddleware, 891)
    modes = (given.get("browser") for given in arguments)
    mode = next((mode for mode in modes if mode is not None), settings.get("SITEMAP_HARVEST_BROWSER"))
    if mode in {FALLBACK, ALWAYS}:  # an invalid one is reported when the run opens
        from sitemap_harvest.browser.middleware import BrowserMiddleware

        # Next to the downloader, behind the package's other middlewares: to them its responses come from the server.
        settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", BrowserMiddleware, 1_000_002)
