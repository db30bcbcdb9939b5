"""What each document of a run has led to, whichever site it was read for.

A document is read once, and several sites may name it, or what leads to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sitemap_harvest.model import Evidence


class Trace(NamedTuple):
    """What came of one document."""

    lists: bool
    """Whether it lists URLs."""
    is_whole: bool
    """Whether no URL is missing because of it."""
    evidence: Evidence | None
    """Why it did not give all that it may have; ``None`` if it did."""


class Traces:
    """Documents by their keys, and what they or those below them have come to."""

    def __init__(self) -> None:
        self._above: dict[str, tuple[str, ...]] = {}
        self._lists: set[str] = set()
        self._flawed: dict[str, Evidence | None] = {}

    def link(self, key: str, above: str) -> None:
        """Note that the document *above* names the one at *key*, or redirects to it."""
        if above in self._above.get(key, ()):
            return
        self._above[key] = (*self._above.get(key, ()), above)
        if key in self._lists:
            self._mark_listing(above)
        if key in self._flawed:
            self._mark_flawed(above, self._flawed[key])

    def note(self, key: str, trace: Trace) -> None:
        """Take in what came of the document at *key*."""
        if trace.lists:
            self._mark_listing(key)
        if not trace.is_whole or trace.evidence is not None:
            self._mark_flawed(key, trace.evidence)

    def lists(self, key: str) -> bool:
        """Whether the document at *key* lists URLs, or has led to one that does."""
        return key in self._lists

    def is_flawed(self, key: str) -> bool:
        """Whether URLs may be missing because of the document at *key*, or because of one that it has led to."""
        return key in self._flawed

    def evidence(self, key: str) -> Evidence | None:
        """Return why the document at *key*, or the first below it that gave nothing, did so; ``None`` if none did."""
        return self._flawed.get(key)

    def _mark_listing(self, key: str) -> None:
        todo = [key]
        while todo:
            if (one := todo.pop()) not in self._lists:
                self._lists.add(one)
                todo += self._above.get(one, ())

    def _mark_flawed(self, key: str, evidence: Evidence | None) -> None:
        todo = [key]
        while todo:
            if (one := todo.pop()) not in self._flawed:
                self._flawed[one] = evidence
                todo += self._above.get(one, ())
