"""Fixtures: an empty database of each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sitemap_harvest.databases import Mode, open_database, parse_location
from tests.services.postgresql import postgresql

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# The quick ring starts PostgreSQL only for crawls: tests/crawl/test_database_outputs.py
SQL_KINDS = ["duckdb", "sqlite", pytest.param("postgresql", marks=[pytest.mark.service, pytest.mark.deep])]


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Start PostgreSQL; return the URI of its database."""
    yield from postgresql()


@pytest.fixture(params=[*SQL_KINDS, "delta"])
def any_uri(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return the URI of an empty database of any kind."""
    yield from _empty(request, tmp_path)


@pytest.fixture(params=SQL_KINDS)
def uri(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return the URI of an empty database with SQL."""
    yield from _empty(request, tmp_path)


def _empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param != "postgresql":
        yield f"{request.param}:{tmp_path}/it's 1%20.db"
        return
    yield (base := request.getfixturevalue("server"))
    with open_database(parse_location(base, default=Mode.APPEND)) as database:
        found = database._query("select nspname::text from pg_namespace where nspname !~ '^(pg_|info)'", [])  # type: ignore[attr-defined]
        for (schema,) in found:
            database._execute(f"drop schema {database._quote(schema)} cascade")  # type: ignore[attr-defined]
        database._execute("create schema public")  # type: ignore[attr-defined]
        database._commit()  # type: ignore[attr-defined]
