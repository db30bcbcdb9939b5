"""``HarvestSpider``: the base class of the package's spiders and of custom spiders."""

from __future__ import annotations

import re
from collections.abc import Iterable  # noqa: TC003 - others, such as scrapy-poet, inspect the signatures of callbacks
from functools import cached_property
from inspect import getattr_static
from typing import TYPE_CHECKING, Any, Self

from scrapy import Request  # noqa: TC002 - the same
from scrapy.http import Response  # noqa: TC002 - the same

from sitemap_harvest.integration import default_settings as defaults
from sitemap_harvest.integration.download_errors import filter_logs
from sitemap_harvest.integration.spider_attributes import OWN_NAME, SitemapAttributes
from sitemap_harvest.page_visits.page_rules import has_wrong_rules
from sitemap_harvest.reporting.run_reports import enable_reports
from sitemap_harvest.spiders.run import Harvest
from sitemap_harvest.spiders.spider_arguments import SpiderArguments
from sitemap_harvest.spiders.start_requests import takes_scrapys_steps

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings


class HarvestSpider(SitemapAttributes):
    """Reads the sitemaps of sites. Subclass it as you would :class:`scrapy.spiders.SitemapSpider`.

    The run itself is a separate object, so that attributes and methods of
    subclasses may have any name except ``_harvest``.
    """

    def __init__(self, name: str | None = None, **arguments: Any) -> None:
        """Create the spider. Invalid *arguments* end the run when it opens."""
        given = SpiderArguments.of(arguments, type(self))
        try:
            super().__init__(name, **given.ours, **given.attributes)
        except (AttributeError, TypeError, ValueError, re.error):
            if not has_wrong_rules(self):  # these end the run when it opens, with one line
                raise
        self._harvest = Harvest(self, given)

    @cached_property  # which subclasses and instances may replace, unlike a property
    def harvest(self) -> Harvest:
        """The run: ``run_id``, ``started_at``, and the numbers of ``urls`` and ``documents`` so far."""
        return self._harvest

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Apply the package's default settings; settings of the project take precedence."""
        defaults.apply_defaults(settings)
        super().update_settings(settings)
        enable_reports(settings)
        filter_logs()

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Create the spider and its run.

        Raises :exc:`TypeError` if the class defines ``_harvest``, or does not call ``super().__init__()``.
        """
        # Not checked at class creation: that would end every spider of the project.
        if any(OWN_NAME in vars(between) for between in cls.__mro__[: cls.__mro__.index(HarvestSpider)]):
            raise TypeError(f"{cls.__name__} defines {OWN_NAME}, which HarvestSpider uses itself: rename the attribute")
        spider = super().from_crawler(crawler, *args, **kwargs)
        if OWN_NAME not in vars(spider):
            raise TypeError(f"{cls.__name__}.__init__() must call super().__init__(*args, **kwargs)")
        spider._harvest.wire(crawler)  # noqa: SLF001 - defined by this class
        # from_crawler() of a subclass may still enable components that this would remove.
        if getattr_static(cls, "from_crawler") is vars(HarvestSpider)["from_crawler"] and not crawler.settings.frozen:
            defaults.remove_disabled_components(crawler.settings)
        return spider

    async def start(self) -> AsyncIterator[Any]:
        """Yield a request for each document that the run begins with, as Scrapy's ``SitemapSpider`` does.

        The documents below these, and the pages, are requested later, not by this
        method.
        """
        for request in self._harvest.start_requests():
            yield request

    def _parse_sitemap(self, response: Response) -> Iterable[Request]:
        """Yield the requests for the sitemap in *response*: a callback for your own requests."""
        return super()._parse_sitemap(response) if takes_scrapys_steps(self) else self._harvest.read(response)
