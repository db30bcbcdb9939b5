"""From one snapshot to the next: what becomes of the rows of each document, and which documents leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plan.model_site import FAULTS, INDEXES, ROBOTS, SITEMAPS, Keeper, ModelSite

if TYPE_CHECKING:
    from random import Random

DOCUMENTS = [ROBOTS, *INDEXES, *SITEMAPS]


@settings(max_examples=300, deadline=None)
@given(
    st.randoms(use_true_random=False),
    st.lists(st.dictionaries(st.sampled_from(DOCUMENTS), st.sampled_from(FAULTS), max_size=6), max_size=8),
)
def test_over_any_faults_urls_leave_and_come_only_in_truth(random: Random, runs: list[dict[str, str]]) -> None:
    site, keeper = ModelSite(), Keeper()
    for _ in range(10):
        site.change(random)
    for faults in [{}, *runs, {}]:
        before = keeper.snapshot()
        keeper.harvest(site, faults, random)
        assert (before - keeper.snapshot()).isdisjoint(site.truth())
        assert keeper.snapshot() - before <= site.served()
        last = site.truth()
        site.change(random)
    assert keeper.snapshot() == last
