from __future__ import annotations

import pytest

from sitemap_harvest.plan import Lead, Proofs, sites_of_robots

INDEX = "https://sitemaphost.example/index.xml"
A, B = "https://a.example", "https://b.example"


def lead(url: str, *vouched: str) -> Lead:
    return Lead(url=url, root=url, vouched=frozenset(vouched))


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
def test_whose_robots_txt_it_is(addresses: list[str], sites: set[str]) -> None:
    assert sites_of_robots(addresses) == sites


def test_all_who_name_a_document_vouch_for_it_under_any_spelling_and_address() -> None:
    proofs = Proofs()
    proofs.note(lead("https://sitemaphost.example:443/index.xml", A))
    proofs.note(lead(INDEX, B))
    proofs.note(lead("https://sitemaphost.example/moved.xml", "https://c.example"))
    joined = proofs.joined(lead(INDEX, "https://d.example"), [INDEX, "https://sitemaphost.example/moved.xml"])
    assert joined == lead(INDEX, A, B, "https://c.example", "https://d.example")


def test_a_document_that_nobody_else_names_stays_as_it_is() -> None:
    proofs = Proofs()
    proofs.note(lead(f"{A}/other.xml", A))
    proofs.note(lead(INDEX))
    first = lead(INDEX, B)
    assert proofs.joined(first, [INDEX]) is first
