"""Shared by the tests of readers: the fixtures, and a summary of what was read."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sitemap_harvest import Document, Limits
from sitemap_harvest.formats.collector import Collector
from sitemap_harvest.formats.problem_log import ProblemLog

if TYPE_CHECKING:
    from collections.abc import Iterator

FIXTURES = Path(__file__).parent.parent / "fixtures"
HERE = "https://example.com/sitemap.xml"
SITEMAPS = "http://www.sitemaps.org/schemas/sitemap/0.9"


def fixture_bytes(name: str) -> bytes:
    return (FIXTURES / name).read_bytes()


def expected(name: str) -> list[dict[str, Any]]:
    """Return the content of ``NAME.expected.jsonl``: rows and references first, problems last."""
    path = FIXTURES / f"{name}.expected.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def found(document: Document) -> list[dict[str, Any]]:
    """Return the entries and the problems of *document* in the form of ``.expected.jsonl``: without nulls."""
    records = [_without_nulls(asdict(one)) for one in (*document.rows(), *document.sitemaps(), *document.problems)]
    for record in records:
        if record.get("code") == "xml/not-well-formed":
            del record["detail"]  # messages of libxml2, which differ by version
    return records


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_nulls(item) for item in value]
    return value.isoformat() if isinstance(value, datetime) else value


def locs(document: Document) -> list[str]:
    return [entry.loc for entry in document.rows()]


def codes(document: Document) -> dict[str, int]:
    return {problem.code: problem.count for problem in document.problems}


def log() -> ProblemLog:
    return ProblemLog(HERE)


def noted(problems: ProblemLog) -> dict[str, int]:
    return {problem.code: problem.count for problem in problems.all()}


def collector(base: str | None = HERE, **limits: int) -> Collector:
    return Collector(document=HERE, base=base, limits=Limits(**limits))


def collected(into: Collector, batches: Iterator[Any]) -> list[Any]:
    """Return the rows of *batches* and those left in *into*."""
    rows = [row for batch in batches for row in batch.rows()]
    return rows + [row for batch in into.last_batches() for row in batch.rows()]


def urlset(inside: str, attributes: str = "") -> bytes:
    return f'<urlset xmlns="{SITEMAPS}"{attributes}>{inside}</urlset>'.encode()


def index(inside: str) -> bytes:
    return f'<sitemapindex xmlns="{SITEMAPS}">{inside}</sitemapindex>'.encode()
