from __future__ import annotations

import pytest

from sitemap_harvest import FoundBy, Outcome
from sitemap_harvest.discovery.candidate import Candidate, NotFetched
from sitemap_harvest.discovery.rules import Bounds, Offsite, refuse

ROOT = "https://www.example.co.uk"


def candidate(
    url: str, *, found_by: FoundBy = FoundBy.INDEX, root: str = ROOT, parent: str = "", authorized: str = ""
) -> Candidate:
    parent = parent or f"{root}/index.xml"
    return Candidate(
        url=url, root=root, found_by=found_by, parent=parent, depth=1, authorized=frozenset(authorized.split())
    )


def allowing(found: Candidate) -> list[str]:
    """Return the policies under which *found* is read."""
    return [policy.value for policy in Offsite if refuse(found, Bounds(offsite=policy)) is None]


ALL = ["none", "proven", "domain", "any"]


@pytest.mark.parametrize(
    ("found", "policies"),
    [
        pytest.param(candidate(f"{ROOT}/a.xml"), ALL, id="same-host"),
        pytest.param(candidate("http://EXAMPLE.co.uk:8000/a.xml"), ALL, id="same-host-but-www-scheme-and-port"),
        pytest.param(
            candidate("https://cdn.example/b.xml", parent="https://cdn.example/i.xml"), ALL, id="as-its-parent"
        ),
        pytest.param(
            candidate("https://else.example/a.xml", found_by=FoundBy.ROBOTS), ALL, id="robots-may-name-any-host"
        ),
        pytest.param(
            candidate("https://a.example/s.xml", root="file:///srv/i.xml", parent="file:///srv/i.xml"),
            ALL,
            id="local-index",
        ),
        pytest.param(
            candidate("https://else.example/a.xml", authorized="http://www.else.example"),
            ALL[1:],
            id="its-host-vouches",
        ),
        pytest.param(
            candidate("https://else.example/a.xml", authorized=ROOT), ["any"], id="only-the-other-host-vouches"
        ),
        pytest.param(candidate("https://cdn.example.co.uk/a.xml"), ALL[2:], id="same-domain"),
        pytest.param(
            candidate("https://b.cdn.example/a.xml", parent="https://a.cdn.example/i.xml"),
            ALL[2:],
            id="domain-of-the-parent",
        ),
        pytest.param(candidate("https://other.co.uk/a.xml"), ["any"], id="only-the-suffix-is-the-same"),
        pytest.param(candidate("http://that.github.io/", root="http://this.github.io"), ["any"], id="private-suffix"),
        pytest.param(
            candidate("http://127.0.0.2/a.xml", root="http://127.0.0.1"), ["any"], id="addresses-have-no-domain"
        ),
        pytest.param(candidate("http://localhost/a.xml", root="http://127.0.0.1"), ["any"], id="nor-has-this-machine"),
        pytest.param(candidate("https://else.example/a.xml"), ["any"], id="index"),
        pytest.param(candidate("https://else.example/a.xml", found_by=FoundBy.HTML_LINK), ["any"], id="page"),
        pytest.param(candidate("https://else.example/feed", found_by=FoundBy.FEED_LINK), ["any"], id="feed-of-a-page"),
        pytest.param(candidate("https://else.example/a.xml", found_by=FoundBy.HTTP_LINK), ["any"], id="header"),
        pytest.param(candidate("https://[/a.xml"), ["any"], id="no-host"),
    ],
)
@pytest.mark.case(118, 125)
def test_the_policies_for_documents_of_other_sites(found: Candidate, policies: list[str]) -> None:
    assert allowing(found) == policies


@pytest.mark.parametrize(
    ("url", "policy", "reason"),
    [
        pytest.param(
            "https://cdn.example.co.uk/a.xml",
            Offsite.NONE,
            "an index may list only sitemaps on its own host (-s SITEMAP_HARVEST_OFFSITE=domain allows this one)",
            id="none",
        ),
        pytest.param(
            "https://cdn.example.co.uk/a.xml",
            Offsite.PROVEN,
            "an index may list only sitemaps on its own host, or on a host whose robots.txt lists them "
            "(-s SITEMAP_HARVEST_OFFSITE=domain allows this one)",
            id="proven",
        ),
        pytest.param(
            "https://else.example/a.xml",
            Offsite.DOMAIN,
            "an index may list only sitemaps on hosts of its own registrable domain "
            "(-s SITEMAP_HARVEST_OFFSITE=any allows this one)",
            id="domain",
        ),
    ],
)
def test_a_rejection_names_the_policy_and_the_argument_that_changes_it(url: str, policy: Offsite, reason: str) -> None:
    assert refuse(candidate(url), Bounds(offsite=policy)) == NotFetched(Outcome.OUT_OF_SCOPE, reason)


def test_an_index_is_limited_to_its_domain_by_default() -> None:
    assert Bounds().offsite is Offsite.DOMAIN
