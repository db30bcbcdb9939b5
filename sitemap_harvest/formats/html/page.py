"""Determines the kind of an HTML page from its start: challenge, missing page, HTML sitemap, or other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sitemap_harvest.formats.html.links import decoded, feed

if TYPE_CHECKING:
    from collections.abc import Mapping

_UNREAD = frozenset({"style", "template", "textarea"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The parts of a page that determine its kind."""

    title: str
    """Text of the first ``<title>`` outside of images."""
    heading: str
    """Text of the first ``<h1>``."""
    scripts: str
    """The text of its scripts."""
    tags: str
    """The start tags, with all attributes quoted by ``"``."""
    words: str
    """The visible text."""


def look(head: str) -> Page:
    """Return the parts of the page that begins with *head*."""
    parts = _Parts()
    for _ in feed([head], parts):
        pass
    return Page(
        title=" ".join(decoded("".join(parts.title)).split()),
        heading=" ".join(decoded("".join(parts.heading)).split()),
        scripts="\n".join(parts.scripts),
        tags="\n".join(parts.tags),
        words=" ".join(decoded("".join(parts.words)).split()),
    )


@dataclass(slots=True)
class _Parts:
    title: list[str] = field(default_factory=list)
    heading: list[str] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    is_cut: bool = False
    _open: list[str] = field(default_factory=list)
    _pictures: int = 0
    _has_title: bool = False
    _headings: int = 0
    _has_heading: bool = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._open.append(tag)
        self.words.append(" ")
        self._pictures += tag == "svg"
        self._headings += tag == "h1"
        values = "".join(f' {name}="{decoded(value)}"' for name, value in attributes.items())
        self.tags.append(f"<{tag}{values}>")

    def end(self, tag: str) -> None:
        if self._open and self._open[-1] == tag:
            self._open.pop()
        self._pictures -= tag == "svg"
        self._headings -= tag == "h1"
        self._has_title |= tag == "title" and not self._pictures
        self._has_heading |= tag == "h1"

    def data(self, text: str) -> None:
        inside = self._open[-1] if self._open else ""
        if inside == "script":
            self.scripts.append(text)
        elif inside == "title":
            if not self._has_title and not self._pictures:
                self.title.append(text)
        elif inside not in _UNREAD:
            self.words.append(text)
            if self._headings and not self._has_heading:
                self.heading.append(text)

    def close(self) -> None:
        """Store the unfinished parts."""
