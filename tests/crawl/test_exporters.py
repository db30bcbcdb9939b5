"""Feeds: the same rows in every format, whether URLs travel in batches or one by one."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import re
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lxml import etree

from sitemap_harvest.integration.default_settings import FEED_EXPORTERS
from sitemap_harvest.integration.items.csv_exporters import CsvExporter, TsvExporter
from sitemap_harvest.integration.items.exporters import JsonExporter, ParquetExporter, XmlExporter
from sitemap_harvest.integration.items.lost_items import LostRows
from sitemap_harvest.model import UrlBatch, UrlEntry
from sitemap_harvest.model.batch import JSON
from tests.crawl.crawling import lines
from tests.site import numbered, urlset

FORMATS = ("jsonl", "json", "csv", "tsv", "xml", "parquet")
RICH = """<?xml version="1.0"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml"
 xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" xmlns:my="urn:my">
<url><loc>https://a.example/1?a=1&amp;b=2</loc><lastmod>2025-03-09T14:00:00.5+01:00</lastmod>
<priority>0.8</priority></url>
<url><loc>https://a.example/zwei-käse-\U0001f9c0</loc><lastmod>2025</lastmod>
<changefreq>say "hi", &lt;you&gt;</changefreq>
<xhtml:link rel="alternate" hreflang="de" href="https://a.example/de"/>
<xhtml:link rel="alternate" hreflang="fr" href="https://a.example/fr"/></url>
<url><loc>https://a.example/3</loc><priority>1</priority>
<image:image><image:loc>https://a.example/i.png</image:loc>
<image:title>Ein Käse</image:title></image:image><my:note kind="x">one
two</my:note></url>
</urlset>"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "rich.xml"
    path.write_text(RICH, encoding="utf-8")
    return path


def in_formats(folder, formats=FORMATS, **options):
    folder.mkdir(exist_ok=True)
    return {f"{folder}/urls.{name}": {"format": name, **options} for name in formats}


# Each pair of crawls writes every format once, so the options are one row each.
@pytest.mark.parametrize(
    ("options", "settings"),
    [
        pytest.param({}, {}, id="plain"),
        pytest.param({"indent": 4}, {"FEED_EXPORT_FIELDS": ["loc", "lastmod", "images", "none"]}, id="list"),
        pytest.param({"indent": 0, "fields": {"loc": "address", "title": "title", "priority": "p"}}, {}, id="dict"),
        pytest.param({"encoding": None}, {"FEED_EXPORT_ENCODING": ""}, id="no-encoding"),
    ],
)  # fmt: skip
def test_batches_and_rows_give_the_same_files(crawl, tmp_path, source, options, settings):
    written = {}
    for way in ("auto", "rows"):
        folder = tmp_path / way
        run = crawl(
            sitemap=source,
            emit="urls",
            feeds=in_formats(folder, **options),
            settings={"SITEMAP_HARVEST_ITEMS": way, **settings},
        )
        assert run.stats["item_scraped_count"] == 3
        assert ("are processed one by one" in run.log) is False
        written[way] = {name: (folder / f"urls.{name}").read_bytes() for name in FORMATS}
    for name in FORMATS:
        if name == "parquet":
            assert pq.read_table(tmp_path / "auto/urls.parquet").equals(pq.read_table(tmp_path / "rows/urls.parquet"))
        else:
            assert written["auto"][name] == written["rows"][name]
    _agree(written["auto"], options)


def _agree(written, options):
    """The formats hold the same rows."""
    rows = [json.loads(line) for line in written["jsonl"].decode().splitlines()]
    assert len(rows) == 3
    assert json.loads(written["json"].decode()) == rows
    table = pq.read_table(io.BytesIO(written["parquet"]))
    names = [name for name in table.schema.names if name in rows[0]]
    assert names == list(rows[0])
    key = "address" if "address" in rows[0] else "loc"
    locs = table[key].to_pylist()
    assert locs == [row[key] for row in rows]
    assert locs[1] == "https://a.example/zwei-käse-\U0001f9c0"
    cells = list(csv.DictReader(io.StringIO(written["csv"].decode(), newline="")))
    assert [row[key] for row in cells] == locs
    assert list(cells[0]) == table.schema.names
    names, *values = [line.split("\t") for line in written["tsv"].decode().splitlines()]
    assert (names, [row[names.index(key)] for row in values]) == (table.schema.names, locs)
    tree = etree.fromstring(written["xml"])
    assert [item.findtext(key) for item in tree.findall("item")] == locs
    assert "None" not in {element.text for element in tree.iter()}
    if "lastmod" in rows[0]:
        assert tree.findtext("item/lastmod") == rows[0]["lastmod"] == "2025-03-09T13:00:00.500000+00:00"
    if options.get("encoding", "utf-8") is None:
        assert written["jsonl"].isascii()


@pytest.mark.quick
def test_json_has_every_field_and_parquet_has_types(crawl, tmp_path, source):
    crawl(sitemap=source, emit="urls", feeds=in_formats(tmp_path / "out", ("jsonl", "parquet")))
    rows = lines(tmp_path / "out/urls.jsonl")
    assert all(list(row) == UrlBatch.schema().names for row in rows)
    assert rows[0]["title"] is rows[0]["images"] is None
    table = pq.read_table(tmp_path / "out/urls.parquet")
    assert table.schema.equals(UrlBatch.schema())
    assert table.schema.metadata[b"sitemap_harvest.schema"]
    assert table["images"].to_pylist()[2][0]["title"] == "Ein Käse"


@pytest.mark.quick
def test_xml_with_indent_is_indented(crawl, tmp_path, source):
    options = {"indent": 2, "fields": ["loc", "alternates"]}
    crawl(sitemap=source, emit="urls", feeds=in_formats(tmp_path / "out", ("xml",), **options))
    text = (tmp_path / "out/urls.xml").read_text(encoding="utf-8")
    assert "\n  <item>\n    <loc>https://a.example/1?a=1&amp;b=2</loc>\n  </item>\n  <item>\n" in text
    assert "\n    <alternates>\n      <value>\n        <" in text
    assert text.rstrip().endswith("  </item>\n</items>")


def test_a_file_is_appended_to_where_its_format_allows_it(crawl, tmp_path, source):
    kept = tmp_path / "kept.jsonl"
    for _ in range(2):
        crawl(sitemap=source, emit="urls", options=("-o", str(kept)))
    assert len(lines(kept)) == 6


@pytest.mark.parametrize(
    ("suffix", "encoding", "cut", "rest"),
    [
        pytest.param("jsonl", "utf-8", b'{"loc": "https://a.ex', b"\n{", id="jsonl"),
        pytest.param("csv", "utf-8", b"loc\r\nhttps://a.ex", b"\nhttps://", id="csv"),
        pytest.param("tsv", "utf-8", b"loc\nhttps://a.ex", b"\nhttps://", id="tsv"),
        pytest.param("jsonl", "utf-8", b"{}\n", b"{", id="whole"),
        pytest.param("jsonl", "utf-16-le", "{}\n".encode("utf-16-le"), "{".encode("utf-16-le"), id="utf-16"),
    ],
)
def test_appending_completes_a_line_that_a_killed_run_has_cut(crawl, tmp_path, source, suffix, encoding, cut, rest):
    path = tmp_path / f"kept.{suffix}"
    path.write_bytes(cut)
    settings = {"FEED_EXPORT_ENCODING": encoding, "FEED_EXPORT_FIELDS": "loc"}
    crawl(sitemap=source, emit="urls", options=("-o", str(path)), settings=settings)
    assert path.read_bytes().startswith(cut + rest)


COMPRESS = {"csv": bytes, "csv.gz": gzip.compress, "tsv": bytes, "csv.bz2": bz2.compress, "csv.xz": lzma.compress}
EXPAND = {"csv": bytes, "csv.gz": gzip.decompress, "tsv": bytes, "csv.bz2": bz2.decompress, "csv.xz": lzma.decompress}


def appended(crawl, path, given, source, **options):
    """Append the rows of *source* to a file with the content *given*, and return the run, and the file's rows."""
    suffix = "".join(path.suffixes)[1:]
    path.write_bytes(COMPRESS[suffix](given))
    run = crawl(sitemap=source, emit="urls", options=("-o", str(path)), **options)
    text = EXPAND[suffix](path.read_bytes()).decode()
    return run, [row.split("\t" if suffix == "tsv" else ",") for row in text.removeprefix("\ufeff").splitlines()]


@pytest.mark.parametrize(
    ("suffix", "given"),
    [
        ("csv", b"title,loc,priority\r\n"),
        ("csv", b"\xef\xbb\xbftitle,loc,priority\n"),
        ("csv", b'"title","loc","priority"\n'),
        ("csv.gz", b"title,loc,priority\r\n"),
        ("csv.bz2", b"title,loc,priority\r\n"),
        ("csv.xz", b"title,loc,priority\r\n"),
        ("tsv", b"title\tloc\tpriority\n"),
    ],
)
@pytest.mark.parametrize("way", ["auto", "rows"])
def test_appended_rows_have_the_columns_of_the_file_in_its_order(crawl, tmp_path, source, suffix, given, way):
    settings = {"FEED_EXPORT_FIELDS": "loc,priority,title", "SITEMAP_HARVEST_ITEMS": way}
    _, rows = appended(crawl, tmp_path / f"kept.{suffix}", given, source, settings=settings)
    none = "\\N" if suffix == "tsv" else ""
    assert [row[:1] + row[2:] for row in rows[1:]] == [[none, "0.8"], [none, none], [none, "1.0"]]
    assert [row[1][:18] for row in rows[1:]] == ["https://a.example/"] * 3


@pytest.mark.parametrize(
    ("way", "given", "count", "left_out"),
    [
        ("auto", {}, 3, "2 values of the field priority are left out"),
        ("rows", {}, 3, "2 values of the field priority are left out"),
        ("auto", {"min_priority": 0.9}, 1, "1 value of the field priority is left out"),
    ],
)
def test_a_field_that_the_header_lacks_is_left_out_and_counted(crawl, tmp_path, source, way, given, count, left_out):
    settings = {"FEED_EXPORT_FIELDS": "loc,priority", "SITEMAP_HARVEST_ITEMS": way}
    run, rows = appended(crawl, tmp_path / "kept.csv", b"loc,mine\n", source, settings=settings, calm=False, **given)
    assert [len(row) for row in rows] == [2] * (count + 1)
    assert [row[1] for row in rows[1:]] == [""] * count
    assert run.errors[-1].endswith(f"kept.csv: {left_out}")


@pytest.mark.parametrize("suffix", ["jsonl", "json", "csv", "tsv", "xml", "parquet", "xlsx", "duckdb", "sqlite"])
@pytest.mark.parametrize("way", ["auto", "rows"])
def test_a_requested_field_that_no_item_has_is_reported_once(crawl, tmp_path, source, suffix, way):
    path = tmp_path / f"rows.{suffix}"
    settings = {"FEED_EXPORT_FIELDS": "loc,last_mod,title,x", "SITEMAP_HARVEST_ITEMS": way}
    run = crawl(sitemap=source, emit="urls", options=("-O", str(path)), settings=settings, calm=False)
    lines = [line.partition("WARNING: ")[2] for line in run.log.splitlines() if "has the field" in line]
    assert lines == [
        f"{path}: no item has the field last_mod; did you mean lastmod?",
        f"{path}: no item has the field x",
    ]


def test_a_field_that_pipelines_removed_is_reported_without_a_hint(crawl, tmp_path, source):
    settings = {"FEED_EXPORT_FIELDS": "loc,address", "ITEM_PIPELINES": {"tests.crawl.parts.ToDict": 1}}
    path = tmp_path / "rows.csv"
    run = crawl(sitemap=source, emit="urls", options=("-O", str(path)), settings=settings)
    assert re.findall(r"WARNING: (.*has the field.*)", run.log) == [f"{path}: no item has the field loc"]


def test_a_field_that_some_items_have_is_not_reported(crawl, tmp_path, source):
    settings = {"FEED_EXPORT_FIELDS": "loc,added", "ITEM_PIPELINES": {"tests.crawl.parts.SomeAdded": 1}}
    run = crawl(sitemap=source, emit="urls", options=("-O", f"{tmp_path}/rows.csv"), settings=settings)
    assert "has the field" not in run.log
    assert {row.partition(",")[2] for row in (tmp_path / "rows.csv").read_text().splitlines()} == {"added", "yes", ""}


@pytest.mark.parametrize("given", [b"id,name,loc,price,stock\n1,a,b,2,3\n", b"loc;lastmod;priority\n", b"loc,loc\n"])
@pytest.mark.parametrize("pipelines", [{}, {"tests.crawl.parts.Plain": 1}])
def test_rows_are_not_appended_to_a_file_with_a_foreign_header(crawl, tmp_path, source, given, pipelines):
    path = tmp_path / "kept.csv"
    path.write_bytes(given)
    settings = {"ITEM_PIPELINES": pipelines}
    run = crawl(sitemap=source, emit="urls", options=("-o", str(path)), settings=settings, calm=False)
    assert path.read_bytes() == given
    (line,) = run.errors
    assert "its header is " in line
    assert line.endswith("choose another file, or overwrite it with -O")
    assert run.reason == ("finished" if pipelines else "wrong_argument")
    assert run.stats.get("sitemap_harvest/output_failed") == (1 if pipelines else None)
    assert "Traceback" not in run.log


def test_rows_are_not_appended_to_compressed_data_that_end_half_way(crawl, tmp_path, source):
    path = tmp_path / "kept.csv.gz"
    path.write_bytes(given := gzip.compress(b"loc,title\n")[:12])
    run = crawl(sitemap=source, emit="urls", options=("-o", str(path)), calm=False)
    assert path.read_bytes() == given
    assert "cannot be appended to" in run.errors[0]


def test_tsv_has_items_of_other_kinds():
    file = io.BytesIO()
    exporter = TsvExporter(file)
    exporter.start_exporting()
    exporter.export_item({"a": "x\ty", "b": None, "c": 1})
    exporter.export_item({"a": ""})
    exporter.finish_exporting()
    assert file.getvalue() == b"a\tb\tc\nx\\ty\t\\N\t1\n\t\\N\t\\N\n"


def test_items_of_other_kinds_have_the_columns_of_the_first_thousand():
    file = io.BytesIO()
    exporter = CsvExporter(file)
    exporter.start_exporting()
    item = {}
    for number in range(1001):
        item |= {"a": number} | ({"b": datetime(2025, 1, 1, tzinfo=UTC)} if number == 999 else {})
        exporter.export_item(item | ({"c": 1} if number == 1000 else {}))
        item.clear()
    exporter.finish_exporting()
    written = file.getvalue().decode().splitlines()
    assert written[:2] + written[-2:] == ["a,b", "0,", "999,2025-01-01T00:00:00+00:00", "1000,"]
    assert exporter.left_out == {"c": 1}


@pytest.mark.parametrize("suffix", ["parquet", "json", "xml"])
def test_a_file_of_a_format_with_an_end_is_not_appended_to(crawl, tmp_path, source, suffix):
    table = tmp_path / f"kept.{suffix}"
    crawl(sitemap=source, emit="urls", options=("-o", str(table)))
    before = table.read_bytes()
    run = crawl(sitemap=source, emit="urls", options=("-o", str(table)), calm=False)
    (line,) = run.errors
    assert f"{table} already exists" in line
    assert "Traceback" not in run.log
    assert run.reason == "wrong_argument"
    assert table.read_bytes() == before
    crawl(sitemap=source, emit="urls", options=("-O", str(table)))
    assert table.stat().st_size == len(before)


def test_an_unknown_placeholder_in_a_name_ends_the_run_before_a_snapshot_is_kept(crawl, tmp_path, source):
    feeds = {f"{tmp_path}/%(nothing)s.jsonl": {"format": "jsonl"}}
    run = crawl(sitemap=source, emit="urls", feeds=feeds, store=tmp_path / "store", calm=False)
    (line,) = run.errors
    assert line.endswith("FEEDS: unknown placeholder in an output URI: 'nothing'")
    assert "Traceback" not in run.log
    assert run.reason == "wrong_argument"
    assert not list((tmp_path / "store").rglob("*.parquet"))


def test_characters_that_xml_cannot_hold_are_logged(crawl, tmp_path):
    source = tmp_path / "s.txt"
    source.write_text("https://a.example/a\ufffeb\nhttps://a.example/c\uffffd\n")
    feeds = {f"{tmp_path}/urls.{suffix}": {"format": suffix} for suffix in ("xml", "jsonl")}
    run = crawl(sitemap=source, emit="urls", feeds=feeds)
    assert [row["loc"] for row in run.urls] == ["https://a.example/a\ufffeb", "https://a.example/c\uffffd"]
    locs = etree.parse(tmp_path / "urls.xml").xpath("//loc/text()")
    assert locs == ["https://a.example/a\ufffdb", "https://a.example/c\ufffdd"]
    assert run.log.count("XML cannot represent some characters of 'https://a.example/a\\ufffeb'") == 1
    assert run.log.count("XML cannot represent") == 1


def test_a_file_without_urls_has_their_columns(crawl, tmp_path):
    source = tmp_path / "s.xml"
    source.write_text(urlset())
    names = {suffix: f"{tmp_path}/none.{suffix}" for suffix in ("csv", "parquet", "jsonl", "json", "xml")}
    run = crawl(sitemap=source, emit="urls", feeds={name: {"format": suffix} for suffix, name in names.items()})
    assert (tmp_path / "none.csv").read_text().strip().split(",") == UrlBatch.schema().names
    assert pq.read_table(tmp_path / "none.parquet").schema.equals(UrlBatch.schema())
    assert (tmp_path / "none.jsonl").read_text() == ""
    assert json.loads((tmp_path / "none.json").read_text()) == []
    assert etree.parse(tmp_path / "none.xml").getroot().tag == "items"
    assert run.stats["finish_reason"] == "finished"


def test_files_are_split_compressed_and_kept_empty_as_in_scrapy(crawl, tmp_path):
    source = tmp_path / "s.xml"
    source.write_text(urlset(*(f"https://a.example{path}" for path in numbered(25))))
    gz = ["scrapy.extensions.postprocessing.GzipPlugin"]
    urls = ["sitemap_harvest.UrlEntry"]
    nothing = "tests.crawl.parts.Nothing"
    feeds = {
        "part-%(batch_id)d.jsonl": {"format": "jsonl", "batch_item_count": 10, "item_classes": urls},
        "part-%(batch_id)d.parquet": {"format": "parquet", "batch_item_count": 12, "item_classes": urls},
        "all.jsonl.gz": {"format": "jsonl", "postprocessing": gz, "item_classes": urls},
        "ledger.parquet": {"format": "parquet", "item_classes": ["sitemap_harvest.SitemapRecord"]},
        "none.json": {"format": "json", "item_filter": nothing, "store_empty": True},
        "none.parquet": {"format": "parquet", "item_filter": nothing, "store_empty": True},
        "not.json": {"format": "json", "item_filter": nothing, "store_empty": False},
        "odd.csv": {"format": "csv", "fields": ["loc"], "item_filter": "tests.crawl.parts.Odd"},
    }
    run = crawl(sitemap=source, feeds={f"{tmp_path}/{name}": options for name, options in feeds.items()})
    assert [len(lines(tmp_path / f"part-{number}.jsonl")) for number in (1, 2, 3)] == [10, 10, 5]
    assert not (tmp_path / "part-4.jsonl").exists()
    assert [pq.read_table(tmp_path / f"part-{number}.parquet").num_rows for number in (1, 2, 3)] == [12, 12, 1]
    assert len(gzip.decompress((tmp_path / "all.jsonl.gz").read_bytes()).splitlines()) == 25
    assert pq.read_table(tmp_path / "ledger.parquet")["outcome"].to_pylist() == ["read"]
    assert json.loads((tmp_path / "none.json").read_text()) == []
    assert pq.read_table(tmp_path / "none.parquet").num_rows == 0
    assert not (tmp_path / "not.json").exists()
    assert (tmp_path / "odd.csv").read_text().split() == [
        "loc", *(f"https://a.example/p{number}" for number in range(1, 26, 2))
    ]  # fmt: skip
    assert run.stats["item_scraped_count"] == 26
    assert "jsonl feed (25 items)" in run.log


@pytest.mark.parametrize("options", [{}, {"postprocessing": ["scrapy.extensions.postprocessing.GzipPlugin"]}])
@pytest.mark.parametrize("pipelines", [{}, {"tests.crawl.parts.ToDict": 1}])
@pytest.mark.parametrize("way", ["auto", "rows"])
def test_an_appended_csv_keeps_its_only_header(crawl, tmp_path, source, way, pipelines, options):
    settings = {"SITEMAP_HARVEST_ITEMS": way, "ITEM_PIPELINES": pipelines}
    for _ in range(2):
        crawl(sitemap=source, emit="urls", feeds=in_formats(tmp_path, ["csv"], **options), settings=settings)
    written = (tmp_path / "urls.csv").read_bytes()
    text = (gzip.decompress(written) if options else written).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    name = "address" if pipelines else "loc"
    assert [row[name][:18] for row in rows] == ["https://a.example/"] * 6


@pytest.mark.parametrize("way", ["auto", "rows"])
def test_a_field_of_another_type_changes_no_other_field(crawl, tmp_path, source, way):
    settings = {"ITEM_PIPELINES": {"tests.crawl.parts.Retyped": 1}, "SITEMAP_HARVEST_ITEMS": way}
    crawl(sitemap=source, emit="urls", feeds=in_formats(tmp_path), settings=settings)
    table = pq.read_table(tmp_path / "urls.parquet")
    changed = {"lastmod": pa.string(), "priority": JSON, "source": pa.string(), "rank": pa.int64()}
    kinds = {field.name: field.type for field in table.schema}
    assert kinds == {field.name: field.type for field in UrlBatch.schema()} | changed
    instants = ["2025-03-09T13:00:00.500000+00:00", "2025-01-01T00:00:00+00:00", None]
    assert table["lastmod"].to_pylist() == instants
    assert table["priority"].to_pylist() == ['"high"', None, "1.0"]
    assert (table["source"].to_pylist(), table["rank"].to_pylist()) == (["x"] * 3, [1, 2, 3])
    rows = list(csv.DictReader(io.StringIO((tmp_path / "urls.csv").read_text(encoding="utf-8"))))
    assert [row["lastmod"] or None for row in rows] == instants
    assert [(row["priority"], row["title"], row["source"]) for row in rows] == [
        ("high", "", "x"), ("", "", "x"), ("1.0", "", "x")
    ]  # fmt: skip
    root = etree.parse(tmp_path / "urls.xml")
    assert root.xpath("//priority/text()") == ["high", "1.0"]
    assert not root.xpath("//item/title")
    assert [row["priority"] for row in lines(tmp_path / "urls.jsonl")] == ["high", None, 1.0]


def test_values_of_another_type_that_come_late_are_left_out_alone():
    rows = [UrlEntry(loc=f"https://a.example/{number}", sitemap="s", position=number) for number in range(3)]
    file = io.BytesIO()
    exporter = ParquetExporter(file)
    exporter.start_exporting()
    rows[0]["source"] = "x"
    exporter.export_item(UrlBatch.of(rows[:1]))
    rows[1].update(source="y", priority="high", lastmod="2025-01-01T00:00:00+00:00")
    rows[2].update(source="z", priority=0.5)
    for row in rows[1:]:
        exporter.export_item(row)
    exporter.finish_exporting()
    table = pq.read_table(file)
    assert table.schema.names == [*UrlBatch.schema().names, "source"]
    assert table["source"].to_pylist() == ["x", "y", "z"]
    assert table["priority"].to_pylist() == [None, None, 0.5]
    assert table["lastmod"].to_pylist() == [None, datetime(2025, 1, 1, tzinfo=UTC), None]
    assert exporter.left_out == {"priority": 1}


def test_site_records_are_the_same_in_every_format(crawl, tmp_path, source):
    crawl(sitemap=f"{source} {tmp_path / 'missing.xml'}", emit="sites", feeds=in_formats(tmp_path), calm=False)
    found, missing = sorted(lines(tmp_path / "urls.jsonl"), key=lambda row: row["result"], reverse=True)
    assert (found["result"], found["urls"], found["complete"], found["evidence"]) == ("found", 3, True, [])
    (evidence,) = missing["evidence"]
    assert (evidence["outcome"], evidence["reason"]) == ("absent", "there is no such file")
    rows = sorted(pq.read_table(tmp_path / "urls.parquet").to_pylist(), key=lambda row: row["result"], reverse=True)
    assert [row["evidence"] for row in rows] == [[], [evidence]]
    cells = sorted(
        csv.DictReader(io.StringIO((tmp_path / "urls.csv").read_text())), key=lambda row: row["result"], reverse=True
    )
    assert [json.loads(row["evidence"]) for row in cells] == [[], [evidence]]
    assert [(row["complete"], row["cause"]) for row in cells] == [("true", ""), ("false", "")]
    items = etree.parse(tmp_path / "urls.xml").getroot()
    assert sorted(item.findtext("result") for item in items) == ["absent", "found"]
    assert items.findall(".//cause") == []


def rows_of(path, encoding="utf-8"):
    """Return the rows of a file of any format, as far as the tests below compare them: by their URLs."""
    kind = path.suffix[1:]
    if kind == "parquet":
        return pq.read_table(path)["loc"].to_pylist()
    if kind == "xml":
        return [item.findtext("loc") for item in etree.parse(path).getroot()]
    with path.open(encoding=encoding, newline="") as file:
        if kind == "json":
            return [row["loc"] for row in json.load(file)]
        if kind == "jsonl":
            return [json.loads(line)["loc"] for line in file]
        if kind == "csv":
            return [row["loc"] for row in csv.DictReader(file)]
        return [line.split("\t")[0] for line in file][1:]


FAILED = "the exporter failed on 1 item, which is missing from this output. The first is the UrlEntry "


@pytest.mark.parametrize("way", ["auto", "rows"])
def test_a_row_that_an_exporter_fails_on_is_missing_only_from_its_file(crawl, tmp_path, way):
    urls = [f"https://a.example{path}" for path in numbered(6)]
    (tmp_path / "s.xml").write_text(urlset(*urls))
    parts = {f"{tmp_path}/part-%(batch_id)d.jsonl": {"format": "jsonl", "batch_item_count": 1, "overwrite": True}}
    run = crawl(
        sitemap=tmp_path / "s.xml",
        emit="urls",
        feeds=parts | in_formats(tmp_path / "out"),
        settings={"ITEM_PIPELINES": {"tests.crawl.parts.Unwritable": 1}, "SITEMAP_HARVEST_ITEMS": way},
        calm=False,
    )
    whole = dict.fromkeys(FORMATS, urls)
    lacking = [url for url in urls if not url.endswith("/p2")]
    assert {name: rows_of(tmp_path / f"out/urls.{name}") for name in FORMATS} == whole | {
        "json": lacking,
        "jsonl": lacking,
    }
    assert sorted(path.name for path in tmp_path.glob("part-*")) == [f"part-{part}.jsonl" for part in (1, 3, 4, 5, 6)]
    reason = f"{FAILED}{urls[1]}: TypeError: Object of type bytes is not JSON serializable"
    files = ("part-2.jsonl", "out/urls.jsonl", "out/urls.json")
    assert sorted(line.partition("ERROR: ")[2] for line in run.errors) == sorted(
        f"{tmp_path}/{name}: {reason}" for name in files
    )
    assert "Traceback" not in run.log
    assert run.stats["sitemap_harvest/lost_items_of_outputs"] == 3


@pytest.mark.parametrize("way", ["auto", "rows"])
@pytest.mark.parametrize(("encoding", "fitting"), [("latin-1", [0, 2]), ("cp1252", [0, 2]), ("ascii", [0])])
def test_a_character_that_the_encoding_lacks_loses_at_most_its_row(crawl, tmp_path, source, way, encoding, fitting):
    run = crawl(
        sitemap=source,
        emit="urls",
        feeds=in_formats(tmp_path / "out", encoding=encoding),
        settings={"SITEMAP_HARVEST_ITEMS": way},
        calm=False,
    )
    urls = ["https://a.example/1?a=1&b=2", "https://a.example/zwei-käse-\U0001f9c0", "https://a.example/3"]
    written = {name: rows_of(tmp_path / f"out/urls.{name}", encoding) for name in FORMATS}
    lossy = [urls[row] for row in fitting]
    assert written == dict.fromkeys(FORMATS, urls) | {"csv": lossy, "tsv": lossy}
    assert len(run.errors) == 2
    assert all(
        line.endswith(
            f"{encoding} does not have this character: set FEED_EXPORT_ENCODING, or encoding in FEEDS, to utf-8"
        )
        for line in run.errors
    )
    assert "Traceback" not in run.log
    assert "stays as it was" not in run.log
    assert run.stats["sitemap_harvest/lost_items_of_outputs"] == 2 * (3 - len(fitting))


@pytest.mark.parametrize("way", ["auto", "rows"])
def test_an_exporter_that_fails_as_a_whole_affects_no_other_and_leaves_its_file_as_it_was(crawl, tmp_path, source, way):
    names = ("out.csv", "out.lst", "out.jsonl")
    for name in names:
        (tmp_path / name).write_text("old")
    feeds = {
        f"{tmp_path}/out.csv": {"format": "csv", "item_export_kwargs": {"none": 1}, "overwrite": True},
        f"{tmp_path}/out.lst": {"format": "lst", "overwrite": True},
        f"{tmp_path}/out.jsonl": {"format": "jsonl", "overwrite": True},
    }
    exporters = {**FEED_EXPORTERS, "lst": "tests.crawl.parts.EndlessExporter"}
    settings = {"SITEMAP_HARVEST_ITEMS": way, "FEED_EXPORTERS": exporters}
    run = crawl(sitemap=source, emit="urls", feeds=feeds, settings=settings, calm=False)
    assert [(tmp_path / name).read_text() == "old" for name in names] == [True, True, False]
    assert len(rows_of(tmp_path / "out.jsonl")) == 3
    assert sorted(tmp_path.glob("*out.*")) == sorted(tmp_path / name for name in names)
    csv_error, list_error = sorted(line.partition("ERROR: ")[2] for line in run.errors)
    assert csv_error.startswith(
        f"{tmp_path}/out.csv: the exporter failed on 3 items, which are missing from this output"
    )
    assert list_error == f"{tmp_path}/out.lst: the exporter failed on the end of the file"
    assert f"{tmp_path}/out.csv stays as it was: none of its items can be written" in run.log
    assert f"{tmp_path}/out.lst stays as it was: the new file cannot be written" in run.log
    assert run.log.count("Traceback") == 2


def test_an_item_of_another_kind_that_cannot_be_written_leaves_no_half_of_an_element():
    file = io.BytesIO()
    exporter = XmlExporter(file)
    exporter.start_exporting()
    exporter.lost = LostRows()
    exporter.export_item({"a": 1, 2: "no name"})
    exporter.export_item({"a": 2})
    exporter.finish_exporting()
    assert [item.findtext("a") for item in etree.fromstring(file.getvalue())] == ["2"]
    assert exporter.lost.count == 1


@pytest.mark.parametrize("indent", [None, 0, 2])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32-be"])
def test_json_is_readable_in_every_encoding_of_unicode(encoding, indent):
    entry = UrlEntry(loc="https://a.example/\u20ac", key="k", site="s", sitemap="m", position=1)
    file = io.BytesIO()
    exporter = JsonExporter(file, encoding=encoding, indent=indent)
    exporter.start_exporting()
    for item in (UrlBatch.of([entry, entry]), {"loc": "\u20ac"}, UrlBatch.of([entry])):
        exporter.export_item(item)
    exporter.finish_exporting()
    rows = json.loads(file.getvalue().decode(encoding))
    assert [row["loc"] for row in rows] == [entry.loc, entry.loc, "\u20ac", entry.loc]
