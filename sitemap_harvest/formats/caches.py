"""Caches that stay small, whatever a document gives them to remember."""

from __future__ import annotations

from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_KEYS = 256  # documents have some 20 names
_MAX_KEY_CHARS = 512
_MAX_CALLS = 4096

Value = TypeVar("Value")


class Names(dict[str, Value], Generic[Value]):
    """What names mean: a subclass has :meth:`find`, which is asked once for each name."""

    def find(self, name: str) -> Value:
        """Return what *name* means."""
        raise NotImplementedError

    def __missing__(self, name: str) -> Value:
        value = self.find(name)
        if len(self) >= _MAX_KEYS:
            self.clear()
        if not isinstance(name, str) or len(name) <= _MAX_KEY_CHARS:  # lxml has functions for names of comments
            self[name] = value
        return value


def cached(function: Callable[[str], Value]) -> Callable[[str], Value]:
    """Return *function* with a cache of its last results for short texts."""
    remembering = lru_cache(maxsize=_MAX_CALLS)(function)

    @wraps(function)
    def answer(text: str) -> Value:
        return remembering(text) if len(text) <= _MAX_KEY_CHARS else function(text)

    return answer
