"""``Harvest``, one run of a spider: reads arguments and settings, begins and ends the run, and logs the result."""

from __future__ import annotations

from contextlib import suppress
from logging import INFO, WARNING, root
from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa
from scrapy import signals
from scrapy.exceptions import CloseSpider
from scrapy.extensions.feedexport import FeedExporter
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.log import LogCounterHandler

from sitemap_harvest.config.settings import HarvestSettings
from sitemap_harvest.engine.run_state import RUN, RunState, fields
from sitemap_harvest.errors import ArgumentError, HarvestError
from sitemap_harvest.model import counted
from sitemap_harvest.page_visits.page_rules import PageRules
from sitemap_harvest.spiders.added_components import enable_components
from sitemap_harvest.spiders.run_components import connect
from sitemap_harvest.spiders.run_setup import apply_targets, prepare
from sitemap_harvest.spiders.spider_arguments import default_arguments
from sitemap_harvest.spiders.start_requests import has_own, state_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from sitemap_harvest.config.arguments import RunConfig
    from sitemap_harvest.integration.loop_runner import LoopRunner
    from sitemap_harvest.integration.spider_attributes import SitemapAttributes
    from sitemap_harvest.spiders.spider_arguments import SpiderArguments


class Harvest(RunState):
    """One run: everything that the package's spiders do beyond their class definition.

    The components of the package get it from ``harvest_of(crawler)``.
    """

    def __init__(self, spider: SitemapAttributes, given: SpiderArguments) -> None:
        """*given* are the arguments of the run. Invalid ones end it when it opens (:attr:`refused`)."""
        super().__init__({**given.ours, **given.attributes, **given.unusable})
        self._given = given
        self._spider = spider
        self.runner: LoopRunner | None = None
        """``None`` until the run is open, and if it is refused."""

    @property
    def urls(self) -> int:
        """Number of URLs harvested so far."""
        return self.summary.urls

    @property
    def documents(self) -> int:
        """Number of documents finished so far, read or not."""
        return self.summary.documents

    def wire(self, crawler: Crawler) -> None:
        """Change the settings of *crawler* for this run, and connect its signals."""
        self._crawler, self.logger = crawler, self._spider.logger
        if crawler.settings.frozen:  # by a command that only fetches one document, such as "shell"
            self.options = HarvestSettings.from_settings(crawler.settings)
            self._rules = PageRules(self._spider)
            return
        enable_components(self._spider, self._given.ours, default_arguments(self._spider) or {})
        crawler.signals.connect(self.open, signal=signals.spider_opened)
        crawler.signals.connect(self.close, signal=signals.spider_closed)  # before the feeds are closed
        crawler.signals.connect(self.log_summary, signal=signals.engine_stopped)  # below Scrapy's stats

    def open(self) -> None:
        """Read arguments and settings, and find the store. If that fails, the run ends with one line, no traceback."""
        self._crawler.stats.set_value(RUN, self.run_id)
        self.summary.count = self._crawler.stats.inc_value
        try:
            self._urls = state_of(self._spider.sitemap_urls)
            config = self.config = self._given.config_for(self._spider)
            self._rules = PageRules(self._spider)
            self.summary.is_stored = config.at is not None
            if config.baseline is not None:
                self.summary.since = f"baseline={config.baseline}"
            elif config.consumer is not None:
                self.summary.since = f"the cursor of {config.consumer}"
            self.options = HarvestSettings.from_settings(self._crawler.settings)
            self.session = prepare(self._spider, self, config, sites=self._given.ours.get("sites"))
            if self.session is not None:
                config = self.config = self.session.config
        except HarvestError as error:
            self.refusal = error
            self.refuse(str(error))
        except (TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            self.refuse(f"an argument, a setting or an attribute of the spider has the wrong type: {error!r}")
        pa.set_memory_pool(pa.system_memory_pool())  # Arrow's own pool retains some 25 MB of freed memory
        for reason in (*(reason for _, reason in config.no_sites), *self._given.complaints(type(self._spider))):
            self.logger.warning("%s", reason)
        self._components = connect(self._spider, self, config, self._rules, self.session)
        if self.archiver is not None:
            self.archiver.archive_downloads()
        self.seeds, self.runner = self._components.seeds, self._components.runner

    def refuse(self, reason: str) -> NoReturn:
        """End the run before it begins, with the reason in one line."""
        self.refused, self.runner = reason, None
        if (exporter := self._crawler.get_extension(FeedExporter)) is not None:
            exporter.feeds, exporter.slots = {}, []  # Scrapy's would overwrite the last run's files with empty ones
        self.logger.error("%s", reason, extra=fields("refused"))
        counters = [one for one in root.handlers if isinstance(one, LogCounterHandler) and one.crawler is self._crawler]
        if not counters:  # Scrapy begins to count when the spider has been opened
            self._crawler.stats.inc_value("log_count/ERROR")
        raise CloseSpider("wrong_argument")

    def start_requests(self) -> Iterator[Request]:
        """Yield the requests of the base class's ``start()``: one for each document that the run begins with."""
        if self.runner is None:
            return
        try:
            config = self._current_config()
            if self.session is not None:  # only now: other components may have refused the run
                self.session.store.create()
        except HarvestError as error:
            self.refusal = error
            with suppress(CloseSpider):
                self.refuse(str(error))
            deferred_from_coro(self._crawler.engine.close_spider_async(reason="wrong_argument"))
            return
        if config.at is None:
            yield from self.seeds.requests(config.candidates)

    def read(self, response: Response) -> Iterator[Request]:
        """Yield the requests for the sitemap in *response*, which the spider itself has requested."""
        from sitemap_harvest.page_visits.page_requests import requests_of  # few spiders request sitemaps themselves

        parse = self._spider._parse_sitemap  # noqa: SLF001 - Scrapy's name, which spiders use as a callback
        return requests_of(response, self._rules, self.options, callback=parse)

    def close(self) -> None:
        """Complete the records."""
        if self.runner is None:
            return
        exporter = self._crawler.get_extension(FeedExporter)
        for record in self._components.loop.left_over():
            if exporter is not None:
                exporter.item_scraped(record, self._spider)  # only for the feeds, because pipelines are closed by now
        if self.archiver is not None:
            self.archiver.close()
        if self.session is not None:
            self.session.close()
        if self.temporary_store is not None:
            self.temporary_store.cleanup()
            self.summary.first_snapshots = self.summary.stored = 0  # none is left
        pages = self._components.pages
        if pages is not None and (unvisited := pages.close()):
            self.logger.info("%s", unvisited)

    def log_summary(self) -> None:
        """Log the run in one line, with the documents that were not read."""
        summary, logger = self.summary, self.logger
        if self.runner is None or not self.logs_summary:
            return
        counts = {"urls": summary.urls, "documents": summary.documents}
        level = INFO if summary.urls or summary.is_stored else WARNING
        logger.log(level, "Run %s: %s", self.run_id, summary.in_words(), extra=fields("summary", **counts))
        level = INFO if self._crawler.stats.get_value("item_scraped_count") else WARNING
        for words in self._missing_in_words():
            logger.log(level, "%s", words)
        for note, values in summary.site_notes.lines() if summary.urls else ():
            logger.info("No URLs found: %s", note, extra=fields("site", **values))
        for title, notes in (
            ("Failed or incomplete", summary.notes),
            ("Not read", summary.interrupted),
            ("Failed, but not needed", summary.out_of_scope),
        ):
            for note, values in notes.lines():
                logger.info("%s: %s", title, note, extra=fields("document", **values))

    def _missing_in_words(self) -> Iterator[str]:
        """Yield a text for each reason, of those that Scrapy only counts, why items or pages are missing."""
        count = self._crawler.stats.get_value
        forbidden = count("robotstxt/forbidden", 0) - self.summary.forbidden - self.summary.disallowed
        repeated = count("dupefilter/filtered", 0) if self._crawler.settings.get("JOBDIR") else 0
        for pages, which in (
            (forbidden, "for pages that robots.txt disallows (ROBOTSTXT_OBEY)"),
            (count("offsite/filtered", 0), "for hosts outside allowed_domains"),
            (repeated, "that this run or an earlier one in JOBDIR had made"),
        ):
            if pages > 0:
                yield f"Not sent: {counted(pages, 'request')} {which}"
        if pages := count("httperror/response_ignored_count", 0):
            yield (
                f"{counted(pages, 'response')} had an error status, such as 404, and did not reach the callback "
                "(the stats httperror/response_ignored_status_count/... count them)"
            )
        if items := count("item_dropped_count", 0):
            yield f"Pipelines dropped {counted(items, 'item')}"

    def _current_config(self) -> RunConfig:
        """Return the configuration; ``sitemap_urls`` may have been set when the spider was opened."""
        config = self.config
        if config is None or state_of(self._spider.sitemap_urls) != self._urls:
            config = self._given.config_for(self._spider)
            apply_targets(self._crawler, config, self)
        if not config.candidates and not has_own(self._spider, "start"):
            message = (
                f"nothing to harvest: {type(self._spider).__name__} has no sitemap_urls, "
                "and none of the arguments site, sites and sitemap is given"
            )
            raise ArgumentError("site", None, "a site", message=message)
        return config
