"""A user's project: made by ``scrapy startproject``, with and without the lines of the how-to."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tests import forked
from tests.crawl.crawling import lines
from tests.services import lacking
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.process import BaseProcess
    from types import ModuleType

PAGE = Path(__file__).parents[2] / "docs/howto/use-in-your-project.md"
_THEIRS = Path(__file__).with_name("theirs")
_APPENDED = re.compile(r"^<!-- append: myproject/settings\.py -->\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_DUMPS = "*.dump.json"
_CALM = """
DOWNLOAD_DELAY = 0
RETRY_TIMES = 1
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
SPIDER_MIDDLEWARES = {"myproject.parts.Notes": 543}
DOWNLOADER_MIDDLEWARES = {"myproject.parts.Header": 543}
EXTENSIONS = {"myproject.parts.Listen": 0}
ITEM_PIPELINES = {"myproject.parts.Upper": 300, "myproject.parts.Later": 400, "myproject.parts.NoTwo": 500}
"""


def documented_lines() -> str:
    """Return the lines that the how-to adds to ``settings.py``."""
    found = _APPENDED.search(PAGE.read_text("utf-8"))
    assert found is not None
    return found.group(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The results of a command."""

    code: int
    out: str
    log: str
    folder: Path
    dumps: dict[str, dict[str, Any]] = field(repr=False)
    """The records of the project's own extension for each spider: ``settings``, ``parts`` and ``stats``."""

    @property
    def dump(self) -> dict[str, Any]:
        """The only record of :attr:`dumps`."""
        (dump,) = self.dumps.values()
        return dump

    @property
    def stats(self) -> dict[str, Any]:
        """The closing stats."""
        return self.dump["stats"]

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return the objects of a JSON Lines feed."""
        return lines(self.folder / name)

    def locs(self, name: str = "urls.jsonl") -> list[str]:
        """Return the paths of the URLs in a feed."""
        return [re.sub(r"^https?://[^/]*", "", row["loc"]) for row in self.rows(name)]


class Project:
    """A project on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.module = folder / "myproject"

    @classmethod
    def made(cls, folder: Path) -> Project:
        """Make one in *folder* with Scrapy's own command, with components and spiders of its own."""
        made = forked.scrapy("startproject", "myproject", str(folder), cwd=folder.parent)
        assert made.returncode == 0, made.stderr
        project = cls(folder)
        for path in _THEIRS.glob("*.py"):
            shutil.copy(path, project.module / ("" if path.stem == "parts" else "spiders") / path.name)
        project.configure(_CALM)
        return project

    def copied(self, folder: Path, *, with_addon: bool) -> Project:
        """Return a copy, *with_addon* or without: the copies differ by the lines of the how-to."""
        shutil.copytree(self.folder, folder)
        project = Project(folder)
        if with_addon:
            project.configure(documented_lines())
        return project

    def configure(self, text: str) -> None:
        """Add *text* to ``settings.py``."""
        with (self.module / "settings.py").open("a") as file:
            file.write(f"\n{text}\n")

    def run(
        self, *arguments: str, environment: dict[str, str] | None = None, calm: bool = True, code: int | None = 0
    ) -> Ran:
        """Run ``scrapy`` with *arguments*; it ends with exit code *code*. A *calm* run has no traceback."""
        self._forget()
        done = forked.scrapy(
            *arguments, cwd=self.folder, environment=_environment(environment), timeout=PATIENCE_SECONDS
        )
        return self._ran(done.returncode, done.stdout, done.stderr, calm=calm, code=code)

    def run_apart(self, *command: str, calm: bool = True, code: int | None = 0) -> Ran:
        """Run Python with *command* in a process that shares nothing with the tests."""
        self._forget()
        done = subprocess.run(
            [sys.executable, *command],
            cwd=self.folder,
            env=_environment(None),
            check=False,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        return self._ran(done.returncode, done.stdout, done.stderr, calm=calm, code=code)

    def crawl(self, spider: str, *arguments: str, **more: Any) -> Ran:
        """Run ``scrapy crawl``."""
        return self.run("crawl", spider, *arguments, **more)

    def _ran(self, returned: int, out: str, log: str, *, calm: bool, code: int | None) -> Ran:
        assert code is None or returned == code, log
        assert not calm or "Traceback" not in log, log
        dumps = {path.name.split(".")[0]: json.loads(path.read_text()) for path in self.folder.glob(_DUMPS)}
        return Ran(code=returned, out=out, log=log, folder=self.folder, dumps=dumps)

    def _forget(self) -> None:
        for path in self.folder.glob(_DUMPS):
            path.unlink()

    @contextmanager
    def crawling(self, spider: str, *arguments: str) -> Iterator[BaseProcess]:
        """Run ``scrapy crawl`` while the block runs."""
        with (
            TemporaryDirectory() as folder,
            forked.running(
                "crawl", spider, *arguments, cwd=self.folder, environment=_environment(None), folder=folder
            ) as process,
        ):
            yield process


def installed(module: str, package: str) -> ModuleType:
    """Return *module* of a third-party *package*."""
    try:
        return import_module(module)
    except ImportError:
        lacking(package, "pip install '.[services]'")


def _environment(more: dict[str, str] | None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SCRAPY")}
    return {**kept, "NO_PROXY": "*", "no_proxy": "*", **(more or {})}
