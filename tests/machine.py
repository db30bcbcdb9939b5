"""Bounds on processor time that hold on a slow or busy machine."""

from __future__ import annotations

import gc
import re
import time
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_WORK = b"<url><loc>https://example.com/a</loc></url>\n" * 10_000
_IDLE_SECONDS = 0.03
"""Processor seconds of the work on an idle machine, for which the bounds were set."""
_TIMES = 5  # a single one may be disturbed or lucky
_GROWTH = 8
_MOST = 3  # times the growth: quadratic time is the square of the growth


def slowdown() -> float:
    """Return how many times longer fixed work takes now than on an idle machine; at least 1."""
    return max(1.0, median(processor_seconds(_count_words) for _ in range(_TIMES)) / _IDLE_SECONDS)


def processor_seconds(use: Callable[[], object]) -> float:
    """Return the processor time of *use*.

    Without garbage collections: how long they take depends on what other tests have left in memory.
    """
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        started = time.process_time()
        use()
        return time.process_time() - started
    finally:
        if is_collecting:
            gc.enable()


def _count_words() -> None:
    found: dict[bytes, int] = {}
    for match in re.finditer(rb"\w+", _WORK):
        word = match.group()
        found[word] = found.get(word, 0) + len(word)


def is_linear(use: Callable[[bytes], object], document: Callable[[int], bytes], size: int) -> bool:
    """Whether *use* takes about eight times as long for a *document* of eight times the *size*."""
    small, large = document(size), document(size * _GROWTH)
    # Other programs may slow down one measurement, but hardly three in a row.
    return any(_least(use, large, times=2) < _least(use, small, times=5) * _GROWTH * _MOST for _ in range(3))


def _least(use: Callable[[bytes], object], body: bytes, *, times: int) -> float:
    """Return the processor time of *use* for *body*, the least of several."""
    return min(processor_seconds(lambda: use(body)) for _ in range(times)) + 0.002  # shorter times prove nothing
