from __future__ import annotations

import pickle
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from sitemap_harvest import FoundBy, Outcome, SitemapRef
from sitemap_harvest.dates import DateRange, Instant
from sitemap_harvest.discovery.candidate import Candidate, NotFetched
from sitemap_harvest.discovery.rules import Bounds, refuse

ROOT = "https://www.example.com"
BOUNDS = Bounds(max_depth=3)


def candidate(url: str, *, found_by: FoundBy = FoundBy.INDEX, depth: int = 1, root: str = ROOT) -> Candidate:
    return Candidate(url=url, root=root, found_by=found_by, parent=f"{ROOT}/index.xml", depth=depth)


@pytest.mark.parametrize(
    ("found", "bounds"),
    [
        pytest.param(candidate(f"{ROOT}/a.xml"), BOUNDS, id="same-host"),
        pytest.param(
            candidate("http://EXAMPLE.com/a.xml"),
            BOUNDS,
            id="same-host-but-www-and-scheme",
            marks=pytest.mark.case(50, 125),
        ),
        pytest.param(
            candidate("https://cdn.example/a.xml", found_by=FoundBy.ROBOTS), BOUNDS, id="robots-may-name-any-host"
        ),
        pytest.param(candidate(f"{ROOT}/a.xml", depth=3), BOUNDS, id="as-deep-as-allowed"),
        pytest.param(candidate(f"{ROOT}/a.xml"), Bounds(follow=re.compile("a")), id="follow"),
        pytest.param(candidate(f"{ROOT}/a.xml"), Bounds(skip=re.compile("b")), id="other-skip"),
        pytest.param(candidate(f"{ROOT}/a.xml"), Bounds(only_site="https://example.com"), id="the-folder's-site"),
        pytest.param(
            Candidate(url="ftp://else.example/", root=ROOT), Bounds(skip=re.compile("")), id="the-user-named-it"
        ),
    ],
)
def test_followed(found: Candidate, bounds: Bounds) -> None:
    assert refuse(found, bounds) is None


@pytest.mark.parametrize(
    ("found", "bounds", "outcome"),
    [
        pytest.param(candidate("ftp://www.example.com/a.xml"), BOUNDS, Outcome.OUT_OF_SCOPE, id="scheme"),
        pytest.param(candidate("file:///etc/passwd"), BOUNDS, Outcome.OUT_OF_SCOPE, id="file"),
        pytest.param(candidate("https://else.example/a.xml"), BOUNDS, Outcome.OUT_OF_SCOPE, id="other-host"),
        pytest.param(candidate("https://[/a.xml"), BOUNDS, Outcome.OUT_OF_SCOPE, id="no-host"),
        pytest.param(
            candidate("https://else.example/a.xml", found_by=FoundBy.ROBOTS),
            Bounds(only_site=ROOT),
            Outcome.OUT_OF_SCOPE,
            id="not-in-the-folder",
        ),
        pytest.param(candidate(f"{ROOT}/a.xml", depth=4), BOUNDS, Outcome.OVER_LIMIT, id="too-deep"),
        pytest.param(candidate(f"{ROOT}/a.xml"), Bounds(skip=re.compile("a")), Outcome.SKIPPED, id="skip"),
        pytest.param(candidate(f"{ROOT}/a.xml"), Bounds(follow=re.compile("b")), Outcome.SKIPPED, id="not-follow"),
    ],
)
def test_refused(found: Candidate, bounds: Bounds, outcome: Outcome) -> None:
    refusal = refuse(found, bounds)
    assert refusal is not None
    assert refusal.outcome is outcome
    assert refusal.reason


def test_a_reference_creates_a_candidate() -> None:
    now = datetime(2025, 3, 9, tzinfo=UTC)
    parent = Candidate(url=f"{ROOT}/index.xml", root=ROOT, depth=1)
    ref = SitemapRef(loc=f"{ROOT}/a.xml", position=1, lastmod=now, lastmod_text="2025-03-09")
    assert parent.child(ref, FoundBy.INDEX) == Candidate(
        url=f"{ROOT}/a.xml",
        root=ROOT,
        found_by=FoundBy.INDEX,
        parent=f"{ROOT}/index.xml",
        depth=2,
        lastmod=now,
        lastmod_text="2025-03-09",
    )


def test_candidates_can_be_serialized_by_a_paused_crawl() -> None:
    one = candidate(f"{ROOT}/a.xml")
    assert pickle.loads(pickle.dumps(one)) == one


MARCH = DateRange.of(Instant(datetime(2025, 3, 1, tzinfo=UTC), "month", zoned=None))


@pytest.mark.parametrize(
    ("lastmod", "found_by", "is_pruned"),
    [
        pytest.param("2025-02-28", FoundBy.INDEX, True, id="before"),
        pytest.param("2025-02", FoundBy.INDEX, True, id="month-before"),
        pytest.param("2025", FoundBy.INDEX, False, id="year-that-may-be-after"),
        pytest.param("2025-03-01", FoundBy.INDEX, False, id="after"),
        pytest.param(None, FoundBy.INDEX, False, id="missing"),
        pytest.param("lately", FoundBy.INDEX, False, id="unreadable"),
        pytest.param("2025-02-28", FoundBy.ROBOTS, False, id="no-index-says-so"),
    ],
)
def test_the_lastmod_of_an_index_marks_unchanged_children(
    lastmod: str | None, found_by: FoundBy, is_pruned: bool
) -> None:
    found = replace(candidate(f"{ROOT}/a.xml", found_by=found_by), lastmod_text=lastmod)
    words = f"the index gives lastmod {lastmod}, which is before 2025-03-01T00:00:00+00:00"
    assert refuse(found, BOUNDS) is None
    assert refuse(found, replace(BOUNDS, since=MARCH)) == (
        NotFetched(Outcome.SKIPPED, words, is_pruned=True) if is_pruned else None
    )


def test_a_child_inherits_the_authorizing_sites_of_its_parent() -> None:
    ref = SitemapRef(loc=f"{ROOT}/a.xml", position=1)
    parent = Candidate(url=f"{ROOT}/index.xml", root=ROOT, authorized=frozenset({"https://a.example"}))
    assert parent.child(ref, FoundBy.INDEX).authorized is parent.authorized
    assert parent.child(ref, FoundBy.ROBOTS, frozenset({ROOT})).authorized == {"https://a.example", ROOT}


def test_rejections_have_an_outcome_and_a_reason() -> None:
    assert refuse(candidate(f"{ROOT}/a.xml", depth=4), BOUNDS) == NotFetched(
        Outcome.OVER_LIMIT, "the document is deeper than MAX_DEPTH (3) allows", problem="limit/depth"
    )
