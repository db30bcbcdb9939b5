"""The stats of the source and those of the documentation are the same."""

from __future__ import annotations

import ast
import re
from itertools import product
from pathlib import Path

import pytest

import sitemap_harvest
from tests.crawl.crawling import HERE
from tests.site import Page, dated, in_turn, index, moved, robots, urlset

_PREFIX = "sitemap_harvest/"
_NO_STAT = re.compile(r"sitemap_harvest/\*+ Scrapy/\*")  # the User-Agent
_ANY = "*"


def documented():
    """Return the first column of the page: words in capitals match any text."""
    page = (HERE / "docs/reference/stats.md").read_text("utf-8")
    return re.findall(rf"^\| `({_PREFIX}[^`]+)` \|", page, re.MULTILINE)


def in_source():
    """Return the keys in the source, each with ``*`` for its variable parts."""
    found = set()
    for module in Path(sitemap_harvest.__file__).parent.rglob("*.py"):
        tree = ast.parse(module.read_bytes())
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            if id(node) not in docstrings | parts and (text := _text(node)).startswith(_PREFIX):
                found.add(text)
    return {text for text in found if not _NO_STAT.fullmatch(text)}


def _text(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) if isinstance(part, ast.Constant) else _ANY for part in node.values)
    return ""


def pattern(key):
    """Return a pattern for a key of the page, or of the source, with its variable parts."""
    parts = re.split(r"(\*|\b[A-Z]+\b)", key)
    return re.compile("".join(".+" if number % 2 else re.escape(part) for number, part in enumerate(parts)))


def is_like(key, other):
    """Whether *key* of the source and *other* of the page can be the same."""
    samples = [re.sub(r"\*|\b[A-Z]+\b", "x", one) for one in (key, other)]
    return bool(pattern(key).fullmatch(samples[1]) or pattern(other).fullmatch(samples[0]))


def test_exactly_the_stats_of_the_source_are_documented():
    page, source = documented(), in_source()
    assert len(page) == len(set(page)) > 20
    assert [key for key in source if not any(is_like(key, entry) for entry in page)] == []
    assert [entry for entry in page if not any(is_like(key, entry) for key in source)] == []


SITE = {
    "/robots.txt": robots("/i.xml", disallow=["/forbidden"]),
    "/i.xml": dated(
        index("/a.xml", "/old.xml", "/gone.xml", "/bad.xml", "/forbidden.xml", "/moved.xml"),
        "2026-01-01", "2001-01-01", "2026-01-01",
    ),
    "/a.xml": dated(urlset("/1", "/2", "http://b.example/3"), "2026-01-01", "2001-01-01"),
    "/old.xml": urlset("/4"),
    "/bad.xml": urlset("/5")[:-30],
    "/moved.xml": moved("http://127.0.0.2:1/x.xml"),
    **{f"/{number}": "page" for number in range(7)},
}  # fmt: skip
RUNS = {
    "plain": {},
    "filtered": {"since": "2020", "prune_index": "yes", "scope": "strict", "missing_lastmod": "drop"},
    "refused": {"limit": "few"},
    "no-site": {"site": "http://127.0.0.1:1"},
    "limited": {"limit": "1"},
    "full": {"feeds": {"/dev/full": {"format": "jsonl", "item_classes": ["sitemap_harvest.UrlEntry"]}}},
    "pages": {"spider": "many", "settings": {"DEPTH_LIMIT": 2}},
    "pages-stopped": {"spider": "many", "settings": {"CLOSESPIDER_PAGECOUNT": 4, "CONCURRENT_REQUESTS": 1}},
    "busy": {"settings": {"RETRY_TIMES": 1}},
    "pages-filter": {"spider": "failing-filter"},
    "failing-pipeline": {"settings": {"ITEM_PIPELINES": {"tests.crawl.parts.Fail": 1}}},
    "audit": {"spider": "audit", "probe": "all"},
}


@pytest.fixture(scope="module")
def seen():
    return set()


@pytest.mark.parametrize("name", RUNS)
def test_stats_of_a_run_are_documented(serve, crawl, name, seen):
    pages = dict(SITE)
    if name == "busy":
        pages["/i.xml"] = in_turn(Page(status=429, headers={"Retry-After": "1"}), SITE["/i.xml"])
    given = {"site": serve(pages).url, **RUNS[name]}
    run = crawl(calm=False, **given)
    ours = {key for key in run.stats if key.startswith("sitemap_harvest")}
    assert f"{_PREFIX}run" in ours
    assert [key for key in ours if not any(pattern(entry).fullmatch(key) for entry in documented())] == []
    seen |= ours


def test_stats_of_a_store_are_documented(serve, crawl, tmp_path, seen):
    site = serve(dict(SITE))
    for page, store in product([urlset("/1"), urlset("/2")], [tmp_path / "store"]):
        site.pages["/a.xml"] = page
        run = crawl(site=site.url, store=store, calm=False)
        ours = {key for key in run.stats if key.startswith("sitemap_harvest")}
        assert [key for key in ours if not any(pattern(entry).fullmatch(key) for entry in documented())] == []
        seen |= ours


def test_most_documented_stats_have_been_seen(seen):
    missing = {entry for entry in documented() if not any(pattern(entry).fullmatch(key) for key in seen)}
    rare = {"store_failed", "pages_invalid_url", "pages_private", "pages_offsite", "pages_not_stored"}
    rare |= {"probe/not_requested", "probe/failed/CAUSE"}  # test_probe has these
    rare.add("searches_postponed")  # test_discovery has it
    rare.add("lost_items_of_outputs")  # test_exporters has it
    by_browser = {entry for entry in missing if entry.startswith(f"{_PREFIX}browser/")}  # test_browser has these
    assert missing - by_browser <= {f"{_PREFIX}{name}" for name in rare}
