"""``HtmlFacts``: what an HTML page says to search engines, and whether it is an error page or a challenge page.

Specs: https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag,
https://www.rfc-editor.org/rfc/rfc6596 (canonical link)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from sitemap_harvest.formats.html.headings import says_not_found
from sitemap_harvest.formats.html.links import MAX_DEPTH, decoded, feed, header_links
from sitemap_harvest.formats.html.page import challenger, look
from sitemap_harvest.urls import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_CRAWLERS = ("robots", "googlebot", "bingbot")  # names of meta elements; the first is for all crawlers
_WITH_VALUES = frozenset({"base", "meta", "link"})
_MAX_CHARS = 1_000  # of a title, and of the directives
_HEAD_CHARS = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlFacts:
    """The facts of one page."""

    title: str | None
    """Text of the first ``<title>``; ``None`` without one."""
    robots: str | None
    """The contents of its robots meta elements, joined by commas; ``None`` without one. Those for one crawler begin
    with its name: ``noindex, googlebot: nosnippet``."""
    canonical: str | None
    """The URL of its first canonical link, absolute; ``None`` without one."""
    not_found: str | None
    """The title or the first heading, if it says that the page does not exist; otherwise ``None``."""
    challenger: str | None
    """The vendor of the firewall whose challenge page it is; ``None`` if it is none."""


def html_facts(text: Iterable[str], *, url: str) -> HtmlFacts:
    """Return the facts of the page at *url*, which is in *text*, completely or up to a limit."""
    pieces = iter(text)
    head = ""
    while len(head) < _HEAD_CHARS and (piece := next(pieces, "")):
        head += piece
    facts = _Facts(url)
    for _ in feed(chain([head], pieces), facts):
        if facts.depth > MAX_DEPTH:
            break
    title, heading = (" ".join(decoded(part or "").split())[:_MAX_CHARS] for part in (facts.title, facts.heading))
    return HtmlFacts(
        title=title or None,
        robots=", ".join(facts.robots)[:_MAX_CHARS] or None,
        canonical=facts.canonical,
        not_found=next((one for one in (title, heading) if says_not_found(one)), None),
        challenger=challenger(look(head[:_HEAD_CHARS])),
    )


def header_canonical(values: Iterable[str], *, url: str) -> str | None:
    """Return the canonical URL in the ``Link`` headers of *url*, absolute; ``None`` without one."""
    for value in values:
        for target, parameters in header_links(value):
            if "canonical" in parameters.get("rel", "").lower().split() and "anchor" not in parameters:
                return resolve(target, url).loc
    return None


class _Facts:
    def __init__(self, url: str) -> None:
        self.title: str | None = None
        self.heading: str | None = None
        self.robots: list[str] = []
        self.canonical: str | None = None
        self.depth = 0
        self.is_cut = False
        self._base = url
        self._text: list[str] | None = None
        self._images = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.depth += 1
        values = {name: decoded(value).strip() for name, value in attributes.items()} if tag in _WITH_VALUES else {}
        if tag == "svg":
            self._images += 1
        elif (tag == "title" and self.title is None and not self._images) or (tag == "h1" and self.heading is None):
            self._text = []
        elif tag == "base" and "href" in values:
            self._base = resolve(values["href"], self._base).loc or self._base
        elif tag == "meta" and (name := values.get("name", "").lower()) in _CRAWLERS:
            content = values.get("content", "")[:_MAX_CHARS]
            self.robots.append(content if name == _CRAWLERS[0] else f"{name}: {content}")
        elif tag == "link" and self.canonical is None and "canonical" in values.get("rel", "").lower().split():
            self.canonical = resolve(values.get("href", ""), self._base).loc

    def end(self, tag: str) -> None:
        self.depth -= 1
        if tag == "svg":
            self._images -= 1
        elif tag in {"title", "h1"} and self._text is not None:
            text, self._text = "".join(self._text), None
            if tag == "title":
                self.title = text
            else:
                self.heading = text

    def data(self, text: str) -> None:
        if self._text is not None and len(self._text) < _MAX_CHARS:
            self._text.append(text)

    def close(self) -> None:
        """Ignore an unfinished title."""
