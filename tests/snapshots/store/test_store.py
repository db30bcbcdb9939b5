from __future__ import annotations

from collections import Counter
from unittest.mock import Mock

import pytest

from sitemap_harvest.errors import StoreError
from sitemap_harvest.snapshots.store import Store, object_store
from sitemap_harvest.snapshots.store.store import folder_name, sites_alike
from tests.snapshots.store.making import SITE, Making, locs
from tests.snapshots.store.memory_bucket import MemoryBucket

OTHERS = ["https://b.example", "https://b.example/deep/sitemap.xml", "https://münchen.example", "http://c.example:8080"]


@pytest.fixture(params=["disk", "object-store"])
def folder(request, tmp_path, monkeypatch):
    """Return the address of a new store."""
    if request.param == "disk":
        return tmp_path
    bucket = MemoryBucket()
    monkeypatch.setattr(object_store, "Bucket", lambda name, options: bucket)
    return "s3://bucket/store"


@pytest.fixture
def made(folder):
    making = Making(folder)
    for site in (SITE, *OTHERS):
        making.run({f"{site}/s.xml": locs(2)}, site=site)
    return making


def test_sites_with_a_snapshot_are_sorted(made):
    made.store.begin(made.store.history("https://never.example"))
    made.begin("https://begun.example").keep_rows  # noqa: B018 - begun, and nothing more
    assert made.store.sites() == sorted([SITE, *OTHERS])


@pytest.mark.parametrize(
    ("name", "site"),
    [
        pytest.param("https://a.example", SITE, id="as-it-was-named"),
        pytest.param("a.example", SITE, id="without-scheme"),
        pytest.param("https://a.example/", SITE, id="with-a-slash"),
        pytest.param("https://b.example/deep/sitemap.xml", OTHERS[1], id="a-document"),
        pytest.param("c.example:8080", OTHERS[3], id="http-without-scheme"),
    ],
)
def test_a_site_is_found_by_its_name(made, name, site):
    assert made.store.site(name).site == site
    assert made.store.latest(name).site == site


def test_an_unknown_site_is_an_error_that_lists_the_known_ones(made):
    with pytest.raises(
        StoreError,
        match=r"d\.example: the store has no snapshot of this site, only of http://c\.example:8080, https://a",
    ):
        made.store.site("d.example")


@pytest.mark.parametrize(
    ("name", "site"),
    [
        pytest.param("http://a.example", "https://a.example", id="the-only-scheme"),
        pytest.param("http://b.example", "https://b.example", id="read-there"),
        pytest.param("http://www.c.example/", "https://c.example", id="read-at-www"),
        pytest.param("www.c.example", "https://c.example", id="read-at-www-without-scheme"),
        pytest.param("https://d.example", "http://d.example", id="moved-to-https"),
        pytest.param("http://e.example", "http://e.example", id="its-own-history"),
        pytest.param("e.example", "https://e.example", id="https-comes-first"),
        pytest.param("http://f.example:8080", "https://f.example:8080", id="port"),
        pytest.param("http://g.example", "https://h.example", id="read-there-before-other-scheme"),
        pytest.param("http://f.example", None, id="other-port"),
        pytest.param("http://www.a.example", None, id="never-read-there"),
        pytest.param("http://i.example", None, id="two-were-read-there"),
    ],
)
def test_a_site_is_found_by_its_other_addresses_if_only_one_matches(tmp_path, name, site):
    making = Making(tmp_path)
    for stored, base in (
        ("https://a.example", "https://a.example"),
        ("https://b.example", "http://b.example"),
        ("https://c.example", "http://www.c.example"),
        ("http://d.example", "https://d.example"),
        ("https://e.example", "http://e.example"),
        ("http://e.example", "http://e.example"),
        ("https://f.example:8080", "http://f.example:8080"),
        ("https://g.example", "https://g.example"),
        ("https://h.example", "http://g.example"),
        ("https://i.example", "http://i.example"),
        ("https://www.i.example", "http://i.example"),
    ):
        making.run({f"{base}/s.xml": locs(2)}, site=stored, base=base)
    if site is None:
        with pytest.raises(StoreError, match="the store has no snapshot of this site, only of"):
            making.store.site(name)
    else:
        assert making.store.site(name).site == site


@pytest.mark.parametrize(
    ("sites", "renamed"),
    [
        pytest.param({"http://a.example": False}, {}, id="not-read-there"),
        pytest.param({"http://a.example": True}, {"http://a.example": "https://a.example"}, id="only-the-host"),
        pytest.param({"http://b.example": False}, {"http://b.example": "https://b.example"}, id="read-there-once"),
        pytest.param({"http://b.example": False, "https://b.example": False}, {}, id="both-are-named"),
        pytest.param({"https://d.example": True}, {"https://d.example": "http://d.example"}, id="http-is-stored"),
        pytest.param({"https://d.example": False}, {}, id="http-is-stored-and-https-named"),
        pytest.param({"http://e.example": False, "https://e.example": True}, {}, id="own-histories"),
        pytest.param({"https://x.example": True, "http://www.b.example": False}, {}, id="unknown"),
    ],
)
def test_a_site_has_the_name_of_its_only_history(folder, sites, renamed):
    making = Making(folder)
    for stored, *bases in (
        ("https://a.example", "https://a.example"),
        ("https://b.example", "http://b.example", "https://b.example"),
        ("http://d.example", "http://d.example", None),
        ("https://e.example", "http://e.example"),
        ("http://e.example", "http://e.example"),
    ):
        for base in bases:
            making.run({f"{base}/s.xml": locs(2)}, site=stored, base=base)
    assert making.store.renamed(sites) == renamed


@pytest.mark.parametrize(
    ("site", "alike"),
    [
        pytest.param("https://b.example/deep/sitemap.xml", ["https://b.example"], id="document"),
        pytest.param("http://www.b.example", OTHERS[:2], id="scheme-and-www"),
        pytest.param("https://MÜNCHEN.example/s.xml", ["https://münchen.example"], id="unicode"),
        pytest.param("https://c.example", [], id="port"),
        pytest.param("https://b.example.example", [], id="longer-host"),
        pytest.param("file:///b.example/s.xml", [], id="file"),
    ],
)
def test_other_targets_on_a_host(made, site, alike):
    made.begin("https://b.example/begun.xml")
    assert sites_alike(made.store, site) == alike


@pytest.mark.parametrize(("sites", "requests"), [(1, {"HEAD": 1}), (2, {"HEAD": 2}), (101, {"LIST": 1})])
def test_a_run_of_few_sites_does_not_list_an_object_store(sites, requests):
    bucket = MemoryBucket()
    store = Store(bucket.folder())
    assert store.renamed({f"https://{number}.example": True for number in range(sites)}) == {}
    assert Counter(request.split()[0] for request in bucket.requests) == requests


def test_an_object_store_that_cannot_be_read_is_an_error_with_its_name(monkeypatch):
    bucket = MemoryBucket()
    monkeypatch.setattr(bucket, "head", Mock(side_effect=OSError("no connection")))
    with pytest.raises(StoreError, match="store 'bucket/store': no connection"):
        Store(bucket.folder()).renamed({"https://a.example": True})


def test_sites_alike_are_found_in_an_object_store_without_listing_the_others():
    bucket = MemoryBucket()
    assert sites_alike(Store(bucket.folder()), "https://a.example/s.xml") == []
    assert bucket.requests == [
        f"LIST store/sites/{scheme}-{host}" for scheme in ("https", "http") for host in ("a.example", "www.a.example")
    ]


def test_each_site_has_its_own_folder_with_a_readable_name():
    names = [folder_name(f"https://a.example/{'x' * 200}{end}") for end in ("", "/", "?", "1", "2", "/..", "\\")]
    assert len(set(names)) == len(names)
    assert all(name.startswith("https-a.example-xxx") and len(name) < 100 for name in names)
    assert folder_name("..") not in ("..", ".")
