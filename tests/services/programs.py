"""The paths of the external programs of some tests, and the reaction to a missing one."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from tests.services import lacking

ROOT = Path(__file__).parents[2]
_SCRAPYD = "HARVEST_SCRAPYD"
_NPM = "HARVEST_NPM"


def chromium() -> str:
    """Return the path of Chromium."""
    if (found := shutil.which("chromium") or shutil.which("chromium-browser")) is None:
        lacking("Chromium", "apt-get install chromium")
    return found


def browser() -> str:
    """Return the path of a Chromium that can be driven from here."""
    if find_spec("scrapy_playwright") is None:
        lacking("scrapy-playwright", "pip install '.[browser]'")
    return chromium()


def npm_package(name: str) -> Path:
    """Return the folder of a package of npm."""
    folder = Path(os.environ.get(_NPM) or ROOT / ".npm", "node_modules", name)
    if not folder.is_dir() or shutil.which("node") is None:
        lacking(name, f"npm install --prefix .npm axe-core lighthouse ({_NPM} names another folder)")
    return folder


def systemd_analyze() -> str:
    """Return the path of the program that reads the units of systemd."""
    if (found := shutil.which("systemd-analyze")) is None:
        lacking("systemd-analyze", "apt-get install systemd")
    return found


def wget() -> str:
    """Return the path of Wget."""
    if (found := shutil.which("wget")) is None:
        lacking("Wget", "apt-get install wget")
    return found


def tinyproxy() -> str:
    """Return the path of Tinyproxy."""
    if (found := shutil.which("tinyproxy")) is None:
        lacking("Tinyproxy", "apt-get install tinyproxy-bin")
    return found


def scrapyd() -> Path:
    """Return the folder of the programs of the environment in which Scrapyd is installed with this package."""
    folder = Path(os.environ.get(_SCRAPYD) or ROOT / ".venv-scrapyd", "bin")
    if not (folder / "scrapyd").exists():
        lacking(
            "Scrapyd",
            f"python3 -m venv .venv-scrapyd && .venv-scrapyd/bin/pip install --editable '.[scrapyd]' ({_SCRAPYD} names "
            "another environment)",
        )
    return folder
