"""Compare an interval for each sitemap with one for each site, whose crawls request all its sitemaps.

    python -m tests.benchmarks.sitemap_intervals [--sites 50] [--days 365] [--removals] [--dates]

Simulates crawls of sites with several sitemaps that change at random, and of such sites in the corpus (its folder is in
``HARVEST_CORPUS``), and counts the requests for sitemaps, and their changes that a request sees within a day. Both ways
get the same budget of crawls. Then the budget of the first is reduced until it has as many requests as the second.
With ``--removals``, each change removes a URL, so that all sitemaps are requested twice a week. With ``--dates``,
indexes give the date of each change.
Everything is seeded. Five minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import numpy as np

from sitemap_harvest import read
from sitemap_harvest.frontier.intervals import ChangeHistory, Floats, allocate, ceiling_for, intervals, observed, rates
from sitemap_harvest.snapshots.sitemap_intervals import MOST_SHARES, REQUESTS_PER_SHARE
from tests.benchmarks.intervals import bursty, poisson

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.random import Generator

    Site = Sequence[Floats]  # of each sitemap: the days of its changes, ascending

_EVERY = (2, 7)  # the budget allows for a crawl of each site once in so many days
_FEWEST_DATES = 5  # of a site in the corpus
_HALF_PENDING_DAYS = 3.5
_SEED = 2026
_STEPS = 7  # of the search for the budget with as many requests


@dataclass(frozen=True, slots=True)
class Counts:
    """What a simulation gave."""

    requests: float
    crawls: float
    seen: float
    """The changes seen within a day."""
    changes: float


def simulate(
    sites: Sequence[Site], days: float, budget: float, *, own: bool, removals: bool = False, dates: bool = False
) -> Counts:
    """Simulate *budget* crawls per day, each at a full hour.

    *own*: whether sitemaps have intervals of their own. *removals*: whether each change removes a URL. *dates*:
    whether the index gives the date of each change.
    """
    number, end = len(sites), days - 1
    first = np.cumsum([0, *map(len, sites)])
    keys = np.concatenate([at * days + changes for at, changes in enumerate(one for site in sites for one in site)])

    def until(sitemaps: Floats, at: Floats | float) -> Floats:
        return np.searchsorted(keys, sitemaps * days + np.clip(at, 0, days - 1e-9), side="right")

    ceiling = ceiling_for(number, budget)
    of_sites, of_sitemaps = [ChangeHistory()] * number, [ChangeHistory()] * int(first[-1])
    estimates, own_rates = (rates(np.zeros(size), np.zeros(size)) for size in (number, int(first[-1])))
    last, checked = np.full(number, -np.inf), np.full(int(first[-1]), -np.inf)
    is_pending = np.zeros(number, dtype=bool)
    multiplier = allocate(estimates, budget, ceiling_days=ceiling).multiplier
    due = np.random.default_rng(_SEED).uniform(0, intervals(estimates, multiplier, ceiling_days=ceiling))
    requests = crawls = seen = 0
    for tick in range(int(days * 24)):
        now = tick / 24
        if tick % 24 == 0:
            multiplier = allocate(estimates, budget, ceiling_days=ceiling).multiplier
            due = np.where(last >= 0, last + intervals(estimates, multiplier, ceiling_days=ceiling), due)
        for site in np.flatnonzero(due <= now + 1 / 48).tolist():
            asked = every = np.arange(first[site], first[site + 1])
            if own and last[site] >= 0:
                ages, gap = now - checked[every], now - last[site]
                is_due = ages >= intervals(own_rates[every], multiplier, ceiling_days=ceiling) - gap / 2
                is_due |= dates & (until(every, now) > until(every, checked[every]))
                was_left_out = checked[every] < last[site]
                if not (is_pending[site] and np.any(was_left_out & (ages >= _HALF_PENDING_DAYS))):
                    asked = every[is_due]
            before = np.maximum(checked[asked], 0.0)
            per_crawl = REQUESTS_PER_SHARE * min(len(every), MOST_SHARES)
            changed = until(asked, now) > until(asked, before)
            seen += (until(asked, min(now, end)) - until(asked, np.minimum(np.maximum(before, now - 1), end))).sum()
            for sitemap, has_changed in zip(asked.tolist(), changed.tolist(), strict=True) if own else ():
                if checked[sitemap] >= 0:
                    age = now - checked[sitemap]
                    found = observed(of_sitemaps[sitemap], days_since_last=age, changed=has_changed)
                    of_sitemaps[sitemap], own_rates[sitemap] = found, _rate(found, per_crawl)
            if last[site] >= 0:
                found = observed(of_sites[site], days_since_last=now - last[site], changed=bool(changed.any()))
                of_sites[site], estimates[site] = found, _rate(found)
            is_pending[site] = len(asked) < len(every) and (is_pending[site] or (removals and changed.any()))
            last[site], checked[asked] = now, now
            due[site] = now + intervals(estimates[[site]], multiplier, ceiling_days=ceiling)[0]
            requests, crawls = requests + len(asked), crawls + 1
    changes = sum(np.searchsorted(one, end, side="right") for site in sites for one in site)
    return Counts(requests, crawls, seen, changes)


def _rate(history: ChangeHistory, share: int = 1) -> float:
    return float(rates(np.float64(history.changes * share), np.float64(history.days)))


def with_as_many_requests(sites: Sequence[Site], days: float, budget: float, wanted: Counts) -> Counts:
    """Return the result of intervals for sites only, with at most *budget*, and about as many requests as *wanted*."""
    low, high, found = budget / 200, budget, []
    for _ in range(_STEPS):
        middle = (low * high) ** 0.5
        found.append(simulate(sites, days, middle, own=False))
        low, high = (middle, high) if found[-1].requests < wanted.requests else (low, middle)
    return min(found, key=lambda one: abs(math.log(one.requests / wanted.requests)))


def sizes(generator: Generator, sites: int) -> list[int]:
    """Return a number of sitemaps for each of the *sites*: 12 in the median, at most 200."""
    return np.clip(np.exp(2.5 + 1.0 * generator.standard_normal(sites)), 2, 200).astype(int).tolist()


def independent(spread: float) -> Callable[[Generator, int, float], list[Site]]:
    """Sites whose sitemaps have rates with a log-normal distribution, and whose sites differ too."""

    def population(generator: Generator, sites: int, days: float) -> list[Site]:
        medians = 0.02 * np.exp(generator.standard_normal(sites))
        return [
            poisson(generator, np.minimum(median * np.exp(spread * generator.standard_normal(size)), 20.0), days)
            for median, size in zip(medians, sizes(generator, sites), strict=True)
        ]

    return population


def archives(generator: Generator, sites: int, days: float) -> list[Site]:
    """Sites with one busy sitemap; the others change once in two years."""
    busy = np.exp(-0.5 + generator.standard_normal(sites))
    return [
        poisson(generator, np.array([rate, *[1 / 730] * (size - 1)]), days)
        for rate, size in zip(busy, sizes(generator, sites), strict=True)
    ]


def turns(generator: Generator, sites: int, days: float) -> list[Site]:
    """Sites whose sitemaps change twice a day in a burst of 10 days, on average once in 200 days."""
    population = bursty(10, 190, 2)
    return [population(generator, size, days) for size in sizes(generator, sites)]


def alike(generator: Generator, sites: int, days: float) -> list[Site]:
    """Sites whose sitemaps all change once in 20 days."""
    return [poisson(generator, np.full(size, 0.05), days) for size in sizes(generator, sites)]


def together(generator: Generator, sites: int, days: float) -> list[Site]:
    """Return sites of all populations, each with a rate of its own: some are alike, some have archives."""
    each = [one for name, one in POPULATIONS.items() if one is not together]
    return [site for one in each for site in one(generator, sites // len(each), days)]


POPULATIONS: dict[str, Callable[[Generator, int, float], list[Site]]] = {
    "a busy sitemap, archives": archives,
    "rates differ much": independent(2.5),
    "rates differ": independent(1.0),
    "bursts": turns,
    "alike": alike,
    "all of these": together,
}


def corpus(folder: Path, days: float) -> dict[str, Site]:
    """Return the sites in the corpus with several sitemaps, as :func:`tests.benchmarks.intervals.corpus` does.

    The changes of a sitemap are the dates in it, and those that its index gives. It is as old as its site.
    """
    dates: dict[str, dict[str, set[datetime]]] = defaultdict(lambda: defaultdict(set))
    for line in (folder / "MANIFEST.jsonl").read_text("utf-8").splitlines():
        file = json.loads(line)
        if file["path"].split("/")[0] in {"sitemaps", "indexes", "text", "history"}:
            document, host = read(folder / file["path"], url=file["url"]), urlsplit(file["url"]).hostname
            dates[host][file["url"]] |= {row.lastmod for row in document.rows() if row.lastmod}
            for ref in document.sitemaps():
                dates[host][ref.loc] |= {ref.lastmod} if ref.lastmod else set()
            if "committed" in file and dates[host][file["url"]]:
                dates[host][file["url"]].add(datetime.fromisoformat(file["committed"]))
    found = {}
    for host, sitemaps in dates.items():
        listed = {url: times for url, times in sitemaps.items() if times}
        last = max((max(times) for times in listed.values()), default=None)
        if last is None or len(listed) < 2:
            continue
        start = last - timedelta(days=days - 2)
        site = [
            np.unique([int((time - start) / timedelta(hours=1)) / 24 for time in times if time > start] or [0.0])
            for times in listed.values()
        ]
        site = [changes[changes > 0] for changes in site]
        if len(set(np.concatenate(site).astype(int))) >= _FEWEST_DATES:
            found[host] = site
    return found


def report(name: str, sites: Sequence[Site], options: argparse.Namespace) -> None:
    for every in _EVERY:
        budget = len(sites) / every
        plain = simulate(sites, options.days, budget, own=False)
        own = simulate(sites, options.days, budget, own=True, removals=options.removals, dates=options.dates)
        same = with_as_many_requests(sites, options.days, budget, own)
        print(
            f"{name:<28}{every:>6}{plain.requests / own.requests:>10.1f}{plain.seen / plain.changes:>8.0%}"
            f"{own.seen / own.changes:>8.0%}{same.seen / same.changes:>8.0%}{own.seen / max(same.seen, 1):>8.2f}"
            f"{same.requests / own.requests:>8.2f}{own.crawls / plain.crawls:>8.2f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sites", type=int, default=50, help="sites of a population (50)")
    parser.add_argument("--days", type=int, default=365, help="days to simulate (365)")
    parser.add_argument("--removals", action="store_true", help="each change removes a URL")
    parser.add_argument("--dates", action="store_true", help="indexes give the date of each change")
    options = parser.parse_args()
    print(f"{'':<34}  requests   seen within a day         at equal requests   crawls")
    print(f"{'population':<28}{'every':>6}{'saved':>10}{'sites':>8}{'own':>8}{'equal':>8}{'ratio':>8}{'equal':>8}")
    for name, population in POPULATIONS.items():
        report(name, population(np.random.default_rng(_SEED), options.sites, options.days), options)
    if folder := os.environ.get("HARVEST_CORPUS"):
        found = corpus(Path(folder), options.days)
        report(f"corpus, {len(found)} sites", list(found.values()), options)


if __name__ == "__main__":
    main()
