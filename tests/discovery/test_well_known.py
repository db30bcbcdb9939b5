"""The search for the sitemaps of a site: the paths probed, their order, and the conditions that stop it."""

from __future__ import annotations

import pytest

from sitemap_harvest import Cause, FoundBy, Kind, Outcome, SitemapRecord
from sitemap_harvest.discovery.candidate import Candidate
from sitemap_harvest.discovery.site_state import SiteState
from sitemap_harvest.discovery.well_known import PAGES, WELL_KNOWN, robots_of, variants

SITE = "https://example.com"
ABSENT = {"outcome": Outcome.ABSENT, "status": 404}
BLOCKED = {"outcome": Outcome.BLOCKED, "status": 403}
SILENT = {"outcome": Outcome.FAILED, "cause": Cause.TIMEOUT}
HTML = {"outcome": Outcome.NOT_A_SITEMAP, "kind": Kind.HTML, "status": 200}
ROBOTS = {"outcome": Outcome.READ, "kind": Kind.ROBOTS, "status": 200, "complete": True}
SITEMAP = {"outcome": Outcome.READ, "kind": Kind.SITEMAP, "status": 200, "complete": True, "entries": 1}


def record(candidate: Candidate, **values: object) -> SitemapRecord:
    return SitemapRecord(url=candidate.url, root=candidate.root, found_by=candidate.found_by, **values)


def tried(
    answers: dict[str, dict[str, object]], site: str = SITE, *, otherwise: dict[str, object] = ABSENT
) -> list[str]:
    """Return the requests, in order, for a *site* that has these *answers* by address."""
    state, urls = SiteState(first=robots_of(site)), []
    while candidate := state.next_candidate():
        urls.append(candidate.url)
        state.note(candidate, record(candidate, **answers.get(candidate.url, otherwise)), urls=0)
    return urls


def test_the_harvest_of_a_site_starts_with_its_robots_txt() -> None:
    assert robots_of(SITE) == Candidate(url=f"{SITE}/robots.txt", root=SITE, site_root=True)


def test_well_known_paths_are_probed_in_order_of_likelihood() -> None:
    assert tried({}) == [f"{SITE}{path}" for path in ("/robots.txt", *WELL_KNOWN, "/", *PAGES)]
    assert 20 <= len(WELL_KNOWN) == len(set(WELL_KNOWN))


@pytest.mark.parametrize("last", ["/sitemap.xml", "/wp-sitemap.xml", "/", "/sitemap.html"])
def test_probing_stops_once_something_is_found(last: str) -> None:
    urls = tried({f"{SITE}{last}": SITEMAP})
    assert urls[-1] == f"{SITE}{last}"
    assert len(urls) == len(set(urls))


def test_each_candidate_names_how_it_was_found() -> None:
    site, found_by = SiteState(first=robots_of(SITE)), {}
    while candidate := site.next_candidate():
        found_by[candidate.url.removeprefix(SITE)] = candidate.found_by
        site.note(candidate, record(candidate, **ABSENT), urls=0)
    assert found_by.pop("/robots.txt") is FoundBy.ARGUMENT
    assert found_by.pop("/") is FoundBy.HOME
    assert set(found_by.values()) == {FoundBy.WELL_KNOWN}


@pytest.mark.parametrize(
    ("site", "expected"),
    [
        pytest.param(
            "https://example.com",
            ("http://example.com", "https://www.example.com", "http://www.example.com"),
            id="a-name",
        ),
        pytest.param(
            "http://www.example.com", ("https://www.example.com", "http://example.com", "https://example.com"), id="www"
        ),
        pytest.param("https://example.com:8443", ("http://example.com:8443",), id="port"),
        pytest.param("http://127.0.0.1", ("https://127.0.0.1",), id="number"),
        pytest.param("http://[::1]", ("https://[::1]",), id="number-of-version-6"),
        pytest.param("http://localhost", ("https://localhost",), id="no-dot"),
    ],
)
def test_variants(site: str, expected: tuple[str, ...]) -> None:
    assert variants(site) == expected


def test_only_variants_are_tried_for_a_site_that_does_not_answer() -> None:
    urls = tried({}, otherwise=SILENT)
    assert urls == [f"{site}/robots.txt" for site in (SITE, *variants(SITE))]


def test_a_host_without_an_address_is_not_tried_with_another_scheme() -> None:
    urls = tried({}, otherwise={"outcome": Outcome.FAILED, "cause": Cause.DNS})
    assert urls == [f"{SITE}/robots.txt", "https://www.example.com/robots.txt"]


def test_the_variant_that_answers_becomes_the_site() -> None:
    urls = tried({f"{SITE}/robots.txt": SILENT, "http://example.com/robots.txt": ROBOTS})
    assert urls[1:3] == ["http://example.com/robots.txt", "http://example.com/sitemap.xml"]


@pytest.mark.parametrize(
    ("final_url", "base"),
    [
        ("https://www.example.com/robots.txt", "https://www.example.com"),
        ("https://other.example/robots.txt", SITE),
        ("https://www.example.com/welcome", SITE),
    ],
    ids=["to-www", "to-another-site", "to-a-page"],
)
def test_a_redirect_of_robots_txt_within_its_site_changes_the_root(final_url: str, base: str) -> None:
    urls = tried({f"{SITE}/robots.txt": {**ROBOTS, "final_url": final_url}})
    assert urls[1] == f"{base}/sitemap.xml"


def test_a_failing_robots_txt_stops_nothing() -> None:
    failed = {"outcome": Outcome.FAILED, "cause": Cause.SERVER_ERROR, "status": 503}
    assert tried({f"{SITE}/robots.txt": failed})[1] == f"{SITE}/sitemap.xml"


@pytest.mark.parametrize("answer", [BLOCKED, SILENT], ids=["blocked", "silent"])
def test_probing_stops_at_a_server_that_blocks(answer: dict[str, object]) -> None:
    urls = tried({f"{SITE}/robots.txt": ROBOTS}, otherwise=answer)
    assert urls == [f"{SITE}{path}" for path in ("/robots.txt", *WELL_KNOWN[:3], "/")]


def test_a_document_named_by_the_user_is_the_only_one_tried() -> None:
    site = SiteState(first=Candidate(url=f"{SITE}/a.xml", root=f"{SITE}/a.xml"))
    candidate = site.next_candidate()
    assert candidate == Candidate(url=f"{SITE}/a.xml", root=f"{SITE}/a.xml")
    site.note(candidate, record(candidate, **ABSENT), urls=0)
    assert site.next_candidate() is None
