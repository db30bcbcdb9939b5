"""The blocks of the documentation that read an output get each value of hostile rows."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sitemap_harvest.cli.output import AnyBatch, write
from tests.docs.howtos import Does, read_page
from tests.docs.places import ROOT

pd = pytest.importorskip("pandas")
pytest.importorskip("polars")

TITLES = [
    '"quoted', 'say "x"', '"whole"', "back\\slash", "\\", "\\N", "\\n", "\\\\t", "a\ttab", "a line\nbreak",
    "a return\rhere", "both\r\n", "NULL", "NaN", "N/A", "nan", "None", "", None, "007", "1e5", "True", " padded ",
    "#comment", "a,b", "\u2028x", "\x0bx", "\x85",
]  # fmt: skip
STEPS = read_page((ROOT / "docs" / "howto" / "write-output-files.md").read_text("utf-8")).steps


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Return a function that runs the block that reads a file with the titles, and returns its names."""
    monkeypatch.chdir(tmp_path)

    def run(output):
        locs = [f"https://a.example/{number}" for number in range(len(TITLES))]
        write([AnyBatch(pa.record_batch({"loc": locs, "lastmod": locs, "title": TITLES}))], output)
        (block,) = [step.body for step in STEPS if step.does is Does.PYTHON and f'"{output}"' in step.body]
        names: dict[str, object] = {}
        exec(block, names)
        return names

    return run


def test_parquet_keeps_texts_and_missing_values(read):
    titles = read("urls.parquet")["frame"]["title"]
    assert [None if pd.isna(title) else title for title in titles] == TITLES


def test_csv_keeps_texts(read):
    names = read("urls.csv")
    assert names["frame"]["title"].tolist() == [title or "" for title in TITLES]
    assert names["table"]["title"].to_list() == TITLES


def test_tsv_keeps_texts_and_missing_values(read):
    names = read("urls.tsv")
    assert names["header"] == ["loc", "lastmod", "title"]
    assert [row[2] for row in names["rows"]] == TITLES
