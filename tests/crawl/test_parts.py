"""The parts by themselves: what needs no crawl to be seen."""

from __future__ import annotations

import asyncio
import io
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
from scrapy import Request, Spider, signals
from scrapy.core.spidermw import SpiderMiddlewareManager
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.utils.test import get_crawler
from twisted.internet.defer import Deferred

from sitemap_harvest import SitemapRecord, UrlEntry
from sitemap_harvest.integration import default_settings as defaults
from sitemap_harvest.integration.items.exporters import JsonExporter, JsonLinesExporter, ParquetExporter
from sitemap_harvest.integration.items.item_processor import batch_incompatibility
from sitemap_harvest.integration.middlewares import LocalFilesMiddleware, OutsideError, RobotsCacheMiddleware, below
from sitemap_harvest.model import LedgerBatch, UrlBatch
from sitemap_harvest.spiders.sitemap import SitemapSpider
from tests.crawl.parts import BatchListener, Listener

URL = "https://a.example/robots.txt"


def crawler_of(spider: type[Spider] = SitemapSpider, **settings: Any):
    crawler = get_crawler(spider, {**defaults.ALL, **settings})
    middlewares = SpiderMiddlewareManager.from_crawler(crawler)
    crawler.engine = SimpleNamespace(scraper=SimpleNamespace(spidermw=middlewares))
    return crawler


class TestWhyRows:
    @pytest.mark.quick
    def test_nothing_stands_in_the_way_of_batches_in_our_own_settings(self):
        assert batch_incompatibility(crawler_of()) is None

    @pytest.mark.quick
    def test_nor_does_what_comes_with_scrapy(self):
        assert batch_incompatibility(crawler_of(CLOSESPIDER_ITEMCOUNT=5, PERIODIC_LOG_STATS=True)) is None

    @pytest.mark.quick
    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            pytest.param({"ITEM_PROCESSOR": "scrapy.pipelines.ItemPipelineManager"}, "ITEM_PROCESSOR", id="processor"),
            pytest.param({"EXTENSIONS": {}}, "BatchCounts", id="counts"),
            pytest.param(
                {
                    "EXTENSIONS": {"sitemap_harvest.integration.items.item_processor.BatchCounts": 0},
                    "FEEDS": {"x.jsonl": {"format": "jsonl"}},
                },
                "FeedExporter",
                id="feeds",
            ),
        ],
    )
    def test_a_part_that_is_not_ours_does(self, settings, words):
        assert words in batch_incompatibility(crawler_of(**settings))

    @pytest.mark.quick
    def test_a_handler_that_knows_only_items_does_and_is_named(self):
        crawler = crawler_of()
        listener = Listener.from_crawler(crawler)
        assert listener
        assert "Listener.heard is connected to item_scraped" in batch_incompatibility(crawler)

    @pytest.mark.quick
    def test_a_handler_that_says_it_takes_batches_does_not(self):
        crawler = crawler_of()
        listener = BatchListener.from_crawler(crawler)
        assert listener
        assert batch_incompatibility(crawler) is None

    @pytest.mark.quick
    def test_a_function_may_say_so_too(self):
        def heard(item):
            """Listen."""

        crawler = crawler_of()
        crawler.signals.connect(heard, signal=signals.item_scraped)
        assert "heard" in batch_incompatibility(crawler)
        heard.accepts_batches = True
        assert batch_incompatibility(crawler) is None


class TestRobotsOnce:
    @pytest.fixture
    def once(self):
        return RobotsCacheMiddleware.from_crawler(crawler_of())

    @staticmethod
    def ask(once: RobotsCacheMiddleware, **meta: Any) -> Response | None:
        """Ask as the downloader would let one do, and go there if there is no answer."""
        request = Request(URL, meta=meta)
        answer = Deferred.fromCoroutine(once.process_request(request)).result
        if answer is None:
            once.begin(request)
        else:
            assert answer.request is request
        return answer

    @staticmethod
    def answer(once: RobotsCacheMiddleware, response: Response | None, url: str = URL) -> None:
        """Let the download end, with *response* or an error."""
        if response is not None:
            once.keep(response, Request(url))
        once.end(Request(url))

    async def asked(self, once: RobotsCacheMiddleware) -> Response | None:
        request = Request(URL)
        answer = await once.process_request(request)
        if answer is None:
            once.begin(request)
        return answer

    @pytest.mark.quick
    def test_the_second_waits_for_the_first_and_gets_its_answer(self, once):
        async def scenario():
            first, second, third = (asyncio.create_task(self.asked(once)) for _ in range(3))
            await asyncio.sleep(0)
            assert [task.done() for task in (first, second, third)] == [True, False, False]
            self.answer(once, Response(URL, body=b"rules"))
            return [await task for task in (first, second, third)]

        first, second, third = asyncio.run(scenario())
        assert first is None
        assert second.body == third.body == b"rules"

    @pytest.mark.quick
    def test_an_error_lets_the_next_one_ask_and_the_others_wait_for_that(self, once):
        async def scenario():
            _, second, third = (asyncio.create_task(self.asked(once)) for _ in range(3))
            await asyncio.sleep(0)
            self.answer(once, None)
            assert await second is None
            await asyncio.sleep(0)
            assert not third.done()
            self.answer(once, Response(URL, body=b"rules"))
            return await third

        assert asyncio.run(scenario()).body == b"rules"

    @pytest.mark.quick
    def test_who_never_comes_to_the_downloader_keeps_nobody_waiting(self, once):
        for _ in range(2):
            assert Deferred.fromCoroutine(once.process_request(Request(URL))).result is None

    @pytest.mark.quick
    @pytest.mark.parametrize("status", [500, 503, 429])
    def test_a_failed_answer_is_asked_for_again_by_its_retry_and_by_nobody_else(self, once, status):
        self.ask(once)
        self.answer(once, Response(URL, status=status))
        assert self.ask(once, retry_times=1) is None
        self.answer(once, Response(URL, status=status))
        answer = self.ask(once)
        assert (answer.status, answer.request.meta["dont_retry"]) == (status, True)

    @pytest.mark.quick
    def test_that_there_is_none_is_an_answer(self, once):
        self.ask(once)
        self.answer(once, Response(URL, status=404))
        answer = self.ask(once)
        assert (answer.status, answer.request.meta) == (404, {})

    @pytest.mark.quick
    def test_other_addresses_and_methods_pass(self, once):
        for request in (Request("https://a.example/sitemap.xml"), Request(URL, method="HEAD")):
            for _ in range(2):
                assert Deferred.fromCoroutine(once.process_request(request)).result is None
                once.begin(request)
                once.keep(Response(request.url), request)
                once.end(request)

    def test_what_is_kept_is_bounded_and_the_latest_stays(self, once):
        def met(number, body=b""):
            url = f"https://{number}.example/robots.txt"
            once.begin(Request(url))
            self.answer(once, Response(url, body=body), url)

        for number in range(10_100):
            met(number)
        assert len(once._kept) == 10_000
        for number in range(5):
            met(number, b"#" * 30 * 1024 * 1024)
        assert [url[8] for url in once._kept] == ["3", "4"]
        met(5, b"#" * 100 * 1024 * 1024)
        assert [url[8] for url in once._kept] == ["5"]
        met(6)
        assert [url[8] for url in once._kept] == ["6"]
        assert once._kept_bytes == 0
        assert not once._downloading


class TestLocalFiles:
    @pytest.fixture
    def root(self, tmp_path):
        root = tmp_path / "public"
        for name in ("a.xml", "blog/index.html", "ein käse.xml", "%41.xml"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("")
        (tmp_path / "secret.xml").write_text("")
        (tmp_path / "public-too").mkdir()
        (tmp_path / "public-too/b.xml").write_text("")
        (root / "out.xml").symlink_to(tmp_path / "secret.xml")
        (root / "away").symlink_to(tmp_path)
        (root / "in.xml").symlink_to(root / "a.xml")
        (root / "round").symlink_to(root / "round")
        (root / "trap").mkdir()
        (root / "trap/index.html").symlink_to(tmp_path / "secret.xml")
        return root

    @pytest.mark.quick
    @pytest.mark.parametrize(
        ("path", "name"),
        [
            pytest.param("/a.xml", "a.xml", id="file"),
            pytest.param("/a.xml?x=1#y", "a.xml", id="query"),
            pytest.param("//a.xml", "a.xml", id="two-slashes"),
            pytest.param("/blog/../a.xml", "a.xml", id="dots-inside"),
            pytest.param("/ein%20k%C3%A4se.xml", "ein käse.xml", id="escaped"),
            pytest.param("/%2541.xml", "%41.xml", id="escaped-once"),
            pytest.param("/blog/", "blog/index.html", id="folder"),
            pytest.param("/blog", "blog", id="folder-without-slash"),
            pytest.param("/in.xml", "a.xml", id="link-inside"),
            pytest.param("/missing.xml", None, id="missing"),
            pytest.param("/", None, id="no-index"),
            pytest.param("/%2Fetc/hostname", None, id="escaped-root"),
            pytest.param("/round", None, id="link-in-a-circle"),
            pytest.param("/a%00.xml", None, id="nul"),
            pytest.param("/" + "x" * 5000, None, id="too-long"),
            pytest.param("/%FF%FE.xml", None, id="no-utf-8"),
        ],
    )
    def test_below(self, root, path, name):
        found = below(root, f"https://a.example{path}")
        assert found == (root / name if name else None)

    @pytest.mark.quick
    @pytest.mark.parametrize(
        "path",
        [
            pytest.param("/../secret.xml", id="dots"),
            pytest.param("/blog/../../secret.xml", id="dots-later"),
            pytest.param("/../public-too/b.xml", id="a-name-that-begins-alike"),
            pytest.param("/%2e%2e/secret.xml", id="escaped-dots"),
            pytest.param("/..%2Fsecret.xml", id="escaped-slash"),
            pytest.param("/out.xml", id="link-out"),
            pytest.param("/away/secret.xml", id="folder-link-out"),
            pytest.param("/trap/", id="index-link-out"),
        ],
    )
    def test_what_lies_outside_is_told_from_what_is_not_there(self, root, path):
        with pytest.raises(OutsideError):
            below(root, f"https://a.example{path}")

    @pytest.mark.quick
    @pytest.mark.parametrize("part", [LocalFilesMiddleware, RobotsCacheMiddleware])
    def test_spiders_of_others_keep_what_scrapy_does(self, part):
        with pytest.raises(NotConfigured) as error:
            part.from_crawler(SimpleNamespace(spidercls=Spider))
        assert not error.value.args


class TestExporters:
    @pytest.mark.quick
    def test_rows_batches_and_other_items_keep_their_order(self):
        entries = [
            UrlEntry(loc=f"https://a.example/{number}", key="k", site="s", sitemap="m", position=number)
            for number in range(5)
        ]
        file = io.BytesIO()
        exporter = JsonLinesExporter(file, encoding="utf-8", fields_to_export=["loc"])
        exporter.start_exporting()
        for item in (entries[0], {"loc": "other"}, entries[1], UrlBatch.of(entries[2:4]), entries[4]):
            exporter.export_item(item)
        exporter.finish_exporting()
        assert [line[-3:-2] for line in file.getvalue().splitlines()] == [b"0", b"r", b"1", b"2", b"3", b"4"]

    @pytest.mark.quick
    def test_json_is_one_array_whatever_comes(self):
        file = io.BytesIO()
        exporter = JsonExporter(file)
        exporter.start_exporting()
        exporter.export_batch(UrlBatch.of([]))
        exporter.export_item({"loc": "a"})
        exporter.export_batch(UrlBatch.of([]))
        exporter.finish_exporting()
        assert file.getvalue() == b'[{"loc": "a"}]'

    @pytest.mark.quick
    def test_parquet_takes_items_of_others(self):
        file = io.BytesIO()
        exporter = ParquetExporter(file)
        exporter.start_exporting()
        for number in range(2500):
            exporter.export_item({"number": number, "even": number % 2 == 0})
        exporter.finish_exporting()
        table = pq.read_table(io.BytesIO(file.getvalue()))
        assert table.num_rows == 2500
        assert table.schema.names == ["number", "even"]

    @pytest.mark.quick
    def test_parquet_leaves_out_items_that_lack_a_column_and_the_log_says_so(self, caplog):
        file = io.BytesIO()
        exporter = ParquetExporter(file)
        exporter.start_exporting()
        exporter.export_item(UrlEntry(loc="l", key="k", site="s", sitemap="m", position=1))
        exporter.export_item({"loc": "lacks", "key": "k"})
        exporter.export_item({"loc": "has", "site": "s", "sitemap": "m", "position": 2})
        exporter.finish_exporting()
        assert pq.read_table(io.BytesIO(file.getvalue()))["loc"].to_pylist() == ["l", "has"]
        (record,) = caplog.records
        assert "items with the columns loc, key are left out" in record.message

    @pytest.mark.quick
    def test_parquet_without_a_row_has_the_columns_that_were_asked_for(self):
        file = io.BytesIO()
        exporter = ParquetExporter(file, fields_to_export={"loc": "address", "nothing": "nothing"})
        exporter.start_exporting()
        exporter.export_batch(UrlBatch.of([]))
        exporter.finish_exporting()
        table = pq.read_table(io.BytesIO(file.getvalue()))
        assert (table.num_rows, table.schema.names) == (0, ["address", "nothing"])

    @pytest.mark.quick
    def test_parquet_of_nothing_can_be_read(self):
        file = io.BytesIO()
        exporter = ParquetExporter(file)
        exporter.start_exporting()
        exporter.finish_exporting()
        assert pq.read_table(io.BytesIO(file.getvalue())).shape == (0, 0)

    @pytest.mark.quick
    def test_parquet_holds_one_kind_and_the_log_says_what_was_left_out(self, caplog):
        file = io.BytesIO()
        exporter = ParquetExporter(file)
        exporter.start_exporting()
        for _ in range(3):
            exporter.export_batch(UrlBatch.of([UrlEntry(loc="l", key="k", site="s", sitemap="m", position=1)]))
            exporter.export_batch(LedgerBatch.of([SitemapRecord(url="u", root="r", found_by="index", outcome="read")]))
            exporter.export_item({"another": 1})
        exporter.finish_exporting()
        assert pq.read_table(io.BytesIO(file.getvalue())).num_rows == 3
        (record,) = caplog.records
        assert "one kind of item" in record.message
        assert "item_classes" in record.message
