"""Runs with a store: what a snapshot keeps, whatever the run could read."""

from __future__ import annotations

import pytest

from tests.site import Page, gzipped, index, robots, urlset

ONE, TWO = urlset("/a", "/b"), urlset("/c", "/d")
SITE = {"/robots.txt": robots("/index.xml"), "/index.xml": index("/1.xml", "/2.xml"), "/1.xml": ONE, "/2.xml": TWO}


def test_the_first_run_has_nothing_to_compare_with_and_the_second_nothing_to_tell(serve, keep):
    site = serve(SITE)
    first = keep(site)
    print(first.summary, first.run.log)
    second = keep(site)
    assert (first.changes, first.summary["baseline"], first.summary["newly_known"]) == ([], None, 4)
    assert "1 first snapshot, with nothing to compare" in first.run.log
    assert second.changes == []
    assert second.summary["baseline"] == first.summary["run"]
    assert (second.summary["unchanged"], second.summary["stale"]) == (4, 0)
    assert "since the last snapshot nothing has changed" in second.run.log
    assert second.urls == first.urls
    assert second.fates == dict.fromkeys(SITE, "unchanged")
