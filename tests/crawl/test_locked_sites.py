"""Two concurrent runs over one site with one store: the second is rejected, or waits."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager

import pytest

from tests import forked
from tests.site import Page, robots, urlset
from tests.waiting import PATIENCE_SECONDS, wait_until

SITE = {"/robots.txt": robots("/1.xml"), "/1.xml": urlset("/a")}


@contextmanager
def at_work(keep, site, *, delay=20.0):
    """Let a crawl of *site* wait for its sitemap, for *delay* seconds."""
    page = site.pages["/1.xml"]
    site.pages["/1.xml"] = Page(page, delay=delay)
    settings = {"DOWNLOAD_TIMEOUT": 30, "FEEDS": {}}
    with keep.crawl.running(spider="careful", site=site.url, store=keep.folder, settings=settings) as process:
        wait_until(lambda: "/1.xml" in site.requests)
        site.pages["/1.xml"] = page
        yield process


def claims(keep):
    return [*keep.folder.glob("sites/*/claim.json"), *keep.folder.glob("running/*")]


@pytest.fixture
def sites(serve):
    return serve(SITE), serve({**SITE, "/1.xml": urlset("/b")}, host="127.0.0.2")


@pytest.mark.quick
def test_a_site_locked_by_another_run_is_not_harvested_and_the_others_are(keep, sites):
    one, two = sites
    with at_work(keep, one):
        output = keep(two, site=f"{one.url} {two.url}")
        results = {row["root"]: (row["result"], row["reason"]) for row in output.sites}
        (claim,) = keep.folder.glob("sites/*/claim.json")
        holder = json.loads(claim.read_text())["run"]
        assert results == {
            one.url: ("unfinished", f"the run {holder} is harvesting the site into the same store"),
            two.url: ("found", "1 URL in 1 document"),
        }
        assert output.locs == ["/b"]
        assert (output.run.code, output.run.reason) == (0, "finished")
    assert keep.store.sites() == [two.url]


def test_the_command_reports_a_busy_site_and_exits_with_3(keep, sites, tmp_path):
    site, _ = sites
    with at_work(keep, site):
        run = forked.scrapy("harvest", "crawl", site.url, "-a", f"store={keep.folder}", cwd=tmp_path)
    assert run.returncode == 3
    assert "is harvesting the site into the same store" in run.stderr


def test_a_run_may_wait_for_the_other(keep, sites):
    site, _ = sites
    with at_work(keep, site, delay=2) as other:
        started = time.monotonic()
        output = keep(site, settings={"SITEMAP_HARVEST_BUSY": "wait"})
        assert time.monotonic() - started > 1
        other.join(PATIENCE_SECONDS)
    assert output.locs == ["/a"]
    first, second = keep.store.site(site.url).runs
    assert (output.summary["run"], output.summary["baseline"]) == (second.id, first.id)
    assert claims(keep) == []


def test_the_lock_of_a_killed_run_is_taken_over(keep, sites):
    site, _ = sites
    with at_work(keep, site):
        pass
    assert sorted(path.suffix for path in claims(keep)) == [".claim", ".json", ".lock"]  # .json is a link to .claim
    assert keep(site).locs == ["/a"]
    assert claims(keep) == []
