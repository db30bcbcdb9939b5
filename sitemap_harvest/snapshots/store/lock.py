"""Locks of sites in a store: one run at a time writes to a site, and a lock ends with its run, even a killed one."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

if TYPE_CHECKING:
    from sitemap_harvest.snapshots.store.storage import Folder

_CLAIM = "claim.json"
_RUNNING = "running"
_SILENT_SECONDS = 600  # after which a run that works on an object store counts as dead
_BEAT_SECONDS = 60


class SiteLocks:
    """The sites that one run has locked.

    On a disk the run holds a lock of the operating system, which ends with the process,
    so the locks of a killed run are void. In an object store the run writes the time
    every minute instead.
    """

    def __init__(self, store: Folder, run_id: str) -> None:
        """Prepare locks for the run with *run_id*."""
        self._store = store
        self._run_id = run_id
        self._claim = json.dumps({"run": run_id}).encode()
        self._lock: FileLock | None = None
        self._heartbeat_at = 0.0

    def take(self, site: Folder) -> str | None:
        """Lock the site in the folder *site*; return the ID of the run that holds the lock, if that is alive."""
        if not self._store.is_local:
            if not self._heartbeat_at:
                self._write_time()
        elif self._lock is None:
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

    def _write_claim(self, site: Folder) -> bool:
        """Write the lock file of *site*, unless there is one; return whether it was written.

        Where possible it is a link to a file of the run: creating and deleting many files takes file systems long.
        """
        if self._store.is_local:
            with suppress(OSError):  # too many links, or another disk
                return site.link(_CLAIM, f"{self._store}/{_RUNNING}/{self._run_id}.claim")
        return site.create(_CLAIM, self._claim)

    def release(self, site: Folder) -> None:
        """Release the lock, if this run holds it."""
        if _holder(site) == self._run_id:
            site.remove(_CLAIM)

    def heartbeat(self) -> None:
        """Write a heartbeat if one is due, on an object store: call this regularly."""
        if not self._store.is_local and self._heartbeat_at and time.time() - self._heartbeat_at > _BEAT_SECONDS:
            self._write_time()

    def close(self) -> None:
        """Record that the run has ended."""
        if self._lock is not None:
            self._lock.release()
            _remove(self._store, self._run_id)
        elif self._heartbeat_at:
            (self._store / _RUNNING).remove(f"{self._run_id}.json")

    def _write_time(self) -> None:
        self._heartbeat_at = time.time()
        (self._store / _RUNNING).put(f"{self._run_id}.json", json.dumps({"at": self._heartbeat_at}).encode())

    def _end(self, holder: str, site: Folder) -> bool:
        """Remove the lock of *holder* on *site* if that run is dead; return whether it was."""
        if not self._store.is_local:
            heartbeat = json.loads((self._store / _RUNNING).read(f"{holder}.json") or b'{"at": 0}')
            if time.time() - heartbeat["at"] < _SILENT_SECONDS:
                return False
            site.remove(_CLAIM)
            return True
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
    """Return the ID of the run that has locked *site*; ``None`` if none has, empty if the lock file is damaged."""
    if (data := site.read(_CLAIM)) is None:
        return None
    try:
        return str(json.loads(data)["run"])
    except (ValueError, KeyError, TypeError):
        return ""
