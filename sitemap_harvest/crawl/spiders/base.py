"""What one's own spider may set: the names of Scrapy's ``SitemapSpider``, and ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.spiders import SitemapSpider

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from scrapy.crawler import Crawler

    from sitemap_harvest.crawl.run import Harvest
    from sitemap_harvest.model import UrlBatch

OWN_NAME = "_harvest"
"""The one attribute of a spider that subclasses and arguments must not replace: it holds the run."""


class SitemapAttributes(SitemapSpider):
    """The attributes and methods of a spider that a subclass is free to set."""

    sitemap_urls: Sequence[str] = ()
    """Sitemaps, indexes, lists, feeds or robots.txt files, by their addresses, or files on this machine. Not used in a
    run that is given ``site``, ``sites`` or ``sitemap``."""

    sitemap_rules: Sequence[tuple[str | re.Pattern[str], str | Callable[..., Any]]] = [("", "parse")]
    """Pairs of a regular expression and a callback (the name of a method, or what can be called). The first whose
    expression is found in an address gets the page; a page that none is found in is not visited. By default all pages
    go to ``parse``. A spider that has neither ``parse`` nor rules visits no pages."""

    sitemap_follow: Sequence[str | re.Pattern[str]] = ("",)
    """Regular expressions: of what an index names, only sitemaps in whose address one of them is found are read."""

    sitemap_alternate_links: bool = False
    """Whether the alternates of an entry are visited too. Their callbacks get the entry that they stand in."""

    harvest_arguments: ClassVar[Mapping[str, Any]] = {}
    """Values for arguments that a run is not given by ``-a``, such as ``{"site": "https://www.example.com",
    "limit": 1000}``."""

    refuses_unknown_arguments: ClassVar[bool] = False
    """Whether an argument that the package does not know ends the run. Otherwise it becomes an attribute of the
    spider, as in Scrapy."""

    def sitemap_filter(self, entries: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
        """Return those of *entries*, which are all of one document, that are visited; of an index, that are read.

        Each is a dictionary of its elements by their names without namespaces,
        each with its text: ``loc``, ``lastmod``, ``changefreq``, ``priority``,
        and any other. What is absent has no key. ``alternate`` is a list of
        addresses. ``entry`` is the :class:`~sitemap_harvest.UrlEntry`, which an
        index has none of. What is returned may be changed, or new.
        """
        yield from entries

    def visits(self, batch: UrlBatch) -> UrlBatch:
        """Return the rows of *batch* whose pages are visited: a choice on columns, which costs little.

        It is asked after the arguments that filter, and before
        :meth:`sitemap_filter` and ``sitemap_rules``.
        """
        return batch


def run_of(spider: object) -> Harvest | None:
    """Return the run of *spider*; ``None`` if it is not ours, or not made yet."""
    return getattr(spider, OWN_NAME, None) if isinstance(spider, SitemapAttributes) else None


def harvest_of(crawler: Crawler) -> Harvest:
    """Return the run of *crawler*, whose spider is ours."""
    harvest = run_of(crawler.spider)
    if harvest is None:
        raise TypeError(f"{crawler.spider!r} is no spider of sitemap_harvest")
    return harvest
