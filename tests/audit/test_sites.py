"""A site with all flaws, and one without any."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from sitemap_harvest.audit import RULES
from sitemap_harvest.model import CATALOGUE
from tests.audit import flawed_site
from tests.audit.web import WebInMemory, run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.thorough
def test_every_rule_finds_its_flaw_in_the_flawed_site(tmp_path: Path) -> None:
    with WebInMemory() as web:
        web.slow = flawed_site.SLOW
        for number in range(1, flawed_site.RUNS + 1):
            web.web = flawed_site.web(number, datetime.now(UTC))
            arguments = (*flawed_site.SITES, "-a", "store=s")
            if number < flawed_site.RUNS:
                run(web, tmp_path, "crawl", *arguments, "-a", "emit=none", RETRY_TIMES=0)
        run(
            web,
            tmp_path,
            "audit",
            *arguments,
            "-O",
            "f.jsonl",
            RETRY_TIMES=0,
            SITEMAP_HARVEST_AUDIT=flawed_site.OPTIONS,
        )
    found = {json.loads(line)["rule"] for line in (tmp_path / "f.jsonl").read_text().splitlines()}
    assert found - (CATALOGUE.keys() - RULES.keys()) == RULES.keys()
