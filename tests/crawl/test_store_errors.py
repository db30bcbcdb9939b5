"""Errors of a store and of its options: one line, no traceback, and no kept data is lost."""

from __future__ import annotations

import re
import shutil

import pytest

from sitemap_harvest.snapshots.store import open_store
from sitemap_harvest.snapshots.store.store import FORMAT
from tests import forked
from tests.crawl.crawling import HERE
from tests.site import Page, index, numbered, robots, urlset
from tests.snapshots.store.making import Making, change_manifest

SITE = {
    "/robots.txt": robots("/index.xml"),
    "/index.xml": index("/1.xml", "/2.xml"),
    "/1.xml": urlset("/a"),
    "/2.xml": urlset("/b"),
}


def runs_of(keep, site):
    (folder,) = keep.folder.glob("sites/*/runs")
    return sorted(folder.iterdir())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"store": None, "emit": "changes"}, "requires a store; add one, for example store=snapshots"),
        ({"store": None, "baseline": "first"}, "argument baseline='first': it requires a store"),
        ({"store": None, "force": "yes"}, "argument force='yes': it requires a store"),
        ({"store": None, "feeds_only": "yes"}, "argument feeds_only='yes': it requires a store"),
        ({"store": None, "resume": "yes"}, "argument resume='yes': it requires a store"),
        ({"store": None, "max_age": "1h"}, "argument max_age=3600: it requires a store"),
        ({"store": " "}, "argument store is empty; give a value, or omit the argument"),
        ({"force": "maybe"}, "argument force='maybe': it must be yes or no"),
        ({"max_age": "1 month"}, "it must be an age (2w, 7d, 36h, 90min) or a number of seconds"),
        ({"store": "gopher://a/b"}, "store 'gopher://a/b': "),
        ({"settings": {"SITEMAP_HARVEST_BUSY": "no"}}, "SITEMAP_HARVEST_BUSY is 'no'; it must be one of refuse, wait"),
        ({"settings": {"SITEMAP_HARVEST_TRUST_LASTMOD": "x"}}, "is 'x'; it must be one of auto, always, never"),
    ],
    ids=str,
)  # fmt: skip
def test_errors_end_the_run_with_one_line(serve, keep, given, words):
    site = serve(SITE)
    output = keep(site, calm=False, **({"emit": "urls"} | given))
    assert (output.run.reason, output.requests) == ("wrong_argument", [])
    (error,) = output.run.errors
    assert words in error
    assert "Traceback" not in output.run.log


def test_a_file_in_place_of_a_store_ends_the_run_with_one_line(serve, keep):
    keep.folder.write_text("mine")
    output = keep(site := serve(SITE), calm=False)
    assert (output.run.reason, output.requests, keep.folder.read_text()) == ("wrong_argument", [], "mine")
    (error,) = output.run.errors
    assert f"store '{keep.folder}': " in error
    assert "Traceback" not in output.run.log
    assert site.requests == []


@pytest.mark.parametrize(
    ("given", "output", "words"),
    [
        pytest.param({}, "old.parquet", "old.parquet already exists", id="output-that-cannot-be-appended-to"),
        pytest.param({"baseline": "first"}, "new.jsonl", "no snapshot", id="no-baseline"),
    ],
)
def test_a_refused_run_creates_no_store(serve, keep, given, output, words, tmp_path):
    (tmp_path / "old.parquet").write_text("mine")
    feeds = {f"{tmp_path}/{output}": {"format": output.partition(".")[2]}}
    run = keep(serve(SITE), calm=False, emit="changes", settings={"FEEDS": feeds}, **given)
    assert (run.run.reason, run.requests) == ("wrong_argument", [])
    assert words in run.run.log
    assert not keep.folder.exists()


def test_a_store_that_cannot_be_created_ends_the_run_before_a_request(serve, keep, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "none" / "store")
    output = keep(serve(SITE), calm=False, store=f"{tmp_path}/link")
    assert (output.run.reason, output.requests) == ("wrong_argument", [])
    (error,) = output.run.errors
    assert f"store '{tmp_path}/link': it cannot be opened: " in error


def _manifest(run):
    return run.parent.parent / "manifest.json.gz"


def _newer(folder):
    change_manifest(folder.parent.parent, f'"format":{FORMAT}', '"format":99')


def _unreadable(folder):
    change_manifest(folder.parent.parent, '"outcome":["', '"outcome":["no ')


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        pytest.param(lambda run: _manifest(run).write_text("{"), "manifest.json.gz is damaged: ", id="manifest"),
        pytest.param(
            _newer, "was written by a newer version of sitemap_harvest (format 99); update sitemap_harvest", id="newer"
        ),
        pytest.param(lambda run: (run / "rows-0001.parquet").unlink(), "rows-0001.parquet is missing", id="rows-gone"),
        pytest.param(lambda run: (run / "rows-0001.parquet").write_text(""), "has 0 bytes, but had", id="rows-cut"),
        pytest.param(_unreadable, "sitemaps-0001 cannot be read: ", id="ledger"),
    ],
)
def test_a_site_with_damaged_snapshots_is_not_harvested_and_the_others_are(serve, keep, damage, words):
    one, two = serve(SITE), serve({**SITE, "/1.xml": urlset("/c")}, host="127.0.0.2")
    keep(one)
    (run,) = runs_of(keep, one)
    damage(run)
    before = sorted(path.name for path in run.iterdir())
    output = keep(two, site=f"{one.url} {two.url}")
    found = {row["root"]: (row["result"], row["reason"]) for row in output.sites}
    assert found[one.url][0] == "unfinished"
    assert words in found[one.url][1]
    assert f"No URLs found: {one.url}: the stored data of the site cannot be used: " in output.run.log
    assert found[two.url] == ("found", "2 URLs in 2 documents")
    assert output.locs == ["/b", "/c"]
    assert sorted(path.name for path in run.iterdir()) == before
    assert not [*keep.folder.glob("sites/*/claim.json")]


def test_unreadable_rows_within_a_file_end_the_run_and_the_snapshot_stays(serve, keep):
    site = serve(SITE)
    keep(site)
    (run,) = runs_of(keep, site)
    rows = run / "rows-0001.parquet"
    rows.write_bytes(b"x" * rows.stat().st_size)
    output = keep(site, calm=False)
    assert "Traceback" not in output.run.log
    assert output.run.reason == "store_failed"
    assert "rows-0001.parquet cannot be read" in output.run.errors[0]
    assert [run.id for run in keep.store.site(site.url).runs] == [run.name]


@pytest.mark.parametrize("room", [1_000, 5_000, 30_000])
def test_a_full_disk_ends_the_run_and_the_last_snapshot_stays_in_force(serve, keep, room):
    site = serve({"/1.xml": urlset(*numbered(3_000))})
    named = f"{site.url}/1.xml"
    Making(keep.folder).run({named: [f"{site.url}/p1"]}, site=named)
    given = ("-a", f"sitemap={named}", "-a", f"store={keep.folder}", "-a", "emit=none")
    run = forked.scrapy("crawl", "sitemap", *given, "-s", "LOG_LEVEL=WARNING", cwd=HERE, largest_file=room)
    assert "Traceback" not in run.stderr, run.stderr
    assert run.stderr.count("] ERROR: ") == 1, run.stderr
    assert re.search(r"The store cannot be used \(.+\); the last snapshots remain valid", run.stderr)
    assert len(open_store(keep.folder).site(named).runs) == 1
    output = keep(site, sitemap=named)
    assert output.summary["urls_after"] == 3_000


def test_a_store_that_is_removed_during_the_run_ends_it(serve, keep):
    site = serve(SITE)

    def remove(_):
        shutil.rmtree(keep.folder)
        return Page(urlset("/a"))

    site.pages["/1.xml"] = remove
    output = keep(site, calm=False)
    assert "Traceback" not in output.run.log, output.run.log
    assert output.locs == ["/a", "/b"]


def test_after_the_clock_went_back_a_run_still_sorts_after_the_last(serve, keep):
    site = serve({"/1.xml": urlset("/a", "/b")})
    named = f"{site.url}/1.xml"
    making = Making(keep.folder)
    making.now = making.now.replace(year=2099)
    making.run({named: [f"{site.url}/a", f"{site.url}/c"]}, site=named)
    output = keep(site, sitemap=named)
    assert output.kinds == {"/b": "added", "/c": "removed"}
    first, second = keep.store.site(named).runs
    assert (second.id, second.baseline) == (output.summary["run"], first.id)
    assert second.id.startswith("20991101T030001Z-")
    assert second.started_at.year < 2099
    assert keep(site, sitemap=named).changes == []
    assert len(keep.store.site(named).runs) == 3


def test_files_and_folders_are_kept_like_sites(keep, serve, tmp_path):
    site = serve()
    (tmp_path / "a.xml").write_text(urlset("https://a.example/1"))
    folder = tmp_path / "public"
    folder.mkdir()
    (folder / "robots.txt").write_text("Sitemap: https://b.example/s.xml")
    (folder / "s.xml").write_text(urlset("https://b.example/1"))
    file, public = {"sitemap": tmp_path / "a.xml"}, {"site": "https://b.example", "root": folder}
    for given in (file, public):
        assert keep(site, **given).changes == []
        again = keep(site, **given)
        assert set(again.fates.values()) == {"unchanged"}
        assert len(again.urls) == 1
    (folder / "s.xml").write_text(urlset("https://b.example/2"))
    assert keep(site, **public).kinds == {"https://b.example/1": "removed", "https://b.example/2": "added"}
    (folder / "s.xml").unlink()
    assert keep(site, **public).changes == []


def test_the_store_may_be_a_setting_and_nothing_may_be_emitted(serve, keep, crawl):
    site = serve(SITE)
    run = crawl(site=site.url, emit="none", settings={"SITEMAP_HARVEST_STORE": str(keep.folder)}, feeds={})
    assert run.stats["sitemap_harvest/urls"] == 2
    assert keep.locs(site) == ["/a", "/b"]
    run = crawl(site=site.url, emit="none", settings={"SITEMAP_HARVEST_STORE": str(keep.folder)}, feeds={})
    assert run.stats["sitemap_harvest/urls"] == 2
    assert run.stats["sitemap_harvest/snapshots"] == 1
    assert "item_scraped_count" not in run.stats


def test_a_store_works_with_a_job_folder(serve, keep, tmp_path):
    site = serve(SITE)
    settings = {"JOBDIR": str(tmp_path / "job")}
    assert keep(site, settings=settings).locs == ["/a", "/b"]
    site.pages["/1.xml"] = urlset("/a", "/c")
    assert keep(site, settings=settings).kinds == {"/c": "added"}


def test_the_command_reports_the_changes_and_the_result(serve, keep, tmp_path):
    site = serve(SITE)
    command = ("harvest", "crawl", site.url, "-a", f"store={keep.folder}", "-O", "urls.jsonl")
    first = forked.scrapy(*command, cwd=tmp_path)
    assert (first.returncode, "1 first snapshot: nothing to compare with" in first.stderr) == (0, True)
    site.pages["/1.xml"] = urlset("/c", "/d")
    second = forked.scrapy(*command, cwd=tmp_path)
    assert second.returncode == 0, second.stderr
    assert "Since the last snapshot: 2 added, 1 removed." in second.stderr
    site.pages["/1.xml"] = Page(status=503)
    third = forked.scrapy(*command, "-s", "RETRY_TIMES=0", cwd=tmp_path)
    assert third.returncode == 4, third.stderr
    assert "Since the last snapshot: nothing has changed in the documents that were read;" in third.stderr
    wrong = forked.scrapy(*command, "-a", "baseline=2001", cwd=tmp_path)
    assert wrong.returncode == 2, wrong.stderr
    assert "Traceback" not in wrong.stderr
    assert len((tmp_path / "urls.jsonl").read_text().splitlines()) in {0, 1}


@pytest.mark.parametrize("count", [60])
def test_many_sites_are_kept_with_few_open_files_allowed(serve, keep, tmp_path, count):
    site = serve({f"/{number}.xml": urlset(f"/{number}") for number in range(count)})
    names = " ".join(f"{site.url}/{number}.xml" for number in range(count))
    first = keep(site, sitemap=names, settings={"CONCURRENT_REQUESTS_PER_DOMAIN": 16})
    assert len(first.summaries) == len(first.urls) == count
    for number in range(10):
        site.pages[f"/{number}.xml"] = urlset(f"/{number}", f"/new{number}")
    second = keep(site, sitemap=names)
    assert second.kinds == {f"/new{number}": "added" for number in range(10)}
    assert len(keep.store.sites()) == count
