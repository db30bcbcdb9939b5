"""``Problem``: a flaw of a document, with a count and samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sitemap_harvest.model.problem_types import CATALOGUE

if TYPE_CHECKING:
    from sitemap_harvest.model.problem_types import Severity

MAX_SAMPLES = 5  # enough to see the pattern; ten thousand would be too many for a record
MAX_EXCERPT_CHARS = 200  # enough for a URL, but not for a megabyte of garbage


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One place where a problem occurs."""

    entry: int | None = None
    """Position of the entry in the document, from 1."""
    line: int | None = None
    """Line of the document after decompression and decoding, from 1."""
    byte: int | None = None
    """Offset in bytes, from 0: in the decompressed document, or in the compressed one for a decompression error."""
    excerpt: str | None = None
    """The text there, truncated to 200 characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One kind of flaw in one document: repeated flaws are one record with a count and up to five samples."""

    code: str
    """Stable name, such as ``xml/truncated``; a key of :data:`CATALOGUE`."""
    document: str
    """URL of the document."""
    detail: str
    """A description of the first occurrence."""
    count: int = 1
    """How often it occurs."""
    samples: tuple[Sample, ...] = ()
    """The first five places."""

    @property
    def severity(self) -> Severity:
        """How bad it is. A judgement that may change, so it is not a column."""
        return CATALOGUE[self.code].severity
