"""What is wrong with a document, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sitemap_harvest.model.catalogue import CATALOGUE

if TYPE_CHECKING:
    from sitemap_harvest.model.catalogue import Severity

MAX_SAMPLES = 5  # enough to see the pattern; ten thousand would drown the record
MAX_EXCERPT_CHARS = 200  # a URL worth looking at fits; a megabyte of garbage does not


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One place where a problem occurs."""

    entry: int | None = None
    """Position of the entry in the document, from 1."""
    line: int | None = None
    """Line of the document after unpacking and decoding, from 1."""
    byte: int | None = None
    """Offset in bytes, from 0: in the unpacked document, or in the packed one for a fault of the packing."""
    excerpt: str | None = None
    """What stands there, cut to 200 characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One kind of flaw in one document: equal ones are one record with a count and up to five samples."""

    code: str
    """Stable name, such as ``xml/truncated``; a key of :data:`CATALOGUE`."""
    document: str
    """Address of the document."""
    detail: str
    """The first occurrence in words."""
    count: int = 1
    """How often it occurs."""
    samples: tuple[Sample, ...] = ()
    """The first five places."""

    @property
    def severity(self) -> Severity:
        """How bad it is. A judgement of the catalogue, which may change: it is no column."""
        return CATALOGUE[self.code].severity
