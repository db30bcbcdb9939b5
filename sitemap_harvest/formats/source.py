"""``Source``: the bytes of one document, decompressed and decoded as often as a reader needs them."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING

from sitemap_harvest.formats.binary import START_BYTES, binary_format
from sitemap_harvest.formats.decode import Encoding, decode, detect
from sitemap_harvest.formats.decompressors import BLOCK_BYTES
from sitemap_harvest.formats.html.viewer import Viewer, unwrapped, viewer_of
from sitemap_harvest.formats.layers import unpack
from sitemap_harvest.formats.problems import ProblemLog
from sitemap_harvest.formats.sniff import sniff, telling_start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.formats.limits import Limits

_HEAD_BYTES = 64 * 1024  # for detecting the encoding, which is declared at the start or nowhere


class Source:
    """A body, and the facts found while it is read.

    Each call of :meth:`utf8` or :meth:`text` reads it from the start, so that a reader
    can restart; only the original body is retained.
    """

    PROBLEMS = ("unpack/", "encoding/")
    """Prefixes of the codes of problems that each reading reports again."""

    def __init__(
        self,
        body: bytes,
        *,
        url: str,
        content_type: str | None,
        limits: Limits,
        content_encodings: tuple[str, ...] = (),
    ) -> None:
        """Take *body* as sent; *content_encodings* is the header ``Content-Encoding``, if it was not applied yet."""
        self._body = body
        self._content_encodings = content_encodings
        self._url = url
        self._name = url.partition("?")[0].lower()
        self._content_type = content_type
        self._limits = limits
        self.layers: list[str] = []
        """Compression layers of the body, outermost first."""
        self.bytes_unpacked = 0
        """Bytes decompressed in the last reading."""
        self.sha256: str | None = None
        """Hex SHA-256 digest of the decompressed body; ``None`` before it was read to its end."""

    def utf8(self, problems: ProblemLog) -> Iterator[bytes]:
        """Yield the document in non-empty blocks of UTF-8. A document declared as UTF-8 is unchanged, valid or not."""
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
        """Return the value that :attr:`sha256` has after a complete reading, without one."""
        digest = hashlib.sha256()
        for block in self._blocks(problems, layers=[]):
            digest.update(block)
        return _hexdigest(digest, problems)

    def _shown(self, text: Iterator[str], problems: ProblemLog) -> Iterator[str]:
        return unwrapped(text, self.viewer, problems) if self.viewer else text

    @cached_property
    def head(self) -> str:
        """The first 64 Ki significant characters, for detecting the kind of the document."""
        return self._in_viewer if self.viewer else self._page_head

    @cached_property
    def viewer(self) -> Viewer | None:
        """The browser viewer that wraps the document; ``None`` if there is none."""
        is_shown = viewer_of(self._page_head) is not None and sniff(self._in_viewer, url=self._url).is_readable
        return viewer_of(self._page_head) if is_shown else None

    @cached_property
    def binary_format(self) -> str | None:
        """A description of the document, if its first bytes show that it is not text."""
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
        """The encoding of the bytes."""
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
