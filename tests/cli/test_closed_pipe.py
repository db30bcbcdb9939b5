"""Readers that close the pipe, as ``head`` does: they change no exit code."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.forked_program import scrapy_program
from tests.site import urlset
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a sitemap ``s.xml``, and a store ``s`` that has two snapshots of it."""
    folder = tmp_path_factory.mktemp("piped")
    (folder / "s.xml").write_text(urlset("https://a.example/1", "https://a.example/2#part"))
    for _ in range(2):
        command = [scrapy_program(), "harvest", "crawl", "s.xml", "--store", "s"]
        subprocess.run(command, cwd=folder, capture_output=True, check=True)
    return folder


def closed(*arguments: str, cwd: Path, also_errors: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the command; nobody reads what it writes to the standard output."""
    reader, writer = os.pipe()
    os.close(reader)
    command, errors = [scrapy_program(), "harvest", *arguments], subprocess.STDOUT if also_errors else subprocess.PIPE
    try:
        return subprocess.run(
            command, cwd=cwd, stdout=writer, stderr=errors, text=True, timeout=PATIENCE_SECONDS, check=False
        )
    finally:
        os.close(writer)


@pytest.mark.parametrize("also_errors", [False, True])
@pytest.mark.parametrize(
    ("command", "code"),
    [
        pytest.param("validate s.xml", 0, id="validate"),
        pytest.param("validate s.xml --format json", 0, id="validate-json"),
        pytest.param("validate s.xml missing.xml", 4, id="validate-missing"),
        pytest.param("query --store s FROM\u00a0urls", 0, id="query"),
        pytest.param("query --store s FROM\u00a0urls -o csv", 0, id="query-csv"),
        pytest.param("diff --store s SITE", 0, id="diff"),
        pytest.param("diff --store s nothing", 2, id="diff-unknown-site"),
        pytest.param("runs --store s", 0, id="runs"),
        pytest.param("runs --store s --json", 0, id="runs-json"),
        pytest.param("audit --list-rules", 0, id="rules"),
        pytest.param("audit --store s", 0, id="audit"),
        pytest.param("audit --store s --fail-on notice -O -", 4, id="audit-rows"),
        pytest.param("crawl s.xml", 0, id="crawl"),
        pytest.param("crawl s.xml -o -", 0, id="crawl-rows"),
        pytest.param("completion bash", 0, id="completion"),
        pytest.param("completion --help", 0, id="short-help"),
    ],
)
def test_a_closed_pipe_changes_no_exit_code(command: str, code: int, also_errors: bool, folder: Path) -> None:
    site = (folder / "s.xml").as_uri()
    words = [word.replace("\u00a0", " ").replace("SITE", site) for word in command.split(" ")]
    run = closed(*words, cwd=folder, also_errors=also_errors)
    assert run.returncode == code, run.stderr
    for word in ("Broken", "Exception", "Traceback"):
        assert word not in (run.stderr or "")


def test_the_reports_of_an_audit_are_written_though_nobody_reads_its_rows(folder: Path) -> None:
    run = closed("audit", "--store", "s", "-O", "-", "--report", "report.html", cwd=folder)
    assert (run.returncode, (folder / "report.html").exists()) == (0, True)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has this device")  # noqa: PTH110 - at import
@pytest.mark.parametrize("command", ["runs --store s", "runs --store s --json", "validate s.xml", "completion bash"])
def test_a_full_disk_is_an_error_in_one_line(command: str, folder: Path) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        words = [scrapy_program(), "harvest", *command.split()]
        run = subprocess.run(
            words, cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_SECONDS, check=False
        )
    message = f"scrapy harvest {command.split(maxsplit=1)[0]}: standard output: No space left on device\n"
    assert (run.returncode, run.stderr) == (2, message)
