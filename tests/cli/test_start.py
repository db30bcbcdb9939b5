"""A run imports only what it uses: importing the rest would take longer than a small site does.

What Scrapy itself imports is not up to us.
"""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.site import robots, urlset

SITE = "https://www.example.com"
UNUSED = {
    "duckdb",
    "filelock",
    "jinja2",
    "langcodes",
    "pandas.core",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "scrapy.commands.crawl",
    "scrapy.core.downloader.contextfactory",
    "scrapy.core.downloader.handlers.http11",
    "scrapy.extensions.telnet",
    "sitemap_harvest.audit",
    "sitemap_harvest.browser",
    "sitemap_harvest.diff",
    "sitemap_harvest.engine.probe",
    "sitemap_harvest.engine.snapshot_session",
    "sitemap_harvest.formats.feeds",
    "sitemap_harvest.formats.html.headings",
    "sitemap_harvest.formats.html.links",
    "sitemap_harvest.formats.html.page",
    "sitemap_harvest.formats.xml.tolerant",
    "sitemap_harvest.integration.download_handler",
    "sitemap_harvest.page_visits.page_requests",
    "sitemap_harvest.plots",
    "sitemap_harvest.snapshots.store",
    "tldextract",
}


@pytest.mark.parametrize(
    ("arguments", "used"),
    [
        pytest.param(["crawl", SITE, "--root", "site", "-O", "urls.jsonl"], set(), id="crawl", marks=pytest.mark.quick),
        pytest.param(["crawl", SITE, "--root", "site", "-O", "urls.parquet"], {"pyarrow.parquet"}, id="parquet"),
        pytest.param(["validate", "site/sitemap.xml"], set(), id="validate"),
    ],
)
def test_a_run_over_a_small_local_site_imports_only_what_it_uses(tmp_path, arguments, used):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "robots.txt").write_text(robots(f"{SITE}/sitemap.xml"))
    (tmp_path / "site" / "sitemap.xml").write_text(urlset(f"{SITE}/1"))
    command = [sys.executable, "-X", "importtime", "-m", "sitemap_harvest", *arguments]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    imported = set(re.findall(r"^import time:.*\| +(\S+)$", run.stderr, re.MULTILINE))
    assert "sitemap_harvest.formats.xml.sitemap" in imported
    assert imported & UNUSED == used
