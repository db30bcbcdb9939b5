"""Documents that are no text, told from their first bytes.

Only what could pass for text, or hold text that could pass for a feed (a
picture with RDF in it), has to be known by its own mark. For all else the
control characters tell. A tar archive is not among them: documents stand in it
to the letter, and are read.
"""

from __future__ import annotations

import re

START_BYTES = 512
"""How much of a document :func:`binary_format` looks at."""

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
    ("a sound or a video", rb"RIFF.{4}(?:WAVE|AVI )|ID3[\x00-\x0a]|OggS\0|\x1a\x45\xdf\xa3"),
    ("a picture or a video", rb".{4}ftyp[\w ]{4}"),
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
    """Return in words what the document that begins with *start* is; ``None`` if its first bytes are no known mark."""
    return next((name for name, pattern in _PATTERNS if pattern.match(start)), None)


def is_office_document(start: bytes) -> bool:
    """Whether *start* begins an office document or a program package, which is a zip archive but nothing packed."""
    return binary_format(start) == "an office document"
