"""Changes in every format: maps stay maps."""

from __future__ import annotations

import csv
import io
import json

import pyarrow.parquet as pq
import pytest
from lxml import etree

from sitemap_harvest import Change, ChangeBatch, ChangeKind
from sitemap_harvest.integration.items.csv_exporters import CsvExporter
from sitemap_harvest.integration.items.exporters import JsonExporter, JsonLinesExporter, ParquetExporter, XmlExporter

pytestmark = pytest.mark.quick

SAID = {"site": "https://a.example", "sitemap": "https://a.example/s.xml", "run": "2", "baseline": "1"}
ADDED = Change(kind=ChangeKind.ADDED, loc="https://a.example/1", **SAID)
BEFORE, AFTER = {"lastmod": None, "title": 'a "b"'}, {"lastmod": "2026", "title": "<c>"}
CHANGED = Change(
    kind=ChangeKind.CHANGED, loc="https://a.example/2", fields=("lastmod", "title"), before=BEFORE, after=AFTER, **SAID
)


@pytest.fixture(params=["batch", "rows"])
def written(request):
    def write(exporter):
        file = io.BytesIO()
        writer = exporter(file)
        writer.start_exporting()
        for item in [ChangeBatch.of([ADDED, CHANGED])] if request.param == "batch" else [ADDED, CHANGED]:
            writer.export_item(item)
        writer.finish_exporting()
        return io.BytesIO(file.getvalue())

    return write


@pytest.mark.parametrize("exporter", [JsonLinesExporter, JsonExporter])
def test_json_has_objects(written, exporter):
    text = written(exporter).getvalue().decode()
    rows = json.loads(text) if exporter is JsonExporter else [json.loads(line) for line in text.splitlines()]
    assert [(row["before"], row["after"]) for row in rows] == [(None, None), (BEFORE, AFTER)]


def test_csv_has_json_in_the_cell(written):
    rows = list(csv.DictReader(io.StringIO(written(CsvExporter).getvalue().decode(), newline="")))
    assert [row["before"] for row in rows] == ["", json.dumps(BEFORE)]


def test_xml_has_elements(written):
    first, second = etree.parse(written(XmlExporter)).getroot()
    assert first.find("before") is None
    assert [(element.tag, element.text) for element in second.find("after")] == list(AFTER.items())
    assert [element.tag for element in second.find("before")] == ["title"]


def test_parquet_has_maps(written):
    table = pq.read_table(written(ParquetExporter))
    assert table.schema.equals(ChangeBatch.schema())
    assert table["before"].to_pylist() == [None, list(BEFORE.items())]
