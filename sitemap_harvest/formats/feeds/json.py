"""Reader of JSON Feed 1.0 and 1.1.

Specs: https://www.jsonfeed.org/version/1.1/, https://www.rfc-editor.org/rfc/rfc8259.
Each item is parsed separately: one that is truncated or not JSON is left out, and the
others are read.
"""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from sitemap_harvest.formats.feeds.items import is_absolute
from sitemap_harvest.urls import WHITESPACE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.formats.collector import Collector
    from sitemap_harvest.formats.problem_log import ProblemLog
    from sitemap_harvest.model import UrlBatch

_MAX_ITEMS = 100_000  # consecutive items without an entry: more than the protocol allows a document to list
_MAX_DEPTH = 64  # nesting depth; deeper values are left out
_MAX_VALUES = 300_000  # per item, estimated from separators: as Python objects they take some 110 MB
_DATES = ("date_modified", "date_published")  # last change first
_BODIES = frozenset({"content_html", "content_text", "summary"})
_MAX_ITEM_CHARS = 4 * 1024 * 1024  # including the text of the page
_MAX_FRAME_CHARS = 256 * 1024  # the text around the items; a longer one is not parsed
_MAX_TAIL_CHARS = 200
_WHITESPACE = " \t\r\n\ufeff\x00"
_STRUCTURE = re.compile(r"[\"{}\[\]]")
_IN_STRING = re.compile(r"[^\"\\]*+(?:\\.[^\"\\]*+)*+", re.DOTALL)
_ITEMS_KEY = re.compile(r"\"items\"\s*:\s*\Z")
_FEED_DEPTH, _ITEMS_DEPTH = 1, 2  # nesting depth of the feed, and of its items


class _Number(str):
    """A number in its original notation, which has no maximum."""

    __slots__ = ()


class _Object(NamedTuple):
    """An object with its original names, including duplicates."""

    pairs: list[tuple[str, Any]]

    def last(self, name: str) -> Any:
        """Return the value of *name*; for duplicates the last one, as in ECMAScript's ``JSON.parse``."""
        for given, value in reversed(self.pairs):
            if given == name:
                return value
        return None


_decoder = partial(
    json.JSONDecoder, object_pairs_hook=_Object, parse_int=_Number, parse_float=_Number, parse_constant=_Number
)
_STRICT, _TOLERANT = _decoder(), _decoder(strict=False)


def read_json_feed(chunks: Iterator[str], into: Collector) -> Iterator[UrlBatch]:
    """Read the text of a JSON Feed, yielding batches."""
    reader = _Reader(into)
    entries = since = 0
    for item in Cutter(chunks, into.problems):
        reader.read(item)
        yield from into.full_batches()
        if into.added != entries:
            entries, since = into.added, 0
        since += 1
        if since > _MAX_ITEMS:
            into.problems.add("document/bloated", line=item.line)
            return


class _Reader:
    """Reads items, in document order, into a collector."""

    def __init__(self, into: Collector) -> None:
        self._into = into
        self._position = 0
        self._line = 0

    def read(self, item: ItemText) -> None:
        self._position += 1
        self._line = item.line
        found = None if item.text is None else self._decoded(item.text)
        if found is None:
            return
        self._note_repeated(found)
        title = self._text(found.last("title"))
        name, address = self._address(found)
        if not address:
            self._note("feed/no-link", excerpt=title)
            return
        date, lastmod = next(((name, text) for name in _DATES if (text := self._text(found.last(name)))), ("", None))
        more: dict[str, Any] = {"title": title} if title else {}
        if extra := self._extra(found, {name, date, "title"}):
            more["extra"] = extra
        self._into.add(self._position, _printable(found.last(name)), lastmod, more=more)

    def _note_repeated(self, item: _Object) -> None:
        seen: set[str] = set()
        for name, _ in item.pairs:
            if name in seen:
                self._note("json/repeated-name", excerpt=name)
            seen.add(name)

    def _decoded(self, text: str) -> _Object | None:
        """Return *text* as an object; ``None``, with a problem, if it is not JSON, or too complex."""
        if sum(map(text.count, ",[{")) > _MAX_VALUES:
            self._note("json/malformed", f"an item has more than {_MAX_VALUES} values")
            return None
        try:
            return self._decoded_by(_STRICT, text)
        except RecursionError:
            self._note("json/malformed", "values are nested too deeply")
        except json.JSONDecodeError as error:
            try:
                found = self._decoded_by(_TOLERANT, text)
            except (ValueError, RecursionError):
                self._line += error.lineno - 1
                self._note("json/malformed", error.msg, excerpt=text[max(0, error.pos - 40) : error.pos + 40])
            else:
                self._note("json/control-character", excerpt=text[max(0, error.pos - 40) : error.pos + 40])
                return found
        return None

    @staticmethod
    def _decoded_by(decoder: json.JSONDecoder, text: str) -> _Object:
        found = decoder.decode(text)
        assert isinstance(found, _Object)  # noqa: S101 - for mypy: the text begins with a brace
        return found

    def _note(self, code: str, detail: str | None = None, *, excerpt: str | None = None) -> None:
        excerpt = excerpt and _printable(excerpt)
        self._into.problems.add(code, detail, entry=self._position, line=self._line, excerpt=excerpt)

    def _text(self, value: Any) -> str | None:
        """Return *value*, trimmed, if it is a non-empty string."""
        if not isinstance(value, str) or isinstance(value, _Number):
            return None
        return self._clean(value)

    def _clean(self, text: str) -> str | None:
        text = text.strip(WHITESPACE)
        if (clean := _printable(text)) != text:
            self._note("json/lone-surrogate", excerpt=clean)
        return clean or None

    def _address(self, item: _Object) -> tuple[str, str | None]:
        """Return the field with the page URL, and the URL; ``external_url`` is that of another page."""
        if address := self._text(item.last("url")):
            return "url", address
        identity = self._text(item.last("id"))
        return "id", identity if identity and is_absolute(identity) else None

    def _extra(self, item: _Object, used: set[str]) -> list[dict[str, Any]]:
        """Return the column ``extra``: members of *item* that were not *used*, without the text of the page."""
        found: list[dict[str, Any]] = []
        last = {name: number for number, (name, _) in enumerate(item.pairs)}
        for number, (name, value) in enumerate(item.pairs):
            if name not in _BODIES and not (name in used and last[name] == number):
                self._keep(name, value, 0, found)
        return found

    def _keep(self, name: str, value: Any, depth: int, found: list[dict[str, Any]]) -> None:
        """Append *value* and everything inside it to *found*."""
        if depth > _MAX_DEPTH:
            self._note("json/malformed", "values are nested too deeply", excerpt=name)
        elif isinstance(value, _Object):
            found.append({"name": _printable(name), "depth": depth, "text": None, "attributes": None})
            for inner, item in value.pairs:
                self._keep(inner, item, depth + 1, found)
        elif isinstance(value, list):
            for item in value:
                self._keep(name, item, depth + isinstance(item, list), found)
        elif value is not None:
            text = self._clean(value) if isinstance(value, str) else str(value).lower()
            found.append({"name": _printable(name), "depth": depth, "text": text, "attributes": None})


def _printable(text: str) -> str:
    """Return *text* with lone surrogates, which cannot be encoded, as the escapes that they were."""
    return text.encode("utf-8", "backslashreplace").decode()


class ItemText(NamedTuple):
    """The original text of an item."""

    text: str | None
    """``None`` if it is too long."""
    line: int
    """Line of its start, from 1."""


class Cutter:
    """Splits the text of a JSON Feed into its items as it arrives.

    Brackets outside of strings determine where an item ends. So memory use is flat, and
    an invalid item does not affect the others.
    """

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
            is_escape = (len(text) - len(text.rstrip("\\"))) % 2 == 1  # of the start of the next chunk
            held = "\\" if is_escape else ""
            yield from self._cut(text[: len(text) - len(held)])
        self._finish()

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
            self._between += text.strip(_WHITESPACE)[:_MAX_TAIL_CHARS] if len(self._between) < _MAX_TAIL_CHARS else ""
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
                json.loads("".join(self._frame).strip(_WHITESPACE), strict=False, parse_int=str)
            except (ValueError, RecursionError) as error:
                self._problems.add("json/malformed", f"around the items: {error}")
