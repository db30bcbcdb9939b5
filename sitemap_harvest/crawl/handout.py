"""Which of the URLs that were read leave the spider, and how: filtered, up to the limit, in batches or one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemap_harvest.crawl.rows import why_rows
from sitemap_harvest.model import Batch
from sitemap_harvest.plan import Filters

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from scrapy.crawler import Crawler

    from sitemap_harvest.crawl.arguments import Plan
    from sitemap_harvest.crawl.pages import Pages
    from sitemap_harvest.crawl.summary import Summary
    from sitemap_harvest.model import UrlBatch
    from sitemap_harvest.plan import Lead


class Handout:
    """Hands out URLs as items, and to the pages that wait for a visit."""

    def __init__(self, crawler: Crawler, plan: Plan, summary: Summary, pages: Pages, *, as_rows: bool) -> None:
        """*as_rows* is whether URLs travel one by one though every part of the project could take batches."""
        self._crawler = crawler
        self._plan = plan
        self._summary = summary
        self._pages = pages
        self._as_rows = as_rows
        self._has_filters = plan.filters != Filters()

    @property
    def has_enough(self) -> bool:
        """Whether as many URLs were handed out as the user wants (``limit``)."""
        return self._plan.limit is not None and self._summary.urls >= self._plan.limit

    def words(self, when: str) -> str:
        """Return in words that the limit was reached *when*."""
        return f"limit={self._plan.limit} was reached {when}"

    @property
    def needs_rows(self) -> bool:
        """Whether somebody looks at the URLs, and not only at how many there are."""
        is_plain = not self._has_filters and self._plan.limit is None
        return "urls" in self._plan.emit or self._pages.are_wanted or not is_plain

    def count(self, urls: int) -> None:
        """Count *urls* that nobody looks at."""
        self._summary.urls += urls
        self._crawler.stats.inc_value("sitemap_harvest/urls", urls)

    def filtered(self, batch: UrlBatch) -> UrlBatch:
        """Return the rows of *batch* that the filters keep, and count both these and the others."""
        if not self._has_filters:
            return batch
        kept, dropped = self._plan.filters.keep(batch)
        self._summary.count_filtered(dropped, self._crawler.stats, kept=len(kept))
        return kept

    def items(self, batch: UrlBatch, lead: Lead) -> Generator[Any, None, int]:
        """Yield what stands for *batch*, which the document of *lead* lists, up to the limit; return for how many URLs.

        Not what has been added to the summary meanwhile: other documents hand out theirs between two items.
        """
        if not len(batch):
            return 0
        if self._plan.limit is not None:
            batch = batch.slice(0, self._plan.limit - self._summary.urls)
        self._summary.urls += len(batch)
        self._crawler.stats.inc_value("sitemap_harvest/urls", len(batch))
        self._pages.add(batch, lead)
        if "urls" not in self._plan.emit:
            return len(batch)
        self._as_rows = self._as_rows or self._needs_rows()  # each time: a handler may have been connected since
        if self._as_rows:
            yield from batch.rows()
        else:
            yield batch
        return len(batch)

    def as_wanted(self, items: Iterable[Any]) -> Iterator[Any]:
        """Yield *items*; of a batch among them its rows, where URLs travel one by one."""
        for item in items:
            if isinstance(item, Batch):
                self._as_rows = self._as_rows or self._needs_rows()
            if isinstance(item, Batch) and self._as_rows:
                yield from item.rows()
            else:
                yield item

    def _needs_rows(self) -> bool:
        if reason := why_rows(self._crawler):
            assert self._crawler.spider is not None  # noqa: S101 - it is running; this tells mypy
            self._crawler.spider.logger.info("URLs travel one by one, which is slower: %s", reason)
        return reason is not None
