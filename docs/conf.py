"""Sphinx configuration."""

from __future__ import annotations

import sitemap_harvest

project = "sitemap_harvest"
copyright = "the sitemap_harvest developers"  # noqa: A001 - Sphinx's name for it
version = release = sitemap_harvest.__version__

extensions = ["myst_parser"]
exclude_patterns = ["_build"]
myst_heading_anchors = 4
smartquotes = False  # the texts of problems quote XML, to be copied
html_theme = "furo"
html_title = f"sitemap_harvest {release}"
