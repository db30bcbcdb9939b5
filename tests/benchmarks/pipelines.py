"""Measure the cost of ordinary pipelines, with one process_item() for each URL.

    python -m tests.benchmarks.pipelines [--urls 200000] [--rounds 3] [--ways auto dicts rows]

Reads one sitemap from disk into a JSON Lines file, without pipelines and with one or two, in turns. Prints the
processor time per URL and the URLs per second of processor time of each. Quote ratios of one run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from itemadapter import ItemAdapter

from tests.benchmarks.throughput import run, sitemap


class Title:
    """A pipeline that sets a field."""

    def process_item(self, item: Any) -> Any:
        ItemAdapter(item)["title"] = "a title"
        return item


class Source:
    """A pipeline that adds a field."""

    def process_item(self, item: Any) -> Any:
        item["source"] = "sitemap"
        return item


CASES: dict[str, tuple[type, ...]] = {"none": (), "sets": (Title,), "adds": (Source,), "both": (Title, Source)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=int, default=200_000, help="URLs (200000)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (3)")
    parser.add_argument("--cases", nargs="+", default=list(CASES), help=f"pipelines ({' '.join(CASES)})")
    parser.add_argument("--ways", nargs="+", default=["auto"], help="values of SITEMAP_HARVEST_ITEMS (auto)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "s.xml")
        source.write_text(sitemap(0, argparse.Namespace(urls=options.urls, extensions=False, shape="mixed", odd=False)))
        for way in options.ways:
            for case in options.cases:
                seconds = [once(Path(folder), source, way, CASES[case], options.urls) for _ in range(options.rounds)]
                middle = statistics.median(seconds)
                print(
                    f"{way:5} {case:5} {middle / options.urls * 1e6:6.2f} us/URL {options.urls / middle:9,.0f} URLs/s"
                )


def once(folder: Path, source: Path, way: str, pipelines: tuple[type, ...], urls: int) -> float:
    """Return the processor seconds of one run."""
    order = {f"tests.benchmarks.pipelines.{kind.__name__}": number for number, kind in enumerate(pipelines)}
    command = ["sitemap_harvest", "crawl", str(source), "-O", str(folder / "urls.jsonl")]
    command += ["-s", f"ITEM_PIPELINES={json.dumps(order)}", "-s", f"SITEMAP_HARVEST_ITEMS={way}"]
    return run(command, folder, urls)[0]


if __name__ == "__main__":
    main()
