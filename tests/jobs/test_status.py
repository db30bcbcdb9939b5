"""The state of a queue, as each form of output shows it."""

from __future__ import annotations

import dataclasses
import json
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from lxml import html

from sitemap_harvest.errors import MissingPackageError
from sitemap_harvest.jobs.status import QueueStatus, SiteStatus, SlowSite, as_html, as_json, as_lines, as_prometheus

AT = datetime(2026, 11, 29, 5, 10, tzinfo=UTC)
HOSTILE = "<script>\x1b[2J\u202e"
EMPTY = QueueStatus(
    at=AT,
    sites=0,
    queued=0,
    running=0,
    stalled=0,
    scheduled=0,
    paused=0,
    failed=0,
    done=0,
    last_minute=0,
    last_hour=0,
    oldest_due=None,
    workers=0,
    parts_waiting=0,
    parts_failed=0,
    failures={},
    slowest=[],
)
BUSY = QueueStatus(
    at=AT,
    sites=1_000_000,
    queued=12_345,
    running=64,
    stalled=2,
    scheduled=987_576,
    paused=3,
    failed=12,
    done=1_234_567,
    last_minute=1_200,
    last_hour=60_000,
    oldest_due=AT - timedelta(hours=1, minutes=2),
    workers=4,
    parts_waiting=5,
    parts_failed=1,
    failures={HOSTILE: 2, "no response": 10},
    slowest=[SlowSite(site="https://a.example", seconds=7_400.5), SlowSite(site=f"https://{HOSTILE}", seconds=74.25)],
)


def test_lines_show_all_numbers() -> None:
    assert as_lines(BUSY) == [
        "2026-11-29 05:10:00 UTC: 1,000,000 sites, 4 workers",
        "queued        12,345  the oldest has been due since 2026-11-29 04:08:00 UTC (1 h 2 min)",
        "running           64  2 stalled: the worker no longer renews its lease",
        "scheduled    987,576",
        "paused             3",
        "failed            12  given up; to queue them again: sitemap-harvest jobs retry --all",
        "done       1,234,567  crawls; sites crawled: 1,200 in the last minute, 60,000 in the last hour",
        "parts              5  of diff, audit, export and compact; 1 more failed",
        "Last failures:",
        "  10 sites: no response",
        r"  2 sites: <script>\x1b[2J\u202e",
        "Slowest of the last crawls:",
        "  2 h 3 min: https://a.example",
        r"  1 min 14 s: https://<script>\x1b[2J\u202e",
    ]


def test_lines_of_an_empty_queue() -> None:
    assert as_lines(EMPTY) == [
        "2026-11-29 05:10:00 UTC: 0 sites, 0 workers",
        "queued     0",
        "running    0",
        "scheduled  0",
        "paused     0",
        "failed     0",
        "done       0  crawls; sites crawled: 0 in the last minute, 0 in the last hour",
    ]


@pytest.mark.parametrize(
    ("facts", "is_shown"),
    [
        pytest.param({"queued": 1}, True, id="a-site-waits"),
        pytest.param({"parts_waiting": 1}, True, id="a-part-waits"),
        pytest.param({"queued": 1, "workers": 1}, False, id="a-worker-is-alive"),
        pytest.param({"scheduled": 1, "paused": 1, "failed": 1}, False, id="nothing-is-due"),
    ],
)
def test_a_hint_if_jobs_wait_without_a_worker(facts: dict[str, int], is_shown: bool) -> None:
    status = dataclasses.replace(EMPTY, **facts)
    message = "no worker runs; start one: sitemap-harvest jobs work, with the same --store or --queue"
    assert (message in as_lines(status)) is is_shown
    assert ("No worker runs. Start one: <code>sitemap-harvest jobs work</code>" in as_html(status)) is is_shown


def test_rare_reasons_are_one() -> None:
    failures = {f"reason {number:02}": 100 - number for number in range(12)} | {"reason 00\n": 1}
    assert dataclasses.replace(EMPTY, failures=failures).reasons == {
        **{f"reason {number:02}": 100 - number for number in range(10)},
        "other reasons": 90 + 89 + 1,
    }


def test_reasons_that_look_the_same_are_one() -> None:
    assert dataclasses.replace(EMPTY, failures={"a\x07": 1, r"a\x07": 2}).reasons == {r"a\x07": 3}


def test_json_has_all_fields() -> None:
    assert json.loads(json.dumps(as_json(BUSY))) == {
        "at": "2026-11-29T05:10:00+00:00",
        "sites": 1_000_000,
        "queued": 12_345,
        "running": 64,
        "stalled": 2,
        "scheduled": 987_576,
        "paused": 3,
        "failed": 12,
        "done": 1_234_567,
        "last_minute": 1_200,
        "last_hour": 60_000,
        "oldest_due": "2026-11-29T04:08:00+00:00",
        "workers": 4,
        "parts_waiting": 5,
        "parts_failed": 1,
        "failures": {HOSTILE: 2, "no response": 10},
        "slowest": [
            {"site": "https://a.example", "seconds": 7_400.5},
            {"site": f"https://{HOSTILE}", "seconds": 74.25},
        ],
    }
    assert as_json(EMPTY)["oldest_due"] is None


def test_metrics_have_help_and_types() -> None:
    assert as_prometheus(BUSY).splitlines() == [
        "# HELP sitemap_harvest_jobs_sites Sites that were submitted.",
        "# TYPE sitemap_harvest_jobs_sites gauge",
        "sitemap_harvest_jobs_sites 1e+06",
        "# HELP sitemap_harvest_jobs_sites_by_state Sites by the state of their job.",
        "# TYPE sitemap_harvest_jobs_sites_by_state gauge",
        'sitemap_harvest_jobs_sites_by_state{state="queued"} 12345.0',
        'sitemap_harvest_jobs_sites_by_state{state="running"} 64.0',
        'sitemap_harvest_jobs_sites_by_state{state="scheduled"} 987576.0',
        'sitemap_harvest_jobs_sites_by_state{state="paused"} 3.0',
        'sitemap_harvest_jobs_sites_by_state{state="failed"} 12.0',
        "# HELP sitemap_harvest_jobs_stalled Running sites whose worker no longer renews its lease.",
        "# TYPE sitemap_harvest_jobs_stalled gauge",
        "sitemap_harvest_jobs_stalled 2.0",
        "# HELP sitemap_harvest_jobs_done_total Crawls of the submitted sites that ended.",
        "# TYPE sitemap_harvest_jobs_done_total counter",
        "sitemap_harvest_jobs_done_total 1.234567e+06",
        "# HELP sitemap_harvest_jobs_oldest_due_timestamp_seconds Time since when the site that waits longest is due.",
        "# TYPE sitemap_harvest_jobs_oldest_due_timestamp_seconds gauge",
        "sitemap_harvest_jobs_oldest_due_timestamp_seconds 1.79592528e+09",
        "# HELP sitemap_harvest_jobs_workers Workers that are alive.",
        "# TYPE sitemap_harvest_jobs_workers gauge",
        "sitemap_harvest_jobs_workers 4.0",
        "# HELP sitemap_harvest_jobs_parts Jobs of diff, audit, export and compact by state.",
        "# TYPE sitemap_harvest_jobs_parts gauge",
        'sitemap_harvest_jobs_parts{state="waiting"} 5.0',
        'sitemap_harvest_jobs_parts{state="failed"} 1.0',
        "# HELP sitemap_harvest_jobs_failures Sites by the reason of their last failure, the 10 most frequent ones.",
        "# TYPE sitemap_harvest_jobs_failures gauge",
        'sitemap_harvest_jobs_failures{reason="no response"} 10.0',
        r'sitemap_harvest_jobs_failures{reason="<script>\\x1b[2J\\u202e"} 2.0',
        "# HELP sitemap_harvest_jobs_status_timestamp_seconds Time of these numbers.",
        "# TYPE sitemap_harvest_jobs_status_timestamp_seconds gauge",
        "sitemap_harvest_jobs_status_timestamp_seconds 1.795929e+09",
    ]


def test_metrics_need_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'scrapy-sitemap-harvest\[observe\]'"):
        as_prometheus(EMPTY)


def test_the_page_shows_all_numbers_and_runs_nothing() -> None:
    page = html.document_fromstring(as_html(BUSY))
    policy, refresh = (page.xpath(f"//meta[@http-equiv='{name}']/@content")[0] for name in _EQUIVALENTS)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert refresh == "30"
    assert not page.xpath("//script | //@src | //@href | //@onclick")
    assert page.findtext(".//title") == "12,345 queued, 64 running"
    assert [" ".join(text.split()) for text in page.body.text_content().split("\n") if text.strip()] == [
        "1,000,000 sites, 4 workers",
        "2026-11-29 05:10:00 UTC; read again every 30 seconds",
        *("queued", "12,345", "the oldest has been due since 2026-11-29 04:08:00 UTC (1 h 2 min)"),
        *("running", "64", "2 stalled: the worker no longer renews its lease"),
        *("scheduled", "987,576"),
        *("paused", "3"),
        *("failed", "12", "given up; to queue them again: sitemap-harvest jobs retry --all"),
        *("done", "1,234,567", "crawls; sites crawled: 1,200 in the last minute, 60,000 in the last hour"),
        *("parts", "5", "of diff, audit, export and compact; 1 more failed"),
        *("Last failures", "SitesReason", "10no response", r"2<script>\x1b[2J\u202e"),
        *("Slowest of the last crawls", "DurationSite", "2 h 3 minhttps://a.example"),
        r"1 min 14 shttps://<script>\x1b[2J\u202e",
    ]


_EQUIVALENTS = ("Content-Security-Policy", "refresh")


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({"state": "queued", "due_at": AT}, "queued, due since 2026-11-29 05:10:00 UTC"),
        (
            {"state": "scheduled", "due_at": AT, "result": "unreachable", "reason": "no response"},
            "scheduled, due at 2026-11-29 05:10:00 UTC; last crawl: unreachable: no response",
        ),
        ({"state": "running", "due_at": AT, "result": "found"}, "running; last crawl: found"),
        ({"state": "failed", "due_at": AT, "result": "blocked"}, "failed; last crawl: blocked"),
        ({"state": "done", "result": "found"}, "done; last crawl: found"),
    ],
)
def test_a_site_as_text(facts: dict[str, Any], text: str) -> None:
    none = {"due_at": None, "result": None, "reason": None}
    assert str(SiteStatus(site="https://a.example", **none | facts)) == f"https://a.example: {text}"
