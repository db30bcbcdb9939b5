"""Entries as ``sitemap_filter`` of Scrapy's ``SitemapSpider`` gets them: dictionaries of what the document says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemap_harvest.model import UrlEntry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sitemap_harvest.model import SitemapRef

ENTRY = "entry"
"""The key under which the dictionary of a page has its :class:`~sitemap_harvest.UrlEntry`."""

_TAGS = {"images": "image", "videos": "video", "news": "news", "mobile": "mobile", "pagemap": "PageMap"}


def dict_of_entry(entry: UrlEntry) -> dict[str, Any]:
    """Return *entry* by the names of its elements, without namespaces, each with its text.

    An element that is absent has no key. One that has only children, such as an
    image, has an empty text. ``alternate`` is the list of alternate addresses.
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
    """Return *ref*, an entry of an index, in the same way."""
    return {"loc": ref.loc} if ref.lastmod_text is None else {"loc": ref.loc, "lastmod": ref.lastmod_text}


def entry_of_dict(found: Mapping[str, Any], *, sitemap: str) -> UrlEntry:
    """Return the entry of *found*; if a filter has made it of its own, one that has an address and no position."""
    entry = found.get(ENTRY)
    return entry if isinstance(entry, UrlEntry) else UrlEntry(loc=found["loc"], sitemap=sitemap, position=0)


def alternates_of(entry: UrlEntry) -> list[str]:
    """Return the addresses of the other versions of *entry*, as published."""
    return [alternate.href for alternate in entry.alternates or () if alternate.href]
