"""Reads the links of an HTML sitemap, and the hints of any page or header ``Link`` to sitemaps and feeds.

Specs: https://html.spec.whatwg.org/multipage/links.html (links and their relations),
https://html.spec.whatwg.org/multipage/parsing.html (tags, and references in attributes),
https://www.rssboard.org/rss-autodiscovery (feeds), https://www.rfc-editor.org/rfc/rfc8288
(the header).
lxml finds the tags. Character references are decoded here, because versions of libraries
differ in the URL that they make of ``?a=1&copy=2``.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache
from html.entities import html5
from typing import TYPE_CHECKING, Any

from lxml import etree

from sitemap_harvest.formats.collector import Collector, Limits
from sitemap_harvest.formats.html.headings import says_site_map
from sitemap_harvest.model import FoundBy, SitemapRef
from sitemap_harvest.urls import resolve, site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from sitemap_harvest.model import UrlBatch

_FEED_CHARS = 64 * 1024
_MAX_TITLE_CHARS = 64 * 1024
_MAX_PAGE_BYTES = 32 * 1024 * 1024  # some 300,000 links; libxml2 copies a comment or a tag three times
MAX_DEPTH = 1000  # twice the limit of browsers; libxml2 searches all open elements for each end tag
_MAX_REMEMBERED = 100_000  # distinct links, in some 8 MB: twice what a sitemap may list
_END = re.compile(r"</(?:html|body)(?=[\s/>])", re.IGNORECASE)
_END_CHARS = len("</html>")
_MAX_CACHED_CHARS = 512  # of an origin, so that the size of the cache is bounded
_ORIGIN = re.compile(r"https?://[^/?#]*+", re.IGNORECASE)
_INERT = frozenset({"script", "style", "template"})
_OTHER_SCHEME = re.compile(r"(?!https?:)[A-Za-z][A-Za-z0-9+\-]*:", re.IGNORECASE)
_REFERENCE = re.compile(r"&(?:#([0-9]++);?|#[xX]([0-9a-fA-F]++);?|([A-Za-z][A-Za-z0-9]*+)(;|(?!=)))")
_MAX_REFERENCE_DIGITS = 16
_NOTED = {  # problems of links that should be URLs
    "loc/long-base": "loc/long-base",
    "loc/control-character": "loc/control-character",
    "loc/template": "loc/not-a-url",  # a script fills it in the browser: not a flaw, and the page is complete
}
_FEED_TYPES = frozenset({"application/rss+xml", "application/atom+xml", "application/feed+json"})
_LINK_SEPARATORS = re.compile(r"[\s,]*+")
_LINK_TARGET = re.compile(r"<([^>]*+)>")
_LINK_PARAMETER = re.compile(
    r"""\s*+;\s*+(?:([^\s=;,"<>]++)\s*+(?:=\s*+(?:"((?:[^"\\]|\\.)*+)(?:"|\Z)|([^\s;,"]*+)))?)?""", re.DOTALL
)
_LINK_REST = re.compile(r"""(?:[^,"<]|"(?:[^"\\]|\\.)*+(?:"|\Z)|<[^>]*+(?:>|\Z))*+""", re.DOTALL)
_QUOTED_PAIR = re.compile(r"\\(.)", re.DOTALL)
_NUL = "\ufdd0"  # replaces NUL, at which libxml2 stops silently; a noncharacter that occurs in no text
_REPLACEMENT = "\ufffd"


def read_links(chunks: Iterator[str], into: Collector, *, url: str) -> Iterator[UrlBatch]:
    """Read the page at *url*, which is in *chunks*, as a list of links, yielding batches."""
    page = _Links(into, url)
    for fed in feed(chunks, page, ends_early=lambda: into.problems.ends_early):
        yield from into.full_batches()
        if page.depth > MAX_DEPTH:
            into.problems.add("html/too-deep", f"elements are nested more than {MAX_DEPTH} levels deep")
            break
        if fed >= _MAX_PAGE_BYTES:
            into.problems.add("html/too-large", f"the page has more than {_MAX_PAGE_BYTES} bytes")
            break
    if page.is_cut:
        into.problems.add("html/truncated")
    for _ in chunks:
        pass  # for its size and digest


def read_hints(chunks: Iterator[str], into: Collector, *, url: str) -> None:
    """Add to *into* the hints of the page at *url*: from its head, and from links to an HTML sitemap."""
    page = _Links(into, url, hints_only=True)
    for fed in feed(chunks, page, ends_early=lambda: into.problems.ends_early):
        if page.depth > MAX_DEPTH or fed >= _MAX_PAGE_BYTES:
            break
    for _ in chunks:
        pass


def has_links(head: str, url: str) -> bool:
    """Whether the page at *url* that begins with *head* has links within its site."""
    page = _Links(Collector(document=url, base=url, limits=Limits()), url)
    return any(page.count for _ in feed([head], page))


def feed(chunks: Iterable[str], target: Any, *, ends_early: Callable[[], bool] = lambda: False) -> Iterator[int]:
    """Send the page in *chunks* to *target*, piece by piece; yield how many bytes the parser has received so far.

    *target* is the target of a parser of lxml; :func:`decoded` decodes its texts and
    values. If the page has no end, or *ends_early* returns true at the end, *target* is marked
    as cut before it receives the rest.
    """
    # An explicit encoding, so that no <meta> in the page changes it midway.
    parser: Any = etree.HTMLParser(target=target, encoding="utf-8", huge_tree=True)
    has_ended, tail, fed = False, "", 0
    for chunk in chunks:
        has_ended = has_ended or _END.search(tail + chunk) is not None
        tail = (tail + chunk)[-_END_CHARS:]
        for start in range(0, len(chunk), _FEED_CHARS):
            piece = chunk[start : start + _FEED_CHARS].replace("&", "&amp;").replace("\0", _NUL)
            data = piece.encode("utf-8", "replace")
            parser.feed(data)
            fed += len(data)
            yield fed
    target.is_cut = not has_ended or ends_early()
    if fed:
        with suppress(etree.XMLSyntaxError):  # only whitespace
            parser.close()
        yield fed


class _Links:
    """Adds the links of a page within its site, and the hints of the page, to a collector."""

    def __init__(self, into: Collector, url: str, *, hints_only: bool = False) -> None:
        """Read the page at *url*; *hints_only*: only its hints, no links."""
        self._hints_only = hints_only
        self.is_in_head = True
        self.is_cut = False
        self.depth = 0
        self._into = into
        self._base = url
        self._has_base = False
        self._site = _host(url)
        self.count = 0
        """Number of links added to the collector."""
        self._seen: set[int] = set()  # hashes of URLs, which may be long
        self._href: str | None = None
        self._texts: list[str] = []
        self._alternative: str | None = None
        self._chars = 0
        self._inert = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.depth += 1
        if self.is_cut:
            return  # it may be incomplete
        if tag in _INERT:
            self._inert += 1
        elif self._inert:
            return
        elif tag == "body":
            self.is_in_head = False
        elif tag == "base" and not self._has_base and "href" in attributes:
            self._rebase(decoded(attributes["href"]))
        elif tag == "link" and self.is_in_head:
            self._hint(attributes)
        elif tag == "a":
            self._finish()
            self._href = attributes.get("href")
        elif tag == "area" and "href" in attributes:
            self._link(decoded(attributes["href"]), _plain(attributes.get("alt", "")))
        elif tag == "img" and self._href is not None:
            self._alternative = self._alternative or attributes.get("alt")

    def end(self, tag: str) -> None:
        self.depth -= 1
        if tag in _INERT:
            self._inert = max(0, self._inert - 1)
        elif tag == "head":
            self.is_in_head = False
        elif tag == "a" and not self.is_cut:
            self._finish()

    def data(self, text: str) -> None:
        if self._href is not None and not self._inert and self._chars < _MAX_TITLE_CHARS:
            self._texts.append(text)
            self._chars += len(text)

    def close(self) -> None:
        """Finish the last link, unless the page was truncated within it."""
        if not self.is_cut:
            self._finish()

    def _finish(self) -> None:
        href, text = self._href, _plain("".join(self._texts)) or _plain(self._alternative or "")
        self._href, self._texts, self._alternative, self._chars = None, [], None, 0
        if href is not None:
            self._link(decoded(href), text)

    def _link(self, href: str, text: str) -> None:
        if href.lstrip().startswith("#") or _OTHER_SCHEME.match(href.lstrip()):
            return  # a fragment of this page, a script, a mail address
        address = resolve(href, self._base)
        if address.flaw in _NOTED and not self._hints_only:
            self._into.problems.add(_NOTED[address.flaw], excerpt=href)
        if address.loc is None:
            return
        if self._hints_only:
            if says_site_map(text) and _host(address.loc) == self._site:
                self._into.hint(address.loc, FoundBy.HTML_LINK)
        elif address.flaw == "loc/malformed":
            self._into.problems.add("loc/not-a-url", excerpt=href)
        elif _host(address.loc) != self._site:
            self._into.problems.add("html/off-site", excerpt=address.loc)
        elif (found := hash(address.loc)) not in self._seen:
            if len(self._seen) < _MAX_REMEMBERED:
                self._seen.add(found)
            self.count += 1
            self._into.add(self.count, address.loc, more={"title": text} if text else None)

    def _rebase(self, href: str) -> None:
        self._has_base = True
        address = resolve(href, self._base)
        if address.loc and address.flaw in {None, "loc/relative"}:
            self._base = address.loc
            self._site = self._site or _host(address.loc)  # of a page in a local file

    def _hint(self, attributes: Mapping[str, str]) -> None:
        found_by = _hinted(decoded(attributes.get("rel", "")), decoded(attributes.get("type", "")))
        if found_by and (href := attributes.get("href")):
            address = resolve(decoded(href), self._base)
            if address.flaw == "loc/long-base":
                self._into.problems.add(address.flaw, excerpt=href)
            elif address.loc and address.flaw in {None, "loc/relative"}:
                self._into.hint(address.loc, found_by)


def decoded(text: str) -> str:
    """Return *text* with the character references decoded that HTML allows in attribute values.

    A name without a semicolon only counts if neither a letter, a digit nor an equals
    sign follows: ``?a=1&copy=2`` stays as it is.
    """
    text = text.replace(_NUL, "\0")
    return _REFERENCE.sub(_character, text) if "&" in text else text


def _character(reference: re.Match[str]) -> str:
    decimal, hexadecimal, name, semicolon = reference.groups()
    if name:
        return html5.get(name + semicolon, reference[0])
    digits, radix = (decimal, 10) if decimal else (hexadecimal, 16)
    number = int(digits.lstrip("0")[:_MAX_REFERENCE_DIGITS] or "0", radix)
    if number in range(0x80, 0xA0):
        return bytes([number]).decode("cp1252", "replace")
    is_character = 0 < number <= 0x10FFFF and number not in range(0xD800, 0xE000)
    return chr(number) if is_character else _REPLACEMENT


def _plain(text: str) -> str:
    return " ".join(decoded(text).split())


def _host(url: str) -> str:
    """Return host and port of *url*, without ``www.``: variants with it, and http or https, are one site."""
    if (origin := _ORIGIN.match(url)) is None:
        return ""
    return (_host_of if len(origin[0]) <= _MAX_CACHED_CHARS else _host_of.__wrapped__)(origin[0])


@lru_cache(maxsize=1024)
def _host_of(origin: str) -> str:
    return (site_of(origin) or "").partition("://")[2].removeprefix("www.")


def _hinted(relations: str, media_type: str) -> FoundBy | None:
    """Return what a link with these *relations* and this *media_type* hints at: a sitemap, a feed, or nothing."""
    words = relations.lower().split()
    if "sitemap" in words:
        return FoundBy.HTML_LINK
    is_feed = media_type.partition(";")[0].strip().lower() in _FEED_TYPES
    return FoundBy.FEED_LINK if is_feed and "alternate" in words else None


def header_hints(values: Iterable[str], *, url: str) -> Iterator[SitemapRef]:
    """Yield the sitemaps and feeds in the ``Link`` headers with these *values*, each once.

    *url* is the URL of their document. Links about another document (``anchor``), and
    malformed ones, are skipped.
    """
    seen: set[str] = set()
    for value in values:
        for target, parameters in header_links(value):
            is_about_this = resolve(parameters.get("anchor", url), url).loc == url
            address = resolve(target, url)
            if not is_about_this or address.loc is None or address.flaw not in {None, "loc/relative"}:
                continue
            if _hinted(parameters.get("rel", ""), parameters.get("type", "")) and address.loc not in seen:
                seen.add(address.loc)
                yield SitemapRef(loc=address.loc, position=len(seen), found_by=FoundBy.HTTP_LINK)


def header_links(value: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the targets of the links in *value* with their parameters; of a duplicate parameter the first counts."""
    at = 0
    while (at := _LINK_SEPARATORS.match(value, at).end()) < len(value):  # type: ignore[union-attr]  # it matches nothing, too
        if link := _LINK_TARGET.match(value, at):
            at = link.end()
            parameters: dict[str, str] = {}
            while parameter := _LINK_PARAMETER.match(value, at):
                name, quoted, plain = parameter.groups()
                if name:
                    text = (plain or "") if quoted is None else _QUOTED_PAIR.sub(r"\1", quoted)
                    parameters.setdefault(name.lower(), text)
                at = parameter.end()
            yield link[1], parameters
        rest = _LINK_REST.match(value, at)  # skips a malformed link, up to the comma before the next one
        at = (rest.end() if rest else at) + 1
