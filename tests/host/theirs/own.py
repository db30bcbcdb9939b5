"""Spiders of a project without knowledge of sitemap_harvest."""

import dataclasses
import datetime as dt

import scrapy


class Page(scrapy.Item):
    url = scrapy.Field()
    title = scrapy.Field()
    price = scrapy.Field(serializer=str)


@dataclasses.dataclass
class Link:
    url: str
    seen: dt.datetime | None = None
    words: list[str] | None = None


class OwnSpider(scrapy.Spider):
    name = "own"
    plan = "a"
    refused = ("nobody",)
    options = "a"
    handle_httpstatus_list = (404,)

    async def start(self):
        yield Link(url="start")
        yield scrapy.Request(self.site + "/p1", self.parse)

    def parse(self, response):
        number = int(response.url.rpartition("/p")[2])
        yield {"url": response.url, "title": f"page {number}, “é”", "price": number / 4, "status": response.status}
        yield Page(url=response.url, title="an item", price=3)
        yield Link(url=response.url, seen=dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC), words=["<a>", "b"])
        if number == 3 and not hasattr(self, "pages"):
            raise ValueError("three is too much")
        if number < int(getattr(self, "pages", 6)):
            for path in (f"/p{number + 1}", "/forbidden", "/moved", "/flaky"):
                yield response.follow(path, self.parse if path.startswith("/p") else self.parse_other)

    def parse_other(self, response):
        yield {"url": response.url, "title": "other"}
