"""The changes that a crawl reports: each kind of change, its baseline, and differences that are no change."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime, timedelta

import pyarrow.parquet as pq
import pytest
from lxml import etree

from tests.crawl.crawling import lines
from tests.site import dated, index, robots, urlset
from tests.snapshots.store.making import Making

NEWS = "http://www.google.com/schemas/sitemap-news/0.9"
FEED = '<rss version="2.0"><channel><title>t</title><link>{{site}}/</link>{}</channel></rss>'
SITE = {
    "/robots.txt": robots("/index.xml", "/feed.xml"),
    "/index.xml": index("/1.xml", "/2.xml"),
    "/1.xml": dated(urlset("/stays", "/changes", "/goes", "/moves"), "2026-01-01"),
    "/2.xml": urlset("/other"),
}


def feed(*paths):
    return FEED.format("".join(f"<item><title>{path}</title><link>{{site}}{path}</link></item>" for path in paths))


@pytest.fixture
def site(serve):
    return serve({**SITE, "/feed.xml": feed("/item-1", "/item-2")})


def change(site):
    """Change *site* in every way."""
    site.pages |= {
        "/1.xml": dated(urlset("/stays", "/changes", "/comes"), "2026-01-01", "2026-02-02", "2026-01-01"),
        "/2.xml": urlset("/other", "/moves"),
        "/feed.xml": feed("/item-2", "/item-3"),
    }


@pytest.mark.quick
def test_each_change_names_the_kind_for_its_url(keep, site):
    first = keep(site)
    change(site)
    second = keep(site)
    assert {path: second.change(path) for path in ("/comes", "/goes", "/changes", "/item-1", "/item-3")} == {
        "/comes": {"kind": "added", "loc": "/comes", "key": "/comes", "sitemap": "/1.xml", "fields": []},
        "/goes": {
            "kind": "removed",
            "loc": "/goes",
            "key": "/goes",
            "sitemap": "/1.xml",
            "fields": [],
            "reason": "the sitemap was read completely and no longer lists the URL",
        },
        "/changes": {
            "kind": "changed",
            "loc": "/changes",
            "key": "/changes",
            "sitemap": "/1.xml",
            "fields": ["lastmod"],
            "before": {"lastmod": "2026-01-01T00:00:00+00:00"},
            "after": {"lastmod": "2026-02-02T00:00:00+00:00"},
        },
        "/item-1": {
            "kind": "expired",
            "loc": "/item-1",
            "key": "/item-1",
            "sitemap": "/feed.xml",
            "fields": [],
            "reason": "the URL is no longer in a feed, which lists only recent items",
        },
        "/item-3": {"kind": "added", "loc": "/item-3", "key": "/item-3", "sitemap": "/feed.xml", "fields": []},
    }
    moves = [row for row in second.changes if row["loc"] == f"{site.url}/moves"]
    assert [(row["kind"], row["fields"]) for row in moves] == [("changed", ["lastmod"]), ("moved", [])]
    assert [second.path(url) for url in (moves[1]["sitemap_before"], moves[1]["sitemap"])] == ["/1.xml", "/2.xml"]
    assert {(row["site"], row["run"], row["baseline"]) for row in second.changes} == {
        (site.url, second.summary["run"], first.summary["run"])
    }
    counts = (
        "added",
        "removed",
        "changed",
        "moved",
        "expired",
        "unchanged",
        "newly_known",
        "urls_before",
        "urls_after",
    )
    assert {name: second.summary[name] for name in counts} == {
        "added": 2, "removed": 1, "changed": 2, "moved": 1, "expired": 1, "unchanged": 3, "newly_known": 0,
        "urls_before": 7, "urls_after": 7,
    }  # fmt: skip
    words = "since the last snapshot: 2 added, 1 removed, 2 changed, 1 moved, 1 expired"
    assert words in second.run.log
    assert second.run.stats["sitemap_harvest/changes/added"] == 2
    (run,) = keep.store.site(site.url).runs[1:]
    assert run.changes == {"added": 2, "removed": 1, "changed": 2, "moved": 1, "expired": 1}


def test_a_mass_change_is_reported_once(keep, serve):
    site = serve({"/1.xml": urlset(*(f"http://a.example/{number}" for number in range(30)))})
    keep(site, sitemap=f"{site.url}/1.xml")
    site.pages["/1.xml"] = urlset(*(f"https://a.example/{number}" for number in range(30)))
    output = keep(site, sitemap=f"{site.url}/1.xml")
    (pattern,) = output.summary["patterns"]
    assert (pattern["name"], pattern["count"], pattern["share"]) == ("http-to-https", 30, 1.0)
    assert {(row["kind"], row["pattern"]) for row in output.changes} == {
        ("removed", "http-to-https"),
        ("added", "http-to-https"),
    }


def test_the_spider_changes_gives_changes_in_every_format(crawl, keep, site, tmp_path):
    given = {"site": site.url, "store": keep.folder, "spider": "changes"}
    first = crawl(options=("-O", f"{tmp_path}/changes.jsonl"), **given)
    assert (tmp_path / "changes.jsonl").read_text() == ""
    assert "1 first snapshot: nothing to compare with" in first.log
    change(site)
    crawl(options=("-O", f"{tmp_path}/changes.jsonl"), **given)
    rows = lines(tmp_path / "changes.jsonl")
    locs = [row["loc"] for row in rows]
    assert len(locs) == 7
    for name in ("json", "csv", "xml", "parquet"):
        crawl(options=("-O", f"{tmp_path}/changes.{name}"), baseline="first", **given)
    again = json.loads((tmp_path / "changes.json").read_text())
    names = [name for name in rows[0] if name not in {"run", "baseline"}]
    assert [{name: row[name] for name in names} for row in again] == [
        {name: row[name] for name in names} for row in rows
    ]
    with (tmp_path / "changes.csv").open() as file:
        assert [row["loc"] for row in csv.DictReader(file)] == locs
    assert [node.text for node in etree.parse(tmp_path / "changes.xml").findall("item/loc")] == locs
    assert pq.read_table(tmp_path / "changes.parquet")["loc"].to_pylist() == locs


def test_changes_are_relative_to_the_requested_baseline(keep, serve):
    site = serve({"/1.xml": urlset("/1")})
    named = f"{site.url}/1.xml"
    runs = []
    for number in (1, 2, 3):
        site.pages["/1.xml"] = urlset(f"/{number}")
        runs.append(keep(site, sitemap=named).summary["run"])
    site.pages["/1.xml"] = urlset("/4")
    expected = {
        "latest": 2,
        "previous": 2,
        runs[0]: 0,
        "first": 0,
        "0s": -1,
        f"{datetime.now(UTC) + timedelta(days=1):%Y-%m-%d}": -1,
    }
    for when, number in expected.items():
        output = keep(site, sitemap=named, baseline=when)
        history = [run.id for run in keep.store.site(named).runs]
        was = {"latest": history[-2], "previous": history[-3]}.get(when, history[-2 if number == -1 else number])
        assert output.summary["baseline"] == was, when
        before = {runs[0]: "/1", runs[1]: "/2", runs[2]: "/3"}.get(was, "/4")
        assert output.kinds == ({} if before == "/4" else {before: "removed", "/4": "added"}), when
        site.pages["/1.xml"] = urlset("/4")


@pytest.mark.parametrize(
    ("baseline", "words"),
    [
        (
            "yesterday",
            "argument baseline='yesterday': it must be latest, previous, first, a run ID, a date, a timestamp or",
        ),
        ("1000w", "there is no snapshot that is at least 1000w old; the first is "),
        ("2001", "there is no snapshot from 2001 or earlier; the first is "),
        ("previous", "there is only one snapshot, "),
        ("20200101T000000Z-abcdef", "'20200101T000000Z-abcdef' is not a run"),
    ],
)
def test_an_invalid_baseline_ends_the_run_before_any_request(keep, serve, baseline, words):
    site = serve()
    Making(keep.folder).run({f"{site.url}/1.xml": [f"{site.url}/1"]}, site=site.url)
    output = keep(site, baseline=baseline, calm=False)
    assert (output.run.reason, output.requests) == ("wrong_argument", [])
    (error,) = output.run.errors
    assert words in error
    assert "Traceback" not in output.run.log


def test_of_several_sites_one_without_the_baseline_is_kept_nevertheless(keep, serve):
    one, two = serve({"/1.xml": urlset("/1")}), serve({"/1.xml": urlset("/2")}, host="127.0.0.2")
    keep(one, sitemap=f"{one.url}/1.xml")
    one.pages["/1.xml"] = urlset("/3")
    output = keep(one, sitemap=f"{one.url}/1.xml {two.url}/1.xml", baseline="first")
    assert {row["site"]: (row["baseline"] is None, row["added"]) for row in output.summaries} == {
        f"{one.url}/1.xml": (False, 1),
        f"{two.url}/1.xml": (True, 0),
    }
    assert f"No baseline, so no changes are reported: {two.url}/1.xml: there is no snapshot" in output.run.log


def test_filters_and_limits_apply_to_the_output_and_not_to_the_snapshot(keep, serve):
    site = serve(SITE)
    narrow = keep(site, include="/changes", since="2026-01-01")
    assert narrow.locs == ["/changes"]
    assert keep.locs(site) == ["/changes", "/goes", "/moves", "/other", "/stays"]
    wide = keep(site)
    assert (wide.changes, wide.summary["newly_known"], len(wide.urls)) == ([], 0, 5)
    assert {(one["name"], one["before"], one["after"]) for one in wide.summary["differences"]} == {
        ("include", "/changes", None),
        ("since", "2026-01-01", None),
    }
    site.pages["/2.xml"] = urlset("/other", "/comes")
    few = keep(site, limit=2)
    assert few.summary["removed"] == few.summary["changed"] == few.summary["moved"] == 0
    last = keep(site)
    assert {**few.kinds, **last.kinds} == {"/comes": "added"}
    assert keep.locs(site) == ["/changes", "/comes", "/goes", "/moves", "/other", "/stays"]


@pytest.mark.parametrize("argument", [{"skip": "2.xml"}, {"follow": "1.xml"}])
def test_formerly_skipped_sitemaps_are_newly_known_and_newly_skipped_ones_are_kept(keep, serve, argument):
    site = serve(SITE)
    keep(site, **argument)
    assert keep.locs(site) == ["/changes", "/goes", "/moves", "/stays"]
    both = keep(site)
    assert (both.changes, both.summary["newly_known"]) == ([], 1)
    (name,) = argument
    assert [one["name"] for one in both.summary["differences"]] == [name]
    one = keep.later(site, **argument)
    assert (one.changes, one.summary["urls_after"], one.summary["stale"]) == ([], 5, 1)
    assert keep.locs(site) == ["/changes", "/goes", "/moves", "/other", "/stays"]


def test_a_sitemap_that_was_new_while_skipped_is_added_when_it_is_read(keep, serve):
    site = serve({**SITE, "/index.xml": index("/1.xml")})
    keep(site, skip=r"2\.xml")
    site.pages["/index.xml"] = SITE["/index.xml"]
    assert keep(site, skip=r"2\.xml").changes == []
    assert keep(site, skip=r"2\.xml").changes == []
    assert keep(site).kinds == {"/other": "added"}


def test_a_smaller_limit_on_documents_removes_nothing(keep, serve):
    site = serve(SITE)
    keep(site)
    output = keep(site, settings={"SITEMAP_HARVEST_MAX_URLS": 2}, force="yes")
    assert (output.changes, output.summary["urls_after"]) == ([], 5)
    assert [one["name"] for one in output.summary["differences"]] == ["max_urls"]
    assert keep(site).changes == []


def test_a_url_listed_twice_and_then_once_has_not_changed(keep, serve):
    site = serve({**SITE, "/2.xml": urlset("/stays", "/other", "/other")})
    keep(site)
    site.pages["/2.xml"] = urlset("/other")
    output = keep(site)
    assert (output.changes, output.summary["urls_before"], output.summary["urls_after"]) == ([], 5, 5)


def test_an_emptied_sitemap_is_reported(keep, site):
    keep(site)
    site.pages |= {"/2.xml": urlset()}
    output = keep(site)
    assert output.kinds == {"/other": "removed"}
    assert output.change("/other")["reason"] == "the sitemap was read completely and is now empty"
    assert [output.path(url) for url in output.summary["sitemaps_emptied"]] == ["/2.xml"]
