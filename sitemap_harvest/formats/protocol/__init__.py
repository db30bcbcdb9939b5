"""Checks of the sitemap protocol's rules that reading does not need; reported only by validation."""

from sitemap_harvest.formats.protocol.check import Listed, Verdict, check

__all__ = ["Listed", "Verdict", "check"]
