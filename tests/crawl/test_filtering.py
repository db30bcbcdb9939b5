"""Which URLs are emitted: filters, their counts, and the rows that they leave unchanged."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.site import index, numbered, robots, urlset

NAMESPACES = (
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml" '
    'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
)
SHOP = f"""<urlset {NAMESPACES}>
<url><loc>{{site}}/blog/1</loc><lastmod>2025-03-09</lastmod><priority>0.8</priority></url>
<url><loc>{{site}}/blog/2</loc><lastmod>2024</lastmod><priority>0.8</priority></url>
<url><loc>{{site}}/shop/3</loc><lastmod>2025-03</lastmod><changefreq>Daily</changefreq>
<xhtml:link rel="alternate" hreflang="de-AT" href="{{site}}/shop/3"/></url>
<url><loc>{{site}}/shop/4</loc><image:image><image:loc>{{site}}/4.png</image:loc></image:image></url>
<url><loc>{{site}}/shop/5</loc><lastmod>some day</lastmod><priority>0.1</priority></url>
</urlset>"""


def filtered(run):
    """Return the stats of filters, without their common prefix."""
    start = "sitemap_harvest/filter/"
    return {name.removeprefix(start): value for name, value in run.stats.items() if name.startswith(start)}


@pytest.mark.parametrize(
    ("arguments", "kept", "dropped"),
    [
        pytest.param({"since": "2025-03-01"}, "1345", {"since": 1}, id="since"),
        pytest.param({"until": "2025-03-08"}, "2345", {"until": 1}, id="until"),
        pytest.param({"missing_lastmod": "drop", "unreadable_lastmod": "drop"}, "123",
                     {"missing_lastmod": 1, "unreadable_lastmod": 1}, id="no-date"),
        pytest.param({"min_priority": "0.5", "max_priority": "0.5"}, "34",
                     {"max_priority": 2, "min_priority": 1}, id="priority"),
        pytest.param({"changefreq": "daily,weekly"}, "3", {"changefreq": 4}, id="changefreq"),
        pytest.param({"include": r"/blog/ 4$", "exclude": "1$"}, "24", {"include": 2, "exclude": 1}, id="patterns"),
        pytest.param({"prefix": "/blog/"}, "12", {"prefix": 3}, id="prefix"),
        pytest.param({"lang": "de"}, "3", {"lang": 4}, id="lang"),
        pytest.param({"has": "image"}, "4", {"has": 4}, id="has"),
    ],
)  # fmt: skip
def test_urls_are_filtered_and_counted(serve, crawl, arguments, kept, dropped):
    site = serve({"/s.xml": SHOP})
    run = crawl(sitemap=f"{site.url}/s.xml", **arguments)
    assert [loc[-1] for loc in run.locs] == list(kept)
    gone = sum(dropped.values())
    assert filtered(run) == {
        "kept": len(kept), "dropped": gone, **{f"dropped/{name}": count for name, count in dropped.items()}
    }  # fmt: skip
    assert run.stats["sitemap_harvest/urls"] == len(kept)
    row = run.row(f"{site.url}/s.xml")
    assert (row["outcome"], row["entries"], row["complete"]) == ("read", 5, True)
    words = ", ".join(f"{name} {count}" for name, count in dropped.items())
    assert f"from 1 document (1 read); dropped by filters: {words}" in run.log


def test_without_filters_nothing_is_counted(serve, crawl):
    site = serve({"/s.xml": SHOP})
    run = crawl(sitemap=f"{site.url}/s.xml")
    assert (len(run.urls), filtered(run)) == (5, {})
    assert "dropped by filters" not in run.log


def test_a_date_is_in_the_future_if_no_time_zone_explains_it(serve, crawl):
    now = datetime.now(UTC)
    entries = "".join(
        f"<url><loc>{{site}}/{hours}</loc><lastmod>{(now + timedelta(hours=hours)).isoformat()}</lastmod></url>"
        for hours in (-1, 23, 25)
    )
    site = serve({"/s.xml": f"<urlset {NAMESPACES}>{entries}</urlset>"})
    run = crawl(sitemap=f"{site.url}/s.xml", future_lastmod="drop", since="2h")
    assert run.locs == [f"{site.url}/-1", f"{site.url}/23"]
    assert filtered(run) == {"kept": 2, "dropped": 1, "dropped/future_lastmod": 1}


def test_dropped_rows_never_reach_a_pipeline_for_rows(serve, crawl):
    site = serve({"/s.xml": SHOP})
    run = crawl(sitemap=f"{site.url}/s.xml", prefix="/blog/", settings={"SITEMAP_HARVEST_ITEMS": "rows"})
    assert [loc[-1] for loc in run.locs] == ["1", "2"]
    assert run.stats["item_scraped_count"] == 3  # and the row of the ledger


@pytest.mark.quick
def test_a_result_without_rows_after_filters_is_reported(serve, crawl):
    site = serve({"/index.xml": index("/1.xml", "/2.xml"), "/1.xml": urlset("/a", "/b")})
    run = crawl(sitemap=f"{site.url}/index.xml", include="/shop/")
    assert run.urls == []
    assert "sitemap_harvest/urls" not in run.stats
    assert filtered(run) == {"dropped": 2, "dropped/include": 2}
    assert run.fates(site.url) == {"/index.xml": "read", "/1.xml": "read", "/2.xml": "absent"}
    assert (
        "2 URLs were found, and the filters dropped all of them (include 2). "
        f"{site.url}/2.xml: HTTP 404: the server has no such document." in run.log
    )
    assert "No URL was found" not in run.log


@pytest.mark.parametrize(
    ("limit", "outcome", "complete"),
    [
        pytest.param(4, "partial", False, id="within-what-is-kept"),
        pytest.param(5, "read", True, id="just-what-is-kept"),
        pytest.param(6, "read", True, id="more-than-is-kept"),
    ],
)
def test_limit_counts_rows_after_filters_and_cuts_no_dropped_ones(serve, crawl, limit, outcome, complete):
    site = serve({"/s.xml": urlset(*numbered(10))})
    run = crawl(sitemap=f"{site.url}/s.xml", include="[6-9]$|10$", limit=limit)
    assert run.locs == [f"{site.url}/p{number}" for number in range(6, 11)][:limit]
    row = run.row(f"{site.url}/s.xml")
    assert (row["outcome"], row["complete"], row["entries"]) == (outcome, complete, 10)
    assert filtered(run) == {"kept": 5, "dropped": 5, "dropped/include": 5}


@pytest.mark.quick
def test_limit_continues_after_a_batch_without_rows(serve, crawl):
    site = serve({"/s.xml": urlset(*numbered(25_000))})
    run = crawl(sitemap=f"{site.url}/s.xml", include="/p2....$", limit=3)
    assert run.locs == [f"{site.url}/p{number}" for number in (20_000, 20_001, 20_002)]
    assert run.row(f"{site.url}/s.xml")["outcome"] == "partial"


PRUNED = f"""<sitemapindex {NAMESPACES}>
<sitemap><loc>{{site}}/old.xml</loc><lastmod>2025-02-28</lastmod></sitemap>
<sitemap><loc>{{site}}/year.xml</loc><lastmod>2025</lastmod></sitemap>
<sitemap><loc>{{site}}/new.xml</loc><lastmod>2025-03-01T00:00:00Z</lastmod></sitemap>
<sitemap><loc>{{site}}/none.xml</loc></sitemap>
</sitemapindex>"""


def test_unchanged_sitemaps_are_not_fetched_if_requested(serve, crawl):
    children = {f"/{name}.xml": urlset(f"/{name}") for name in ("old", "year", "new", "none")}
    site = serve({"/index.xml": PRUNED, **children})

    run = crawl(sitemap=f"{site.url}/index.xml", since="2025-03")
    assert len(run.urls) == 4
    assert filtered(run) == {"kept": 4}
    site.requests.clear()

    run = crawl(sitemap=f"{site.url}/index.xml", since="2025-03", prune_index="yes")
    assert sorted(run.locs) == [f"{site.url}/{name}" for name in ("new", "none", "year")]
    assert site.count("/old.xml") == 0
    assert run.fates(site.url) == {
        "/index.xml": "read", "/old.xml": "skipped", "/year.xml": "read", "/new.xml": "read", "/none.xml": "read"
    }  # fmt: skip
    row = run.row(f"{site.url}/old.xml")
    assert row["reason"] == "the index gives lastmod 2025-02-28, which is before 2025-03-01T00:00:00+00:00"
    assert filtered(run) == {"kept": 3, "pruned": 1}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        pytest.param(
            {"since": "2026", "prune_index": "yes"}, "the index gives lastmod 2025-02-28, which is before ", id="pruned"
        ),
        pytest.param({"skip": "old"}, "the URL matches skip", id="skip"),
    ],
)
def test_a_site_with_only_skipped_sitemaps_has_sitemaps_and_is_not_probed(serve, crawl, arguments, reason):
    children = "<sitemap><loc>{site}/old.xml</loc><lastmod>2025-02-28</lastmod></sitemap>"
    site = serve({
        "/robots.txt": robots("/index.xml"),
        "/index.xml": f"<sitemapindex {NAMESPACES}>{children}</sitemapindex>",
        "/old.xml": urlset("/a"),
        "/sitemap.xml": urlset("/b"),
    })  # fmt: skip
    run = crawl(site=site.url, **arguments)
    assert run.urls == []
    assert site.requests == ["/robots.txt", "/index.xml"]
    assert run.fates(site.url) == {"/robots.txt": "read", "/index.xml": "read", "/old.xml": "skipped"}
    assert run.stats["sitemap_harvest/site/found"] == 1
    assert f"No URL was found. {site.url}/old.xml: {reason}" in run.log


def test_an_invalid_filter_ends_the_run_in_one_line(serve, crawl):
    site = serve({"/s.xml": SHOP})
    run = crawl(sitemap=f"{site.url}/s.xml", min_priority="high", calm=False)
    (line,) = run.errors
    assert line.endswith("argument min_priority='high': it must be a number from 0.0 to 1.0")
    assert (run.reason, site.requests) == ("wrong_argument", [])
