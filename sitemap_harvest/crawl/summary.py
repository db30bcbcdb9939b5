"""What a run has done so far: for the stats, the progress line, the closing table and the exit code."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sitemap_harvest.model import FoundBy, Kind, Outcome, SitemapRecord

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

_READ = frozenset({Outcome.READ, Outcome.UNCHANGED})
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
    """Documents, each with the reason for its outcome in words: the first few, and how many more."""

    first: list[str] = field(default_factory=list)
    more: int = 0

    def add(self, record: SitemapRecord) -> None:
        """Add *record*."""
        if len(self.first) < _MAX_NOTES:
            self.first.append(f"{record.url}: {record.reason}")
        else:
            self.more += 1

    def lines(self) -> list[str]:
        """Return a line for each of the first, and one for the others."""
        rest = [f"and {self.more:,} more, which the ledger tells (emit=sitemaps)"] if self.more else []
        return self.first + rest


@dataclass(slots=True)
class Summary:
    """The run so far. Counts only, so its size does not depend on the site's."""

    urls: int = 0
    """URLs handed out."""
    queued: int = 0
    """Documents that wait or are being fetched."""
    tallies: dict[Outcome, Tally] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)
    """Documents that did not end well."""
    passed_over: Notes = field(default_factory=Notes)
    """Documents that were not to be read."""
    probes: Notes = field(default_factory=Notes)
    """Documents that nobody said to be there, and that were not."""
    problems: Counter[str] = field(default_factory=Counter)
    """Occurrences of each problem, by code."""
    dropped: Counter[str] = field(default_factory=Counter)
    """URLs that were found and dropped, by the argument that says so."""
    complaints: tuple[str, ...] = ()
    """What was wrong with the input, in words."""
    has_failed: bool = False
    """Whether a document that counts did not end well."""

    @property
    def documents(self) -> int:
        """Documents done with."""
        return sum(tally.documents for tally in self.tallies.values())

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
            self.problems[problem.code] += problem.count
            stats.inc_value(f"sitemap_harvest/problem/{problem.code}", problem.count)
        if record.outcome is Outcome.SKIPPED or is_wanted:
            self.passed_over.add(record)
        elif record.outcome not in _READ and _is_probe(record):
            self.probes.add(record)
        elif record.outcome not in _READ:
            self.has_failed = self.has_failed or record.outcome is not Outcome.OUT_OF_SCOPE
            self.notes.add(record)

    def in_words(self) -> str:
        """Return the run in one line, and why nothing was found, if so."""
        outcomes = ", ".join(f"{tally.documents:,} {outcome}" for outcome, tally in self.tallies.items())
        line = f"{_counted(self.urls, 'URL')} from {_counted(self.documents, 'document')} ({outcomes or 'none'})"
        return line if self.urls else f"{line}. {self.why_nothing()}"

    def why_nothing(self) -> str:
        """Say in words why no URL was found."""
        if not self.documents:
            return "No document was asked for."
        if dropped := +self.dropped:
            by = ", ".join(f"{argument} has dropped {_counted(count, 'URL')}" for argument, count in dropped.items())
            return f"No URL is left: {by}."
        if reasons := [*self.notes.first, *self.probes.first] or self.passed_over.first:
            return f"No URL was found. {'; '.join(reasons[:3])}."
        return "No URL was found: the documents that were read list none."


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _is_probe(record: SitemapRecord) -> bool:
    """Whether nobody said that the document is there: a site need not have a robots.txt, nor a /sitemap.xml."""
    is_guess = record.found_by is FoundBy.WELL_KNOWN or record.url == f"{record.root}/robots.txt"
    return is_guess and (record.outcome is Outcome.ABSENT or record.kind in {Kind.HTML, Kind.SOFT_404, Kind.EMPTY})
