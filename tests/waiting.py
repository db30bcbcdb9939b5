"""Waiting for other processes. The duration proves nothing: other programs keep the machine busy too."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_SECONDS = 300
"""The seconds after which a wait fails."""
_MOST_PAUSE = 0.1
"""Seconds between two looks, each of which may cost a query or a process."""


def wait_until(condition: Callable[[], object]) -> None:
    """Wait until *condition* holds."""
    until, pause = time.monotonic() + PATIENCE_SECONDS, 0.01
    while not condition():
        assert time.monotonic() < until, "it did not come to pass"
        time.sleep(pause)
        pause = min(pause * 1.2, _MOST_PAUSE)
