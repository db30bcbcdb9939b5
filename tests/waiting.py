"""Waiting for other processes. The duration proves nothing: other programs keep the machine busy too."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_SECONDS = 300
"""The seconds after which a wait fails."""


def wait_until(condition: Callable[[], object]) -> None:
    """Wait until *condition* holds."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < until, "it did not come to pass"
        time.sleep(0.01)
