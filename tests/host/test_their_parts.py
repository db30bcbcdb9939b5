"""Our spiders, and one derived from ours, with pipelines, exporters, middlewares and extensions of the project."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import sys

import pyarrow as pa
import pytest

from sitemap_harvest.integration import default_settings as defaults
from tests.host.project import installed
from tests.site import Page, Site, index, robots, urlset
from tests.waiting import PATIENCE_SECONDS, wait_until

ALL_BUT_TWO = ["/p1", "/p3", "/p4", "/p5", "/p6"]
BATCHES = """
SPIDER_MIDDLEWARES = {}
EXTENSIONS = {"myproject.parts.Look": 0}
"""
AVRO = {
    "format": "avro",
    "overwrite": True,
    "fields": ["loc", "position"],
    "item_export_kwargs": {
        "avroschema": {
            "name": "url",
            "type": "record",
            "fields": [{"name": "loc", "type": "string"}, {"name": "position", "type": "long"}],
        },
        "metadata": {},
    },
}


@pytest.mark.quick
@pytest.mark.parametrize("batches", ["", BATCHES], ids=["rows", "batches"])
def test_urls_pass_through_all_components_of_the_project(project, site, batches):
    feeds = {
        "urls.jsonl": {"format": "jsonl", "item_classes": ["sitemap_harvest.UrlEntry"]},
        "urls.locs": {"format": "locs", "item_classes": ["sitemap_harvest.UrlEntry"]},
        "urls.parquet": {"format": "parquet", "item_classes": ["sitemap_harvest.UrlEntry"]},
        "ledger.csv": {"format": "csv", "item_classes": ["sitemap_harvest.SitemapRecord"]},
        "part-%(batch_id)d.jl.gz": {
            "format": "jl",
            "item_classes": ["sitemap_harvest.UrlEntry"],
            "batch_item_count": 2,
            "postprocessing": ["scrapy.extensions.postprocessing.GzipPlugin"],
        },
    }
    project.configure(f"FEED_EXPORTERS['locs'] = 'myproject.parts.LocsExporter'\n{batches}\nFEEDS = {feeds!r}")
    ran = project.crawl("sitemap", "-a", f"site={site.url}", "-a", "emit=urls,sitemaps")
    assert sorted(ran.locs()) == ALL_BUT_TWO
    locs = (project.folder / "urls.locs").read_text().split()
    assert locs == [row["loc"] for row in ran.rows("urls.jsonl")]
    parts = [gzip.decompress(path.read_bytes()) for path in sorted(project.folder.glob("part-*.jl.gz"))]
    assert [len(part.splitlines()) for part in parts] == [2, 2, 1]
    assert [json.loads(line)["loc"] for part in parts for line in part.splitlines()] == locs
    assert len((project.folder / "ledger.csv").read_text().splitlines()) == 1 + 4
    assert (ran.stats["item_scraped_count"], ran.stats["item_dropped_count"]) == (5 + 4, 1)
    assert ("one by one" in ran.log) == (not batches)
    if not batches:
        assert ran.stats["heard/UrlEntry"] == 5
        assert ran.stats["theirs/UrlEntry"] == 6
        assert "Notes does not set accepts_batches" in ran.log or "Listen.hear is connected" in ran.log


@pytest.mark.quick
@pytest.mark.skipif(sys.version_info < (3, 12), reason="scrapy-contrib-bigexporters needs Python 3.12 for Scrapy 2.19")
@pytest.mark.parametrize("batches", ["", BATCHES], ids=["rows", "batches"])
def test_a_third_party_exporter_writes_every_url(project, site, batches):
    installed("zuinnote.scrapy.contrib.bigexporters", "scrapy-contrib-bigexporters")
    fastavro = installed("fastavro", "fastavro")
    avro = "FEED_EXPORTERS['avro'] = 'zuinnote.scrapy.contrib.bigexporters.AvroItemExporter'"
    project.configure(f"{avro}\n{batches}\nFEEDS = {{'urls.avro': {AVRO}, 'urls.jsonl': {{'format': 'jsonl'}}}}")
    ran = project.crawl("sitemap", "-a", f"site={site.url}")
    with (project.folder / "urls.avro").open("rb") as file:
        assert [row["loc"] for row in fastavro.reader(file)] == [row["loc"] for row in ran.rows("urls.jsonl")]
    assert sorted(ran.locs()) == ALL_BUT_TWO


def test_third_party_postprocessing_of_feeds_is_used(project, site):
    installed("scrapy_zstd", "scrapy-zstd")
    feed = {"format": "jsonl", "postprocessing": ["scrapy_zstd.postprocessing.ZstdPlugin"]}
    project.configure(f"{BATCHES}\nFEEDS = {{'urls.jsonl.zst': {feed}, 'urls.jsonl': {{'format': 'jsonl'}}}}")
    ran = project.crawl("sitemap", "-a", f"site={site.url}")
    with pa.input_stream(project.folder / "urls.jsonl.zst", compression="zstd") as file:
        assert file.read() == (project.folder / "urls.jsonl").read_bytes()
    assert sorted(ran.locs()) == ALL_BUT_TWO


def test_an_error_in_an_exporter_loses_one_row(project, site):
    project.configure(f"FEED_EXPORTERS['locs'] = 'myproject.parts.NoThree'\n{BATCHES}")
    project.configure("FEEDS = {'bad.locs': {'format': 'locs'}, 'urls.jsonl': {'format': 'jsonl'}}")
    ran = project.crawl("sitemap", "-a", f"site={site.url}", calm=False)
    assert sorted(ran.locs()) == ALL_BUT_TWO
    locs = (project.folder / "bad.locs").read_text().split()
    assert sorted(loc.removeprefix(site.url) for loc in locs) == ["/p1", "/p4", "/p5", "/p6"]
    assert "bad.locs: the exporter failed on 1 item, which is missing from this output. The first is the Url" in ran.log
    assert ran.log.count("ValueError: three is too much") == 2  # also in its traceback
    assert "Stored locs feed (4 items)" in ran.log


def test_a_pipeline_that_accepts_batches_gets_them(project, site):
    project.configure(f"{BATCHES}\nITEM_PIPELINES['myproject.parts.Batches'] = 100")
    ran = project.crawl("sitemap", "-a", f"site={site.url}", "-O", "urls.jsonl")
    assert sorted(ran.locs()) == ["/p3", "/p5", "/p6"]


def test_changes_pass_through_it_too(project):
    with Site({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/p1", "/p2")}) as site:
        command = ("changes", "-a", f"site={site.url}", "-a", "store=snapshots", "-O", "changes.jsonl")
        assert project.crawl(*command).rows("changes.jsonl") == []
        site.pages["/s.xml"] = urlset("/p2", "/p3")
        ran = project.crawl(*command)
    assert {(row["kind"], row["loc"][-3:]) for row in ran.rows("changes.jsonl")} == {
        ("added", "/p3"),
        ("removed", "/p1"),
    }
    assert ran.stats["heard/Change"] == 2


def test_a_spider_derived_from_ours_visits_pages_through_them(project, site):
    ran = project.crawl("harvested", "-a", f"site={site.url}", "-O", "pages.jsonl")
    rows = ran.rows("pages.jsonl")
    assert sorted(row["url"].removeprefix(site.url) for row in rows) == ALL_BUT_TWO
    assert {row["title"] for row in rows} == {"PAGE"}
    assert {row["listed_in"].removeprefix(site.url) for row in rows} == {"/a.xml", "/b.xml"}


def test_downloader_middlewares_of_the_project_see_our_requests(project):
    seen = set()

    def answer(headers):
        seen.add(headers.get("X-Theirs"))
        return urlset("/p1")

    with Site({"/s.xml": answer}) as site:
        project.crawl("sitemap", "-a", f"sitemap={site.url}/s.xml")
    assert seen == {"yes"}


IMAGES = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
 xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
<url><loc>https://a.example/1</loc><image:image><image:loc>https://a.example/1.png</image:loc></image:image></url>
</urlset>"""
MEDIA = """
ITEM_PIPELINES = {"scrapy.pipelines.images.ImagesPipeline": 1, "scrapy.pipelines.files.FilesPipeline": 2}
IMAGES_STORE = "images"
FILES_STORE = "files"
"""


@pytest.mark.parametrize("batches", ["", BATCHES], ids=["rows", "batches"])
def test_media_pipelines_ignore_our_items(project, tmp_path, batches):
    installed("PIL", "pillow")  # without Pillow Scrapy loads no ImagesPipeline
    (tmp_path / "s.xml").write_text(IMAGES)
    project.configure(MEDIA + batches)
    ran = project.crawl("sitemap", "-a", f"sitemap={tmp_path}/s.xml", "-O", "urls.jsonl")
    (row,) = ran.rows("urls.jsonl")
    assert [image["loc"] for image in row["images"]] == ["https://a.example/1.png"]
    assert "scrapy.pipelines.images.ImagesPipeline" in ran.dump["parts"]["pipelines"]


def test_a_media_pipeline_gets_items_with_the_field_that_it_reads(project, site):
    (project.module / "media.py").write_text(
        "class Wanted:\n"
        "    def process_item(self, item):\n"
        "        item['file_urls'] = [item['loc']]\n        return item\n"
    )
    project.configure(
        f"{MEDIA}{BATCHES}ITEM_PIPELINES = {{'myproject.media.Wanted': 1, 'scrapy.pipelines.files.FilesPipeline': 2}}"
    )
    ran = project.crawl("sitemap", "-a", f"site={site.url}", "-O", "urls.jsonl")
    rows = ran.rows("urls.jsonl")
    assert len(rows) == 6
    assert all(row["files"][0]["url"] == row["loc"] for row in rows)


def test_media_pipelines_still_process_the_items_of_the_project(project, plain, site):
    installed("PIL", "pillow")  # without Pillow Scrapy loads no ImagesPipeline
    spider = """
import scrapy


class WithImages(scrapy.Spider):
    name = "with-images"

    async def start(self):
        yield scrapy.Request(self.site + "/p3")

    def parse(self, response):
        yield {"file_urls": [self.site + "/p1"], "image_urls": []}
"""
    for one in (project, plain):
        one.configure(MEDIA)
        (one.module / "spiders/with_images.py").write_text(spider)
        ran = one.crawl("with-images", "-a", f"site={site.url}", "-O", "items.jsonl")
        (row,) = ran.rows("items.jsonl")
        assert (row["images"], row["files"][0]["url"]) == ([], f"{site.url}/p1")


def test_a_media_pipeline_with_an_overridden_method_is_called(project, tmp_path):
    installed("PIL", "pillow")  # without Pillow Scrapy loads no ImagesPipeline
    (tmp_path / "s.xml").write_text(IMAGES)
    (project.module / "media.py").write_text(
        "from scrapy.pipelines.images import ImagesPipeline\n\n\n"
        "class Theirs(ImagesPipeline):\n"
        "    def item_completed(self, results, item, info):\n"
        "        item.title = 'asked'\n        return item\n"
    )
    project.configure(f"{MEDIA}\nITEM_PIPELINES = {{'myproject.media.Theirs': 1}}")
    ran = project.crawl("sitemap", "-a", f"sitemap={tmp_path}/s.xml", "-O", "urls.jsonl")
    assert [row["title"] for row in ran.rows("urls.jsonl")] == ["asked"]


def test_the_cache_of_scrapy_gives_the_same_rows_again(project):
    pages = {"/robots.txt": robots("/index.xml"), "/index.xml": index("/a.xml"), "/a.xml": urlset("/p1", "/p3")}
    with Site(pages) as site:
        runs = []
        for _ in range(2):
            ran = project.crawl("sitemap", "-a", f"site={site.url}", "-s", "HTTPCACHE_ENABLED=True", "-O", "urls.jsonl")
            runs.append((ran.rows("urls.jsonl"), len(site.requests)))
    assert len(runs[0][0]) == 2
    assert runs[0] == runs[1]
    assert "httpcache/miss" not in ran.stats


def test_an_interrupted_run_starts_again_and_yields_every_url(project):
    children = {f"/{number}.xml": Page(urlset(f"/p1{number}"), delay=0.05) for number in range(20)}
    with Site({"/robots.txt": robots("/index.xml"), "/index.xml": index(*children), **children}) as site:
        job = ("sitemap", "-a", f"site={site.url}", "-s", "JOBDIR=job")
        with project.crawling(*job, "-O", "first.jsonl") as process:
            wait_until(lambda: len(site.requests) > 6)
            os.kill(process.pid, signal.SIGINT)
            process.join(PATIENCE_SECONDS)
            assert process.exitcode is not None
        assert len(site.requests) < 22
        site.requests.clear()
        ran = project.crawl(*job, "-O", "urls.jsonl")
    assert len(ran.locs()) == 20
    assert ran.stats["finish_reason"] == "finished"
    assert sorted(site.requests) == sorted(["/robots.txt", "/index.xml", *children])
    assert 0 < len(ran.locs("first.jsonl")) < 20


EXTENSIONS = "scrapy.extensions.feedexport.FeedExporter"
ONE_BY_ONE = "one by one, which is slower: "


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param("EXTENSIONS = {'myproject.parts.Look': 0}", None, id="nothing"),
        pytest.param(
            f"EXTENSIONS = {{'myproject.parts.Look': 0, 'myproject.parts.TheirFeeds': 0, '{EXTENSIONS}': None}}",
            "the extension TheirFeeds does not set accepts_batches = True",
            id="a-feed-exporter-of-theirs",
        ),
        pytest.param(
            "ITEM_PROCESSOR = 'scrapy.pipelines.ItemPipelineManager'",
            "ITEM_PROCESSOR is not a sitemap_harvest BatchItemProcessor",
            id="an-item-processor-of-theirs",
        ),
        pytest.param(
            "from myproject.parts import LocsExporter\nFEED_EXPORTERS['parquet'] = LocsExporter",
            None,
            id="their-parquet",
        ),
        pytest.param("FEED_EXPORTERS['jsonl'] = 'scrapy.exporters.JsonLinesItemExporter'", None, id="their-jsonl"),
        pytest.param(
            "from sitemap_harvest.addon import Addon\nADDONS = {Addon: 300}", None, id="the-add-on-as-a-class"
        ),
        pytest.param("ADDONS['sitemap_harvest.addon.Addon'] = 400", None, id="the-add-on-twice"),
        pytest.param(
            "from sitemap_harvest.addon import Addon\nADDONS[Addon] = 400", None, id="the-add-on-by-path-and-class"
        ),
        pytest.param("SPIDER_MODULES = 'myproject.spiders'", None, id="spider-modules-as-a-string"),
        pytest.param("SPIDER_MODULES = 'myproject.spiders,sitemap_harvest.spiders'", None, id="both-as-a-string"),
        pytest.param("TWISTED_REACTOR_ENABLED = False", None, id="no-reactor"),
        pytest.param(
            "DOWNLOAD_HANDLERS = {'http': 'scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler'}",
            None,
            id="their-download-handler",
        ),
        pytest.param(
            "SPIDER_MIDDLEWARES = {'myproject.parts.Starts': 100}",
            "the spider middleware Starts does not set accepts_batches = True",
            id="a-middleware-that-sees-what-start-gives",
        ),
        pytest.param("FEED_STORAGES = {'': 'myproject.parts.TheirFiles'}", None, id="their-storage"),
        pytest.param(
            "FEED_STORAGES = {'ours': 'myproject.parts.TheirFiles'}\nFEEDS = {'ours://x': {'format': 'csv'}}",
            None,
            id="their-scheme",
        ),
    ],
)
def test_choices_of_the_project_stay_and_every_url_is_written(project, site, settings, words):
    project.configure(f"{BATCHES}\n{settings}")
    ran = project.crawl("sitemap", "-a", f"site={site.url}", "-o", "urls.jsonl")
    assert sorted(ran.locs()) == ALL_BUT_TWO
    assert re.findall(f"{ONE_BY_ONE}(.*)", ran.log) == ([] if words is None else [words])
    assert set(defaults.DOWNLOADER_MIDDLEWARES) <= set(ran.dump["parts"]["downloader_middlewares"])


def test_feeds_that_the_project_disabled_stay_disabled(project, site):
    project.configure(f"EXTENSIONS = {{'myproject.parts.Look': 0, '{EXTENSIONS}': None}}")
    ran = project.crawl("sitemap", "-a", f"site={site.url}", "-O", "urls.jsonl")
    assert not (project.folder / "urls.jsonl").exists()
    assert not [name for name in ran.dump["parts"]["extensions"] if "Feed" in name]
