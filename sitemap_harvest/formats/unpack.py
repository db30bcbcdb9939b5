"""Packed documents: what is packed shows in the first bytes, whatever name or header says.

Specs: https://www.rfc-editor.org/rfc/rfc1952 (gzip)
Bytes in, blocks of bytes out. Never more in memory than a block; ceilings are
checked while inflating; what came before a fault is kept.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.formats.limits import Limits
    from sitemap_harvest.formats.problems import ProblemLog

BLOCK_BYTES = 512 * 1024  # large enough for column work, small beside the 104 MB that the imports take
_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = 31  # tells zlib to expect a gzip header, and windows of any size


def unpack(body: bytes, limits: Limits, problems: ProblemLog, layers: list[str]) -> Iterator[bytes]:
    """Yield *body* unpacked, in blocks of up to :data:`BLOCK_BYTES`; put the name of each layer into *layers*."""
    layers.clear()
    blocks: Iterator[bytes] = _slices(body)
    while True:
        first = _start(blocks)
        if not first.startswith(_GZIP):
            break
        if len(layers) == limits.layers:
            problems.add("unpack/too-deep", f"packed in more than {limits.layers} layers")
            return
        layers.append("gzip")
        blocks = _gunzip(_prepend(first, blocks), problems)
    yield from _bounded(_prepend(first, blocks), len(body), limits, problems)


def _slices(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), BLOCK_BYTES):
        yield body[start : start + BLOCK_BYTES]


def _start(blocks: Iterator[bytes]) -> bytes:
    """Return the first blocks, as many as are needed to tell a layer."""
    start = next(blocks, b"")
    while len(start) < len(_GZIP) and (more := next(blocks, b"")):
        start += more
    return start


def _prepend(first: bytes, blocks: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from blocks


def _bounded(blocks: Iterator[bytes], packed: int, limits: Limits, problems: ProblemLog) -> Iterator[bytes]:
    seen = 0
    for block in blocks:
        seen += len(block)
        if seen > limits.unpacked_bytes:
            problems.add("unpack/too-large", f"more than {limits.unpacked_bytes} bytes", byte=limits.unpacked_bytes)
            yield block[: len(block) - (seen - limits.unpacked_bytes)]
            return
        if seen > limits.ratio_from and seen > packed * limits.ratio:
            problems.add("unpack/ratio", f"{packed} bytes grew to more than {limits.ratio} times as many", byte=seen)
            return
        yield block


def _gunzip(packed: Iterator[bytes], problems: ProblemLog) -> Iterator[bytes]:
    """Yield the members of a gzip file one after the other, as they are inflated."""
    members = _Members(problems)
    for block in packed:
        yield from members.inflate(block)
        if members.are_over:
            break
    members.finish()


class _Members:
    """Inflates the members of one gzip file."""

    def __init__(self, problems: ProblemLog) -> None:
        self._problems = problems
        self._inflater: zlib._Decompress | None = None
        self._data = b""
        self._offset = 0
        self._is_damaged = False
        self.are_over = False  #: Whether what was given last can only be followed by what is no member.

    def inflate(self, block: bytes) -> Iterator[bytes]:
        """Yield what can be inflated with the next *block* of the file."""
        self._data += block
        while self._data and not self.are_over:
            if self._inflater is None:
                if len(self._data) < len(_GZIP):
                    return  # the next block tells whether a member begins here
                if not self._data.startswith(_GZIP):
                    self.are_over = True
                    return
                self._inflater = zlib.decompressobj(_GZIP_WINDOW)
            if inflated := self._step(self._inflater):
                yield inflated

    def _step(self, inflater: zlib._Decompress) -> bytes:
        before = inflater.copy()
        try:
            inflated = inflater.decompress(self._data, BLOCK_BYTES)
        except zlib.error as error:
            self.are_over = self._is_damaged = True
            code = "unpack/bad-checksum" if "check" in str(error) else "unpack/unreadable"
            detail = f"after byte {self._offset} of the packed document: {error}"
            self._problems.add(code, detail, byte=self._offset)
            return _salvage(before, self._data)
        rest = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
        self._offset += len(self._data) - len(rest)
        self._data = rest
        if inflater.eof:
            self._inflater = None
        return inflated

    def finish(self) -> None:
        """Say what is wrong with the end of the file."""
        if self._is_damaged:
            return
        if self._inflater or self._data == _GZIP[:1]:
            self._problems.add("unpack/truncated", byte=self._offset)
        elif self._data.strip(b"\0"):  # padding with zeros is usual and harmless (gzip(1) passes over it too)
            self._problems.add("unpack/trailing-bytes", byte=self._offset, excerpt=repr(self._data[:60]))


def _salvage(inflater: zlib._Decompress, data: bytes) -> bytes:
    """Return what can be inflated of *data* before the fault in it: zlib gives nothing of a call that fails."""
    salvaged = []
    for start in range(len(data)):
        try:
            salvaged.append(inflater.decompress(data[start : start + 1]))
        except zlib.error:
            break
    return b"".join(salvaged)
