"""The truth about the sites in each crawl, and the errors in the reports. This module imports nothing from the package.

A site *must* list a URL in a crawl if each version of its documents that a careful reader may have seen says so, and it
*may* list one if some version does. The two differ only where a server sends a sound but outdated document, which
nobody can detect: an earlier version; an empty one; any version since a validator is stuck. All other failures are
detectable, so they excuse nothing. The same holds for the metadata of a URL.
"""

from __future__ import annotations

import json
import string
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from tests.histories.documents import Document, Entry, Form

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.histories.crawls import Reports
    from tests.histories.failing import Failing
    from tests.histories.world import Site, World

FIELDS = ("lastmod", "priority", "alternates")
Homes = dict[str, dict[str, set[Entry]]]
"""The URLs of a site, each with the documents that list it and its metadata in them."""


class Find(NamedTuple):
    """One URL with a false or missing report."""

    kind: str
    """``FALSE``, ``LOST``, ``VIEW`` or ``NOISE``."""
    site: int
    crawl: int
    what: str
    url: str
    detail: str = ""


class Reading(NamedTuple):
    """The entries of a document that could be read."""

    urls: set[str]
    is_led_to: bool
    """Whether all documents above it could be read: otherwise it is read only if it was known."""

    def lists(self, url: str) -> bool:
        """Whether *url* was certainly read."""
        return self.is_led_to and url in self.urls


@dataclass
class Consumer:
    """The beliefs of a consumer that follows the changes of one site."""

    urls: dict[str, Entry | None] | None = None
    """The existing URLs with their reported metadata (``None``: unknown); ``None``: there is no snapshot."""
    removed_in: dict[str, int] = field(default_factory=dict)
    listed_in: dict[str, int] = field(default_factory=dict)
    """The last crawl in which each URL may have been listed."""
    documents: set[str] = field(default_factory=set)
    """The documents that were ever listed."""
    read: set[str] = field(default_factory=set)
    """The documents that were read completely since they were listed, without a run in which they were not."""
    readings: dict[int, dict[str, Reading]] = field(default_factory=dict)
    """The entries of each document that could be read, by the crawl of each snapshot."""
    is_settled: bool = False
    """Whether the whole site was read completely at some time: before that, a first report may be new or not."""
    healthy: int = 0
    """Consecutive crawls without a failure."""
    pending_records: set[tuple[str, str, str]] = field(default_factory=set)
    """Changes found by runs whose feed was lost, each by run, kind and URL."""
    written: set[tuple[str, str, str]] = field(default_factory=set)
    """Those of them that the feeds contain nevertheless."""
    interrupted: list[int] = field(default_factory=list)
    """The killed crawls since the last snapshot."""


class Oracle:
    """Judges the reports of the crawls of a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.finds: list[Find] = []
        self.failing: list[dict[str, Failing]] = []
        """The failures of each crawl."""
        self._consumers: dict[int, Consumer] = defaultdict(Consumer)

    def check(self, sites: Iterable[Site], reports: Reports, *, resumed: bool, frozen: set[int]) -> None:
        """Compare the output of the last crawl with the truth. *frozen* are the sites that have not changed."""
        for site in sites:
            consumer = self._consumers[site.number]
            must, may = self._listed(site, consumer, resumed=resumed)
            fails = self._fails(site)
            is_healthy = must == may and not fails and self._has_entrance(site)
            consumer.documents |= self._reached(site, [self.crawl], any_version=True).keys()
            if fails:  # a URL that is no longer listed may be listed where this crawl could not read
                self._join_what_left(may, consumer.documents)
            consumer.listed_in.update(dict.fromkeys(may, self.crawl))
            if site.root not in reports.committed:
                consumer.interrupted.append(self.crawl)
                consumer.healthy = 0
                continue
            crawls = [self.crawl, *(consumer.interrupted if resumed else ())]
            consumer.readings |= {crawl: self._reading(site, crawl) for crawl in crawls}
            read = ({url for url, one in consumer.readings[crawl].items() if one.is_led_to} for crawl in crawls)
            consumer.read &= self._reached(site, [self.crawl], any_version=True).keys()
            consumer.read |= set.intersection(*read)
            consumer.healthy = consumer.healthy + 1 if is_healthy else 0
            check = _Check(self, site, consumer, must, may, is_quiet=consumer.healthy > 2 and site.number in frozen)
            check.run(reports.changes[site.root], reports.urls[site.root])
            delivered = None if reports.delivered is None else reports.delivered[site.root]
            check.deliver(reports.changes[site.root], delivered, reports.written[site.root])
            consumer.interrupted.clear()

    def _join_what_left(self, may: Homes, documents: Iterable[str]) -> None:
        """Add to *may* the entries of those *documents* that are served, whether listed or not."""
        frame = self.world.frames[self.crawl]
        for url in map(frame.resolve, documents):
            if document := frame.documents.get(url):
                for page, entry in document.published.items():
                    may.setdefault(key_of(page), {}).setdefault(url, set()).add(entry)

    @property
    def crawl(self) -> int:
        """The number of the last crawl."""
        return len(self.world.frames) - 1

    def was_always_listed(self, site: Site, url: str) -> bool:
        """Whether the same documents have listed *url* since the first crawl, found through the same parents."""
        homes, elsewhere = (
            self._homes(site, list(range(self.crawl + 1)), any_version=any_version).get(url, {})
            for any_version in (False, True)
        )
        return homes.keys() == elsewhere.keys() and any(
            all(home in frame.documents for frame in self.world.frames) for home in homes
        )

    def has_read(self, url: str) -> bool:
        """Whether each site that may list the document at *url* in the last crawl has read it completely before."""
        return all(
            url in self._consumers[site.number].read
            for site in self.world.sites
            if url in self._reached(site, [self.crawl], any_version=True)
        )

    def _has_entrance(self, site: Site) -> bool:
        """Whether the document that leads to all others exists: before, it may list URLs that nobody knows."""
        return site.entrance in self.world.frames[self.crawl].documents

    def _fails(self, site: Site) -> bool:
        return any(url in self.failing[self.crawl] for url in self._reached(site, [self.crawl], any_version=True))

    def _listed(self, site: Site, consumer: Consumer, *, resumed: bool) -> tuple[Homes, Homes]:
        crawls = [self.crawl, *(consumer.interrupted if resumed else ())]
        return self._homes(site, crawls, any_version=False), self._homes(site, crawls, any_version=True)

    def _reading(self, site: Site, crawl: int) -> dict[str, Reading]:
        """Return the entries of the documents of *site* that can be read in a crawl."""
        all_found = self._reached(site, [crawl], any_version=False)
        sound = self._reached(site, [crawl], any_version=False, only_sound=True)
        return {
            url: Reading(_joined([set(map(key_of, one.entries)) for one in versions], False), url in sound)
            for url, versions in all_found.items()
            if not self._is_detectable_failure(url, crawl)
        }

    def may_have_left(self, url: str, homes: Iterable[str], readings: dict[int, dict[str, Reading]]) -> bool:
        """Whether each of *homes*, which list *url* now, was read without it since any document was read with it."""
        resolve = self.world.frames[self.crawl].resolve
        with_it = [crawl for crawl, found in readings.items() if any(one.lists(url) for one in found.values())]
        since = [found for crawl, found in readings.items() if crawl > max(with_it, default=-1)]
        without = {resolve(home) for found in since for home, one in found.items() if url not in one.urls}
        return without.issuperset(homes)

    def _homes(self, site: Site, crawls: list[int], *, any_version: bool) -> Homes:
        found: Homes = defaultdict(dict)
        for url, versions in self._reached(site, crawls, any_version=any_version).items():
            listed = [{key_of(page): entry for page, entry in one.published.items()} for one in versions]
            for key in _joined([set(one) for one in listed], any_version):
                entries = {one[key] for one in listed if key in one}
                found[key][url] = entries if any_version or len(entries) == 1 else set()
        return dict(found)

    def _reached(
        self, site: Site, crawls: list[int], *, any_version: bool, only_sound: bool = False
    ) -> dict[str, list[Document]]:
        """Return the documents to which all versions of their parents lead, or any, each with its versions.

        *only_sound* excludes documents with detectable failures, and those below them.
        """
        found: dict[str, list[Document]] = {}
        todo = [self.world.frames[self.crawl].resolve(f"{site.root}/{site.entrance_path}")]
        if not site.is_declared:
            found[self.world.frames[self.crawl].resolve(f"{site.root}/robots.txt")] = []
        while todo:
            url = todo.pop()
            if url in found or (only_sound and any(self._is_detectable_failure(url, crawl) for crawl in crawls)):
                continue
            found[url] = self._versions(url, crawls)
            children = _joined([set(one.children) for one in found[url]], any_version)
            todo += [self.world.frames[self.crawl].resolve(child) for child in children]
        return found

    def _is_detectable_failure(self, url: str, crawl: int) -> bool:
        failing = self.failing[crawl].get(url)
        return failing is not None and not failing.fault.versions and not failing.fault.is_empty

    def _versions(self, url: str, crawls: list[int]) -> list[Document]:
        """Return the versions of the document at *url* that a careful reader may have seen."""
        frames, found = self.world.frames, []
        for crawl in crawls:
            document = frames[crawl].documents.get(url)
            failing = self.failing[crawl].get(url)
            found += [document] if document else []
            if failing is not None and failing.fault.versions:
                old = frames[max(0, crawl - failing.fault.versions)].documents.get(url)
                found += [old] if old else []
            if failing is not None and failing.fault.is_empty:
                found.append(Document(Form.XML))
            if document is not None and document.tag == "stuck":
                earlier = (frame.documents.get(url) for frame in frames[:crawl])
                found += [one for one in earlier if one and one.tag == "stuck" and one.epoch == document.epoch]
            found += self._skipped(url, crawl)
        return found

    def _skipped(self, url: str, crawl: int) -> list[Document]:
        """Return earlier versions that an outdated index may name."""
        old = max((one.fault.versions for one in self.failing[crawl].values()), default=0)
        if not old:
            return []
        frames = self.world.frames[max(0, crawl - old) : crawl]
        is_listed = any(
            one.fault.versions and url in document.children
            for above, one in self.failing[crawl].items()
            if (document := self.world.frames[crawl].documents.get(above))
        )
        return [d for frame in frames if is_listed and (d := frame.documents.get(url))]


def key_of(url: str) -> str:
    """Return *url* fully escaped: two spellings of a URL are one."""
    return quote(url, safe=string.punctuation)


def _joined(sets: list[set[str]], any_version: bool) -> set[str]:
    if not sets:
        return set()
    return set().union(*sets) if any_version else set.intersection(*sets)


class _Check:
    """One crawl of one site."""

    def __init__(
        self, oracle: Oracle, site: Site, consumer: Consumer, must: Homes, may: Homes, *, is_quiet: bool
    ) -> None:
        self._oracle = oracle
        self._site = site
        self._consumer = consumer
        self._must = must
        self._may = may
        self._is_quiet = is_quiet

    def find(self, kind: str, what: str, url: str, detail: str = "") -> None:
        self._oracle.finds.append(Find(kind, self._site.number, self._oracle.crawl, what, url, detail))

    def run(self, changes: list[dict[str, Any]], rows: list[dict[str, Any]]) -> None:
        view: dict[str, set[Entry]] = defaultdict(set)
        for row in rows:
            view[key_of(row["loc"])].add(_entry_of(row))
        consumer = self._consumer
        if consumer.urls is None:
            consumer.urls = {url: _one(entries) for url, entries in view.items()}
            consumer.is_settled = consumer.healthy > 0
        else:
            self._apply(changes, view)
        consumer.urls |= {url: None for url, entries in view.items() if len(entries) > 1 and url in consumer.urls}
        if not consumer.is_settled:
            consumer.urls |= {url: _one(entries) for url, entries in view.items() if url not in consumer.urls}
            consumer.urls = {url: entry for url, entry in consumer.urls.items() if url in view}
        if consumer.healthy >= 2:
            self._settle(view)

    def _apply(self, changes: list[dict[str, Any]], view: dict[str, set[Entry]]) -> None:
        check = {
            "added": self._added,
            "removed": self._removed,
            "expired": self._removed,
            "changed": self._changed,
            "moved": self._moved,
        }
        for row in sorted(changes, key=lambda row: row["kind"] != "moved"):  # changes are in the new document
            if self._is_quiet:
                self.find("NOISE", f"{row['kind']} though nothing has changed for two crawls", row["loc"])
            check[row["kind"]](row, view)

    def _added(self, row: dict[str, Any], view: dict[str, set[Entry]]) -> None:
        url, consumer = key_of(row["loc"]), self._consumer
        if url in consumer.urls:
            self.find("FALSE", "added, and was there", url)
        elif consumer.listed_in.get(url, -1) < consumer.removed_in.get(url, 0):
            self.find("FALSE", "added, and is not listed", url)
        elif not consumer.is_settled and self._oracle.was_always_listed(self._site, url):
            self.find("FALSE", "added, and was listed in all crawls", url)
        consumer.urls[url] = _one(view.get(url, ()))

    def _removed(self, row: dict[str, Any], view: dict[str, set[Entry]]) -> None:
        url, consumer = key_of(row["loc"]), self._consumer
        homes = self._must.get(url, ())
        if homes and not self._oracle.may_have_left(url, homes, consumer.readings):
            self.find("FALSE", f"{row['kind']}, and is listed: {row['reason']}", url)
        elif url not in consumer.urls:
            self.find("NOISE", f"{row['kind']}, and was never there", url)
        consumer.urls.pop(url, None)
        consumer.removed_in[url] = self._oracle.crawl

    def _changed(self, row: dict[str, Any], view: dict[str, set[Entry]]) -> None:
        url, consumer = key_of(row["loc"]), self._consumer
        names = [name for name in row["fields"] if name in FIELDS]
        before, after = ({name: _value(name, row[side].get(name)) for name in names} for side in ("before", "after"))
        known = consumer.urls.get(url)
        true = set().union(*self._may.get(url, {}).values())
        if before == after and len(names) == len(row["fields"]):
            self.find("NOISE", "changed to the same", url)
        elif url not in consumer.urls:
            self.find("NOISE", "changed, and was never there", url)
        elif names and not any(all(getattr(one, name) == after[name] for name in names) for one in true):
            self.find("FALSE", f"changed to {after}, which no document says", url)
        elif known is not None and names and all(getattr(known, name) == after[name] for name in names):
            self.find("NOISE", f"changed to {after}, as reported before", url)
        if url in consumer.urls:
            consumer.urls[url] = _one(view.get(url, ()))

    def _moved(self, row: dict[str, Any], view: dict[str, set[Entry]]) -> None:
        url, consumer = key_of(row["loc"]), self._consumer
        resolve = self._oracle.world.frames[self._oracle.crawl].resolve
        start, end = row["sitemap_before"], resolve(row["sitemap"])
        if url not in consumer.urls:
            self.find("NOISE", "moved, and was never there", url)
        elif not self._oracle.failing[self._oracle.crawl].keys().isdisjoint({start, end}):
            pass  # it may be reported late
        elif end not in self._may.get(url, {}):
            self.find("FALSE", f"moved to {row['sitemap']}, which does not list it", url)
        elif start in self._must.get(url, {}):
            self.find("FALSE", f"moved from {row['sitemap_before']}, which lists it", url)

    def _settle(self, view: dict[str, set[Entry]]) -> None:
        """Compare the store and the consumer with a site that was read completely, twice."""
        consumer = self._consumer
        true = {url: set().union(*homes.values()) for url, homes in self._must.items()}
        for url in view.keys() | true.keys():
            if view.get(url, set()) != true.get(url, set()):
                what = "is missing" if url not in view else "is listed" if url not in true else "says another thing"
                detail = f"found {view.get(url)}, true is {self._must.get(url)}"
                self.find("VIEW", what, url, detail)
        if consumer.is_settled:
            for url in consumer.urls.keys() - true.keys():
                self.find("LOST", "never reported as removed", url)
            for url in true.keys() - consumer.urls.keys():
                self.find("LOST", "never reported as added", url)
            for url, entry in consumer.urls.items():
                if entry is not None and len(true.get(url, ())) == 1 and entry not in true[url]:
                    self.find("LOST", "never reported as changed", url)
        consumer.is_settled = True
        consumer.urls = {url: _one(entries) for url, entries in true.items()}  # so that each find counts once

    def deliver(
        self, changes: list[dict[str, Any]], delivered: list[dict[str, Any]] | None, written: list[dict[str, Any]]
    ) -> None:
        """Compare the feed with the changes found by runs since the last feed. ``None``: this one is lost too."""
        pending_records = self._consumer.pending_records
        pending_records |= _names(changes)
        if delivered is None:
            self._consumer.written |= _names(written)
            return
        given = _names(delivered)
        for _, kind, url in pending_records - given - self._consumer.written:
            self.find("LOST", f"{kind} by a run that was killed, and not delivered since", url)
        for _, kind, url in given - pending_records:
            self.find("NOISE", f"{kind} and delivered before", url)
        pending_records.clear()
        self._consumer.written.clear()


def _names(changes: Iterable[dict[str, Any]]) -> set[tuple[str, str, str]]:
    return {(row["run"], row["kind"], row["loc"]) for row in changes}


def _one(entries: Iterable[Entry]) -> Entry | None:
    """Return the metadata of a URL, if it is unambiguous."""
    entries = list(entries)
    return entries[0] if len(entries) == 1 else None


def _entry_of(row: dict[str, Any]) -> Entry:
    return Entry(*(_value(name, row[name]) for name in FIELDS))


def _value(name: str, value: Any) -> Any:
    """Return a value of the store or of a change in the form of documents."""
    if name == "lastmod":
        return value and str(value)[:10]
    if name == "priority":
        return None if value is None else str(round(float(value), 1)) if _is_number(value) else value
    value = json.loads(value) if isinstance(value, str) else value
    return tuple(one["href"] for one in value or ())


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def score(finds: Iterable[Find]) -> str:
    """Return the four counts as printed."""
    counts = Counter(find.kind for find in finds)
    return " ".join(f"{kind}={counts[kind]}" for kind in ("FALSE", "LOST", "VIEW", "NOISE"))
