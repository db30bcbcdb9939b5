"""The tables of the queue: ``schema.sql`` creates them, and numbered statements migrate those of older versions."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any, LiteralString

from procrastinate.schema import SchemaManager

from sitemap_harvest.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import psycopg

VERSION = 4
"""The version of ``schema.sql``. Whoever changes a table there counts it up, and adds the statements that change the
tables of the version before to :data:`MIGRATIONS`."""
MIGRATIONS: Mapping[int, LiteralString] = {
    2: """
        ALTER TABLE sitemap_harvest_plans ADD COLUMN IF NOT EXISTS blocks integer NOT NULL DEFAULT 1;
        ALTER TABLE sitemap_harvest_sites ADD COLUMN IF NOT EXISTS split jsonb;
    """,
    3: "ALTER TABLE IF EXISTS sitemap_harvest_version ADD COLUMN IF NOT EXISTS lease double precision",
    4: """
        ALTER TABLE sitemap_harvest_sites ALTER failures DROP DEFAULT;
        ALTER TABLE sitemap_harvest_sites ALTER failures TYPE jsonb
            USING CASE WHEN failures = 0 THEN '{}' ELSE jsonb_build_object(coalesce(result, ''), failures) END;
        ALTER TABLE sitemap_harvest_sites ALTER failures SET DEFAULT '{}';
        ALTER TABLE sitemap_harvest_parts DROP COLUMN failures;
    """,
}
"""By version, the statements that make its tables out of those of the version before; each from 2 on."""
_LOCK = 7_210_334_905  # an arbitrary number, for processes that create the tables at the same moment


def create_tables(connection: psycopg.Connection[dict[str, Any]]) -> None:
    """Create the tables of procrastinate and ours, unless they exist; migrate those of an older version.

    Raises :exc:`DatabaseError` if they are those of a newer version.
    """
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        if not _exists(connection, "procrastinate_jobs"):
            connection.execute(SchemaManager.get_schema())
        for version in range(_version(connection) + 1, VERSION + 1):
            connection.execute(MIGRATIONS[version])
        connection.execute(files(__package__).joinpath("schema.sql").read_text())
        connection.execute("DELETE FROM sitemap_harvest_version WHERE version <> %s", [VERSION])
        connection.execute(
            "INSERT INTO sitemap_harvest_version SELECT %s WHERE NOT EXISTS (SELECT FROM sitemap_harvest_version)",
            [VERSION],
        )


def _version(connection: psycopg.Connection[dict[str, Any]]) -> int:
    """Return the version of the tables; if there are none, the one that is created. Raises :exc:`DatabaseError`."""
    if not _exists(connection, "sitemap_harvest_sites"):
        return VERSION
    if not _exists(connection, "sitemap_harvest_version"):
        return 1  # which was not stored at first
    row = connection.execute("SELECT max(version) AS version FROM sitemap_harvest_version").fetchone()
    version = int((row or {}).get("version") or 1)
    if version > VERSION:
        raise DatabaseError(
            f"the tables of the queue have version {version}, and this sitemap_harvest knows only {VERSION}: a newer "
            "one has changed them; update sitemap_harvest on this machine, or use another database"
        )
    return version


def _exists(connection: psycopg.Connection[dict[str, Any]], table: str) -> bool:
    return connection.execute("SELECT to_regclass(%s)::text AS name", [table]).fetchone() != {"name": None}
