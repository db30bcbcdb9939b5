"""A worker ends only those jobs that it still holds, and others take over what it has lost."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from procrastinate.exceptions import ConnectorException

from sitemap_harvest.jobs import held_jobs
from sitemap_harvest.jobs.held_jobs import HeldJobManager
from sitemap_harvest.jobs.job_queue import Plan
from tests.jobs.workers import OK

STORE = "s3://bucket/store"
A, B = "https://a.example", "https://b.example"
JOBS = "SELECT id, status::text, attempts, worker_id FROM procrastinate_jobs ORDER BY id"
SITES = "SELECT result, crawls, job IS NULL FROM sitemap_harvest_sites ORDER BY site"


@pytest.fixture
def held(queue, worker):
    """Return a job that *worker* holds."""
    return submitted(queue, worker, A)


def submitted(queue, worker, site):
    queue.submit(Plan(store=STORE, arguments={}), [(site, site)])
    worker.make_due()
    return worker.fetch()


def silence(sql, worker, seconds):
    change = "UPDATE procrastinate_workers SET last_heartbeat = now() - %s * interval '1 second' WHERE id = %s"
    sql(change, seconds, worker.id)


def take_over(sql, worker, other):
    """Let *other* have the job that *worker* holds, which was silent for too long."""
    silence(sql, worker, 31)
    assert other.rescue() == 1
    return other.fetch()


@pytest.mark.service
@pytest.mark.parametrize("end", ["finish", "requeue"])
def test_a_lost_worker_cannot_end_what_another_one_runs(sql, held, worker, new_worker, end):
    row, other = worker.load(held), new_worker()
    again = take_over(sql, worker, other)
    assert (again.id, again.attempts, again.task_kwargs) == (held.id, 1, held.task_kwargs)
    assert not worker.record(held, OK, row)
    getattr(worker, end)(held)
    assert sql(JOBS) == [(held.id, "doing", 1, other.id)]
    assert sql(SITES) == [(None, 0, False)]
    assert other.record(again)
    other.finish(again)
    assert (sql(JOBS), sql(SITES)) == ([], [("ok", 1, True)])


@pytest.mark.service
@pytest.mark.parametrize("end", ["finish", "requeue"])
def test_a_worker_cannot_end_its_own_later_attempt(sql, held, worker, end):
    row = worker.load(held)
    again = take_over(sql, worker, worker)
    assert not worker.record(held, OK, row)
    getattr(worker, end)(held)
    assert sql(JOBS) == [(held.id, "doing", 1, worker.id)]
    assert worker.record(again)


@pytest.mark.service
def test_a_job_that_was_put_back_and_waits_cannot_be_ended(sql, held, worker, new_worker):
    row = worker.load(held)
    silence(sql, worker, 31)
    new_worker().rescue()
    assert not worker.record(held, OK, row)
    worker.finish(held)
    assert sql(JOBS) == [(held.id, "todo", 1, None)]


@pytest.mark.service
def test_a_result_that_was_recorded_before_the_worker_was_lost_counts(sql, held, worker, new_worker):
    assert worker.record(held)
    silence(sql, worker, 31)
    assert new_worker().rescue() == 0
    assert (sql(JOBS), sql(SITES)) == ([], [("ok", 1, True)])


@pytest.mark.service
@pytest.mark.parametrize(
    ("seconds", "rescued"),
    [pytest.param(29, 0, id="living"), pytest.param(31, 1, id="silent"), pytest.param(None, 1, id="removed")],
)
def test_jobs_of_silent_workers_are_rescued(sql, held, worker, new_worker, seconds, rescued):
    if seconds is None:
        sql("DELETE FROM procrastinate_workers WHERE id = %s", worker.id)
    else:
        sql("UPDATE procrastinate_workers SET last_heartbeat = now() + interval '1 hour'")  # the lease counts from it
        silence(sql, worker, seconds if rescued else -3600)
    sql(
        "INSERT INTO procrastinate_jobs (queue_name, task_name, status, worker_id) "
        "VALUES ('of others', 'x', 'doing', NULL)"
    )
    assert new_worker().rescue() == rescued
    state = ("todo", 1, None) if rescued else ("doing", 0, worker.id)
    assert sql(JOBS)[0] == (held.id, *state)
    assert sql(JOBS)[1][1:] == ("doing", 0, None)


@pytest.mark.service
def test_a_cancelled_job_of_a_lost_worker_is_removed(queue, sql, held, worker, new_worker):
    other = submitted(queue, worker, B)
    queue.cancel(STORE, [A])
    silence(sql, worker, 31)
    assert new_worker().rescue() == 1
    assert sql(JOBS) == [(other.id, "todo", 1, None)]


@pytest.mark.service
def test_a_recorded_job_is_not_put_back(queue, sql, held, worker):
    row = worker.load(held)
    queue.submit(Plan(store=STORE, arguments={}), [(A, A)])
    worker.record(held, OK, row)
    assert worker.make_due() == 1
    worker.requeue(held)
    assert [job and job.attempts for job in (worker.crawl(), worker.crawl())] == [0, None]
    assert sql(SITES) == [("ok", 2, True)]


@pytest.mark.service
def test_a_job_that_is_put_back_is_the_next_attempt(sql, held, worker):
    worker.requeue(held)
    assert sql(JOBS) == [(held.id, "todo", 1, None)]
    again = worker.fetch()
    assert (again.id, again.attempts, again.task_kwargs) == (held.id, 1, held.task_kwargs)


@pytest.mark.service
def test_a_heartbeat_tells_which_jobs_are_held(queue, sql, held, worker):
    sql("UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 hour'")
    worker.beat()
    sql("UPDATE procrastinate_jobs SET attempts = 3")
    worker.beat()
    worker.finish(held)
    sql("DELETE FROM procrastinate_jobs")
    worker.beat()
    assert worker.beats == [{(held.id, 0)}, {(held.id, 3)}, set()]
    assert sql("SELECT last_heartbeat > now() - interval '1 minute' FROM procrastinate_workers") == [(True,)]


@pytest.mark.service
@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_job_whose_answer_was_lost_is_put_back_at_the_second_heartbeat(
    queue, sql, held, worker, new_worker, is_cancelled
):
    ((lost,),) = sql(
        "INSERT INTO procrastinate_jobs (queue_name, task_name, status, worker_id, abort_requested) "
        "VALUES ('sitemap_harvest', 'sitemap_harvest.crawl', 'doing', %s, %s) RETURNING id",
        worker.id, is_cancelled,
    )  # fmt: skip
    before = sql(JOBS)
    worker.beat()
    assert sql(JOBS) == before
    worker.beat()
    assert sql(JOBS) == [before[0]] + ([] if is_cancelled else [(lost, "todo", 1, None)])
    assert worker.beats == [{(held.id, 0), (lost, 0)}] * 2


@pytest.mark.service
def test_a_worker_whose_row_was_removed_gets_a_new_one(queue, sql, held, worker, new_worker):
    sql("DELETE FROM procrastinate_workers")
    worker.beat()
    assert worker.beats == [set()]
    ((new,),) = sql("SELECT id FROM procrastinate_workers")
    assert new != worker.id
    assert sql(JOBS) == [(held.id, "doing", 0, None)]
    assert not worker.record(held)
    assert worker.rescue() == 1
    assert worker.fetch() is not None
    assert sql(JOBS) == [(held.id, "doing", 1, new)]
    worker.wait(worker.manager.unregister_worker(worker.id))
    assert sql("SELECT count(*) FROM procrastinate_workers") == [(0,)]


@pytest.mark.service
def test_a_worker_that_has_ended_gives_no_sign_of_life(sql, worker):
    worker.wait(worker.manager.unregister_worker(worker.id))
    worker.beat()
    assert worker.beats == []
    assert sql("SELECT count(*) FROM procrastinate_workers") == [(0,)]


class FakeConnector:
    """Raises *errors*, one at each query; then it answers."""

    def __init__(self, *errors):
        self.errors = [*errors]

    async def execute_query_all_async(self, query, **values):
        if self.errors:
            raise self.errors.pop(0)
        return [{"query": query, **values}]

    execute_query_async = execute_query_one_async = execute_query_all_async


def caused_by(cause):
    error = ConnectorException()
    error.__cause__ = cause
    return error


UNREACHABLE = [psycopg.OperationalError("the server closed the connection"), psycopg.InterfaceError("it is closed")]
OTHERS = [psycopg.ProgrammingError("syntax error"), psycopg.errors.CheckViolation("check"), ValueError(), None]


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(held_jobs, "_PAUSE_SECONDS", 0)


def manager_of(*causes):
    connector = FakeConnector(*map(caused_by, causes))
    beats = []
    manager = HeldJobManager(connector, lambda *values: beats.append(values))
    manager._worker = 1
    return manager, connector, beats


def test_a_query_is_repeated_until_the_database_can_be_reached():
    manager, connector, _ = manager_of(*UNREACHABLE)
    assert asyncio.run(manager.query("SELECT", value=1)) == [{"query": "SELECT", "value": 1}]
    assert connector.errors == []


@pytest.mark.parametrize("cause", OTHERS)
def test_other_errors_are_raised_at_once(cause):
    for call in (
        lambda manager: manager.query("SELECT"),
        lambda manager: manager.fetch_job(["sitemap_harvest"], 1),
        lambda manager: manager.update_heartbeat(1),
    ):
        manager, connector, _ = manager_of(cause, cause)
        with pytest.raises(ConnectorException):
            asyncio.run(call(manager))
        assert len(connector.errors) == 1


@pytest.mark.parametrize("cause", UNREACHABLE)
def test_no_job_and_no_heartbeat_while_the_database_cannot_be_reached(cause):
    manager, _, beats = manager_of(cause, cause)
    assert asyncio.run(manager.fetch_job(["sitemap_harvest"], 1)) is None
    asyncio.run(manager.update_heartbeat(1))
    assert beats == []  # the leases of the processes run out


def test_a_worker_ends_although_the_database_cannot_be_reached():
    manager, connector, _ = manager_of(UNREACHABLE[0])
    asyncio.run(manager.unregister_worker(1))
    assert connector.errors == []
