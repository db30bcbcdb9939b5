"""``Limits``: how much of one document is read."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


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
