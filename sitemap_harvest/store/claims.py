"""One run at a time works on a site: it claims the site, and a claim ends with the run, however that ends."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

if TYPE_CHECKING:
    from sitemap_harvest.store.folder import Folder

_CLAIM = "claim.json"
_RUNNING = "running"
_SILENT_SECONDS = 600  # after which a run that works on an object store is taken for dead
_BEAT_SECONDS = 60


class Claims:
    """The sites that one run has claimed.

    On a disk the run holds a lock of the operating system, which ends with the
    process, so that the claims of a run that was killed are worth nothing. In an
    object store the run writes the time every minute instead.
    """

    def __init__(self, store: Folder, run_id: str) -> None:
        """Claim for the run with *run_id*."""
        self._store = store
        self._run_id = run_id
        self._lock: FileLock | None = None
        self._beaten_at = 0.0

    def take(self, site: Folder) -> str | None:
        """Claim the site that *site* holds; return the id of the run that has claimed it before, if that goes on."""
        self._show_life()
        claim = json.dumps({"run": self._run_id}).encode()
        while not site.create(_CLAIM, claim):
            if (holder := _holder(site)) == self._run_id:
                return None
            if holder == "":
                site.remove(_CLAIM)
            elif holder is not None and not self._end(holder, site):
                return holder
        return None

    def release(self, site: Folder) -> None:
        """Give the claim back, if it is this run's."""
        if _holder(site) == self._run_id:
            site.remove(_CLAIM)

    def beat(self) -> None:
        """Show that the run goes on, where that has to be shown: to be called now and then."""
        if not self._store.is_local and self._beaten_at and time.time() - self._beaten_at > _BEAT_SECONDS:
            self._write_time()

    def close(self) -> None:
        """Show that the run has ended."""
        if self._lock is not None:
            self._lock.release()
            (self._store / _RUNNING).remove(f"{self._run_id}.lock")
        elif self._beaten_at:
            (self._store / _RUNNING).remove(f"{self._run_id}.json")

    def _show_life(self) -> None:
        if not self._store.is_local:
            if not self._beaten_at:
                self._write_time()
        elif self._lock is None:
            self._lock = _lock_of(self._store, self._run_id)
            self._lock.acquire(timeout=0)

    def _write_time(self) -> None:
        self._beaten_at = time.time()
        (self._store / _RUNNING).put(f"{self._run_id}.json", json.dumps({"at": self._beaten_at}).encode())

    def _end(self, holder: str, site: Folder) -> bool:
        """Take the claim on *site* from *holder* if that run is dead; return whether it was."""
        if not self._store.is_local:
            beat = json.loads((self._store / _RUNNING).read(f"{holder}.json") or b'{"at": 0}')
            if time.time() - beat["at"] < _SILENT_SECONDS:
                return False
            site.remove(_CLAIM)
            return True
        lock = _lock_of(self._store, holder)
        try:
            with lock.acquire(timeout=0):  # so that of two who find it dead, one takes the claim away
                if _holder(site) == holder:
                    site.remove(_CLAIM)
        except Timeout:
            return False
        (self._store / _RUNNING).remove(f"{holder}.lock")
        return True


def _lock_of(store: Folder, run_id: str) -> FileLock:
    os.makedirs(f"{store}/{_RUNNING}", exist_ok=True)  # noqa: PTH103 - the store knows its files by text
    return FileLock(f"{store}/{_RUNNING}/{run_id}.lock")


def _holder(site: Folder) -> str | None:
    """Return the id of the run that has claimed *site*; ``None`` if none has, nothing if the claim is damaged."""
    if (data := site.read(_CLAIM)) is None:
        return None
    try:
        return str(json.loads(data)["run"])
    except (ValueError, KeyError, TypeError):
        return ""
