"""Runs and kills the crawls, and reads their output: the feed, and the results of commands on the store."""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sitemap_harvest.integration import default_settings as defaults
from tests import forked
from tests.crawl.crawling import HERE, lines
from tests.crawl.matrix.faults import MOST_BYTES, MOST_UNPACKED
from tests.histories.failing import MOST_URLS
from tests.histories.outages import SETTING

if TYPE_CHECKING:
    from pathlib import Path

    from tests.histories.serving import Server

LIMIT_RUNS = 50
"""The number of runs after which an uncertain removal is reported: more than any fault lasts."""
_SETTINGS: dict[str, Any] = {
    "AUTOTHROTTLE_ENABLED": "False",
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
    "DOWNLOAD_DELAY": 0,
    "DOWNLOAD_MAXSIZE": MOST_BYTES,
    "DOWNLOAD_TIMEOUT": 20,
    "DOWNLOADER_MIDDLEWARES": json.dumps({**defaults.DOWNLOADER_MIDDLEWARES, "tests.histories.outages.Outages": 999}),
    "LOG_LEVEL": "WARNING",
    "SITEMAP_HARVEST_ABSENT_RUNS": LIMIT_RUNS,
    "SITEMAP_HARVEST_MAX_UNPACKED": MOST_UNPACKED,
    "SITEMAP_HARVEST_MAX_URLS": MOST_URLS,
    "SITEMAP_HARVEST_MAX_WAIT": 1,
    "SITEMAP_HARVEST_PENDING_RUNS": LIMIT_RUNS,
    "SITEMAP_HARVEST_PRIVATE": "True",
}
_PATIENCE_SECONDS = 240
_BRIEF_SECONDS = 0.5
_KINDS = {"changes": "Change", "summaries": "ChangeSummary", "ledger": "SitemapRecord"}


_VIEW = """
    select s.root, s.latest, u.loc, u.sitemap, u.lastmod, u.priority, u.alternates
    from sites s left join urls u on u.root = s.root
"""


@dataclass
class Reports:
    """The output of a run, by site."""

    changes: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    """The changes of the snapshots committed in this run: from the store if the run was killed."""
    delivered: dict[str, list[dict[str, Any]]] | None = None
    """Those in the feed, including those of earlier runs whose feed was lost; ``None`` if the run was killed."""
    written: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    """Those in the feed of a killed run: it may have reached its end."""
    urls: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    """The view ``urls`` of the last snapshot."""
    committed: dict[str, str] = field(default_factory=dict)
    """The run of each committed snapshot."""


class Crawls:
    """The crawls of all sites into one store, in a folder."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.folder = folder
        self.store = folder / "store"
        self.requests = 0
        """The number of requests of the last run that was not killed."""
        self._server = server
        self._runs: dict[str, str] = {}  # the last of each site
        (folder / "sites.txt").write_text("".join(f"{site.root}\n" for site in server.world.sites))

    def run(self, number: int, *, resume: bool, kill_after: int | None = None, pause: float = 0.0) -> Reports:
        """Crawl once; if the run is to be killed, *pause* seconds after that number of requests."""
        out = self.folder / f"run-{number:03}"
        out.mkdir()
        self._server.requests = 0
        command = self._command(out, retries=number % 2, resume=resume)
        with forked.running(*command, cwd=HERE, environment=self._environment(), folder=str(out)) as process:
            deadline = time.monotonic() + _PATIENCE_SECONDS
            if kill_after is not None:
                while process.is_alive() and self._server.requests < kill_after and time.monotonic() < deadline:
                    time.sleep(0.002)
                time.sleep(pause)
                was_killed = process.is_alive()
            else:
                process.join(_PATIENCE_SECONDS)
                was_killed = False
                assert process.exitcode == 0, f"{out}: {process.exitcode}: {(out / 'stderr').read_text()[-3000:]}"
        if not was_killed:
            log = (out / "stderr").read_text() + (out / "stdout").read_text()
            assert "Traceback" not in log, f"{out}: {log[-5000:]}"
            self.requests = self._server.requests
        if self._server.errors:
            raise ExceptionGroup("the server has failed", self._server.errors)
        reports = Reports()
        if (self.store / "sites").exists():
            self._read_view(reports, out)
        changes = self._stored(reports, out) if was_killed else lines(out / "changes.jsonl")
        for row in changes:
            if reports.committed.get(row["site"]) == row["run"]:
                reports.changes[row["site"]].append(row)
        if not was_killed:
            reports.delivered = defaultdict(list)
        feed = reports.written if reports.delivered is None else reports.delivered
        for row in _whole_lines(out / "changes.jsonl") if was_killed else changes:
            feed[row["site"]].append(row)
        return reports

    def _read_view(self, reports: Reports, out: Path) -> None:
        for row in self._query(out, _VIEW):
            if self._runs.get(row["root"]) != row["latest"]:
                reports.committed[row["root"]] = row["latest"]
            if row["loc"] is not None:
                reports.urls[row["root"]].append(row)
        self._runs |= reports.committed

    def _stored(self, reports: Reports, out: Path) -> list[dict[str, Any]]:
        """Return the changes that the store holds for committed runs."""
        runs = ", ".join(f"'{run}'" for run in {*reports.committed.values(), ""})
        return self._query(out, f"select * from changes where run in ({runs})")

    def _query(self, out: Path, sql: str) -> list[dict[str, Any]]:
        file = out / "query.jsonl"
        command = ("harvest", "query", "--store", str(self.store), sql, "-O", str(file))
        done = forked.scrapy(*command, cwd=HERE, environment=self._environment())
        assert done.returncode == 0, done.stderr
        return lines(file)

    def _outages(self) -> dict[str, str | float]:
        failing = self._server.failing.items()
        hosts = {urlsplit(url).hostname: one.fault.outage for url, one in failing if one.fault.outage}
        return {**hosts, **{url: _BRIEF_SECONDS for url, one in failing if one.fault.is_slow}}

    def _command(self, out: Path, *, retries: int, resume: bool) -> list[str]:
        feeds = {
            f"{out}/{name}.jsonl": {"format": "jsonl", "item_classes": [f"sitemap_harvest.{kind}"], "overwrite": True}
            for name, kind in _KINDS.items()
        }
        arguments = {
            "sites": self.folder / "sites.txt",
            "store": self.store,
            "emit": "changes,summaries,sitemaps",
            "resume": "yes" if resume else "no",
            "consumer": "model",
        }
        outages = json.dumps(self._outages())
        settings = {**_SETTINGS, "FEEDS": json.dumps(feeds), "RETRY_TIMES": retries, SETTING: outages}
        settings["SITEMAP_HARVEST_SEARCH_AGAIN"] = 7 * retries  # every other run searches
        command = ["crawl", "changes"]
        for name, value in arguments.items():
            command += ["-a", f"{name}={value}"]
        for name, value in settings.items():
            command += ["-s", f"{name}={value}"]
        return command

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SCRAPY")}
        return {**kept, "http_proxy": self._server.url, "https_proxy": self._server.url, "no_proxy": "", "NO_PROXY": ""}


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSON Lines file, which may end within a line."""
    text = path.read_bytes() if path.exists() else b""
    return [json.loads(line) for line in text.split(b"\n")[:-1] if line]
