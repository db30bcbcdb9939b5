"""The add-on in a user's project."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from scrapy.settings import Settings

from sitemap_harvest.integration import default_settings as defaults
from tests import forked
from tests.crawl.crawling import lines
from tests.site import robots, urlset
from tests.waiting import PATIENCE_SECONDS

OWN_SPIDER = """
import scrapy


class OwnSpider(scrapy.Spider):
    name = "own"
    custom_settings = {"ROBOTSTXT_OBEY": False}

    async def start(self):
        yield scrapy.Request(self.site + "/login", callback=self.logged_in, dont_filter=True)

    def logged_in(self, response):
        settings = self.crawler.settings
        yield {"maxsize": settings.getint("DOWNLOAD_MAXSIZE"), "cookies": settings.getbool("COOKIES_ENABLED"),
               "items": settings.getint("CONCURRENT_ITEMS")}
        yield scrapy.Request(self.site + "/page")
        yield scrapy.Request(self.file)

    def parse(self, response):
        yield {"url": response.url, "body": response.text}
"""


@pytest.fixture
def project(tmp_path):
    assert forked.scrapy("startproject", "theirs", str(tmp_path / "theirs"), cwd=tmp_path).returncode == 0
    folder = tmp_path / "theirs"
    (folder / "theirs/spiders/own.py").write_text(OWN_SPIDER)
    return folder


def configure(project, *rows):
    with (project / "theirs/settings.py").open("a") as file:
        file.write("\nADDONS = {'sitemap_harvest.addon.Addon': 300}\nDOWNLOAD_DELAY = 0\n")
        file.write("RETRY_TIMES = 0\nDOWNLOAD_TIMEOUT = 20\nTELNETCONSOLE_ENABLED = False\n" + "\n".join(rows) + "\n")


TWO_LINES = (
    "from sitemap_harvest.integration.default_settings import FEED_EXPORTERS",
    "SPIDER_MODULES = ['sitemap_harvest.spiders', 'theirs.spiders']",
)


def run_installed(project, *arguments):
    """Run ``scrapy`` in a process that begins with nothing imported, as a user does."""
    command = [sys.executable, "-m", "scrapy", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=project, timeout=PATIENCE_SECONDS)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def run(project, *arguments):
    done = forked.scrapy(*arguments, cwd=project)
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.mark.quick
def test_one_line_suffices_to_crawl_and_spiders_of_the_project_are_unchanged(project, serve):
    site = serve({
        "/robots.txt": robots("/s.xml"),
        "/s.xml": urlset("/1", "/2"),
        "/login": "in",
        "/page": "page",
    })  # fmt: skip
    configure(project, "FEED_EXPORT_FIELDS = None")
    (project / "file.txt").write_text("from a file")

    done = run_installed(project, "crawl", "sitemap", "-a", f"site={site.url}", "-O", "urls.jsonl")
    rows = lines(project / "urls.jsonl")
    assert [row["loc"] for row in rows] == [f"{site.url}/1", f"{site.url}/2"], done.stderr
    assert "images" in rows[0]
    assert "one by one" not in done.stderr
    assert site.count("/robots.txt") == 1

    done = run(project, "crawl", "own", "-a", f"site={site.url}", "-a", f"file={(project / 'file.txt').as_uri()}",
               "-O", "own.jsonl")  # fmt: skip
    first, *rows = lines(project / "own.jsonl")
    assert first == {"maxsize": 1024**3, "cookies": True, "items": 100}
    assert sorted(row["body"] for row in rows) == ["from a file", "page"]
    assert "LocalFilesMiddleware" not in done.stderr
    assert "RobotsCacheMiddleware" not in done.stderr
    assert "'item_scraped_count': 3" in done.stderr


def test_two_more_lines_list_our_spiders_and_enable_parquet(project, serve):
    site = serve({"/s.xml": urlset("/1")})
    configure(project, *TWO_LINES, "USER_AGENT = 'theirs'", "SITEMAP_HARVEST_MAX_URLS = 5", "COOKIES_ENABLED = True")
    assert {"own", "sitemap"} <= set(run(project, "list").stdout.split())
    done = run(project, "crawl", "sitemap", "-a", f"sitemap={site.url}/s.xml", "-O", "urls.parquet")
    assert "parquet feed (1 items)" in done.stderr
    assert (project / "urls.parquet").read_bytes()[:4] == b"PAR1"
    assert site.user_agents == {"theirs"}
    assert "CookiesMiddleware" in done.stderr


def test_without_the_addon_a_folder_is_rejected_and_nothing_is_requested(project, serve):
    site = serve()
    with (project / "theirs/settings.py").open("a") as file:
        file.write(f"\n{TWO_LINES[1]}\n")
    done = run(project, "crawl", "sitemap", "-a", f"site={site.url}", "-a", "root=.", "-O", "urls.jsonl")
    assert "it needs the sitemap_harvest add-on, which is missing from ADDONS" in done.stderr
    assert "'finish_reason': 'wrong_argument'" in done.stderr
    assert site.requests == []


def test_without_the_addon_outputs_are_the_same(project, serve):
    page = (
        "<url><loc>/1</loc><lastmod>2025-01-02</lastmod><image:image><image:loc>/i.png</image:loc></image:image></url>"
    )
    images = "http://www.google.com/schemas/sitemap-image/1.1"
    sitemap = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="{images}">{page}</urlset>'
    site = serve({"/s.xml": sitemap})
    (project / "alone.py").write_text(
        "from sitemap_harvest.spiders import HarvestSpider\n\n\n"
        f"class Alone(HarvestSpider):\n    name = 'alone'\n    sitemap_urls = ['{site.url}/s.xml']\n"
    )
    written = {}
    for addons in ("{}", '{"sitemap_harvest.addon.Addon": 300}'):
        outputs = [part for name in ("u.csv", "u.xml", "u.json", "u.jsonl") for part in ("-O", name)]
        run(project, "runspider", "alone.py", "-s", f"ADDONS={addons}", *outputs)
        written[addons] = [path.read_bytes() for path in sorted(project.glob("u.*"))]
    alone, with_addon = written.values()
    assert alone == with_addon
    assert len(alone) == 4
    assert b'"[{""loc"": ""/i.png""' in alone[0]
    assert b"None" not in alone[3]


@pytest.mark.parametrize(
    ("settings", "feeds", "outputs"),
    [
        pytest.param("sitemap_harvest.settings", {}, ["-O", "pages.parquet"], id="environment"),
        pytest.param("", {"pages.parquet": {"format": "parquet"}}, [], id="spider"),
    ],
)
def test_without_a_project_a_spider_writes_parquet(serve, tmp_path, settings, feeds, outputs):
    site = serve({"/s.xml": urlset("/1"), "/1": "<title>one</title>"})
    (tmp_path / "alone.py").write_text(
        "from sitemap_harvest.spiders import HarvestSpider\n\n\n"
        f"class Alone(HarvestSpider):\n    name = 'alone'\n    sitemap_urls = ['{site.url}/s.xml']\n"
        f"    custom_settings = {{'FEEDS': {feeds}}}\n\n"
        "    def parse(self, response):\n        yield {'url': response.url}\n"
    )
    environment = {**os.environ, "SCRAPY_SETTINGS_MODULE": settings}
    done = forked.scrapy("runspider", "alone.py", *outputs, cwd=tmp_path, environment=environment)
    assert done.returncode == 0
    assert pq.read_table(tmp_path / "pages.parquet").to_pylist() == [{"url": f"{site.url}/1"}]


def test_settings_of_the_project_stay(project, tmp_path):
    (tmp_path / "s.xml").write_text(urlset("https://a.example/1"))
    configure(
        project,
        *TWO_LINES[1:],
        "EXTENSIONS = {'scrapy.extensions.feedexport.FeedExporter': 5}",
        "FEED_EXPORTERS = {'jsonl': 'scrapy.exporters.JsonLinesItemExporter'}",
    )
    done = run(project, "crawl", "sitemap", "-a", f"sitemap={tmp_path}/s.xml", "-O", "urls.jsonl")
    assert "one by one, which is slower: the extension FeedExporter does not set accepts_batches = True" in done.stderr
    (row,) = [json.loads(line) for line in (project / "urls.jsonl").read_text().splitlines()]
    assert row["loc"] == "https://a.example/1"


@pytest.mark.quick
@pytest.mark.parametrize(
    ("given", "is_loaded"),
    [
        pytest.param({}, False, id="switched-off"),
        pytest.param({"COOKIES_ENABLED": True}, True, id="switched-on"),
        pytest.param({"ADDONS": {"theirs.Addon": 1}}, True, id="another-add-on-may-switch-it-on"),
    ],
)
def test_disabled_components_are_not_loaded(given, is_loaded):
    settings = Settings({"COOKIES_ENABLED": False, **given})
    defaults.remove_disabled_components(settings)
    parts = settings.get_component_priority_dict_with_base("DOWNLOADER_MIDDLEWARES")
    assert ("scrapy.downloadermiddlewares.cookies.CookiesMiddleware" in parts) == is_loaded
