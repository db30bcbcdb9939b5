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


@dataclass(frozen=True, slots=True)
class Rule:
    """One of ``sitemap_rules``."""

    pattern: re.Pattern[str]
    """Found in the addresses that it holds for."""
    callback: Callable[..., Any]
    """What gets the page."""
    takes_entry: bool
    """Whether the callback can be given the entry, as ``entry``."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A page that is to be visited."""

    url: str
    entry: UrlEntry
    """The entry that the page stands in: its own, or that of which it is an alternate."""
    rule: Rule


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
        """Return the rows of *batch* that may be visited: all of them, if ``sitemap_filter`` has to be asked."""
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
        for found in self._spider.sitemap_filter(map(dict_of_entry, rows)):
            if loc := found.get("loc"):
                entry = entry_of_dict(found, sitemap=sitemap)
                yield from self._of_entry(loc, found.get("alternate") or (), entry)

    def _of_entry(self, loc: str, alternates: Iterable[str], entry: UrlEntry) -> Iterator[tuple[str, UrlEntry]]:
        yield loc, entry
        if self._spider.sitemap_alternate_links:
            yield from ((_absolute(href, loc), entry) for href in alternates)

    def _filtered(self, refs: list[SitemapRef]) -> Iterator[SitemapRef]:
        known = {ref.loc: ref for ref in refs}
        for found in self._spider.sitemap_filter(map(dict_of_ref, refs)):
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
        callback = getattr(spider, given, None) if isinstance(given, str) else given
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
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return takes_any or ("entry" in parameters and parameters["entry"].kind is not inspect.Parameter.POSITIONAL_ONLY)


def _pattern(name: str, pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern)
        compiled.search("")  # which a pattern of bytes cannot do
    except (re.error, TypeError) as error:
        message = f"{name}: {pattern!r} is no regular expression ({error})"
        raise ArgumentError(name, pattern, "a regular expression", message=message) from error
    return compiled
