"""Documents from the web, with the expectations of other projects' tests.

The corpus is not in the repository: its files have other licenses.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sitemap_harvest import Document, Kind, Limits, read
from sitemap_harvest.formats.xml.entries import EntryReader
from sitemap_harvest.formats.xml.tolerant import read_tolerantly
from sitemap_harvest.urls import WHITESPACE, resolve, url_key
from tests.documents import collected, collector
from tests.oracles import walked
from tests.rings import some_quick

CORPUS = Path(os.environ.get("HARVEST_CORPUS") or Path(__file__).parents[2] / ".." / "shared" / "corpus")


def _lines(name: str) -> list[dict[str, Any]]:
    path = CORPUS / name
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


FILES = {line["path"]: line for line in _lines("MANIFEST.jsonl")}
EXPECTED = {line["file"]: line for line in _lines("peers/EXPECTED.jsonl")}
OTHERWISE = {  # where we deliberately differ from the project that the document comes from
    "peers/crawler-commons/embedded__partial_cut_in_loc.xml": "takes the entry that the document is cut in",
    "peers/gofeed/translator__rss__feed_item_links_-_rss_channel_item_links.xml": (
        "takes the last of several links; we take the first that is written as in RSS, and keep the others"
    ),
    "peers/scrapy/test_alternate.xml": "counts only alternates that have an hreflang; we keep the others too",
    "peers/sitemap.js/alltags.cdata.xml": "the same",
    "peers/sitemap.js/alltags.xml": "the same",
}

pytestmark = pytest.mark.skipif(not FILES, reason="there is no corpus: name its folder in HARVEST_CORPUS")


def document_of(path: str) -> Document:
    return read((CORPUS / path).read_bytes(), url=FILES[path]["url"] or f"https://example.com/{path}")


def listed(document: Document) -> list[str]:
    if document.kind in {Kind.INDEX, Kind.ROBOTS}:
        return [ref.loc for ref in document.sitemaps()]
    return [row.loc for row in document.rows()]


@pytest.mark.parametrize("path", some_quick(FILES, every=4, others=pytest.mark.deep))
def test_every_document_is_read_and_classified(path: str) -> None:
    document = document_of(path)
    rows, refs = list(document.rows()), list(document.sitemaps())
    assert len(rows) + len([ref for ref in refs if ref.found_by is None]) <= document.entries
    assert document.kind.is_readable or not rows
    assert rows or refs or document.problems or document.kind is Kind.ROBOTS
    assert all(row.key == url_key(row.loc) for row in rows)
    assert [row.position for row in rows] == sorted(row.position for row in rows)


def differences(wanted: dict[str, Any], document: Document) -> list[str]:
    """Return the points in which *document* differs from *wanted*."""
    urls, rows = listed(document), list(document.rows())
    keys = {url_key(url) or url for url in urls}
    checks = {
        "count": lambda count: len(urls) == count,
        "urls": lambda them: keys == {url_key(url) or url for url in them},
        "some_urls": lambda them: {url_key(url) or url for url in them} <= keys,
        "only_urls": lambda them: set(urls) <= set(them),
        "priority": lambda by_url: all([r.priority for r in rows if r.loc == url] == [p] for url, p in by_url.items()),
        "changefreq": lambda by_url: all([r.changefreq for r in rows if r.loc == u] == [c] for u, c in by_url.items()),
        "lastmod": lambda by_url: all(_has_date(document, url, date) for url, date in by_url.items()),
        "ext": lambda by_kind: all(_extensions(rows, kind) == n for kind, n in by_kind.items() if kind in _COLUMNS),
    }
    return [point for point, holds in checks.items() if point in wanted and not holds(wanted[point])]


_COLUMNS = ("alternates", "images", "videos", "news")  # "alternates_all" counts links of any relation


def _extensions(rows: list[Any], kind: str) -> int:
    return sum(len(getattr(row, kind) or ()) for row in rows)


def _has_date(document: Document, url: str, date: str) -> bool:
    found = [one for one in (*document.rows(), *document.sitemaps()) if one.loc == url]
    return len(found) == 1 and date in {found[0].lastmod_text, found[0].lastmod and found[0].lastmod.isoformat()}


@pytest.mark.parametrize("path", [path for path in EXPECTED if path not in OTHERWISE])
def test_documents_match_the_expectations_of_their_projects(path: str) -> None:
    document = document_of(path)
    assert differences(EXPECTED[path], document) == [], EXPECTED[path]
    if EXPECTED[path].get("error"):
        assert document.problems


@pytest.mark.parametrize("path", OTHERWISE)
def test_deliberate_differences_still_exist(path: str) -> None:
    assert differences(EXPECTED[path], document_of(path)), "it holds now: take it off the list"


WALKED = [path for path, file in FILES.items() if file["kind"] in {"sitemap", "index"} and path.endswith(".xml")]


@pytest.mark.parametrize("path", some_quick(WALKED, every=4, others=pytest.mark.deep))
def test_a_plain_walk_finds_the_same_urls(path: str) -> None:
    body = (CORPUS / path).read_bytes()
    if (texts := walked(body)) is None:
        return  # not well-formed: there is no tree to compare with
    document = document_of(path)
    wanted = [resolve(text, document.url).loc for text in texts if text.strip(WHITESPACE)]
    found = [row.loc for row in document.rows()] + [ref.loc for ref in document.sitemaps()]
    assert found == [loc for loc in wanted if loc]


@pytest.mark.parametrize("path", some_quick(WALKED, every=4))
def test_the_recovering_parser_finds_the_same_rows(path: str) -> None:
    document = document_of(path)
    if document.kind not in {Kind.SITEMAP, Kind.INDEX} or not document.complete:
        return
    into = collector(document.url)
    into._document = document.url
    text = (CORPUS / path).read_bytes().decode(document.encoding).lstrip("\ufeff")
    rows = collected(into, read_tolerantly(iter([text]), EntryReader(into, document.kind), into))
    assert rows == list(document.rows())
    assert list(into.refs) == list(document.sitemaps())


@pytest.mark.parametrize("path", [path for path in FILES if FILES[path]["bytes"] < 20_000][::10])
def test_truncated_documents_never_raise_and_no_truncated_sitemap_is_complete(path: str) -> None:
    body = (CORPUS / path).read_bytes()
    whole = read(body, url="https://example.com/")
    for cut in range(0, len(body.rstrip()), max(1, len(body) // 10)):
        document = read(body[:cut], url="https://example.com/", limits=Limits())
        assert document.problems or document.kind in {Kind.ROBOTS, Kind.LIST}
        if whole.kind in {Kind.SITEMAP, Kind.INDEX} and whole.complete and b"<" in body[cut:]:
            assert set(listed(document)) <= set(listed(whole))
            assert not document.complete
