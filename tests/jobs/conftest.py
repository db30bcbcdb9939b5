"""Fixtures of the tests of jobs."""

from __future__ import annotations

import asyncio

import procrastinate
import psycopg
import pytest

from sitemap_harvest.jobs.job_queue import JobQueue
from sitemap_harvest.jobs.worker import _prepare
from tests.jobs.workers import ManualWorker
from tests.services.object_store import BUCKET, object_store
from tests.services.postgresql import postgresql

_TABLES = (
    "sitemap_harvest_sites, sitemap_harvest_plans, sitemap_harvest_parts, procrastinate_jobs, procrastinate_workers"
)


@pytest.fixture(scope="session")
def server():
    """Yield the address of a PostgreSQL database."""
    yield from postgresql()


@pytest.fixture
def address(server):
    """Return the address of an empty queue."""
    with JobQueue.open(server), psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"TRUNCATE {_TABLES} CASCADE")
        connection.execute("UPDATE sitemap_harvest_version SET lease = NULL")
    return server


@pytest.fixture
def queue(address):
    with JobQueue.open(address) as queue:
        yield queue


@pytest.fixture
def sql(address):
    """Return a function that returns the rows of a statement."""
    with psycopg.connect(address, autocommit=True) as connection:

        def run(statement, *values):
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else None

        yield run


@pytest.fixture(scope="session")
def connected(server):
    """Yield a runner of coroutines, and a connector for them."""
    connector = procrastinate.PsycopgConnector(conninfo=server, configure=_prepare, min_size=1, max_size=1)
    with asyncio.Runner() as runner:
        runner.run(connector.open_async())
        yield runner, connector
        runner.run(connector.close_async())


@pytest.fixture
def new_worker(connected, address):
    """Return a function that returns another worker of the queue."""
    runner, connector = connected
    return lambda: ManualWorker(connector, runner)


@pytest.fixture
def worker(new_worker):
    return new_worker()


@pytest.fixture
def bucket(tmp_path, monkeypatch):
    """Return the address of a folder in a real object store."""
    folder = tmp_path / "objects"
    folder.mkdir()
    for variables in object_store(folder):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        yield f"s3://{BUCKET}/snapshots"
