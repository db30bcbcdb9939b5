"""One document's bytes, as often as a reader wants them: unpacked and recoded, or as text."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING

from sitemap_harvest.formats.binary import START_BYTES, binary_format
from sitemap_harvest.formats.decode import Encoding, decode, detect
from sitemap_harvest.formats.html.viewer import Viewer, unwrapped, viewer_of
from sitemap_harvest.formats.inflate import BLOCK_BYTES
from sitemap_harvest.formats.problems import ProblemLog
from sitemap_harvest.formats.sniff import sniff, telling_start
from sitemap_harvest.formats.unpack import unpack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.formats.limits import Limits

_HEAD_BYTES = 64 * 1024  # for the encoding, which shows at the start or nowhere


class Source:
    """A body, and what is learned of it while it is read.

    Each call of :meth:`utf8` or :meth:`text` reads it from the start, so that a
    reader can begin again; nothing is kept but the body as it came.
    """

    PROBLEMS = ("unpack/", "encoding/")
    """What the codes begin with of the problems that each reading tells anew."""

    def __init__(
        self,
        body: bytes,
        *,
        url: str,
        content_type: str | None,
        limits: Limits,
        content_encodings: tuple[str, ...] = (),
    ) -> None:
        """Take *body* as it came; *content_encodings* is the header ``Content-Encoding``, if it was not undone yet."""
        self._body = body
        self._content_encodings = content_encodings
        self._url = url
        self._name = url.partition("?")[0].lower()
        self._content_type = content_type
        self._limits = limits
        self.layers: list[str] = []
        """How the body is packed, outermost first."""
        self.bytes_unpacked = 0
        """Bytes unpacked in the last reading."""
        self.sha256: str | None = None
        """Digest of the unpacked body, hexadecimal; ``None`` before it was read to its end."""

    def utf8(self, problems: ProblemLog) -> Iterator[bytes]:
        """Yield the document in blocks of UTF-8, none empty; what is said to be UTF-8 comes as it is, valid or not."""
        encoding = detect(self._head, self._content_type, problems)
        blocks = self._unpacked(problems)
        if encoding.name != "utf-8" or self.viewer:
            yield from (text.encode() for text in self._shown(decode(blocks, encoding, problems), problems) if text)
            return
        skip = encoding.mark_bytes
        for block in blocks:
            if part := block[skip:]:
                yield part
            skip = max(0, skip - len(block))

    def text(self, problems: ProblemLog) -> Iterator[str]:
        """Yield the document as text, in pieces."""
        encoding = detect(self._head, self._content_type, problems)
        yield from self._shown(decode(self._unpacked(problems), encoding, problems), problems)

    def digest(self, problems: ProblemLog) -> str | None:
        """Return what :attr:`sha256` is after a reading to the end, without one."""
        digest = hashlib.sha256()
        for block in self._blocks(problems, layers=[]):
            digest.update(block)
        return _hexdigest(digest, problems)

    def _shown(self, text: Iterator[str], problems: ProblemLog) -> Iterator[str]:
        return unwrapped(text, self.viewer, problems) if self.viewer else text

    @cached_property
    def head(self) -> str:
        """The first 64 Ki characters that count, for a look at what the document is."""
        return self._in_viewer if self.viewer else self._page_head

    @cached_property
    def viewer(self) -> Viewer | None:
        """How a browser has wrapped the document in a page of its own; ``None`` if none has."""
        is_shown = viewer_of(self._page_head) is not None and sniff(self._in_viewer, url=self._url).is_readable
        return viewer_of(self._page_head) if is_shown else None

    @cached_property
    def binary_format(self) -> str | None:
        """What the document is, in words, if its first bytes say that it is no text."""
        return binary_format(self._head[:START_BYTES])

    @cached_property
    def _page_head(self) -> str:
        unheard = ProblemLog("")
        return telling_start(decode(self._blocks(unheard, size=_HEAD_BYTES), self.encoding, unheard))

    @cached_property
    def _in_viewer(self) -> str:
        viewer = viewer_of(self._page_head)
        return telling_start(unwrapped([self._page_head], viewer, ProblemLog(""))) if viewer else ""

    @cached_property
    def encoding(self) -> Encoding:
        """How the bytes are read as text."""
        return detect(self._head, self._content_type, ProblemLog(""))

    @cached_property
    def _head(self) -> bytes:
        return next(self._blocks(ProblemLog(""), size=_HEAD_BYTES), b"")

    def _blocks(
        self, problems: ProblemLog, *, layers: list[str] | None = None, size: int = BLOCK_BYTES
    ) -> Iterator[bytes]:
        return unpack(
            self._body,
            self._limits,
            problems,
            self.layers if layers is None else layers,
            name=self._name,
            content_encodings=self._content_encodings,
            block_bytes=size,
        )

    def _unpacked(self, problems: ProblemLog) -> Iterator[bytes]:
        digest, self.bytes_unpacked, self.sha256 = hashlib.sha256(), 0, None
        for block in self._blocks(problems):
            digest.update(block)
            self.bytes_unpacked += len(block)
            yield block
        self.sha256 = _hexdigest(digest, problems)


def _hexdigest(digest: hashlib._Hash, problems: ProblemLog) -> str | None:
    return None if problems.was_cut or problems.lost_bytes else digest.hexdigest()
