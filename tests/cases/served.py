"""Documents as served, each with its expected result.

``fixtures/cases/SECTION/NUMBER-TRAIT.EXT`` is the body. The first line of ``....expected.jsonl`` says how it is served
(``url``, or ``urls``, and ``content_types``, each of which must give the same result; ``content_encodings``) and its
facts (``kind``, ``complete``, ``layers`` and ``encoding``, unless they are none and UTF-8). Then follow the entries,
the references and the problems.

The comparison covers all addresses in order, all codes with their counts, and all other fields except those that follow
from them; ``without`` lists further exceptions. A field that an expectation names is always compared.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import pytest

from sitemap_harvest import Document, Limits
from tests.documents import FIXTURES, found

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CASES = FIXTURES / "cases"
EXPECTED = ".expected.jsonl"
_FOLLOWS = ("key", "position", "site", "sitemap", "lastmod_precision", "lastmod_zoned")  # from compared fields
_FACTS = ("kind", "complete", "layers", "encoding")
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A document and its expected result."""

    path: Path
    served: Record
    expected: list[Record]
    """The facts of :data:`_FACTS`, then the entries, the references and the problems."""

    @classmethod
    def at(cls, path: Path) -> Case:
        lines = path.with_name(path.name + EXPECTED).read_text(encoding="utf-8").split("\n")
        served, *records = (json.loads(line) for line in lines if line)
        facts = {"layers": [], "encoding": "utf-8", **served}
        return cls(path, served, [{name: facts[name] for name in _FACTS}, *records])

    def found(self) -> Iterator[list[Record]]:
        """Yield the result for the document under each address and with each content type."""
        for document in self._documents():
            facts = (str(document.kind), document.complete, list(document.layers), document.encoding)
            yield [dict(zip(_FACTS, facts, strict=True)), *self._records(document)]

    def _documents(self) -> Iterator[Document]:
        body, served = self.path.read_bytes(), self.served
        for url in served.get("urls") or [served["url"]]:
            for content_type in served.get("content_types", [None]):
                yield Document(
                    body,
                    url=url,
                    content_type=content_type,
                    limits=Limits(),
                    content_encodings=tuple(served.get("content_encodings", ())),
                )

    def _records(self, document: Document) -> list[Record]:
        """Return the result in the form of an expectation: problems by code, and the compared fields of the rest."""
        records, problems = [], []
        for one, wanted in zip_longest(found(document), self.expected[1:], fillvalue={}):
            if "code" in one:
                problems.append({"code": one["code"], "count": one["count"]})
            elif one:
                name = "loc" if "sitemap" in one else "reference"
                others = {n: v for n, v in one.items() if n in wanted or n not in self._not_compared}
                records.append({name: others.pop("loc"), **others})
        return records + sorted(problems, key=lambda problem: str(problem["code"]))

    @property
    def _not_compared(self) -> tuple[str, ...]:
        """Fields that are compared only where an expectation names them."""
        return (*_FOLLOWS, *self.served.get("without", ()))


def cases(section: str) -> list[Any]:
    """Return the cases of *section* as parameters."""
    paths = sorted(path for path in (CASES / section).iterdir() if not path.name.endswith(EXPECTED))
    return [pytest.param(Case.at(path), id=path.name) for path in paths]


def number(path: Path) -> str:
    """Return the number at the start of the file name of *path*."""
    return path.name.partition("-")[0]
