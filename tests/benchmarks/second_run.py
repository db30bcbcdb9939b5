"""Measure the cost of a second run over an unchanged site, relative to the first.

    python -m tests.benchmarks.second_run [--files 20] [--urls 50000] [--rounds 3]

Serves an index and its sitemaps on loopback, with validators and without (then only the digest shows that a sitemap is
unchanged), and crawls them into a store twice, each time in a separate process. Prints the processor time and the
requests of both runs, with the start and stop of Scrapy measured separately by a run over an empty sitemap. Quote
ratios of one run; seconds depend on the machine. All files are in a temporary folder. The benchmark ends without
intervention.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tests.benchmarks.throughput import Quiet, generate

ROOT = Path(__file__).parents[2]
_LONG_AGO = 1_700_000_000
_EMPTY = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"></urlset>'


@dataclass(frozen=True, slots=True)
class Usage:
    """The resources that a run used."""

    processor: float
    megabytes: float
    requests: int
    kilobytes: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=20, help="sitemaps (20)")
    parser.add_argument("--urls", type=int, default=50_000, help="URLs in each (50000)")
    parser.add_argument("--rounds", type=int, default=3, help="pairs of runs (3)")
    options = parser.parse_args()
    options.extensions, options.shape = False, "same"
    with tempfile.TemporaryDirectory() as name:
        for has_validators in (True, False):
            folder = Path(name, "with" if has_validators else "without")
            folder.mkdir()
            with Served(folder / "site", has_validators=has_validators) as served:
                generate(folder / "site", served.port, options)
                (folder / "site" / "empty.xml").write_text(_EMPTY)
                for file in (folder / "site").iterdir():  # older, so that Last-Modified is a strong validator
                    os.utime(file, (_LONG_AGO, _LONG_AGO))
                compare(folder, served, options)


class Served:
    """Serves a folder on a free loopback port while the block runs, and counts what it sends."""

    def __init__(self, folder: Path, *, has_validators: bool) -> None:
        folder.mkdir()
        self.requests = 0
        self.bytes = 0
        handler = functools.partial(_Handler, served=self, has_validators=has_validators, directory=str(folder))
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.words = "with validators" if has_validators else "with digests only"

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(Quiet):
    def __init__(self, *args: Any, served: Served, has_validators: bool, **kwargs: Any) -> None:
        self._served, self._has_validators = served, has_validators
        super().__init__(*args, **kwargs)

    def do_GET(self) -> None:  # noqa: N802 - the name that http.server looks for
        self._served.requests += 1
        super().do_GET()

    def send_header(self, keyword: str, value: str) -> None:
        if keyword == "Last-Modified" and not self._has_validators:
            return
        if keyword == "Content-Length":
            self._served.bytes += int(value)
        super().send_header(keyword, value)


def compare(folder: Path, served: Served, options: argparse.Namespace) -> None:
    base = f"http://127.0.0.1:{served.port}"
    nothing = min(
        run(f"{base}/empty.xml", folder / f"nothing-{number}", served).processor for number in range(options.rounds)
    )
    print(
        f"{served.words}: {options.files} sitemaps of {options.urls} URLs; to start and to stop takes {nothing:.2f} s"
    )
    shares = []
    for number in range(options.rounds):
        first, second = (run(f"{base}/index.xml", folder / f"store-{number}", served) for _ in range(2))
        shares.append((second.processor - nothing) / (first.processor - nothing))
        print(
            f"  round {number + 1}: first {usage_line(first)}; second {usage_line(second)};"
            f" {second.processor / first.processor:.1%} of the first, {shares[-1]:.1%} without start and stop"
        )
    print(f"{served.words}: median {statistics.median(shares):.1%} without start and stop")


def usage_line(usage: Usage) -> str:
    return (
        f"{usage.processor:.2f} s, {usage.megabytes:.0f} MB peak, {usage.requests} requests, {usage.kilobytes:,.0f} kB"
    )


def run(sitemap: str, store: Path, served: Served) -> Usage:
    """Crawl into *store*, counting the server's requests and bytes from zero."""
    served.requests = served.bytes = 0
    command = [sys.executable, "-m", "scrapy", "crawl", "changes", "-a", f"sitemap={sitemap}", "-a", f"store={store}"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    log = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status or "ERROR" in log:
        sys.exit(f"{' '.join(command)} failed:\n{log[-3000:]}")
    return Usage(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, served.requests, served.bytes / 1024)


if __name__ == "__main__":
    main()
