"""The database, the table and the mode that a URI names."""

from __future__ import annotations

from typing import Any

import pytest

from sitemap_harvest.databases import DatabaseLocation, Mode, kind_of, parse_location
from sitemap_harvest.errors import DatabaseError


def location(kind: str, address: str, **others: Any) -> DatabaseLocation:
    given = {"schema": None, "table": None, "mode": Mode.APPEND, "key": ()} | others
    return DatabaseLocation(kind=kind, address=address, **given)


@pytest.mark.parametrize(
    ("uri", "kind", "wanted"),
    [
        pytest.param("urls.duckdb", "duckdb", location("duckdb", "urls.duckdb"), id="file"),
        pytest.param("my urls.db?table=a b", "sqlite", location("sqlite", "my urls.db", table="a b"), id="table"),
        pytest.param("duckdb:///data/u.db", "", location("duckdb", "/data/u.db"), id="absolute"),
        pytest.param("sqlite3:u.db", "", location("sqlite", "u.db"), id="relative"),
        pytest.param("sqlite://u.db", "", location("sqlite", "u.db"), id="relative-with-slashes"),
        pytest.param("sqlite:////u.db", "", location("sqlite", "//u.db"), id="four-slashes"),
        pytest.param("duckdb:///C:/data/u%20v.db", "", location("duckdb", "C:/data/u v.db"), id="drive"),
        pytest.param("delta:///data/urls", "", location("delta", "/data/urls"), id="folder"),
        pytest.param(
            "s3://bucket/urls?partition=site,sitemap",
            "delta",
            location("delta", "s3://bucket/urls", partition=("site", "sitemap")),
            id="object-store",
        ),
        pytest.param("C:\\u.duckdb", "duckdb", location("duckdb", "C:\\u.duckdb"), id="path-of-windows"),
        pytest.param("postgres://db/seo", "", location("postgresql", "postgresql://db/seo"), id="short-scheme"),
        pytest.param(
            "postgresql://me@db:5433/seo?sslmode=require&mode=upsert&key=site,key&schema=s",
            "postgresql",
            location(
                "postgresql",
                "postgresql://me@db:5433/seo?sslmode=require",
                mode=Mode.UPSERT,
                key=("site", "key"),
                schema="s",
            ),
            id="parameters-of-both",
        ),
        pytest.param(
            "postgresql:///seo?host=/run/pg&options=-c%20a=1&application_name=a+b&table=a+b",
            "",
            location(
                "postgresql",
                "postgresql:///seo?host=%2Frun%2Fpg&options=-c%20a%3D1&application_name=a%2Bb",
                table="a b",
            ),
            id="parameters-as-libpq-decodes-them",
        ),
        pytest.param(
            "postgresql://me@[::1]:5433/s", "", location("postgresql", "postgresql://me@[::1]:5433/s"), id="ipv6"
        ),
    ],
)
def test_locations(uri: str, kind: str, wanted: DatabaseLocation) -> None:
    assert parse_location(uri, kind, default=Mode.APPEND) == wanted


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        pytest.param(
            "urls.db", "unknown; it must be one of postgresql, sqlite, duckdb, delta, as in urls.db:sqlite", id="kind"
        ),
        pytest.param("duckdb:", "the path of the file is missing, as in duckdb:///data/urls.duckdb", id="path"),
        pytest.param("sqlite:stdout:", "cannot be written to standard output (-); name a file", id="standard-output"),
        pytest.param("sqlite:///u.db", "write sqlite:u.db for one in the current folder, or /u.db:sqlite", id="root"),
        pytest.param("delta:///u", "the path is absolute, and /u is in the root", id="folder-in-the-root"),
        pytest.param("sqlite:u.db?mod=append", "unknown parameter; did you mean mode?", id="parameter"),
        pytest.param("sqlite:u.db?mode=apend", "unknown mode; did you mean append?", id="mode"),
        pytest.param("sqlite:u.db?mode=append&mode=replace", "the parameter mode is given twice", id="twice"),
        pytest.param("sqlite:u.db?table=", "the parameter table is empty", id="empty"),
        pytest.param("sqlite:u.db?table=a%00", "has a NUL character", id="nul"),
        pytest.param("sqlite:u.db?schema=a", "SQLite has no schemas", id="schema"),
        pytest.param("delta:u?schema=a", "Delta Lake has no schemas", id="schema-of-a-folder"),
        pytest.param("sqlite:u.db?partition=a", "the parameter partition is for Delta Lake", id="partition"),
        pytest.param("duckdb:u.db?key=site", "the parameter key is for mode=upsert", id="key"),
        pytest.param("postgresql:seo", "it must begin with postgresql://", id="no-host"),
        pytest.param("postgresql://[::1/seo", "Invalid IPv6 URL", id="bracket"),
        pytest.param("sqlite::memory:", "cannot be written in memory", id="memory"),
        pytest.param("duckdb:a%00b", "the path has a NUL character", id="nul-in-path"),
    ],
)
def test_wrong_uris(uri: str, message: str) -> None:
    with pytest.raises(DatabaseError) as raised:
        parse_location(uri, default=Mode.APPEND)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        pytest.param("data/u.DuckDB?table=a.b", "duckdb", id="suffix"),
        pytest.param("u.sqlite3", "sqlite", id="other-suffix"),
        pytest.param("C:\\u.sqlite", "sqlite", id="drive"),
        pytest.param("s3://bucket/u.delta", "delta", id="object-store"),
        pytest.param("SQLite:///u.duckdb", "sqlite", id="scheme"),
        pytest.param("postgres://db.example?schema=a", "postgresql", id="server"),
        pytest.param("u.db", "", id="unknown-suffix"),
        pytest.param("duckdb", "", id="no-suffix"),
        pytest.param("u.csv?sqlite", "", id="parameter"),
    ],
)
def test_kinds_by_names(output: str, kind: str) -> None:
    assert kind_of(output) == kind


@pytest.mark.parametrize(
    "uri",
    [
        "postgresql://me:hush@db/seo",
        "postgresql://db/seo?password=hush",
        "postgresql://db/seo?sslpassword=hush",
        "postgresql://db/seo?pass%77ord=hush&table=",
    ],
)
def test_a_password_is_refused_and_not_shown(uri: str) -> None:
    with pytest.raises(DatabaseError) as raised:
        parse_location(uri, default=Mode.APPEND)
    assert "set the environment variable PGPASSWORD" in str(raised.value)
    assert "hush" not in str(raised.value)
