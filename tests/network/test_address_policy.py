"""Only a host that the user names may be private: not one in documents, and not by later lookups."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from sitemap_harvest.model import Outcome
from sitemap_harvest.network import AddressPolicy, PrivateAddresses

PUBLIC, PUBLIC_6, LOOPBACK, INNER, METADATA = (
    "93.184.215.14",
    "2606:2800:21f::1",
    "127.0.0.1",
    "10.0.0.5",
    "169.254.169.254",
)


def reach_of(*named: str, private: PrivateAddresses = PrivateAddresses.NAMED) -> AddressPolicy:
    policy = AddressPolicy(private)
    for url in named:
        policy.name(url)
    return policy


def allowed(policy: AddressPolicy, host: str, *found: str, port: int = 80) -> list[str]:
    return [str(address) for address in policy.allow(host, port, [ip_address(address) for address in found])]


@pytest.mark.parametrize(
    ("found", "admits"),
    [
        ([PUBLIC], [PUBLIC]),
        ([PUBLIC, PUBLIC_6], [PUBLIC, PUBLIC_6]),
        ([LOOPBACK, PUBLIC], [PUBLIC]),
        ([LOOPBACK], []),
        ([INNER, METADATA], []),
        ([], []),
    ],
    ids=["public", "both-versions", "one-of-two", "loopback", "inner", "none"],
)
def test_a_host_that_is_no_target_is_reached_at_public_addresses_only(found: list[str], admits: list[str]) -> None:
    assert allowed(reach_of("https://www.example.com/robots.txt"), "other.example", *found) == admits


@pytest.mark.parametrize(
    ("named", "host", "port", "is_admitted"),
    [
        pytest.param("http://intranet.example/s.xml", "intranet.example", 80, True, id="itself"),
        pytest.param("http://intranet.example/s.xml", "INTRANET.example.", 443, True, id="other-scheme"),
        pytest.param("https://www.intranet.example", "intranet.example", 80, True, id="without-www"),
        pytest.param("https://intranet.example", "www.intranet.example", 443, True, id="with-www"),
        pytest.param("http://intranet.example:8080/", "intranet.example", 8080, True, id="its-port"),
        pytest.param("http://intranet.example:8080/", "intranet.example", 80, False, id="other-port"),
        pytest.param("http://intranet.example/", "intranet.example", 6379, False, id="port-of-another-service"),
        pytest.param("http://intranet.example/", "db.intranet.example", 80, False, id="host-below"),
        pytest.param("http://münchen.example/", "xn--mnchen-3ya.example", 80, True, id="international"),
        pytest.param("http://127.1:8080/", "127.0.0.1", 8080, True, id="address-spelt-otherwise"),
        pytest.param("file:///srv/intranet.example", "intranet.example", 80, False, id="file"),
        pytest.param("http://intranet.example:99999/", "intranet.example", 80, False, id="no-port"),
    ],
)
def test_targets_may_be_private(named: str, host: str, port: int, is_admitted: bool) -> None:
    assert allowed(reach_of(named), host, INNER, port=port) == ([INNER] if is_admitted else [])


def test_the_first_lookup_of_a_target_decides() -> None:
    policy = reach_of("http://rebinds.example/", "http://intranet.example/")
    assert allowed(policy, "rebinds.example", PUBLIC) == [PUBLIC]
    assert allowed(policy, "rebinds.example", LOOPBACK) == []
    assert allowed(policy, "www.rebinds.example", LOOPBACK, port=443) == []
    assert allowed(policy, "rebinds.example", PUBLIC) == [PUBLIC]

    assert allowed(policy, "intranet.example", INNER) == [INNER]
    assert allowed(policy, "intranet.example", PUBLIC, INNER) == [PUBLIC]
    assert allowed(policy, "intranet.example", INNER, LOOPBACK) == [INNER, LOOPBACK]


def test_an_empty_or_mixed_lookup_does_not_make_a_target_private() -> None:
    policy = reach_of("http://rebinds.example/")
    assert allowed(policy, "rebinds.example") == []
    assert allowed(policy, "rebinds.example", LOOPBACK, PUBLIC) == [PUBLIC]
    assert allowed(policy, "rebinds.example", LOOPBACK) == []


def test_a_target_is_no_metadata_service_by_name_but_may_be_by_address() -> None:
    policy = reach_of("http://cloud.example/", f"http://{METADATA}/")
    assert allowed(policy, "cloud.example", METADATA) == []
    assert allowed(policy, "cloud.example", "0.0.0.0", "224.0.0.1", "169.254.1.1") == []
    assert allowed(policy, METADATA, METADATA) == [METADATA]


@pytest.mark.parametrize("url", [f"http://{METADATA}/", "http://localhost:8080/s.xml", f"http://{INNER}/"])
def test_always_allows_all_addresses_and_never_allows_no_private_ones(url: str) -> None:
    host, port = url.split("/")[2].partition(":")[::2]
    for private, named, result in ((PrivateAddresses.ALWAYS, (), [INNER]), (PrivateAddresses.NEVER, (url,), [])):
        policy = reach_of(*named, private=private)
        assert allowed(policy, host, INNER, port=int(port or 80)) == result
        assert (policy.refuse_url(url) is None) == bool(result)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1:8000/s.xml", "the host has the loopback address 127.0.0.1, which is allowed only"),
        ("http://2130706433/", "the host has the loopback address 127.0.0.1, which is allowed only"),
        ("http://[::ffff:10.0.0.1]/", "the host has the private address 10.0.0.1, which is allowed only"),
        (f"http://{METADATA}/latest", f"the host has the metadata address {METADATA}, which is allowed only"),
        ("http://user@localhost./", "the host has the private name localhost., which is allowed only"),
        (
            "http://metadata.google.internal/",
            "the host has the private name metadata.google.internal, which is allowed only",
        ),
        ("http://intranet.example/", None),
        (f"http://{PUBLIC}/", None),
        ("http://localhost:9000/", None),
        ("http://[::1/", None),
        ("file:///etc/hostname", None),
    ],
)
def test_the_decision_by_address_alone(url: str, reason: str | None) -> None:
    refusal = reach_of("http://localhost:9000").refuse_url(url)
    assert (refusal is None) == (reason is None)
    if refusal and reason:
        assert refusal.outcome is Outcome.OUT_OF_SCOPE
        assert refusal.reason.startswith(reason)
        assert refusal.reason.endswith("(-s SITEMAP_HARVEST_PRIVATE=True allows it)")


def test_each_reason_names_its_own_rule() -> None:
    found = [ip_address(METADATA)]
    policy = reach_of("http://cloud.example/", "http://rebinds.example/")
    allowed(policy, "rebinds.example", PUBLIC)
    allowed(policy, "cloud.example", METADATA)
    hosts = ("other.example", "rebinds.example", "cloud.example")
    never = reach_of(private=PrivateAddresses.NEVER).refusal("cloud.example", 80, found)
    assert [
        refusal.reason.partition(", ")[2] for refusal in [*(policy.refusal(h, 80, found) for h in hosts), never]
    ] == [
        "which is allowed only for hosts that you name (-s SITEMAP_HARVEST_PRIVATE=True allows it)",
        "but had a public one before (-s SITEMAP_HARVEST_PRIVATE=True allows it)",
        "which is requested only if you name the address itself (-s SITEMAP_HARVEST_PRIVATE=True allows it)",
        "and private addresses are never requested (-s SITEMAP_HARVEST_PRIVATE=True allows it)",
    ]
