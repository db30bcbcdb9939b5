"""Components tested without a crawl."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from datetime import date, datetime, time
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import openpyxl
import pyarrow as pa
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
from sitemap_harvest.integration import middlewares
from sitemap_harvest.integration.document_requests import IN_TURN
from sitemap_harvest.integration.items.csv_exporters import CsvExporter
from sitemap_harvest.integration.items.exporters import JsonExporter, JsonLinesExporter, ParquetExporter
from sitemap_harvest.integration.items.item_processor import batch_incompatibility
from sitemap_harvest.integration.items.xlsx_exporter import XlsxExporter
from sitemap_harvest.integration.middlewares import (
    CrawlDelayMiddleware,
    LocalFilesMiddleware,
    OutsideError,
    RobotsCacheMiddleware,
    below,
)
from sitemap_harvest.model import LedgerBatch, UrlBatch
from sitemap_harvest.spiders.sitemap import SitemapSpider
from tests.crawl.parts import BatchListener, Listener

URL = "https://a.example/robots.txt"


def crawler_of(spider: type[Spider] = SitemapSpider, **settings: Any):
    crawler = get_crawler(spider, {**defaults.ALL, **settings})
    middlewares = SpiderMiddlewareManager.from_crawler(crawler)
    crawler.engine = SimpleNamespace(scraper=SimpleNamespace(spidermw=middlewares))
    return crawler


class TestBatchIncompatibility:
    @pytest.mark.quick
    def test_batches_are_possible_with_our_own_settings(self):
        assert batch_incompatibility(crawler_of()) is None

    @pytest.mark.quick
    def test_batches_are_possible_with_components_of_scrapy(self):
        assert batch_incompatibility(crawler_of(CLOSESPIDER_ITEMCOUNT=5, PERIODIC_LOG_STATS=True)) is None

    @pytest.mark.quick
    def test_batches_are_possible_without_extensions(self):
        disabled = {"sitemap_harvest.integration.items.feed_exporter.FeedExporter": None}
        assert batch_incompatibility(crawler_of(EXTENSIONS=disabled)) is None

    @pytest.mark.quick
    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            pytest.param({"ITEM_PROCESSOR": "scrapy.pipelines.ItemPipelineManager"}, "ITEM_PROCESSOR", id="processor"),
            pytest.param(
                {
                    "EXTENSIONS": {"scrapy.extensions.feedexport.FeedExporter": 0},
                    "FEEDS": {"x.jsonl": {"format": "jsonl"}},
                },
                "FeedExporter",
                id="feeds",
            ),
        ],
    )
    def test_a_foreign_component_prevents_batches(self, settings, words):
        assert words in batch_incompatibility(crawler_of(**settings))

    @pytest.mark.quick
    def test_a_handler_for_items_only_prevents_batches_and_is_named(self):
        crawler = crawler_of()
        listener = Listener.from_crawler(crawler)
        assert listener
        assert "Listener.heard is connected to item_scraped" in batch_incompatibility(crawler)

    @pytest.mark.quick
    def test_a_handler_that_accepts_batches_does_not_prevent_them(self):
        crawler = crawler_of()
        listener = BatchListener.from_crawler(crawler)
        assert listener
        assert batch_incompatibility(crawler) is None

    @pytest.mark.quick
    def test_a_function_may_accept_batches_too(self):
        def heard(item):
            """A signal handler."""

        crawler = crawler_of()
        crawler.signals.connect(heard, signal=signals.item_scraped)
        assert "heard" in batch_incompatibility(crawler)
        heard.accepts_batches = True
        assert batch_incompatibility(crawler) is None


class TestCrawlDelay:
    @pytest.fixture
    def host(self, monkeypatch):
        """Return a host with a delay of 3 seconds, by a clock that only sleeping moves."""
        host, self.now = SimpleNamespace(delay=3.0, ready_at=2.0), 0.0
        monkeypatch.setattr(middlewares, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(middlewares, "sleep", self.sleep)
        frontier = SimpleNamespace(host=lambda _url: host)
        run = SimpleNamespace(sites=SimpleNamespace(frontier=frontier))
        monkeypatch.setattr(middlewares, "harvest_of", lambda _crawler: run)
        return host

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    def sent(self, *, is_running: bool = True, **meta: Any) -> float:
        """Return when a request with *meta* is sent."""
        middleware = CrawlDelayMiddleware(SimpleNamespace(engine=SimpleNamespace(running=is_running)))
        Deferred.fromCoroutine(middleware.process_request(Request(URL, meta=meta)))
        return self.now

    @pytest.mark.quick
    def test_requests_out_of_turn_are_sent_at_the_intervals_of_their_host(self, host):
        assert [self.sent(), self.sent(), self.sent(), host.ready_at] == [2.0, 5.0, 8.0, 11.0]

    @pytest.mark.quick
    def test_a_request_whose_turn_it_is_is_sent_at_once(self, host):
        assert (self.sent(**{IN_TURN: True}), host.ready_at) == (0.0, 2.0)

    @pytest.mark.quick
    def test_hosts_without_a_delay_need_no_wait(self, host):
        host.delay = 0.0
        assert (self.sent(), host.ready_at) == (0.0, 2.0)

    @pytest.mark.quick
    def test_nothing_waits_when_the_run_is_ending(self, host):
        assert self.sent(is_running=False) == 0.0


class TestRobotsOnce:
    @pytest.fixture
    def once(self):
        return RobotsCacheMiddleware.from_crawler(crawler_of())

    @staticmethod
    def send(once: RobotsCacheMiddleware, **meta: Any) -> Response | None:
        """Request as through the downloader: send the request unless there is a response."""
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

    async def requested(self, once: RobotsCacheMiddleware) -> Response | None:
        request = Request(URL)
        answer = await once.process_request(request)
        if answer is None:
            once.begin(request)
        return answer

    @pytest.mark.quick
    def test_the_second_request_waits_for_the_first_and_gets_its_response(self, once):
        async def scenario():
            first, second, third = (asyncio.create_task(self.requested(once)) for _ in range(3))
            await asyncio.sleep(0)
            assert [task.done() for task in (first, second, third)] == [True, False, False]
            self.answer(once, Response(URL, body=b"rules"))
            return [await task for task in (first, second, third)]

        first, second, third = asyncio.run(scenario())
        assert first is None
        assert second.body == third.body == b"rules"

    @pytest.mark.quick
    def test_after_an_error_the_next_request_is_sent_and_the_others_wait_for_it(self, once):
        async def scenario():
            _, second, third = (asyncio.create_task(self.requested(once)) for _ in range(3))
            await asyncio.sleep(0)
            self.answer(once, None)
            assert await second is None
            await asyncio.sleep(0)
            assert not third.done()
            self.answer(once, Response(URL, body=b"rules"))
            return await third

        assert asyncio.run(scenario()).body == b"rules"

    @pytest.mark.quick
    def test_a_request_that_never_reaches_the_downloader_blocks_nobody(self, once):
        for _ in range(2):
            assert Deferred.fromCoroutine(once.process_request(Request(URL))).result is None

    @pytest.mark.quick
    @pytest.mark.parametrize("status", [500, 503, 429])
    def test_a_failed_response_is_requested_again_only_by_its_retry(self, once, status):
        self.send(once)
        self.answer(once, Response(URL, status=status))
        assert self.send(once, retry_times=1) is None
        self.answer(once, Response(URL, status=status))
        answer = self.send(once)
        assert (answer.status, answer.request.meta["dont_retry"]) == (status, True)

    @pytest.mark.quick
    def test_a_404_is_a_response(self, once):
        self.send(once)
        self.answer(once, Response(URL, status=404))
        answer = self.send(once)
        assert (answer.status, answer.request.meta) == (404, {})

    @pytest.mark.quick
    def test_other_addresses_and_methods_pass(self, once):
        for request in (Request("https://a.example/sitemap.xml"), Request(URL, method="HEAD")):
            for _ in range(2):
                assert Deferred.fromCoroutine(once.process_request(request)).result is None
                once.begin(request)
                once.keep(Response(request.url), request)
                once.end(request)

    def test_the_number_of_stored_responses_is_limited_and_the_latest_stay(self, once):
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
    def test_files_outside_are_distinguished_from_missing_ones(self, root, path):
        with pytest.raises(OutsideError):
            below(root, f"https://a.example{path}")

    @pytest.mark.quick
    @pytest.mark.parametrize("part", [CrawlDelayMiddleware, LocalFilesMiddleware, RobotsCacheMiddleware])
    def test_other_spiders_keep_the_behaviour_of_scrapy(self, part):
        with pytest.raises(NotConfigured) as error:
            part.from_crawler(SimpleNamespace(spidercls=Spider))
        assert not error.value.args


ODD_COLUMNS = {
    "coded": pa.array(['a,"b"', None]).dictionary_encode(),
    "long": pa.array(['a,"b"', None], pa.large_string()),
    "view": pa.array(['a,"b"', None], pa.string_view()),
    "day": pa.array([date(2020, 1, 1), None]),
    "time": pa.array([time(1, 2, 3), None]),
    "nanoseconds": pa.array([1_500, None], pa.timestamp("ns", "UTC")),
    "exact": pa.array([Decimal("0.10"), None]),
    "small": pa.array([1, None], pa.int8()),
    "raw": pa.array([b"\xff", None]),
    "days": pa.array([[date(2020, 1, 1)], None]),
    "codes": pa.array([["x"], None], pa.list_(pa.dictionary(pa.int32(), pa.string()))),
    "many": pa.array([[1], None], pa.large_list(pa.int32())),
    "record": pa.array([{"at": time(1, 2)}, None]),
    "repeated": pa.RunEndEncodedArray.from_arrays([1, 2], ["x", None]),
}
ODD_VALUES = {
    "coded": 'a,"b"',
    "long": 'a,"b"',
    "view": 'a,"b"',
    "day": "2020-01-01",
    "time": "01:02:03",
    "nanoseconds": "1970-01-01T00:00:00.000001+00:00",
    "exact": 0.1,
    "small": 1,
    "raw": "\\xff",
    "days": ["2020-01-01"],
    "codes": ["x"],
    "many": [1],
    "record": {"at": "01:02:00"},
    "repeated": "x",
}


def exported(kind: type[Any], item: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    exporter = kind(file, **options)
    exporter.start_exporting()
    exporter.export_item(item)
    exporter.finish_exporting()
    return file.getvalue()


class TestExporters:
    @pytest.mark.quick
    def test_columns_of_any_type_that_a_pipeline_adds_are_written(self):
        entries = [UrlEntry(loc=f"https://a.example/{n}", sitemap="m", position=n) for n in (1, 2)]
        batch = UrlBatch.of(entries).with_columns(**ODD_COLUMNS)
        nothing = dict.fromkeys(ODD_COLUMNS)
        lines = exported(JsonLinesExporter, batch, fields_to_export=[*ODD_COLUMNS]).splitlines()
        assert [json.loads(line) for line in lines] == [ODD_VALUES, nothing]
        text = exported(CsvExporter, batch, fields_to_export=[*ODD_COLUMNS]).decode()
        first, second = csv.DictReader(io.StringIO(text, newline=""))
        shown = {name: value if isinstance(value, str) else json.dumps(value) for name, value in ODD_VALUES.items()}
        assert (first, second) == (shown | {"exact": "0.10"}, dict.fromkeys(ODD_COLUMNS, ""))
        book = openpyxl.load_workbook(io.BytesIO(exported(XlsxExporter, batch)))
        header, *rows = book["urls"].iter_rows(values_only=True)
        cells, others = (dict(zip(header, row, strict=True)) for row in rows)
        dates = {"day": datetime(2020, 1, 1), "nanoseconds": datetime(1970, 1, 1)}  # noqa: DTZ001 - as Excel has them
        assert {name: cells[name] for name in ODD_COLUMNS} == ODD_VALUES | shown | {"exact": 0.1, "small": 1} | dates
        assert {name: others[name] for name in ODD_COLUMNS} == nothing

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
    def test_json_is_one_array_for_any_items(self):
        file = io.BytesIO()
        exporter = JsonExporter(file)
        exporter.start_exporting()
        exporter.export_item(UrlBatch.of([]))
        exporter.export_item({"loc": "a"})
        exporter.export_item(UrlBatch.of([]))
        exporter.finish_exporting()
        assert file.getvalue() == b'[{"loc": "a"}]'

    @pytest.mark.quick
    def test_parquet_accepts_other_items(self):
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
    def test_parquet_leaves_out_items_that_lack_a_column_and_logs_it(self, caplog):
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
    def test_parquet_holds_the_kind_of_the_first_item_of_a_project(self, caplog):
        file = io.BytesIO()
        exporter = ParquetExporter(file)
        exporter.start_exporting()
        for page in ("a", "b"):
            exporter.export_item({"url": page, "title": page})
            exporter.export_item(UrlEntry(loc=page, key="k", site="s", sitemap="m", position=1))
        exporter.export_item({"url": "c", "price": 1})
        exporter.finish_exporting()
        assert pq.read_table(io.BytesIO(file.getvalue())).to_pylist() == [
            {"url": "a", "title": "a", "price": None},
            {"url": "b", "title": "b", "price": None},
            {"url": "c", "title": None, "price": 1},
        ]
        (record,) = caplog.records
        assert "This one has the columns url, title; items with the columns loc," in record.message

    @pytest.mark.quick
    def test_parquet_takes_rows_that_a_pipeline_made_dictionaries_for_the_same_kind(self):
        file = io.BytesIO()
        exporter = ParquetExporter(file)
        exporter.start_exporting()
        exporter.export_item({"loc": "a", "sitemap": "m", "position": 1})
        exporter.export_item(UrlEntry(loc="b", key="k", site="s", sitemap="m", position=2))
        exporter.finish_exporting()
        assert sorted(pq.read_table(io.BytesIO(file.getvalue()))["loc"].to_pylist()) == ["a", "b"]

    @pytest.mark.quick
    def test_parquet_without_a_row_has_the_requested_columns(self):
        file = io.BytesIO()
        exporter = ParquetExporter(file, fields_to_export={"loc": "address", "nothing": "nothing"})
        exporter.start_exporting()
        exporter.export_item(UrlBatch.of([]))
        exporter.finish_exporting()
        table = pq.read_table(io.BytesIO(file.getvalue()))
        assert (table.num_rows, table.schema.names) == (0, ["address", "nothing"])

    @pytest.mark.quick
    def test_an_empty_parquet_file_can_be_read(self):
        file = io.BytesIO()
        exporter = ParquetExporter(file)
        exporter.start_exporting()
        exporter.finish_exporting()
        assert pq.read_table(io.BytesIO(file.getvalue())).shape == (0, 0)

    @pytest.mark.quick
    def test_parquet_holds_one_kind_and_logs_the_items_left_out(self, caplog):
        file = io.BytesIO()
        exporter = ParquetExporter(file)
        exporter.start_exporting()
        for _ in range(3):
            exporter.export_item(UrlBatch.of([UrlEntry(loc="l", key="k", site="s", sitemap="m", position=1)]))
            exporter.export_item(LedgerBatch.of([SitemapRecord(url="u", root="r", found_by="index", outcome="read")]))
            exporter.export_item({"another": 1})
        exporter.finish_exporting()
        assert pq.read_table(io.BytesIO(file.getvalue())).num_rows == 3
        (record,) = caplog.records
        assert "one kind of item" in record.message
        assert "item_classes" in record.message
