from __future__ import annotations

import subprocess
import sys
import time

from sitemap_harvest.snapshots.store import SiteLocks
from sitemap_harvest.snapshots.store.storage import Folder

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


class Remote(Folder):
    """A folder that is treated as one in an object store."""

    is_local = False

    def __truediv__(self, name):
        return Remote(self._files, f"{self.path}/{name}")


def remote(path):
    folder = Folder.at(path)
    return Remote(folder._files, folder.path)


def test_in_an_object_store_a_run_without_heartbeats_is_dead(tmp_path, monkeypatch):
    store = remote(tmp_path)
    now = time.time()
    SiteLocks(store, "other").take(store / "site")
    claims = SiteLocks(store, "mine")
    assert claims.take(store / "site") == "other"
    monkeypatch.setattr("time.time", lambda: now + 599)
    assert claims.take(store / "site") == "other"
    monkeypatch.setattr("time.time", lambda: now + 700)
    assert claims.take(store / "site") is None


def test_in_an_object_store_a_run_renews_its_lock(tmp_path, monkeypatch):
    store = remote(tmp_path)
    now = time.time()
    other = SiteLocks(store, "other")
    other.heartbeat()  # it holds no lock, so there is nothing to renew
    assert store.names() == []
    other.take(store / "site")
    monkeypatch.setattr("time.time", lambda: now + 590)
    other.heartbeat()
    monkeypatch.setattr("time.time", lambda: now + 1100)
    assert SiteLocks(store, "mine").take(store / "site") == "other"
    other.release(store / "site")
    other.close()
    assert (store / "running").names() == ["mine.json"]
