"""``ItemReader``: converts an item of an XML feed to an entry: page URL, date, title, and further elements.

Specs: https://www.rssboard.org/rss-specification,
https://web.resource.org/rss/1.0/spec,
https://www.rfc-editor.org/rfc/rfc4287 (of which section 4.2.7 says which link is the
page), https://www.dublincore.org/specifications/dublin-core/dcmi-terms/,
https://www.rssboard.org/media-rss. The text or summary of the page is not part of an
entry.
"""

from __future__ import annotations

import html
import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from sitemap_harvest.formats.xml.entries import split
from sitemap_harvest.formats.xml.extensions import LINK_ATTRIBUTES, WELL_KNOWN_PREFIXES, Names, read_extensions
from sitemap_harvest.urls import MAX_BASE_CHARS, WHITESPACE, join, resolve

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sitemap_harvest.formats.collector import Collector
    from sitemap_harvest.formats.xml.elements import Element

_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--[^<>]*-->")
_HTML = frozenset({"html", "text/html"})
_ALTERNATE = "alternate"
_REGISTRY = re.compile(r"https?://www\.iana\.org/assignments/(?:link-)?relations?/", re.IGNORECASE)
_PAGE_TYPES = ("text/html", "application/xhtml+xml", "")  # a link without a type is assumed to be a page
_ANYWHERE = "https://example.com/"  # any base shows whether a text is relative
_ABSOLUTE = re.compile(r"https?://[^/?#\s]", re.IGNORECASE)


_DATES = ("updated", "modified", "pubdate", "date", "published", "issued", "created")  # last change first
_VALUES = frozenset({"link", "guid", "id", "title", *_DATES})
_BODIES = frozenset({"description", "summary", "content", "encoded", "body", "abstract", "full-text", "fulltext"})
_FEEDS = (  # parts of the namespaces of feeds; for RSS 2.0, which has none, several are used by mistake
    *("purl.org/rss/1.0", "purl.org/net/rss", "netscape.com/rdf", "userland.com/rss", "harvard.edu/tech/rss"),
    *("harvard.edu/rss", "purl.org/atom", "w3.org/2005/atom"),
)
PAGE_TEXT = frozenset({"body", "markup"})
"""The meanings of elements with the text of the page, which is not part of an entry."""
_XHTML = "w3.org/1999/xhtml"
_MEDIA = "yahoo.com/mrss"
_TRACKERS = ("feedburner", "pheedo")

_XML = "http://www.w3.org/XML/1998/namespace"
_XML_BASE = f"{{{_XML}}}base"
FEED_PREFIXES = {
    **WELL_KNOWN_PREFIXES,
    "xml": _XML,
    "atom": "http://www.w3.org/2005/Atom",
    "content": "http://purl.org/rss/1.0/modules/content/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "feedburner": "http://rssnamespace.org/feedburner/ext/1.0",
    "itunes": "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "media": "http://search.yahoo.com/mrss/",
    "pheedo": "http://www.pheedo.com/namespace/pheedo",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
}
"""The meanings of usual prefixes in a feed that does not declare them."""


def _meaning(own_namespace: str, tag: str) -> str:
    """Return the meaning of *tag* (``{namespace}local``) within an item of the namespace *own_namespace*.

    One of the names in ``_DATES``, ``link``, ``guid``, ``id``, ``title``, ``origlink``;
    ``body`` for the text of the page, ``markup`` for elements that may be part of it;
    empty for all others.
    """
    namespace, local = split(tag)
    name, lower = local.lower(), namespace.lower()
    if _XHTML in lower and name != "link":
        return "markup"
    if name in _BODIES and _MEDIA not in lower:
        return "body"
    is_of_feed = namespace in {"", own_namespace} or (any(part in lower for part in _FEEDS) and "/modules" not in lower)
    if name in _VALUES and is_of_feed:
        return name
    if name in _DATES and "purl.org/dc/" in lower:
        return name
    return name if name == "origlink" and any(word in lower for word in _TRACKERS) else ""


class _Link(NamedTuple):
    """A link of an item."""

    element: Element
    href: str
    """As published; not empty."""
    relation: str
    """In lower case; ``alternate`` by default."""
    is_text: bool
    """Whether the URL is the text of the element, as in RSS, rather than an attribute, as in Atom."""

    @classmethod
    def of(cls, element: Element) -> _Link | None:
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
    def rank(self) -> tuple[bool, bool]:
        """The less, the more likely it is the page itself: a web page, and no translation."""
        return self.type not in _PAGE_TYPES, self.language is not None

    @property
    def says_no_more(self) -> bool:
        """Whether the link has no attributes beyond the URL of the page."""
        known = {name for name, _ in self.element.items()} <= {"href", "rel", "type", "hreflang", _XML_BASE}
        return known and self.type in _PAGE_TYPES and not len(self.element)


class _FoundElements(NamedTuple):
    """The children of an item by meaning."""

    values: dict[str, list[Element]]
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
        self._item_tag = ""
        self._meanings = Names(partial(_meaning, ""))
        self.position = 0
        """Number of items read."""

    def meaning(self, tag: str, item: Element) -> str:
        """Return the meaning of an element *tag* within *item*."""
        if item.tag != self._item_tag:
            self._item_tag, self._meanings = item.tag, Names(partial(_meaning, split(item.tag)[0]))
        return self._meanings[tag]

    def read(self, item: Element) -> None:
        """Read *item*, whose children are complete except for the text of the page."""
        self.position += 1
        if not (len(item) or item.items()):  # a document may consist of such items
            self._into.problems.add("feed/no-link", entry=self.position)
            return
        found = self._sorted(item)
        used: list[Element] = []
        page = _page(item, found, used)
        element = _first(found.values.get("title", ()), used)
        title = None if element is None else _plain(element)
        if page is None:
            self._into.problems.add("feed/no-link", entry=self.position, excerpt=title)
            return
        if page.loc is None:
            self._into.problems.add("loc/long-base", entry=self.position, excerpt=page.text)
            return
        element = _first((date for name in _DATES for date in found.values.get(name, ())), used)
        lastmod = _attribute(item, "lastmod") if element is None else element.whole_text()
        more = self._rest(item, found, used, seen={page.text.strip(), lastmod})
        if page.loc != page.text:
            more["loc_raw"] = page.text
        if title:
            more["title"] = title
        self._into.add(self.position, page.loc, lastmod, more=more)

    def _sorted(self, item: Element) -> _FoundElements:
        found = _FoundElements({}, [])
        seen: set[str] = set()
        for child in item:
            meaning = self.meaning(child.tag, item)
            if meaning == "link" and not child.text and child.tail and is_absolute(child.tail):
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

    def _rest(self, item: Element, found: _FoundElements, used: list[Element], seen: set[str | None]) -> dict[str, Any]:
        """Return further columns: elements of *item* that were not *used*, except values already *seen*."""
        done = {id(element) for element in used}
        alternates = []
        for link in found.links:
            if link.is_alternate and link.language is not None:
                given = {name: link.element.get(name) for name in LINK_ATTRIBUTES}
                alternates.append({name: value for name, value in given.items() if value is not None})
                done.add(id(link.element))
            if not link.says_no_more:
                done.discard(id(link.element))
        more = read_extensions(child for child in item if id(child) not in done)
        if alternates:
            more["alternates"] = alternates + more.get("alternates", [])
        own = [{"name": n, "value": value} for n, value in item.items() if n != _XML_BASE and value.strip() not in seen]
        if own:
            more["extra"] = [{"name": item.tag, "depth": 0, "text": None, "attributes": own}, *more.get("extra", [])]
        return more

    def _note_repeated(self, element: Element, seen: set[str]) -> None:
        if element.tag in seen:
            text = element.whole_text()
            self._into.problems.add("xml/repeated-field", entry=self.position, line=element.sourceline, excerpt=text)
        seen.add(element.tag)

    def _note_markup(self, element: Element) -> None:
        if len(element):
            self._into.problems.add("loc/markup", entry=self.position, line=element.sourceline)


def _page(item: Element, found: _FoundElements, used: list[Element]) -> _Page | None:
    """Return the page of *item*, or ``None``; its source elements are appended to *used*."""
    values = found.values
    if "origlink" in values and (original := _absolute(values["origlink"], used)):
        return _Page(original, original)
    # Of several alternates the first web page, else the first one; in RSS rather one with its URL as text.
    if alternates := [link for link in found.links if link.is_alternate]:
        is_text = item.local != "entry"
        link = min(alternates, key=lambda link: (link.is_text is not is_text, *link.rank))
        used.append(link.element)
        return _Page(joined(link.element.base, link.href), link.href)
    if (href := _attribute(item, "href")) and href.strip():  # CDF
        return _Page(joined(item.base, href), href)
    if "guid" in values or "id" in values:
        guids = values.get("guid", ())
        permanent = [guid for guid in guids if (_attribute(guid, "ispermalink") or "true").strip().lower() == "true"]
        if identity := _absolute([*permanent, *values.get("id", ())], used):
            return _Page(identity, identity)
    about = _attribute(item, "about")
    return _Page(about, about) if about and is_absolute(about) else None


def is_absolute(text: str) -> bool:
    """Whether *text* is clearly the URL of a page: other identifiers are not links."""
    return bool(_ABSOLUTE.match(text.strip(WHITESPACE)))


def joined(base: str, address: str) -> str | None:
    """Return *address*, resolved against the current ``xml:base`` if it is relative; otherwise unchanged.

    ``None`` if the base is too long.
    """
    if not base or resolve(address, _ANYWHERE).flaw != "loc/relative":
        return address
    return join(base, address.strip(WHITESPACE)) if len(base) <= MAX_BASE_CHARS else None


def _absolute(elements: Iterable[Element], used: list[Element]) -> str | None:
    """Return the text of the first of *elements* that is an absolute URL; append that to *used*."""
    element = _first((element for element in elements if is_absolute(element.raw_text())), used)
    return None if element is None else element.raw_text()


def _attribute(element: Element, name: str) -> str | None:
    """Return the value of the attribute *name*, ignoring case and namespace."""
    for given, value in element.items():
        if split(given)[1].lower() == name:
            return value
    return None


def _first(elements: Iterable[Element], used: list[Element]) -> Element | None:
    """Return the first of *elements*; append it to *used*."""
    for element in elements:
        used.append(element)
        return element
    return None


def _plain(title: Element) -> str:
    """Return the text of *title*, which in Atom may be HTML."""
    text = title.whole_text()
    if (title.get("type") or "").strip().lower() in _HTML:
        return html.unescape(_TAG.sub("", text)).strip()
    return text
