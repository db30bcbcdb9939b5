"""What workers and users do to the rows of blocks."""

from __future__ import annotations

from dataclasses import asdict, replace

import psycopg
import pytest

from sitemap_harvest.jobs import job_queue
from sitemap_harvest.jobs.job_queue import Plan
from sitemap_harvest.jobs.status import as_json
from tests.jobs.workers import OK, SPLIT

pytestmark = pytest.mark.service
STORE = "s3://bucket/store"
PLAN = Plan(store=STORE, arguments={"skip": "x"}, blocks=3)
A, B, C = "https://a.example", "https://a.example/b.xml", "https://c.example"
BLOCKS = "SELECT number, job IS NOT NULL, attempts FROM sitemap_harvest_blocks ORDER BY number"


@pytest.fixture
def split(queue, worker):
    """Submit a site, and split it; return its id."""
    queue.submit(PLAN, [(A, "a")], priority=3)
    job = next_job(worker)
    assert (job.lock, worker.load(job)["blocks"], worker.split(job)) == ("a", 3, 2)
    return job.task_kwargs["site"]


def test_a_site_that_is_split_while_it_is_submitted_again_begins_anew(queue, sql, worker, monkeypatch):
    queue.submit(PLAN, [(A, "a")])
    job, execute, found = next_job(worker), psycopg.Cursor.execute, []

    def with_split(cursor, query, *arguments, **options):
        if query is job_queue._SUBMIT:
            found.append(worker.split(job))
        return execute(cursor, query, *arguments, **options)

    monkeypatch.setattr(psycopg.Cursor, "execute", with_split)
    queue.submit(PLAN, [(A, "a")])
    assert found == [2]
    assert sql(BLOCKS) == []
    assert sql("SELECT split, job, turn_at <= now() FROM sitemap_harvest_sites") == [(None, None, True)]


def next_job(worker):
    worker.make_due()
    return worker.fetch()


def soon(sql):
    """Let all sites that were held back have their turn now."""
    sql("UPDATE sitemap_harvest_sites SET turn_at = now() WHERE job IS NULL AND due_at IS NOT NULL")


def test_each_block_is_a_job_and_the_last_job_is_a_crawl(split, sql, worker, new_worker):
    other = new_worker()
    blocks = [next_job(worker), other.fetch()]
    assert [(job.task_name, job.lock, job.priority, job.task_kwargs) for job in blocks] == [
        ("sitemap_harvest.crawl_block", None, 3, {"site": split, "number": number}) for number in (0, 1)
    ]
    row = worker.load_block(blocks[0])
    assert (row["store"], row["site"], row["split"], row["arguments"], row["attempts"]) == (
        STORE, A, {**asdict(SPLIT), "postponed": [["https://a.example/index.xml", 1, []]]}, {"skip": "x"}, 1
    )  # fmt: skip
    assert worker.end_block(blocks[0])
    assert sql(BLOCKS) == [(1, True, 0)]
    assert other.end_block(blocks[1])
    assert sql(BLOCKS) == []
    job = next_job(worker)
    row = worker.load(job)
    assert (job.lock, row["site"], row["was_split"], row["blocks"]) == ("a", A, True, 1)
    assert worker.record(job)
    worker.finish(job)
    assert sql("SELECT crawls, split, job FROM sitemap_harvest_sites") == [(1, None, None)]


def test_no_other_site_is_crawled_with_the_lock_of_blocks(queue, sql, worker):
    queue.submit(PLAN, [(A, "a"), (B, "a"), (C, "c")])
    soon(sql)
    first = next_job(worker)
    assert worker.load(first)["site"] == A
    worker.split(first)
    worker.make_due()
    running = list(iter(worker.fetch, None))
    assert sorted(job.task_name.rpartition(".")[2] for job in running) == ["crawl", "crawl", *["crawl_block"] * 2]
    crawls = {job.lock: job for job in running if job.lock}
    assert worker.load(crawls["a"]) is None  # it waited since before the split
    assert worker.load(crawls["c"])["site"] == C
    worker.finish(crawls["a"])
    assert worker.free() == 1
    soon(sql)
    assert worker.make_due() == 0
    later = "SELECT site FROM sitemap_harvest_sites WHERE job IS NULL AND turn_at > now() ORDER BY id"
    assert sql(later) == [(A,), (B,)]
    for job in running:
        if job.lock is None:
            assert worker.end_block(job)
    soon(sql)
    assert worker.make_due() == 2


def test_blocks_wait_while_another_site_is_crawled_with_their_lock(split, queue, sql, worker):
    queue.submit(PLAN, [(B, "a")])
    queue.pause(STORE, [A])
    assert worker.load(next_job(worker))["site"] == B
    queue.resume(STORE, [A])
    assert worker.make_due() == 0
    sql(
        "INSERT INTO procrastinate_jobs (queue_name, task_name, args) "
        "SELECT 'sitemap_harvest', 'sitemap_harvest.crawl_block', jsonb_build_object('site', site, 'number', number) "
        "FROM sitemap_harvest_blocks"
    )  # by a worker that has not seen that crawl yet
    sql("UPDATE sitemap_harvest_blocks AS blocks SET job = jobs.id FROM procrastinate_jobs AS jobs "
        "WHERE task_name = 'sitemap_harvest.crawl_block' AND (jobs.args->>'number')::int = number")  # fmt: skip
    block = worker.fetch()
    assert worker.load_block(block) is None
    worker.finish(block)
    assert worker.free() == 1
    assert sql(BLOCKS) == [(0, False, 0), (1, True, 0)]


def test_a_paused_site_gets_no_jobs_of_blocks(split, queue, sql, worker):
    job = next_job(worker)
    assert queue.pause(STORE, [A]) == 1
    assert sql(BLOCKS) == [(0, True, 0), (1, False, 0)]
    assert worker.load_block(job)["attempts"] == 1  # what runs goes on
    assert worker.end_block(job)
    soon(sql)
    assert worker.make_due() == 0
    assert sql(BLOCKS) == [(1, False, 0)]
    queue.resume(STORE, None)
    assert next_job(worker).task_kwargs == {"site": split, "number": 1}


def test_a_cancelled_site_has_no_blocks(split, queue, sql, worker):
    running = next_job(worker)
    assert queue.cancel(STORE, [A]) == 1
    assert sql(BLOCKS) == []
    states = "SELECT status::text, abort_requested FROM procrastinate_jobs WHERE lock IS NULL"
    assert sql(states) == [("doing", True)]
    assert not worker.end_block(running)


def test_a_site_that_is_submitted_again_begins_anew(split, queue, sql, worker):
    running = next_job(worker)
    queue.submit(replace(PLAN, arguments={}), [(A, "a")])
    assert sql("SELECT split FROM sitemap_harvest_sites WHERE split IS NOT NULL") == sql(BLOCKS) == []
    assert worker.load_block(running) is None
    worker.finish(running)
    row = worker.load(next_job(worker))
    assert (row["site"], row["blocks"], row["was_split"]) == (A, 3, False)


def test_a_site_that_was_submitted_again_meanwhile_is_not_split(queue, sql, worker):
    queue.submit(PLAN, [(A, "a")])
    job = next_job(worker)
    row = worker.load(job)
    queue.submit(PLAN, [(A, "a")])
    assert worker.wait(worker.sites.blocks.split(job.task_kwargs["site"], job, row, SPLIT)) == 0
    worker.finish(job)
    assert sql("SELECT job, split FROM sitemap_harvest_sites") == [(None, None)]
    assert worker.load(next_job(worker))["was_split"] is False


def test_a_block_of_a_lost_worker_is_begun_again(split, sql, worker, new_worker):
    first = next_job(worker)
    assert worker.load_block(first)["attempts"] == 1
    sql("UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 hour'")
    other = new_worker()
    assert other.rescue() == 1
    again = other.fetch()
    assert (again.id, other.load_block(again)["attempts"]) == (first.id, 2)
    assert not worker.end_block(first)
    assert other.end_block(again)


def test_a_failed_crawl_is_tried_again_from_the_beginning(split, sql, worker):
    for job in (next_job(worker), worker.fetch()):
        worker.end_block(job)
    job = next_job(worker)
    assert worker.record(job, replace(OK, failure="store", result="store", run=None))
    worker.finish(job)
    soon(sql)
    row = worker.load(next_job(worker))
    assert (row["failures"], row["was_split"], row["blocks"]) == ({"store": 1}, False, 3)


def test_the_status_counts_a_site_in_blocks_once(split, queue, sql, worker):
    assert not worker.wait(worker.sites.is_idle())
    shown = ("sites", "queued", "running", "stalled", "workers")
    assert [as_json(queue.status())[name] for name in shown] == [1, 1, 0, 0, 1]
    worker.make_due()
    assert len(list(iter(worker.fetch, None))) == 2
    assert [as_json(queue.status())[name] for name in shown] == [1, 0, 1, 0, 1]
    sql("UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 hour'")
    assert [as_json(queue.status())[name] for name in shown] == [1, 0, 1, 1, 0]
    assert not worker.wait(worker.sites.is_idle())
