"""``ProblemLog``: collects the problems of a document; repeated ones become one with a count."""

from __future__ import annotations

from dataclasses import dataclass, field

from sitemap_harvest.model import CATALOGUE, Problem, Reliability, Sample
from sitemap_harvest.model.problem import MAX_EXCERPT_CHARS, MAX_SAMPLES

LOSSY = frozenset(code for code, problem_type in CATALOGUE.items() if problem_type.loses)
"""Codes of the problems after which an entry may be missing."""
_OF_THE_END = frozenset(
    {"encoding/cut-character", "html/truncated", "json/truncated", "text/truncated", "unpack/truncated"}
    | {"xml/not-well-formed", "xml/truncated"}
)
"""Problems that a whole document may have if it is read only in part."""
_LIMITS = frozenset({"unpack/ratio", "unpack/tiny-members", "unpack/too-large"})
"""Problems because of which the rest of the document was not decompressed, although it may be there."""
_UNRELIABLE = {
    code: known.reliability for code, known in CATALOGUE.items() if known.reliability is not Reliability.NONE
}


@dataclass(slots=True)
class _Found:
    detail: str
    count: int = 0
    samples: list[Sample] = field(default_factory=list)


class ProblemLog:
    """The problems of one document, as far as it was read."""

    def __init__(self, document: str, *, was_cut: bool = False) -> None:
        """Collect the problems of *document*; *was_cut*: whether it was truncated."""
        self._document = document
        self.was_cut = was_cut
        self.reached = 0
        """Position of the last entry or reference read."""
        self.is_well_formed = False
        """Whether the part being read is known to be well-formed XML, so that entries cannot be mixed up."""
        self.last_sound: int | None = None
        """Position of the last reliable entry; ``None`` if all are reliable."""
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
        """Record *count* occurrences of the problem *code*, one of which is at the given place.

        *detail* describes it; by default the meaning of its type.
        """
        if code in _UNRELIABLE:
            self.mark_unreliable(entry, _UNRELIABLE[code])
        found = self._found.get(code)
        if found is None:
            found = self._found[code] = _Found(detail or CATALOGUE[code].meaning)
        found.count += count
        if len(found.samples) < MAX_SAMPLES:
            excerpt = excerpt and excerpt[:MAX_EXCERPT_CHARS]
            found.samples.append(Sample(entry=entry, line=line, byte=byte, excerpt=excerpt))

    def mark_unreliable(self, entry: int | None = None, reliability: Reliability = Reliability.RECOVERED) -> None:
        """Record that from *entry* on (``None``: from here on) entries may differ from the published ones."""
        if self.last_sound == 0:
            return
        if reliability is Reliability.RECOVERED and (self.is_well_formed or "xml/truncated" in self):
            return  # nothing follows the end of a truncated document: a problem there is the truncation again
        before = self.reached if entry is None else entry - 1
        sound = 0 if reliability is Reliability.ALL else max(0, before - (reliability is Reliability.RECOVERED))
        self.last_sound = sound if self.last_sound is None else min(sound, self.last_sound)

    def absorb(self, other: ProblemLog) -> None:
        """Add the problems of *other*, which is about a part of the same document."""
        for code, found in other._found.items():
            own = self._found.setdefault(code, _Found(found.detail))
            own.count += found.count
            own.samples += found.samples[: MAX_SAMPLES - len(own.samples)]
        if other.last_sound is not None:
            self.last_sound = other.last_sound if self.last_sound is None else min(self.last_sound, other.last_sound)

    def forget_reading(self) -> None:
        """Discard the problems of everything before the entries, because the next reading of the document reports them.

        The entries that they made unreliable stay so.
        """
        again = ("unpack/", "encoding/", "xml/bad-declaration")
        self._found = {code: found for code, found in self._found.items() if not code.startswith(again)}

    def has_enough(self, code: str) -> bool:
        """Whether the problem *code* has the maximum number of samples."""
        return code in self._found and len(self._found[code].samples) >= MAX_SAMPLES

    def __contains__(self, code: str) -> bool:
        return code in self._found

    @property
    def lost_something(self) -> bool:
        """Whether an entry may be missing: the document was truncated, or a problem implies it."""
        return self.was_cut or not LOSSY.isdisjoint(self._found)

    @property
    def lost_bytes(self) -> bool:
        """Whether a problem implies that the document was not decompressed completely."""
        return any(code.startswith("unpack/") and code in LOSSY for code in self._found)

    @property
    def ends_early(self) -> bool:
        """Whether the end of the document may be incomplete."""
        return self.was_cut or self.lost_bytes or "encoding/cut-character" in self._found

    @property
    def goes_on(self) -> bool:
        """Whether the published document goes on where the reading ended."""
        return self.was_cut or not _LIMITS.isdisjoint(self._found)

    def all(self) -> tuple[Problem, ...]:
        """Return the problems, in order of first occurrence; without those of the end if the document goes on."""
        goes_on = self.goes_on
        return tuple(
            Problem(
                code=code, document=self._document, detail=found.detail, count=found.count, samples=tuple(found.samples)
            )
            for code, found in self._found.items()
            if not (goes_on and code in _OF_THE_END)
        )
