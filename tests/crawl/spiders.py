"""Spiders of a user's project: those of Scrapy's documentation of ``SitemapSpider``, and some that use the additions of
ours. The environment names the site and the base class: with ``scrapy`` it is Scrapy's own, to compare the two.
"""

from __future__ import annotations

import os
import re
import resource
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
from scrapy import Request, Spider

from sitemap_harvest.engine import snapshot_session as keeping
from sitemap_harvest.spiders.harvest import HarvestSpider

if os.environ.get("SPIDER_BASE") == "scrapy":
    from scrapy.spiders import SitemapSpider
else:
    from sitemap_harvest.spiders.harvest import HarvestSpider as SitemapSpider

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy.http import Response

SITE = os.environ.get("SITE_URL", "http://www.example.com")


def seen(callback: str, response: Response, **more: Any) -> dict[str, Any]:
    return {"callback": callback, "url": response.url.removeprefix(SITE), **more}


class Simplest(SitemapSpider):
    name = "simplest"
    sitemap_urls = [f"{SITE}/sitemap.xml"]

    def parse(self, response):
        return [seen("parse", response)]


class FailingAfterOne(SitemapSpider):
    name = "failing-after-one"
    sitemap_urls = [f"{SITE}/sitemap.xml"]

    def parse(self, response):
        if response.url.endswith("/2004"):
            yield seen("parse", response)
        raise ValueError("the page looks otherwise")


class TwoRules(SitemapSpider):
    name = "two-rules"
    sitemap_urls = [f"{SITE}/sitemap.xml"]
    sitemap_rules = [
        ("/product/", "parse_product"),
        ("/category/", "parse_category"),
    ]

    def parse_product(self, response):
        yield seen("parse_product", response)

    def parse_category(self, response):
        yield seen("parse_category", response)


class Shops(SitemapSpider):
    name = "shops"
    sitemap_urls = [f"{SITE}/robots.txt"]
    sitemap_rules = [
        ("/shop/", "parse_shop"),
    ]
    sitemap_follow = ["/sitemap_shops"]

    def parse_shop(self, response):
        yield seen("parse_shop", response)


class OtherSources(SitemapSpider):
    name = "other-sources"
    sitemap_urls = [f"{SITE}/robots.txt"]
    sitemap_rules = [
        ("/shop/", "parse_shop"),
    ]

    other_urls = [f"{SITE}/about"]

    async def start(self):
        async for item_or_request in super().start():
            yield item_or_request
        for url in self.other_urls:
            yield Request(url, self.parse_other)

    def parse_shop(self, response):
        yield seen("parse_shop", response)

    def parse_other(self, response):
        yield seen("parse_other", response)


class Filtered(SitemapSpider):
    name = "filtered"
    allowed_domains = ["127.0.0.1"]
    sitemap_urls = [f"{SITE}/dated.xml"]

    def sitemap_filter(self, entries):
        for entry in entries:
            date_time = datetime.strptime(entry["lastmod"], "%Y-%m-%d")  # noqa: DTZ007 - as it is documented
            if date_time.year >= 2005:
                yield entry

    def parse(self, response):
        yield seen("parse", response)


class Alternates(SitemapSpider):
    name = "alternates"
    sitemap_urls = [f"{SITE}/languages.xml"]
    sitemap_alternate_links = True

    def parse(self, response):
        yield seen("parse", response)


class Compiled(SitemapSpider):
    """Compiled rules, callbacks that are functions, and sitemaps that are set when the spider is made."""

    name = "compiled"
    sitemap_follow = [re.compile("SHOPS", re.IGNORECASE)]

    def __init__(self, *args, domain=None, **kwargs):
        self.sitemap_rules = [(re.compile("/P\\w+T/", re.IGNORECASE), self.parse_product), ("", lambda response: [])]
        super().__init__(*args, **kwargs)
        self.sitemap_urls = [f"{domain}/sitemap.xml"]

    def parse_product(self, response):
        yield seen("parse_product", response, color=getattr(self, "color", None))


class Rewriting(SitemapSpider):
    """A filter that takes a whole document, sorts it, changes entries, adds some and drops those of an index."""

    name = "rewriting"
    sitemap_urls = [f"{SITE}/index.xml"]

    def sitemap_filter(self, entries):
        entries = [entry for entry in entries if "/no-" not in entry["loc"]]
        entries.sort(key=lambda entry: float(entry.get("priority", 0)), reverse=True)
        for entry in entries[:2]:
            yield {**entry, "loc": entry["loc"].replace("/old/", "/new/")}
        if "/sitemap_" not in entries[0]["loc"]:
            yield {"loc": f"{SITE}/made/{len(entries)}"}

    def parse(self, response):
        yield seen("parse", response)


class Entries(HarvestSpider):
    """Records the arguments of its callbacks, and makes more requests."""

    name = "entries"
    sitemap_rules = [("/plain/", "parse_plain"), ("/any/", "parse_any"), ("", "parse_entry")]
    sitemap_alternate_links = True

    def parse_plain(self, response):
        yield seen("parse_plain", response, priority=response.request.priority, depth=response.meta["depth"])

    def parse_any(self, response, **given):
        yield seen("parse_any", response, given=sorted(given))

    def parse_entry(self, response, entry):
        listed = [entry.loc.removeprefix(SITE), entry.position, entry.lastmod_text, entry.sitemap.removeprefix(SITE)]
        yield seen("parse_entry", response, entry=listed, priority=response.request.priority)
        yield response.follow("/more", self.parse_more)

    def parse_more(self, response):
        yield seen("parse_more", response, depth=response.meta["depth"])


class Columns(HarvestSpider):
    """Visits changed pages, by their columns."""

    name = "columns"
    harvest_arguments = {"site": SITE, "limit": "3"}

    def visits(self, batch):
        return batch.filter(pc.is_valid(batch["lastmod"]))

    def parse(self, response, entry):
        yield seen("parse", response, lastmod=entry.lastmod_text)


class Harvesting(HarvestSpider):
    """Has no callback: it harvests, like the spider ``sitemap``."""

    name = "harvesting"
    sitemap_urls = [f"{SITE}/sitemap.xml"]


class Many(HarvestSpider):
    """Ignores its responses."""

    name = "many"

    def parse(self, response, entry) -> Iterator[Any]:
        return iter(())


class Linking(HarvestSpider):
    """Requests the addresses in pages, with an errback and without one."""

    name = "linking"

    def parse(self, response, entry) -> Iterator[Any]:
        for url in response.text.split():
            yield Request(url, self.parse_linked, errback=self.note_failure)
            yield Request(f"{url}?plain", self.parse_linked)

    def parse_linked(self, response) -> Iterator[Any]:
        yield {"url": response.url}

    def note_failure(self, failure) -> Iterator[Any]:
        yield {"url": failure.request.url, "error": type(failure.value).__name__}


class Broken(HarvestSpider):
    name = "broken"
    sitemap_urls = [f"{SITE}/sitemap.xml"]
    sitemap_rules = [("", "parse_nothing")]


class FailingFilter(HarvestSpider):
    """Assumes that all entries have a date."""

    name = "failing-filter"

    def sitemap_filter(self, entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        return (entry for entry in entries if entry["lastmod"])

    def parse(self, response):
        yield seen("parse", response)


class WrongRule(HarvestSpider):
    name = "wrong-rule"
    sitemap_urls = [f"{SITE}/sitemap.xml"]
    sitemap_rules = [("", "parse", "x")]


class WrongUrl(HarvestSpider):
    name = "wrong-url"
    sitemap_urls = [f"{SITE}/sitemap.xml", None]


class WrongDefaults(HarvestSpider):
    name = "wrong-defaults"
    harvest_arguments = ["site"]


class WrongHooks(Many):
    """Has mistakes in its hooks, by the argument ``hook``."""

    name = "wrong-hooks"

    def visits(self, batch):
        hooks = {"visits-list": lambda: [1], "visits-error": lambda: batch["no such column"]}
        return hooks.get(self.hook, lambda: batch)()

    def sitemap_filter(self, entries):
        hooks = {"filter-none": lambda _: None, "filter-text": lambda _: ["x"], "filter-whole": self.sorted}
        return hooks.get(self.hook, iter)(entries)

    def sorted(self, entries):
        for entry in reversed([*entries]):
            yield {**entry, "lastmod": entry["lastmod"]}


class FullDisk(Many):
    """Has space for 100 kB in each file."""

    name = "full-disk"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


class Careful(HarvestSpider):
    """Harvests, and writes a checkpoint after every few documents."""

    name = "careful"
    harvest_arguments = {"emit": "urls,sitemaps,sites,changes,summaries"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        keeping._CHECKPOINT_DOCUMENTS = 4
        keeping._LOOK_SECONDS = 0.0


class Slow(HarvestSpider):
    """Logs each page that it has parsed."""

    name = "slow"
    started = time.monotonic()

    def parse(self, response, entry):
        yield {"url": entry.loc, "seconds": time.monotonic() - self.started}


class Titles(HarvestSpider):
    """Reads pages as HTML."""

    name = "titles"

    def parse(self, response):
        yield {"title": response.css("title::text").get()}


class Posting(HarvestSpider):
    """Sends POST to each page, and yields the body of the response, or the error."""

    name = "posting"

    def parse(self, response):
        yield Request(response.url, self.posted, method="POST", dont_filter=True, errback=self.failed)

    def posted(self, response):
        yield {"body": response.text}

    def failed(self, failure):
        yield {"error": failure.getErrorMessage()}


class Stock(Spider):
    """A spider that is not from this package."""

    name = "stock"

    async def start(self):
        for number in range(3):
            yield {"number": number}
