"""What a stored run says about the changes of its site."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from sitemap_harvest.jobs.job_process import CrawlResult, _result
from sitemap_harvest.snapshots.store import Run
from tests.snapshots.store.making import BEGAN


def run_of(**values):
    return Run(**{"id": "2", "started_at": BEGAN, "ended_at": BEGAN, "baseline": "1", "result": "found"} | values)


@pytest.mark.parametrize(
    ("values", "is_complete", "has_changed"),
    [
        pytest.param({"complete": True, "baseline": None, "changes": {"newly_known": 9}}, True, None, id="first"),
        pytest.param({"complete": True, "changes": {"added": 0}}, True, False, id="unchanged"),
        pytest.param({"complete": True, "changes": {"added": 1}}, True, True, id="changed"),
        pytest.param({"changes": {"added": 1}}, False, None, id="incomplete"),
        pytest.param({"not_due": 9, "changes": {"added": 0}}, True, False, id="what-is-due-is-unchanged"),
        pytest.param({"not_due": 9, "changes": {"added": 1}}, True, True, id="what-is-due-has-changed"),
        pytest.param({"not_due": 9, "changes": {"pending": 3}}, True, True, id="another-removal-is-pending"),
        pytest.param({"not_due": 9, "changes": {"pending": 2}}, True, False, id="the-same-removals-are-pending"),
        pytest.param({"not_due": 9, "changes": {"pending": 1}}, True, False, id="a-removal-has-proved-wrong"),
    ],
)
def test_whether_a_crawl_tells_if_its_site_has_changed(values, is_complete, has_changed):
    run, before = run_of(**values), run_of(id="1", changes={"pending": 2})
    assert _result(run, SimpleNamespace(runs=(before, run)), 1.5) == CrawlResult(
        failure=None, result="found", run="2", is_complete=is_complete, has_changed=has_changed, seconds=1.5
    )
