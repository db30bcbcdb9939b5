"""Sites named with and without a scheme: which is one site, whether a run is complete, which history it continues."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sitemap_harvest import open_store
from sitemap_harvest.discovery.well_known import scheme_twin
from tests.documents import urlset
from tests.engine.run import Web, harvest, session_of

PLAIN, SECURE, HOST = "http://a.example", "https://a.example", "a.example"
SCHEMES = ("https", "http")
FIRST_DAY = datetime(2026, 11, 20, 3, 17, tzinfo=UTC)


def site_at(base: str, *others: str, robots: bool = True) -> Web:
    """Return a site that responds at *base*, and not at *others*."""
    listed = urlset(f"<url><loc>{base}/page</loc></url>")
    rules = {f"{base}/robots.txt": f"Sitemap: {base}/sitemap.xml".encode()} if robots else {}
    return {**dict.fromkeys(f"{one}/robots.txt" for one in others), **rules, f"{base}/sitemap.xml": listed}


@pytest.mark.parametrize(
    ("sites", "web", "found"),
    [
        pytest.param([HOST], site_at(PLAIN, SECURE), {SECURE}, id="host"),
        pytest.param([HOST, PLAIN], site_at(PLAIN, SECURE), {PLAIN}, id="host-and-http"),
        pytest.param([PLAIN, HOST], site_at(PLAIN, SECURE), {PLAIN}, id="http-and-host"),
        pytest.param([HOST, SECURE, PLAIN], site_at(PLAIN, SECURE), {SECURE, PLAIN}, id="all"),
        pytest.param([HOST, PLAIN], site_at(SECURE, PLAIN), {PLAIN}, id="only-https-responds"),
        pytest.param([SECURE, PLAIN], site_at(PLAIN, SECURE), {SECURE, PLAIN}, id="both-schemes"),
        pytest.param([PLAIN, SECURE], site_at(PLAIN, SECURE), {SECURE, PLAIN}, id="both-schemes-reversed"),
        pytest.param([SECURE, PLAIN], site_at(PLAIN, SECURE, robots=False), {SECURE, PLAIN}, id="no-robots-txt"),
        pytest.param([PLAIN, SECURE], site_at(PLAIN, SECURE, robots=False), {SECURE, PLAIN},
                     id="no-robots-txt-reversed"),
        pytest.param([f"{HOST}:8000", f"{PLAIN}:8000"], site_at(f"{PLAIN}:8000", f"{SECURE}:8000"), {f"{PLAIN}:8000"},
                     id="port"),
        pytest.param([f"{HOST}:80", PLAIN], site_at(PLAIN, f"{SECURE}:80"), {PLAIN}, id="default-port"),
        pytest.param([HOST, f"www.{HOST}"], site_at(f"https://www.{HOST}", SECURE, PLAIN),
                     {SECURE, f"https://www.{HOST}"}, id="www"),
    ],
)  # fmt: skip
def test_a_scheme_that_was_only_tried_leaves_a_run_complete(sites: list[str], web: Web, found: set[str]) -> None:
    result = harvest(web, site=" ".join(sites), emit="urls,sitemaps,sites")
    assert (result.sites, result.complete) == (dict.fromkeys(found, "found"), found)
    assert len(result.urls) == 1


def test_a_login_is_for_https_even_beside_an_address_with_http() -> None:
    result = harvest(site_at(PLAIN, SECURE), site=f"ann:secret@{HOST} {PLAIN}", emit="sites")
    assert result.sites.keys() == {SECURE, PLAIN}


NAMES = st.sets(
    st.sampled_from([f"{scheme}{host}" for scheme in ("", "http://", "https://") for host in "ab"]), min_size=1
)
WEBS = st.fixed_dictionaries({host: st.sampled_from([("http",), ("https",), SCHEMES, ()]) for host in "ab"})


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(days=st.lists(st.tuples(NAMES, WEBS), min_size=2, max_size=4))
def test_histories_are_not_mixed_whatever_sites_are_called(
    days: list[tuple[set[str], dict[str, tuple[str, ...]]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = open_store(tmp_path_factory.mktemp("store"), create=True)
    for day, (names, hosts) in enumerate(days):
        web: Web = {}
        for host, schemes in hosts.items():
            for scheme in SCHEMES:
                base = f"{scheme}://{host}.example"
                web |= site_at(base) if scheme in schemes else dict.fromkeys([f"{base}/robots.txt"])
        before = {one.site: one.runs for one in store.histories()}
        arguments = {"site": " ".join(f"{name}.example" for name in sorted(names)), "emit": "sites,changes"}
        arguments["store"] = str(store.folder.path)
        result = harvest(web, session=session_of(arguments, FIRST_DAY + timedelta(days=day)), **arguments)
        after = {one.site: one for one in store.histories()}
        assert {site for site, one in after.items() if one.runs != before.get(site, ())} == result.sites.keys()
        for name in names:
            host = f"//{name.rpartition('/')[2]}.example"
            of_host = {site for site in after if site.endswith(host)}
            assert store.site(f"{name}.example").site in of_host
            is_first = not [site for site in before if site.endswith(host)]
            given = {one for one in names if f"//{one.rpartition('/')[2]}.example" == host}
            if is_first and len(given) == 1 and "/" in name:
                assert of_host == {f"{name}.example"}
            if "/" in name and f"{name}.example" not in result.sites:  # it continues the history of the other scheme
                assert {run.base for run in before[scheme_twin(f"{name}.example")]} >= {f"{name}.example"}
        for site, history in after.items():
            assert history.runs[: len(before.get(site, ()))] == before.get(site, ())
            listed = history.at("latest").urls(["loc"]).read_all()["loc"].to_pylist()
            assert {loc.partition("//")[2] for loc in listed} <= {f"{site.partition('//')[2]}/page"}
