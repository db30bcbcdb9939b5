"""Whole runs of the engine against a web in memory."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import pytest

from sitemap_harvest import Outcome, SitemapRecord, SiteRecord, open_store
from sitemap_harvest.config.settings import HarvestSettings
from sitemap_harvest.engine import snapshot_session
from sitemap_harvest.engine.run_summary import Summary
from tests.documents import index, urlset
from tests.engine.run import Result, Web, harvest, session_of

if TYPE_CHECKING:
    from pathlib import Path

    from sitemap_harvest.snapshots.store import Run

SITE = "https://www.example.com"
READ = ("read", None)


def plain(*paths: str) -> bytes:
    return urlset("".join(f"<url><loc>{SITE}{path}</loc></url>" for path in paths))


def index_of(*paths: str) -> bytes:
    return index("".join(f"<sitemap><loc>{SITE}{path}</loc></sitemap>" for path in paths))


@pytest.mark.parametrize(
    ("web", "arguments", "expected"),
    [
        pytest.param(
            {
                f"{SITE}/robots.txt": f"Sitemap: {SITE}/index.xml".encode(),
                f"{SITE}/index.xml": index_of("/1.xml", "/2.xml"),
                f"{SITE}/1.xml": plain("/a", "/b"),
                f"{SITE}/2.xml": plain("/c"),
            },
            {"site": SITE},
            Result(
                requests=[f"{SITE}/robots.txt", f"{SITE}/index.xml", f"{SITE}/1.xml", f"{SITE}/2.xml"],
                urls=[f"{SITE}/a", f"{SITE}/b", f"{SITE}/c"],
                records={f"{SITE}/{name}": READ for name in ("robots.txt", "index.xml", "1.xml", "2.xml")},
                sites={SITE: "found"},
            ),
            id="robots-txt-and-index",
        ),
        pytest.param(
            {},
            {"sitemap": f"{SITE}/sitemap.xml"},
            Result(
                requests=[f"{SITE}/sitemap.xml"],
                records={f"{SITE}/sitemap.xml": ("absent", "HTTP 404: the server has no such document")},
                sites={f"{SITE}/sitemap.xml": "absent"},
            ),
            id="404",
        ),
        pytest.param(
            {f"{SITE}/sitemap.xml": 503},
            {"sitemap": f"{SITE}/sitemap.xml"},
            Result(
                requests=[f"{SITE}/sitemap.xml"],
                records={f"{SITE}/sitemap.xml": ("failed", "HTTP 503: the server failed")},
                sites={f"{SITE}/sitemap.xml": "unreachable"},
            ),
            id="503",
        ),
        pytest.param(
            {f"{SITE}/sitemap.xml.gz": gzip.compress(plain("/a"))[:-4]},
            {"sitemap": f"{SITE}/sitemap.xml.gz"},
            Result(
                requests=[f"{SITE}/sitemap.xml.gz"],
                urls=[f"{SITE}/a"],
                records={f"{SITE}/sitemap.xml.gz": ("partial", "the document is incomplete (unpack/truncated)")},
                sites={f"{SITE}/sitemap.xml.gz": "found"},
            ),
            id="cut-gzip",
        ),
        pytest.param(
            {
                f"{SITE}/index.xml": index_of("/old.xml", "/new.xml"),
                f"{SITE}/old.xml": f"{SITE}/new.xml",
                f"{SITE}/new.xml": plain("/a"),
            },
            {"sitemap": f"{SITE}/index.xml"},
            Result(
                requests=[f"{SITE}/index.xml", f"{SITE}/old.xml", f"{SITE}/new.xml"],
                urls=[f"{SITE}/a"],
                records={
                    f"{SITE}/index.xml": READ,
                    f"{SITE}/old.xml": ("skipped", f"the URL redirects to {SITE}/new.xml, which is read separately"),
                    f"{SITE}/new.xml": READ,
                },
                sites={f"{SITE}/index.xml": "found"},
            ),
            id="redirect-to-a-document-of-its-own",
        ),
        pytest.param(
            {f"{SITE}/1.xml": plain("/a", "/b", "/c")},
            {"sitemap": f"{SITE}/1.xml", "limit": "2"},
            Result(
                requests=[f"{SITE}/1.xml"],
                urls=[f"{SITE}/a", f"{SITE}/b"],
                records={f"{SITE}/1.xml": ("partial", "limit=2 was reached within the document")},
                sites={f"{SITE}/1.xml": "found"},
            ),
            id="limit",
        ),
    ],
)
def test_a_run_without_a_store(web: Web, arguments: dict[str, str], expected: Result) -> None:
    assert harvest(web, emit="urls,sitemaps,sites", **arguments) == expected


A, B, C = (f"{SITE}/{name}.xml" for name in "abc")
SKIPPED = ("skipped", f"the URL redirects to {B}, which is read separately")
GONE = ("absent", "HTTP 404: the server has no such document")
DOWN = ("failed", "HTTP 503: the server failed")


@pytest.mark.parametrize(
    ("web", "records", "urls", "complete"),
    [
        pytest.param({A: B, B: plain("/1")}, {A: SKIPPED, B: READ}, ["/1"], True, id="to-the-next"),
        pytest.param({A: plain("/1"), B: A}, {A: READ, B: ("skipped", SKIPPED[1].replace(B, A))}, ["/1"], True,
                     id="to-the-one-before"),
        pytest.param({A: C, B: C, C: plain("/1")}, {A: READ, B: ("skipped", SKIPPED[1].replace(B, C))}, ["/1"], True,
                     id="both-to-one-that-nothing-lists"),
        pytest.param({A: B}, {A: GONE, B: GONE}, [], False, id="to-none"),
        pytest.param({A: C, B: C}, {A: GONE, B: GONE}, [], False, id="both-to-none"),
        pytest.param({A: B, B: 503}, {A: DOWN, B: DOWN}, [], False, id="to-one-that-fails"),
        pytest.param({A: "https://other.example/c.xml", "https://other.example/c.xml": plain("/1"), B: plain("/2")},
                     {A: READ, B: READ}, ["/1", "/2"], True, id="to-another-host"),
    ],
)  # fmt: skip
def test_listed_sitemaps_that_redirect(
    web: Web, records: dict[str, tuple[str, str | None]], urls: list[str], complete: bool
) -> None:
    class Complete(Result):
        def add(self, item: object) -> None:
            super().add(item)
            if isinstance(item, SiteRecord):
                assert item.complete is complete

    robots = {f"{SITE}/robots.txt": f"Sitemap: {A}\nSitemap: {B}".encode()}
    found = harvest(robots | web, result=Complete(), site=SITE, emit="urls,sitemaps,sites")
    assert {url: found.records[url] for url in (A, B)} == records
    assert found.urls == [f"{SITE}{path}" for path in urls]
    assert list(found.sites) == [SITE]


def test_sitemaps_that_redirect_to_one_missing_page_leave(tmp_path: Path) -> None:
    arguments = {"site": SITE, "store": str(tmp_path), "emit": "changes,sitemaps"}
    robots = {f"{SITE}/robots.txt": f"Sitemap: {A}\nSitemap: {B}\nSitemap: {C}".encode(), C: plain("/3")}
    webs = ({A: plain("/1"), B: plain("/2")}, *[{A: f"{SITE}/gone", B: f"{SITE}/gone"}] * 3)
    runs = [harvest(robots | web, session=session_of(arguments), **arguments) for web in webs]
    assert [run.changes for run in runs[:3]] == [set()] * 3
    assert runs[3].changes == {("removed", f"{SITE}/1"), ("removed", f"{SITE}/2")}


def test_the_second_run_with_a_store_reports_the_changes(tmp_path: Path) -> None:
    address = f"{SITE}/sitemap.xml"
    arguments = {"sitemap": address, "store": str(tmp_path / "store"), "emit": "changes,sitemaps,sites"}

    def run(body: bytes) -> Result:
        return harvest({address: body}, session=session_of(arguments), **arguments)

    unchanged = ("unchanged", "the digest has not changed")
    expected = {"requests": [address], "sites": {address: "found"}}
    assert run(plain("/a", "/b")) == Result(**expected, records={address: READ})
    assert run(plain("/a", "/b")) == Result(**expected, records={address: unchanged})
    assert run(plain("/b", "/c")) == Result(
        **expected, records={address: READ}, changes={("added", f"{SITE}/c"), ("removed", f"{SITE}/a")}
    )


@pytest.mark.parametrize(
    ("web", "counts"),
    [
        pytest.param({A: plain("/1")}, {"newly_known": 1, "pending": 1}, id="read-completely-without-it"),
        pytest.param({f"{SITE}/robots.txt": f"Sitemap: {B}".encode()}, {"pending": 1}, id="no-longer-listed"),
    ],
)
def test_a_url_that_only_incomplete_readings_listed_is_retracted_after_it_was_pending(
    tmp_path: Path, web: Web, counts: dict[str, int]
) -> None:
    arguments = {"site": SITE, "store": str(tmp_path), "emit": "changes"}
    robots = {f"{SITE}/robots.txt": f"Sitemap: {A}\nSitemap: {B}".encode()}
    cut = plain("/x", "/1")[:-25]
    webs = (robots | {A: cut, B: plain("/2")}, robots | web | {B: 503}, robots | web | {B: plain("/2")})
    assert [harvest(one, session=session_of(arguments), **arguments).changes for one in webs] == [set()] * 3
    found = [{kind: count for kind, count in run.changes.items() if count} for run in runs_of(arguments)]
    assert found == [{}, counts, {"retracted": 1}]


def runs_of(arguments: dict[str, str]) -> tuple[Run, ...]:
    return open_store(arguments["store"]).history(SITE).runs


def test_documents_in_checkpoints_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_session, "_CHECKPOINT_DOCUMENTS", 2)
    monkeypatch.setattr(snapshot_session, "_LOOK_SECONDS", 0.0)
    names = [f"/{number}.xml" for number in range(4)]
    arguments = {"sitemap": f"{SITE}/index.xml", "store": str(tmp_path)}
    session = session_of(arguments)
    counts: dict[str, int] = {}

    class Watched(dict[str, Any]):
        def get(self, url: str, default: object = None) -> Any:
            counts[url] = session.checkpointed
            return super().get(url, default)

    pages = {f"{SITE}/index.xml": index_of(*names), **{f"{SITE}{name}": plain(name) for name in names}}
    harvest(Watched(pages), session=session, **arguments)
    assert list(counts.values()) == [0, 0, 2, 2, 4]
    assert session.checkpointed == 0, "the snapshot is stored"


def test_a_listed_sitemap_that_redirects_to_another_one_is_unread_until_its_urls_are_removed(tmp_path: Path) -> None:
    a, b = f"{SITE}/a.xml", f"{SITE}/b.xml"
    arguments = {"site": SITE, "store": str(tmp_path), "emit": "changes"}
    robots = {f"{SITE}/robots.txt": f"Sitemap: {a}\nSitemap: {b}".encode()}
    webs = [{a: plain("/1"), b: plain("/2")}, *[{a: b, b: plain("/2")}] * 4]
    found = []
    for web in webs:
        summary = Summary()
        result = harvest(robots | web, session=session_of(arguments), summary=summary, **arguments)
        run = open_store(str(tmp_path)).latest(SITE).run
        found.append((summary.has_failed, summary.notes.first, summary.unread_documents, run.complete, result.changes))
    unread = (True, [f"{a}: the URL redirects to {b}, which is read separately"], 1, False, set())
    assert found == [
        (False, [], 0, True, set()),
        unread,
        unread,
        (False, [], 0, True, {("removed", f"{SITE}/1")}),
        (False, [], 0, True, set()),  # all URLs of the site are known, although it still lists the sitemap
    ]


def test_a_pipeline_that_changes_a_record_does_not_change_what_the_run_stores(tmp_path: Path) -> None:
    address = f"{SITE}/sitemap.xml"
    arguments = {"sitemap": address, "store": str(tmp_path), "emit": "sitemaps,sites"}

    class Pipeline(Result):
        def add(self, item: object) -> None:
            super().add(item)
            if isinstance(item, SitemapRecord):
                item.url, item.outcome, item.rows_from, item.complete = "changed", Outcome.FAILED, None, False

    result = harvest({address: plain("/a")}, session=session_of(arguments), result=Pipeline(), **arguments)
    assert (result.records, result.sites) == ({address: READ}, {address: "found"})
    (record,) = open_store(str(tmp_path)).latest(address).sitemaps().to_pylist()
    assert (record["url"], record["outcome"], record["complete"]) == (address, "read", True)


@pytest.mark.parametrize(
    ("robots", "last", "complete"),
    [
        pytest.param(["/1.xml", "/2.xml"], "/2.xml", True, id="all-was-read"),
        pytest.param(["/1.xml", "/2.xml"], "/1.xml", False, id="one-is-queued"),
        pytest.param(["/1.xml"], "/1.xml", True, id="the-other-is-not-listed-any-more"),
        pytest.param(["/1.xml", "/gone.xml"], "/gone.xml", False, id="one-is-absent"),
    ],
)
def test_an_interrupted_run_is_complete_only_if_nothing_was_left_to_read(
    robots: list[str], last: str, complete: bool, tmp_path: Path
) -> None:
    arguments = {"site": SITE, "store": str(tmp_path), "emit": "sites"}
    web = {
        f"{SITE}/robots.txt": listing("/1.xml", "/2.xml"),
        f"{SITE}/1.xml": plain("/a"),
        f"{SITE}/2.xml": plain("/b"),
    }
    harvest(web, session=session_of(arguments), **arguments)
    web[f"{SITE}/robots.txt"] = listing(*robots)
    result = harvest(web, session=session_of(arguments), last=f"{SITE}{last}", **arguments)
    assert (result.sites, result.complete) == ({SITE: "found"}, {SITE} if complete else set())
    assert [run.complete for run in open_store(tmp_path).site(SITE).runs] == [True, complete]


def test_an_interrupted_run_that_did_not_look_at_a_known_document_is_incomplete(tmp_path: Path) -> None:
    arguments = {"site": SITE, "store": str(tmp_path), "emit": "sites"}
    web = {f"{SITE}/robots.txt": b"", f"{SITE}/sitemap.xml": plain("/a"), f"{SITE}/1.xml": plain("/b")}
    harvest(web, session=session_of(arguments), **arguments)  # finds sitemap.xml by probing
    web[f"{SITE}/robots.txt"] = listing("/1.xml")
    result = harvest(web, session=session_of(arguments), last=f"{SITE}/1.xml", **arguments)
    assert (result.sites, result.complete) == ({SITE: "found"}, set())
    assert [run.complete for run in open_store(tmp_path).site(SITE).runs] == [True, False]


def test_a_site_whose_sitemap_was_read_for_another_one_is_incomplete_after_an_interruption() -> None:
    other = SITE.replace("www", "blog")
    web = {f"{site}/robots.txt": listing("/1.xml") for site in (SITE, other)} | {f"{SITE}/1.xml": plain("/a")}
    result = harvest(web, site=f"{SITE} {other}", emit="sites", last=f"{SITE}/1.xml")
    assert (result.sites.keys(), result.complete) == ({SITE, other}, {SITE})


def listing(*paths: str) -> bytes:
    return "".join(f"Sitemap: {SITE}{path}\n" for path in paths).encode()


OTHER = "https://other.example"
LATE = "limit=2 was reached before the document was requested"


@pytest.mark.parametrize("has_store", [False, True])
@pytest.mark.parametrize(
    ("targets", "sites"),
    [
        pytest.param({"site": f"{SITE} {OTHER}"}, {SITE: "found", OTHER: "unfinished"}, id="sites"),
        pytest.param({"site": OTHER, "sitemap": A}, {A: "found", OTHER: "unfinished"}, id="site-and-document"),
        pytest.param({"sitemap": f"{A} {OTHER}/s.xml"}, {A: "found", f"{OTHER}/s.xml": "unfinished"}, id="documents"),
    ],
)
def test_a_site_that_the_limit_leaves_unfinished_is_no_failure(
    tmp_path: Path, targets: dict[str, str], sites: dict[str, str], has_store: bool
) -> None:
    web: Web = {A: plain("/1", "/2"), f"{OTHER}/s.xml": plain("/3")}
    web |= {f"{site}/robots.txt": f"Sitemap: {url}".encode() for site, url in ((SITE, A), (OTHER, f"{OTHER}/s.xml"))}
    arguments = (
        targets | {"emit": "urls,sitemaps,sites", "limit": "2"} | ({"store": str(tmp_path)} if has_store else {})
    )
    summary = Summary()
    result = harvest(web, session=session_of(arguments) if has_store else None, summary=summary, **arguments)
    assert result.records[f"{OTHER}/s.xml"] == ("over-limit", LATE)
    assert (result.sites, result.complete) == (sites, set())
    assert (summary.has_failed, summary.failed_sites, summary.failed_documents) == (False, [], [])


def test_a_document_in_which_the_limit_is_reached_is_stored_in_full(tmp_path: Path) -> None:
    locs = [f"/{number}" for number in range(12_000)]
    arguments = {"sitemap": A, "emit": "urls,sitemaps", "limit": "2", "store": str(tmp_path)}
    session = session_of(arguments)
    result = harvest({A: plain(*locs)}, session=session, **arguments)
    assert (result.urls, result.records) == ([f"{SITE}/0", f"{SITE}/1"], {A: READ})
    snapshot = session.store.history(A).at("latest")
    assert sum(len(batch) for batch in snapshot.urls(["loc"])) == 12_000


BARE = plain("/?a=1&b=2")
CUT = plain("/a", "/b").partition(b"<url><loc>https://www.example.com/b")[0]
ILL_FORMED = ["xml/bare-ampersand", "xml/not-well-formed"]
TRUNCATED = ["xml/not-well-formed", "xml/truncated"]
INCOMPLETE = "the document is incomplete (xml/truncated)"
PAGE = b"<!doctype html><title>Shop</title>"


@pytest.mark.parametrize("is_listed", [True, False])
@pytest.mark.parametrize(
    ("body", "problems", "failure", "result"),
    [
        pytest.param(BARE, ILL_FORMED, None, "found", id="damaged"),
        pytest.param(CUT, TRUNCATED, INCOMPLETE, "found", id="truncated"),
        pytest.param(CUT[:-60], ["document/no-entries", *TRUNCATED], INCOMPLETE, "unreachable", id="without-a-url"),
        pytest.param(plain(), ["document/no-entries"], None, "found", id="empty"),
        pytest.param(PAGE, ["document/not-a-sitemap"], "the document is a web page", "absent", id="web-page"),
    ],
)
def test_a_sitemap_counts_however_it_was_found(
    body: bytes, problems: list[str], failure: str | None, result: str, is_listed: bool
) -> None:
    robots = f"Sitemap: {SITE}/sitemap.xml" if is_listed else "User-agent: *"
    web: Web = {f"{SITE}/": PAGE, f"{SITE}/robots.txt": robots.encode(), f"{SITE}/sitemap.xml": body}
    summary = Summary()
    assert harvest(web, summary=summary, site=SITE, emit="sites").sites == {SITE: result}
    assert sorted(summary.problems) == (problems if is_listed or result != "absent" else [])
    is_counted = failure is not None and (is_listed or result == "found")
    assert summary.notes.first == ([f"{SITE}/sitemap.xml: {failure}"] if is_counted else [])
    assert summary.has_failed == (is_counted or result != "found")


def test_the_snapshot_has_the_problems_of_the_last_reading_also_if_it_gave_no_url(tmp_path: Path) -> None:
    arguments = {"site": SITE, "emit": "changes", "store": str(tmp_path)}
    found = []
    for body in (plain("/a"), CUT[:-60], plain("/a")):
        web: Web = {f"{SITE}/robots.txt": listing("/s.xml"), f"{SITE}/s.xml": body}
        assert harvest(web, session=session_of(arguments), **arguments).changes == set()
        store = open_store(str(tmp_path))
        codes = store.query("select code from problems order by code")["code"].to_pylist()
        found.append((codes, store.query("select loc from urls")["loc"].to_pylist()))
    cut = ["document/no-entries", *TRUNCATED]
    assert found == [(codes, [f"{SITE}/a"]) for codes in ([], cut, [])]


def test_an_invalid_line_of_the_list_of_sites_is_named_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "sites.txt").write_text(f"{SITE}\nnot a site\n")
    web: Web = {f"{SITE}/robots.txt": listing("/s.xml"), f"{SITE}/s.xml": plain("/a")}
    summary = Summary()
    harvest(web, summary=summary, sites=str(tmp_path / "sites.txt"), emit="sites")
    assert summary.site_notes.first == [f"{tmp_path / 'sites.txt'}, line 2: 'not a site' is not a site"]


FEED = f"<rss version='2.0'><channel><title>News</title><item><link>{OTHER}/n</link></item></channel></rss>".encode()
NO_FEED = "the run requests only feeds, and the last snapshot of the site has none"


@pytest.mark.parametrize("has_sitemap", [True, False])
def test_a_site_without_feeds_is_no_failure_of_a_run_that_requests_only_feeds(
    tmp_path: Path, has_sitemap: bool
) -> None:
    web: Web = {f"{SITE}/robots.txt": listing("/s.xml"), f"{OTHER}/robots.txt": f"Sitemap: {OTHER}/feed".encode()}
    web |= {f"{OTHER}/feed": FEED} | ({f"{SITE}/s.xml": plain("/a")} if has_sitemap else {})
    arguments = {"site": f"{SITE} {OTHER}", "store": str(tmp_path)}
    harvest(web, session=session_of(arguments), **arguments)
    summary = Summary()
    arguments |= {"feeds_only": "yes", "emit": "urls,sites"}
    result = harvest(web, session=session_of(arguments), summary=summary, **arguments)
    assert (result.requests, result.urls) == ([f"{OTHER}/feed"], [f"{OTHER}/n"])
    assert result.sites == {SITE: "found" if has_sitemap else "absent", OTHER: "found"}
    assert summary.site_notes.first == [f"{SITE}: {NO_FEED}" if has_sitemap else f"{SITE}: absent: {NO_FEED}"]
    assert summary.has_failed != has_sitemap


def test_a_limit_that_ends_the_wait_for_another_run_is_no_failure(tmp_path: Path) -> None:
    web: Web = {A: plain("/1", "/2")}
    arguments = {"site": OTHER, "sitemap": A, "emit": "urls,sites", "limit": "2", "store": str(tmp_path)}
    assert session_of(arguments).begin(OTHER) is None
    summary, options = Summary(), HarvestSettings(busy="wait")
    result = harvest(web, session=session_of(arguments), summary=summary, options=options, **arguments)
    assert result.sites == {A: "found", OTHER: "unfinished"}
    assert (summary.has_failed, summary.failed_sites) == (False, [])


@pytest.mark.parametrize(
    ("last", "ended"),
    [
        pytest.param(f"{SITE}/1.xml", ("interrupted", "HTTP 429: too many requests; the run ended"), id="interrupted"),
        pytest.param(None, ("over-limit", "HTTP 429: too many requests; limit=1 was reached"), id="limit"),
    ],
)
def test_a_document_that_waits_for_a_retry_keeps_its_status_when_the_run_ends(
    last: str | None, ended: tuple[str, str]
) -> None:
    other = "https://www.example.org/2.xml"
    web: Web = {f"{SITE}/1.xml": 429, other: plain("/a")}
    result = harvest(web, sitemap=f"{SITE}/1.xml {other}", emit="urls,sitemaps", limit="1", last=last)
    outcome, reason = ended
    assert result.records[f"{SITE}/1.xml"] == (outcome, f"{reason} before the next try")
    assert result.statuses[f"{SITE}/1.xml"] == 429
