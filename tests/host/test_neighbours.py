"""Third-party add-ons together with ours, in both orders of priority."""

from __future__ import annotations

import pytest

from tests.host.project import installed

ORDERS = pytest.mark.parametrize("order", [100, 900], ids=["before-ours", "after-ours"])
ALL_BUT_TWO = ["/p1", "/p3", "/p4", "/p5", "/p6"]
PAGE_OBJECTS = """
import attrs
from scrapy_poet import DummyResponse
from web_poet import Injectable, WebPage, field, handle_urls
import scrapy

from sitemap_harvest.spiders import HarvestSpider


class Title(WebPage):
    @field
    def title(self):
        return self.css("p::text").get()


class PoetSpider(HarvestSpider):
    name = "poet"

    async def parse(self, response: DummyResponse, page: Title):
        yield {"url": response.url, **await page.to_item()}


class PlainPoetSpider(scrapy.Spider):
    name = "plain-poet"

    async def start(self):
        yield scrapy.Request(self.site + "/p1")

    async def parse(self, response, page: Title):
        yield {"url": response.url, **await page.to_item()}
"""


@ORDERS
def test_scrapy_poet_gives_page_objects_to_callbacks_of_both(project, site, order):
    installed("scrapy_poet", "scrapy-poet")
    (project.module / "spiders/poet.py").write_text(PAGE_OBJECTS)
    project.configure(f"ADDONS['scrapy_poet.Addon'] = {order}")
    ran = project.crawl("poet", "-a", f"site={site.url}", "-O", "pages.jsonl")
    rows = ran.rows("pages.jsonl")
    assert sorted((row["url"].removeprefix(site.url), row["title"]) for row in rows) == [
        (path, path.upper()) for path in ALL_BUT_TWO
    ]
    ran = project.crawl("plain-poet", "-a", f"site={site.url}", "-O", "pages.jsonl")
    assert [row["title"] for row in ran.rows("pages.jsonl")] == ["/P1"]


@ORDERS
def test_scrapy_zyte_api_ignores_requests_that_are_not_meant_for_it(project, site, order):
    installed("scrapy_zyte_api", "scrapy-zyte-api")
    project.configure(
        f"ADDONS['scrapy_zyte_api.Addon'] = {order}\nZYTE_API_KEY = 'none'\nZYTE_API_TRANSPARENT_MODE = False"
    )
    ran = project.crawl("sitemap", "-a", f"site={site.url}", "-O", "urls.jsonl")
    assert sorted(ran.locs()) == ALL_BUT_TWO
    handlers = ran.dump["parts"]["handlers"]
    assert handlers["http"] == "scrapy_zyte_api.handler.ScrapyZyteAPIHTTPDownloadHandler"
    own = project.crawl("own", "-a", f"site={site.url}", "-a", "pages=2", "-O", "own.jsonl")
    assert own.rows("own.jsonl")
