"""A document checked against the rules of the protocol: one trait per case, and no other problem is reported."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime

import pytest

from sitemap_harvest import Limits, read
from sitemap_harvest.formats import Document
from sitemap_harvest.formats.protocol import Listed, Verdict, check
from sitemap_harvest.model import Problem, Sample
from tests.documents import HERE, SITEMAPS, index, urlset

NOW = datetime(2026, 3, 9, 12, tzinfo=UTC)
LOC = "<loc>https://example.com/a</loc>"
INDEX = "https://example.com/index.xml"
MANY = "".join(f"<url><loc>https://example.com/{number}</loc></url>" for number in range(50_001))
FAR_APART = "".join(f"<url><loc>https://example.com/{n}</loc></url>{' ' * 400_000}" for n in range(132))  # 50 MiB
NAMESPACES = "".join(
    f' xmlns:{name}="http://www.google.com/schemas/sitemap-{name}/{version}"'
    for name, version in (("image", "1.1"), ("video", "1.1"), ("news", "0.9"))
)


def verdict(body: bytes, *, location: str | None = None, url: str = HERE) -> Verdict:
    return check(read(body, url=url), now=NOW, location=location)


def problems(body: bytes, *, location: str | None = None, url: str = HERE) -> dict[str, int]:
    return {problem.code: problem.count for problem in verdict(body, location=location, url=url).problems}


def url(inside: str) -> bytes:
    return urlset(f"<url>{inside}</url>")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(url(LOC), {}, id="right"),
        pytest.param(f"<urlset><url>{LOC}</url></urlset>".encode(), {"protocol/namespace": 1}, id="no-namespace"),
        pytest.param(
            f'<urlset xmlns="{SITEMAPS}/"><url>{LOC}</url></urlset>'.encode(),
            {"protocol/namespace": 1},
            id="namespace-with-slash",
        ),
        pytest.param(
            f'<urlSet xmlns="{SITEMAPS}"><url>{LOC}</url></urlSet>'.encode(), {"protocol/root-name": 1}, id="root-name"
        ),
        pytest.param(urlset(f"<url>{LOC}</url>", ' version="1"'), {"protocol/attribute": 1}, id="attribute"),
        pytest.param(url(f"<changefreq>daily</changefreq>{LOC}"), {"protocol/element-order": 1}, id="order"),
        pytest.param(url(f"<Lastmod>2026-01-01</Lastmod>{LOC}"), {"protocol/unknown-element": 1}, id="letter-case"),
        pytest.param(url(f"{LOC}<odd/>"), {"protocol/unknown-element": 1}, id="unknown-element"),
        pytest.param(url(f'{LOC}<odd xmlns=""/>'), {"protocol/unknown-element": 1}, id="no-namespace-inside"),
        pytest.param(url(f'{LOC}<odd xmlns="urn:odd"/>'), {}, id="extension"),
        pytest.param(url(f'<odd xmlns="urn:odd"/>{LOC}'), {"protocol/element-order": 1}, id="extension-first"),
        pytest.param(url("https://example.com/a"), {}, id="no-loc-is-reported-by-reading"),
        pytest.param(urlset(f"text<url>{LOC}</url>"), {"protocol/stray-text": 1}, id="text-at-the-start"),
        pytest.param(url(f"{LOC}\u00a0"), {"protocol/whitespace-around": 1}, id="no-break-space-between-elements"),
        pytest.param(url("<loc>http://a.b</loc>"), {"protocol/loc-too-short": 1}, id="short-loc"),
        pytest.param(url(f"<loc>https://example.com/{'a' * 2029}</loc>"), {"protocol/loc-too-long": 1}, id="long-loc"),
        pytest.param(url("<loc>https://example.com/100%</loc>"), {"protocol/loc-not-a-uri": 1}, id="bare-percent"),
        pytest.param(url("<loc>https://example.com/{a}</loc>"), {"protocol/loc-not-escaped": 1}, id="not-escaped"),
        pytest.param(url("<loc>https://example.com/a b</loc>"), {}, id="space-in-loc-is-reported-by-reading"),
        pytest.param(url(f"{LOC}<lastmod>2026-03</lastmod>"), {"protocol/lastmod-schema": 1}, id="month"),
        pytest.param(url(f"{LOC}<lastmod>2026-03-01T10:00Z</lastmod>"), {"protocol/lastmod-schema": 1}, id="minutes"),
        pytest.param(
            url(f"{LOC}<lastmod>2026-03-01T10:00</lastmod>"), {"protocol/lastmod-schema": 1}, id="minutes-without-zone"
        ),
        pytest.param(
            url(f"{LOC}<lastmod>Sun, 01 Mar 2026 10:00:00 GMT</lastmod>"), {}, id="rfc-822-is-reported-by-reading"
        ),
        pytest.param(url(f"{LOC}<lastmod>01/03/2026</lastmod>"), {}, id="unreadable-date-is-reported-by-reading"),
        pytest.param(url(f"{LOC}<lastmod>2026-03-10</lastmod>"), {}, id="tomorrow"),
        pytest.param(url(f"{LOC}<lastmod>2026-03-11</lastmod>"), {"protocol/future-lastmod": 1}, id="future"),
        pytest.param(
            url(f"{LOC}<changefreq> daily\n</changefreq>"), {"protocol/whitespace-around": 1}, id="whitespace"
        ),
        pytest.param(url(f"{LOC}<priority>\u00a00.5</priority>"), {"protocol/whitespace-around": 1}, id="nbsp"),
        pytest.param(url(f"{LOC}<priority>high</priority>"), {}, id="priority-is-reported-by-reading"),
        pytest.param(urlset(f"<url>{LOC}</url>" * 3), {"protocol/duplicate": 2}, id="duplicates"),
        pytest.param(
            urlset(f"<url>{LOC}</url><url><loc>HTTPS://EXAMPLE.com:443/a</loc></url>"),
            {"protocol/duplicate": 1},
            id="duplicate-in-another-spelling",
        ),
        pytest.param(urlset(MANY), {"protocol/too-many-entries": 1}, id="too-many-entries"),
        pytest.param(urlset(FAR_APART), {"protocol/too-large": 1}, id="too-large"),
        pytest.param(gzip.compress(url(LOC)), {}, id="packed"),
        pytest.param(url(LOC).decode().encode("utf-16"), {"protocol/not-utf-8": 1}, id="utf-16"),
        pytest.param(url("<loc>https://example.com/?a&b</loc>"), {"protocol/not-checked": 1}, id="not-well-formed"),
        pytest.param(b"<!DOCTYPE urlset>" + url(LOC), {"protocol/not-checked": 1}, id="doctype"),
        pytest.param(
            urlset(
                f"<url>{LOC}{'<image:image><image:loc>https://example.com/i</image:loc></image:image>' * 1001}</url>",
                NAMESPACES,
            ),
            {"protocol/too-many-images": 1},
            id="too-many-images",
        ),
        pytest.param(
            urlset(
                "".join(f"<url><loc>https://example.com/{n}</loc><news:news/></url>" for n in range(1001)), NAMESPACES
            ),
            {"protocol/too-many-news": 1},
            id="too-many-news",
        ),
        pytest.param(index(f"<sitemap>{LOC}</sitemap>"), {}, id="index"),
        pytest.param(index(f"<sitemap>{LOC}</sitemap>" * 2), {"protocol/duplicate": 1}, id="duplicate-in-index"),
        pytest.param(
            index(f"<sitemap>{LOC}<lastmod>2027-01-01</lastmod></sitemap>"),
            {"protocol/future-lastmod": 1},
            id="future-in-index",
        ),
        pytest.param(
            index(f"<sitemap>{LOC}<priority>1</priority></sitemap>"),
            {"protocol/unknown-element": 1},
            id="priority-in-index",
        ),
        pytest.param(
            index(f"<sitemap><loc>{HERE}</loc></sitemap>"), {"protocol/self-reference": 1}, id="index-of-itself"
        ),
        pytest.param(b"https://example.com/a\nhttps://example.com/a\n", {"protocol/duplicate": 1}, id="list"),
        pytest.param(b"https://example.com/" + b"a" * 2029, {"protocol/loc-too-long": 1}, id="long-line"),
        pytest.param(b"Sitemap: https://example.com/a\n" * 2, {}, id="robots"),
        pytest.param(b"<html></html>", {}, id="web-page"),
        pytest.param(b"", {}, id="empty"),
    ],
)
def test_rules(body: bytes, expected: dict[str, int]) -> None:
    assert problems(body) == expected


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        pytest.param(LOC, set(), id="good"),
        pytest.param(f"{LOC}<a/>", {"protocol/unknown-element"}, id="flaw-in-what-was-read"),
        pytest.param(f"{LOC}<lastmod>a & b</lastmod>", {"protocol/not-checked"}, id="not-well-formed-before-the-cut"),
    ],
)
def test_the_end_of_a_document_that_goes_on_is_no_reason_not_to_check_it(inside: str, expected: set[str]) -> None:
    body = urlset(f"<url>{inside}</url><url><loc>https://example.com/b</loc></url>")
    found = set()
    for cut in range(len(body)):
        document = Document(body[:cut], url=HERE, content_type=None, limits=Limits(), was_cut=True)
        found |= {problem.code for problem in check(document, now=NOW).problems}
    assert found == expected


@pytest.mark.parametrize(
    ("location", "loc", "expected"),
    [
        pytest.param("https://a.example/s.xml", "https://a.example/b", {}, id="same-site"),
        pytest.param("https://a.example:443/s.xml?x=/", "https://A.example/b", {}, id="same-site-otherwise-written"),
        pytest.param("https://a.example/s.xml", "http://a.example/b", {"protocol/other-site": 1}, id="scheme"),
        pytest.param("https://a.example/s.xml", "https://www.a.example/b", {"protocol/other-site": 1}, id="www"),
        pytest.param("https://a.example/s.xml", "https://a.example:8000/b", {"protocol/other-site": 1}, id="port"),
        pytest.param("https://a.example/m/s.xml", "https://a.example/m/n/b", {}, id="below"),
        pytest.param("https://a.example/s.xml#/a/b", "https://a.example/b", {}, id="fragment"),
        pytest.param("https://a.example/s.xml", "https://user@a.example/b", {}, id="user-name"),
        pytest.param("https://a.example/m/s.xml", "https://a.example/b", {"protocol/outside-folder": 1}, id="above"),
        pytest.param("https://a.example/m/s.xml", "https://a.example/m", {"protocol/outside-folder": 1}, id="beside"),
        pytest.param(None, "https://b.example/x/y", {}, id="not-known"),
    ],
)
def test_the_location_rule(location: str | None, loc: str, expected: dict[str, int]) -> None:
    assert problems(url(f"<loc>{loc}</loc>"), location=location) == expected


def test_an_index_may_list_only_sitemaps_of_its_site_in_any_folder() -> None:
    listed = "".join(f"<sitemap><loc>{loc}</loc></sitemap>" for loc in ("https://a.example/1", "https://b.example/2"))
    assert problems(index(listed), location="https://a.example/m/i.xml") == {"protocol/other-site": 1}


def test_problems_name_their_position() -> None:
    body = urlset(f"\n<url>{LOC}</url>\n<url><lastmod>2026-01-01</lastmod>{LOC}</url>")
    assert verdict(body) == Verdict(
        listed=Listed(urls=2),
        problems=(
            Problem(
                code="protocol/duplicate",
                document=HERE,
                detail="entry 2 repeats entry 1",
                samples=(Sample(entry=2, excerpt="https://example.com/a"),),
            ),
            Problem(
                code="protocol/element-order",
                document=HERE,
                detail="loc is out of order",
                samples=(Sample(entry=2, line=3, excerpt="loc"),),
            ),
        ),
    )


def test_all_entries_are_counted() -> None:
    more = (
        '<link xmlns="http://www.w3.org/1999/xhtml" rel="alternate" hreflang="de" href="https://example.com/de"/>'
        + "<image:image><image:loc>https://example.com/i</image:loc></image:image>" * 2
        + "<video:video/><news:news/>"
    )
    found = verdict(urlset(f"<url>{LOC}{more}</url><url><loc>https://example.com/b</loc></url>", NAMESPACES))
    assert found == Verdict(listed=Listed(urls=2, alternates=1, images=2, videos=1, news=1), problems=())
    assert verdict(index(f"<sitemap>{LOC}</sitemap>")).listed == Listed(sitemaps=1)


def test_ten_thousand_equal_problems_are_one_with_a_count_and_five_samples() -> None:
    body = urlset("".join(f"<url><loc>https://example.com/{{{n % 100}}}</loc></url>" for n in range(20_000)))
    problems = {problem.code: problem for problem in verdict(body).problems}
    assert {code: problem.count for code, problem in problems.items()} == {
        "protocol/loc-not-escaped": 20_000,
        "protocol/duplicate": 19_900,
    }
    assert [sample.entry for sample in problems["protocol/duplicate"].samples] == [101, 102, 103, 104, 105]


def test_checking_does_not_change_the_facts_of_a_document() -> None:
    body = gzip.compress(urlset(f"<url>{LOC}</url>" * 50_000 + "<url>&"))
    document, untouched = read(body, url=HERE), read(body, url=HERE)
    assert check(document, now=NOW).problems
    for name in ("kind", "entries", "layers", "encoding", "bytes_unpacked", "sha256", "complete", "problems"):
        assert getattr(document, name) == getattr(untouched, name), name


def test_a_document_cut_by_a_limit_is_checked_up_to_there() -> None:
    document = read(urlset(f"<url>{LOC}</url>" * 10), url=HERE, limits=Limits(urls=3))
    assert {problem.code: problem.count for problem in check(document, now=NOW).problems} == {"protocol/duplicate": 2}
