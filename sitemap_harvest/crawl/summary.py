"""What a run has done so far: for the stats, the progress line, the closing table and the exit code."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sitemap_harvest.model import Cause, Outcome, SitemapRecord, SiteResult
from sitemap_harvest.model.closing import FailedSite, KeptSnapshot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.statscollectors import StatsCollector

    from sitemap_harvest.model import ChangeSummary, Evidence, SiteRecord

_READ = frozenset({Outcome.READ, Outcome.UNCHANGED})
_FINE = frozenset({SiteResult.FOUND})
_NO_ROBOTS = frozenset({Outcome.ABSENT, Outcome.NOT_A_SITEMAP})  # there is none; or what servers answer that have none
_RESULT_WORDS = {
    SiteResult.ABSENT: "there is no sitemap.",
    SiteResult.BLOCKED: "the server keeps us out.",
    SiteResult.FORBIDDEN: "robots.txt forbids to look.",
    SiteResult.UNREACHABLE: "there is no answer that can be used.",
    SiteResult.NOT_A_SITE: "what was named is no site.",
    SiteResult.UNFINISHED: "the run ended before.",
}
_MOST_TOLD = 50  # sites and snapshots in the closing record; the records (emit) have them all
_MAX_NOTES = 10  # reasons shown; the ledger has them all


@dataclass(slots=True)
class Tally:
    """The documents of one outcome."""

    documents: int = 0
    urls: int = 0
    bytes: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Notes:
    """Documents or sites, each with what became of it in words: the first few, and how many more."""

    first: list[str] = field(default_factory=list)
    more: int = 0
    fields: list[dict[str, str]] = field(default_factory=list)
    """What each of the first tells, for the JSON log."""

    def add(self, note: str, **fields: str | None) -> None:
        """Add *note*; *fields* are what it tells, and ``None`` what it does not."""
        if len(self.first) < _MAX_NOTES:
            self.first.append(note)
            self.fields.append({name: str(value) for name, value in fields.items() if value is not None})
        else:
            self.more += 1

    def told(self) -> list[tuple[str, dict[str, str]]]:
        """Return the lines, each with its fields; the one for the others has none."""
        lines = self.lines()
        return list(zip(lines, [*self.fields, {}], strict=False))

    def lines(self) -> list[str]:
        """Return a line for each of the first, and one for the others."""
        rest = [f"and {self.more:,} more, which the records tell (emit=sitemaps,sites)"] if self.more else []
        return self.first + rest


@dataclass(slots=True)
class Summary:
    """The run so far. Counts only, so its size does not depend on the site's."""

    urls: int = 0
    """URLs handed out."""
    dropped: Counter[str] = field(default_factory=Counter)
    """URLs that were found and not handed out, by the filter that dropped them."""
    queued: int = 0
    """Documents that wait or are being fetched."""
    tallies: dict[Outcome, Tally] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)
    """Documents that did not end well."""
    passed_over: Notes = field(default_factory=Notes)
    """Documents that were not to be read."""
    problems: Counter[str] = field(default_factory=Counter)
    """Occurrences of each problem, by code."""
    sites: Counter[SiteResult] = field(default_factory=Counter)
    """Sites, and documents that the user named, by what came of them."""
    changes: Counter[str] = field(default_factory=Counter)
    """URLs that changed since the baseline, or are known now, by what became of them; empty if nothing was compared."""
    since: str = "the last snapshot"
    """What changes are against, in words."""
    first_snapshots: int = 0
    """Sites of which there was no snapshot before."""
    site_notes: Notes = field(default_factory=Notes)
    """Those that gave nothing."""
    failed_sites: list[FailedSite] = field(default_factory=list)
    """The first 50 that have another result than ``found``."""
    snapshots: list[KeptSnapshot] = field(default_factory=list)
    """The first 50 that were put into the store."""
    has_failed: bool = False
    """Whether a document that counts, or a site, did not end well."""

    @property
    def documents(self) -> int:
        """Documents done with."""
        return sum(tally.documents for tally in self.tallies.values())

    def by_outcome(self) -> list[tuple[Outcome, Tally]]:
        """Return the tallies, those of most documents first; of as many, by the outcome's name."""
        return sorted(self.tallies.items(), key=lambda pair: (-pair[1].documents, pair[0]))

    def add(self, record: SitemapRecord, stats: StatsCollector, *, urls: int, is_wanted: bool) -> None:
        """Count *record*, whose document gave *urls* URLs, here and in *stats*.

        *is_wanted* tells that the user has asked for this outcome (``limit``).
        """
        tally = self.tallies.setdefault(record.outcome, Tally())
        tally.documents += 1
        tally.urls += urls
        tally.bytes += record.bytes_downloaded or 0
        tally.seconds += record.seconds or 0.0
        stats.inc_value(f"sitemap_harvest/outcome/{record.outcome}")
        stats.inc_value("sitemap_harvest/documents")
        if record.kind:
            stats.inc_value(f"sitemap_harvest/kind/{record.kind}")
        stats.inc_value("sitemap_harvest/bytes_downloaded", record.bytes_downloaded or 0)
        stats.inc_value("sitemap_harvest/bytes_unpacked", record.bytes_unpacked or 0)
        if record.out_of_scope:
            stats.inc_value("sitemap_harvest/out_of_scope", record.out_of_scope)
        for problem in record.problems:
            if not _is_probe(record):  # a page that stands where nothing was said to be has no fault
                self.problems[problem.code] += problem.count
            stats.inc_value(f"sitemap_harvest/problem/{problem.code}", problem.count)
        if record.outcome is Outcome.SKIPPED or is_wanted:
            self.passed_over.add(f"{record.url}: {record.reason}")
        elif record.outcome not in _READ and not _is_probe(record):
            self.has_failed = self.has_failed or record.outcome is not Outcome.OUT_OF_SCOPE
            self.notes.add(f"{record.url}: {record.reason}", url=record.url, outcome=record.outcome, cause=record.cause)

    def add_snapshot(self, changes: ChangeSummary) -> None:
        """Note the snapshot that has these *changes*: it was put into the store."""
        if len(self.snapshots) < _MOST_TOLD:
            self.snapshots.append(KeptSnapshot(site=changes.site, run=changes.run, baseline=changes.baseline))

    def add_changes(self, changes: ChangeSummary, stats: StatsCollector) -> None:
        """Count what has changed of one site, here and in *stats*."""
        if changes.baseline is None:
            self.first_snapshots += 1
            return
        for name, count in changes.counts.items():
            self.changes[name] += count
            if count:
                stats.inc_value(f"sitemap_harvest/changes/{name.replace(' ', '_')}", count)

    def add_site(self, record: SiteRecord, stats: StatsCollector) -> None:
        """Count *record*, here and in *stats*. What is no site at all was told as the run began."""
        self.sites[record.result] += 1
        stats.inc_value(f"sitemap_harvest/site/{record.result}")
        if record.cause:
            stats.inc_value(f"sitemap_harvest/site/{record.result}/{record.cause}")
        if record.result not in _FINE:
            self.has_failed = True
            self._tell(record)
        elif failed := _robots_that_failed(record):
            self.has_failed = True
            self.notes.add(f"{failed[0].url}: {failed[0].reason}", url=failed[0].url, outcome=failed[0].outcome)
        is_telling = record.limits or record.result is not SiteResult.UNFINISHED
        if record.result not in _FINE and is_telling and record.documents:
            words = f"{record.root}: {record.in_words()}"
            self.site_notes.add(words, site=record.root, result=record.result, cause=record.cause)

    def _tell(self, record: SiteRecord) -> None:
        if len(self.failed_sites) < _MOST_TOLD:
            told = FailedSite(root=record.root, result=record.result, cause=record.cause, reason=record.reason)
            self.failed_sites.append(told)

    def count_filtered(self, dropped: Mapping[str, int], stats: StatsCollector, *, kept: int) -> None:
        """Count, here and in *stats*, what the filters made of a batch: rows *dropped* by each, and *kept* by all."""
        self.dropped.update(dropped)
        counts = {"kept": kept, "dropped": sum(dropped.values())}
        counts |= {f"dropped/{name}": count for name, count in dropped.items()}
        for name, count in counts.items():
            if count:
                stats.inc_value(f"sitemap_harvest/filter/{name}", count)

    def filters_in_words(self) -> str:
        """Return which filters dropped how many URLs, such as ``since 20, include 1``; empty if none did."""
        dropped = sorted(self.dropped.items(), key=lambda pair: (-pair[1], pair[0]))
        return ", ".join(f"{name} {count:,}" for name, count in dropped if count)

    def in_words(self) -> str:
        """Return the run in one line, and why nothing was found, if so."""
        outcomes = ", ".join(f"{tally.documents:,} {outcome}" for outcome, tally in self.by_outcome())
        line = f"{_counted(self.urls, 'URL')} from {_counted(self.documents, 'document')} ({outcomes or 'none'})"
        if sum(self.sites.values()) > 1:
            line += f"; {self.sites_in_words()}"
        if words := self.changes_in_words():
            line += f"; {words}"
        if not self.urls:
            return f"{line}. {self.why_nothing()}"
        return f"{line}; the filters dropped {self.filters_in_words()}" if self.dropped else line

    def changes_in_words(self) -> str:
        """Return how many URLs changed since the baseline; empty if there is no store."""
        words = []
        if self.changes:
            counts = [f"{count:,} {kind}" for kind, count in self.changes.items() if count]
            words.append(f"since {self.since} {', '.join(counts) or 'nothing has changed'}")
        if self.first_snapshots:
            words.append(f"{_counted(self.first_snapshots, 'first snapshot')}: nothing to compare with")
        return "; ".join(words)

    def sites_in_words(self) -> str:
        """Return how many sites ended how."""
        results = ", ".join(f"{count:,} {result}" for result, count in self.sites.most_common())
        return f"{_counted(sum(self.sites.values()), 'site')}: {results}"

    def why_nothing(self) -> str:
        """Say in words why no URL was found."""
        if not self.documents:
            return f"{'. '.join(['No document was asked for', *self.site_notes.first[:3]])}."
        if found := self.dropped.total():
            were = "URL was" if found == 1 else "URLs were"
            words = f"{found:,} {were} found, and the filters left none ({self.filters_in_words()})"
            return f"{'. '.join([words, *self.site_notes.first[:3], *self.notes.first[:3]])}."
        if len(self.sites) == 1 and SiteResult.FOUND not in self.sites:
            (result,) = self.sites
            words = _RESULT_WORDS[result]
            return f"No URL was found: {words} {'; '.join(self.site_notes.first[:3])}."
        if reasons := [*self.site_notes.first, *self.passed_over.first, *self.notes.first]:
            return f"No URL was found. {'; '.join(reasons[:3])}."
        return "No URL was found: the documents that were read list none."


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _is_probe(record: SitemapRecord) -> bool:
    """Whether nobody said that the document is there: what that means for its site, the record of the site tells."""
    return record.found_by.is_guess or record.url == f"{record.root}/robots.txt"


def _robots_that_failed(record: SiteRecord) -> list[Evidence]:
    """Return the robots.txt of a site, if it may have named more than was found otherwise.

    Nobody serves one where nobody serves anything, and the site is at its other scheme or name.
    """
    robots = f"{record.root}/robots.txt"
    is_elsewhere = record.base not in {None, record.root}
    return [
        one
        for one in record.evidence
        if one.url == robots
        and one.outcome not in _NO_ROBOTS
        and not (is_elsewhere and one.cause in {Cause.TLS, Cause.REFUSED})
    ]
