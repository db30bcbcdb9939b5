"""What notebooks show of documents, batches, snapshots and changes. Nothing that a site writes becomes markup."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from lxml import html

from sitemap_harvest import Limits, ResultTable, UrlBatch, plots, read
from sitemap_harvest.api.result_display import result_as_html
from sitemap_harvest.cli.output import AnyBatch
from sitemap_harvest.diff import compare
from sitemap_harvest.model.run import FailedDocument, FailedSite
from tests.snapshots.store.making import SITE, Making, entry, locs

if TYPE_CHECKING:
    from pathlib import Path

NASTY = "https://a.example/'\"><script>alert(1)</script><img src=x onerror=alert(2)>"
LONG = f"https://a.example/{'a' * 1_000}/end"
XML = f"""<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>https://a.example/1</loc><lastmod>2026-03-01</lastmod><priority>0.5</priority></url>
<url><loc><![CDATA[{NASTY}]]></loc><lastmod><![CDATA[{NASTY}]]></lastmod></url>
<url><loc>{LONG}</loc></url></urlset>"""
INDEX = f"""<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<sitemap><loc><![CDATA[{NASTY}]]></loc></sitemap></sitemapindex>"""


class FakeResult:
    """What is shown of a result whose documents have failed."""

    was_killed = complete = False

    def __init__(self) -> None:
        self.summary = SimpleNamespace(
            arguments={},
            counts=SimpleNamespace(urls=1, documents={"absent": 1}, changes={}),
            verdict="partly-failed",
            failed_sites=(FailedSite(root=NASTY, result="absent", reason=NASTY),),
            failed_documents=(FailedDocument(url=f"{NASTY}s", outcome="absent", reason=NASTY),) * 20,
        )
        self.tables = {"urls": ResultTable("urls", UrlBatch, UrlBatch.of([entry(NASTY)]).to_arrow)}

    def _repr_html_(self) -> str:
        return result_as_html(self)  # type: ignore[arg-type]


def hostile_objects(folder: Path) -> dict[str, Any]:
    """Return one object of each kind, whose names, URLs and texts are markup."""
    making = Making(folder / "store", compares=True)
    for documents in ({NASTY: locs(3)}, {NASTY: [NASTY, *locs(2)]}):
        making.run(documents, site=NASTY, result="found", reason=NASTY)
    history = making.store.site(NASTY)
    return {
        "result": FakeResult(),
        "document": read(XML.encode(), url=NASTY),
        "index": read(INDEX.encode(), url=NASTY),
        "batch": UrlBatch.of([entry(NASTY)]),
        "columns": AnyBatch(pa.record_batch({NASTY: [NASTY]})),
        "history": history,
        "snapshot": history.at("latest"),
        "changes": compare(history.at("first"), history.at("latest")),
        "chart": plots.changes(history),
    }


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return hostile_objects(tmp_path_factory.mktemp("displays"))


def parsed(shown: Any) -> html.HtmlElement:
    return html.fragment_fromstring(shown._repr_html_(), create_parent=True)


def table(page: html.HtmlElement) -> list[list[str]]:
    return [[cell.text_content() for cell in row] for row in page.iter("tr")]


def paragraphs(page: html.HtmlElement) -> list[str]:
    return [one.text_content() for one in page.iter("p", "li")]


@pytest.mark.parametrize(
    "kind", ["result", "document", "index", "batch", "columns", "history", "snapshot", "changes", "chart"]
)
def test_markup_of_a_site_is_text(hostile: dict[str, Any], kind: str) -> None:
    page = parsed(hostile[kind])
    frames = [html.document_fromstring(frame.get("srcdoc")) for frame in page.iter("iframe")]
    assert len(frames) == (kind == "chart")
    assert not [*page.iter("script")]
    assert [len([*frame.iter("script")]) for frame in frames] == [1] * len(frames)  # of ours
    for part in [page, *frames]:
        assert not [*part.iter("img")]
        assert not [name for element in part.iter() for name in element.attrib if name.startswith("on")]
    assert any("<script>alert(1)</script>" in part.text_content() for part in [page, *frames])


def test_a_result_shows_its_counts_failures_and_first_urls(hostile: dict[str, Any]) -> None:
    assert paragraphs(parsed(hostile["result"])) == [
        "HarvestResult, not complete (partly-failed): 1 URL from 1 document (1 absent)",
        f"{NASTY}: absent: {NASTY}",
        *[f"{NASTY}s: absent: {NASTY}"] * 9,
        "...",
        "urls: 1 row, 23 columns",
        "tables: urls (1)",
    ]


def test_a_document_shows_its_counts_problems_and_first_urls() -> None:
    page = parsed(read(XML.encode(), url="https://a.example/s.xml"))
    assert paragraphs(page) == [
        "Document, sitemap, complete: 3 URLs, 0 sitemaps",
        "https://a.example/s.xml",
        "warning: loc/whitespace (1): The URL contains whitespace or an invisible character; it was left unchanged.",
        "warning: lastmod/unreadable (1): The date has none of the forms that are read.",
        "urls: 3 rows",
    ]
    assert table(page) == [
        ["loc", "lastmod", "priority"],
        ["https://a.example/1", "2026-03-01 00:00:00", "0.5"],
        [NASTY, "", ""],
        [f"https://a.example/{'a' * 13}…{'a' * 44}/end", "", ""],
    ]
    assert page.xpath("//td/@title")[6] == LONG


def test_an_index_shows_its_sitemaps() -> None:
    page = parsed(read(INDEX.encode()))
    assert paragraphs(page)[0] == "Document, index, complete: 0 URLs, 1 sitemap"
    assert paragraphs(page)[-1] == "sitemaps: 1 row"
    assert table(page) == [["loc", "lastmod", "found_by"], [NASTY, "", ""]]


@pytest.mark.parametrize(
    ("body", "title"),
    [
        pytest.param(b"", "Document, empty, not complete: 0 URLs, 0 sitemaps", id="empty"),
        pytest.param(b"\x89PNG\r\n\x1a\n\0", "Document, binary, not complete: 0 URLs, 0 sitemaps", id="binary"),
        pytest.param(XML.encode()[:300], "Document, sitemap, not complete: 1 URL, 0 sitemaps", id="cut"),
    ],
)
def test_a_document_that_cannot_be_read_shows_why(body: bytes, title: str) -> None:
    document = read(body, limits=Limits(urls=10))
    found = paragraphs(parsed(document))
    assert found[0] == title
    assert any(one.code in line for one in document.problems for line in found)


def test_what_is_shown_is_short() -> None:
    assert len(read(("https://a.example/" + "a" * 10_000_000).encode())._repr_html_()) < 20_000


def test_many_rows_are_counted_and_five_are_shown() -> None:
    page = parsed(read("\n".join(locs(12_345)).encode(), url="https://a.example/s.txt"))
    assert paragraphs(page)[-1] == "urls: 12,345 rows"
    assert [row[0] for row in table(page)] == ["loc", *locs(5)]


def test_a_snapshot_shows_its_counts_and_first_urls(tmp_path: Path) -> None:
    making = Making(tmp_path / "store", compares=True)
    making.run({f"{SITE}/s.xml": locs(2), f"{SITE}/t.xml": locs(1)}, result="found")
    page = parsed(making.store.latest(SITE))
    assert paragraphs(page) == [
        "Snapshot of https://a.example, run 20261101T030000Z-000000: 2 URLs from 2 documents (2 read)",
        "urls: 3 rows",
    ]
    assert [row[0] for row in table(page)] == ["loc", *locs(2), *locs(1)]
    making.holds = True
    page = parsed(making.run({f"{SITE}/s.xml": None}, result="found", reason="some were not read"))
    assert paragraphs(page) == [
        "Snapshot of https://a.example, run 20261102T030000Z-000001: 2 URLs from 1 document (1 unchanged)",
        "found: some were not read",
        "urls: 2 rows",
    ]
    assert table(page) == [["loc", "lastmod", "priority"], *([loc, "", ""] for loc in locs(2))]


def test_a_history_shows_its_last_runs(tmp_path: Path) -> None:
    making = Making(tmp_path / "store", compares=True)
    for start in range(7):
        making.run({f"{SITE}/s.xml": locs(2, start=start)})
    page = parsed(history := making.store.site(SITE))
    assert paragraphs(page) == ["History of https://a.example", "runs, the last one first: 7 rows"]
    assert table(page) == [
        ["run", "urls", "complete", "changes"],
        *([run.id, "2", "True", "1 added, 1 removed"] for run in history.runs[:1:-1]),
    ]
    assert repr(history) == "<History of https://a.example>"
    assert repr(making.store) == f"<Store {tmp_path / 'store'}>"
    assert paragraphs(parsed(making.store.history("b.example")))[1] == "runs, the last one first: 0 rows"


def test_changes_show_their_counts_and_the_first_ones(tmp_path: Path) -> None:
    making = Making(tmp_path / "store")
    before, after = (making.run({f"{SITE}/s.xml": locs(3, start=start)}) for start in (0, 1))
    changes = compare(before, after)
    page = parsed(changes)
    title = "Changes: https://a.example since 20261101T030000Z-000000: 1 added, 1 removed"
    assert paragraphs(page) == [title, "changes: 2 rows"]
    assert table(page) == [
        ["kind", "loc", "fields"], ["removed", locs(1)[0], ""], ["added", locs(4)[3], ""]
    ]  # fmt: skip
    changes.close()
    assert paragraphs(parsed(changes)) == [title.replace("Changes", "Changes (closed)")]


def test_a_batch_shows_its_counts_and_first_rows() -> None:
    page = parsed(UrlBatch.of(map(entry, locs(7))))
    assert paragraphs(page) == ["UrlBatch: 7 rows, 23 columns"]
    assert len(table(page)) == 6
    assert paragraphs(parsed(UrlBatch.of([]))) == ["UrlBatch: 0 rows, 23 columns"]
