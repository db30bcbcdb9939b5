"""``Summary``: the counts of a run so far."""

from __future__ import annotations

import re
import shlex
from bisect import insort
from collections import Counter
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING

from sitemap_harvest.discovery.site_result import ENDED_EARLY
from sitemap_harvest.model import (
    NO_ROBOTS,
    FoundBy,
    Kind,
    Outcome,
    SitemapRecord,
    SiteResult,
    counted,
    counts_in_words,
    is_read_separately,
    left_out_in_words,
    requested_in_words,
    unread_in_words,
)
from sitemap_harvest.model.run import FailedDocument, FailedSite, KeptSnapshot
from sitemap_harvest.urls import document_key, host_of, site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sitemap_harvest.model import ChangeSummary, Evidence, SiteRecord, StaleSitemap


_READ = frozenset({Outcome.READ, Outcome.UNCHANGED})
_LIST_URLS = frozenset({Kind.SITEMAP, Kind.LIST, Kind.FEED, Kind.LINKS})
_FAILURES = frozenset({Outcome.FAILED, Outcome.BLOCKED, Outcome.FORBIDDEN})
_RESULT_WORDS = {
    SiteResult.ABSENT: "there is no sitemap.",
    SiteResult.BLOCKED: "the server refuses access.",
    SiteResult.FORBIDDEN: "robots.txt disallows access.",
    SiteResult.UNREACHABLE: "there is no usable response.",
    SiteResult.NOT_A_SITE: "the target is not a site.",
    SiteResult.UNFINISHED: "the search is unfinished.",
}
_MOST_LISTED = 50  # sites and snapshots in the closing record; the records (emit) have all of them
_MAX_PAGES = 3  # named by mistake, or under another name
_MAX_NOTES = 10  # reasons shown; the document records have all of them


@dataclass(slots=True)
class Tally:
    """The documents with one outcome."""

    documents: int = 0
    urls: int = 0
    bytes: int = 0
    seconds: float = 0.0
    failures: int = 0
    """Those of the documents that count as failed or incomplete."""


@dataclass(slots=True)
class Notes:
    """Documents or sites with their reasons: the first few in order of the text, and the number of others.

    The order does not depend on the order of the responses; numbers count as such, so that 9.xml precedes 10.xml.
    """

    kind: str = "sitemaps"
    """The kind of items (``emit``) that has all of them."""
    more: int = 0
    _notes: list[tuple[list[tuple[int, str]], str, dict[str, str]]] = field(default_factory=list)

    @property
    def first(self) -> list[str]:
        """The first notes."""
        return [note for _, note, _ in self._notes]

    def add(self, note: str, **fields: str | None) -> None:
        """Add *note* with its *fields*, for the JSON log; ``None`` values are left out."""
        given = {name: str(value) for name, value in fields.items() if value is not None}
        insort(self._notes, (_in_order(note), note, given), key=itemgetter(0))
        if len(self._notes) > _MAX_NOTES:
            self._notes.pop()
            self.more += 1

    def lines(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield a line with its fields for each of the first notes, and one without fields for the others."""
        yield from ((note, fields) for _, note, fields in self._notes)
        if self.more:
            yield f"and {self.more:,} more (emit={self.kind} lists all)", {}


@dataclass(slots=True)
class Summary:
    """The counts of the run so far. Its size does not depend on the size of the sites."""

    run: str = ""
    """The ID of the run."""
    urls: int = 0
    """URLs emitted."""
    limit: int | None = None
    """The argument ``limit``."""
    dropped: Counter[str] = field(default_factory=Counter)
    """URLs read but not emitted, by the filter that dropped them."""
    queued: int = 0
    """Documents queued or in flight."""
    tallies: dict[Outcome, Tally] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)
    """Documents that failed."""
    interrupted: Notes = field(default_factory=Notes)
    """Documents that were not read because the run ended early."""
    out_of_scope: Notes = field(default_factory=Notes)
    """Documents that may not be requested; they do not count as failed."""
    skipped: Notes = field(default_factory=Notes)
    """Documents that were skipped on purpose."""
    problems: Counter[str] = field(default_factory=Counter)
    """Occurrences of each problem, by code."""
    sites: Counter[SiteResult] = field(default_factory=Counter)
    """Sites and named documents, by result."""
    sitemaps: Counter[SiteResult] = field(default_factory=Counter)
    """The named documents of these."""
    why_not_found: set[str] = field(default_factory=set)
    """The results other than ``found``, as text."""
    changes: Counter[str] = field(default_factory=Counter)
    """URLs that changed since the baseline, or are newly known, by kind; empty without a comparison."""
    since: str = "the last snapshot"
    """The baseline, as text."""
    first_snapshots: int = 0
    """Sites without an earlier snapshot."""
    without_baseline: int = 0
    """Sites with earlier snapshots, none of which is the baseline."""
    alike: list[str] = field(default_factory=list)
    """The first few other targets on the hosts of first snapshots that the store has snapshots of."""
    stored: int = 0
    """Snapshots that were stored."""
    other_ids: int = 0
    """Those of them that are stored under another ID than that of the run."""
    snapshot_urls: int = 0
    """Different URLs in these."""
    unconfirmed: int = 0
    """Entries in these that the run did not confirm: they are from earlier runs."""
    pending: int = 0
    """URLs in these whose removal is pending."""
    compared: int = 0
    """Snapshots that were compared with a baseline."""
    unread: int = 0
    """Compared sites of which no document that lists URLs was read."""
    partly_read: int = 0
    """Compared sites of which some documents were neither read completely nor found unchanged."""
    unread_documents: int = 0
    """Documents of compared sites that were not read completely, without those that were skipped on purpose."""
    emptied: Notes = field(default_factory=Notes)
    """Documents of compared sites that are gone or list no URLs any more, as text."""
    named_pages: list[str] = field(default_factory=list)
    """The first few named documents that are web pages: the user may have meant their sites."""
    named_absent: list[str] = field(default_factory=list)
    """The first few named documents that do not exist."""
    site_notes: Notes = field(default_factory=lambda: Notes("sites"))
    """Sites without a URL."""
    guesses: Notes = field(default_factory=Notes)
    """Documents that failed, but do not count, because nothing names them."""
    failed_sites: list[FailedSite] = field(default_factory=list)
    """The first 50 with a result other than ``found``."""
    failed_documents: list[FailedDocument] = field(default_factory=list)
    """The first 50 of them."""
    snapshots: list[KeptSnapshot] = field(default_factory=list)
    """The first 50 that were stored."""
    sampled: int = 0
    """Pages in the samples of probes."""
    probed: int = 0
    """Pages of these with a record."""
    requested: int = 0
    """Pages of these that were requested."""
    disallowed: int = 0
    """Pages that were not requested because robots.txt disallows them."""
    not_requested_reason: str | None = None
    """Why the first of the other pages was not requested."""
    page_errors: Counter[str] = field(default_factory=Counter)
    """Requested pages of these with an error, by HTTP status or cause."""
    forbidden: int = 0
    """Requests for documents that were not sent because robots.txt disallows them."""
    left_out: int = 0
    """Entries that the samples were not chosen from."""
    is_stored: bool = False
    """Whether the run reads no document, because it audits stored snapshots."""
    has_read: bool = False
    """Whether a document that lists URLs was read, or found unchanged: outputs without rows are then right."""
    has_failed: bool = False
    """Whether a document that counts, or a site, failed."""
    may_lack_urls: bool = False
    """Whether a site is not complete: a document was not read, or not completely."""
    count: Callable[[str, int], object] = lambda _name, _by: None
    """Adds a number to a stat of the run."""

    @property
    def documents(self) -> int:
        """Number of finished documents."""
        return sum(tally.documents for tally in self.tallies.values())

    def by_outcome(self) -> list[tuple[Outcome, Tally]]:
        """Return the tallies by number of documents, descending, then by name of the outcome."""
        return sorted(self.tallies.items(), key=lambda pair: (-pair[1].documents, pair[0]))

    def add(self, record: SitemapRecord, *, urls: int, is_wanted: bool) -> None:
        """Count *record*, whose document emitted *urls* URLs, here and in the stats.

        *is_wanted*: whether the user caused this outcome (``limit``).
        """
        tally = self.tallies.setdefault(record.outcome, Tally())
        tally.documents += 1
        tally.urls += urls
        tally.bytes += record.bytes_downloaded or 0
        tally.seconds += record.seconds or 0.0
        self.count(f"sitemap_harvest/outcome/{record.outcome}", 1)
        self.count("sitemap_harvest/documents", 1)
        if record.kind:
            self.count(f"sitemap_harvest/kind/{record.kind}", 1)
        self.count("sitemap_harvest/bytes_downloaded", record.bytes_downloaded or 0)
        self.count("sitemap_harvest/bytes_unpacked", record.bytes_unpacked or 0)
        if record.out_of_scope:
            self.count("sitemap_harvest/out_of_scope", record.out_of_scope)
        self.has_read = self.has_read or _was_read(record)
        is_page = record.outcome is Outcome.NOT_A_SITEMAP and record.kind is Kind.HTML
        if is_page and record.url == record.root and len(self.named_pages) < _MAX_PAGES:
            self.named_pages.append(record.url)
        if record.outcome is Outcome.ABSENT and record.url == record.root and len(self.named_absent) < _MAX_PAGES:
            self.named_absent.append(record.url)
        for problem in record.problems:
            # An HTML page found by probing is no problem.
            if not _is_probe(record) or (record.kind and record.kind.is_readable):
                self.problems[problem.code] += problem.count
            self.count(f"sitemap_harvest/problem/{problem.code}", problem.count)
        if record.outcome is Outcome.INTERRUPTED:
            self._note_failed(record, self.interrupted, is_listed=not _is_probe(record))
        elif record.outcome is Outcome.SKIPPED or is_wanted:
            self.skipped.add(f"{record.url}: {record.reason}")
        elif record.outcome not in _READ and not _is_probe(record):
            counts = record.outcome is not Outcome.OUT_OF_SCOPE
            self.has_failed = self.has_failed or counts
            tally.failures += counts
            self._note_failed(record, self.notes if counts else self.out_of_scope)

    def add_snapshot(self, changes: ChangeSummary) -> None:
        """Count the stored snapshot with these *changes*.

        A document that it counts as unread has failed, unless ``limit`` ended the run.
        """
        self.stored += 1
        self.other_ids += changes.run != self.run
        self.snapshot_urls += changes.urls_after
        self.unconfirmed += changes.stale
        self.pending += changes.pending
        if changes.baseline is not None:
            self.compared += 1
            is_unread = changes.stale_share == 1
            self.unread += is_unread
            self.partly_read += not is_unread and bool(changes.stale or changes.unread)
            self.unread_documents += changes.unread
            self._note_emptied(changes)
        if changes.unread and not self.has_enough:
            self.has_failed = True
            self._note_unread(changes.stale_sitemaps, robots=f"{changes.site}/robots.txt")
        if len(self.snapshots) < _MOST_LISTED:
            self.snapshots.append(KeptSnapshot(site=changes.site, run=changes.run, baseline=changes.baseline))

    def add_changes(self, changes: ChangeSummary, *, is_last: bool = True) -> None:
        """Count the changes of one site since its baseline, if it has one, here and in the stats.

        *is_last*: whether they lead to the last snapshot. What is pending in another is not pending any more, or again.
        """
        if changes.baseline is None:
            return
        for name, count in changes.counts.items():
            if name == "pending" and not is_last:
                continue
            self.changes[name] += count
            if count:
                self.count(f"sitemap_harvest/changes/{name.replace(' ', '_')}", count)

    def add_without_baseline(self, alike: Sequence[str] | None) -> None:
        """Count a snapshot without a baseline: the first one, unless *alike* is ``None``.

        *alike*: other targets on the same host that have snapshots.
        """
        self.first_snapshots += alike is not None
        self.without_baseline += alike is None
        self.alike = [*dict.fromkeys([*self.alike, *(alike or ())])][:_MAX_PAGES]

    def add_site(self, record: SiteRecord, *, is_wanted: bool = False, is_unread: bool = False) -> None:
        """Count *record*, here and in the stats.

        *is_wanted*: whether the user caused its result (``limit``). *is_unread*: whether no document of it was to be
        read.
        """
        self.may_lack_urls = self.may_lack_urls or not record.complete
        self.sites[record.result] += 1
        if record.result is not SiteResult.NOT_A_SITE and site_of(record.root) != record.root:
            self.sitemaps[record.result] += 1
        self.count(f"sitemap_harvest/site/{record.result}", 1)
        if record.cause:
            self.count(f"sitemap_harvest/site/{record.result}/{record.cause}", 1)
        if is_wanted:
            return
        if record.result is not SiteResult.FOUND:
            self.has_failed = True
            self.why_not_found.add(_why_not_found(record))
            if len(self.failed_sites) < _MOST_LISTED:
                site = FailedSite(root=record.root, result=record.result, cause=record.cause, reason=record.reason)
                self.failed_sites.append(site)
        else:
            if failed := _robots_that_failed(record):
                self.has_failed = True
                self._note_failed(failed, self.notes)
            for one in record.evidence:
                if one.found_by.is_guess and one.outcome in _FAILURES:
                    self.guesses.add(f"{one.url}: {_why_not_counted(one, record)}")
        self._note_site(record, is_unread=is_unread)

    def _note_site(self, record: SiteRecord, *, is_unread: bool) -> None:
        """Note *record* if its site has no URLs."""
        is_final = record.limits or record.reason != ENDED_EARLY
        is_line = record.result is SiteResult.NOT_A_SITE and not record.documents  # of a file, which the reason names
        if is_final and (is_unread or record.result is not SiteResult.FOUND):
            words = record.reason if record.result is SiteResult.FOUND else record.in_words()
            words = str(record.reason) if is_line else f"{record.root}: {words}"
            self.site_notes.add(words, site=record.root, result=record.result, cause=record.cause)

    def _note_emptied(self, changes: ChangeSummary) -> None:
        for one in changes.sitemaps_left:
            if one.is_robots:
                self.emptied.add(one.in_words())
        for url in changes.sitemaps_emptied:
            self.emptied.add(f"{url} lists no URLs any more")

    def _note_unread(self, documents: Iterable[StaleSitemap], *, robots: str) -> None:
        """Note those of *documents* whose response alone is no failure.

        They are suspect, redirect to another document, or are the file at *robots* if it is gone: if it has failed,
        :meth:`add_site` has noted it, or the site.
        """
        noted = {document_key(one.url) for one in self.failed_documents}
        for one in documents:
            is_new = len(self.failed_documents) < _MOST_LISTED and document_key(one.url) not in noted
            is_on_purpose = one.outcome in {Outcome.SKIPPED, Outcome.OUT_OF_SCOPE}
            is_noted = one.url == robots and one.outcome not in NO_ROBOTS | {Outcome.READ}
            if is_new and not is_noted and (is_read_separately(one.reason) or not is_on_purpose):
                failed = FailedDocument(url=one.url, outcome=one.outcome, cause=None, reason=one.reason)
                self._note_failed(failed, self.interrupted if one.outcome is Outcome.INTERRUPTED else self.notes)

    def _note_failed(
        self, one: SitemapRecord | Evidence | FailedDocument, notes: Notes, *, is_listed: bool = True
    ) -> None:
        notes.add(f"{one.url}: {one.reason}", url=one.url, outcome=one.outcome, cause=one.cause)
        if is_listed and len(self.failed_documents) < _MOST_LISTED:
            failed = FailedDocument(url=one.url, outcome=one.outcome, cause=one.cause, reason=one.reason)
            self.failed_documents.append(failed)

    def count_filtered(self, dropped: Mapping[str, int], *, kept: int) -> None:
        """Count, here and in the stats, the result of filtering: rows *dropped* by each filter, and *kept* rows."""
        self.dropped.update(dropped)
        counts = {"kept": kept, "dropped": sum(dropped.values())}
        counts |= {f"dropped/{name}": count for name, count in dropped.items()}
        for name, count in counts.items():
            if count:
                self.count(f"sitemap_harvest/filter/{name}", count)

    @property
    def has_enough(self) -> bool:
        """Whether ``limit`` URLs were emitted: the site may list more."""
        return self.limit is not None and self.urls >= self.limit

    def filters_in_words(self) -> str:
        """Return the number of URLs dropped by each filter, such as ``since 20, include 1``; empty if none."""
        dropped = sorted(self.dropped.items(), key=lambda pair: (-pair[1], pair[0]))
        return ", ".join(f"{name} {count:,}" for name, count in dropped if count)

    def dropped_in_words(self) -> str:
        """Return how many URLs each filter dropped, as text. It says so if the run has changes, which none drops."""
        which = ", which do not apply to changes" if self.compared else ""
        return f"dropped by filters{which}: {self.filters_in_words()}"

    def in_words(self) -> str:
        """Return the run in one line, with the reason if nothing was found."""
        if self.is_stored:
            return self.probe_in_words() or "audited stored snapshots"
        outcomes = ", ".join(f"{tally.documents:,} {outcome}" for outcome, tally in self.by_outcome())
        line = f"{counted(self.urls, 'URL')} from {counted(self.documents, 'document')} ({outcomes or 'none'})"
        if sum(self.sites.values()) > 1:
            line += f"; {self.sites_in_words()}"
        if words := self.changes_in_words():
            line += f"; {words}"
        if words := self.probe_in_words():
            line += f"; {words}"
        if not self.urls:
            sites = self.how_to_search()
            hint = f" To search the site for sitemaps, use site={sites}" if sites else ""
            return f"{line}. {self.why_nothing()}{hint}"
        return f"{line}; {self.dropped_in_words()}" if self.dropped else line

    def changes_in_words(self) -> str:
        """Return the changes since the baseline as text; empty without a store."""
        words = []
        if self.changes:
            counts = ", ".join(counts_in_words(self.changes))
            if self.unread == self.compared:
                found = f"{counts}, but" if counts else "unknown, because"
                words.append(f"since {self.since}: {found} no document that lists URLs was read")
            else:
                where = " in the documents that were read" if self.unread + self.partly_read else ""
                words.append(f"since {self.since}: {counts or f'nothing has changed{where}'}")
                if self.unread:
                    words.append(f"of {counted(self.unread, 'target')}, no document that lists URLs was read")
            if self.unread_documents:
                words.append(unread_in_words(self.unread_documents))
        if self.first_snapshots:
            first = f"{counted(self.first_snapshots, 'first snapshot')}: nothing to compare with"
            hint = f" (the store has snapshots of {', '.join(self.alike)}: to compare with them, give the same target)"
            words.append(f"{first}{hint if self.alike else ''}")
        if self.without_baseline:
            words.append(f"{counted(self.without_baseline, 'snapshot')} without a baseline: nothing to compare with")
        return "; ".join(words)

    def how_to_search(self) -> str:
        """Return the arguments that search the sites of documents that the user named, but that are no sitemaps.

        These are web pages or do not exist. Empty if there are none.
        """
        named = (*self.named_pages, *self.named_absent)
        sites = dict.fromkeys(filter(None, map(site_of, named)))  # files have no site
        return shlex.join(sites)

    def how_to_list_changes(self, store: str) -> str:
        """Return the command that lists the changes of this run from *store*; empty if it has stored none.

        Snapshots of several sites need one command each; the text has that of the first.
        """
        compared = [one for one in self.snapshots if one.baseline is not None]
        if not self.changes.total() or not compared:
            return ""
        words = ["sitemap-harvest", "diff", compared[0].site, "--store", store, "--after", str(compared[0].baseline)]
        more = f" (and so for {counted(len(compared) - 1, 'other target')})" if len(compared) > 1 else ""
        return f"{shlex.join(words)}{more}"

    def snapshots_in_words(self) -> str:
        """Return the contents of the stored snapshots as text; empty if none was stored."""
        if not self.stored:
            return ""
        urls = counted(self.snapshot_urls, "different URL")
        filtered = " before filters" if self.dropped else ""
        old = f"; {self.unconfirmed:,} of the entries are from earlier runs" if self.unconfirmed else ""
        gone = f"; the removal of {counted(self.pending, 'URL')} is pending" if self.pending else ""
        if gone and not self.unread_documents:
            gone += ", because skipped documents may list them"
        text = f"stored {counted(self.stored, 'snapshot')} with {urls}{filtered}{old}{gone}"
        if not self.other_ids:
            return text
        if self.stored == 1:
            return f"{text}; its run ID is {self.snapshots[0].run}, not that of this run"
        are = "has another run ID" if self.other_ids == 1 else "have other run IDs"
        return f"{text}; {counted(self.other_ids, 'snapshot')} {are} than this run: see sitemap-harvest runs"

    def probe_in_words(self) -> str:
        """Return the result of the probes as text; empty without one."""
        if not self.sampled:
            return ""
        text = f"probe: {self.probed:,} of {counted(self.sampled, 'page')}"
        if self.requested < self.probed:
            reason = self.not_requested_reason
            text += f": {requested_in_words(self.probed, self.requested, self.disallowed, reason)}"
        if errors := sorted(self.page_errors.items(), key=lambda pair: (-pair[1], pair[0])):
            text += f"; errors: {', '.join(f'{name} {count:,}' for name, count in errors)}"
        return f"{text}; {left_out_in_words(self.left_out)}" if self.left_out else text

    def sites_in_words(self) -> str:
        """Return the number of sites by result, and that of the sitemaps that the user named, as text."""
        texts = []
        for noun, results in (("site", self.sites - self.sitemaps), ("sitemap", self.sitemaps)):
            by_count = sorted(results.items(), key=lambda pair: (-pair[1], pair[0]))
            words = ", ".join(f"{count:,} {result}" for result, count in by_count)
            texts += [f"{counted(results.total(), noun)}: {words}"] if results else []
        return "; ".join(texts)

    def why_nothing(self) -> str:
        """Return why no URL was found, as text."""
        if not self.documents:
            return f"{'. '.join(['No document was requested', *self.site_notes.first[:3]])}."
        failed = [*self.notes.first, *self.out_of_scope.first]
        if found := self.dropped.total():
            were = "URL was" if found == 1 else "URLs were"
            words = f"{found:,} {were} found, and the filters dropped all of them ({self.filters_in_words()})"
            return f"{'. '.join([words, *self.site_notes.first[:3], *failed[:3]])}."
        if len(self.named_pages) == self.documents == 1:
            return f"No URL was found: {self.named_pages[0]} is a web page, not a sitemap."
        if len(self.sites) == 1 and SiteResult.FOUND not in self.sites:
            (result,) = self.sites
            words = next(iter(self.why_not_found)) if len(self.why_not_found) == 1 else _RESULT_WORDS[result]
            notes = f" {'; '.join(first)}." if (first := self.site_notes.first[:3]) else ""
            return f"No URL was found: {words}{notes}"
        if reasons := [*self.site_notes.first, *self.skipped.first, *failed]:
            return f"No URL was found. {'; '.join(reasons[:3])}."
        return "No URL was found: the documents list none."


def _in_order(note: str) -> list[tuple[int, str]]:
    """Return a key that sorts texts, and the numbers in them by value."""
    parts = re.split(r"([0-9]+)", note)  # every second one is a number
    return [(len(part.lstrip("0")), part.lstrip("0")) if at % 2 else (0, part) for at, part in enumerate(parts)]


def _was_read(record: SitemapRecord) -> bool:
    """Whether the run knows the URLs of the document, or those before it is damaged."""
    if record.is_confirmation:
        return record.kind is not Kind.ROBOTS
    return record.kind in _LIST_URLS and (record.outcome is Outcome.READ or bool(record.entries))


def _is_probe(record: SitemapRecord) -> bool:
    """Whether the document was only probed, and listed no URL or sitemap: the record of the site covers it."""
    is_guess = record.found_by.is_guess and (record.kind is Kind.ROBOTS or not record.entries)
    return is_guess or record.url == f"{record.root}/robots.txt"


def _why_not_found(record: SiteRecord) -> str:
    """Return the result of a site, or of a document that the user named, without a URL."""
    if record.is_not_a_sitemap:
        return "the target is not a sitemap."
    listed = [one for one in record.evidence if one.found_by in {FoundBy.ROBOTS, FoundBy.INDEX}]
    own = host_of(record.base or record.root)
    if listed and all(one.outcome is Outcome.OUT_OF_SCOPE and host_of(one.url) != own for one in listed):
        return "the documents that are listed are all on other hosts."
    return _RESULT_WORDS[record.result]


def _why_not_counted(one: Evidence, record: SiteRecord) -> str:
    """Return why the failure *one* of a site with sitemaps does not count, as text."""
    if one.url == f"{record.root}/robots.txt":  # which the user named
        return f"{one.reason}; the site was read at {record.base}"
    is_variant = one.found_by is FoundBy.VARIANT
    why = f"the site responds at {record.base}" if is_variant else "sitemaps were found elsewhere"
    return f"it was only a guess, and {why}"


def _robots_that_failed(record: SiteRecord) -> Evidence | None:
    """Return the failed robots.txt of a site, if it may have named more sitemaps than were found."""
    for one in record.evidence:
        if one.url == f"{record.root}/robots.txt" and one.outcome not in NO_ROBOTS and not one.found_by.is_guess:
            return one
    return None
