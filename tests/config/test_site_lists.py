from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sitemap_harvest.config.site_lists import FileKind, entries, host_in, kind_of_file, text_of, without_typo

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.quick

SITES, DOCUMENT, MIXED, HOME_PAGES = FileKind.SITES, FileKind.DOCUMENT, FileKind.MIXED, FileKind.HOME_PAGES
TABLE = FileKind.TABLE


@pytest.mark.parametrize(
    ("body", "kind", "listed"),
    [
        pytest.param(b"a.example\nwww.b.example\n", SITES, ["a.example", "www.b.example"], id="hosts"),
        pytest.param(b"a.example\n", SITES, ["a.example"], id="one-host"),
        pytest.param(b"localhost:8000\n10.0.0.1\n", SITES, ["localhost:8000", "10.0.0.1"], id="local"),
        pytest.param("пример.рф\nbücher.de/\n".encode(), SITES, ["пример.рф", "bücher.de/"], id="international"),
        pytest.param(
            b"https://a.example\nhttps://b.example/\n", SITES, ["https://a.example", "https://b.example/"], id="homes"
        ),
        pytest.param(b"https://a.example/\nb.example\n", SITES, ["https://a.example/", "b.example"], id="both"),
        pytest.param(
            b"\xef\xbb\xbfa.example\r\n\r\n# x\r\nb.example # y\r\n", SITES, ["a.example", "b.example"], id="bom"
        ),
        pytest.param("a.example\nb.de\n".encode("utf-16"), SITES, ["a.example", "b.de"], id="utf-16"),
        pytest.param(b"a.example\rb.example", SITES, ["a.example", "b.example"], id="cr"),
        pytest.param(b"1,a.example\n2,b.co.uk\n", SITES, ["a.example", "b.co.uk"], id="csv"),
        pytest.param(
            b'"Rank","Root Domain","Links"\n"1","a.example","1,000"\n"2","b.example","9"\n',
            SITES,
            ["a.example", "b.example"],
            id="csv-header-quotes",
        ),
        pytest.param(b"Domain\na.example\nb.example\n", SITES, ["a.example", "b.example"], id="column-header"),
        pytest.param(
            b"https://a.example;5\nhttps://b.example;6\n",
            SITES,
            ["https://a.example", "https://b.example"],
            id="homes-csv",
        ),
        pytest.param(b"a.example\nnot a host\nb.example\n", SITES, ["a.example", "not a host", "b.example"], id="flaw"),
        pytest.param(
            b"rank,name\n1,a.example\n2,b.example\n3,\n4,\n5,\n", SITES, ["a.example", "b.example"], id="blank-cells"
        ),
        pytest.param(
            b"rank,domain,visits\n1,a.example,9\n2,b.example,5\n3,?,1\n4,n/a,2\n5\n",
            DOCUMENT,
            ["a.example", "b.example", "?", "n/a", "5"],
            id="named-column-of-flaws",
        ),
        pytest.param(
            b"a.example,x\nb.example,y\nnothing\n", SITES, ["a.example", "b.example", "nothing"], id="short-row"
        ),
        pytest.param(
            b"domain,parent\na.example,\nb.example,a.example\nc.example,\n",
            SITES,
            ["a.example", "b.example", "c.example"],
            id="sparse-second-column",
        ),
        pytest.param(b"https://a.example/\n", HOME_PAGES, ["https://a.example/"], id="one-home"),
        pytest.param(b"https://a.example/x\nb.example\n", MIXED, ["https://a.example/x", "b.example"], id="pages"),
        pytest.param(b"a.example/x\nb.example\n", MIXED, ["a.example/x", "b.example"], id="pages-without-scheme"),
        pytest.param(
            b"https://a.example/x,a.example\nhttps://b.example/y,b.example\n",
            MIXED,
            ["a.example", "b.example"],
            id="columns",
        ),
        pytest.param(
            b"https://a.example\nhttps://b.example/\nhttps://a.example/x\n",
            MIXED,
            ["https://a.example", "https://b.example/", "https://a.example/x"],
            id="homes-and-a-page",
        ),
        pytest.param(
            b"https://a.example/\nhttps://b.example/\nhttps://a.example/x\nhttps://a.example/y\nhttps://b.example/z\n",
            DOCUMENT,
            None,
            id="pages-of-several-hosts",
        ),
        pytest.param(b"a.example\nhttp//b.example\n", SITES, ["a.example", "http//b.example"], id="typo"),
        pytest.param(b"https://a.example/\nhttps://a.example/x\n", DOCUMENT, None, id="urls"),
        pytest.param(b"url,lastmod\nhttps://a.example/x,2020-01-01\n", DOCUMENT, None, id="csv-urls"),
        pytest.param(b"a.example/x\na.example/y\n", DOCUMENT, None, id="urls-without-scheme"),
        pytest.param(b"a.xml\nb.xml\n", DOCUMENT, None, id="file-names"),
        pytest.param(b"a.example,b.example\nc.example,d.example\n", TABLE, None, id="two-columns-of-hosts"),
        pytest.param(b"a.example,https://a.example/\n", SITES, ["a.example"], id="two-columns-of-the-same-hosts"),
        pytest.param(b"User-agent: *\nSitemap: https://a.example/s.xml\n", DOCUMENT, None, id="robots"),
        pytest.param(b"<urlset><url><loc>https://a.example/</loc></url></urlset>", DOCUMENT, None, id="xml"),
        pytest.param(b"\x1f\x8b\x08\0\0a.example\n", DOCUMENT, None, id="binary"),
        pytest.param(b"Contact a.example\nor write\nto us\n", DOCUMENT, None, id="prose"),
        pytest.param(b"", DOCUMENT, None, id="empty"),
    ],
)
def test_what_a_file_lists(body: bytes, kind: FileKind, listed: list[str] | None, tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes(body)
    assert kind_of_file(f"{tmp_path}/list") is kind
    if listed is not None:
        assert [entry for _, entry in entries(text_of(f"{tmp_path}/list"))] == listed


def test_lines_keep_their_numbers() -> None:
    assert [*entries("# sites\n\nrank,domain\n1,a.example\n2,b.example\n")] == [(4, "a.example"), (5, "b.example")]


def test_a_spreadsheet_is_a_table(tmp_path: Path) -> None:
    for name, body in {"a.XLSX": b"PK\x03\x04\0\0", "b.xls": b"\xd0\xcf\x11\xe0\0", "c.ods": b"PK\x03\x04\0"}.items():
        (tmp_path / name).write_bytes(body)
        assert kind_of_file(f"{tmp_path}/{name}") is TABLE
    (tmp_path / "sitemaps.zip").write_bytes(b"PK\x03\x04\0\0")
    assert kind_of_file(f"{tmp_path}/sitemaps.zip") is DOCUMENT


@pytest.mark.parametrize(
    ("text", "url"),
    [
        pytest.param("http//a.example/x", "http://a.example/x", id="no-colon"),
        pytest.param("HTTPS:/127.0.0.1:80", "HTTPS://127.0.0.1:80", id="one-slash"),
        pytest.param("http:a.example", "http://a.example", id="no-slashes"),
        pytest.param("http://a.example", None, id="right"),
        pytest.param("http:8000", None, id="port"),
        pytest.param("http/a.xml", None, id="path"),
        pytest.param("httpd.example", None, id="host"),
    ],
)
def test_what_a_scheme_with_a_typo_means(text: str, url: str | None) -> None:
    assert without_typo(text) == url


def test_only_the_start_of_a_large_file_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes(b"".join(b"%d,host-%d.example\n" % (number, number) for number in range(9_000)))
    assert kind_of_file(f"{tmp_path}/list") is SITES
    (tmp_path / "line").write_bytes(b"a.example," * 100_000)
    assert kind_of_file(f"{tmp_path}/line") is DOCUMENT


@pytest.mark.parametrize(
    ("text", "host"),
    [
        pytest.param("www.example.com/s.xml", "www.example.com", id="path"),
        pytest.param("example.co.uk:8000?x", "example.co.uk:8000", id="port"),
        pytest.param("shop.internal", "shop.internal", id="private"),
        pytest.param("sitemap.xml", None, id="file"),
        pytest.param("intranet", None, id="word"),
        pytest.param("1.5", None, id="number"),
    ],
)
def test_file_names_are_not_hosts(text: str, host: str | None) -> None:
    assert host_in(text) == host
