from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sitemap_harvest.config.named_targets import arguments_of, notes_on
from sitemap_harvest.errors import ArgumentError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.quick

FILES = {
    "urls.xml": "<urlset/>",
    "hosts.txt": "a.example\n",
    "more.txt": "b.example\n",
    "home.txt": "https://a.example/\n",
    "mixed.txt": "https://a.example/x\nb.example\n",
    "table.csv": "Site,Backup\na.example,b.example\n",
    "example.com": "<urlset/>",
}


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    for name in ("folder", "raw"):
        (tmp_path / name).mkdir()
    (tmp_path / "raw" / "a.warc.gz").touch()
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("target", "name"),
    [
        pytest.param("https://www.example.com", "site", id="site"),
        pytest.param("https://www.example.com/", "site", id="site-slash"),
        pytest.param("www.example.com", "site", id="host"),
        pytest.param(" www.example.com/", "site", id="host-slash"),
        pytest.param("me:secret@www.example.com", "site", id="login"),
        pytest.param("localhost:8000", "site", id="port"),
        pytest.param("http://localhost:8000", "site", id="port-scheme"),
        pytest.param("10.0.0.1:8000", "site", id="address"),
        pytest.param("[::1]:8000", "site", id="ipv6"),
        pytest.param("intranet", "site", id="word"),
        pytest.param("https://server.firm", "site", id="unknown-suffix"),
        pytest.param("https://www.example.com/sitemap.xml", "sitemap", id="sitemap"),
        pytest.param("https://www.example.com/?map=1", "sitemap", id="query"),
        pytest.param("www.example.com/sitemap.xml", "sitemap", id="sitemap-without-scheme"),
        pytest.param("localhost:8000/sitemap.xml", "sitemap", id="sitemap-on-port"),
        pytest.param("file:///missing/sitemap.xml", "sitemap", id="file-url"),
        pytest.param("urls.xml", "sitemap", id="file"),
        pytest.param("folder/../urls.xml", "sitemap", id="path"),
        pytest.param("example.com", "sitemap", id="file-named-like-a-host"),
        pytest.param("hosts.txt", "sites", id="hosts"),
        pytest.param("https://www.example.com/a,b.com", "sitemap", id="comma"),
    ],
)
def test_what_a_target_is(target: str, name: str) -> None:
    assert arguments_of([target], {}) == {name: [target]}


@pytest.mark.parametrize("file", ["home.txt", "mixed.txt"])
def test_a_caller_may_prefer_lists_of_sites(file: str) -> None:
    assert arguments_of([file], {}, prefers_sites=True) == {"sites": [file]}


@pytest.mark.parametrize(
    ("target", "words"),
    [
        pytest.param("urls.xlm", "'urls.xlm': there is no such file; did you mean urls.xml?", id="typo"),
        pytest.param("folder/urls.xml", "'folder/urls.xml': there is no such file; if it is on a host", id="folder"),
        pytest.param("./none/sitemap.xml", "'./none/sitemap.xml': there is no such file", id="no-folder"),
        pytest.param("sitemap.xml", "'sitemap.xml': there is no such file", id="file"),
        pytest.param("sitemap.zip", "'sitemap.zip': there is no such file", id="zip"),
        pytest.param("server.firm", "there is no such file; if it is on a host, write https://server.firm", id="host"),
        pytest.param("me:secret@server.firm", r"write https://\*\*\*@server.firm", id="login"),
        pytest.param("C:\\sitemap.xml", "there is no such file$", id="windows"),
        pytest.param("C:/maps/sitemap.xml", "there is no such file$", id="windows-slash"),
        pytest.param(
            "folder/*.xml", r"not expanded: give its files, .*glob\('folder/\*\.xml'\), .* quotes$", id="glob"
        ),
        pytest.param("*.xml", "patterns are not expanded", id="glob-like-a-file"),
        pytest.param("./url[s].xml", "patterns are not expanded", id="glob-of-a-set"),
        pytest.param("folder", "'folder' is a folder: .* root=folder", id="is-a-folder"),
        pytest.param(".", "'.' is a folder", id="here"),
        pytest.param("raw/a.warc.gz", "is a web archive: give a site .* root=raw/a.warc.gz$", id="archive"),
        pytest.param("raw", "'raw' is a web archive: give a site or a sitemap .* root=raw$", id="archives"),
        pytest.param("home.txt", "only home pages of one site: .*sites=home.txt; .*sitemap=home.txt", id="home"),
        pytest.param("mixed.txt", "both sites and pages: .* sites=mixed.txt; .* sitemap=mixed.txt", id="mixed"),
        pytest.param("table.csv", "several columns of hosts: save it as .* with one column of hosts$", id="table"),
        pytest.param("http:/127.0.0.1:80", "is not a URL: write http://127.0.0.1:80$", id="one-slash"),
        pytest.param("https//a.example/s.xml", "is not a URL: write https://a.example/s.xml$", id="no-colon"),
        pytest.param("http:me:secret@a.example", r"write http://\*\*\*@a.example$", id="no-slashes"),
        pytest.param("", "TARGET is empty", id="empty"),
        pytest.param("-", "only the action validate reads standard input", id="standard-input"),
        pytest.param("http://a.example:81,http://b.example:82", "^TARGET 'http://a.example:81,h.* a target", id="two"),
        pytest.param("a.example; 127.0.0.1:80", "has several addresses: give each as a target", id="two-hosts"),
        pytest.param("site=a.example", "write site=a.example", id="argument"),
        pytest.param("site", "an argument: write site=VALUE; if it is a host, write https://site$", id="name"),
    ],
)
def test_targets_that_nobody_meant_are_rejected(target: str, words: str) -> None:
    with pytest.raises(ArgumentError, match=words) as raised:
        arguments_of([target], {})
    assert "secret" not in f"{raised.value}{raised.value.value}"


def test_targets_become_arguments() -> None:
    targets = ["https://a.example", "hosts.txt", "b.example", "https://a.example/s.xml", "urls.xml", "more.txt"]
    assert arguments_of(targets, {"limit": "5"}) == {
        "site": ["https://a.example", "b.example"],
        "sites": ["hosts.txt", "more.txt"],
        "sitemap": ["https://a.example/s.xml", "urls.xml"],
        "limit": "5",
    }


def test_duplicate_targets_are_rejected() -> None:
    with pytest.raises(ArgumentError, match="is also given"):
        arguments_of(["https://a.example"], {"site": "https://b.example"})


def test_no_target_is_an_error_unless_there_are_arguments() -> None:
    with pytest.raises(ArgumentError, match="nothing to harvest: give a site"):
        arguments_of([], {})
    assert arguments_of([], {"sites": "hosts.txt"}) == {"sites": "hosts.txt"}


def test_a_target_that_is_a_list_of_sites_has_a_note() -> None:
    (note,) = notes_on(arguments_of(["hosts.txt", "urls.xml"], {}), {})
    assert note == (
        "hosts.txt lists sites: each is searched for sitemaps. To read it as a list of URLs, use sitemap=hosts.txt"
    )
    assert notes_on({"sites": "hosts.txt"}, {"sites": "hosts.txt"}) == []
