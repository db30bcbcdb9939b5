"""Runs ``scrapy crawl`` as a user does, mostly with the spider ``sitemap``, and reads its output."""

from __future__ import annotations

import json
import os
import re
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sitemap_harvest.integration import default_settings as defaults
from tests import forked
from tests.forked_program import scrapy_program
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.process import BaseProcess

HERE = Path(__file__).parents[2]
"""The folder with ``scrapy.cfg``."""
_SETTINGS: dict[str, Any] = {"DOWNLOAD_TIMEOUT": 30, "RETRY_TIMES": 0, "LOG_LEVEL": "INFO", "DNS_TIMEOUT": 2}
_STATS = "tests.crawl.parts.StatsDump"
_SHORT_TIMEOUTS = "tests.crawl.parts.ShortTimeouts"
_SPIDER = "sitemap"
_SPIDERS = f"{defaults.SPIDER_MODULE},tests.crawl.spiders"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The results of a crawl."""

    code: int
    log: str
    stats: dict[str, Any] = field(repr=False)
    folder: Path

    @property
    def urls(self) -> list[dict[str, Any]]:
        """The URLs, from the default feed."""
        return lines(self.folder / "urls.jsonl")

    @property
    def locs(self) -> list[str]:
        """The addresses in :attr:`urls`."""
        return [row["loc"] for row in self.urls]

    @property
    def items(self) -> list[dict[str, Any]]:
        """The items of a user's own spider, from the default feed."""
        return lines(self.folder / "items.jsonl")

    @property
    def ledger(self) -> list[dict[str, Any]]:
        """The rows of the ledger, from the default feed."""
        return lines(self.folder / "ledger.jsonl")

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The changes since the last snapshot, from the default feed."""
        return lines(self.folder / "changes.jsonl")

    @property
    def summaries(self) -> list[dict[str, Any]]:
        """The summaries of changes, one row per site."""
        return lines(self.folder / "summaries.jsonl")

    @property
    def sites(self) -> list[dict[str, Any]]:
        """The result of each site, in a run with a store."""
        return lines(self.folder / "sites.jsonl")

    def fates(self, site: str = "") -> dict[str, str]:
        """Return the outcome of each document by its address, without *site*; each has one row."""
        rows = self.ledger
        assert len({row["url"] for row in rows}) == len(rows)
        return {row["url"].removeprefix(site): row["outcome"] for row in rows}

    def row(self, url: str) -> dict[str, Any]:
        """Return the ledger row of the document at *url*."""
        (row,) = [row for row in self.ledger if row["url"] == url]
        return row

    @property
    def errors(self) -> list[str]:
        """Lines of the log at ERROR or above."""
        return re.findall(r"^.*\] (?:ERROR|CRITICAL): .*$", self.log, re.MULTILINE)

    @property
    def reason(self) -> str:
        """The finish reason of the crawl."""
        return str(self.stats["finish_reason"])


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSON Lines file; none if it does not exist."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_bytes().splitlines()]


class Runner:
    """Runs crawls with their output in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def feeds(self, *, has_store: bool = False) -> dict[str, dict[str, Any]]:
        """Return the default feeds of a crawl, one for each kind of item; more with *has_store*."""
        kinds = {
            "urls": "sitemap_harvest.UrlEntry",
            "ledger": "sitemap_harvest.SitemapRecord",
            "items": "builtins.dict",
        }
        if has_store:
            kinds |= {
                "sites": "sitemap_harvest.SiteRecord",
                "changes": "sitemap_harvest.Change",
                "summaries": "sitemap_harvest.ChangeSummary",
            }
        return {f"{self.folder}/{name}.jsonl": _feed(kind) for name, kind in kinds.items()}

    def __call__(
        self,
        *,
        feeds: dict[str, dict[str, Any]] | None = None,
        options: tuple[str, ...] = (),
        settings: dict[str, Any] | None = None,
        calm: bool = True,
        patience: float = PATIENCE_SECONDS,
        spider: str = _SPIDER,
        environment: dict[str, str] | None = None,
        **arguments: Any,
    ) -> Run:
        """Run a crawl to its end, at most *patience* seconds. A *calm* one logs neither an error nor a traceback."""
        command = self._command(feeds=feeds, options=options, settings=settings, spider=spider, **arguments)
        env = self._environment() | (environment or {})
        run = forked.scrapy(*command, cwd=HERE, environment=env, timeout=patience)
        return self.finished(run.returncode, run.stdout + run.stderr, calm=calm)

    def start(
        self,
        *,
        feeds: dict[str, dict[str, Any]] | None = None,
        options: tuple[str, ...] = (),
        settings: dict[str, Any] | None = None,
        spider: str = _SPIDER,
        environment: dict[str, str] | None = None,
        **arguments: Any,
    ) -> subprocess.Popen[str]:
        """Start a crawl."""
        command = self._command(feeds=feeds, options=options, settings=settings, spider=spider, **arguments)
        return subprocess.Popen(
            [scrapy_program(), *command],
            cwd=HERE,
            env=self._environment() | (environment or {}),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    @contextmanager
    def running(
        self,
        *,
        options: tuple[str, ...] = (),
        settings: dict[str, Any] | None = None,
        spider: str = _SPIDER,
        **arguments: Any,
    ) -> Iterator[BaseProcess]:
        """Run a crawl while the block runs: it is killed at the end of the block unless it has ended."""
        command = self._command(feeds=None, options=options, settings=settings, spider=spider, **arguments)
        with forked.running(*command, cwd=HERE, environment=self._environment(), folder=str(self.folder)) as process:
            yield process

    def _command(
        self,
        *,
        feeds: dict[str, dict[str, Any]] | None,
        options: tuple[str, ...],
        settings: dict[str, Any] | None,
        spider: str,
        **arguments: Any,
    ) -> list[str]:
        """Return the arguments of ``scrapy``."""
        (self.folder / "stats.json").unlink(missing_ok=True)
        if "-O" not in options and "-o" not in options:
            if feeds is None:
                feeds = self.feeds(has_store="store" in arguments)
                for file in feeds:  # an interrupted run would leave those of the last run as they are
                    Path(file).unlink(missing_ok=True)
            settings = {"FEEDS": feeds, **(settings or {})}
        settings = {**_SETTINGS, **(settings or {})}
        own = {_STATS: 0} | ({_SHORT_TIMEOUTS: 0} if "TEST_HANGING" in settings else {})
        settings["EXTENSIONS"] = {**own, **settings.get("EXTENSIONS", {})}
        if spider == _SPIDER:
            kinds = "urls,sitemaps,sites,changes,summaries" if "store" in arguments else "urls,sitemaps"
            arguments = {"emit": kinds, **arguments}
        else:
            settings.setdefault("SPIDER_MODULES", _SPIDERS)
        command = ["crawl", spider, *options]
        for name, value in arguments.items():
            command += ["-a", f"{name}={value}"] if value is not None else []
        for name, value in settings.items():
            command += ["-s", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
        return command

    def finished(self, code: int, log: str, *, calm: bool = True) -> Run:
        """Return the results of a finished crawl."""
        dump = self.folder / "stats.json"
        run = Run(code=code, log=log, stats=json.loads(dump.read_text()) if dump.exists() else {}, folder=self.folder)
        assert "ScrapyDeprecationWarning" not in log or not calm, log
        if calm:
            assert not run.errors, log
            assert "Traceback" not in log, log
        return run

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SCRAPY")}
        return {**kept, "STATS_FILE": str(self.folder / "stats.json"), "NO_PROXY": "*", "no_proxy": "*"}


def _feed(kind: str) -> dict[str, Any]:
    return {"format": "jsonl", "item_classes": [kind], "overwrite": True}
