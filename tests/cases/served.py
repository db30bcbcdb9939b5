"""Documents as served, each beside what a reasonable person finds in it.

``fixtures/cases/SECTION/NUMBER-TRAIT.EXT`` is the body. The first line of
``....expected.jsonl`` says how it is served (``url``, or ``urls``, and
``content_types``, with each of which the same is to be found;
``content_encodings``) and what it is (``kind``, ``complete``, ``layers`` and
``encoding``, where they are not none and UTF-8). Then come the entries, the
references and the problems.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from sitemap_harvest import Document, Limits
from tests.documents import FIXTURES, found

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

CASES = FIXTURES / "cases"
EXPECTED = ".expected.jsonl"
_FOLLOWS = ("key", "position", "site", "sitemap", "lastmod_precision", "lastmod_zoned")  # from what is compared always
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A document, and what is to be found in it."""

    path: Path
    served: Record
    expected: tuple[Record, ...]

    @classmethod
    def at(cls, path: Path) -> Case:
        lines = path.with_name(path.name + EXPECTED).read_text(encoding="utf-8").split("\n")
        served, *expected = (json.loads(line) for line in lines if line)
        return cls(path, {"layers": [], "encoding": "utf-8", **served}, tuple(expected))

    def documents(self) -> Iterator[Document]:
        """Yield the document as it is read under each address, and with each content type."""
        body, served = self.path.read_bytes(), self.served
        for url in served.get("urls", [served.get("url")]):
            for content_type in served.get("content_types", [None]):
                yield Document(
                    body,
                    url=url,
                    content_type=content_type,
                    limits=Limits(),
                    content_encodings=tuple(served.get("content_encodings", ())),
                )

    def holds(self) -> None:
        """Assert that what is to be found is found, and nothing else."""
        wanted = {name: self.served[name] for name in ("kind", "complete", "layers", "encoding")}
        for document in self.documents():
            assert _records(document, self.expected) == list(self.expected)
            facts = (str(document.kind), document.complete, list(document.layers), document.encoding)
            assert dict(zip(wanted, facts, strict=True)) == wanted


def cases(section: str, wrong: Mapping[str, str] | None = None) -> list[Any]:
    """Return the cases of *section* as parameters; *wrong* says of a name, or of a number, why it does not hold yet."""
    wrong = wrong or {}
    paths = sorted(path for path in (CASES / section).iterdir() if not path.name.endswith(EXPECTED))
    names = {name for path in paths for name in (path.name, number(path)) if name in wrong}
    assert names == set(wrong), f"no such cases: {set(wrong) - names}"
    return [pytest.param(Case.at(path), id=path.name, marks=_marks(path, wrong)) for path in paths]


def number(path: Path) -> str:
    """Return the number that the name of the document at *path* begins with."""
    return path.name.partition("-")[0]


def _marks(path: Path, wrong: Mapping[str, str]) -> list[Any]:
    reason = wrong.get(path.name) or wrong.get(number(path))
    return [pytest.mark.xfail(strict=True, reason=reason)] if reason else []


def _records(document: Document, expected: tuple[Record, ...]) -> list[Record]:
    """Return what was found as an expectation has it: problems by code, and no field that follows from the others.

    Such a field is compared where the expectation names it.
    """
    records, problems = [], []
    for one in found(document):
        if "code" in one:
            problems.append({"code": one["code"], "count": one["count"]})
        elif "sitemap" in one:
            named = expected[len(records)] if len(records) < len(expected) else {}
            records.append({name: value for name, value in one.items() if name not in _FOLLOWS or name in named})
        else:
            records.append({"reference": one.pop("loc"), **{n: v for n, v in one.items() if n not in _FOLLOWS}})
    return records + sorted(problems, key=lambda problem: str(problem["code"]))
