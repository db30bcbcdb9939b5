"""Changes between successive versions of a sitemap, computed with lxml and the standard library only.

The results of the package are compared with these, so this module imports nothing from the package.
"""

from __future__ import annotations

import gzip
import re
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlsplit

from lxml import etree

_BARE_AMPERSAND = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#\d+|#x[0-9a-fA-F]+);)")
_FIELDS = {"image": "images", "video": "videos", "link": "alternates", "news": "news"}
_PLAIN = frozenset({"loc", "lastmod", "changefreq", "priority"})

Entry = dict[str, Any]
"""The metadata of one URL in a sitemap, by field; two with the same meaning are equal."""
Listed = dict[str, list[Entry]]
"""The entries of each URL, by the URL's key."""
Change = tuple[str, str, tuple[str, ...]]
"""A kind, the URL's key, and the fields that changed."""


def listed(body: bytes) -> Listed | None:
    """Return the entries of a document; ``None`` for a web page, which has no entries."""
    text = gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body
    if not text.lstrip().startswith(b"<"):
        return _grouped({"loc": line} for line in text.decode().split())
    root = etree.fromstring(_BARE_AMPERSAND.sub(b"&amp;", text))
    if _name(root) == "html":
        return None
    return _grouped(_entry(url) for url in root if _name(url) == "url")


def changes(before: Listed | None, after: Listed | None) -> set[Change]:
    """Return the changes between two versions; none if either version is unknown."""
    if before is None or after is None:
        return set()
    gone = {(_leaving(entry[0]), url, ()) for url, entry in before.items() if url not in after}
    come = {("added", url, ()) for url in after if url not in before}
    both = {url: _differing(entries, after[url]) for url, entries in before.items() if url in after}
    return gone | come | {("changed", url, fields) for url, fields in both.items() if fields}


def key(url: str) -> str:
    """Return the key of a URL, as far as keys differ in these documents."""
    parts = urlsplit(url)
    path = quote(parts.path or "/", safe="/%!$&'()*+,;=:@~")
    query = f"?{parts.query}" if parts.query else ""
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}{path}{query}{fragment}"


def _leaving(entry: Entry) -> str:
    return "expired" if "news" in entry else "removed"


def _differing(before: list[Entry], after: list[Entry]) -> tuple[str, ...]:
    """Return the fields that differ between the entries of one URL: as sets, then in the first of them."""
    if all(entry in after for entry in before) and all(entry in before for entry in after):
        return ()
    first, second = before[0], after[0]
    return tuple(sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name)))


def _grouped(entries: Any) -> Listed:
    found: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        found[key(entry["loc"])].append(entry)
    return dict(found)


def _entry(url: etree._Element) -> Entry:
    entry: Entry = {}
    for child in url:
        name = _name(child)
        if name in _PLAIN:
            entry[name] = _value(name, (child.text or "").strip())
        elif name:
            entry.setdefault(_FIELDS.get(name, "extra"), []).append(_tree(child))
    return entry


def _value(name: str, text: str) -> Any:
    if name == "lastmod":
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return float(text) if name == "priority" else text


def _tree(element: etree._Element) -> Any:
    children = [_tree(child) for child in element if _name(child)]
    return _name(element), sorted(element.attrib.items()), (element.text or "").strip(), children


def _name(element: etree._Element) -> str | None:
    return etree.QName(element).localname if isinstance(element.tag, str) else None
