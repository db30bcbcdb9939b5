"""Scrapy's other commands in a project with the add-on, and scripts that run several spiders in one process."""

from __future__ import annotations

import json
import re

import pytest

from tests.site import Manner, Page, Site

CLASH = """
import scrapy


class SitemapSpider(scrapy.Spider):
    name = "sitemap"

    async def start(self):
        yield scrapy.Request(self.site + "/p1")

    def parse(self, response):
        yield {"whose": "theirs"}
"""
CONTRACT = '''
import scrapy


class Checked(scrapy.Spider):
    name = "checked"

    def parse(self, response):
        """Looks at a page.

        @url {site}/p1
        @returns items 1 1
        """
        yield {{"url": response.url}}
'''
OF_AN_ENTRY = '''
from sitemap_harvest.spiders import HarvestSpider


class OfAnEntry(HarvestSpider):
    name = "of-an-entry"

    def parse(self, response, entry):
        """Looks at a page.

        @url {site}/p1
        @cb_kwargs {{"entry": null}}
        @returns items 1 1
        """
        yield {{"url": response.url, "entry": entry}}
'''
ONE_FILE = """
from sitemap_harvest.spiders import HarvestSpider


class OneFile(HarvestSpider):
    name = "one-file"

    def parse(self, response):
        yield {"url": response.url}
"""


@pytest.mark.quick
def test_spiders_are_listed_made_and_run(project, site):
    project.run("genspider", "made", "127.0.0.1")
    assert "class MadeSpider" in (project.module / "spiders/made.py").read_text()
    assert project.run("list").out.split() == ["audit", "changes", "harvested", "made", "own", "sitemap"]
    (project.folder / "one_file.py").write_text(ONE_FILE)
    ran = project.run("runspider", "one_file.py", "-a", f"site={site.url}", "-O", "pages.jsonl")
    assert len(ran.rows("pages.jsonl")) == 5
    assert project.run("settings", "--get", "ITEM_PROCESSOR").out == "scrapy.pipelines.ItemPipelineManager\n"
    assert json.loads(project.run("settings", "--get", "FEED_EXPORTERS").out).keys() >= {"parquet", "jsonl"}


def test_contracts_are_checked(project, site):
    (project.module / "spiders/checked.py").write_text(CONTRACT.format(site=site.url))
    assert "Ran 1 contract " in project.run("check").log
    assert "Ran 0 contracts" in project.run("check", "sitemap").log


def test_callbacks_with_an_entry_are_checked_and_parse_a_page_without_one(project, site):
    (project.module / "spiders/of_an_entry.py").write_text(OF_AN_ENTRY.format(site=site.url))
    assert "Ran 1 contract " in project.run("check", "of-an-entry").log
    ran = project.run("parse", "--spider=of-an-entry", "--cbkwargs", '{"entry": null}', f"{site.url}/p1")
    assert f"[{{'entry': None, 'url': '{site.url}/p1'}}]" in ran.out


def test_a_shell_opens_one_document(project, site):
    out = project.run("shell", f"{site.url}/a.xml", "-c", "response.status").out
    assert out.split()[-1] == "200"
    out = project.run("shell", f"{site.url}/a.xml", "--spider=sitemap", "-c", "type(spider).__name__").out
    assert out.split()[-1] == "SitemapSpider"
    read = "[request.url for request in spider._parse_sitemap(response)]"
    out = project.run("shell", f"{site.url}/a.xml", "--spider=harvested", "-c", read).out
    assert f"{site.url}/p1" in out


def test_parse_works_for_spiders_with_callbacks(project, site):
    assert "page 1" in project.run("parse", "--spider=own", f"{site.url}/p1").out.lower()
    ran = project.run("parse", "--spider=sitemap", f"{site.url}/a.xml", code=None, calm=False)
    assert "nothing to harvest: give at least one of the arguments" in ran.log
    assert "Traceback" not in ran.log


def test_a_benchmark_runs(project):
    ran = project.run("bench", "-s", "CLOSESPIDER_TIMEOUT=1", "-s", "LOGSTATS_INTERVAL=0.5")
    assert "Closing spider (closespider_timeout)" in ran.log


def test_the_spider_of_the_project_wins_over_ours_of_the_same_name(project, site):
    (project.module / "spiders/clash.py").write_text(CLASH)
    ran = project.crawl("sitemap", "-a", f"site={site.url}", "-O", "x.jsonl")
    assert ran.rows("x.jsonl") == [{"whose": "theirs"}]
    assert "There are several spiders with the same name" in ran.log
    project.configure("del SPIDER_MODULES\nSPIDER_MODULES = 'myproject.spiders'")
    assert project.crawl("sitemap", "-a", f"site={site.url}", "-O", "x.jsonl").rows("x.jsonl") == [{"whose": "theirs"}]


def test_an_addon_in_the_settings_of_a_spider_adds_no_spiders(project, plain, site):
    spider = ONE_FILE.replace(
        '    name = "one-file"\n',
        '    name = "one-file"\n    custom_settings = {"ADDONS": {"sitemap_harvest.addon.Addon": 300}}\n',
    )
    (plain.module / "spiders/one_file.py").write_text(spider)
    ran = plain.crawl("one-file", "-a", f"site={site.url}", "-a", "emit=urls", "-O", "x.jsonl")
    assert ran.stats["sitemap_harvest/urls"] == 6
    assert "sitemap_harvest.integration.items.feed_exporter.FeedExporter" in ran.dump["parts"]["extensions"]
    ran = plain.crawl("sitemap", "-a", f"site={site.url}", code=1, calm=False)
    assert "Spider not found: sitemap" in ran.log + ran.out


SCRIPT = """
import asyncio, json, sys
from scrapy.crawler import AsyncCrawlerProcess, AsyncCrawlerRunner
from scrapy.utils.project import get_project_settings

site, closed = sys.argv[1:]


def feed(name):
    settings = get_project_settings()
    settings.set("FEEDS", {f"{name}.jsonl": {"format": "jsonl", "overwrite": True}}, priority="cmdline")
    return settings


def run(process):
    for name, spider, arguments in (
        ("first", "sitemap", {"site": site}),
        ("second", "sitemap", {"sitemap": site + "/a.xml"}),
        ("harvested", "harvested", {"site": site}),
        ("own", "own", {"site": site, "pages": 2}),
        ("refused", "refused", {"site": closed}),
    ):
        crawler = process.create_crawler(spider)
        crawler.settings.set("FEEDS", feed(name)["FEEDS"], priority="cmdline")
        process.crawl(crawler, **arguments)
"""
AS_A_PROCESS = """
process = AsyncCrawlerProcess(get_project_settings())
run(process)
process.start()
"""
AS_A_RUNNER = """
from scrapy.utils.log import configure_logging
from scrapy.utils.reactor import install_reactor

configure_logging(get_project_settings())
install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
from twisted.internet import reactor
from twisted.internet.defer import ensureDeferred
from scrapy.utils.defer import deferred_from_coro


async def main():
    runner = AsyncCrawlerRunner(get_project_settings())
    run(runner)
    await runner.join()


deferred_from_coro(main()).addBoth(lambda _: reactor.stop())
reactor.run()
"""
REFUSED = """
import scrapy


class Refused(scrapy.Spider):
    name = "refused"

    async def start(self):
        yield scrapy.Request(self.site)

    def parse(self, response):
        yield {}
"""


@pytest.mark.parametrize("how", [AS_A_PROCESS, AS_A_RUNNER], ids=["process", "runner"])
def test_our_spiders_and_theirs_run_together_in_one_process(project, site, how):
    (project.folder / "script.py").write_text(SCRIPT + how)
    (project.module / "spiders/refused.py").write_text(REFUSED)
    project.configure("LOG_LEVEL = 'INFO'")
    with Site({"/robots.txt": Page(manner=Manner.CLOSE)}) as closed:
        ran = project.run_apart("script.py", site.url, closed.url, calm=False)
    assert [len(ran.rows(f"{name}.jsonl")) for name in ("first", "second", "harvested")] == [5, 2, 5]
    assert ran.rows("own.jsonl")
    assert re.search(r"\[scrapy.downloadermiddlewares.robotstxt\] ERROR: Error downloading", ran.log)
