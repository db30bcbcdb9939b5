"""``sitemap-harvest`` and ``python -m sitemap_harvest`` as programs of their own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import entry_points
from unittest.mock import Mock

import pytest

from sitemap_harvest.cli.main import main
from tests import forked
from tests.site import urlset
from tests.waiting import PATIENCE_SECONDS

MODULE = [sys.executable, "-m", "sitemap_harvest"]
PROJECT = {
    "scrapy.cfg": "[settings]\ndefault = mine.settings\n",
    "mine/__init__.py": "",
    "mine/settings.py": "BOT_NAME = 'mine'\nFEEDS = {'of-the-project.jsonl': {'format': 'jsonl'}}\n",
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "s.xml").write_text(urlset("https://a.example/1", "https://a.example/2"))
    return tmp_path


@pytest.fixture
def project(folder):
    (folder / "mine").mkdir()
    for name, text in PROJECT.items():
        (folder / name).write_text(text)
    return folder


def run(*arguments, cwd, program=MODULE):
    done = subprocess.run(
        [*program, *arguments], cwd=cwd, check=False, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )
    assert "Traceback" not in done.stderr
    return done


def lines(text):
    """Return the lines of *text* without what differs between two runs."""
    return re.sub(r"Run \S+|\d+\.\d+|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\d:\d\d:\d\d", "", text).splitlines()


@pytest.mark.quick
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has this device")
@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["crawl", "--help"]])
def test_help_that_cannot_be_written_is_an_error_in_one_line(arguments):
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        done = subprocess.run([*MODULE, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    message = "python -m sitemap_harvest: standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, message)


def test_the_installed_program_is_this_function():
    (script,) = entry_points(group="console_scripts", name="sitemap-harvest")
    assert script.load() is main


@pytest.mark.quick
def test_a_crawl_in_a_project_uses_its_settings(project):
    done = run("crawl", "s.xml", "--limit", "1", cwd=project)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    (line,) = (project / "of-the-project.jsonl").read_text().splitlines()
    assert json.loads(line)["loc"] == "https://a.example/1"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["crawl", "s.xml", "-o", "-:csv", "--nolog"], id="crawl"),
        pytest.param(["crawl", "gone.xml", "-L", "ERROR", "-a", "since=7d"], id="failed"),
        pytest.param(["crawl", "s.xml", "--since", "7d", "-s", "SITEMAP_HARVEST_X=1"], id="setting"),
        pytest.param(["validate", "s.xml", "gone.xml"], id="validate"),
        pytest.param(["audit", "s.xml"], id="audit"),
        pytest.param(["runs", "--store", "none"], id="runs"),
        pytest.param(["--help"], id="help"),
        pytest.param(["crawl", "--help"], id="help-of-crawl"),
        pytest.param(["--version"], id="version"),
        pytest.param([], id="nothing"),
        pytest.param(["crwal"], id="misspelt"),
        pytest.param(["-O", "u.csv", "crawl", "s.xml"], id="option-first"),
    ],
)
def test_the_program_does_and_prints_what_the_command_of_scrapy_does(folder, arguments):
    ours, scrapys = run(*arguments, cwd=folder), forked.scrapy("harvest", *arguments, cwd=folder)
    assert ours.returncode == scrapys.returncode
    assert lines(ours.stdout) == lines(scrapys.stdout.replace("scrapy harvest", "python -m sitemap_harvest"))
    assert lines(ours.stderr) == lines(scrapys.stderr.replace("scrapy harvest", "python -m sitemap_harvest"))


def test_the_profile_of_a_run_is_written(folder):
    assert run("crawl", "s.xml", "--nolog", "--profile", "p.prof", cwd=folder).returncode == 0
    assert (folder / "p.prof").stat().st_size


def test_the_versions_and_the_help_need_no_scrapy(tmp_path):
    program = "import sys; from sitemap_harvest.cli.main import main\ntry: main()\nfinally: print(*sys.modules)"
    for argument in ("--version", "--help"):
        done = run("-c", program, argument, cwd=tmp_path, program=[sys.executable])
        assert {"scrapy", "pyarrow", "lxml", "twisted"} & set(done.stdout.split()) == set()


@pytest.mark.quick
def test_an_interrupt_while_it_starts_ends_it_with_exit_code_130(monkeypatch, capsys):
    monkeypatch.setattr("scrapy.utils.project.get_project_settings", Mock(side_effect=KeyboardInterrupt))
    monkeypatch.setattr("sitemap_harvest.cli.main.begin_start", lambda: None)
    assert main(["runs"]) == 130
    assert capsys.readouterr() == ("", "Interrupted.\n")
