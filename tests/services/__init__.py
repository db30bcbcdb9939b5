"""External programs for some tests: found, started on loopback, and stopped by their process ids."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def lacking(program: str, how: str) -> NoReturn:
    """Skip a test because *program* is missing, and say *how* to get it; fail it where services are required."""
    words = f"{program} is not installed: {how}"
    if os.environ.get("HARVEST_REQUIRE_SERVICES") == "1":
        pytest.fail(words)
    pytest.skip(words)
