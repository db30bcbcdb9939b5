"""The documentation describes what exists, and all that exists is documented."""

from __future__ import annotations

import dataclasses
import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sitemap_harvest.cli.validation_report import Validation
from sitemap_harvest.config.arguments import ARGUMENT_GROUPS
from sitemap_harvest.config.settings import HarvestSettings
from sitemap_harvest.formats.protocol import Listed
from sitemap_harvest.model import Problem, Sample
from sitemap_harvest.urls import url_key

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
_RUN = {"shell", "sh", "python"}  # in test_howtos.py
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language):
    return [
        pytest.param(body, id=f"{page.stem}-{number}")
        for page in PAGES
        for number, (found, body) in enumerate(_FENCE.findall(page.read_text("utf-8")), start=1)
        if found == language
    ]


def first_table(page, section="# "):
    """Return the cells of the first table after the heading *section*."""
    text = (ROOT / "docs/reference" / page).read_text("utf-8").split(section, 1)[1]
    lines = text.split("\n\n|")[1].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_the_reference_of_settings_is_that_of_the_table():
    shown = {"private": False, "site_headers": {}, "audit": {}}  # in the form that users write
    table = {field.name: (field, shown.get(field.name, field.default)) for field in dataclasses.fields(HarvestSettings)}
    rows = first_table("settings.md")
    assert [row[:2] for row in rows] == [
        [f"`SITEMAP_HARVEST_{name.upper()}`", f"`{table[name][1]!r}`"] for name in table
    ]
    for (field, _), (*_, meaning) in zip(table.values(), rows, strict=True):
        assert meaning.replace("`", "").startswith(field.metadata["help"])


@pytest.mark.parametrize("group", ARGUMENT_GROUPS)
def test_the_reference_of_arguments_is_that_of_the_table(group):
    arguments = ARGUMENT_GROUPS[group]
    assert [row[:2] for row in first_table("arguments.md", f"\n## {group}")] == [
        [f"`{name}`", f"`{argument.default}`" if argument.default else ""] for name, argument in arguments.items()
    ]


@pytest.mark.thorough
def test_the_docs_build_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=600)
    assert (run.returncode, run.stderr) == (0, "")


def test_the_fields_of_a_validation_are_in_its_how_to():
    page = (ROOT / "docs/howto/validate-a-sitemap.md").read_text("utf-8")
    names = {field.name for record in (Validation, Listed, Problem, Sample) for field in dataclasses.fields(record)}
    internal = {"document", "served_at"}  # not in JSON
    assert {name for name in names - internal if f"`{name}`" not in page} == set()


@pytest.mark.parametrize("body", blocks("pycon"))
def test_examples(body, monkeypatch):
    monkeypatch.chdir(ROOT)
    page = next(page for page in PAGES if body in page.read_text("utf-8"))
    whole = "\n".join(found for language, found in _FENCE.findall(page.read_text("utf-8")) if language == "pycon")
    until = whole[: whole.index(body) + len(body)]
    test = doctest.DocTestParser().get_doctest(until, {}, page.name, str(page), 0)
    output = []
    assert doctest.DocTestRunner(verbose=False).run(test, out=output.append).failed == 0, "".join(output)


def test_commands_and_programs_are_only_in_how_tos_that_are_run():
    others = [page for page in PAGES if page.parent.name != "howto" and page.stem != "start"]
    found = {
        page.stem for page in others for language, _ in _FENCE.findall(page.read_text("utf-8")) if language in _RUN
    }
    assert found == set()


def test_steps_of_the_key():
    page = (ROOT / "docs/explain/urls.md").read_text("utf-8")
    steps = re.findall(r"^\| [^|`]+ \| [^|`]+ \| `([^`]+)` \| `([^`]+)` \|$", page, re.MULTILINE)
    assert len(steps) == 8
    for before, after in steps:
        site = "" if "://" in before else "https://www.example.com"
        assert url_key(site + before) == site + after
