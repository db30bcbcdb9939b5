"""``Source``: the bytes of one document, decompressed and decoded as often as a reader needs them."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from sitemap_harvest.formats.decode import Encoding, decode, detect
from sitemap_harvest.formats.decompressors import BLOCK_BYTES
from sitemap_harvest.formats.html.xml_viewer import Viewer, unwrapped, viewer_of
from sitemap_harvest.formats.problem_log import ProblemLog
from sitemap_harvest.formats.sniff import sniff, telling_start
from sitemap_harvest.formats.unpack import unpack
from sitemap_harvest.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.formats.unpack import Limits

_HEAD_BYTES = 64 * 1024  # for detecting the encoding, which is declared at the start or nowhere


class Start(NamedTuple):
    """What the start of a document shows."""

    data: bytes
    """The first 64 KiB."""
    encoding: Encoding
    """The encoding of the bytes."""
    head: str
    """The first 64 Ki significant characters, for detecting the kind of the document."""
    viewer: Viewer | None
    """The browser viewer that wraps the document; ``None`` if there is none."""


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
        encoding = detect(self.start.data, self._content_type, problems)
        blocks = self._unpacked(problems)
        if encoding.name != "utf-8" or self.start.viewer:
            yield from (text.encode() for text in self._shown(decode(blocks, encoding, problems), problems) if text)
            return
        skip = encoding.mark_bytes
        for block in blocks:
            if part := block[skip:]:
                yield part
            skip = max(0, skip - len(block))

    def text(self, problems: ProblemLog) -> Iterator[str]:
        """Yield the document as text, in pieces."""
        encoding = detect(self.start.data, self._content_type, problems)
        yield from self._shown(decode(self._unpacked(problems), encoding, problems), problems)

    def digest(self, problems: ProblemLog) -> str | None:
        """Return the value that :attr:`sha256` has after a complete reading, without one."""
        for _ in self._unpacked(problems):
            pass
        return self.sha256

    def _shown(self, text: Iterator[str], problems: ProblemLog) -> Iterator[str]:
        return unwrapped(text, self.start.viewer, problems) if self.start.viewer else text

    @cached_property
    def start(self) -> Start:
        """What the start of the document shows."""
        unheard = ProblemLog("")
        first = next(self._blocks(unheard, size=_HEAD_BYTES), b"")
        encoding = detect(first, self._content_type, unheard)
        head = telling_start(decode(self._blocks(unheard, size=_HEAD_BYTES), encoding, unheard))
        if viewer := viewer_of(head):
            inside = telling_start(unwrapped([head], viewer, unheard))
            kind = sniff(inside, url=self._url)
            is_page = kind is Kind.LINKS and not viewer.is_escaped  # a browser shows pages without a viewer
            if kind.is_readable and not is_page:
                head = inside
            else:
                viewer = None
        return Start(first, encoding, head, viewer)

    def _blocks(self, problems: ProblemLog, *, size: int) -> Iterator[bytes]:
        return unpack(
            self._body,
            self._limits,
            problems,
            self.layers,
            name=self._name,
            content_encodings=self._content_encodings,
            block_bytes=size,
        )

    def _unpacked(self, problems: ProblemLog) -> Iterator[bytes]:
        digest, self.bytes_unpacked, self.sha256 = hashlib.sha256(), 0, None
        for block in self._blocks(problems, size=BLOCK_BYTES):
            digest.update(block)
            self.bytes_unpacked += len(block)
            yield block
        if not (problems.was_cut or problems.lost_bytes):
            self.sha256 = digest.hexdigest()
