"""Charts of dates, URLs and changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from lxml import html

import sitemap_harvest
from sitemap_harvest import HarvestError, UrlBatch, plots
from tests.snapshots.store.making import SITE, Making, entry, locs

if TYPE_CHECKING:
    from pathlib import Path

    from sitemap_harvest import History

AT = datetime(2024, 2, 28, 22, tzinfo=UTC)


def dated(*dates: datetime | None) -> UrlBatch:
    return UrlBatch.of(entry(loc, lastmod=date) for loc, date in zip(locs(len(dates)), dates, strict=True))


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    """Three runs on the first day, and two on the second."""
    making = Making(tmp_path_factory.mktemp("plots") / "store", every=timedelta(hours=8), compares=True)
    for start, count in ((0, 3), (0, 5), (2, 3), (2, 3), (1, 3)):
        making.run({f"{SITE}/s.xml": locs(count, start=start)})
    return making.store.site(SITE)


@pytest.mark.parametrize(
    ("dates", "title", "rows"),
    [
        pytest.param(
            [AT, AT, AT + timedelta(days=2)],
            "Entries by day of lastmod",
            [("2024-02-28", 2), ("2024-02-29", 0), ("2024-03-01", 1)],
            id="days",
        ),
        pytest.param(
            [AT, AT + timedelta(days=62)],
            "Entries by month of lastmod",
            [("2024-02", 1), ("2024-03", 0), ("2024-04", 1)],
            id="months",
        ),
        pytest.param(
            [AT, AT - timedelta(days=8_000)],
            "Entries by year of lastmod",
            [("2002", 1), *((str(year), 0) for year in range(2003, 2024)), ("2024", 1)],
            id="years",
        ),
    ],
)
def test_dates(dates: list[datetime], title: str, rows: list[tuple[str, int]]) -> None:
    assert plots.lastmod(dated(*dates)) == plots.Chart(
        title=title,
        kind="bar",
        columns=(title.split()[2].capitalize(), "Entries"),
        rows=rows,
        note=f"{len(dates)} rows",
    )


def test_dates_that_no_bar_has_are_counted() -> None:
    future, ancient = datetime(9999, 12, 31, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC)
    chart = plots.lastmod(dated(None, None, AT, future, ancient))
    assert chart.rows == [("2024-02-28", 1)]
    assert chart.note == "5 rows, 2 without a valid date, 1 before 1995, 1 in the future"
    assert plots.lastmod(dated()).rows == []
    assert plots.lastmod(dated(None)).note == "1 row, 1 without a valid date"


@pytest.mark.parametrize("unit", ["s", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo"])
def test_dates_of_other_tables(unit: str, zone: str | None) -> None:
    column = (
        pa.array([AT], pa.timestamp("us", tz="UTC")).cast(pa.timestamp("us", tz=zone)).cast(pa.timestamp(unit, zone))
    )
    assert plots.lastmod(pa.table({"lastmod": column})).rows == [("2024-02-28", 1)]


@pytest.mark.service
def test_dates_of_data_frames() -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    batch = dated(AT, None)
    frame = batch.to_pandas()
    for rows in (frame, frame[frame["lastmod"].notna()], frame[["lastmod"]], batch.to_polars()):
        assert plots.lastmod(rows).rows == [("2024-02-28", 1)]


def test_urls_over_time(history: History) -> None:
    assert plots.urls(history) == plots.Chart(
        title="URLs of https://a.example by run",
        kind="line",
        columns=("Run", "URLs"),
        rows=[
            ("2026-11-01 03:00", 3),
            ("2026-11-01 11:00", 5),
            ("2026-11-01 19:00", 3),
            ("2026-11-02 03:00", 3),
            ("2026-11-02 11:00", 3),
        ],
        note="5 runs",
    )


def test_runs_of_one_minute_have_different_labels(tmp_path: Path) -> None:
    making = Making(tmp_path / "store", every=timedelta(seconds=20), compares=True)
    for _ in range(2):
        making.run({f"{SITE}/s.xml": locs(3)})
    rows = plots.urls(making.store.site(SITE)).rows
    assert rows == [("2026-11-01 03:00:00", 3), ("2026-11-01 03:00:20", 3)]


def test_changes_by_day(history: History) -> None:
    assert plots.changes(history) == plots.Chart(
        title="Added and removed URLs of https://a.example by day",
        kind="updown",
        columns=("Day", "Added", "Removed"),
        rows=[("2026-11-01", 2, 2), ("2026-11-02", 1, 1)],
        note="in total: 3 added, 3 removed",
    )


def test_only_the_last_places_are_shown(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "_MOST_PLACES", 1)
    assert plots.urls(history).rows == [("2026-11-02 11:00", 3)]
    assert plots.urls(history).note == "the last 1 of 5 runs"
    assert plots.changes(history).rows == [("2026-11-02", 1, 1)]
    assert plots.changes(history).note == "in total: 1 added, 1 removed"


def test_a_chart_is_a_page_with_its_numbers(history: History, tmp_path: Path) -> None:
    chart = plots.changes(history)
    assert repr(chart) == "<Chart of Added and removed URLs of https://a.example by day: 2 rows>"
    chart.save(tmp_path / "chart.html")
    chart.save(str(tmp_path / "chart.html"))
    saved = (tmp_path / "chart.html").read_text("utf-8")
    (frame,) = html.fragment_fromstring(chart._repr_html_(), create_parent=True).iter("iframe")
    assert frame.get("srcdoc") == saved
    assert frame.get("sandbox") == "allow-scripts"
    page = html.document_fromstring(saved)
    assert page.cssselect("figure")[0].get("data-chart") == "updown"
    assert [[cell.text for cell in row] for row in page.iter("tr")] == [
        ["Day", "Added", "Removed"],
        ["2026-11-01", "2", "2"],
        ["2026-11-02", "1", "1"],
    ]
    assert page.cssselect(".note")[0].text == "in total: 3 added, 3 removed"


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        pytest.param(plots.lastmod, TypeError, "such as result.urls, and not a History", id="no-rows"),
        pytest.param(lambda _: plots.lastmod(None), TypeError, "and not a NoneType", id="nothing"),
        pytest.param(lambda _: plots.lastmod([{"lastmod": AT}]), TypeError, "and not a list", id="list"),
        pytest.param(lambda _: plots.lastmod(dated(AT)["lastmod"]), TypeError, "and not a TimestampArray", id="column"),
        pytest.param(lambda _: plots.lastmod({"loc": ["a"]}), HarvestError, "result.urls, and not loc", id="no-dates"),
        pytest.param(lambda _: plots.lastmod({"lastmod": ["a"]}), HarvestError, "it has the type string", id="text"),
        pytest.param(lambda _: plots.urls(dated()), TypeError, "the history of one site, .* UrlBatch", id="no-runs"),
        pytest.param(lambda _: plots.changes(None), TypeError, "the history of one site, .* NoneType", id="no-history"),
        pytest.param(lambda one: plots.urls(one).save("a.png"), HarvestError, "^a.png: a chart is saved as", id="png"),
        pytest.param(lambda one: plots.urls(one).save("no/a.html"), FileNotFoundError, "no", id="no-folder"),
    ],
)
def test_wrong_arguments(
    history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Any, error: type[Exception], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        make(history)
    assert [*tmp_path.iterdir()] == []


def test_the_package_has_them_as_an_attribute() -> None:
    assert sitemap_harvest.plots is plots
