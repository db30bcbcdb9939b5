"""From an item of an XML feed to an entry: its page, its date, its title, and all else it says of the page.

What the page itself says (its text or a summary of it) is no part of an entry.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from sitemap_harvest.formats.feeds.elements import DATES, PAGE_TEXT, XML_BASE, FeedElement, Meanings
from sitemap_harvest.formats.feeds.links import Link, is_absolute, joined, page_link
from sitemap_harvest.formats.xml.extensions import Extensions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sitemap_harvest.formats.collector import Collector

_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--[^<>]*-->")
_HTML = frozenset({"html", "text/html"})
_ALTERNATE_FIELDS = ("href", "hreflang", "media", "type")


class _Found(NamedTuple):
    """The children of an item, by what they mean."""

    values: dict[str, list[FeedElement]]
    """Those with a text that counts, by the name of the value."""
    links: list[Link]


class ItemReader:
    """Reads items, in document order, into a collector."""

    def __init__(self, into: Collector) -> None:
        self._into = into
        self._meanings: dict[str, Meanings] = {}
        self._extensions = Extensions()
        self.position = 0
        """Items that have been read."""

    def meanings(self, item: FeedElement) -> Meanings:
        """Return what tags are to *item*."""
        meanings = self._meanings.get(item.tag)
        if meanings is None:
            meanings = self._meanings[item.tag] = Meanings(item.tag)
        return meanings

    def read(self, item: FeedElement) -> None:
        """Read *item*, the children of which are there but for the text of the page."""
        self.position += 1
        found = self._sorted(item)
        used: list[FeedElement] = []
        address = _address(item, found, used)
        element = _first(found.values.get("title", ()), used)
        title = None if element is None else _plain(element)
        if address is None:
            self._into.problems.add("feed/no-link", entry=self.position, excerpt=title)
            return
        element = _first((date for name in DATES for date in found.values.get(name, ())), used)
        lastmod = item.attribute("lastmod") if element is None else element.whole_text()
        more = self._rest(item, found, used, told={address, lastmod})
        if title:
            more["title"] = title
        self._into.add(self.position, address, lastmod, more=more)

    def _sorted(self, item: FeedElement) -> _Found:
        found = _Found({}, [])
        meanings = self.meanings(item)
        seen: set[str] = set()
        for child in item:
            assert isinstance(child, FeedElement)  # noqa: S101 - the reader makes no others; it tells mypy
            meaning = meanings[child.tag]
            if meaning == "link" and (link := Link.of(child)):
                found.links.append(link)
                self._note_repeated(child, seen if link.is_text else set())
                self._note_markup(child)
            elif meaning and meaning not in PAGE_TEXT and child.whole_text():
                found.values.setdefault(meaning, []).append(child)
                self._note_repeated(child, seen)
                if meaning in {"guid", "origlink", "id"}:
                    self._note_markup(child)
        return found

    def _rest(self, item: FeedElement, found: _Found, used: list[FeedElement], told: set[str | None]) -> dict[str, Any]:
        """Return further columns: what *item* says besides what was *used*, and was *told* by an attribute."""
        done = {id(element) for element in used}
        alternates = []
        for link in found.links:
            if link.is_alternate and link.language is not None:
                alternates.append(_alternate(link))
                done.add(id(link.element))
            if not link.says_no_more:
                done.discard(id(link.element))
        more = self._extensions.read(child for child in item if id(child) not in done)
        if alternates:
            more["alternates"] = alternates + more.get("alternates", [])
        own = [{"name": n, "value": value} for n, value in item.items() if n != XML_BASE and value.strip() not in told]
        if own:
            more["extra"] = [{"name": item.tag, "depth": 0, "text": None, "attributes": own}, *more.get("extra", [])]
        return more

    def _note_repeated(self, element: FeedElement, seen: set[str]) -> None:
        if element.tag in seen:
            text = element.whole_text()
            self._into.problems.add("xml/repeated-field", entry=self.position, line=element.sourceline, excerpt=text)
        seen.add(element.tag)

    def _note_markup(self, element: FeedElement) -> None:
        if len(element):
            self._into.problems.add("loc/markup", entry=self.position, line=element.sourceline)


def _address(item: FeedElement, found: _Found, used: list[FeedElement]) -> str | None:
    """Return the address of the page, or ``None``; what it was read from is added to *used*."""
    for original in found.values.get("origlink", ()):
        if is_absolute(original.whole_text()):
            used.append(original)
            return original.whole_text()
    if link := page_link(found.links, text_first=item.local != "entry"):
        used.append(link.element)
        return joined(link.element.base, link.href)
    if href := (item.attribute("href") or "").strip():  # CDF
        return joined(item.base, href)
    permanent = [e for e in found.values.get("guid", ()) if _is_permanent(e)] + found.values.get("id", [])
    for element in permanent:
        if is_absolute(element.whole_text()):
            used.append(element)
            return element.whole_text()
    about = (item.attribute("about") or "").strip()
    return about if is_absolute(about) else None


def _is_permanent(guid: FeedElement) -> bool:
    return (guid.attribute("ispermalink") or "true").strip().lower() == "true"


def _first(elements: Iterable[FeedElement], used: list[FeedElement]) -> FeedElement | None:
    """Return the first of *elements*, adding it to *used*."""
    for element in elements:
        used.append(element)
        return element
    return None


def _plain(title: FeedElement) -> str:
    """Return the text of *title*, which in Atom may be HTML."""
    text = title.whole_text()
    if (title.get("type") or "").strip().lower() in _HTML:
        return html.unescape(_TAG.sub("", text)).strip()
    return text


def _alternate(link: Link) -> dict[str, str]:
    given = {name: link.element.get(name) for name in _ALTERNATE_FIELDS}
    return {name: value for name, value in given.items() if value is not None}
