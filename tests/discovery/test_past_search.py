"""When the search of a site that has no sitemap is repeated."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from sitemap_harvest import Cause, Evidence, FoundBy, Kind, Outcome, SitemapRecord
from sitemap_harvest.discovery.past_search import PastSearch, PostponedSearch, search_digest
from sitemap_harvest.discovery.site_state import SiteState
from sitemap_harvest.discovery.well_known import robots_of

SITE = "https://example.com"
AT = datetime(2026, 11, 20, 3, 17, tzinfo=UTC)
ROBOTS = {"outcome": Outcome.READ, "kind": Kind.ROBOTS, "status": 200, "complete": True, "sha256": "r1"}
ABSENT = {"outcome": Outcome.ABSENT, "reason": "HTTP 404", "status": 404}
REFUSED = {"outcome": Outcome.FAILED, "reason": "HTTP 400", "status": 400}
BROKEN = {"outcome": Outcome.FAILED, "reason": "HTTP 500", "status": 500, "cause": Cause.SERVER_ERROR}
BLOCKED = {"outcome": Outcome.BLOCKED, "reason": "HTTP 403", "status": 403}
FORBIDDEN = {"outcome": Outcome.FORBIDDEN, "reason": "robots.txt disallows the URL"}
CUT = {"outcome": Outcome.PARTIAL, "reason": "it was cut", "status": 200, "kind": Kind.SITEMAP}
HTML = {"outcome": Outcome.NOT_A_SITEMAP, "kind": Kind.HTML, "status": 200, "sha256": "h1"}
SITEMAP = {"outcome": Outcome.READ, "kind": Kind.SITEMAP, "status": 200, "complete": True, "entries": 1}
PAST = PastSearch(at=AT, base=SITE, robots="r1", settings="s1", has_home=True)


def searched(postponed: PostponedSearch | None = None, /, **answers: dict[str, object]) -> SiteState:
    """Return the state of a site after its search; *answers* are by path, ``others`` those of all other paths."""
    site = SiteState(first=robots_of(SITE))
    while candidate := site.next_candidate():
        if postponed is not None:
            site.postpone(postponed)
        name = candidate.url.removeprefix(f"{SITE}/").partition(".")[0] or "home"
        values = answers.get(name, answers.get("others", ABSENT))
        record = SitemapRecord(url=candidate.url, root=SITE, found_by=candidate.found_by, **values)
        site.note(candidate, record, urls=int(values.get("entries", 0)))
    return site


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param({"robots": ROBOTS, "home": HTML}, PAST, id="nothing"),
        pytest.param({"home": HTML}, replace(PAST, robots=""), id="no-robots-txt"),
        pytest.param({"robots": REFUSED, "home": HTML}, replace(PAST, robots=""), id="robots-txt-is-a-4xx"),
        pytest.param({"others": HTML}, replace(PAST, robots=""), id="a-page-for-everything"),
        pytest.param({"robots": ROBOTS}, replace(PAST, has_home=False), id="no-home-page"),
        pytest.param({"robots": ROBOTS, "home": HTML, "sitemap": FORBIDDEN}, PAST, id="one-path-is-forbidden"),
        pytest.param({"robots": ROBOTS, "others": FORBIDDEN}, None, id="all-paths-are-forbidden"),
        pytest.param({"robots": ROBOTS, "others": BLOCKED}, None, id="blocked"),
        pytest.param({"robots": ROBOTS, "wp-sitemap": BLOCKED}, None, id="one-path-is-blocked"),
        pytest.param({"robots": ROBOTS, "wp-sitemap": BROKEN}, None, id="one-path-fails"),
        pytest.param({"robots": ROBOTS, "wp-sitemap": CUT}, None, id="one-path-is-cut"),
        pytest.param({"robots": ROBOTS, "home": BROKEN}, None, id="the-home-page-fails"),
        pytest.param({"robots": BROKEN, "home": HTML}, None, id="robots-txt-fails"),
        pytest.param({"robots": BLOCKED, "home": HTML}, None, id="robots-txt-is-blocked"),
        pytest.param({"robots": ROBOTS, "sitemap": SITEMAP}, None, id="found"),
        pytest.param({"others": BROKEN}, None, id="unreachable"),
    ],
)
def test_only_a_search_that_tried_everything_is_remembered(
    answers: dict[str, dict[str, object]], expected: PastSearch | None
) -> None:
    assert PastSearch.of(searched(**answers), at=AT, settings="s1") == expected


@pytest.mark.parametrize(("answer", "is_remembered"), [(ABSENT, True), (BLOCKED, False)], ids=["absent", "blocked"])
def test_a_path_that_was_probed_for_another_site_counts(answer: dict[str, object], is_remembered: bool) -> None:
    one, other = SiteState(first=robots_of("https://www.example.com")), SiteState(first=robots_of(SITE))
    other.provenance = one.provenance
    while candidate := other.next_candidate():
        if candidate.url.endswith("/wp-sitemap.xml"):  # requested for the site that redirects to the same host
            record = SitemapRecord(url=candidate.url, root=one.root, found_by=candidate.found_by, **answer)
            one.note(replace(candidate, root=one.root), record, urls=0)
            other.share(candidate, candidate.url, one.root)
            other.copy_shared()
            continue
        record = SitemapRecord(url=candidate.url, root=SITE, found_by=candidate.found_by, **ABSENT)
        other.note(candidate, record, urls=0)
    assert (PastSearch.of(other, at=AT, settings="s1") is not None) == is_remembered


@pytest.mark.parametrize(
    ("now", "days", "site", "until"),
    [
        pytest.param(AT, 7, {}, 27, id="same-moment"),
        pytest.param(AT + timedelta(days=6, hours=20), 7, {}, 27, id="last-second-of-the-last-day"),
        pytest.param(AT + timedelta(days=6, hours=20, minutes=43), 7, {}, None, id="a-week-later-but-some-hours"),
        pytest.param(AT + timedelta(days=1), 1, {}, None, id="a-day"),
        pytest.param(AT, 0, {}, None, id="always"),
        pytest.param(AT - timedelta(seconds=1), 7, {}, None, id="clock-was-set-back"),
        pytest.param(AT, 7, {"base": "https://www.example.com"}, None, id="another-host"),
        pytest.param(AT, 7, {"base": None}, None, id="no-host"),
        pytest.param(AT, 7, {"robots_digest": "r2"}, None, id="another-robots-txt"),
        pytest.param(AT, 7, {"robots_digest": ""}, None, id="no-robots-txt"),
        pytest.param(AT, 7, {"robots_digest": None}, 27, id="robots-txt-cannot-be-read"),
    ],
)
def test_a_search_is_postponed_for_some_days(
    now: datetime, days: int, site: dict[str, str | None], until: int | None
) -> None:
    state = SiteState(first=robots_of(SITE), base=SITE, robots_digest="r1")
    for name, value in site.items():
        setattr(state, name, value)
    expected = None if until is None else PostponedSearch(date(2026, 11, 20), date(2026, 11, until), has_home=True)
    assert PAST.postponed(state, now=now, settings="s1", days=days) == expected
    assert PAST.postponed(state, now=now, settings="s2", days=days) is None


def test_the_settings_and_the_paths_of_a_search_have_a_digest() -> None:
    digests = {search_digest(settings) for settings in ({}, {"browser": "never"}, {"browser": "always"})}
    assert len(digests) == 3
    assert search_digest({"a": 1, "b": 2}) == search_digest({"b": 2, "a": 1})


def test_a_search_is_stored_as_json() -> None:
    assert PastSearch.of_json(PAST.to_json()) == PAST
    for values in ({}, {"at": "yesterday"}, {"at": AT.isoformat()}, PAST.to_json() | {"another": 1}, {"at": 1}):
        assert PastSearch.of_json(values) is None


REASON = (
    "the other well-known paths and the home page, searched on 2026-11-20 without result, will be searched again "
    "from 2026-11-27 (force=yes: at once)"
)
POSTPONED = PostponedSearch(date(2026, 11, 20), date(2026, 11, 27), has_home=True)


@pytest.mark.parametrize(
    ("postponed", "answers", "result", "reason"),
    [
        pytest.param(POSTPONED, {"robots": ROBOTS}, "absent",
                     f"robots.txt lists no sitemap, and none is at /sitemap.xml; {REASON}", id="absent"),
        pytest.param(POSTPONED, {}, "absent", f"there is no robots.txt, and none is at /sitemap.xml; {REASON}",
                     id="no-robots-txt"),
        pytest.param(POSTPONED._replace(has_home=False), {}, "not-a-site",
                     f"there is neither a robots.txt nor a home page; {REASON}", id="no-home-page"),
        pytest.param(POSTPONED, {"robots": ROBOTS, "sitemap": FORBIDDEN}, "absent",
                     f"robots.txt lists no sitemap, and none is at /sitemap.xml; {REASON}", id="forbidden"),
        pytest.param(POSTPONED, {"robots": ROBOTS, "sitemap": BLOCKED}, "blocked", "/sitemap.xml: HTTP 403",
                     id="blocked"),
        pytest.param(POSTPONED, {"robots": ROBOTS, "sitemap": BROKEN}, "unreachable", "/sitemap.xml: HTTP 500",
                     id="failed"),
        pytest.param(POSTPONED, {"robots": BROKEN}, "unreachable", "/robots.txt: HTTP 500", id="robots-txt-failed"),
        pytest.param(POSTPONED, {"robots": BLOCKED}, "blocked", "/robots.txt: HTTP 403", id="robots-txt-is-blocked"),
        pytest.param(POSTPONED, {"robots": ROBOTS, "sitemap": SITEMAP}, "found", "1 URL in 1 document", id="found"),
    ],
)  # fmt: skip
def test_the_result_of_a_site_whose_search_is_postponed(
    postponed: PostponedSearch, answers: dict[str, dict[str, object]], result: str, reason: str
) -> None:
    site = searched(postponed, **answers)
    record = site.conclude(is_over=True, epoch=0.0)
    assert (record.result, record.reason) == (result, reason)
    not_searched = Evidence(url=f"{SITE}/", found_by=FoundBy.HOME, outcome=Outcome.SKIPPED, reason=REASON)
    assert (not_searched in record.evidence) == (result != "found")
    assert PastSearch.of(site, at=AT, settings="s1") is None
