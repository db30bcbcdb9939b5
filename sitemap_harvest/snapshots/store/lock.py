"""Locks of sites in a store: one run at a time writes to a site, and a lock ends with its run, even a killed one."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from threading import Event, Thread
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from sitemap_harvest.snapshots.store.store import fence

if TYPE_CHECKING:
    from sitemap_harvest.snapshots.store.storage import Folder

_CLAIM = "claim.json"
_RUNNING = "running"
_SILENT_SECONDS = 600  # after which a run that works on an object store counts as dead
_BEAT_SECONDS = 60


class SiteLocks:
    """The sites that one run has locked.

    On a disk the run holds a lock of the operating system, which ends with the process,
    so the locks of a killed run are void. In an object store the process writes a heartbeat
    every minute instead, whose age the server tells: the clocks of machines may differ. A
    lock there is an object that only one of several runs can replace, and that stays when
    it is released.
    """

    def __init__(self, store: Folder, run_id: str, job: str | None = None) -> None:
        """Prepare locks for the run with *run_id*. *job*: the id of its job; ``None``: it is none.

        Of the jobs whose ids have the same text before a slash, a queue runs one at a time: in an object store, the
        lock of an earlier one is void.
        """
        self._store = store
        self._run_id = run_id
        self._job = job
        self._claim = json.dumps({"run": run_id} | ({"job": job} if job else {})).encode()
        self._released = json.dumps({"run": "", "released_by": run_id}).encode()
        self._lock: FileLock | None = None
        self._held: set[str] = set()  # in an object store
        self._heartbeat: Thread | None = None
        self._has_ended = Event()

    def take(self, site: Folder) -> str | None:
        """Lock the site in the folder *site*; return the ID of the run that holds the lock, if that is alive.

        Raises :exc:`StoreError` if the server of an object store has no conditional writes.
        """
        if not self._store.is_local:
            return self._take_object(site)
        if self._lock is None:
            self._lock = _lock_of(self._store, self._run_id)
            self._lock.acquire(timeout=0)
            (self._store / _RUNNING).write(f"{self._run_id}.claim", self._claim)
        while not self._write_claim(site):
            if (holder := _holder(site)) == self._run_id:
                return None
            if holder == "":
                site.remove(_CLAIM)
            elif holder is not None and not self._end(holder, site):
                return holder
        return None

    def _take_object(self, site: Folder) -> str | None:
        if self._heartbeat is None:
            self._store.check_conditions()
            self._write_heartbeat()
            self._heartbeat = Thread(target=self._beat, daemon=True)  # storing a large site takes longer than a minute
            self._heartbeat.start()
        while True:
            was = site.read(_CLAIM)
            holder = _holder_in(was)
            if holder == self._run_id:
                return None
            if holder and not self._follows(was) and not self._is_silent(holder):
                return holder
            if site.replace(_CLAIM, self._claim, was=was):
                if holder:
                    fence(site, self._run_id)
                    (self._store / _RUNNING).remove(f"{holder}.json")
                self._held.add(str(site))
                return None

    def _follows(self, claim: bytes | None) -> bool:
        """Whether the queue has begun the job of this run after the one that has written *claim*, instead of it."""
        earlier = str(json.loads(claim or b"{}").get("job", ""))
        return "/" in earlier and earlier.partition("/")[0] == (self._job or "").partition("/")[0]

    def _is_silent(self, holder: str) -> bool:
        age = (self._store / _RUNNING).age(f"{holder}.json")
        return age is None or age > _SILENT_SECONDS

    def _write_claim(self, site: Folder) -> bool:
        """Write the lock file of *site*, unless there is one; return whether it was written.

        Where possible it is a link to a file of the run: creating and deleting many files takes file systems long.
        """
        with suppress(OSError):  # too many links, or another disk
            return site.link(_CLAIM, f"{self._store}/{_RUNNING}/{self._run_id}.claim")
        return site.create(_CLAIM, self._claim)

    def release(self, site: Folder) -> None:
        """Release the lock, if this run holds it."""
        if not self._store.is_local:
            if str(site) in self._held:  # not if the fence failed: the next run must do it
                self._held.remove(str(site))
                site.replace(_CLAIM, self._released, was=self._claim)
        elif _holder(site) == self._run_id:
            site.remove(_CLAIM)

    def close(self) -> None:
        """Record that the run has ended."""
        if self._lock is not None:
            self._lock.release()
            _remove(self._store, self._run_id)
        elif self._heartbeat is not None:
            self._has_ended.set()
            self._heartbeat.join()  # it must not write after that
            (self._store / _RUNNING).remove(f"{self._run_id}.json")

    def _beat(self) -> None:
        while not self._has_ended.wait(_BEAT_SECONDS):
            with suppress(OSError):  # the next one comes before the run counts as dead
                self._write_heartbeat()

    def _write_heartbeat(self) -> None:
        (self._store / _RUNNING).put(f"{self._run_id}.json", b"{}")

    def _end(self, holder: str, site: Folder) -> bool:
        """Remove the lock of *holder* on *site* if that run is dead; return whether it was."""
        lock = _lock_of(self._store, holder)
        try:
            with lock.acquire(timeout=0):  # so that of two runs that find it dead, only one removes the lock
                if _holder(site) == holder:
                    site.remove(_CLAIM)
        except Timeout:
            return False
        _remove(self._store, holder)
        return True


def _lock_of(store: Folder, run_id: str) -> FileLock:
    os.makedirs(f"{store}/{_RUNNING}", exist_ok=True)  # noqa: PTH103 - the store knows its files by text
    return FileLock(f"{store}/{_RUNNING}/{run_id}.lock")


def _remove(store: Folder, run_id: str) -> None:
    """Remove the files of a run that is not running any more."""
    for suffix in ("claim", "lock"):
        (store / _RUNNING).remove(f"{run_id}.{suffix}")


def _holder(site: Folder) -> str | None:
    return _holder_in(site.read(_CLAIM))


def _holder_in(claim: bytes | None) -> str | None:
    """Return the ID of the run in *claim*, a lock file; ``None`` if there is none, empty if it is damaged or void."""
    if claim is None:
        return None
    try:
        return str(json.loads(claim)["run"])
    except (ValueError, KeyError, TypeError):
        return ""
