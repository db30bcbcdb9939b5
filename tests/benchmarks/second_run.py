"""Measure the cost of later runs over a site, relative to the first: unchanged, and with an index that is trusted.

    python -m tests.benchmarks.second_run [--files 50] [--urls 20000] [--rounds 3]

Serves robots.txt, an index and its sitemaps on loopback, with validators and without (then only the digest shows that a
sitemap is unchanged), and crawls the site into a store, each time in a separate process: twice unchanged, three times
with a few sitemaps changed, so that the index is trusted, and once unchanged. Prints the processor time and the
requests of the first, the second and the last run, with the start and stop of Scrapy measured separately by a run over
an empty sitemap. Quote ratios of one run; seconds depend on the machine. All files are in a temporary folder. The
benchmark ends without intervention.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import os
import statistics
import sys
import tempfile
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from sitemap_harvest.snapshots.conditional_requests import MIN_CORRECT, MIN_RUNS
from tests.benchmarks.processes import used_by
from tests.benchmarks.throughput import Quiet, sitemap

_LONG_AGO = 1_700_000_000
_DAY = 86_400
_EMPTY = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"></urlset>'


@dataclass(frozen=True, slots=True)
class Usage:
    """The resources that a run used."""

    processor: float
    megabytes: float
    requests: int
    not_modified: int
    """Requests answered with a 304."""
    kilobytes: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=50, help="sitemaps, 7 or more (50)")
    parser.add_argument("--urls", type=int, default=20_000, help="URLs in each (20000)")
    parser.add_argument("--rounds", type=int, default=3, help="stores (3)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for has_validators in (True, False):
            folder = Path(name, "with" if has_validators else "without")
            folder.mkdir()
            with Served(folder / "site", has_validators=has_validators) as served:
                compare(folder, served, options)


class PublishedSite:
    """The files of a site whose index gives the date of the last change of each sitemap."""

    def __init__(self, folder: Path, base: str, *, files: int, urls: int) -> None:
        self._folder, self._base = folder, base
        self._changes = [0] * files
        options = argparse.Namespace(urls=urls, extensions=False, shape="same", odd=False)
        for number in range(files):
            self._write(f"sitemap-{number}.xml", sitemap(number, options), 0)
        self._write("robots.txt", f"Sitemap: {base}/index.xml\n", 0)
        self._write("empty.xml", _EMPTY, 0)
        self._write_index()

    def change(self, count: int) -> None:
        """Add a URL to the first *count* sitemaps."""
        for number in range(count):
            self._changes[number] += 1
            name, url = f"sitemap-{number}.xml", f"{self._base}/new-{number}-{self._changes[number]}"
            text = Path(self._folder, name).read_text(encoding="utf-8")
            added = text.replace("</urlset>", f"<url><loc>{url}</loc></url>\n</urlset>")
            self._write(name, added, self._changes[number])
        self._write_index()

    def _write_index(self) -> None:
        dates = (datetime.fromtimestamp(_LONG_AGO + _DAY * changes, UTC).isoformat() for changes in self._changes)
        children = "".join(
            f"<sitemap><loc>{self._base}/sitemap-{number}.xml</loc><lastmod>{date}</lastmod></sitemap>\n"
            for number, date in enumerate(dates)
        )
        text = f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{children}</sitemapindex>\n'
        self._write("index.xml", text, max(self._changes))

    def _write(self, name: str, text: str, changes: int) -> None:
        path = self._folder / name
        path.write_text(text, encoding="utf-8")
        os.utime(path, (_LONG_AGO, _LONG_AGO + _DAY * changes))  # older, so that Last-Modified is a strong validator


class Served:
    """Serves a folder on a free loopback port while the block runs, and counts what it sends."""

    def __init__(self, folder: Path, *, has_validators: bool) -> None:
        folder.mkdir()
        self.folder = folder
        self.requests = 0
        self.not_modified = 0
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

    def send_response(self, code: int, message: str | None = None) -> None:
        self._served.not_modified += code == http.HTTPStatus.NOT_MODIFIED
        super().send_response(code, message)

    def send_header(self, keyword: str, value: str) -> None:
        if keyword == "Last-Modified" and not self._has_validators:
            return
        if keyword == "Content-Length":
            self._served.bytes += int(value)
        super().send_header(keyword, value)


def compare(folder: Path, served: Served, options: argparse.Namespace) -> None:
    words = f"{served.words}: {options.files} sitemaps of {options.urls} URLs"
    shares = []
    for number in range(options.rounds):
        nothing, first, second, trusted = usages(folder / f"store-{number}", served, options.files, options.urls)
        shares.append((second.processor - nothing.processor) / (first.processor - nothing.processor))
        print(f"{words}; to start and to stop takes {nothing.processor:.2f} s")
        print(f"  first run:   {usage_line(first)}")
        print(
            f"  second run:  {usage_line(second)}; {second.processor / first.processor:.1%} of the first, "
            f"{shares[-1]:.1%} without start and stop"
        )
        print(
            f"  trusted run: {usage_line(trusted)}; {trusted.processor / first.processor:.1%} of the first", flush=True
        )
    print(f"{served.words}: median of the second run {statistics.median(shares):.1%} without start and stop")


def usages(store: Path, served: Served, files: int, urls: int) -> tuple[Usage, Usage, Usage, Usage]:
    """Return the usage of four runs: over nothing, the first, the second, and one with a trusted index."""
    base = f"http://127.0.0.1:{served.port}"
    site = PublishedSite(served.folder, base, files=files, urls=urls)
    nothing = run(f"sitemap={base}/empty.xml", store, served)
    first, second = (run(f"site={base}", store, served) for _ in range(2))
    for _ in range(MIN_RUNS):
        site.change(-(-MIN_CORRECT // MIN_RUNS))
        run(f"site={base}", store, served)
    return nothing, first, second, run(f"site={base}", store, served)


def usage_line(usage: Usage) -> str:
    return (
        f"{usage.processor:.2f} s, {usage.megabytes:.0f} MB peak, {usage.requests} requests "
        f"({usage.not_modified} answered with a 304), {usage.kilobytes:,.0f} kB"
    )


def run(target: str, store: Path, served: Served) -> Usage:
    """Crawl *target*, an argument, into *store*, counting the server's requests and bytes from zero."""
    served.requests = served.not_modified = served.bytes = 0
    command = [sys.executable, "-m", "scrapy", "crawl", "changes", "-a", target, "-a", f"store={store}"]
    usage = used_by(command)
    used = (served.requests, served.not_modified, served.bytes / 1024)
    return Usage(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, *used)


if __name__ == "__main__":
    main()
