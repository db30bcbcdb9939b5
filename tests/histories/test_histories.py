"""Sites that change and fail at random for many crawls: no false report, no loss, no duplicate."""

from __future__ import annotations

from collections import defaultdict
from random import Random

import pytest

from tests.histories.crawls import Reports
from tests.histories.documents import Entry, Form
from tests.histories.driving import History
from tests.histories.failing import FAULTS, Failing
from tests.histories.oracle import Oracle, score
from tests.histories.world import World

NONE = "FALSE=0 LOST=0 VIEW=0 NOISE=0"


@pytest.mark.thorough
def test_the_reports_of_a_few_crawls_are_true(tmp_path):
    history = History(tmp_path, sites=6, seed=3, kill_share=0)
    finds = history.run(2)
    assert score(finds) == NONE, finds


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [101, 102])
def test_the_reports_of_many_crawls_are_true(tmp_path, seed):
    history = History(tmp_path, sites=10, seed=seed, kill_share=0.3)
    finds = history.run(25)
    assert score(finds) == NONE, finds


class Follower:
    """Reports to an oracle, about a world of one site, what a perfect run would report, plus given changes."""

    def __init__(self) -> None:
        self.world = World(1, Random(2))
        (self.site,) = self.world.sites
        self.oracle = Oracle(self.world)
        self.home = next(url for url in self.site.lists([Form.XML]) if self.site.documents[url].entries)

    @property
    def pages(self) -> dict[str, Entry]:
        return self.site.documents[self.home].entries

    def crawl(self, *changes, without=(), failing=None, frozen=False, delivered=...) -> str:
        """Return the finds after a crawl that reports *changes* and whose store is *without* some URLs."""
        self.world.record()
        self.oracle.failing.append(failing or {})
        reports = Reports(committed={self.site.root: str(self.oracle.crawl)})
        reports.changes[self.site.root] = [self._change(*change) for change in changes]
        reports.delivered = defaultdict(list, reports.changes)
        if delivered is not ...:
            reports.delivered = delivered and defaultdict(
                list, {self.site.root: [self._change(*one) for one in delivered]}
            )
        for url in self.site.lists():
            for page, entry in self.site.documents[url].published.items():
                alternates = [{"href": href} for href in entry.alternates]
                row = {"loc": page, "sitemap": url, **entry._asdict(), "alternates": alternates}
                reports.urls[self.site.root] += [row] if page not in without else []
        before = len(self.oracle.finds)
        self.oracle.check(self.world.sites, reports, resumed=False, frozen={0} if frozen else set())
        return score(self.oracle.finds[before:])

    def _change(self, kind, loc, before=None, after=None) -> dict:
        fields = list(after or {})
        reports = {"kind": kind, "loc": loc, "fields": fields, "before": before, "after": after, "reason": "why"}
        return reports | {"run": str(self.oracle.crawl), "sitemap": self.home, "sitemap_before": None}


@pytest.fixture
def follower():
    found = Follower()
    assert found.crawl() == found.crawl() == NONE
    return found


def test_a_removal_of_a_listed_url_is_false(follower):
    page = next(iter(follower.pages))
    assert follower.crawl(("removed", page)) == "FALSE=1 LOST=1 VIEW=0 NOISE=0"


def test_an_addition_of_an_existing_url_is_false(follower):
    assert follower.crawl(("added", next(iter(follower.pages)))) == "FALSE=1 LOST=0 VIEW=0 NOISE=0"


def test_an_addition_of_an_unlisted_url_is_false(follower):
    found = follower.crawl(("added", "http://s0.test/nowhere"))
    assert found == "FALSE=1 LOST=1 VIEW=0 NOISE=0"  # it is never corrected


def test_a_change_to_unpublished_metadata_is_false(follower):
    page, entry = next(iter(follower.pages.items()))
    reports = ("changed", page, {"lastmod": entry.lastmod}, {"lastmod": "2020-01-01"})
    assert follower.crawl(reports).startswith("FALSE=1")


def test_an_unreported_addition_is_lost(follower):
    pages = follower.pages
    follower.site.put(follower.home, entries={**pages, "http://s0.test/new": Entry()})
    assert follower.crawl() == "FALSE=0 LOST=1 VIEW=0 NOISE=0"
    assert follower.crawl() == NONE  # each find counts once


def test_an_unreported_removal_is_lost(follower):
    _, *rest = follower.pages.items()
    follower.site.put(follower.home, entries=dict(rest))
    assert follower.crawl() == "FALSE=0 LOST=1 VIEW=0 NOISE=0"


def test_an_unreported_change_is_lost(follower):
    page = next(iter(follower.pages))
    follower.site.put(follower.home, entries={**follower.pages, page: Entry("2026-12-01")})
    assert follower.crawl() == "FALSE=0 LOST=1 VIEW=0 NOISE=0"


def test_a_url_missing_in_the_store_is_a_wrong_view(follower):
    assert follower.crawl(without={next(iter(follower.pages))}) == "FALSE=0 LOST=0 VIEW=1 NOISE=0"


def test_a_change_reported_twice_is_noise(follower):
    page = next(iter(follower.pages))
    follower.site.put(follower.home, entries={**follower.pages, page: Entry("2026-12-01")})
    reports = ("changed", page, {"lastmod": "2026-01-01"}, {"lastmod": "2026-12-01"})
    assert follower.crawl(reports) == NONE
    assert follower.crawl(reports, frozen=True) == "FALSE=0 LOST=0 VIEW=0 NOISE=2"  # once more, without a cause


def test_a_change_that_no_feed_delivered_is_lost(follower):
    new = "http://s0.test/new"
    follower.site.put(follower.home, entries={**follower.pages, new: Entry()})
    assert follower.crawl(("added", new), delivered=None) == NONE
    assert follower.crawl() == "FALSE=0 LOST=1 VIEW=0 NOISE=0"


@pytest.mark.parametrize(
    ("name", "expected"), [("HTTP 503", "FALSE=1 LOST=0 VIEW=0 NOISE=0"), ("of 1 crawls ago", NONE)]
)
def test_only_an_undetectable_failure_excuses_a_removal(follower, name, expected):
    fault = next(fault for fault in FAULTS if fault.name == name)
    follower.site.put(follower.home, entries={**follower.pages, "http://s0.test/new": Entry()})
    assert follower.crawl(("added", "http://s0.test/new")) == NONE
    follower.world.frames[-1] = follower.world.frames[0]  # it was not listed one crawl ago
    failing = {follower.home: Failing(fault, 9, 0.5)}
    assert follower.crawl(("removed", "http://s0.test/new"), failing=failing) == expected
