"""``DatabaseLocation``: the database, the table and the mode that a URI names, such as ``urls.duckdb?mode=append``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from urllib.parse import quote, unquote, unquote_plus, urlencode, urlsplit

from sitemap_harvest.errors import DatabaseError, there_is_no
from sitemap_harvest.redact import without_login

KINDS = ("postgresql", "sqlite", "duckdb", "delta")
"""The kinds of databases: names of formats, schemes of URIs and suffixes of files."""
SCHEMES = {"postgres": "postgresql", "sqlite3": "sqlite"} | {kind: kind for kind in KINDS}
"""The kinds by the schemes of URIs and the suffixes of files."""
_OWN = ("table", "schema", "mode", "key", "partition")
_WITHOUT_SCHEMAS = {"sqlite": "SQLite", "delta": "Delta Lake"}
_NO_FILES = {
    ":memory:": "in memory, where it would be gone at the end",
    "stdout:": "to standard output (-)",  # a word of Scrapy
}
_DRIVE = re.compile(r"/[A-Za-z]:")


class Mode(StrEnum):
    """What becomes of the rows that a table has."""

    CREATE = "create"
    """There must be no such table."""
    REPLACE = "replace"
    """They are deleted."""
    APPEND = "append"
    """They are kept."""
    UPSERT = "upsert"
    """Those with the key of a new row are deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseLocation:
    """A database, and how rows are written to it."""

    kind: str
    """One of :data:`KINDS`."""
    address: str
    """The path of a file or, for ``delta``, a folder; or the URI of a server or an object store."""
    schema: str | None
    """The schema of the tables; ``None``: the default one."""
    table: str | None
    """The table; ``None``: that of the kind of the rows, such as ``urls``."""
    mode: Mode
    key: tuple[str, ...]
    """The columns that identify a row for ``upsert``; none: those of the kind of the rows."""
    partition: tuple[str, ...] = ()
    """The columns whose values are folders of a new table, for ``delta``."""

    @property
    def is_server(self) -> bool:
        """Whether the address is a URI, not a path."""
        return "://" in self.address

    @property
    def has_schemas(self) -> bool:
        """Whether the database has schemas."""
        return self.kind not in _WITHOUT_SCHEMAS


def kind_of(output: str) -> str:
    """Return the kind of database that *output* names by its scheme or the suffix of its path; empty if by neither."""
    scheme, colon, _ = output.partition(":")
    if colon and scheme.lower() in SCHEMES:
        return SCHEMES[scheme.lower()]
    return SCHEMES.get(PurePath(output.partition("?")[0]).suffix[1:].lower(), "")


def parse_location(uri: str, kind: str = "", *, default: Mode) -> DatabaseLocation:
    """Return the location that *uri* names.

    *kind*: that of the database if *uri* does not tell. *default*: the mode without the
    parameter ``mode``. Raises :exc:`DatabaseError`.
    """
    shown = without_login(uri)
    scheme, colon, _ = uri.partition(":")
    is_path = not colon or scheme.lower() not in SCHEMES
    found = kind if is_path else SCHEMES[scheme.lower()]
    base, _, query = uri.partition("?")
    if found not in KINDS:
        message = f"the kind of the database is unknown; it must be one of {', '.join(KINDS)}, as in {shown}:sqlite"
        raise DatabaseError(f"{shown}: {message}")
    if found == "postgresql":
        _check_server(base, query, shown)
    given, others = _parameters(query, shown)
    if found == "postgresql":
        address = f"postgresql:{base.partition(':')[2]}{'?' if others else ''}{urlencode(others, quote_via=quote)}"
    elif others:
        raise DatabaseError(f"{shown}: {there_is_no('parameter', next(iter(others)), _OWN)}")
    else:
        address = base if is_path else _path(base, shown)
        _check_path(address, found, shown)
    names = _names(given, found, shown)
    mode = given.get("mode", default)
    if mode not in tuple(Mode):
        raise DatabaseError(f"{shown}: {there_is_no('mode', mode, Mode)}")
    key, partition = (_words(given.get(name, "")) for name in ("key", "partition"))
    if key and mode != Mode.UPSERT:
        raise DatabaseError(f"{shown}: the parameter key is for mode=upsert")
    if partition and found != "delta":
        raise DatabaseError(f"{shown}: the parameter partition is for Delta Lake")
    return DatabaseLocation(kind=found, address=address, mode=Mode(mode), key=key, partition=partition, **names)


def _names(given: dict[str, str], kind: str, shown: str) -> dict[str, str | None]:
    """Return the names of the schema and the table. Raises :exc:`DatabaseError`."""
    names = {name: given.get(name) for name in ("schema", "table")}
    for name, value in names.items():
        if value is not None and (not value or "\0" in value):
            raise DatabaseError(f"{shown}: the parameter {name} is empty, or has a NUL character")
    if names["schema"] and kind in _WITHOUT_SCHEMAS:
        raise DatabaseError(f"{shown}: {_WITHOUT_SCHEMAS[kind]} has no schemas; remove the parameter schema")
    return names


def _words(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _parameters(query: str, shown: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the parameters of *query* that are ours, and the others."""
    own: dict[str, str] = {}
    others: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        name, _, value = part.partition("=")
        into, value = (own, unquote_plus(value)) if name in _OWN else (others, unquote(value))  # as libpq does
        if name in into:
            raise DatabaseError(f"{shown}: the parameter {name} is given twice")
        into[name] = value
    return own, others


def _check_server(base: str, query: str, shown: str) -> None:
    """Raise :exc:`DatabaseError` if the URI of a server is invalid, or has a password."""
    if "//" not in base:
        raise DatabaseError(f"{shown}: it must begin with postgresql://, as in postgresql://me@localhost/seo")
    try:
        has_password = bool(urlsplit(base).password) or "password" in unquote(query).lower()  # or sslpassword
    except ValueError as error:
        raise DatabaseError(f"{shown}: {error}") from error
    if has_password:
        raise DatabaseError(
            f"{shown.partition('?')[0]}: remove the password, which logs would show; set the environment variable "
            "PGPASSWORD, or write it to ~/.pgpass"
        )


def _check_path(path: str, kind: str, shown: str) -> None:
    """Raise :exc:`DatabaseError` if *path* is not that of a file, or has credentials."""
    if path != without_login(path):
        raise DatabaseError(f"{shown}: remove the credentials, and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
    if not path:
        raise DatabaseError(f"{shown}: the path of the file is missing, as in {kind}:///data/urls.{kind}")
    if "\0" in path:
        raise DatabaseError(f"{shown}: the path has a NUL character")
    for name, where in _NO_FILES.items():
        if path.startswith(name):
            raise DatabaseError(f"a database cannot be written {where}; name a file, such as urls.{kind}")


def _path(base: str, shown: str) -> str:
    """Return the path in a URI such as ``duckdb:///data/urls.duckdb``, ``duckdb:///C:/urls.duckdb`` or ``duckdb:x``.

    Raises :exc:`DatabaseError` for ``duckdb:///x``, which is ``./x`` for SQLAlchemy, and ``/x`` for all others.
    """
    scheme, _, rest = base.partition(":")
    path = unquote(rest.removeprefix("//"))
    if _DRIVE.match(path):
        return path[1:]
    if rest.startswith("///") and path.count("/") == 1 and len(path) > 1:
        advice = f"write {scheme}:{path[1:]} for one in the current folder, or {path}:{scheme}"
        raise DatabaseError(f"{shown}: after three slashes, the path is absolute, and {path} is in the root; {advice}")
    return path
