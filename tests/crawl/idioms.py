"""How spiders are written on top of ``SitemapSpider``: each idiom is a function from a base class to a spider.

Run as a program, it crawls with all of them under one base class, and writes the requests and results of each.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import re
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import scrapy
from itemadapter import ItemAdapter
from itemloaders.processors import TakeFirst
from scrapy import Request, signals
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.exceptions import CloseSpider, DropItem
from scrapy.loader import ItemLoader
from scrapy.spiders import SitemapSpider
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.reactor import install_reactor
from scrapy.utils.sitemap import Sitemap, sitemap_urls_from_robots

from sitemap_harvest.spiders.harvest import HarvestSpider
from tests.site import Manner, Page, gzipped, index, moved, robots, urlset

if TYPE_CHECKING:
    from collections.abc import Callable

IDIOMS: dict[str, Idiom] = {}
DIFFERENCES: dict[str, str] = {}
"""Idioms with different results under the two base classes, each with the reason."""


def _entries(*parts: str) -> str:
    inside = "".join(f"<url>{part}</url>" for part in parts)
    spaces = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml"'
    return f"<urlset {spaces}>{inside}</urlset>"


def _rss(*paths: str) -> str:
    items = "".join(f"<item><link>{{site}}{path}</link></item>" for path in paths)
    return f'<rss version="2.0"><channel><title>t</title>{items}</channel></rss>'


PAGES: dict[str, Any] = {
    "/robots.txt": robots("/s/index.xml", disallow=["/secret"]),
    "/s/a.xml": urlset("/a/1", "/a/2", "/b/1"),
    "/s/one.xml": urlset("/a/1"),
    "/s/c.xml": urlset("/c/1"),
    "/s/empty.xml": urlset(),
    "/s/index.xml": index("/s/a.xml", "/s/c.xml"),
    "/s/secret-index.xml": index("/s/a.xml"),
    "/s/deep.xml": index("/s/index.xml"),
    "/s/secret.xml": urlset("/a/1", "/secret/1"),
    "/s/twice.xml": urlset("/a/1", "/a/1", "/a/2"),
    "/s/news.rss": _rss("/a/1", "/a/2"),
    "/s/list.txt": "{site}/a/1\n{site}/a/2\n",
    "/s/confused.xml": urlset("/s/one.xml", "/a/2"),
    "/s/moved.xml": moved("/s/one.xml"),
    "/s/dated.xml": _entries(
        "<loc>{site}/a/1</loc><lastmod>2004-12-31</lastmod><priority>0.9</priority>",
        "<loc>{site}/a/2</loc><lastmod>2025-02-01</lastmod><priority>0.1</priority><changefreq>daily</changefreq>",
        "<loc>{site}/b/1</loc>",
    ),
    "/s/languages.xml": _entries(
        '<loc>{site}/a/1</loc><xhtml:link rel="alternate" hreflang="de" href="{site}/de/1"/>',
        '<loc>{site}/a/2</loc><xhtml:link rel="alternate" hreflang="de" href="{site}/de/2"/>',
    ),
    "/s/blank.xml": _entries("<loc>\n  {site}/a/1\n  </loc>", "<loc>{site}/a/2?x=1&amp;y=2</loc>"),
    "/s/elsewhere.xml": urlset("/a/1", "http://localhost:1/x"),
    "/s/truncated.xml": "<urlset><url><loc>{site}/a/1</loc></url><url><loc>{site}/a/2",
    "/s/cut.xml": Page(urlset("/a/1", "/a/2", *(f"/b/{number}" for number in range(1, 4))), manner=Manner.CUT),
}
"""The site; every other request is for a page."""


def pages_of(site: str) -> dict[str, Any]:
    """Return the pages of the *site* at that address which contain it in a compressed body, or by another name."""
    return {
        "/s/packed.xml.gz": gzipped(urlset("/a/1", "/a/2").replace("{site}", site)),
        "/s/offsite.xml": index("/s/one.xml", f"{site.replace('127.0.0.1', 'localhost')}/s/c.xml"),
    }


class Idiom:
    """One way to write a spider."""

    def __init__(self, make: Callable[..., Any], arguments: dict[str, str], settings: dict[str, Any]) -> None:
        self.make = make
        self.arguments = arguments
        self.settings = settings


def idiom(differs: str | None = None, settings: dict[str, Any] | None = None, **arguments: str) -> Callable[..., Any]:
    """Add a way to write a spider, which is run with *arguments* and *settings*; *differs* is why the results do."""

    def add(make: Callable[..., Any]) -> Callable[..., Any]:
        assert make.__name__ not in IDIOMS
        IDIOMS[make.__name__] = Idiom(make, arguments, settings or {})
        if differs is not None:
            DIFFERENCES[make.__name__] = differs
        return make

    return add


def path(url: str) -> str:
    return urlsplit(url)._replace(scheme="", netloc="").geturl()


def item(response, **more):
    return {"url": path(response.url), **more}


def named(name: str, value: Any) -> None:
    """Add a spider that has a method of that *name*, or an attribute with that *value*."""

    def make(base, site):
        def method(self, *args, **kwargs):
            return value

        def parse(self, response):
            found = getattr(self, name)
            yield item(response, found=found() if callable(found) else found)

        of_class = {"name": "named", "sitemap_urls": [f"{site}/s/one.xml"], "parse": parse}
        return type("Named", (base,), {**of_class, name: method if value == "method" else value})

    make.__name__ = f"own_{'method' if value == 'method' else 'attribute'}_{name}"
    idiom()(make)


for _name in (
    "summary", "sites", "options", "prepare", "named", "rules", "on_error", "plan", "refuse", "conclude", "run_id",
    "parse_document", "site_headers", "note_error", "harvest", "started_at", "local_root",
):  # fmt: skip
    named(_name, "method")
for _name in (
    "_known",
    "_done",
    "_callback",
    "_given",
    "_pages",
    "_in_flight",
    "_session",
    "_ledger",
    "_errback",
    "_ask",
):
    named(_name, "method")
for _name in (
    "summary",
    "sites",
    "options",
    "plan",
    "start_urls",
    "run_id",
    "refused",
    "site",
    "store",
    "limit",
    "visits",
):
    named(_name, ["x"])


# Sources of sitemaps


@idiom()
def plain(base, site):
    class Plain(base):
        name = "plain"
        sitemap_urls = [f"{site}/s/a.xml"]

        def parse(self, response):
            yield item(response)

    return Plain


@idiom()
def several_sitemaps_in_a_tuple(base, site):
    class Several(base):
        name = "several"
        sitemap_urls = (f"{site}/s/a.xml", f"{site}/s/c.xml")

        def parse(self, response):
            return item(response)

    return Several


@idiom()
def from_robots(base, site):
    class Robots(base):
        name = "robots"
        sitemap_urls = [f"{site}/robots.txt"]

        def parse(self, response):
            return [item(response)]

    return Robots


@idiom()
def an_index_of_indexes(base, site):
    class Deep(base):
        name = "deep"
        sitemap_urls = [f"{site}/s/deep.xml"]

        def parse(self, response):
            yield item(response, depth=response.meta["depth"])

    return Deep


@idiom()
def follow_some_of_an_index(base, site):
    class Some(base):
        name = "some"
        sitemap_urls = [f"{site}/s/index.xml"]
        sitemap_follow = [re.compile(r"/S/C\.", re.IGNORECASE), "/nothing"]

        def parse(self, response):
            yield item(response)

    return Some


@idiom()
def compressed_sitemap(base, site):
    class Packed(base):
        name = "packed"
        sitemap_urls = [f"{site}/s/packed.xml.gz"]

        def parse(self, response):
            yield item(response)

    return Packed


@idiom()
def redirected_sitemap(base, site):
    class Redirected(base):
        name = "redirected"
        sitemap_urls = [f"{site}/s/moved.xml"]

        def parse(self, response):
            yield item(response)

    return Redirected


@idiom()
def an_empty_sitemap(base, site):
    class Empty(base):
        name = "empty"
        sitemap_urls = [f"{site}/s/empty.xml"]

        def parse(self, response):
            yield item(response)

    return Empty


@idiom()
def whitespace_and_entities_in_locs(base, site):
    class Whitespace(base):
        name = "whitespace"
        sitemap_urls = [f"{site}/s/blank.xml"]

        def parse(self, response):
            yield item(response)

    return Whitespace


@idiom(differs="feeds are read")
def a_feed(base, site):
    class Feed(base):
        name = "feed"
        sitemap_urls = [f"{site}/s/news.rss"]

        def parse(self, response):
            yield item(response)

    return Feed


@idiom(differs="text lists are read")
def a_text_list(base, site):
    class Text(base):
        name = "text"
        sitemap_urls = [f"{site}/s/list.txt"]

        def parse(self, response):
            yield item(response)

    return Text


@idiom(differs="a sitemap that is also listed as a page is visited")
def a_sitemap_that_lists_sitemaps(base, site):
    class Confused(base):
        name = "confused"
        sitemap_urls = [f"{site}/s/confused.xml", f"{site}/s/one.xml"]

        def parse(self, response):
            yield item(response)

    return Confused


@idiom(differs="a URL that is cut off by the end of a truncated document is not visited")
def a_truncated_sitemap(base, site):
    class Truncated(base):
        name = "truncated"
        sitemap_urls = [f"{site}/s/truncated.xml"]

        def parse(self, response):
            yield item(response)

    return Truncated


@idiom(differs="a document whose connection was closed early is read up to there")
def a_cut_connection(base, site):
    class Cut(base):
        name = "cut"
        sitemap_urls = [f"{site}/s/cut.xml"]

        def parse(self, response):
            yield item(response)

    return Cut


@idiom(differs="a sitemap on a host outside `allowed_domains` is read", settings={"SITEMAP_HARVEST_PRIVATE": True})
def a_sitemap_outside_allowed_domains(base, site):
    class Outside(base):
        name = "outside"
        allowed_domains = ["127.0.0.1"]
        sitemap_urls = [f"{site.replace('127.0.0.1', 'localhost')}/s/c.xml"]

        def parse(self, response):
            yield item(response)

    return Outside


@idiom(
    differs="an index may name sitemaps only on hosts of its own registrable domain",
    settings={"SITEMAP_HARVEST_PRIVATE": True},
)
def an_index_of_another_host(base, site):
    class Offsite(base):
        name = "offsite"
        sitemap_urls = [f"{site}/s/offsite.xml"]

        def parse(self, response):
            yield item(response)

    return Offsite


@idiom(settings={"SITEMAP_HARVEST_PRIVATE": True, "SITEMAP_HARVEST_OFFSITE": "any"})
def an_index_of_another_host_that_may_be_followed(base, site):
    return an_index_of_another_host(base, site)


@idiom()
def the_same_page_twice(base, site):
    class Twice(base):
        name = "twice"
        sitemap_urls = [f"{site}/s/twice.xml"] * 2

        def parse(self, response):
            yield item(response)

    return Twice


@idiom()
def urls_set_in_init(base, site):
    class Late(base):
        name = "late"

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.sitemap_urls = [f"{site}/s/a.xml"]

        def parse(self, response):
            yield item(response)

    return Late


@idiom(url="/s/a.xml")
def urls_from_an_argument(base, site):
    class Argument(base):
        name = "argument"

        def __init__(self, url, *args, **kwargs):
            self.sitemap_urls = [site + url]
            super().__init__(*args, **kwargs)

        def parse(self, response):
            yield item(response)

    return Argument


@idiom(path="/s/a.xml")
def urls_from_an_attribute_that_was_an_argument(base, site):
    class Argument(base):
        name = "argument"

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.sitemap_urls = [site + self.path]

        def parse(self, response):
            yield item(response)

    return Argument


@idiom()
def urls_set_in_from_crawler(base, site):
    class FromCrawler(base):
        name = "from-crawler"

        @classmethod
        def from_crawler(cls, crawler, *args, **kwargs):
            spider = super().from_crawler(crawler, *args, **kwargs)
            spider.sitemap_urls = [f"{site}/s/a.xml"]
            return spider

        def parse(self, response):
            yield item(response)

    return FromCrawler


@idiom()
def urls_set_in_spider_opened(base, site):
    class Opened(base):
        name = "opened"

        @classmethod
        def from_crawler(cls, crawler, *args, **kwargs):
            spider = super().from_crawler(crawler, *args, **kwargs)
            crawler.signals.connect(spider.spider_opened, signal=signals.spider_opened)
            return spider

        def spider_opened(self, spider):
            self.sitemap_urls = [f"{site}/s/a.xml"]

        def parse(self, response):
            yield item(response)

    return Opened


@idiom()
def urls_added_in_spider_opened(base, site):
    class Opened(base):
        name = "opened"

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.sitemap_urls = [f"{site}/s/c.xml"]

        @classmethod
        def from_crawler(cls, crawler, *args, **kwargs):
            spider = super().from_crawler(crawler, *args, **kwargs)
            crawler.signals.connect(spider.spider_opened, signal=signals.spider_opened)
            return spider

        def spider_opened(self):
            self.sitemap_urls.append(f"{site}/s/one.xml")

        def parse(self, response):
            yield item(response)

    return Opened


@idiom()
def urls_from_a_property(base, site):
    class Property(base):
        name = "property"

        @property
        def sitemap_urls(self):
            return [f"{site}/s/a.xml"]

        def parse(self, response):
            yield item(response)

    return Property


# Arguments


@idiom(site="shop-7")
def an_argument_site_of_its_own_init(base, site):
    class Own(base):
        name = "own"

        def __init__(self, site=None, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.shop = site
            self.sitemap_urls = [f"{here}/s/a.xml"]

        def parse(self, response):
            yield item(response, shop=self.shop)

    here = site
    return Own


@idiom(site="shop-7", store="north", limit="many")
def arguments_of_its_own_passed_on(base, site):
    class Own(base):
        name = "own"
        sitemap_urls = [f"{site}/s/a.xml"]

        def __init__(self, site=None, store="south", limit=None, **kwargs):
            super().__init__(site=site, store=store, limit=limit, **kwargs)

        def parse(self, response):
            yield item(response, given=[self.site, self.store, self.limit])

    return Own


@idiom(store="north", lang="de-x", since="forever")
def arguments_with_defaults_in_the_class(base, site):
    class Own(base):
        name = "own"
        sitemap_urls = [f"{site}/s/a.xml"]
        store = "south"
        lang = "en"
        since = None

        def parse(self, response):
            yield item(response, given=[self.store, self.lang, self.since])

    return Own


@idiom(site="/s/a.xml")
def an_argument_site_that_names_the_sitemaps(base, site):
    class Own(base):
        name = "own"

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.sitemap_urls = [here + self.site]

        def parse(self, response):
            yield item(response)

    here = site
    return Own


@idiom(color="red", summary="yes", options="a,b", rules="none", run_id="7")
def arguments_become_attributes(base, site):
    class Attributes(base):
        name = "attributes"
        sitemap_urls = [f"{site}/s/one.xml"]

        def parse(self, response):
            yield item(response, given=[self.color, self.summary, self.options, self.rules, self.run_id])

    return Attributes


@idiom(pages="1")
def an_argument_that_is_optional(base, site):
    class Optional(base):
        name = "optional"
        sitemap_urls = [f"{site}/s/one.xml"]

        def parse(self, response):
            yield item(response, pages=int(getattr(self, "pages", 5)), other=getattr(self, "other", None))

    return Optional


# Which pages are visited, and their callbacks


@idiom()
def rules_by_name(base, site):
    class Rules(base):
        name = "rules"
        sitemap_urls = [f"{site}/s/a.xml"]
        sitemap_rules = [(r"/a/\d", "parse_a"), ("/b/", "parse_b")]

        def parse_a(self, response):
            yield item(response, by="a")

        def parse_b(self, response):
            yield item(response, by="b")

    return Rules


@idiom()
def rules_by_callable(base, site):
    def parse_a(response):
        yield item(response, by="function")

    class Rules(base):
        name = "rules"
        sitemap_urls = [f"{site}/s/a.xml"]

        def __init__(self, *args, **kwargs):
            self.sitemap_rules = [
                (re.compile("/A/1", re.IGNORECASE), self.parse_method),
                ("/a/2", parse_a),
                ("/b/", lambda response: [item(response, by="lambda")]),
            ]
            super().__init__(*args, **kwargs)

        def parse_method(self, response):
            yield item(response, by="method")

    return Rules


@idiom()
def rules_with_partial(base, site):
    class Rules(base):
        name = "rules"
        sitemap_urls = [f"{site}/s/a.xml"]

        def __init__(self, *args, **kwargs):
            self.sitemap_rules = [("/a/", functools.partial(self.parse_kind, kind="a", entry="mine"))]
            super().__init__(*args, **kwargs)

        def parse_kind(self, response, kind, entry):
            yield item(response, kind=kind, entry=entry)

    return Rules


@idiom()
def a_rule_without_callback(base, site):
    class Rules(base):
        name = "rules"
        sitemap_urls = [f"{site}/s/a.xml"]
        sitemap_rules = [("/a/", None)]

        def parse(self, response):
            yield item(response)

    return Rules


@idiom()
def no_rules_at_all(base, site):
    class Rules(base):
        name = "rules"
        sitemap_urls = [f"{site}/s/a.xml"]
        sitemap_rules = []

        def parse(self, response):
            yield item(response)

        harvest_arguments = {"emit": "none"}

    return Rules


@idiom()
def rules_read_by_the_filter(base, site):
    class Rules(base):
        name = "rules"
        sitemap_urls = [f"{site}/s/a.xml"]
        sitemap_rules = [(r"/a/(\d)", "parse")]

        def sitemap_filter(self, entries):
            for entry in entries:
                found = re.search(self.sitemap_rules[0][0], entry["loc"])
                if found is None or found[1] != "2":
                    yield entry

        def parse(self, response):
            yield item(response)

    return Rules


@idiom()
def a_filter_by_date(base, site):
    class Dated(base):
        name = "dated"
        sitemap_urls = [f"{site}/s/dated.xml"]

        def sitemap_filter(self, entries):
            for entry in entries:
                lastmod = entry.get("lastmod")
                if lastmod and datetime.fromisoformat(lastmod).year >= 2005:
                    yield entry

        def parse(self, response):
            yield item(response)

    return Dated


@idiom()
def a_filter_that_returns_a_list(base, site):
    class Listed(base):
        name = "listed"
        sitemap_urls = [f"{site}/s/dated.xml"]

        def sitemap_filter(self, entries):
            return sorted(entries, key=lambda entry: entry.get("lastmod", ""))[1:]

        def parse(self, response):
            yield item(response)

    return Listed


@idiom()
def a_filter_that_looks_at_all_elements(base, site):
    class Elements(base):
        name = "elements"
        sitemap_urls = [f"{site}/s/dated.xml"]
        seen: list[Any] = []

        def sitemap_filter(self, entries):
            for entry in entries:
                self.seen = [*self.seen, sorted((k, v) for k, v in entry.items() if k not in {"loc", "entry"})]
                yield entry

        def parse(self, response):
            yield item(response)

        def report(self):
            return self.seen

    return Elements


@idiom()
def a_filter_that_asks_for_the_type(base, site):
    class Typed(base):
        name = "typed"
        sitemap_urls = [f"{site}/s/index.xml"]

        def sitemap_filter(self, entries):
            for entry in entries:
                if entries.type == "sitemapindex" or "/a/" in entry["loc"]:
                    yield entry

        def parse(self, response):
            yield item(response)

    return Typed


@idiom()
def a_filter_that_looks_ahead(base, site):
    class First(base):
        name = "first"
        sitemap_urls = [f"{site}/s/a.xml"]

        def sitemap_filter(self, entries):
            yield next(iter(entries))

        def parse(self, response):
            yield item(response)

    return First


@idiom()
def a_filter_that_rewrites(base, site):
    class Rewritten(base):
        name = "rewritten"
        sitemap_urls = [f"{site}/s/secret-index.xml"]

        def sitemap_filter(self, entries):
            for entry in entries:
                entry["loc"] = entry["loc"].replace("/b/", "/new/")
                yield entry
                if "/s/" in entry["loc"]:
                    yield {"loc": f"{site}/s/c.xml"}
                elif "/new/" in entry["loc"]:
                    yield {"loc": f"{site}/made"}

        sitemap_follow = [r"\.xml$"]

        def parse(self, response):
            yield item(response)

    return Rewritten


@idiom()
def a_filter_for_an_index_alone(base, site):
    class Index(base):
        name = "index"
        sitemap_urls = [f"{site}/s/index.xml"]

        def sitemap_filter(self, entries):
            return [entry for entry in entries if "/s/c" in entry["loc"] or "/c/" in entry["loc"]]

        def parse(self, response):
            yield item(response)

    return Index


@idiom(differs="pages before an error in `sitemap_filter` are visited")
def a_filter_that_fails(base, site):
    class Failing(base):
        name = "failing"
        sitemap_urls = [f"{site}/s/dated.xml", f"{site}/s/c.xml"]

        def sitemap_filter(self, entries):
            for entry in entries:
                if "/b/" in entry["loc"]:
                    entry["lastmod"]
                yield entry

        def parse(self, response):
            yield item(response)

    return Failing


@idiom()
def alternates_too(base, site):
    class Alternates(base):
        name = "alternates"
        sitemap_urls = [f"{site}/s/languages.xml"]
        sitemap_alternate_links = True

        def parse(self, response):
            yield item(response)

    return Alternates


@idiom()
def alternates_chosen_by_the_filter(base, site):
    class Alternates(base):
        name = "alternates"
        sitemap_urls = [f"{site}/s/languages.xml"]
        sitemap_alternate_links = True

        def sitemap_filter(self, entries):
            for entry in entries:
                entry["alternate"] = [href for href in entry["alternate"] if href.endswith("1")]
                yield entry

        def parse(self, response):
            yield item(response)

    return Alternates


@idiom()
def allowed_domains(base, site):
    class Allowed(base):
        name = "allowed"
        allowed_domains = ["127.0.0.1"]
        sitemap_urls = [f"{site}/s/elsewhere.xml"]

        def parse(self, response):
            yield item(response)

    return Allowed


@idiom(settings={"ROBOTSTXT_OBEY": True})
def robots_txt_obeyed(base, site):
    class Obedient(base):
        name = "obedient"
        sitemap_urls = [f"{site}/s/secret.xml"]

        def parse(self, response):
            yield item(response)

    return Obedient


@idiom(settings={"DEPTH_LIMIT": 1})
def a_depth_limit(base, site):
    class Limited(base):
        name = "limited"
        sitemap_urls = [f"{site}/s/index.xml", f"{site}/s/one.xml"]

        def parse(self, response):
            yield item(response)

    return Limited


# Callbacks


@idiom()
def a_callback_with_defaults(base, site):
    class Defaults(base):
        name = "defaults"
        sitemap_urls = [f"{site}/s/one.xml"]

        def parse(self, response, page=1, *, source="sitemap", **kwargs):
            yield item(response, given=[page, source, kwargs])
            if page == 1:
                yield response.follow("/more", self.parse, cb_kwargs={"page": 2, "entry": "mine"})

    return Defaults


@idiom()
def a_callback_with_an_entry_of_its_own(base, site):
    class Own(base):
        name = "own"
        sitemap_urls = [f"{site}/s/one.xml"]

        def parse(self, response, entry=None):
            yield item(response, entry=entry)
            if entry is None:
                yield response.follow("/more", self.parse, cb_kwargs={"entry": {"title": "x"}})

    return Own


@idiom()
def a_callback_that_passes_its_arguments_on(base, site):
    class Passing(base):
        name = "passing"
        sitemap_urls = [f"{site}/s/one.xml"]

        def parse(self, response, **kwargs):
            yield response.follow("/more", self.parse_more, cb_kwargs=kwargs)

        def parse_more(self, response):
            yield item(response)

    return Passing


@idiom()
def an_async_callback(base, site):
    class Async(base):
        name = "async"
        sitemap_urls = [f"{site}/s/a.xml"]

        async def parse(self, response):
            await asyncio.sleep(0)
            yield item(response)

    return Async


@idiom()
def a_coroutine_that_returns_a_list(base, site):
    class Coroutine(base):
        name = "coroutine"
        sitemap_urls = [f"{site}/s/a.xml"]

        async def parse(self, response):
            return [item(response)]

    return Coroutine


@idiom()
def an_inline_request(base, site):
    class Inline(base):
        name = "inline"
        sitemap_urls = [f"{site}/s/one.xml"]

        async def parse(self, response):
            more = await self.crawler.engine.download_async(Request(f"{site}/more"))
            yield item(response, more=path(more.url))

    return Inline


@idiom()
def a_callback_that_fails(base, site):
    class Failing(base):
        name = "failing"
        sitemap_urls = [f"{site}/s/a.xml"]

        def parse(self, response):
            if "/b/" in response.url:
                raise ValueError("no")
            yield item(response)

    return Failing


@idiom()
def a_callback_that_follows_links(base, site):
    class Following(base):
        name = "following"
        sitemap_urls = [f"{site}/s/one.xml"]

        def parse(self, response):
            yield from response.follow_all(["/x/1", "/x/2"], self.parse_link, meta={"mark": "followed"})

        def parse_link(self, response):
            yield item(
                response, depth=response.meta["depth"], referer=path(response.request.headers["Referer"].decode())
            )

    return Following


@idiom()
def an_item_class_and_a_loader(base, site):
    class Page(scrapy.Item):
        url = scrapy.Field()
        title = scrapy.Field()

    class Loading(base):
        name = "loading"
        sitemap_urls = [f"{site}/s/one.xml"]

        def parse(self, response):
            loader = ItemLoader(item=Page(), response=response)
            loader.default_output_processor = TakeFirst()
            loader.add_css("title", "title::text")
            loader.add_value("url", path(response.url))
            yield loader.load_item()

    return Loading


@idiom()
def a_pipeline_of_its_own(base, site):
    class Pipeline:
        def process_item(self, given):
            if given["url"] == "/b/1":
                raise DropItem("no")
            return {**given, "seen": True}

    class Piped(base):
        name = "piped"
        sitemap_urls = [f"{site}/s/a.xml"]
        custom_settings = {"ITEM_PIPELINES": {Pipeline: 300}}

        def parse(self, response):
            yield item(response)

    return Piped


@idiom()
def a_spider_that_closes_itself(base, site):
    class Closing(base):
        name = "closing"
        sitemap_urls = [f"{site}/s/one.xml"]

        def parse(self, response):
            yield item(response)
            raise CloseSpider("enough")

    return Closing


@idiom()
def a_closed_method(base, site):
    class Closed(base):
        name = "closed"
        sitemap_urls = [f"{site}/s/one.xml"]
        reason = None

        def parse(self, response):
            self.crawler.stats.inc_value("mine")
            yield item(response)

        def closed(self, reason):
            self.reason = reason

        def report(self):
            return [self.reason, self.crawler.stats.get_value("mine"), self.settings.getint("CONCURRENT_ITEMS") > 0]

    return Closed


@idiom()
def status_codes_handled(base, site):
    class Handling(base):
        name = "handling"
        sitemap_urls = [f"{site}/s/one.xml"]
        handle_httpstatus_list = [404]

        def sitemap_filter(self, entries):
            yield from entries
            yield {"loc": f"{site}/missing/1"}

        def parse(self, response):
            yield item(response, status=response.status)

    return Handling


@idiom()
def a_spider_idle_handler(base, site):
    class Idle(base):
        name = "idle"
        sitemap_urls = [f"{site}/s/one.xml"]
        has_requested = False

        @classmethod
        def from_crawler(cls, crawler, *args, **kwargs):
            spider = super().from_crawler(crawler, *args, **kwargs)
            crawler.signals.connect(spider.idle, signal=signals.spider_idle)
            return spider

        def idle(self):
            if not self.has_requested:
                self.has_requested = True
                self.crawler.engine.crawl(Request(f"{site}/more", self.parse))

        def parse(self, response):
            yield item(response)

    return Idle


# The start of a run


@idiom()
def start_adds_requests(base, site):
    class Adding(base):
        name = "adding"
        sitemap_urls = [f"{site}/s/one.xml"]

        async def start(self):
            async for request in super().start():
                yield request
            yield Request(f"{site}/about", self.parse_about)

        def parse(self, response):
            yield item(response)

        def parse_about(self, response):
            yield item(response, by="about")

    return Adding


@idiom()
def start_adds_requests_first(base, site):
    class Adding(base):
        name = "adding"
        sitemap_urls = [f"{site}/s/one.xml"]

        async def start(self):
            yield Request(f"{site}/login", self.parse_login, dont_filter=True)
            async for request in super().start():
                yield request

        def parse(self, response):
            yield item(response)

        def parse_login(self, response):
            yield item(response, by="login")

    return Adding


@idiom()
def start_yields_items(base, site):
    class Items(base):
        name = "items"
        sitemap_urls = [f"{site}/s/one.xml"]

        async def start(self):
            yield {"url": "none"}
            async for request in super().start():
                yield request

        def parse(self, response):
            yield item(response)

    return Items


@idiom()
def start_replaces_all_requests(base, site):
    class Replacing(base):
        name = "replacing"
        sitemap_urls = [f"{site}/s/a.xml"]

        async def start(self):
            yield Request(f"{site}/about", self.parse)

        def parse(self, response):
            yield item(response)

    return Replacing


@idiom()
def start_without_sitemaps(base, site):
    class Without(base):
        name = "without"

        async def start(self):
            for number in range(3):
                yield Request(f"{site}/n/{number}")

        def parse(self, response):
            yield item(response)

    return Without


@idiom()
def start_requests_sitemaps(base, site):
    class Asking(base):
        name = "asking"

        async def start(self):
            for name in ("a", "c"):
                yield Request(f"{site}/s/{name}.xml", self._parse_sitemap)

        def parse(self, response):
            yield item(response)

    return Asking


@idiom()
def start_requests_sitemaps_with_headers_and_meta(base, site):
    class Asking(base):
        name = "asking"
        sitemap_urls = [f"{site}/s/index.xml"]

        async def start(self):
            for url in self.sitemap_urls:
                yield Request(url, self._parse_sitemap, headers={"X-Mark": "h"}, meta={"mark": "m"}, priority=5)

        def parse(self, response):
            yield item(response)

    return Asking


@idiom()
def start_marks_requests_of_the_base(base, site):
    class Marking(base):
        name = "marking"
        sitemap_urls = [f"{site}/s/index.xml"]

        async def start(self):
            async for request in super().start():
                request.meta["mark"] = "m"
                yield request.replace(headers={"X-Mark": "h"}, cookies={"c": "1"})

        def parse(self, response):
            yield item(response)

    return Marking


@idiom()
def start_replaces_the_address(base, site):
    class Replacing(base):
        name = "replacing"
        sitemap_urls = ["https://www.example.com/s/a.xml"]

        async def start(self):
            async for request in super().start():
                yield request.replace(url=request.url.replace("https://www.example.com", site))

        def parse(self, response):
            yield item(response)

    return Replacing


@idiom()
def start_with_an_errback(base, site):
    class Errback(base):
        name = "errback"
        failed: list[str] = []

        async def start(self):
            for name in ("a", "missing"):
                yield Request(
                    f"{site}/{'s/a.xml' if name == 'a' else 'missing/s'}", self._parse_sitemap, errback=self.note
                )

        def note(self, failure):
            yield {"failed": path(failure.request.url)}

        def parse(self, response):
            yield item(response)

    return Errback


@idiom()
def start_that_fails(base, site):
    class Failing(base):
        name = "failing"
        sitemap_urls = [f"{site}/s/one.xml"]

        async def start(self):
            async for request in super().start():
                yield request
            raise ValueError("no")

        def parse(self, response):
            yield item(response)

    return Failing


@idiom()
def a_home_page_that_leads_to_sitemaps(base, site):
    class Home(base):
        name = "home"

        async def start(self):
            yield Request(f"{site}/home", self.parse_home)

        def parse_home(self, response):
            yield Request(f"{site}/s/index.xml", self._parse_sitemap)

        def parse(self, response):
            yield item(response)

    return Home


# Scrapy's private methods, which many users override


@idiom()
def parse_sitemap_that_marks_requests(base, site):
    class Marking(base):
        name = "marking"
        sitemap_urls = [f"{site}/s/index.xml"]

        def _parse_sitemap(self, response):
            for request in super()._parse_sitemap(response):
                request.meta["mark"] = "m"
                yield request

        def parse(self, response):
            yield item(response)

    return Marking


@idiom()
def parse_sitemap_that_replaces_requests(base, site):
    class Replacing(base):
        name = "replacing"
        sitemap_urls = [f"{site}/s/a.xml"]
        sitemap_rules = [("/a/", "parse")]

        def _parse_sitemap(self, response):
            for request in super()._parse_sitemap(response):
                yield Request(f"{request.url}?page=0", self.parse_page, cb_kwargs={"of": path(request.url)})

        def parse(self, response):
            yield item(response)

        def parse_page(self, response, of):
            yield item(response, of=of)

    return Replacing


@idiom()
def parse_sitemap_rewritten(base, site):
    class Anew(base):
        name = "anew"
        sitemap_urls = [f"{site}/robots.txt"]

        def _parse_sitemap(self, response):
            if response.url.endswith("/robots.txt"):
                for url in sitemap_urls_from_robots(response.body, base_url=response.url):
                    yield Request(url, callback=self._parse_sitemap)
                return
            body = self._get_sitemap_body(response)
            found = Sitemap(body)
            for entry in self.sitemap_filter(found):
                if found.type == "sitemapindex" and any(pattern.search(entry["loc"]) for pattern in self._follow):
                    yield Request(entry["loc"], callback=self._parse_sitemap)
                elif found.type == "urlset":
                    callback = next(callback for pattern, callback in self._cbs if pattern.search(entry["loc"]))
                    yield Request(entry["loc"], callback=callback)

        def parse(self, response):
            yield item(response)

    return Anew


@idiom()
def a_body_that_is_repaired(base, site):
    class Repairing(base):
        name = "repairing"
        sitemap_urls = [f"{site}/s/a.xml"]

        def _get_sitemap_body(self, response):
            return super()._get_sitemap_body(response).replace(b"/a/", b"/z/")

        def parse(self, response):
            yield item(response)

    return Repairing


# Around the spider


@idiom()
def a_mixin_behind(base, site):
    class Structured(scrapy.Spider):
        wanted_types: list[str] = []
        rules = None

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.has_begun = True

        def parse_sd(self, response):
            yield item(response, begun=self.has_begun)

    class Mixed(base, Structured):
        name = "mixed"
        sitemap_urls = [f"{site}/s/one.xml"]
        sitemap_rules = [("/a/", "parse_sd")]

    return Mixed


@idiom(color="red")
def a_mixin_before(base, site):
    class Mixin:
        def __init__(self, *args, color="blue", **kwargs):
            super().__init__(*args, **kwargs)
            self.color = color

    class Mixed(Mixin, base):
        name = "mixed"
        sitemap_urls = [f"{site}/s/one.xml"]

        def parse(self, response):
            yield item(response, color=self.color)

    return Mixed


@idiom()
def an_abstract_base_between(base, site):
    class Shop(base):
        kind = "shop"
        sitemap_rules = [("/a/", "parse_product")]

        def parse_product(self, response):
            yield item(response, kind=self.kind, of=type(self).__name__)

    class Books(Shop):
        name = "books"
        kind = "book"
        sitemap_urls = [f"{site}/s/a.xml"]

    return Books


@idiom()
def custom_settings_and_a_user_agent(base, site):
    class Custom(base):
        name = "custom"
        sitemap_urls = [f"{site}/s/one.xml"]
        custom_settings = {
            "USER_AGENT": "mine/1.0",
            "DEFAULT_REQUEST_HEADERS": {"X-Mark": "default"},
            "COOKIES_ENABLED": True,
        }
        download_timeout = 20

        def parse(self, response):
            yield item(response, agent=response.request.headers["User-Agent"].decode())

    return Custom


@idiom()
def settings_changed_in_update_settings(base, site):
    class Updated(base):
        name = "updated"
        sitemap_urls = [f"{site}/s/one.xml"]

        @classmethod
        def update_settings(cls, settings):
            super().update_settings(settings)
            settings.set("USER_AGENT", "updated/1.0", priority="spider")

        def parse(self, response):
            yield item(response, agent=response.request.headers["User-Agent"].decode())

    return Updated


@idiom()
def a_spider_middleware(base, site):
    class Middleware:
        def process_spider_input(self, response):
            response.meta["seen"] = True

        async def process_spider_output(self, response, result):
            async for found in result:
                yield {**found, "added": True} if isinstance(found, dict) else found

    class Wrapped(base):
        name = "wrapped"
        sitemap_urls = [f"{site}/s/one.xml"]
        custom_settings = {"SPIDER_MIDDLEWARES": {Middleware: 500}}

        def parse(self, response):
            yield item(response, seen=response.meta["seen"])

    return Wrapped


@idiom()
def a_downloader_middleware(base, site):
    class Middleware:
        def process_request(self, request):
            if "/a/" in request.url:
                request.headers["X-Mark"] = "middleware"

    class Wrapped(base):
        name = "wrapped"
        sitemap_urls = [f"{site}/s/a.xml"]
        custom_settings = {"DOWNLOADER_MIDDLEWARES": {Middleware: 500}}

        def parse(self, response):
            yield item(response)

    return Wrapped


@idiom(differs="requests for pages have a priority")
def requests_with_a_priority(base, site):
    class Priority(base):
        name = "priority"
        sitemap_urls = [f"{site}/s/dated.xml"]

        def parse(self, response):
            yield item(response, priority=response.request.priority)

    return Priority


@idiom(differs="a spider without a callback for pages emits URLs as items")
def no_callback(base, site):
    class NoCallback(base):
        name = "no-callback"
        sitemap_urls = [f"{site}/s/one.xml"]

    return NoCallback


@idiom()
def isinstance_of_scrapys(base, site):
    class Instance(base):
        name = "instance"
        sitemap_urls = [f"{site}/s/one.xml"]

        def parse(self, response):
            yield item(response, is_sitemap=isinstance(self, SitemapSpider))

    return Instance


async def crawl(runner: Any, idiom: Idiom, base: type, site: str) -> dict[str, Any]:
    """Run the spider of *idiom*, and return its requests and results."""
    crawler = runner.create_crawler(idiom.make(base, site))
    crawler.settings.update(idiom.settings, priority="project")
    seen: dict[str, Any] = {"sitemaps": [], "pages": [], "items": [], "errors": Counter()}

    def requested(request):
        kind = "sitemaps" if re.match(r"/s/|/robots\.txt|/missing/s", path(request.url)) else "pages"
        referer = path(request.headers.get("Referer", b"").decode())
        mark = [request.meta.get("mark"), request.headers.get("X-Mark", b"").decode()]
        seen[kind].append([path(request.url), request.meta.get("depth", 0), referer, *mark])

    def scraped(item):
        seen["items"].append(ItemAdapter(item).asdict())

    def failed(failure):
        seen["errors"][failure.type.__name__] += 1

    crawler.signals.connect(requested, signals.request_reached_downloader)
    crawler.signals.connect(scraped, signals.item_scraped)
    crawler.signals.connect(failed, signals.spider_error)
    await runner.crawl(crawler, **idiom.arguments)
    seen["reason"] = crawler.stats.get_value("finish_reason")
    seen["report"] = crawler.spider.report() if hasattr(crawler.spider, "report") else None
    found = json.loads(json.dumps(seen, default=str))
    return {name: sorted(value, key=json.dumps) if isinstance(value, list) else value for name, value in found.items()}


async def crawl_all(whose: str, site: str) -> dict[str, Any]:
    """Run all idioms on the base class *whose*, one after the other."""
    settings: dict[str, Any] = {
        "LOG_ENABLED": False,
        "ROBOTSTXT_OBEY": False,
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "RETRY_ENABLED": False,
    }
    base = SitemapSpider
    if whose == "ours":
        base = HarvestSpider
        settings["ADDONS"] = {"sitemap_harvest.addon.Addon": 0}
    runner = AsyncCrawlerRunner(settings)
    return {name: await crawl(runner, idiom, base, site) for name, idiom in IDIOMS.items()}


def main(whose: str, site: str, into: str) -> None:
    """Write the results of all idioms on the base class *whose* (``ours`` or ``scrapys``) to the file *into*."""
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    from twisted.internet import reactor

    logging.disable()
    done = deferred_from_coro(crawl_all(whose, site))
    done.addCallback(lambda found: Path(into).write_text(json.dumps(found)))
    done.addErrback(lambda failure: failure.printTraceback())
    done.addBoth(lambda _: reactor.stop())
    reactor.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
