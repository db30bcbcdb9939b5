"""Killed runs: the documents they had read are reused with ``resume``, and dropped without. And stopped runs."""

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
    """Return a site with one URL in each sitemap, one of which is slow."""
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
def test_completely_read_documents_are_not_requested_again(killed, keep):
    (folder,) = run_folders(keep)
    resumed = keep(killed, resume="yes")
    assert resumed.locs == LOCS
    left = [path for path in resumed.requests if path in NAMES]
    assert 3 <= len(left) <= 8
    assert set(left) >= set(NAMES[9:])
    assert resumed.fates == dict.fromkeys(["/robots.txt", "/index.xml", *NAMES], "read")
    assert (resumed.summary["run"], resumed.summary["urls_after"], resumed.summary["stale"]) == (folder.name, FILES, 0)
    assert keep.locs(killed) == LOCS
    assert not list(folder.glob("manifest*"))
    assert keep(killed).changes == []


def test_without_resume_an_interrupted_run_is_dropped(killed, keep):
    (folder,) = run_folders(keep)
    resumed = keep(killed)
    assert sorted(resumed.requests) == sorted(["/robots.txt", "/index.xml", *NAMES])
    assert resumed.locs == LOCS
    assert not folder.exists()
    assert [run.name for run in run_folders(keep)] == [resumed.summary["run"]]


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda folder: _write(folder, "manifest*", b"{"), id="checkpoint-cut"),
        pytest.param(lambda folder: _write(folder, "manifest*", gzip.compress(b"[]")), id="checkpoint-of-another-sort"),
        pytest.param(lambda folder: _write(folder, "rows-*", b""), id="rows-emptied"),
        pytest.param(lambda folder: [path.unlink() for path in folder.glob("rows-*")], id="rows-gone"),
    ],
)
def test_a_damaged_interrupted_run_is_requested_again(killed, keep, damage):
    (folder,) = run_folders(keep)
    damage(folder)
    resumed = keep(killed, resume="yes")
    assert sorted(resumed.requests) == sorted(["/robots.txt", "/index.xml", *NAMES])
    assert resumed.locs == keep.locs(killed) == LOCS
    assert f"The run {folder.name} cannot be resumed, so its documents are requested again" in resumed.run.log
    assert "there is nothing to resume" not in resumed.run.log


def _write(folder, names, data):
    for path in folder.glob(names):
        path.write_bytes(data)


def test_resume_without_an_interrupted_run_is_an_ordinary_run(serve, keep):
    site = serve(pages())
    first, second = keep(site, resume="yes"), keep(site, resume="yes")
    assert (first.locs, second.changes) == (LOCS, [])
    why = f"WARNING: {site.url}: there is nothing to resume, because no run"
    saves = "(a run saves its progress every 500 documents or 30 seconds)"
    assert f"{why} has saved documents of the site, and all are requested {saves}" in first.run.log
    assert f"{why} after {first.summary['run']} has saved documents of the site; those of that run" in second.run.log


def test_of_several_sites_without_an_interrupted_run_the_log_names_one(serve, keep):
    sites = [serve(pages(), host=host) for host in ("127.0.0.1", "127.0.0.2")]
    run = keep.crawl(sitemap=" ".join(f"{one.url}/index.xml" for one in sites), store=keep.folder, resume="yes")
    assert run.log.count("there is nothing to resume") == 1


def test_a_stopped_run_keeps_the_documents_it_has_read_and_the_known_ones(serve, keep):
    site = serve(pages())
    keep(site)
    changed = {name: urlset(f"/p{number}", f"/new{number}") for number, name in enumerate(NAMES)}
    changed[NAMES[9]] = Page(changed[NAMES[9]], delay=20)
    site.pages |= changed
    site.requests.clear()
    given = {"site": site.url, "store": keep.folder, "settings": SETTINGS | {"TEST_HANGING": NAMES[9]}}
    wait_for_another_second()
    process = keep.crawl.start(**given)
    try:
        wait_until(lambda: NAMES[9] in site.requests)
        process.send_signal(signal.SIGINT)
        log, _ = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        process.kill()
    stopped = keep.output(keep.crawl.finished(process.returncode, log), site)
    assert stopped.run.reason == "shutdown"
    assert stopped.kinds == {f"/new{number}": "added" for number in range(9)}
    assert (stopped.summary["added"], stopped.summary["removed"], stopped.summary["stale"]) == (9, 0, 3)
    assert keep.locs(site) == sorted([*LOCS, *(f"/new{number}" for number in range(9))])
    assert keep.ledger(site)[NAMES[11]]["reason"] == "the run ended before the document was requested"
    assert [run.complete for run in keep.store.site(site.url).runs] == [True, False]
    site.pages |= {NAMES[9]: urlset("/p9", "/new9")}
    rest = keep(site, resume="yes", settings=SETTINGS)
    assert rest.kinds == {f"/new{number}": "added" for number in (9, 10, 11)}
    assert [path for path in rest.requests if path in NAMES] == [*NAMES[10:], *NAMES[:10]]
    run = keep.store.site(site.url).runs[1].id
    assert f"nothing to resume, because the interrupted run {run} has stored what it read" in rest.run.log
    assert json.loads(json.dumps(stopped.summary["stale_share"])) == round(3 / 21, 4)
