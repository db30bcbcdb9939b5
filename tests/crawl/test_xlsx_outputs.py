"""Excel workbooks as outputs, read by another library, and compared with Parquet."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from zipfile import ZipFile

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl.utils.escape import unescape

from sitemap_harvest.cli import output, plain
from sitemap_harvest.integration.items.xlsx_exporter import XlsxExporter
from sitemap_harvest.model import LedgerBatch, UrlBatch, UrlEntry
from tests.cli.storing import command, made
from tests.site import urlset

FULL = Path(__file__).parents[2] / "fixtures/xml/full.xml"
LONG = "https://a.example/" + "x" * (2048 - 18)
HOSTILE = f"""<?xml version="1.0"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"
 xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">
<url><loc>{LONG}</loc><lastmod>1812-01-01T00:00:00Z</lastmod><changefreq>=cmd|' /C calc'!A0</changefreq></url>
<url><loc>https://a.example/käse-\U0001f9c0</loc><lastmod>1900-02-28</lastmod><changefreq>+1+1</changefreq></url>
<url><loc>https://a.example/3</loc><lastmod>1900-03-01</lastmod><changefreq>-2</changefreq></url>
<url><loc>https://a.example/4</loc><lastmod>1969-12-31T23:59:59.5Z</lastmod><changefreq>@SUM(1)</changefreq></url>
<url><loc>https://a.example/5</loc><lastmod>9999-12-31T23:59:59Z</lastmod>
<changefreq>&lt;script&gt;alert(1)&lt;/script&gt;</changefreq>
<image:image><image:loc>https://a.example/i</image:loc><image:title>=1+1</image:title></image:image></url>
<url><loc>https://a.example/6</loc><changefreq>&lt;r&gt;&lt;t&gt;_x0041_&lt;/t&gt;&lt;/r&gt;</changefreq></url>
</urlset>"""  # fmt: skip


def sheets(path):
    """Return the rows of each sheet as dictionaries. No cell is a formula or a link."""
    read = {}
    book = openpyxl.load_workbook(path, read_only=True)
    for sheet in book:
        cells = list(sheet.iter_rows())
        assert {cell.data_type for row in cells for cell in row} <= set("snbd")
        header, *rows = [[_value(cell.value) for cell in row] for row in cells]
        read[sheet.title] = [dict(zip(header, row, strict=True)) for row in rows]
    book.close()
    with ZipFile(path) as file:
        assert not [name for name in file.namelist() if "_rels/sheet" in name]  # where links would be
    return read


def _value(value):
    if isinstance(value, datetime):
        return about(value)
    return unescape(value) if isinstance(value, str) else value


class About(datetime):
    """A time to the millisecond: a cell has a fraction of days."""

    __hash__ = None

    def __eq__(self, other):
        return abs(self.replace(tzinfo=UTC) - other.replace(tzinfo=UTC)) <= timedelta(milliseconds=1)


def about(moment):
    return About.fromisoformat(moment.replace(tzinfo=None).isoformat())


def expected(value):
    """Return what the cell of a value has that Parquet has, too."""
    if isinstance(value, datetime):
        shown = datetime(1900, 3, 1, tzinfo=UTC) <= value
        return about(value) if shown else value.isoformat()
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False, default=lambda moment: moment.isoformat())
    return value


def time(*parts):
    """Return a time without a zone, as Excel has it."""
    return datetime(*parts, tzinfo=UTC).replace(tzinfo=None)


def entry(**fields):
    return UrlEntry(**{"site": "https://a.example", "sitemap": "https://a.example/s.xml", "position": 1, **fields})


def rows_of(path):
    """Return the rows of a Parquet file as a workbook has them."""
    rows = pq.read_table(path).to_pylist(maps_as_pydicts="strict")
    return [{name: expected(value) for name, value in row.items()} for row in rows]


def exported(*items, **options):
    exporter = XlsxExporter(file := io.BytesIO(), **options)
    exporter.start_exporting()
    for item in items:
        exporter.export_item(item)
    exporter.finish_exporting()
    return sheets(file), exporter


@pytest.mark.parametrize("way", ["auto", "rows"])
@pytest.mark.parametrize("name", ["full.xml", "hostile.xml"])
def test_a_workbook_has_the_rows_of_parquet(crawl, tmp_path, name, way):
    source = tmp_path / name
    source.write_text(HOSTILE if name == "hostile.xml" else FULL.read_text(encoding="utf-8"), encoding="utf-8")
    kinds = {"urls": "UrlEntry", "sitemaps": "SitemapRecord", "sites": "SiteRecord"}
    feeds = {
        f"{tmp_path}/{kind}.parquet": {"format": "parquet", "item_classes": [f"sitemap_harvest.{record}"]}
        for kind, record in kinds.items()
    }
    crawl(
        sitemap=source,
        emit="urls,sitemaps,sites",
        feeds=feeds | {f"{tmp_path}/all.xlsx": {"format": "xlsx", "overwrite": True}},
        settings={"SITEMAP_HARVEST_ITEMS": way},
    )
    read = sheets(tmp_path / "all.xlsx")
    assert list(read) == ["urls", "sitemaps", "problems", "sites"]
    for kind in kinds:
        assert read[kind] == rows_of(tmp_path / f"{kind}.parquet")
    if name == "hostile.xml":
        assert [row["lastmod"] for row in read["urls"]] == [
            "1812-01-01T00:00:00+00:00", "1900-02-28T00:00:00+00:00", time(1900, 3, 1),
            time(1969, 12, 31, 23, 59, 59, 500_000), time(9999, 12, 31, 23, 59, 59), None,
        ]  # fmt: skip
        assert (read["urls"][0]["loc"], read["urls"][5]["changefreq"]) == (LONG, "<r><t>_x0041_</t></r>")
        (document,) = read["sitemaps"]
        found = [row for row in read["problems"] if row["code"] == "changefreq/unknown"]
        (problem,) = [one for one in json.loads(document["problems"]) if one["code"] == "changefreq/unknown"]
        assert found == [
            {
                "url": document["url"], "root": document["root"], "code": "changefreq/unknown", "severity": "notice",
                "count": 6, "detail": problem["detail"], "samples": json.dumps(problem["samples"], ensure_ascii=False),
            }
        ]  # fmt: skip


@pytest.mark.quick
def test_times_show_that_they_are_in_utc():
    _, exporter = exported(UrlBatch.of([entry(loc="https://a.example/", lastmod=datetime(2025, 3, 9, tzinfo=UTC))]))
    book = openpyxl.load_workbook(exporter._file)
    cell = book["urls"]["G2"]
    assert (book["urls"]["G1"].value, cell.value) == ("lastmod", time(2025, 3, 9))
    assert (cell.number_format, cell.is_date) == ('yyyy-mm-dd hh:mm:ss "UTC"', True)
    assert book["urls"].auto_filter.ref == "A1:W2"
    assert [book["urls"].column_dimensions[name].width for name in "AG"] == [19.7109375, 24.7109375]


@pytest.mark.quick
def test_what_a_cell_cannot_hold_is_counted_in_the_log(caplog):
    row = entry(loc="https://a.example/\0", lastmod_text="\U0001f9c0" * 16_384, changefreq="\x0b")
    read, exporter = exported(UrlBatch.of([row]))
    assert read["urls"][0]["loc"] == "https://a.example/\ufffd"
    assert read["urls"][0]["lastmod_text"] == "\U0001f9c0" * 16_383 + "…"
    assert exporter.left_out == {}
    assert list(exporter.flaws()) == ["1 value of the field lastmod_text is cut: a cell can hold 32,767 characters"]
    assert not exporter.has_all_values
    assert [record.getMessage() for record in caplog.records] == [
        "2 values contain characters that a cell cannot hold: they become U+FFFD; other formats preserve them",
    ]


@pytest.mark.quick
@pytest.mark.parametrize(
    ("fields", "urls", "sitemaps"),
    [
        pytest.param(["outcome", "loc", "none"], ["loc"], ["outcome"], id="list"),
        pytest.param({"url": "document", "loc": "=1+1"}, ["=1+1"], ["document"], id="renamed"),
        pytest.param(["problems"], None, ["problems"], id="no-column-of-a-kind"),
    ],
)
def test_the_fields_of_the_feed_are_the_columns_of_each_sheet_that_has_them(fields, urls, sitemaps):
    batch = UrlBatch.of([entry(loc="https://a.example/")])
    read, exporter = exported(batch, LedgerBatch.of([]), fields_to_export=fields)
    wanted = {"urls": urls} if urls else {}
    wanted |= {"sitemaps": sitemaps} | ({"problems": ["url"]} if "problems" in sitemaps else {})
    assert list(read) == list(wanted)
    assert [list(row) for row in read.get("urls", ())] == ([urls] if urls else [])
    assert exporter.missing == {"none"} & set(fields)


@dataclass
class Book:
    title: str
    year: object = None


class History(Book):
    pass


@pytest.mark.quick
def test_items_of_other_kinds_have_a_sheet_for_each_class():
    instant = datetime(2025, 3, 9, 12, tzinfo=UTC)
    read, exporter = exported(
        Book("=A1", instant),
        {"a": 1, "b": "=1", "c": [1, "x"]},
        History("x"),
        *({"a": value, "n": None} for value in ("\ud800", 1.5, True, None, {"k": "v"}, 2**60)),
        *({"a": 0} for _ in range(1_000)),
        {"late": "x", "a": 2},
    )
    assert read["Book"] == [{"title": "=A1", "year": time(2025, 3, 9, 12)}]
    assert read["History 2"] == [{"title": "x", "year": None}]
    values = [row["a"] for row in read["items"]]
    assert values[:7] == [1, "?", 1.5, True, None, '{"k": "v"}', "1152921504606846976"]
    assert values[7:] == [0] * 1_000 + [2]
    assert read["items"][0] == {"a": 1, "b": "=1", "c": '[1, "x"]', "n": None}
    assert exporter.left_out == {"late": 1}


@pytest.mark.quick
def test_columns_that_appear_late_are_left_out_and_counted():
    batch = UrlBatch.of([entry(loc="https://a.example/")] * 3)
    late = batch.with_columns(late=pa.array([1, None, 2]))
    read, exporter = exported(batch, {}, late, Book("x"), batch)
    assert [len(rows) for rows in read.values()] == [9, 1]
    assert exporter.left_out == {"late": 2}


@pytest.mark.quick
def test_values_of_a_query_are_what_excel_shows():
    values = {
        "day": pa.array([date(2025, 3, 9), date(1899, 1, 1), None]),
        "local": pa.array([time(2025, 3, 9, 12), time(1899, 1, 1), None]),
        "far": pa.array([400_000_000_000_000_000, 0, None]).cast(pa.timestamp("us", "UTC")),
        "sum": pa.array([Decimal(12), Decimal(10**20), None], pa.decimal128(38, 0)),
        "float": pa.array([0.5, float("nan"), float("inf")]),
        "nothing": pa.nulls(3),
    }
    batch = plain.plain(pa.RecordBatch.from_pydict(values), keeps_dates=True)
    read, _ = exported(output.AnyBatch(batch), output.AnyBatch(batch.slice(0, 0)))
    assert [list(row.values()) for row in read["rows"]] == [
        [time(2025, 3, 9), time(2025, 3, 9, 12), "14645-06-30T15:06:40+00:00", 12, 0.5, None],
        ["1899-01-01", "1899-01-01T00:00:00", time(1970, 1, 1), str(10**20), "nan", None],
        [None, None, None, None, "inf", None],
    ]


def test_the_commands_write_workbooks(tmp_path):
    made(tmp_path / "s")
    run = command("query", "select loc, lastmod, lastmod::date as day from urls", "-O", "rows.xlsx", cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, "40 rows\n")
    rows = sheets(tmp_path / "rows.xlsx")["rows"]
    assert len(rows) == 40
    assert all(row["day"].date() == row["lastmod"].date() for row in rows)
    for action, name in ((["diff", "a.example"], "changes"), (["audit"], "findings")):
        for suffix in ("xlsx", "parquet"):
            run = command(*action, "-O", f"{name}.{suffix}", cwd=tmp_path)
            assert run.returncode == 0, run.stderr
        read = sheets(tmp_path / f"{name}.xlsx")
        assert read == {name: rows_of(tmp_path / f"{name}.parquet")}
        assert read[name]
    assert run.returncode == 0, run.stderr
    run = command("audit", "--details", "*", "-O", "details.xlsx", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert list(sheets(tmp_path / "details.xlsx")) == ["occurrences"]


@pytest.mark.quick
def test_a_run_without_rows_writes_the_columns_of_all_kinds(crawl, tmp_path):
    (tmp_path / "s.xml").write_text(urlset("https://a.example/"))
    feeds = {f"{tmp_path}/a.xlsx": {"format": "xlsx"}}
    crawl(sitemap=tmp_path / "s.xml", emit="urls,changes", include="nothing", store=tmp_path / "store", feeds=feeds)
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    assert [(sheet.title, sheet.max_row, sheet["A1"].value) for sheet in book] == [
        ("urls", 1, "loc"),
        ("changes", 1, "kind"),
    ]


@pytest.mark.quick
def test_a_workbook_cannot_be_appended_to_or_compressed(crawl, tmp_path):
    (tmp_path / "s.xml").write_text(urlset("https://a.example/"))
    (tmp_path / "a.xlsx").write_bytes(b"old")
    run = crawl(sitemap=tmp_path / "s.xml", emit="urls", options=("-o", str(tmp_path / "a.xlsx")), calm=False)
    assert "already exists, and files of this format cannot be appended to" in run.log
    run = crawl(sitemap=tmp_path / "s.xml", emit="urls", options=("-O", str(tmp_path / "a.xlsx.gz")), calm=False)
    assert "an Excel workbook is already compressed, so remove .gz from the name" in run.log
    assert (tmp_path / "a.xlsx").read_bytes() == b"old"


WITHOUT = """
import sys
from sitemap_harvest.cli.main import main
from sitemap_harvest.integration import default_settings
default_settings.find_spec = lambda name: None
sys.exit(main(sys.argv[1:], program="sitemap-harvest"))
"""


def test_a_workbook_needs_its_extra_before_anything_is_requested(tmp_path):
    (tmp_path / "s.xml").write_text(urlset("https://a.example/"))
    (tmp_path / "a.xlsx").write_bytes(b"old")
    for action in (["crawl", "s.xml"], ["query", "select 1", "--store", "s"]):
        program = [sys.executable, "-c", WITHOUT, *action, "-O", "a.xlsx"]
        run = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert run.returncode == 2, run.stderr
        (line,) = [line for line in run.stderr.splitlines() if "XlsxWriter" in line]
        assert line.endswith("a.xlsx: XlsxWriter is not installed: pip install 'scrapy-sitemap-harvest[xlsx]'")
        assert "Traceback" not in run.stderr
    assert (tmp_path / "a.xlsx").read_bytes() == b"old"


def test_the_extra_is_not_needed_by_an_exporter_of_the_project(tmp_path):
    (tmp_path / "s.xml").write_text(urlset("https://a.example/"))
    own = 'FEED_EXPORTERS={"xlsx": "scrapy.exporters.JsonLinesItemExporter"}'
    program = [sys.executable, "-c", WITHOUT, "crawl", "s.xml", "-O", "a.xlsx", "-s", own]
    run = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert json.loads((tmp_path / "a.xlsx").read_bytes())["loc"] == "https://a.example/"


def test_a_killed_run_leaves_the_file_as_it_was_and_the_next_removes_what_it_left(crawl, tmp_path):
    (tmp_path / "s.xml").write_text(urlset("https://a.example/"))
    (temporary := tmp_path / "tmp").mkdir()
    (folder := tmp_path / "out").mkdir()
    path = folder / "a.xlsx"
    path.write_bytes(b"old")
    options = {
        "sitemap": tmp_path / "s.xml",
        "emit": "urls",
        "feeds": {str(path): {"format": "xlsx", "overwrite": True}},
        "environment": {"TMPDIR": str(temporary)},
    }
    killers = {
        "FEED_EXPORTERS": {"xlsx": "tests.crawl.parts.KilledXlsxExporter"},
        "EXTENSIONS": {"tests.crawl.parts.KilledAt": 1},
    }
    for name, value in killers.items():
        process = crawl.start(**options, settings={name: value, "KILLED_AT": "item_scraped"})
        log, _ = process.communicate()
        assert process.returncode == -9, log
        assert path.read_bytes() == b"old"
        assert len(list(temporary.glob("sitemap-harvest-xlsx-*"))) <= 1
    crawl(**options)
    assert len(sheets(path)["urls"]) == 1
    assert list(folder.iterdir()) == [path]
    assert not list(temporary.iterdir())
