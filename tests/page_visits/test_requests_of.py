"""The page requests for a sitemap that the spider itself has requested."""

from __future__ import annotations

from scrapy.http import TextResponse
from scrapy.settings import Settings

from sitemap_harvest.config.settings import HarvestSettings
from sitemap_harvest.page_visits.page_requests import requests_of
from sitemap_harvest.page_visits.page_rules import PageRules
from sitemap_harvest.spiders import HarvestSpider

SITE = "https://example.com"


class Own(HarvestSpider):
    name = "own"

    def parse(self, response):
        """A callback."""


def test_only_web_urls_are_requested_and_the_others_are_logged(caplog):
    locs = "".join(f"<url><loc>{url}</loc></url>" for url in (f"{SITE}/1", "file:///etc/passwd", f"{SITE}/2"))
    spider = Own()
    response = TextResponse(f"{SITE}/s.xml", body=f"<urlset>{locs}</urlset>", encoding="utf-8")
    found = requests_of(response, PageRules(spider), HarvestSettings.from_settings(Settings()), callback=spider.parse)
    assert [request.url for request in found] == [f"{SITE}/1", f"{SITE}/2"]
    assert "Page not visited: 'file:///etc/passwd': the scheme of the URL is neither http nor https" in caplog.text
