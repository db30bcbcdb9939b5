"""The metrics of a run: the file for a textfile collector, the values kept from the previous run, and invalid paths."""

from __future__ import annotations

import stat
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests import forked
from tests.site import Page, index, robots, urlset
from tests.waiting import wait_until

_NAME = "sitemap_harvest_"


def values(path):
    """Return the values in the file at *path* by name, without the prefix, and labels except that of the file."""
    found = {}
    for family in text_string_to_metric_families(path.read_text()):
        assert family.type == "gauge"
        assert family.documentation
        for sample in family.samples:
            labels = {name: value for name, value in sample.labels.items() if name != "harvest"}
            assert sample.labels["harvest"] == path.stem
            name = sample.name.removeprefix(_NAME)
            found[name if not labels else (name, *labels.values())] = sample.value
    return found


@pytest.fixture
def watched(serve, crawl, tmp_path):
    """Return a function that crawls a site and returns the metrics."""
    site = serve({"/i.xml": index("/a.xml", "/gone.xml"), "/a.xml": urlset("/1", "/2")})

    def run(path="/i.xml", *, name="shop.prom", calm=True, **given):
        done = crawl(
            sitemap=f"{site.url}{path}", settings={"SITEMAP_HARVEST_METRICS": str(tmp_path / name)}, calm=calm, **given
        )
        return done, values(tmp_path / name) if calm else None

    run.site = site
    return run


@pytest.mark.quick
def test_the_metrics_of_a_run(watched, tmp_path):
    run, found = watched(_job="j")
    assert {name: value for name, value in found.items() if value and isinstance(name, tuple)} == {
        ("run_info", "j", run.stats["sitemap_harvest/run"], "sitemap", "0.1.0"): 1,
        ("documents", "read"): 2,
        ("documents", "absent"): 1,
        ("sites", "found"): 1,
    }
    plain = {name: value for name, value in found.items() if isinstance(name, str)}
    assert {name: plain[name] for name in ("running", "run_exit_code", "urls", "log_errors")} == {
        "running": 0, "run_exit_code": 4, "urls": 2, "log_errors": 0
    }  # fmt: skip
    assert plain["run_seconds"] > 0
    assert plain["downloaded_bytes"] == run.stats["sitemap_harvest/bytes_downloaded"]
    assert plain["peak_memory_bytes"] > 50e6
    assert abs(plain["last_run_timestamp_seconds"] - time.time()) < 60
    assert plain["last_harvest_timestamp_seconds"] == plain["last_run_timestamp_seconds"]
    assert "last_success_timestamp_seconds" not in plain  # there was none
    assert len([name for name in found if name[0] == "documents"]) == 13  # including those that are 0
    assert stat.S_IMODE((tmp_path / "shop.prom").stat().st_mode) == 0o644


def test_the_time_of_the_last_success_stays_after_other_runs(watched, tmp_path):
    _, first = watched("/a.xml")
    succeeded = first["last_success_timestamp_seconds"]
    assert succeeded == first["last_run_timestamp_seconds"] == first["last_harvest_timestamp_seconds"]
    _, second = watched("/gone.xml")
    assert second["run_exit_code"] == 3
    assert second["last_success_timestamp_seconds"] == second["last_harvest_timestamp_seconds"] == succeeded
    assert second["last_run_timestamp_seconds"] > succeeded
    watched("/a.xml", limit="few", calm=False)
    third = values(tmp_path / "shop.prom")
    assert (third["run_exit_code"], third["last_success_timestamp_seconds"]) == (2, succeeded)
    _, fourth = watched("/i.xml")
    assert fourth["last_harvest_timestamp_seconds"] > succeeded == fourth["last_success_timestamp_seconds"]


def test_the_metrics_of_the_last_run_stay_during_a_run_and_after_a_kill(watched, crawl, tmp_path):
    _, before = watched("/a.xml")
    watched.site.pages |= {f"/{number}.xml": Page(urlset("/1"), delay=0.2) for number in range(200)}
    watched.site.pages["/long.xml"] = index(*(f"/{number}.xml" for number in range(200)))
    settings = {"SITEMAP_HARVEST_METRICS": str(tmp_path / "shop.prom"), "LOGSTATS_INTERVAL": 0.2}
    with crawl.running(sitemap=f"{watched.site.url}/long.xml", settings=settings):
        wait_until(lambda: values(tmp_path / "shop.prom").get("running_documents", 0) >= 3)
    found = values(tmp_path / "shop.prom")
    running = {name for name in found if name[:7] == "running"}
    assert running == {
        "running", "running_started_timestamp_seconds", "running_documents", "running_queued_documents", "running_urls"
    }  # fmt: skip
    assert found["running"] == 1
    assert found["running_queued_documents"] > 0
    assert {**found, "running": 0} == {**{name: found[name] for name in running}, **before}
    _, after = watched("/a.xml")
    assert after["running"] == 0
    assert not after.keys() & running - {"running"}


def test_with_a_store_changes_are_counted(watched, tmp_path):
    _, first = watched("/a.xml", store=tmp_path / "store")
    watched.site.pages["/a.xml"] = urlset("/1", "/3")
    _, second = watched("/a.xml", store=tmp_path / "store")
    kinds = ("added", "removed", "changed", "moved", "expired")
    assert {kind: first["changes", kind] for kind in kinds} == dict.fromkeys(kinds, 0)
    assert {kind: second["changes", kind] for kind in kinds} == {**dict.fromkeys(kinds, 0), "added": 1, "removed": 1}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param("", None, id="empty"),
        pytest.param("sitemap_harvest_last_success_timestamp_seconds{", None, id="cut"),
        pytest.param("\x00\xff{{{ = 1\n", None, id="damaged"),
        pytest.param("node_load1 0.5\n", "contains metrics from another program (node_load1)", id="of-others"),
    ],
)
def test_existing_content_of_the_file(watched, tmp_path, content, words):
    (tmp_path / "shop.prom").write_text(content, "latin-1")
    run, found = watched("/a.xml", calm=words is None)
    assert run.reason == ("wrong_argument" if words else "finished")
    if words:
        assert words in run.errors[0]
        assert (tmp_path / "shop.prom").read_text() == content
    else:
        assert found["run_exit_code"] == 0


@pytest.mark.parametrize(
    ("place", "words"),
    [
        pytest.param("none/a.prom", "cannot be written: no such file or directory", id="no-folder"),
        pytest.param("folder.prom", "it is a folder", id="folder"),
        pytest.param("a.txt", "it must end with .prom", id="name"),
        pytest.param("%(run)s.prom", "which may contain %(name)s, and %% for a literal %", id="a-file-a-run"),
        pytest.param("/dev/full", "it must end with .prom", id="device"),
        pytest.param("s3://bucket/a.prom", "must be the path of a local file", id="object-store"),
    ],
)
def test_an_unwritable_path_ends_the_run_before_it_starts(serve, place, words, tmp_path):
    (tmp_path / "folder.prom").mkdir()
    site = serve({"/s.xml": urlset("/1")})
    command = ["harvest", "crawl", f"{site.url}/s.xml", "-s", f"SITEMAP_HARVEST_METRICS={place}"]
    run = forked.scrapy(*command, "-O", "u.jsonl", cwd=tmp_path)
    assert run.returncode == 2, run.stderr
    assert run.stderr.count(words) == 1
    assert run.stderr.count("SITEMAP_HARVEST_METRICS") == 1
    assert site.requests == []
    assert [path.name for path in tmp_path.iterdir()] == ["folder.prom"]


def test_a_file_for_each_spider_has_separate_series(serve, crawl, tmp_path):
    site = serve({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/1"), "/sitemap.xml": urlset("/1")})
    settings = {"SITEMAP_HARVEST_METRICS": f"{tmp_path}/of-%(name)s.prom"}
    crawl(site=site.url, settings=settings)
    crawl(spider="harvesting", environment={"SITE_URL": site.url}, settings=settings)
    files = sorted(tmp_path.glob("*.prom"))
    assert [path.name for path in files] == ["of-harvesting.prom", "of-sitemap.prom"]
    series = [
        (sample.name, *sample.labels.items())
        for path in files
        for family in text_string_to_metric_families(path.read_text())
        for sample in family.samples
    ]
    assert len(series) == len(set(series))
