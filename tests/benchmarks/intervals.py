"""Compare an interval for each site with one interval for all, at equally many crawls.

    python -m tests.benchmarks.intervals [--sites 1000] [--days 365] [--ceiling DAYS] [--tune]

Simulates crawls of sites that change at random, and of the sites in the corpus (its folder is in ``HARVEST_CORPUS``),
and counts the changes that a crawl sees within a day of happening. The sites start without history, so the time in
which their rates are learned counts too. The constants of the package were tuned on the populations in ``TUNED``, with
``--tune``, and never on those in ``HELD_OUT`` and on the corpus. Everything is seeded. A minute.
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
from sitemap_harvest.frontier import intervals
from sitemap_harvest.frontier.intervals import ChangeHistory, Floats, allocate, ceiling_for, observed, rates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.random import Generator

    Histories = Sequence[Floats]  # of each site: the days of its changes, ascending
    Population = Callable[[Generator, int, float], Histories]

_EVERY = (2, 7, 20)  # the budget allows for a crawl of each site once in so many days
_FEWEST_DATES = 5  # of a site in the corpus
_ROUNDS = 10  # of the simulations of the corpus, which has few sites
_TUNING_SEED, _SEED = 11, 2026


@dataclass(frozen=True, slots=True)
class Seen:
    """What the crawls of a simulation saw, by site."""

    auto: Floats
    """The changes seen within a day."""
    fixed: Floats
    """The same for one interval for all sites, with equally many crawls."""
    changes: Floats
    crawls: Floats

    @property
    def ratio(self) -> float:
        return self.auto.sum() / self.fixed.sum()

    @property
    def ratio_without_first(self) -> float:
        """The ratio without the changes of those 1% of the sites, at least one, that change most."""
        others = np.argsort(self.changes)[: -max(1, len(self.changes) // 100)]
        return self.auto[others].sum() / self.fixed[others].sum()

    @property
    def ratio_by_site(self) -> float:
        """The ratio if each site counts the same, however often it changes."""
        some = self.changes > 0
        return (self.auto[some] / self.changes[some]).sum() / (self.fixed[some] / self.changes[some]).sum()


def simulate(
    histories: Histories, days: float, budget: float, seed: int, *, hours: float = 1.0, ceiling: float | None = None
) -> Seen:
    """Simulate *budget* crawls per day, each at a multiple of *hours*. Without a *ceiling*, it is that of ``jobs``.

    Once a day, the multiplier is computed, and all sites are placed again.
    """
    number, end, step = len(histories), days - 1, hours / 24
    ceiling = ceiling or ceiling_for(number, budget)
    keys = np.concatenate([site * days + changes for site, changes in enumerate(histories)])

    def until(sites: Floats, at: Floats | float) -> Floats:
        return np.searchsorted(keys, sites * days + np.minimum(at, days - 1e-9), side="right")

    known = [ChangeHistory()] * number
    estimates, last = rates(np.zeros(number), np.zeros(number)), np.full(number, -np.inf)
    multiplier = allocate(estimates, budget, ceiling_days=ceiling).multiplier
    due = np.random.default_rng(seed).uniform(0, intervals.intervals(estimates, multiplier, ceiling_days=ceiling))
    auto, crawls = np.zeros(number), np.zeros(number)
    for tick in range(int(days / step)):
        now = tick * step
        if tick % round(1 / step) == 0:
            multiplier = allocate(estimates, budget, ceiling_days=ceiling).multiplier
            due = np.where(last >= 0, last + intervals.intervals(estimates, multiplier, ceiling_days=ceiling), due)
        sites = np.flatnonzero(due <= now + step / 2)
        before = np.maximum(last[sites], 0.0)
        changed = until(sites, now) > until(sites, before)
        auto[sites] += until(sites, min(now, end)) - until(sites, np.minimum(np.maximum(before, now - 1), end))
        for site, has_changed in zip(sites.tolist(), changed.tolist(), strict=True):
            if last[site] >= 0:
                known[site] = observed(known[site], days_since_last=now - last[site], changed=has_changed)
                estimates[site] = rates(np.float64(known[site].changes), np.float64(known[site].days))
        last[sites] = now
        crawls[sites] += 1
        due[sites] = now + intervals.intervals(estimates[sites], multiplier, ceiling_days=ceiling)
    changes = np.array([np.searchsorted(history, end, side="right") for history in histories], dtype=float)
    return Seen(auto, changes * min(1.0, crawls.sum() / days / number), changes, crawls)


def poisson(generator: Generator, per_day: Floats, days: float) -> Histories:
    return [np.sort(generator.uniform(0, days, generator.poisson(rate * days))) for rate in per_day]


def mixed(median: float, spread: float) -> Population:
    """Rates with a log-normal distribution: *spread* is the standard deviation of their logarithm."""
    return lambda generator, sites, days: poisson(
        generator, np.minimum(median * np.exp(spread * generator.standard_normal(sites)), 100.0), days
    )


def pareto(generator: Generator, sites: int, days: float) -> Histories:
    return poisson(generator, np.minimum(0.01 * (generator.pareto(1.0, sites) + 1), 100.0), days)


def gamma(generator: Generator, sites: int, days: float) -> Histories:
    return poisson(generator, generator.gamma(0.3, 0.5, sites), days)


def alike(rate: float) -> Population:
    return lambda generator, sites, days: poisson(generator, np.full(sites, rate), days)


def bursty(active: float, quiet: float, rate: float) -> Population:
    """Sites that change at *rate* for *active* days, then not for *quiet* days, both on average."""

    def site(generator: Generator, days: float) -> Floats:
        ends = np.cumsum(generator.exponential([quiet, active], (math.ceil(4 * days / (active + quiet)) + 20, 2)))
        starts, stops = ends[0::2], ends[1::2]
        times = [
            generator.uniform(start, stop, generator.poisson(rate * (stop - start)))
            for start, stop in zip(starts, stops, strict=True)
        ]
        every = np.sort(np.concatenate(times)) - generator.uniform(0, active + quiet)
        return every[(every >= 0) & (every < days)]

    return lambda generator, sites, days: [site(generator, days) for _ in range(sites)]


def weekly(median: float, spread: float, weekdays: int) -> Population:
    """Rates as in :func:`mixed`, but all changes are from 8 to 18 o'clock on the first *weekdays* of the week."""

    def at_work(history: Floats) -> Floats:
        week, part = np.divmod(history / 7, 1)
        day, hour = np.divmod(part * weekdays, 1)
        return 7 * week + day + (8 + 10 * hour) / 24

    def sites_at_work(generator: Generator, sites: int, days: float) -> Histories:
        histories = map(at_work, mixed(median, spread)(generator, sites, days))
        return [history[history < days] for history in histories]

    return sites_at_work


def stopping(median: float, spread: float) -> Population:
    """Rates as in :func:`mixed`, but half of the sites stop one day, and a quarter start one day."""

    def cut(generator: Generator, history: Floats, days: float) -> Floats:
        day, kind = generator.uniform(0, days), generator.random()
        return history[history < day] if kind < 0.5 else history[history >= day] if kind < 0.75 else history

    return lambda generator, sites, days: [
        cut(generator, history, days) for history in mixed(median, spread)(generator, sites, days)
    ]


def periodic(*periods: float) -> Population:
    """Sites that change exactly once in one of *periods* of days."""
    return lambda generator, sites, days: [
        np.arange(generator.uniform(0, period), days, period) for period in generator.choice(periods, sites)
    ]


TUNED: dict[str, Population] = {
    "log-normal": mixed(0.05, 1.7),
    "Pareto": pareto,
    "bursts of 5 days": bursty(5, 60, 5),
    "five days a week": weekly(0.1, 1.5, 5),
    "half of them stop": stopping(0.1, 1.7),
    "periodic, 1 to 90 days": periodic(1, 2, 7, 14, 30, 90),
    "alike, 0.3 a day": alike(0.3),
}
HELD_OUT: dict[str, Population] = {
    "gamma": gamma,
    "log-normal, narrow": mixed(0.2, 0.8),
    "bursts of 12 days": bursty(12, 120, 2),
    "bursts of a day": bursty(1, 30, 8),
    "two days a week": weekly(0.05, 2.0, 2),
    "half of them stop": stopping(0.03, 2.2),
    "periodic, 3 to 60 days": periodic(3, 10, 21, 60),
    "alike, 0.1 a day": alike(0.1),
    "alike, 1 a day": alike(1.0),
}


def together(generator: Generator, sites: int, days: float) -> Histories:
    """Sites of all populations that are held out, equally many of each."""
    populations = HELD_OUT.values()
    return [history for population in populations for history in population(generator, sites // len(populations), days)]


def corpus(folder: Path, days: float) -> dict[str, Floats]:
    """Return the changes of the sites in the corpus in the last *days* before the last one of each site.

    A site is a host. Its changes are the dates in its documents, and the times at which their versions were published.
    All changes within an hour are one.
    """
    dates: dict[str, set[datetime]] = defaultdict(set)
    for line in (folder / "MANIFEST.jsonl").read_text("utf-8").splitlines():
        file = json.loads(line)
        if file["path"].split("/")[0] in {"sitemaps", "indexes", "feeds", "text", "history"}:
            document, host = read(folder / file["path"], url=file["url"]), urlsplit(file["url"]).hostname
            dates[host] |= {row.lastmod for row in (*document.rows(), *document.sitemaps()) if row.lastmod}
            if "committed" in file:
                dates[host].add(datetime.fromisoformat(file["committed"]))
    found = {}
    for host, times in dates.items():
        hours = {time.replace(minute=0, second=0, microsecond=0) for time in times}
        start = max(hours, default=None) and max(hours) - timedelta(days=days - 2)
        ages = np.array(sorted((hour - start) / timedelta(days=1) for hour in hours if hour > start))
        if len(set(ages.astype(int))) >= _FEWEST_DATES:
            found[host] = ages
    return found


def joined(runs: Sequence[Seen]) -> Seen:
    """Return the mean of simulations of the same sites."""
    return Seen(
        *(np.mean([getattr(run, name) for run in runs], axis=0) for name in ("auto", "fixed", "changes", "crawls"))
    )


def report(name: str, seen: Seen, days: float, budget: float) -> None:
    print(
        f"{name:<24}{budget / len(seen.changes):>8.2f}{seen.crawls.sum() / days / budget:>8.2f}"
        f"{seen.fixed.sum() / seen.changes.sum():>8.0%}{seen.auto.sum() / seen.changes.sum():>8.0%}"
        f"{seen.ratio:>8.2f}{seen.ratio_without_first:>13.2f}{seen.ratio_by_site:>9.2f}",
        flush=True,
    )


def compare(populations: dict[str, Population], options: argparse.Namespace, seed: int) -> None:
    """Print the results for each of *populations* and each budget."""
    print(f"\n{'population':<24}  budget    used   fixed    auto   ratio   without 1%  by site")
    for name, population in populations.items():
        histories = population(np.random.default_rng(seed), options.sites, options.days)
        for every in _EVERY:
            budget = len(histories) / every
            report(name, simulate(histories, options.days, budget, seed, ceiling=options.ceiling), options.days, budget)


def compare_corpus(folder: Path, options: argparse.Namespace) -> None:
    """Print the results for the sites in the corpus, the mean of some simulations; also by site."""
    sites, days = corpus(folder, options.days), options.days
    histories, means = list(sites.values()), {}
    for every in _EVERY:
        budget = len(sites) / every
        means[every] = joined(
            [simulate(histories, days, budget, seed, ceiling=options.ceiling) for seed in range(_ROUNDS)]
        )
        report(f"corpus, {len(sites)} sites", means[every], days, budget)
    for every, seen in means.items():
        print(f"\n{f'site, a crawl in {every} days':<34}{'changes':>8}{'crawls':>8}{'fixed':>8}{'auto':>8}")
        rows = zip(sites, seen.changes, seen.crawls, seen.fixed, seen.auto, strict=True)
        for host, changes, crawls, fixed, auto in sorted(rows, key=lambda row: -row[1]):
            print(f"{host:<34}{changes:>8.0f}{crawls:>8.0f}{fixed:>8.1f}{auto:>8.1f}")


def tune(sites: int, days: float) -> None:
    """Print the mean share of changes seen, over the populations for tuning, for other values of the constants."""
    histories = [population(np.random.default_rng(_TUNING_SEED), sites, days) for population in TUNED.values()]
    for name, values in {
        "HALF_LIFE_DAYS": (30.0, 15.0, 60.0, 120.0),
        "PRIOR_CHANGES": (1.0, 0.5, 2.0),
        "PRIOR_DAYS": (1.0, 0.5, 2.0),
        "_CEILING_INTERVALS": (8, 4, 16),
    }.items():
        chosen = getattr(intervals, name)
        for value in values:
            setattr(intervals, name, value)
            runs = [simulate(each, days, sites / every, 0, hours=2) for each in histories for every in _EVERY]
            mean = math.exp(np.mean([math.log(run.auto.sum() / run.changes.sum()) for run in runs]))
            print(f"{name} = {value:g}: {mean:.3f}", flush=True)
        setattr(intervals, name, chosen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sites", type=int, default=1000, help="sites of a population (1000)")
    parser.add_argument("--days", type=int, default=365, help="days to simulate (365)")
    parser.add_argument("--ceiling", type=float, help="longest interval, in days (that of jobs)")
    parser.add_argument("--tune", action="store_true", help="compare other constants, on the populations for tuning")
    options = parser.parse_args()
    if options.tune:
        tune(options.sites, options.days)
        return
    compare(TUNED, options, _TUNING_SEED)
    compare(HELD_OUT | {"all of these together": together}, options, _SEED)
    if folder := os.environ.get("HARVEST_CORPUS"):
        compare_corpus(Path(folder), options)


if __name__ == "__main__":
    main()
