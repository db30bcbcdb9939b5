"""Workbooks, read by another library; and the folder of their temporary files."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import tempfile
import tracemalloc
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import openpyxl
import pytest
from lxml import etree
from openpyxl.utils.escape import unescape

from sitemap_harvest import workbook
from sitemap_harvest.files import TemporaryFolder
from sitemap_harvest.workbook import Workbook

pytestmark = pytest.mark.quick

CHEESE = "\U0001f9c0"  # two units of UTF-16


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that ``TMPDIR`` names."""
    path = tmp_path / "tmp"
    path.mkdir()
    monkeypatch.setenv("TMPDIR", str(path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return path


def cells(*values: Any) -> tuple[list[Any], Workbook, BytesIO]:
    """Return *values* as read back from one row, the workbook and its file."""
    book = Workbook(file := BytesIO())
    book.sheet("rows", {f"c{number}": 10 for number in range(len(values))}).write([values])
    book.close()
    sheet = openpyxl.load_workbook(file)["rows"]
    read = [sheet.cell(2, column + 1) for column in range(len(values))]
    assert all(cell.data_type in "snb" and cell.hyperlink is None for cell in read)
    return [unescape(cell.value) if isinstance(cell.value, str) else cell.value for cell in read], book, file


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("=cmd|' /C calc'!A0", id="formula"),
        pytest.param("+1", id="plus"),
        pytest.param("-1", id="minus"),
        pytest.param("@SUM(1)", id="at"),
        pytest.param("\t=1+1", id="tab"),
        pytest.param("{=1+1}", id="array-formula"),
        pytest.param("https://www.example.com/", id="url"),
        pytest.param("internal:Sheet2!A1", id="link-to-a-sheet"),
        pytest.param("12", id="number"),
        pytest.param("_x0041_", id="escape"),
        pytest.param("a\r\nb\n", id="line-ends"),
        pytest.param("<script>alert(1)</script>&amp;", id="markup"),
        pytest.param("<r><t>x</t></r>", id="rich-text"),
        pytest.param("<r></is></c><c r='B2'><f>1+1</f></c><c><is></r>", id="cell-in-rich-text"),
        pytest.param(CHEESE * 16_383, id="long-text-beyond-the-bmp"),
    ],
)
def test_text_is_only_text(text: str) -> None:
    read, book, file = cells(text)
    assert (read, book.cut, book.replaced) == ([text], {}, 0)
    assert b"<f>" not in ZipFile(file).read("xl/worksheets/sheet1.xml")


def test_what_a_cell_cannot_contain_is_replaced_or_cut_and_counted() -> None:
    read, book, _ = cells("\x00a\ufffe", "\ud800", "x" * 32_768, "y" * 32_767, "x" + CHEESE * 16_384)
    assert read == ["\ufffda\ufffd", "?", f"{'x' * 32_766}…", "y" * 32_767, f"x{CHEESE * 16_382}…"]
    assert (book.cut, book.replaced) == ({"c2": 1, "c4": 1}, 2)


def test_numbers_that_excel_cannot_hold_are_text() -> None:
    read, _, _ = cells(2**53, -(2**53) - 1, 0.25, float("nan"), float("-inf"), True, False, None, "")
    assert read == [2**53, "-9007199254740993", 0.25, "nan", "-inf", True, False, None, ""]
    assert [type(value) for value in read[5:7]] == [bool, bool]


def test_sheets_are_filled_in_turns_and_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbook, "_MOST_ROWS", 3)
    book = Workbook(file := BytesIO())
    names = ["Urls", "urls", "a/b", "", "History", CHEESE * 20, CHEESE * 20]
    sheets = [book.sheet(name, {"n": 10, "text": 20}) for name in names]
    for number in range(3):
        for sheet in sheets:
            sheet.write([(number, str(number))])
    book.close(["a/b"])
    read = openpyxl.load_workbook(file)
    long = CHEESE * 15
    assert read.sheetnames == [
        "a_b", "a_b 2", "Urls", "Urls 3", "urls 2", "urls 4", "items", "items 2", "History 2", "History 3",
        long, f"{CHEESE * 14} 3", f"{CHEESE * 14} 2", f"{CHEESE * 14} 4",
    ]  # fmt: skip
    names = etree.fromstring(ZipFile(file).read("xl/workbook.xml")).findall(".//{*}definedName")
    filtered = [(int(one.attrib["localSheetId"]), (one.text or "").rpartition("!")[0].strip("'")) for one in names]
    assert sorted(filtered) == list(enumerate(read.sheetnames))
    for one in read:
        first = [("n", "text"), (0, "0"), (1, "1")]
        assert list(one.iter_rows(values_only=True)) in (first, [("n", "text"), (2, "2")])
        assert (one.freeze_panes, one.auto_filter.ref, one["A1"].font.b) == ("A2", f"A1:B{one.max_row}", True)
        assert (one.column_dimensions["A"].width, one.column_dimensions["B"].width) == (10.7109375, 20.7109375)


def test_memory_is_flat(temporary: Path) -> None:
    book = Workbook(BytesIO())
    sheet = book.sheet("rows", {"n": 10, "text": 20})
    sheet.write([(0, "")])
    tracemalloc.start()
    sheet.write((number, f"{number:>1000}") for number in range(10_000))
    book.close()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000  # bytes, of ten million


def test_a_workbook_without_sheets_can_be_opened() -> None:
    book = Workbook(file := BytesIO())
    book.close()
    assert openpyxl.load_workbook(file).sheetnames == ["Sheet1"]


def test_temporary_files_are_removed(temporary: Path, tmp_path: Path) -> None:
    book = Workbook(BytesIO())
    book.sheet("rows", {"n": 10}).write([[1]])
    assert len(list(temporary.glob("*/*"))) == 1
    book.close()
    assert list(temporary.iterdir()) == []
    book = Workbook(BytesIO())
    book.sheet("rows", {"n": 10}).write([[1]])
    del book
    gc.collect()
    assert list(temporary.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_an_error_of_the_system(temporary: Path) -> None:
    with Path("/dev/full").open("wb", buffering=0) as file:
        book = Workbook(file)
        book.sheet("rows", {"n": 10}).write([[1]])
        with pytest.raises(OSError, match="No space left"):
            book.close()
    assert list(temporary.iterdir()) == []


_HOLD = (
    "import sys; from sitemap_harvest.files import TemporaryFolder as F; f = F('x'); print(f.path); sys.stdin.read()"
)


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot lock folders")
def test_the_folder_of_a_killed_process_is_removed_by_the_next(temporary: Path) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", _HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    active, killed = (Path(process.stdout.readline().strip()) for process in processes if process.stdout)
    processes[1].send_signal(signal.SIGKILL)
    processes[1].communicate()
    assert sorted(temporary.iterdir()) == sorted([active, killed])
    own = TemporaryFolder("x")
    assert sorted(temporary.iterdir()) == sorted([active, own.path])
    own.remove()
    processes[0].communicate("")
    assert list(temporary.iterdir()) == []
