"""Documents in which fuzzing found an error that is fixed since."""

from __future__ import annotations

import gzip
from itertools import islice

import pytest

from sitemap_harvest import read
from tests.documents import FIXTURES
from tests.fuzz.mutations import mutations, samples
from tests.fuzz.reading import LIMITS, URLS, check, check_blocks, check_cut, check_locs, check_members, found
from tests.rings import some_quick

SITEMAP, ROBOTS, LIST, PAGE = URLS
FINDS = sorted((FIXTURES / "finds").glob("*"))
DOCUMENTS = sorted(path for path in FIXTURES.rglob("*") if path.is_file() and path.suffix != ".jsonl")


@pytest.mark.parametrize("find", some_quick(FINDS, every=2), ids=lambda path: path.name)
def test_finds_of_fuzzing_stay_fixed(find) -> None:
    check(find.read_bytes())


@pytest.mark.parametrize(
    ("url", "body"),
    [
        pytest.param(
            SITEMAP,
            b"<urlset><url><loc>a</loc><lastmod>2&#x0;3</lastmod></url><!-- " + b"<i>" * 1_000 + b"\0",
            id="reference-to-nul-long-before-a-nul-in-a-comment",
            marks=pytest.mark.thorough,  # 20 seconds
        ),
        pytest.param(SITEMAP, b"<!DOCTYPE<sitemapindex>", id="doctype-that-is-not-whole-in-a-block"),
        pytest.param(
            SITEMAP,
            b"<urlset><url><loc>&#104;ttps://a.example/?x=\xb7&amp;y=2&mp;z=3</loc></url></urlset>",
            id="reference-that-only-html-knows",
        ),
        pytest.param(SITEMAP, b"x\x9c\x85\x8e\x9c\xc2rA", id="text-that-begins-as-zlib-does"),
        pytest.param(SITEMAP, b'<urlset s=""><url><loc>a</loc></url>><t>', id="stray-text-where-strict-reading-ends"),
        pytest.param(SITEMAP, b'<urlset s=""><url><loc>a</loc></url>y</urlset>', id="stray-text-behind-the-last-entry"),
        pytest.param(
            SITEMAP,
            b'<?xml version="1.0" encoding="UTF-8"?>\n<urlset>\n<url><loc>a</loc></url>">\n<url><loc>b></url>">\n',
            id="stray-text-where-the-fast-path-ends",
        ),
        pytest.param(
            SITEMAP, b"\n<?xml \xce?>\n<urlset><url><loc>a</loc></url></urlset>", id="bad-byte-in-the-declaration"
        ),
        pytest.param(
            SITEMAP,
            "<urlset><url><loc>a</loc></url><url><loc>b</loc><l>..é<url><loc>c</loc></url></urlset>".encode(),
            id="character-that-the-end-of-an-entry-would-divide",
        ),
        pytest.param(SITEMAP, b"\xef\xbb\xbf<urlset><url><loc>/\xc3\xa9</loc></url></urlset>", id="byte-order-mark"),
        pytest.param(SITEMAP, b"<urlset>y<url><loc>a</loc></url></urlset>", id="stray-text-before-the-first-entry"),
        pytest.param(LIST, gzip.compress(b"https://a.example/\n", mtime=0) + b"\0\0<!DO", id="bytes-behind-padding"),
        pytest.param(
            PAGE,
            b'<html<div id=webkit-xml-viewer-source-xml><urlset ""></urlset>\xd0',
            id="bad-byte-behind-the-document-that-a-viewer-wraps",
        ),
        pytest.param(
            SITEMAP, b"<urlset><url><loc>b</loc></url>\xf8", id="bad-byte-less-than-an-opening-behind-an-end-tag"
        ),
        pytest.param(SITEMAP, b"</><?xml ><urlset m=''><url><loc>0</loc></url>", id="end-tag-before-all-others"),
        pytest.param(
            SITEMAP,
            b"<urlset><url><loc>a</loc><image:image><image:loc>b</image:loc></image:image><lastmod>2025</lastmod></url>",
            id="entry-that-the-cut-runs-through",
        ),
        pytest.param(
            SITEMAP,
            b"<!DOCTYPE urlset [<!ENTITY <url><loc>a</loc></url> ]><urlset><url><loc>b</loc></url></urlset>",
            id="entry-inside-a-doctype",
        ),
        pytest.param(LIST, b"s://es,4711\ns://ts,4s:", id="list-that-is-a-table-when-cut"),
        pytest.param(LIST, b"https://a.example/1,2025-01-01\nhttps://a.example/2,2025-01-01\n", id="table"),
        pytest.param(PAGE, b"<a href='/x'></body><title>Sitemap</title>", id="text-of-a-link-that-is-not-closed"),
        pytest.param(
            SITEMAP,
            b"<urlset><url><loc>https://a.example/<url><loc>b</loc></url></loc></url><url><loc>c</loc></url><",
            id="entry-inside-a-loc",
        ),
        pytest.param(
            PAGE,
            b'<title>Sitemap</title><a href="/1">1</a><a href="/2">2</a><a href="/?a&copy=2&amp{">3</a>',
            id="reference-without-semicolon-in-an-attribute",
        ),
        pytest.param(
            PAGE,
            b'<html><title>Sitemap</title><a href="/1">1</a><div id=webkit-xml-viewer-source-xml>'
            b'<ul><title>Sitemap</title><a href="/2">2</a><a href="/3">3</a></ul></div></html>',
            id="page-in-a-page-that-looks-like-a-viewer",
        ),
        pytest.param(SITEMAP, b"<sitemapindex><sitemap><loc> hs://</loc></sitemap>", id="no-host"),
        pytest.param(SITEMAP, b"<urlset><url><loc>:/.?</xml >></", id="end-tag-in-a-loc-that-is-cut"),
        pytest.param(LIST, b"https://exam\x0bple.com/a\nhttps://e", id="control-character-in-a-host"),
        pytest.param(
            SITEMAP,
            b"<urlset><url><loc>http<://a.example/<?x <loc> ?>b</loc></url></urlset>",
            id="less-than-and-an-instruction-in-a-loc",
        ),
        pytest.param(
            SITEMAP,
            b'<?xml version="1.0" encoding="gb2312"?><urlset><url><loc>/a</loc></url>\n\xa0 <url><loc>/b\1<',
            id="bad-byte-that-is-a-space-between-entries",
        ),
    ],
)
def test_finds_are_read_alike_in_any_blocks_and_compression(url: str, body: bytes) -> None:
    document = read(body, url=url, limits=LIMITS)
    whole = found(document)
    for size in (1, 2, 3, 7, 61):
        check_blocks(body, url, whole, size=size)
    for at in range(len(body) + 1):
        check_cut(body, url, document, whole, at)
        if not document.layers:
            check_members(body, url, whole, [at])
    check_locs(document, whole)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(1, 9))
def test_damaged_documents_are_read_alike_in_any_blocks_and_compression(seed) -> None:
    for body in islice(mutations(samples(FIXTURES), seed=seed), 500):
        check(body)


@pytest.mark.parametrize("path", some_quick(DOCUMENTS, every=4), ids=lambda path: str(path.relative_to(FIXTURES)))
def test_the_size_of_blocks_does_not_matter(path) -> None:
    body, url = path.read_bytes()[:20_000], SITEMAP
    document = read(body, url=url, limits=LIMITS)
    whole = found(document)
    for size in (7, 61):
        check_blocks(body, url, whole, size=size)
    if not document.layers:
        check_members(body, url, whole, [len(body) // 3, len(body) // 2])
    check_locs(document, whole)


@pytest.mark.thorough
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(FIXTURES)))
def test_truncated_documents_start_with_the_rows_of_the_whole_document(path) -> None:
    body = path.read_bytes()[:6_000]
    document = read(body, url=SITEMAP, limits=LIMITS)
    whole = found(document)
    for at in range(0, len(body), 5):
        check_cut(body, SITEMAP, document, whole, at)
