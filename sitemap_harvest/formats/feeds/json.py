"""Reader of JSON Feed 1.0 and 1.1.

Specs: https://www.jsonfeed.org/version/1.1/, https://www.rfc-editor.org/rfc/rfc8259.
Each item is parsed separately: one that is truncated or not JSON is left out, and the
others are read.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import partial
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple

from sitemap_harvest.formats.feeds.items import is_absolute
from sitemap_harvest.urls import WHITESPACE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.formats.collector import Collector
    from sitemap_harvest.formats.problem_log import ProblemLog
    from sitemap_harvest.model import UrlBatch

    Members = tuple[tuple[str, Any], ...]  # of an object, including repeated names; arrays are lists

_MAX_ITEMS = 100_000  # consecutive items without an entry: more than the protocol allows a document to list
_MAX_DEPTH = 64  # nesting depth; deeper values are left out
_MAX_VALUES = 300_000  # per item, estimated from separators: as Python objects they take some 110 MB
_DATES = ("date_modified", "date_published")  # last change first
_BODIES = frozenset({"content_html", "content_text", "summary"})
_MAX_ITEM_CHARS = 4 * 1024 * 1024  # including the text of the page
_MAX_FRAME_CHARS = 256 * 1024  # the text around the items; a longer one is not parsed
_MAX_TAIL_CHARS = 200
_WHITESPACE = " \t\r\n\ufeff\x00"
_MARK = re.compile(r"[{}\[\]]|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+(\"|\\?\Z)", re.DOTALL)  # a bracket, or a string
_ITEMS_KEY = re.compile(r"\"items\"\s*:\s*\Z")
_FEED_DEPTH, _ITEMS_DEPTH = 1, 2  # nesting depth of the feed, and of its items


class _Number(str):
    """A number in its original notation, which has no maximum."""

    __slots__ = ()


_decoder = partial(
    json.JSONDecoder, object_pairs_hook=tuple, parse_int=_Number, parse_float=_Number, parse_constant=_Number
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
        members = None if item.text is None else self._decoded(item.text)
        if members is None:
            return
        values: dict[str, Any] = {}
        for name, value in members:
            if name in values:
                self._note("json/repeated-name", excerpt=name)
            values[name] = value  # the last one counts, as in ECMAScript's JSON.parse
        title = self._text(values.get("title"))
        source, address = "url", self._text(values.get("url"))  # not external_url: that is another page
        if not address:
            source, address = "id", self._text(values.get("id"))
            if not (address and is_absolute(address)):
                self._note("feed/no-link", excerpt=title)
                return
        date, lastmod = next(((name, text) for name in _DATES if (text := self._text(values.get(name)))), ("", None))
        more: dict[str, Any] = {"title": title} if title else {}
        if extra := self._extra(members, {source, date, "title"}):
            more["extra"] = extra
        self._into.add(self._position, _printable(values[source]), lastmod, more=more)

    def _decoded(self, text: str) -> Members | None:
        """Return the members of the object *text*; ``None``, with a problem, if it is not JSON, or too complex."""
        if sum(map(text.count, ",[{")) > _MAX_VALUES:
            self._note("json/malformed", f"an item has more than {_MAX_VALUES} values")
            return None
        try:
            members: Members = _STRICT.decode(text)
        except RecursionError:
            self._note("json/malformed", "values are nested too deeply")
        except json.JSONDecodeError as error:
            excerpt = text[max(0, error.pos - 40) : error.pos + 40]
            with suppress(ValueError, RecursionError):
                members = _TOLERANT.decode(text)
                self._note("json/control-character", excerpt=excerpt)
                return members
            self._line += error.lineno - 1
            self._note("json/malformed", error.msg, excerpt=excerpt)
        else:
            return members
        return None

    def _note(self, code: str, detail: str | None = None, *, excerpt: str | None = None) -> None:
        excerpt = excerpt and _printable(excerpt)
        self._into.problems.add(code, detail, entry=self._position, line=self._line, excerpt=excerpt)

    def _text(self, value: Any) -> str | None:
        """Return *value*, trimmed, if it is a non-empty string."""
        if not isinstance(value, str) or isinstance(value, _Number):
            return None
        text = value.strip(WHITESPACE)
        if (clean := _printable(text)) != text:
            self._note("json/lone-surrogate", excerpt=clean)
        return clean or None

    def _extra(self, members: Members, used: set[str]) -> list[dict[str, Any]]:
        """Return the column ``extra``: *members* that were not *used*, without the text of the page."""
        found: list[dict[str, Any]] = []
        last = {name: number for number, (name, _) in enumerate(members)}
        for number, (name, value) in enumerate(members):
            if name not in _BODIES and not (name in used and last[name] == number):
                self._keep(name, value, 0, found)
        return found

    def _keep(self, name: str, value: Any, depth: int, found: list[dict[str, Any]]) -> None:
        """Append *value* and everything inside it to *found*."""
        if depth > _MAX_DEPTH:
            self._note("json/malformed", f"values are nested more than {_MAX_DEPTH} levels deep", excerpt=name)
        elif isinstance(value, tuple):
            found.append({"name": _printable(name), "depth": depth, "text": None, "attributes": None})
            for inner, item in value:
                self._keep(inner, item, depth + 1, found)
        elif isinstance(value, list):
            for item in value:
                self._keep(name, item, depth + isinstance(item, list), found)
        elif value is not None:
            text = str(value).lower() if isinstance(value, bool) else self._text(str(value))
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
        self._is_in_items = self._has_items = False
        self._item: StringIO | None = None
        self._item_line = 0
        self._between = ""  # two items: there should be a comma
        self._frame = StringIO()
        self._tail = ""  # of the frame
        self._line = 1

    def __iter__(self) -> Iterator[ItemText]:
        mark = ""
        for text, mark in _pieces(self._chunks):
            self._put(text)
            if mark in {"{", "["}:
                self._open(mark)
            elif mark in {"}", "]"}:
                yield from self._close(mark)
        if self._depth or mark:
            self._problems.add("json/truncated", line=self._line)
        elif self._frame.tell() <= _MAX_FRAME_CHARS:
            try:
                json.loads(self._frame.getvalue().strip(_WHITESPACE), strict=False, parse_int=str)
            except (ValueError, RecursionError) as error:
                self._problems.add("json/malformed", f"outside the items: {error}")

    def _open(self, bracket: str) -> None:
        self._depth += 1
        if self._is_in_items and bracket == "{" and self._depth == _ITEMS_DEPTH + 1:
            self._check_between("," if self._has_items else "")
            self._item, self._item_line = StringIO(), self._line
            self._has_items = True
        is_of_feed = not self._is_in_items and bracket == "[" and self._depth == _ITEMS_DEPTH
        begins_items = is_of_feed and _ITEMS_KEY.search(self._tail)
        self._put(bracket)
        if begins_items:
            self._is_in_items, self._has_items = True, False

    def _close(self, bracket: str) -> Iterator[ItemText]:
        """Take a closing *bracket*; yield the item that it ends, if it ends one."""
        self._depth = max(0, self._depth - 1)
        if self._is_in_items and self._depth == _FEED_DEPTH:
            self._check_between("")
            self._is_in_items = False
        self._put(bracket)
        if self._item is not None and self._depth == _ITEMS_DEPTH:
            text, self._item = self._item.getvalue(), None
            if is_too_long := len(text) > _MAX_ITEM_CHARS:
                detail = f"an item has more than {_MAX_ITEM_CHARS} characters"
                self._problems.add("json/malformed", detail, line=self._item_line, excerpt=text)
            yield ItemText(None if is_too_long else text, self._item_line)

    def _put(self, text: str) -> None:
        """Append *text* to the item or frame that it belongs to."""
        if "\0" in text and self._is_in_items and "document/nul-bytes" not in self._problems:
            self._problems.add("document/nul-bytes", line=self._line)
        self._line += text.count("\n")
        if self._item is not None:
            if self._item.tell() <= _MAX_ITEM_CHARS:
                self._item.write(text)
        elif self._is_in_items:
            self._between += text.strip(_WHITESPACE)[:_MAX_TAIL_CHARS] if len(self._between) < _MAX_TAIL_CHARS else ""
        else:
            self._tail = (self._tail + text)[-_MAX_TAIL_CHARS:]
            if self._frame.tell() <= _MAX_FRAME_CHARS:
                self._frame.write(text)

    def _check_between(self, wanted: str) -> None:
        if self._between != wanted:
            detail = f"unexpected text {self._between[:20]!r} between items"
            self._problems.add("json/malformed", detail, line=self._line, excerpt=self._between)
        self._between = ""


def _pieces(chunks: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Yield *chunks* in pieces, each with the bracket after it that is outside of strings.

    At the end of a chunk that is empty, or ``"`` inside a string.
    """
    open_string = ""  # its quote, and a backslash at the end of the last chunk
    for chunk in chunks:
        text, at, open_string = open_string + chunk, len(open_string), ""
        for mark in _MARK.finditer(text):
            if mark[1] is None:
                yield text[at : mark.start()], mark[0]
                at = mark.end()
            elif mark[1] != '"':
                open_string = f'"{mark[1]}'
        yield text[at:], open_string[:1]
