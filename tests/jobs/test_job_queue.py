"""What users do to the queue."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sitemap_harvest.errors import DatabaseError
from sitemap_harvest.jobs.job_process import CrawlResult
from sitemap_harvest.jobs.job_queue import JobQueue, PartResult, Plan, Submitted
from sitemap_harvest.jobs.parts import Part
from sitemap_harvest.jobs.retries import FailureKind
from sitemap_harvest.jobs.status import QueueStatus, SiteStatus, SlowSite

pytestmark = pytest.mark.service
STORE = "s3://bucket/store"
ONCE = Plan(store=STORE, arguments={"limit": "5"})
DAILY = Plan(store=STORE, arguments={}, every=timedelta(days=1))
A, B, C, D = (f"https://{name}.example" for name in "abcd")
FAILED = CrawlResult(failure=FailureKind.FORBIDDEN, result="forbidden", reason="robots.txt", seconds=0.5)
BLOCKED = CrawlResult(failure=FailureKind.BLOCKED, result="blocked", reason="status 403", seconds=0.5)
SITES = """
    SELECT site, sites.priority, extract(epoch FROM turn_at - due_at)::float, status::text, paused, failures, given_up
    FROM sitemap_harvest_sites AS sites LEFT JOIN procrastinate_jobs AS jobs ON jobs.id = sites.job ORDER BY site
"""


def pairs(*sites):
    return [(site, site) for site in sites]


def test_submitted_sites_are_due_one_a_second_for_each_lock(queue, sql):
    (before,) = sql("SELECT now()")[0]
    locks = [(A, "one"), (B, "two"), (C, "one"), (D, "one")]
    assert queue.submit(ONCE, locks, priority=3) == Submitted(new=4, known=0)
    assert sql(SITES) == [
        (A, 3, 0.0, None, False, {}, False),
        (B, 3, 0.0, None, False, {}, False),
        (C, 3, 1.0, None, False, {}, False),
        (D, 3, 2.0, None, False, {}, False),
    ]
    assert sql("SELECT count(*) FROM sitemap_harvest_sites WHERE due_at BETWEEN %s AND now()", before) == [(4,)]
    assert sql("SELECT store, arguments, every, budget, multiplier FROM sitemap_harvest_plans") == [
        (STORE, {"limit": "5"}, None, None, None)
    ]


def test_known_sites_get_the_new_plan_and_are_due_again(queue, sql, worker):
    queue.submit(ONCE, pairs(A, B))
    worker.make_due()
    worker.crawl(FAILED)
    worker.crawl()
    queue.pause(STORE, [A])
    assert queue.submit(DAILY, pairs(B, A, C), priority=-1) == Submitted(new=1, known=2)
    assert sql(SITES) == [(site, -1, 0.0, None, False, {}, False) for site in (A, B, C)]
    assert sql("SELECT every, count(*) FROM sitemap_harvest_sites, sitemap_harvest_plans GROUP BY 1") == [
        (timedelta(days=1), 3)
    ]


def test_stores_have_their_own_sites(queue, sql):
    queue.submit(ONCE, pairs(A))
    assert queue.submit(Plan(store="s3://other", arguments={}), pairs(A)) == Submitted(new=1, known=0)
    assert queue.cancel(STORE, None) == 1
    assert sql("SELECT store, site FROM sitemap_harvest_sites") == [("s3://other", A)]


def test_a_waiting_job_is_replaced_by_one_with_the_new_priority_and_lock(queue, sql, worker):
    queue.submit(ONCE, [(A, "host")])
    worker.make_due()
    queue.submit(ONCE, [(A, "domain")], priority=7)
    worker.make_due()
    assert sql("SELECT priority, lock, status::text FROM procrastinate_jobs") == [(7, "domain", "todo")]


def test_a_site_submitted_while_it_is_crawled_is_crawled_again(queue, sql, worker):
    queue.submit(ONCE, pairs(A))
    worker.make_due()
    job = worker.fetch()
    row = worker.load(job)
    queue.submit(Plan(store=STORE, arguments={"limit": "6"}), pairs(A))
    assert worker.make_due() == 0
    assert worker.record(job, row=row)
    worker.finish(job)
    assert worker.make_due() == 1
    assert worker.load(worker.fetch())["arguments"] == {"limit": "6"}


def test_a_failed_submission_changes_nothing(queue, sql):
    def sites():
        yield A, A
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - this one
        queue.submit(ONCE, sites())
    assert sql("SELECT count(*) FROM sitemap_harvest_sites") == [(0,)]
    assert queue.submit(ONCE, pairs(A)) == Submitted(new=1, known=0)


@pytest.fixture
def four(queue, worker):
    """One site that is crawled, one that waits, one that is scheduled, and one that was given up."""
    queue.submit(DAILY, pairs(C))
    worker.make_due()
    worker.crawl()
    queue.submit(ONCE, pairs(D))
    worker.make_due()
    worker.crawl(FAILED)
    queue.submit(ONCE, pairs(A, B))
    worker.make_due()
    return worker.fetch()


STATES = {
    A: (A, 0, 0.0, "doing", False, {}, False),
    B: (B, 0, 0.0, "todo", False, {}, False),
    C: (C, 0, 0.0, None, False, {}, False),
    D: (D, 0, None, None, False, {"forbidden": 1}, True),
}


def changed(site, **facts):
    names = ("site", "priority", "delay", "job", "paused", "failures", "given_up")
    return tuple((dict(zip(names, STATES[site], strict=True)) | facts).values())


@pytest.mark.parametrize(
    ("command", "sites", "count", "rows"),
    [
        (
            "pause",
            None,
            4,
            [changed(A, paused=True), changed(B, paused=True, job=None), changed(C, paused=True),
             changed(D, paused=True)],
        ),
        ("pause", [B, "https://unknown.example"], 1, [STATES[A], changed(B, paused=True, job=None), STATES[C],
                                                      STATES[D]]),
        ("resume", None, 0, [*STATES.values()]),
        ("retry", None, 1, [STATES[A], STATES[B], STATES[C], changed(D, delay=0.0, failures={}, given_up=False)]),
        ("retry", [A, B, C], 0, [*STATES.values()]),
        ("cancel", [A, D], 2, [STATES[B], STATES[C]]),
        ("cancel", None, 4, []),
    ],
)  # fmt: skip
def test_sites_in_each_state_are_changed(queue, sql, four, command, sites, count, rows):
    assert getattr(queue, command)(STORE, sites) == count
    assert sql(SITES) == rows


def test_paused_sites_go_on_where_they_were(queue, sql, four, worker):
    queue.pause(STORE, None)
    assert queue.pause(STORE, None) == 0
    assert worker.make_due() == 0
    assert queue.resume(STORE, None) == 4
    assert worker.make_due() == 1
    assert sql(SITES) == [*STATES.values()]


def test_a_retried_site_is_crawled_now(queue, four, worker):
    assert queue.retry(STORE, None) == 1
    assert worker.make_due() == 1
    assert queue.retry(STORE, None) == 0


def test_a_crawl_that_runs_ends_as_usual_when_its_site_is_paused(queue, sql, four, worker):
    queue.pause(STORE, [A])
    assert worker.record(four)
    worker.finish(four)
    assert sql(SITES)[0] == (A, 0, None, None, True, {}, False)


def test_the_jobs_of_cancelled_sites_are_removed_or_aborted(queue, sql, four, worker):
    queue.cancel(STORE, None)
    assert sql("SELECT id, status::text, abort_requested FROM procrastinate_jobs") == [(four.id, "doing", True)]
    assert sql("SELECT count(*) FROM sitemap_harvest_plans") == [(0,)]
    assert worker.wait(worker.manager.list_jobs_to_abort_async()) == [four.id]
    assert not worker.record(four)
    worker.requeue(four)
    assert sql("SELECT count(*) FROM procrastinate_jobs") == [(0,)]


def test_unknown_sites(queue):
    queue.submit(ONCE, pairs(A, B))
    assert queue.unknown(STORE, [C, A, D]) == [C, D]
    assert queue.unknown("s3://other", [A]) == [A]


def test_status_counts_each_site_once(queue, sql, new_worker):
    """Of each state there is another number of sites."""
    lost, worker = new_worker(), new_worker()
    sites = [f"https://{number:02}.example" for number in range(28)]
    failed, scheduled, paused, running, queued = sites[:2], sites[2:5], sites[5:9], sites[9:14], sites[14:20]
    done, again = sites[20:27], sites[27:]

    def crawled(plan, some, result, by=worker):
        queue.submit(plan, pairs(*some))
        worker.make_due()
        for _ in some:
            by.crawl(result)

    crawled(ONCE, failed, FAILED)
    crawled(DAILY, scheduled, CrawlResult(failure=None, result="ok", seconds=9.0))
    crawled(ONCE, done, CrawlResult(failure=None, result="ok", seconds=4.0))
    crawled(ONCE, again, BLOCKED)
    queue.submit(ONCE, pairs(*paused, *running))
    queue.pause(STORE, paused)
    worker.make_due()
    for number in range(5):
        (lost if number < 2 else worker).fetch()
    queue.submit(ONCE, pairs(*queued))
    sql("UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 minute' WHERE id = %s", lost.id)
    sql("UPDATE sitemap_harvest_sites SET ended_at = now() - interval '2 minutes' WHERE site = %s", done[0])
    sql("UPDATE sitemap_harvest_sites SET due_at = due_at - interval '1 hour' WHERE site = %s", queued[3])
    queue.submit_parts([Part(table="urls", number=0, parts=1, store=STORE, output="s3://out")])
    sql("INSERT INTO sitemap_harvest_parts (request, part, reason) VALUES ('r', '{}', 'why')")
    found = queue.status()
    (oldest,) = sql("SELECT min(due_at) FROM sitemap_harvest_sites WHERE site = ANY(%s)", queued)[0]
    assert found == QueueStatus(
        at=found.at,
        sites=28,
        queued=6,
        running=5,
        stalled=2,
        scheduled=4,  # one of them failed, and is tried again
        paused=4,
        failed=2,
        done=13,
        last_minute=12,
        last_hour=13,
        oldest_due=oldest,
        workers=1,
        parts_waiting=1,
        parts_failed=1,
        failures={"forbidden": 2, "blocked": 1},
        slowest=[SlowSite(site=site, seconds=9.0) for site in scheduled]
        + [SlowSite(site=site, seconds=4.0) for site in done],
    )
    assert found.at == sql("SELECT %s::timestamptz", found.at)[0][0]


@pytest.mark.parametrize(
    ("column", "state"),
    [
        ("due_at = now() - interval '1 s', given_up = true", {"queued": 1}),
        ("due_at = now() + interval '1 d', given_up = true", {"failed": 1}),
        ("due_at = NULL, given_up = true", {"failed": 1}),
        ("due_at = now() + interval '1 d', given_up = true, paused = true", {"paused": 1}),
        ("due_at = now() + interval '1 d'", {"scheduled": 1}),
        ("due_at = NULL", {}),
    ],
)
def test_a_site_has_one_state(queue, sql, column, state):
    queue.submit(ONCE, pairs(A))
    sql(f"UPDATE sitemap_harvest_sites SET {column}")
    found = queue.status()
    names = ("queued", "running", "scheduled", "paused", "failed")
    assert {name: getattr(found, name) for name in names if getattr(found, name)} == state
    assert [one.state for one in queue.sites()] == list(state or ["done"])


def test_sites_with_their_next_and_last_crawls(queue, sql, worker):
    queue.submit(ONCE, pairs(A, B, C))
    worker.make_due()
    worker.crawl(BLOCKED)
    worker.crawl()
    ((a_due, c_due),) = sql(
        "SELECT max(due_at) FILTER (WHERE site = %s), max(due_at) FILTER (WHERE site = %s) FROM sitemap_harvest_sites",
        A, C,
    )  # fmt: skip
    a = SiteStatus(site=A, state="scheduled", due_at=a_due, result="blocked", reason="status 403")
    b = SiteStatus(site=B, state="done", due_at=None, result="ok", reason=None)
    c = SiteStatus(site=C, state="queued", due_at=c_due, result=None, reason=None)
    assert [*queue.sites()] == [a, b, c]
    assert [*queue.sites(failed=True)] == [a]


def test_a_paused_site_that_is_still_crawled_is_running(queue, four):
    queue.pause(STORE, [A])
    found = queue.status()
    assert (found.running, found.paused) == (1, 0)


def test_status_of_an_empty_queue(queue):
    found = queue.status()
    assert found == QueueStatus(
        at=found.at, sites=0, queued=0, running=0, stalled=0, scheduled=0, paused=0, failed=0, done=0, last_minute=0,
        last_hour=0, oldest_due=None, workers=0, parts_waiting=0, parts_failed=0, failures={}, slowest=[],
    )  # fmt: skip


def test_parts_are_jobs_whose_results_are_kept_until_they_are_dropped(queue, sql, worker):
    parts = [Part(table="urls", number=number, parts=4, store=STORE, output="s3://out") for number in range(4)]
    request, other = queue.submit_parts(parts), queue.submit_parts(parts[:1])
    jobs = [worker.fetch() for _ in range(3)]
    ids = [job.task_kwargs["part"] for job in jobs]
    assert [worker.wait(worker.sites.load_part(*one)) for one in zip(ids, jobs, strict=True)] == [
        part.to_json() for part in parts[:3]
    ]
    assert worker.wait(worker.sites.load_part(ids[0], jobs[1])) is None
    worker.wait(worker.sites.record_part(ids[1], jobs[1], {"sites": 3, "rows": 10, "failed": []}, None))
    worker.finish(jobs[1])
    worker.wait(worker.sites.record_part(ids[2], jobs[2], None, "why"))
    worker.finish(jobs[2])
    worker.wait(worker.sites.record_part(ids[2], jobs[1], {}, None))  # not its job
    assert queue.part_results(request) == [
        PartResult(0, False, None, None),
        PartResult(1, True, {"sites": 3, "rows": 10, "failed": []}, None),
        PartResult(2, True, None, "why"),
        PartResult(3, False, None, None),
    ]
    assert queue.status().sites == queue.status().queued == 0
    queue.drop_parts(request)
    assert queue.part_results(request) == []
    assert queue.part_results(other) == [PartResult(0, False, None, None)]
    statuses = "SELECT status::text, abort_requested, count(*) FROM procrastinate_jobs GROUP BY 1, 2 ORDER BY 1"
    assert sql(statuses) == [("doing", True, 1), ("todo", False, 1)]


def test_tables_that_exist_are_used(address, queue):
    queue.submit(ONCE, pairs(A))
    with JobQueue.open(address) as again:
        assert again.status().sites == 1


def test_errors_name_the_queue_and_no_password():
    with (
        pytest.raises(DatabaseError, match=r"^queue postgresql://\*\*\*@127\.0\.0\.1:1/x: connection failed"),
        JobQueue.open("postgresql://me:secret@127.0.0.1:1/x"),
    ):
        pass
