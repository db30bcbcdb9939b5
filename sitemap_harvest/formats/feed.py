"""RSS and Atom feeds as sitemaps: one entry an item.

Specs: https://www.rssboard.org/rss-specification, https://web.resource.org/rss/1.0/spec,
https://www.rfc-editor.org/rfc/rfc4287
Reads tokens, as the mending lane does: feeds are small, and often not well-formed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urljoin

from sitemap_harvest.formats.xml.tokens import Sort, Token, Tokenizer, attributes
from sitemap_harvest.urls import BLANKS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.formats.collector import Collector
    from sitemap_harvest.model import UrlBatch

_ITEMS = frozenset({"item", "entry"})
_ROOTS = frozenset({"rss", "rdf", "feed"})
_DATES = ("updated", "modified", "pubdate", "date", "published", "issued", "created")  # the last change first
_LINKS = frozenset({"link", "guid", "id", "origlink"})
_TEXTS = frozenset({"title", *_LINKS, *_DATES})
_MAX_TEXT_CHARS = 64 * 1024


def read_feed(chunks: Iterator[str], into: Collector) -> Iterator[UrlBatch]:
    """Read the feed in *chunks*, yielding batches."""
    feed = _Feed(Tokenizer(chunks, into.problems), into)
    for token in feed.tokens:
        feed.take(token)
        yield from into.full_batches()
    feed.finish()


class _Item:
    """What has been read of one item."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.texts: dict[str, str] = {}
        self.links: list[tuple[str, str]] = []
        self.guid_is_link = True

    def address(self) -> str | None:
        """Return the link of the page: of several in Atom the first alternate, then RSS's link, then the guid."""
        by_relation = dict(reversed(self.links))
        if alternate := by_relation.get("alternate"):
            return alternate
        if link := self.texts.get("link"):
            return link
        guid = self.texts.get("guid", "")
        if self.guid_is_link and guid.lower().startswith(("http://", "https://")):
            return guid
        return self.texts.get("origlink")

    @property
    def is_settled(self) -> bool:
        """Whether the address would be the same if more of the item followed."""
        return "alternate" in dict(self.links) or "link" in self.texts

    def date(self) -> str | None:
        """Return the text of the date of the last change, or else of another date."""
        return next((self.texts[name] for name in _DATES if self.texts.get(name)), None)


class _Feed:
    def __init__(self, tokens: Tokenizer, into: Collector) -> None:
        self.tokens = tokens
        self._into = into
        self._item: _Item | None = None
        self._open: list[str] = []
        self._text: str | None = None
        self._base = ""
        self._position = 0
        self._root_is_open = False

    def take(self, token: Token) -> None:
        if token.sort is Sort.TEXT:
            if self._text is not None and len(self._text) < _MAX_TEXT_CHARS:
                self._text += token.value
        elif token.sort is Sort.START:
            self._start(token)
        else:
            self._end(_local(token.value))

    def finish(self) -> None:
        if self._item:
            self._into.problems.add("xml/truncated", line=self.tokens.line)
            if self._item.is_settled:
                self._close_item()
        elif self._root_is_open:
            self._into.problems.add("xml/truncated", line=self.tokens.line)

    def _start(self, token: Token) -> None:
        name = _local(token.value)
        found = attributes(token, self._into.problems) if token.attributes else {}
        if name in _ROOTS:
            self._root_is_open = not token.is_empty
        if "xml:base" in found and (self._item is None or not self._open):
            self._base = _joined(self._base, found["xml:base"])
        if name in _ITEMS and not self._open:
            if self._item:
                self._into.problems.add("xml/unclosed-entry", line=token.line)
                self._close_item()
            self._item = _Item(name)
        elif self._item:
            self._start_inside(self._item, name, found, token)

    def _start_inside(self, item: _Item, name: str, found: dict[str, str], token: Token) -> None:
        if not self._open:
            if name == "link" and "href" in found:
                item.links.append((found.get("rel", "alternate").lower(), _joined(self._base, found["href"])))
            if name == "guid":
                item.guid_is_link = found.get("isPermaLink", "true").lower() != "false"
            is_rss_name = ":" not in token.value or name in {"date", "origlink"}
            self._text = "" if name in _TEXTS and is_rss_name else None
        elif self._text is not None and self._open[0] in _LINKS:
            self._into.problems.add("loc/markup", entry=self._position + 1, line=token.line)
        if not token.is_empty:
            self._open.append(name)

    def _end(self, name: str) -> None:
        if self._item and name == self._item.name and name not in self._open:
            self._close_item()
        elif self._item and name in self._open:
            while self._open.pop() != name:
                pass
            if not self._open:
                if self._text is not None and (text := self._text.strip(BLANKS)):
                    self._item.texts.setdefault(name, text)
                self._text = None
        elif name in _ROOTS:
            self._root_is_open = False

    def _close_item(self) -> None:
        item, self._item, self._open, self._text = self._item, None, [], None
        assert item is not None  # noqa: S101 - callers have looked; it tells mypy
        self._position += 1
        address = item.address()
        if address is None:
            self._into.problems.add("feed/no-link", entry=self._position, excerpt=item.texts.get("title"))
            return
        title = item.texts.get("title")
        self._into.add(
            self._position, _joined(self._base, address), item.date(), more={"title": title} if title else None
        )


def _joined(base: str, address: str) -> str:
    try:
        return urljoin(base, address)
    except ValueError:  # an IPv6 address that is none
        return address


def _local(name: str) -> str:
    return name.rpartition(":")[2].lower()
