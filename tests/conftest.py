"""Settings and hooks for all tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

# A busy machine is no failure; tests for speed are separate. The examples are the same each time, so a failure is
# caused by a change; HARVEST_RANDOM_EXAMPLES=1 tries new ones.
_RANDOM = os.environ.get("HARVEST_RANDOM_EXAMPLES") == "1"
settings.register_profile(
    "here",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not _RANDOM,
)
settings.load_profile("here")
if not _RANDOM:  # Hypothesis takes constants from all loaded modules, including those imported by other tests
    assert callable(providers._get_local_constants)  # private, because no setting exists
    providers._get_local_constants = lambda: providers._local_constants

_START_PROCESSES = {"api", "cli", "crawl", "host", "services"}
_TAKE_LONG = {*_START_PROCESSES, "docs", "histories", "jobs"}
_ONE_BY_ONE = ("tests/docs/test_howtos.py", "tests/jobs/test_faults.py", "tests/jobs/test_workers.py")
"""Files whose tests take long and share nothing."""


@pytest.fixture(autouse=True, scope="session")
def _no_waiting_for_the_disk():
    """Do not sync files, which only matters after a power cut. Processes that tests start do sync them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda descriptor: None)
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave the tests marked deep to the thorough run, and those that start processes, except those marked quick.

    The files that take long come first, so that no worker is left alone with one of them at the end.
    """
    for item in items:
        starts_processes = _folder(item) in _START_PROCESSES and not item.get_closest_marker("quick")
        if starts_processes or item.get_closest_marker("deep"):
            item.add_marker(pytest.mark.thorough)
    items.sort(key=lambda item: _folder(item) not in _TAKE_LONG)


def _folder(item):
    return item.nodeid.split("/")[1]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Fail skipped tests of services where services are required."""
    report = yield
    if report.skipped and item.get_closest_marker("service") and os.environ.get("HARVEST_REQUIRE_SERVICES") == "1":
        report.outcome = "failed"
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Send the tests of a file to one worker, because they share fixtures; except those that share nothing."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return nodeid if nodeid.startswith(_ONE_BY_ONE) else super()._split_scope(nodeid)

    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None
