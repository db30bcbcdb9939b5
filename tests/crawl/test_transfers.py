"""When a document was requested, and how long its download took, without waits before and after."""

from __future__ import annotations

import itertools
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request
from scrapy.exceptions import IgnoreRequest, NotSupported

from sitemap_harvest.integration.transfers import measured, transfer_of
from tests.site import Page, in_turn, index, moved, robots, urlset

if TYPE_CHECKING:
    from collections.abc import Callable
    from email.message import Message
    from pathlib import Path

    from tests.crawl.crawling import Run
    from tests.site import Served

ROUNDING = 0.001
CHILDREN = [f"/{number}.xml" for number in range(6)]


def sent_at(run: Run, url: str) -> float:
    """Return when the document at *url* was requested, in seconds since 1970."""
    return datetime.fromisoformat(run.row(url)["fetched_at"]).timestamp()


def times(run: Run, url: str) -> dict[str, bool]:
    """Return which of the two times of the document at *url* are known."""
    row = run.row(url)
    return {name: row.get(name) is not None for name in ("fetched_at", "seconds")}


@pytest.mark.quick
@pytest.mark.parametrize(
    "handler",
    [
        pytest.param({}, id="own-handler"),
        pytest.param({"http": "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"}, id="other-handler"),
    ],
)
def test_transfers_over_one_connection_follow_each_other(serve: Any, crawl: Any, handler: dict[str, str]) -> None:
    """All documents are requested at once, and wait in the slot of their host for the only connection."""
    site = serve({"/robots.txt": robots("/index.xml"), "/index.xml": index(*CHILDREN)})
    site.pages |= {path: urlset(path) for path in CHILDREN}
    settings = {"DOWNLOAD_SLOTS": {"127.0.0.1": {"concurrency": 1}}, "DOWNLOAD_HANDLERS": handler}
    run = crawl(site=site.url, settings=settings)
    begun = sorted((sent_at(run, row["url"]), row["seconds"]) for row in run.ledger)
    assert len(begun) == len(CHILDREN) + 2
    for (start, seconds), (following, _) in itertools.pairwise(begun):
        assert start + seconds <= following + ROUNDING


@pytest.mark.parametrize(
    ("before", "path"),
    [
        pytest.param(Page(status=500), "/a.xml", id="retry"),
        pytest.param(Page(status=429, headers={"Retry-After": "0"}), "/a.xml", id="retry-after"),
        pytest.param(moved("{site}/b.xml"), "/b.xml", id="redirect"),
    ],
)
def test_the_last_request_for_a_document_counts(serve: Any, crawl: Any, before: Served, path: str) -> None:
    answered: list[float] = []

    def noting(answer: Callable[[Message], Served] | Served) -> Callable[[Message], Served]:
        def answer_at(request: Message) -> Served:
            answered.append(time.time())
            return answer(request) if callable(answer) else answer

        return answer_at

    last = urlset("/1")
    site = serve({"/a.xml": noting(in_turn(before, last)), "/b.xml": noting(last)})
    run = crawl(sitemap=f"{site.url}/a.xml", settings={"RETRY_TIMES": 1})
    assert [one for one in site.requests if one != "/robots.txt"] == ["/a.xml", path]
    at = sent_at(run, f"{site.url}/a.xml")
    assert answered[0] <= at <= answered[1]


@pytest.mark.quick
def test_a_document_that_was_not_requested_has_neither_time(serve: Any, crawl: Any) -> None:
    private = "http://169.254.169.254/x.xml"
    site = serve({"/index.xml": index("/1.xml", "/forbidden.xml", private, "/gone.xml", "/fails.xml")})
    site.pages["/1.xml"] = urlset("/1")
    site.pages["/robots.txt"] = robots("/index.xml", disallow=["/forbidden"])
    site.pages["/fails.xml"] = Page(status=500)
    run = crawl(site=site.url, settings={"RETRY_TIMES": 0, "SITEMAP_HARVEST_OFFSITE": "any"})
    known, unknown = dict.fromkeys(("fetched_at", "seconds"), True), dict.fromkeys(("fetched_at", "seconds"), False)
    assert {row["url"].removeprefix(site.url): times(run, row["url"]) for row in run.ledger} == {
        "/robots.txt": known,
        "/index.xml": known,
        "/gone.xml": known,
        "/fails.xml": known,
        "/1.xml": known,
        "/forbidden.xml": unknown,
        private: unknown,
    }


def test_a_document_from_the_cache_has_no_duration(serve: Any, crawl: Any, tmp_path: Path) -> None:
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/1")})
    settings = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache")}
    first = crawl(site=site.url, settings=settings)
    assert times(first, f"{site.url}/a.xml") == {"fetched_at": True, "seconds": True}
    again = crawl(site=site.url, settings=settings)
    assert times(again, f"{site.url}/a.xml") == {"fetched_at": True, "seconds": False}


@pytest.mark.quick
def test_a_robots_txt_that_scrapy_has_fetched_for_its_rules_has_both_times(serve: Any, crawl: Any) -> None:
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/1")})
    run = crawl(sitemap=f"{site.url}/a.xml {site.url}/robots.txt")
    assert site.count("/robots.txt") == 1
    assert times(run, f"{site.url}/robots.txt") == {"fetched_at": True, "seconds": True}


@pytest.mark.quick
@pytest.mark.parametrize("with_root", [False, True])
def test_the_reading_of_a_local_file_is_timed(crawl: Any, tmp_path: Path, *, with_root: bool) -> None:
    file = tmp_path / "sitemap.xml"
    file.write_text(urlset("https://a.example/1"))
    run = crawl(site="https://a.example", root=tmp_path) if with_root else crawl(sitemap=file)
    assert {one for row in run.ledger for one in times(run, row["url"]).values()} == {True}


@pytest.mark.parametrize(
    ("error", "is_measured"),
    [
        pytest.param(None, True, id="response"),
        pytest.param(OSError(), True, id="error"),
        pytest.param(IgnoreRequest(), False, id="refused"),
        pytest.param(NotSupported(), False, id="no-handler"),
    ],
)
@pytest.mark.quick
def test_what_was_sent_is_measured(
    monkeypatch: pytest.MonkeyPatch, error: Exception | None, *, is_measured: bool
) -> None:
    now = iter([5.0, 7.5])
    monkeypatch.setattr(time, "time", lambda: 1_000.0)
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    request = Request("https://a.example")

    def download() -> None:
        with measured(request):
            if error is not None:
                raise error

    if error is None:
        download()
    else:
        with pytest.raises(type(error)):
            download()
    assert transfer_of(request) == ((1_000.0, 2.5) if is_measured else None)
