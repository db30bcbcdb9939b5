"""``SitemapAttributes``: the attributes and methods that a custom spider may define; how components find its run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from scrapy.spiders import SitemapSpider

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from scrapy.crawler import Crawler

    from sitemap_harvest.engine.run_state import RunState
    from sitemap_harvest.model import UrlBatch

OWN_NAME = "_harvest"
"""The only attribute of a spider that subclasses and arguments must not replace: it holds the run."""


class SitemapAttributes(SitemapSpider):
    """The attributes and methods of a spider that a subclass may define."""

    sitemap_urls: Sequence[str] = ()
    """Sitemaps, indexes, URL lists, feeds or robots.txt files, as URLs or local files. Ignored if the run has the
    argument ``site``, ``sites`` or ``sitemap``."""

    sitemap_rules: Sequence[tuple[str | re.Pattern[str], str | Callable[..., Any]]] = [("", "parse")]
    """Pairs of a regular expression and a callback (method name or callable). The first expression that matches the URL
    of a page selects its callback; a page without a match is not visited. By default all pages go to ``parse``. A
    spider with neither ``parse`` nor rules visits no pages."""

    sitemap_follow: Sequence[str | re.Pattern[str]] = ("",)
    """Regular expressions: of the sitemaps that an index names, only those whose URL matches one of them are read."""

    sitemap_alternate_links: bool = False
    """Whether the alternates of an entry are visited too. Their callbacks get the entry that lists them."""

    harvest_arguments: ClassVar[Mapping[str, Any]] = {}
    """Default values of arguments, used if ``-a`` does not set them, such as ``{"site": "https://www.example.com",
    "limit": 1000}``."""

    refuses_unknown_arguments: ClassVar[bool] = False
    """Whether an unknown argument ends the run. Otherwise it becomes an attribute of the spider, as in Scrapy."""

    def sitemap_filter(self, entries: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
        """Return which of *entries*, all from one document, are visited; for an index, which are read.

        Each entry is a dictionary of the texts of its elements, by their names without
        namespaces: ``loc``, ``lastmod``, ``changefreq``, ``priority``, and any other.
        An absent element has no key. ``alternate`` is a list of URLs. ``entry`` is the
        :class:`~sitemap_harvest.UrlEntry`, absent for an index. The returned entries
        may be modified or new.
        """
        yield from entries

    def visits(self, batch: UrlBatch) -> UrlBatch:
        """Return the rows of *batch* whose pages are visited: a fast selection on columns.

        It is called after the filter arguments were applied, and before
        :meth:`sitemap_filter` and ``sitemap_rules``.
        """
        return batch


def run_of(spider: object) -> RunState | None:
    """Return the run of *spider*; ``None`` if it is not from this package, or has no run yet."""
    return getattr(spider, OWN_NAME, None) if isinstance(spider, SitemapAttributes) else None


def harvest_of(crawler: Crawler) -> RunState:
    """Return the run of *crawler*, whose spider is from this package."""
    harvest = run_of(crawler.spider)
    if harvest is None:
        raise TypeError(f"{crawler.spider!r} is not a sitemap_harvest spider")
    return harvest


class CrawlerComponent:
    """A middleware or an extension that knows its crawler."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Create the component."""
        return cls(crawler)
