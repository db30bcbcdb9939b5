"""Drives a world through its crawls: when sites rest, which documents fail, and when a run is killed."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from tests.histories.crawls import Crawls
from tests.histories.failing import FAULTS, UNAVAILABLE, Failing
from tests.histories.oracle import Oracle
from tests.histories.serving import Server
from tests.histories.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from tests.histories.failing import Fault
    from tests.histories.oracle import Find
    from tests.histories.world import Frame, Site

REST = 3
"""The number of crawls without failures between those with failures; the site changes before the first only."""


class Schedule:
    """The crawls in which the sites of one group, which may share documents, fail and rest."""

    def __init__(self, random: Random, *, faults: tuple[Fault, ...]) -> None:
        self.random = random
        self._faults = faults
        self._rest_from = random.randint(3, 9)
        self._is_sound_at_first = random.random() < 0.7

    def begin(self, crawl: int) -> None:
        """Begin a crawl."""
        if crawl == self._rest_from + REST:
            self._rest_from = crawl + self.random.randint(3, 9)

    def rests(self, crawl: int) -> bool:
        """Whether nothing fails in this crawl."""
        return crawl >= self._rest_from

    def is_frozen(self, crawl: int) -> bool:
        """Whether the sites do not change before this crawl."""
        return crawl == 0 or crawl > self._rest_from

    def fail(self, sites: list[Site], frames: list[Frame], failing: dict[str, Failing]) -> None:
        """Let documents of *sites* fail, in addition to those that already fail."""
        crawl = len(frames) - 1
        if self.rests(crawl) or (crawl == 0 and self._is_sound_at_first):
            return
        if self.random.random() < 0.3:
            return
        if self.random.random() < 0.15:
            self._fail_host(self.random.choice(sites), crawl, failing)
            return
        if not (documents := {url: document for site in sites for url, document in site.documents.items()}):
            return
        known = frames[crawl - 1].documents if crawl else {}
        fresh = [url for url in documents if url not in known]
        for _ in range(self.random.choice((1, 1, 2, 3, 8))):
            row_store = fresh if fresh and self.random.random() < 0.4 else list(documents)
            url = self.random.choice(row_store)
            form = documents[url].form
            is_known = url in known and known[url].form is form and self._is_sound_at_first
            fault = self.random.choice([one for one in self._faults if form in one.forms])
            if (fault.is_garbled or fault.versions) and not is_known:
                continue
            last = min(crawl + self.random.choice((0, 0, 1, 2, 3)), self._rest_from - 1)
            failing.setdefault(url, Failing(fault, last, self.random.random()))

    def _fail_host(self, site: Site, crawl: int, failing: dict[str, Failing]) -> None:
        """Let all documents of *site* fail alike in this crawl."""
        fault = self.random.choice([one for one in self._faults if one.is_of_host])
        failing.update({url: Failing(fault, crawl, self.random.random()) for url in site.documents})


class History:
    """A number of crawls of a number of sites."""

    def __init__(
        self,
        folder: Path,
        *,
        sites: int,
        seed: int,
        kill_share: float,
        only: set[int] | None = None,
        without: Collection[str] = (),
    ) -> None:
        random = Random(seed)
        faults = tuple(fault for fault in FAULTS if fault.name not in without)
        self.world = World(sites, random)
        self.random = Random(seed + 1)
        self.oracle = Oracle(self.world)
        self.kills = self.crawled = self.undelivered = 0
        self._folder = folder
        self._kill_share = kill_share
        self._groups: dict[int, list[Site]] = defaultdict(list)
        for site in self.world.sites:
            self._groups[site.number - (site.number % 4 == 1)].append(site)
        self._schedules = {number: Schedule(Random(random.random()), faults=faults) for number in self._groups}
        if only is not None:
            self._groups = {number: sites for number, sites in self._groups.items() if number in only}
            self.world.sites = [site for sites in self._groups.values() for site in sites]

    def run(self, rounds: int, note: Callable[[str], None] = lambda _: None) -> list[Find]:
        """Crawl all sites *rounds* times; return the finds."""
        failing: dict[str, Failing] = {}
        resume = False
        with Server(self.world) as server:
            crawls = Crawls(self._folder, server)
            for crawl in range(rounds):
                failing = {url: one for url, one in failing.items() if one.last >= crawl}
                frozen = self._change(crawl)
                for number, sites in self._groups.items():
                    self._schedules[number].fail(sites, self.world.frames, failing)
                server.failing = dict(failing)
                self.oracle.failing.append(server.failing)
                self._make_detectable(server.failing)
                note(self._description(crawl, server.failing))
                is_last = crawl == rounds - 1
                killed = crawl > 0 and not is_last and self.random.random() < self._kill_share
                kill_after, pause = self._moment(crawls.requests)
                reports = crawls.run(crawl, resume=resume, kill_after=kill_after if killed else None, pause=pause)
                before = len(self.oracle.finds)
                self.oracle.check(self.world.sites, reports, resumed=resume, frozen=frozen)
                self.crawled += len(self.world.sites)
                if reports.delivered is None:
                    self.kills += 1
                    self.undelivered += sum(map(len, reports.changes.values()))
                resume = reports.delivered is None and self.random.random() < 0.5
                for find in self.oracle.finds[before:]:
                    note(f"  {find}")
        return self.oracle.finds

    def _make_detectable(self, failing: dict[str, Failing]) -> None:
        """Make the faults in *failing* of documents that were never read an HTTP 503 if they look sound at first."""
        for url, one in failing.items():
            if one.fault.is_garbled and not self.oracle.has_read(url):
                failing[url] = replace(one, fault=UNAVAILABLE)

    def _moment(self, requests: int) -> tuple[int, float]:
        """Return when to kill a run of that many *requests*: after how many, and the seconds after that."""
        if self.random.random() < 0.5:
            return self.random.randrange(max(requests, 1)), self.random.random() * 0.3
        return int(requests * 0.95), self.random.random() * 2  # while sites are stored and their changes are written

    def _change(self, crawl: int) -> set[int]:
        """Let the sites change; return the numbers of those that may not."""
        frozen = set()
        for number, sites in self._groups.items():
            self._schedules[number].begin(crawl)
            if self._schedules[number].is_frozen(crawl):
                frozen |= {site.number for site in sites}
            if self._schedules[number].rests(crawl):
                for site in sites:
                    site.heal()
        self.world.step(frozen)
        self.world.record()
        return frozen

    def _description(self, crawl: int, failing: dict[str, Failing]) -> str:
        lines = [f"crawl {crawl}"]
        for site in self.world.sites:
            lines += [f"  s{site.number}: {text}" for text in site.log]
        lines += [f"  {one.fault.name} at {url} until {one.last}" for url, one in sorted(failing.items())]
        return "\n".join(lines)
