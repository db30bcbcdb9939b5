"""Runs into a store that end early: each requests first what the runs before did not get to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING

import pytest

from sitemap_harvest import open_store
from tests.documents import index, urlset
from tests.engine.run import Result, Web, harvest, session_of

if TYPE_CHECKING:
    from pathlib import Path

SITE = "https://www.example.com"
ROBOTS, TOP = f"{SITE}/robots.txt", f"{SITE}/index.xml"
INDEXES = [f"{SITE}/{letter}.xml" for letter in "abc"]
NAMES = {top: [f"{top[:-4]}{number}.xml" for number in range(3)] for top in INDEXES}
ALL = [name for names in NAMES.values() for name in names]
FIRST_DAY = datetime(2026, 11, 20, 3, 17, tzinfo=UTC)


def listing(names: list[str]) -> bytes:
    return index("".join(f"<sitemap><loc>{name}</loc></sitemap>" for name in names))


def web() -> Web:
    """Return a site of three indexes, each of three sitemaps with one URL."""
    lists = {name: urlset(f"<url><loc>{name}/page</loc></url>") for name in ALL}
    indexes = {top: listing(names) for top, names in NAMES.items()}
    return {ROBOTS: f"Sitemap: {TOP}".encode(), TOP: listing(INDEXES), **indexes, **lists}


@pytest.fixture
def visit(tmp_path: Path):
    """Return a function that harvests the site on a day, counted from 1, into one store."""

    def run(day: int, web: Web, **arguments: str) -> Result:
        arguments = {"site": SITE, "emit": "urls,changes,sites,sitemaps", "store": str(tmp_path)} | arguments
        session = session_of(arguments, FIRST_DAY + timedelta(days=day))
        return harvest(web, session=session, **arguments)

    return run


def sitemaps(result: Result) -> list[str]:
    """Return the sitemaps that were requested, without indexes."""
    return [url for url in result.requests if url in ALL]


def test_runs_that_end_early_get_to_all_sitemaps_in_turn(visit) -> None:
    runs = [visit(day, web(), limit="4") for day in range(1, 6)]
    rounds = [ALL[:4], ALL[4:8], [ALL[8], *ALL[:3]], [ALL[3], *ALL[4:7]], [ALL[7], ALL[8], *ALL[:2]]]
    assert [sorted(sitemaps(run)) for run in runs] == [sorted(some) for some in rounds]
    assert [run.urls for run in runs] == [[f"{name}/page" for name in sitemaps(run)] for run in runs]
    assert not any(run.changes for run in runs), "what is read for the first time is not new"


def test_sitemaps_that_always_fail_do_not_keep_the_others_from_their_turn(visit) -> None:
    failing = web() | dict.fromkeys(ALL[:4], 500)
    runs = [visit(day, failing, limit="2") for day in range(1, 5)]
    assert {url for run in runs for url in run.urls} == {f"{name}/page" for name in ALL[4:]}


def test_a_new_sitemap_comes_first_after_a_run_that_ended_early(visit) -> None:
    first = visit(1, web(), limit="8")
    assert sitemaps(first) == ALL[:8]
    new = f"{SITE}/new.xml"
    grown = web() | {TOP: listing([*INDEXES, new]), new: urlset(f"<url><loc>{new}/page</loc></url>")}
    second = visit(2, grown, limit="2")
    assert set(second.urls) == {f"{ALL[8]}/page", f"{new}/page"}


def test_the_order_is_that_of_the_lists_after_a_run_that_got_to_everything(visit) -> None:
    complete = visit(1, web())
    assert sitemaps(complete) == ALL
    grown = web() | {INDEXES[0]: listing([*NAMES[INDEXES[0]], f"{SITE}/new.xml"])}
    assert sitemaps(visit(2, grown)) == ALL


def test_each_document_is_read_and_nothing_is_removed(visit) -> None:
    visit(1, web(), limit="4")
    whole = visit(2, web())
    assert sorted(whole.urls) == sorted(f"{name}/page" for name in ALL)
    assert whole.changes == set()
    assert set(sitemaps(whole)[:5]) == set(ALL[4:])
    assert sorted(sitemaps(whole)) == ALL


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(8))
def test_a_history_of_runs_that_end_early_has_no_false_change(visit, tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    home = {f"{SITE}/p{one}": random.choice(ALL) for one in range(30)}
    removed = 0
    for day in range(1, 9):
        for url in list(home):
            home[url] = random.choice(ALL) if random.random() < 0.15 else home[url]
            if random.random() < 0.1:
                del home[url]
        home |= {f"{SITE}/p{one}": random.choice(ALL) for one in range(30 * day, 30 * day + 3)}
        lists = {name: [url for url, where in home.items() if where == name] for name in ALL}
        site = web() | {name: urlset("".join(f"<url><loc>{url}</loc></url>" for url in lists[name])) for name in ALL}
        is_last = day == 8
        if not is_last:
            site |= {name: 500 for name in ALL if random.random() < 0.1}
        limit = {"limit": str(random.randrange(1, 20))} if not is_last and random.random() < 0.7 else {}
        changes = visit(day, site, **limit).changes
        assert {url for kind, url in changes if kind == "removed"} & home.keys() == set()
        assert {url for kind, url in changes if kind == "added"} <= home.keys()
        removed += sum(kind == "removed" for kind, _ in changes)
    assert removed
    found = open_store(str(tmp_path)).site(SITE).at("latest").urls(["loc"]).read_all()["loc"].to_pylist()
    assert sorted(found) == sorted(home)
