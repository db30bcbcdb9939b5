"""Measure the cost of a URL, compared with other libraries that read sitemaps.

    python -m tests.benchmarks.peers [--files 20] [--urls 50000] [--rounds 3] [--python PYTHON] [--modules FOLDER]

Generates sitemaps, serves them on loopback, and reads them in turns with this package, stock Scrapy and the peers, each
in a separate process. This package and Scrapy write JSON Lines; the peers only count the URLs that they parse. Prints
the medians of the processor time per URL and of peak memory, and the ratio of processor time. Quote ratios of one run.

The benchmark needs no peer. It names those that it did not find, and how to install them. ``PYTHON`` is the interpreter
of an environment with the Python packages, and ``FOLDER`` a ``node_modules`` with the npm packages. All files are in a
temporary folder. The benchmark ends without intervention.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.processes import used_by
from tests.benchmarks.throughput import STOCK_SPIDER, generate, run, serve

_USP = """
from usp.fetch_parse import SitemapFetcher
sitemap = SitemapFetcher(url=index, recursion_level=0, parent_urls=set()).sitemap()
count = sum(1 for _ in sitemap.all_pages())
"""
_ADVERTOOLS = """
from advertools import sitemap_to_df
count = len(sitemap_to_df(index))
"""
_CRAWLEE = """
import asyncio
from crawlee._utils.sitemap import parse_sitemap
from crawlee.http_clients import ImpitHttpClient
async def load():
    sources, options = [{"type": "url", "url": index}], {"enqueue_strategy": "all"}
    return sum([1 async for _ in parse_sitemap(sources, ImpitHttpClient(), options=options)])
count = asyncio.run(load())
"""
_NODE_CRAWLEE = """
const { Sitemap } = require("@crawlee/utils");
Sitemap.load(index, undefined, { enqueueStrategy: "all" }).then((sitemap) => finish(sitemap.urls.length));
"""
_NPM_SITEMAP = """
const { Readable } = require("node:stream");
const { XMLToSitemapIndexStream, XMLToSitemapItemStream } = require("sitemap");
const parsed = async (url, parser) => Readable.fromWeb((await fetch(url)).body).pipe(parser);
(async () => {
  let count = 0;
  for await (const { url } of await parsed(index, new XMLToSitemapIndexStream()))
    for await (const item of await parsed(url, new XMLToSitemapItemStream())) count++;
  finish(count);
})();
"""
_PYTHON = "import sys\nindex = sys.argv[1]\n{}\nsys.exit(count != int(sys.argv[2]))"
_NODE = (
    "const [index, wanted] = process.argv.slice(1);\nconst finish = (count) => process.exit(+(count != wanted));\n{}"
)


@dataclass(frozen=True)
class Peer:
    """A library; its *script* parses the sitemaps below ``index``."""

    name: str
    package: str  # as the registry spells it
    module: str
    script: str
    is_npm: bool = False

    def command(self, options: argparse.Namespace) -> list[str]:
        """Return the command that runs the script."""
        if self.is_npm:
            return [options.node, "--eval", _NODE.format(self.script)]
        return [options.python, "-c", _PYTHON.format(self.script)]

    def is_installed(self, options: argparse.Namespace) -> bool:
        check = f"require('{self.module}')" if self.is_npm else f"import {self.module}"
        program = [options.node, "--eval", check] if self.is_npm else [options.python, "-c", check]
        return (
            shutil.which(program[0]) is not None
            and not subprocess.run(program, check=False, capture_output=True).returncode
        )

    @property
    def missing(self) -> str:
        install, option = ("npm install", "--modules") if self.is_npm else ("pip install", "--python")
        return f"{self.name}: not found. Run `{install} {self.package}` in a separate environment, and pass {option}."


PEERS = (
    Peer("usp", "ultimate-sitemap-parser", "usp.fetch_parse", _USP),
    Peer("advertools", "advertools", "advertools", _ADVERTOOLS),
    Peer("crawlee (Python)", "'crawlee[impit]'", "crawlee._utils.sitemap", _CRAWLEE),
    Peer("crawlee (Node)", "@crawlee/utils", "@crawlee/utils", _NODE_CRAWLEE, is_npm=True),
    Peer("sitemap (npm)", "sitemap", "sitemap", _NPM_SITEMAP, is_npm=True),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=20, help="sitemaps (20)")
    parser.add_argument("--urls", type=int, default=50_000, help="URLs in each (50000)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (3)")
    parser.add_argument("--python", default=sys.executable, help="interpreter with the Python packages (this one)")
    parser.add_argument("--node", default="node", help="Node.js (node)")
    parser.add_argument("--modules", default="", help="node_modules with the npm packages")
    options = parser.parse_args()
    os.environ["NODE_PATH"] = str(Path(options.modules).absolute()) if options.modules else ""
    found = [peer for peer in PEERS if peer.is_installed(options)]
    for peer in PEERS:
        if peer not in found:
            print(peer.missing)
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder, "site")) as port:
        generate(Path(folder, "site"), port, argparse.Namespace(**vars(options), extensions=False, shape="same", odd=0))
        compare(Path(folder), f"http://127.0.0.1:{port}/index.xml", found, options)


def compare(folder: Path, index: str, peers: list[Peer], options: argparse.Namespace) -> None:
    Path(folder, "stock.py").write_text(STOCK_SPIDER.format(index=index), encoding="utf-8")
    urls = options.files * options.urls
    print(f"{options.files} sitemaps of {options.urls} URLs, medians of {options.rounds} rounds")
    costs: dict[str, list[tuple[float, float]]] = {}
    for _ in range(options.rounds):
        for form in ("jsonl", "parquet"):
            ours = ["sitemap_harvest", "crawl", index, "-O", str(folder / f"ours.{form}")]
            costs.setdefault(f"sitemap_harvest, {form}", []).append(run(ours, folder, urls))
        stock = ["scrapy", "runspider", str(folder / "stock.py"), "-O", str(folder / "stock.jsonl")]
        costs.setdefault("stock Scrapy, jsonl", []).append(run(stock, folder, urls))
        for peer in peers:
            usage = used_by([*peer.command(options), index, str(urls)])
            costs.setdefault(peer.name, []).append((usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024))
    show(costs, urls)


def show(costs: dict[str, list[tuple[float, float]]], urls: int) -> None:
    """Print a line for each program; the ratios are to the first."""
    ours = [seconds for seconds, _ in next(iter(costs.values()))]
    for name, measured in costs.items():
        middle = statistics.median(seconds for seconds, _ in measured)
        memory = statistics.median(megabytes for _, megabytes in measured)
        ratio = statistics.median(cost[0] / own for cost, own in zip(measured, ours, strict=True))
        print(f"{name:24} {middle / urls * 1e6:7.2f} us/URL {memory:6.0f} MB   ratio {ratio:5.1f}")


if __name__ == "__main__":
    main()
