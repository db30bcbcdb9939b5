"""``PageRules``: which entries are visited (``sitemap_rules``, ``sitemap_filter``) and which sitemaps are read.

Names and meanings are those of Scrapy's ``SitemapSpider``:
https://docs.scrapy.org/en/latest/topics/spiders.html#sitemapspider
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import pyarrow as pa
from scrapy import Request, Spider

from sitemap_harvest.discovery.candidate import NotFetched
from sitemap_harvest.errors import ArgumentError
from sitemap_harvest.integration.spider_attributes import SitemapAttributes
from sitemap_harvest.model import Kind, Outcome, SitemapRef, UrlBatch, UrlEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LEFT_OUT = NotFetched(Outcome.SKIPPED, "sitemap_filter dropped the document")
_NOT_FOLLOWED = NotFetched(Outcome.SKIPPED, "the URL does not match sitemap_follow")
ENTRY = "entry"
"""Key of the :class:`~sitemap_harvest.UrlEntry` in the dictionary of a page."""
_TAGS = {"images": "image", "videos": "video", "news": "news", "mobile": "mobile", "pagemap": "PageMap"}
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class Rule:
    """One of ``sitemap_rules``."""

    pattern: re.Pattern[str]
    """Matches the URLs that it applies to."""
    callback: Callable[..., Any]
    """Receives the page."""
    takes_entry: bool
    """Whether the callback has a parameter ``entry``."""

    def request(self, url: str, entry: UrlEntry) -> Request:
        """Return the request for *url*, which *entry* lists. Raises :exc:`ValueError` for an invalid URL."""
        if not url.lower().startswith(("http://", "https://")):
            raise ValueError("the scheme of the URL is neither http nor https")
        return Request(
            url,
            callback=self.callback,
            cb_kwargs={"entry": entry} if self.takes_entry else {},
            # From -10 to 0, never above it, so that sitemaps and the requests of callbacks come first.
            priority=round(10 * (0.5 if entry.priority is None else entry.priority)) - 10,
        )


class Entries:
    """The iterable that ``sitemap_filter`` receives: the entries of one document, once; :attr:`type` is its kind."""

    def __init__(self, entries: Iterable[dict[str, Any]], *, is_index: bool) -> None:
        self._entries = iter(entries)
        self.type = "sitemapindex" if is_index else "urlset"

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self._entries

    def __next__(self) -> dict[str, Any]:
        return next(self._entries)


class PageRules:
    """The rules of a spider. Raises :exc:`ArgumentError` if they are invalid."""

    def __init__(self, spider: SitemapAttributes) -> None:
        self.rules = _rules(spider) if visits_pages(spider) else ()
        self._spider = spider
        self._follow = [_pattern("sitemap_follow", pattern) for pattern in spider.sitemap_follow]
        self.needs_whole_documents = _is_set(spider, "sitemap_filter", SitemapAttributes)
        """Whether there is a ``sitemap_filter``, which is called once for each document."""

    def children(self, refs: list[SitemapRef], kind: Kind | None) -> Iterator[tuple[SitemapRef, NotFetched | None]]:
        """Yield each of *refs*, of a document of that *kind*, with the reason if it is not read.

        Only applies to an index.
        """
        listed = [ref for ref in refs if ref.found_by is None and kind is not Kind.ROBOTS]
        left = listed
        if self.needs_whole_documents and listed:
            known = {ref.loc: ref for ref in listed}
            left = [
                known.get(loc := each["loc"]) or SitemapRef(loc=loc, position=0, lastmod_text=each.get("lastmod"))
                for each in self._filtered(Entries(map(dict_of_ref, listed), is_index=True))
            ]
        for ref in left:
            yield ref, None if any(pattern.search(ref.loc) for pattern in self._follow) else _NOT_FOLLOWED
        kept = {ref.loc for ref in left}
        yield from ((ref, _LEFT_OUT) for ref in listed if ref.loc not in kept)
        yield from ((ref, None) for ref in refs if ref.found_by is not None or kind is Kind.ROBOTS)

    def rows_to_keep(self, batch: UrlBatch) -> UrlBatch:
        """Return the rows of *batch* that may be visited: all that ``visits`` returns, if there is a filter."""
        if callable(visits := self._spider.visits):  # otherwise a subclass uses the name for something else
            batch = visits(batch)
            if not isinstance(batch, UrlBatch):
                raise TypeError(f"visits() returned {shortened(batch)}, which is not a UrlBatch")
        if self.needs_whole_documents or any(not rule.pattern.pattern for rule in self.rules):
            return batch
        locs = batch["loc"].to_pylist()
        links = batch["alternates"].to_pylist() if self._spider.sitemap_alternate_links else [None] * len(locs)
        hrefs = ([link["href"] for link in alternates or () if link["href"]] for alternates in links)
        wanted = [any(self._pages(*listed)) for listed in zip(locs, hrefs, strict=True)]
        return batch.filter(pa.array(wanted, pa.bool_()))

    def visits(self, rows: Iterator[UrlEntry], *, sitemap: str) -> Iterator[tuple[str, UrlEntry, Rule]]:
        """Yield the URL of each page to visit, the entry of *rows* that lists it, and its rule, on demand.

        *rows* are all from one document. An entry lists a page as its URL, or as an
        alternate.
        """
        if self.needs_whole_documents:
            listed = (
                (each["loc"], each.get("alternate") or (), entry_of_dict(each, sitemap=sitemap))
                for each in self._filtered(Entries(map(dict_of_entry, rows), is_index=False))
            )
        else:
            listed = ((row.loc, alternates_of(row), row) for row in rows)
        for loc, alternates, entry in listed:
            for url, rule in self._pages(loc, alternates):
                yield url, entry, rule

    def _filtered(self, entries: Entries) -> Iterator[Mapping[str, Any]]:
        """Yield what ``sitemap_filter`` returns for *entries*. Raises :exc:`TypeError` if that is something else."""
        found: Any = self._spider.sitemap_filter(entries)
        if not isinstance(found, Iterable):
            raise TypeError(f"sitemap_filter() returned {shortened(found)}: it must yield or return entries")
        for each in found:
            if not isinstance(each, Mapping):
                raise TypeError(f"sitemap_filter() returned {shortened(each)} as an entry, which is not a dictionary")
            if each.get("loc"):
                yield each

    def _pages(self, loc: str, alternates: Iterable[str]) -> Iterator[tuple[str, Rule]]:
        """Yield the URLs that an entry lists and a rule matches, with the first such rule."""
        others = alternates if self._spider.sitemap_alternate_links else ()
        for url in (loc, *(_absolute(href, loc) for href in others)):
            if (rule := next((rule for rule in self.rules if rule.pattern.search(url)), None)) is not None:
                yield url, rule


def _absolute(href: str, loc: str) -> str:
    """Return *href*, which should be an absolute URL; if it is not, resolve it against *loc*."""
    try:
        return urljoin(loc, href)
    except ValueError:  # it can be neither parsed nor requested
        return href


def has_wrong_rules(spider: SitemapAttributes) -> bool:
    """Whether ``sitemap_rules`` or ``sitemap_follow`` of *spider* are invalid."""
    try:
        PageRules(spider)
    except (ArgumentError, TypeError, ValueError):
        return True
    return False


def visits_pages(spider: SitemapAttributes) -> bool:
    """Whether *spider* has a callback for pages: ``parse``, or its own rules."""
    has_rules = spider.sitemap_rules is not SitemapAttributes.sitemap_rules
    return bool(spider.sitemap_rules) and (has_rules or _is_set(spider, "parse", Spider))


def _is_set(spider: SitemapAttributes, method: str, base: type) -> bool:
    """Whether *spider* overrides *method* of *base*."""
    return getattr(getattr(spider, method), "__func__", None) is not getattr(base, method)


def _rules(spider: SitemapAttributes) -> tuple[Rule, ...]:
    rules = []
    for rule in spider.sitemap_rules:
        try:
            pattern, given = rule
        except (TypeError, ValueError) as error:
            message = f"sitemap_rules: {shortened(rule)} is not a pair of a regular expression and a callback"
            raise ArgumentError("sitemap_rules", rule, "a list of pairs", message=message) from error
        name = "parse" if given is None else given  # Scrapy calls it for requests without a callback
        callback = getattr(spider, name, None) if isinstance(name, str) else name
        if not callable(callback):
            message = f"sitemap_rules: {given!r} is neither a method of {type(spider).__name__} nor callable"
            raise ArgumentError("sitemap_rules", given, "a callback", message=message)
        rules.append(Rule(_pattern("sitemap_rules", pattern), callback, _takes_entry(callback)))
    return tuple(rules)


def _takes_entry(callback: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(callback).parameters
    except (TypeError, ValueError):  # written in C
        return False
    entry = parameters.get("entry")
    # A parameter with a default, or ``**kwargs``, is not filled: SitemapSpider calls it without.
    return entry is not None and entry.default is entry.empty and entry.kind in _BY_NAME


def _pattern(name: str, pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern)
        compiled.search("")  # fails for a pattern of bytes
    except (re.error, TypeError) as error:
        message = f"{name}: {pattern!r} is not a valid regular expression ({error})"
        raise ArgumentError(name, pattern, "a regular expression", message=message) from error
    return compiled


def dict_of_entry(entry: UrlEntry) -> dict[str, Any]:
    """Return the texts of the elements of *entry* by their names, without namespaces.

    An absent element has no key. An element with only children, such as an image, has
    an empty text. ``alternate`` is the list of alternate URLs.
    """
    priority = entry.priority_text if entry.priority is None else str(entry.priority)
    texts = {
        "loc": entry.loc,
        "lastmod": entry.lastmod_text,
        "changefreq": entry.changefreq,
        "priority": priority,
        "title": entry.title,
    }
    found: dict[str, Any] = {name: text for name, text in texts.items() if text is not None}
    found |= {tag: "" for field, tag in _TAGS.items() if getattr(entry, field)}
    for extra in entry.extra or ():
        if not extra.depth:
            found.setdefault(extra.name.rpartition("}")[2], extra.text or "")
    if alternates := alternates_of(entry):
        found["alternate"] = alternates
    return {**found, ENTRY: entry}


def dict_of_ref(ref: SitemapRef) -> dict[str, Any]:
    """Return *ref*, an entry of an index, in the same form."""
    return {"loc": ref.loc} if ref.lastmod_text is None else {"loc": ref.loc, "lastmod": ref.lastmod_text}


def entry_of_dict(found: Mapping[str, Any], *, sitemap: str) -> UrlEntry:
    """Return the entry of *found*; for a new dictionary from a filter, an entry with a URL and no position."""
    entry = found.get(ENTRY)
    return entry if isinstance(entry, UrlEntry) else UrlEntry(loc=found["loc"], sitemap=sitemap, position=0)


def alternates_of(entry: UrlEntry) -> list[str]:
    """Return the URLs of the alternates of *entry*, as published."""
    return [alternate.href for alternate in entry.alternates or () if alternate.href]
