"""Runs histories of many sites and prints the false reports. The score is the last line."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.histories.driving import History
from tests.histories.oracle import score


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.histories", description=__doc__)
    parser.add_argument("--crawls", type=int, default=2000, help="crawls of a site, in all")
    parser.add_argument("--sites", type=int, default=40, help="sites of one run")
    parser.add_argument("--rounds", type=int, default=50, help="most crawls of a history")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=float, default=0.2, help="share of the runs that are killed")
    parser.add_argument(
        "--only", type=int, nargs="*", help="only these sites of the world, each with who shares with it"
    )
    parser.add_argument("--without", nargs="*", default=(), metavar="FAULT", help="faults that do not occur, by name")
    parser.add_argument("--folder", type=Path, help="where the store and the outputs are left; must not exist")
    parser.add_argument("--log", type=Path, help="a file for all that happens")
    options = parser.parse_args()
    finds, crawled, kills, undelivered, seed = [], 0, 0, 0, options.seed
    log = (options.log or Path(os.devnull)).open("w")
    while crawled < options.crawls:
        left = -(-(options.crawls - crawled) // options.sites)
        with tempfile.TemporaryDirectory() as temporary:
            folder = options.folder or Path(temporary)
            folder = folder / f"seed-{seed}"
            folder.mkdir(parents=True)
            only = None if options.only is None else set(options.only)
            history = History(
                folder, sites=options.sites, seed=seed, kill_share=options.kills, only=only, without=options.without
            )
            begun = time.monotonic()
            found = history.run(min(left, options.rounds), lambda text: print(text, file=log, flush=True))
        crawled += history.crawled if only is None else options.sites * min(left, options.rounds)
        kills, undelivered = kills + history.kills, undelivered + history.undelivered
        finds += found
        for (kind, site, crawl, what), count in Counter(find[:4] for find in found).items():
            sample = next(find.url for find in found if find[:4] == (kind, site, crawl, what))
            print(f"seed {seed}, site {site}, crawl {crawl}: {count} {kind}: {what}: {sample}")
        print(f"seed {seed}: {history.crawled} crawls in {time.monotonic() - begun:.0f} s, {score(found)}", flush=True)
        seed += 1
    print(f"changes in the store that a killed run has not delivered: {undelivered}")
    print(f"crawls={crawled} sites={options.sites} kills={kills} {score(finds)}")
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())
