"""Crawls that archive what they download, and crawls that read it again."""

from __future__ import annotations

import gzip
import json
import subprocess
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from warcio.checker import Checker

from tests import forked
from tests.archive import foreign
from tests.archive.records import http, packed, record
from tests.crawl.flood import Flood
from tests.rings import some_quick
from tests.services import programs
from tests.site import Manner, Page, gzipped, in_turn, index, moved, numbered, robots, unless, urlset
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.crawl.crawling import Run, Runner

FEED = '<rss version="2.0"><channel><title>t</title><item><link>{site}/new</link></item></channel></rss>'
MAXSIZE = 60_000
NAMES = "tests.crawl.parts.LocalNames"
NO_NETWORK = {"tests.crawl.parts.NoNetwork": 0}
CHUNK = urlset("https://www.example.com/chunk")
NAMED = (
    "index", "feed", "moved", "gone", "broken", "cut", "cut-packed", "loop", "large", "later", "closed", "lies", "page",
    "chunked", "private/x", "far", "wall",
)  # fmt: skip
ENCODED = {"Content-Encoding": "gzip", "Content-Type": "text/xml; charset=utf-8"}
PAGES: dict[str, Any] = {
    "/robots.txt": robots(*(f"/{name}.xml" for name in NAMED), disallow=["/private/"]),
    "/index.xml": index("/1.xml", "/2.xml.gz", "/3.xml"),
    "/1.xml": urlset(*numbered(5)),
    "/2.xml.gz": gzipped(urlset("https://www.example.com/2")),
    "/3.xml": Page(gzipped(urlset("https://www.example.com/3")), headers=ENCODED),
    "/feed.xml": FEED,
    "/moved.xml": moved("/to.xml"),
    "/to.xml": urlset("/to"),
    "/broken.xml": Page("broken", status=500),
    "/cut.xml": Page(urlset(*numbered(50)), manner=Manner.CUT),
    "/cut-packed.xml": Page(gzipped(urlset(*numbered(5_000))), headers=ENCODED, manner=Manner.CUT),
    "/loop.xml": moved("/loop.xml"),
    "/large.xml": urlset(*numbered(3_000)),
    "/later.xml": in_turn(Page("later", status=503, headers={"Retry-After": "0"}), urlset("/later")),
    "/closed.xml": Page(manner=Manner.CLOSE),
    "/lies.xml": Page(urlset("/lies"), manner=Manner.LIES_LONGER),
    "/page.xml": "<!doctype html><title>x</title>",
    "/chunked.xml": Page(
        f"{len(CHUNK):x}\r\n{CHUNK}\r\n0\r\n\r\n",
        headers={"Transfer-Encoding": "chunked"},
    ),
    "/wall.xml": Page("no", status=403),
    "/far.xml": moved("http://10.0.0.1/far.xml"),
}
NO_RESPONSES: dict[str, Any] = {
    "/hangs.xml": Page(manner=Manner.HANG),
    "/reset.xml": Page(manner=Manner.RESET),
    "/garbage.xml": Page("x", manner=Manner.GARBAGE),
    "/refused.xml": moved("http://127.0.0.1:1/x.xml"),
    "/nowhere.xml": moved("http://x.gone.test/x.xml"),
}
_OWN = ("seconds", "run")


def checked(folder: Path) -> list[Path]:
    """Return the files of an archive, after warcio has checked them."""
    files = sorted(folder.iterdir())
    check = type("Arguments", (), {"inputs": list(map(str, files)), "verbose": False})()
    assert Checker(check).process_all() == 0
    return files


def results(run: Run) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """Return the URLs of *run*, sorted, and its document records by URL, without what differs between runs."""
    records = {row["url"]: {name: value for name, value in row.items() if name not in _OWN} for row in run.ledger}
    return sorted(map(json.dumps, run.urls)), records


@pytest.mark.quick
def test_an_archived_crawl_is_read_again_with_the_same_results(serve: Any, crawl: Runner, tmp_path: Path) -> None:
    names = (*(f"/{name}.xml" for name in NAMED), *NO_RESPONSES)
    site = serve({**PAGES, **NO_RESPONSES, "/robots.txt": robots(*names, disallow=["/private/"])})
    settings = {"DOWNLOAD_MAXSIZE": MAXSIZE, "RETRY_TIMES": 1, "TEST_HANGING": "hangs", "TWISTED_DNS_RESOLVER": NAMES}
    first = crawl(site=site.url, archive=tmp_path / "raw", settings=settings)
    expected, site.requests[:] = results(first), []
    outcomes = {row["outcome"] for row in first.ledger}
    assert outcomes >= {"read", "partial", "absent", "failed", "blocked", "forbidden", "too-large", "not-a-sitemap"}
    checked(tmp_path / "raw")
    again = crawl(site=site.url, root=tmp_path / "raw", settings={**settings, "EXTENSIONS": NO_NETWORK})
    assert results(again) == expected
    assert site.requests == []
    assert {row["status"] for row in again.ledger if row["url"].endswith("/chunked.xml")} == {200}
    assert "https://www.example.com/chunk" in again.locs
    causes = {row["url"].removeprefix(site.url): row["cause"] for row in again.ledger}
    assert causes["/hangs.xml"] == "timeout"
    assert causes["/nowhere.xml"] == "dns"
    assert causes["/closed.xml"] == causes["/reset.xml"] == "connection"


def test_an_archive_replaces_the_network_for_all_targets(serve: Any, crawl: Runner, tmp_path: Path) -> None:
    one, two = (serve({**PAGES, "/other.xml": urlset("/other")}, host=host) for host in ("127.0.0.1", "127.0.0.2"))
    (tmp_path / "sites.txt").write_text(f"{one.url}\n{two.url}\n")
    targets = {"sites": tmp_path / "sites.txt", "sitemap": f"{two.url}/other.xml"}
    expected = results(crawl(archive=tmp_path / "raw", **targets))
    one.stop()
    two.stop()
    assert results(crawl(root=next((tmp_path / "raw").iterdir()), **targets)) == expected


def test_a_missing_site_is_unreachable_with_the_reason(serve: Any, crawl: Runner, tmp_path: Path) -> None:
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/1")})
    crawl(site=site.url, archive=tmp_path / "raw")
    run = crawl(site="https://other.example", root=tmp_path / "raw", store=tmp_path / "store")
    assert [(row["result"], row["cause"]) for row in run.sites] == [("unreachable", "not-archived")]
    assert run.fates("//other.example")["https://other.example/robots.txt"] == "failed"
    reason = "unreachable (not-archived): /robots.txt: the archive has no capture of it"
    assert f"https://other.example: {reason}" in run.log


def test_heads_are_archived_as_they_were_sent(crawl: Runner, tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 Fine\r\nx-one: 1\r\nVia: a\r\nX-ONE: 2\r\nvia: b\r\nSet-Cookie: a=b\r\n"
    body = gzipped(CHUNK)
    chunked = b"Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    with Flood({"/a.xml": lambda: [head + chunked]}) as site:
        first = results(crawl(sitemap=f"{site.url}/a.xml", archive=tmp_path / "raw"))
        checked(tmp_path / "raw")
    text = gzip.decompress(next((tmp_path / "raw").iterdir()).read_bytes())
    kept = head.replace(b"Set-Cookie: a=b\r\n", b"")
    assert kept + b"X-Crawler-Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n" + body in text
    assert results(crawl(sitemap=f"{site.url}/a.xml", root=tmp_path / "raw")) == first


@pytest.mark.parametrize("site", ["http://x.gone.test", "http://127.0.0.1:1"])
def test_failed_requests_are_read_again(crawl: Runner, tmp_path: Path, site: str) -> None:
    settings = {"TWISTED_DNS_RESOLVER": NAMES}
    first = crawl(site=site, archive=tmp_path / "raw", settings=settings, emit="sitemaps,sites")
    expected = results(first)
    checked(tmp_path / "raw")
    again = crawl(site=site, root=tmp_path / "raw", settings={"EXTENSIONS": NO_NETWORK}, emit="sitemaps,sites")
    assert results(again) == expected
    assert {row["cause"] for row in again.ledger} <= {"dns", "refused"}


@pytest.mark.quick
def test_documents_that_have_not_changed_are_archived_as_such(serve: Any, crawl: Runner, tmp_path: Path) -> None:
    known = unless('"1"', urlset("/known"))
    site = serve({"/robots.txt": robots("/a.xml", "/b.xml"), "/a.xml": known, "/b.xml": urlset("/b")})
    first = crawl(site=site.url, store=tmp_path / "store", archive=tmp_path / "raw")
    at = max(row["fetched_at"] for row in first.ledger)
    site.pages["/b.xml"] = urlset("/b", "/new")
    second = crawl(site=site.url, store=tmp_path / "store", archive=tmp_path / "raw")
    assert second.fates(site.url)["/a.xml"] == "unchanged"
    site.stop()
    texts = [gzip.decompress(path.read_bytes()) for path in checked(tmp_path / "raw")]
    for profile in (b"server-not-modified", b"identical-payload-digest"):
        assert sorted(text.count(b"revisit/" + profile) for text in texts) == [0, 1]
    urls = ["/b", "/known"]
    again = crawl(site=site.url, root=tmp_path / "raw")
    assert sorted(loc.removeprefix(site.url) for loc in again.locs) == [*urls, "/new"]
    assert sorted(loc.removeprefix(site.url) for loc in crawl(site=site.url, root=tmp_path / "raw", at=at).locs) == urls
    stored = crawl(site=site.url, root=tmp_path / "raw", store=tmp_path / "store")
    assert (stored.fates(site.url), stored.changes) == ({**second.fates(site.url), "/b.xml": "unchanged"}, [])


@pytest.mark.quick
def test_credentials_are_not_archived(serve: Any, crawl: Runner, tmp_path: Path) -> None:
    cookie = {"Set-Cookie": "id=hidden", "Location": "{site}/b.xml"}
    site = serve({
        "/robots.txt": robots("/a.xml"), "/a.xml": Page(status=302, headers=cookie), "/b.xml": urlset("/1"),
    })  # fmt: skip
    target = site.url.replace("//", "//me:hidden@")
    headers = {"SITEMAP_HARVEST_SITE_HEADERS": {site.url: {"X-Key": "hidden", "Cookie": "hidden"}}}
    crawl(site=target, archive=tmp_path / "raw", settings=headers)
    assert {site.sent(name)["/b.xml"].pop() for name in ("X-Key", "Cookie")} == {"hidden"}
    text = gzip.decompress(next((tmp_path / "raw").iterdir()).read_bytes())
    assert b"hidden" not in text
    assert f'"site": "{site.url.replace("//", "//***@")}"'.encode() in text


def test_an_archive_is_read_without_waiting(serve: Any, crawl: Runner, tmp_path: Path) -> None:
    again = Page("later", status=503, headers={"Retry-After": "1"})
    site = serve(
        {"/robots.txt": robots("/a.xml", "/b.xml") + "\nCrawl-delay: 40\n", "/a.xml": again, "/b.xml": urlset("/b")}
    )
    settings = {"SITEMAP_HARVEST_MAX_WAIT": 1, "RETRY_TIMES": 1}
    expected = results(crawl(site=site.url, archive=tmp_path / "raw", settings=settings))
    site.stop()
    settings["SITEMAP_HARVEST_MAX_WAIT"] = 3_600
    run = crawl(site=site.url, root=tmp_path / "raw", settings=settings, patience=30)
    assert results(run) == expected
    assert run.row(f"{site.url}/a.xml")["reason"] == "HTTP 503: the server failed"


def test_a_file_of_common_crawl_is_read(crawl: Runner, tmp_path: Path) -> None:
    entries = "".join(f"<url><loc>https://a.example/{number}</loc></url>\n" for number in range(50))
    start, site = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n', "https://a.example"
    crawled = ("X-Crawler-Content-Encoding: gzip", "X-Crawler-Transfer-Encoding: chunked", "Content-Type: text/xml")
    robots_txt = http(f"Sitemap: {site}/a.xml\nSitemap: {site}/b.xml\n", "Content-Type: text/plain")
    content = packed(
        record("software: Nutch\r\n", kind="warcinfo", url=""),
        record("GET / HTTP/1.1\r\n\r\n", kind="request", url=f"{site}/robots.txt"),
        record(robots_txt, url=f"{site}/robots.txt"),
        record("fetchTimeMs: 1\r\n", kind="metadata", url=f"{site}/robots.txt"),
        record(http("", "Location: /c.xml", status="301 Moved Permanently"), url=f"{site}/a.xml"),
        record(http(f"{start}<url><loc>{site}/c</loc></url></urlset>", *crawled), url=f"{site}/c.xml"),
        record(http(start + entries, *crawled), url=f"{site}/b.xml", more="WARC-Truncated: length"),
    )
    (tmp_path / "CC-MAIN.warc.gz").write_bytes(content)
    run = crawl(site=site, root=tmp_path / "CC-MAIN.warc.gz")
    assert run.fates(site) == {"/robots.txt": "read", "/a.xml": "read", "/b.xml": "partial"}
    assert sorted(run.locs) == sorted([f"{site}/c", *(f"{site}/{number}" for number in range(50))])
    assert {row["fetched_at"][:19] for row in run.ledger} == {"2020-01-02T03:04:05"}


@pytest.mark.service
def test_an_archive_of_wget_is_read(serve: Any, crawl: Runner, tmp_path: Path) -> None:
    names = ("robots.txt", "1.xml", "3.xml", "chunked.xml", "moved.xml", "broken.xml")
    site = serve({**PAGES, "/robots.txt": robots(*(f"/{name}" for name in names[1:]))})
    command = [
        programs.wget(),
        "--quiet",
        "--warc-file=w",
        "--output-document=all",
        *(f"{site.url}/{name}" for name in names),
    ]
    subprocess.run(command, cwd=tmp_path, check=False)
    first = crawl(site=site.url)
    expected = sorted(first.locs), first.fates(site.url)
    site.stop()
    again = crawl(site=site.url, root=tmp_path / "w.warc.gz")
    assert (sorted(again.locs), again.fates(site.url)) == expected


def test_pages_are_archived_too(serve: Any, crawl: Runner, tmp_path: Path) -> None:
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/1", "/2"), "/1": "<title>One</title>"})
    site.pages["/2"] = Page(gzipped("<title>Two</title>"), headers={"Content-Encoding": "gzip"})
    first = crawl(spider="titles", site=site.url, archive=tmp_path / "raw")
    site.stop()
    again = crawl(spider="titles", site=site.url, root=tmp_path / "raw")
    titles = [sorted(item["title"] for item in run.items) for run in (first, again)]
    assert titles == [["One", "Two"]] * 2


def test_only_responses_to_get_are_archived(crawl: Runner, tmp_path: Path) -> None:
    site, path = "https://a.example", tmp_path / "a.warc.gz"
    sitemap = urlset(f"{site}/1")
    pages = {"/robots.txt": f"Sitemap: {site}/a.xml", "/a.xml": sitemap, "/1": "<title>1</title>"}
    path.write_bytes(packed(*(record(http(body), url=f"{site}{page}") for page, body in pages.items())))
    assert crawl(spider="posting", site=site, root=path).items == [{"error": "an archive has no responses to POST"}]


def test_an_archive_of_an_earlier_time_is_audited(serve: Any, crawl: Runner, tmp_path: Path) -> None:
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/1")})
    crawl(site=site.url, archive=tmp_path / "raw")
    site.stop()
    for at, code in (("2100", 0), ("2020", 2)):
        run = forked.scrapy("harvest", "audit", site.url, "--root", "raw", "--at", at, cwd=tmp_path)
        assert run.returncode == code, run.stderr
    run = forked.scrapy("harvest", "audit", site.url, "--at", at, cwd=tmp_path)
    assert "--at 2020: it needs --store" in run.stderr


@pytest.mark.parametrize("size", [4_000, 20_000])  # of the log too
def test_a_full_disk_ends_the_run_with_one_line(serve: Any, tmp_path: Path, size: int) -> None:
    paths = [f"/{number}.xml" for number in range(50)]
    site = serve({"/robots.txt": robots(*paths), **{path: urlset(path) for path in paths}})
    run = forked.scrapy("harvest", "crawl", site.url, "--archive", "raw", cwd=tmp_path, largest_file=size)
    assert run.returncode == 4, run.stderr
    assert run.stderr.count("The archive cannot be written: ") == run.stderr.count(" ERROR: ") == 1
    assert "Closing spider (output_failed)" in run.stderr
    assert "Traceback" not in run.stderr
    checked(tmp_path / "raw")


@pytest.mark.parametrize("moment", [1, 7, 15])
def test_a_killed_run_leaves_whole_records(serve: Any, crawl: Runner, tmp_path: Path, moment: int) -> None:
    paths = [f"/{number}.xml" for number in range(20)]
    site = serve({"/robots.txt": robots("/index.xml"), "/index.xml": index(*paths)})
    site.pages |= {path: urlset(path) for path in paths} | {paths[-1]: Page(manner=Manner.HANG)}
    with crawl.running(site=site.url, archive=tmp_path / "raw") as process:
        wait_until(lambda: len(site.requests) > moment)
        process.kill()
        process.join()
    checked(tmp_path / "raw")
    run = crawl(site=site.url, root=tmp_path / "raw", calm=False)
    assert run.fates(site.url)["/robots.txt"] == "read"


def test_two_runs_at_once_write_different_files(serve: Any, crawl: Runner, tmp_path: Path) -> None:
    site = serve(
        {"/robots.txt": robots("/a.xml"), "/a.xml": Page(urlset("/1"), after=lambda: site.count("/robots.txt") == 2)}
    )
    with crawl.running(site=site.url, archive=tmp_path / "raw") as process:
        crawl(site=site.url, archive=tmp_path / "raw")
        process.join()
    assert len(checked(tmp_path / "raw")) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(
            {"archive": "file"}, "argument archive='file': it must be a folder that can be written", id="file"
        ),
        pytest.param(
            {"archive": "raw/a.warc.gz"}, "argument archive='raw/a.warc.gz': it must be a folder: the", id="name"
        ),
        pytest.param(
            {"archive": "s3://bucket/raw"}, "argument archive='s3://bucket/raw': it must be a local path", id="s3"
        ),
        pytest.param(
            {"root": "x" * 5_000}, "an existing folder, WARC file or WACZ file (file name too long)", id="long"
        ),
        pytest.param({"root": "file"}, "file is neither a WARC file (.warc, .warc.gz) nor a WACZ file", id="no-warc"),
        pytest.param({"root": "a.warc"}, "the archive has no response\n", id="empty"),
        pytest.param({"root": "a.warc", "at": "2020"}, "response from 2020-12-31 23:59:59 UTC or before", id="at"),
        pytest.param({"root": "a.warc", "at": "first"}, "argument at='first': it must be a date", id="no-date"),
        pytest.param({"root": "a.warc", "archive": "raw"}, "nothing is downloaded; omit one", id="both"),
        pytest.param(
            {"root": ".", "archive": "raw"}, "with root, nothing is downloaded; omit one", id="both-with-folder"
        ),
        pytest.param({"root": "a.warc.zst"}, "compressed with zstd are not supported", id="zstd"),
    ],
)
def test_archives_that_cannot_be_used_are_refused(
    crawl: Runner, tmp_path: Path, arguments: dict[str, str], words: str
) -> None:
    for name in ("file", arguments.get("root", "file")):
        if name in {"file", "a.warc", "a.warc.zst"}:
            (tmp_path / name).touch()
    run = forked.scrapy(
        "harvest", "crawl", "a.example", *(f"--{name}={value}" for name, value in arguments.items()), cwd=tmp_path
    )
    assert run.returncode == 2
    words = words.replace("argument archive=", "--archive ").replace("argument at=", "--at ")
    assert words in run.stdout + run.stderr
    assert not (tmp_path / "raw").exists()


PROGRAMS: dict[str, Callable[[list[foreign.Exchange]], bytes]] = {
    "common-crawl": foreign.common_crawl,
    "common-crawl-before-2018": partial(foreign.common_crawl, is_old=True),
    "heritrix": foreign.heritrix,
    "browsertrix": foreign.browsertrix,
}


@pytest.mark.parametrize("program", some_quick(PROGRAMS, every=4))
def test_archives_of_other_programs_give_the_results_of_the_network(
    serve: Any, crawl: Runner, tmp_path: Path, program: str
) -> None:
    varies = ("/later.xml", "/cut-packed.xml", "/closed.xml")  # by request, by who decodes it, or not recorded
    site = serve({path: page for path, page in PAGES.items() if path not in varies})
    rows, expected = results(crawl(site=site.url))
    paths = {*site.pages, *(url.removeprefix(site.url) for url in expected if url.startswith(site.url))}
    exchanges = [one for path in sorted(paths) if (one := foreign.fetched(f"{site.url}{path}")).status]
    site.stop()
    path = tmp_path / ("a.wacz" if program == "browsertrix" else "a.warc.gz")
    path.write_bytes(PROGRAMS[program](exchanges))
    again = results(crawl(site=site.url, root=path, settings={"EXTENSIONS": NO_NETWORK}))
    for row in (*expected.values(), *again[1].values()):  # these may differ where the archive has decoded bodies
        row.pop("fetched_at", None)
        del row["bytes_downloaded"]
    assert again == (rows, expected)
