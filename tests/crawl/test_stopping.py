"""A stopped crawl ends without help, and its files can be read."""

from __future__ import annotations

import json
import signal
from collections import Counter

import pyarrow.parquet as pq
import pytest

from sitemap_harvest.integration import default_settings as defaults
from tests.site import Manner, Page, index, robots, urlset
from tests.waiting import PATIENCE_SECONDS, wait_until


@pytest.mark.quick
@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_crawl_orderly(serve, crawl, tmp_path, way):
    pages = {f"/{number}.xml": Page(urlset(f"/p{number}"), delay=0.05) for number in range(400)}
    site = serve({"/index.xml": index(*pages), **pages})
    feeds = {
        f"{tmp_path}/urls.{name}": {"format": name, "item_classes": ["sitemap_harvest.UrlEntry"]}
        for name in ("parquet", "json")
    }
    feeds[f"{tmp_path}/ledger.jsonl"] = {"format": "jsonl", "item_classes": ["sitemap_harvest.SitemapRecord"]}
    process = crawl.start(
        sitemap=f"{site.url}/index.xml",
        feeds=feeds,
        settings={"SITEMAP_HARVEST_CONCURRENCY": 2},
    )
    try:
        wait_until(lambda: len(site.requests) >= 20)
        process.send_signal(way)
        log, _ = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        process.kill()
    run = crawl.finished(process.returncode, log)
    assert run.reason == "shutdown"
    rows = json.loads((tmp_path / "urls.json").read_text())
    assert 10 < len(rows) < 390
    assert pq.read_table(tmp_path / "urls.parquet")["loc"].to_pylist() == [row["loc"] for row in rows]
    assert run.stats["sitemap_harvest/urls"] == len(rows)
    fates = run.fates(site.url)
    assert fates.keys() == {"/index.xml", *pages}
    assert Counter(fates.values()) == {"read": len(rows) + 1, "interrupted": 400 - len(rows)}


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"CLOSESPIDER_PAGECOUNT": 6}, id="pages"),
        pytest.param({"CLOSESPIDER_ITEMCOUNT": 12}, id="items"),
        pytest.param({"EXTENSIONS": {"tests.crawl.parts.EndsByTimer": 0}}, id="time"),
    ],
)
@pytest.mark.parametrize("concurrency", [1, 8])
def test_each_document_of_a_run_that_ends_early_has_one_row_and_is_counted_once(serve, crawl, settings, concurrency):
    pages = {f"/{number}.xml": Page(urlset(f"/p{number}"), delay=0.02) for number in range(200)}
    site = serve({"/index.xml": index(*pages), **pages})
    settings = {**settings, "SITEMAP_HARVEST_CONCURRENCY": 8, "CONCURRENT_REQUESTS_PER_DOMAIN": concurrency}
    run = crawl(sitemap=f"{site.url}/index.xml", settings=settings)
    assert run.reason.startswith("closespider_")
    fates = run.fates(site.url)
    assert fates.keys() == {"/index.xml", *pages}
    assert run.stats["sitemap_harvest/documents"] == 201
    counted = Counter(fates.values())
    assert {name: run.stats[f"sitemap_harvest/outcome/{name}"] for name in counted} == counted
    reasons = {row["reason"] for row in run.ledger if row["outcome"] == "interrupted"}
    assert reasons <= {"the run ended before the document was requested", "the run ended before a response arrived"}


@pytest.mark.parametrize("part", [None, "RefusesRobots"])
def test_a_signal_ends_a_crawl_that_waits_for_a_robots_txt(serve, crawl, part):
    manner = Manner.HANG if part is None else Manner.WHOLE
    pages = {"/robots.txt": Page(robots("/a.xml"), manner=manner), "/a.xml": Page(urlset("/1"), manner=Manner.HANG)}
    site = serve(pages)
    parts = {f"tests.crawl.parts.{part}": 2_000_000} if part else {}
    process = crawl.start(
        site=site.url,
        sitemap=f"{site.url}/a.xml {site.url}/robots.txt?2",
        settings={"DOWNLOADER_MIDDLEWARES": {**defaults.DOWNLOADER_MIDDLEWARES, **parts}},
    )
    try:
        wait_until(lambda: site.requests)
        process.send_signal(signal.SIGTERM)
        log, _ = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        process.kill()
    run = crawl.finished(process.returncode, log, calm=False)
    assert run.reason == "shutdown"
    named = {row["url"].removeprefix(site.url) for row in run.ledger if row["found_by"] != "well-known"}
    assert named == {"/robots.txt", "/a.xml", "/robots.txt?2"}
    assert run.stats["sitemap_harvest/documents"] == len(run.ledger)
