"""The log as JSON: one object for each record of the process, with the run that it belongs to, or none."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from contextvars import ContextVar

import pytest

from sitemap_harvest.engine.run_state import fields
from sitemap_harvest.reporting import json_log
from sitemap_harvest.reporting.json_log import JsonFormatter
from tests import forked
from tests.crawl.crawling import HERE
from tests.site import index, robots, urlset
from tests.waiting import PATIENCE_SECONDS

_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
JSON = {"SITEMAP_HARVEST_LOG": "json", "LOG_VERSIONS": ""}


class Unspeakable:
    def __repr__(self):
        raise RuntimeError("no")


class MuteError(Exception):
    def __str__(self):
        raise RuntimeError("no")


@pytest.fixture
def no_run(monkeypatch):
    """No spider in the process: other tests may have left one that is not collected yet."""
    monkeypatch.setattr(json_log, "live_refs", {})
    monkeypatch.setattr(json_log, "_current", ContextVar("none", default=None))


def formatted(message, *arguments, error=None, **more):
    record = logging.LogRecord("theirs", logging.INFO, __file__, 1, message, arguments or None, None)
    record.created = 1795324254.5
    record.exc_info = (type(error), error, None) if error is not None else None
    record.__dict__.update(more)
    line = JsonFormatter().format(record)
    assert line.isascii()
    assert "\n" not in line
    return {name: value for name, value in json.loads(line).items() if name not in {"time", "level", "logger"}}


@pytest.mark.quick
@pytest.mark.usefixtures("no_run")
@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        pytest.param(("plain",), {"message": "plain"}, id="plain"),
        pytest.param(("%s of %d", "a", 2), {"message": "a of 2"}, id="arguments"),
        pytest.param(("100% of %s",), {"message": "100% of %s"}, id="per-cent"),
        pytest.param(("a\nb\r\n\u2028c\0",), {"message": "a\nb\\r\n\\u2028c\\x00"}, id="line-breaks"),
        pytest.param(("Ä 漢 😀",), {"message": "Ä 漢 😀"}, id="other-alphabets"),
        pytest.param(("half \udcff",), {"message": "half \\udcff"}, id="lone-surrogate"),
        pytest.param(("%d", "x"), {"message": "%d (arguments not available: TypeError)"}, id="wrong-argument"),
        pytest.param(
            ("%s", Unspeakable()), {"message": "%s (arguments not available: RuntimeError)"}, id="argument-fails"
        ),
        pytest.param((Unspeakable(),), {"message": "(a Unspeakable that cannot be shown)"}, id="message-fails"),
        pytest.param(({"a": 1},), {"message": "{'a': 1}"}, id="message-is-no-text"),
    ],
)
def test_any_message_is_one_line_of_json(given, wanted):
    assert formatted(*given) == wanted


@pytest.mark.quick
@pytest.mark.usefixtures("no_run")
@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        pytest.param(1, 1, id="number"),
        pytest.param(True, True, id="flag"),
        pytest.param(float("nan"), "nan", id="no-number"),
        pytest.param(float("inf"), "inf", id="infinite"),
        pytest.param(10**400, str(10**400), id="huge"),
        pytest.param(10**9999, "(a int that cannot be shown)", id="too-huge"),
        pytest.param([1], "[1]", id="list"),
        pytest.param(Unspeakable(), "(a Unspeakable that cannot be shown)", id="fails"),
        pytest.param("a\udc80", "a\\udc80", id="surrogate"),
    ],
)
def test_any_field_value_is_json(value, wanted):
    assert formatted("m", **fields("e", value=value)) == {"message": "m", "event": "e", "value": wanted}


@pytest.mark.quick
@pytest.mark.usefixtures("no_run")
def test_exceptions_are_text_in_one_field():
    assert formatted("m", error=ValueError("a\nb"))["exception"] == "ValueError: a\n    b"
    assert "MuteError" in formatted("m", error=MuteError())["exception"]
    assert formatted("m", stack_info="Stack:\n  x")["exception"] == "Stack:\n  x"
    assert "exception" not in formatted("m")


@pytest.mark.quick
@pytest.mark.usefixtures("no_run")
def test_extra_fields_of_other_loggers_are_ignored():
    assert formatted("m", item=Unspeakable(), harvest="theirs") == {"message": "m"}


@pytest.mark.quick
@pytest.mark.usefixtures("no_run")
def test_time_level_and_logger():
    record = logging.LogRecord("a.b", logging.WARNING, __file__, 1, "m", None, None)
    record.created = 1795324254.5
    assert json.loads(JsonFormatter().format(record)) == {
        "time": "2026-11-22T05:10:54.500Z", "level": "WARNING", "logger": "a.b", "message": "m"
    }  # fmt: skip


def split(log):
    """Return the lines before the log is JSON, and its objects from then on."""
    rows = log.splitlines()
    first = next(number for number, row in enumerate(rows) if row.startswith("{"))
    return rows[:first], [json.loads(row) for row in rows[first:]]


@pytest.mark.quick
def test_a_crawl_logs_json_and_each_line_has_its_run_and_job(serve, crawl):
    site = serve({"/robots.txt": robots("/i.xml"), "/i.xml": index("/a.xml", "/gone.xml"), "/a.xml": urlset("/1")})
    run = crawl(site=site.url, settings=JSON, _job="job-7")
    before, rows = split(run.log)
    assert [row.partition("Scrapy ")[0][-8:] for row in before] == ["] INFO: "]  # at the start: no spider yet
    ids = {row["run"] for row in rows}
    assert ids == {run.stats["sitemap_harvest/run"]}
    assert _ID.fullmatch(*ids)
    assert {(row["job"], row["spider"]) for row in rows} == {("job-7", "sitemap")}
    assert all(_TIME.fullmatch(row["time"]) for row in rows)
    (summary,) = [row for row in rows if row.get("event") == "summary"]
    assert (summary["urls"], summary["documents"]) == (1, 4)
    assert summary["message"].startswith(f"Run {summary['run']}: 1 URL from 4 documents (")
    (gone,) = [row for row in rows if row.get("event") == "document"]
    assert (gone["url"], gone["outcome"]) == (f"{site.url}/gone.xml", "absent")
    loggers = {row["logger"].partition(".")[0] for row in rows}
    assert {"scrapy", "sitemap"} <= loggers


def test_the_log_file_of_a_scrapyd_job(serve, crawl, tmp_path):
    site = serve({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/1")})
    settings = {**JSON, "LOG_FILE": f"{tmp_path}/job.log", "LOG_ENCODING": "latin-1", "LOG_LEVEL": "INFO"}
    run = crawl(site=site.url, settings=settings, _job="ä", _version="1")
    assert run.log == ""
    _, rows = split((tmp_path / "job.log").read_text("latin-1"))
    assert {row["job"] for row in rows} == {"ä"}


def test_scrapy_harvest_crawl_logs_only_json_from_its_first_line(serve, crawl, tmp_path):
    site = serve({"/s.xml": urlset("/1")})
    run = forked.scrapy(
        *("harvest", "crawl", f"{site.url}/s.xml", "-O", "u.jsonl", "-L", "INFO", "-s", "SITEMAP_HARVEST_LOG=json"),
        *("--logfile", "run.log"),
        cwd=tmp_path,
    )
    assert run.returncode == 0, run.stderr
    rows = [json.loads(row) for row in (tmp_path / "run.log").read_text().splitlines()]
    assert rows[0]["message"].startswith("Scrapy")
    (shown,) = {row["run"] for row in rows if "run" in row}
    assert f"Run {shown}: ended after" in run.stderr


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param(
            {"SITEMAP_HARVEST_LOG": "xml"}, "SITEMAP_HARVEST_LOG is 'xml'; it must be one of text, json", id="xml"
        ),
        pytest.param({"SITEMAP_HARVEST_LOG": "JSON"}, "SITEMAP_HARVEST_LOG is 'JSON'; it must be", id="capitals"),
    ],
)
def test_an_invalid_value_ends_the_run_with_one_line(crawl, settings, words):
    run = crawl(site="a.example", settings=settings, calm=False)
    assert run.reason == "wrong_argument"
    assert [words in error for error in run.errors] == [True]


SCRIPT = """
import asyncio, json, logging, sys, threading
from scrapy import Spider
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.utils.log import configure_logging
from scrapy.utils.reactor import install_reactor
install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
from twisted.internet import reactor
from twisted.internet.threads import deferToThread
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from sitemap_harvest.spiders import HarvestSpider

theirs = logging.getLogger("theirs")

class Shop(HarvestSpider):
    name = "shop"
    async def parse(self, response):
        for _ in range(5):
            theirs.info("callback of %s", self.harvest.run_id)
            await asyncio.sleep(0.02)
            await maybe_deferred_to_future(deferToThread(theirs.info, "thread of %s", self.harvest.run_id))
        theirs.info("callback of %s", self.harvest.run_id)
        yield {"url": response.url}

class Plain(Spider):
    name = "plain"
    async def start(self):
        for _ in range(20):
            theirs.info("callback of plain")
            self.logger.info("callback of plain")
            await asyncio.sleep(0.02)
        return
        yield

async def main():
    settings = {"LOG_FILE": sys.argv[2], "LOG_LEVEL": "DEBUG", "ROBOTSTXT_OBEY": False}
    configure_logging(settings)
    runner = AsyncCrawlerRunner(settings)
    asked = {"SITEMAP_HARVEST_LOG": "json", **settings}
    Shop.custom_settings = {"SITEMAP_HARVEST_LOG": "json"}
    await asyncio.gather(
        runner.crawl(Shop, sitemap=f"{sys.argv[1]}/s.xml"),
        runner.crawl(Plain),
        runner.crawl(Shop, sitemap=f"{sys.argv[1]}/s.xml", _job="two"),
    )
    theirs.info("after all")

d = deferred_from_coro(main())
d.addBoth(lambda result: (print(result), reactor.stop()))
reactor.run()
"""


def test_of_several_runs_in_one_process_each_line_has_the_right_one_or_none(serve, tmp_path):
    site = serve({"/s.xml": urlset("/1", "/2"), "/1": "page", "/2": "page"})
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, str(tmp_path / "script.py"), site.url, str(tmp_path / "log")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=PATIENCE_SECONDS, cwd=HERE)
    assert done.stdout == "None\n", done.stdout + done.stderr
    _, rows = split((tmp_path / "log").read_text())
    said = [row for row in rows if " of " in row["message"] and row["logger"] in {"theirs", "plain"}]
    runs = {row["message"].rpartition(" ")[2] for row in said} - {"plain"}
    assert len(runs) == 2
    for row in said:
        own = row["message"].rpartition(" ")[2]
        assert row.get("run") in ({own, None} if own in runs else {None}), row
    callbacks = [row for row in said if row["message"].startswith("callback of 2")]
    assert len(callbacks) == 24
    assert all(row["run"] in row["message"] for row in callbacks)
    assert {row.get("spider") for row in said if row["logger"] == "plain"} == {"plain"}
    jobs = {row["run"]: row.get("job") for row in rows if row.get("spider") == "shop"}
    assert set(jobs.values()) == {None, "two"}
    closed = [row for row in rows if row["message"] == "Spider closed (finished)"]
    assert {row["spider"] for row in closed} == {"shop", "plain"}
    assert {row.get("run") for row in closed} == {*runs, None}
