"""A removal is reported only when no sitemap of the site can still list the URL; until then it is pending."""

from __future__ import annotations

import pytest

from tests.site import Manner, Page, index, moved, numbered, robots, urlset

DOWN = Page("down", status=503)
ABSENT = Page("no such page", status=404)
EMPTY = Page("")
WEB_PAGE = Page("<!doctype html><html><body>Sorry</body></html>", headers={"Content-Type": "text/html"})


def cut(document: str, share: float = 0.5) -> str:
    return document[: int(len(document) * share)]


UNREADABLE = [
    pytest.param(lambda _: DOWN, id="503"),
    pytest.param(lambda _: ABSENT, id="404"),
    pytest.param(lambda _: EMPTY, id="empty"),
    pytest.param(lambda _: WEB_PAGE, id="web-page"),
    pytest.param(cut, id="cut"),
    pytest.param(lambda document: Page(document, manner=Manner.CLOSE), id="connection-closed"),
]


def site_of(serve, *sitemaps: str, **pages):
    return serve({"/robots.txt": robots("/index.xml"), "/index.xml": index(*sitemaps), **pages})


def net_effect(runs) -> dict[str, str]:
    """Return the net effect of several runs: for each URL ``added``, ``removed`` or ``moved``, once."""
    kinds: dict[str, str] = {}
    for run in runs:
        for path, kind in run.kinds.items():
            assert path not in kinds, (path, kinds[path], kind)
            kinds[path] = kind
    return kinds


@pytest.mark.parametrize("damaged", UNREADABLE)
def test_urls_of_a_new_sitemap_are_added_even_if_its_first_reading_fails(keep, serve, damaged):
    site = site_of(serve, "/1.xml", **{"/1.xml": urlset("/a")})
    keep(site)
    new = urlset(*numbered(20))
    site.pages |= {"/index.xml": index("/1.xml", "/2.xml"), "/2.xml": damaged(new)}
    first = keep(site)
    site.pages["/2.xml"] = new
    assert net_effect([first, keep(site), keep(site)]) == dict.fromkeys(numbered(20), "added")


@pytest.mark.quick
def test_a_new_sitemap_that_is_cut_twice_is_added_whole(keep, serve):
    site = site_of(serve, "/1.xml", **{"/1.xml": urlset("/a")})
    keep(site)
    whole = urlset("/new-1", "/new-2", "/new-3")
    site.pages |= {"/index.xml": index("/1.xml", "/2.xml"), "/2.xml": whole[:60]}
    assert keep(site).kinds == {}
    site.pages["/2.xml"] = whole[:-40]
    assert keep(site).kinds == {"/new-1": "added", "/new-2": "added"}
    site.pages["/2.xml"] = whole
    assert keep(site).kinds == {"/new-3": "added"}


@pytest.mark.parametrize("damaged", UNREADABLE)
def test_a_sitemap_that_is_renamed_and_unreadable_at_first_removes_nothing(keep, serve, damaged):
    urls = urlset(*numbered(30))
    site = site_of(serve, "/1.xml?v=1", **{"/1.xml?v=1": urls})
    keep(site)
    site.pages |= {"/index.xml": index("/1.xml?v=2"), "/1.xml?v=2": damaged(urls)}
    renamed = keep(site)
    assert keep.locs(site) == sorted(numbered(30))
    site.pages["/1.xml?v=2"] = urls
    assert net_effect([renamed, keep(site), keep(site)]) == dict.fromkeys(numbered(30), "moved")
    assert keep.locs(site) == sorted(numbered(30))


def test_urls_of_a_removed_sitemap_that_fails_when_listed_again_are_added_once_it_is_read(keep, serve):
    pages = {"/1.xml": urlset("/a"), "/2.xml": urlset("/b", "/c")}
    site = site_of(serve, "/1.xml", "/2.xml", **pages)
    keep(site)
    site.pages["/index.xml"] = index("/1.xml")
    assert keep(site).kinds == {"/b": "removed", "/c": "removed"}
    site.pages |= {"/index.xml": index("/1.xml", "/2.xml"), "/2.xml": DOWN}
    assert keep(site).kinds == {}
    site.pages["/2.xml"] = pages["/2.xml"]
    assert keep(site).kinds == {"/b": "added", "/c": "added"}


@pytest.mark.parametrize("damaged", UNREADABLE)
def test_urls_that_move_to_a_sitemap_that_cannot_be_read_are_not_removed(keep, serve, damaged):
    site = site_of(serve, "/1.xml", "/2.xml", **{"/1.xml": urlset(*numbered(4)), "/2.xml": urlset("/x")})
    keep(site)
    target = urlset("/x", "/p3", "/p4")
    site.pages |= {"/1.xml": urlset("/p1", "/p2"), "/2.xml": damaged(target)}
    outage = keep(site)
    assert outage.summary["pending"] == 2
    listed = outage.summary["urls_after"] - outage.summary["pending"]  # each once
    assert outage.summary["stale_share"] == round(outage.summary["stale"] / listed, 4)
    assert keep.store.site(site.url).runs[-1].changes["pending"] == 2
    assert keep.locs(site) == ["/p1", "/p2", "/p3", "/p4", "/x"]
    site.pages["/2.xml"] = target
    assert net_effect([outage, keep(site), keep(site)]) == {"/p3": "moved", "/p4": "moved"}


@pytest.mark.parametrize("filters", [{"skip": "2.xml"}, {"follow": "1.xml"}])
def test_urls_that_move_to_a_sitemap_that_is_skipped_are_not_removed(keep, serve, filters):
    site = site_of(serve, "/1.xml", "/2.xml", **{"/1.xml": urlset(*numbered(4)), "/2.xml": urlset("/x")})
    keep(site)
    site.pages |= {"/1.xml": urlset("/p1", "/p2"), "/2.xml": urlset("/x", "/p3")}
    skipping = keep(site, **filters)
    assert (skipping.kinds, skipping.summary["pending"], skipping.summary["unread"]) == ({}, 2, 0)
    assert keep(site).kinds == {"/p3": "moved", "/p4": "removed"}


def test_a_sitemap_that_every_run_skips_delays_no_removal(keep, serve):
    site = site_of(serve, "/1.xml", "/2.xml", **{"/1.xml": urlset(*numbered(4)), "/2.xml": urlset("/x")})
    keep(site, skip="2.xml")
    site.pages["/1.xml"] = urlset("/p1", "/p2")
    assert keep(site, skip="2.xml").kinds == {"/p3": "removed", "/p4": "removed"}


def test_a_pending_removal_is_reported_once_one_run_reads_every_sitemap(keep, serve):
    site = site_of(serve, "/1.xml", "/2.xml", **{"/1.xml": urlset(*numbered(4)), "/2.xml": urlset("/x")})
    keep(site)
    site.pages |= {"/1.xml": urlset("/p1", "/p2"), "/2.xml": DOWN}
    assert [keep(site).kinds for _ in range(3)] == [{}, {}, {}]
    site.pages["/2.xml"] = urlset("/x")
    last = keep(site)
    assert last.change("/p3") == {
        "kind": "removed",
        "loc": "/p3",
        "key": "/p3",
        "sitemap": "/1.xml",
        "fields": [],
        "reason": "the sitemap was read completely and no longer lists the URL",
    }
    assert last.kinds == {"/p3": "removed", "/p4": "removed"}
    assert last.summary["pending"] == 0
    assert keep.locs(site) == ["/p1", "/p2", "/x"]


def test_a_sitemap_that_nothing_lists_is_not_read_while_another_cannot_be_read(keep, serve):
    site = serve({
        "/robots.txt": robots("/index.xml", "/1.xml"), "/index.xml": index("/2.xml", "/3.xml"),
        "/1.xml": urlset("/p1"), "/2.xml": DOWN, "/3.xml": urlset("/x"),
    })  # fmt: skip
    keep(site)
    site.pages["/robots.txt"] = robots("/index.xml")
    outages = [keep(site), keep(site)]
    assert [(run.locs, run.kinds) for run in outages] == [(["/x"], {})] * 2
    site.pages["/index.xml"] = index("/3.xml")
    last = keep(site)
    assert (last.locs, last.kinds) == (["/x"], {"/p1": "removed"})
    assert last.fates == {"/robots.txt": "unchanged", "/index.xml": "read", "/3.xml": "unchanged"}


def test_a_url_that_moves_from_one_unreadable_sitemap_to_another_is_not_removed(keep, serve):
    pages = {f"/{name}.xml": urlset(f"/{name}") for name in "abc"} | {"/a.xml": urlset("/a", "/moving")}
    site = site_of(serve, *pages, **pages)
    keep(site)
    site.pages |= {"/a.xml": urlset("/a"), "/b.xml": DOWN}
    assert keep(site).kinds == {}  # it is in /b.xml now
    site.pages |= {"/b.xml": urlset("/b"), "/c.xml": DOWN}
    assert keep(site).kinds == {}  # and now in /c.xml
    site.pages["/c.xml"] = urlset("/c", "/moving")
    assert keep(site).kinds == {"/moving": "moved"}


def test_urls_of_a_renamed_sitemap_that_is_split_while_it_is_cut_are_not_removed(keep, serve):
    urls = numbered(6)
    site = site_of(serve, "/1.xml?v=1", **{"/1.xml?v=1": urlset(*urls)})
    keep(site)
    before_split, part = urlset(*urls), urlset("/p3", "/p4", "/p5")
    site.pages |= {"/index.xml": index("/1.xml?v=2"), "/1.xml?v=2": before_split[: before_split.index("/p2")]}
    assert keep(site).kinds == {"/p1": "moved"}
    site.pages |= {
        "/index.xml": index("/1.xml?v=2", "/2.xml"),
        "/1.xml?v=2": urlset("/p1", "/p2"),
        "/2.xml": part[: part.index("/p4")],
    }
    assert keep(site).kinds == {"/p2": "moved", "/p3": "moved"}
    site.pages["/2.xml"] = part
    assert keep(site).kinds == {"/p4": "moved", "/p5": "moved", "/p6": "removed"}


def test_a_removal_waits_for_an_index_that_fails_as_it_may_list_a_new_sitemap(keep, serve):
    site = site_of(serve, "/1.xml", **{"/1.xml": urlset("/a", "/b")})
    keep(site)
    site.pages |= {"/index.xml": index("/1.xml", "/2.xml"), "/1.xml": urlset("/a"), "/2.xml": DOWN}
    assert keep(site).kinds == {}  # /b has moved to /2.xml
    site.pages |= {"/index.xml": DOWN, "/2.xml": urlset("/c"), "/3.xml": urlset("/b")}
    assert keep(site).kinds == {"/c": "added"}
    site.pages["/index.xml"] = index("/1.xml", "/2.xml", "/3.xml")
    assert keep(site).kinds == {"/b": "moved"}


def test_a_removal_does_not_wait_longer_than_the_limits(keep, serve):
    site = site_of(serve, "/1.xml", "/2.xml", **{"/1.xml": urlset("/a", "/b"), "/2.xml": urlset("/x")})
    given = {"settings": {"SITEMAP_HARVEST_PENDING_RUNS": 2, "SITEMAP_HARVEST_PENDING_DAYS": 0}}
    keep(site, **given)
    site.pages |= {"/1.xml": urlset("/a"), "/2.xml": DOWN}
    assert [keep(site, **given).kinds for _ in range(4)] == [{}, {}, {"/b": "removed"}, {}]


def test_a_url_that_is_listed_again_while_its_removal_is_pending_has_no_change(keep, serve):
    site = site_of(serve, "/1.xml", "/2.xml", **{"/1.xml": urlset("/a", "/b"), "/2.xml": urlset("/x")})
    keep(site)
    site.pages |= {"/1.xml": urlset("/a"), "/2.xml": DOWN}
    assert keep(site).kinds == {}
    site.pages |= {"/1.xml": urlset("/a", "/b")}
    assert keep(site).kinds == {}
    site.pages |= {"/2.xml": urlset("/x")}
    assert keep(site).kinds == {}


def test_a_site_that_shares_an_index_keeps_what_moved_while_its_own_robots_txt_fails(keep, serve):
    one, two = serve(), serve()
    pages = {"/a.xml": urlset(*numbered(4)), "/b.xml": urlset("/x")}
    one.pages |= {"/robots.txt": robots("/index.xml"), "/index.xml": index("/a.xml"), **pages}
    two.pages |= {"/robots.txt": f"Sitemap: {one.url}/index.xml\n"}

    def run():
        folder = keep.crawl.folder
        (folder / "sites.txt").write_text(f"{one.url}\n{two.url}\n")
        output = keep(
            two,
            sites=folder / "sites.txt",
            settings={"SITEMAP_HARVEST_OFFSITE": "any", "SITEMAP_HARVEST_PRIVATE": True},
        )
        return {
            change["loc"].removeprefix(one.url): change["kind"]
            for change in output.changes
            if change["site"] == two.url
        }

    assert run() == {}
    one.pages |= {
        "/index.xml": index("/a.xml", "/b.xml"),
        "/a.xml": urlset("/p1", "/p2"),
        "/b.xml": urlset("/p3", "/p4"),
    }
    two.pages["/robots.txt"] = DOWN
    outage = run()
    two.pages["/robots.txt"] = f"Sitemap: {one.url}/index.xml\n"
    assert outage | run() == {"/p3": "moved", "/p4": "moved"}


@pytest.mark.parametrize(
    "robots_txt", [pytest.param("User-agent: *\n", id="without-a-sitemap"), pytest.param(None, id="none")]
)
def test_a_site_that_moves_to_another_address_for_good_keeps_its_urls(keep, serve, robots_txt):
    old, new = serve(), serve()
    urls = {name: urlset(*(f"https://www.example.com/{name}/{number}" for number in range(3))) for name in "ab"}
    pages = {"/sitemap_index.xml": index("/a.xml", "/b.xml"), "/a.xml": urls["a"], "/b.xml": urls["b"]}
    pages |= {"/robots.txt": robots_txt} if robots_txt else {}
    old.pages |= pages
    keep(old)
    new.pages |= pages
    old.pages = {path: moved(f"{new.url}{path}") for path in ("/robots.txt", "/", *pages)}
    settings = {"SITEMAP_HARVEST_OFFSITE": "any", "SITEMAP_HARVEST_PRIVATE": True}
    expected = dict.fromkeys(
        (f"https://www.example.com/{name}/{number}" for name in "ab" for number in range(3)), "moved"
    )
    assert [keep(old, settings=settings).kinds for _ in range(3)] == [expected, {}, {}]
    assert keep.locs(old) == sorted(expected)


@pytest.mark.parametrize(
    "listed_by", [pytest.param("/robots.txt", id="robots"), pytest.param("/index.xml", id="index")]
)
def test_a_web_page_in_place_of_a_new_sitemap_adds_nothing(keep, serve, listed_by):
    page = "".join(f"<li><a href='/section/{number}'>Section</a></li>" for number in range(40))
    site = site_of(serve, "/1.xml", **{"/1.xml": urlset("/a")})
    keep(site)
    site.pages |= {
        "/index.xml": index("/1.xml", "/2.xml"),
        "/robots.txt": robots("/index.xml", *(["/2.xml"] if listed_by == "/robots.txt" else [])),
        "/2.xml": Page(
            f"<!doctype html><title>Site map</title><body><ul>{page}</ul>", headers={"Content-Type": "text/html"}
        ),
    }
    outage = keep(site)
    site.pages["/2.xml"] = urlset("/b")
    assert (outage.kinds, keep(site).kinds) == ({}, {"/b": "added"})


def test_a_site_that_shares_an_index_keeps_it_when_the_index_moves(keep, serve):
    one, two, new = serve(), serve(), serve()
    pages = {"/index.xml": index("/a.xml"), "/a.xml": urlset("https://www.example.com/1")}
    one.pages |= {"/robots.txt": robots("/index.xml"), **pages}
    two.pages |= {"/robots.txt": robots("/own.xml", f"{one.url}/index.xml"), "/own.xml": urlset("/own")}
    (sites := keep.crawl.folder / "sites.txt").write_text(f"{one.url}\n{two.url}\n")
    given = {"sites": sites, "settings": {"SITEMAP_HARVEST_OFFSITE": "any", "SITEMAP_HARVEST_PRIVATE": True}}
    keep(two, **given)
    new.pages |= {**pages, "/robots.txt": robots("/index.xml"), "/a.xml": urlset("https://www.example.com/2")}
    one.pages = {path: moved(f"{new.url}{path}") for path in pages} | {"/robots.txt": robots(f"{new.url}/index.xml")}
    keep(two, **given)
    assert keep.locs(two) == ["/own", "https://www.example.com/2"]


def test_the_old_addresses_of_a_site_that_moved_do_not_hide_the_new_ones(keep, serve):
    old, new = serve(), serve()
    urls = {name: [f"https://www.example.com/{name}/{number}" for number in range(3)] for name in "ab"}
    pages = {"/sitemap.xml": index("/a.xml", "/b.xml"), "/a.xml": urlset(*urls["a"]), "/b.xml": urlset(*urls["b"])}
    old.pages |= pages
    keep(old)
    # While one sitemap cannot be read at its new address, the old addresses stay known.
    new.pages |= {**pages, "/a.xml": cut(pages["/a.xml"]), "/b.xml": DOWN}
    old.pages = {path: moved(f"{new.url}{path}") for path in ("/robots.txt", "/", *pages)}
    settings = {"SITEMAP_HARVEST_OFFSITE": "any", "SITEMAP_HARVEST_PRIVATE": True}
    outage = keep(old, settings=settings)
    new.pages |= pages
    effect = net_effect([outage, *(keep(old, settings=settings) for _ in range(3))])
    assert effect == dict.fromkeys([*urls["a"], *urls["b"]], "moved")
    assert keep.locs(old) == sorted(effect)


def test_a_shared_sitemap_that_is_cut_adds_nothing_that_the_other_site_knew(keep, serve):
    one, two = serve(), serve()
    both = urlset("/1", "/2", "/gone")
    one.pages |= {"/robots.txt": robots("/a.xml"), "/a.xml": both}
    two.pages |= {"/robots.txt": f"Sitemap: {one.url}/a.xml\n"}
    (sites := keep.crawl.folder / "sites.txt").write_text(f"{one.url}\n{two.url}\n")
    settings = {"SITEMAP_HARVEST_OFFSITE": "any", "SITEMAP_HARVEST_PRIVATE": True}

    def changes(**given):
        output = keep(two, settings=settings, **given)
        return [(row["loc"], row["kind"]) for row in output.changes if row["site"] == two.url]

    assert changes(sites=sites) == []
    one.pages["/a.xml"] = urlset("/1", "/2")
    assert changes() == [(f"{one.url}/gone", "removed")]  # the other site is not harvested
    one.pages["/a.xml"] = Page(urlset("/1", "/2"), manner=Manner.CUT)
    assert changes(sites=sites) == []
    one.pages["/a.xml"] = urlset("/1", "/2", "/new")
    assert changes(sites=sites) == [(f"{one.url}/new", "added")]
