"""Compute how often to crawl each site, and request each sitemap, within a budget of crawls per day. Pure.

The goal is to see as many changes as possible within a day of happening. The rate of change of a site is estimated
from whether each crawl found a change. Such observations are incomplete: several changes between two crawls look like
one. See J. Cho and H. Garcia-Molina, "Estimating frequency of change", ACM TOIT 3(3), 2003,
https://doi.org/10.1145/857166.857170

One multiplier then divides the budget among all sites, as in J. Cho and H. Garcia-Molina, "Effective page refresh
policies for Web crawlers", ACM TODS 28(4), 2003, https://doi.org/10.1145/958942.958945, and Y. Azar et al., "Tractable
near-optimal policies for crawling", PNAS 115(32), 2018, https://doi.org/10.1073/pnas.1801519115

``docs/explain/revisit-intervals.md`` explains the formulas. ``tests/benchmarks/intervals.py`` measures their effect.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]

HALF_LIFE_DAYS = 30.0
"""After this time, an observation has half of its weight. Shorter: sites that start or stop are noticed earlier, but
the rates of others are less exact."""
MOST_PER_DAY = 1.25
"""No site is crawled more often, because its changes are then seen within a day even if crawls are some hours late."""
FLOOR_DAYS = 15 / (24 * 60)
CEILING_DAYS = 30.0
"""The longest interval, unless the budget is small: see :func:`ceiling_for`."""
PRIOR_CHANGES = PRIOR_DAYS = 1.0
"""One change a day until crawls show otherwise, so that new sites are crawled soon."""
_CEILING_INTERVALS = 8  # average intervals: at most an eighth of the budget is for sites that seem not to change
_STEPS = 50  # of the bisection: the multiplier is exact to 2**-50 of the highest rate
_SMALL = 1e-3  # below, a series is more exact than the formula
_LEAST_RATE = 1e-6  # of a site whose rate is 0 or almost 0


@dataclass(frozen=True, slots=True)
class ChangeHistory:
    """What the crawls of a site have shown about its changes. A site without history has zeros."""

    changes: float = 0.0
    """The number of crawls that found a change; older ones count less."""
    days: float = 0.0
    """The days without a change before or until the first change, summed over the crawls; older ones count less."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """A budget, divided among sites."""

    multiplier: float
    """For :func:`intervals`: a site is crawled more often than the ceiling demands only if it has more changes a day
    than this."""
    crawls_per_day: float
    """The crawls of all sites. Above the budget if it is too small: then each site is crawled once per ceiling, and
    this is the smallest possible budget."""


def observed(history: ChangeHistory, *, days_since_last: float, changed: bool) -> ChangeHistory:
    """Return *history* after another crawl, the last one of which was *days_since_last* ago.

    *changed*: whether the crawl found any change. Only crawls that missed nothing count, and not the first of a site.
    """
    days = max(days_since_last, 0.0)  # clocks of workers differ
    weight = 0.5 ** (days / HALF_LIFE_DAYS)
    if changed:  # not at a rate below the prior one: a long time without changes would hide that a site has started
        rate = (history.changes + PRIOR_CHANGES) / (history.days + PRIOR_DAYS)
        days = _days_until_change(days, max(rate, PRIOR_CHANGES / PRIOR_DAYS))
    return ChangeHistory(history.changes * weight + changed, history.days * weight + days)


def rates(changes: Floats, days: Floats) -> Floats:
    """Return the estimated changes per day of sites with these :class:`ChangeHistory` values; never 0."""
    return (changes + PRIOR_CHANGES) / (days + PRIOR_DAYS)


def ceiling_for(sites: int, budget_per_day: float) -> float:
    """Return the longest interval, in days, if *sites* share *budget_per_day* crawls: so long that it can be kept."""
    return max(CEILING_DAYS, _CEILING_INTERVALS * sites / budget_per_day)


def allocate(
    rates: Floats,
    budget_per_day: float,
    *,
    floor_days: Floats | float = FLOOR_DAYS,
    ceiling_days: Floats | float = CEILING_DAYS,
) -> Allocation:
    """Divide *budget_per_day*, a number of crawls, among sites with these *rates*.

    The limits of the intervals are the same for all sites, or one for each site.
    """

    def total(multiplier: float) -> float:
        return float(_crawls_per_day(rates, multiplier, floor_days, ceiling_days).sum())

    low, high = 0.0, float(rates.max(initial=_LEAST_RATE))
    if (most := total(low)) <= budget_per_day:
        return Allocation(low, most)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if total(middle) > budget_per_day else (low, middle)
    return Allocation(high, total(high))


def intervals(
    rates: Floats,
    multiplier: float,
    *,
    floor_days: Floats | float = FLOOR_DAYS,
    ceiling_days: Floats | float = CEILING_DAYS,
) -> Floats:
    """Return the days between two crawls of sites with these *rates*; the *multiplier* is that of :func:`allocate`.

    The limits are the same for all sites, or one for each site. A floor above its ceiling counts.
    """
    return 1.0 / _crawls_per_day(rates, multiplier, floor_days, ceiling_days)


def _days_until_change(days: float, rate: float) -> float:
    """Return the expected time of the first change at a *rate* per day, if there was one within *days*."""
    if (expected := rate * days) < _SMALL:
        return days * (0.5 - expected / 12)
    return 1 / rate - days / math.expm1(min(expected, 700.0))  # more would overflow


def _crawls_per_day(
    rates: Floats, multiplier: float, floor_days: Floats | float, ceiling_days: Floats | float
) -> Floats:
    """Return the crawls per day that maximize the changes seen within a day.

    Of the changes of a site that is crawled f times a day, 1 - (1 - f / 1.25)**1.25 are seen within a day. This is a
    little less than f, because crawls are not exactly on time. A site with a rate r gets the f at which one more crawl
    a day shows as many more changes as for all others: r * (1 - f / 1.25)**0.25 = multiplier.
    """
    missed = np.minimum(multiplier / np.maximum(rates, _LEAST_RATE), 1.0)
    missed *= missed
    missed *= missed  # squared twice: much faster than missed**4
    return np.minimum(np.maximum(MOST_PER_DAY * (1.0 - missed), 1.0 / ceiling_days), 1.0 / floor_days)
