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


def unpack(body: bytes, limits: Limits, problems: ProblemLog, layers: list[str]) -> Iterator[bytes]:
    """Yield *body* unpacked, in blocks of up to :data:`BLOCK_BYTES`; put the name of each layer into *layers*."""
    layers.clear()
    blocks: Iterator[bytes] = _slices(body)
    while True:
        first = next(blocks, b"")
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
    inflater, data, offset = None, b"", 0
    for block in packed:
        data += block
        while data:
            if inflater is None:
                if len(data) < len(_GZIP):
                    break  # the next block tells whether a member begins here
                if not data.startswith(_GZIP):
                    break
                inflater = zlib.decompressobj(31)
            before = inflater.copy()
            try:
                inflated = inflater.decompress(data, BLOCK_BYTES)
            except zlib.error as error:
                yield _salvage(before, data)
                code = "unpack/bad-checksum" if "check" in str(error) else "unpack/unreadable"
                problems.add(code, f"after byte {offset} of the packed document: {error}", byte=offset)
                return
            if inflated:
                yield inflated
            rest = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
            offset += len(data) - len(rest)
            data = rest
            if inflater.eof:
                inflater = None
        if inflater is None and len(data) >= len(_GZIP):
            break
    if inflater is not None:
        problems.add("unpack/truncated", byte=offset)
    elif data.strip(b"\0"):  # padding with zeros is usual and harmless (gzip(1) passes over it too)
        problems.add("unpack/trailing-bytes", byte=offset, excerpt=repr(data[:60]))


def _salvage(inflater: zlib._Decompress, data: bytes) -> bytes:
    """Return what can be inflated of *data* before the fault in it: zlib gives nothing of a call that fails."""
    salvaged = []
    for start in range(len(data)):
        try:
            salvaged.append(inflater.decompress(data[start : start + 1]))
        except zlib.error:
            break
    return b"".join(salvaged)
