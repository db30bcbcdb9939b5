"""Measure the peak memory of crawls, and compare it with the formula in ``docs/explain/performance.md``.

    python -m tests.benchmarks.memory [--cases plain extensions gzip many large] [--formats jsonl parquet] [--rounds 3]

Generates sitemaps, serves them on loopback, and crawls each kind of sitemap to each format in a separate process.
Prints the median of the measured peak, and the peak that the formula predicts from the peak of a crawl of a single URL.
``many`` has 10 million URLs, and ``large`` is one document of 1 GB. All files are in a temporary folder: with ``many``
and JSON Lines up to 15 GB. The benchmark ends without intervention.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

from sitemap_harvest.config.settings import HarvestSettings
from tests.benchmarks.stages import compress
from tests.benchmarks.throughput import generate, run, serve

_MIB = 1024 * 1024
_READING = 45  # MB: two documents, a megabyte of entries each, and the batches made of them
_WRITING = {"jsonl": 0, "csv": 0, "parquet": 10}  # MB: the rows of a group, and its encoded pages
_WRITING_A_MILLION = {"jsonl": 0, "csv": 0, "parquet": 4}  # MB: what the footer says about each group
_START = {"files": 1, "urls": 1, "extensions": False}
_CASES: dict[str, dict[str, Any]] = {
    "plain": {"files": 20, "urls": 50_000, "extensions": False},
    "extensions": {"files": 20, "urls": 50_000, "extensions": True},
    "gzip": {"files": 20, "urls": 50_000, "extensions": False},
    "many": {"files": 200, "urls": 50_000, "extensions": False},
    "large": {"files": 1, "urls": 4_600_000, "extensions": False},
}
_LARGE = {"DOWNLOAD_MAXSIZE": 2**31 - 1, "SITEMAP_HARVEST_MAX_UNPACKED": 2**31, "SITEMAP_HARVEST_MAX_URLS": 10**7}
_SETTINGS: dict[str, dict[str, int]] = {"large": _LARGE}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=_CASES, default=[*_CASES], help="kinds of sitemaps (all)")
    parser.add_argument("--formats", nargs="+", choices=_WRITING, default=["jsonl", "parquet"], help="feed formats")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (3)")
    options = parser.parse_args()
    for case in options.cases:
        starts, _ = peaks("", _START, options, _SETTINGS.get(case, {}))
        found, bodies = peaks(case, _CASES[case], options, _SETTINGS.get(case, {}))
        for form, measured in found.items():
            millions = _CASES[case]["files"] * _CASES[case]["urls"] / 1e6
            predicted = starts[form] + bodies / _MIB + _READING + _WRITING[form] + _WRITING_A_MILLION[form] * millions
            print(f"{case:10} {form:7}   measured {measured:5.0f} MB   predicted {predicted:5.0f} MB", flush=True)


def peaks(
    case: str, site: dict[str, Any], options: argparse.Namespace, settings: dict[str, int]
) -> tuple[dict[str, float], int]:
    """Return the peak in MB by format, and the bytes of bodies that are in memory at a time."""
    found = {}
    with tempfile.TemporaryDirectory() as name, serve(Path(name, "site")) as port:
        generate(Path(name, "site"), port, argparse.Namespace(**site, shape="same", odd=False))
        if case == "gzip":
            compress(Path(name, "site"))
        sizes = [path.stat().st_size for path in Path(name, "site").glob("sitemap-*")]
        command = ["sitemap_harvest", "crawl", f"http://127.0.0.1:{port}/index.xml"]
        command += [part for setting, value in settings.items() for part in ("-s", f"{setting}={value}")]
        for form in options.formats:
            runs = [
                run([*command, "-O", f"{name}/urls.{form}"], Path(name), site["files"] * site["urls"])
                for _ in range(options.rounds)
            ]
            found[form] = statistics.median(peak for _, peak in runs)
    return found, min(sum(sizes), max(HarvestSettings().bodies, *sizes))


if __name__ == "__main__":
    main()
