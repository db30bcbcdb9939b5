"""``ItemReader``: converts an item of an XML feed to an entry: page URL, date, title, and further elements.

Specs: https://www.rssboard.org/rss-specification,
https://web.resource.org/rss/1.0/spec,
https://www.rfc-editor.org/rfc/rfc4287#section-4.2.7 (which link is the page). The text
or summary of the page is not part of an entry.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from sitemap_harvest.formats.feeds.elements import DATES, PAGE_TEXT, XML_BASE, FeedElement, Meanings, MeaningsByItem
from sitemap_harvest.formats.xml.extensions import Extensions
from sitemap_harvest.urls import BLANKS, MAX_BASE_CHARS, join, resolve

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sitemap_harvest.formats.collector import Collector

_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--[^<>]*-->")
_HTML = frozenset({"html", "text/html"})
_ALTERNATE_FIELDS = ("href", "hreflang", "media", "type")
_ALTERNATE = "alternate"
_REGISTRY = re.compile(r"https?://www\.iana\.org/assignments/(?:link-)?relations?/", re.IGNORECASE)
_PAGE_TYPES = ("text/html", "application/xhtml+xml", "")  # a link without a type is assumed to be a page
_ANYWHERE = "https://example.com/"  # any base shows whether a text is relative
_ABSOLUTE = re.compile(r"https?://[^/?#\s]", re.IGNORECASE)


class _Link(NamedTuple):
    """A link of an item."""

    element: FeedElement
    href: str
    """As published; not empty."""
    relation: str
    """In lower case; ``alternate`` by default."""
    is_text: bool
    """Whether the URL is the text of the element, as in RSS, rather than an attribute, as in Atom."""

    @classmethod
    def of(cls, element: FeedElement) -> _Link | None:
        """Return *element* as a link, or ``None`` if it has no URL."""
        href = element.get("href")
        if href is not None and href.strip():
            relation = _REGISTRY.sub("", (element.get("rel") or _ALTERNATE).strip().lower())
            return cls(element, href, relation, is_text=False)
        return cls(element, element.raw_text(), _ALTERNATE, is_text=True) if element.whole_text() else None

    @property
    def type(self) -> str:
        """The media type without its parameters, in lower case; empty if not given."""
        return (self.element.get("type") or "").partition(";")[0].strip().lower()

    @property
    def language(self) -> str | None:
        """The attribute ``hreflang``."""
        return self.element.get("hreflang")

    @property
    def is_alternate(self) -> bool:
        """Whether this is a version of the page, rather than something related to it or to the feed."""
        return self.relation == _ALTERNATE

    @property
    def says_no_more(self) -> bool:
        """Whether the link has no attributes beyond the URL of the page."""
        known = {name for name, _ in self.element.items()} <= {"href", "rel", "type", "hreflang", XML_BASE}
        return known and self.type in _PAGE_TYPES and not len(self.element)


class _FoundElements(NamedTuple):
    """The children of an item by meaning."""

    values: dict[str, list[FeedElement]]
    """Children with a text, by the name of the value."""
    links: list[_Link]


class _Page(NamedTuple):
    """The URL of an item's page."""

    loc: str | None
    """Relative to the feed, if at all. ``None`` if its base is too long."""
    text: str
    """As published."""


class ItemReader:
    """Reads items, in document order, into a collector."""

    def __init__(self, into: Collector) -> None:
        self._into = into
        self._meanings = MeaningsByItem()
        self._extensions = Extensions()
        self.position = 0
        """Number of items read."""

    def meanings(self, item: FeedElement) -> Meanings:
        """Return the meanings of tags within *item*."""
        return self._meanings[item.tag]

    def read(self, item: FeedElement) -> None:
        """Read *item*, whose children are complete except for the text of the page."""
        self.position += 1
        found = self._sorted(item)
        used: list[FeedElement] = []
        page = _page(item, found, used)
        element = _first(found.values.get("title", ()), used)
        title = None if element is None else _plain(element)
        if page is None:
            self._into.problems.add("feed/no-link", entry=self.position, excerpt=title)
            return
        if page.loc is None:
            self._into.problems.add("loc/long-base", entry=self.position, excerpt=page.text)
            return
        element = _first((date for name in DATES for date in found.values.get(name, ())), used)
        lastmod = item.attribute("lastmod") if element is None else element.whole_text()
        more = self._rest(item, found, used, told={page.text.strip(), lastmod})
        if page.loc != page.text:
            more["loc_raw"] = page.text
        if title:
            more["title"] = title
        self._into.add(self.position, page.loc, lastmod, more=more)

    def _sorted(self, item: FeedElement) -> _FoundElements:
        found = _FoundElements({}, [])
        meanings = self.meanings(item)
        seen: set[str] = set()
        for child in item:
            assert isinstance(child, FeedElement)  # noqa: S101 - for mypy: the reader creates no others
            meaning = meanings[child.tag]
            if meaning == "link" and not child.text and is_absolute(child.tail):
                child.text = child.tail  # its URL, as placed by programs that only know HTML
            if meaning == "link" and (link := _Link.of(child)):
                found.links.append(link)
                self._note_repeated(child, seen if link.is_text else set())
                self._note_markup(child)
            elif meaning and meaning not in PAGE_TEXT and child.whole_text():
                found.values.setdefault(meaning, []).append(child)
                self._note_repeated(child, seen)
                if meaning in {"guid", "origlink", "id"}:
                    self._note_markup(child)
        return found

    def _rest(
        self, item: FeedElement, found: _FoundElements, used: list[FeedElement], told: set[str | None]
    ) -> dict[str, Any]:
        """Return further columns: elements of *item* that were not *used*, except those *told* by an attribute."""
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


def _page(item: FeedElement, found: _FoundElements, used: list[FeedElement]) -> _Page | None:
    """Return the page of *item*, or ``None``; its source elements are appended to *used*."""
    if original := _absolute(found.values.get("origlink", ()), used):
        return _Page(original, original)
    if link := _page_link(found.links, text_first=item.local != "entry"):
        used.append(link.element)
        return _Page(joined(link.element.base, link.href), link.href)
    if (href := item.attribute("href")) and href.strip():  # CDF
        return _Page(joined(item.base, href), href)
    permanent = [guid for guid in found.values.get("guid", ()) if _is_permanent(guid)]
    if identity := _absolute([*permanent, *found.values.get("id", ())], used):
        return _Page(identity, identity)
    about = item.attribute("about") or ""
    return _Page(about, about) if is_absolute(about) else None


def _page_link(links: Iterable[_Link], *, text_first: bool) -> _Link | None:
    """Return the link of the page: of several alternates the first web page, else the first one.

    *text_first*: whether links of the format have their URL as text.
    """
    alternates = [link for link in links if link.is_alternate]
    return min(alternates, key=lambda link: (link.is_text is not text_first, *_rank(link)), default=None)


def _rank(link: _Link) -> tuple[bool, bool]:
    return link.type not in _PAGE_TYPES, link.language is not None


def is_absolute(text: str) -> bool:
    """Whether *text* is clearly the URL of a page: other identifiers are not links."""
    return bool(_ABSOLUTE.match(text.strip(BLANKS)))


def joined(base: str, address: str) -> str | None:
    """Return *address*, resolved against the current ``xml:base`` if it is relative; otherwise unchanged.

    ``None`` if the base is too long.
    """
    if not base or resolve(address, _ANYWHERE).flaw != "loc/relative":
        return address
    return join(base, address.strip(BLANKS)) if len(base) <= MAX_BASE_CHARS else None


def _absolute(elements: Iterable[FeedElement], used: list[FeedElement]) -> str | None:
    """Return the text of the first of *elements* that is an absolute URL; append that to *used*."""
    element = _first((element for element in elements if is_absolute(element.raw_text())), used)
    return None if element is None else element.raw_text()


def _is_permanent(guid: FeedElement) -> bool:
    return (guid.attribute("ispermalink") or "true").strip().lower() == "true"


def _first(elements: Iterable[FeedElement], used: list[FeedElement]) -> FeedElement | None:
    """Return the first of *elements*; append it to *used*."""
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


def _alternate(link: _Link) -> dict[str, str]:
    given = {name: link.element.get(name) for name in _ALTERNATE_FIELDS}
    return {name: value for name, value in given.items() if value is not None}
