"""Components of a project without knowledge of sitemap_harvest."""

import asyncio
import json
import re
from pathlib import Path

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.exceptions import DropItem
from scrapy.exporters import BaseItemExporter
from scrapy.extensions.feedexport import FeedExporter, FileFeedStorage
from scrapy.settings import BaseSettings


class Upper:
    """A pipeline."""

    def process_item(self, item):
        adapter = ItemAdapter(item)
        if adapter.get("title"):
            adapter["title"] = adapter["title"].upper()
        return item


class Later:
    """An asynchronous pipeline."""

    async def process_item(self, item):
        await asyncio.sleep(0)
        return item


class NoTwo:
    """A pipeline that drops items."""

    def process_item(self, item):
        if re.search(r"/p2$", ItemAdapter(item).get("loc") or ItemAdapter(item).get("url") or ""):
            raise DropItem("two")
        return item


class Batches:
    """A pipeline that accepts batches."""

    def process_batch(self, batch):
        return batch.slice(1)


class Header:
    """A downloader middleware."""

    def process_request(self, request):
        request.headers.setdefault("X-Theirs", "yes")

    async def process_response(self, request, response):
        return response


class Notes:
    """A spider middleware."""

    def __init__(self, stats):
        self.stats = stats

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler.stats)

    async def process_spider_output(self, response, result):
        async for one in result:
            self.stats.inc_value(f"theirs/{type(one).__name__}")
            yield one


class Starts:
    """A spider middleware that processes start requests."""

    async def process_start(self, start):
        async for one in start:
            yield one


class Look:
    """An extension that records the components of a crawl."""

    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        look = cls(crawler)
        crawler.signals.connect(look.look, signal=signals.spider_opened)
        crawler.signals.connect(look.write, signal=signals.engine_stopped)
        return look

    def look(self):
        engine = self.crawler.engine
        managers = {
            "extensions": self.crawler.extensions,
            "downloader_middlewares": engine.downloader.middleware,
            "spider_middlewares": engine.scraper.spidermw,
            "pipelines": engine.scraper.itemproc,
        }
        self.parts = {name: [named(part) for part in manager.middlewares] for name, manager in managers.items()}
        self.parts["addons"] = [named(addon) for addon in self.crawler.addons.addons]
        self.parts["handlers"] = {
            scheme: named(engine.downloader.handlers._get_handler(scheme)) for scheme in ("http", "https", "file")
        }

    def write(self):
        settings = {name: plain(value) for name, value in self.crawler.settings.items()}
        stats = self.crawler.stats.get_stats()
        dump = {"settings": settings, "parts": getattr(self, "parts", {}), "stats": stats}
        Path(f"{self.crawler.spidercls.name}.dump.json").write_text(json.dumps(dump, default=str))


class Listen(Look):
    """An extension that receives every item."""

    @classmethod
    def from_crawler(cls, crawler):
        listen = super().from_crawler(crawler)
        crawler.signals.connect(listen.hear, signal=signals.item_scraped)
        return listen

    def hear(self, item):
        self.crawler.stats.inc_value(f"heard/{type(item).__name__}")


def named(part):
    return f"{type(part).__module__}.{type(part).__qualname__}"


def plain(value):
    if isinstance(value, (BaseSettings, dict)):
        return {str(key): plain(one) for key, one in value.items()}
    return repr(value)


class LocsExporter(BaseItemExporter):
    """An exporter of the project."""

    def __init__(self, file, **options):
        super().__init__(dont_fail=True, **options)
        self.file = file

    def export_item(self, item):
        adapter = ItemAdapter(item)
        self.file.write(f"{adapter.get('loc') or adapter.get('url')}\n".encode())


class NoThree(LocsExporter):
    """An exporter with an error."""

    def export_item(self, item):
        if ItemAdapter(item)["loc"].endswith("/p3"):
            raise ValueError("three is too much")
        super().export_item(item)


class TheirFeeds(FeedExporter):
    """A feed exporter of the project."""


class Addon:
    """An add-on that makes a setting, early or late."""

    @classmethod
    def update_pre_crawler_settings(cls, settings):
        cls.wish(settings, "EARLY")

    def update_settings(self, settings):
        self.wish(settings, "LATE")

    @staticmethod
    def wish(settings, when):
        for name, value in json.loads(settings.get(f"WISHES_{when}") or "{}").items():
            settings.set(name, value, priority="addon")


class TheirFiles(FileFeedStorage):
    """A feed storage of the project."""

    def __init__(self, uri, *, feed_options=None):
        super().__init__(uri.replace("ours://", ""), feed_options=feed_options)
