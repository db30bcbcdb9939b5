"""When a failed crawl is tried again, by the kind of its failure, and a failed request to a store."""

from __future__ import annotations

import errno
import logging
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from gzip import BadGzipFile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)


class FailureKind(StrEnum):
    """Why a job failed."""

    UNREACHABLE = "unreachable"
    """The site gave no usable response."""
    BLOCKED = "blocked"
    """The site refuses the crawler."""
    FORBIDDEN = "forbidden"
    """robots.txt disallows it."""
    NOT_A_SITE = "not-a-site"
    """The address is not a site."""
    REFUSED = "refused"
    """The run was refused: an argument or a setting is wrong."""
    STORE = "store"
    """The store could not be read or written, or another run has locked the site."""
    TIME = "time"
    """The crawl exceeded the time limit."""
    MEMORY = "memory"
    """The crawl exceeded the memory limit."""
    CRASHED = "crashed"
    """The process of the crawl ended without a result."""
    LOST = "lost"
    """Its workers were lost, one after another."""

    @property
    def leaves_checkpoints(self) -> bool:
        """Whether the crawl may have been killed, so that the next one can continue from its checkpoints."""
        return self in {FailureKind.TIME, FailureKind.MEMORY, FailureKind.CRASHED, FailureKind.LOST, FailureKind.STORE}


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waiting times that grow by a factor of 4."""

    first: timedelta
    most: int
    """Number of retries after the first attempt."""

    def after(self, failures: int, spread: float) -> timedelta | None:
        """Return how long to wait after that many *failures* of one kind; ``None``: there is no further retry.

        *spread*: from 0 to 1, different for each site; it adds up to a quarter, so that sites that failed together
        are not all tried at the same moment.
        """
        if failures > self.most:
            return None
        return self.first * float(4 ** (failures - 1)) * (1 + spread / 4)


NEVER = Backoff(timedelta(0), 0)
BACKOFFS = {
    FailureKind.UNREACHABLE: Backoff(timedelta(minutes=1), 5),  # the last one after 4 hours
    FailureKind.BLOCKED: Backoff(timedelta(hours=6), 2),
    FailureKind.FORBIDDEN: NEVER,
    FailureKind.NOT_A_SITE: NEVER,
    FailureKind.REFUSED: NEVER,
    FailureKind.STORE: Backoff(timedelta(seconds=5), 7),
    FailureKind.TIME: Backoff(timedelta(seconds=5), 2),
    FailureKind.MEMORY: Backoff(timedelta(seconds=5), 1),
    FailureKind.CRASHED: Backoff(timedelta(seconds=5), 3),
    FailureKind.LOST: NEVER,
}
"""Blocked sites are tried much later than those that did not respond; a wrong address or setting is not retried."""
_TRANSIENT = {None, errno.ESTALE, errno.ETIMEDOUT}  # None: of an object store; the others: of a network file system
_MOST_WAITS = 4  # 7 minutes: the user waits for the table


class StoreRetries:
    """Waits before the next attempts to use a store that may only be unreachable for a while."""

    def __init__(self, sleep: Callable[[float], object]) -> None:
        """*sleep* waits for that many seconds."""
        self._sleep = sleep
        self._failures = 0

    def wait(self, error: BaseException) -> bool:
        """Wait before the next attempt after *error*; return whether there is one. At most 4 times in all.

        There is none for damaged and missing files, nor for errors of a disk.
        """
        if not _is_transient(error):
            return False
        self._failures += 1
        pause = BACKOFFS[FailureKind.STORE].after(self._failures, spread=0)
        if pause is None or self._failures > _MOST_WAITS:
            return False
        seconds = pause.total_seconds()
        logger.warning("The store cannot be reached, and is tried again in %.0f seconds: %s", seconds, error)
        self._sleep(seconds)
        return True


def _is_transient(error: BaseException) -> bool:
    cause = error if isinstance(error, OSError) else error.__cause__
    is_broken = isinstance(cause, FileNotFoundError | BadGzipFile)
    return isinstance(cause, OSError) and not is_broken and cause.errno in _TRANSIENT
