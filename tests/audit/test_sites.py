"""A site with all flaws, and one without any."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from sitemap_harvest.audit import RULES
from sitemap_harvest.model import CATALOGUE
from tests.audit import clean_site, flawed_site
from tests.audit.web import WebInMemory, run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.thorough


SETTINGS = {"RETRY_TIMES": 0, "SITEMAP_HARVEST_AUDIT": flawed_site.OPTIONS}
PATIENT = {"RETRY_TIMES": 0, "SITEMAP_HARVEST_AUDIT": {"sitemap/slow": {"seconds": 600}}}  # on a busy machine


def findings(folder: Path) -> list[dict[str, Any]]:
    """Return the findings of the last audit in *folder*."""
    return [json.loads(line) for line in (folder / "findings.jsonl").read_text().splitlines()]


def test_every_rule_finds_its_flaw_in_the_flawed_site(tmp_path: Path) -> None:
    site, output = flawed_site, ("-O", "findings.jsonl")
    (tmp_path / "export.csv").write_text(site.crawl_export())
    with WebInMemory() as web:
        web.slow = site.SLOW
        for number in range(1, site.RUNS + 1):
            web.web = site.web(number, datetime.now(UTC))
            run(web, tmp_path, "crawl", *site.SITES, "-a", "store=s", "-a", "emit=none", **SETTINGS)
        run(web, tmp_path, "audit", "--store", "s", *output, **SETTINGS)
        found = findings(tmp_path)
        run(web, tmp_path, "audit", site.PAGES, "-a", "probe=all", "--crawl-export", "export.csv", *output, **SETTINGS)
        found += findings(tmp_path)
    assert {finding["rule"] for finding in found} - (CATALOGUE.keys() - RULES.keys()) == RULES.keys()


def test_no_rule_finds_a_flaw_in_the_clean_site(tmp_path: Path) -> None:
    site = clean_site
    arguments = (site.SITE, "-a", "store=s")
    (tmp_path / "export.csv").write_text(f"url,status\n{site.SITE}/,200\n")
    with WebInMemory() as web:
        web.generate = site.page_of
        for number in range(1, site.RUNS):
            web.web = site.web(number, datetime.now(UTC))
            run(web, tmp_path, "crawl", *arguments, "-a", "emit=none", **PATIENT)
        web.web = site.web(site.RUNS, datetime.now(UTC))
        probe = ("-a", "probe=30", "--crawl-export", "export.csv", "-O", "findings.jsonl")
        words = run(web, tmp_path, "audit", *arguments, *probe, **PATIENT)
    assert findings(tmp_path) == []
    assert f"rules passed: {len(RULES)}, not checked: 0" in words
