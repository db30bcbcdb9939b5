"""Properties of reading that must hold for any bytes."""

from __future__ import annotations

import gzip
import random
import re
import zlib
from contextlib import contextmanager
from html import unescape
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple
from unittest.mock import patch

from sitemap_harvest import Document, Kind, Limits, SitemapRef, UrlEntry, read
from sitemap_harvest.urls import join

if TYPE_CHECKING:
    from collections.abc import Iterator

URLS = (
    "https://example.com/sitemap.xml",
    "https://example.com/robots.txt",
    "https://example.com/urls.txt",
    "https://example.com/",
)
LIMITS = Limits(unpacked_bytes=1024 * 1024)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SKIPPED = r"(?s:<\?.*?\?>|<!--.*?-->)"
_TAGS = (
    r"(?!)",
    r"</[^<>]*>?",
    r"<[^<>]*>|</[^<>]*",
    r"<[^<>]*>?",
    rf"{_SKIPPED}|<[^<>]*>?",
    rf"{_SKIPPED}|</?\w[^<>]*>?",  # text may have a < that begins no tag
)
_MARKUP = tuple(map(re.compile, _TAGS))
_RECOVERED = {"xml/malformed", "xml/doctype", "xml/unclosed-entry"}  # only the reader knows which of it is markup
_JSON_ESCAPE = re.compile(
    r"\\(?:([/\"\\])|u([Dd][89ABab][0-9A-Fa-f]{2})\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|([bfnrt]))"
)
_CDATA = re.compile(r"<!\[CDATA\[|\]\]>")
_ATTRIBUTE_REFERENCE = re.compile(r"&#?\w+(?:;|(?![\w=]))")  # as in HTML: &amp{ is one, and &copy=2 is not
_XML_REFERENCE = re.compile(
    r"&(?:#[0-9]{1,8}|#[xX][0-9A-Fa-f]{1,7}|amp|lt|gt|quot|apos);"
)  # HTML has more, such as &mp;
_REFERENCE = re.compile(r"&(?:#[0-9]{1,8}|#[xX][0-9A-Fa-f]{1,7}|[A-Za-z][A-Za-z0-9]*);")
_UNTOLD = re.compile(r"\s+|!\[CDATA\[|\]\]|[<>]")  # text or markup, depending on the context
_MAX_BLOCKS = 5_000  # of one document, so that a compressed one takes no longer than others
_ESCAPED = re.compile("[\udc80-\udcff]")  # bytes that are not valid UTF-8


class Found(NamedTuple):
    """The result for a document."""

    kind: Kind
    rows: list[UrlEntry]
    refs: list[SitemapRef]
    complete: bool
    problems: dict[str, int]
    last_sound: int | None


def check(body: bytes) -> None:
    """Read *body* in several ways. Raises :exc:`AssertionError` if the result breaks a rule."""
    url = URLS[len(body) % len(URLS)]
    document = read(body, url=url, limits=LIMITS)
    whole = found(document)
    chance = random.Random(zlib.crc32(body))  # the same bytes are always checked in the same way
    least = sum(map(len, document.blocks())) // _MAX_BLOCKS + 1
    check_blocks(body, url, whole, size=max(least, chance.choice((1, 2, 7, 61, chance.randrange(1, 300)))))
    if not document.layers:
        check_members(body, url, whole, [chance.randrange(len(body) + 1) for _ in range(chance.randrange(5))])
    for _ in range(2):
        check_cut(body, url, document, whole, chance.randrange(len(body) + 1))
    check_locs(document, whole)


def check_blocks(body: bytes, url: str, whole: Found, *, size: int) -> None:
    """In blocks of *size* bytes the result is that of the *whole*.

    Except which entries before invalid bytes or a flaw of the XML are suspect: how far the fast path and the strict
    parser come before it depends on the blocks.
    """
    with blocks_of(size):
        parts = found(read(body, url=url, limits=LIMITS))
    problems = whole.problems
    if "encoding/bad-bytes" in problems or (whole.last_sound is not None and "xml/not-well-formed" in problems):
        parts = parts._replace(last_sound=whole.last_sound)
    assert parts == whole, f"blocks of {size} bytes"


def check_members(body: bytes, url: str, whole: Found, cuts: list[int]) -> None:
    """In gzip members that end at *cuts* the result is that of the *whole*."""
    places = [0, *sorted(cuts), len(body)]
    packed = b"".join(gzip.compress(body[start:end], 1, mtime=0) for start, end in pairwise(places))
    assert found(read(packed, url=url, limits=LIMITS)) == whole, f"gzip members that end at {places}"


def check_cut(body: bytes, url: str, document: Document, whole: Found, at: int) -> None:
    """*document*, cut at *at*, has the first rows and references of the whole one, unchanged.

    Exceptions: the rest appears to be a document of another kind or encoding, or one of them has an entry inside an
    entry: where that ends early, the outer one appears unclosed.
    """
    cut = Document(body[:at], url=url, content_type=None, limits=LIMITS, was_cut=True)
    codes = {problem.code for problem in (*cut.problems, *document.problems)}
    if (cut.kind, cut.encoding) != (document.kind, document.encoding) or "xml/nested-entry" in codes:
        return
    rows, refs = list(cut.rows()), list(cut.sitemaps())
    assert rows == whole.rows[: len(rows)], f"rows of the document cut at {at}"
    assert refs == whole.refs[: len(refs)], f"references of the document cut at {at}"
    assert not cut.complete


def check_locs(document: Document, whole: Found) -> None:
    """No URL and no reference has a control character or text that *document* does not contain."""
    texts = [row.loc_raw or row.loc for row in whole.rows] + [ref.loc for ref in whole.refs]
    if not texts:
        return
    locs = [one.loc for one in (*whole.rows, *whole.refs)]
    assert not any(map(_CONTROL.search, locs)), "a control character in a URL"
    text = b"".join(document.blocks()).decode(errors="surrogateescape")
    held = _variants(_ESCAPED.sub(_as_windows_1252, text))
    is_held = _comes_in_order if _RECOVERED & whole.problems.keys() else str.__contains__
    for text in texts:
        assert any(is_held(variant, _flat(part)) for part in _published(text, document.url) for variant in held), text


def _published(text: str, base: str) -> Iterator[str]:
    """Yield the texts that a site may have published for *text*: itself, or relative to *base*."""
    yield text
    for start in (base, join(base, "."), join(base, "/"), join(base, "/")[:-1], "https://", "https:"):
        if text.startswith(start):
            yield text.removeprefix(start)
    if text.startswith(join(base, "/")):  # dot segments of a relative URL were resolved
        yield text.rpartition("/")[2]
    if "?" in text:  # it was a query alone, relative to the base that the document gives
        yield text[text.index("?") :]


def _comes_in_order(text: str, part: str) -> bool:
    """Whether *text* has the characters of *part* in order, perhaps with others between them."""
    characters = iter(text)
    return all(character in characters for character in part)


def _variants(text: str) -> list[str]:
    """Return the forms in which a URL may be read from *text*: with and without markup, references resolved or not."""
    found = []
    for markup in _MARKUP:
        for variant in (markup.sub("", text), markup.sub("", _CDATA.sub("", text))):
            of_html, of_xml = _REFERENCE.sub(_resolved, variant), _XML_REFERENCE.sub(_resolved, variant)
            without_end = unescape(variant)  # HTML has some that need no semicolon, such as &reg
            in_attribute = _ATTRIBUTE_REFERENCE.sub(_resolved, variant)
            found += map(_flat, (variant, of_html, without_end, in_attribute, of_xml, _JSON_ESCAPE.sub(_json, variant)))
    return found


def _resolved(reference: re.Match[str]) -> str:
    return unescape(reference[0])


def _json(escape: re.Match[str]) -> str:
    if escape[1]:
        return escape[1]
    if escape[2]:  # a surrogate pair
        return bytes.fromhex(escape[2] + escape[3]).decode("utf-16-be")
    if escape[5]:
        return " "
    code = int(escape[4], 16)
    return escape[0] if 0xD800 <= code < 0xE000 else chr(code)


def _as_windows_1252(byte: re.Match[str]) -> str:
    raw = byte[0].encode(errors="surrogateescape")
    return raw.decode("cp1252", "ignore") or raw.decode("latin-1")


def _flat(text: str) -> str:
    return _UNTOLD.sub("", text)


@contextmanager
def blocks_of(size: int) -> Iterator[None]:
    """Read documents in blocks of *size* bytes."""
    with (
        patch("sitemap_harvest.formats.source.BLOCK_BYTES", size),
        patch("sitemap_harvest.formats.xml.sitemap._ENOUGH_BYTES", size),
    ):
        yield


def found(document: Document) -> Found:
    """Return the result for *document*."""
    rows, refs = list(document.rows()), list(document.sitemaps())
    problems = {problem.code: problem.count for problem in document.problems}
    assert [row.position for row in rows] == sorted(row.position for row in rows)
    assert all(row.loc for row in rows)
    assert document.kind.is_readable or not (rows or document.complete)
    return Found(document.kind, rows, refs, document.complete, problems, document.last_sound_position)
