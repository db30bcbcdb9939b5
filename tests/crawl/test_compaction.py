"""Crawl after crawl into one store: its files are merged as it grows, and no content changes."""

from __future__ import annotations

from sitemap_harvest.snapshots.store import open_store
from tests.crawl.crawling import lines
from tests.site import index, robots, urlset


def test_the_eighth_run_merges_the_files_of_the_others_and_the_ninth_continues_from_there(serve, crawl, tmp_path):
    pages = {"/robots.txt": robots("/index.xml"), "/index.xml": index("/a.xml", "/b.xml"), "/b.xml": urlset("/b")}
    site = serve({**pages, "/a.xml": urlset("/0")})
    feeds = {f"{crawl.folder}/changes.jsonl": {"format": "jsonl", "overwrite": True}}
    ledgers = []
    for day in range(1, 10):
        crawl(spider="changes", site=site.url, store=str(tmp_path / "s"), feeds=feeds)
        history = open_store(tmp_path / "s").site(site.url)
        ledgers.append(sum(file.table == "sitemaps" for file in history.manifest.files))
        if day > 1:
            changes = lines(crawl.folder / "changes.jsonl")
            assert [(row["kind"], row["loc"]) for row in changes] == [("added", f"{site.url}/{day - 1}")]
        site.pages["/a.xml"] = urlset(*(f"/{number}" for number in range(day + 1)))
    assert ledgers == [1, 2, 3, 4, 5, 6, 7, 1, 2]
    assert [run.urls for run in history.runs] == list(range(2, 11))
