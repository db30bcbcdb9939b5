"""Documents behind pages that admit browsers only: real Chromium and local challenge pages."""

from __future__ import annotations

import os
import signal
import sys
import uuid
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.settings import Settings

from sitemap_harvest.browser.setup import check_browser
from sitemap_harvest.errors import OptionError
from tests.certificates import self_signed
from tests.server import Manner
from tests.services import programs
from tests.site import Page, Site, gzipped, index, numbered, robots, unless, urlset
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from email.message import Message

    from tests.crawl.crawling import Run, Runner
    from tests.server import Answers

pytestmark = pytest.mark.service

HTML = {"Content-Type": "text/html; charset=utf-8"}
XML = {"Content-Type": "application/xml"}
DOOR = "<html><body><script>document.cookie = 'pass=1; path=/'; location.reload();</script></body></html>"
SHUT = "<html><body>Please wait<script>setInterval(() => document.title += '.', 50);</script></body></html>"
RESTLESS = "<html><title>Shop</title><script>setInterval(() => fetch('/' + Math.random()), 50)</script></html>"
STATIC = "<html><head><title>403 Forbidden</title></head><body><h1>403 Forbidden</h1></body></html>"
_MARK = "HARVEST_TEST_RUN"


@pytest.fixture(autouse=True, scope="module")
def browser() -> None:
    """Skip these tests if Chromium or its driver is not installed."""
    programs.browser()


@pytest.fixture
def browse(crawl: Runner) -> Iterator[Callable[..., Run]]:
    """Return a function that runs a crawl with a browser, no process of which may remain at its end."""
    mark = uuid.uuid4().hex

    def run(*, environment: dict[str, str] | None = None, **arguments: Any) -> Run:
        arguments.setdefault("browser", "fallback")
        return crawl(environment={_MARK: mark, **(environment or {})}, **arguments)

    yield run
    assert browsers(mark) == []


def browsers(mark: str, *, main_only: bool = False) -> list[int]:
    """Return the running browser processes that the run with that *mark* has started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if f"{_MARK}={mark}".encode() not in (folder / "environ").read_bytes() or b"chrom" not in words[0]:
                continue
            if not main_only or not any(word.startswith(b"--type=") for word in words):
                found.append(int(folder.name))
    return found


def walled(page: Answers, *, door: str = DOOR, status: int = 403, navigates: bool = False) -> Answers:
    """Return a function that serves *page* to clients with the cookie, and *door* to all others.

    If it *navigates*, browsers alone get the page.
    """

    def answer(headers: Message) -> Page:
        may = "pass=1" in (headers.get("Cookie") or "")
        if not may or (navigates and headers.get("Sec-Fetch-Mode") != "navigate"):
            return Page(door, status=status, headers=HTML)
        given = page(headers) if callable(page) else page
        return given if isinstance(given, Page) else Page(given)

    return answer


def whole_site(site: Site) -> dict[str, Answers]:
    """Return a site with a document of each compression."""
    packed = {"Content-Type": "application/gzip"}
    own = {prefix: urlset(*numbered(4, prefix=prefix)).replace("{site}", site.url) for prefix in ("/gz", "/enc")}
    return {
        "/robots.txt": Page(robots("/index.xml", disallow=["/secret"]), headers={"Content-Type": "text/plain"}),
        "/index.xml": Page(index("/a.xml", "/b.xml.gz", "/c.xml", "/d.txt", "/secret.xml", "/gone.xml"), headers=XML),
        "/a.xml": Page(urlset(*numbered(4, prefix="/a")), headers=XML),
        "/b.xml.gz": Page(gzipped(own["/gz"]), headers=packed),
        "/c.xml": Page(gzipped(own["/enc"]), headers={"Content-Type": "text/xml", "Content-Encoding": "gzip"}),
        "/d.txt": Page("{site}/d1\n{site}/d2\n", headers={"Content-Type": "text/plain"}),
        "/secret.xml": Page(urlset("/s"), headers=XML),
    }


def facts(run: Run) -> list[dict[str, Any]]:
    """Return the ledger without the fields that differ from run to run or by way of fetching."""
    passing = {"fetched_at", "seconds", "via", "bytes_downloaded", "layers"}
    rows = [{name: value for name, value in row.items() if name not in passing} for row in run.ledger]
    return sorted(rows, key=lambda row: row["url"])


def ways(run: Run, site: Site) -> dict[str, str | None]:
    return {row["url"].removeprefix(site.url): row["via"] for row in run.ledger}


def browser_stats(run: Run) -> dict[str, int]:
    """Return the stats of the browser."""
    prefix = "sitemap_harvest/browser/"
    return {name.removeprefix(prefix): value for name, value in run.stats.items() if name.startswith(prefix)}


def test_a_site_behind_a_challenge_gives_the_same_rows_as_without(serve: Callable[..., Site], browse: Any) -> None:
    site = serve()
    pages = whole_site(site)
    site.pages = pages
    plain = browse(site=site.url, browser="never")
    assert "BrowserMiddleware" not in plain.log
    site.pages = {path: walled(page) for path, page in pages.items()}
    assert browse(site=site.url, browser="never").fates(site.url)["/robots.txt"] == "blocked"

    site.requests.clear()
    run = browse(site=site.url)
    assert run.urls == plain.urls or sorted(run.locs) == sorted(plain.locs)
    assert facts(run) == facts(plain)
    # A plain request, two by the browser, and then plain ones with the cookie: once per site, not per document.
    assert site.requests[:4] == ["/robots.txt"] * 4
    assert sorted(site.requests[4:]) == sorted({*pages, "/gone.xml"} - {"/robots.txt", "/secret.xml"})
    assert browser_stats(run) == {
        "pages": 1,
        "challenges": 1,
        "challenges_passed": 1,
        "by_cookies": 7,
        "starts": 1,
        "most_pages": 1,
    }
    assert {via for path, via in ways(run, site).items() if path != "/secret.xml"} == {"browser cookies"}

    site.requests.clear()
    run = browse(site=site.url, browser="always")
    assert sorted(run.locs) == sorted(plain.locs)
    assert facts(run) == facts(plain)
    assert "/secret.xml" not in site.requests
    assert {via for path, via in ways(run, site).items() if path != "/secret.xml"} == {"browser"}


def test_documents_blocked_for_plain_requests_are_fetched_by_the_browser(
    serve: Callable[..., Site], browse: Any
) -> None:
    site = serve()
    site.max_requests = 500
    pages = whole_site(site)
    site.pages = pages
    plain = browse(site=site.url, browser="never")
    huge = Page(urlset(*numbered(4)) + " " * 300_000, headers=XML)
    pages["/gone.xml"] = huge
    pages["/index.xml"] = Page(
        index("/a.xml", "/b.xml.gz", "/c.xml", "/d.txt", "/secret.xml", "/gone.xml", "/endless.xml"), headers=XML
    )
    pages["/endless.xml"] = Page(urlset("/e"), headers=XML, manner=Manner.ENDLESS)
    site.pages = {path: walled(page, navigates=True) for path, page in pages.items()}
    run = browse(site=site.url, settings={"DOWNLOAD_MAXSIZE": 100_000})
    expected = {**plain.fates(site.url), "/gone.xml": "too-large", "/endless.xml": "too-large"}
    assert run.fates(site.url) == expected
    assert sorted(run.locs) == sorted(plain.locs)
    same = {"/a.xml", "/b.xml.gz", "/c.xml", "/d.txt", "/robots.txt"}
    digests = [{row["url"]: row["sha256"] for row in a.ledger} for a in (run, plain)]
    assert [digests[0][site.url + path] for path in sorted(same)] == [
        digests[1][site.url + path] for path in sorted(same)
    ]
    assert ways(run, site) == {
        **dict.fromkeys([*same, "/index.xml"], "browser"),
        **dict.fromkeys(["/secret.xml", "/gone.xml", "/endless.xml"]),
    }
    assert "/secret.xml" not in site.requests


@pytest.mark.parametrize("navigates", [False, True])
def test_an_archive_has_the_documents_behind_a_challenge(
    serve: Callable[..., Site], browse: Any, crawl: Runner, tmp_path: Path, *, navigates: bool
) -> None:
    site = serve()
    site.pages |= {path: walled(page, navigates=navigates) for path, page in whole_site(site).items()}
    first = browse(site=site.url, archive=tmp_path / "raw")
    site.stop()
    again = crawl(site=site.url, root=tmp_path / "raw")
    assert (sorted(again.locs), facts(again)) == (sorted(first.locs), facts(first))
    assert len(again.locs) == 14


def test_unsolved_challenges_are_reported_and_other_documents_are_read(serve: Callable[..., Site], browse: Any) -> None:
    shut, static, good, soft = serve(), serve(), serve(), serve()
    shut.pages = {"/s.xml": Page(SHUT, status=503, headers=HTML), "/t.xml": Page(SHUT, status=429, headers=HTML)}
    static.pages = {"/s.xml": Page(STATIC, status=403, headers=HTML)}
    good.pages = {"/s.xml": walled(urlset("/g"), status=200), "/huge.xml": walled(Page(urlset("/h") + " " * 200_000))}
    soft.pages = {"/s.xml": Page(DOOR, headers=HTML)}  # which reads without a limit
    named = [
        f"{shut.url}/s.xml",
        f"{shut.url}/t.xml",
        f"{static.url}/s.xml",
        f"{good.url}/s.xml",
        f"{good.url}/huge.xml",
        f"{soft.url}/s.xml",
    ]
    run = browse(
        sitemap=" ".join(named),
        settings={
            "SITEMAP_HARVEST_BROWSER_PAGES": 1,
            "SITEMAP_HARVEST_BROWSER_SECONDS": 2,
            "DOWNLOAD_MAXSIZE": 100_000,
            "RETRY_TIMES": 2,
        },
    )
    either = "and the browser did not pass the challenge"
    assert {row["url"]: (row["outcome"], row["reason"]) for row in run.ledger} == {
        named[0]: ("blocked", f"HTTP 503: the server failed, {either}"),
        named[1]: ("blocked", f"HTTP 429: too many requests, {either}"),
        named[2]: ("blocked", f"HTTP 403: the server refuses access, {either}"),
        named[3]: ("read", None),
        named[4]: ("too-large", "the document is larger than DOWNLOAD_MAXSIZE"),
        named[5]: ("blocked", f"the response is a challenge page, {either}"),
    }
    assert run.locs == [f"{good.url}/g"]
    stats = browser_stats(run)
    assert (stats["most_pages"], stats["challenges_remaining"], stats["challenges_passed"], stats["starts"]) == (
        1,
        3,
        1,
        1,
    )
    assert soft.count("/s.xml") < 30, "a page that loads anew time and again is left in the end"
    assert static.count("/s.xml") == 2, "there is nothing to wait for, and no second request"


@pytest.mark.quick
def test_a_consent_page_is_no_challenge(serve: Callable[..., Site], browse: Any) -> None:
    script = "<script>function ok() { document.cookie = 'ok=1'; location.reload() }</script>"
    asks = f"{script}<button onclick='ok()'>Yes</button>"
    site = serve({"/sitemap-index.xml": index("/a.xml"), "/a.xml": urlset("/a")})
    site.generate = lambda _: Page(f"<html><head><title>Shop</title></head><body>{asks}</body></html>", headers=HTML)
    plain = browse(site=site.url, browser="never")
    run = browse(site=site.url, settings={"SITEMAP_HARVEST_BROWSER_SECONDS": 2})
    assert run.locs == plain.locs == [f"{site.url}/a"]
    assert facts(run) == facts(plain)
    assert browser_stats(run)["pages"] == 1, "seen once, it is known"


def test_a_challenge_that_sets_its_cookie_in_a_header(serve: Callable[..., Site], browse: Any) -> None:
    door = "<html><head><meta http-equiv='refresh' content='0'></head><body>One moment</body></html>"
    given = Page(door, headers={**HTML, "Set-Cookie": "pass=1; Path=/; HttpOnly"})
    shown = walled(Page(urlset("/a"), headers=XML), navigates=True)

    def answer(headers: Message) -> Page:
        page = shown(headers) if callable(shown) else shown
        return given if page.status == 403 else page

    site = serve({"/s.xml": answer})
    run = browse(sitemap=f"{site.url}/s.xml", browser="always")
    assert (run.fates(site.url), run.locs) == ({"/s.xml": "read"}, [f"{site.url}/a"])


def test_an_unsolved_challenge_is_not_read_as_the_document(serve: Callable[..., Site], browse: Any) -> None:
    bomb = Page(gzipped(b"<html>" + b" " * 100_000_000), headers={**HTML, "Content-Encoding": "gzip"})
    lines = "\n".join(f"{{site}}/{number}" for number in range(100))
    cut = Page(lines, headers={"Content-Type": "text/plain"}, manner=Manner.CUT)
    pages = {"/bomb.xml": bomb, "/reset.xml": Page(manner=Manner.RESET), "/cut.txt": cut, "/s.xml": urlset("/a")}
    site = serve({path: walled(page, navigates=True) for path, page in pages.items()})
    run = browse(
        sitemap=" ".join(site.url + path for path in pages),
        settings={"DOWNLOAD_MAXSIZE": 1_000_000, "CONCURRENT_REQUESTS_PER_DOMAIN": 1},
    )
    fates = run.fates(site.url)
    assert (fates["/cut.txt"], fates["/s.xml"]) == ("partial", "read")
    assert not {fates["/bomb.xml"], fates["/reset.xml"]} & {"partial", "read"}
    assert not run.row(f"{site.url}/cut.txt")["complete"]
    assert browser_stats(run)["starts"] == 1


def test_the_last_line_of_a_list_is_left_out_unless_it_is_known_to_be_complete(
    serve: Callable[..., Site], browse: Any
) -> None:
    site = serve({"/robots.txt": robots("/open.txt", "/ended.txt", "/sized.txt", "/packed.txt.gz")})
    text, packed = {"Content-Type": "text/plain"}, {"Content-Type": "text/plain", "Content-Encoding": "gzip"}
    lines = f"{site.url}/1\n{site.url}/2".encode()
    site.pages |= {
        "/open.txt": Page(gzipped(lines), headers=packed),
        "/ended.txt": Page(gzipped(lines + b"\n"), headers=packed),
        "/sized.txt": Page(lines, headers=text),
        "/packed.txt.gz": Page(gzipped(lines), headers={"Content-Type": "application/gzip"}),
    }
    run = browse(site=site.url, browser="always")
    found = {path: [row["loc"][-1] for row in run.urls if row["sitemap"] == site.url + path] for path in site.pages}
    assert found == {
        "/robots.txt": [], "/open.txt": ["1"], "/ended.txt": ["1", "2"], "/sized.txt": ["1", "2"],
        "/packed.txt.gz": ["1", "2"],
    }  # fmt: skip
    assert run.fates(site.url) == {**dict.fromkeys(site.pages, "read"), "/open.txt": "partial"}


@pytest.mark.parametrize("mode", ["fallback", "always"])
def test_the_headers_of_a_site_pass_its_challenge_and_are_sent_nowhere_else(
    serve: Callable[..., Site], browse: Any, mode: str
) -> None:
    site, other = serve(), serve()
    other.generate = lambda _: Page("", headers={"Access-Control-Allow-Origin": "*"})
    other.pages = {"/back": Page(f"<script>location.href = '{site.url}/s.xml'</script>", headers=HTML)}
    then = "finally(() => { document.cookie = 'pass=1; path=/'; location.href = '/away' })"
    door = (
        f"<script>fetch('/api').{then}; fetch('{other.url}/direct')</script><iframe src='{other.url}/frame'></iframe>"
    )

    def closed(page: Answers) -> Answers:
        def answer(headers: Message) -> Page:
            if headers["X-Key"] != "secret" or headers["Authorization"] != "Basic bWU6c2VjcmV0":
                return Page("Who are you?", status=401, headers=HTML)
            given = page(headers) if callable(page) else page
            return given if isinstance(given, Page) else Page(given)

        return answer

    site.pages = {
        "/s.xml": closed(walled(urlset("/a"), door=f"<html><body>{door}</body></html>")),
        "/api": closed(Page(status=302, headers={"Location": f"{other.url}/by-fetch"})),
        "/away": closed(Page(status=307, headers={"Location": f"{other.url}/back"})),
    }
    run = browse(
        sitemap=f"{site.url.replace('//', '//me:secret@')}/s.xml {other.url}/none.xml",
        browser=mode,
        settings={"SITEMAP_HARVEST_SITE_HEADERS": {site.url: {"X-Key": "secret"}}},
    )
    assert run.row(f"{site.url}/s.xml")["outcome"] == "read"
    assert {"/by-fetch", "/back", "/direct", "/frame"} <= set(other.requests)
    for name in ("X-Key", "Authorization"):
        assert set().union(*other.sent(name).values()) == {None}


def test_the_headers_of_a_site_stay_there_if_it_redirects_after_its_challenge(
    serve: Callable[..., Site], browse: Any
) -> None:
    other = serve({"/moved.xml": urlset("/moved")})
    moved = Page(status=302, headers={"Location": f"{other.url}/moved.xml"})

    def answer(headers: Message) -> Page:
        return Page(urlset("/a")) if headers.get("Sec-Fetch-Mode") == "navigate" else moved

    site = serve({"/s.xml": walled(answer)})
    run = browse(
        sitemap=f"{site.url}/s.xml {other.url}/none.xml",
        settings={"SITEMAP_HARVEST_SITE_HEADERS": {site.url: {"X-Key": "secret"}}},
    )
    assert browser_stats(run)["challenges_passed"] == 1
    assert "/moved.xml" in other.requests
    assert set().union(*site.sent("X-Key").values()) == {"secret"}
    assert set().union(*other.sent("X-Key").values()) == {None}


def test_no_challenge_leads_the_browser_into_a_private_network(serve: Callable[..., Site], browse: Any) -> None:
    inside = serve({"/": "secret", "/redirected": "secret"})
    by_script, by_redirect, by_frame = serve(), serve(), serve()
    away = "<html><body><script>document.cookie='a=1'; location.href='{to}'</script></body></html>"
    by_script.pages = {"/s.xml": Page(away.replace("{to}", f"{inside.url}/"), status=403, headers=HTML)}
    by_redirect.pages = {
        "/s.xml": Page(away.replace("{to}", "/hop"), status=403, headers=HTML),
        "/hop": Page(status=302, headers={"Location": f"{inside.url}/redirected"}),
    }
    then = "finally(() => { document.cookie = 'pass=1; path=/'; location.reload() })"
    fetch = f"<script>fetch('{inside.url}/', {{ mode: 'no-cors' }}).{then}</script>"
    frame = f"<html><body><iframe src='{inside.url}/'></iframe>{fetch}</body></html>"
    by_frame.pages = {"/s.xml": walled(urlset("/f"), door=frame)}
    named = [f"{site.url}/s.xml" for site in (by_script, by_redirect, by_frame)]
    run = browse(sitemap=" ".join(named), settings={"SITEMAP_HARVEST_BROWSER_SECONDS": 10})
    assert inside.requests == []
    assert {row["url"]: row["outcome"] for row in run.ledger} == dict(
        zip(named, ("blocked", "blocked", "read"), strict=True)
    )
    for url in named[:2]:
        assert (
            "the host has the loopback address 127.0.0.1, which is allowed only for hosts that you name"
            in run.row(url)["reason"]
        )


def test_a_site_map_written_by_scripts(serve: Callable[..., Site], browse: Any) -> None:
    write = "document.body.insertAdjacentHTML('beforeend', `<p><a href='/p${n}'>P</a></p>`)"
    often = f"let n = 1; const timer = setInterval(() => {{ {write}; n++ < 12 || clearInterval(timer) }}, 150)"
    page = f"<html><head><title>Site map</title></head><body><script>{often}</script></body></html>"
    site = serve({"/map.html": Page(page, headers={**HTML, "ETag": '"shell"'})}, tls=self_signed())
    run = browse(sitemap=f"{site.url}/map.html")
    assert run.locs == [f"{site.url}/p{number}" for number in range(1, 13)], "those too that come late"
    row = run.row(f"{site.url}/map.html")
    assert (row["outcome"], row["kind"], row["via"], row["etag"]) == ("read", "links", "browser", None)


@pytest.mark.parametrize(
    ("deaths", "outcome", "reason"),
    [
        pytest.param(1, "read", None, id="once"),
        pytest.param(
            9,
            "blocked",
            "HTTP 403: the server refuses access, and the browser failed to pass the challenge: the browser crashed",
            id="again-and-again",
        ),
    ],
)
def test_a_killed_browser(
    serve: Callable[..., Site], crawl: Runner, deaths: int, outcome: str, reason: str | None
) -> None:
    mark, left = uuid.uuid4().hex, [None] * deaths

    def answer(headers: Message) -> Page:
        if "Sec-Fetch-Mode" in headers and left:
            left.pop()
            for process in browsers(mark, main_only=True):
                os.kill(process, signal.SIGKILL)
        return walled(urlset("/a"))(headers)

    site = serve({"/s.xml": answer, "/t.xml": urlset("/t")})
    run = crawl(sitemap=f"{site.url}/s.xml {site.url}/t.xml", browser="fallback", environment={_MARK: mark})
    row = run.row(f"{site.url}/s.xml")
    assert (row["outcome"], row["reason"]) == (outcome, reason)
    assert run.row(f"{site.url}/t.xml")["outcome"] == "read"
    assert (browser_stats(run)["starts"], run.reason) == (2, "finished")
    assert browsers(mark) == []


def test_a_challenge_in_front_of_stored_documents(serve: Callable[..., Site], browse: Any, tmp_path: Path) -> None:
    site = serve({"/s.xml": walled(unless('"1"', urlset(*numbered(3))))})
    store = str(tmp_path / "store")
    run = browse(sitemap=f"{site.url}/s.xml", store=store)
    assert [row["outcome"] for row in run.ledger] == ["read"]
    read = run.locs
    run = browse(sitemap=f"{site.url}/s.xml", store=store)
    assert [(row["outcome"], row["reason"]) for row in run.ledger] == [("unchanged", "HTTP 304: not modified")]
    assert (run.locs, browser_stats(run)["pages"]) == (read, 1)
    site.pages["/s.xml"] = Page(STATIC, status=403, headers=HTML)
    run = browse(sitemap=f"{site.url}/s.xml", store=store)
    assert [row["outcome"] for row in run.ledger] == ["blocked"]
    assert run.changes == []


def test_an_expired_clearance_is_renewed_once(serve: Callable[..., Site], browse: Any) -> None:
    names = [f"/{number}.xml" for number in range(6)]
    asked_plainly = [0]

    def answer(number: int) -> Callable[[Message], Page]:
        def page(headers: Message) -> Page:
            old = "pass=1" in (headers.get("Cookie") or "") and "Sec-Fetch-Mode" not in headers
            asked_plainly[0] += old
            ended = old and asked_plainly[0] in {3, 5}
            return Page(DOOR, status=403, headers=HTML) if ended else walled(urlset(f"/{number}"))(headers)

        return page

    site = serve({"/robots.txt": robots(*names), **{name: answer(number) for number, name in enumerate(names)}})
    # The project's own pages may need a browser too, and it has chosen this handler for them.
    handlers = dict.fromkeys(("http", "https"), "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler")
    settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": 1, "DOWNLOAD_HANDLERS": handlers}
    settings |= {"DOWNLOAD_DELAY": 0.3, "DOWNLOAD_DELAY_JITTER": 0}
    run = browse(site=site.url, settings=settings)
    fates = run.fates(site.url)
    assert browser_stats(run)["challenges_passed"] == 2
    moments = [moment for moment, _ in site.times]
    gaps = [later - earlier for earlier, later in pairwise(moments)]
    assert sum(gap < 0.25 for gap in gaps) <= 2, "only the reload of the challenge itself does not wait"
    assert sorted(fates.values()) == ["blocked", *["read"] * 6]
    (reason,) = [row["reason"] for row in run.ledger if row["outcome"] == "blocked"]
    words = "and the site accepts the browser's cookies only for a short time"
    assert reason == f"HTTP 403: the server refuses access, {words}"


def test_a_cache_stores_no_challenge(serve: Callable[..., Site], browse: Any, tmp_path: Path) -> None:
    settings = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache")}
    site = serve({"/s.xml": walled(urlset("/a"))})
    assert browse(sitemap=f"{site.url}/s.xml", browser="never", settings=settings).locs == []
    assert browse(sitemap=f"{site.url}/s.xml", settings=settings).locs == [f"{site.url}/a"], (
        "a challenge was in the cache"
    )
    site.requests.clear()
    assert browse(sitemap=f"{site.url}/s.xml", browser="never", settings=settings).locs == [f"{site.url}/a"]
    assert site.requests == []


@pytest.mark.parametrize(
    ("page", "count", "outcome"),
    [
        pytest.param(Page(SHUT, status=403, headers=HTML), 2, "blocked", id="at-a-challenge"),
        pytest.param(Page(RESTLESS, headers=HTML), 5, "not-a-sitemap", id="for-scripts"),
    ],
)
def test_the_first_signal_ends_the_wait(
    serve: Callable[..., Site], crawl: Runner, page: Page, count: int, outcome: str
) -> None:
    mark = uuid.uuid4().hex
    site = serve({"/map": page})
    process = crawl.start(
        sitemap=f"{site.url}/map",
        browser="fallback",
        settings={"SITEMAP_HARVEST_BROWSER_SECONDS": 600},
        environment={_MARK: mark},
    )
    try:
        wait_until(lambda: len(site.requests) >= count)
        process.send_signal(signal.SIGINT)
        log, _ = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        process.kill()
        process.wait()
    run = crawl.finished(process.returncode, log)
    assert run.reason == "shutdown"
    assert [(row["outcome"], row["url"]) for row in run.ledger] == [(outcome, f"{site.url}/map")]
    assert browsers(mark) == []


@pytest.mark.quick
@pytest.mark.parametrize("name", ["scrapy_playwright", "playwright"])
def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(OptionError, match=r"needs scrapy-playwright, .*pip install .*\[browser\]"):
        check_browser(Settings(), "fallback")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param({"browser": "sometimes"}, "argument browser='sometimes': it must be one of never", id="argument"),
        pytest.param(
            {"settings": {"SITEMAP_HARVEST_BROWSER": "yes"}, "browser": None},
            "SITEMAP_HARVEST_BROWSER is 'yes'; it must be one of",
            id="setting",
        ),
        pytest.param(
            {"settings": {"SITEMAP_HARVEST_BROWSER_PAGES": 0}}, "SITEMAP_HARVEST_BROWSER_PAGES is '0'", id="pages"
        ),
        pytest.param(
            {"environment": {"PATH": "", "PLAYWRIGHT_BROWSERS_PATH": "/nowhere"}},
            "needs Chromium, which was not found",
            id="no-chromium",
        ),
        pytest.param(
            {"settings": {"PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": "/nowhere/chromium"}}},
            "there is no such file",
            id="named-and-not-there",
        ),
    ],
)
def test_configuration_errors_end_the_run_before_it_starts(
    serve: Callable[..., Site], crawl: Runner, arguments: dict[str, Any], words: str
) -> None:
    site = serve({"/s.xml": urlset("/a")})
    run = crawl(sitemap=f"{site.url}/s.xml", calm=False, **{"browser": "fallback", **arguments})
    assert (run.reason, site.requests) == ("wrong_argument", [])
    assert words in "\n".join(run.errors)
    assert "Traceback" not in run.log
