"""Runs Scrapy's command line in a process that is forked off one that has imported all of it: half the time of a crawl.

What is forked is clean: the server that forks has no threads, no reactor and
no crawl behind it.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import sys
from typing import TYPE_CHECKING

from scrapy import cmdline

if TYPE_CHECKING:
    from pathlib import Path

_FORKSERVER = multiprocessing.get_context("forkserver")
_FORKSERVER.set_forkserver_preload(
    [
        "tests.crawl.forked",
        "scrapy.commands.crawl",
        "scrapy.core.downloader.handlers.http11",
        "sitemap_harvest.crawl.exporters",
        "sitemap_harvest.crawl.local",
        "sitemap_harvest.crawl.packed",
        "sitemap_harvest.crawl.robots",
        "sitemap_harvest.crawl.spiders.sitemap",
    ]
)


def run(arguments: list[str], *, cwd: Path, environment: dict[str, str], log: Path, timeout: float) -> int:
    """Run ``scrapy`` with *arguments* to its end, and return the exit code; what it prints goes to *log*."""
    process = _FORKSERVER.Process(target=_execute, args=(arguments, str(cwd), environment, str(log)), daemon=True)
    process.start()
    try:
        process.join(timeout)
        assert process.exitcode is not None, f"it has not ended after {timeout} seconds: {log.read_text()}"
        return process.exitcode
    finally:
        process.kill()


def _execute(arguments: list[str], cwd: str, environment: dict[str, str], log: str) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.path.insert(0, cwd)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    sys.stdout = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115 - as long as the process
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115 - the same
    try:
        cmdline.execute(["scrapy", *arguments])
    finally:
        atexit._run_exitfuncs()
