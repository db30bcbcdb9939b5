"""A store for the tests of commands."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tests import forked
from tests.snapshots.store.making import SITE, Making, entry, locs

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

B = "https://b.example"


def made(path: Path) -> Making:
    """Make a store with three runs over one site and one run over another."""
    making = Making(path, compares=True)
    now = datetime.now(UTC)
    for day in range(3):
        rows = [entry(loc, lastmod=now - timedelta(days=30)) for loc in locs(20, start=day)]
        making.run({f"{SITE}/s.xml": rows})
    making.run(
        {f"{B}/s.xml": [entry(loc, lastmod=now - timedelta(days=age)) for age, loc in enumerate(locs(20))]}, site=B
    )
    return making


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run ``scrapy harvest`` on the store ``s`` of the folder *cwd*."""
    action, *others = arguments
    return forked.scrapy("harvest", action, "--store", "s", *others, cwd=cwd)
