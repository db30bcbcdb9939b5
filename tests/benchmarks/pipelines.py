"""Measure the cost of ordinary pipelines, with one process_item() for each URL.

    python -m tests.benchmarks.pipelines [--files 20] [--urls 50000] [--rounds 3] [--cases reads] [--ways auto rows]

Generates sitemaps, serves them on loopback, and reads them into a JSON Lines file, without pipelines and with one or
two, in turns with a stock Scrapy spider that has the same pipelines. Prints the processor time per URL of each, and the
ratio to that of the stock spider. Quote ratios of one run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from itemadapter import ItemAdapter

from tests.benchmarks.throughput import STOCK_SPIDER, generate, run, serve

_STOCK = "stock"


class Reader:
    """A pipeline that reads a field."""

    def process_item(self, item: Any) -> Any:
        assert ItemAdapter(item)
        return item


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


CASES: dict[str, tuple[type, ...]] = {
    "none": (),
    "reads": (Reader,),
    "sets": (Title,),
    "adds": (Source,),
    "both": (Title, Source),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=20, help="sitemaps (20)")
    parser.add_argument("--urls", type=int, default=50_000, help="URLs in each (50000)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (3)")
    parser.add_argument("--cases", nargs="+", default=list(CASES), help=f"pipelines ({' '.join(CASES)})")
    parser.add_argument("--ways", nargs="+", default=["auto"], help="values of SITEMAP_HARVEST_ITEMS (auto)")
    options = parser.parse_args()
    urls = options.files * options.urls
    with tempfile.TemporaryDirectory() as name, serve(Path(name, "site")) as port:
        folder, index = Path(name), f"http://127.0.0.1:{port}/index.xml"
        generate(folder / "site", port, argparse.Namespace(**vars(options), extensions=False, shape="same", odd=False))
        Path(folder, "stock.py").write_text(STOCK_SPIDER.format(index=index))
        for case in options.cases:
            rounds = [
                {way: once(folder, index, way, CASES[case], urls) for way in (_STOCK, *options.ways)}
                for _ in range(options.rounds)
            ]
            for way in rounds[0]:
                middle = statistics.median(seconds[way] for seconds in rounds)
                ratio = statistics.median(seconds[_STOCK] / seconds[way] for seconds in rounds)
                print(f"{case:5} {way:5} {middle / urls * 1e6:6.2f} us/URL   ratio {ratio:4.1f}", flush=True)


def once(folder: Path, index: str, way: str, pipelines: tuple[type, ...], urls: int) -> float:
    """Return the processor seconds of one run; *way*: a value of SITEMAP_HARVEST_ITEMS, or that of the stock spider."""
    order = {f"tests.benchmarks.pipelines.{kind.__name__}": number for number, kind in enumerate(pipelines)}
    command = ["sitemap_harvest", "crawl", index, "-s", f"SITEMAP_HARVEST_ITEMS={way}"]
    if way == _STOCK:
        command = ["scrapy", "runspider", str(folder / "stock.py")]
    command += ["-O", str(folder / "urls.jsonl"), "-s", f"ITEM_PIPELINES={json.dumps(order)}"]
    return run(command, folder, urls)[0]


if __name__ == "__main__":
    main()
