"""Runs into a store over an index with children that the user does not want: a hostile one may have 100,000."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from sitemap_harvest.engine import site_snapshot
from sitemap_harvest.snapshots.store import open_store
from tests.documents import index, urlset
from tests.engine.run import Result, Web, harvest, session_of

if TYPE_CHECKING:
    from pathlib import Path

    from sitemap_harvest.snapshots.store import Snapshot

SITE = "https://www.example.com"
ROBOTS, TOP, SHOP, *BLOG = (f"{SITE}/{name}" for name in ("robots.txt", "index.xml", "shop.xml", "b1.xml", "b2.xml"))


def web(*children: str) -> Web:
    """Return a site whose index lists *children*, each with one URL."""
    top = index("".join(f"<sitemap><loc>{child}</loc></sitemap>" for child in children))
    lists = {child: urlset(f"<url><loc>{child}/page</loc></url>") for child in children}
    return {ROBOTS: f"Sitemap: {TOP}".encode(), TOP: top, **lists}


@pytest.fixture
def visit(tmp_path: Path):
    """Return a function that harvests the site into one store, each time a day later; it returns the new snapshot."""
    day = datetime(2026, 11, 20, 3, 17, tzinfo=UTC)

    def run(web: Web, **arguments: str) -> tuple[Result, Snapshot]:
        nonlocal day
        day += timedelta(days=1)
        arguments = {"site": SITE, "emit": "urls,changes,sitemaps", "store": str(tmp_path)} | arguments
        session = session_of(arguments, day)
        result = harvest(web, session=session, **arguments)
        return result, open_store(str(tmp_path)).site(SITE).at("latest")

    return run


def stored(snapshot: Snapshot) -> list[str]:
    """Return the documents that *snapshot* has a record of."""
    return snapshot.sitemaps()["url"].to_pylist()


def test_unwanted_children_have_no_record_in_the_snapshot_and_their_urls_are_not_new_later(visit) -> None:
    site = web(SHOP, *BLOG)
    for outcome in ("read", "unchanged", "unchanged"):
        result, snapshot = visit(site, skip="/b")
        outcomes = {url: outcome for url, (outcome, _) in result.records.items()}
        assert outcomes == dict.fromkeys([ROBOTS, TOP, SHOP], outcome) | dict.fromkeys(BLOG, "skipped")
        assert stored(snapshot) == [ROBOTS, TOP, SHOP]
        assert [one.loc for one in snapshot.references()[TOP]] == [SHOP, *BLOG]
        assert not snapshot.run.complete
    result, snapshot = visit(site)
    assert (result.changes, snapshot.run.complete) == (set(), True)
    assert stored(snapshot) == [ROBOTS, TOP, SHOP, *BLOG]


def test_unwanted_children_that_are_new_have_a_record_so_that_their_urls_are_added_later(visit) -> None:
    visit(web(SHOP, BLOG[0]), skip="/b")
    site = web(SHOP, *BLOG)
    for _ in range(2):
        result, snapshot = visit(site, skip="/b")
        assert result.changes == set()
        assert stored(snapshot) == [ROBOTS, TOP, SHOP, BLOG[1]]
    assert visit(site)[0].changes == {("added", f"{BLOG[1]}/page")}


def test_of_many_new_unwanted_children_only_the_first_have_a_record(visit, monkeypatch) -> None:
    monkeypatch.setattr(site_snapshot, "MOST_NEW_UNWANTED", 1)
    visit(web(SHOP), skip="/b")
    site = web(SHOP, *BLOG)
    for _ in range(2):
        result, snapshot = visit(site, skip="/b")
        assert set(BLOG) < result.records.keys()
        assert result.changes == set()
        assert stored(snapshot) == [ROBOTS, TOP, SHOP, BLOG[0]]
    result, snapshot = visit(site)
    assert result.changes == {("added", f"{BLOG[0]}/page")}
    assert snapshot.run.changes["newly_known"] == 1


def test_an_unwanted_child_that_is_also_named_in_robots_txt_is_read(visit) -> None:
    site = web(SHOP, *BLOG) | {ROBOTS: f"Sitemap: {TOP}\nSitemap: {BLOG[0]}".encode()}
    for _ in range(2):
        result, snapshot = visit(site, follow="shop")
        assert sorted(result.urls) == [f"{BLOG[0]}/page", f"{SHOP}/page"]
        assert sorted(stored(snapshot)) == sorted([ROBOTS, TOP, SHOP, BLOG[0]])


def test_a_url_that_moves_to_an_unwanted_child_is_removed(visit) -> None:
    site = web(SHOP, *BLOG)
    visit(site, skip="/b")
    result, _ = visit(site | {SHOP: urlset(""), BLOG[0]: urlset(f"<url><loc>{SHOP}/page</loc></url>")}, skip="/b")
    assert result.changes == {("removed", f"{SHOP}/page")}
