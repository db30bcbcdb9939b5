"""Hints of a page to sitemaps and feeds: by a link in its head, or by the HTTP header ``Link``.

Specs: https://www.rfc-editor.org/rfc/rfc8288 (the header),
https://html.spec.whatwg.org/multipage/links.html#linkTypes (relations),
https://www.rssboard.org/rss-autodiscovery (feeds)
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sitemap_harvest.model import FoundBy, SitemapRef
from sitemap_harvest.urls import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FEED_TYPES = frozenset({"application/rss+xml", "application/atom+xml", "application/feed+json"})
_SEPARATORS = re.compile(r"[\s,]*+")
_TARGET = re.compile(r"<([^>]*+)>")
_PARAMETER = re.compile(
    r"""\s*+;\s*+(?:([^\s=;,"<>]++)\s*+(?:=\s*+(?:"((?:[^"\\]|\\.)*+)(?:"|\Z)|([^\s;,"]*+)))?)?""", re.DOTALL
)
_REST = re.compile(r"""(?:[^,"<]|"(?:[^"\\]|\\.)*+(?:"|\Z)|<[^>]*+(?:>|\Z))*+""", re.DOTALL)
_QUOTED_PAIR = re.compile(r"\\(.)", re.DOTALL)


def hinted(relations: str, media_type: str) -> FoundBy | None:
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
        for target, parameters in _links(value):
            is_about_this = resolve(parameters.get("anchor", url), url).loc == url
            address = resolve(target, url)
            if not is_about_this or address.loc is None or address.flaw not in {None, "loc/relative"}:
                continue
            if hinted(parameters.get("rel", ""), parameters.get("type", "")) and address.loc not in seen:
                seen.add(address.loc)
                yield SitemapRef(loc=address.loc, position=len(seen), found_by=FoundBy.HTTP_LINK)


def _links(value: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the targets of the links in *value* with their parameters; of a duplicate parameter the first counts."""
    at = 0
    while (at := _SEPARATORS.match(value, at).end()) < len(value):  # type: ignore[union-attr]  # it matches nothing, too
        if link := _TARGET.match(value, at):
            at = link.end()
            parameters: dict[str, str] = {}
            while parameter := _PARAMETER.match(value, at):
                name, quoted, plain = parameter.groups()
                if name:
                    text = (plain or "") if quoted is None else _QUOTED_PAIR.sub(r"\1", quoted)
                    parameters.setdefault(name.lower(), text)
                at = parameter.end()
            yield link[1], parameters
        rest = _REST.match(value, at)  # skips a malformed link, up to the comma before the next one
        at = (rest.end() if rest else at) + 1
