"""Caches of bounded size, whatever names a document contains."""

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
    """A cache from names to values: *find* is called once for each name."""

    def __init__(self, find: Callable[[str], Value]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, name: str) -> Value:
        value = self._find(name)
        if len(self) >= _MAX_KEYS:
            self.clear()
        if not isinstance(name, str) or len(name) <= _MAX_KEY_CHARS:  # lxml has functions as names of comments
            self[name] = value
        return value


def cached(function: Callable[[str], Value]) -> Callable[[str], Value]:
    """Return *function* with a cache of its latest results for short texts."""
    remembering = lru_cache(maxsize=_MAX_CALLS)(function)

    @wraps(function)
    def answer(text: str) -> Value:
        return remembering(text) if len(text) <= _MAX_KEY_CHARS else function(text)

    return answer
