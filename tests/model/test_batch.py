from __future__ import annotations

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
