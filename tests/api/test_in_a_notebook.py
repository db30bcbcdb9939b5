"""Runs in a real Jupyter kernel, whose event loop is running."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from tests.api.processes import has_open, is_running, linux, process_of_run
from tests.notebook import as_text, notebook
from tests.site import Site, robots, urlset
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.service

ROOT = Path(__file__).parents[2]
START = "import asyncio\nfrom sitemap_harvest import harvest\nassert asyncio.get_running_loop().is_running()"


@pytest.fixture
def cells(tmp_path):
    (tmp_path / "temporary").mkdir()
    path = os.pathsep.join([str(ROOT), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": str(tmp_path / "temporary")}
    with notebook(tmp_path, environment) as found:
        found.run(START)
        yield found
    assert not [one for one in (tmp_path / "temporary").iterdir() if one.name.startswith("sitemap_harvest")]


def test_a_cell_can_run_twice_and_shows_the_result(cells):
    with Site({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/&lt;b&gt;", "/2")}) as site:
        for _ in range(2):
            (shown,) = cells.run(f"result = harvest({site.url!r}); result")
    page = shown["data"]["text/html"]
    assert "HarvestResult, complete: 2 URLs from 2 documents (2 read)" in page
    assert f"{site.url}/&lt;b&gt;</td>" in page
    assert "<b>/" not in page
    assert as_text(cells.run("result.urls")).split() == [
        *("urls:", "2", "rows,", "23", "columns", "loc", "lastmod", "priority"),
        *(f"{site.url}/<b>", f"{site.url}/2"),
    ]
    assert as_text(cells.run("await asyncio.to_thread(harvest, 'nowhere.invalid', settings={'RETRY_TIMES': 0})"))


def test_an_error_is_shown_without_a_run(cells):
    with pytest.raises(Exception, match="argument since='7': it must be a date"):
        cells.run("harvest('a.example', since='7')")


def test_names_are_completed(cells):
    assert cells.complete("harvest('a.example', missing_l") == ["missing_lastmod="]
    cells.run("import sitemap_harvest")
    assert cells.complete("sitemap_harvest.harv") == ["harvest"]


@linux
def test_interrupting_the_kernel_ends_the_run(cells):
    is_requested, may_answer = Event(), Event()

    def answer(_):
        is_requested.set()
        may_answer.wait(PATIENCE_SECONDS)
        return urlset("/a")

    with Site({"/s.xml": answer}) as site, ThreadPoolExecutor() as threads:
        (shown,) = cells.run("import os; os.getpid()")
        kernel = int(as_text([shown]))
        running = threads.submit(cells.run, f"harvest('{site.url}/s.xml')")
        assert is_requested.wait(PATIENCE_SECONDS)
        child = process_of_run(kernel)
        pipe = Path(f"/proc/{child}/fd/0").readlink()
        cells.interrupt()
        wait_until(lambda: not has_open(kernel, pipe))
        may_answer.set()
        with pytest.raises(Exception, match="KeyboardInterrupt"):
            running.result()
    assert not is_running(child)
