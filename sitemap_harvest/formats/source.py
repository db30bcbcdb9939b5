"""``Source``: the bytes of one document, decompressed layer by layer and decoded, as often as a reader needs them.

Compression is recognized by the first bytes. The limits apply to each layer, and are checked
during decompression.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from sitemap_harvest.formats.decode import Encoding, decode, detect
from sitemap_harvest.formats.decompressors import BLOCK_BYTES, BROTLI, CONTENT_ENCODINGS, PACKINGS
from sitemap_harvest.formats.html.xml_viewer import Viewer, unwrapped, viewer_of
from sitemap_harvest.formats.problem_log import ProblemLog
from sitemap_harvest.formats.sniff import sniff, telling_start
from sitemap_harvest.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemap_harvest.formats.collector import Limits

_HEAD_BYTES = 64 * 1024  # for detecting the encoding, which is declared at the start or nowhere
_SIGNATURE_BYTES = 512  # number of bytes at the start that show a layer
_PAGE = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?(?:<!doctype html[^>]*>\s*)?<html\b[^<>]*(?:>|\Z)", re.IGNORECASE)


class Start(NamedTuple):
    """What the start of a document shows."""

    data: bytes
    """The first 64 KiB."""
    encoding: Encoding
    head: str
    """The first 64 Ki significant characters, for detecting the kind of the document."""
    viewer: Viewer | None
    """The browser viewer that wraps the document; ``None`` if there is none."""


@dataclass(kw_only=True, eq=False)
class Source:
    """A body, and the facts found while it is read.

    Each call of :meth:`utf8` or :meth:`text` reads it from the start, so that a reader
    can restart; only the original body is retained.
    """

    body: bytes
    """The document as sent."""
    url: str
    content_type: str | None
    limits: Limits
    content_encodings: tuple[str, ...] = ()
    """The header ``Content-Encoding``, in the order in which they were applied, if they were not removed yet. They are
    used if they are correct, and do not count as layers."""
    layers: list[str] = field(init=False, default_factory=list)
    """Compression layers of the body, outermost first."""
    bytes_unpacked: int = field(init=False, default=0)
    """Bytes decompressed in the last reading."""
    sha256: str | None = field(init=False, default=None)
    """Hex SHA-256 digest of the decompressed body; ``None`` before it was read to its end."""

    def utf8(self, problems: ProblemLog) -> Iterator[bytes]:
        """Yield the document in non-empty blocks of UTF-8. A document declared as UTF-8 is unchanged, valid or not."""
        if self.start.encoding.name != "utf-8" or self.start.viewer:
            yield from (text.encode() for text in self.text(problems) if text)
            return
        skip = detect(self.start.data, self.content_type, problems).mark_bytes
        for block in self._unpacked(problems):
            if part := block[skip:]:
                yield part
            skip = max(0, skip - len(block))

    def text(self, problems: ProblemLog) -> Iterator[str]:
        """Yield the document as text, in pieces."""
        encoding = detect(self.start.data, self.content_type, problems)
        text = decode(self._unpacked(problems), encoding, problems)
        yield from unwrapped(text, self.start.viewer, problems) if self.start.viewer else text

    def digest(self, problems: ProblemLog) -> str | None:
        """Return the value that :attr:`sha256` has after a complete reading, without one."""
        for _ in self._unpacked(problems):
            pass
        return self.sha256

    @cached_property
    def start(self) -> Start:
        """What the start of the document shows."""
        unheard = ProblemLog("")
        blocks = self.blocks(unheard, size=_HEAD_BYTES)
        first = next(blocks, b"")
        encoding = detect(first, self.content_type, unheard)
        head = telling_start(decode(chain([first], blocks), encoding, unheard))
        if _PAGE.match(head) and (viewer := viewer_of(head)):
            inside = telling_start(unwrapped([head], viewer, unheard))
            kind = sniff(inside, url=self.url)
            is_page = kind is Kind.LINKS and not viewer.is_escaped  # a browser shows pages without a viewer
            if kind.is_readable and not is_page:
                return Start(first, encoding, inside, viewer)
        return Start(first, encoding, head, None)

    def _unpacked(self, problems: ProblemLog) -> Iterator[bytes]:
        digest, self.bytes_unpacked, self.sha256 = hashlib.sha256(), 0, None
        for block in self.blocks(problems, size=BLOCK_BYTES):
            digest.update(block)
            self.bytes_unpacked += len(block)
            yield block
        if not (problems.was_cut or problems.lost_bytes):
            self.sha256 = digest.hexdigest()

    def blocks(self, problems: ProblemLog, *, size: int) -> Iterator[bytes]:
        """Yield the body decompressed, in blocks of *size* bytes."""
        self.layers.clear()
        body, is_even = self.body, True
        start, blocks = _start(body[at : at + size] for at in range(0, len(body), size))
        for encoding in reversed(self.content_encodings):
            if declared := next((one for one in CONTENT_ENCODINGS.get(encoding, ()) if one.begins(start)), None):
                start, blocks = _start(self._bounded(declared.unpack(blocks, problems), problems))
                is_even = False
        is_brotli = self.url.partition("?")[0].lower().endswith(".br") and BROTLI.begins(start)
        packing = BROTLI if is_brotli else PACKINGS.get(start[:1])
        while packing and packing.begins(start):
            if len(self.layers) == self.limits.layers:
                problems.add("unpack/too-deep", f"compressed in more than {self.limits.layers} layers")
                return
            self.layers.append(packing.name)
            start, blocks = _start(self._bounded(packing.unpack(blocks, problems), problems))
            packing, is_even = PACKINGS.get(start[:1]), False
        yield from self._bounded(blocks, problems) if is_even else even(blocks, size)

    def _bounded(self, blocks: Iterator[bytes], problems: ProblemLog) -> Iterator[bytes]:
        limits, packed, seen = self.limits, len(self.body), 0
        for block in blocks:
            seen += len(block)
            if seen > limits.unpacked_bytes:
                detail = f"more than {limits.unpacked_bytes} bytes after decompression"
                problems.add("unpack/too-large", detail, byte=limits.unpacked_bytes)
                yield block[: len(block) - (seen - limits.unpacked_bytes)]
                return
            if seen > limits.ratio_from and seen > packed * limits.ratio:
                detail = f"{packed} bytes decompressed to more than {limits.ratio} times their size"
                problems.add("unpack/ratio", detail, byte=seen)
                return
            yield block


def even(blocks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Yield *blocks* rechunked to *size* bytes each, except the last: the compression makes no difference.

    None is empty.
    """
    parts: list[memoryview] = []
    missing = size
    for block in blocks:
        left = memoryview(block)
        while len(left) >= missing:
            yield b"".join([*parts, left[:missing]])
            parts, left, missing = [], left[missing:], size
        if left:
            parts.append(left)
            missing -= len(left)
    if parts:
        yield b"".join(parts)


def _start(blocks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the start of *blocks*, enough to recognize a layer, and all of *blocks*."""
    start = next(blocks, b"")
    while len(start) < _SIGNATURE_BYTES and (more := next(blocks, b"")):
        start += more
    return start, chain([start], blocks) if start else blocks
