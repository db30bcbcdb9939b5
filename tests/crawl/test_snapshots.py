"""The content of a snapshot, whatever the run could read: documents that fail, leave, come back, and feeds."""

from __future__ import annotations

import re

import pytest

from tests.site import Page, dated, index, numbered, robots, unless, urlset

ONE, TWO = urlset("/a", "/b"), urlset("/c", "/d")
SITE = {"/robots.txt": robots("/index.xml"), "/index.xml": index("/1.xml", "/2.xml"), "/1.xml": ONE, "/2.xml": TWO}
LISTED = ["/a", "/b", "/c", "/d"]
GONE, DOWN = Page(status=404), Page(status=503)
FEED = '<rss version="2.0"><channel><title>t</title><link>{{site}}/</link>{}</channel></rss>'


def feed(*paths):
    return FEED.format("".join(f"<item><title>{path}</title><link>{{site}}{path}</link></item>" for path in paths))


@pytest.mark.quick
def test_the_first_run_has_no_baseline_and_the_second_no_changes(serve, keep):
    site = serve(SITE)
    first, second = keep(site), keep(site)
    assert (first.changes, first.summary["baseline"], first.summary["newly_known"]) == ([], None, 4)
    assert "1 first snapshot: nothing to compare with" in first.run.log
    assert (second.changes, second.summary["baseline"]) == ([], first.summary["run"])
    assert (second.summary["unchanged"], second.summary["stale"]) == (4, 0)
    assert "since the last snapshot: nothing has changed" in second.run.log
    assert sorted(map(str, second.urls)) == sorted(map(str, first.urls))
    assert second.fates == dict.fromkeys(SITE, "unchanged")
    assert [run.urls for run in keep.store.site(site.url).runs] == [4, 4]


def test_the_id_of_a_job_is_stored_with_its_run(serve, keep):
    site = serve(SITE)
    keep(site, _job="job-7")
    keep(site)
    assert [run.job for run in keep.store.site(site.url).runs] == ["job-7", None]


def test_a_first_snapshot_names_other_targets_on_its_host(serve, crawl, tmp_path):
    site = serve({**SITE, "/robots.txt": robots("/1.xml")})
    other = serve(SITE, host="127.0.0.2")
    by_sitemap = crawl(sitemap=f"{site.url}/1.xml {other.url}/1.xml", store=tmp_path / "snapshots")
    assert "2 first snapshots: nothing to compare with\n" in by_sitemap.log
    both = {"site": site.url, "sitemap": f"{site.url}/2.xml", "store": tmp_path / "snapshots"}
    hint = f"(the store has snapshots of {site.url}/1.xml: to compare with them, give the same target)"
    assert f"2 first snapshots: nothing to compare with {hint}\n" in crawl(**both).log
    assert "first snapshot" not in crawl(**both).log
    early = crawl(**both, baseline="2020-01-01").log
    assert "; 2 snapshots without a baseline: nothing to compare with\n" in early


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"/robots.txt": DOWN}, id="robots-down"),
        pytest.param({"/robots.txt": DOWN, "/index.xml": DOWN}, id="robots-and-index-down"),
        pytest.param({"/index.xml": GONE}, id="index-gone"),
        pytest.param({"/index.xml": Page(status=403)}, id="index-blocked"),
        pytest.param({"/index.xml": urlset()}, id="index-emptied-otherwise"),
        pytest.param({"/index.xml": "<html><body>Sorry</body></html>"}, id="index-a-web-page"),
    ],
)
def test_sitemaps_that_only_the_last_snapshot_knows_are_requested(serve, keep, change):
    site = serve(SITE)
    keep(site)
    site.pages |= {**change, "/2.xml": urlset("/c", "/e")}
    output = keep(site)
    assert output.kinds == {"/e": "added"}
    assert output.ledger["/1.xml"]["outcome"] == "unchanged"
    assert output.locs == ["/a", "/b", "/c", "/e"]
    assert keep.locs(site) == ["/a", "/b", "/c", "/d", "/e"]  # the removal of /d is pending
    assert output.ledger["/2.xml"]["found_by"] == ("index" if change.keys() == {"/robots.txt"} else "snapshot")
    site.pages |= SITE
    assert keep(site).kinds == {"/e": "removed"}


def test_a_sitemap_is_removed_when_its_completely_read_index_no_longer_lists_it(serve, keep):
    site = serve(SITE)
    keep(site)
    site.pages |= {"/index.xml": index("/2.xml")}
    output = keep(site)
    assert output.kinds == {"/a": "removed", "/b": "removed"}
    why = f"{site.url}/index.xml was read completely and no longer lists the document"
    assert output.change("/a")["reason"] == f"the sitemap was removed: {why}"
    assert output.summary["sitemaps_left"] == [{"url": f"{site.url}/1.xml", "reason": why}]
    assert "/1.xml" not in output.requests
    assert keep.ledger(site)["/1.xml"]["left"] == why
    assert keep(site).changes == []
    assert "/1.xml" not in keep.ledger(site)
    site.pages |= SITE
    assert keep(site).kinds == {"/a": "added", "/b": "added"}


def test_documents_no_longer_named_by_robots_txt_are_removed_with_their_children(serve, keep):
    site = serve({**SITE, "/robots.txt": robots("/index.xml", "/2.xml")})
    keep(site)
    site.pages["/robots.txt"] = robots("/2.xml")
    output = keep(site)
    assert output.kinds == {"/a": "removed", "/b": "removed"}
    assert [one["url"].removeprefix(site.url) for one in output.summary["sitemaps_left"]] == ["/1.xml", "/index.xml"]
    assert output.requests == ["/robots.txt", "/2.xml"]
    assert output.locs == keep.locs(site) == ["/c", "/d"]


def test_a_sitemap_is_removed_after_being_absent_in_several_runs(serve, keep):
    site = serve(SITE)
    given = {"settings": {"SITEMAP_HARVEST_ABSENT_RUNS": 2}}
    keep(site, **given)
    for page, absent_runs in ((GONE, 1), (DOWN, 1), (SITE["/1.xml"], 0), (GONE, 1)):
        site.pages["/1.xml"] = page
        assert keep(site, **given).changes == []
        assert keep.ledger(site)["/1.xml"]["absent_runs"] == absent_runs
    output = keep(site, **given)
    assert output.kinds == {"/a": "removed", "/b": "removed"}
    assert output.change("/a")["reason"] == "the sitemap was removed: the document was absent in 2 runs"
    assert keep(site, **given).changes == []
    site.pages["/1.xml"] = ONE
    assert keep(site, **given).kinds == {"/a": "added", "/b": "added"}


def test_documents_found_but_not_read_before_are_newly_known(serve, keep):
    site = serve({**SITE, "/1.xml": DOWN})
    assert keep(site).summary["urls_after"] == 2
    site.pages |= SITE
    output = keep(site)
    assert (output.changes, output.summary["newly_known"], output.summary["urls_after"]) == ([], 2, 4)
    kinds = dict.fromkeys(("added", "removed", "changed", "moved", "expired"), 0)
    assert [run.changes for run in keep.store.site(site.url).runs] == [kinds, kinds | {"newly_known": 2}]


@pytest.mark.parametrize(
    "body", [pytest.param('{"error": "temporarily unavailable"}', id="json"), pytest.param("Try again.", id="prose")]
)
def test_a_first_run_that_reads_no_directive_in_robots_txt_adds_nothing_later(serve, keep, body):
    site = serve({**SITE, "/robots.txt": body})
    first = keep(site)
    assert (first.fates["/robots.txt"], first.summary["urls_after"]) == ("not-a-sitemap", 0)
    site.pages |= SITE
    output = keep(site)
    assert (output.changes, output.summary["newly_known"]) == ([], 4)


def test_with_feeds_only_entries_are_added_until_all_is_read_again(serve, keep):
    site = serve({**SITE, "/robots.txt": robots("/index.xml", "/feed.xml"), "/feed.xml": feed("/n1", "/n2")})
    keep(site)
    site.pages |= {"/feed.xml": feed("/n2", "/n3"), "/1.xml": urlset("/a")}
    polled = keep(site, feeds_only="yes")
    assert [path for path in polled.requests if path != "/robots.txt"] == ["/feed.xml"]
    assert polled.fates == {"/feed.xml": "read"}
    assert (polled.kinds, polled.locs) == ({"/n3": "added"}, ["/n2", "/n3"])
    assert [one["name"] for one in polled.summary["differences"]] == ["feeds_only"]
    assert keep.locs(site) == [*LISTED, "/n1", "/n2", "/n3"]
    again = keep(site, feeds_only="yes")
    assert (again.fates, again.changes) == ({"/feed.xml": "unchanged"}, [])
    full = keep(site)
    assert full.kinds == {"/b": "removed", "/n1": "expired"}
    assert keep.locs(site) == ["/a", "/c", "/d", "/n2", "/n3"]


def test_feeds_only_needs_a_snapshot_with_feeds(serve, keep):
    site = serve(SITE)
    output = keep(site, feeds_only="yes")
    (record,) = output.sites
    reason = "feeds_only=yes needs a snapshot of the site: harvest it once without feeds_only"
    assert (record["result"], record["reason"]) == ("unfinished", reason)
    assert reason in output.run.log
    assert (output.requests, output.summaries) == ([], [])
    assert keep.store.sites() == []
    keep(site)
    output = keep(site, feeds_only="yes")
    assert (output.requests, output.changes, output.summary["unchanged"]) == ([], [], 4)
    (record,) = output.sites
    reason = "the run requests only feeds, and the last snapshot of the site has none"
    assert (record["result"], record["reason"]) == ("found", reason)


def test_a_site_without_a_sitemap_has_a_snapshot_too_and_later_sitemaps_are_added(serve, keep):
    site = serve({"/robots.txt": robots(), "/": "<!doctype html><p>Hello."})
    assert keep(site).summary["urls_after"] == 0
    site.pages |= {"/robots.txt": robots("/1.xml"), "/1.xml": ONE}
    output = keep(site)
    assert output.kinds == {"/a": "added", "/b": "added"}


def test_a_derived_spider_visits_all_pages_including_those_of_unchanged_documents(serve, keep):
    site = serve({**SITE, "/1.xml": unless('"v1"', ONE), **dict.fromkeys(LISTED, "<p>Hello.")})
    given = {"spider": "entries", "sitemap": f"{site.url}/index.xml", "environment": {"SITE_URL": site.url}}
    first, second = keep(site, **given), keep(site, **given)
    assert sorted(path for path in second.requests if path in LISTED) == LISTED
    entries = sorted(item["entry"][:2] for item in second.run.items if "entry" in item)
    assert entries == [["/a", 1], ["/b", 2], ["/c", 1], ["/d", 2]]
    assert len(keep.store.sites()) == 1
    assert first.run.stats["sitemap_harvest/pages"] == second.run.stats["sitemap_harvest/pages"] == 4


def test_entries_before_a_cut_are_confirmed_and_those_behind_it_are_from_earlier_runs(serve, keep):
    whole = dated(urlset("/new", "/a", "/b", *numbered(6)), "2026-03-01")
    part = whole[: whole.index("/p3<")]
    site = serve(SITE | {"/1.xml": part})
    first = keep(site)  # never read completely
    assert (first.summary["stale"], first.summary["unread"], first.summary["urls_after"]) == (0, 1, 7)
    site.pages["/1.xml"] = dated(urlset("/a", "/b", *numbered(6)), "2026-02-01", "2026-03-01")
    keep(site)
    site.pages["/1.xml"] = part
    for added in (1, 0):
        cut = keep(site)
        counts = ("added", "changed", "unchanged", "stale", "unread", "urls_after")
        assert [cut.summary[name] for name in counts] == [added, 0, 11 - added, 4, 1, 11]
        assert cut.summary["stale_share"] == round(4 / 11, 4)
    site.pages["/1.xml"] = DOWN
    assert keep(site).summary["stale"] == 9


def test_a_limit_of_the_output_does_not_cut_a_document_that_is_stored(serve, keep):
    site = serve(SITE | {"/index.xml": index("/1.xml"), "/1.xml": urlset(*numbered(12_000))})
    keep(site)
    site.pages["/1.xml"] = urlset("/new", *numbered(12_000), "/last")
    few = keep(site, limit=5)
    assert [few.summary[name] for name in ("added", "stale", "unread", "urls_after")] == [2, 0, 0, 12_002]
    assert len(few.urls) == 5


NO_CHANGE = "since the last snapshot: nothing has changed"
PARTLY = f"{NO_CHANGE} in the documents that were read; 1 document was not read completely"


@pytest.mark.parametrize(
    ("page", "argument", "words"),
    [
        pytest.param(DOWN, {}, PARTLY, id="failed"),
        pytest.param(GONE, {}, PARTLY, id="absent"),
        pytest.param("<html><body>Sorry</body></html>", {}, PARTLY, id="a-web-page"),
        pytest.param(TWO, {"skip": r"2\.xml"}, NO_CHANGE, id="skipped-by-the-user"),
        pytest.param("https://elsewhere.example/2.xml", {}, NO_CHANGE, id="out-of-scope"),
    ],
)
def test_nothing_has_changed_names_the_documents_that_no_run_has_read(serve, keep, page, argument, words):
    site = serve(SITE | {"/2.xml": page})
    if "elsewhere" in str(page):
        site.pages["/index.xml"] = index("/1.xml", page)
    keep(site, **argument)
    output = keep(site, **argument)
    assert re.search(rf"{words}$", output.run.log, re.MULTILINE)
    assert output.summary["unread"] == (words == PARTLY)


def test_the_words_for_documents_beyond_a_limit(serve, keep):
    site = serve(SITE)
    given = {"settings": {"SITEMAP_HARVEST_MAX_DOCUMENTS": 3}}
    keep(site, **given)
    newly_known = "2 newly known (from documents never read completely before, so perhaps not new)"
    for words in (newly_known, NO_CHANGE.partition(": ")[2] + " in the documents that were read"):
        log = keep(site, **given).run.log
        assert f"since the last snapshot: {words}; 1 document was not read completely" in log


def test_a_site_without_a_robots_txt_can_be_read_completely(serve, keep):
    site = serve({"/sitemap.xml": ONE})
    keep(site)
    output = keep(site)
    assert re.search(rf"{NO_CHANGE}$", output.run.log, re.MULTILINE)
    assert (output.summary["stale_sitemaps"], output.summary["unread"]) == ([], 0)
    assert [run.complete for run in keep.store.site(site.url).runs] == [True, True]


def test_a_robots_txt_that_is_gone_was_not_read(serve, keep):
    site = serve(SITE)
    keep(site)
    site.pages |= {"/robots.txt": GONE, "/1.xml": urlset("/a")}
    output = keep(site)
    assert [(one["url"], one["outcome"]) for one in output.summary["stale_sitemaps"]] == [
        (f"{site.url}/robots.txt", "absent")
    ]
    assert (output.summary["unread"], output.summary["pending"]) == (1, 1)
    assert f"Failed or incomplete: {site.url}/robots.txt: HTTP 404" in output.run.log
    assert [run.complete for run in keep.store.site(site.url).runs] == [True, False]


def test_a_listed_sitemap_that_stays_absent_is_unread_in_every_run(serve, keep):
    site = serve(SITE | {"/3.xml": urlset("/e"), "/index.xml": index("/1.xml", "/2.xml", "/3.xml")})
    keep(site)
    site.pages["/3.xml"] = GONE
    absent = [keep(site) for _ in range(3)]
    site.pages["/2.xml"] = urlset("/c")
    absent += [keep(site), keep(site)]
    assert [output.kinds for output in absent] == [{}, {}, {"/e": "removed"}, {"/d": "removed"}, {}]
    assert [(output.summary["unread"], output.summary["pending"]) for output in absent] == [(1, 0)] * 5
    for output in absent:
        assert [one["url"] for one in output.summary["stale_sitemaps"]] == [f"{site.url}/3.xml"]
        assert f"Failed or incomplete: {site.url}/3.xml: HTTP 404" in output.run.log
        assert "1 document was not read completely" in output.run.log
    assert [run.complete for run in keep.store.site(site.url).runs] == [True, *[False] * 5]
    site.pages["/3.xml"] = urlset("/e")
    assert (keep(site).kinds, keep.store.site(site.url).runs[-1].complete) == ({"/e": "added"}, True)
