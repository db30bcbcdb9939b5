"""``PageSample``: which of the listed URLs a probe requests."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest

from sitemap_harvest.snapshots.sample import PageSample, SampledPage
from tests.snapshots.store.making import BEGAN, SITE, Making, entry, locs

ALL_PAGES = 2**63 - 1
S, T = f"{SITE}/s.xml", f"{SITE}/t.xml"


@pytest.fixture
def making(tmp_path):
    return Making(tmp_path)


def chosen(snapshot, size, seed=0):
    return [*PageSample(snapshot, size=size, seed=seed).pages()]


def test_each_sitemap_and_each_age_has_its_share(making):
    ages = {"new": 1, "recent": 100, "old": 1000}
    dates = {f"{SITE}/{name}/{n}": BEGAN - timedelta(days=age) for name, age in ages.items() for n in range(100)}
    listed = [entry(loc, lastmod=date) for loc, date in dates.items()]
    snapshot = making.run({S: [*listed, *locs(100)], T: locs(600, start=1000)})
    pages = chosen(snapshot, 50)
    assert Counter(page.sitemap for page in pages) == {S: 20, T: 30}
    assert Counter(page.loc.split("/")[3] for page in pages if page.sitemap == S) == dict.fromkeys([*ages, "p"], 5)


def test_the_same_seed_gives_the_same_sample_and_another_one_another(making):
    snapshot = making.run({S: locs(1000)})
    assert chosen(snapshot, 20) == chosen(making.store.latest(SITE), 20)
    assert {*chosen(snapshot, 20)} != {*chosen(snapshot, 20, seed=1)}


def test_each_url_is_chosen_with_the_same_probability(making):
    snapshot = making.run({S: locs(7), T: locs(3, start=100)})
    counts = Counter(page.loc for seed in range(50) for page in chosen(snapshot, 4, seed))
    assert len(counts) == 10
    assert all(6 <= count <= 34 for count in counts.values())  # 20 expected, with a standard deviation of 3.5


def test_an_early_part_of_the_sample_has_pages_of_all_sitemaps(making):
    snapshot = making.run({S: locs(500), T: locs(500, start=1000)})
    assert 30 <= Counter(page.sitemap for page in chosen(snapshot, 400)[:100])[S] <= 70


def test_each_key_is_requested_once_as_listed_first(making):
    twice = [entry(f"{SITE}/a#x"), entry(f"{SITE}/b")]
    twice[0].key = f"{SITE}/a"
    snapshot = making.run({S: twice, T: [f"{SITE}/a", f"{SITE}/b"]})
    sample = PageSample(snapshot, size=ALL_PAGES, seed=0)
    assert (sample.listed, len(sample)) == (2, 2)
    first, second = SampledPage(f"{SITE}/a#x", f"{SITE}/a", S), SampledPage(f"{SITE}/b", f"{SITE}/b", S)
    assert {*sample.pages()} == {first, second}


def test_urls_that_differ_in_the_fragment_are_one_page(making):
    sample = PageSample(making.run({S: [f"{SITE}/a#x", f"{SITE}/a", f"{SITE}/a#y?z"]}), size=ALL_PAGES, seed=0)
    assert (sample.listed, [*sample.pages()]) == (1, [SampledPage(f"{SITE}/a#x", f"{SITE}/a#x", S)])


def test_urls_that_may_not_be_requested_are_left_out(making):
    listed = [entry(f"{SITE}/{name}") for name in ("invalid", "other", "foreign", "good")]
    listed[0].key, listed[1].key, listed[2].scope_reason = None, "ftp://a.example/other", "host"
    snapshot = making.run({S: listed})
    assert [page.loc for page in chosen(snapshot, ALL_PAGES)] == [f"{SITE}/good"]
    assert PageSample(snapshot, size=ALL_PAGES, seed=0).left_out == 3


def test_urls_whose_removal_is_pending_are_left_out(making):
    making.run({S: locs(3)})
    making.holds = True
    snapshot = making.run({S: locs(2, start=1)})
    sample = PageSample(snapshot, size=ALL_PAGES, seed=0)
    assert (sorted(page.loc for page in sample.pages()), sample.listed) == (locs(2, start=1), 2)


@pytest.mark.parametrize("size", [1, 10, 11, ALL_PAGES])
def test_the_sample_is_as_large_as_possible(making, size):
    snapshot = making.run({S: locs(10)})
    assert len({*chosen(snapshot, size)}) == min(size, 10)


def test_a_snapshot_without_urls_has_an_empty_sample(making):
    sample = PageSample(making.run({S: []}), size=5, seed=0)
    assert (sample.listed, [*sample.pages()]) == (0, [])
