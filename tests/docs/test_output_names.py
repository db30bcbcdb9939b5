"""Each name of an output in the documentation is one that its command accepts."""

from __future__ import annotations

import re

import pytest
from scrapy.settings import Settings
from scrapy.utils.conf import feed_process_params_from_cli

from sitemap_harvest.cli import export, output
from sitemap_harvest.databases import KINDS, Mode, parse_location
from sitemap_harvest.integration import default_settings as defaults
from sitemap_harvest.integration.items.database_output import database_of
from sitemap_harvest.integration.items.output_files import compress
from tests.docs.places import ROOT

OPTION = re.compile(r"""(?<![\w-])-[oO] ("[^"]+"|'[^']+'|[^\s`]+)""")
NO_NAMES = {"FILE", "FORMAT", "ftp://user:password@host/..."}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES_OF_DATABASES = ["write-to-databases", "export-a-store"]


def names():
    """Return each name, and whether it is for Scrapy's own command too."""
    seen = {}
    for line in (line for page in PAGES for line in page.read_text().splitlines()):
        for name in (found.strip("\"'") for found in OPTION.findall(line)):
            is_scrapys = "sitemap-harvest" not in line and name not in {"-", *defaults.FORMATS}
            seen[name] = seen.get(name, False) or is_scrapys
    return [(name, is_scrapys) for name, is_scrapys in sorted(seen.items()) if name not in NO_NAMES]


def databases():
    """Return the names of databases in the first columns of tables."""
    pages = ((ROOT / f"docs/howto/{name}.md").read_text() for name in PAGES_OF_DATABASES)
    cells = (cell for page in pages for cell in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE))
    return sorted({name for cell in cells for name in re.findall(r"`([^`]+)`", cell) if re.search(r"[.:]", name)})


def written(name):
    """Return the format, or the kind of database, in which Scrapy's option ``-O NAME`` writes. Raises an exception."""
    ((uri, options),) = feed_process_params_from_cli(Settings(defaults.ALL), [name]).items()
    if (database := database_of(uri, options)) is not None:
        return parse_location(uri, database, default=Mode.APPEND).kind
    compress(uri, options)
    return options["format"]


@pytest.mark.parametrize(("name", "is_scrapys"), names())
def test_outputs(name, is_scrapys):
    if name in defaults.FORMATS:  # of sitemap-harvest query
        assert output.file_and_format(name) == ("-", name)
        return
    complete = output.with_format(name, defaults.FEED_EXPORTERS)
    assert complete is not None
    assert written(complete) in {*defaults.FORMATS, *KINDS}
    if is_scrapys:
        assert written(name) == written(complete)


@pytest.mark.parametrize("name", databases())
def test_databases(name):
    found = {written(name), written(output.with_format(name, defaults.FEED_EXPORTERS)), export._location(name).kind}
    assert len(found) == 1
    assert found <= set(KINDS)
