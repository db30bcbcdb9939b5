"""``Tokenizer``: splits markup that need not be well-formed into tags and text.

Spec: https://www.w3.org/TR/xml/ for well-formed markup; there is none for the rest.
Nothing is altered or expanded: everything that is not a tag is literal text, except
that line ends are normalized as in XML. Memory use is flat: text comes in pieces, and
comments are skipped as they arrive.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Literal, NamedTuple

from sitemap_harvest.formats.xml.strict import MAX_NAMESPACE_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.formats.problem_log import ProblemLog

_MAX_TAG_CHARS = 256 * 1024  # a longer tag is text: an unescaped `<`
_MAX_REFERENCE_CHARS = 70  # the maximum length of _REFERENCE
_MAX_DOCTYPE_CHARS = 1024 * 1024

_PIECE = re.compile(  # the most frequent case: text without references, followed by a tag without attributes
    r"([^<&\x00-\x08\x0b\x0c\x0e-\x1f]*+)"
    r"<(?:/([^\s<>/\x00]*+)|([A-Za-z_:\u0080-\U0010ffff][^\s<>/=\"'\x00]*+)(/?))>"
)
_START = re.compile(r"<([A-Za-z_:\u0080-\U0010ffff][^\s<>/=\"']*+)((?:[^<>\"'/]|\"[^\"<]*+\"|'[^'<]*+'|/(?!>))*+)(/?)>")
_LOOSE_START = re.compile(r"<([A-Za-z_:\u0080-\U0010ffff][^\s<>/=\"']*+)([^<>]*?)(/?)>")
_LOOKS_LIKE_TAG = re.compile(r"<[/!A-Za-z_]")
_SIGNS = re.compile(r"<(?:<*(?=<))?")  # all but the last of several: that one may begin a tag
_MORE_SIGNS = re.compile(  # text up to the last < of several that begin no tag: no name follows, or < before any >
    r"(?:[^<]*+<(?![/!?])(?=[^A-Za-z_:\u0080-\U0010ffff]|[^<>]*+<))++"
)
_END = re.compile(r"</\s*+([^\s<>/]*+)[^<>]*+>")
_END_WITHOUT_BRACKET = re.compile(r"</([A-Za-z_][\w:.\-]*+)\s*+(?=<)")
_DOCTYPE = re.compile(r"<!DOCTYPE[^\[>]*+(?:\[(?:[^\]\"']|\"[^\"]*+\"|'[^']*+')*+\]\s*+)?>", re.IGNORECASE)
_DECLARATION = re.compile(r"<\?xml\s", re.IGNORECASE)  # has no > before its end, and ends there even without the ?
_WHOLE_DECLARATION = re.compile(r"<\?xml(?:\s+[a-z]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'))+\s*\?>")
_ENTITY = re.compile(r"<!ENTITY\s+([^\s%\"'>]+)")
_ATTRIBUTE = re.compile(r"(?<![^\s\"'/])([^\s=\"'<>/]++)\s*+=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'<>]+))")
_ATTRIBUTES = re.compile(r"(?:\s++[^\s=\"'<>/]++\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'))*+\s*+")  # well-formed ones
_REFERENCE = re.compile(r"&(?:#([0-9]{1,8})|#[xX]([0-9a-fA-F]{1,7})|([A-Za-z_][\w.\-]{0,63}));|&")
_OPENING_CHARS = len("<!--") - 1
_OPENINGS = ("<!--", "<![CDATA[", "<!DOCTYPE", "<?XML ", "<?PHP")  # in upper case
_PHP = ("<?php", "<?=")
_LONGEST_OPENING = max(map(len, _OPENINGS))
_PREDEFINED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_SURROGATES = range(0xD800, 0xE000)
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")


class Token(NamedTuple):
    """A tag or a piece of text."""

    sort: Literal["start", "end", "text"]
    value: str
    """Name of the tag as written; or the text, with XML's own entities decoded."""
    line: int
    attributes: str = ""
    """The text after the name in the start tag."""
    is_empty: bool = False
    """Whether the start tag is its own end tag."""
    is_unknowable: bool = False
    """Whether the text uses an entity that the document declares, so that its meaning is unknown."""
    is_code: bool = False
    """Whether the text is PHP code that was not executed."""
    has_nul: bool = False
    """Whether it contains a NUL byte, as opposed to a reference such as ``&#0;``."""

    @property
    def as_text(self) -> str:
        """The start tag as written in the document."""
        return f"<{self.value}{self.attributes}{'/' if self.is_empty else ''}>"


def attributes(token: Token, problems: ProblemLog) -> dict[str, str]:
    """Return the attributes of a start tag, by their names as written."""
    found: dict[str, str] = {}
    pairs = _ATTRIBUTE.findall(token.attributes)
    for name, double, single, bare in pairs:
        value = (double or single or bare).replace("\n", " ").replace("\t", " ")  # normalized as in XML
        if name.startswith("xmlns") and (len(value) > MAX_NAMESPACE_CHARS or _FORBIDDEN.search(value)):
            continue  # so that a usual prefix has its usual meaning
        found.setdefault(name, _decoded(value, frozenset(), problems, token.line)[0])
    if forbidden := _FORBIDDEN.findall(token.attributes):
        _note_forbidden(forbidden, token.as_text, problems, token.line)
    if len(found) < len(pairs) or not _ATTRIBUTES.fullmatch(token.attributes):
        problems.add("xml/bad-attributes", line=token.line, excerpt=token.as_text)
    return found


def _note_forbidden(characters: list[str], text: str, problems: ProblemLog, line: int) -> None:
    """Record the control *characters* in *text*, as written in the document."""
    problems.add("xml/control-character", line=line, excerpt=repr(text.strip()[:100]), count=len(characters))


def _decoded(text: str, declared: frozenset[str], problems: ProblemLog, first_line: int) -> tuple[str, bool]:
    """Return *text* with its references decoded, and whether one of them is a declared entity."""
    if "&" not in text:
        return text, False
    unknowable = False

    def note(code: str, match: re.Match[str]) -> None:
        if problems.has_enough(code):
            problems.add(code)  # no more samples are needed, and finding the place takes long
            return
        excerpt = text[max(0, match.start() - 80) : match.end() + 40].strip()
        problems.add(code, line=first_line + text.count("\n", 0, match.start()), excerpt=excerpt)

    def resolve(match: re.Match[str]) -> str:
        nonlocal unknowable
        decimal, hexadecimal, name = match.groups()
        if name in _PREDEFINED:
            return _PREDEFINED[name]
        if name is None and (decimal or hexadecimal):
            code = int(decimal) if decimal else int(hexadecimal, 16)
            if code <= sys.maxunicode and code not in _SURROGATES:
                if _FORBIDDEN.match(chr(code)):
                    note("xml/control-character", match)
                return chr(code)
        unknowable = unknowable or name in declared
        if name not in declared:
            note("xml/unknown-entity" if match[0] != "&" else "xml/bare-ampersand", match)
        return match[0]

    return _REFERENCE.sub(resolve, text), unknowable


def _with_plain_line_ends(chunks: Iterator[str]) -> Iterator[str]:
    """Yield *chunks* with line ends normalized as in XML (https://www.w3.org/TR/xml/#sec-line-ends)."""
    held = ""
    for chunk in chunks:
        text, held = held + chunk, ""
        if "\r" in text:
            if text.endswith("\r"):  # possibly half of a line end
                text, held = text[:-1], "\r"
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        yield text
    if held:
        yield "\n"


class Tokenizer:
    """Splits text that arrives in pieces into tokens."""

    def __init__(self, chunks: Iterator[str], problems: ProblemLog) -> None:
        self._chunks = _with_plain_line_ends(chunks)
        self._problems = problems
        self._buffer = ""
        self._at = 0
        self.line = 1  #: The current line, from 1.
        self._tag_end = -1  # position of the next >, if not before self._at
        self._last_bracket = -1  # position of the last > in the buffer
        self._at_end = False
        self._is_at_start = True  # whether the buffer begins at the start of the document
        self._has_begun = False  # whether a tag has come
        self._declared: frozenset[str] = frozenset()
        self._has_doctype = False

    def __iter__(self) -> Iterator[Token]:
        while True:
            yield from self._pieces()
            mark = self._buffer.find("<", self._at)
            if mark < 0:
                yield from self._text(len(self._buffer))
                if not self._more():
                    yield from self._text(len(self._buffer))
                    return
                continue
            if mark > self._at:
                yield from self._text(mark)
            if mark + _LONGEST_OPENING > len(self._buffer):
                self._require_opening()
            if self._buffer[self._at + 1 : self._at + 2] in {"!", "?"}:
                yield from self._markup()
            elif token := self._tag():
                yield token
            if self._at_end and self._at >= len(self._buffer):
                return

    def _pieces(self) -> Iterator[Token]:
        """Yield tokens while only text and plain tags follow."""
        buffer, at, line = self._buffer, self._at, self.line
        first = at
        while match := _PIECE.match(buffer, at):
            at = match.end()
            text, end, start, empty = match.groups()
            self._at = at
            if text:
                yield Token("text", text, line)
                line += text.count("\n")
                self.line = line
            if start is None:
                yield Token("end", end, line)
            elif empty:
                yield Token("start", start, line, is_empty=True)
            else:
                yield Token("start", start, line)
        self._has_begun = self._has_begun or at > first

    def _more(self) -> bool:
        """Append another chunk to the rest of the buffer; ``False`` at the end of the document."""
        chunk = next(self._chunks, None)
        if chunk is None:
            self._at_end = True
            return False
        self._is_at_start = self._is_at_start and self._at == 0
        self._buffer = self._buffer[self._at :] + chunk
        self._at = 0
        self._tag_end = -1
        self._last_bracket = self._buffer.rfind(">")
        return True

    def _advance(self, end: int) -> str:
        passed = self._buffer[self._at : end]
        self._at = end
        self.line += passed.count("\n")
        return passed

    def _text(self, end: int) -> Iterator[Token]:
        """Yield the text up to *end*, except an entity that may continue in the next chunk, or was cut off."""
        if end == len(self._buffer) and (self._problems.ends_early or not self._at_end):
            entity = self._buffer.rfind("&", max(self._at, end - _MAX_REFERENCE_CHARS), end)
            end = end if entity < 0 else entity
        if end > self._at:
            yield self._text_token(end)

    def _text_token(self, end: int) -> Token:
        line = self.line
        raw = self._advance(end)
        if forbidden := _FORBIDDEN.findall(raw):
            _note_forbidden(forbidden, raw, self._problems, line)
        text, unknowable = _decoded(raw, self._declared, self._problems, line)
        return Token("text", text, line, is_unknowable=unknowable, has_nul="\0" in forbidden)

    def _markup(self) -> Iterator[Token]:
        """Yield the token that begins at the current ``<!`` or ``<?``, unless it is skipped."""
        rest = self._buffer[self._at : self._at + 9]
        if rest.startswith("<!--"):
            self._skip("-->", 4)
        elif rest == "<![CDATA[":
            yield from self._cdata()
        elif _DECLARATION.match(rest):
            self._declaration()
        elif rest.startswith("<?"):
            line = self.line
            self._skip("?>", 2)
            if rest.lower().startswith(_PHP):
                yield Token("text", "<?...?>", line, is_code=True)
        elif rest.upper() == "<!DOCTYPE":
            self._doctype()
        elif token := self._tag():
            yield token

    def _require_opening(self) -> None:
        """Read more while the buffer may become one of the openings, and no further."""
        while (left := len(self._buffer) - self._at) < _LONGEST_OPENING:
            start = self._buffer[-left:].upper()
            may_open = any(len(start) < len(opening) and opening.startswith(start) for opening in _OPENINGS)
            if not (may_open and self._more()):
                return

    def _skip(self, end: str, opening: int) -> None:
        """Skip everything up to *end*, without storing it.

        If the opening occurs again before that, entries may have been skipped.
        """
        begin = self._buffer[self._at : self._at + opening]
        self._advance(self._at + opening)
        begins_again = False
        while (found := self._buffer.find(end, self._at)) < 0:
            begins_again = begins_again or self._buffer.find(begin, self._at) >= 0
            self._advance(max(self._at, len(self._buffer) - _OPENING_CHARS))
            if not self._more():
                self._advance(len(self._buffer))
                return
        if begins_again or self._buffer.find(begin, self._at, found) >= 0:
            self._problems.mark_unreliable()
        self._advance(found + len(end))

    def _declaration(self) -> None:
        is_first = self._is_at_start and self._at == 0
        if self._has_tag_end() and not (is_first and _WHOLE_DECLARATION.match(self._buffer, self._at)):
            excerpt = self._buffer[self._at : self._tag_end + 1]
            self._problems.add("xml/bad-declaration", line=self.line, excerpt=excerpt)
            self._doubt_inside()
        self._skip(">", 2)

    def _cdata(self) -> Iterator[Token]:
        """Yield the text of a CDATA section as it arrives."""
        self._advance(self._at + len("<![CDATA["))
        while (found := self._buffer.find("]]>", self._at)) < 0:
            yield self._cdata_token(max(self._at, len(self._buffer) - 2))
            if not self._more():
                yield self._cdata_token(len(self._buffer))
                return
        yield self._cdata_token(found)
        self._advance(found + 3)

    def _cdata_token(self, end: int) -> Token:
        line = self.line
        text = self._advance(end)
        return Token("text", text, line, has_nul="\0" in text)

    def _doctype(self) -> None:
        if self._has_doctype:  # there may be one: finding the end of each would take long
            self._problems.add("xml/malformed", "a second DOCTYPE", line=self.line)
            self._advance(self._at + len("<!DOCTYPE"))
            return
        self._has_doctype = True
        while not (match := _DOCTYPE.match(self._buffer, self._at)):
            if not self._more_of(_MAX_DOCTYPE_CHARS):
                break
        self._problems.add("xml/doctype", line=self.line)
        self._doubt_inside()
        if match:
            self._declared = frozenset(_ENTITY.findall(match[0]))
            self._advance(match.end())
        elif self._at_end and self._problems.ends_early:
            self._problems.add("xml/truncated", "the document ends inside its DOCTYPE", line=self.line)
            self._advance(len(self._buffer))
        else:
            self._problems.add("xml/malformed", "the DOCTYPE does not end", line=self.line)
            self._advance(self._at + len("<!DOCTYPE"))

    def _doubt_inside(self) -> None:
        """Record that a skipped part is among entries, and may have been part of one."""
        if self._has_begun:
            self._problems.mark_unreliable()

    def _tag(self) -> Token | None:
        has_end, line = self._has_tag_end(), self.line
        if match := _END.match(self._buffer, self._at):
            self._has_begun = True
            self._advance(match.end())
            return Token("end", match[1], line, has_nul="\0" in match[1])
        if match := _END_WITHOUT_BRACKET.match(self._buffer, self._at):
            self._problems.add("xml/malformed", "an end tag without a closing >", line=line, excerpt=match[0])
            self._advance(match.end())
            return Token("end", match[1], line, has_nul="\0" in match[1])
        match = _START.match(self._buffer, self._at)
        # The > may be in an attribute value, and the tag continues in the next chunk.
        while not match and has_end and self._buffer.find("<", self._at + 1) < 0 and self._more_of(_MAX_TAG_CHARS):
            match = _START.match(self._buffer, self._at)
        match = match or _LOOSE_START.match(self._buffer, self._at)
        if match:
            self._has_begun = True
            self._advance(match.end())
            return Token("start", match[1], line, match[2], is_empty=bool(match[3]), has_nul="\0" in match[0])
        return self._stray(has_end=has_end)

    def _has_tag_end(self) -> bool:
        """Whether a ``>`` follows within the length of a tag; searched once, however many ``<`` come before it."""
        while True:
            if self._tag_end < self._at:
                found = self._buffer.find(">", self._at)
                self._tag_end = len(self._buffer) if found < 0 else found
            if self._tag_end < len(self._buffer):
                return True
            if not self._more_of(_MAX_TAG_CHARS):
                return False

    def _more_of(self, most_chars: int) -> bool:
        """Append another chunk to the current markup, if it has no more than *most_chars* characters yet."""
        return not self._at_end and len(self._buffer) - self._at <= most_chars and self._more()

    def _stray(self, *, has_end: bool) -> Token | None:
        """Take a ``<`` that begins no tag: at the end of the document it is a truncated tag, elsewhere text."""
        line = self.line
        if not has_end and self._at_end:
            cut = self._advance(len(self._buffer))
            self._problems.add("xml/truncated", "the document ends inside a tag", line=line, excerpt=cut)
            return None
        excerpt = self._buffer[self._at : self._at + 60]
        end = _SIGNS.match(self._buffer, self._at).end()  # type: ignore[union-attr]  # there is one
        if self._problems.has_enough("xml/malformed") or self._problems.has_enough("xml/bare-less-than"):
            more = _MORE_SIGNS.match(self._buffer, end, max(end, self._last_bracket))
            end = more.end() if more else end  # all at once: there may be one for every other character
        tags = len(_LOOKS_LIKE_TAG.findall(self._buffer, self._at, end + 1))
        if tags:
            self._problems.add("xml/malformed", "a tag without a closing >", line=line, excerpt=excerpt, count=tags)
        if signs := self._buffer.count("<", self._at, end) - tags:
            self._problems.add("xml/bare-less-than", line=line, excerpt=excerpt, count=signs)
        return self._text_token(end)
