"""The numbers of requests in the README and in the explanation of snapshots are those of the benchmark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.second_run import Served, usages

ROOT = Path(__file__).parents[2]
FILES = 50


@pytest.mark.thorough
def test_later_runs_make_as_many_requests_as_the_docs_say(tmp_path):
    with Served(tmp_path / "site", has_validators=True) as served:
        _, first, second, trusted = usages(tmp_path / "store", served, files=FILES, urls=2)
    assert (first.not_modified, trusted.not_modified) == (0, 1)
    readme, snapshots = (
        " ".join((ROOT / page).read_text("utf-8").split()) for page in ("README.md", "docs/explain/snapshots.md")
    )
    assert (
        f"The first run over a site with {FILES} sitemaps makes {first.requests} requests. If nothing has changed, the "
        f"second run also makes {second.requests}, but {second.not_modified} of them are answered with a 304 and "
        f"without a body. A run that trusts the dates in the index makes {trusted.requests}." in readme
    )
    assert (
        f"A site with an index of {FILES} sitemaps gets {first.requests} requests in its first run, including the one "
        f"for robots.txt. If nothing has changed, it gets {second.requests} requests in the second run too, but "
        f"{second.not_modified} of them are answered with a 304 and without a body. Once the index is trusted, it gets "
        f"{trusted.requests} requests." in snapshots
    )
