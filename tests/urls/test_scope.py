from __future__ import annotations

from urllib.parse import urlsplit

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest.urls import Scope, address_columns, site_of, url_key
from sitemap_harvest.urls.scope import folder_of
from tests.urls.test_key import urls

CATALOG = "http://example.com/catalog/sitemap.xml"
ROOT = "http://www.example.com/sitemap.xml"


def judged(scope: Scope | None, *locs: str) -> list[tuple[bool | None, str | None]]:
    """Return the verdict of *scope* on each of *locs*."""
    assert scope is not None
    columns = address_columns(pa.array(locs, pa.string()), None)
    found = scope.columns(columns.key, columns.site)
    return list(zip(found.in_scope.to_pylist(), found.reason.to_pylist(), strict=True))


@pytest.mark.parametrize(
    ("sitemap", "loc", "reason"),
    [
        # The examples of the protocol.
        pytest.param(CATALOG, "http://example.com/catalog/show?item=23", None, id="below"),
        pytest.param(CATALOG, "http://example.com/catalog/show?item=233&user=3453", None, id="below-with-a-query"),
        pytest.param(CATALOG, "http://example.com/image/show?item=23", "path", id="beside"),
        pytest.param(CATALOG, "https://example.com/catalog/page1.php", "scheme", id="other-scheme"),
        pytest.param(ROOT, "http://subdomain.example.com/", "host", id="subdomain"),
        pytest.param("http://www.example.com:100/s.xml", "http://www.example.com:100/a", None, id="own-port"),
        pytest.param("http://www.example.com:100/s.xml", "http://www.example.com/a", "port", id="no-port"),
        # Cases beyond the protocol.
        pytest.param(CATALOG, "http://example.com/catalog/", None, id="the-folder-itself"),
        pytest.param(CATALOG, "http://example.com/catalog", "path", id="the-folder-without-its-slash"),
        pytest.param(CATALOG, "http://example.com/catalogue/a", "path", id="a-name-that-begins-alike"),
        pytest.param(CATALOG, "http://example.com/Catalog/a", "path", id="letter-case-of-the-path"),
        pytest.param(CATALOG, "http://example.com/catalog/../a", "path", id="dot-segments-lead-out"),
        pytest.param(CATALOG, "HTTP://EXAMPLE.com:80/%63atalog/a", None, id="another-spelling"),
        pytest.param(CATALOG, "http://example.com/a?b=/catalog/", "path", id="the-folder-in-the-query-of-the-url"),
        pytest.param(CATALOG, "http://user:word@example.com/catalog/a", None, id="user-name"),
        pytest.param(CATALOG, "http://user@example.com/a@/catalog/", "path", id="user-name-and-another-folder"),
        pytest.param(CATALOG, "http://example.com/catalog/a@b", None, id="at-sign-in-the-path"),
        pytest.param(CATALOG, "http://a@b@example.com/catalog/a", None, id="two-at-signs"),
        pytest.param(CATALOG, "http://example.com@else.example/catalog/a", "host", id="host-as-a-user-name"),
        pytest.param(CATALOG, "http://example.com.else.example/catalog/a", "host", id="host-that-begins-alike"),
        pytest.param(ROOT, "http://www.example.com", None, id="empty-path"),
        pytest.param(ROOT, "http://example.com/", "host", id="without-www"),
        pytest.param(ROOT, "http://www.example.com./", "host", id="dot-behind-the-host"),
        pytest.param(ROOT, "https://else.example:8000/", "host", id="all-is-different"),
        pytest.param(ROOT, "https://www.example.com:8000/", "scheme", id="scheme-and-port"),
        pytest.param(ROOT, "ftp://www.example.com/a", "scheme", id="ftp"),
        pytest.param("http://this.github.io/s.xml", "http://that.github.io/", "host", id="neighbour"),
        pytest.param("http://example.com/get?file=/catalog/s.xml", "http://example.com/a", None, id="slash-in-query"),
        pytest.param("http://example.com/c/get?file=/s.xml", "http://example.com/a", "path", id="and-a-folder"),
        pytest.param("http://example.com/s.xml#/a/b", "http://example.com/a", None, id="slash-in-fragment"),
        pytest.param("http://example.com?s=/x/", "http://example.com/a", None, id="sitemap-without-a-path"),
        pytest.param("http://user@example.com/s.xml", "http://example.com/a", None, id="sitemap-with-a-user-name"),
        pytest.param("http://[::1]:80/s.xml", "http://[::1]/a", None, id="ipv6"),
        pytest.param("http://[::1]/s.xml", "http://[::1]:8080/a", "port", id="ipv6-and-a-port"),
        pytest.param("http://[::1]/s.xml", "http://[::2]/a", "host", id="another-ipv6"),
        pytest.param("http://bücher.example/s.xml", "http://xn--bcher-kva.example/a", None, id="punycode"),
    ],
)
@pytest.mark.case(118, 119)
def test_the_location_rule(sitemap: str, loc: str, reason: str | None) -> None:
    assert judged(Scope.of([sitemap]), loc) == [(reason is None, reason)]


def test_an_authorizing_site_may_have_all_its_urls_in_the_document() -> None:
    scope = Scope.of(["http://sitemaphost.example/s/sitemap-host1.xml"], ["http://www.host1.example"])
    assert judged(
        scope,
        "http://www.host1.example/anywhere",
        "https://www.host1.example/anywhere",
        "http://www.host2.example/",
        "http://sitemaphost.example/s/own",
        "http://sitemaphost.example/own",
    ) == [(True, None), (False, "host"), (False, "host"), (True, None), (False, "path")]


def test_a_document_authorized_by_its_own_site_may_list_the_whole_site() -> None:
    scope = Scope.of(["https://example.com/maps/s.xml"], ["https://example.com"])
    assert judged(scope, "https://example.com/a", "http://example.com/a") == [(True, None), (False, "scheme")]


def test_a_redirected_document_is_located_at_each_of_its_addresses() -> None:
    scope = Scope.of(["http://example.com/sitemap.xml", "https://www.example.com/maps/all.xml"])
    assert judged(
        scope,
        "http://example.com/a",
        "https://www.example.com/maps/a",
        "https://www.example.com/a",
        "https://example.com/a",
        "http://example.com:81/maps/",
    ) == [(True, None), (True, None), (False, "path"), (False, "host"), (False, "host")]


def test_the_future_location_of_a_local_file_is_unknown() -> None:
    assert Scope.of(["file:///srv/sitemap.xml", "file://host/sitemap.xml", "sitemap.xml"]) is None


def test_a_url_without_a_key_is_not_judged() -> None:
    assert judged(Scope.of([ROOT]), "http://", "http://www.example.com/", "/a") == [
        (None, None),
        (True, None),
        (None, None),
    ]


def test_empty_columns_and_slices_are_judged() -> None:
    assert judged(Scope.of([ROOT])) == []
    keys = pa.array([None, "http://else.example/", "http://www.example.com/a"]).slice(1)
    sites = pa.array([None, "http://else.example", "http://www.example.com"]).slice(1)
    scope = Scope.of([ROOT])
    assert scope is not None
    found = scope.columns(keys, sites)
    assert (found.in_scope.to_pylist(), found.reason.to_pylist()) == ([False, True], ["host", None])


places = st.builds(
    "{}://{}{}{}{}".format,
    st.sampled_from(["http", "https"]),
    st.sampled_from(["", "", "u@", "u:p@"]),
    st.sampled_from(["a.example", "b.example", "A.example"]),
    st.sampled_from(["", ":80", ":443", ":8000"]),
    st.sampled_from(["", "/", "/a", "/a/", "/a/b", "/a/b/c@d", "/?q=/a/", "/a/?/", "/x/../a/"]),
)


def expected(loc: str, addresses: list[str], authorized: list[str]) -> tuple[bool | None, str | None]:
    """Return the verdict for one URL, computed as documented."""
    key, site = url_key(loc), site_of(loc)
    if key is None:
        return None, None
    web = [address for address in addresses if address.startswith("http") and url_key(address)]
    if site in authorized or any(_is_below(key, address) for address in web):
        return True, None
    if site in map(site_of, web):
        return False, "path"
    (own_scheme, own_host), (scheme, host) = _scheme_and_host(web[-1]), _scheme_and_host(loc)
    if own_host != host:
        return False, "host"
    return False, "scheme" if own_scheme != scheme else "port"


def _is_below(key: str, address: str) -> bool:
    folder = urlsplit(url_key(address)).path.rpartition("/")[0] + "/"
    return site_of(key) == site_of(address) and ("/" + key.split("/", 3)[3]).startswith(folder)


def _scheme_and_host(url: str) -> list[str]:
    return str(site_of(url)).split(":")[:2]


@given(
    st.lists(places | urls, max_size=6),
    st.lists(places, min_size=1, max_size=3),
    st.lists(places.map(site_of), max_size=2),
)
def test_columns_match_single_urls(locs: list[str], addresses: list[str], authorized: list[str]) -> None:
    wanted = [expected(row, addresses, authorized) for row in locs]
    keys = pa.array([url_key(loc) for loc in locs], pa.string())
    sites = pa.array([site_of(loc) for loc in locs], pa.string())
    scope = Scope.of(addresses, authorized)
    assert scope is not None
    found = scope.columns(keys, sites)
    assert list(zip(found.in_scope.to_pylist(), found.reason.to_pylist(), strict=True)) == wanted


def test_a_folder_is_the_part_before_the_name_of_the_document() -> None:
    assert folder_of("https://user@Example.com:443/a/b/c.xml?d=/e#/f") == "https://example.com/a/b/"
