"""Which entries are visited, and which sitemaps are read: ``sitemap_rules``, ``sitemap_follow``, ``sitemap_filter``.

The words and what they mean are those of Scrapy's ``SitemapSpider``:
https://docs.scrapy.org/en/latest/topics/spiders.html#sitemapspider
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import pyarrow as pa
from scrapy import Spider

from sitemap_harvest.crawl.entry_dicts import alternates_of, dict_of_entry, dict_of_ref, entry_of_dict
from sitemap_harvest.crawl.spiders.base import SitemapAttributes
from sitemap_harvest.errors import ArgumentError
from sitemap_harvest.model import Kind, Outcome, SitemapRef, UrlBatch, UrlEntry
from sitemap_harvest.plan import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class Rule:
    """One of ``sitemap_rules``."""

    pattern: re.Pattern[str]
    """Found in the addresses that it holds for."""
    callback: Callable[..., Any]
    """What gets the page."""
    takes_entry: bool
    """Whether the callback needs the entry, as ``entry``."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A page that is to be visited."""

    url: str
    entry: UrlEntry
    """The entry that the page stands in: its own, or that of which it is an alternate."""
    rule: Rule


class Entries:
    """What ``sitemap_filter`` is given: the entries of one document, once, and in :attr:`type` of what kind it is."""

    def __init__(self, entries: Iterable[dict[str, Any]], *, is_index: bool) -> None:
        self._entries = iter(entries)
        self.type = "sitemapindex" if is_index else "urlset"

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self._entries

    def __next__(self) -> dict[str, Any]:
        return next(self._entries)


class Selection:
    """What a spider has chosen. Raises :exc:`ArgumentError` where that makes no sense."""

    def __init__(self, spider: SitemapAttributes) -> None:
        self.rules = _rules(spider) if visits_pages(spider) else ()
        self._spider = spider
        self._follow = [_pattern("sitemap_follow", pattern) for pattern in spider.sitemap_follow]
        self.needs_whole_documents = _is_set(spider, "sitemap_filter", SitemapAttributes)
        """Whether there is a ``sitemap_filter``, which is asked once for each document."""

    def children(self, refs: Iterable[SitemapRef], kind: Kind | None) -> Iterator[tuple[SitemapRef, Refusal | None]]:
        """Yield each of *refs*, of a document of that *kind*, with why it is not read. Only an index is chosen from."""
        if kind is Kind.ROBOTS:
            yield from ((ref, None) for ref in refs)
            return
        listed = [ref for ref in refs if ref.found_by is None]
        left = list(self._filtered(listed)) if self.needs_whole_documents and listed else listed
        kept = {ref.loc for ref in left}
        for ref in (*left, *(ref for ref in listed if ref.loc not in kept)):
            yield ref, self._refusal(ref, kept)
        yield from ((ref, None) for ref in refs if ref.found_by is not None)

    def rows_to_keep(self, batch: UrlBatch) -> UrlBatch:
        """Return the rows of *batch* that may be visited: all that ``visits`` returns, if there is a filter."""
        if callable(visits := self._spider.visits):  # else it is an attribute of a subclass for something else
            batch = visits(batch)
        if self.needs_whole_documents or any(not rule.pattern.pattern for rule in self.rules):
            return batch
        locs = batch["loc"].to_pylist()
        links = batch["alternates"].to_pylist() if self._spider.sitemap_alternate_links else [None] * len(locs)
        wanted = [self._is_wanted(loc, alternates or ()) for loc, alternates in zip(locs, links, strict=True)]
        return batch.filter(pa.array(wanted, pa.bool_()))

    def visits(self, rows: Iterator[UrlEntry], *, sitemap: str) -> Iterator[Visit]:
        """Yield the pages to visit of *rows*, which are those of one document, as they are taken out."""
        for url, entry in self._addresses(rows, sitemap):
            if (rule := self.rule_of(url)) is not None:
                yield Visit(url, entry, rule)

    def rule_of(self, url: str) -> Rule | None:
        """Return the first rule that holds for *url*."""
        return next((rule for rule in self.rules if rule.pattern.search(url)), None)

    def _is_wanted(self, loc: str, alternates: Iterable[dict[str, Any]]) -> bool:
        others = (_absolute(link["href"], loc) for link in alternates if link["href"])
        return any(self.rule_of(url) for url in (loc, *others))

    def _addresses(self, rows: Iterator[UrlEntry], sitemap: str) -> Iterator[tuple[str, UrlEntry]]:
        if not self.needs_whole_documents:
            for row in rows:
                yield from self._of_entry(row.loc, alternates_of(row), row)
            return
        for found in self._spider.sitemap_filter(Entries(map(dict_of_entry, rows), is_index=False)):
            if loc := found.get("loc"):
                entry = entry_of_dict(found, sitemap=sitemap)
                yield from self._of_entry(loc, found.get("alternate") or (), entry)

    def _of_entry(self, loc: str, alternates: Iterable[str], entry: UrlEntry) -> Iterator[tuple[str, UrlEntry]]:
        yield loc, entry
        if self._spider.sitemap_alternate_links:
            yield from ((_absolute(href, loc), entry) for href in alternates)

    def _filtered(self, refs: list[SitemapRef]) -> Iterator[SitemapRef]:
        known = {ref.loc: ref for ref in refs}
        for found in self._spider.sitemap_filter(Entries(map(dict_of_ref, refs), is_index=True)):
            if loc := found.get("loc"):
                yield known.get(loc) or SitemapRef(loc=loc, position=0, lastmod_text=found.get("lastmod"))

    def _refusal(self, ref: SitemapRef, kept: set[str]) -> Refusal | None:
        if ref.loc not in kept:
            return Refusal(Outcome.SKIPPED, "sitemap_filter left it out")
        if not any(pattern.search(ref.loc) for pattern in self._follow):
            return Refusal(Outcome.SKIPPED, "its address does not match sitemap_follow")
        return None


def _absolute(href: str, loc: str) -> str:
    """Return the address *href*, which should be absolute; if it is not, as seen from the page at *loc*."""
    try:
        return urljoin(loc, href)
    except ValueError:  # it cannot be taken apart, nor asked for
        return href


def has_wrong_rules(spider: SitemapAttributes) -> bool:
    """Whether ``sitemap_rules`` or ``sitemap_follow`` of *spider* make no sense."""
    try:
        Selection(spider)
    except (ArgumentError, TypeError, ValueError):
        return True
    return False


def visits_pages(spider: SitemapAttributes) -> bool:
    """Whether *spider* has a callback for pages: ``parse``, or rules of its own."""
    has_rules = spider.sitemap_rules is not SitemapAttributes.sitemap_rules
    return bool(spider.sitemap_rules) and (has_rules or _is_set(spider, "parse", Spider))


def _is_set(spider: SitemapAttributes, method: str, base: type) -> bool:
    """Whether *method* of *spider* is not that of *base*."""
    return getattr(getattr(spider, method), "__func__", None) is not getattr(base, method)


def _rules(spider: SitemapAttributes) -> tuple[Rule, ...]:
    rules = []
    for pattern, given in spider.sitemap_rules:
        name = "parse" if given is None else given  # without a callback, Scrapy calls this one
        callback = getattr(spider, name, None) if isinstance(name, str) else name
        if not callable(callback):
            message = f"sitemap_rules: {given!r} is neither a method of {type(spider).__name__} nor can it be called"
            raise ArgumentError("sitemap_rules", given, "a callback", message=message)
        rules.append(Rule(_pattern("sitemap_rules", pattern), callback, _takes_entry(callback)))
    return tuple(rules)


def _takes_entry(callback: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(callback).parameters
    except (TypeError, ValueError):  # written in C
        return False
    entry = parameters.get("entry")
    # One that has a default, or takes any parameter, does without: that is what SitemapSpider calls it with.
    return entry is not None and entry.default is entry.empty and entry.kind in _BY_NAME


def _pattern(name: str, pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern)
        compiled.search("")  # which a pattern of bytes cannot do
    except (re.error, TypeError) as error:
        message = f"{name}: {pattern!r} is no regular expression ({error})"
        raise ArgumentError(name, pattern, "a regular expression", message=message) from error
    return compiled
