"""Crawls of a site that changes from version to version, each killed at some moment with ``SIGKILL``."""

from __future__ import annotations

import time
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from sitemap_harvest.snapshots.store import open_store
from tests.site import Page, Site, index, robots
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.crawl.crawling import Runner
    from tests.crawl.matrix.listed import Listed

SITEMAPS, URLS = 24, 300
_WRITTEN = (
    "rows-*",
    "row_ranges-*",
    "references-*",
    "sitemaps-*",
    "changes-*",
    "../../manifest*",
    "manifest*",
)
"""The files of a run, relative to its folder, for which some of the moments wait."""


def listed(version: int) -> Listed:
    """Return the URLs of a version of the site. Each version changes a third of the sitemaps and moves one URL."""
    found = {f"/{number}.xml": _entries(number, version - (version - number) % 3) for number in range(SITEMAPS)}
    found[f"/{version % SITEMAPS}.xml"]["/mover"] = "2026-01-01"
    return found


def _entries(number: int, version: int) -> dict[str, str]:
    """Return a sitemap that last changed with *version*: one URL added, one removed, every tenth with another date."""
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
    """The moment at which a run is killed."""

    requests: int | None
    """After so many requests; ``None``: as soon as it has written a file of that name."""
    written: str
    pause: float
    """Seconds after that."""

    @classmethod
    def of(cls, number: int) -> Moment:
        random = Random(number)
        if number % 5 < 3:
            return cls(random.randrange(SITEMAPS + 3), "", random.random() * 0.05)
        return cls(None, random.choice(_WRITTEN), random.random() * 0.02)

    def has_come(self, site: Site, run: Path | None, before: set[tuple[Path, int]]) -> bool:
        if self.requests is not None:
            return len(site.requests) >= self.requests
        return run is not None and bool(_files(run, self.written) - before)


def _files(folder: Path, pattern: str) -> set[tuple[Path, int]]:
    """Return the files below *folder*. A replaced file has another inode number."""
    return {(path.resolve(), path.stat().st_ino) for path in folder.glob(pattern)}


def committed(store: Path) -> set[tuple[str, str]]:
    """Return the ids of the finished runs, each with its site."""
    return {(history.site, run.id) for history in open_store(store).histories() for run in history.runs}


def kill(crawl: Runner, site: Site, store: Path, moment: Moment, **given: Any) -> None:
    """Start a crawl and kill it at its moment, unless it ends before."""
    before, deadline = set(store.glob("sites/*/runs/*")), time.monotonic() + PATIENCE_SECONDS
    manifests = _files(store, "sites/*/manifest*")
    site.requests.clear()
    settings = {"LOG_LEVEL": "WARNING"}
    with crawl.running(spider="changes", site=site.url, store=store, settings=settings, **given) as process:
        while process.is_alive() and time.monotonic() < deadline:
            run = next((path for path in store.glob("sites/*/runs/*") if path not in before), None)
            if moment.has_come(site, run, manifests):
                time.sleep(moment.pause)
                break
            time.sleep(0.001)
