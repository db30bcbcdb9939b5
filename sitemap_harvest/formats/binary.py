"""Recognizes binary documents by their first bytes.

Only formats that could pass for text, or contain text that could pass for a feed (an
image with RDF in it), need their own signature. All others are recognized by their
control characters. Tar archives are not listed: they contain documents literally, which
are read.
"""

from __future__ import annotations

import re

START_BYTES = 512
"""Number of bytes that :func:`binary_format` examines."""

_OFFICE_NAMES = rb"(?:\[Content_Types\]\.xml|_rels/|docProps/|word/|xl/|ppt/|mimetype|META-INF/)"
_FORMATS = (
    ("a PDF file", rb"%PDF-\d"),
    ("a PostScript file", rb"%!PS"),
    ("an RTF document", rb"\{\\rtf\d"),
    ("an office document", rb"PK\x03\x04.{26}" + _OFFICE_NAMES),
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
_PATTERNS = tuple((name, re.compile(pattern, re.DOTALL)) for name, pattern in _FORMATS)


def binary_format(start: bytes) -> str | None:
    """Return a description of the document that begins with *start*; ``None`` if the signature is unknown."""
    return next((name for name, pattern in _PATTERNS if pattern.match(start)), None)


def is_office_document(start: bytes) -> bool:
    """Whether *start* begins an office document or a program package: a zip archive, but not a compressed document."""
    return binary_format(start) == "an office document"
