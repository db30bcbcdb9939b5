"""Measure the cost of a URL, compared with a stock Scrapy spider that yields one item per URL.

    python -m tests.benchmarks.throughput [--files 20] [--urls 50000] [--rounds 3] [--formats jsonl parquet] [--odd]

Generates sitemaps, serves them on loopback, and runs the command of each in turns: ``scrapy runspider`` and
``sitemap-harvest crawl``. Prints the processor time of each per URL, their ratio round by round, and peak memory. Quote
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
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

STOCK_SPIDER = """
import scrapy
from scrapy.utils.sitemap import Sitemap

class Stock(scrapy.Spider):
    name = "stock"
    custom_settings = {{"LOG_LEVEL": "INFO", "TELNETCONSOLE_ENABLED": False, "REMOTE_CONTROL_ENABLED": False}}

    async def start(self):
        yield scrapy.Request("{index}")

    def parse(self, response):
        sitemap = Sitemap(response.body)
        if sitemap.type == "sitemapindex":
            for entry in sitemap:
                yield scrapy.Request(entry["loc"])
        else:
            for entry in sitemap:
                yield {{"url": entry["loc"], "sitemap": response.url, **entry}}
"""


ODD = ("{}<!-- comment -->", "<![CDATA[{}]]>", "{}?a=1&#38;b=2")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=20, help="sitemaps (20)")
    parser.add_argument("--urls", type=int, default=50_000, help="URLs in each (50000)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (3)")
    parser.add_argument(
        "--formats", nargs="+", default=["jsonl", "parquet"], help="feed formats, or store (jsonl parquet)"
    )
    parser.add_argument("--extensions", action="store_true", help="3 alternates and 1 image a URL")
    parser.add_argument(
        "--shape", choices=["same", "mixed"], default="same", help="whether every entry has every field"
    )
    parser.add_argument(
        "--odd",
        action="store_true",
        help="one entry with a comment, a CDATA section or a numeric reference in each file",
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder, "site")
        with serve(site) as port:
            generate(site, port, options)
            compare(Path(folder), port, options)


def generate(site: Path, port: int, options: argparse.Namespace) -> None:
    base = f"http://127.0.0.1:{port}"
    for number in range(options.files):
        with Path(site, f"sitemap-{number}.xml").open("w", encoding="utf-8") as file:
            file.writelines(lines(number, options))
    children = "".join(
        f"<sitemap><loc>{base}/sitemap-{number}.xml</loc></sitemap>\n" for number in range(options.files)
    )
    index = f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{children}</sitemapindex>\n'
    Path(site, "index.xml").write_text(index, encoding="utf-8")


def sitemap(number: int, options: argparse.Namespace) -> str:
    return "".join(lines(number, options))


def lines(number: int, options: argparse.Namespace) -> Iterator[str]:
    namespaces = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    if options.extensions:
        namespaces += (
            ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" xmlns:xhtml="http://www.w3.org/1999/xhtml"'
        )
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {namespaces}>\n'
    yield from (entry(number, row, options) for row in range(options.urls))
    yield "</urlset>\n"


def entry(number: int, row: int, options: argparse.Namespace) -> str:
    loc = f"https://www.example.com/catalog/section-{row % 97}/product-{number}-{row}-with-a-name.html"
    lines = [f"    <loc>{loc}</loc>\n"]
    if options.odd and row == options.urls // 5:
        lines = [f"    <loc>{ODD[number % len(ODD)].format(loc)}</loc>\n"]
    if options.shape == "same" or row % 3:
        day, hour, minute = 1 + row % 28, row % 24, row % 60
        lines.append(f"    <lastmod>2025-0{1 + row % 9}-{day:02}T{hour:02}:{minute:02}:00+00:00</lastmod>\n")
    lines.append("    <changefreq>weekly</changefreq>\n")
    if options.shape == "same" or row % 5:
        lines.append(f"    <priority>0.{row % 10}</priority>\n")
    if options.extensions:
        lines += [
            f'    <xhtml:link rel="alternate" hreflang="{lang}" href="{loc}?lang={lang}"/>\n'
            for lang in ("de", "fr", "es")
        ]
        lines.append(f"    <image:image><image:loc>{loc}.jpg</image:loc></image:image>\n")
    return f"  <url>\n{''.join(lines)}  </url>\n"


class serve:  # noqa: N801 - reads as a verb in a with statement
    """Serve a folder on a free loopback port, from a separate process, while the block runs."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        handler = functools.partial(Quiet, directory=str(folder))
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)

    def __enter__(self) -> int:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self._server.server_address[1]

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        """Log nothing."""


def compare(folder: Path, port: int, options: argparse.Namespace) -> None:
    index = f"http://127.0.0.1:{port}/index.xml"
    stock = folder / "stock.py"
    stock.write_text(STOCK_SPIDER.format(index=index), encoding="utf-8")
    urls = options.files * options.urls
    print(
        f"{options.files} sitemaps of {options.urls} URLs, {options.rounds} rounds, shape {options.shape}"
        + (", with extensions" if options.extensions else "")
    )
    for form in options.formats:
        ratios = []
        stock_form = form if form not in {"parquet", "store"} else "jsonl"
        for number in range(1, options.rounds + 1):
            theirs = run(["scrapy", "runspider", str(stock), "-O", str(folder / f"stock.{stock_form}")], folder, urls)
            output = ["--store", str(folder / f"store-{number}")] if form == "store" else ["-O", f"ours.{form}"]
            ours = run(["sitemap_harvest", "crawl", index, *output], folder, urls)
            ratios.append(theirs[0] / ours[0])
            print(
                f"{form} round {number}: stock ({stock_form}) {theirs[0] / urls * 1e6:6.2f} us/URL, {theirs[1]:4.0f} MB"
                f"   ours {ours[0] / urls * 1e6:5.2f} us/URL, {ours[1]:4.0f} MB   ratio {ratios[-1]:5.1f}"
            )
        print(f"{form}: median ratio {statistics.median(ratios):.1f}")


def run(command: list[str], folder: Path, urls: int) -> tuple[float, float]:
    """Run the command of a module; return its processor seconds and peak memory in MB."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen(
        [sys.executable, "-m", *command], cwd=folder, env=environment, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    log = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status or (f"'item_scraped_count': {urls}," not in log and f" {urls:,} │" not in log):
        sys.exit(f"{' '.join(command)} failed:\n{log[-3000:]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


if __name__ == "__main__":
    main()
