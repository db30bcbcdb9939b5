"""Third-party pipelines, signal handlers and exporters, with batches and without."""

from __future__ import annotations

import json

import pytest

from sitemap_harvest.integration import default_settings as defaults
from sitemap_harvest.model import MAX_ROWS
from tests.crawl.crawling import lines
from tests.site import Page, Site, index, numbered, robots, urlset

OUR_FEEDS = "sitemap_harvest.integration.items.feed_exporter.FeedExporter"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "s.xml"
    path.write_text(urlset(*(f"https://a.example{path}" for path in numbered(6))))
    return path


def harvest(crawl, source, *pipelines, way="auto", calm=True, **settings):
    order = {f"tests.crawl.parts.{name}": 100 + number for number, name in enumerate(pipelines)}
    return crawl(
        sitemap=source,
        emit="urls",
        feeds={f"{crawl.folder}/out.jsonl": {"format": "jsonl"}},
        settings={"ITEM_PIPELINES": order, "SITEMAP_HARVEST_ITEMS": way, **settings},
        calm=calm,
    )


def out(crawl):
    rows = lines(crawl.folder / "out.jsonl")
    (crawl.folder / "out.jsonl").unlink(missing_ok=True)
    return rows


def lost(run):
    """Return how many items were lost by pipeline."""
    prefix = "sitemap_harvest/lost_items"
    counts = {name.removeprefix(f"{prefix}/"): run.stats[name] for name in run.stats if name.startswith(f"{prefix}/")}
    assert run.stats.get(prefix, 0) == sum(counts.values())
    return counts


@pytest.mark.quick
@pytest.mark.parametrize("way", ["auto", "rows"])
def test_pipelines_for_items_see_every_url(crawl, source, way):
    run = harvest(crawl, source, "Plain", "Awaited", "OldStyle", "DropEven", way=way, calm=False)
    rows = out(crawl)
    assert [row["loc"] for row in rows] == [f"https://a.example/p{number}" for number in (1, 3, 5)]
    assert {(row["title"], row["changefreq"], row["priority_text"]) for row in rows} == {
        ("plain", "awaited", "sitemap")
    }
    assert run.stats["item_scraped_count"] == run.stats["item_dropped_count"] == 3
    assert run.stats["item_dropped_reasons_count/DropItem"] == 3
    assert run.log.count("Dropped: even") == 3
    assert not run.errors
    assert "Traceback" not in run.log


def test_a_run_ends_as_soon_as_its_last_item_is_processed(crawl, source, tmp_path):
    settings = {
        "ITEM_PIPELINES": {"tests.crawl.parts.SlowAtTheEnd": 1},
        "EXTENSIONS": {"tests.crawl.parts.NoHeartbeat": 0},  # by which Scrapy would look anyway
    }
    run = crawl(sitemap=source, store=tmp_path / "store", settings=settings)
    assert len(run.sites) == 1
    assert run.stats["elapsed_time_seconds"] > 0.3


@pytest.mark.parametrize("way", ["auto", "rows"])
def test_a_pipeline_may_change_the_type_of_an_item(crawl, source, way):
    run = harvest(crawl, source, "ToDict", way=way)
    assert out(crawl) == [{"address": f"https://a.example/p{number}"} for number in range(1, 7)]
    assert run.stats["item_scraped_count"] == 6


@pytest.mark.parametrize("way", ["auto", "dicts", "rows"])
def test_an_error_in_a_pipeline_loses_one_item(crawl, source, way):
    run = harvest(crawl, source, "FailAtThree", way=way, calm=False)
    assert [row["loc"][-1] for row in out(crawl)] == ["1", "2", "4", "5", "6"]
    assert run.stats["item_scraped_count"] == 5
    assert lost(run) == {"tests.crawl.parts.FailAtThree": 1}
    first, last = run.errors
    assert "tests.crawl.parts.FailAtThree failed on" in first
    assert "ValueError('three is too much'). The item is lost: it is in no output." in first
    assert ('set SITEMAP_HARVEST_ITEMS = "dicts"' in first) is (way != "dicts")
    assert last.endswith("tests.crawl.parts.FailAtThree failed on 1 item, which is lost")
    assert run.log.count("Traceback") == 1


@pytest.mark.quick
@pytest.mark.parametrize("way", ["auto", "rows"])
def test_of_many_errors_in_a_pipeline_the_first_is_logged(crawl, source, way):
    (crawl.folder / "out.jsonl").write_text('{"loc": "kept"}\n')
    overwrite = {f"{crawl.folder}/out.jsonl": {"format": "jsonl", "overwrite": True}}
    run = harvest(crawl, source, "Fail", "DropEven", way=way, calm=False, FEEDS=overwrite)
    assert out(crawl) == [{"loc": "kept"}]
    assert "out.jsonl stays as it was: a pipeline failed on items, and none are left" in run.log
    assert lost(run) == {"tests.crawl.parts.Fail": 6}
    assert "tests.crawl.parts.Fail failed on the UrlEntry https://a.example/p1: KeyError('price')." in run.errors[0]
    assert run.errors[1].endswith("tests.crawl.parts.Fail failed on 6 items, which are lost")
    assert run.log.count("Traceback") == 1
    assert len(run.errors) == 2


@pytest.mark.parametrize("way", ["auto", "rows"])
def test_the_log_has_the_first_hundred_dropped_items(crawl, source, way):
    source.write_text(urlset(*(f"https://a.example{path}" for path in numbered(250))))
    run = harvest(crawl, source, "DropEven", way=way)
    assert run.log.count("Dropped: even") == 100
    assert run.log.count("More dropped items are counted, not logged") == 1
    assert run.stats["item_dropped_count"] == len(out(crawl)) == 125


@pytest.mark.parametrize("way", ["auto", "rows"])
def test_a_value_that_its_column_cannot_hold_loses_no_item(crawl, source, way):
    run = harvest(crawl, source, "WrongType", way=way)
    assert [row["position"] for row in out(crawl)] == [1, "second", 3, 4, 5, 6]
    assert run.stats["item_scraped_count"] == 6


@pytest.mark.parametrize("way", ["auto", "dicts", "rows"])
def test_an_item_that_a_pipeline_forgets_to_return_affects_no_other(crawl, source, way):
    run = harvest(crawl, source, "Forgetful", "OnlyOdd", "Plain", way=way, calm=False)
    assert [(row["position"], row["title"]) for row in out(crawl)] == [(1, "plain"), (3, "plain")]
    assert run.stats["item_scraped_count"] == 2
    assert "item_dropped_count" not in run.stats
    assert lost(run) == {"tests.crawl.parts.Forgetful": 4}
    assert "TypeError('process_item() returned None, which is not an item')" in run.errors[0]
    assert run.errors[0].endswith("More failures of this pipeline are counted, not logged")
    assert len(run.errors) == 2


@pytest.mark.parametrize("way", ["auto", "rows", "dicts"])
def test_an_item_that_does_not_fit_into_a_batch_passes_pipelines_for_batches_by(crawl, source, way):
    run = harvest(crawl, source, "WrongType", "OnlyOdd", way=way)
    assert [row["position"] for row in out(crawl)] == [1, "second", 3, 5]
    assert run.log.count("tests.crawl.parts.OnlyOdd does not get all items: process_batch() takes none that") == 1


@pytest.mark.parametrize("way", ["auto", "rows"])
def test_a_batch_that_a_pipeline_forgets_to_return_is_named(crawl, source, way):
    run = harvest(crawl, source, "ForgetfulOfBatches", way=way, calm=False)
    assert out(crawl) == []
    assert "item_scraped_count" not in run.stats
    assert lost(run) == {"tests.crawl.parts.ForgetfulOfBatches": 6}
    assert "tests.crawl.parts.ForgetfulOfBatches failed on " in run.errors[0]
    assert "TypeError('process_batch() returned None, which is not a batch')" in run.errors[0]
    assert len(run.errors) == 2


@pytest.mark.quick
@pytest.mark.parametrize("way", ["auto", "rows"])
def test_a_pipeline_for_batches_works_on_either(crawl, source, way):
    run = harvest(crawl, source, "OnlyOdd", "Plain", way=way, calm=False)
    rows = out(crawl)
    assert [row["loc"][-1] for row in rows] == ["1", "3", "5"]
    assert {row["title"] for row in rows} == {"plain"}
    assert run.stats["item_scraped_count"] == 3
    assert run.stats["item_dropped_count"] == run.stats["item_dropped_reasons_count/DropItem"] == 3
    assert "INFO: Pipelines dropped 3 items\n" in run.log
    assert not run.errors


@pytest.mark.parametrize("way", ["auto", "rows"])
def test_a_run_whose_rows_a_pipeline_for_batches_removes_has_found_nothing(crawl, source, way):
    closing = crawl.folder / "closing.json"
    run = harvest(crawl, source, "NoRows", way=way, SITEMAP_HARVEST_CLOSING=str(closing))
    assert run.stats["item_dropped_count"] == run.stats["item_dropped_reasons_count/DropItem"] == 6
    assert (json.loads(closing.read_bytes())["verdict"], out(crawl)) == ("nothing-found", [])
    assert "WARNING: Pipelines dropped 6 items\n" in run.log


def test_asynchronous_pipelines_run_concurrently_and_order_is_kept(crawl, source):
    source.write_text(urlset(*(f"https://a.example{path}" for path in numbered(250))))
    run = harvest(crawl, source, "Slow", calm=False)
    assert [row["position"] for row in out(crawl)] == [*range(1, 7), *range(9, 251)]
    assert run.stats["slow/together"] == 100
    assert run.stats["item_dropped_count"] == 1
    assert lost(run) == {"tests.crawl.parts.Slow": 1}


def test_rows_of_other_documents_in_between_do_not_make_a_document_complete(crawl, serve):
    """The limit falls into the second batch of the long document, after the short one."""
    long, short = (urlset(*(f"https://a.example{path}" for path in numbered(size))) for size in (MAX_ROWS + 500, 2_000))
    site = serve({"/first.xml": urlset(), "/long.xml": long, "/short.xml": Page(short, delay=0.1)})
    run = crawl(
        sitemap=" ".join(f"{site.url}/{name}.xml" for name in ("first", "long", "short")),
        limit=MAX_ROWS + 2_100,
        settings={"ITEM_PIPELINES": {"tests.crawl.parts.Slow": 100}, "SITEMAP_HARVEST_ITEMS": "rows"},
        calm=False,
    )
    assert sorted(run.fates(site.url).values()) == ["partial", "read", "read"]


def test_a_dropped_batch_counts_all_its_urls(crawl, source):
    run = harvest(crawl, source, "DropBatch", calm=False)
    assert out(crawl) == []
    assert run.stats["item_dropped_count"] == run.stats["item_dropped_reasons_count/DropItem"] == 6
    assert "item_scraped_count" not in run.stats


def test_a_handler_for_items_gets_items_and_the_log_says_so_once(crawl, source):
    run = harvest(crawl, source, EXTENSIONS={"tests.crawl.parts.Listener": 0})
    assert run.stats["heard/UrlEntry"] == 6
    (line,) = [line for line in run.log.splitlines() if "are processed one by one" in line]
    assert "Listener.heard" in line
    assert "accepts_batches" in line
    assert len(out(crawl)) == 6


def test_a_handler_for_batches_gets_them(crawl, source):
    run = harvest(crawl, source, EXTENSIONS={"tests.crawl.parts.BatchListener": 0})
    assert run.stats["heard/UrlBatch"] == 1
    assert "heard/UrlEntry" not in run.stats
    assert "one by one" not in run.log


def test_a_spider_middleware_for_items_gets_items_and_the_log_says_so(crawl, source):
    run = harvest(crawl, source, SPIDER_MIDDLEWARES={"tests.crawl.parts.Watches": 100})
    assert run.stats["seen/UrlEntry"] == 6
    assert "seen/UrlBatch" not in run.stats
    (line,) = [line for line in run.log.splitlines() if "are processed one by one" in line]
    assert "the spider middleware Watches does not set accepts_batches = True" in line


def test_a_spider_middleware_for_batches_gets_them(crawl, source):
    run = harvest(crawl, source, SPIDER_MIDDLEWARES={"tests.crawl.parts.WatchesBatches": 100})
    assert run.stats["seen/UrlBatch"] == 1
    assert "one by one" not in run.log


def test_a_handler_that_is_connected_late_gets_items_from_then_on(serve, crawl):
    pages = {f"/{number}.xml": urlset(*numbered(10, start=10 * number)) for number in range(5)}
    site = serve(pages)
    run = crawl(
        sitemap=" ".join(site.url + path for path in pages),
        emit="urls",
        settings={"EXTENSIONS": {"tests.crawl.parts.ListensLate": 0}, "SITEMAP_HARVEST_CONCURRENCY": 1},
    )
    assert len(run.urls) == 50
    assert run.stats["heard/UrlBatch"] == 1
    assert run.stats["heard/UrlEntry"] == 2 * 40
    assert run.log.count("are processed one by one") == 1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param({"ITEM_PROCESSOR": "scrapy.pipelines.ItemPipelineManager"}, "ITEM_PROCESSOR", id="processor"),
        pytest.param(
            {"EXTENSIONS": {OUR_FEEDS: None, "scrapy.extensions.feedexport.FeedExporter": 0}},
            "FeedExporter",
            id="feeds",
        ),
    ],
)  # fmt: skip
def test_urls_travel_one_by_one_if_a_component_is_replaced(crawl, source, settings, words):
    run = harvest(crawl, source, **settings)
    assert len(out(crawl)) == run.stats["item_scraped_count"] == 6
    (line,) = [line for line in run.log.splitlines() if "are processed one by one" in line]
    assert words in line


def test_rows_are_counted_without_an_extension_of_the_package(crawl, source):
    disabled = {OUR_FEEDS: None, "scrapy.extensions.feedexport.FeedExporter": None}
    run = harvest(crawl, source, EXTENSIONS=disabled, CLOSESPIDER_ITEMCOUNT=3)
    assert run.stats["item_scraped_count"] == 6
    assert run.reason == "closespider_itemcount"
    assert "one by one" not in run.log


def test_an_exporter_for_items_gets_items(crawl, tmp_path, source):
    run = crawl(
        sitemap=source,
        emit="urls",
        feeds={f"{tmp_path}/out.lst": {"format": "lst"}, f"{tmp_path}/out.jsonl": {"format": "jsonl"}},
        settings={"FEED_EXPORTERS": {**defaults.FEED_EXPORTERS, "lst": "tests.crawl.parts.AddressExporter"}},
    )  # fmt: skip
    assert (tmp_path / "out.lst").read_text().splitlines()[1] == "UrlEntry https://a.example/p2"
    assert len(lines(tmp_path / "out.jsonl")) == 6
    assert "one by one" not in run.log


@pytest.mark.parametrize("way", ["auto", "rows"])
def test_closespider_itemcount_counts_urls(serve, crawl, way):
    pages = {f"/{number}.xml": urlset(*numbered(10, start=10 * number)) for number in range(30)}
    site = serve(pages)
    run = crawl(
        sitemap=" ".join(site.url + path for path in pages),
        emit="urls",
        settings={"CLOSESPIDER_ITEMCOUNT": 25, "SITEMAP_HARVEST_ITEMS": way, "SITEMAP_HARVEST_CONCURRENCY": 1},
    )
    assert run.reason == "closespider_itemcount"
    assert 25 <= len(run.urls) == run.stats["item_scraped_count"] <= 60


@pytest.mark.parametrize(
    ("part", "heard"),
    [
        pytest.param("BatchListener", {"heard/SitemapRecord": 2, "heard/LedgerBatch": 1}, id="takes batches"),
        pytest.param("Listener", {"heard/SitemapRecord": 152}, id="takes rows"),
    ],
)
def test_unwanted_document_records_travel_together_past_pipelines_for_batches(crawl, part, heard):
    with Site({"/robots.txt": robots("/index.xml"), "/index.xml": index(*numbered(150))}) as site:
        run = crawl(
            site=site.url,
            emit="sitemaps",
            follow="index",
            settings={
                "EXTENSIONS": {f"tests.crawl.parts.{part}": 0},
                "ITEM_PIPELINES": {"tests.crawl.parts.OnlyOdd": 0},
            },
        )
    rows = [row for row in run.ledger if row["outcome"] == "skipped"]
    assert [row["url"] for row in rows] == [f"{site.url}{path}" for path in numbered(150)]
    assert run.stats["item_scraped_count"] == len(run.ledger) == 152
    assert {name: count for name, count in run.stats.items() if name.startswith("heard/")} == heard


@pytest.mark.parametrize("way", ["auto", "rows"])
def test_items_of_another_type_that_no_feed_selects_are_counted(crawl, source, way):
    feeds = {f"{crawl.folder}/out.jsonl": {"format": "jsonl", "item_classes": ["sitemap_harvest.UrlEntry"]}}
    run = harvest(crawl, source, "ToDict", way=way, calm=False, FEEDS=feeds)
    assert out(crawl) == []
    (line,) = run.errors
    assert "out.jsonl: pipelines replaced 6 UrlEntry items by dict items, which no output gets" in line
    other = {"format": "jsonl", "item_classes": ["builtins.dict"]}
    harvest(crawl, source, "ToDict", way=way, FEEDS={**feeds, f"{crawl.folder}/other.jsonl": other})
    assert len(lines(crawl.folder / "other.jsonl")) == 6
