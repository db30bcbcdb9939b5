"""The files for CI in docs/howto/check-sitemaps-before-deployment.md are valid, and their commands do what they say."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import yaml
from lxml import etree

from tests.docs.howtos import Does, read_page
from tests.docs.places import ROOT
from tests.forked_program import scrapy_program

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT / "docs" / "howto" / "check-sitemaps-before-deployment.md"
FILES = {step.value: step.body for step in read_page(PAGE.read_text()).steps if step.does is Does.FILE}
GITHUB, GITLAB = ".github/workflows/sitemaps.yml", ".gitlab-ci.yml"
SCHEMAS = {GITHUB: "vendor.github-workflows", GITLAB: "vendor.gitlab-ci"}


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_file_is_valid(name: str, tmp_path: Path) -> None:
    (tmp_path / "ci.yml").write_text(FILES[name])
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", SCHEMAS[name], "ci.yml"]
    run = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


class Machine:
    """A machine of the CI service, with this package installed; other programs only note their arguments."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "checkout"
        self.folder.mkdir()
        self._calls = folder / "calls"
        programs = folder / "bin"
        programs.mkdir()
        bodies = {"pip": "", "gh": "", "make": f"cp -r '{ROOT / 'fixtures' / 'demo'}' public"}
        for name, body in bodies.items():
            (programs / name).write_text(f"#!/bin/sh\necho {name} \"$@\" >> '{self._calls}'\n{body}\n")
            (programs / name).chmod(0o755)
        path = f"{programs}{os.pathsep}{scrapy_program().parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path, "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md")}

    def run(self, commands: str, **environment: str) -> int:
        """Return the exit code of *commands*."""
        given = {**self._environment, **environment}
        return subprocess.run(["bash", "-e", "-c", commands], cwd=self.folder, env=given, check=False).returncode

    @property
    def calls(self) -> list[str]:
        return self._calls.read_text().splitlines()


@pytest.mark.thorough
def test_the_steps_of_the_github_workflow(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    workflow = yaml.safe_load(FILES[GITHUB])
    steps = [step for step in workflow["jobs"]["audit"]["steps"] if "run" in step]
    codes = {step.get("name", ""): machine.run(step["run"], NUMBER="7") for step in steps}
    assert {name: code for name, code in codes.items() if code} == {"Audit the sitemaps": 4}
    assert machine.calls == [
        "pip install scrapy-sitemap-harvest",
        "make public",
        "gh pr comment 7 --body-file audit.md --edit-last --create-if-none",
    ]
    assert (machine.folder / "summary.md").read_text().startswith("## Sitemap audit\n")
    (log,) = json.loads((machine.folder / "audit.sarif").read_text())["runs"]
    places = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in log["results"]]
    assert [place for place in places if not place.startswith("public/")] == []


@pytest.mark.thorough
def test_the_jobs_of_the_gitlab_pipeline(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    jobs = yaml.safe_load(FILES[GITLAB])
    codes = [machine.run(line) for name in ("build", "sitemaps") for line in jobs[name]["script"]]
    assert codes == [0, 0, 4]
    artifacts = jobs["sitemaps"]["artifacts"]
    assert int(etree.parse(machine.folder / artifacts["reports"]["junit"]).getroot().get("failures")) > 0
    assert all((machine.folder / path).exists() for path in artifacts["paths"])
    shutil.rmtree(machine.folder)
