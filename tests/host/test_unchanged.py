"""A spider of the project does the same with and without the add-on."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from tests.site import Page, Site, numbered
from tests.waiting import PATIENCE_SECONDS, wait_until

REFERENCE = Path(__file__).parents[2] / "docs/reference/settings.md"
FORMATS = {
    "jsonl": {"indent": None},
    "json": {"indent": 2},
    "csv": {"fields": ["url", "title", "price", "seen"]},
    "xml": {"indent": 0},
    "pickle": {},
    "marshal": {"item_classes": ["builtins.dict"]},
    "jl": {"item_classes": ["myproject.spiders.own.Link"], "encoding": "ascii"},
}
ADDED_TO = ("csv", "json", "xml", "jsonl")
ONE_AFTER_THE_OTHER = "CONCURRENT_REQUESTS = 1\nSCRAPER_SLOT_MAX_ACTIVE_SIZE = 1\n"
TIMES = {"elapsed_time_seconds", "start_time", "finish_time", "memusage/max", "memusage/startup"}


def feeds() -> dict[str, dict[str, object]]:
    """Each format, one in parts, compressed, and some that are appended to non-empty files."""
    written = {f"out.{name}": {"format": name, "overwrite": True, **options} for name, options in FORMATS.items()}
    written["out.gz-%(batch_id)d"] = {
        "format": "csv",
        "batch_item_count": 4,
        "postprocessing": ["scrapy.extensions.postprocessing.GzipPlugin"],
        "gzip_mtime": 0,
    }
    return written | {f"out.added.{name}": {"format": name} for name in ADDED_TO}


@pytest.fixture(scope="module")
def both(made, site, tmp_path_factory):
    """The same crawl without the add-on and with it."""
    folder = tmp_path_factory.mktemp("both")
    runs = []
    for with_addon in (False, True):
        project = made.copied(folder / str(with_addon), with_addon=with_addon)
        project.configure(f"FEEDS = {feeds()!r}\n{ONE_AFTER_THE_OTHER}")
        for name in ADDED_TO:
            (project.folder / f"out.added.{name}").write_text("what was there\n")
        runs.append(project.crawl("own", "-a", f"site={site.url}", calm=False))
    return runs


def test_feeds_are_identical_byte_for_byte(both):
    without, with_addon = ({path.name: path.read_bytes() for path in run.folder.glob("out.*")} for run in both)
    assert without.keys() >= {f"out.{name}" for name in FORMATS} | {"out.gz-1", "out.gz-2", "out.added.csv"}
    assert with_addon == without


def test_stats_are_the_same(both):
    without, with_addon = ({name: run.stats[name] for name in run.stats.keys() - TIMES} for run in both)
    assert without["heard/Link"] == 3
    assert without["item_dropped_count"] == 3
    assert without["spider_exceptions/ValueError"] == 1
    assert with_addon == without


def test_settings_differ_only_by_those_in_the_reference(both):
    without, with_addon = (run.dump["settings"] for run in both)
    differ = {name for name in without.keys() | with_addon.keys() if without.get(name) != with_addon.get(name)}
    section = re.search(r"^## What the add-on changes\n(.*?)(?=^## )", REFERENCE.read_text(), re.MULTILINE | re.DOTALL)
    assert differ == set(re.findall(r"^\| `([A-Z_]+)` \|", section.group(1), re.MULTILINE))


def test_the_same_components_have_the_same_order(both):
    without, with_addon = (run.dump["parts"] for run in both)
    assert "scrapy.extensions.feedexport.FeedExporter" in without["extensions"][:-1]
    ours = {"scrapy.extensions.feedexport.FeedExporter": "sitemap_harvest.integration.items.feed_exporter.FeedExporter"}
    assert with_addon["extensions"] == [ours.get(name, name) for name in without["extensions"]]
    assert with_addon["addons"] == ["sitemap_harvest.addon.Addon"]
    others = without.keys() - {"extensions", "addons"}
    assert {name: with_addon[name] for name in others} == {name: without[name] for name in others}


def test_the_log_is_the_same_after_the_list_of_loaded_components(both):
    without, with_addon = (normalised(run.log) for run in both)
    assert any("Dropped: two" in line for line in without)
    assert with_addon == without


def normalised(log: str) -> list[str]:
    """Return the lines of *log* from the first request on, without times and folders."""
    log = re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", "", log, flags=re.MULTILINE)
    log = re.sub(r"(?<=both0/)(True|False)|datetime\.datetime\(.*\)$", "", log, flags=re.MULTILINE)
    log = re.sub(r"'(elapsed_time_seconds|memusage/\w+|finish_time|start_time)':.*", "", log)
    return log[log.index("INFO: Spider opened") :].splitlines()


def test_appending_by_the_command_line_is_unchanged(project, plain, site):
    files = ("a.json", "b.csv")
    for one in (project, plain):
        for name in files:
            (one.folder / name).write_text("what was there\n")
        options = [part for name in files for part in ("-o", name)]
        one.configure(ONE_AFTER_THE_OTHER)
        one.crawl("own", "-a", f"site={site.url}", "-a", "pages=2", *options)
    for name in files:
        assert (project.folder / name).read_bytes() == (plain.folder / name).read_bytes()


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        pytest.param("CLOSESPIDER_ITEMCOUNT = 4", "closespider_itemcount", id="a-count-of-items"),
        pytest.param("FEEDS = {'/proc/none/out.json': {'format': 'json'}}", "finished", id="no-folder-for-the-output"),
        pytest.param("FEED_EXPORTERS = {'jsonl': 'no.such.Exporter'}", None, id="an-exporter-that-is-not-there"),
    ],
)
def test_a_run_ends_as_without_the_addon(project, plain, site, settings, reason):
    ends = []
    for one in (project, plain):
        one.configure(settings)
        ran = one.crawl("own", "-a", f"site={site.url}", "-o", "x.jl", calm=False, code=None)
        log = ran.log.replace("sitemap_harvest.integration.items.feed_exporter", "scrapy.extensions.feedexport")
        errors = re.findall(r"\] (?:ERROR|CRITICAL): (.*?)(?= at 0x|$)", log, re.MULTILINE)
        stats = ran.dumps["own"]["stats"] if ran.dumps else {}
        # The order of two responses is random.
        ends.append((ran.code, stats.get("finish_reason"), stats.get("item_scraped_count"), sorted(errors)))
    assert ends[0] == ends[1]
    assert ends[0][1] == reason


def test_an_interrupted_job_resumes_as_without_the_addon(project, plain):
    with Site({"/robots.txt": ""}) as site:
        site.generate = lambda path: Page(f"<p>{path}", headers={"Content-Type": "text/html"}, delay=0.03)
        for one in (project, plain):
            job = ("own", "-a", f"site={site.url}", "-a", "pages=20", "-s", "JOBDIR=job", "-s", "ROBOTSTXT_OBEY=False")
            site.requests.clear()
            with one.crawling(*job) as process:
                wait_until(lambda: site.count("/p8"))
                os.kill(process.pid, signal.SIGINT)
                process.join(PATIENCE_SECONDS)
                assert process.exitcode is not None
            assert not site.count("/p20")
            ran = one.crawl(*job, "-o", "rest.jsonl", calm=False)
            assert ran.stats["finish_reason"] == "finished"
            assert [path for path in site.requests if path.startswith("/p")] == numbered(20)
            assert ran.rows("rest.jsonl")
