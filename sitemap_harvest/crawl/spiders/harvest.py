"""The base of the package's spiders, and of your own."""

from __future__ import annotations

import re
from collections.abc import Iterable  # noqa: TC003 - others look at the signatures of callbacks, as scrapy-poet does
from functools import cached_property
from inspect import getattr_static
from typing import TYPE_CHECKING, Any, Self

from scrapy import Request  # noqa: TC002 - the same
from scrapy.http import Response  # noqa: TC002 - the same

from sitemap_harvest.crawl import defaults
from sitemap_harvest.crawl.given import Given, check_class
from sitemap_harvest.crawl.quiet import conceal_passwords
from sitemap_harvest.crawl.run import Harvest, RunInfo
from sitemap_harvest.crawl.selection import has_wrong_rules
from sitemap_harvest.crawl.spiders.base import SitemapAttributes
from sitemap_harvest.crawl.start_requests import takes_scrapys_steps
from sitemap_harvest.crawl.watching.switch import watch
from sitemap_harvest.escape import escape_log

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings


class HarvestSpider(SitemapAttributes):
    """Reads the sitemaps of sites. Subclass it as you would :class:`scrapy.spiders.SitemapSpider`.

    The run itself is an object of its own, so that attributes and methods of
    subclasses may have any name but ``_harvest``.
    """

    def __init__(self, name: str | None = None, **arguments: Any) -> None:
        """Make the spider. A wrong one of *arguments* ends the run as it opens."""
        given = Given.of(arguments, type(self))
        try:
            super().__init__(name, **given.ours, **given.attributes)
        except (AttributeError, TypeError, re.error):
            if not has_wrong_rules(self):  # which end the run as it opens, with one line
                raise
        self._harvest = Harvest(self, given)

    @cached_property  # which, unlike a property, subclasses and instances may replace
    def harvest(self) -> RunInfo:
        """The run: its id, when it began, and how far it is."""
        return RunInfo(self._harvest)

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Offer the values that the spider works best with; what the project sets stays."""
        defaults.offer(settings)
        super().update_settings(settings)
        watch(settings)
        conceal_passwords()
        escape_log()

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Make the spider and its run. Raises :exc:`TypeError` if the class defines ``_harvest``."""
        check_class(cls, base=HarvestSpider)  # not as the class is made: that would end every spider of the project
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider._harvest.wire(crawler)  # noqa: SLF001 - its own
        # A from_crawler() of a subclass may switch on what this one would take off the lists.
        if getattr_static(cls, "from_crawler") is vars(HarvestSpider)["from_crawler"] and not crawler.settings.frozen:
            defaults.unload(crawler.settings)
        return spider

    async def start(self) -> AsyncIterator[Any]:
        """Yield a request for each document that the run begins with, as Scrapy's ``SitemapSpider`` does.

        Their documents, and the pages, are requested later, and not by this method.
        """
        for request in self._harvest.start_requests():
            yield request

    def _parse_sitemap(self, response: Response) -> Iterable[Request]:
        """Yield what the sitemap in *response* leads to: a callback for requests of your own."""
        return super()._parse_sitemap(response) if takes_scrapys_steps(self) else self._harvest.read(response)
