"""What workers do to the rows of sites."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import numpy as np
import psycopg
import pytest
from psycopg.types.json import Jsonb

from sitemap_harvest.frontier.intervals import ChangeHistory, allocate, intervals, observed, rates
from sitemap_harvest.jobs import site_jobs
from sitemap_harvest.jobs.job_process import CrawlResult
from sitemap_harvest.jobs.job_queue import Plan
from sitemap_harvest.jobs.retries import FailureKind
from tests.jobs.workers import OK
from tests.waiting import wait_until

pytestmark = pytest.mark.service
STORE = "s3://bucket/store"
ONCE = Plan(store=STORE, arguments={"limit": "5"})
DAILY = Plan(store=STORE, arguments={}, every=timedelta(days=1))
AUTO = Plan(store=STORE, arguments={}, budget=10)
A = "https://a.example"
WAITING = "SELECT lock, count(*) FROM procrastinate_jobs WHERE status = 'todo' GROUP BY 1 ORDER BY 1"


def pairs(*sites):
    return [(site, site) for site in sites]


def names(prefix, count):
    return [f"https://{prefix}{number:05}.example" for number in range(count)]


def failed(kind):
    return CrawlResult(failure=kind, result=kind, reason="why", seconds=2.0)


def test_jobs_of_the_sites_that_are_due(queue, sql, worker):
    queue.submit(ONCE, pairs(A, "https://paused.example", "https://later.example"), priority=4)
    queue.pause(STORE, ["https://paused.example"])
    sql("UPDATE sitemap_harvest_sites SET turn_at = now() + interval '1 minute' WHERE site LIKE '%%later%%'")
    assert [worker.make_due(), worker.make_due()] == [1, 0]
    ((site, name),) = sql("SELECT id, owner || '/' || crawl FROM sitemap_harvest_sites WHERE site = %s", A)
    job = worker.fetch()
    assert (job.queue, job.task_name, job.priority, job.lock, job.task_kwargs) == (
        "sitemap_harvest", "sitemap_harvest.crawl", 4, A, {"site": site}
    )  # fmt: skip
    assert worker.fetch() is None
    row = worker.load(job)
    assert row == {
        "name": name, "store": STORE, "site": A, "due_at": row["due_at"], "failures": {}, "result": None,
        "changes": 0.0, "days": 0.0,
        "days_since_last": None, "arguments": {"limit": "5"}, "budget": None, "multiplier": None,
        "ceiling_days": None, "blocks": 1, "was_split": False,
    }  # fmt: skip


def test_the_statement_is_not_compiled(queue, worker):
    queue.submit(ONCE, pairs(A))
    values = {"lock": 1, "most": 10, "most_per_lock": 10, "queue": "sitemap_harvest", "task": "sitemap_harvest.crawl"}
    plan = worker.wait(worker.manager.query(f"EXPLAIN ANALYZE {site_jobs._MAKE_DUE}", **values))
    assert plan
    assert not [row for row in plan if "JIT" in row["QUERY PLAN"]]


def test_those_with_a_higher_priority_come_first(queue, worker, monkeypatch):
    monkeypatch.setattr(site_jobs, "MOST_WAITING", 2)
    for priority in (0, 5, -5):
        queue.submit(ONCE, pairs(f"https://{priority}.example"), priority=priority)
    assert [worker.make_due(), worker.crawl().lock, worker.crawl().lock] == [
        2,
        "https://5.example",
        "https://0.example",
    ]
    assert [worker.make_due(), worker.crawl().lock] == [1, "https://-5.example"]


def test_only_so_many_jobs_wait(queue, worker, monkeypatch):
    monkeypatch.setattr(site_jobs, "MOST_WAITING", 3)
    queue.submit(ONCE, pairs(*names("s", 5)))
    assert [worker.make_due(), worker.make_due()] == [3, 0]
    job = worker.fetch()  # it waits no longer
    assert [worker.make_due(), worker.make_due()] == [1, 0]
    worker.record(job)
    worker.finish(job)
    assert worker.make_due() == 0


def test_sites_with_one_lock_do_not_keep_others_waiting(queue, sql, worker):
    queue.submit(ONCE, [(site, "one") for site in names("one", 3_000)])
    sql("UPDATE sitemap_harvest_sites SET turn_at = due_at")  # all at once
    queue.submit(ONCE, pairs(A))
    assert worker.make_due() == 11
    assert sql(WAITING) == [(A, 1), ("one", 10)]
    sql("UPDATE sitemap_harvest_sites SET turn_at = now() WHERE job IS NULL")
    running = worker.fetch()
    assert (running.lock, worker.make_due()) == ("one", 0)  # a running job counts too
    worker.record(running)
    worker.finish(running)
    sql("UPDATE sitemap_harvest_sites SET turn_at = now() WHERE job IS NULL AND due_at IS NOT NULL")
    assert worker.make_due() == 1


def test_sites_of_one_lock_are_crawled_one_after_the_other(queue, worker, new_worker):
    queue.submit(ONCE, [(A, "one"), ("https://b.example", "one")])
    worker.wait(worker.manager.query("UPDATE sitemap_harvest_sites SET turn_at = due_at RETURNING id"))
    assert worker.make_due() == 2
    job, other = worker.fetch(), new_worker()
    assert other.fetch() is None
    worker.record(job)
    worker.finish(job)
    assert other.fetch().lock == "one"


@pytest.mark.parametrize(
    ("kind", "failures", "minutes"),
    [
        (FailureKind.UNREACHABLE, 0, 1),
        (FailureKind.UNREACHABLE, 1, 4),
        (FailureKind.UNREACHABLE, 4, 256),
        (FailureKind.UNREACHABLE, 5, None),
        (FailureKind.BLOCKED, 0, 360),
        (FailureKind.BLOCKED, 1, 1440),
        (FailureKind.BLOCKED, 2, None),
        (FailureKind.FORBIDDEN, 0, None),
        (FailureKind.NOT_A_SITE, 0, None),
        (FailureKind.REFUSED, 0, None),
        (FailureKind.STORE, 0, 5 / 60),
        (FailureKind.STORE, 6, 5 / 60 * 4**6),
        (FailureKind.STORE, 7, None),
        (FailureKind.TIME, 1, 20 / 60),
        (FailureKind.TIME, 2, None),
        (FailureKind.MEMORY, 0, 5 / 60),
        (FailureKind.MEMORY, 1, None),
        (FailureKind.CRASHED, 2, 80 / 60),
        (FailureKind.CRASHED, 3, None),
        (FailureKind.LOST, 0, None),
    ],
)
def test_failed_crawls_are_retried_or_given_up(queue, sql, worker, kind, failures, minutes):
    sql("ALTER TABLE sitemap_harvest_sites ALTER id RESTART WITH 16")  # whose retries are not spread
    queue.submit(ONCE, pairs(A))
    before = {"crashed": 9, "store": 9} | {kind: failures}  # those of other kinds do not count
    sql("UPDATE sitemap_harvest_sites SET failures = %s, run = 'earlier', crawls = 7", Jsonb(before))
    worker.make_due()
    worker.crawl(failed(kind))
    assert sql(RECORDED) == [
        (None, minutes and timedelta(minutes=minutes), minutes and timedelta(minutes=minutes), 2.0, kind, "why",
         "earlier", before | {kind: failures + 1}, minutes is None, 8, None)
    ]  # fmt: skip
    assert sql("SELECT count(*) FROM procrastinate_jobs") == [(0,)]


@pytest.mark.parametrize(
    ("result", "is_same"),
    [
        pytest.param(failed(FailureKind.STORE), True, id="a-retry-may-find-the-run-of-the-failed-attempt"),
        pytest.param(dataclasses.replace(failed(FailureKind.UNREACHABLE), run="r"), False, id="a-retry-crawls-again"),
        pytest.param(failed(FailureKind.FORBIDDEN), False, id="given-up"),
        pytest.param(OK, False, id="stored"),
    ],
)
def test_only_a_retry_without_a_run_has_the_name_of_the_job_before(queue, sql, worker, result, is_same):
    queue.submit(DAILY, pairs(A))
    rows = []
    for _ in range(2):
        worker.make_due()
        rows.append(worker.load(job := worker.fetch()))
        worker.record(job, result)
        sql("UPDATE sitemap_harvest_sites SET turn_at = now()")
    assert (rows[0]["name"] == rows[1]["name"]) is is_same


RECORDED = """
    SELECT job, due_at - ended_at, turn_at - ended_at, seconds, result, reason, run, failures, given_up, crawls,
           observed_at - ended_at
    FROM sitemap_harvest_sites
"""
DAY, ZERO = timedelta(days=1), timedelta(0)


@pytest.mark.parametrize(
    ("plan", "result", "to_next", "given_up"),
    [
        pytest.param(ONCE, OK, None, False, id="once"),
        pytest.param(DAILY, OK, DAY, False, id="every"),
        pytest.param(DAILY, failed(FailureKind.FORBIDDEN), DAY, True, id="every-given-up"),
        pytest.param(DAILY, failed(FailureKind.UNREACHABLE), timedelta(minutes=1), False, id="every-retried"),
        pytest.param(AUTO, OK, timedelta(days=1 / 1.25), False, id="auto"),
        pytest.param(AUTO, failed(FailureKind.LOST), timedelta(days=1 / 1.25), True, id="auto-given-up"),
        pytest.param(DAILY, dataclasses.replace(OK, is_complete=False), DAY, False, id="incomplete"),
    ],
)
def test_when_a_site_is_due_again(queue, sql, worker, plan, result, to_next, given_up):
    """The crawl is two days late, so the interval counts from its end."""
    sql("ALTER TABLE sitemap_harvest_sites ALTER id RESTART WITH 16")
    queue.submit(plan, pairs(A))
    sql("UPDATE sitemap_harvest_sites SET due_at = now() - interval '2 days'")
    worker.make_due()
    worker.crawl(result)
    failures = {result.failure: 1} if result.failure else {}
    assert sql(RECORDED) == [
        (None, to_next, to_next, result.seconds, result.result, result.reason, result.run, failures, given_up, 1,
         ZERO if result.is_complete else None)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("late", "from_due"),
    [
        pytest.param(timedelta(minutes=5), True, id="on-time"),
        pytest.param(timedelta(hours=23), True, id="late"),
        pytest.param(timedelta(hours=25), False, id="an-interval-late"),
        pytest.param(timedelta(days=9), False, id="several-intervals-late"),
    ],
)
def test_crawls_keep_their_time_of_day(queue, sql, worker, late, from_due):
    queue.submit(DAILY, pairs(A))
    ((was_due,),) = sql("UPDATE sitemap_harvest_sites SET due_at = now() - %s RETURNING due_at", late)
    worker.make_due()
    worker.crawl()
    ((due, turn, ended),) = sql("SELECT due_at, turn_at, ended_at FROM sitemap_harvest_sites")
    assert due == turn == (was_due if from_due else ended) + DAY


@pytest.mark.parametrize(
    ("has_changed", "observed_before"),
    [(True, True), (False, True), (None, True), (True, False), (False, False)],
)
def test_each_complete_crawl_teaches_how_often_a_site_changes(queue, sql, worker, has_changed, observed_before):
    queue.submit(AUTO, pairs(A))
    before = ChangeHistory(3.0, 5.0)
    observed_at = "now() - interval '2 days'" if observed_before else "NULL"
    sql(f"UPDATE sitemap_harvest_sites SET changes = 3, days = 5, observed_at = {observed_at}")
    sql("UPDATE sitemap_harvest_plans SET multiplier = 0.25")
    worker.make_due()
    job = worker.fetch()
    row = worker.load(job)
    worker.record(job, dataclasses.replace(OK, has_changed=has_changed), row)
    known = has_changed is not None and observed_before
    after = observed(before, days_since_last=row["days_since_last"], changed=has_changed) if known else before
    rate = rates(np.array([after.changes]), np.array([after.days]))
    ((changes, days, to_next),) = sql(
        "SELECT changes, days, extract(epoch FROM due_at - ended_at)::float / 86400 FROM sitemap_harvest_sites"
    )
    assert (changes, days) == (after.changes, after.days)
    assert to_next == pytest.approx(intervals(rate, 0.25)[0], abs=1e-10)


def test_a_result_is_recorded_once(queue, sql, worker):
    queue.submit(DAILY, pairs(A))
    worker.make_due()
    job = worker.fetch()
    row = worker.load(job)
    assert [worker.record(job, row=row), worker.record(job, failed(FailureKind.TIME), row)] == [True, False]
    assert sql("SELECT result, crawls, failures FROM sitemap_harvest_sites") == [("ok", 1, {})]


def test_sites_whose_job_was_removed_have_a_new_one(queue, sql, worker):
    sites = names("s", 4)
    queue.submit(ONCE, pairs(*sites))
    worker.make_due()
    jobs = [worker.fetch() for _ in sites]
    sql("DELETE FROM procrastinate_jobs WHERE id = %s", jobs[0].id)
    sql("UPDATE procrastinate_jobs SET status = 'failed' WHERE id = %s", jobs[1].id)
    sql("UPDATE procrastinate_jobs SET status = 'todo' WHERE id = %s", jobs[2].id)
    assert worker.wait(worker.sites.free()) == 2
    assert sql("SELECT site, turn_at >= due_at FROM sitemap_harvest_sites WHERE job IS NULL ORDER BY site") == [
        (sites[0], True), (sites[1], True)
    ]  # fmt: skip
    assert not worker.record(jobs[0])
    assert worker.make_due() == 2


def test_the_lease_is_that_of_the_first_worker_until_none_is_alive(queue, sql, worker, new_worker):
    def agreed(one, lease):
        return one.wait(one.sites.agreed_lease(lease))

    assert agreed(worker, 60) == 60  # as soon as there is a worker
    assert [agreed(new_worker(), lease) for lease in (5, 60)] == [60, 60]
    sql("UPDATE procrastinate_workers SET last_heartbeat = now() - interval '59 seconds'")
    assert agreed(new_worker(), 5) == 60
    assert queue.status().workers == 4
    sql("UPDATE procrastinate_workers SET last_heartbeat = now() - interval '61 seconds'")
    assert queue.status().workers == 0
    assert agreed(worker, 5) == 5


def test_workers_that_begin_at_the_same_moment_have_one_lease(address, sql, worker):
    waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND strpos(query, 'SET lease') > 0"
    with psycopg.connect(address) as other, ThreadPoolExecutor() as pool:
        other.execute("UPDATE sitemap_harvest_version SET lease = 60")

        def commit():
            wait_until(lambda: sql(waits) == [(1,)])
            other.commit()

        committed = pool.submit(commit)
        assert worker.wait(worker.sites.agreed_lease(30)) == 60
        committed.result()


def test_a_worker_is_idle_when_no_job_waits_or_runs_and_no_site_is_due(queue, sql, worker):
    def is_idle():
        return worker.wait(worker.sites.is_idle())

    assert is_idle()
    queue.submit(ONCE, pairs(A))
    assert not is_idle()
    worker.make_due()
    assert not is_idle()
    job = worker.fetch()
    assert not is_idle()
    worker.record(job, failed(FailureKind.UNREACHABLE))
    worker.finish(job)
    assert is_idle()  # it is retried later
    queue.retry(STORE, None)
    assert not is_idle()
    queue.pause(STORE, None)
    assert is_idle()
    sql("INSERT INTO sitemap_harvest_parts (request, part, job) VALUES ('r', '{}', 1)")
    assert not is_idle()


def test_a_worker_is_not_idle_while_a_site_waits_for_its_lock(queue, worker):
    queue.submit(ONCE, [(A, "one"), ("https://b.example", "one")])  # the second one begins a second later
    worker.make_due()
    worker.crawl()
    assert not worker.wait(worker.sites.is_idle())


def test_a_budget_is_divided_among_the_sites(queue, sql, worker):
    queue.submit(AUTO, pairs(*names("s", 30)))
    queue.pause(STORE, names("s", 30)[20:])
    sql("UPDATE sitemap_harvest_sites SET changes = id %% 5 * 10, days = 20")
    worker.wait(worker.sites.balance())
    found = sql("SELECT changes, days FROM sitemap_harvest_sites WHERE NOT paused")
    each = rates(np.array([row[0] for row in found]), np.array([row[1] for row in found]))
    ((multiplier,),) = sql("SELECT multiplier FROM sitemap_harvest_plans WHERE balanced_at > now() - interval '1 hour'")
    assert multiplier == pytest.approx(allocate(each, 10).multiplier, rel=0.02)
    assert (1 / intervals(each, multiplier)).sum() == pytest.approx(10, rel=0.02)


def test_a_budget_is_divided_again_after_a_while(queue, sql, worker):
    queue.submit(AUTO, pairs(*names("s", 20)))
    worker.wait(worker.sites.balance())
    sql("UPDATE sitemap_harvest_plans SET multiplier = 7")
    worker.wait(worker.sites.balance())
    assert sql("SELECT multiplier FROM sitemap_harvest_plans") == [(7.0,)]
    sql("UPDATE sitemap_harvest_plans SET balanced_at = now() - interval '11 minutes'")
    worker.wait(worker.sites.balance())
    assert sql("SELECT multiplier < 7 FROM sitemap_harvest_plans") == [(True,)]


def test_a_budget_without_sites_to_crawl(queue, sql, worker):
    queue.submit(AUTO, pairs(A))
    queue.pause(STORE, None)
    worker.wait(worker.sites.balance())
    assert sql("SELECT multiplier FROM sitemap_harvest_plans") == [(0.0,)]


@pytest.mark.parametrize(("sites", "ceiling"), [(20, 30), (900, 720)])
def test_a_small_budget_lengthens_the_longest_interval(queue, sql, worker, sites, ceiling):
    queue.submit(AUTO, pairs(*names("s", sites)))
    worker.wait(worker.sites.balance())
    assert sql("SELECT ceiling_days FROM sitemap_harvest_plans") == [(ceiling,)]
    sql("UPDATE sitemap_harvest_plans SET multiplier = 1e6")
    worker.make_due()
    worker.crawl()
    assert sql("SELECT due_at - ended_at FROM sitemap_harvest_sites WHERE crawls = 1") == [(timedelta(days=ceiling),)]
