"""The two rings of the tests: of many similar cases, the quick ring runs some, and the thorough ring the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable


def some_quick(cases: Iterable[Any], *, every: int, others: pytest.MarkDecorator = pytest.mark.thorough) -> list[Any]:
    """Return *cases* as parameters: the first of *every* so many is in the quick ring, and the *others* are marked."""
    return [pytest.param(case, marks=() if number % every == 0 else others) for number, case in enumerate(cases)]
