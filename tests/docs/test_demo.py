"""The demo site of the documentation, crawled as the documentation does it."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests import forked
from tests.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).parents[2]
SITE = "https://www.example.com"

URLS = {
    "/news-sitemap.xml": [
        f"{SITE}/news/workshop-fire-contained",
        f"{SITE}/news/prices-2026",
        f"{SITE}/news/store-opens-in-leeds",
    ],
    "/blog/feed.xml": [
        f"{SITE}/blog/our-new-store?utm_source=feed",
        f"{SITE}/blog/packing-without-plastic?utm_source=feed",
        f"{SITE}/blog/walnut-or-oak?utm_source=feed",
        f"{SITE}/blog/linen-in-summer?utm_source=feed",
    ],
    "/sitemaps/products.xml": [
        f"{SITE}/{language}/products/{name}"
        for name, languages in {
            "oak-desk": "en de",
            "oak-shelf": "en de",
            "walnut-stool": "en de",
            "desk-lamp": "en de",
            "floor-lamp": "en de",
            "wool-blanket": "en de",
            "linen-cushion": "en",
            "clay-vase": "en",
            "enamel-mug": "en",
            "bread-knife": "en",
        }.items()
        for language in languages.split()
    ],
    "/sitemaps/categories.xml": [
        f"{SITE}/en/c/desks",
        f"{SITE}/en/c/shelves",
        f"{SITE}/en/c/stools",
        f"{SITE}/en/c/lamps",
        f"{SITE}/en/c/textiles",
        f"{SITE}/en/c/kitchen",
        f"{SITE}/en/c/lamps?room=study&sort=price",
        f"{SITE}/en/c/kitchen?material=clay&sort=price",
    ],
    "/sitemaps/pages.xml": [
        f"{SITE}/",
        f"{SITE}/en/about",
        f"{SITE}/en/contact",
        f"{SITE}/en/delivery",
        f"{SITE}/en/returns",
        f"{SITE}/en/imprint",
        f"{SITE}/en/café",
        "https://careers.example.net/example-goods",
    ],
    "/sitemaps/posts.xml.gz": [
        f"{SITE}/blog/how-we-oil-oak",
        f"{SITE}/blog/a-lamp-for-every-desk",
        f"{SITE}/blog/wool-and-water",
        f"{SITE}/blog/clay-from-the-river",
        f"{SITE}/blog/a-day-in-the-workshop",
        f"{SITE}/blog/choosing-a-bread-knife",
        f"{SITE}/blog/enamel-lasts",
        f"{SITE}/blog/five-shelves-one-wall",
        f"{SITE}/blog/linen-in-summer",
        f"{SITE}/blog/walnut-or-oak",
        f"{SITE}/blog/packing-without-plastic",
        f"{SITE}/blog/our-new-store",
    ],
    "/sitemaps/brands.txt": [
        f"{SITE}/en/brands/alder-and-sons",
        f"{SITE}/en/brands/birch",
        f"{SITE}/en/brands/clayworks",
        f"{SITE}/en/brands/dale-wool",
        f"{SITE}/en/brands/elm-street",
        f"{SITE}/en/brands/fern-linen",
        f"{SITE}/en/brands/granite-kitchen",
    ],
}

LEDGER = {  # parent, found by, kind, outcome, entries, problems
    "/robots.txt": (None, "argument", "robots", "read", 3, []),
    "/sitemap_index.xml": ("/robots.txt", "robots", "index", "read", 7, []),
    "/news-sitemap.xml": ("/robots.txt", "robots", "sitemap", "read", 3, []),
    "/blog/feed.xml": ("/robots.txt", "robots", "feed", "read", 4, []),
    "/sitemaps/products.xml": ("/sitemap_index.xml", "index", "sitemap", "read", 16, []),
    "/sitemaps/categories.xml": (
        "/sitemap_index.xml", "index", "sitemap", "read", 8, ["xml/bare-ampersand", "xml/not-well-formed"]
    ),
    "/sitemaps/pages.xml": (
        "/sitemap_index.xml", "index", "sitemap", "read", 8, ["lastmod/unreadable", "loc/relative"]
    ),
    "/sitemaps/posts.xml.gz": ("/sitemap_index.xml", "index", "sitemap", "read", 12, []),
    "/sitemaps/brands.txt": ("/sitemap_index.xml", "index", "list", "read", 7, []),
    "/sitemaps/stores.xml": (
        "/sitemap_index.xml", "index", "soft-404", "not-a-sitemap", 0, ["document/soft-404"]
    ),
    "/sitemaps/gift-cards.xml": ("/sitemap_index.xml", "index", None, "absent", 0, []),
}  # fmt: skip


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    return {emit: crawl(emit, folder / f"{emit}.jsonl") for emit in ("urls", "sitemaps")}


def crawl(emit, output):
    arguments = ("-a", f"site={SITE}", "-a", "root=fixtures/demo", "-a", f"emit={emit}", "-O", str(output))
    run = forked.scrapy("crawl", "sitemap", *arguments, cwd=ROOT, timeout=PATIENCE_SECONDS)
    assert run.returncode == 0, run.stderr
    *_, total, first, second = run.stderr.splitlines()  # below the stats of Scrapy
    assert "58 URLs from 11 documents" in total
    assert f"Failed or incomplete: {SITE}/sitemaps/gift-cards.xml: " in first
    assert f"Failed or incomplete: {SITE}/sitemaps/stores.xml: " in second
    return [json.loads(line) for line in output.read_text("utf-8").splitlines()]


def path(url):
    return url and url.removeprefix(SITE)


def test_urls(crawled):
    found = defaultdict(list)
    for row in sorted(crawled["urls"], key=lambda row: row["position"]):
        found[path(row["sitemap"])].append(row["loc"])
    assert found == URLS


def test_ledger(crawled):
    found = {
        path(row["url"]): (
            path(row["parent"]),
            row["found_by"],
            row["kind"],
            row["outcome"],
            row["entries"],
            sorted(problem["code"] for problem in row["problems"]),
        )
        for row in crawled["sitemaps"]
    }
    assert len(crawled["sitemaps"]) == len(LEDGER)
    assert found == LEDGER


def test_the_flaws_are_reported_as_problems(crawled):
    rows = {row["loc"]: row for row in crawled["urls"]}
    relative, unreadable, foreign = (
        rows[f"{SITE}/en/returns"],
        rows[f"{SITE}/en/delivery"],
        rows["https://careers.example.net/example-goods"],
    )
    assert relative["loc_raw"] == "/en/returns"
    assert (unreadable["lastmod"], unreadable["lastmod_text"]) == (None, "14/06/2025")
    assert foreign["site"] == "https://careers.example.net"
    assert rows[f"{SITE}/en/café"]["key"] == f"{SITE}/en/caf%C3%A9"


def test_the_record_shown_in_the_docs(crawled):
    page = (ROOT / "docs/start.md").read_text("utf-8")
    shown = json.loads(re.search(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1])
    row = next(row for row in crawled["urls"] if row["loc"] == shown["loc"])
    assert {name: value for name, value in row.items() if value is not None} == shown


def test_extensions(crawled):
    rows = {row["loc"]: row for row in crawled["urls"]}
    desk, news = rows[f"{SITE}/de/products/oak-desk"], rows[f"{SITE}/news/prices-2026"]
    assert [alternate["hreflang"] for alternate in desk["alternates"]] == ["en", "de", "x-default"]
    assert [image["loc"] for image in desk["images"]] == [f"{SITE}/media/oak-desk-{n}.jpg" for n in (1, 2)]
    assert news["news"][0]["publication_date"] == "2026-03-01T10:00:00+00:00"
