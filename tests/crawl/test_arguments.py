"""The arguments of a user: files of sites, folders, and all possible errors."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from sitemap_harvest.config.arguments import ARGUMENTS, YES_OR_NO, RunConfig
from sitemap_harvest.errors import ArgumentError
from sitemap_harvest.spiders.harvest import HarvestSpider
from sitemap_harvest.spiders.sitemap import AuditSpider, ChangesSpider, SitemapSpider
from tests.site import index, robots, urlset


@pytest.mark.quick
def test_a_file_of_sites_may_have_comments_duplicates_and_bad_lines(serve, crawl, tmp_path):
    one = serve({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/1")})
    two = serve({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/2")}, host="127.0.0.2")
    sites = tmp_path / "sites.txt"
    sites.write_text(
        f"\ufeff# ours\n{one.url}/some/page\n\nnot a site\n{two.url}  # theirs\r\n{one.url.upper()}\nftp://a.example\n",
        encoding="utf-8",
    )
    run = crawl(sites=sites)
    assert sorted(run.locs) == [f"{one.url}/1", f"{two.url}/2"]
    assert one.requests == two.requests == ["/robots.txt", "/s.xml"]
    assert f"{sites}, line 4: 'not a site' is not a site" in run.log
    assert f"{sites}, line 7: 'ftp://a.example' is not a site" in run.log


@pytest.mark.quick
def test_a_folder_replaces_a_site_and_nothing_is_fetched(serve, crawl, tmp_path):
    site = serve({"/robots.txt": robots("/live.xml"), "/live.xml": urlset("/live"), "/missing.xml": urlset("/live")})
    other = serve({"/s.xml": urlset("/live")}, host="127.0.0.2")
    folder = tmp_path / "public"
    folder.mkdir()
    here = site.url
    (tmp_path / "outside.xml").write_text(urlset("https://a.example/outside"))
    (folder / "link.xml").symlink_to(tmp_path / "outside.xml")
    children = ("/a.xml", "/missing.xml", "/%2e%2e/outside.xml", "/link.xml", f"{other.url}/s.xml", "/forbidden.xml")
    (folder / "index.xml").write_text(index(*children).replace("{site}", here))
    (folder / "robots.txt").write_text(robots("/index.xml", disallow=["/forbidden"]).replace("{site}", here))
    (folder / "a.xml").write_text(urlset("/1").replace("{site}", here))
    (folder / "forbidden.xml").write_text(urlset("/2").replace("{site}", here))

    run = crawl(site=here, root=folder)

    assert run.locs == [f"{here}/1"]
    assert run.fates(here) == {
        "/robots.txt": "read",
        "/index.xml": "read",
        "/a.xml": "read",
        "/missing.xml": "absent",
        "/%2e%2e/outside.xml": "absent",
        "/link.xml": "absent",
        f"{other.url}/s.xml": "out-of-scope",
        "/forbidden.xml": "forbidden",
    }
    assert run.row(f"{here}/missing.xml")["reason"] == "there is no such file"
    for path in ("/%2e%2e/outside.xml", "/link.xml"):
        assert run.row(f"{here}{path}")["reason"].startswith("the document is outside the folder")
    assert site.requests == other.requests == []


@pytest.mark.parametrize(
    ("arguments", "settings", "words"),
    [
        pytest.param({"stie": "a.example"}, {}, ["argument stie: unknown argument", "site, sites, sitemap"], id="name"),
        pytest.param({"site": "a.example", "follow": " "}, {}, ["argument follow is empty"], id="empty"),
        pytest.param({}, {}, ["nothing to harvest: give at least one of the arguments site, sites"], id="nothing"),
        pytest.param({"site": "a.example/sitemap.xml"}, {}, ["use sitemap= for a document"], id="document"),
        pytest.param({"sites": "https://a.example"}, {}, ["use site= for a site"], id="sites-is-a-site"),
        pytest.param({"site": "a.example", "limit": "0"}, {}, ["limit='0'", "a whole number, 1 or more"], id="limit"),
        pytest.param({"site": "a.example", "limit": "10.5"}, {}, ["limit='10.5'"], id="fraction"),
        pytest.param({"site": "a.example", "limit": "9" * 20}, {}, ["a whole number"], id="limit-of-20-digits"),
        pytest.param({"site": "a.example", "skip": "a{99999999999}"}, {}, ["a regular expression"], id="large-pattern"),
        pytest.param({"sitemap": "http://a.example:99999/s.xml"}, {}, ["a URL that begins with"], id="port"),
        pytest.param({"site": "http:/a.example"}, {}, ["site='http:/a.example'"], id="slash-is-missing"),
        pytest.param({"site": "a.example,b.example"}, {}, ["site='a.example,b.example'"], id="comma"),
        pytest.param({"site": "a.example", "prefix": "/blog/.."}, {}, ["prefix='/blog/..'"], id="prefix-with-dots"),
        pytest.param({"site": "a.example", "follow": "("}, {}, ["follow='('", "a regular expression"], id="pattern"),
        pytest.param({"site": "a.example", "emit": "links"}, {}, ["emit='links'", "urls, sitemaps"], id="emit"),
        pytest.param({"site": "a.example", "emit": "occurrences"}, {}, ["of which rules"], id="no-details"),
        pytest.param({"site": "a.example", "details": "url/*"}, {}, ["details='url/*'", "emit=occ"], id="details"),
        pytest.param(
            {"site": "a.example", "emit": "occurrences", "details": "url/fragmnt"},
            {},
            ["argument details: 'url/fragmnt': unknown rule; did you mean url/fragment"],
            id="details-of-no-rule",
        ),
        pytest.param({"site": "a.example", "emit": "pages"}, {}, ["emit='pages'", "probe=500"], id="pages-of-no-probe"),
        pytest.param({"site": "a.example", "probe": "0"}, {}, ["probe='0'", "1 or more, or all"], id="probe"),
        pytest.param({"site": "a.example", "probe_seed": "x"}, {}, ["probe_seed='x'", "0 or more"], id="probe-seed"),
        pytest.param(
            {"site": "a.example", "at": "latest", "emit": "audits"}, {}, ["at='latest'", "requires a store"], id="at"
        ),
        pytest.param({"site": "a.example", "at": "latest", "store": "s"}, {}, ["no urls", "query --at"], id="at-urls"),
        pytest.param({"site": "a.example", "emit": "urls,sitemaps"}, {}, ["urls,sitemaps", "item_classes"], id="kinds"),
        pytest.param({"site": "a.example", "root": "/no/such"}, {}, ["root='/no/such'", "existing folder"], id="root"),
        pytest.param({"sites": "/no/such"}, {}, ["sites='/no/such'", "a text file with one site per line"], id="sites"),
        pytest.param(
            {"site": "a.example"},
            {"SITEMAP_HARVEST_MAX_DEPTH": "deep"},
            ["SITEMAP_HARVEST_MAX_DEPTH is 'deep'", "a whole number, 1 or more"],
            id="setting",
        ),
    ],
)  # fmt: skip
def test_errors_in_arguments_are_one_line_and_nothing_is_requested(crawl, tmp_path, arguments, settings, words):
    kept = tmp_path / "kept.jsonl"
    kept.write_text("the last run\n")
    run = crawl(options=("-O", str(kept)), settings=settings, calm=False, **{"emit": None, **arguments})
    (line,) = run.errors
    assert all(word in line for word in words)
    assert "Traceback" not in run.log
    assert (run.reason, run.stats["log_count/ERROR"]) == ("wrong_argument", 1)
    assert kept.read_text() == "the last run\n"
    assert "downloader/request_count" not in run.stats


@pytest.mark.quick
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("site", "https://a.example:81,https://b.example:82"),
        ("site", "a.example,b.example"),
        ("site", "https://a.example; http://b.example,"),
        ("sitemap", "http://a.example:81/s.xml,http://b.example:82/s.xml"),
    ],
)
def test_targets_separated_by_commas_are_shown_as_they_are_with_the_separator_that_is_right(name, value):
    with pytest.raises(ArgumentError, match="separate several with spaces") as raised:
        RunConfig.of({name: [value]})
    assert f"argument {name}={value!r}: " in str(raised.value)


@pytest.mark.quick
@pytest.mark.parametrize("value", ["", " ", "\t\n"])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_without_a_value_is_an_error(name, value):
    with pytest.raises(ArgumentError, match=f"argument {name} is empty"):
        RunConfig.of({"site": "a.example", name: value})


_TEXT_ONLY = [name for name, one in ARGUMENTS.items() if one.value not in {"N", "0.0-1.0", "WHEN", "AGE", YES_OR_NO}]


@pytest.mark.quick
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, value) for name, one in ARGUMENTS.items() if one.value != YES_OR_NO for value in (True, False)),
        *((name, value) for name in _TEXT_ONLY for value in (5, 0.5, b"news")),
        ("include", [True]),
        ("site", [5]),
        ("follow", ["blog", "shop"]),
        ("store", ["snapshots"]),
    ],
)
def test_a_value_is_never_the_text_of_another_type(name, value):
    made = SitemapSpider(**{"site": "a.example", name: value})
    with pytest.raises(ArgumentError) as raised:
        made._harvest._given.config_for(made)
    assert str(raised.value).startswith(f"argument {name}={value!r}: it must be ")


@pytest.mark.quick
def test_yes_and_no_may_be_true_and_false():
    arguments = {"site": ("a.example", "b.example"), "since": "7d", "prune_index": True, "force": False, "limit": 5}
    config = RunConfig.of(arguments)
    assert list(config.sites) == ["https://a.example", "https://b.example"]
    assert (config.pruned_before is None, config.force, config.limit) == (False, False, 5)
    assert config.recorded == {"since": "7d", "prune_index": "yes", "limit": "5"}


class Own(HarvestSpider):
    name = "own"


class Visiting(HarvestSpider):
    name = "visiting"

    def parse(self, response, entry):
        """Take a page."""


@pytest.mark.quick
@pytest.mark.parametrize(
    ("spider", "arguments", "is_refused"),
    [
        pytest.param(AuditSpider, {"prefix": "/blog/"}, True, id="audit"),
        pytest.param(AuditSpider, {"emit": "urls,findings", "prefix": "/blog/"}, False, id="audit-with-urls"),
        pytest.param(AuditSpider, {"follow": "blog", "limit": "1", "scope": "mark"}, False, id="no-filter-of-urls"),
        pytest.param(SitemapSpider, {"emit": "trust", "since": "7d"}, True, id="trust"),
        pytest.param(SitemapSpider, {"prefix": "/blog/"}, False, id="no-audit"),
        pytest.param(Visiting, {"emit": "findings", "prefix": "/blog/"}, False, id="of-pages"),
    ],
)
def test_filters_of_urls_are_errors_if_they_have_no_effect(spider, arguments, is_refused):
    made = spider(site="a.example", **arguments)
    with (
        pytest.raises(ArgumentError, match="has no effect: an audit checks every URL") if is_refused else nullcontext()
    ):
        made._harvest._given.config_for(made)


@pytest.mark.quick
@pytest.mark.parametrize("spider", [SitemapSpider, ChangesSpider, Own])
def test_arguments_from_scrapyd_are_attributes_of_the_spider_and_no_error(spider):
    made = spider(site="a.example", _job="", _version="1")
    assert (made._job, made._version) == ("", "1")
    assert made._harvest._given.unusable == {}


@pytest.mark.quick
@pytest.mark.parametrize("name", ["_project", "_spider", "job", "_jobs"])
def test_unknown_argument_names_are_rejected(name):
    assert SitemapSpider(site="a.example", **{name: "1"})._harvest._given.unusable == {name: "1"}
