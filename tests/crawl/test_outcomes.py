"""Every error of a document has its own outcome and reason, and affects no other document."""

from __future__ import annotations

import gzip
import random
import socket
import sys
import zlib
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import brotli
import pytest

from tests.site import Manner, Page, gzipped, index, moved, numbered, robots, urlset

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from pathlib import Path

BAD = {
    "/404.xml": (Page(status=404), "absent", "HTTP 404: the server has no such document"),
    "/410.xml": (Page(status=410), "absent", "HTTP 410: the document is permanently gone"),
    "/401.xml": (Page(status=401), "blocked", "HTTP 401: the server requires a login"),
    "/403.xml": (Page(status=403), "blocked", "HTTP 403: the server refuses access"),
    "/429.xml": (Page(status=429), "blocked", "HTTP 429: too many requests"),
    "/500.xml": (Page(urlset("/no"), status=500), "failed", "HTTP 500: the server failed"),
    "/204.xml": (Page(status=204), "failed", "HTTP 204: the server sent no content"),
    "/html.xml": (
        Page("<!doctype html><html><body>Hello</body></html>"),
        "not-a-sitemap",
        "the document is a web page",
    ),
    "/other.xml": (
        Page("<?xml version='1.0'?><svg/>"),
        "not-a-sitemap",
        "the document is XML, but not a sitemap or a feed",
    ),
    "/json.xml": (Page('{"urls": []}'), "not-a-sitemap", "not a list of URLs"),
    "/junk.xml.gz": (Page(b"\x1f\x8bjunk"), "failed", "the document cannot be decompressed (unpack/unreadable)"),
    "/empty.xml": (Page(b""), "not-a-sitemap", "the document is empty"),
    "/truncated.xml": (Page(urlset("/t1", "/t2")[:-30]), "partial", "xml/truncated"),
    "/reset.xml": (Page(manner=Manner.RESET), "failed", "the connection failed: Connection to the other side was lost"),
    "/hang.xml": (Page(manner=Manner.HANG), "failed", "no response within the timeout"),
    "/cut.xml": (
        Page(urlset(*numbered(400, prefix="/c")), manner=Manner.CUT),
        "partial",
        "the connection was closed early",
    ),
}


@pytest.mark.quick
@pytest.mark.case(28, 30, 39, 41, 47, 48, 49, 52, 53, 116, 123, 125)
def test_each_bad_document_has_its_own_outcome_and_the_good_ones_are_read(serve, crawl):
    gone = _closed_port()
    site = serve({path: page for path, (page, _, _) in BAD.items()})
    packed = gzipped("\n".join(f"{site.url}/z{number}" for number in range(20_000)))
    site.pages |= {
        "/robots.txt": robots("/index.xml", gone, "http://no-such-host.invalid/sitemap.xml", disallow=["/forbidden"]),
        "/index.xml": index("/first.xml", *BAD, "/forbidden.xml", "/cut.txt.gz", "/bomb.xml.gz",
                            "file:///etc/hostname", "ftp://127.0.0.1/x.xml", "http://127.0.0.9/x.xml", "/last.xml"),
        "/first.xml": urlset("/1"),
        "/last.xml": urlset("/2"),
        "/cut.txt.gz": packed[: len(packed) // 2],
        "/bomb.xml.gz": _bomb(),
    }  # fmt: skip

    run = crawl(
        site=site.url,
        settings={"SITEMAP_HARVEST_MAX_RATIO": 100, "SITEMAP_HARVEST_PRIVATE": True, "TEST_HANGING": "/hang.xml"},
        calm=False,
    )

    assert "Traceback" not in run.log, run.log
    rows = {row["url"].removeprefix(site.url): row for row in run.ledger}
    for path, (_, outcome, words) in BAD.items():
        assert (path, rows[path]["outcome"]) == (path, outcome)
        assert words in rows[path]["reason"]
        assert not rows[path]["complete"]
    fates = run.fates(site.url)
    assert fates["/index.xml"] == fates["/first.xml"] == fates["/last.xml"] == "read"
    assert fates["/forbidden.xml"] == "forbidden"
    strangers = ("file:///etc/hostname", "ftp://127.0.0.1/x.xml", "http://127.0.0.9/x.xml")
    assert {fates[url] for url in strangers} == {"out-of-scope"}
    assert (fates[gone], rows[gone]["reason"]) == ("failed", "the host refuses the connection")
    lost = "http://no-such-host.invalid/sitemap.xml"
    assert (fates[lost], rows[lost]["reason"]) == ("failed", "no such host: DNS cannot resolve the name")
    assert fates["/bomb.xml.gz"] == "too-large"
    assert "the part before the limit was read" in rows["/bomb.xml.gz"]["reason"]
    assert (fates["/cut.txt.gz"], rows["/cut.txt.gz"]["reason"]) == (
        "partial",
        "the document is incomplete (unpack/truncated, text/truncated)",
    )

    locs = [loc.removeprefix(site.url) for loc in run.locs]
    assert {"/1", "/2", "/t1"} <= set(locs)
    assert "/no" not in locs
    kept = [loc for loc in locs if loc.startswith("/c")]
    assert kept == numbered(len(kept), prefix="/c")
    assert 150 < len(kept) < 250  # the entries before the cut, and no partial URL
    unpacked = [loc for loc in locs if loc.startswith("/z")]
    assert unpacked == [f"/z{number}" for number in range(len(unpacked))]
    assert 5_000 < len(unpacked) < 15_000
    assert len(run.ledger) == run.stats["sitemap_harvest/documents"]


def test_more_bytes_than_download_maxsize_is_too_large(serve, crawl):
    large = urlset(*numbered(3_000, prefix="/a-rather-long-path-to-fill-the-file/"))
    site = serve({
        "/robots.txt": robots("/large.xml", "/small.xml"),
        "/large.xml": large,
        "/small.xml": urlset("/1"),
    })  # fmt: skip
    run = crawl(site=site.url, settings={"DOWNLOAD_MAXSIZE": 100_000}, calm=False)
    assert run.locs == [f"{site.url}/1"]
    row = run.row(f"{site.url}/large.xml")
    assert (row["outcome"], row["reason"]) == ("too-large", "the document is larger than DOWNLOAD_MAXSIZE")


_NOISE = random.Random(2)
_LINES = "".join(f"https://www.example.com/{_NOISE.getrandbits(256):x}\n" for _ in range(2_000)).encode()


@pytest.mark.case(45, 46)
@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzipped),
        ("X-GZIP", gzipped),
        ("deflate", zlib.compress),
        ("deflate", lambda body: zlib.compress(body, wbits=-15)),
        ("br", brotli.compress),
        ("zstd", zstd.compress),
        ("gzip, br", lambda body: brotli.compress(gzipped(body))),
        ("gzip", bytes),
        ("br", bytes),
        ("none-of-these", bytes),
    ],
    ids=["gzip", "x-gzip", "deflate", "raw-deflate", "br", "zstd", "gzip-and-br", "gzip-lies", "br-lies", "unknown"],
)
def test_content_encodings_are_decoded_and_a_truncated_one_is_partial(encoding, pack, serve, crawl):
    packed, headers = pack(_LINES), {"Content-Encoding": encoding}
    names = b"Sitemap: /whole.txt\nSitemap: /cut.txt"
    site = serve({
        "/robots.txt": Page(pack(names), headers=headers if packed != _LINES else {}),
        "/whole.txt": Page(packed, headers=headers),
        "/cut.txt": Page(packed[: len(packed) * 9 // 10], headers=headers),
    })  # fmt: skip
    run = crawl(site=site.url, settings={"ROBOTSTXT_OBEY": True})
    wanted = _LINES.decode().split()
    whole, cut = run.row(f"{site.url}/whole.txt"), run.row(f"{site.url}/cut.txt")
    assert (whole["outcome"], whole["entries"], whole["layers"], whole["problems"]) == ("read", 2_000, [], [])
    assert (whole["bytes_downloaded"], whole["bytes_unpacked"]) == (len(packed), len(_LINES))
    if packed != _LINES:
        assert (cut["outcome"], cut["complete"]) == ("partial", False)
        assert set(run.locs) <= set(wanted)
        assert 0 < cut["entries"] < 2_000


@pytest.mark.quick
@pytest.mark.case(35, 41)
def test_a_document_compressed_twice_and_a_bomb_in_a_content_encoding(serve, crawl):
    headers = {"Content-Encoding": "gzip"}
    site = serve({
        "/robots.txt": robots("/twice.txt.gz", "/once.txt.gz", "/bomb.xml"),
        "/twice.txt.gz": Page(gzipped(gzipped(_LINES)), headers=headers),
        "/once.txt.gz": Page(gzipped(_LINES), headers=headers),
        "/bomb.xml": Page(gzipped(bytes(20_000_000)), headers=headers),
    })  # fmt: skip
    run = crawl(site=site.url)
    assert run.row(f"{site.url}/twice.txt.gz")["layers"] == ["gzip"]
    assert run.row(f"{site.url}/once.txt.gz")["layers"] == []
    assert len(run.locs) == 4_000
    assert run.row(f"{site.url}/bomb.xml")["outcome"] == "too-large"


def test_a_robots_txt_that_is_too_large_is_not_forbidden(serve, crawl):
    site = serve({"/robots.txt": "#" * 200_000})
    run = crawl(site=site.url, settings={"DOWNLOAD_MAXSIZE": 100_000}, calm=False)
    assert run.row(f"{site.url}/robots.txt")["outcome"] == "too-large"


@pytest.mark.case(51, 57)
def test_responses_that_are_neither_document_nor_error_have_failed(serve, crawl):
    site = serve({
        "/index.xml": index("/302.xml", "/304.xml", "/999.xml", "/round.xml"),
        "/302.xml": Page(status=302),
        "/304.xml": Page(status=304),
        "/999.xml": Page("x", status=999),
        "/round.xml": moved("/back.xml"),
        "/back.xml": moved("/round.xml"),
    })  # fmt: skip
    run = crawl(sitemap=f"{site.url}/index.xml", settings={"REDIRECT_MAX_TIMES": 4})
    fates = run.fates(site.url)
    assert fates.pop("/index.xml") == "read"
    assert set(fates.values()) == {"failed"}
    assert [run.row(f"{site.url}/{status}.xml")["status"] for status in (302, 304, 999)] == [302, 304, 999]


def test_an_address_that_needs_escaping_is_read(serve, crawl):
    site = serve({
        "/index.xml": index("/zwei-käse.xml", "/two words.xml"),
        "/zwei-k%C3%A4se.xml": urlset("/1"),
        "/two%20words.xml": urlset("/2"),
    })  # fmt: skip
    run = crawl(sitemap=f"{site.url}/index.xml")
    assert sorted(run.locs) == [f"{site.url}/1", f"{site.url}/2"]


def test_files_that_cannot_be_read_have_a_reason(crawl, tmp_path):
    good = tmp_path / "good file.xml"
    good.write_text(urlset("https://a.example/1"))
    (tmp_path / "closed.xml").write_text(urlset("https://a.example/2"))
    (tmp_path / "closed.xml").chmod(0)
    links = tmp_path / "index.xml"
    links.write_text(index(good.as_uri()))
    names = [str(tmp_path / name) for name in ("missing.xml", "closed.xml", "index.xml")] + [str(tmp_path)]
    run = crawl(sitemap=" ".join([*names, good.as_uri()]))
    fates = run.fates(tmp_path.as_uri())
    assert fates.pop("/closed.xml") == ("failed" if not _may_read_all(tmp_path / "closed.xml") else "read")
    assert fates == {"/missing.xml": "absent", "": "failed", "/index.xml": "read", "/good%20file.xml": "read"}
    assert run.row(f"{tmp_path.as_uri()}/missing.xml")["reason"] == "there is no such file"
    assert run.row(tmp_path.as_uri())["reason"].startswith("the path is a folder, not a file; to read it ")
    assert "https://a.example/1" in run.locs
    assert "retry/count" not in run.stats


@pytest.mark.case(28, 115)
def test_a_file_is_never_read_because_a_document_names_it(serve, crawl, tmp_path):
    secret = tmp_path / "secret.xml"
    secret.write_text(urlset("https://a.example/secret"))
    site = serve({
        "/robots.txt": robots(secret.as_uri(), "/index.xml", "/moved.xml"),
        "/index.xml": index(secret.as_uri(), secret.as_uri().replace("file:///", "FILE:/")),
        "/moved.xml": Page(status=302, headers={"Location": secret.as_uri()}),
    })  # fmt: skip
    run = crawl(site=site.url)
    assert run.urls == []
    assert run.row(secret.as_uri())["outcome"] == "out-of-scope"
    assert run.row(f"{site.url}/moved.xml")["outcome"] != "read"


@pytest.mark.case(25)
@pytest.mark.parametrize("status", [503, 200])
def test_a_failing_robots_txt_stops_nothing(serve, crawl, status):
    manner = Manner.RESET if status == 200 else Manner.WHOLE
    site = serve({"/robots.txt": Page(status=status, manner=manner), "/s.xml": urlset("/1")})
    run = crawl(sitemap=f"{site.url}/s.xml", site=site.url, calm=False)
    assert run.locs == [f"{site.url}/1"]
    assert run.row(f"{site.url}/robots.txt")["outcome"] == "failed"
    assert "Traceback" not in run.log


def _closed_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/s.xml"


def _bomb() -> bytes:
    """Return 100 MiB of a sitemap in 100 KB: 1000 to 1."""
    head = urlset("/bomb")[: -len("</urlset>\n")].encode()
    return gzip.compress(head + b" " * (100 * 1024 * 1024), compresslevel=9)


def _may_read_all(path: Path) -> bool:
    try:
        path.read_bytes()
    except PermissionError:
        return False
    return True  # as root may


def test_rules_of_a_host_apply_to_all_its_documents_that_are_requested_at_once(serve, crawl, tmp_path):
    site = serve({"/robots.txt": Page(robots(disallow=["/no"]), delay=0.5), "/yes.xml": urlset("/1")})
    site.pages |= {path: urlset("/no") for path in numbered(6, prefix="/no")}
    saved = tmp_path / "index.xml"
    saved.write_text(index(*numbered(6, prefix="/no"), "/yes.xml").replace("{site}", site.url))
    run = crawl(sitemap=saved, settings={"SITEMAP_HARVEST_PRIVATE": True})
    assert run.locs == [f"{site.url}/1"]
    assert {path: run.fates(site.url)[path] for path in numbered(6, prefix="/no")} == dict.fromkeys(
        numbered(6, prefix="/no"), "forbidden"
    )
    assert site.requests == ["/robots.txt", "/yes.xml"]


@pytest.mark.parametrize("kind", [urlset, index])
@pytest.mark.parametrize("part", ["FailsAtOnce", "FailsAtFirst", "LooksAway"])
def test_a_spider_middleware_that_stops_reading_a_document_does_not_block_the_run(serve, crawl, part, kind):
    site = serve(
        {"/robots.txt": robots("/bad.xml", "/good.xml"), "/bad.xml": kind("/b.xml"), "/good.xml": urlset("/1")}
    )
    site.pages["/b.xml"] = urlset("/2")
    run = crawl(site=site.url, settings={"SPIDER_MIDDLEWARES": {f"tests.crawl.parts.{part}": 100}}, calm=False)
    assert run.reason == "finished"
    assert f"{site.url}/1" in run.locs
    row = run.row(f"{site.url}/bad.xml")
    assert row["outcome"] == "failed"
    words = (
        "did not consume the document's output"
        if part == "LooksAway"
        else "the project's code failed: ValueError('not this"
    )
    assert words in row["reason"]
    assert len(run.ledger) == run.stats["sitemap_harvest/documents"]


@pytest.mark.case(50)
@pytest.mark.parametrize(
    "home", ["<!doctype html><html><title>Welcome</title><p>Hello.</p></html>", ""], ids=["page", "empty"]
)
def test_a_sitemap_that_redirects_to_the_home_page_is_no_sitemap(serve, crawl, home):
    site = serve(
        {"/index.xml": index("/old.xml", "/new.xml"), "/old.xml": moved("/"), "/new.xml": urlset("/1"), "/": home}
    )
    run = crawl(sitemap=f"{site.url}/index.xml")
    assert run.locs == [f"{site.url}/1"]
    row = run.row(f"{site.url}/old.xml")
    assert (row["outcome"], row["final_url"], row["complete"]) == ("not-a-sitemap", f"{site.url}/", False)


@pytest.mark.case(59)
def test_a_server_that_supports_only_get_is_read(serve, crawl):
    site = serve({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/1")})
    with pytest.raises(HTTPError, match="501"):
        urlopen(Request(f"{site.url}/s.xml", method="HEAD"), timeout=5)
    assert crawl(site=site.url).locs == [f"{site.url}/1"]


@pytest.mark.case(48, 123)
def test_bodies_with_an_error_status_are_never_read(serve, crawl):
    challenge = "<!doctype html><title>Just a moment...</title><a href='{site}/no'>no</a>"
    fates = {403: "blocked", 429: "blocked", 404: "absent", 503: "failed"}
    bodies = {"page": challenge, "sitemap": urlset("/no"), "index": index("/no.xml")}
    pages = {f"/{n}-{name}.xml": Page(body, status=n) for n in fates for name, body in bodies.items()}
    site = serve({"/index.xml": index(*pages, "/good.xml"), "/good.xml": urlset("/1"), **pages})
    run = crawl(sitemap=f"{site.url}/index.xml", calm=False)
    assert run.locs == [f"{site.url}/1"]
    assert {path: run.fates(site.url)[path] for path in pages} == {path: fates[int(path[1:4])] for path in pages}
    assert not any(run.row(f"{site.url}{path}")["complete"] for path in pages)
    assert site.count("/no.xml") == 0


@pytest.mark.parametrize(("fast_path", "outcome"), [(False, "read"), (True, "failed")])
def test_the_fast_path_reads_nothing_if_the_setting_turns_it_off(serve, crawl, fast_path, outcome):
    site = serve({"/s.xml": urlset("/a", "/b")})
    settings = {"SITEMAP_HARVEST_FAST_PATH": fast_path, "EXTENSIONS": {"tests.crawl.parts.FastPathFails": 0}}
    run = crawl(sitemap=f"{site.url}/s.xml", settings=settings, calm=not fast_path)
    assert run.fates(site.url) == {"/s.xml": outcome}
    assert run.locs == ([] if fast_path else [f"{site.url}/a", f"{site.url}/b"])
