"""``unpack``: removes the compression of a document layer by layer; and the signatures of binary documents.

Both are recognized by the first bytes. The limits apply to each layer, and are checked
during decompression.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from sitemap_harvest.formats.decompressors import BLOCK_BYTES, BROTLI, CONTENT_ENCODINGS, OFFICE_DOCUMENT, PACKINGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemap_harvest.formats.problem_log import ProblemLog

MIB = 1024 * 1024
START_BYTES = 512
"""Number of bytes at the start that show a layer or a binary format."""
_FORMATS = (  # which could pass for text, or contain text that could pass for a feed; not tar archives, which are read
    ("a PDF file", rb"%PDF-\d"),
    ("a PostScript file", rb"%!PS"),
    ("an RTF document", rb"\{\\rtf\d"),
    ("an office document", OFFICE_DOCUMENT.pattern),
    ("an office document", rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    ("a PNG picture", rb"\x89PNG\r?\n"),
    ("a JPEG picture", rb"\xff\xd8\xff"),
    ("a GIF picture", rb"GIF8[79]a"),
    ("a WebP picture", rb"RIFF.{4}WEBP"),
    ("audio or video", rb"RIFF.{4}(?:WAVE|AVI )|ID3[\x00-\x0a]|OggS\0|\x1a\x45\xdf\xa3"),
    ("an image or a video", rb".{4}ftyp[\w ]{4}"),
    ("an icon", rb"\x00\x00[\x01\x02]\x00.\x00"),
    ("a TIFF picture", rb"II\*\0|MM\0\*"),
    ("a font", rb"wOF[F2]|\x00\x01\x00\x00\x00|OTTO\0"),
    ("a 7z archive", rb"7z\xbc\xaf\x27\x1c"),
    ("a RAR archive", rb"Rar!\x1a\x07"),
    ("an xz archive", rb"\xfd7zXZ\0"),
    ("a program", rb"\x7fELF|\0asm|\xca\xfe\xba\xbe|MZ[\0-\xff]\0"),
    ("an SQLite database", rb"SQLite format 3\0"),
    ("a Parquet file", rb"PAR1[\x15\x19]"),
)
_BINARY = tuple((name, re.compile(pattern, re.DOTALL)) for name, pattern in _FORMATS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one document. Reading stops at the first one reached, with a problem."""

    unpacked_bytes: int = 200 * MIB
    """Maximum bytes after decompression, four times what the protocol allows."""
    ratio: int = 200
    """Maximum ratio of decompressed to compressed bytes, after :attr:`ratio_from`. Sitemaps compress by factors of 10
    to 60."""
    ratio_from: int = 10 * MIB
    """Decompressed bytes before the ratio is checked."""
    layers: int = 3
    """Maximum number of compression layers."""
    urls: int = 1_000_000
    """Maximum number of entries of one document, twenty times what the protocol allows."""
    sitemaps: int = 100_000
    """Maximum number of sitemaps that one document may name, twice what the protocol allows in an index."""


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
    start, blocks = _start(body[at : at + block_bytes] for at in range(0, len(body), block_bytes))
    is_even = True
    for encoding in reversed(content_encodings):
        if declared := next((one for one in CONTENT_ENCODINGS.get(encoding, ()) if one.begins(start)), None):
            start, blocks = _start(_bounded(declared.unpack(blocks, problems), len(body), limits, problems))
            is_even = False
    packings = (BROTLI, *PACKINGS) if name.endswith(".br") else PACKINGS
    while packing := next((one for one in packings if one.begins(start)), None):
        if len(layers) == limits.layers:
            problems.add("unpack/too-deep", f"compressed in more than {limits.layers} layers")
            return
        layers.append(packing.name)
        start, blocks = _start(_bounded(packing.unpack(blocks, problems), len(body), limits, problems))
        packings, is_even = PACKINGS, False
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


def _start(blocks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the start of *blocks*, enough to recognize a layer, and all of *blocks*."""
    start = next(blocks, b"")
    while len(start) < START_BYTES and (more := next(blocks, b"")):
        start += more
    return start, chain([start], blocks) if start else blocks


def _bounded(blocks: Iterator[bytes], packed: int, limits: Limits, problems: ProblemLog) -> Iterator[bytes]:
    seen = 0
    for block in blocks:
        seen += len(block)
        if seen > limits.unpacked_bytes:
            problems.add("unpack/too-large", f"more than {limits.unpacked_bytes} bytes", byte=limits.unpacked_bytes)
            yield block[: len(block) - (seen - limits.unpacked_bytes)]
            return
        if seen > limits.ratio_from and seen > packed * limits.ratio:
            problems.add(
                "unpack/ratio", f"{packed} bytes expanded to more than {limits.ratio} times their size", byte=seen
            )
            return
        yield block


def binary_format(start: bytes) -> str | None:
    """Return a description of the binary document that begins with *start*; ``None`` if the signature is unknown.

    Formats without a signature here are recognized by their control characters.
    """
    return next((name for name, pattern in _BINARY if pattern.match(start)), None)
