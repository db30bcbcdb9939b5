"""Which URLs a document may list, which sites authorize it, and which hosts an index may name."""

from __future__ import annotations

import pytest

from tests.site import Page, index, moved, robots, urlset

RSS = """<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>
<item><title>One</title><link>{site}/news/1</link></item></channel></rss>"""
PAGE = "<html><head><title>Site map</title></head><body><h1>Site map</h1><ul>{}</ul></body></html>"


def scopes(run) -> dict[str, tuple[bool | None, str | None]]:
    """Return the scope of each URL."""
    return {row["loc"]: (row["in_scope"], row["scope_reason"]) for row in run.urls}


@pytest.mark.quick
@pytest.mark.case(29, 118, 119)
def test_each_url_is_compared_with_the_location_of_its_document(serve, crawl):
    site = serve()
    port, https = site.url.rpartition(":")[2], site.url.replace("http:", "https:")
    elsewhere = ["http://127.0.0.2/x", "http://127.0.0.1/x", f"{https}/x", "nowhere"]
    site.pages["/maps/s.xml?file=/"] = urlset("/maps/in", "/out", *elsewhere).replace("<loc>nowhere", "<loc>http://")
    run = crawl(sitemap=f"{site.url}/maps/s.xml?file=/")
    assert scopes(run) == {
        f"{site.url}/maps/in": (True, None),
        f"{site.url}/out": (False, "path"),
        "http://127.0.0.2/x": (False, "host"),
        "http://127.0.0.1/x": (False, "port"),
        f"https://127.0.0.1:{port}/x": (False, "scheme"),
        "http://": (None, None),
    }
    assert run.stats["sitemap_harvest/out_of_scope"] == run.ledger[0]["out_of_scope"] == 4


@pytest.mark.quick
def test_strict_drops_urls_out_of_scope_and_counts_them(serve, crawl):
    site = serve({
        "/maps/index.xml": index("/maps/a.xml", "/maps/b.xml"),
        "/maps/a.xml": urlset("/maps/in", "/out", "http://127.0.0.2/x"),
        "/maps/b.xml": urlset("/out"),
    })  # fmt: skip
    run = crawl(sitemap=f"{site.url}/maps/index.xml", scope="strict")
    assert scopes(run) == {f"{site.url}/maps/in": (True, None)}
    assert (run.stats["sitemap_harvest/urls"], run.stats["sitemap_harvest/out_of_scope"]) == (1, 3)
    assert run.stats["sitemap_harvest/filter/dropped/scope"] == 3
    rows = {row["url"].removeprefix(site.url): (row["outcome"], row["out_of_scope"]) for row in run.ledger}
    assert rows == {"/maps/index.xml": ("read", 0), "/maps/a.xml": ("read", 2), "/maps/b.xml": ("read", 1)}


def test_a_limit_counts_urls_after_strict(serve, crawl):
    site = serve({"/maps/s.xml": urlset("/out", "/maps/1", "/out2", "/maps/2")})
    run = crawl(sitemap=f"{site.url}/maps/s.xml", scope="strict", limit=2)
    assert run.locs == [f"{site.url}/maps/1", f"{site.url}/maps/2"]
    assert run.ledger[0]["outcome"] == "read"


def test_the_closing_line_says_if_strict_drops_everything(serve, crawl):
    site = serve({"/maps/s.xml": urlset("/out", "/out2")})
    run = crawl(sitemap=f"{site.url}/maps/s.xml", scope="strict")
    assert run.urls == []
    assert "2 URLs were found, and the filters dropped all of them (scope 2)" in run.log


def test_documents_authorized_by_robots_txt_may_list_the_whole_site(serve, crawl):
    site = serve({
        "/robots.txt": robots("/maps/index.xml"),
        "/maps/index.xml": index("/maps/deep/index.xml", "/maps/feed"),
        "/maps/deep/index.xml": index("/maps/deep/s.xml"),
        "/maps/deep/s.xml": urlset("/1", "http://127.0.0.2/x"),
        "/maps/feed": RSS,
    })  # fmt: skip
    run = crawl(site=site.url)
    assert scopes(run) == {
        f"{site.url}/1": (True, None), "http://127.0.0.2/x": (False, "host"), f"{site.url}/news/1": (True, None)
    }  # fmt: skip


@pytest.mark.case(29)
def test_sitemaps_of_several_hosts_may_be_located_on_one(serve, crawl):
    """The protocol's own example, plus one index for all of them."""
    maps = serve()
    first, second = serve(host="127.0.0.2"), serve(host="127.0.0.3")
    for number, host in enumerate((first, second), start=1):
        host.pages["/robots.txt"] = robots(f"{maps.url}/maps/{number}.xml", f"{maps.url}/maps/index.xml")
        maps.pages[f"/maps/{number}.xml"] = urlset(*(f"{one.url}/{number}" for one in (first, second, maps)))
    maps.pages["/maps/index.xml"] = index("/maps/both.xml")
    maps.pages["/maps/both.xml"] = urlset(f"{first.url}/both", f"{second.url}/both")
    run = crawl(
        site=f"{first.url} {second.url}", settings={"SITEMAP_HARVEST_CONCURRENCY": 1, "SITEMAP_HARVEST_PRIVATE": True}
    )
    assert scopes(run) == {
        f"{first.url}/1": (True, None),
        f"{second.url}/1": (False, "host"),
        f"{maps.url}/1": (False, "path"),
        f"{first.url}/2": (False, "host"),
        f"{second.url}/2": (True, None),
        f"{maps.url}/2": (False, "path"),
        f"{first.url}/both": (True, None),
        f"{second.url}/both": (True, None),
    }
    assert maps.count("/maps/index.xml") == 1


def test_a_redirecting_sitemap_passes_its_authorization_to_its_target(serve, crawl):
    maps = serve()
    first = serve({"/robots.txt": robots("/s.xml"), "/s.xml": moved(f"{maps.url}/maps/s.xml")}, host="127.0.0.2")
    second = serve({"/robots.txt": robots(f"{maps.url}/wait.xml", f"{maps.url}/maps/s.xml")}, host="127.0.0.3")
    maps.pages["/wait.xml"] = Page(urlset(), delay=1.0, after=lambda: "/s.xml" in first.requests)
    maps.pages["/maps/s.xml"] = urlset(f"{first.url}/1", f"{second.url}/2")
    settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": 1, "SITEMAP_HARVEST_PRIVATE": True}
    run = crawl(site=f"{first.url} {second.url}", settings=settings)
    assert run.row(f"{first.url}/s.xml")["outcome"] == "skipped"
    assert scopes(run) == {f"{first.url}/1": (True, None), f"{second.url}/2": (True, None)}


@pytest.mark.case(31)
def test_a_redirecting_robots_txt_authorizes_for_the_requested_site(serve, crawl):
    other = serve(host="127.0.0.2")
    site = serve({"/robots.txt": moved(f"{other.url}/rules")})
    other.pages |= {"/rules": robots("/maps/s.xml"), "/maps/s.xml": urlset(f"{site.url}/1", "/2", "/maps/3")}
    run = crawl(site=site.url, settings={"SITEMAP_HARVEST_PRIVATE": True})
    assert scopes(run) == {
        f"{site.url}/1": (True, None), f"{other.url}/2": (False, "path"), f"{other.url}/maps/3": (True, None)
    }  # fmt: skip


def test_a_redirecting_sitemap_is_located_at_each_of_its_addresses(serve, crawl):
    site = serve({"/s.xml": moved("/maps/s.xml"), "/maps/s.xml": urlset("/1")})
    other = serve({"/maps/s.xml": moved(f"{site.url}/maps/s.xml")}, host="127.0.0.2")
    run = crawl(sitemap=f"{site.url}/s.xml")
    assert scopes(run) == {f"{site.url}/1": (True, None)}
    run = crawl(sitemap=f"{other.url}/maps/s.xml", settings={"SITEMAP_HARVEST_PRIVATE": True})
    assert scopes(run) == {f"{site.url}/1": (False, "path")}


def test_local_files_and_web_pages_are_not_judged_and_a_folder_is_judged_as_its_site(serve, crawl, tmp_path):
    folder = tmp_path / "public"
    (folder / "maps").mkdir(parents=True)
    urls = "https://www.example.com/maps/1", "https://www.example.com/2"
    (folder / "maps" / "s.xml").write_text(urlset(*urls))
    run = crawl(sitemap=str(folder / "maps" / "s.xml"), scope="strict")
    assert scopes(run) == dict.fromkeys(urls, (None, None))
    assert run.ledger[0]["out_of_scope"] is None

    (folder / "sitemap.xml").write_text(index("https://www.example.com/maps/s.xml"))
    run = crawl(site="https://www.example.com", root=str(folder))
    assert scopes(run) == {urls[0]: (True, None), urls[1]: (False, "path")}
    (folder / "robots.txt").write_text(robots("https://www.example.com/sitemap.xml"))
    run = crawl(site="https://www.example.com", root=str(folder))
    assert scopes(run) == dict.fromkeys(urls, (True, None))

    links = "".join(f'<li><a href="/{number}">{number}</a></li>' for number in range(20))
    site = serve({"/help/sitemap.html": PAGE.format(links)})
    run = crawl(sitemap=f"{site.url}/help/sitemap.html", scope="strict")
    assert len(run.urls) == 20
    assert set(scopes(run).values()) == {(None, None)}


@pytest.mark.case(118, 125)
@pytest.mark.parametrize(
    ("policy", "read"),
    [
        pytest.param("none", "own", id="none"),
        pytest.param("proven", "own proven", id="proven"),
        pytest.param("domain", "own proven cdn", id="domain"),
        pytest.param(None, "own proven cdn", id="default"),
        pytest.param("any", "own proven cdn far", id="any"),
    ],
)
def test_hosts_of_the_children_of_an_index(serve, crawl, policy, read):
    site = serve()
    port = site.url.rpartition(":")[2]
    names = {"own": "www.site.test", "proven": "proven.test", "cdn": "cdn.site.test", "far": "far.test"}
    hosts = {name: f"http://{host}:{port}" for name, host in names.items()}
    is_strict = policy == "none"
    # The first to name the index owns it. Without authorizations, that must not be the other site.
    # With them, the index waits until the robots.txt of both is read: the mark is requested then.
    children = index(*(f"{host}/{name}.xml" for name, host in hosts.items()))
    site.pages["/index.xml"] = Page(children, after=lambda: is_strict or "/mark.xml" in site.requests)
    mark = [] if is_strict else [f"{hosts['proven']}/mark.xml"]
    own, other = (robots(f"{hosts['own']}/index.xml", *more) for more in ([], mark))
    late = Page(other, after=lambda: not is_strict or "/index.xml" in site.requests)
    site.pages["/robots.txt"] = lambda headers: late if "proven" in headers["Host"] else own
    site.pages["/mark.xml"] = urlset()
    site.pages |= {f"/{name}.xml": urlset(f"{host}/1") for name, host in hosts.items()}
    settings = {"TWISTED_DNS_RESOLVER": "tests.crawl.parts.LocalNames", "SITEMAP_HARVEST_PRIVATE": True}
    if policy:
        settings["SITEMAP_HARVEST_OFFSITE"] = policy
    run = crawl(site=f"{hosts['own']} {hosts['proven']}", settings=settings)
    fates = run.fates()
    assert [name for name, host in hosts.items() if fates[f"{host}/{name}.xml"] == "read"] == read.split()
    reasons = [row["reason"] for row in run.ledger if row["outcome"] == "out-of-scope"]
    assert len(reasons) == len(names) - len(read.split())
    allowed_by = {"proven": "any", "cdn": "domain", "far": "any"}  # nothing proves it while the policy is none
    assert sorted(reason.rpartition(" (")[2] for reason in reasons) == sorted(
        f"-s SITEMAP_HARVEST_OFFSITE={allowed_by[name]} allows this one)" for name in names if name not in read.split()
    )


@pytest.mark.parametrize(
    ("name", "value"), [("SITEMAP_HARVEST_OFFSITE", "True"), ("SITEMAP_HARVEST_OFFSITE", "DOMAIN")]
)
def test_an_unknown_policy_ends_the_run(crawl, name, value):
    run = crawl(sitemap="http://127.0.0.1:1/s.xml", settings={name: value}, calm=False)
    assert f"{name} is {value!r}; it must be one of none, proven, domain, any" in run.log
    assert run.reason == "wrong_argument"


def test_an_unknown_scope_ends_the_run(crawl):
    run = crawl(sitemap="http://127.0.0.1:1/s.xml", scope="loose", calm=False)
    assert "argument scope='loose': it must be mark or strict" in run.log
    assert run.reason == "wrong_argument"
