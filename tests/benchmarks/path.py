"""Count the files and functions of the package that a small crawl enters: how much one must read to follow a URL.

    python -m tests.benchmarks.path

Crawls a local sitemap of two URLs: once without a store, and twice with one, with a URL added and a URL removed in
between. Each crawl is a separate process, traced by ``sys.setprofile``. Imports and class bodies do not count, nor do
comprehensions. The counts depend on neither the machine nor its load.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import sitemap_harvest

if TYPE_CHECKING:
    from types import FrameType

PACKAGE = str(Path(sitemap_harvest.__file__).parent)
_OPTIMIZED = 0x01  # inspect.CO_OPTIMIZED: set for functions, and not for the bodies of modules and classes
_TRACED = "from tests.benchmarks.path import traced; traced()"
_SITEMAP = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'


class Entered(NamedTuple):
    """The files and functions that a crawl entered."""

    files: int
    functions: int


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_sitemap(folder, "a", "b")
        show("without a store", crawl(folder, "urls.jsonl"))
        changes = ("changes.jsonl", "-a", "store=store", "-a", "emit=changes")
        show("with a store, first run", crawl(folder, *changes))
        write_sitemap(folder, "b", "c")
        show("with a store, second run", crawl(folder, *changes))


def write_sitemap(folder: Path, *paths: str) -> None:
    """Write a sitemap that lists *paths*."""
    urls = "".join(f"<url><loc>https://www.example.com/{path}</loc></url>" for path in paths)
    (folder / "sitemap.xml").write_text(_SITEMAP.format(urls))


def crawl(folder: Path, output: str, *options: str) -> Entered:
    """Crawl the sitemap in *folder* and return the files and functions that the crawl entered."""
    command = ["harvest", "crawl", "sitemap.xml", "-o", output, *options]
    subprocess.run([sys.executable, "-c", _TRACED, *command], cwd=folder, check=True, capture_output=True)
    return Entered(*json.loads((folder / "entered.json").read_text()))


def traced() -> None:
    """Run Scrapy with the arguments of this process, and write what it enters to ``entered.json``."""
    from scrapy.cmdline import execute

    entered: set[tuple[str, int]] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        is_function = code.co_flags & _OPTIMIZED and not code.co_name.startswith("<")
        if event == "call" and is_function and code.co_filename.startswith(PACKAGE):
            entered.add((code.co_filename, code.co_firstlineno))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        execute(["scrapy", *sys.argv[1:]])
    finally:
        sys.setprofile(None)
        Path("entered.json").write_text(json.dumps([len({file for file, _ in entered}), len(entered)]))


def show(name: str, entered: Entered) -> None:
    print(f"{name}: {entered.files} files, {entered.functions} functions")


if __name__ == "__main__":
    main()
