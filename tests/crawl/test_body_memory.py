"""The bodies that are held in memory at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sitemap_harvest.discovery.candidate import Candidate
from sitemap_harvest.engine.in_flight import InFlight
from sitemap_harvest.integration import default_settings as defaults
from tests.crawl.flood import Flood
from tests.crawl.test_costs import in_chunks, plain, without_length
from tests.site import Manner, Page, index, moved, numbered, robots, urlset

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SMALL, MOST = 10, 1_000


def candidate(host: str, name: str = "s", parent: str | None = None) -> Candidate:
    return Candidate(url=f"https://{host}.example/{name}.xml", root=f"https://{host}.example", parent=parent)


A, B, C = candidate("a"), candidate("b"), candidate("c")
FIRST, SECOND, THIRD = (candidate("d", name, "https://d.example/index.xml") for name in "123")
OTHER = candidate("d", "other", "https://d.example/other-index.xml")
ALMOST = 4.9  # seconds: a document of unknown size delays others no longer than that


class Downloads:
    """Downloads whose headers and bytes arrive."""

    def __init__(self, wake: Callable[[], None] = lambda: None) -> None:
        self.bodies = InFlight(most=MOST, small=SMALL, wake=wake)

    def request(self, one: Candidate) -> None:
        """Request *one*."""
        self.bodies.begin(one, 0.0)

    def begin(self, one: Candidate, length: int | None = None) -> bool:
        """Start the download of *one*; return whether it continues."""
        self.request(one)
        return self.answer(one, length)

    def answer(self, one: Candidate, length: int | None = None) -> bool:
        """Receive the headers of *one*; return whether the download continues."""
        return not self.bodies.note_headers(one, length)

    def receive(self, one: Candidate, size: int) -> bool:
        """Receive *size* bytes of *one*; return whether the download continues."""
        return not self.bodies.note_bytes(one, size)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("lengths", "go_on"),
    [
        pytest.param([600, 400], [True, True], id="they-fit"),
        pytest.param([600, 401], [True, False], id="one-too-many"),
        pytest.param([5_000], [True], id="one-may-be-larger-than-all"),
        pytest.param([5_000, 11, 10], [True, False, True], id="small-ones-always-fit"),
        pytest.param([600, 600, 300], [True, False, True], id="what-was-stopped-holds-nothing"),
    ],
)
def test_a_body_of_known_length_is_stopped_before_it_arrives(lengths: list[int], go_on: list[bool]) -> None:
    downloads = Downloads()
    assert [downloads.begin(one, length) for one, length in zip((A, B, C), lengths, strict=False)] == go_on


@pytest.mark.quick
def test_a_body_of_unknown_length_is_stopped_when_it_no_longer_fits() -> None:
    downloads = Downloads()
    assert downloads.begin(A)
    assert downloads.begin(B)
    assert downloads.receive(A, 600)
    assert downloads.receive(B, 400)
    assert not downloads.receive(B, 1)
    assert downloads.bodies.downloads[B.url].was_stopped
    assert downloads.receive(A, 5_000)
    assert not downloads.bodies.downloads[A.url].was_stopped


@pytest.mark.quick
def test_a_stopped_download_waits_until_twice_its_size_fits() -> None:
    downloads = Downloads()
    downloads.begin(A, 600)
    downloads.begin(B)
    assert not downloads.receive(B, 401)
    downloads.bodies.postpone(B)
    assert downloads.bodies.next_postponed(0.0) is None
    downloads.bodies.end(A)
    assert downloads.begin(C, 198)
    assert downloads.bodies.next_postponed(0.0) == B
    assert downloads.bodies.next_postponed(0.0) is None


@pytest.mark.quick
def test_the_first_in_the_queue_is_not_overtaken() -> None:
    downloads = Downloads()
    downloads.begin(A, 900)
    bodies = downloads.bodies
    for one in (B, C):
        bodies.postpone(one)
    bodies.end(B)
    assert bodies.next_postponed(0.0) == C


@pytest.mark.quick
def test_the_expected_size_for_a_host_is_that_of_its_largest_document() -> None:
    downloads = Downloads()
    downloads.begin(A, 600)
    downloads.bodies.end(A)
    downloads.begin(B, 500)
    assert not downloads.bodies.fits(candidate("a", "other"), 0.0)
    assert not downloads.bodies.fits(candidate("a", "other", "https://a.example/index.xml"), 0.0)
    assert downloads.bodies.fits(candidate("b", "other"), 0.0)
    assert downloads.bodies.fits(C, 0.0)


@pytest.mark.quick
def test_the_expected_size_for_siblings_is_that_of_the_largest() -> None:
    downloads = Downloads()
    downloads.begin(FIRST, 11)
    downloads.begin(SECOND, 600)
    downloads.begin(OTHER, 12)
    assert not downloads.bodies.fits(THIRD, 0.0)
    assert downloads.bodies.fits(OTHER, 0.0)


@pytest.mark.quick
def test_content_length_replaces_a_larger_expectation() -> None:
    downloads = Downloads()
    downloads.begin(FIRST, 600)
    downloads.bodies.end(FIRST)
    downloads.request(SECOND)
    assert not downloads.bodies.fits(THIRD, 0.0)
    assert downloads.answer(SECOND, 400)
    assert downloads.bodies.fits(THIRD, 0.0)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("befalls", "now", "fits"),
    [
        pytest.param(lambda _: None, ALMOST, False, id="nothing"),
        pytest.param(lambda _: None, 5.0, True, id="nothing-for-long"),
        pytest.param(lambda downloads: downloads.answer(FIRST, 500), ALMOST, True, id="headers-with-a-length"),
        pytest.param(lambda downloads: downloads.answer(FIRST, 501), 5.0, False, id="with-a-length-that-fits-no-more"),
        pytest.param(lambda downloads: downloads.answer(FIRST, 0), ALMOST, True, id="headers-without-a-body"),
        pytest.param(lambda downloads: downloads.answer(FIRST), ALMOST, False, id="headers-without-a-length"),
        pytest.param(lambda downloads: downloads.receive(FIRST, 400), ALMOST, False, id="bytes-of-an-unknown-length"),
        pytest.param(lambda downloads: downloads.receive(FIRST, 501), 5.0, False, id="too-many-of-them"),
        pytest.param(lambda downloads: downloads.bodies.end(FIRST), ALMOST, True, id="its-end"),
    ],
)
def test_the_first_child_of_a_document_is_alone_until_its_size_is_known(befalls, now: float, fits: bool) -> None:
    downloads = Downloads()
    assert downloads.bodies.fits(FIRST, 0.0)
    downloads.request(FIRST)
    befalls(downloads)
    assert bool(downloads.bodies.fits(SECOND, now)) is fits


@pytest.mark.quick
def test_children_that_wait_for_the_first_delay_no_other_documents() -> None:
    downloads = Downloads()
    downloads.request(FIRST)
    for one in (SECOND, OTHER, THIRD):
        downloads.bodies.postpone(one)
    assert downloads.bodies.next_postponed(ALMOST) == OTHER
    assert downloads.bodies.next_postponed(ALMOST) is None
    downloads.answer(FIRST, 300)
    assert downloads.bodies.next_postponed(ALMOST) == SECOND
    assert downloads.bodies.next_postponed(ALMOST) == THIRD


@pytest.mark.quick
def test_documents_without_a_request_do_not_count_for_sizes() -> None:
    downloads = Downloads()
    downloads.bodies.end(FIRST)
    downloads.request(SECOND)
    assert not downloads.bodies.fits(THIRD, 0.0)


@pytest.mark.quick
def test_headers_wake_waiting_downloads() -> None:
    woken: list[str] = []
    downloads = Downloads(lambda: woken.append("woken"))
    downloads.begin(A, 600)
    assert woken == []
    downloads.request(FIRST)
    downloads.bodies.postpone(SECOND)
    woken.clear()
    downloads.answer(FIRST)
    assert woken == []
    downloads.answer(FIRST, 300)
    assert woken == ["woken"]


@pytest.mark.quick
def test_documents_that_were_not_requested_do_not_count() -> None:
    downloads = Downloads()
    downloads.bodies.begin(B, 0.0, is_requested=False)  # known from the store
    for one in (A, B):
        assert not downloads.bodies.note_headers(one, 5_000)
        assert not downloads.bodies.note_bytes(one, 5_000)
    assert downloads.begin(B, 900)
    assert downloads.begin(C, 100)


LARGE = urlset("/page").encode() + b" " * 300_000
THREE_FIT = {"SITEMAP_HARVEST_BODIES": 1_000_000}


@pytest.mark.parametrize("sent", [plain, in_chunks, without_length])
def test_each_large_sitemap_of_an_index_is_requested_once(crawl, sent):
    paths = numbered(10)
    with Flood({path: sent(LARGE) for path in paths}) as site:
        site.answers["/index.xml"] = plain(index(*paths).replace("{site}", site.url).encode())
        run = crawl(sitemap=f"{site.url}/index.xml", settings=THREE_FIT)
    assert sorted(site.requests) == sorted(["/robots.txt", "/index.xml", *paths])
    assert run.fates(site.url) == dict.fromkeys(["/index.xml", *paths], "read")


def test_each_large_sitemap_that_an_index_redirects_to_is_requested_once(serve, crawl):
    before, paths = numbered(10, prefix="/before"), numbered(10)
    site = serve({"/index.xml": index(*before), **dict.fromkeys(paths, LARGE)})
    site.pages |= {path: moved(f"{{site}}{to}") for path, to in zip(before, paths, strict=True)}
    run = crawl(sitemap=f"{site.url}/index.xml", settings=THREE_FIT)
    assert sorted(site.requests) == sorted(["/robots.txt", "/index.xml", *before, *paths])
    assert run.fates(site.url) == dict.fromkeys(["/index.xml", *before], "read")


@pytest.mark.parametrize("medium", ["folder", "archive"])
def test_large_sitemaps_that_are_not_downloaded_wait_too(serve, crawl, tmp_path: Path, medium: str):
    pages = {"/robots.txt": robots("/index.xml"), "/index.xml": index(*numbered(10))}
    site, root = serve({**pages, **dict.fromkeys(numbered(10), LARGE)}), tmp_path / "raw"
    if medium == "archive":
        crawl(site=site.url, archive=root)
    else:
        root.mkdir()
        for path in numbered(10):
            (root / path[1:]).write_bytes(LARGE)
        for path, text in pages.items():
            (root / path[1:]).write_text(text.replace("{site}", site.url))
    middlewares = {**defaults.DOWNLOADER_MIDDLEWARES, "tests.crawl.parts.CountsBodies": 50}
    settings = {"SITEMAP_HARVEST_BODIES": 400_000, "DOWNLOADER_MIDDLEWARES": middlewares}
    run = crawl(site=site.url, root=root, settings=settings)
    assert run.fates(site.url) == dict.fromkeys([*pages, *numbered(10)], "read")
    assert run.stats["test/most_bodies"] <= 2  # one, and one that was just read


@pytest.mark.parametrize(
    ("first", "fate"),
    [
        pytest.param("absent", "absent", id="is-absent"),
        pytest.param("forbidden", "forbidden", id="is-forbidden"),
        pytest.param("reset", "failed", id="fails"),
        pytest.param("hangs", "failed", id="hangs"),
        pytest.param("lost", "failed", id="is-lost-in-the-project"),
    ],
)
def test_children_of_an_index_are_read_whatever_happens_to_the_first(serve, crawl, first: str, fate: str):
    site = serve({
        "/robots.txt": robots(disallow=["/forbidden"]),
        "/index.xml": index(f"/{first}.xml", *numbered(3)),
        **dict.fromkeys(numbered(3), LARGE),
        "/reset.xml": Page(manner=Manner.RESET),
        "/hangs.xml": Page(manner=Manner.HANG),
    })  # fmt: skip
    middlewares = {**defaults.DOWNLOADER_MIDDLEWARES, "tests.crawl.parts.LeadsAway": 50}
    run = crawl(
        sitemap=f"{site.url}/index.xml",
        settings={**THREE_FIT, "DOWNLOADER_MIDDLEWARES": middlewares, "TEST_HANGING": "/hangs.xml"},
    )
    assert run.fates(site.url) == {"/index.xml": "read", f"/{first}.xml": fate, **dict.fromkeys(numbered(3), "read")}
