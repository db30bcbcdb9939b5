"""The files of the how-to for Docker are valid, and start the command that the package installs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.docs.howtos import Does, read_page

ROOT = Path(__file__).parents[2]
PAGE = read_page((ROOT / "docs" / "howto" / "run-in-docker.md").read_text("utf-8"))
FILES = {step.value: step.body for step in PAGE.steps if step.does is Does.FILE}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_compose_file_is_valid(tmp_path):
    (tmp_path / "compose.yaml").write_text(FILES["compose.yaml"])
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", "compose.yaml"]
    run = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize("name", ["Dockerfile", "browser/Dockerfile"])
def test_the_image_installs_the_package_and_starts_its_command(name):
    steps = [line.partition(" ") for line in FILES[name].splitlines()]
    extras = re.search(r"'scrapy-sitemap-harvest\[([\w,]+)\]'", FILES[name])[1].split(",")
    assert set(extras) <= PROJECT["optional-dependencies"].keys()
    assert (steps[0][0], steps[-1][0]) == ("FROM", "ENTRYPOINT")
    assert json.loads(steps[-1][2]) == list(PROJECT["scripts"])
