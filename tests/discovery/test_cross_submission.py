from __future__ import annotations

import pytest

from sitemap_harvest.discovery.candidate import Candidate
from sitemap_harvest.discovery.rules import CrossSubmissions, sites_of_robots

INDEX = "https://sitemaphost.example/index.xml"
A, B = "https://a.example", "https://b.example"


def candidate(url: str, *authorized: str) -> Candidate:
    return Candidate(url=url, root=url, authorized=frozenset(authorized))


@pytest.mark.parametrize(
    ("addresses", "sites"),
    [
        pytest.param([f"{A}/robots.txt"], {A}, id="robots-txt"),
        pytest.param(["HTTPS://A.example:443/robots%2Etxt"], {A}, id="another-spelling"),
        pytest.param(["http://a.example:8000/robots.txt"], {"http://a.example:8000"}, id="scheme-and-port-count"),
        pytest.param([f"{A}/robots.txt", f"{B}/rules"], {A}, id="kept-elsewhere", marks=pytest.mark.case(31)),
        pytest.param(
            ["http://a.example/robots.txt", f"{A}/robots.txt", f"{B}/robots.txt"],
            {"http://a.example", A, B},
            id="that-of-another-site-too",
        ),
        pytest.param([f"{A}/folder/robots.txt"], set(), id="not-at-the-root"),
        pytest.param([f"{A}/robots.txt?v=2"], set(), id="with-a-query"),
        pytest.param([f"{A}/ROBOTS.TXT"], set(), id="letter-case"),
        pytest.param(["file:///srv/robots.txt"], set(), id="local"),
        pytest.param([f"{A}/sitemap.txt"], set(), id="another-name"),
    ],
)
def test_the_site_of_a_robots_txt(addresses: list[str], sites: set[str]) -> None:
    assert sites_of_robots(addresses) == sites


def test_every_robots_txt_that_names_a_document_authorizes_it_under_any_spelling() -> None:
    cross_submissions = CrossSubmissions()
    cross_submissions.note(candidate("https://sitemaphost.example:443/index.xml", A))
    cross_submissions.note(candidate(INDEX, B))
    cross_submissions.note(candidate("https://sitemaphost.example/moved.xml", "https://c.example"))
    joined = cross_submissions.joined(
        candidate(INDEX, "https://d.example"), [INDEX, "https://sitemaphost.example/moved.xml"]
    )
    assert joined == candidate(INDEX, A, B, "https://c.example", "https://d.example")


def test_documents_named_by_no_other_site_stay_unchanged() -> None:
    cross_submissions = CrossSubmissions()
    cross_submissions.note(candidate(f"{A}/other.xml", A))
    cross_submissions.note(candidate(INDEX))
    first = candidate(INDEX, B)
    assert cross_submissions.joined(first, [INDEX]) is first
