"""Which documents led to which, over all sites of a run, and whether they produced URLs.

A document is read once, even if several sites name it or a document that leads to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sitemap_harvest.model import Evidence


class DocumentProvenance(NamedTuple):
    """The result of one document."""

    lists: bool
    """Whether it lists URLs."""
    is_whole: bool
    """Whether no URL is missing because of this document."""
    evidence: Evidence | None
    """Why the document may be incomplete; ``None`` if it is complete."""


class Provenance:
    """Links between documents, by document key, and their results, passed up to all documents above."""

    def __init__(self) -> None:
        self._above: dict[str, tuple[str, ...]] = {}
        self._one: tuple[str, ...] = ()  # shared by all children of the last parent
        self._lists: set[str] = set()
        self._flawed: dict[str, Evidence | None] = {}

    def link(self, key: str, above: str) -> None:
        """Record that the document *above* names the document *key*, or redirects to it."""
        known = self._above.get(key, ())
        if above in known:
            return
        if self._one != (above,):
            self._one = (above,)
        self._above[key] = (*known, above) if known else self._one
        if key in self._lists:
            self._mark_listing(above)
        if key in self._flawed:
            self._mark_flawed(above, self._flawed[key])

    def note(self, key: str, trace: DocumentProvenance) -> None:
        """Record the result of the document *key*."""
        if trace.lists:
            self._mark_listing(key)
        if not trace.is_whole or trace.evidence is not None:
            self._mark_flawed(key, trace.evidence)

    def lists(self, key: str) -> bool:
        """Whether the document *key* lists URLs, or led to one that does."""
        return key in self._lists

    def is_flawed(self, key: str) -> bool:
        """Whether URLs may be missing because of the document *key*, or because of a document below it."""
        return key in self._flawed

    def evidence(self, key: str) -> Evidence | None:
        """Return the first failure of the document *key* or of a document below it; ``None`` if there is none."""
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
