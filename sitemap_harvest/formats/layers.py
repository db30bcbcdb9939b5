"""``unpack``: removes the compression of a document layer by layer, detected by the first bytes.

Bytes in, blocks of bytes out. The limits apply to each layer, and are checked during
decompression.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemap_harvest.formats.decompressors import (
    BLOCK_BYTES,
    BROTLI,
    CONTENT_ENCODINGS,
    PACKINGS,
    TELLING_BYTES,
    Packing,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemap_harvest.formats.limits import Limits
    from sitemap_harvest.formats.problems import ProblemLog


def unpack(
    body: bytes,
    limits: Limits,
    problems: ProblemLog,
    layers: list[str],
    *,
    name: str = "",
    content_encodings: tuple[str, ...] = (),
    block_bytes: int = BLOCK_BYTES,
) -> Iterator[bytes]:
    """Yield *body* decompressed, in blocks of *block_bytes*, and append the name of each layer to *layers*.

    *name* is the file name of the document. *content_encodings* are the values of that
    header, in the order in which they were applied. They are used if they are correct,
    and do not count as layers.
    """
    layers.clear()
    blocks: Iterator[bytes] = _slices(body, block_bytes)
    first = _start(blocks)
    is_bounded = False
    for encoding in reversed(content_encodings):
        if declared := next((one for one in CONTENT_ENCODINGS.get(encoding, ()) if one.begins(first)), None):
            blocks = _bounded(declared.unpack(_prepend(first, blocks), problems), len(body), limits, problems)
            first, is_bounded = _start(blocks), True
    packing = BROTLI if name.endswith(".br") and BROTLI.begins(first) else _packing(first)
    while packing:
        if len(layers) == limits.layers:
            problems.add("unpack/too-deep", f"compressed in more than {limits.layers} layers")
            return
        layers.append(packing.name)
        blocks = _bounded(packing.unpack(_prepend(first, blocks), problems), len(body), limits, problems)
        first = _start(blocks)
        packing = _packing(first)
    blocks = _prepend(first, blocks)
    is_even = not (layers or is_bounded)
    yield from _bounded(blocks, len(body), limits, problems) if is_even else even(blocks, block_bytes)


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


def _packing(first: bytes) -> Packing | None:
    return next((packing for packing in PACKINGS if packing.begins(first)), None)


def _slices(body: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


def _start(blocks: Iterator[bytes]) -> bytes:
    """Return the first blocks, enough to recognize a layer."""
    start = next(blocks, b"")
    while len(start) < TELLING_BYTES and (more := next(blocks, b"")):
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
