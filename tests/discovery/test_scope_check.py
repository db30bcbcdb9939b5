from __future__ import annotations

import pytest

from sitemap_harvest import Kind, UrlBatch, UrlEntry
from sitemap_harvest.discovery.candidate import Candidate
from sitemap_harvest.discovery.rules import ScopeCheck
from sitemap_harvest.urls import site_of, url_key

HERE = "https://example.com/maps/s.xml"
LOCS = ["https://example.com/maps/a", "https://example.com/b", "https://else.example/c", "/no-base"]


def batches(*locs: str) -> list[UrlBatch]:
    """Return a batch for each of *locs*."""
    return [
        UrlBatch.of([UrlEntry(loc=loc, key=url_key(loc), site=site_of(loc), sitemap=HERE, position=number)])
        for number, loc in enumerate(locs, start=1)
    ]


def rows(scoping: ScopeCheck, *locs: str) -> list[tuple[str, bool | None, str | None]]:
    joined = UrlBatch.joined(batches(*locs))
    return [(row.loc, row.in_scope, row.scope_reason) for batch in scoping.checked([joined]) for row in batch]


def of(*authorized: str, url: str = HERE, kind: Kind = Kind.SITEMAP) -> ScopeCheck:
    return ScopeCheck(Candidate(url=url, root=url, authorized=frozenset(authorized)), kind, [url])


def test_urls_are_marked() -> None:
    scoping = of()
    assert rows(scoping, *LOCS) == [
        (LOCS[0], True, None), (LOCS[1], False, "path"), (LOCS[2], False, "host"), (LOCS[3], None, None)
    ]  # fmt: skip
    assert scoping.outside == 2


def test_urls_of_authorizing_sites_are_in_scope() -> None:
    scoping = of("https://example.com", "https://else.example")
    assert [row[1] for row in rows(scoping, *LOCS)] == [True, True, True, None]
    assert scoping.outside == 0


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        pytest.param("file:///srv/s.xml", Kind.SITEMAP, id="local-file"),
        pytest.param(HERE, Kind.LINKS, id="web-page"),
    ],
)
def test_unjudged_urls_are_not_marked(url: str, kind: Kind) -> None:
    scoping = of(url=url, kind=kind)
    assert [row[1:] for row in rows(scoping, *LOCS)] == [(None, None)] * 4
    assert scoping.outside is None


@pytest.mark.parametrize("kind", [Kind.SITEMAP, Kind.LIST, Kind.FEED, Kind.INDEX])
def test_a_feed_and_a_list_count_as_sitemaps(kind: Kind) -> None:
    assert [row[1] for row in rows(of(kind=kind), *LOCS)] == [True, False, False, None]
