"""Decodes bytes to text: detects the encoding of a document, and handles invalid bytes.

Spec: https://www.w3.org/TR/xml/#sec-guessing (detection),
https://encoding.spec.whatwg.org/#names-and-labels (names on the web). The order: byte
order mark, byte pattern, declared encoding, HTTP charset, that of an HTML page, UTF-8;
invalid bytes are read as windows-1252, one by one. Each fallback is a problem.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemap_harvest.formats.problem_log import ProblemLog

_STARTS = (  # each matches the byte order mark, or nothing before the pattern of a text without one
    (re.compile(codecs.BOM_UTF8), "utf-8"),
    (re.compile(codecs.BOM_UTF32_LE), "utf-32-le"),  # before utf-16-le, whose mark is its prefix
    (re.compile(codecs.BOM_UTF32_BE), "utf-32-be"),
    (re.compile(codecs.BOM_UTF16_LE), "utf-16-le"),
    (re.compile(codecs.BOM_UTF16_BE), "utf-16-be"),
    (re.compile(rb"(?=[<\s]\0\0\0|(?:[!-~]\0\0\0){2})"), "utf-32-le"),
    (re.compile(rb"(?=\0\0\0[<\s]|(?:\0\0\0[!-~]){2})"), "utf-32-be"),
    (re.compile(rb"(?=(?:[\t\n\r -~]\0){2})"), "utf-16-le"),
    (re.compile(rb"(?=(?:\0[\t\n\r -~]){2})"), "utf-16-be"),
)
_DECLARED = re.compile(rb"""\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']\s*([A-Za-z0-9._:\-]+)""")
_DECLARATION_BYTES = 1024
_EBCDIC = "<?xml".encode("cp037")
_META_CHARSET = re.compile(  # within the range that HTML specifies
    rb"""\s*<(?:!doctype\s+html|html|head|meta|title)\b(?s:.{0,1024}?)<meta\b[^>]{0,200}?\bcharset\s*=\s*["']?\s*([A-Za-z0-9._:\-]+)""",
    re.IGNORECASE,
)
_CHARSET = re.compile(r"""charset\s*+=\s*+(?:["']\s*+)?([A-Za-z0-9._:\-]+)""", re.IGNORECASE)
_WEB_NAMES = {  # the encodings that browsers use for these names: supersets, so that nothing is lost
    "iso8859-1": "cp1252",
    "ascii": "utf-8",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "big5": "big5hkscs",
    "utf-8-sig": "utf-8",
}
_LABELS = {  # used on the web, but unknown to Python
    "windows-31j": "cp932",
    "windows-874": "cp874",
    "iso-8859-8-i": "iso8859-8",
}
_NAME = re.compile(r"[A-Za-z0-9]+(?:[._:\-][A-Za-z0-9]+)*")  # Python reads UTF--8 too
_NICKNAMES = frozenset({"u7", "u8", "u16", "u32", "utf"})  # aliases that only Python knows
_ASCII_BYTES = bytes(range(0x80))
_TELLING_BYTES = 64 * 1024  # from the first byte that is not ASCII
_UPPER_BYTES = bytes(range(0x80, 0x100))
_NO_DOCUMENTS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"})
_OF_THREE_BYTES = "[\u0800-\uffff]"  # a pattern, slow to compile; in UTF-8; rare in two-byte and three-byte encodings
_WIDE = ("utf-16", "utf-32")  # a character takes two or four bytes
_ESCAPE_BASE = 0xDC00  # added to an invalid byte: no text decodes to the result
_ERRORS = {"utf-8": "surrogateescape"}  # as _ESCAPE, since no byte below 0x80 is invalid; much faster
_ESCAPED_BYTE = re.compile("[\udc00-\udcff]")
_AS_WINDOWS_1252 = {_ESCAPE_BASE + byte: bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(0x100)}
_REPLACED = re.compile("\ufffd")
_MAX_ESCAPE_BYTES = 32  # Python searches the end of an escape sequence within 16
_PADDING = b"\n" * _MAX_ESCAPE_BYTES
_UNFINISHED_ESCAPE = re.compile(rb"\x1b(?:&@|[^A-Z@]){0,15}\Z")
_ASCII = b"<?xml version='1.0'?>"


class Encoding(NamedTuple):
    """How to decode a document."""

    name: str
    """A Python codec."""
    mark_bytes: int
    """Length of the byte order mark at the start."""


def detect(head: bytes, content_type: str | None, problems: ProblemLog) -> Encoding:
    """Return the encoding of the document that begins with *head* (a few hundred bytes are enough)."""
    for pattern, name in _STARTS:
        if start := pattern.match(head):
            _compare(head[start.end() :], name, problems)
            return Encoding(name, start.end())
    if head.startswith(_EBCDIC):
        declared = _DECLARED.match(head.decode("cp037").encode("latin-1"))
        return Encoding((declared and _codec(declared[1].decode())) or "cp037", 0)
    for label in _labels(head, content_type):
        codec = _codec(label)
        if codec is None:
            problems.add("encoding/unknown", f"unknown encoding {label!r}", excerpt=label)
        elif _ASCII.decode(codec, "replace") != _ASCII.decode():  # as in UTF-16 and EBCDIC; the label was ASCII
            problems.add("encoding/lies", f"{label} is declared, but the bytes are in another encoding", excerpt=label)
        elif codec != "utf-8" and _is_rather_utf_8(head, codec):
            problems.add("encoding/lies", f"{label} is declared, but the bytes are UTF-8", excerpt=label)
        else:
            return Encoding(codec, 0)
    return Encoding("utf-8", 0)


def _compare(head: bytes, name: str, problems: ProblemLog) -> None:
    """Record a problem if *head*, in the encoding *name*, declares another one."""
    text = head[:_DECLARATION_BYTES].decode(name, "replace").encode("ascii", "replace")
    if not (declared := _DECLARED.match(text)):
        return
    label = declared[1].decode()
    codec = _codec(label) or ""
    if codec != name and not name.startswith(codec or label):
        problems.add("encoding/lies", f"{label} is declared, but the bytes are {name.upper()}", excerpt=label)


def _labels(head: bytes, content_type: str | None) -> Iterator[str]:
    """Yield the encoding names that the document and its header declare."""
    if declared := _DECLARED.match(head):
        yield declared[1].decode()
    if content_type and (charset := _CHARSET.search(content_type)):
        yield charset[1]
    if meta := _META_CHARSET.match(head):
        yield meta[1].decode()


def _is_rather_utf_8(head: bytes, codec: str) -> bool:
    """Whether *head* has UTF-8 characters, which are rare by chance, and no sign of *codec*."""
    if head.isascii():
        return False
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head)  # may end within a character
    except UnicodeDecodeError:
        return False
    if len(re.findall(_OF_THREE_BYTES, text)) > 1:
        return True
    is_single_byte = len(_UPPER_BYTES.decode(codec, "replace")) == len(_UPPER_BYTES)
    return is_single_byte or "\ufffd" in codecs.getincrementaldecoder(codec)("replace").decode(head)


def _codec(label: str) -> str | None:
    try:
        name = codecs.lookup(_LABELS.get(label.lower(), label.lower().removeprefix("x-"))).name
        "".encode(name)  # rejects codecs that are not text encodings, such as base64
    except (LookupError, UnicodeError, ValueError):
        return None
    is_none = label.lower() in _NICKNAMES or not _NAME.fullmatch(label) or name.replace("_", "-") in _NO_DOCUMENTS
    return None if is_none else _WEB_NAMES.get(name, name)


def decode(blocks: Iterable[bytes], encoding: Encoding, problems: ProblemLog) -> Iterator[str]:
    """Yield *blocks* as text. Invalid bytes become windows-1252 characters, and a problem."""
    is_wide = encoding.name.startswith(_WIDE)
    errors = "replace" if is_wide else _ERRORS.get(encoding.name, _ESCAPE)
    bad = _REPLACED if is_wide else _ESCAPED_BYTE
    is_escaped = encoding.name.startswith("iso2022")
    decoder = _Iso2022(encoding.name, errors) if is_escaped else codecs.getincrementaldecoder(encoding.name)(errors)
    skip = encoding.mark_bytes
    # While there is only ASCII, which in hz may be Chinese.
    is_undecided = not is_wide and encoding.name not in {"utf-8", "hz"}
    blocks = iter(blocks)
    for block in blocks:
        if is_undecided and is_escaped:
            is_undecided = b"\x1b" not in block[: _first_other(block)]
        if is_undecided and not block.isascii():
            is_undecided = False
            first = _first_other(block)
            while len(block) - first < _TELLING_BYTES and (more := next(blocks, b"")):
                block += more  # noqa: PLW2901 - merged into one block
            if _is_rather_utf_8(block[first : first + _TELLING_BYTES], encoding.name):
                problems.add("encoding/lies", f"{encoding.name} is declared, but the bytes are UTF-8")
                decoder = codecs.getincrementaldecoder("utf-8")(_ERRORS["utf-8"])
        text = decoder.decode(block[skip:])
        skip = max(0, skip - len(block))
        yield from _mended(text, bad, problems)
    while last := decoder.decode(b"", final=True):  # each call consumes one of the remaining bytes
        problems.add("encoding/cut-character")
        if not is_wide:
            yield from _mended(last, bad, problems)


def _first_other(block: bytes) -> int:
    """Return the index of the first byte in *block* that is not ASCII; its length if there is none."""
    return len(block) if block.isascii() else len(block) - len(block.lstrip(_ASCII_BYTES))


class _Iso2022:
    """A decoder for encodings with escape sequences; Python's own fails if a block ends within one."""

    def __init__(self, name: str, errors: str) -> None:
        self._decoder = codecs.getincrementaldecoder(name)(errors)
        self._held = b""

    def decode(self, data: bytes, final: bool = False) -> str:  # noqa: FBT001, FBT002 - Python's decoder interface
        """Return *data* as text, except an incomplete escape sequence at its end."""
        if final and self._held:  # with so many bytes after it, it cannot be an escape sequence
            data, self._held = self._held + _PADDING, b""
            return self._decoder.decode(data).removesuffix(_PADDING.decode())
        data = self._held + data
        unfinished = _UNFINISHED_ESCAPE.search(data, max(0, len(data) - _MAX_ESCAPE_BYTES))
        end = unfinished.start() if unfinished else len(data)
        self._held = data[end:]
        return self._decoder.decode(data[:end], final)


def _escape(error: Any) -> tuple[str, int]:
    """Replace one invalid byte of any value in decoding: ``surrogateescape`` fails below 0x80."""
    return chr(_ESCAPE_BASE + error.object[error.start]), error.start + 1


_ESCAPE = "sitemap_harvest.escape"
codecs.register_error(_ESCAPE, _escape)


def _mended(text: str, bad: re.Pattern[str], problems: ProblemLog) -> Iterator[str]:
    if text.isascii() or not (first := bad.search(text)):
        yield text
        return
    yield text[: first.start()]  # separately, so that everything before the problem is read before it is recorded
    around = text[max(0, first.start() - 40) : first.start() + 20]
    count = len(text) - len(bad.sub("", text))
    problems.add("encoding/bad-bytes", count=count, excerpt=around.translate(_AS_WINDOWS_1252))
    yield text[first.start() :].translate(_AS_WINDOWS_1252)
