from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sitemap_harvest import Change, ChangeSummary, FoundBy, Kind, Outcome, SitemapRecord, UrlBatch, UrlEntry
from sitemap_harvest.errors import SchemaError
from sitemap_harvest.model import (
    Alternate,
    Attribute,
    ChangeBatch,
    DataObject,
    Extra,
    Image,
    LedgerBatch,
    News,
    Price,
    Restriction,
    SummaryBatch,
    Video,
)
from sitemap_harvest.model.batch import JSON
from tests.model.records import records_of

FULL = UrlEntry(
    loc="https://example.com/a",
    sitemap="https://example.com/sitemap.xml",
    position=1,
    alternates=(Alternate(href="https://example.com/de", hreflang="de"), Alternate(media="print")),
    images=(Image(loc="https://example.com/a.png", caption="A"),),
    videos=(
        Video(
            title="T",
            restriction=Restriction(relationship="deny", value="GB"),
            prices=(Price(value="1.99", currency="EUR"), Price(value="2")),
            tags=("a", "b"),
            other=(Attribute(name="id", value="7"),),
        ),
        Video(),
    ),
    news=(News(publication_name="N"),),
    mobile=True,
    pagemap=(DataObject(type="document", attributes=(Attribute(name="x", value="1"),)),),
    extra=(Extra(name="{urn:x}a", attributes=(Attribute(name="b"),)), Extra(name="{urn:x}c", depth=1, text="t")),
)


def test_a_full_row_round_trips() -> None:
    assert list(UrlBatch.of([FULL]).rows()) == [FULL]


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=40, deadline=None)
@given(st.lists(records_of(UrlEntry), max_size=3))
def test_rows_round_trip(rows: list[UrlEntry]) -> None:
    assert list(UrlBatch.of(rows).rows()) == rows


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=20, deadline=None)
@given(st.lists(records_of(SitemapRecord), max_size=3))
def test_ledger_rows_round_trip(rows: list[SitemapRecord]) -> None:
    back = list(LedgerBatch.of(rows))
    assert back == rows


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=40, deadline=None)
@given(st.lists(records_of(Change), max_size=3), st.lists(records_of(ChangeSummary), max_size=2))
def test_changes_round_trip(rows: list[Change], summaries: list[ChangeSummary]) -> None:
    assert list(ChangeBatch.of(rows)) == rows
    assert list(SummaryBatch.of(summaries)) == summaries


def row(number: int) -> UrlEntry:
    return UrlEntry(loc=f"https://example.com/{number}", sitemap="https://example.com/sitemap.xml", position=number)


def test_a_batch_is_filtered_and_sliced_by_columns() -> None:
    batch = UrlBatch.of([row(1), row(2), row(3)])
    assert len(batch) == 3
    assert list(batch.filter(pa.array([True, None, False]))) == [row(1)]
    assert list(batch.slice(1)) == [row(2), row(3)]
    assert list(batch.slice(1, 1)) == [row(2)]
    assert batch["position"].to_pylist() == [1, 2, 3]
    assert repr(batch) == "<UrlBatch of 3 rows>"


def test_other_columns_are_rejected() -> None:
    with pytest.raises(SchemaError, match="UrlBatch requires the columns"):
        UrlBatch(pa.RecordBatch.from_pydict({"loc": ["https://example.com/"]}))


@pytest.mark.parametrize("kind", Kind)
def test_only_documents_that_list_urls_are_readable(kind: Kind) -> None:
    assert kind.is_readable == (kind in {Kind.SITEMAP, Kind.INDEX, Kind.LIST, Kind.FEED, Kind.ROBOTS, Kind.LINKS})


def test_enums_are_strings() -> None:
    assert {str(outcome) for outcome in Outcome if outcome.has_rows} == {"read", "partial", "too-large"}
    assert str(FoundBy.WELL_KNOWN) == "well-known"


def test_columns_can_be_replaced() -> None:
    batch = UrlBatch.of([FULL, FULL])
    marked = batch.with_columns(in_scope=pa.array([True, False]), scope_reason=pa.array([None, "path"]))
    assert [(row.loc, row.in_scope, row.scope_reason) for row in marked] == [
        (FULL.loc, True, None),
        (FULL.loc, False, "path"),
    ]
    assert batch["in_scope"].null_count == 2


def _entries(*added: dict[str, object]) -> list[UrlEntry]:
    entries = [
        UrlEntry(loc=f"https://example.com/{number}", sitemap="s", position=number) for number in range(len(added))
    ]
    for entry, fields in zip(entries, added, strict=True):
        entry.update(fields)
    return entries


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        pytest.param(["a", None], pa.string(), id="text"),
        pytest.param([1, None], pa.int64(), id="numbers"),
        pytest.param([1.5, 2], pa.float64(), id="fractions"),
        pytest.param([True, False], pa.bool_(), id="truth"),
        pytest.param([datetime(2026, 1, 1, tzinfo=UTC), None], pa.timestamp("us", tz="UTC"), id="instants"),
        pytest.param([["a"], []], pa.list_(pa.string()), id="lists"),
        pytest.param([None, None], pa.null(), id="nothing"),
        pytest.param([1, "a"], JSON, id="mixed"),
        pytest.param([{"a": [1]}, {"b": None}], JSON, id="dictionaries"),
        pytest.param([2**70, 1], JSON, id="large"),
        pytest.param(["\ud800", "\u00e4"], JSON, id="half a surrogate pair"),
    ],
)
def test_an_added_field_is_a_column_of_its_type(values: list[object], kind: pa.DataType) -> None:
    batch = UrlBatch.of(_entries(*({"x": value} for value in values)))
    assert batch["x"].type == kind
    assert [row["x"] for row in batch.rows()] == values


@pytest.mark.parametrize(
    ("value", "json"),
    [
        pytest.param({"a": {1}}, {"a": [1]}, id="set"),
        pytest.param(date(2026, 1, 2), "2026-01-02", id="date"),
        pytest.param(datetime(2026, 1, 2), "2026-01-02T00:00:00", id="instant-without-zone"),  # noqa: DTZ001
        pytest.param(Decimal("1.50"), "1.50", id="decimal"),
        pytest.param(b"a\xff", "a\\xff", id="bytes"),
        pytest.param(
            {"a": Alternate(href="x")}, {"a": dict.fromkeys(("hreflang", "media", "type")) | {"href": "x"}}, id="record"
        ),
        pytest.param({(1, 2): 3}, "{(1, 2): 3}", id="key-of-another-type"),
        pytest.param({"a": float("nan")}, "{'a': nan}", id="nan"),
    ],
)
def test_a_value_without_a_column_type_is_json(value: object, json: object) -> None:
    batch = UrlBatch.of(_entries({"x": value}))
    assert batch["x"].type == JSON
    assert [row["x"] for row in batch.rows()] == [json]


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        pytest.param({}, {"x": 1}, pa.int64(), id="missing"),
        pytest.param({"x": None}, {"x": "a"}, pa.string(), id="null"),
        pytest.param({"x": 1}, {"x": 1.5}, pa.float64(), id="numbers"),
        pytest.param({"x": 1}, {"x": "a"}, JSON, id="mixed"),
        pytest.param({"x": [1]}, {"x": {"a": 1}}, JSON, id="nested"),
    ],
)
def test_batches_with_different_added_columns_are_joined(
    first: dict[str, object], second: dict[str, object], kind: pa.DataType
) -> None:
    batch = UrlBatch.joined([UrlBatch.of(_entries(fields)) for fields in (first, second, {})])
    assert batch["x"].type == kind
    assert [row["x"] for row in batch.rows()] == [first.get("x"), second.get("x"), None]


def test_a_batch_takes_added_columns_after_its_own() -> None:
    batch = UrlBatch.of(_entries({}, {}))
    more = batch.with_columns(x=pa.array([1, 2]), title=pa.array(["a", "b"]))
    assert [(row["x"], row.title) for row in more.with_columns(x=pa.array(["3", "4"])).rows()] == [
        ("3", "a"),
        ("4", "b"),
    ]
    assert len(more.filter(pa.array([True, False])).slice(0)) == 1
    with pytest.raises(SchemaError, match="with different names"):
        UrlBatch(batch.arrow.append_column("loc", pa.array(["a", "b"])))
    with pytest.raises(SchemaError, match="requires the columns"):
        UrlBatch(batch.arrow.add_column(0, "x", pa.array(["a", "b"])))


@pytest.mark.parametrize(
    "fields", [{"images": [{"path": "a.jpg"}]}, {"loc": None}, {"position": "2"}, {"tags": 1, "title": 5}]
)
def test_a_value_that_does_not_fit_its_column_is_an_error(fields: dict[str, object]) -> None:
    with pytest.raises((pa.ArrowException, ValueError, TypeError)):
        UrlBatch.of(_entries({}, fields))


def test_a_column_of_the_schema_is_not_replaced_by_one_of_another_type() -> None:
    batch = UrlBatch.of([row(1)])
    with pytest.raises(
        SchemaError, match=r"the column 'priority' of UrlBatch has the type double, .* of type string: "
    ):
        batch.with_columns(priority=pa.array(["high"]))
    assert batch.with_columns(priority=pa.array([0.5]))["priority"].to_pylist() == [0.5]
