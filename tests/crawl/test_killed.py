"""Killed crawls: the last snapshot stays in force, and the next run reports exactly the changes since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from sitemap_harvest.snapshots.store import open_store
from sitemap_harvest.snapshots.store.store import RUNS, Manifest
from tests.crawl.crawling import Runner, lines
from tests.crawl.killing import Moment, committed, kill, listed, pages, served
from tests.crawl.matrix.listed import Change, Listed, changes
from tests.site import Site

if TYPE_CHECKING:
    from pathlib import Path


KILLS = 20
MANY = 800  # more documents than a run reads before its first checkpoint


def crawl_changes(crawl: Runner, site: Site, store: Path, **arguments: Any) -> list[Change]:
    """Crawl to the end, and return the reported changes."""
    feed = {
        f"{crawl.folder}/changes.jsonl": {
            "format": "jsonl",
            "item_classes": ["sitemap_harvest.Change"],
            "overwrite": True,
        }
    }
    site.requests.clear()
    run = crawl(
        spider="changes", site=site.url, store=store, feeds=feed, settings={"LOG_LEVEL": "WARNING"}, **arguments
    )
    assert run.code == 0
    return [
        (row["kind"], *(url and urlsplit(url).path for url in (row["loc"], row["sitemap_before"], row["sitemap"])))
        for row in lines(crawl.folder / "changes.jsonl")
    ]


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """Return the reported and the expected changes of each run after a kill."""
    folder = tmp_path_factory.mktemp("killed")
    crawl, store = Runner(folder), folder / "store"
    found = []
    with Site(pages(0)) as site:
        assert crawl_changes(crawl, site, store) == []
        last = 0  # the version of the last snapshot
        for number in range(KILLS):
            site.pages = pages(2 * number + 1)
            snapshots = committed(store)
            kill(crawl, site, store, Moment.of(number))
            was_committed = committed(store) != snapshots
            last = 2 * number + 1 if was_committed else last
            site.pages = pages(2 * number + 2)
            found.append(
                (crawl_changes(crawl, site, store), changes(listed(last), listed(2 * number + 2)), was_committed)
            )
            last = 2 * number + 2
    return found


@pytest.mark.parametrize("number", range(KILLS))
def test_the_run_after_a_kill_reports_exactly_the_changes_since_the_last_snapshot(history, number):
    found, expected, _ = history[number]
    assert sorted(map(str, found)) == sorted(map(str, expected))


def test_most_of_the_runs_were_killed_before_they_were_committed(history):
    assert sum(was_committed for _, _, was_committed in history) < KILLS / 2


def checkpoint_of(store: Path, site: Site) -> int:
    """Return the number of documents in the checkpoint of the unfinished run; a slow machine writes it before 500."""
    history = open_store(store).history(site.url)
    (unfinished,) = history.unfinished()
    manifest = Manifest.read(history.folder / RUNS / unfinished)
    return sum(file.count for file in manifest.files if file.table == "done")


def test_a_resumed_run_does_not_request_completely_read_documents_again(tmp_path):
    crawl, store = Runner(tmp_path), tmp_path / "store"
    before: Listed = {f"/{number}.xml": {f"/{number}": "2026-01-01"} for number in range(MANY)}
    after: Listed = {path: dict.fromkeys(entries, "2026-01-02") for path, entries in before.items()}
    after["/0.xml"] = {"/new": "2026-01-02"}
    with Site(served(before)) as site:
        crawl_changes(crawl, site, store)
        site.pages = served(after)
        kill(crawl, site, store, Moment(None, "manifest*", 0.1))
        requested, checkpoint = set(site.requests), checkpoint_of(store, site)
        assert sorted(crawl_changes(crawl, site, store, resume="yes"), key=str) == sorted(
            changes(before, after), key=str
        )
        assert 0 < checkpoint <= len(requested) < MANY
        assert len(site.requests) <= MANY + 2 - checkpoint + 1  # robots.txt, whose rules are needed, is requested again
