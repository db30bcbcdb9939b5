"""``html_facts``: what a page says to search engines."""

from __future__ import annotations

import pytest

from sitemap_harvest.formats.html.html_facts import HtmlFacts, header_canonical, html_facts

URL = "https://a.example/dir/page"
NOTHING = HtmlFacts(title=None, robots=None, canonical=None, not_found=None, challenger=None)


def facts(*pieces, url=URL):
    """Return the facts of a page that differ from those of an empty one."""
    found = html_facts(pieces, url=url)
    return {
        name: getattr(found, name) for name in HtmlFacts.__slots__ if getattr(found, name) != getattr(NOTHING, name)
    }


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        pytest.param("", {}, id="empty"),
        pytest.param("no markup", {}, id="text"),
        pytest.param("<title>  Shoes &amp;\n boots </title>", {"title": "Shoes & boots"}, id="title"),
        pytest.param("<svg><title>Icon</title></svg><title>Shoes</title>", {"title": "Shoes"}, id="title-in-svg"),
        pytest.param("<title>One</title><title>Two</title>", {"title": "One"}, id="two-titles"),
        pytest.param("<title></title>", {}, id="title-empty"),
        pytest.param(f"<title>{'x' * 5000}</title>", {"title": "x" * 1000}, id="title-long"),
        pytest.param("<title>unfinished", {"title": "unfinished"}, id="title-unfinished"),
        pytest.param(
            '<meta name="ROBOTS" content=" NoIndex, nofollow ">', {"robots": "NoIndex, nofollow"}, id="robots"
        ),
        pytest.param(
            "<meta name=robots content=noindex><meta name=googlebot content=nosnippet><meta name=bingbot content=none>",
            {"robots": "noindex, googlebot: nosnippet, bingbot: none"},
            id="robots-of-crawlers",
        ),
        pytest.param('<meta name="description" content="noindex">', {}, id="other-meta"),
        pytest.param('<!-- <meta name="robots" content="noindex"> -->', {}, id="comment"),
        pytest.param('<script>"<meta name=robots content=noindex>"</script>', {}, id="script"),
        pytest.param(
            '<link rel="canonical" href="https://a.example/x?a=1&amp;b=2">',
            {"canonical": "https://a.example/x?a=1&b=2"},
            id="canonical",
        ),
        pytest.param(
            '<link rel="CANONICAL" href="other">', {"canonical": "https://a.example/dir/other"}, id="relative"
        ),
        pytest.param(
            '<base href="/b/"><link rel="canonical" href="other">',
            {"canonical": "https://a.example/b/other"},
            id="base",
        ),
        pytest.param('<link rel="alternate" href="/m"><link rel="canonical">', {}, id="no-canonical"),
        pytest.param(
            '<link rel="canonical" href="/one"><link rel="canonical" href="/two">',
            {"canonical": "https://a.example/one"},
            id="two-canonicals",
        ),
        pytest.param(
            "<title>Page not found | Shop</title>",
            {"title": "Page not found | Shop", "not_found": "Page not found | Shop"},
            id="not-found-title",
        ),
        pytest.param(
            "<title>Shop</title><h1>Seite <b>nicht</b> gefunden</h1>",
            {"title": "Shop", "not_found": "Seite nicht gefunden"},
            id="not-found-heading",
        ),
        pytest.param("<title>404</title>", {"title": "404", "not_found": "404"}, id="404"),
        pytest.param("<title>Not found: a novel</title>", {"title": "Not found: a novel"}, id="not-found-of-a-book"),
        pytest.param("<h1>One</h1><h1>Not found</h1>", {}, id="second-heading"),
        pytest.param(
            "<title>Just a moment...</title><script src=/cdn-cgi/challenge-platform/x></script>",
            {"title": "Just a moment...", "challenger": "Cloudflare"},
            id="challenge",
        ),
        pytest.param("<div>" * 20_000 + '<link rel="canonical" href="/deep">', {}, id="too-deep"),
        pytest.param("\0<title>a\0b</title>", {"title": "a\0b"}, id="nul"),
    ],
)
def test_facts(page, expected):
    assert facts(page) == expected
    assert facts(*[page[at : at + 7] for at in range(0, len(page), 7)]) == expected


def test_facts_behind_the_head_of_the_page_count():
    assert facts("<p>" + "x" * 100_000, '<meta name="robots" content="noindex">') == {"robots": "noindex"}


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param(['</x>; rel="canonical"'], "https://a.example/x", id="relative"),
        pytest.param(
            ['<https://a.example/a>; rel=next, <https://b.example/>; rel="canonical"'],
            "https://b.example/",
            id="second",
        ),
        pytest.param(["</a>; rel=next", "</b>; rel=canonical"], "https://a.example/b", id="second-header"),
        pytest.param(['</x>; rel="canonical"; anchor="/other"'], None, id="of-another-page"),
        pytest.param(["canonical", "<>"], None, id="malformed"),
        pytest.param([], None, id="none"),
    ],
)
def test_the_canonical_url_of_the_header(headers, expected):
    assert header_canonical(headers, url=URL) == expected
