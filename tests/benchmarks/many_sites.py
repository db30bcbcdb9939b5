"""Harvest thousands of local sites, some of which hang or refuse connections, and measure the cost.

    python -m tests.benchmarks.many_sites [--hosts 2000] [--hanging 5] [--refusing 5] [--setting NAME=VALUE ...]

Serves a host on each of many loopback addresses, runs the crawl with its default settings in a separate process, and
compares its output with the URLs served. Prints wall time, processor time, peak memory, the request rate at single
hosts, and the hosts by sort and result. ``--beyond`` lets some hosts redirect to hosts that are not targets of the
crawl, which on loopback needs ``--setting SITEMAP_HARVEST_PRIVATE=True``. ``--profile FILE`` writes where the processor
time goes, for ``python -m pstats FILE``.

All files are in a temporary folder. The benchmark ends without intervention.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.network import Network, Sort

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Usage:
    """The resources that the crawl used."""

    code: int
    wall: float
    processor: float
    megabytes: float

    def __str__(self) -> str:
        return f"{self.wall:.1f} s wall, {self.processor:.1f} s processor, {self.megabytes:.0f} MB peak"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=2_000, help="hosts that are targets of the crawl (2000)")
    parser.add_argument("--hanging", type=int, default=5, help="per cent that never answer (5)")
    parser.add_argument("--refusing", type=int, default=5, help="per cent that take no connection (5)")
    parser.add_argument("--beyond", action="store_true", help="some redirect to hosts that are not in the list")
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE", help="a setting of the crawl")
    parser.add_argument("--seconds", type=int, default=900, help="after which the crawl is stopped (900)")
    parser.add_argument("--profile", metavar="FILE", help="write a profile of the crawl there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shape = {"hanging": options.hanging, "refusing": options.refusing, "beyond": options.beyond}
        with Network(options.hosts, seconds=options.seconds + 60, **shape) as network:
            (folder / "sites.txt").write_text("\n".join(host.url for host in network.hosts))
            usage = run(command(folder, options), folder / "log.txt", options.seconds)
        report(network, folder, usage)


def command(folder: Path, options: argparse.Namespace) -> list[str]:
    """Return the command that harvests the sites."""
    feeds = {
        f"{folder}/urls.jsonl": {"format": "jsonl", "item_classes": ["sitemap_harvest.UrlEntry"]},
        f"{folder}/ledger.jsonl": {"format": "jsonl", "item_classes": ["sitemap_harvest.SitemapRecord"]},
        f"{folder}/sites.jsonl": {"format": "jsonl", "item_classes": ["sitemap_harvest.SiteRecord"]},
    }
    settings = [f"FEEDS={json.dumps(feeds)}", *options.setting]
    profiled = ["-m", "cProfile", "-o", options.profile] if options.profile else []
    crawl = ["-m", "scrapy", "crawl", "sitemap", "-a", f"sites={folder}/sites.txt", "-a", "emit=urls,sitemaps,sites"]
    return [sys.executable, *profiled, *crawl, *[part for setting in settings for part in ("-s", setting)]]


def run(arguments: list[str], log: Path, seconds: float) -> Usage:
    """Run a command for at most *seconds*; its log goes to *log*."""
    started = time.monotonic()
    with log.open("w") as file:
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(arguments, cwd=ROOT, env=environment, stderr=file)
    watch = threading.Timer(seconds, process.terminate)
    watch.start()
    _, status, usage = os.wait4(process.pid, 0)
    watch.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - started
    return Usage(process.returncode, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def report(network: Network, folder: Path, usage: Usage) -> None:
    """Print the resources that the crawl used, and its results."""
    urls, ledger, sites = (lines(folder / f"{name}.jsonl") for name in ("urls", "ledger", "sites"))
    if not ledger:
        sys.exit(f"the crawl gave nothing, code {usage.code}:\n{(folder / 'log.txt').read_text()[-3000:]}")
    wanted = sum(len(host.expected.locs) for host in network.hosts)
    print(f"{len(network.hosts):,} hosts: {usage}")
    print(f"{len(urls):,} URLs found of {wanted:,}; {len(ledger):,} documents, {len(network.requests):,} requests")
    print(f"outcomes: {counted(Counter(row['outcome'] for row in ledger))}")
    requests = Counter(url for _, url in network.requests)
    twice = sum(requests[f"{host.url}/robots.txt"] > 1 for host in network.of(Sort.BARE, Sort.DELAYED))
    print(f"robots.txt requested more than once: at {twice:,} of {len(network.of(Sort.BARE, Sort.DELAYED)):,} hosts")
    gaps = [shortest_gap(network, sort) for sort in (Sort.DELAYED, Sort.EMPTY)]
    print(
        f"shortest time between two requests: {gaps[0]:.3f} s where robots.txt asks for 1 s, {gaps[1]:.3f} s elsewhere"
    )
    differences = network.differences(sites=sites, ledger=ledger, locs=(row["loc"] for row in urls))
    for sort in Sort:
        mine = {host.url for host in network.of(sort)}
        results = Counter(row["result"] for row in sites if row["root"] in mine)
        outcomes = Counter(row["outcome"] for row in ledger if row["root"] in mine)
        good = len(mine - differences.keys())
        print(f"{sort:>12}: {len(mine):5,} hosts, {good:5,} as expected; {counted(results)}; {counted(outcomes)}")
    for url, wrong in [*differences.items()][:5]:
        print(f"not as expected: {url}: {'; '.join(wrong)[:200]}")


def counted(words: Counter[str]) -> str:
    return ", ".join(f"{number:,} {word}" for word, number in words.most_common()) or "none"


def shortest_gap(network: Network, *sorts: Sort) -> float:
    """Return the shortest time in seconds between two requests to one host of these sorts."""
    times: defaultdict[str, list[float]] = defaultdict(list)
    for moment, url in network.requests:
        if not url.endswith("/robots.txt"):  # which is requested before any rule is known
            times["/".join(url.split("/")[:3])].append(moment)
    gaps = [later - earlier for host in network.of(*sorts) for earlier, later in itertools.pairwise(times[host.url])]
    return min(gaps, default=0.0)


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSON Lines file."""
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


if __name__ == "__main__":
    main()
