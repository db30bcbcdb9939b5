"""The notebook of the documentation is executed, against the demo site."""

from __future__ import annotations

import json
import os
import shutil
import sys

import pytest

from tests.docs.places import ROOT
from tests.notebook import as_text, notebook

NOTEBOOK = ROOT / "docs" / "howto" / "explore-a-site.ipynb"
CELLS = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
CODE = ["".join(cell["source"]) for cell in CELLS if cell["cell_type"] == "code"]
SHOWN = [
    (),
    ("HarvestResult, not complete (partly-failed): 58 URLs from 11 documents", "gift-cards.xml: absent: ", "58 rows"),
    ("problems: 5 rows", "lastmod/unreadable"),
    ("blog             16",),
    ("Entries by month of lastmod", "58 rows"),
    ("Entries by month of lastmod", "16 rows"),
    ("Document, sitemap, complete: 8 URLs", "error: loc/relative (1): ", "urls: 8 rows"),
    ("https://www.example.com/en/returns",),
    ("changes: 1 row", "https://www.example.com/en/about-us"),
    ("Snapshot of https://www.example.com, run ", "the removal of 1 row is pending", "urls: 59 rows"),
    ("URLs of https://www.example.com by run", "2 runs"),
    ("Added and removed URLs of https://www.example.com by day", "in total: 1 added, 1 pending"),
    ("Changes: https://www.example.com since ", "1 added, 1 pending", "changes: 1 row"),
    ("added", "https://www.example.com/sitemaps/pages.xml"),
    (),
]
"""What each cell shows, in part."""


def test_it_is_committed_without_outputs():
    assert [cell for cell in CELLS if cell.get("outputs") or cell.get("execution_count")] == []


@pytest.mark.thorough
@pytest.mark.service
def test_each_cell_shows_what_its_text_says(tmp_path):
    pytest.importorskip("pandas")
    for name in ("docs/howto", "fixtures/demo"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "temporary").mkdir()
    path = os.pathsep.join([str(ROOT), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": str(tmp_path / "temporary")}
    with notebook(tmp_path / "docs" / "howto", environment) as cells:
        found = [cells.run(source) for source in CODE]
    pages = [as_text(outputs) + "".join(one["data"].get("text/html", "") for one in outputs) for outputs in found]
    for page, parts in zip(pages, SHOWN, strict=True):
        assert [part for part in parts if part not in page] == []
    assert [one.name for one in (tmp_path / "temporary").iterdir() if "sitemap" in one.name] == []
