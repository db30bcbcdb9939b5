"""``Cutter``: splits the text of a JSON Feed into its items as it arrives.

Spec: https://www.rfc-editor.org/rfc/rfc8259. Brackets outside of strings determine
where an item ends. So memory use is flat, and an invalid item does not affect the
others.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.formats.problems import ProblemLog

_MAX_ITEM_CHARS = 4 * 1024 * 1024  # including the text of the page
_MAX_FRAME_CHARS = 256 * 1024  # the text around the items; a longer one is not parsed
_MAX_TAIL_CHARS = 200
_BLANKS = " \t\r\n\ufeff\x00"
_STRUCTURE = re.compile(r"[\"{}\[\]]")
_IN_STRING = re.compile(r"[^\"\\]*+(?:\\.[^\"\\]*+)*+", re.DOTALL)
_ITEMS_KEY = re.compile(r"\"items\"\s*:\s*\Z")
_FEED_DEPTH, _ITEMS_DEPTH = 1, 2  # nesting depth of the feed, and of its items


class ItemText(NamedTuple):
    """The original text of an item."""

    text: str | None
    """``None`` if it is too long."""
    line: int
    """Line of its start, from 1."""


class Cutter:
    """The state between two chunks."""

    def __init__(self, chunks: Iterator[str], problems: ProblemLog) -> None:
        self._chunks = chunks
        self._problems = problems
        self._depth = 0
        self._is_in_string = False
        self._is_in_items = False
        self._has_items = False
        self._item: list[str] | None = None
        self._item_chars = self._item_line = 0
        self._between = ""  # two items: there should be a comma
        self._frame: list[str] = []
        self._frame_chars = 0
        self._tail = ""  # of the frame
        self._line = 1

    def __iter__(self) -> Iterator[ItemText]:
        held = ""
        for chunk in self._chunks:
            text = held + chunk
            held = "\\" if self._ends_in_escape(text) else ""
            yield from self._cut(text[: len(text) - len(held)])
        self._finish()

    def _ends_in_escape(self, text: str) -> bool:
        """Whether *text* ends with a backslash that escapes the start of the next chunk."""
        return (len(text) - len(text.rstrip("\\"))) % 2 == 1

    def _cut(self, text: str) -> Iterator[ItemText]:
        start = at = 0
        while True:
            if self._is_in_string:
                at = _IN_STRING.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too
                if at == len(text):
                    break
                self._is_in_string = False
                at += 1
            if not (mark := _STRUCTURE.search(text, at)):
                break
            at = mark.end()
            if mark[0] == '"':
                self._is_in_string = True
            elif mark[0] in "{[":
                start = self._open(mark[0], text, start, at)
            else:
                before, start = start, self._end(text, start, at)
                if before != start and self._item is not None:
                    yield from self._whole_item()
        self._put(text[start:])

    def _open(self, bracket: str, text: str, start: int, at: int) -> int:
        """Handle an opening *bracket* that ends at *at*; return the start of the unprocessed part of *text*."""
        self._depth += 1
        if self._is_in_items and self._item is None and bracket == "{" and self._depth == _ITEMS_DEPTH + 1:
            self._put(text[start : at - 1])
            self._check_between("," if self._has_items else "")
            self._item, self._item_chars, self._item_line = [], 0, self._line
            self._has_items = True
            return at - 1
        if bracket == "[" and self._depth == _ITEMS_DEPTH and not self._is_in_items:
            self._put(text[start:at])
            self._is_in_items = bool(_ITEMS_KEY.search(self._tail[:-1]))
            self._has_items = False
            return at
        return start

    def _end(self, text: str, start: int, at: int) -> int:
        """Handle a closing bracket that ends at *at*; return the start of the unprocessed part of *text*."""
        self._depth = max(0, self._depth - 1)
        if self._item is not None and self._depth == _ITEMS_DEPTH:
            self._put(text[start:at])
            return at
        if self._is_in_items and self._depth == _FEED_DEPTH:
            self._put(text[start : at - 1])
            self._check_between("")
            self._is_in_items = False
            return at - 1
        return start

    def _put(self, text: str) -> None:
        """Append *text* to the item or frame that it belongs to."""
        if "\0" in text and self._is_in_items and "document/nul-bytes" not in self._problems:
            self._problems.add("document/nul-bytes", line=self._line)
        self._line += text.count("\n")
        if self._item is not None:
            self._item_chars += len(text)
            if self._item_chars <= _MAX_ITEM_CHARS:
                self._item.append(text)
        elif self._is_in_items:
            self._between += text.strip(_BLANKS)[:_MAX_TAIL_CHARS] if len(self._between) < _MAX_TAIL_CHARS else ""
        else:
            self._tail = (self._tail + text)[-_MAX_TAIL_CHARS:]
            self._frame_chars += len(text)
            if self._frame_chars <= _MAX_FRAME_CHARS:
                self._frame.append(text)

    def _check_between(self, wanted: str) -> None:
        if self._between != wanted:
            if self._problems.has_enough("json/malformed"):
                self._problems.add("json/malformed")
                self._between = ""
                return
            detail = f"{self._between[:20]!r} between items"
            self._problems.add("json/malformed", detail, line=self._line, excerpt=self._between)
        self._between = ""

    def _whole_item(self) -> Iterator[ItemText]:
        pieces, self._item = self._item or [], None
        if self._item_chars > _MAX_ITEM_CHARS:
            detail = f"an item has more than {_MAX_ITEM_CHARS} characters"
            self._problems.add("json/malformed", detail, line=self._item_line, excerpt="".join(pieces[:1]))
        yield ItemText("".join(pieces) if self._item_chars <= _MAX_ITEM_CHARS else None, self._item_line)

    def _finish(self) -> None:
        if self._depth or self._is_in_string:
            self._problems.add("json/truncated", line=self._line)
        elif self._frame_chars <= _MAX_FRAME_CHARS:
            try:
                json.loads("".join(self._frame).strip(_BLANKS), strict=False, parse_int=str)
            except (ValueError, RecursionError) as error:
                self._problems.add("json/malformed", f"around the items: {error}")
