"""Passwords of every kind, in every place where one can be given: a run leaves none of them behind."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from base64 import b64encode
from itertools import chain
from typing import TYPE_CHECKING
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests import forked
from tests.certificates import self_signed
from tests.crawl.crawling import HERE
from tests.forked_program import scrapy_program
from tests.services.proxy import running_proxy
from tests.site import Manner, Page, Site, index, moved, robots, urlset
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

LOGINS = {
    "in site": ("site-u@er", "site/Pass:w%rd"),
    "in sites": ("sites-user", "sitesP@ss"),
    "in sitemap": ("map-user", "mapPa$$+word"),
    "of the proxy": ("proxyuser", "proxyPassword7"),
    "in HTTPAUTH": ("auth-user", "authPass'\"word " + "long" * 20),  # so long that a listing wraps it
    "in a name that is no site": ("wrong-user", "wrong/Pass"),
    "of a line that is no site": ("line-user", "line/Pass"),
}
TOKENS = {
    "X-Api-Key": "key-of-one-site",
    "Cookie": "session=cookie-of-one-site",
    "X-Default": "header-of-all-sites",
}
KINDS = {
    "urls": "sitemap_harvest.UrlEntry",
    "sitemaps": "sitemap_harvest.SitemapRecord",
    "sites": "sitemap_harvest.SiteRecord",
    "changes": "sitemap_harvest.Change",
    "summaries": "sitemap_harvest.ChangeSummary",
}
FORMATS = ("jsonl", "csv", "parquet", "xml")


def forms() -> dict[bytes, str]:
    """Return every way in which one of the secrets may be written, with its name."""
    found: dict[bytes, str] = {}
    for where, (user, password) in LOGINS.items():
        pair = f"{user}:{password}"
        texts = {password, quote(password, safe=""), quote(password), repr(password)[1:-1], json.dumps(password)[1:-1]}
        for text in texts | {b64encode(form.encode()).decode() for form in (pair, password)}:
            found[text.encode()] = f"the password {where}"
    return found | {token.encode(): f"the header {name}" for name, token in TOKENS.items()}


def found_in(name: str, body: bytes) -> set[str]:
    return {f"{what}: {name}" for form, what in forms().items() if form in body}


def left_in(folder: Path) -> set[str]:
    """Return which secrets are in which files below *folder*, by name or by content; in Parquet, also decompressed."""
    leaks: set[str] = set()
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        leaks |= found_in(f"name of {name}", name.encode())
        if path.is_file():
            leaks |= found_in(name, path.read_bytes())
            if path.suffix == ".parquet" and path.stat().st_size:
                table = pq.read_table(path)
                leaks |= found_in(
                    f"{name}, unpacked", repr(table.to_pylist()).encode() + repr(table.schema.metadata).encode()
                )
            elif path.suffix == ".arrow":
                leaks |= found_in(f"{name}, unpacked", repr(pa.ipc.open_file(path).read_all().to_pylist()).encode())
    return leaks


@pytest.mark.quick
@pytest.mark.parametrize("where", LOGINS)
def test_the_search_itself_finds_hidden_secrets(where, tmp_path):
    user, password = LOGINS[where]
    row = {"loc": f"https://{user}:{password}@a.example/"}
    pq.write_table(pa.Table.from_pylist([row] * 3), tmp_path / "a.parquet", compression="zstd")
    (tmp_path / "b.json").write_text(json.dumps({"headers": b64encode(f"{user}:{password}".encode()).decode()}))
    (tmp_path / quote(password, safe="")).mkdir()
    names = {found.partition(": ")[2] for found in left_in(tmp_path)}
    assert names >= {"a.parquet, unpacked", "b.json", f"name of {quote(password, safe='')}"}


def address(url: str, where: str) -> str:
    scheme, _, host = url.partition("://")
    user, password = (quote(part, safe="") for part in LOGINS[where])
    return f"{scheme}://{user}:{password}@{host}"


def closed(served, where, *, header="Authorization"):
    """Return a function that serves *served* with the login, and otherwise echoes the request in the response."""
    user, password = LOGINS[where]
    expected = "Basic " + b64encode(f"{user}:{password}".encode()).decode()

    def answer(headers):
        if headers[header] == expected:
            return served
        return Page(f"<title>Not {headers[header]} {headers['Cookie']}</title>", status=401)

    return answer


@pytest.fixture(scope="module")
def sites():
    """Three sites, each with a separate login."""
    with Site() as first, Site() as second, Site(tls=self_signed("127.0.0.1")) as third:
        pages = {
            "/robots.txt": robots("/index.xml"),
            "/index.xml": index(
                "/a.xml", "/gone.xml", "/fails.xml", "/cut.xml", "/moved.xml", "/page.xml", "/echo.xml"
            ),
            "/a.xml": urlset("/1", "/2"),
            "/fails.xml": Page(status=500),
            "/cut.xml": Page(urlset("/3"), manner=Manner.CLOSE),
            "/moved.xml": moved("/a.xml"),
            "/page.xml": "<!doctype html><title>A page</title>",
        }
        first.pages |= {path: closed(page, "in site") for path, page in pages.items()}
        host = first.url.removeprefix("http://")
        user, password = (quote(part, safe="") for part in LOGINS["in site"])
        # A server that leads to the very address with which the user came.
        first.pages["/echo.xml"] = moved(f"http://{user}:{password}@{host}/a.xml")
        second.pages |= {
            "/robots.txt": closed(robots("/s.xml"), "in sites"),
            "/s.xml": closed(urlset("/1"), "in sites"),
        }
        third.pages |= {"/s.xml": closed(urlset("/1"), "in sitemap")}
        yield first, second, third


def settings_of(site: Site, folder: Path) -> dict[str, object]:
    """Return settings with a secret in every possible place, and with all outputs."""
    user, password = LOGINS["in HTTPAUTH"]
    outputs = {
        f"{folder}/{kind}.{form}": {"format": form, "item_classes": [path]}
        for kind, path in KINDS.items()
        for form in FORMATS
    }
    return {
        "FEEDS": outputs,
        "HTTPAUTH_USER": user,
        "HTTPAUTH_PASS": password,
        "HTTPAUTH_DOMAIN": "auth.example",
        "DEFAULT_REQUEST_HEADERS": {"X-Default": TOKENS["X-Default"]},
        "SITEMAP_HARVEST_SITE_HEADERS": {site.url: {name: TOKENS[name] for name in ("X-Api-Key", "Cookie")}},
        "SITEMAP_HARVEST_CLOSING": f"{folder}/closing-%(run)s.json",
        "SITEMAP_HARVEST_METRICS": f"{folder}/metrics.prom",
        "SITEMAP_HARVEST_PRIVATE": "True",
        "RETRY_TIMES": "1",
        "DOWNLOAD_TIMEOUT": "20",
        "LOG_LEVEL": "DEBUG",
        "EXTENSIONS": {"tests.crawl.parts.StatsDump": 0},
    }


def arguments_of(sites, folder: Path) -> dict[str, str]:
    first, second, third = sites
    lines = [address(second.url, "in sites"), "line-user:line/Pass@b.example"]
    (folder / "sites.txt").write_text("\n".join(lines))
    return {
        "site": address(first.url, "in site"),
        "sites": str(folder / "sites.txt"),
        "sitemap": address(f"{third.url}/s.xml", "in sitemap"),
        "emit": ",".join(KINDS),
        "store": str(folder / "out" / "store"),
    }


def options_of(arguments, settings) -> list[str]:
    given = [["-a", f"{name}={value}"] for name, value in arguments.items()]
    set_ = [["-s", f"{name}={v if isinstance(v, str) else json.dumps(v)}"] for name, v in settings.items()]
    return list(chain(*given, *set_))


@pytest.mark.service
@pytest.mark.parametrize("how", ["environment", "project"])
def test_no_secret_is_left_behind(sites, tmp_path, how):
    out = tmp_path / "out"
    out.mkdir()
    first, second, third = sites
    arguments, settings = arguments_of(sites, tmp_path), settings_of(first, out)
    settings["JOBDIR"] = str(out / "job")
    proxy_folder = tmp_path / "proxy"
    proxy_folder.mkdir()
    with running_proxy(proxy_folder, LOGINS["of the proxy"]) as proxy:
        through = proxy.address(":".join(LOGINS["of the proxy"]))
        environment = {**os.environ, "STATS_FILE": str(out / "stats.json"), "no_proxy": "*", "NO_PROXY": "*"}
        if how == "environment":
            environment |= {"http_proxy": through, "https_proxy": through, "no_proxy": "", "NO_PROXY": ""}
        else:
            settings |= {"TEST_PROXY": through, "DOWNLOADER_MIDDLEWARES": {"tests.crawl.parts.ThroughProxy": 740}}
        runs = [
            forked.scrapy("crawl", "sitemap", *options_of(arguments, settings), cwd=HERE, environment=environment)
            for _ in range(2)
        ]
        assert proxy.requests()
    for number, run in enumerate(runs):
        (out / f"log-{number}").write_text(run.stdout + run.stderr)
    locs = {json.loads(line)["loc"] for line in (out / "urls.jsonl").read_text().splitlines()}
    assert locs == {f"{first.url}/1", f"{first.url}/2", f"{second.url}/1", f"{third.url}/1"}
    assert (first.sent("X-Api-Key")["/a.xml"], second.sent("X-Api-Key")["/s.xml"]) == ({TOKENS["X-Api-Key"]}, {None})
    assert "'HTTPAUTH_PASS': '***'" in runs[0].stderr
    store = str(out / "store")
    query = "select * from sitemaps"
    for words in (
        ["runs"],
        ["diff", first.url],
        ["query", query],
        ["query", "select * from urls"],
    ):
        run = forked.scrapy("harvest", *words, "--store", store, cwd=out)
        assert first.url in run.stdout + run.stderr
        (out / f"{words[0]}-{len(list(out.iterdir()))}").write_text(run.stdout + run.stderr)
    assert left_in(out) == set()


def on_a_terminal(*arguments: str, cwd: Path) -> bytes:
    """Return the output of ``scrapy harvest`` on a terminal."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200", "no_proxy": "*", "NO_PROXY": "*"}
    command = [scrapy_program(), "harvest", *arguments]
    process = subprocess.Popen(command, cwd=cwd, env=environment, stdout=follower, stderr=follower)
    os.close(follower)
    shown = b""
    try:
        while block := os.read(leader, 65536):
            shown += block
    except OSError:
        pass  # the last writer has closed it
    finally:
        os.close(leader)
        process.wait(timeout=PATIENCE_SECONDS)
    return shown


def test_the_command_shows_none_on_a_terminal(sites, tmp_path):
    first, _, third = sites
    targets = [address(first.url, "in site"), address(f"{third.url}/s.xml", "in sitemap")]
    fast = ["-s", "RETRY_TIMES=0", "-s", "DOWNLOAD_TIMEOUT=20"]
    shown = on_a_terminal("crawl", *targets, "-O", "urls.jsonl", *fast, cwd=tmp_path)
    assert b"/cut.xml" in shown
    shown += on_a_terminal("validate", address(f"{first.url}/a.xml", "in site"), targets[1], cwd=tmp_path)
    assert b"2 documents" in shown
    shown += on_a_terminal("validate", targets[1], "--format", "json", cwd=tmp_path)
    (tmp_path / "shown").write_bytes(shown)
    assert left_in(tmp_path) == set()


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(["crawl", "https://wrong-user:wrong/Pass@a.example"], id="slash"),
        pytest.param(["crawl", "wrong-user:wrong/Pass@a.example/s.xml"], id="slash-without-scheme"),
        pytest.param(["crawl", "ftp://wrong-user:wrong%2FPass@a.example/"], id="scheme"),
        pytest.param(["crawl", "https://wrong-user:wrong%2FPass@[::1"], id="host"),
        pytest.param(["crawl", "https://wrong-user:wrong%2FPass@a.example:99999"], id="port"),
        pytest.param(["crawl", "site=https://wrong-user:wrong%2FPass@a.example"], id="argument-as-target"),
        pytest.param(["crawl", "a.example", "-a", "http_pass=wrong/Pass"], id="unknown-argument"),
        pytest.param(["crawl", "a.example", "-a", "store=s3://wrong-user:wrong%2FPass@b ad/x"], id="store"),
        pytest.param(["crawl", "a.example", "-a", "sites=https://wrong-user:wrong%2FPass@a.example"], id="sites"),
        pytest.param(["validate", "https://wrong-user:wrong/Pass@a.example/s.xml"], id="validate"),
        pytest.param(["validate", "s.xml", "--at", "ftp://wrong-user:wrong%2FPass@a.example/"], id="at"),
        pytest.param(["runs", "--store", "s3://wrong-user:wrong%2FPass@b ad/x"], id="runs"),
        pytest.param(["query", "select 1", "--store", "s3://wrong-user:wrong%2FPass@b ad/x"], id="query"),
        pytest.param(["runs", "--store", "s3://wrong-user:wrong/Pass@bad/x"], id="slash-in-a-store"),
        pytest.param(["runs", "--store", "s3://wrong-user:7/wrong/Pass@bad/x"], id="port-in-a-store"),
    ],
)
def test_errors_are_reported_without_secrets(given, tmp_path):
    run = forked.scrapy("harvest", *given, "-s", "RETRY_TIMES=0", "-s", "DNS_TIMEOUT=2", cwd=tmp_path)
    assert run.returncode
    assert run.stderr
    assert found_in("shown", (run.stdout + run.stderr).encode()) == set()
    assert "Traceback" not in run.stderr
    assert left_in(tmp_path) == set()
