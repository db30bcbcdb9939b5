"""``Finding``: the result of one rule of the audit; ``AuditSummary``: the result of all rules for one site."""

from __future__ import annotations

from dataclasses import dataclass, field

from sitemap_harvest.display import counted
from sitemap_harvest.model.item import ItemRecord
from sitemap_harvest.model.page import left_out_in_words, requested_in_words
from sitemap_harvest.model.problem import Severity  # noqa: TC001 - the schema is built from these annotations


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingSample:
    """One occurrence of a finding."""

    loc: str | None = None
    """The URL, as published, truncated to 2,048 characters; ``None`` if the occurrence is not a URL."""
    sitemap: str | None = None
    """The document that lists it; ``None`` if none does."""
    position: int | None = None
    """Position of the entry in the document, from 1."""
    value: str | None = None
    """The evidence as text, such as the date or the other URL; truncated likewise."""
    line: int | None = None
    """The line of the document, from 1, as it was read; ``None`` if it is not known."""


@dataclass(kw_only=True, eq=False, repr=False)
class Occurrence(ItemRecord):
    """One occurrence of what a rule finds: a row for each, with ``details``, and a Scrapy item."""

    site: str
    """The site, as named by the user."""
    run: str
    """The run whose snapshot was audited."""
    rule: str
    """Id of the rule, such as ``url/fragment``."""
    severity: Severity
    loc: str | None = None
    """The URL, as published; ``None`` if the occurrence is not a URL."""
    sitemap: str | None = None
    """The document that lists it; ``None`` if none does."""
    position: int | None = None
    """Position of the entry in the document, from 1."""
    value: str | None = None
    """The evidence as text, such as the date or the other URL."""
    line: int | None = None
    """The line of the document, from 1, as it was read; ``None`` if it is not known."""
    count: int = 1
    """Number of occurrences that this row represents: more than 1 if the rule does not tell them apart."""


@dataclass(kw_only=True, eq=False, repr=False)
class Finding(ItemRecord):
    """What one rule found in one document or site: a row of the table ``findings``, and a Scrapy item."""

    site: str
    """The site, as named by the user."""
    run: str
    """The run whose snapshot was audited."""
    rule: str
    """Id of the rule, such as ``url/fragment``."""
    severity: Severity
    sitemap: str | None = None
    """The document that it is about; ``None`` if it is about the site."""
    count: int
    """Number of occurrences."""
    share: float | None = None
    """Their share of the entries of the document or site, 0 to 1; ``None`` if the rule is not about entries."""
    threshold: float | None = None
    """The threshold of the rule; ``None`` if it has none."""
    message: str
    """The finding in one line."""
    samples: tuple[FindingSample, ...] = ()
    """The first five occurrences, in the order of the documents."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LastmodTrust(ItemRecord):
    """How far the ``lastmod`` dates of one document, or of all sitemaps of a site, can be relied on.

    All counts are of entries; for an index, of the sitemaps that it lists.
    """

    site: str
    """The site, as named by the user."""
    run: str
    """The run whose snapshot was audited."""
    sitemap: str | None = None
    """The sitemap or index; ``None`` for all sitemaps of the site."""
    score: int
    """0 (no date is of use) to 100 (nothing speaks against the dates)."""
    reasons: tuple[str, ...] = ()
    """What lowers the score, as text, the largest effect first."""
    entries: int
    dated: int = 0
    """With a date that can be read."""
    unreadable: int = 0
    """With a date that cannot be read."""
    future: int = 0
    """Dated later than the download."""
    ancient: int = 0
    """Dated before 1995."""
    one_stamp: int = 0
    """Dated with the moment that almost all dates of their sitemap share."""
    fetch_time: int = 0
    """Dated with the time of the request, as almost all."""
    mixed_precision: int = 0
    """Dated with another precision than most dates of their sitemap."""
    goes_back: int = 0
    """Dated earlier than in the run before."""
    stale: int = 0
    """Of an index: dated earlier than the newest entry of the sitemap."""
    correct: int = 0
    """Changed, and so did the date: of an index, over all runs; of a sitemap, since the last run."""
    missed: int = 0
    """Changed, but the date did not."""
    spurious: int = 0
    """Did not change, but the date did. Of a sitemap, over all runs, as found by ``lastmod/moves-without-change``."""
    trusted: bool | None = None
    """Whether the dates of an index have been correct so often that a crawl skips a sitemap whose date has not
    changed; ``None``: it is not an index."""

    def in_words(self) -> str:
        """Return the score and its reasons in one line."""
        reasons = f": {'; '.join(self.reasons)}" if self.reasons else ""
        entries = f"{self.entries:,} {'entry counts' if self.entries == 1 else 'entries count'}"
        return f"{self.sitemap or self.site}: trust in lastmod {self.score} of 100 ({entries}){reasons}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotChecked:
    """A rule that could not be evaluated, or only for a part of the snapshot."""

    rule: str
    reason: str
    """What was missing."""


@dataclass(kw_only=True, eq=False, repr=False)
class AuditSummary(ItemRecord):
    """The result of the audit of one site: a row of the table ``audits``, and a Scrapy item."""

    site: str
    """The site, as named by the user."""
    run: str
    """The run whose snapshot was audited."""
    urls: int
    """Entries that were checked."""
    sitemaps: int
    """Documents that were checked."""
    unread: int = 0
    """Documents that could not be read, or only in part, as ``diff`` counts them: the audit does not know what else is
    wrong in them."""
    not_requested: int = 0
    """Other documents that the site lists, but that the run left out, for example because of ``follow``, ``skip`` or
    ``prune_index``: the audit does not know what they list."""
    pending: int = 0
    """URLs of the snapshot whose removal is pending: no document that was read lists them, so they are neither checked
    nor counted in ``urls``."""
    sampled_pages: int | None = None
    """Pages in the sample of the probe; ``None`` without one."""
    probed_pages: int | None = None
    """Those with a record: fewer than in the sample if the probe ended early; ``None`` without one."""
    requested_pages: int | None = None
    """Those of them that were requested; ``None`` without a probe."""
    disallowed_pages: int | None = None
    """Those that were not requested because robots.txt disallows them; ``None`` without a probe."""
    not_requested_reason: str | None = None
    """Why the first of the other pages was not requested; ``None`` if there are none."""
    left_out: int | None = None
    """Entries that the sample was not chosen from: invalid, on another host, or not http or https; ``None`` if it is
    not known."""
    probe_seed: int | None = None
    """The seed of the sample; ``None`` without a probe."""
    listed_urls: int | None = None
    """Different URLs that could be in a crawl export; ``None`` without one."""
    exported_urls: int | None = None
    """Those of them that are in the crawl export; ``None`` without one."""
    lastmod_trust: int | None = None
    """How far the ``lastmod`` dates of all sitemaps can be relied on, 0 to 100 (:class:`LastmodTrust`); ``None`` if no
    sitemap was read."""
    errors: int = 0
    """Number of findings by severity."""
    warnings: int = 0
    notices: int = 0
    rules: tuple[str, ...] = ()
    """Ids of the rules that found something."""
    passed: int = 0
    """Number of rules that found nothing. Problems of documents, which reading finds, are no rules here: they count
    only if they occur."""
    not_checked: tuple[NotChecked, ...] = field(default_factory=tuple)
    """The rules that could not be evaluated, or only for a part of the snapshot: they did not pass. Those that are in
    ``rules`` too found something in the other part."""

    @property
    def partly_checked(self) -> frozenset[str]:
        """The ids of the rules that found something, but were checked only for a part of the snapshot."""
        return frozenset(one.rule for one in self.not_checked).intersection(self.rules)

    @property
    def not_checked_by_reason(self) -> dict[str, list[str]]:
        """The ids of the rules that were not checked, by reason, without those that were checked in part."""
        return self._by_reason(in_part=False)

    @property
    def partly_checked_by_reason(self) -> dict[str, list[str]]:
        """The ids of :attr:`partly_checked`, by reason."""
        return self._by_reason(in_part=True)

    def _by_reason(self, *, in_part: bool) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        partly_checked = self.partly_checked
        for one in self.not_checked:
            if (one.rule in partly_checked) is in_part:
                found.setdefault(one.reason, []).append(one.rule)
        return found

    def in_words(self) -> str:
        """Return the result in one line."""
        by_severity = [(self.errors, "error"), (self.warnings, "warning"), (self.notices, "notice")]
        counts = [counted(count, name) for count, name in by_severity if count]
        found = "no findings"
        if counts:
            findings = sum(count for count, _ in by_severity)
            found = f"{counted(findings, 'finding')} of {counted(len(self.rules), 'rule')} ({', '.join(counts)})"
        unread = [f"{self.unread:,} not read completely"] if self.unread else []
        if self.not_requested:
            unread.append(f"{counted(self.not_requested, 'listed document')} not requested")
        if self.pending:
            unread.append(f"{counted(self.pending, 'URL')} not checked because of a pending removal")
        partial = (
            f" ({', '.join(unread if self.urls else ['no URL was read'])}, so the audit is partial)" if unread else ""
        )
        pages = ""
        if self.sampled_pages is not None:
            pages = f"; probe: {self.probed_pages:,} of {self.sampled_pages:,} sampled pages (seed {self.probe_seed})"
            counts_of_pages = (self.probed_pages or 0, self.requested_pages or 0, self.disallowed_pages or 0)
            if counts_of_pages[1] < counts_of_pages[0]:
                pages += f": {requested_in_words(*counts_of_pages, self.not_requested_reason)}"
            if self.left_out:
                pages += f", {left_out_in_words(self.left_out)}"
        if self.exported_urls is not None:
            pages += f"; crawl export: {self.exported_urls:,} of {self.listed_urls:,} listed URLs"
        partly = len(self.partly_checked)
        in_part = f", checked in part: {partly}" if partly else ""
        return (
            f"{self.site}: {found} in {counted(self.urls, 'URL')} of {counted(self.sitemaps, 'document')}"
            f"{partial}{pages}; rules passed: {self.passed}, not checked: {len(self.not_checked) - partly}{in_part}"
        )
