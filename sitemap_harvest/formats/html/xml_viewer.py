"""Extracts documents from the pages in which browsers display them, as saved by headless browsers.

Two forms are known. Chromium's XML viewer has the document's elements unchanged in
``<div id="webkit-xml-viewer-source-xml">``, and shows them again below. Text, and in
some browsers XML, is escaped in a ``<pre>``. Only the browser's escaping is undone: it
writes the no-break space as ``&nbsp;``, which XML does not define.
"""

from __future__ import annotations

import re
from html import unescape
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from sitemap_harvest.formats.problem_log import ProblemLog

_HEAD = (
    r"\s*+(?:<head[^<>]*>(?:\s|<(?:meta|link)\b[^<>]*>|<style\b[^<>]*>[^<]*</style>|<title>\s*</title>)*+</head>\s*+)?+"
)
_PAGE_OF_PRE = re.compile(
    rf"(?:<!doctype html>\s*)?<html[^<>]*>{_HEAD}<body[^<>]*>\s*+(<pre\b[^<>]*>)([^<]*+)(?:\Z|</pre\s*>"
    r"(?:\s|<div\b[^>]*>\s*</div>)*+(?:</body>\s*)?(?:</html>\s*)?\Z)",
    re.IGNORECASE,
)
_PRE_END = re.compile(r"</pre\s*>", re.IGNORECASE)
_NAME = r"(?:[^<]|<!--.*?-->|<\?.*?\?>)*+<([A-Za-z_][\w:.\-]*+)"  # of the root, and what may precede it
_ROOT_NAME = re.compile(_NAME, re.DOTALL)
_ROOT = re.compile(rf"{_NAME}(?:[^<>\"']|\"[^\"]*+\"|'[^']*+')*+>", re.DOTALL)
_REFERENCE = re.compile(r"&(?:[A-Za-z]{2,8}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")
_MAX_START_CHARS = 256 * 1024  # before the document: the viewer's style sheet has some 5,000
_HELD_CHARS = 256  # an end tag or a reference may continue in the next piece
_CUT = "the viewer page ends before the end of the document in it"


class Viewer(NamedTuple):
    """The way in which a browser wraps a document."""

    start: re.Pattern[str]
    """Matches the page before the document."""
    is_escaped: bool
    """Whether the document is escaped text."""


_CHROMIUM = Viewer(
    re.compile(r"<div\b[^<>]*\bid\s*=\s*[\"']?webkit-xml-viewer-source-xml[\"']?[^<>]*>", re.IGNORECASE),
    is_escaped=False,
)
_TEXT = Viewer(re.compile(r"<pre\b[^>]*>", re.IGNORECASE), is_escaped=True)


def viewer_of(head: str) -> Viewer | None:
    """Return the viewer of the HTML page that begins with *head*, or ``None`` if it is not a viewer page."""
    if _CHROMIUM.start.search(head):
        return _CHROMIUM
    return _TEXT if _PAGE_OF_PRE.match(head.lstrip()) else None


def unwrapped(chunks: Iterable[str], viewer: Viewer, problems: ProblemLog) -> Iterator[str]:
    """Yield the document that *viewer* has wrapped, from the page in *chunks*.

    If the page ends before the document does, that is a problem: its end was cut.
    """
    chunks = iter(chunks)
    text, start = "", None
    for chunk in chunks:
        text += chunk
        if (start := viewer.start.search(text)) or len(text) > _MAX_START_CHARS:
            break
    if start is None:
        problems.add("unpack/truncated", _CUT)
        return
    rest = chain([text[start.end() :]], chunks)  # not a generator, which would close *chunks* when it is abandoned
    if viewer.is_escaped:
        yield from _until(_PRE_END, rest, problems, _unescaped)
    else:
        yield from _element_in(rest, problems)
    for _ in chunks:
        pass  # for its size and digest


def _element_in(chunks: Iterator[str], problems: ProblemLog) -> Iterator[str]:
    """Yield the first element in *chunks*, and everything before it."""
    text, root = "", None
    for chunk in chunks:
        text += chunk
        root = _ROOT.match(text)
        if root or len(text) > _MAX_START_CHARS:
            break
    name = root or _ROOT_NAME.match(text)  # an unclosed quote hides the end of the start tag
    if name is None:
        problems.add("unpack/truncated", _CUT)
        yield _without_nbsp(text)
        return
    if root and root[0].endswith("/>"):
        yield _without_nbsp(text[: root.end()])
        return
    end = re.compile(rf"</{re.escape(name[1])}\s*>")
    is_whole = yield from _until(end, chain([text], chunks), problems, _without_nbsp)
    if is_whole:
        yield f"</{name[1]}>"


def _unescaped(text: str) -> str:
    return _REFERENCE.sub(lambda reference: unescape(reference[0]), text)


def _without_nbsp(text: str) -> str:
    return text.replace("&nbsp;", "\u00a0")


def _until(
    end: re.Pattern[str], chunks: Iterator[str], problems: ProblemLog, restored: Callable[[str], str]
) -> Generator[str, None, bool]:
    """Yield the text before *end* in *chunks*, processed by *restored*; return whether *end* was found.

    It is processed in pieces that end neither within a tag nor within a reference.
    """
    held = ""
    for chunk in chunks:
        text = held + chunk
        if found := end.search(text):
            yield restored(text[: found.start()])
            return True
        start = len(text) - _HELD_CHARS
        cut = min((at for sign in "<&" if (at := text.rfind(sign, max(0, start))) >= 0), default=len(text))
        yield restored(text[:cut])
        held = text[cut:]
    problems.add("unpack/truncated", _CUT)
    yield restored(held)
    return False
