"""All formats, compared with a standard reader of each, for random rows."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from lxml import etree

from sitemap_harvest import Change, ChangeBatch, ChangeKind, UrlBatch, UrlEntry
from sitemap_harvest.export import (
    csv_header,
    csv_lines,
    json_objects,
    tsv_header,
    tsv_lines,
    utf8_bytes,
    xml_elements,
)
from sitemap_harvest.model import Alternate
from tests.model.records import records_of
from tests.model.test_batch import FULL

PLAIN = UrlEntry(loc="https://example.com/", sitemap="https://example.com/sitemap.xml", position=1)
ODD = UrlEntry(
    loc='https://example.com/?a=1&b="<>"', sitemap="", position=2, title="a,b\r\n\x7f\u2028é\x00", priority=1e-05
)
ADDED = Change(
    kind=ChangeKind.ADDED, loc="https://example.com/", site="https://example.com", sitemap="", run="2", baseline="1"
)
CHANGED = replace(
    ADDED, kind=ChangeKind.CHANGED, fields=("lastmod", "title"), before={"lastmod": None, "title": 'a "b"\n'}, after={}
)
some = settings(suppress_health_check=[HealthCheck.too_slow], max_examples=40, deadline=None)
rows_and_start = st.tuples(st.lists(records_of(UrlEntry), min_size=1, max_size=4), st.integers(0, 2))


def columns_of(rows: list[UrlEntry], start: int = 0) -> tuple[dict[str, Any], list[UrlEntry]]:
    """Return the columns of *rows* from *start* on, as a slice of a batch, and those rows."""
    arrow = UrlBatch.of(rows).slice(start).arrow
    return dict(zip(arrow.schema.names, arrow.columns, strict=True)), rows[start:]


def as_text(value: Any) -> str:
    assert isinstance(value, datetime)
    return value.isoformat()


@some
@given(rows_and_start, st.booleans())
@example(([FULL, PLAIN, ODD], 0), False)
@example(([FULL, PLAIN, ODD], 1), True)
@example(([PLAIN, PLAIN], 0), False)
def test_json_matches_the_output_of_python(given_rows: tuple[list[UrlEntry], int], ascii_only: bool) -> None:
    columns, rows = columns_of(*given_rows)
    wanted = [json.dumps(asdict(row), ensure_ascii=ascii_only, default=as_text) + ",\n" for row in rows]
    assert json_objects(columns, len(rows), ascii_only=ascii_only, end=",\n").to_pylist() == wanted


@some
@given(rows_and_start, st.sampled_from(",;\t|^]"))
@example(([FULL, PLAIN, ODD], 1), ",")
def test_csv_round_trips(given_rows: tuple[list[UrlEntry], int], delimiter: str) -> None:
    columns, rows = columns_of(*given_rows)
    text = csv_header(columns, delimiter=delimiter) + "".join(
        csv_lines(columns, len(rows), delimiter=delimiter).to_pylist()
    )
    names, *lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    assert names == list(columns)
    assert lines == [[cell(value) for value in asdict(row).values()] for row in rows]


@some
@given(rows_and_start)
@example(([FULL, PLAIN, ODD], 1))
def test_tsv_round_trips(given_rows: tuple[list[UrlEntry], int]) -> None:
    columns, rows = columns_of(*given_rows)
    text = tsv_header(columns) + "".join(tsv_lines(columns, len(rows)).to_pylist())
    *lines, end = text.split("\n")
    names, *values = [[unescaped(one) for one in line.split("\t")] for line in lines]
    assert (names, end) == (list(columns), "")
    assert values == [[None if value is None else cell(value) for value in asdict(row).values()] for row in rows]


def unescaped(text: str) -> str | None:
    if text == r"\N":
        return None
    return re.sub(r"\\(.)", lambda match: {"t": "\t", "n": "\n", "r": "\r"}.get(match[1], match[1]), text)


def test_tsv_escapes_what_has_a_meaning() -> None:
    columns = {"a\tb": pa.array(["\t\n\r\\", "\\N", "", None])}
    assert tsv_header(columns) == "a\\tb\n"
    assert tsv_lines(columns, 4).to_pylist() == [r"\t\n\r\\" + "\n", r"\\N" + "\n", "\n", r"\N" + "\n"]


def test_json_has_no_number_that_json_lacks() -> None:
    columns = {"n": pa.array([1.5, float("nan"), float("inf"), None])}
    assert json_objects(columns, 4).to_pylist() == ['{"n": 1.5}', *['{"n": null}'] * 3]


def cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, datetime):
        return value.isoformat()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list | tuple) else str(value)


def test_csv_distinguishes_empty_and_absent_texts() -> None:
    columns, _ = columns_of([UrlEntry(loc="a", sitemap="", position=1)])
    assert csv_lines({name: columns[name] for name in ("loc", "sitemap", "title")}, 1).to_pylist() == ['a,"",\r\n']


@pytest.mark.deep
@some
@given(rows_and_start)
@example(([FULL, PLAIN, ODD], 1))
def test_xml_round_trips(given_rows: tuple[list[UrlEntry], int]) -> None:
    columns, rows = columns_of(*given_rows)
    items = "".join(xml_elements(columns, len(rows), name="item", end="\n").to_pylist())
    root = etree.fromstring(f"<items>{items}</items>".encode())
    assert [content(item) for item in root] == [as_elements(asdict(row)) for row in rows]


def content(element: Any) -> Any:
    """Return ``[[name, content], ...]``, or the text of an element without children."""
    return [[child.tag, content(child)] for child in element] if len(element) else element.text or ""


def as_elements(value: Any) -> Any:
    if isinstance(value, dict):
        return [[name, as_elements(item)] for name, item in value.items() if item is not None] or ""
    if isinstance(value, list | tuple):
        return [["value", as_elements(item)] for item in value] or ""
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "\ufffd", cell(value))


@some
@given(st.lists(records_of(Change), min_size=1, max_size=4), st.integers(0, 2))
@example([CHANGED, ADDED], 0)
@example([ADDED, CHANGED], 1)
@example([ADDED, ADDED], 0)
def test_maps_are_objects_in_json_json_in_csv_and_elements_in_xml(rows: list[Change], start: int) -> None:
    arrow, rows = ChangeBatch.of(rows).slice(start).arrow, rows[start:]
    columns = dict(zip(arrow.schema.names, arrow.columns, strict=True))
    wanted = [asdict(row) for row in rows]
    assert json_objects(columns, len(rows)).to_pylist() == [json.dumps(row, ensure_ascii=False) for row in wanted]
    lines = csv.reader(io.StringIO("".join(csv_lines(columns, len(rows)).to_pylist()), newline=""))
    assert list(lines) == [[cell(value) for value in row.values()] for row in wanted]
    items = "".join(xml_elements(columns, len(rows), name="item").to_pylist())
    root = etree.fromstring(f"<items>{items}</items>".encode())
    assert [content(item) for item in root] == [as_elements(row) for row in wanted]


def test_the_bytes_of_a_column_are_those_of_its_slice() -> None:
    column = UrlBatch.of([PLAIN, ODD, PLAIN])["loc"]
    assert bytes(utf8_bytes(column.slice(1, 1))) == ODD.loc.encode()
    assert bytes(utf8_bytes(column.slice(0, 0))) == b""


@pytest.mark.parametrize(
    ("row", "line"),
    [
        pytest.param(
            PLAIN,
            '{"loc": "https://example.com/", "alternates": null, "priority": null}',
            id="nulls",
        ),
        pytest.param(
            UrlEntry(loc="é", sitemap="", position=1, priority=1.0, alternates=(Alternate(href="a\nb"),)),
            '{"loc": "é", "alternates": [{"href": "a\\nb", "hreflang": null, "media": null, "type": null}],'
            ' "priority": 1.0}',
            id="values",
        ),
    ],
)
def test_one_line_of_json(row: UrlEntry, line: str) -> None:
    columns, _ = columns_of([row])
    assert json_objects({n: columns[n] for n in ("loc", "alternates", "priority")}, 1).to_pylist() == [line]


def test_no_rows_are_no_objects():
    nothing = pa.py_buffer(b"")
    columns = {
        name: pa.Array.from_buffers(pa.string(), 0, [validity, pa.py_buffer(bytes(4)), nothing])
        for name, validity in (("a", None), ("b", nothing), ("c", None))
    }
    assert json_objects(columns, 0).to_pylist() == []


ADDED = pa.ExtensionArray.from_storage(
    pa.json_(pa.string()), pa.array(['"say \\"ö\\", a"', '{"a": [1, "ö"]}', "1.5", None, '"\\ud800"'])
)


def test_a_column_of_json_values_is_json_in_json_and_text_elsewhere() -> None:
    assert json_objects({"x": ADDED}, 4).to_pylist()[:2] == ['{"x": "say \\"ö\\", a"}', '{"x": {"a": [1, "ö"]}}']
    ascii_only = json_objects({"x": ADDED}, 4, ascii_only=True).to_pylist()
    assert all(line.isascii() for line in ascii_only)
    assert [json.loads(line)["x"] for line in ascii_only] == ['say "ö", a', {"a": [1, "ö"]}, 1.5, None, "\ud800"]
    lines = "".join(csv_lines({"x": ADDED}, 5).to_pylist())
    assert [row[0] if row else "" for row in csv.reader(io.StringIO(lines))] == [
        'say "ö", a', '{"a": [1, "ö"]}', "1.5", "", "?"
    ]  # fmt: skip
    assert tsv_lines({"x": ADDED}, 5).to_pylist() == ['say "ö", a\n', '{"a": [1, "ö"]}\n', "1.5\n", "\\N\n", "?\n"]
    assert xml_elements({"x": ADDED}, 5, name="i").to_pylist()[1:4] == [
        '<i><x>{"a": [1, "ö"]}</x></i>', "<i><x>1.5</x></i>", "<i></i>"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        pytest.param("größe", "größe", id="valid"),
        pytest.param("a b", "a_x0020_b", id="space"),
        pytest.param("1st", "_x0031_st", id="digit"),
        pytest.param("", "_", id="empty"),
        pytest.param("<x>", "_x003C_x_x003E_", id="markup"),
    ],
)
def test_a_name_that_xml_cannot_have_is_escaped(name: str, tag: str) -> None:
    (text,) = xml_elements({name: pa.array(["v"])}, 1, name="i").to_pylist()
    assert [(child.tag, child.text) for child in etree.fromstring(text)] == [(tag, "v")]
