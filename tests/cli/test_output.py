"""Tables on standard output."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sitemap_harvest.cli import output

ROWS = pa.table({"rule": ["a/b"], "text": ["words " * 20 + "end"], "in": ["/folder" * 20 + "/sitemap.xml"]})


@pytest.mark.quick
def test_a_redirected_table_has_all_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    output.show(ROWS, paths=["in"])
    (_, _, line) = capsys.readouterr().out.splitlines()
    assert [cell.strip() for cell in line.split("│")] == [cell[0].as_py() for cell in ROWS.columns]


@pytest.mark.quick
def test_a_terminal_limits_the_cells(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "200"}.items():
        monkeypatch.setenv(name, value)
    output.show(ROWS, widest=20, paths=["in"])
    (_, _, line) = capsys.readouterr().out.splitlines()
    assert [cell.strip() for cell in line.split("│")] == [
        "a/b", "words words words w…", f"…{('/folder' * 20 + '/sitemap.xml')[-39:]}"
    ]  # fmt: skip
