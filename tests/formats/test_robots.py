from __future__ import annotations

import pytest

from sitemap_harvest import Kind, read
from tests.documents import codes

ROBOTS = "https://example.com/robots.txt"
A = "https://example.com/a.xml"
SPACED = "https://example.com/my site.xml"
DIRECTIVE = "robots/bad-directive"
ODD = {DIRECTIVE: 1}


@pytest.mark.parametrize(
    ("text", "addresses", "problems"),
    [
        pytest.param(f"Sitemap: {A}", [A], {}, id="usual"),
        pytest.param(f"sitemap:{A}", [A], {}, id="lower-case-no-space"),
        pytest.param(f"SITEMAP :\t{A}\r\n", [A], {}, id="space-before-the-colon"),
        pytest.param(f"\ufeffSitemap: {A}", [A], {}, id="mark"),
        pytest.param(f"Site-map: {A}\nSitemaps: {A}?2", [A, f"{A}?2"], {DIRECTIVE: 2}, id="other-spellings"),
        pytest.param(f"Sitemap {A}", [A], ODD, id="no-colon"),
        pytest.param(f"Sitemap: '{A}'", [A], ODD, id="quotes"),
        pytest.param(f"Sitemap: {A} # all", [A], {}, id="comment-behind"),
        pytest.param(f"Sitemap: {A}#all", [f"{A}#all"], {}, id="fragment"),
        pytest.param(f"Sitemap: {A} {A}?2", [A, f"{A}?2"], ODD, id="two-in-a-line"),
        pytest.param(f"Sitemap: {A}, {A}?2", [A, f"{A}?2"], ODD, id="two-with-a-comma"),
        pytest.param(f"Sitemap: {A}Sitemap: {A}?2", [A, f"{A}?2"], ODD, id="two-without-a-line-end"),
        pytest.param(f"Sitemap: {A} (all)", [A], ODD, id="words-behind"),
        pytest.param(f"Sitemap: {A} and {A}?2", [A, f"{A}?2"], ODD, id="words-between"),
        pytest.param(f"Sitemap: <{A}> <{A}?2>", [A, f"{A}?2"], ODD, id="two-in-brackets"),
        pytest.param(f"Sitemap: {A}?sitemap={A}", [f"{A}?sitemap={A}"], {}, id="an-address-in-a-query"),
        pytest.param(f"Disallow: /?sitemap={A}", [], {}, id="an-address-in-the-query-of-a-rule"),
        pytest.param("Disallow: / Sitemap: /a.xml", [A], ODD | {"loc/relative": 1}, id="relative-behind-a-rule"),
        pytest.param(f"Sitemap = {A}", [A], ODD, id="equals-sign"),
        pytest.param(f"Disallow: /x Sitemap: {A}", [A], ODD, id="behind-a-rule"),
        pytest.param(f"Disallow: /xSitemap: {A} # all", [A], ODD, id="glued-to-a-rule"),
        pytest.param(f"Disallow: /x # Sitemap: {A}", [], {}, id="in-a-comment-behind-a-rule"),
        pytest.param(f"Sitemap: {SPACED}", [SPACED], {"loc/whitespace": 1}, id="space-inside"),
        pytest.param(f"Sitemap: {SPACED}?x=1\u20282", [SPACED + "?x=1\u20282"], {"loc/whitespace": 1}, id="separator"),
        pytest.param(f"# Sitemap: {A}", [], {}, id="commented-out"),
        pytest.param("Sitemap:", [], {"robots/not-a-url": 1}, id="no-address"),
        pytest.param("Sitemap: /a.xml", [A], {"loc/relative": 1}, id="relative"),
        pytest.param("Sitemap: ftp://example.com/a.xml", ["ftp://example.com/a.xml"], {"loc/scheme": 1}, id="ftp"),
        pytest.param(
            "https://example.com/sitemap.xml",
            ["https://example.com/sitemap.xml"],
            {"robots/no-directive": 1},
            id="bare",
        ),
        pytest.param("Disallow: /sitemap\nAllow: /", [], {}, id="other-lines"),
        pytest.param("User-agent: a\rSitemap: /a.xml\rDisallow:", [A], {"loc/relative": 1}, id="cr"),
    ],
)
def test_sitemap_lines(text: str, addresses: list[str], problems: dict[str, int]) -> None:
    document = read(text.encode(), url=ROBOTS)
    assert document.kind is Kind.ROBOTS
    assert [ref.loc for ref in document.sitemaps()] == addresses
    assert codes(document) == problems
    assert list(document.urls()) == []


def test_a_reference_has_its_line() -> None:
    document = read(f"\n\nUser-agent: *\nSitemap: {A}".encode(), url=ROBOTS)
    assert [ref.position for ref in document.sitemaps()] == [4]
