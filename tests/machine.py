"""The current speed of this machine, so that bounds on processor time hold on a slow or busy one."""

from __future__ import annotations

import re
import time
from statistics import median

_WORK = b"<url><loc>https://example.com/a</loc></url>\n" * 10_000
_IDLE_SECONDS = 0.03
"""Processor seconds of the work on an idle machine, for which the bounds were set."""
_TIMES = 5  # a single one may be disturbed or lucky


def slowdown() -> float:
    """Return how many times longer fixed work takes now than on an idle machine; at least 1."""
    return max(1.0, median(_seconds() for _ in range(_TIMES)) / _IDLE_SECONDS)


def _seconds() -> float:
    started = time.process_time()
    found: dict[bytes, int] = {}
    for match in re.finditer(rb"\w+", _WORK):
        word = match.group()
        found[word] = found.get(word, 0) + len(word)
    return time.process_time() - started
