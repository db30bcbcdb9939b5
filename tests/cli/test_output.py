"""Tables on standard output, and the values of ``-o``."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from sitemap_harvest.cli import output
from sitemap_harvest.errors import ArgumentError
from sitemap_harvest.formats.decompressors import zstd
from sitemap_harvest.integration.default_settings import FEED_EXPORTERS
from tests.snapshots.store.making import SITE, Making, locs

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.quick

URL = "https://a.example/" + "folder/" * 20 + "page"
ROWS = pa.table({"rule": ["lastmod/in-the-future"], "count": [1234], "loc": [URL], "text": ["words " * 30 + "end"]})


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, width: int, **options: list[str]) -> list[str]:
    """Return the lines of the table on a terminal."""
    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(sys, "stdout", terminal)
    output.show(ROWS, **options)  # type: ignore[arg-type]
    return terminal.getvalue().splitlines()


@pytest.mark.parametrize("forced", [False, True], ids=["plain", "with-colours-forced"])
def test_a_redirected_table_has_all_the_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, forced: bool
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    if forced:
        monkeypatch.setenv("FORCE_COLOR", "1")
    output.show(ROWS)
    (_, _, line) = capsys.readouterr().out.splitlines()
    assert [cell.strip() for cell in line.split("│")] == [str(cell[0].as_py()) for cell in ROWS.columns]


def test_values_are_text(capsys: pytest.CaptureFixture[str]) -> None:
    kinds = {"list": pa.list_(pa.string()), "map": pa.map_(pa.string(), pa.string()), "time": pa.timestamp("us", "UTC")}
    values = {"list": ["a", "b"], "map": {"ü": None}, "time": datetime(2026, 11, 1, 3, 0, 1, 5, tzinfo=UTC)}
    output.show(pa.Table.from_pylist([values, {}], pa.schema(kinds)))
    assert capsys.readouterr().out.splitlines()[2:] == [
        'a, b │ {"ü": null} │ 2026-11-01 03:00:01',
        "     │             │",
    ]


def test_a_table_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, 83) == [
        "rule                  ┃ count ┃ loc                      ┃ text",
        "━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━",
        "lastmod/in-the-future │  1234 │ https://a…er/folder/page │ words words words words",
        "                      │       │                          │ words words words words",
        "                      │       │                          │ words words words words",
        "                      │       │                          │ words words words words",
        "                      │       │                          │ words words words words",
        "                      │       │                          │ words words words words…",
    ]


def test_columns_are_left_out_of_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(monkeypatch, 60, whole=["rule"], optional=["loc", "count"])
    assert lines[0] == "rule                  ┃ count ┃ text"
    assert lines[-1] == "Columns not shown, because the lines would be too long: loc"


def test_another_encoding_has_ascii_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Terminal, "encoding", "cp1252")
    head, rule, *_ = shown(monkeypatch, 300)
    assert (head.isascii(), rule.isascii(), rule[:25]) == (True, True, "-" * 22 + "+" + "-" * 2)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("rows.csv", ("rows.csv", "csv"), id="suffix"),
        pytest.param("ROWS.TSV", ("ROWS.TSV", "tsv"), id="upper-case"),
        pytest.param("rows.txt:jsonl", ("rows.txt", "jsonl"), id="format"),
        pytest.param("csv", ("-", "csv"), id="format-alone"),
        pytest.param("./csv:csv", ("./csv", "csv"), id="file-with-the-name-of-a-format"),
        pytest.param("-", ("-", "jsonl"), id="dash"),
        pytest.param("-:tsv", ("-", "tsv"), id="dash-and-format"),
        pytest.param(r"C:\\rows.csv", (r"C:\\rows.csv", "csv"), id="drive"),
    ],
)
def test_an_output_is_a_file_or_a_format(value: str, expected: tuple[str, str]) -> None:
    assert output.file_and_format(value) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("-", "-:jsonl", id="dash"),
        pytest.param("urls.csv", "urls.csv", id="suffix"),
        pytest.param("urls.db:csv", "urls.db:csv", id="format"),
        pytest.param("urls.duckdb?mode=upsert", "urls.duckdb?mode=upsert:duckdb", id="parameters"),
        pytest.param("urls.sqlite?table=a:sqlite", "urls.sqlite?table=a:sqlite", id="parameters-and-format"),
        pytest.param("duckdb:///data/urls.ddb", "duckdb:///data/urls.ddb:duckdb", id="scheme"),
        pytest.param("postgresql://me@db.example:5433", "postgresql://me@db.example:5433:postgresql", id="port"),
        pytest.param("s3://bucket/urls", "s3://bucket/urls", id="uri-without-suffix"),
        pytest.param("urls.bogus?mode=upsert", None, id="unknown-suffix"),
        pytest.param("urls", None, id="no-suffix"),
    ],
)
def test_outputs_of_crawls_get_the_formats_that_scrapy_does_not_find(name: str, expected: str | None) -> None:
    assert output.with_format(name, FEED_EXPORTERS) == expected


@pytest.mark.parametrize(("has_separators", "number"), [(True, "1,234,567"), (False, "1234567")])
def test_counts_have_separators_of_thousands(
    capsys: pytest.CaptureFixture[str], number: str, *, has_separators: bool
) -> None:
    row = {"count": 1_234_567, "id": "1234567", "share": 1234.5, "is_new": True}
    output.show(pa.Table.from_pylist([row]), has_separators=has_separators)
    assert [cell.strip() for cell in capsys.readouterr().out.splitlines()[-1].split("│")] == [
        number, "1234567", "1234.5", "True"
    ]  # fmt: skip


@pytest.mark.parametrize("value", ["", "rows", "rows.xls", "rows.csv:xls", "CSV.", ":csv"])
def test_an_unknown_format_is_an_error(value: str) -> None:
    with pytest.raises(ArgumentError, match=f"^output {value}: the suffix must be one of jsonl, "):
        output.file_and_format(value)


@pytest.mark.quick
@pytest.mark.parametrize(("suffix", "unpack"), [("gz", gzip), ("zst", zstd), ("bz2", bz2), ("xz", lzma)])
def test_an_output_is_compressed_by_its_name(tmp_path: Path, suffix: str, unpack: Any) -> None:
    plain, path = tmp_path / "rows.csv", tmp_path / f"rows.csv.{suffix}"
    for place in (plain, path):
        assert output.write(map(output.AnyBatch, ROWS.to_batches()), str(place)) == 1
    assert unpack.decompress(path.read_bytes()) == plain.read_bytes()


@pytest.mark.quick
def test_csv_for_excel_begins_with_a_byte_order_mark(tmp_path: Path) -> None:
    for name in ("rows.csv", "excel.csv:csv-excel"):
        output.write(map(output.AnyBatch, ROWS.to_batches() * 2), str(tmp_path / name))
    assert (tmp_path / "excel.csv").read_bytes() == codecs.BOM_UTF8 + (tmp_path / "rows.csv").read_bytes()


@pytest.mark.quick
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.parquet.gz", "Parquet is already compressed"),
        ("a.xlsx.gz", "workbook is already compressed"),
        ("a.gz", "must be one of"),
        ("a.txt.gz", "must be one of"),
    ],
)
def test_an_output_that_cannot_be_compressed_is_rejected(name: str, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        output.file_and_format(name)


@pytest.mark.parametrize("name", ["parquet", "xlsx"])
def test_a_binary_format_is_not_written_to_a_terminal(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    with pytest.raises(ArgumentError, match=f"output {name}: the format is binary, and standard output is a terminal"):
        output.write([], name)
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("name", ["csv", "json", "jsonl", "tsv", "xml"])
@pytest.mark.parametrize("batches", [0, 1, 2])
def test_text_ends_with_one_line_feed(name: str, batches: int, tmp_path: Path) -> None:
    path = tmp_path / f"rows.{name}"
    output.write(map(output.AnyBatch, ROWS.to_batches() * batches), str(path))
    text = path.read_bytes()
    assert text == (text.rstrip(b"\r\n") + (b"\r\n" if name == "csv" else b"\n") if text else b"")
    assert text or name == "jsonl" or (name in {"csv", "tsv"} and not batches)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("https://a.example", "", id="as-stored"),
        pytest.param("https://A.example/", "", id="written-otherwise"),
        pytest.param("a.example", "", id="only-the-host"),
        pytest.param("http://a.example", "http://a.example is stored as https://a.example\n", id="other-scheme"),
        pytest.param("www.a.example", "www.a.example is stored as https://a.example\n", id="read-there"),
    ],
)
def test_a_site_with_another_name_in_the_store_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, told: str
) -> None:
    making = Making(tmp_path)
    making.run({f"{SITE}/s.xml": locs(1)}, base="https://www.a.example")
    assert output.stored_site(making.store, name).site == SITE
    assert capsys.readouterr().err == told
