"""Documents that a browser has wrapped in a page of its own, to show them: what headless browsers hand out.

Two forms are known. Chromium's viewer of XML keeps the document's elements as
they are, in ``<div id="webkit-xml-viewer-source-xml">``, and shows them a second
time below. Text, and in some browsers XML, stands escaped in a ``<pre>``. What
the browser has escaped is put back, and nothing else is altered: it writes the
no-break space as ``&nbsp;``, which XML does not know.
"""

from __future__ import annotations

import re
from html import unescape
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from sitemap_harvest.formats.problems import ProblemLog

_CHROMIUM = re.compile(r"<div\b[^<>]*\bid\s*=\s*[\"']?webkit-xml-viewer-source-xml[\"']?[^<>]*>", re.IGNORECASE)
_HEAD = (
    r"\s*+(?:<head[^>]*>(?:\s|<(?:meta|link)\b[^>]*>|<style\b[^>]*>[^<]*</style>|<title>\s*</title>)*+</head>\s*+)?+"
)
_PAGE_OF_PRE = re.compile(
    rf"(?:<!doctype html>\s*)?<html[^>]*>{_HEAD}<body[^>]*>\s*+(<pre\b[^>]*>)([^<]*+)(?:\Z|</pre\s*>"
    r"(?:\s|<div\b[^>]*>\s*</div>)*+(?:</body>\s*)?(?:</html>\s*)?\Z)",
    re.IGNORECASE,
)
_IS_PAGE = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?(?:<!doctype html[^>]*>\s*)?<html\b", re.IGNORECASE)
_PRE = re.compile(r"<pre\b[^>]*>", re.IGNORECASE)
_PRE_END = re.compile(r"</pre\s*>", re.IGNORECASE)
_ROOT = re.compile(  # and what may stand before it
    r"(?:[^<]|<!--.*?-->|<\?.*?\?>)*+<([A-Za-z_][\w:.\-]*+)(?:[^<>\"']|\"[^\"]*+\"|'[^']*+')*+>", re.DOTALL
)
_REFERENCE = re.compile(r"&(?:[A-Za-z]{2,8}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")
_MAX_START_CHARS = 256 * 1024  # of what stands before the document: the viewer's style sheet has some 5,000
_HELD_CHARS = 256  # an end tag or a reference may go on in the next piece
_CUT = "the page of a browser ends before the document in it"


class Viewer(NamedTuple):
    """How a browser has wrapped a document."""

    start: re.Pattern[str]
    """What stands before the document."""
    is_escaped: bool
    """Whether the document stands there as text."""


_CHROMIUM_VIEWER = Viewer(_CHROMIUM, is_escaped=False)
_TEXT_VIEWER = Viewer(_PRE, is_escaped=True)


def viewer_of(head: str) -> Viewer | None:
    """Return the viewer whose page begins with *head*, or ``None`` if that is no page of a viewer."""
    if not _IS_PAGE.match(head):
        return None
    if _CHROMIUM.search(head):
        return _CHROMIUM_VIEWER
    return _TEXT_VIEWER if _PAGE_OF_PRE.match(head.lstrip()) else None


def unwrapped(chunks: Iterable[str], viewer: Viewer, problems: ProblemLog) -> Iterator[str]:
    """Yield the document that *viewer* has wrapped, out of the page in *chunks*.

    If the page ends before the document does, that is a problem: the last of it was cut.
    """
    chunks = iter(chunks)
    text = ""
    for chunk in chunks:
        text += chunk
        if (start := viewer.start.search(text)) or len(text) > _MAX_START_CHARS:
            break
    else:
        start = None
    if start is None:
        problems.add("unpack/truncated", _CUT)
        return
    rest = chain([text[start.end() :]], chunks)  # no generator: it would close *chunks* when it is given up
    yield from _text_in(rest, problems) if viewer.is_escaped else _element_in(rest, problems)
    for _ in chunks:
        pass  # for its size and digest


def _text_in(chunks: Iterator[str], problems: ProblemLog) -> Iterator[str]:
    """Yield the text that stands escaped in *chunks*, up to the end of its ``<pre>``."""
    yield from _until(_PRE_END, chunks, problems, _unescaped)


def _element_in(chunks: Iterator[str], problems: ProblemLog) -> Iterator[str]:
    """Yield the first element in *chunks*, and what stands before it."""
    text, root = "", None
    for chunk in chunks:
        text += chunk
        root = _ROOT.match(text)
        if root or len(text) > _MAX_START_CHARS:
            break
    if root is None:
        problems.add("unpack/truncated", _CUT)
        yield _without_nbsp(text)
        return
    if root[0].endswith("/>"):
        yield text[: root.end()]
        return
    end = re.compile(rf"</{re.escape(root[1])}\s*>")
    is_whole = yield from _until(end, chain([text], chunks), problems, _without_nbsp)
    if is_whole:
        yield f"</{root[1]}>"


def _unescaped(text: str) -> str:
    return _REFERENCE.sub(lambda reference: unescape(reference[0]), text)


def _without_nbsp(text: str) -> str:
    return text.replace("&nbsp;", "\u00a0")


def _until(
    end: re.Pattern[str], chunks: Iterator[str], problems: ProblemLog, restored: Callable[[str], str]
) -> Generator[str, None, bool]:
    """Yield what stands before *end* in *chunks*, as *restored* returns it; return whether there is an *end*.

    It is restored in pieces that end neither within a tag nor within a reference.
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
