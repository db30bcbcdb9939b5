"""A site that changes and fails, and its snapshots made only by ``merge_snapshot``: sets of URLs instead of rows."""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sitemap_harvest import FoundBy, Kind, Outcome, Problem, SitemapRecord
from sitemap_harvest.snapshots.merge import merge_snapshot
from sitemap_harvest.snapshots.merge_policy import MergePolicy, is_exact, merge_decision
from sitemap_harvest.urls import document_key

if TYPE_CHECKING:
    from random import Random

SITE = "https://example.com"
ROBOTS = f"{SITE}/robots.txt"
INDEXES = [f"{SITE}/index-{number}.xml" for number in range(4)]
SITEMAPS = [f"{SITE}/sitemap-{number}.xml" for number in range(6)]
DAY_ONE = datetime(2026, 11, 1, tzinfo=UTC)
NEVER = 1000  # runs in which a document must be absent before its absence is accepted
REFUSALS = {
    "absent": Outcome.ABSENT,
    "broken": Outcome.FAILED,
    "blocked": Outcome.BLOCKED,
    "page": Outcome.NOT_A_SITEMAP,
    "limit": Outcome.OVER_LIMIT,
}
READINGS = ["partial", "other-kind", "mojibake", "redirect"]
FAULTS = [*REFUSALS, *READINGS, "not-met"]


@dataclass
class ModelSite:
    """The truth: which document lists which, and the URLs of each sitemap."""

    lists: dict[str, set[str]] = field(default_factory=lambda: {ROBOTS: set(INDEXES[:2])})
    urls: dict[str, set[str]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    """Documents that are not served; never one that is listed."""

    def change(self, random: Random) -> None:
        """Let some URLs come or go, and some documents be listed or not."""
        for _ in range(random.randrange(4)):
            urls = self.urls.setdefault(sitemap := random.choice(SITEMAPS), set())
            _toggle(urls, f"{sitemap}/{random.randrange(20)}")  # a URL stays in its sitemap
        for _ in range(random.randrange(3)):
            lister = random.choice([ROBOTS, *INDEXES])
            later = INDEXES[INDEXES.index(lister) + 1 :] if lister in INDEXES else INDEXES
            _toggle(self.lists.setdefault(lister, set()), random.choice([*later, *SITEMAPS]))
        if random.random() < 0.4:  # a sitemap moves from one index to another
            one, other = random.sample([ROBOTS, *INDEXES], 2)
            self.lists.setdefault(other, set()).update(moved := self.lists.get(one, set()) & set(SITEMAPS))
            self.lists.setdefault(one, set()).difference_update(moved)
        unlisted = {*INDEXES, *SITEMAPS} - set(self.reachable())
        self.gone = {url for url in sorted(unlisted) if random.random() < 0.5}

    def reachable(self) -> dict[str, None]:
        """Return the documents reachable from robots.txt."""
        found, waiting = {ROBOTS: None}, deque([ROBOTS])
        while waiting:
            for url in sorted(self.lists.get(waiting.popleft(), set()) - found.keys()):
                found[url] = None
                waiting.append(url)
        return found

    def truth(self) -> set[str]:
        """Return the URLs that the site publishes."""
        return set().union(*(self.urls.get(url, set()) for url in self.reachable()))

    def served(self) -> set[str]:
        """Return the URLs of all documents that are served, listed or not."""
        return set().union(*(self.urls.get(url, set()) for url in {*SITEMAPS} - self.gone))


def _toggle(values: set[str], value: str) -> None:
    values.symmetric_difference_update({value})


@dataclass
class Keeper:
    """Harvests a model site, run after run, and keeps the results of :func:`merge_snapshot`."""

    absent_runs: int = NEVER
    asks_by_itself: bool = True
    """Whether known documents that are targets of a redirect are also read themselves."""
    ledger: dict[str, SitemapRecord] = field(default_factory=dict)
    rows: dict[str, set[str]] = field(default_factory=dict)
    references: dict[str, set[str]] = field(default_factory=dict)
    runs: int = 0

    def snapshot(self) -> set[str]:
        """Return the URLs of the last snapshot."""
        return set().union(*self.rows.values())

    def harvest(self, site: ModelSite, faults: dict[str, str], random: Random) -> dict[str, SitemapRecord]:
        """Read *site*, some documents of which show *faults* (by URL), and keep the next snapshot."""
        self.runs += 1
        now = DAY_ONE + timedelta(days=self.runs)
        reads = _Crawl(self, site, faults, random, now).records()
        known_rows, known_references = self.rows, self.references
        references, policies = dict(known_references), dict[str, MergePolicy]()
        for record, _, listed in reads:
            key = document_key(record.url)
            policy = merge_decision(key, self.ledger, record, absent_runs=self.absent_runs).policy
            policies[key] = policy
            if policy in {MergePolicy.REPLACE, MergePolicy.ADD}:
                old = known_references.get(record.url, set()) if policy is MergePolicy.ADD else set()
                references[record.url] = listed | old
        self.ledger = merge_snapshot(
            self.ledger,
            [record for record, _, _ in reads],
            references=references,
            references_before=known_references,
            run=f"run-{self.runs}",
            now=now,
            absent_runs=self.absent_runs,
        )
        read = {record.url: urls for record, urls, _ in reads}
        kept = [key for key, row in self.ledger.items() if row.rows_from is not None]
        self.rows = {key: _rows(policies.get(key), known_rows.get(key, set()), read.get(key)) for key in kept}
        self.references = {key: references[key] for key in kept if key in references}
        return self.ledger


def _rows(policy: MergePolicy | None, known: set[str], read: set[str] | None) -> set[str]:
    if policy is MergePolicy.REPLACE:
        return set(read or ())
    return known | set(read or ()) if policy is MergePolicy.ADD else known


@dataclass
class _Crawl:
    """One run: the documents reachable from robots.txt, then those of the last snapshot."""

    session: Keeper
    site: ModelSite
    faults: dict[str, str]
    random: Random
    now: datetime
    aside: list[str] = field(default_factory=list)
    """The known targets of redirects."""

    def records(self) -> list[tuple[SitemapRecord, set[str], set[str]]]:
        waiting = deque([(ROBOTS, None, 0, FoundBy.ARGUMENT)])
        claimed, found = {ROBOTS}, []
        known = deque(key for key, row in self.session.ledger.items() if row.left is None)
        while waiting or known:
            if not waiting:
                if (url := known.popleft()) not in claimed:
                    claimed.add(url)
                    waiting.append((url, None, 0, FoundBy.SNAPSHOT))
                continue
            url, parent, depth, found_by = waiting.popleft()
            if self.faults.get(url) == "not-met":
                continue
            record = SitemapRecord(
                url=url, root=SITE, parent=parent, depth=depth, found_by=found_by, outcome=Outcome.READ,
                final_url=url, fetched_at=self.now,
            )  # fmt: skip
            urls, listed = self._read(record, claimed)
            found.append((record, urls, listed))
            if record.outcome is Outcome.UNCHANGED:
                listed = self.session.references.get(url, set())
            for child in (*sorted(listed - claimed), *({*self.aside} - claimed)):
                claimed.add(child)
                waiting.append((child, url, depth + 1, FoundBy.ROBOTS if url == ROBOTS else FoundBy.INDEX))
        return found

    def _read(self, record: SitemapRecord, claimed: set[str]) -> tuple[set[str], set[str]]:
        """Fill in *record*, and return the URLs and the references that were read."""
        fault = "absent" if record.url in self.site.gone else self.faults.get(record.url)
        known = self.session.ledger.get(record.url)
        if fault in REFUSALS:
            record.outcome, record.reason, record.final_url = REFUSALS[fault], fault, None
            return set(), set()
        if fault == "redirect" and (target := self._target(record.url, claimed)):
            record.final_url = target
            if self.session.asks_by_itself and target in self.session.ledger and target not in claimed:
                self.aside.append(target)
            if target in claimed or target in self.aside:
                record.outcome = Outcome.SKIPPED
                return set(), set()
            claimed.add(target)
        urls, listed = self._content(record)
        if fault == "partial":
            record.outcome, record.complete = Outcome.PARTIAL, False
            urls, listed = self._some(urls), self._some(listed)
            record.entries = len(urls | listed)
        elif known is None or known.rows_from is None:
            pass  # a document read for the first time cannot be distinguished from the truth
        elif fault == "other-kind":
            record.kind, record.entries, record.sha256 = Kind.FEED, 0, "empty"
            return set(), set()
        elif fault == "mojibake":
            record.encoding, record.sha256 = "cp1252", "mojibake"
            record.problems = (Problem(code="encoding/bad-bytes", document=record.url, detail="bad"),)
            urls = {f"{url}?garbled" for url in urls}
        elif is_exact(known) and known.sha256 == record.sha256 and record.final_url == known.final_url:
            record.outcome = Outcome.UNCHANGED
            record.status = self.random.choice([200, 304])
            return set(), set()
        return urls, listed

    def _content(self, record: SitemapRecord) -> tuple[set[str], set[str]]:
        where = record.final_url or record.url
        urls, listed = set(self.site.urls.get(where, ())), set(self.site.lists.get(where, ()))
        urls = urls if where in SITEMAPS else set()
        record.kind = Kind.ROBOTS if where == ROBOTS else Kind.INDEX if where in INDEXES else Kind.SITEMAP
        record.encoding, record.complete, record.status = "utf-8", True, 200
        record.entries = len(urls | listed)
        record.sha256 = hashlib.sha256(repr((record.kind, sorted(urls), sorted(listed))).encode()).hexdigest()
        return urls, listed

    def _target(self, url: str, claimed: set[str]) -> str | None:
        """Return a document that *url* redirects to: a known one, otherwise it cannot be distinguished from a move."""
        known = {key for key, row in self.session.ledger.items() if row.left is None}
        targets = sorted((claimed | known) - {url, ROBOTS} - self.site.gone)
        return self.random.choice(targets) if targets else None

    def _some(self, values: set[str]) -> set[str]:
        return {value for value in sorted(values) if self.random.random() < 0.5}
