"""Crawls of a site with a store, one after the other, and the output of each."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sitemap_harvest.snapshots.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from sitemap_harvest.snapshots.store import Store
    from tests.crawl.crawling import Run, Runner
    from tests.site import Site

_OF_BOTH = ("site", "run", "baseline")


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """The output of one crawl, read before the next one overwrites it. Addresses are without the site's."""

    run: Run
    site: str
    urls: list[dict[str, Any]] = field(repr=False)
    ledger: dict[str, dict[str, Any]] = field(repr=False)
    """The rows by address."""
    changes: list[dict[str, Any]]
    summaries: list[dict[str, Any]]
    sites: list[dict[str, Any]]
    requests: list[str]

    @property
    def locs(self) -> list[str]:
        """The URLs, sorted."""
        return sorted(self.path(row["loc"]) for row in self.urls)

    @property
    def fates(self) -> dict[str, str]:
        """The outcome of each document."""
        return {url: row["outcome"] for url, row in self.ledger.items()}

    @property
    def summary(self) -> dict[str, Any]:
        """The summary of the only site."""
        (summary,) = self.summaries
        return summary

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of change of each URL that has one."""
        kinds = {self.path(change["loc"]): change["kind"] for change in self.changes}
        assert len(kinds) == len(self.changes)
        return kinds

    def path(self, url: str) -> str:
        """Return *url* without the site's address."""
        return url.removeprefix(self.site)

    def change(self, path: str) -> dict[str, Any]:
        """Return the change of *path*, without nulls and fields with the same value in all changes."""
        (found,) = [change for change in self.changes if self.path(change["loc"]) == path]
        return {
            name: self.path(value) if isinstance(value, str) else value
            for name, value in found.items()
            if name not in _OF_BOTH and value is not None
        }


class Keeping:
    """Crawls into one store."""

    def __init__(self, crawl: Runner, folder: Path) -> None:
        self.crawl = crawl
        self.folder = folder

    @property
    def store(self) -> Store:
        """The store in its current state."""
        return open_store(self.folder)

    def __call__(self, site: Site, /, *, calm: bool = True, **given: Any) -> Output:
        """Crawl *site*, and return its output and requests."""
        site.requests.clear()
        if not {"site", "sites", "sitemap"} & given.keys():
            given["site"] = site.url
        return self.output(self.crawl(calm=calm, **{"store": self.folder, **given}), site)

    def later(self, site: Site, **given: Any) -> Output:
        """Crawl *site* in a later second than the last run."""
        wait_for_another_second()
        return self(site, **given)

    def output(self, run: Run, site: Site) -> Output:
        """Return the output of *run* for *site*."""
        return Output(
            run=run,
            site=site.url,
            urls=run.urls,
            ledger={row["url"].removeprefix(site.url): row for row in run.ledger},
            changes=run.changes,
            summaries=run.summaries,
            sites=run.sites,
            requests=list(site.requests),
        )

    def ledger(self, site: Site, when: str = "latest") -> dict[str, dict[str, Any]]:
        """Return the ledger of a snapshot of *site* by address."""
        rows = self.store.site(site.url).at(when).sitemaps().to_pylist()
        return {row["url"].removeprefix(site.url): row for row in rows}

    def locs(self, site: Site, when: str = "latest") -> list[str]:
        """Return the URLs of a snapshot of *site*, sorted."""
        table = self.store.site(site.url).at(when).urls(["loc"]).read_all()
        return sorted(loc.removeprefix(site.url) for loc in table["loc"].to_pylist())


def wait_for_another_second():
    """Wait until the id of a run is later than that of the last one: ids have whole seconds."""
    time.sleep(1 - time.time() % 1)
