"""The cost of a hostile document for a crawl:

CPU in proportion to its size, no extra memory, no lost URLs of other sites.
"""

from __future__ import annotations

import gzip
import itertools
import time
import zlib
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import Barrier
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.crawl.crawling import Runner
from tests.crawl.flood import Flood
from tests.formats.hostile import DOCUMENTS, MB
from tests.machine import slowdown
from tests.site import index, numbered, robots, urlset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from tests.crawl.flood import Answer

MIB = 1024 * 1024
CPU_SECONDS_A_MB = 2.0
MOST_MEMORY = 150 * MIB  # above that of the same run with a harmless document
TIMEOUT_SECONDS = 60  # of a download: on a busy machine, reading a megabyte may take ten, while other sites wait
PATIENCE_SECONDS = 400  # ends a run that hangs; its time is bounded by other assertions

_OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
_MANY = 1_000_000


def plain(body: bytes) -> Answer:
    """Return a response with *body*."""
    return lambda: iter([_OK + b"Content-Length: %d\r\n\r\n" % len(body), body])


def without_length(body: bytes) -> Answer:
    """Return a response with *body* that ends with the connection."""
    return lambda: iter([_OK + b"\r\n", body])


def in_chunks(body: bytes) -> Answer:
    """Return a response with *body* in chunks of a megabyte."""
    chunks = [body[start : start + MIB] for start in range(0, len(body), MIB)]
    framed = [b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in [*chunks, b""]]
    return lambda: iter([_OK + b"Transfer-Encoding: chunked\r\n\r\n", *framed])


def endless(start: bytes, block: bytes, *, pause: float = 0.0) -> Answer:
    """Return a response that begins with *start* and continues with *block*, again and again, after *pause* seconds."""

    def answer() -> Iterator[bytes]:
        yield start
        while True:
            time.sleep(pause)
            yield block

    return answer


def redirects(to: str) -> Answer:
    head = f"HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    return lambda: iter([head.encode()])


def compressed_whitespace() -> bytes:
    """Return the start of an endless gzip stream, which holds little but whitespace."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packer.compress(b"<urlset>" + b" " * 100 * MIB) + packer.flush(zlib.Z_FULL_FLUSH)


def listing(start: bytes, line: bytes, end: bytes = b"") -> bytes:
    return start + b"".join(line % number for number in range(_MANY)) + end


@dataclass(frozen=True)
class Hostile:
    """A site designed to cost more than it should."""

    answers: Callable[[], dict[str, Answer]]
    """By path; made late, as some are large."""
    megabytes: float
    """The number of bytes read of it, decompressed."""
    fates: Counter[tuple[str, str | None]]
    """Its ledger rows except those of well-known paths: outcome and reason, and their number."""
    settings: dict[str, Any] = field(default_factory=dict)


def sitemap(answer: Callable[[], Answer]) -> Callable[[], dict[str, Answer]]:
    return lambda: {"/robots.txt": plain(b"Sitemap: /sitemap.xml"), "/sitemap.xml": answer()}


def fates(*rows: tuple[str, str | None, int]) -> Counter[tuple[str, str | None]]:
    counts: Counter[tuple[str, str | None]] = Counter({("read", None): 1})  # robots.txt
    for outcome, reason, count in rows:
        counts[outcome, reason] += count
    return counts


def document(
    name: str,
    outcome: str = "read",
    reason: str | None = None,
    *,
    megabytes: int = 1,
    settings: dict[str, Any] | None = None,
) -> Hostile:
    """Return a site with the costly document *name*."""
    path = urlsplit(DOCUMENTS[name].url).path
    return Hostile(
        lambda: {
            "/robots.txt": plain(f"Sitemap: {path}".encode()),
            path: plain(DOCUMENTS[name].make(megabytes * MB)),
        },
        megabytes,
        fates((outcome, reason, 1)),
        settings or {},
    )


def damaged(name: str, problems: str) -> Hostile:
    return document(name, "partial", f"the document is incomplete ({problems})")


TOO_LARGE_HEADERS = fates(
    ("failed", "the connection failed: the response headers are larger than 262,144 bytes", 1)
)  # fmt: skip
TIMEOUT = "no response within the timeout"
NOT_FOUND = "HTTP 404: the server has no such document"
OVER_LIMIT = "SITEMAP_HARVEST_MAX_DOCUMENTS (100) was reached"
OFFSITE = (
    "an index may list only sitemaps on hosts of its own registrable domain "
    "(-s SITEMAP_HARVEST_OFFSITE=any allows this one)"
)
FEW = {"SITEMAP_HARVEST_MAX_DOCUMENTS": 100}
SITEMAPS_XML = b"<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>\n"

HOSTILE = {
    "headers without end": Hostile(
        sitemap(lambda: endless(_OK, b"".join(b"X-%d: %0100d\r\n" % (n, n) for n in range(500)))), 1, TOO_LARGE_HEADERS
    ),
    "a header of lines without end": Hostile(
        sitemap(lambda: endless(_OK + b"X: y\r\n", b" z\r\n" * 10_000)), 1, TOO_LARGE_HEADERS
    ),
    "interim answers without end": Hostile(
        sitemap(lambda: endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000)), 1, TOO_LARGE_HEADERS
    ),
    "a header line without end": Hostile(
        sitemap(lambda: endless(_OK + b"X: ", b"y" * 65_536)),
        1,
        fates(("failed", "the connection failed: Connection was closed cleanly", 1)),
    ),
    "a body without end": Hostile(
        sitemap(lambda: endless(_OK + b"\r\n<urlset>", b" " * 65_536)),
        60,
        fates(("too-large", "the document is larger than DOWNLOAD_MAXSIZE", 1)),
    ),
    "a body byte by byte": Hostile(
        sitemap(lambda: endless(_OK + b"\r\n<urlset>", b" ", pause=0.5)),
        1,
        fates(("failed", TIMEOUT, 1)),
        {"DOWNLOAD_TIMEOUT": 10},
    ),
    "chunks of one byte": Hostile(
        sitemap(lambda: endless(_OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n" * 1_000)),
        6,
        fates(("too-large", "the document is larger than DOWNLOAD_MAXSIZE", 1)),
        {"DOWNLOAD_MAXSIZE": MIB},
    ),
    "slow gzip without end": Hostile(
        sitemap(lambda: endless(_OK + b"\r\n" + compressed_whitespace(), b"\0" * 1_000, pause=0.1)),
        1,
        fates(("failed", TIMEOUT, 1)),
        {"DOWNLOAD_TIMEOUT": 10},
    ),
    "a redirect to itself": Hostile(
        sitemap(lambda: redirects("/sitemap.xml")), 1, fates(("failed", "too many redirects", 1))
    ),
    "redirects without end": Hostile(
        lambda: {
            "/robots.txt": plain(b"Sitemap: /0.xml"),
            **{f"/{number}.xml": redirects(f"/{number + 1}.xml") for number in range(100)},
        },
        1,
        fates(("failed", "too many redirects", 1)),
    ),
    "a robots.txt of rules": Hostile(
        lambda: {
            "/robots.txt": plain(listing(b"User-agent: *\n", b"Disallow: /a/rather/long/path/of/rules/%d\n")),
        },
        45,
        fates(),
    ),
    "a robots.txt of sitemaps": Hostile(
        lambda: {"/robots.txt": plain(listing(b"", b"Sitemap: /a/rather/long/path/%d.xml\n"))},
        40,
        Counter({
            ("too-large", "more than 100000 sitemaps; the part before the limit was read"): 1,
            ("absent", NOT_FOUND): 99,
            ("over-limit", OVER_LIMIT): 1_000,
        }),
        FEW,
    ),
    "an index of sitemaps": Hostile(
        sitemap(lambda: plain(listing(SITEMAPS_XML, b"<sitemap><loc>/%d.xml</loc></sitemap>\n", b"</sitemapindex>"))),
        50,
        fates(
            ("too-large", "more than 100000 sitemaps; the part before the limit was read", 1),
            ("absent", NOT_FOUND, 98),
            ("over-limit", OVER_LIMIT, 1_000),
        ),
        FEW,
    ),
    "gzip of an index of sitemaps": Hostile(
        sitemap(
            lambda: plain(
                gzip.compress(
                    listing(SITEMAPS_XML, b"<sitemap><loc>http://h%d.test/s.xml</loc></sitemap>\n", b"</sitemapindex>"),
                    1,
                )
            )
        ),
        60,
        fates(
            ("too-large", "more than 100000 sitemaps; the part before the limit was read", 1),
            ("out-of-scope", OFFSITE, 1_000),
        ),
    ),
    "a page with spaces before its body": document(
        "page-whitespace-before-body", "not-a-sitemap", "the document is a web page"
    ),
    "a link page with a long base": damaged("page-base", "loc/long-base, html/truncated"),
    "a feed with a long base": damaged("atom-base", "loc/long-base, xml/truncated"),
    "a feed with bases in bases": damaged("atom-base-chain", "xml/truncated"),
    "a feed with many bases": damaged("atom-base-deep", "xml/malformed, xml/truncated"),
    "small gzip members of a sitemap": damaged("gzip-20-sitemap", "xml/truncated"),
    "small gzip members of a line": document("gzip-20-line"),
    "small zstd frames of a line": document("zstd-20-line"),
    "small gzip members of ISO-2022-JP": damaged("iso-2022-jp-in-members-line", "xml/malformed, xml/truncated"),
    "a zip in gzip": document(
        "zip-stored-in-gzip",
        "too-large",
        "more than 1000000 entries; the part before the limit was read",
        megabytes=190,
        settings={"SITEMAP_HARVEST_MAX_RATIO": 1_000},
    ),
    "JSON without commas": damaged("json-without-commas", "json/malformed, json/truncated"),
    "a list in one line": document("list-one-line"),
    "relative addresses": document("sitemap-relative"),
    "an index whose sitemaps all hang": Hostile(
        lambda: {
            "/robots.txt": plain(b"Sitemap: /sitemap.xml"),
            "/sitemap.xml": plain(index(*numbered(1_000, prefix="/hangs/")).replace("{site}", "").encode()),
            **{path: endless(b"", b"", pause=1.0) for path in numbered(1_000, prefix="/hangs/")},
        },
        1,
        Counter({
            ("read", None): 2,
            ("failed", TIMEOUT): 6,
            ("failed", f"the host failed to respond 6 times in a row: {TIMEOUT}"): 1_000 - 6,
        }),
        {"TEST_HANGING": "/hangs/", "SITEMAP_HARVEST_MAX_UNANSWERED": 6, "CONCURRENT_REQUESTS_PER_DOMAIN": 1},
    ),
}  # fmt: skip


QUICK = {"headers without end", "a link page with a long base"}


@dataclass(frozen=True)
class Cost:
    cpu: float
    """Processor seconds, scaled to an idle machine."""
    memory: int
    """Bytes."""


@contextmanager
def healthy_site() -> Iterator[Flood]:
    """Yield a site that is read completely."""
    documents = {
        "/robots.txt": robots("/index.xml"),
        "/index.xml": index("/1.xml", "/2.xml"),
        "/1.xml": urlset(*numbered(100)),
        "/2.xml": urlset(*numbered(100, start=101)),
    }
    with Flood({}, host="127.0.0.2") as site:
        site.answers.update(
            {path: plain(text.replace("{site}", site.url).encode()) for path, text in documents.items()}
        )
        yield site


def crawl_beside(
    folder: Path, sites: Iterable[Flood], settings: dict[str, Any] | None = None, **arguments: Any
) -> tuple[list[dict[str, Any]], Cost]:
    """Crawl *sites* and a healthy one, which must be read completely; return the rows of *sites*, and the cost."""
    with healthy_site() as healthy:
        roots = " ".join([*(site.url for site in sites), healthy.url])
        slow_before = slowdown()
        settings = {"DOWNLOAD_TIMEOUT": TIMEOUT_SECONDS, **(settings or {})}
        found = Runner(folder)(site=roots, settings=settings, patience=PATIENCE_SECONDS, **arguments)
        slow = (slow_before + slowdown()) / 2
    healthy_rows = [row for row in found.ledger if row["url"].startswith(healthy.url) and row["kind"] != "robots"]
    assert {row["reason"] for row in healthy_rows if row["found_by"] != "well-known"} == {None}
    mine = [loc for loc in found.locs if loc.startswith(healthy.url)]
    assert sorted(mine) == sorted(f"{healthy.url}{path}" for path in numbered(200))
    guesses = {"well-known", "home"}
    rows = [row for row in found.ledger if not row["url"].startswith(healthy.url) and row["found_by"] not in guesses]
    return rows, Cost(found.stats["test/cpu_seconds"] / slow, found.stats["test/peak_memory_bytes"])


@pytest.fixture(scope="module")
def harmless(tmp_path_factory):
    """Return the cost of a run without anything hostile."""
    with Flood(sitemap(lambda: plain(urlset("http://x.test/").encode()))()) as site:
        return crawl_beside(tmp_path_factory.mktemp("harmless"), [site])[1]


def check_cpu(run: Callable[[], float], megabytes: float) -> None:
    """Check that *run* returns few enough processor seconds for *megabytes*, once in three times.

    Other programs may slow down one run, but hardly three in a row.
    """
    for _ in range(3):
        if (seconds := run()) <= CPU_SECONDS_A_MB * megabytes:
            return
    pytest.fail(f"{seconds:.1f} seconds of CPU for {megabytes:.1f} MB")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.quick] if name in QUICK else []) for name in HOSTILE]
)
def test_a_hostile_document_costs_what_its_size_allows_and_other_sites_are_read(tmp_path, harmless, name):
    hostile = HOSTILE[name]
    with Flood(hostile.answers()) as site:

        def cpu_seconds() -> float:
            rows, cost = crawl_beside(tmp_path, [site], hostile.settings)
            assert Counter((row["outcome"], row["reason"]) for row in rows) == hostile.fates
            assert cost.memory - harmless.memory <= MOST_MEMORY
            return cost.cpu - harmless.cpu

        check_cpu(cpu_seconds, hostile.megabytes)


@pytest.mark.parametrize("runs", [pytest.param(0, id="no-store"), pytest.param(2, id="two-runs-with-a-store")])
def test_an_index_of_unwanted_sitemaps_costs_what_its_size_allows(tmp_path, runs):
    follow = r"index|/\d\.xml"  # those of the healthy site
    paths = [f"/rather/long/path/of/sitemaps/{number}" for number in range(100_000)]
    stores = map(str, itertools.count())

    def costs(listed: list[str]) -> list[Cost]:
        """Return the cost of each of *runs* runs with a new store, or of one without, over an index of *listed*."""
        body = index(*listed).replace("{site}", "").encode()
        store = {"store": tmp_path / next(stores)} if runs else {}
        found = []
        with Flood({"/robots.txt": plain(b"Sitemap: /index.xml"), "/index.xml": plain(body)}) as site:
            for _ in range(runs or 1):
                rows, cost = crawl_beside(tmp_path, [site], follow=follow, **store)
                found.append(cost)
                unwanted = [row for row in rows if row["outcome"] == "skipped"]
                assert [row["url"] for row in unwanted] == [f"{site.url}{path}" for path in listed]
                assert {row["reason"] for row in unwanted} <= {f"the URL does not match follow={follow!r}"}
        return found

    def cpu_seconds() -> float:
        """Return the processor seconds of the costliest run, above those of the same run over an empty index."""
        pairs = list(zip(costs(paths), costs([]), strict=True))
        assert all(cost.memory - harmless.memory <= MOST_MEMORY for cost, harmless in pairs)
        return max(cost.cpu - harmless.cpu for cost, harmless in pairs)

    check_cpu(cpu_seconds, len(index(*paths).replace("{site}", "")) / MB)


def test_a_robots_txt_of_four_times_as_many_hosts_that_do_not_exist_costs_four_times_as_much_at_most(
    tmp_path, harmless
):
    def cpu_seconds(hosts: int) -> float:
        urls = [f"http://host-{number}.gone.test/sitemap.xml" for number in range(hosts)]
        body = "".join(f"Sitemap: {url}\n" for url in urls).encode()
        with Flood({"/robots.txt": plain(body)}) as site:
            rows, cost = crawl_beside(tmp_path, [site], {"TWISTED_DNS_RESOLVER": "tests.crawl.parts.LocalNames"})
        named = {row["url"]: row["reason"] for row in rows if row["outcome"] == "failed"}
        assert sorted(named) == sorted(urls)
        reasons = Counter(named.values())
        missing = "no such host: DNS cannot resolve the name"
        assert set(reasons) == {missing, f"100 consecutive hosts of the site failed to respond: {missing}"}
        assert 100 <= reasons[missing] < 1_000  # some were in flight when the limit was reached
        assert cost.memory - harmless.memory <= MOST_MEMORY
        return cost.cpu

    # With few hosts, a part of the cost is that of the run. If the time grew with their square, it would be 16 times.
    assert any(cpu_seconds(24_000) <= 4 * cpu_seconds(6_000) for _ in range(3))


def test_other_work_goes_on_while_a_large_index_is_processed(tmp_path):
    settings = {**FEW, "EXTENSIONS": {"tests.crawl.parts.Considered": 0}}
    body = index(*numbered(25_000)).replace("{site}", "").encode()
    with Flood({"/robots.txt": plain(b"Sitemap: /index.xml"), "/index.xml": plain(body)}) as site:
        found = Runner(tmp_path)(site=site.url, settings=settings)
    assert found.row(f"{site.url}/index.xml")["outcome"] == "read"
    assert 1_000 <= found.stats["test/considered_in_a_turn"] <= 2_000


@pytest.mark.parametrize("sent", [plain, without_length, in_chunks])
def test_large_bodies_take_turns(tmp_path, harmless, sent):
    answer = sent(urlset("http://x.test/").encode() + b" " * 40 * MIB)
    answers = {"/robots.txt": plain(b"Sitemap: /a.xml\nSitemap: /b.xml"), "/a.xml": answer, "/b.xml": answer}
    with ExitStack() as stack:
        sites = [stack.enter_context(Flood(answers, host=f"127.0.1.{number}")) for number in range(8)]
        rows, cost = crawl_beside(tmp_path, sites)
    assert [(row["outcome"], row["complete"]) for row in rows] == [("read", True)] * 24
    assert cost.memory - harmless.memory <= MOST_MEMORY


@pytest.mark.parametrize(
    ("sites", "locs"),
    [
        pytest.param(8, numbered(120_000, prefix="/catalog/product-"), id="large-bodies"),
        pytest.param(32, ("/catalog/product",) * 40_000, id="small-bodies"),
    ],
)
def test_compressed_documents_that_arrive_together_are_read_a_few_at_a_time(tmp_path, harmless, sites, locs):
    body = gzip.compress(urlset(*locs).replace("{site}", "").encode())
    together = Barrier(sites)

    def answer() -> Iterator[bytes]:
        together.wait(timeout=PATIENCE_SECONDS)
        yield from plain(body)()

    answers = {"/robots.txt": plain(b"Sitemap: /sitemap.xml.gz"), "/sitemap.xml.gz": answer}
    with ExitStack() as stack:
        floods = [stack.enter_context(Flood(answers, host=f"127.0.1.{number}")) for number in range(sites)]
        rows, cost = crawl_beside(tmp_path, floods)
    read = [row for row in rows if row["kind"] == "sitemap"]
    assert [(row["outcome"], row["complete"], row["entries"]) for row in read] == [("read", True, len(locs))] * sites
    assert cost.memory - harmless.memory <= MOST_MEMORY


def test_documents_without_a_row_are_counted_in_the_row_of_their_parent(tmp_path):
    with Flood({
        "/robots.txt": plain(b"Sitemap: /index.xml"),
        "/index.xml": plain(index(*numbered(5_000)).replace("{site}", "").encode()),
    }) as site:  # fmt: skip
        rows, _ = crawl_beside(tmp_path, [site], FEW)
    (row,) = [row for row in rows if row["url"].endswith("/index.xml")]
    assert row["outcome"] == "read"
    counts = {problem["code"]: (problem["count"], problem["detail"]) for problem in row["problems"]}
    words = "3,902 more listed documents are not requested, and have no record"
    assert counts["document/without-row"] == (5_000 - 98 - 1_000, words)
    assert len(rows) == 2 + 98 + 1_000
