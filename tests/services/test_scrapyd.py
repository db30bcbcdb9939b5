"""The toolkit on a real Scrapyd: deployed in three ways, scheduled with every argument, cancelled and killed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from configparser import ConfigParser
from contextlib import ExitStack
from datetime import datetime

import pyarrow.parquet as pq
import pytest

from sitemap_harvest.config.arguments import ARGUMENTS
from sitemap_harvest.snapshots.store import open_store
from tests.crawl.crawling import lines
from tests.services.programs import ROOT, systemd_analyze
from tests.services.scrapyd import PASSWORD, PROJECT, USER, running
from tests.site import Page, Site, dated, index, numbered, robots, urlset
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.service

HOW_TO = ROOT / "docs" / "howto" / "run-on-scrapyd.md"
KINDS = {
    "urls": "UrlEntry",
    "sitemaps": "SitemapRecord",
    "sites": "SiteRecord",
    "changes": "Change",
    "pages": "PageRecord",
    "occurrences": "Occurrence",
}
FEEDS = {
    f"out/%(_job)s-{kind}.jsonl": {"format": "jsonl", "item_classes": [f"sitemap_harvest.{name}"]}
    for kind, name in KINDS.items()
}
EMIT = "urls,sitemaps,sites"
EVERYTHING = """\
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml"
 xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
<url><loc>{site}/shop/a</loc><lastmod>2026-01-15</lastmod><changefreq>daily</changefreq><priority>0.8</priority>
<xhtml:link rel="alternate" hreflang="de" href="{site}/shop/a"/>
<image:image><image:loc>{site}/a.png</image:loc></image:image></url>
<url><loc>{site}/shop/b</loc></url></urlset>"""
FEED = (
    '<rss version="2.0"><channel><title>t</title><item><link>{site}/new</link>'
    "<pubDate>Thu, 15 Jan 2026 10:00:00 GMT</pubDate></item></channel></rss>"
)
SHOP = {
    "/robots.txt": robots("/index.xml"),
    "/index.xml": index("/main.xml", "/main-skipped.xml", "/other.xml"),
    "/main.xml": EVERYTHING,
    "/extra.xml": dated(urlset("/shop/old"), "2026-02-02"),
}
NEWS = {"/robots.txt": robots("/1.xml", "/feed.xml"), "/1.xml": urlset("/a"), "/feed.xml": FEED}
SMALL = {"/robots.txt": robots("/1.xml"), "/1.xml": urlset("/b")}


def files_of_the_how_to():
    """Return the files that the how-to asks its reader to write, by name."""
    found = re.findall(r"^<!-- file: (\S+) -->\n+```\w+\n(.*?)^```", HOW_TO.read_text(), re.MULTILINE | re.DOTALL)
    return dict(found)


def project_of(folder):
    """Write the thin project of the how-to into *folder*, unchanged."""
    for name, content in files_of_the_how_to().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (folder / "myharvest" / "myharvest" / "__init__.py").touch()
    return folder


@pytest.fixture(scope="module")
def sites():
    with Site(SHOP) as shop, Site(NEWS, host="127.0.0.2") as news, Site(SMALL, host="127.0.0.3") as small:
        yield shop, news, small


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    with running(tmp_path_factory.mktemp("node")) as scrapyd:
        yield scrapyd


@pytest.fixture
def crawl(node):
    """Return a function that schedules a job with its output in the folder of its id."""

    def schedule(spider="sitemap", /, settings=None, **given):
        return node.schedule(spider, settings={"FEEDS": FEEDS, **(settings or {})}, **given)

    return schedule


def output(node, job, kind="urls"):
    return lines(node.folder / "out" / f"{job}-{kind}.jsonl")


def locs(node, job):
    return sorted(row["loc"] for row in output(node, job))


def reason(log):
    """Return why a job ended, from its log."""
    return log.partition("Closing spider (")[2].partition(")")[0]


def errors(log):
    return [line.partition("ERROR: ")[2] for line in log.splitlines() if "] ERROR: " in line]


def of_the_shop(shop, node):
    return {
        "site": shop.url,
        "sitemap": f"{shop.url}/extra.xml",
        "follow": "main",
        "skip": "skipped",
        "scope": "strict",
        "limit": "5",
        "since": "2026-01-01",
        "until": "2026-12-31",
        "missing_lastmod": "drop",
        "unreadable_lastmod": "drop",
        "future_lastmod": "drop",
        "prune_index": "yes",
        "min_priority": "0.5",
        "max_priority": "0.9",
        "changefreq": "daily weekly",
        "include": "/shop/",
        "exclude": "/old",
        "prefix": "/shop/",
        "lang": "de",
        "has": "image alternate",
        "browser": "never",
        "archive": "archive",
        "emit": EMIT,
    }


JOBS = {
    "filters": (of_the_shop, ["{shop}/shop/a"]),
    "folder": (lambda shop, node: {"site": "https://www.example.com", "root": "folder"}, ["https://www.example.com/x"]),
    "file": (
        lambda shop, node: {"sites": "sites.txt", "store": "snapshots", "force": "yes", "max_age": "30d", "emit": EMIT},
        ["http://127.0.0.3:{port}/b", "{news}/a", "{news}/new"],
    ),
}
LATER = {  # over the snapshots that the jobs above have left in the store
    "changes": {"baseline": "first", "resume": "yes"},
    "feeds": {"feeds_only": "yes", "consumer": "app"},
}
AUDIT = {  # of the snapshot that these have left
    "at": "latest",
    "probe": "all",
    "probe_seed": "7",
    "details": "page/client-error",
    "emit": "occurrences,pages",
}


def test_every_argument_is_in_the_jobs(sites):
    shop, *_ = sites
    given = set().union(*(make(shop, None) for make, _ in JOBS.values()), *LATER.values(), AUDIT)
    assert given == ARGUMENTS.keys()


@pytest.fixture(scope="module")
def harvested(node, sites):
    """Run the jobs with every argument, some at once."""
    shop, news, small = sites
    (node.folder / "folder").mkdir()
    (node.folder / "folder" / "sitemap.xml").write_text(urlset("https://www.example.com/x"))
    (node.folder / "sites.txt").write_text(f"# two sites\n{news.url}\n{small.url}\n")
    feeds = {"FEEDS": FEEDS}
    for name, (make, _) in JOBS.items():
        node.schedule("sitemap", settings=feeds, jobid=name, **make(shop, node))
    node.finished(*JOBS)
    waiting = feeds | {"SITEMAP_HARVEST_STORE": "snapshots", "SITEMAP_HARVEST_BUSY": "wait"}
    for name, given in LATER.items():
        node.schedule("changes", settings=waiting, jobid=name, site=news.url, **given)
    node.finished(*LATER)
    node.schedule("audit", settings=waiting, jobid="audit", site=news.url, **AUDIT)
    node.finished("audit")
    return node


@pytest.mark.parametrize("name", JOBS)
def test_a_job_takes_all_arguments(harvested, sites, name):
    shop, news, small = sites
    expected = [loc.format(shop=shop.url, news=news.url, port=small.url.rpartition(":")[2]) for loc in JOBS[name][1]]
    log = harvested.log(name)
    assert (reason(log), errors(log)) == ("finished", [])
    assert locs(harvested, name) == sorted(expected)


def test_a_job_with_feeds_only_and_a_comparison_share_a_store(harvested, sites):
    _, news, _ = sites
    for name in LATER:
        assert (reason(harvested.log(name)), errors(harvested.log(name))) == ("finished", [])
        assert output(harvested, name, "changes") == []
    assert len(open_store(harvested.folder / "snapshots").site(news.url).runs) == 3


def test_a_job_audits_the_pages_of_a_stored_snapshot(harvested, sites):
    _, news, _ = sites
    assert (reason(harvested.log("audit")), errors(harvested.log("audit"))) == ("finished", [])
    pages = {page["url"]: page["status"] for page in output(harvested, "audit", "pages")}
    assert pages[f"{news.url}/a"] == 404
    found = {(one["rule"], one["loc"]) for one in output(harvested, "audit", "occurrences")}
    assert ("page/client-error", f"{news.url}/a") in found


def test_jobs_are_listed_with_their_times_and_logs(harvested):
    found = {job["id"]: job for job in harvested.jobs()["finished"]}
    job = found["filters"]
    assert (job["project"], job["spider"]) == (PROJECT, "sitemap")
    assert datetime.fromisoformat(job["start_time"]) < datetime.fromisoformat(job["end_time"])
    served = harvested.ask(job["log_url"].lstrip("/"))
    assert (served.status, served.text) == (200, harvested.log("filters"))
    assert "filters" in harvested.ask("jobs").text


def test_jobs_print_nothing_outside_their_log(harvested):
    own = [line for line in harvested.own_log.splitlines() if "pkg_resources is deprecated" not in line]  # Scrapyd's
    assert [line for line in own if "/stderr]" in line or "/stdout]" in line] == []


def test_requests_without_the_password_are_rejected(node):
    for user, password in ((None, ""), (USER, "guessed"), ("", "")):
        for path in ("listjobs.json", "logs/", "jobs", ""):
            assert node.ask(path, user=user, password=password).status == 401
    assert node.ask("schedule.json", data={"project": PROJECT, "spider": "sitemap"}, user=None).status == 401


@pytest.mark.quick
def test_spiders_are_listed(node):
    assert node.get("listspiders", project=PROJECT)["spiders"] == ["audit", "changes", "sitemap"]


@pytest.fixture(scope="module")
def odd(node, sites):
    """Run jobs with odd arguments; return their ids by argument."""
    _, news, small = sites
    (node.folder / "Größe ü.xml").write_text(urlset("https://www.example.com/ü"))
    one = {"site": small.url}
    given = {
        "whitespace": {"site": f"{small.url}\n{news.url}", "sitemap": "Größe ü.xml"},
        "signs": {**one, "exclude": "-a=%(x)s;$HOME`id`\"' " + "x" * 100_000},
        "empty": {**one, "exclude": ""},
        "forged": {**one, "limit": "1\n2026-01-01 00:00:00 [x] ERROR: forged"},
        "unknown": {**one, "colour": "red"},
        "setting": {**one, "settings": {"SITEMAP_HARVEST_COLOUR": "red"}},
        "quiet": {"site": [small.url, news.url], "settings": {"LOG_LEVEL": "WARNING"}, "jobid": "..a b"},
    }
    feeds = {"FEEDS": FEEDS}
    jobs = {
        name: node.schedule("sitemap", settings={**feeds, **more.pop("settings", {})}, **more)
        for name, more in given.items()
    }
    node.finished(*jobs.values())
    return jobs


@pytest.mark.parametrize(
    ("name", "hosts"),
    [
        pytest.param(
            "whitespace",
            ["127.0.0.2", "127.0.0.2", "127.0.0.3", "www.example.com"],
            id="a newline between sites, and a file's name with spaces and umlauts",
        ),
        pytest.param("quiet", ["127.0.0.3"], id="of an argument given twice, Scrapyd takes the first"),
        pytest.param("signs", ["127.0.0.3"], id="no shell reads it, and it may be long"),
    ],
)
def test_odd_values_arrive_unchanged(node, odd, name, hosts):
    assert [loc.split("/")[2].split(":")[0] for loc in locs(node, odd[name])] == hosts
    assert errors(node.log(odd[name])) == []


def test_a_setting_of_a_job_applies_to_it(node, odd):
    assert "INFO" not in node.log(odd["quiet"])


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("empty", "argument exclude is empty; give a value, or omit the argument"),
        ("forged", r"argument limit='1\n2026-01-01 00:00:00 [x] ERROR: forged': it must be"),
        ("unknown", "argument colour: unknown argument; valid arguments: site, sites,"),
        ("setting", "SITEMAP_HARVEST_COLOUR: unknown setting; valid settings: SITEMAP_HARVEST_"),
    ],
)
def test_errors_are_one_line_of_the_log(node, odd, name, line):
    log = node.log(odd[name])
    (found,) = errors(log)
    assert found.startswith(line)
    assert (reason(log), node.state(odd[name]), output(node, odd[name])) == ("wrong_argument", "finished", [])


SITEMAPS = [f"/{number}.xml" for number in range(8)]
FATES = ("whole", "cancelled", "twice", "killed", "first")
"""The end of a crawl: it finishes, is cancelled once, twice, or with SIGKILL; or is cancelled as the first of its site.
"""


def version(number, delay=0.0):
    """Return a site in which each version adds one URL to each sitemap and removes one."""
    pages = {
        path: Page(urlset(*numbered(3, start=number, prefix=f"/{path[1]}/")), delay=delay if path > "/1.xml" else 0.0)
        for path in SITEMAPS
    }
    return {"/robots.txt": robots("/index.xml"), "/index.xml": index(*SITEMAPS), **pages}


def changes_of(paths):
    """Return the changes from version 1 to version 2 in the sitemaps at *paths*."""
    return sorted(change for path in paths for change in (("removed", f"/{path[1]}/1"), ("added", f"/{path[1]}/4")))


def reported(node, job, site):
    return reported_in(node.folder / "out" / f"{job}-changes.jsonl", site)


def reported_in(path, site):
    found = [row for row in lines(path) if row["site"] == site.url]
    return sorted((row["kind"], row["loc"].removeprefix(site.url)) for row in found)


def url_of(site):
    return site.url


@pytest.fixture(scope="module")
def ended(node):
    """Crawl sites whose crawls end in different ways, and crawl them once more."""
    slow = {"CONCURRENT_REQUESTS_PER_DOMAIN": 1, "AUTOTHROTTLE_ENABLED": "False", "SITEMAP_HARVEST_STORE": "ended"}
    feeds = {**FEEDS, "out/%(_job)s.parquet": {"format": "parquet", "item_classes": ["sitemap_harvest.UrlEntry"]}}
    settings = {**slow, "FEEDS": feeds}
    with ExitStack() as stack:
        sites = {
            fate: stack.enter_context(Site(version(1), host=f"127.0.0.{number}"))
            for number, fate in enumerate(FATES, 4)
        }
        node.schedule(
            "sitemap", settings=settings, jobid="before", site=" ".join(sites[fate].url for fate in FATES[:4])
        )
        node.finished("before")
        for fate, site in sites.items():
            site.pages = version(2, delay=0.3)
            if fate in {"twice", "killed"}:
                site.pages[SITEMAPS[3]] = Page("", delay=100)  # which a job with an orderly shutdown waits for
            site.requests.clear()
            node.schedule("sitemap", settings=settings, jobid=fate, emit="urls,sitemaps,changes", site=site.url)
        for fate in FATES[1:]:
            wait_until(lambda requests=sites[fate].requests: SITEMAPS[3] in requests)
            node.post("cancel", project=PROJECT, job=fate, **({"signal": "KILL"} if fate == "killed" else {}))
            if fate == "twice":
                wait_until(lambda: "Received SIGINT" in node.log("twice"))
                node.post("cancel", project=PROJECT, job=fate)
        node.finished(*FATES)
        for site in sites.values():
            site.pages = version(2)
        node.schedule(
            "changes", settings=slow | {"FEEDS": FEEDS}, jobid="after", site=" ".join(map(url_of, sites.values()))
        )
        node.finished("after")
        yield node, sites


def read_whole(node, job, site):
    """Return the sitemaps that a job has read completely, from its ledger."""
    rows = output(node, job, "sitemaps")
    return sorted(row["url"].removeprefix(site.url) for row in rows if row["outcome"] == "read" and row["entries"] == 3)


@pytest.mark.parametrize("fate", ["cancelled", "first"])
def test_a_cancelled_job_shuts_down_orderly(ended, fate):
    node, sites = ended
    log = node.log(fate)
    assert (reason(log), errors(log)) == ("shutdown", [])
    read = read_whole(node, fate, sites[fate])
    assert SITEMAPS[:3] <= read < SITEMAPS
    expected = sorted(f"{sites[fate].url}/{path[1]}/{number}" for path in read for number in (2, 3, 4))
    assert locs(node, fate) == expected
    assert sorted(pq.read_table(node.folder / "out" / f"{fate}.parquet")["loc"].to_pylist()) == expected


def test_a_cancelled_job_keeps_the_documents_it_has_read_completely(ended):
    node, sites = ended
    site = sites["cancelled"]
    read = read_whole(node, "cancelled", site)
    history = open_store(node.folder / "ended").site(site.url)
    assert [run.complete for run in history.runs] == [True, False, True]
    added = [change for change in changes_of(read) if change[0] == "added"]
    pending = [change for change in changes_of(read) if change[0] == "removed"]  # an unread sitemap may list it now
    assert reported(node, "cancelled", site) == added
    assert reported(node, "after", site) == sorted(pending + changes_of(set(SITEMAPS) - set(read)))


@pytest.mark.parametrize("fate", ["twice", "killed"])
def test_after_a_killed_job_the_next_one_reports_exactly_the_changes(ended, fate):
    node, sites = ended
    assert "Spider closed" not in node.log(fate)
    assert reported(node, "after", sites[fate]) == changes_of(SITEMAPS)
    assert len(open_store(node.folder / "ended").site(sites[fate].url).runs) == 2


def test_a_cancelled_first_job_removes_nothing(ended):
    node, sites = ended
    assert {kind for kind, _ in reported(node, "after", sites["first"])} <= {"added", "newly-known"}


@pytest.mark.parametrize("fate", FATES)
def test_the_last_snapshot_equals_that_of_a_site_that_was_never_cancelled(ended, fate):
    node, sites = ended
    store = open_store(node.folder / "ended")
    snapshot = store.site(sites[fate].url).latest()
    found = sorted(loc.removeprefix(sites[fate].url) for loc in snapshot.urls(["loc"]).read_all()["loc"].to_pylist())
    assert found == sorted(loc for path in SITEMAPS for loc in numbered(3, start=2, prefix=f"/{path[1]}/"))
    snapshot.check()
    assert reported(node, "after", sites["whole"]) == []
    assert [*(node.folder / "ended").glob("sites/*/claim.json"), *(node.folder / "ended").glob("running/*")] == []


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """Return a copy of the files of this repository that an egg may contain."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("scrapy.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "sitemap_harvest", folder / "sitemap_harvest", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="module")
def deployed(node, checkout, tmp_path_factory):
    """Deploy this repository, the project of the how-to twice, and one with the add-on alone; return the responses."""
    (node.folder / ".scrapy.cfg").write_text(
        f"[deploy:node]\nurl = {node.url}/\nusername = {USER}\npassword = $SCRAPYD_PASSWORD\n"
        f"[deploy:netrc]\nurl = {node.url}/\nusername =\n"
    )
    (node.folder / ".netrc").write_text(f"machine 127.0.0.1 login {USER} password {PASSWORD}\n")
    (node.folder / ".netrc").chmod(0o600)
    node.environment["SCRAPYD_PASSWORD"] = PASSWORD
    how_to = project_of(tmp_path_factory.mktemp("how-to")) / "myharvest"
    addon_only = shutil.copytree(how_to, tmp_path_factory.mktemp("addon") / "project")
    settings = addon_only / "myharvest" / "settings.py"
    settings.write_text(re.sub("SPIDER_MODULES = .*", "", settings.read_text()))
    runs = {
        "checkout": node.program("scrapyd-deploy", "node", folder=checkout),
        "one": node.program("scrapyd-deploy", "node", "--version", "1", folder=how_to),
        "two": node.program("scrapyd-deploy", "netrc", "--version", "2", folder=how_to),
        "addon": node.program("scrapyd-deploy", "node", "--project", "addon-only", folder=addon_only),
    }
    node.environment["SCRAPYD_PASSWORD"] = "guessed"
    runs["nobody"] = node.program("scrapyd-deploy", "node", folder=how_to)
    return runs


@pytest.mark.parametrize("name", ["checkout", "one", "two"])
def test_a_project_is_deployed(deployed, name):
    run = deployed[name]
    assert run.returncode == 0, run.stderr
    answer = json.loads(run.stdout)
    assert (answer["status"], answer["spiders"]) == ("ok", 3)


def test_deployments_without_the_password_are_rejected(deployed):
    assert deployed["nobody"].returncode == 1
    assert "Deploy failed (401)" in deployed["nobody"].stderr


def test_the_repository_has_its_own_target(checkout):
    config = ConfigParser()
    config.read(checkout / "scrapy.cfg")
    assert dict(config["deploy"]) == {"url": "http://127.0.0.1:6800/", "project": "sitemap_harvest"}


@pytest.fixture(scope="module")
def run_of_eggs(node, deployed, sites):
    """Run a job of each project that was deployed."""
    _, news, small = sites
    feeds = {"FEEDS": FEEDS}
    node.schedule("sitemap", project="sitemap_harvest", jobid="of-checkout", settings=feeds, site=small.url)
    node.schedule("sitemap", project="myharvest", jobid="of-how-to", site=small.url)
    node.schedule("changes", project="myharvest", jobid="of-version", _version="1", settings=feeds, site=news.url)
    node.finished("of-checkout", "of-how-to", "of-version")
    return node


def test_versions_are_listed_and_selectable(run_of_eggs):
    assert run_of_eggs.get("listversions", project="myharvest")["versions"] == ["1", "2"]
    assert sorted(run_of_eggs.get("listprojects")["projects"])[-2:] == ["myharvest", "sitemap_harvest"]
    assert "'_version=1'" in run_of_eggs.own_log
    assert run_of_eggs.get("listspiders", project="myharvest", _version="1")["spiders"] == [
        "audit",
        "changes",
        "sitemap",
    ]


@pytest.mark.parametrize("job", ["of-checkout", "of-how-to", "of-version"])
def test_jobs_of_eggs_run(run_of_eggs, job):
    log = run_of_eggs.log(job)
    assert (reason(log), errors(log)) == ("finished", [])


def test_the_output_of_the_project_in_the_how_to_has_the_name_of_its_job(run_of_eggs, sites):
    *_, small = sites
    found = lines(run_of_eggs.folder / "output" / "of-how-to.jsonl")
    assert [row["loc"] for row in found] == [f"{small.url}/b"]


def test_a_project_with_the_addon_alone_has_no_spiders(node, deployed):
    assert node.get("listspiders", project="addon-only")["spiders"] == [""]
    answer = node.ask("schedule.json", data={"project": "addon-only", "spider": "sitemap"})
    assert (answer.status, answer.json["status"], answer.json["message"]) == (
        200,
        "error",
        "spider 'sitemap' not found",
    )


def test_a_locked_site_is_rejected_or_waited_for_and_other_sites_are_not(node):
    settings = {"SITEMAP_HARVEST_STORE": "busy", "LOG_LEVEL": "INFO", "DOWNLOAD_TIMEOUT": 120}
    busy, free = Site(SMALL, host="127.0.0.10"), Site(SMALL, host="127.0.0.11")
    with busy, free:
        busy.pages = {**SMALL, "/1.xml": Page(SMALL["/1.xml"], delay=100)}
        node.schedule("sitemap", settings=settings, jobid="holder", site=busy.url)
        wait_until(lambda: "/1.xml" in busy.requests)
        node.schedule("sitemap", settings=settings, jobid="refused", site=f"{busy.url} {free.url}")
        waits = {**settings, "SITEMAP_HARVEST_BUSY": "wait"}
        node.schedule("sitemap", settings=waits, jobid="waits", site=busy.url)
        node.finished("refused")
        wait_until(lambda: f"{busy.url} is waiting: the run " in node.log("waits"))
        assert node.state("holder") == "running"
        busy.pages = SMALL
        node.post("cancel", project=PROJECT, job="holder", signal="KILL")
        node.finished("holder", "waits")
        assert "is harvesting the site into the same store" in node.log("refused")
        store = open_store(node.folder / "busy")
        assert [len(store.site(site.url).runs) for site in (busy, free)] == [1, 1]


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """Return a Scrapyd that configures outputs, and is not restarted when it dies."""
    folder = tmp_path_factory.mktemp("other")
    with running(folder, sections={"scrapyd": {"items_dir": "items", "max_proc": "1"}}) as scrapyd:
        yield scrapyd


@pytest.mark.quick
def test_the_outputs_of_scrapyd_replace_others_and_are_served(other, sites):
    *_, small = sites
    job, several = (
        other.schedule("sitemap", settings={"FEEDS": FEEDS}, site=small.url, **more) for more in ({}, {"emit": EMIT})
    )
    other.finished(job, several)
    (listed,) = [listed for listed in other.jobs()["finished"] if listed["id"] == job]
    rows = [json.loads(line) for line in other.ask(listed["items_url"].lstrip("/")).body.splitlines()]
    assert [row["loc"] for row in rows] == [f"{small.url}/b"]
    assert not (other.folder / "out").exists()
    assert "would contain several kinds" in errors(other.log(several))[0]


@pytest.fixture(scope="module")
def again(other):
    """Kill Scrapyd with a running job and a waiting one, and restart it with one slot for jobs."""
    settings = {"SITEMAP_HARVEST_STORE": "snapshots"}
    with Site(version(1), host="127.0.0.12") as site:
        other.finished(other.schedule("sitemap", settings=settings, site=site.url))
        site.pages = {**version(2), SITEMAPS[3]: Page("", delay=100)}
        other.schedule("sitemap", settings=settings, jobid="ran", site=site.url)
        wait_until(lambda: site.count(SITEMAPS[3]) == 2)
        other.schedule("changes", settings=settings, jobid="waited", site=site.url)
        os.killpg(other.process.pid, signal.SIGKILL)
        other.process.wait(timeout=PATIENCE_SECONDS)
        site.pages = version(2)
        with running(other.folder, sections={"scrapyd": {"items_dir": "items", "max_proc": "1"}}) as scrapyd:
            scrapyd.finished("waited")
            yield scrapyd, site


def test_after_a_kill_of_scrapyd_a_repeated_schedule_reports_the_changes(again):
    scrapyd, site = again
    assert scrapyd.state("ran") is None
    assert reported_in(scrapyd.folder / "items" / PROJECT / "changes" / "waited.jl", site) == changes_of(SITEMAPS)


def test_an_argument_that_no_process_accepts_costs_scrapyd_a_slot_for_jobs(again):
    scrapyd, _ = again
    job = scrapyd.schedule("sitemap", site="x" * 200_000)
    wait_until(lambda: scrapyd.state(job) is None)
    after = scrapyd.schedule("sitemap", site="https://www.example.com")
    time.sleep(1)  # five times the interval between checks of the queue
    assert (scrapyd.state(after), scrapyd.jobs()["running"]) == ("pending", [])


def unit():
    config = ConfigParser(interpolation=None)
    config.optionxform = str
    config.read_string(files_of_the_how_to()["scrapyd.service"])
    return config


def test_the_unit_is_valid_for_systemd(tmp_path):
    assert unit()["Service"]["User"] == "scrapyd"
    program = systemd_analyze()
    text = files_of_the_how_to()["scrapyd.service"].replace("/opt/scrapyd/bin/scrapyd", "/bin/true")
    (tmp_path / "scrapyd.service").write_text(text)
    command = [program, "verify", "--man=no", str(tmp_path / "scrapyd.service")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert [line for line in run.stderr.splitlines() if "scrapyd.service" in line] == []


def test_stopping_the_unit_lets_jobs_shut_down_orderly(node):
    stop = unit()["Service"]["ExecStop"].removeprefix("/bin/sh -c '").removesuffix("'")
    settings = {"SITEMAP_HARVEST_STORE": "stopped"}
    with Site(version(1), host="127.0.0.13") as site:
        site.pages[SITEMAPS[3]] = Page(SMALL["/1.xml"], delay=1)
        job = node.schedule("sitemap", settings=settings, site=site.url)
        wait_until(lambda: SITEMAPS[3] in site.requests)
        try:
            environment = {**os.environ, "MAINPID": str(node.process.pid)}
            subprocess.run(["/bin/sh", "-c", stop], env=environment, timeout=PATIENCE_SECONDS, check=True)
        finally:
            node.process.send_signal(signal.SIGCONT)
        assert reason(node.log(job)) == "shutdown"
        assert "Spider closed" in node.log(job)
        assert len(open_store(node.folder / "stopped").site(site.url).runs) == 1
