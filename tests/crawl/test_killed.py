"""Crawls that are killed: the last snapshot stays in force, and the next run tells exactly what has changed since."""

from __future__ import annotations

import time
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.crawl.crawling import Runner, lines
from tests.crawl.matrix.listed import Change, Listed, changes
from tests.site import Page, Site, index, robots
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.thorough

SITEMAPS, URLS = 24, 300
KILLS = 20
MANY = 800  # more documents than a run reads before it writes down for the first time what it has
_WRITTEN = ("rows-*", "extents-*", "references-*", "sitemaps.parquet", "changes.parquet", "manifest*", "checkpoint-*")
"""What a run writes, which some of the moments wait for."""


def listed(version: int) -> Listed:
    """Return what a version of the site lists. With each, a third of the sitemaps has changed, and one URL moved."""
    found = {f"/{number}.xml": _entries(number, version - (version - number) % 3) for number in range(SITEMAPS)}
    found[f"/{version % SITEMAPS}.xml"]["/mover"] = "2026-01-01"
    return found


def _entries(number: int, version: int) -> dict[str, str]:
    """Return a sitemap that changed last with *version*: one URL came, one went, every tenth one has another date."""
    days = {row: 1 + (version % 28 if row % 10 == 0 else 0) for row in range(version, version + URLS)}
    return {f"/{number}/{row}": f"2026-01-{day:02}" for row, day in days.items()}


def pages(version: int) -> dict[str, Any]:
    return served(listed(version), delay=0.01)


def served(lists: Listed, delay: float = 0.0) -> dict[str, Any]:
    documents = {path: Page(_urlset(entries), delay=delay) for path, entries in lists.items()}
    return {"/robots.txt": robots("/index.xml"), "/index.xml": index(*lists), **documents}


def _urlset(entries: dict[str, str]) -> str:
    urls = "".join(
        f"<url><loc>{{site}}{loc}</loc><lastmod>{lastmod}</lastmod></url>\n" for loc, lastmod in entries.items()
    )
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n'


@dataclass(frozen=True)
class Moment:
    """When a run is killed."""

    requests: int | None
    """After so many requests; ``None``: as soon as it has written a file that is called so."""
    written: str
    pause: float
    """Seconds after that."""

    @classmethod
    def of(cls, number: int) -> Moment:
        random = Random(number)
        if number % 5 < 3:
            return cls(random.randrange(SITEMAPS + 3), "", random.random() * 0.05)
        return cls(None, random.choice(_WRITTEN), random.random() * 0.02)

    def has_come(self, site: Site, run: Path | None) -> bool:
        if self.requests is not None:
            return len(site.requests) >= self.requests
        return run is not None and any(run.glob(self.written))


def committed(store: Path) -> set[Path]:
    return {path.parent for path in store.glob("sites/*/runs/*/manifest.json")}


def kill(crawl: Runner, site: Site, store: Path, moment: Moment) -> None:
    """Begin a crawl and kill it at its moment, or see it end before."""
    before, deadline = set(store.glob("sites/*/runs/*")), time.monotonic() + PATIENCE_SECONDS
    site.requests.clear()
    with crawl.running(spider="changes", site=site.url, store=store, settings={"LOG_LEVEL": "WARNING"}) as process:
        while process.is_alive() and time.monotonic() < deadline:
            run = next((path for path in store.glob("sites/*/runs/*") if path not in before), None)
            if moment.has_come(site, run):
                time.sleep(moment.pause)
                break
            time.sleep(0.001)


def told(crawl: Runner, site: Site, store: Path, **arguments: Any) -> list[Change]:
    """Crawl to the end, and return the changes that it tells."""
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
    """Return what each run after a kill has told, and what it had to."""
    folder = tmp_path_factory.mktemp("killed")
    crawl, store = Runner(folder), folder / "store"
    found = []
    with Site(pages(0)) as site:
        assert told(crawl, site, store) == []
        last = 0  # the version of the last snapshot
        for number in range(KILLS):
            site.pages = pages(2 * number + 1)
            snapshots = committed(store)
            kill(crawl, site, store, Moment.of(number))
            was_committed = committed(store) != snapshots
            last = 2 * number + 1 if was_committed else last
            site.pages = pages(2 * number + 2)
            found.append((told(crawl, site, store), changes(listed(last), listed(2 * number + 2)), was_committed))
            last = 2 * number + 2
    return found


@pytest.mark.parametrize("number", range(KILLS))
def test_the_run_after_a_kill_tells_exactly_what_has_changed_since_the_last_snapshot(history, number):
    found, expected, _ = history[number]
    assert sorted(map(str, found)) == sorted(map(str, expected))


def test_most_of_the_runs_were_killed_before_they_were_committed(history):
    assert sum(was_committed for _, _, was_committed in history) < KILLS / 2


def test_a_run_that_is_resumed_does_not_ask_again_for_what_was_read_whole(tmp_path):
    crawl, store = Runner(tmp_path), tmp_path / "store"
    before: Listed = {f"/{number}.xml": {f"/{number}": "2026-01-01"} for number in range(MANY)}
    after: Listed = {path: dict.fromkeys(entries, "2026-01-02") for path, entries in before.items()}
    after["/0.xml"] = {"/new": "2026-01-02"}
    with Site(served(before)) as site:
        told(crawl, site, store)
        site.pages = served(after)
        kill(crawl, site, store, Moment(None, "checkpoint-*", 0.1))
        asked = set(site.requests)
        assert sorted(told(crawl, site, store, resume="yes"), key=str) == sorted(changes(before, after), key=str)
        assert 500 < len(asked) < MANY
        assert len(site.requests) <= MANY + 2 - 500
