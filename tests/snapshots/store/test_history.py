from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from sitemap_harvest.errors import StoreError
from tests.snapshots.store.making import BEGAN, SITE, Making, locs


@pytest.fixture
def history(tmp_path):
    """Runs of four days, two on the third."""
    making = Making(tmp_path)
    for hours in (24, 24, 1, 23):
        making.every = timedelta(hours=hours)
        making.run({f"{SITE}/s.xml": locs(2)})
    making.run({f"{SITE}/s.xml": locs(2)})
    return making.store.history(SITE)


IDS = [
    "20261101T030000Z-000000",
    "20261102T030000Z-000001",
    "20261103T030000Z-000002",
    "20261103T040000Z-000003",
    "20261104T030000Z-000004",
]


def test_runs_are_listed_from_the_oldest(history):
    assert [run.id for run in history.runs] == IDS


@pytest.mark.parametrize(
    ("when", "number"),
    [
        pytest.param("latest", 4, id="latest"),
        pytest.param("previous", 3, id="previous"),
        pytest.param("first", 0, id="first"),
        pytest.param("20261102T030000Z-000001", 1, id="id"),
        pytest.param("20261103T0300", 2, id="beginning-of-an-id"),
        pytest.param("2026-11-01", 0, id="day"),
        pytest.param("2026-11-03", 3, id="day-with-two-runs"),
        pytest.param("2026-11-03T03:30:00Z", 2, id="instant-between"),
        pytest.param("2026-11-03T05:30:00+02:00", 2, id="instant-of-another-zone"),
        pytest.param("2026-11", 4, id="month"),
        pytest.param("2030-01-01", 4, id="later-than-all"),
    ],
)
def test_a_run_is_found(history, when, number):
    assert history.run(when).id == IDS[number]
    assert history.at(when).run.id == IDS[number]


@pytest.mark.parametrize(
    ("age", "now", "number"),
    [
        pytest.param("1d", "2026-11-03T03:00:00+00:00", 1, id="exactly-that-old"),
        pytest.param("1d", "2026-11-03T02:59:59+00:00", 0, id="a-second-short"),
        pytest.param("24h", "2026-11-03T05:00:00+02:00", 1, id="another-zone"),
        pytest.param("0s", "2026-11-03T03:00:00+00:00", 2, id="now"),
        pytest.param("2w", "2026-11-30T00:00:00+00:00", 4, id="the-last-of-several"),
    ],
)
def test_an_age_names_the_last_run_that_is_at_least_that_old(history, age, now, number):
    assert history.run(age, now=datetime.fromisoformat(now)).id == IDS[number]


def test_a_history_that_is_shorter_than_an_age_names_its_first_run(history):
    with pytest.raises(StoreError, match=f"there is no snapshot that is at least 7d old; the first is {IDS[0]}$"):
        history.run("7d", now=BEGAN + timedelta(days=6))
    with pytest.raises(StoreError, match="there is no snapshot that is at least 1000w old"):
        history.run("1000w")


@pytest.mark.parametrize(
    ("when", "words"),
    [
        pytest.param(
            "2026-10-31", "there is no snapshot from 2026-10-31 or earlier; the first is 20261101T03", id="before"
        ),
        pytest.param("yesterday", "'yesterday' is not a run", id="no-date"),
        pytest.param("", "'' is not a run", id="nothing"),
        pytest.param("7", "'7' is not a run", id="age-without-unit"),
        pytest.param("7m", "'7m' is not a run; use .* an age \\(2w, 7d, 36h\\)", id="unit-that-could-be-months"),
        pytest.param(
            "20261109T030000Z-000001",
            "https://a.example: '20261109T030000Z-000001' is not a run of this site; the last one is 2026.* "
            r"\(a run that resumes another has the ID of that one\)",
            id="id-that-is-not-there",
        ),
    ],
)
def test_an_unknown_run_is_an_error(history, when, words):
    with pytest.raises(StoreError, match=words):
        history.run(when)


def test_a_site_without_runs_has_no_snapshot(tmp_path):
    making = Making(tmp_path)
    history = making.store.history(SITE)
    assert (history.runs, history.latest(), history.manifest.next_row) == ((), None, 0)
    with pytest.raises(StoreError, match="there is no snapshot"):
        history.run("latest")
    making.run({f"{SITE}/s.xml": locs(2)})
    with pytest.raises(StoreError, match=f"there is only one snapshot, {IDS[0]}"):
        making.store.site(SITE).run("previous")


def test_a_running_run_is_not_visible(tmp_path):
    making = Making(tmp_path)
    making.run({f"{SITE}/s.xml": locs(2)})
    writer = making.begin()
    making.document(writer, f"{SITE}/s.xml", locs(2, start=5))
    writer.checkpoint()
    history = making.store.history(SITE)
    assert [run.id for run in history.runs] == IDS[:1]
    assert history.unfinished() == [writer.run_id]
    writer.drop()
    assert history.unfinished() == []


def test_new_runs_are_visible_after_a_refresh(tmp_path):
    making = Making(tmp_path)
    history = making.store.history(SITE)
    assert history.runs == ()
    making.run({f"{SITE}/s.xml": locs(2)})
    assert history.runs == ()
    history.forget()
    assert [run.id for run in history.runs] == IDS[:1]
