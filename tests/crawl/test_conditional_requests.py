"""The second run over a site requests only what may have changed, and still reports everything it knows."""

from __future__ import annotations

from datetime import datetime

import pytest

from tests.site import Page, dated, gzipped, index, moved, numbered, robots, unless, urlset

OLD, NEW = "Sat, 01 Mar 2025 10:00:00 GMT", "Sun, 02 Mar 2025 10:00:00 GMT"
ONE, TWO = urlset(*numbered(3)), urlset(*numbered(3, start=4))
LISTED = numbered(6)
SITE = {"/robots.txt": robots("/index.xml"), "/index.xml": index("/1.xml", "/2.xml"), "/1.xml": ONE, "/2.xml": TWO}
BY_304 = "HTTP 304: not modified"
BY_DIGEST = "the digest has not changed"


def of_the_store(output, path="/1.xml"):
    """Return the fields of a ledger row about the rows in the store."""
    row = output.ledger[path]
    times = {name: datetime.fromisoformat(row[name]) for name in ("fresh_at", "read_at")}
    return {name: row[name] for name in ("rows_from", "absent_runs", "complete")} | times


@pytest.mark.parametrize(
    ("page", "reason", "status"),
    [
        pytest.param(unless('"v1"', ONE), BY_304, 304, id="etag"),
        pytest.param(unless('W/"v1"', ONE), BY_304, 304, id="weak-etag"),
        pytest.param(unless("", ONE, last_modified=OLD), BY_304, 304, id="last-modified"),
        pytest.param(ONE, BY_DIGEST, 200, id="digest"),
        pytest.param(gzipped(ONE.replace("{site}", "https://a.example")), BY_DIGEST, 200, id="digest-of-gzip"),
        pytest.param(
            unless('"v1"', gzipped(ONE.replace("{site}", "https://a.example"))), BY_304, 304, id="etag-of-gzip"
        ),
    ],
)
def test_an_unchanged_document_is_read_from_the_store(serve, keep, page, reason, status):
    site = serve({"/1.xml": page})
    first = keep(site, sitemap=f"{site.url}/1.xml")
    second = keep(site, sitemap=f"{site.url}/1.xml")
    was, row = first.ledger["/1.xml"], second.ledger["/1.xml"]
    assert second.requests == ["/robots.txt", "/1.xml"]
    assert (row["outcome"], row["reason"], row["status"]) == ("unchanged", reason, status)
    alike = ("kind", "layers", "encoding", "bytes_unpacked", "entries", "sha256", "etag", "last_modified", "complete")
    assert {name: row[name] for name in alike} == {name: was[name] for name in alike}
    assert len(second.urls) == 3
    assert second.urls == first.urls
    assert second.changes == []


def test_the_ledger_has_the_time_of_the_last_confirmation(serve, keep):
    site = serve({**SITE, "/1.xml": unless('"v1"', ONE)})
    first, second = keep(site), keep(site)
    requested_at = [
        datetime.fromisoformat(output.ledger[path]["fetched_at"])
        for output in (first, second)
        for path in ("/1.xml", "/2.xml")
    ]
    kept = keep.ledger(site)
    assert kept["/1.xml"]["rows_from"] == kept["/2.xml"]["rows_from"] == first.summary["run"]
    times = [kept[path][name] for path in ("/1.xml", "/2.xml") for name in ("fresh_at", "read_at")]
    assert times == [requested_at[2], requested_at[0], requested_at[3], requested_at[3]]
    site.pages |= {"/1.xml": Page(status=503), "/2.xml": Page(status=404)}
    third = keep.later(site)
    assert of_the_store(third, "/1.xml") == of_the_store(second, "/1.xml") | {"complete": False}
    assert of_the_store(third, "/2.xml") == of_the_store(second, "/2.xml") | {"complete": False, "absent_runs": 1}
    assert (third.changes, third.summary["stale"], third.summary["stale_share"]) == ([], 6, 1.0)
    assert [(one["url"].removeprefix(site.url), one["outcome"]) for one in third.summary["stale_sitemaps"]] == [
        ("/1.xml", "failed"),
        ("/2.xml", "absent"),
    ]
    assert keep.locs(site) == LISTED


@pytest.mark.quick
def test_a_304_of_an_index_does_not_confirm_its_sitemaps(serve, keep):
    site = serve({**SITE, "/index.xml": unless('"i"', index("/1.xml", "/2.xml")), "/2.xml": unless('"v1"', TWO)})
    keep(site)
    site.pages["/2.xml"] = unless('"v2"', urlset("/p4", "/p5", "/p7"))
    second = keep(site)
    assert second.fates == {
        "/robots.txt": "unchanged",
        "/index.xml": "unchanged",
        "/1.xml": "unchanged",
        "/2.xml": "read",
    }
    assert second.kinds == {"/p6": "removed", "/p7": "added"}
    assert second.locs == ["/p1", "/p2", "/p3", "/p4", "/p5", "/p7"]


def test_an_index_with_an_unchanged_body_leads_to_its_stored_sitemaps(serve, keep):
    site = serve(SITE)
    keep(site)
    site.pages["/1.xml"] = urlset(*numbered(4))
    second = keep(site)
    assert second.fates == {
        "/robots.txt": "unchanged",
        "/index.xml": "unchanged",
        "/1.xml": "read",
        "/2.xml": "unchanged",
    }
    assert (second.ledger["/1.xml"]["parent"], second.ledger["/1.xml"]["depth"]) == (f"{site.url}/index.xml", 2)
    assert second.kinds == {}
    assert second.summary["unchanged"] == 6


def test_a_304_from_the_target_of_a_redirect_is_not_accepted(serve, keep):
    site = serve({"/1.xml": unless('"v1"', ONE), "/new.xml": unless('"v1"', TWO)})
    keep(site, sitemap=f"{site.url}/1.xml")
    site.pages["/1.xml"] = moved("{site}/new.xml")
    second = keep(site, sitemap=f"{site.url}/1.xml")
    assert second.fates == {"/1.xml": "read"}
    assert second.locs == ["/p4", "/p5", "/p6"]
    assert second.requests.count("/new.xml") == 2


def test_an_unsolicited_304_changes_nothing(serve, keep):
    site = serve(SITE)
    keep(site)
    site.pages["/1.xml"] = Page(status=304)
    second = keep(site)
    assert second.ledger["/1.xml"]["outcome"] == "failed"
    assert second.ledger["/1.xml"]["reason"] == "HTTP 304 in response to an unconditional request"
    assert second.changes == []
    assert keep.locs(site) == LISTED
    assert second.locs == ["/p4", "/p5", "/p6"]


@pytest.mark.parametrize(
    ("arguments", "status", "outcome"),
    [
        pytest.param({}, 304, "unchanged", id="nothing"),
        pytest.param({"force": "yes"}, 200, "read", id="full"),
        pytest.param({"max_age": 0}, 200, "unchanged", id="max-age-0"),
        pytest.param({"max_age": "1h"}, 304, "unchanged", id="max-age-1h"),
    ],
)
def test_the_user_may_force_a_download(serve, keep, arguments, status, outcome):
    site = serve({"/1.xml": unless('"v1"', ONE)})
    keep(site, sitemap=f"{site.url}/1.xml")
    second = keep(site, sitemap=f"{site.url}/1.xml", **arguments)
    row = second.ledger["/1.xml"]
    assert (row["status"], row["outcome"]) == (status, outcome)
    assert (second.changes, second.summary["unchanged"]) == ([], 3)


def test_a_sitemap_is_skipped_if_a_trusted_index_reports_no_change(serve, keep):
    old, new = "2025-03-01T10:00:00Z", "2025-03-02T10:00:00Z"
    site = serve({**SITE, "/index.xml": dated(index("/1.xml", "/2.xml"), old)})
    keep(site)
    site.pages |= {"/index.xml": dated(index("/1.xml", "/2.xml"), old, new), "/2.xml": urlset("/p4", "/p5")}
    second = keep(site, settings={"SITEMAP_HARVEST_TRUST_LASTMOD": "always"})
    assert second.requests == ["/robots.txt", "/index.xml", "/2.xml"]
    assert second.fates["/1.xml"] == "skipped"
    assert second.ledger["/1.xml"]["reason"] == f"fresh: the index reports no change since {old}"
    assert second.locs == ["/p1", "/p2", "/p3", "/p4", "/p5"]
    assert second.kinds == {"/p6": "removed"}
    assert second.summary["stale"] == 0
    (record,) = second.sites
    assert (record["result"], record["urls"], record["complete"]) == ("found", 5, True)


def test_a_trusted_index_that_answers_with_a_304_spares_its_sitemaps(serve, keep):
    page = unless('"i"', dated(index("/1.xml", "/2.xml", "/3.xml"), "2025-03-01T10:00:00Z", "2025-03-01T10:00:00Z", ""))
    site = serve({**SITE, "/index.xml": page, "/3.xml": urlset("/p7")})
    first = keep(site)
    second = keep(site, settings={"SITEMAP_HARVEST_TRUST_LASTMOD": "always"})
    assert second.ledger["/index.xml"]["status"] == 304
    assert second.requests == ["/robots.txt", "/index.xml", "/3.xml"]  # which has no date
    assert (second.locs, second.changes, second.summary["stale"]) == (first.locs, [], 0)
    (run,) = keep.store.site(site.url).runs[1:]
    assert run.complete


def test_the_output_of_an_unchanged_site_is_that_of_the_first_run_in_every_format(serve, crawl, tmp_path):
    site = serve(SITE)
    given = {"site": site.url, "store": tmp_path / "s", "emit": "urls", "settings": {"CONCURRENT_REQUESTS": 1}}
    for name in ("jsonl", "json", "csv", "xml", "parquet"):
        found = []
        for _ in range(2):
            crawl(options=("-O", f"{tmp_path}/urls.{name}"), **given)
            found.append((tmp_path / f"urls.{name}").read_bytes())
        assert found[0] == found[1]
        assert len(found[0]) > 300


def test_the_times_of_a_run_are_those_of_its_id(serve, keep):
    site = serve(SITE)
    run = keep.store.site(site.url).runs[0] if keep(site) else None
    assert datetime.strptime(run.id[:16], "%Y%m%dT%H%M%S%z") == run.started_at.replace(microsecond=0)
    assert (run.urls, run.rows, run.complete, run.arguments) == (6, 6, True, {})
