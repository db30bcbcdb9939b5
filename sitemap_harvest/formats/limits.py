"""How much of a document is read."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Ceilings for one document. Past one of them reading stops, with a problem that says so."""

    unpacked_bytes: int = 200 * MIB
    """Most bytes after unpacking, four times what the protocol allows."""
    ratio: int = 200
    """Most bytes unpacked for each packed one, once past :attr:`ratio_from`. Sitemaps pack at 10 to 60."""
    ratio_from: int = 10 * MIB
    """Bytes unpacked before the ratio is looked at."""
    layers: int = 3
    """Most layers of packing."""
    urls: int = 1_000_000
    """Most entries of one document, twenty times what the protocol allows."""
    sitemaps: int = 100_000
    """Most sitemaps that one document may name, twice what the protocol allows in an index."""
