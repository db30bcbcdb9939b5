"""The rules of the sitemap protocol that a reader can do without: told by a validation, not by reading."""

from sitemap_harvest.formats.protocol.check import Verdict, check
from sitemap_harvest.formats.protocol.listed import Listed

__all__ = ["Listed", "Verdict", "check"]
