"""The closing record: one JSON object for the program that started the run, however the run ended."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta

import pyarrow.parquet as pq
import pytest
from itemadapter import ItemAdapter

from sitemap_harvest import __version__
from sitemap_harvest.model.run import RunReport
from tests import forked
from tests.crawl.crawling import HERE
from tests.site import Manner, Page, index, numbered, robots, urlset
from tests.snapshots.store.making import change_manifest
from tests.waiting import PATIENCE_SECONDS, wait_until

SCHEMA = ItemAdapter.get_json_schema(RunReport)
_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")
_NOTHING = {
    "documents": {}, "urls": 0, "dropped": {}, "sites": {}, "changes": {}, "problems": {},
    "errors": 0, "bytes": 0, "queued": 0,
}  # fmt: skip


_TYPES = {
    "object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
    "null": type(None),
}  # fmt: skip


def check(value, schema):
    """Assert that *value* is valid under the JSON Schema *schema*, for the keywords that it uses."""
    known = {"type", "properties", "required", "additionalProperties", "items", "default", "description", "format"}
    assert schema.keys() <= known
    names = schema.get("type", [])
    accepted = tuple(_TYPES[name] for name in ([names] if isinstance(names, str) else names))
    assert not accepted or isinstance(value, accepted)
    assert not isinstance(value, bool) or bool in accepted
    if schema.get("format") == "date-time":
        assert datetime.fromisoformat(value).utcoffset() == timedelta(0)
    if isinstance(value, list):
        for one in value:
            check(one, schema.get("items", {}))
    if isinstance(value, dict):
        check_fields(value, schema)


def check_fields(value, schema):
    assert set(schema.get("required", ())) <= value.keys()
    others = schema["additionalProperties"]
    for name, one in value.items():
        check(one, schema.get("properties", {}).get(name) or ({} if others is True else others))


def normal(text, *, site=None, folder=None):
    """Return a record without the values that differ from run to run, after checking those."""
    assert text.count("\n") == 1
    assert text.endswith("\n")
    for known, word in ((site, "SITE"), (folder, "FOLDER")):
        text = text.replace(str(known), word) if known else text
    record = json.loads(text)
    check(record, SCHEMA)
    assert list(record) == list(SCHEMA["properties"])
    assert (record.pop("format"), record.pop("version")) == (1, __version__)
    assert _ID.fullmatch(record["run"])
    assert record.pop("started_at") <= record.pop("ended_at")
    assert record.pop("seconds") >= 0
    assert record.pop("peak_memory_bytes") > 50_000_000
    return record


@pytest.fixture
def close(crawl, tmp_path):
    """Return a function that crawls and returns the run and its record."""

    def run(*, settings=None, calm=True, **given):
        settings = {"SITEMAP_HARVEST_CLOSING": f"{tmp_path}/closing.json", **(settings or {})}
        done = crawl(settings=settings, calm=calm, **given)
        text = (tmp_path / "closing.json").read_text()
        (tmp_path / "closing.json").unlink()
        record = normal(text, site=given.get("site") or given.get("sitemap", "").rpartition("/")[0], folder=tmp_path)
        if "sitemap_harvest/run" in done.stats:
            assert record.pop("run") == done.stats["sitemap_harvest/run"]
        return done, record

    return run


def feed(name, items, ok=True):
    return {"uri": f"FOLDER/{name}.jsonl", "items": items, "ok": ok}


@pytest.mark.quick
def test_the_record_of_a_run(serve, close):
    pages = {"/i.xml": index("/a.xml", "/gone.xml"), "/a.xml": urlset("/1", "/2", "not a url")}
    site = serve({"/robots.txt": robots("/i.xml"), **pages})
    _, record = close(site=site.url, include="/1$", _job="job-7")
    assert record == {
        "job": "job-7",
        "spider": "sitemap",
        "arguments": {"emit": "urls,sitemaps", "site": "SITE", "include": "/1$"},
        "finish_reason": "finished",
        "verdict": "partly-failed",
        "exit_code": 4,
        "refused": None,
        "counts": {
            **_NOTHING,
            "documents": {"read": 3, "absent": 1},
            "urls": 1,
            "dropped": {"include": 2},
            "sites": {"found": 1},
            "problems": record["counts"]["problems"],
            "bytes": record["counts"]["bytes"],
        },
        "failed_sites": [],
        "failed_documents": [
            {
                "url": "SITE/gone.xml",
                "outcome": "absent",
                "cause": None,
                "reason": "HTTP 404: the server has no such document",
            }
        ],
        "outputs": [feed("urls", 1), feed("ledger", 4)],
        "store": None,
        "snapshots": [],
    }
    assert record["counts"]["problems"]
    assert record["counts"]["bytes"] > 300


def test_failed_sites_and_kept_snapshots(serve, close, crawl, tmp_path):
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/1")})
    given = {"site": f"{site.url} http://127.0.0.1:1", "store": f"{tmp_path}/store"}
    first, record = close(**given)
    assert record["counts"]["sites"] == {"found": 1, "unreachable": 1}
    (failed,) = record["failed_sites"]
    assert failed.pop("reason")
    assert failed == {"root": "http://127.0.0.1:1", "result": "unreachable", "cause": "refused"}
    snapshots = {kept["site"]: kept for kept in record["snapshots"]}
    run = first.stats["sitemap_harvest/run"]
    assert snapshots[site.url] == {"site": site.url, "run": run, "baseline": None}
    assert record["store"] == "FOLDER/store"
    site.pages["/a.xml"] = urlset("/2")
    time.sleep(1 - time.time() % 1)  # ids of different seconds are distinct
    second, record = close(**given)
    (kept,) = [kept for kept in record["snapshots"] if kept["site"] == site.url]
    assert kept == {"site": site.url, "run": second.stats["sitemap_harvest/run"], "baseline": run}
    assert record["counts"]["changes"] == {"added": 1, "removed": 1}


def test_after_the_clock_went_back_the_record_has_the_id_in_the_store(serve, close, keep, tmp_path):
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/1")})
    keep(site)
    (runs,) = (tmp_path / "snapshots").glob("sites/*/runs")
    (before,) = runs.iterdir()
    later = "2099" + before.name[4:]
    change_manifest(tmp_path, before.name, later)
    before.rename(runs / later)
    run, record = close(site=site.url, store=str(tmp_path / "snapshots"), calm=False)
    (kept,) = record["snapshots"]
    assert kept["baseline"] == later
    assert kept["run"] > later
    assert kept["run"][-6:] == run.stats["sitemap_harvest/run"][-6:]
    assert f"{site.url}: the snapshot is stored under the run ID {kept['run']}, " in run.log


REFUSED = [
    pytest.param({"limit": "few"}, {}, "argument limit='few': it must be a whole number, 1 or more", id="argument"),
    pytest.param({"frob": "1"}, {}, "argument frob: unknown argument", id="unknown-argument"),
    pytest.param({}, {"SITEMAP_HARVEST_MAX_DEPTH": 0}, "SITEMAP_HARVEST_MAX_DEPTH is '0'", id="setting"),
    pytest.param({"site": "http://me:a/secret@a.example"}, {}, "site='http://a.example': it must be", id="password"),
]


@pytest.mark.parametrize(("given", "settings", "words"), REFUSED)
def test_a_rejected_run_has_a_record(close, given, settings, words):
    _, record = close(settings=settings, calm=False, **{"site": "https://a.example", **given})
    assert words in record.pop("refused")
    arguments = record.pop("arguments")
    assert arguments.keys() == {"site", "emit", *given}
    assert "secret" not in arguments["site"]
    assert record == {
        "job": None,
        "spider": "sitemap",
        "finish_reason": "wrong_argument",
        "verdict": "wrong-usage",
        "exit_code": 2,
        "counts": {**_NOTHING, "errors": 1},
        "failed_sites": [],
        "failed_documents": [],
        "outputs": [],
        "store": None,
        "snapshots": [],
    }


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["a.example", "-a", "limit=few"], 2, id="argument"),
        pytest.param([], 2, id="no-target"),
        pytest.param(["a.example", "-s", "SITEMAP_HARVEST_LOG=xml"], 2, id="setting"),
        pytest.param(["a.example", "-a", "emit=urls,sitemaps", "-O", "b.jsonl"], 2, id="output"),
        pytest.param(["-a", "sitemap=none.xml"], 3, id="nothing"),
        pytest.param(["s.xml"], 0, id="whole"),
        pytest.param(["s.xml", "-s", 'ITEM_PIPELINES={"parts.Unopened": 1}'], 1, id="pipeline-that-cannot-be-opened"),
        pytest.param(["s.xml", "-s", 'ITEM_PIPELINES={"parts.Unmade": 1}'], 1, id="pipeline-that-cannot-be-made"),
        pytest.param(["s.xml", "-s", 'ITEM_PIPELINES={"parts.Failing": 1}'], 4, id="pipeline-that-fails"),
        pytest.param(["s.xml", "-s", 'EXTENSIONS={"parts.Unmade": 1}'], 1, id="extension-that-cannot-be-made"),
    ],
)
def test_it_has_the_exit_code_of_scrapy_harvest_crawl(arguments, code, tmp_path):
    (tmp_path / "s.xml").write_text(urlset("https://a.example/1"))
    (tmp_path / "parts.py").write_text(
        "class Unopened:\n    def open_spider(self):\n        raise ValueError('no database')\n"
        "class Unmade:\n    def __init__(self):\n        raise ValueError('no database')\n"
        "class Failing:\n    def process_item(self, item):\n        raise ValueError\n"
    )
    run = forked.scrapy("harvest", "crawl", *arguments, "-s", "SITEMAP_HARVEST_CLOSING=c.json", cwd=tmp_path)
    assert run.returncode == code, run.stderr
    record = normal((tmp_path / "c.json").read_text())
    assert record["exit_code"] == code
    assert (record["refused"] is not None) == (code == 2)
    if code == 1:
        assert (record["verdict"], record["finish_reason"]) == ("not-started", None)


def test_the_command_shows_the_same_duration_which_includes_the_writing_of_outputs(tmp_path):
    (tmp_path / "s.xml").write_text(urlset("https://a.example/1"))
    (tmp_path / "parts.py").write_text(
        "import time\n"
        "from scrapy.extensions.feedexport import FileFeedStorage\n"
        "class Slow(FileFeedStorage):\n"
        "    def store(self, file):\n        time.sleep(0.3)\n        super().store(file)\n"
    )
    settings = ["-s", "SITEMAP_HARVEST_CLOSING=c.json", "-s", 'FEED_STORAGES={"slow": "parts.Slow"}']
    output = f"slow://{tmp_path}/u.jsonl:jsonl"
    run = forked.scrapy("harvest", "crawl", "s.xml", "-O", output, *settings, cwd=tmp_path)
    record = json.loads((tmp_path / "c.json").read_text())
    assert record["seconds"] > 0.3
    ended = f"ended after {record['seconds']:,.1f} seconds"
    assert run.stderr.splitlines()[-1] == f"Run {record['run']}: {ended}: complete."


@pytest.mark.parametrize("times", [1, 2])
def test_a_stopped_or_aborted_run_has_a_record(serve, crawl, tmp_path, times):
    pages = {f"/{number}.xml": Page(urlset(f"/p{number}"), delay=0.1) for number in range(100)}
    site = serve({"/i.xml": index(*pages, "/hang.xml"), "/hang.xml": Page(manner=Manner.HANG), **pages})
    settings = {"SITEMAP_HARVEST_CLOSING": f"{tmp_path}/c.json", "DOWNLOAD_TIMEOUT": 60}
    process = crawl.start(sitemap=f"{site.url}/i.xml", settings=settings)
    try:
        wait_until(lambda: len(site.requests) >= 10)
        for _ in range(times):
            process.send_signal(signal.SIGTERM)
            time.sleep(0.2)
        process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        process.kill()
    record = normal((tmp_path / "c.json").read_text(), site=site.url)
    assert record["finish_reason"] in ({"shutdown"} if times == 1 else {"shutdown", None})
    assert (record["verdict"], record["exit_code"]) == ("interrupted", 130)
    assert record["counts"]["urls"] > 0


def test_a_killed_run_has_no_record(serve, crawl, tmp_path):
    site = serve({"/s.xml": Page(manner=Manner.HANG)})
    settings = {"SITEMAP_HARVEST_CLOSING": f"{tmp_path}/c.json"}
    with crawl.running(sitemap=f"{site.url}/s.xml", settings=settings):
        wait_until(lambda: site.requests)
    assert list(tmp_path.glob("*c.json*")) == []


@pytest.mark.parametrize(
    ("place", "words"),
    [
        pytest.param("none/c.json", "cannot be written: no such file or directory", id="no-folder"),
        pytest.param("folder", "it is a folder", id="folder"),
        pytest.param(
            "%(date)s.json", "which may contain %(run)s, %(job)s, %(name)s, and %% for a literal %", id="unknown-holder"
        ),
        pytest.param("s3://bucket/c.json", "must be the path of a local file", id="object-store"),
    ],
)
def test_an_unwritable_path_ends_the_run_before_it_starts(serve, place, words, tmp_path):
    (tmp_path / "folder").mkdir()
    site = serve({"/s.xml": urlset("/1")})
    run = forked.scrapy(
        "harvest", "crawl", f"{site.url}/s.xml", "-O", "u.jsonl", "-s", f"SITEMAP_HARVEST_CLOSING={place}", cwd=tmp_path
    )
    assert run.returncode == 2, run.stderr
    assert run.stderr.count(words) == 1
    assert "Traceback" not in run.stderr
    assert site.requests == []
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_full_disk_at_the_end_is_an_error_and_the_urls_are_written(tmp_path):
    (tmp_path / "s.xml").write_text(urlset("https://a.example/1"))
    arguments = ["s.xml", "-O", "u.jsonl", "-s", "SITEMAP_HARVEST_CLOSING=/dev/full"]
    run = forked.scrapy("harvest", "crawl", *arguments, cwd=tmp_path)
    assert run.returncode == 4
    assert run.stderr.count("ERROR: The closing record cannot be written: [Errno 28] No space left on device") == 1
    assert "Traceback" not in run.stderr
    assert len((tmp_path / "u.jsonl").read_text().splitlines()) == 1


def test_a_file_above_the_size_limit_leaves_the_old_one_and_no_fragment(tmp_path):
    (tmp_path / "s.xml").write_text(urlset("https://a.example/1"))
    before = json.dumps({"format": 1, "run": "before", "verdict": "fine"})
    (tmp_path / "c.json").write_text(before)
    arguments = ["s.xml", "-a", f"include={'a?' * 3000}", "-s", "SITEMAP_HARVEST_CLOSING=c.json"]
    run = forked.scrapy("harvest", "crawl", *arguments, cwd=tmp_path, largest_file=4096)
    assert run.returncode == 4
    assert (
        run.stderr.count("The closing record cannot be written: [Errno 27] File too large") == 2
    )  # also in the summary
    assert (tmp_path / "c.json").read_text() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.json", "s.xml"]


def test_a_failed_output_is_not_ok(serve, close, tmp_path):
    urls = (f"/{number * 7919:040}" for number in range(3_000))
    site = serve({"/s.xml": urlset(*urls), "/1": "page"})
    feeds = {
        f"{tmp_path}/urls.jsonl": {"format": "jsonl", "item_classes": ["sitemap_harvest.UrlEntry"]},
        "tests.crawl.parts:no": {"format": "jsonl", "item_classes": ["sitemap_harvest.UrlEntry"]},
    }
    settings = {"FEED_STORAGES": {"tests.crawl.parts": "tests.crawl.parts.NoStorage"}}
    run, record = close(sitemap=f"{site.url}/s.xml", feeds=feeds, settings=settings, calm=False)
    assert run.errors
    assert record["outputs"] == [feed("urls", 3000), {"uri": "tests.crawl.parts:no", "items": 3000, "ok": False}]
    assert record["verdict"] == "partly-failed"


@pytest.mark.parametrize("way", ["auto", "rows"])
def test_an_output_that_lacks_rows_or_values_is_not_ok(serve, close, tmp_path, way):
    pages = numbered(3)
    site = serve({**dict.fromkeys(pages, "A page"), "/s.xml": urlset(*pages)})
    names = ("mix.jsonl", "mix.csv", "mix.parquet", "mix.duckdb")
    feeds = {f"{tmp_path}/{name}": {"format": name.rpartition(".")[2]} for name in names}
    run, record = close(
        spider="simplest",
        sitemap=f"{site.url}/s.xml",
        emit="urls",
        feeds=feeds,
        settings={"SITEMAP_HARVEST_ITEMS": way},
        calm=False,
    )
    written = {output.pop("uri").removeprefix("FOLDER/"): output for output in record["outputs"]}
    assert written == {
        "mix.jsonl": {"items": 6, "ok": True},
        "mix.csv": {"items": 6, "ok": False},
        "mix.parquet": {"items": 3, "ok": False},
        "mix.duckdb": {"items": 6, "ok": True},
    }
    assert run.stats["sitemap_harvest/lost_items_of_outputs"] == 3
    assert pq.read_table(tmp_path / "mix.parquet").num_rows == 3


def test_completeness_is_unknown_with_the_feed_exporter_of_scrapy(serve, close):
    site = serve({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/1")})
    extensions = {
        "scrapy.extensions.feedexport.FeedExporter": 0,
        "sitemap_harvest.integration.items.feed_exporter.FeedExporter": None,
    }
    _, record = close(site=site.url, settings={"EXTENSIONS": extensions})
    assert {(output["uri"], output["ok"]) for output in record["outputs"]} >= {("FOLDER/urls.jsonl", None)}


@pytest.mark.parametrize(
    ("more", "count"),
    [
        pytest.param(["-O", "-:jsonl"], 1, id="behind-an-output"),
        pytest.param(["-s", "LOG_STDOUT=True", "--nolog"], 0, id="where-prints-go-to-the-log"),
    ],
)
def test_on_standard_output_it_is_the_last_line(more, count, tmp_path):
    (tmp_path / "s.xml").write_text(urlset("https://a.example/1"))
    command = [sys.executable, "-m", "scrapy", "harvest", "crawl", "s.xml", "-s", "SITEMAP_HARVEST_CLOSING=-", *more]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, timeout=PATIENCE_SECONDS)
    *urls, record = run.stdout.splitlines()
    assert [json.loads(row)["loc"] for row in urls] == ["https://a.example/1"][:count]
    assert normal(record + "\n")["verdict"] == "whole"


def test_derived_spiders_have_a_record_and_other_spiders_have_none(serve, crawl, tmp_path):
    site = serve({"/sitemap.xml": urlset("/product/1"), "/product/1": "page"})
    settings = {"SITEMAP_HARVEST_CLOSING": f"{tmp_path}/%(name)s-%(job)s.json"}
    environment = {"SITE_URL": site.url}
    crawl(spider="two-rules", environment=environment, settings=settings, _job="7", token="abc", color="red")
    crawl(spider="two-rules", environment={**environment, "SPIDER_BASE": "scrapy"}, settings=settings, _job="8")
    assert [path.name for path in tmp_path.glob("two*")] == ["two-rules-7.json"]
    record = normal((tmp_path / "two-rules-7.json").read_text(), folder=tmp_path)
    assert record["arguments"] == {"token": "***", "color": "red"}
    assert record["outputs"] == [feed("items", 1)]


def test_without_the_setting_nothing_of_it_is_imported():
    code = """
import sys, scrapy.settings, sitemap_harvest.spiders.sitemap
sitemap_harvest.spiders.sitemap.SitemapSpider.update_settings(scrapy.settings.Settings())
print({"prometheus_client", "sitemap_harvest.reporting.closing_record"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=HERE)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize("command", [("harvest", "crawl", "s.xml"), ("crawl", "sitemap", "-a", "sitemap=s.xml")])
def test_a_missing_package_is_reported_in_one_line(command, tmp_path):
    (tmp_path / "s.xml").write_text(urlset("https://a.example/1"))
    code = "import sys; sys.modules['prometheus_client'] = None; from scrapy.cmdline import execute; execute()"
    environment = {"PYTHONPATH": str(HERE), "SCRAPY_SETTINGS_MODULE": "sitemap_harvest.settings", "PATH": ""}
    settings = ("-s", "SITEMAP_HARVEST_METRICS=m.prom", "-s", "SITEMAP_HARVEST_CLOSING=c.json")
    done = subprocess.run(
        [sys.executable, "-c", code, *command, *settings],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=PATIENCE_SECONDS, env=environment,
    )  # fmt: skip
    install = "pip install 'scrapy-sitemap-harvest[observe]'"
    words = f"SITEMAP_HARVEST_METRICS needs prometheus_client, which is not installed: {install}"
    assert done.stderr.count(words) == 1, done.stderr
    assert done.returncode == (2 if command[0] == "harvest" else 0)
    assert normal((tmp_path / "c.json").read_text())["refused"] == words
