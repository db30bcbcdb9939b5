from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest.frontier.intervals import (
    CEILING_DAYS,
    FLOOR_DAYS,
    HALF_LIFE_DAYS,
    MOST_PER_DAY,
    Allocation,
    ChangeHistory,
    allocate,
    ceiling_for,
    intervals,
    observed,
    rates,
)
from tests.benchmarks.intervals import HELD_OUT, simulate, together

RATES = st.lists(st.floats(0, 1e6), max_size=30).map(lambda values: np.array(values, dtype=float))
BUDGETS = st.floats(1e-3, 1e6)
LIMITS = {"floor_days": 0.1, "ceiling_days": 40.0}


def rate(history):
    return float(rates(np.array([history.changes]), np.array([history.days]))[0])


def seen(rates, days):
    """Return the changes per day that are seen within a day, as the allocation expects."""
    return float((rates * (1 - (1 - 1 / days / MOST_PER_DAY) ** MOST_PER_DAY)).sum())


@pytest.mark.parametrize(
    ("before", "days", "changed", "after"),
    [
        ((0, 0), 1.0, False, (0, 1)),
        ((0, 0), 30.0, False, (0, 30)),
        ((0, 0), 1.0, True, (1, 0.418)),  # at one change a day, the first one is expected before the middle
        ((0, 0), 1000.0, True, (1, 1)),
        ((0, 0), 1e-6, True, (1, 5e-7)),
        ((0, 100), 1e-6, True, (1, 100)),
        ((0, 100), 1000.0, True, (1, 1)),  # not 50 days, although the site has not changed before
        ((4, 20), HALF_LIFE_DAYS, False, (2, 40)),
        ((4, 20), 2 * HALF_LIFE_DAYS, False, (1, 65)),
        ((1000, 0), 1000.0, True, (1, 0.000999)),
        ((4, 20), 0.0, False, (4, 20)),
        ((4, 20), -1.0, True, (5, 20)),  # the clocks of two workers differ
        ((4, 20), 1e9, False, (0, 1e9)),
    ],
)
def test_an_observation(before, days, changed, after):
    found = observed(ChangeHistory(*before), days_since_last=days, changed=changed)
    assert (found.changes, found.days) == pytest.approx(after, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize(
    ("changes", "days", "expected"), [(0, 0, 1.0), (0, 3, 0.25), (0, 59, 1 / 60), (9, 1, 5.0), (30, 9, 3.1)]
)
def test_a_rate_is_one_a_day_until_crawls_show_otherwise(changes, days, expected):
    assert rate(ChangeHistory(changes, days)) == pytest.approx(expected)


@pytest.mark.parametrize(("true", "every"), [(0.1, 1.0), (0.3, 3.0), (1.0, 1.0), (2.0, 1.0), (5.0, 1.0)])
def test_the_rate_of_a_poisson_process_is_found_although_observations_are_incomplete(true, every):
    generator, history, found = np.random.default_rng(1), ChangeHistory(), []
    for _ in range(3000):
        history = observed(history, days_since_last=every, changed=bool(generator.poisson(true * every)))
        found.append(rate(history))
    assert np.mean(found[300:]) == pytest.approx(true, rel=0.3)


def test_a_site_that_stops_is_forgotten_and_one_that_starts_is_noticed():
    history, found = ChangeHistory(), []
    for changed, days in (*[(True, 0.8)] * 100, *[(False, 2.0)] * 30, *[(True, 15.0)] * 4):
        history = observed(history, days_since_last=days, changed=changed)
        found.append(rate(history))
    assert [found[number] for number in (99, 109, 129, 133)] == pytest.approx([4.16, 1.26, 0.34, 0.51], abs=0.01)


@pytest.mark.parametrize(
    ("given_rates", "budget", "allocation", "days"),
    [
        pytest.param([], 5.0, Allocation(0.0, 0.0), [], id="no-sites"),
        pytest.param([1, 9], 100.0, Allocation(0.0, 2.5), [0.8, 0.8], id="budget-larger-than-needed"),
        pytest.param([1, 9], 2.5, Allocation(0.0, 2.5), [0.8, 0.8], id="budget-just-enough"),
        pytest.param([0, 0], 100.0, Allocation(0.0, 2.5), [0.8, 0.8], id="rates-of-0"),
        pytest.param([0, 0], 0.5, Allocation(1e-6 * 0.8**0.25, 0.5), [4, 4], id="rates-of-0-and-a-small-budget"),
        pytest.param([1, 9], 0.01, Allocation(9.0, 0.05), [40, 40], id="budget-too-small-for-the-ceiling"),
        pytest.param([1, 9], 0.0, Allocation(9.0, 0.05), [40, 40], id="no-budget"),
        pytest.param([2, 2, 2, 2], 1.0, Allocation(2 * 0.8**0.25, 1.0), [4] * 4, id="all-alike"),
        pytest.param([0.01, 4], 1.025, Allocation(4 * 0.2**0.25, 1.025), [40, 1], id="most-for-the-one-that-changes"),
        pytest.param([1e-300, 1e6], 1.0, Allocation(1e6 * 0.22**0.25, 1.0), [40, 40 / 39], id="extremes"),
    ],
)
def test_a_budget_is_divided(given_rates, budget, allocation, days):
    sites = np.array(given_rates, dtype=float)
    found = allocate(sites, budget, **LIMITS)
    assert (found.multiplier, found.crawls_per_day) == pytest.approx((allocation.multiplier, allocation.crawls_per_day))
    assert intervals(sites, found.multiplier, **LIMITS) == pytest.approx(np.array(days))


def test_limits_may_differ_between_sites_and_a_floor_counts_more_than_a_ceiling():
    sites, floors = np.array([5.0, 5.0, 5.0, 0.001]), np.array([0.1, 3.0, 60.0, 0.1])
    found = allocate(sites, 1.0, floor_days=floors, ceiling_days=30.0)
    days = intervals(sites, found.multiplier, floor_days=floors, ceiling_days=30.0)
    assert days == pytest.approx([1 / (1 - 1 / 3 - 1 / 60 - 1 / 30), 3.0, 60.0, 30.0])


@pytest.mark.parametrize(("budget", "ceiling"), [(1000.0, 30.0), (30.0, 30.0), (20.0, 40.0), (0.5, 1600.0)])
def test_the_ceiling_needs_at_most_an_eighth_of_a_small_budget(budget, ceiling):
    assert ceiling_for(100, budget) == ceiling
    if ceiling > CEILING_DAYS:
        assert 100 / ceiling == budget / 8


@given(RATES, BUDGETS)
def test_the_budget_holds_and_is_used(sites, budget):
    found = allocate(sites, budget)
    days = intervals(sites, found.multiplier)
    assert np.all((days >= FLOOR_DAYS) & (days <= CEILING_DAYS + 1e-9))
    assert found.crawls_per_day == pytest.approx((1 / days).sum())
    least, most = len(sites) / CEILING_DAYS, len(sites) * MOST_PER_DAY
    assert found.crawls_per_day <= max(budget, least) + 1e-9
    assert found.crawls_per_day >= min(budget, most) * 0.99


@given(RATES, BUDGETS, st.floats(1, 10))
def test_with_a_larger_budget_no_site_is_crawled_less_often(sites, budget, factor):
    less, more = allocate(sites, budget), allocate(sites, budget * factor)
    assert more.multiplier <= less.multiplier
    assert np.all(intervals(sites, more.multiplier) <= intervals(sites, less.multiplier))


@given(RATES, BUDGETS)
def test_a_site_that_changes_more_often_is_crawled_no_less_often(sites, budget):
    days = intervals(np.sort(sites), allocate(sites, budget).multiplier)
    assert np.all(np.diff(days) <= 0)


@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=8), st.floats(0.05, 1.2), st.randoms())
def test_no_other_division_of_the_budget_shows_more_changes(values, budget, random):
    sites = np.array(values)
    best = intervals(sites, allocate(sites, budget * len(sites)).multiplier)
    other = 1 / best
    one, two = random.sample(range(len(sites)), 2)
    moved = min(other[one] - 1 / CEILING_DAYS, MOST_PER_DAY - other[two]) * random.random()
    other[one], other[two] = other[one] - moved, other[two] + moved
    assert seen(sites, 1 / other) <= seen(sites, best) * (1 + 1e-6)


def test_a_site_of_its_own_gets_the_interval_that_it_has_among_all():
    sites = np.random.default_rng(1).lognormal(-2, 1.5, 1000)
    multiplier = allocate(sites, 100.0).multiplier
    alone = [intervals(sites[[site]], multiplier)[0] for site in range(1000)]
    assert alone == intervals(sites, multiplier).tolist()


@pytest.mark.parametrize(
    ("population", "least"),
    [
        pytest.param(together, 2.0, id="many-kinds"),
        pytest.param(HELD_OUT["gamma"], 2.0, id="gamma"),
        pytest.param(HELD_OUT["bursts of 12 days"], 1.5, id="bursts"),
        pytest.param(HELD_OUT["alike, 0.1 a day"], 0.9, id="alike"),
    ],
)
def test_more_changes_are_seen_within_a_day_than_with_one_interval_for_all(population, least):
    histories = population(np.random.default_rng(3), 180, 200)
    found = simulate(histories, 200, len(histories) / 7, seed=3, hours=4)
    assert found.ratio >= least
    assert found.crawls.sum() / 200 <= 1.1 * len(histories) / 7
