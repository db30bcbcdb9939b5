"""Problems gathered while a document is read: equal ones become one, with a count."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sitemap_harvest.model import CATALOGUE, Doubt, Problem, Sample
from sitemap_harvest.model.problem import MAX_EXCERPT_CHARS, MAX_SAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable

LOSSY = frozenset(code for code, problem_type in CATALOGUE.items() if problem_type.loses)
"""Codes of the problems after which an entry may be missing."""
_DOUBTFUL = {code: problem.doubt for code, problem in CATALOGUE.items() if problem.doubt is not Doubt.NONE}


@dataclass(slots=True)
class _Found:
    """What is known of the problem of one code."""

    detail: str
    count: int = 0
    samples: list[Sample] = field(default_factory=list)


class ProblemLog:
    """What is wrong with one document, as far as it has been read."""

    def __init__(self, document: str, *, reached: Callable[[], int] = lambda: 0, was_cut: bool = False) -> None:
        """Gather what is wrong with *document*.

        *reached* tells the position of the last entry that was read; *was_cut*
        is whether the document came without its end.
        """
        self._document = document
        self._reached = reached
        self.was_cut = was_cut
        self.is_well_formed = False
        """Whether what is being read is known to be well-formed XML, so that no entry can be mixed up with another."""
        self.last_sound: int | None = None
        """Position of the last entry that is beyond doubt; ``None`` where all are."""
        self._found: dict[str, _Found] = {}

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
        if code in _DOUBTFUL:
            self.doubt(entry, _DOUBTFUL[code])
        found = self._found.get(code)
        if found is None:
            found = self._found[code] = _Found(detail or CATALOGUE[code].meaning)
        found.count += count
        if len(found.samples) < MAX_SAMPLES:
            excerpt = excerpt and excerpt[:MAX_EXCERPT_CHARS]
            found.samples.append(Sample(entry=entry, line=line, byte=byte, excerpt=excerpt))

    def doubt(self, entry: int | None = None, doubt: Doubt = Doubt.MENDED) -> None:
        """Note that from *entry* on (``None``: from here on) entries may not be as published."""
        if self.last_sound == 0:
            return
        if doubt is Doubt.MENDED and (self.is_well_formed or "xml/truncated" in self):
            return  # nothing comes behind the end of what was cut: a problem told there is the cut once more
        before = self._reached() if entry is None else entry - 1
        sound = 0 if doubt is Doubt.ALL else max(0, before - (doubt is Doubt.MENDED))
        self.last_sound = sound if self.last_sound is None else min(sound, self.last_sound)

    def forget(self, prefixes: tuple[str, ...]) -> None:
        """Forget the problems whose codes begin with one of *prefixes*: who told them will tell them again.

        What they have put in doubt stays so: the second time they are told elsewhere.
        """
        self._found = {code: found for code, found in self._found.items() if not code.startswith(prefixes)}

    def has_enough(self, code: str) -> bool:
        """Whether as many samples of the problem *code* are there as are kept."""
        return code in self._found and len(self._found[code].samples) >= MAX_SAMPLES

    def __contains__(self, code: str) -> bool:
        return code in self._found

    @property
    def lost_something(self) -> bool:
        """Whether an entry may be missing: the document was cut, or one of the problems means that."""
        return self.was_cut or not LOSSY.isdisjoint(self._found)

    @property
    def lost_bytes(self) -> bool:
        """Whether one of the problems means that the document was not unpacked to its end."""
        return any(code.startswith("unpack/") and code in LOSSY for code in self._found)

    @property
    def ends_early(self) -> bool:
        """Whether what the document ends with may have been longer."""
        return self.was_cut or self.lost_bytes or "encoding/cut-character" in self._found

    def all(self) -> tuple[Problem, ...]:
        """Return the problems, in the order in which each was first met."""
        return tuple(
            Problem(
                code=code,
                document=self._document,
                detail=found.detail,
                count=found.count,
                samples=tuple(found.samples),
            )
            for code, found in self._found.items()
        )
