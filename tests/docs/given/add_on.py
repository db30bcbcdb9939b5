"""Brings the add-on into a new project, as its how-to describes, and removes the delays that new projects have."""

from __future__ import annotations

from pathlib import Path

settings = Path("myproject", "settings.py")
lines = [
    line
    for line in settings.read_text("utf-8").splitlines()
    if not line.startswith(("SPIDER_MODULES", "DOWNLOAD_DELAY", "CONCURRENT_REQUESTS_PER_DOMAIN"))
]
lines += [
    "from sitemap_harvest.integration.default_settings import FEED_EXPORTERS  # noqa",
    'ADDONS = {"sitemap_harvest.addon.Addon": 300}',
    'SPIDER_MODULES = ["myproject.spiders", "sitemap_harvest.spiders"]',
]
settings.write_text("\n".join([*lines, ""]), "utf-8")
