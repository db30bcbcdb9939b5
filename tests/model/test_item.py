"""Records take the fields of a project's pipelines, as attributes and as keys."""

from __future__ import annotations

import copy
import pickle

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sitemap_harvest.config.arguments import EMIT
from sitemap_harvest.integration.items import item_types  # registers the adapter
from sitemap_harvest.model import UrlBatch, UrlEntry
from tests.model.records import records_of


@pytest.fixture
def item() -> UrlEntry:
    return UrlEntry(loc="https://a.example/1", sitemap="https://a.example/s.xml", position=1)


def test_a_field_is_an_attribute_and_a_key(item):
    assert item["loc"] == item.loc == item.get("loc")
    item["title"] = "t"
    item.source = "x"
    assert (item.title, item["source"]) == ("t", "x")
    assert "source" in item
    assert "price" not in item
    assert item.get("price", 1) == 1
    with pytest.raises(KeyError, match="price"):
        item["price"]


def test_it_behaves_as_a_dictionary(item):
    names = UrlBatch.schema().names
    assert list(item.keys()) == list(dict(item)) == names
    assert len(item) == len(names)
    item.update({"a": 1}, b=2)
    assert item.setdefault("a", 3) == 1
    assert item.setdefault("c", 3) == 3
    assert item.pop("b") == 2
    assert item.pop("b", None) is None
    del item["c"]
    assert dict(item.items()) == {**item} == {**dict(item), "a": 1}
    assert list(item.values())[-1] == 1


def test_a_deleted_field_is_absent(item):
    del item["title"]
    assert "title" not in item
    assert item.title is None
    (row,) = UrlBatch.of([item]).rows()
    assert row["title"] is None


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, UrlEntry.copy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_a_copy_has_all_fields_and_is_independent(item, duplicate):
    item["source"] = "x"
    other = duplicate(item)
    assert other == item
    assert repr(other).endswith("source='x')")
    other["source"] = "y"
    assert (item.source, other == item) == ("x", False)


def test_names_are_strings(item):
    with pytest.raises(TypeError, match="names of fields are strings, not 5"):
        item[5] = 1
    with pytest.raises(TypeError, match=r"use keys\(\) or items\(\) in a loop"):
        list(item)
    with pytest.raises(TypeError, match="not 5"):
        item.update({5: 1})


def test_itemadapter_adds_and_deletes_fields(item):
    adapter = item_types.ItemAdapter(item)
    adapter["source"] = "x"
    assert item.source == "x"
    del adapter["source"]
    assert "source" not in adapter
    assert list(adapter) == list(adapter.field_names()) == UrlBatch.schema().names
    assert len(adapter) == len(item)
    assert adapter.asdict() == dict(item)
    assert dict(adapter.get_field_meta("source")) == {}
    assert "json_schema_extra" in adapter.get_field_meta("lastmod")


@pytest.mark.parametrize("kind", EMIT.values())
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=5, deadline=None)
@given(data=st.data())
def test_a_dictionary_of_json_values_becomes_the_same_record_again(kind, data):
    row = data.draw(records_of(kind.row_type))
    (batch,) = item_types.gathered(kind, list(item_types.json_dicts(kind.of([row]))))
    assert isinstance(batch, kind)
    assert list(batch.rows()) == [row]


def test_added_columns_of_any_type_become_json_values(item):
    added = {
        "small": pa.array([1], pa.int32()),
        "coded": pa.array(["a"]).dictionary_encode(),
        "seen": pa.array([0], pa.timestamp("ms")),
        "raw": pa.array([b"x"]),
        "parts": pa.array([{"a": [1]}]),
        "none": pa.nulls(1),
    }
    (row,) = item_types.json_dicts(UrlBatch.of([item]).with_columns(**added))
    assert {name: row[name] for name in added} == {
        "small": 1,
        "coded": "a",
        "seen": "1970-01-01T00:00:00+00:00",
        "raw": "x",
        "parts": {"a": [1]},
        "none": None,
    }


def test_a_dictionary_with_a_value_of_another_type_stays_an_item_of_the_package(item):
    (plain,) = item_types.json_dicts(UrlBatch.of([item]))
    (made,) = item_types.gathered(UrlBatch, [{**plain, "lastmod": "1 May", "position": "first"}])
    (row,) = made.rows()
    assert (type(row), row.lastmod, row.position) == (UrlEntry, "1 May", "first")
