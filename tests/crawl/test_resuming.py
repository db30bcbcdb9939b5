"""Runs that were interrupted: what they had read is taken over where that is asked for, and dropped where it is not."""

from __future__ import annotations

import gzip
import json
import signal
import time

import pytest

from tests.crawl.storing import wait_for_another_second
from tests.site import Page, index, robots, urlset
from tests.waiting import PATIENCE_SECONDS, wait_until

FILES = 12
NAMES = [f"/{number}.xml" for number in range(FILES)]
LOCS = sorted(f"/p{number}" for number in range(FILES))
SETTINGS = {"CONCURRENT_REQUESTS": 1}


def pages(*, hanging: int | None = None):
    """Return a site with one URL in each sitemap, of which one takes its time."""
    sitemaps = {name: urlset(f"/p{number}") for number, name in enumerate(NAMES)}
    if hanging is not None:
        sitemaps[NAMES[hanging]] = Page(sitemaps[NAMES[hanging]], delay=20)
    return {"/robots.txt": robots("/index.xml"), "/index.xml": index(*NAMES), **sitemaps}


def run_folders(keep):
    return sorted(path for path in keep.folder.glob("sites/*/runs/*"))


@pytest.fixture
def killed(serve, keep):
    """Return a site whose first harvest was killed while it waited for the tenth of twelve sitemaps."""
    site = serve(pages(hanging=9))
    given = {"site": site.url, "store": keep.folder, "settings": SETTINGS | {"DOWNLOAD_TIMEOUT": 30}}
    with keep.crawl.running(spider="careful", **given) as process:
        wait_until(lambda: NAMES[9] in site.requests)
        time.sleep(0.2)
        assert process.is_alive()
    site.pages = pages()
    (folder,) = run_folders(keep)
    assert [path.name for path in folder.glob("manifest*")]
    assert keep.store.sites() == []
    return site


@pytest.mark.quick
def test_what_was_read_whole_is_not_asked_for_again(killed, keep):
    (folder,) = run_folders(keep)
    told = keep(killed, resume="yes")
    assert told.locs == LOCS
    left = [path for path in told.requests if path in NAMES]
    assert 3 <= len(left) <= 8
    assert set(left) >= set(NAMES[9:])
    assert told.fates == dict.fromkeys(["/robots.txt", "/index.xml", *NAMES], "read")
    assert (told.summary["run"], told.summary["urls_after"], told.summary["stale"]) == (folder.name, FILES, 0)
    assert keep.locs(killed) == LOCS
    assert not list(folder.glob("manifest*"))
    assert keep(killed).changes == []


def test_without_resume_what_was_interrupted_is_dropped(killed, keep):
    (folder,) = run_folders(keep)
    told = keep(killed)
    assert sorted(told.requests) == sorted(["/robots.txt", "/index.xml", *NAMES])
    assert told.locs == LOCS
    assert not folder.exists()
    assert [run.name for run in run_folders(keep)] == [told.summary["run"]]


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda folder: _write(folder, "manifest*", b"{"), id="checkpoint-cut"),
        pytest.param(lambda folder: _write(folder, "manifest*", gzip.compress(b"[]")), id="checkpoint-of-another-sort"),
        pytest.param(lambda folder: _write(folder, "row_ranges-*", b""), id="row_ranges-emptied"),
        pytest.param(lambda folder: [path.unlink() for path in folder.glob("rows-*")], id="rows-gone"),
    ],
)
def test_what_was_interrupted_and_is_damaged_is_asked_for_again(killed, keep, damage):
    (folder,) = run_folders(keep)
    damage(folder)
    told = keep(killed, resume="yes")
    assert sorted(told.requests) == sorted(["/robots.txt", "/index.xml", *NAMES])
    assert told.locs == keep.locs(killed) == LOCS
    assert f"The run {folder.name} cannot be resumed, so its documents are requested again" in told.run.log


def _write(folder, names, data):
    for path in folder.glob(names):
        path.write_bytes(data)


def test_resume_where_nothing_was_interrupted_is_a_run_like_others(serve, keep):
    site = serve(pages())
    assert keep(site, resume="yes").locs == LOCS
    assert keep(site, resume="yes").changes == []


def test_a_run_that_is_told_to_stop_keeps_what_it_has_read_and_what_was_known(serve, keep):
    site = serve(pages())
    keep(site)
    changed = {name: urlset(f"/p{number}", f"/new{number}") for number, name in enumerate(NAMES)}
    changed[NAMES[9]] = Page(changed[NAMES[9]], delay=20)
    site.pages |= changed
    site.requests.clear()
    given = {"site": site.url, "store": keep.folder, "settings": SETTINGS | {"DOWNLOAD_TIMEOUT": 1}}
    wait_for_another_second()
    process = keep.crawl.start(**given)
    try:
        wait_until(lambda: NAMES[9] in site.requests)
        process.send_signal(signal.SIGINT)
        log, _ = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        process.kill()
    told = keep.told(keep.crawl.finished(process.returncode, log), site)
    assert told.run.reason == "shutdown"
    assert told.kinds == {f"/new{number}": "added" for number in range(9)}
    assert (told.summary["added"], told.summary["removed"], told.summary["stale"]) == (9, 0, 3)
    assert keep.locs(site) == sorted([*LOCS, *(f"/new{number}" for number in range(9))])
    assert keep.ledger(site)[NAMES[11]]["reason"] == "the run ended before it was requested"
    assert [run.complete for run in keep.store.site(site.url).runs] == [True, False]
    site.pages |= {NAMES[9]: urlset("/p9", "/new9")}
    assert keep(site).kinds == {f"/new{number}": "added" for number in (9, 10, 11)}
    assert json.loads(json.dumps(told.summary["stale_share"])) == round(3 / 21, 4)
