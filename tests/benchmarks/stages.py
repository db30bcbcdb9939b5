"""Measure where the processor time of a crawl goes: a table of its stages.

    python -m tests.benchmarks.stages [--files 20] [--urls 50000] [--outputs jsonl csv parquet store] [--kinds plain]

Serves generated sitemaps on loopback, and crawls each kind of sitemap to each output in a separate process. A timer
of processor time interrupts the process every few milliseconds, and counts for the stage of the innermost function that
belongs to one. Prints microseconds of processor time per URL. Quote the proportions; times depend on the machine. All
files are in a temporary folder. The benchmark ends without intervention.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.throughput import generate, serve

if TYPE_CHECKING:
    from types import FrameType

_STAGES = {  # the modules of each stage; those of stages above come first
    "start": ("importlib._bootstrap", "sitemap_harvest.cli", "sitemap_harvest.config"),
    "decompress": ("sitemap_harvest.formats.source", "sitemap_harvest.formats.decompressors"),
    "detect": ("sitemap_harvest.formats.sniff", "sitemap_harvest.formats.decode"),
    "split": ("sitemap_harvest.formats.xml",),
    "columns": ("sitemap_harvest.formats", "sitemap_harvest.model", "sitemap_harvest.dates"),
    "keys and scope": ("sitemap_harvest.urls", "sitemap_harvest.discovery"),
    "filters": ("sitemap_harvest.filters",),
    "compare": ("sitemap_harvest.diff",),
    "store": ("sitemap_harvest.snapshots", "sitemap_harvest.engine.site_snapshot"),
    "write": ("sitemap_harvest.export", "sitemap_harvest.integration.items"),
    "download": ("scrapy", "twisted", "asyncio", "selectors", "sitemap_harvest"),
}
_OTHER = "other"
_TICK = 0.001  # seconds; the kernel may round it up
_SAMPLED = "from tests.benchmarks.stages import sampled; sampled()"
_KINDS = {  # options of the generator
    "plain": {},
    "extensions": {"extensions": True},
    "mixed": {"shape": "mixed"},
    "gzip": {},
    "small": {"files": 2000, "urls": 100},
}
_OUTPUTS = {
    "jsonl": ["-O", "o.jsonl"],
    "csv": ["-O", "o.csv"],
    "parquet": ["-O", "o.parquet"],
    "store": ["--store", "s"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=20, help="sitemaps (20)")
    parser.add_argument("--urls", type=int, default=50_000, help="URLs in each (50000)")
    parser.add_argument("--kinds", nargs="+", choices=_KINDS, default=[*_KINDS], help="kinds of sitemaps (all)")
    parser.add_argument("--outputs", nargs="+", choices=_OUTPUTS, default=[*_OUTPUTS], help="outputs (all)")
    options = parser.parse_args()
    for kind in options.kinds:
        given = {"files": options.files, "urls": options.urls, "extensions": False, "shape": "same", "odd": False}
        site = argparse.Namespace(**given | _KINDS[kind])
        with tempfile.TemporaryDirectory() as name, serve(Path(name, "site")) as port:
            generate(Path(name, "site"), port, site)
            if kind == "gzip":
                compress(Path(name, "site"))
            found = {output: measure(Path(name), port, output) for output in options.outputs}
        show(f"{kind}: {site.files} x {site.urls}", found, site.files * site.urls)


def compress(site: Path) -> None:
    for path in site.glob("sitemap-*.xml"):
        path.write_bytes(gzip.compress(path.read_bytes()))


def measure(folder: Path, port: int, output: str) -> dict[str, float]:
    """Return the seconds of each stage of a crawl."""
    command = ["crawl", f"http://127.0.0.1:{port}/index.xml", *_OUTPUTS[output]]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])}
    subprocess.run(
        [sys.executable, "-c", _SAMPLED, *command], cwd=folder, env=environment, check=True, capture_output=True
    )
    found: dict[str, float] = json.loads(Path(folder, "stages.json").read_text())
    return found


def sampled() -> None:
    """Run ``sitemap-harvest`` with the arguments of this process, and write the samples of its stages to a file."""
    samples: Counter[str] = Counter()

    def sample(_: int, frame: FrameType | None) -> None:
        samples[stage_of(frame)] += 1

    signal.signal(signal.SIGPROF, sample)
    signal.setitimer(signal.ITIMER_PROF, _TICK, _TICK)
    try:
        from sitemap_harvest.cli.main import main as command

        command()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        seconds_per_sample = time.process_time() / samples.total()
        found = {stage: count * seconds_per_sample for stage, count in samples.items()}
        Path("stages.json").write_text(json.dumps(found))


def stage_of(frame: FrameType | None) -> str:
    """Return the stage of the innermost function that belongs to one; imports are part of the start."""
    found = _OTHER
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith(_STAGES["start"][0]):
            return "start"
        if found == _OTHER:
            found = next((stage for stage, names in _STAGES.items() if module.startswith(names)), _OTHER)
        frame = frame.f_back
    return found


def show(title: str, found: dict[str, dict[str, float]], urls: int) -> None:
    print(f"\n{title} (microseconds per URL)\n{'':16}" + "".join(f"{output:>10}" for output in found))
    for stage in (*_STAGES, _OTHER):
        print(f"{stage:16}" + "".join(f"{of.get(stage, 0) / urls * 1e6:10.2f}" for of in found.values()))
    print(f"{'total':16}" + "".join(f"{sum(of.values()) / urls * 1e6:10.2f}" for of in found.values()), flush=True)


if __name__ == "__main__":
    main()
