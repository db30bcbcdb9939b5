from __future__ import annotations

import subprocess
import sys
import threading
import time
from unittest.mock import Mock

import pytest

from sitemap_harvest.errors import StoreError
from sitemap_harvest.snapshots.store import History, SiteLocks, Store
from sitemap_harvest.snapshots.store.storage import Folder
from sitemap_harvest.snapshots.store.store import Manifest
from tests.snapshots.store.memory_bucket import MemoryBucket
from tests.waiting import PATIENCE_SECONDS, wait_until

_HOLDS = """
import sys, time
from sitemap_harvest.snapshots.store import SiteLocks
from sitemap_harvest.snapshots.store.storage import Folder
store = Folder.at(sys.argv[1])
claims = SiteLocks(store, "other")
print(claims.take(store / "site"), flush=True)
time.sleep(60)
"""


def holding(store):
    """Return a process that has locked the site."""
    process = subprocess.Popen([sys.executable, "-c", _HOLDS, str(store)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "None\n"
    return process


def test_a_lock_holds_until_its_process_is_killed(tmp_path):
    store = Folder.at(tmp_path)
    process = holding(store)
    claims = SiteLocks(store, "mine")
    try:
        assert claims.take(store / "site") == "other"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert claims.take(store / "site") is None
    third = SiteLocks(store, "third")
    assert third.take(store / "site") == "mine"
    third.close()
    claims.release(store / "site")
    claims.close()
    assert (store / "site").names() == []
    assert (store / "running").names() == []


def test_a_run_may_lock_a_site_twice_and_many_sites(tmp_path):
    store = Folder.at(tmp_path)
    claims = SiteLocks(store, "mine")
    assert [claims.take(store / name) for name in ("a", "b", "a")] == [None, None, None]
    for name in ("a", "b"):
        claims.release(store / name)
    assert SiteLocks(store, "other").take(store / "a") is None
    claims.close()


def test_a_lock_of_another_run_is_not_released(tmp_path):
    store = Folder.at(tmp_path)
    mine, other = SiteLocks(store, "mine"), SiteLocks(store, "other")
    mine.take(store / "site")
    other.release(store / "site")
    assert other.take(store / "site") == "mine"
    mine.close()
    assert other.take(store / "site") is None
    other.close()


def test_a_truncated_lock_file_is_no_lock(tmp_path):
    store = Folder.at(tmp_path)
    (store / "site").put("claim.json", b"")
    claims = SiteLocks(store, "mine")
    assert claims.take(store / "site") is None
    claims.close()


@pytest.fixture
def bucket():
    return MemoryBucket()


def test_in_an_object_store_a_run_without_heartbeats_is_dead(bucket):
    store = bucket.folder()
    SiteLocks(store, "other").take(store / "site")
    mine = SiteLocks(store, "mine")
    assert mine.take(store / "site") == "other"
    bucket.pass_time(600)
    assert mine.take(store / "site") == "other"
    bucket.pass_time(1)
    assert mine.take(store / "site") is None


def test_in_an_object_store_a_run_renews_its_lock(bucket, monkeypatch):
    monkeypatch.setattr("sitemap_harvest.snapshots.store.lock._BEAT_SECONDS", 0.001)
    store = bucket.folder()
    other = SiteLocks(store, "other")
    other.take(store / "site")
    bucket.pass_time(590)
    wait_until(lambda: (store / "running").age("other.json") == 0)
    bucket.pass_time(590)
    mine = SiteLocks(store, "mine")
    assert mine.take(store / "site") == "other"
    mine.close()
    other.close()
    assert (store / "running").names() == []


def test_a_heartbeat_that_fails_is_repeated(bucket, monkeypatch):
    monkeypatch.setattr("sitemap_harvest.snapshots.store.lock._BEAT_SECONDS", 0.001)
    store, failed, written = bucket.folder(), threading.Event(), threading.Event()

    def fail(key):
        failed.set()
        bucket.before_put = lambda key: written.set()
        raise OSError("the server cannot be reached")

    locks = SiteLocks(store, "other")
    locks.take(store / "site")
    bucket.before_put = fail
    assert failed.wait(PATIENCE_SECONDS)
    assert written.wait(PATIENCE_SECONDS)
    locks.close()


@pytest.mark.parametrize("hours", [-1, 1])
def test_in_an_object_store_the_clock_of_a_machine_does_not_matter(bucket, monkeypatch, hours):
    store = bucket.folder()
    SiteLocks(store, "other").take(store / "site")
    now = time.time() + hours * 3600
    monkeypatch.setattr("time.time", lambda: now)
    mine = SiteLocks(store, "mine")
    assert mine.take(store / "site") == "other"
    bucket.pass_time(700)
    assert mine.take(store / "site") is None


def test_of_two_runs_that_find_a_lock_dead_one_takes_it(bucket):
    store = bucket.folder()
    SiteLocks(store, "dead").take(store / "site")
    bucket.pass_time(700)
    first, second = SiteLocks(store, "first"), SiteLocks(store, "second")
    for locks in (first, second):
        locks.take(store / "another")  # so that each has a heartbeat
    found = []
    bucket.before_put = lambda key: found.append(first.take(store / "site"))
    found.append(second.take(store / "site"))
    assert found == [None, "first"]


def test_in_an_object_store_a_released_lock_is_taken_and_not_removed(bucket):
    store = bucket.folder()
    first, second = SiteLocks(store, "first"), SiteLocks(store, "second")
    assert first.take(store / "site") is None
    second.release(store / "site")  # which it does not hold
    assert second.take(store / "site") == "first"
    first.release(store / "site")
    assert second.take(store / "site") is None
    first.release(store / "site")
    assert first.take(store / "site") == "second"
    assert not any(request.startswith("DELETE store/site") for request in bucket.requests)


def test_a_run_that_has_lost_its_lock_cannot_store_a_snapshot(bucket):
    store = Store(bucket.folder())
    late = History("https://a.example", store.history("https://a.example").folder)
    SiteLocks(store.folder, "late").take(late.folder)
    assert late.runs == ()
    bucket.pass_time(700)
    SiteLocks(store.folder, "next").take(late.folder)
    with pytest.raises(StoreError, match="another run has stored a snapshot in the meantime"):
        late.replace(Manifest(next_row=1))
    late.forget()
    assert (late.manifest.runs, late.manifest.next_row) == ((), 0)


def test_a_run_that_cannot_take_over_a_lock_completely_leaves_it_to_the_next(bucket, monkeypatch):
    store = Store(bucket.folder())
    late = History("https://a.example", store.history("https://a.example").folder)
    SiteLocks(store.folder, "late").take(late.folder)
    assert late.runs == ()
    bucket.pass_time(700)
    failing, later = SiteLocks(store.folder, "failing"), SiteLocks(store.folder, "later")
    with monkeypatch.context() as patched:
        patched.setattr("sitemap_harvest.snapshots.store.lock.fence", Mock(side_effect=OSError("no connection")))
        with pytest.raises(OSError, match="no connection"):
            failing.take(late.folder)
    failing.release(late.folder)
    assert later.take(late.folder) == "failing"
    failing.close()
    assert later.take(late.folder) is None
    with pytest.raises(StoreError, match="another run has stored a snapshot in the meantime"):
        late.replace(Manifest(next_row=1))
