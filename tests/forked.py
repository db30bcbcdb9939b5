"""Runs Scrapy's command line in a process forked off one that has imported it: in a third of the time.

The forkserver has no threads, no reactor and no crawl.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import resource
import subprocess
import sys
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from scrapy import cmdline

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.process import BaseProcess

# Python has one forkserver per process: all users share this one, because another list of modules would replace it.
FORKSERVER = multiprocessing.get_context("forkserver")
PRELOADED = [
    "tests.forked",
    "duckdb",
    "scrapy.commands.crawl",
    "scrapy.core.downloader.handlers.http11",
    "sitemap_harvest.cli.crawl",
    "sitemap_harvest.cli.diff",
    "sitemap_harvest.cli.query",
    "sitemap_harvest.cli.runs",
    "sitemap_harvest.cli.validate",
    "sitemap_harvest.integration.items.csv_exporters",
    "sitemap_harvest.integration.items.exporters",
    "sitemap_harvest.integration.download_handler",
    "sitemap_harvest.engine.snapshot_session",
    "sitemap_harvest.integration.middlewares",
    "sitemap_harvest.addon",
    "sitemap_harvest.settings",
    "sitemap_harvest.spiders.sitemap",
    *{command.module for command in entry_points(group="scrapy.commands")},  # those of others: Scrapy loads all of them
    "tests.formats.hostile",
    "tests.frozen",  # after all others
]  # fmt: skip
FORKSERVER.set_forkserver_preload(PRELOADED)
_OUT, _ERR = "stdout", "stderr"


def scrapy(
    *arguments: str,
    cwd: Path,
    environment: dict[str, str] | None = None,
    timeout: float = 300,  # against a run that hangs; on a busy machine, one of 500 hosts takes more than 60
    largest_file: int | None = None,
    open_files: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run ``scrapy`` with *arguments* to its end, at most *timeout* seconds.

    *largest_file* limits the bytes of each file, as on a full disk; ``None``: no limit. *open_files* limits the number
    of open files.
    """
    limits = {resource.RLIMIT_FSIZE: largest_file, resource.RLIMIT_NOFILE: open_files}
    with TemporaryDirectory() as folder:
        with running(*arguments, cwd=cwd, environment=environment, folder=folder, limits=limits) as process:
            process.join(timeout)
            exit_code = process.exitcode
        out, err = (Path(folder, name).read_text() for name in (_OUT, _ERR))
        assert exit_code is not None, f"it has not ended after {timeout} seconds: {err}"
        return subprocess.CompletedProcess(arguments, exit_code, out, err)


@contextmanager
def running(
    *arguments: str,
    cwd: Path,
    environment: dict[str, str] | None,
    folder: str,
    limits: dict[int, int | None] | None = None,
) -> Iterator[BaseProcess]:
    """Run ``scrapy`` with *arguments* while the block runs; its output goes to files in *folder*.

    *limits* are those of :mod:`resource`.
    """
    given = (arguments, str(cwd), dict(os.environ) if environment is None else environment, folder, limits or {})
    process = FORKSERVER.Process(target=_execute, args=given, daemon=True)
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def _execute(
    arguments: tuple[str, ...], cwd: str, environment: dict[str, str], folder: str, limits: dict[int, int | None]
) -> None:
    for limit, value in limits.items():
        if value is not None:
            resource.setrlimit(limit, (value, value))
    if limits.get(resource.RLIMIT_FSIZE) is not None:  # Python would store modules that are cut, and fail to load them
        sys.dont_write_bytecode = True
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.path[0:0] = [cwd]
    sys.stdout, sys.stderr = (_onto(number, Path(folder, name)) for number, name in ((1, _OUT), (2, _ERR)))
    try:
        cmdline.execute(["scrapy", *arguments])
    finally:
        atexit._run_exitfuncs()  # multiprocessing ends its children without them


def _onto(number: int, path: Path):
    """Let the file descriptor *number* write to *path*, and return a file for it."""
    os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    return open(number, "w", buffering=1, closefd=False)
