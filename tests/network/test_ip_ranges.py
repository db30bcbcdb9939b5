"""Which addresses are public, in any notation."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from sitemap_harvest.network import has_special_name, host_key, kind_of, literal


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        pytest.param("93.184.215.14", None, id="public"),
        pytest.param("1.1.1.1", None, id="public-dns"),
        pytest.param("172.15.255.255", None, id="before-172.16"),
        pytest.param("172.32.0.0", None, id="after-172.31"),
        pytest.param("100.63.255.255", None, id="before-100.64"),
        pytest.param("100.128.0.0", None, id="after-100.127"),
        pytest.param("169.253.255.255", None, id="before-169.254"),
        pytest.param("223.255.255.255", None, id="before-multicast"),
        pytest.param("2606:2800:21f:cb07:6820:80da:af6b:8b2c", None, id="public-6"),
        pytest.param("2a00:1450:4001:82a::200e", None, id="public-6-of-europe"),
        pytest.param("127.0.0.1", "loopback", id="loopback"),
        pytest.param("127.255.255.254", "loopback", id="end-of-loopback"),
        pytest.param("::1", "loopback", id="loopback-6"),
        pytest.param("10.0.0.1", "private", id="10"),
        pytest.param("172.16.0.1", "private", id="172.16"),
        pytest.param("172.31.255.255", "private", id="172.31"),
        pytest.param("192.168.1.1", "private", id="192.168"),
        pytest.param("100.64.0.1", "private", id="shared-by-a-carrier"),
        pytest.param("fc00::1", "private", id="unique-local"),
        pytest.param("fdff:ffff::1", "private", id="unique-local-end"),
        pytest.param("fec0::1", "private", id="site-local"),
        pytest.param("64:ff9b:1::a00:1", "private", id="nat64-of-one-network"),
        pytest.param("169.254.0.1", "link-local", id="link-local"),
        pytest.param("fe80::1", "link-local", id="link-local-6"),
        pytest.param("fe80::1%eth0", "link-local", id="link-local-6-with-zone"),
        pytest.param("169.254.169.254", "metadata", id="metadata-of-most"),
        pytest.param("169.254.170.2", "metadata", id="metadata-of-containers"),
        pytest.param("100.100.100.200", "metadata", id="metadata-of-alibaba"),
        pytest.param("168.63.129.16", "metadata", id="metadata-of-azure"),
        pytest.param("168.63.129.17", None, id="beside-metadata-of-azure"),
        pytest.param("192.0.0.192", "metadata", id="metadata-of-oracle"),
        pytest.param("fd00:ec2::254", "metadata", id="metadata-of-aws-6"),
        pytest.param("fd00:ec2::254%eth0", "metadata", id="metadata-of-aws-6-with-zone"),
        pytest.param("fd20:ce::254", "metadata", id="metadata-of-google-6"),
        pytest.param("0.0.0.0", "unspecified", id="unspecified"),
        pytest.param("0.1.2.3", "unspecified", id="this-network"),
        pytest.param("::", "unspecified", id="unspecified-6"),
        pytest.param("224.0.0.1", "multicast", id="multicast"),
        pytest.param("239.255.255.250", "multicast", id="multicast-ssdp"),
        pytest.param("ff02::1", "multicast", id="multicast-6"),
        pytest.param("192.0.0.1", "reserved", id="protocol-assignments"),
        pytest.param("192.0.2.1", "reserved", id="documentation"),
        pytest.param("198.18.0.1", "reserved", id="benchmarking"),
        pytest.param("203.0.113.9", "reserved", id="documentation-3"),
        pytest.param("240.0.0.1", "reserved", id="class-e"),
        pytest.param("255.255.255.255", "reserved", id="broadcast"),
        pytest.param("2001:db8::1", "reserved", id="documentation-6"),
        pytest.param("3fff::1", "reserved", id="documentation-6-of-2024"),
        pytest.param("5f00::1", "reserved", id="segment-routing"),
        pytest.param("4000::1", "reserved", id="not-given-out"),
        pytest.param("100::1", "reserved", id="discard"),
        pytest.param("::ffff:127.0.0.1", "loopback", id="mapped-loopback"),
        pytest.param("::ffff:169.254.169.254", "metadata", id="mapped-metadata"),
        pytest.param("::ffff:93.184.215.14", None, id="mapped-public"),
        pytest.param("::127.0.0.1", "reserved", id="compatible"),
        pytest.param("::ffff:0:127.0.0.1", "reserved", id="translated"),
        pytest.param("64:ff9b::10.0.0.1", "private", id="nat64-private"),
        pytest.param("64:ff9b::93.184.215.14", None, id="nat64-public"),
        pytest.param("2002:7f00:1::", "loopback", id="6to4-loopback"),
        pytest.param("2002:5db8:d70e::1", None, id="6to4-public"),
        pytest.param("2001:0:4136:e378:8000:63bf:3fff:fdd2", "reserved", id="teredo"),
    ],
)
def test_kinds_of_addresses(address: str, kind: str | None) -> None:
    assert kind_of(ip_address(address)) == kind


@pytest.mark.parametrize(
    ("host", "address"),
    [
        pytest.param("127.0.0.1", "127.0.0.1", id="plain"),
        pytest.param("127.1", "127.0.0.1", id="two-parts"),
        pytest.param("127.0.1", "127.0.0.1", id="three-parts"),
        pytest.param("2130706433", "127.0.0.1", id="decimal"),
        pytest.param("0x7f000001", "127.0.0.1", id="hexadecimal"),
        pytest.param("0x7f.1", "127.0.0.1", id="hexadecimal-part"),
        pytest.param("0177.0.0.1", "127.0.0.1", id="octal"),
        pytest.param("017700000001", "127.0.0.1", id="octal-whole"),
        pytest.param("127.0.0.1.", "127.0.0.1", id="dot-at-the-end"),
        pytest.param("%31%32%37.0.0.1", "127.0.0.1", id="escaped"),
        pytest.param("0", "0.0.0.0", id="nought"),
        pytest.param("::1", "::1", id="six"),
        pytest.param("[::1]", "::1", id="six-in-brackets"),
        pytest.param("::ffff:7f00:1", "127.0.0.1", id="mapped"),
        pytest.param("fe80::1%25eth0", "fe80::1%eth0", id="zone"),
        pytest.param("www.example.com", None, id="name"),
        pytest.param("1.example", None, id="name-with-a-digit"),
        pytest.param("127.0.0.1.nip.example", None, id="name-that-begins-like-one"),
        pytest.param("256.1.1.1", None, id="too-large"),
        pytest.param("münchen.example", None, id="international"),
        pytest.param("", None, id="empty"),
        pytest.param("a\0b", None, id="nul"),
    ],
)
def test_literal_addresses(host: str, address: str | None) -> None:
    found = literal(host)
    assert (None if found is None else str(found)) == address


@pytest.mark.parametrize(
    ("host", "is_special"),
    [
        ("localhost", True),
        ("LOCALHOST.", True),
        ("a.localhost", True),
        ("localhost.localdomain", True),
        ("printer.local", True),
        ("metadata.google.internal", True),
        ("nas.home.arpa", True),
        ("localhost.example.com", False),
        ("notlocalhost", False),
        ("internal.example.com", False),
        ("home.arpa.example", False),
    ],
)
def test_names_that_cannot_exist(host: str, is_special: bool) -> None:
    assert has_special_name(host) is is_special


@pytest.mark.parametrize(
    ("hosts", "key"),
    [
        (("Example.COM", "example.com", "example.com."), "example.com"),
        (("münchen.example", "MÜNCHEN.example", "xn--mnchen-3ya.example"), "xn--mnchen-3ya.example"),
        (("127.0.0.1", "127.1", "2130706433"), "127.0.0.1"),
        (("[::1]", "0:0:0:0:0:0:0:1"), "::1"),
    ],
    ids=["case", "international", "address", "six"],
)
def test_spellings_of_a_host_have_one_key(hosts: tuple[str, ...], key: str) -> None:
    assert {host_key(host) for host in hosts} == {key}
