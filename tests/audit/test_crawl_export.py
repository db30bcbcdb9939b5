"""``CrawlExport``: files of several crawlers as records of pages, and files that cannot be read."""

from __future__ import annotations

import bz2
import gzip
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sitemap_harvest.audit.crawl_export import CrawlExport
from sitemap_harvest.errors import CrawlExportError
from sitemap_harvest.model import PageBatch, PageRecord, PageSource

if TYPE_CHECKING:
    from pathlib import Path

SITE = "https://a.example"
FACTS = asdict(PageRecord(site=SITE, run="R", source=PageSource.CRAWL_EXPORT, url="", key=None))
PLAIN = "url,status\nhttps://a.example/,200\n"
UNREQUESTED = {"status": None, "final_url": None, "method": None}


def pages_of(path: Path, **columns: str) -> list[dict[str, Any]]:
    """Return the pages in the file at *path*, by URL, without what pages have by default."""
    with CrawlExport(str(path), columns) as export:
        rows = [asdict(row) for batch in export.batches(SITE, "R") for row in PageBatch(batch).rows()]
    return [without_defaults(row) for row in sorted(rows, key=lambda row: (row["url"], row["redirects"]))]


def in_utc(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def without_defaults(row: dict[str, Any]) -> dict[str, Any]:
    expected = FACTS | {"key": row["url"], "method": "GET", "status": 200, "final_url": row["url"]}
    return {name: value for name, value in row.items() if value != expected[name]}


def written(path: Path, data: str | bytes, name: str = "export.csv") -> Path:
    (path / name).write_bytes(data.encode() if isinstance(data, str) else data)
    return path / name


def test_screaming_frog(tmp_path: Path) -> None:
    header = (
        "Address,Content Type,Status Code,Status,Indexability,Indexability Status,Title 1,Title 1 Length,Meta Robots 1,"
        "Meta Robots 2,X-Robots-Tag 1,Canonical Link Element 1,HTTP Canonical,Redirect URL,Last Modified,"
        "Crawl Timestamp"
    )
    rows = [
        '/,text/html,200,OK,Indexable,,"Home\nof A",9,,,,/,,,"Thu, 05 Mar 2026 10:00:00 GMT",2026-11-01 09:30:00',
        "/1,,301,Moved Permanently,Non-Indexable,Redirected,,0,,,,,,https://a.example/2,,",
        "/2,,302,Found,Non-Indexable,Redirected,,0,,,,,,https://a.example/missing,,",
        "/b,,0,Blocked by robots.txt,Non-Indexable,Blocked by robots.txt,,0,,,,,,,,",
        "/c,text/html,200,OK,Non-Indexable,noindex,Page not found | A,5,noindex,nofollow,none,,https://a.example/,,,",
        "/loop,,301,,,,,0,,,,,,/loop,,",
        "/missing,text/html,404,Not Found,Non-Indexable,Client Error,Page not found,5,,,,,,,,",
        "/round,,302,,,,,0,,,,,,/trip,,",
        "/s,,0,Connection Timeout,Non-Indexable,No Response,,0,,,,,,,,",
        "/trip,,302,,,,,0,,,,,,/round,,",
        "/u,,,,,,,0,,,,,,,,",
    ]
    data = "\r\n".join(['"Internal - All"', header, *(f"https://a.example{row}" for row in rows)])
    loop = "redirect loop, or too many redirects"
    expected = [
        {
            "url": f"{SITE}/",
            "requested_at": datetime(2026, 11, 1, 9, 30, tzinfo=UTC),
            "content_type": "text/html",
            "canonical": f"{SITE}/",
            "last_modified": datetime(2026, 3, 5, 10, tzinfo=UTC),
            "title": "Home\nof A",
            "indexable": True,
        },
        {
            "url": f"{SITE}/1",
            "status": 404,
            "redirects": (f"{SITE}/2", f"{SITE}/missing"),
            "redirect_statuses": (301, 302),
            "final_url": f"{SITE}/missing",
            "indexable": False,
        },
        {
            "url": f"{SITE}/2",
            "status": 404,
            "redirects": (f"{SITE}/missing",),
            "redirect_statuses": (302,),
            "final_url": f"{SITE}/missing",
            "indexable": False,
        },
        {"url": f"{SITE}/b", **UNREQUESTED, "error": "Blocked by robots.txt", "indexable": False},
        {
            "url": f"{SITE}/c",
            "content_type": "text/html",
            "x_robots_tag": "none",
            "meta_robots": "noindex, nofollow",
            "canonical": f"{SITE}/",
            "title": "Page not found | A",
            "soft_404": "Page not found | A",
            "indexable": False,
        },
        {
            "url": f"{SITE}/loop",
            "status": None,
            "final_url": None,
            "error": loop,
            "redirects": (f"{SITE}/loop",),
            "redirect_statuses": (301,),
        },
        {
            "url": f"{SITE}/missing",
            "status": 404,
            "content_type": "text/html",
            "title": "Page not found",
            "indexable": False,
        },
        {
            "url": f"{SITE}/round",
            "status": None,
            "final_url": None,
            "error": loop,
            "redirects": (f"{SITE}/trip", f"{SITE}/round"),
            "redirect_statuses": (302, 302),
        },
        {"url": f"{SITE}/s", "status": None, "final_url": None, "error": "Connection Timeout", "indexable": False},
        {
            "url": f"{SITE}/trip",
            "status": None,
            "final_url": None,
            "error": loop,
            "redirects": (f"{SITE}/round", f"{SITE}/trip"),
            "redirect_statuses": (302, 302),
        },
        {"url": f"{SITE}/u", **UNREQUESTED, "error": "no response"},
    ]
    assert pages_of(written(tmp_path, data)) == expected
    assert pages_of(written(tmp_path, b"\xff\xfe" + data.encode("utf-16-le"))) == expected


def test_sitebulb(tmp_path: Path) -> None:
    lines = [
        "URL,Scheme,HTTP Status Code,HTTP Status,Content Type,Title,Indexable Status,Noindex,Canonical URL,",
        "https://a.example/,https,200,OK,text/html,A,Indexable,No,https://a.example/,",
        "https://a.example/b,https,200,OK,text/html,--,Not Indexable,Yes,--,",
        "https://a.example/c,https,--,Timeout,--,--,--,--,--,",
    ]
    assert pages_of(written(tmp_path, "\r\n".join(lines).encode("utf-8-sig"))) == [
        {"url": f"{SITE}/", "content_type": "text/html", "title": "A", "canonical": f"{SITE}/", "indexable": True},
        {"url": f"{SITE}/b", "content_type": "text/html", "meta_robots": "noindex", "indexable": False},
        {"url": f"{SITE}/c", "status": None, "final_url": None, "error": "Timeout"},
    ]


def test_advertools(tmp_path: Path) -> None:
    data = """
        {"url": "https://a.example/new", "status": 200, "title": "A@@B", "canonical": "/new@@/other",
         "redirect_urls": "https://a.example/old@@https://a.example/mid", "redirect_reasons": "301@@302",
         "resp_headers_X-Robots-Tag": "noindex", "resp_headers_Last-Modified": "Thu, 05 Mar 2026 10:00:00 GMT",
         "meta_robots": "nofollow@@none", "resp_headers_Content-Type": "text/html",
         "crawl_time": "2026-11-01 09:30:00", "h1": "x"}
        {"url": "https://a.example/z", "errors": "TimeoutError()", "crawl_time": "2026-11-01 09:30:00"}
    """.replace("\n         ", " ")
    crawled = {"requested_at": datetime(2026, 11, 1, 9, 30, tzinfo=UTC)}
    page = {
        **crawled,
        "content_type": "text/html",
        "x_robots_tag": "noindex",
        "meta_robots": "nofollow, none",
        "last_modified": datetime(2026, 3, 5, 10, tzinfo=UTC),
        "title": "A",
    }
    assert pages_of(written(tmp_path, data, "crawl.jl")) == [
        {"url": f"{SITE}/new", **page, "canonical": f"{SITE}/new"},
        {
            "url": f"{SITE}/old",
            **page,
            "redirects": (f"{SITE}/mid", f"{SITE}/new"),
            "redirect_statuses": (301, 302),
            "final_url": f"{SITE}/new",
            "canonical": f"{SITE}/new",
        },
        {"url": f"{SITE}/z", **crawled, "status": None, "final_url": None, "error": "TimeoutError()"},
    ]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        pytest.param("URL;HTTP Status Code;Indexable\nhttps://a.example/;404;No", {"indexable": False}, id="semicolon"),
        pytest.param("url\tstatus\nhttps://a.example/\t404.0\n", {}, id="tabs"),
        pytest.param("Adresse,Code HTTP,Indexabilité\nhttps://a.example/,404,Non indexable\n", {"indexable": False},
                     id="french"),
        pytest.param("Dirección,Código de respuesta,Respuesta\nhttps://a.example/,404,OK\n", {}, id="spanish"),
        pytest.param("Adresse,Statuscode,Indexierbarkeit\nhttps://a.example/,404,Nicht indexierbar\n",
                     {"indexable": False}, id="german"),
        pytest.param("sep=;\n\nurl;status\nhttps://a.example/;404\n", {}, id="lines before the header"),
        pytest.param('"All, of it"\nurl,status\r\nhttps://a.example/,404\r\n', {}, id="line ends of a title differ"),
        pytest.param("url,status\nhttps://a.example/,404 Not Found\nmailto:a,200\n", {}, id="not a URL"),
        pytest.param("url,status\nhttps://a.example/,404", {}, id="no line end"),
        pytest.param('"url\n",status\nhttps://a.example/,404\n', {}, id="line end in the header"),
        pytest.param("url,Status Code,Status,url\nhttps://a.example/,404,OK,x\n", {}, id="column twice"),
    ],
)  # fmt: skip
def test_tables(text: str, facts: dict[str, Any], tmp_path: Path) -> None:
    assert pages_of(written(tmp_path, text)) == [{"url": f"{SITE}/", "status": 404, **facts}]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(PLAIN.encode("utf-8-sig"), id="BOM"),
        pytest.param(PLAIN.encode("utf-16"), id="UTF-16"),
        pytest.param(PLAIN.encode("utf-16-be"), id="UTF-16 without a BOM"),
        pytest.param(
            (PLAIN + "https://a.example/\x81\xe9,200\n").replace("/\x81", "/").encode("latin-1"), id="Latin 1"
        ),
        pytest.param(gzip.compress(PLAIN.encode()), id="gzip"),
        pytest.param(bz2.compress(PLAIN.encode()), id="bzip2"),
        pytest.param(gzip.compress(PLAIN.encode("utf-16")), id="UTF-16 in gzip"),
        pytest.param(b'[{"url": "https://a.example/", "status": "200"}]', id="JSON"),
    ],
)
def test_encodings_and_compressions(data: bytes, tmp_path: Path) -> None:
    assert pages_of(written(tmp_path, data, "it's an export"))[0] == {"url": f"{SITE}/"}


def test_parquet(tmp_path: Path) -> None:
    table = pa.table({'the "page"': [f"{SITE}/"], "status": pa.array([200], pa.int16()), "other": [[1]]})
    pq.write_table(table, tmp_path / "export.parquet")
    assert pages_of(tmp_path / "export.parquet", url='the "page"') == [{"url": f"{SITE}/"}]


def test_columns_that_the_user_names(tmp_path: Path) -> None:
    path = written(tmp_path, "Seite,HTTP,canonical,Kanonisch\nhttps://a.example/,200,x,https://a.example/b\n")
    assert pages_of(path, url="seite", status="HTTP", canonical="Kanonisch") == [
        {"url": f"{SITE}/", "canonical": f"{SITE}/b"}
    ]


WHOLE = gzip.compress(PLAIN.encode() * 1000)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", "the file is empty", id="empty"),
        pytest.param(b" \n\n", "the file is empty", id="blank"),
        pytest.param(b"url,status\n", "the file has a header, but no rows", id="only a header"),
        pytest.param(b"url,status\nA,200\n", "no row has a URL in the column 'url'", id="no URL"),
        pytest.param(
            b"Source,Destination\na,b\n",
            "no column of the url and the status was recognized; name the columns with --crawl-column FIELD=COLUMN, "
            "for example --crawl-column url=COLUMN --crawl-column status=COLUMN. The columns are: Source, Destination",
            id="other table",
        ),
        pytest.param(
            b"url,title\nhttps://a.example/,A\n",
            "no column of the status was recognized; name the columns with --crawl-column FIELD=COLUMN, for example "
            "--crawl-column status=COLUMN. The columns are: url, title",
            id="no status",
        ),
        pytest.param(
            b"Address,Status\nhttps://a.example/,OK\n",
            "the column 'Status' has no HTTP status, but 'OK'; name the columns with --crawl-column FIELD=COLUMN, for "
            "example --crawl-column status=COLUMN",
            id="status as text",
        ),
        pytest.param(
            b"Seite,Status\nhttps://a.example/,OK\n",
            "no column of the url was recognized, and the column 'Status' has no HTTP status, but 'OK'; name the "
            "columns with --crawl-column FIELD=COLUMN, for example --crawl-column url=COLUMN "
            "--crawl-column status=COLUMN. The "
            "columns are: Seite, Status",
            id="no URL and the status as text",
        ),
        pytest.param(
            b"url,title,status\nhttps://a.example/,A,200\nhttps://a.exa",
            "line 3: 1 instead of 3 columns; if it is the last line, export the crawl again",
            id="cut in a row",
        ),
        pytest.param(
            b'url,status,title\nhttps://a.example/,200,"A\nhttps://a.example/b,200,',
            "line 2: a quotation mark is not closed; if it is the last line, export the crawl again",
            id="cut in a quoted text",
        ),
        pytest.param(
            PLAIN.encode("utf-16")[:-1],
            "it is not valid utf-16-le; it may be cut: export the crawl again",
            id="cut in a character",
        ),
        pytest.param(
            b"url,status\r\nhttps://a.example/,200\nhttps://a.example/b,200\r\n",
            "line ends differ, or a quotation mark is in the wrong place; export the crawl again",
            id="mixed line ends",
        ),
        pytest.param(b"PK\x03\x04xl/workbook.xml", "it is a ZIP archive or an Excel workbook; unpack it, or save the "
                     "sheet as CSV", id="workbook"),
        pytest.param(b"<!DOCTYPE html><html>", "it is neither CSV, nor JSON Lines, nor Parquet", id="web page"),
        pytest.param(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "it is neither CSV, nor JSON Lines, nor Parquet", id="picture"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_read(data: bytes, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, data)
    with pytest.raises(CrawlExportError) as raised:
        CrawlExport(str(path))
    assert str(raised.value) == f"{path}: {message}"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        pytest.param("a.gz", WHOLE[:-20], id="gzip"),
        pytest.param("a.jsonl", b'{"url": "https://a.example/", "status": 200}\n{"url": "https://a', id="JSON Lines"),
        pytest.param("a.parquet", b"PAR1\0\0\0", id="Parquet"),
    ],
)
def test_files_that_are_cut(name: str, data: bytes, tmp_path: Path) -> None:
    path = written(tmp_path, data, name)
    with pytest.raises(CrawlExportError, match=name):
        CrawlExport(str(path))


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(CrawlExportError, match=r"none\.csv: there is no such file$"):
        CrawlExport(str(tmp_path / "none.csv"))
    with pytest.raises(CrawlExportError, match=r"it is a folder; name the file of the crawl export$"):
        CrawlExport(str(tmp_path))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        pytest.param({"status": "Code"}, "no column 'Code' for status; the columns are: url, status", id="column"),
    ],
)  # fmt: skip
def test_columns_that_do_not_exist(columns: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(CrawlExportError, match=message):
        CrawlExport(str(written(tmp_path, PLAIN)), columns)


def test_many_rows_of_one_page(tmp_path: Path) -> None:
    rows = [f"https://a.example/{at % 2},301,https://a.example/{(at + 1) % 2}" for at in range(5_000)]
    pages = pages_of(written(tmp_path, "\n".join(["url,status,redirect_url", *rows])))
    assert len(pages) == 5_000
    assert {len(page["redirects"]) for page in pages} == {2}


def test_temporary_files_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with CrawlExport(str(written(tmp_path, gzip.compress(PLAIN.encode())))):
        assert len([*tmp_path.iterdir()]) == 2
    with pytest.raises(CrawlExportError):
        CrawlExport(str(written(tmp_path, b"")))
    assert [one.name for one in tmp_path.iterdir()] == ["export.csv"]
