"""Pipelines of a project that know nothing of the package: their fields reach every feed."""

from __future__ import annotations

import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lxml import etree

from sitemap_harvest.model import UrlBatch
from tests.crawl.crawling import lines

FORMATS = ("jsonl", "json", "csv", "xml", "parquet")
NAMES = UrlBatch.schema().names
WAYS = pytest.mark.parametrize("way", ["auto", "dicts", "rows"])


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "s.xml"
    entries = "".join(
        f"<url><loc>https://a.example/p{number}</loc><lastmod>2025-03-0{number}T01:00:00.5Z</lastmod></url>"
        for number in range(1, 4)
    )
    path.write_text(f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>')
    return path


def harvest(crawl, source, *pipelines, way="auto", formats=FORMATS, calm=True, options=None, **settings):
    """Crawl with *pipelines*, and return the run."""
    order = {f"tests.crawl.ordinary.{name}": 100 + number for number, name in enumerate(pipelines)}
    feeds = {f"{crawl.folder}/out.{name}": {"format": name, "overwrite": True, **(options or {})} for name in formats}
    return crawl(
        sitemap=source,
        emit="urls",
        feeds=feeds,
        settings={"ITEM_PIPELINES": order, "SITEMAP_HARVEST_ITEMS": way, **settings},
        calm=calm,
    )


def written(crawl):
    """Return what is in the feeds, by format."""
    text = {name: (crawl.folder / f"out.{name}").read_text(encoding="utf-8") for name in ("json", "csv", "xml")}
    return {
        "jsonl": lines(crawl.folder / "out.jsonl"),
        "json": json.loads(text["json"]),
        "csv": list(csv.DictReader(io.StringIO(text["csv"], newline=""))),
        "xml": [{child.tag: child.text for child in item} for item in etree.fromstring(text["xml"].encode())],
        "parquet": pq.read_table(crawl.folder / "out.parquet").to_pylist(),
    }


_QUICK = {("SetsKey", "auto"), ("ReturnsDict", "rows")}
_ADD = ("SetsKey", "SetsByAdapter", "SetsLater", "SetsDefault", "Copies", "ReturnsDict", "ReturnsAdapted", "Duplicates")
_ADD_TO_RECORDS = ("SetsAttribute", "Deletes", "AddsColumn")


@pytest.mark.parametrize(
    ("pipeline", "way"),
    [
        pytest.param(pipeline, way, marks=[pytest.mark.quick] if (pipeline, way) in _QUICK else [])
        for pipelines, ways in ((_ADD, ("auto", "dicts", "rows")), (_ADD_TO_RECORDS, ("auto", "rows")))
        for pipeline in pipelines
        for way in ways
    ],
)
def test_an_added_field_reaches_every_feed(crawl, source, pipeline, way):
    run = harvest(crawl, source, pipeline, way=way)
    assert run.stats["item_scraped_count"] == 3
    for form, rows in written(crawl).items():
        assert [(row["loc"], row["source"]) for row in rows] == [
            (f"https://a.example/p{number}", "shop") for number in (1, 2, 3)
        ]
        if form != "xml":
            assert list(rows[0]) == [*NAMES, "source"]
    table = pq.read_schema(crawl.folder / "out.parquet")
    assert list(table)[: len(NAMES)] == list(UrlBatch.schema())
    assert table.field("source").type == pa.string()


@WAYS
@pytest.mark.parametrize("pipeline", ["ReturnsFewerFields", "ReturnsItem"])
def test_an_item_of_another_type_reaches_every_feed(crawl, source, pipeline, way):
    run = harvest(crawl, source, pipeline, way=way)
    assert run.stats["item_scraped_count"] == 3
    for rows in written(crawl).values():
        assert rows == [{"loc": f"https://a.example/p{number}", "source": "shop"} for number in (1, 2, 3)]


@WAYS
def test_added_values_keep_their_types(crawl, source, way):
    harvest(crawl, source, "AddsValues", way=way)
    found = written(crawl)
    added = [{name: row[name] for name in list(row)[len(NAMES) :]} for row in found["jsonl"]]
    assert added == [
        {
            "number": number,
            "share": number / 4,
            "is_odd": number != 2,
            "tags": ["a", "ö"][: number - 1],
            "nested": {"deep": [number, {"x": None}]},
            "mixed": "ö, one" if number == 1 else number,
            "only first": 1 if number == 1 else None,
        }
        for number in (1, 2, 3)
    ]
    assert found["json"] == found["jsonl"]
    cells = [list(row.values())[len(NAMES) :] for row in found["csv"]]
    assert cells[0] == ["1", "0.25", "true", "[]", '{"deep": [1, {"x": null}]}', "ö, one", "1"]
    assert cells[1] == ["2", "0.5", "false", '["a"]', '{"deep": [2, {"x": null}]}', "2", ""]
    assert found["xml"][0]["only_x0020_first"] == "1"
    assert found["xml"][0]["mixed"] == "ö, one"
    schema = pq.read_schema(crawl.folder / "out.parquet")
    types = [str(kind) for kind in schema.types[len(NAMES) :]]
    json_type = "extension<arrow.json>"
    assert types == ["int64", "double", "bool", "list<element: string>", json_type, json_type, "int64"]
    assert [json.loads(row["mixed"]) for row in found["parquet"]] == ["ö, one", 2, 3]


@pytest.mark.parametrize("way", ["auto", "rows"])
def test_a_later_pipeline_gets_what_an_earlier_one_added(crawl, source, way):
    harvest(crawl, source, "AddsColumn", "ReadsSource", way=way, formats=["jsonl"])
    assert {row["again"] for row in lines(crawl.folder / "out.jsonl")} == {"shop shop"}


@pytest.mark.quick
def test_dictionaries_have_the_values_of_a_json_lines_file(crawl, source):
    path = crawl.folder / "written.jsonl"
    harvest(crawl, source, "JsonWriter", way="dicts", WRITTEN=str(path), formats=["jsonl", "parquet"])
    assert path.read_text() == (crawl.folder / "out.jsonl").read_text()
    assert pq.read_schema(crawl.folder / "out.parquet") == UrlBatch.schema()


def test_an_instant_in_a_json_writer_is_an_error_that_names_the_encoder_and_the_setting(crawl, source):
    run = harvest(crawl, source, "JsonWriter", WRITTEN=str(crawl.folder / "w"), formats=["jsonl"], calm=False)
    assert lines(crawl.folder / "out.jsonl") == []
    assert "TypeError('Object of type datetime is not JSON serializable')" in run.errors[0]
    assert run.errors[0].endswith(
        ". To write dates, add cls=ScrapyJSONEncoder (from scrapy.utils.serialize) to json.dumps(), "
        'or set SITEMAP_HARVEST_ITEMS = "dicts"'
    )


@pytest.mark.parametrize("way", ["auto", "rows"])
def test_the_fields_of_a_feed_select_added_ones_too(crawl, source, way):
    harvest(crawl, source, "AddsValues", way=way, options={"fields": {"loc": "url", "nested": "n"}})
    for form, rows in written(crawl).items():
        assert list(rows[0]) == ["url", "n"]
        assert rows[0]["n"] == (
            {"deep": [1, {"x": None}]} if form in {"json", "jsonl"} else '{"deep": [1, {"x": null}]}'
        )


@pytest.mark.parametrize(
    ("pipelines", "way"),
    [(("AddsLate",), "auto"), (("AddsLate",), "rows"), (("ReturnsFewerFields", "AddsLate"), "auto")],
)
def test_values_of_a_late_field_are_counted_where_columns_are_fixed(crawl, tmp_path, pipelines, way):
    source = tmp_path / "s.txt"
    source.write_text("".join(f"https://a.example/p{number}\n" for number in range(1, 12_001)))
    run = harvest(crawl, source, *pipelines, way=way, calm=False)
    found = written(crawl)
    for form in ("jsonl", "json", "xml"):
        assert [int(row.get("late") or 0) for row in found[form]] == [0] * 11_000 + [*range(11_001, 12_001)]
    for form in ("csv", "parquet"):
        assert len(found[form]) == 12_000
        assert "late" not in found[form][0]
    counted = [line.partition("/out.")[2] for line in run.errors if line.endswith("left out")]
    assert counted == [f"{form}: 1,000 values of the field late are left out" for form in ("csv", "parquet")]
    assert len([line for line in run.errors if "Values of the field late are left out of a file" in line]) == 2


def test_a_late_field_has_a_column_if_the_fields_of_the_feed_name_it(crawl, tmp_path):
    source = tmp_path / "s.txt"
    source.write_text("".join(f"https://a.example/p{number}\n" for number in range(1, 12_001)))
    harvest(crawl, source, "AddsLate", options={"fields": ["loc", "late"]})
    for rows in written(crawl).values():
        assert [int(row.get("late") or 0) for row in rows[10_999:11_001]] == [0, 11_001]


@pytest.mark.parametrize("way", ["auto", "rows"])
def test_a_value_that_does_not_fit_its_column_reaches_every_feed(crawl, source, way):
    harvest(crawl, source, "LosesUnion", way=way)
    found = written(crawl)
    for form in ("jsonl", "json"):
        assert [row["images"] for row in found[form]] == [
            [{"url": f"https://a.example/p{number}", "path": "full/a.jpg"}] for number in (1, 2, 3)
        ]
    assert "full/a.jpg" in found["csv"][0]["images"]
    assert [json.loads(row["images"]) for row in found["parquet"]] == [row["images"] for row in found["json"]]
