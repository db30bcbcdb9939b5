"""The spider ``audit``: findings as items, with and without a store of the user."""

from __future__ import annotations

import os
import signal

import pytest

from tests import forked
from tests.crawl.crawling import lines
from tests.site import Manner, Page, robots, urlset
from tests.waiting import PATIENCE_SECONDS, wait_until

SITE = {"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/", "/a", "/a#part", "/a")}


def feed(folder, name, kind):
    return {f"{folder}/{name}.jsonl": {"format": "jsonl", "item_classes": [f"sitemap_harvest.{kind}"]}}


@pytest.mark.quick
def test_findings_and_summary_of_a_site_without_a_store(serve, crawl, tmp_path):
    (tmp_path / "temporary").mkdir()
    temporary = {"TMPDIR": str(tmp_path / "temporary")}
    site = serve(SITE)
    feeds = feed(tmp_path, "findings", "Finding") | feed(tmp_path, "audits", "AuditSummary")
    feeds |= feed(tmp_path, "trust", "LastmodTrust")
    run = crawl(spider="audit", site=site.url, emit="findings,audits,trust", feeds=feeds, environment=temporary)
    found = {row["rule"]: row for row in lines(tmp_path / "findings.jsonl")}
    assert [sample["loc"] for sample in found["url/fragment"]["samples"]] == [f"{site.url}/a#part"]
    assert found["url/duplicate-in-sitemap"]["sitemap"] == f"{site.url}/s.xml"
    (audit,) = lines(tmp_path / "audits.jsonl")
    trust = [(row["sitemap"], row["score"], row["reasons"]) for row in lines(tmp_path / "trust.jsonl")]
    assert trust == [(one, 0, ["100% of the entries have no lastmod"]) for one in (None, f"{site.url}/s.xml")]
    assert audit["lastmod_trust"] == 0
    assert f"{site.url}: trust in lastmod 0 of 100 (4 entries count): 100% of the entries have no lastmod" in run.log
    assert (audit["site"], audit["urls"], sorted(audit["rules"])) == (site.url, 4, sorted(found))
    assert "change/mass-removal" in {one["rule"] for one in audit["not_checked"]}
    assert run.stats["sitemap_harvest/findings/warnings"] == audit["warnings"] == 3
    assert f"Audit of {site.url}: 3 findings of 3 rules (3 warnings) in 4 URLs of 2 documents; " in run.log
    assert (
        "Not checked, because there is no earlier run of the site (-a store=FOLDER keeps the runs): change/" in run.log
    )
    assert [*(tmp_path / "temporary").glob("sitemap-harvest-*")] == []  # the store of the run is gone
    assert "first snapshot" not in run.log


def test_findings_of_a_site_with_a_history(serve, crawl, tmp_path):
    site = serve(SITE)
    feeds = feed(tmp_path, "audits", "AuditSummary")
    for paths in (["/", *map("/{}".format, range(10))], ["/"]):
        site.pages |= {"/s.xml": urlset(*paths)}
        crawl(spider="audit", site=site.url, emit="audits", store=tmp_path / "store", feeds=feeds)
    _, audit = lines(tmp_path / "audits.jsonl")
    assert "change/mass-removal" in audit["rules"]
    assert {one["rule"].partition("/")[0] for one in audit["not_checked"]} == {"page"}


def test_details_are_emitted_in_place_of_findings(serve, crawl, tmp_path):
    site = serve(SITE)
    details = "url/fragment,protocol/namespace"
    run = crawl(spider="audit", site=site.url, details=details, feeds=feed(tmp_path, "rows", "Occurrence"))
    assert "Not checked, because only sitemap-harvest validate does: protocol/namespace\n" in run.log
    (row,) = lines(tmp_path / "rows.jsonl")
    assert (row["rule"], row["loc"], row["position"]) == ("url/fragment", f"{site.url}/a#part", 3)
    assert run.stats["sitemap_harvest/findings/warnings"] == 3
    crawl(
        spider="audit",
        site=site.url,
        details="url/fragment",
        emit="findings,occurrences",
        feeds=feed(tmp_path, "both", "Occurrence") | feed(tmp_path, "findings", "Finding"),
    )
    assert len(lines(tmp_path / "both.jsonl")) == 1
    assert len(lines(tmp_path / "findings.jsonl")) == 3


def test_a_site_without_a_sitemap_is_a_finding(serve, crawl, tmp_path):
    site = serve({})
    crawl(spider="audit", site=site.url, feeds=feed(tmp_path, "findings", "Finding"))
    found = {row["rule"]: row["message"] for row in lines(tmp_path / "findings.jsonl")}
    assert found["site/no-sitemap"].startswith(("absent: ", "not-a-site: "))


def test_sites_of_one_run_are_audited_each(serve, crawl, tmp_path):
    sites = [serve(SITE), serve({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/")})]
    (tmp_path / "sites.txt").write_text("\n".join(site.url for site in sites))
    crawl(spider="audit", sites=tmp_path / "sites.txt", emit="audits", feeds=feed(tmp_path, "a", "AuditSummary"))
    assert {row["site"]: row["urls"] for row in lines(tmp_path / "a.jsonl")} == {sites[0].url: 4, sites[1].url: 1}


def test_a_finding_may_end_the_run(serve, crawl, tmp_path):
    """Scrapy 2.19 waits for an item from the start of a spider that closes it, unless a response follows."""
    settings = {"CLOSESPIDER_ITEMCOUNT": 2}
    run = crawl(spider="audit", site=serve(SITE).url, feeds=feed(tmp_path, "f", "Finding"), settings=settings)
    assert run.stats["finish_reason"] == "closespider_itemcount"
    assert len(lines(tmp_path / "f.jsonl")) >= 2


def test_two_signals_end_the_command_and_leave_files_as_they_were(serve, tmp_path):
    site = serve({"/robots.txt": Page("", manner=Manner.HANG)})
    (tmp_path / "findings.csv").write_text("earlier")
    arguments = ("harvest", "audit", site.url, "-O", "findings.csv", "--report", "audit.md")
    log = tmp_path / "stderr"
    with forked.running(*arguments, cwd=tmp_path, environment=None, folder=str(tmp_path)) as process:
        for expected in (lambda: site.requests, lambda: "Closing spider" in log.read_text()):
            wait_until(expected)
            os.kill(process.pid, signal.SIGINT)
        process.join(PATIENCE_SECONDS)
        assert process.exitcode == 130
    assert log.read_text().splitlines()[-2:] == [
        "The run was aborted.",
        "Nothing was audited, and no file was written, because the crawl stored nothing.",
    ]
    assert (tmp_path / "findings.csv").read_text() == "earlier"
    assert not (tmp_path / "audit.md").exists()


def test_a_listed_url_that_robots_txt_disallows(serve, crawl, tmp_path):
    rules = "User-agent: Bingbot\nDisallow: /a\n\nUser-agent: *\nDisallow: /private\n\nSitemap: {site}/s.xml\n"
    site = serve({"/robots.txt": rules, "/s.xml": urlset("/", "/a?b=c", "/private/d")})
    crawl(spider="audit", site=site.url, feeds=feed(tmp_path, "findings", "Finding"))
    found = [row for row in lines(tmp_path / "findings.jsonl") if row["rule"] == "url/robots-disallowed"]
    assert [(row["severity"], row["sitemap"], row["count"]) for row in found] == [("error", f"{site.url}/s.xml", 2)]
    assert [(sample["loc"], sample["value"]) for sample in found[0]["samples"]] == [
        (f"{site.url}/a?b=c", "Disallow: /a (line 2) for Bingbot"),
        (f"{site.url}/private/d", "Disallow: /private (line 5) for Googlebot, *"),
    ]
