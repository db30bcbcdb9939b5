from __future__ import annotations

import dataclasses
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitemap_harvest.model import Alternate, Image, News, UrlBatch, Video
from sitemap_harvest.snapshots.store.row_store import KnownRows
from sitemap_harvest.snapshots.store.tables import ROW_COLUMNS, ROW_SCHEMA
from tests.model.records import records_of
from tests.snapshots.store.making import entry

HERE = "https://a.example/1"
WHOLE = entry(
    HERE,
    lastmod=datetime(2026, 1, 1, tzinfo=UTC),
    lastmod_text="2026-01-01",
    priority=0.5,
    alternates=(Alternate(href="https://a.example/de", hreflang="de"),),
    images=(Image(loc="https://a.example/i.png"),),
    videos=(Video(tags=("a",)), Video(tags=("b",))),
)


def stored(rows, first=0):
    """Return *rows* as the row store returns them."""
    arrow = UrlBatch.of(rows).arrow
    columns = [pa.array(np.arange(first, first + len(rows))), *(arrow.column(name) for name in ROW_COLUMNS)]
    return pa.RecordBatch.from_arrays(columns, schema=ROW_SCHEMA)


def found(before, after):
    return KnownRows([stored(before, 10)] if before else []).find(UrlBatch.of(after).arrow).tolist()


@pytest.mark.parametrize(
    ("changes", "ids"),
    [
        pytest.param({}, [10], id="the-same"),
        pytest.param({"position": 7}, [10], id="at-another-position"),
        pytest.param({"lastmod": None}, [-1], id="lastmod"),
        pytest.param({"lastmod_text": "2026-01-01T00:00Z"}, [-1], id="the-same-instant-to-another-letter"),
        pytest.param({"priority": None}, [-1], id="priority"),
        pytest.param({"key": None}, [-1], id="key"),
        pytest.param({"alternates": ()}, [-1], id="alternates-empty"),
        pytest.param({"alternates": None}, [-1], id="alternates-absent"),
        pytest.param({"images": (Image(loc="https://a.example/j.png"),)}, [-1], id="within-an-image"),
        pytest.param({"extra": ()}, [-1], id="empty-where-there-was-none"),
        pytest.param({"videos": (Video(tags=("a", "b")), Video())}, [-1], id="the-tags-of-one-video"),
        pytest.param({"news": (News(),)}, [-1], id="an-article-that-says-nothing"),
        pytest.param({"sitemap": "https://a.example/t.xml"}, [-1], id="of-another-document"),
    ],
)
def test_a_row_is_the_same_only_if_all_columns_are(changes, ids):
    assert found([WHOLE], [dataclasses.replace(WHOLE, **changes)]) == ids


def test_rows_are_found_at_any_position():
    rows = [entry(f"{HERE}{number}") for number in range(5)]
    assert found(rows, [rows[3], entry("https://a.example/new"), rows[0], rows[3]]) == [13, -1, 10, 13]


def test_nothing_is_found_in_an_empty_store():
    assert found([], [WHOLE]) == [-1]


def test_nothing_is_found_of_no_rows():
    batch = UrlBatch.of([WHOLE, entry(HERE)]).arrow
    no_rows = pa.RecordBatch.from_arrays([pa.array([], field.type) for field in batch.schema], schema=batch.schema)
    known = KnownRows([stored([WHOLE])])
    assert [known.find(one).tolist() for one in (batch.slice(1, 0), batch.filter(pa.array([False] * 2)), no_rows)] == [
        [], [], []
    ]  # fmt: skip


def test_a_url_is_known_with_any_metadata():
    rows = KnownRows([stored([WHOLE, entry("no url at all")])])
    others = [entry(HERE), entry("https://a.example/2"), dataclasses.replace(entry("no url at all"), key=None)]
    assert rows.knows(UrlBatch.of(others).arrow).tolist() == [True, False, True]


@pytest.mark.thorough
@settings(max_examples=30)
@given(st.lists(records_of(type(WHOLE)), max_size=4), st.lists(records_of(type(WHOLE)), max_size=4))
def test_equal_rows_are_found_among_random_rows(before, others):
    after = [*reversed(before), *others]
    same = [dataclasses.replace(row, position=0) for row in before]
    ids = found(before, after) if after else []
    for row, number in zip(after, ids, strict=True):
        anywhere = dataclasses.replace(row, position=0)
        assert (number >= 0) == (anywhere in same)
        if number >= 0:
            assert same[number - 10] == anywhere
