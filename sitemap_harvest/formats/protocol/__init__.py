"""Checks of the sitemap protocol's rules that reading does not need; reported only by validation."""

from sitemap_harvest.formats.protocol.check import Verdict, check
from sitemap_harvest.formats.protocol.listed import Listed

__all__ = ["Listed", "Verdict", "check"]
