"""The version of the tables of the queue, in a real PostgreSQL."""

from __future__ import annotations

import re

import psycopg
import pytest

from sitemap_harvest.errors import DatabaseError
from sitemap_harvest.jobs import queue_tables
from sitemap_harvest.jobs.job_queue import JobQueue, Plan
from sitemap_harvest.jobs.queue_tables import MIGRATIONS, VERSION

pytestmark = pytest.mark.service


@pytest.fixture
def empty(server):
    """Return the address of a database without tables, which is removed at the end."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE queue_tables")
        yield re.sub(r"(://[^/]*/)[^?]*", r"\1queue_tables", server)
        connection.execute("DROP DATABASE queue_tables WITH (FORCE)")


def rows(address, statement):
    with psycopg.connect(address) as connection:
        return connection.execute(statement).fetchall()


def opened(address):
    with JobQueue.open(address) as queue:
        return queue.status().sites


def test_each_version_has_a_migration():
    assert [*MIGRATIONS] == [*range(2, VERSION + 1)]


def test_new_tables_have_the_version_of_the_package(empty):
    for _ in range(2):
        assert opened(empty) == 0
        assert rows(empty, "SELECT version FROM sitemap_harvest_version") == [(VERSION,)]


@pytest.mark.parametrize("is_stored", [True, False])
def test_tables_of_older_versions_are_migrated_once_in_order(empty, monkeypatch, is_stored):
    monkeypatch.setattr(queue_tables, "VERSION", 1)
    opened(empty)
    if not is_stored:  # as at first
        with psycopg.connect(empty) as connection:
            connection.execute("DROP TABLE sitemap_harvest_version")
    monkeypatch.setattr(queue_tables, "VERSION", 3)
    migrations = {
        2: "ALTER TABLE sitemap_harvest_sites ADD COLUMN two integer DEFAULT 2",
        3: "ALTER TABLE sitemap_harvest_sites ADD COLUMN three text; UPDATE sitemap_harvest_sites SET three = two + 1",
    }
    monkeypatch.setattr(queue_tables, "MIGRATIONS", migrations)
    for _ in range(2):
        assert opened(empty) == 0
        assert rows(empty, "SELECT version FROM sitemap_harvest_version") == [(3,)]
    assert rows(empty, "SELECT two, three FROM sitemap_harvest_sites") == []


def test_tables_of_the_first_version_are_migrated(empty):
    opened(empty)
    with psycopg.connect(empty) as connection:
        connection.execute("ALTER TABLE sitemap_harvest_plans DROP COLUMN blocks")
        connection.execute("ALTER TABLE sitemap_harvest_sites DROP COLUMN split")
        connection.execute("ALTER TABLE sitemap_harvest_parts ADD COLUMN failures integer")
        connection.execute("ALTER TABLE sitemap_harvest_sites DROP COLUMN failures")
        connection.execute("ALTER TABLE sitemap_harvest_sites ADD COLUMN failures integer NOT NULL DEFAULT 0")
        connection.execute(
            "INSERT INTO sitemap_harvest_plans (store, arguments) VALUES ('s', '{}'); "
            "INSERT INTO sitemap_harvest_sites (store, site, plan, lock, result, failures) "
            "SELECT 's', site, id, site, result, failures FROM sitemap_harvest_plans, "
            "(VALUES ('a', 'store', 2), ('b', 'found', 0), ('c', NULL, 0)) AS sites (site, result, failures)"
        )
        connection.execute("DROP TABLE sitemap_harvest_blocks, sitemap_harvest_version")
    with JobQueue.open(empty) as queue:
        queue.submit(Plan(store="s", arguments={}, blocks=2), [("https://a.example", "a")])
    assert rows(empty, "SELECT blocks FROM sitemap_harvest_plans ORDER BY id") == [(1,), (2,)]
    found = rows(empty, "SELECT site, failures FROM sitemap_harvest_sites ORDER BY site")
    assert found == [("a", {"store": 2}), ("b", {}), ("c", {}), ("https://a.example", {})]


def test_a_migration_that_fails_changes_nothing(empty, monkeypatch):
    opened(empty)
    monkeypatch.setattr(queue_tables, "VERSION", VERSION + 1)
    statements = "ALTER TABLE sitemap_harvest_sites ADD COLUMN two integer; SELECT 1 / 0"
    monkeypatch.setattr(queue_tables, "MIGRATIONS", {VERSION + 1: statements})
    with pytest.raises(DatabaseError, match="division by zero"):
        opened(empty)
    monkeypatch.undo()
    assert opened(empty) == 0
    assert rows(empty, "SELECT version FROM sitemap_harvest_version") == [(VERSION,)]
    assert rows(empty, "SELECT FROM information_schema.columns WHERE column_name = 'two'") == []


def test_tables_of_a_newer_version_are_refused(empty, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(queue_tables, "VERSION", VERSION + 1)
        opened(empty)
    expected = (
        f": the tables of the queue have version {VERSION + 1}, and this sitemap_harvest knows only {VERSION}: a newer "
        "one has changed them; update sitemap_harvest on this machine, or use another database"
    )
    with pytest.raises(DatabaseError, match="queue postgresql://.*" + re.escape(expected)):
        opened(empty)
    assert rows(empty, "SELECT version FROM sitemap_harvest_version") == [(VERSION + 1,)]
