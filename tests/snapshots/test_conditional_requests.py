"""How a known document is requested, and what the response says about its rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest import FoundBy, Outcome, SitemapRecord
from sitemap_harvest.dates import read_date
from sitemap_harvest.snapshots.conditional_requests import (
    ConditionalRequest,
    Freshness,
    Trust,
    conditional_request,
    conditions,
    is_unchanged,
)

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
DAY = timedelta(days=1)
URL = "https://example.com/sitemap.xml"
KNOWN = SitemapRecord(
    url=URL, root="https://example.com", parent="https://example.com/index.xml", depth=1, found_by=FoundBy.INDEX,
    outcome=Outcome.READ, final_url=URL, complete=True, status=200, content_type="text/xml",
    etag='"abc"', last_modified="Tue, 10 Nov 2026 08:00:00 GMT", sha256="5ha",
    lastmod=datetime(2026, 11, 10, tzinfo=UTC), lastmod_text="2026-11-10",
    rows_from="run-1", fresh_at=NOW - DAY, read_at=NOW - 3 * DAY,
)  # fmt: skip
BOTH = {"If-None-Match": '"abc"', "If-Modified-Since": "Tue, 10 Nov 2026 08:00:00 GMT"}


def known(**values: Any) -> SitemapRecord:
    return replace(KNOWN, **values)


@pytest.mark.parametrize(
    ("record", "freshness", "headers"),
    [
        pytest.param(KNOWN, {}, BOTH, id="known-whole"),
        pytest.param(None, {}, {}, id="not-known"),
        pytest.param(known(fresh_at=None), {}, {}, id="never-whole"),
        pytest.param(known(rows_from=None), {}, {}, id="no-rows"),
        pytest.param(known(left="it left"), {}, {}, id="has-left"),
        pytest.param(known(sha256=None), {}, {}, id="parts-were-added-since"),
        pytest.param(known(outcome=Outcome.FAILED, complete=False), {}, BOTH, id="failed-since-its-rows-are-whole"),
        pytest.param(known(outcome=Outcome.SKIPPED), {}, BOTH, id="skipped-last-time"),
        pytest.param(KNOWN, {"force": True}, {}, id="full"),
        pytest.param(KNOWN, {"max_age": 3 * 86_400.0}, {}, id="too-old-to-the-second"),
        pytest.param(KNOWN, {"max_age": 3 * 86_400.0 + 1}, BOTH, id="just-young-enough"),
        pytest.param(KNOWN, {"max_age": 0.0}, {}, id="no-age-is-young-enough"),
        pytest.param(known(fresh_at=NOW, read_at=NOW - 31 * DAY), {}, {}, id="confirmed-lately-downloaded-long-ago"),
        pytest.param(known(read_at=None), {}, {}, id="download-of-no-known-age"),
        pytest.param(known(read_at=NOW + DAY), {}, {}, id="clock-went-back"),
        pytest.param(known(etag=None, last_modified=None), {}, {}, id="no-validators"),
    ],
)  # fmt: skip
def test_conditions_of_requests(
    record: SitemapRecord | None, freshness: dict[str, Any], headers: dict[str, str]
) -> None:
    assert conditional_request(record, Freshness(now=NOW, **freshness)) == ConditionalRequest(headers)


@pytest.mark.parametrize(
    ("etag", "sent"),
    [
        pytest.param('"abc"', '"abc"', id="strong"),
        pytest.param('W/"abc"', 'W/"abc"', id="weak"),
        pytest.param('w/"abc"', 'w/"abc"', id="weak-in-lower-case"),
        pytest.param(' "abc" ', '"abc"', id="whitespace-around"),
        pytest.param('"abc-gzip"', '"abc-gzip", "abc"', id="of-the-packed-form"),
        pytest.param('W/"abc--gzip"', 'W/"abc--gzip", W/"abc"', id="weak-and-of-the-packed-form"),
        pytest.param('"abc;br"', '"abc;br", "abc"', id="brotli"),
        pytest.param('"-gzip"', '"-gzip"', id="nothing-but-a-coding"),
        pytest.param("abc-123", "abc-123", id="without-quotes"),
        pytest.param("*", None, id="a-star-would-match-anything"),
        pytest.param('"a", *', None, id="a-list-with-a-star"),
        pytest.param('""', None, id="says-nothing"),
        pytest.param('W/""', None, id="weak-and-says-nothing"),
        pytest.param("", None, id="empty"),
        pytest.param('"a\r\nHost: b"', None, id="breaks-the-header"),
        pytest.param('"a b"', None, id="space-within"),
        pytest.param('"' + "a" * 600 + '"', None, id="endless"),
        pytest.param(None, None, id="none"),
    ],
)
def test_entity_tags(etag: str | None, sent: str | None) -> None:
    assert conditions(known(etag=etag, last_modified=None), NOW) == ({"If-None-Match": sent} if sent else {})


@pytest.mark.parametrize(
    ("last_modified", "is_sent"),
    [
        pytest.param("Tue, 10 Nov 2026 08:00:00 GMT", True, id="long-before"),
        pytest.param("Tuesday, 10-Nov-26 08:00:00 GMT", True, id="old-form"),
        pytest.param("Thu, 19 Nov 2026 11:59:00 GMT", True, id="a-minute-before-the-download"),
        pytest.param("Thu, 19 Nov 2026 11:59:01 GMT", False, id="less-than-a-minute-before-the-download"),
        pytest.param("Thu, 19 Nov 2026 12:00:00 GMT", False, id="made-for-the-request"),
        pytest.param("Sat, 21 Nov 2026 08:00:00 GMT", False, id="later-than-its-download"),
        pytest.param("Tue, 10 Nov 2099 08:00:00 GMT", False, id="in-the-future"),
        pytest.param("yesterday", False, id="unreadable"),
        pytest.param("", False, id="empty"),
        pytest.param(None, False, id="none"),
    ],
)
def test_last_modified(last_modified: str | None, is_sent: bool) -> None:
    sent = conditions(known(etag=None, last_modified=last_modified), NOW)
    assert sent == ({"If-Modified-Since": last_modified} if is_sent else {})


@pytest.mark.parametrize(
    ("before", "now", "looked_at", "skips"),
    [
        pytest.param("2026-11-10", "2026-11-10", "2026-11-12T00:00:01Z", True, id="same-day-looked-at-a-day-later"),
        pytest.param("2026-11-10", "2026-11-10", "2026-11-11T23:59:59Z", False, id="too-soon-after-the-day"),
        pytest.param("2026-11-10", "2026-11-10", "2026-11-10T09:00:00Z", False, id="on-that-day"),
        pytest.param("2026-11-10T08:00:00Z", "2026-11-10T08:00:00Z", "2026-11-11T08:00:02Z", True, id="second"),
        pytest.param("2026-11-10T08:00:00Z", "2026-11-10T08:00:00Z", "2026-11-10T08:05:00Z", False, id="caches-lag"),
        pytest.param("2026-11", "2026-11", "2026-11-20T00:00:00Z", False, id="within-the-month"),
        pytest.param("2026-11-10", "2026-11-09", "2026-11-20T00:00:00Z", False, id="went-back"),
        pytest.param("2026-11-10", "2026-11-11", "2026-11-20T00:00:00Z", False, id="moved-on"),
        pytest.param("2026-11-10", "2026-11-10T00:00:00Z", "2026-11-20T00:00:00Z", False, id="written-otherwise"),
        pytest.param("2027-01-01", "2027-01-01", "2026-11-20T00:00:00Z", False, id="in-the-future"),
        pytest.param("9999-12-31", "9999-12-31", "2026-11-20T00:00:00Z", False, id="last-day-there-is"),
        pytest.param("2026-11-10", None, "2026-11-20T00:00:00Z", False, id="missing-now"),
        pytest.param(None, "2026-11-10", "2026-11-20T00:00:00Z", False, id="missing-before"),
        pytest.param(None, None, "2026-11-20T00:00:00Z", False, id="never-given"),
        pytest.param("last week", "last week", "2026-11-20T00:00:00Z", False, id="unreadable"),
    ],
)  # fmt: skip
def test_the_lastmod_of_an_index(before: str | None, now: str | None, looked_at: str, skips: bool) -> None:
    record = known(lastmod=instant(before), lastmod_text=before, fresh_at=datetime.fromisoformat(looked_at))
    found = conditional_request(record, Freshness(now=NOW), lastmod=instant(now), lastmod_text=now, is_trusted=True)
    reason = f"fresh: the index reports no change since {before}"
    assert found == (ConditionalRequest(skip=reason) if skips else ConditionalRequest(BOTH))


@pytest.mark.parametrize(
    ("values", "skips"),
    [
        pytest.param({"outcome": Outcome.READ}, True, id="read"),
        pytest.param({"outcome": Outcome.UNCHANGED}, True, id="unchanged"),
        pytest.param({"outcome": Outcome.SKIPPED}, True, id="skipped-as-fresh"),
        pytest.param({"outcome": Outcome.SKIPPED, "complete": False}, True, id="not-requested"),
        pytest.param({"outcome": Outcome.READ, "complete": False, "absent_runs": 1}, False, id="suspect"),
        pytest.param({"outcome": Outcome.SKIPPED, "complete": False, "absent_runs": 1}, False, id="redirected"),
        pytest.param({"outcome": Outcome.FAILED, "complete": False}, False, id="failed"),
        pytest.param({"outcome": Outcome.BLOCKED, "complete": False}, False, id="blocked"),
        pytest.param({"outcome": Outcome.ABSENT, "complete": False, "absent_runs": 1}, False, id="absent"),
        pytest.param({"outcome": Outcome.PARTIAL, "complete": False}, False, id="partial"),
        pytest.param({"sha256": None}, False, id="parts-were-added-since"),
        pytest.param({"read_at": NOW - 31 * DAY}, False, id="downloaded-long-ago"),
    ],
)
def test_a_document_is_skipped_only_if_its_last_request_did_not_fail(values: dict[str, Any], skips: bool) -> None:
    record = known(**values)
    facts = {"lastmod": KNOWN.lastmod, "lastmod_text": KNOWN.lastmod_text}
    found = conditional_request(record, Freshness(now=NOW), **facts, is_trusted=True)
    assert (found.skip is not None) == skips
    assert conditional_request(record, Freshness(now=NOW), **facts, is_trusted=False).skip is None


@pytest.mark.parametrize(
    ("trust", "is_trusted", "skips"),
    [
        pytest.param(Trust.AUTO, False, False, id="not-earned"),
        pytest.param(Trust.AUTO, True, True, id="earned"),
        pytest.param(Trust.ALWAYS, False, True, id="the-user-says-so"),
        pytest.param(Trust.NEVER, True, False, id="the-user-does-not-want-it"),
    ],
)
def test_trusted_indexes(trust: Trust, is_trusted: bool, skips: bool) -> None:
    freshness = Freshness(now=NOW, trust=trust)
    given = {"lastmod": KNOWN.lastmod, "lastmod_text": KNOWN.lastmod_text, "is_trusted": is_trusted}
    assert bool(conditional_request(KNOWN, freshness, **given).skip) is skips
    old = known(read_at=NOW - 30 * DAY)
    assert (
        conditional_request(old, freshness, **given) == ConditionalRequest()
    )  # requested again after max_age in any case


@pytest.mark.parametrize(
    ("record", "answer", "expected"),
    [
        pytest.param(KNOWN, {"status": 304}, True, id="304"),
        pytest.param(KNOWN, {"status": 304, "etag": None}, True, id="304-without-a-tag"),
        pytest.param(KNOWN, {"status": 304, "etag": 'W/"abc-gzip"'}, True, id="304-cdn-tag"),
        pytest.param(KNOWN, {"status": 304, "etag": '"other"'}, False, id="304-for-another-state"),
        pytest.param(KNOWN, {"status": 304, "final_url": f"{URL}?2"}, False, id="304-moved"),
        pytest.param(known(sha256=None), {"status": 304}, False, id="304-for-the-last-of-several-parts"),
        pytest.param(KNOWN, {"etag": '"new"'}, True, id="same-digest-another-tag"),
        pytest.param(KNOWN, {}, True, id="same-digest"),
        pytest.param(KNOWN, {"sha256": "other"}, False, id="other-digest"),
        pytest.param(KNOWN, {"sha256": None}, False, id="not-unpacked-to-its-end"),
        pytest.param(KNOWN, {"content_type": "text/xml; charset=big5"}, False, id="new-charset"),
        pytest.param(KNOWN, {"final_url": f"{URL}?2"}, False, id="relative-urls-lead-elsewhere"),
        pytest.param(known(sha256=None), {"sha256": None}, False, id="two-unknown-digests"),
    ],
)  # fmt: skip
def test_responses(record: SitemapRecord, answer: dict[str, Any], expected: bool) -> None:
    assert is_unchanged(record, known(**answer)) is expected


hours = st.integers(0, 24 * 40).map(lambda number: timedelta(hours=number))


@given(
    st.sampled_from(["%Y-%m", "%Y-%m-%d", "%Y-%m-%dT%H:%MZ", "%Y-%m-%dT%H:%M:%SZ"]), st.lists(hours), st.lists(hours)
)
def test_an_honest_index_never_hides_a_change(form: str, changes: list[timedelta], runs: list[timedelta]) -> None:
    """A coarse date of the last change: after each run, the last change before the run was seen."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    seen, row = None, None
    for run in sorted(runs):
        now = start + run
        changed = max((one for one in changes if one < run), default=timedelta(0))
        text = (start + changed).strftime(form)
        freshness = Freshness(now=now, max_age=1e9, trust=Trust.ALWAYS)
        if conditional_request(row, freshness, lastmod=instant(text), lastmod_text=text).skip is None:
            seen = changed
        assert seen == changed
        row = known(fresh_at=now, read_at=now, lastmod=instant(text), lastmod_text=text)


def instant(text: str | None) -> datetime | None:
    date = read_date(text) if text else None
    return date.value if date else None
