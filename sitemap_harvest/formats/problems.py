"""Problems gathered while a document is read: equal ones become one, with a count."""

from __future__ import annotations

from sitemap_harvest.model import CATALOGUE, Problem, Sample
from sitemap_harvest.model.problem import MAX_EXCERPT_CHARS, MAX_SAMPLES

LOSSY = frozenset(code for code, problem_type in CATALOGUE.items() if problem_type.loses)
"""Codes of the problems after which an entry may be missing."""


class ProblemLog:
    """What is wrong with one document, as far as it has been read."""

    def __init__(self, document: str) -> None:
        self._document = document
        self._found: dict[str, tuple[str, int, list[Sample]]] = {}

    def add(
        self,
        code: str,
        detail: str | None = None,
        *,
        entry: int | None = None,
        line: int | None = None,
        byte: int | None = None,
        excerpt: str | None = None,
        count: int = 1,
    ) -> None:
        """Note *count* occurrences of the problem *code*, one of which is at the place given.

        *detail* says it in words; ``None`` stands for what the catalogue says of *code*.
        """
        first_detail, seen, samples = self._found.get(code, (detail or CATALOGUE[code].meaning, 0, []))
        if len(samples) < MAX_SAMPLES:
            samples.append(Sample(entry=entry, line=line, byte=byte, excerpt=excerpt and excerpt[:MAX_EXCERPT_CHARS]))
        self._found[code] = (first_detail, seen + count, samples)

    def forget(self, prefixes: tuple[str, ...]) -> None:
        """Forget the problems whose codes begin with one of *prefixes*: who told them will tell them again."""
        self._found = {code: found for code, found in self._found.items() if not code.startswith(prefixes)}

    def has_enough(self, code: str) -> bool:
        """Whether as many samples of the problem *code* are there as are kept."""
        return code in self._found and len(self._found[code][2]) >= MAX_SAMPLES

    def __contains__(self, code: str) -> bool:
        return code in self._found

    @property
    def lost_something(self) -> bool:
        """Whether one of the problems means that an entry may be missing."""
        return not LOSSY.isdisjoint(self._found)

    @property
    def lost_bytes(self) -> bool:
        """Whether one of the problems means that the document was not unpacked to its end."""
        return any(code.startswith("unpack/") and code in LOSSY for code in self._found)

    def all(self) -> tuple[Problem, ...]:
        """Return the problems, in the order in which each was first met."""
        return tuple(
            Problem(code=code, document=self._document, detail=detail, count=count, samples=tuple(samples))
            for code, (detail, count, samples) in self._found.items()
        )
