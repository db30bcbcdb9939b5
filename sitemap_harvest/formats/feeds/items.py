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
from typing import TYPE_CHECKING, Any

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
ADDRESSES = frozenset({"link", "guid", "id", "origlink"})
"""The meanings of elements whose text may be the URL of the page."""
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
_USED_OF_LINKS = {"href", "rel", "type", "hreflang", _XML_BASE}
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


class ItemReader:
    """Reads items, in document order, into a collector."""

    def __init__(self, into: Collector) -> None:
        self._into = into
        self._meanings = Names(lambda item_tag: Names(partial(_meaning, split(item_tag)[0])))
        self.position = 0
        """Number of items read."""

    def meaning(self, tag: str, item: Element) -> str:
        """Return the meaning of an element *tag* within *item*."""
        return self._meanings[item.tag][tag]

    def read(self, item: Element) -> None:
        """Read *item*, whose children are complete except for the text of the page."""
        self.position += 1
        if not (len(item) or item.items()):  # a document may consist of such items
            self._into.problems.add("feed/no-link", entry=self.position)
            return
        values = self._values(item)
        titled = next(iter(values.get("title", ())), None)
        title = None if titled is None else _plain(titled)
        page = _page(item, values)
        if page is None:
            self._into.problems.add("feed/no-link", entry=self.position, excerpt=title)
            return
        source, text = page
        loc = joined(source.base, text)
        if loc is None:
            self._into.problems.add("loc/long-base", entry=self.position, excerpt=text)
            return
        dated = next((date for name in _DATES for date in values.get(name, ())), None)
        lastmod = _attribute(item, "lastmod") if dated is None else dated.whole_text()
        used = {id(source), id(titled), id(dated)}
        more = self._rest(item, values.get("link", ()), used, seen={text.strip(), lastmod})
        if loc != text:
            more["loc_raw"] = text
        if title:
            more["title"] = title
        self._into.add(self.position, loc, lastmod, more=more)

    def _values(self, item: Element) -> dict[str, list[Element]]:
        """Return the children of *item* with a value, by meaning; of its links only the alternates."""
        found: dict[str, list[Element]] = {}
        seen: set[str] = set()
        meanings = self._meanings[item.tag]
        for child in item:
            meaning = meanings[child.tag]
            if not meaning or meaning in PAGE_TEXT:
                continue
            if meaning == "link" and not child.text and child.tail and is_absolute(child.tail):
                child.text = child.tail  # its URL, as placed by programs that only know HTML
            if meaning != "link" or not _has_href(child):
                if not (text := child.whole_text()):
                    continue
                if child.tag in seen:
                    line = child.sourceline
                    self._into.problems.add("xml/repeated-field", entry=self.position, line=line, excerpt=text)
                seen.add(child.tag)
            if meaning != "link" or _is_alternate(child):
                found.setdefault(meaning, []).append(child)
            if len(child) and meaning in ADDRESSES:
                self._into.problems.add("loc/markup", entry=self.position, line=child.sourceline)
        return found

    @staticmethod
    def _rest(item: Element, links: Iterable[Element], used: set[int], seen: set[str | None]) -> dict[str, Any]:
        """Return further columns: elements of *item* that were not *used*, except values already *seen*."""
        alternates = []
        for link in links:
            if link.get("hreflang") is not None:
                given = {name: link.get(name) for name in LINK_ATTRIBUTES}
                alternates.append({name: value for name, value in given.items() if value is not None})
                used.add(id(link))
            if len(link) or _type(link) not in _PAGE_TYPES or not {name for name, _ in link.items()} <= _USED_OF_LINKS:
                used.discard(id(link))
        more = read_extensions(child for child in item if id(child) not in used)
        if alternates:
            more["alternates"] = alternates + more.get("alternates", [])
        own = [{"name": n, "value": value} for n, value in item.items() if n != _XML_BASE and value.strip() not in seen]
        if own:
            more["extra"] = [{"name": item.tag, "depth": 0, "text": None, "attributes": own}, *more.get("extra", [])]
        return more


def _page(item: Element, values: dict[str, list[Element]]) -> tuple[Element, str] | None:
    """Return the element with the URL of the page of *item*, and the URL as published; ``None`` if there is none."""
    if original := _absolute(values.get("origlink", ())):
        return original
    if links := values.get("link"):
        link = min(links, key=partial(_rank, has_href=item.local == "entry"))
        return link, _href(link)
    if (href := _attribute(item, "href")) and href.strip():  # CDF
        return item, href
    guids = values.get("guid", ())
    permanent = [guid for guid in guids if (_attribute(guid, "ispermalink") or "true").strip().lower() == "true"]
    if identity := _absolute([*permanent, *values.get("id", ())]):
        return identity
    about = _attribute(item, "about")
    return (item, about) if about and is_absolute(about) else None


def _rank(link: Element, *, has_href: bool) -> tuple[bool, bool, bool]:
    """Return a sort key: the less, the more likely *link* is the page itself: a web page, and no translation.

    Atom has the URL in ``href`` (*has_href*), RSS as text.
    """
    return _has_href(link) is not has_href, _type(link) not in _PAGE_TYPES, link.get("hreflang") is not None


def _has_href(link: Element) -> bool:
    return bool((link.get("href") or "").strip())


def _href(link: Element) -> str:
    return (link.get("href") if _has_href(link) else None) or link.raw_text()


def _type(link: Element) -> str:
    """Return the media type of *link* without its parameters, in lower case; empty if not given."""
    return (link.get("type") or "").partition(";")[0].strip().lower()


def _is_alternate(link: Element) -> bool:
    """Whether *link* is a version of the page, rather than something related to it or to the feed."""
    relation = (link.get("rel") or _ALTERNATE).strip().lower()
    return not _has_href(link) or _REGISTRY.sub("", relation) == _ALTERNATE


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


def _absolute(elements: Iterable[Element]) -> tuple[Element, str] | None:
    """Return the first of *elements* whose text is an absolute URL, and that text."""
    return next(((element, text) for element in elements if is_absolute(text := element.raw_text())), None)


def _attribute(element: Element, name: str) -> str | None:
    """Return the value of the attribute *name*, ignoring case and namespace."""
    for given, value in element.items():
        if split(given)[1].lower() == name:
            return value
    return None


def _plain(title: Element) -> str:
    """Return the text of *title*, which in Atom may be HTML."""
    text = title.whole_text()
    if (title.get("type") or "").strip().lower() in _HTML:
        return html.unescape(_TAG.sub("", text)).strip()
    return text
