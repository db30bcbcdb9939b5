"""The kind of an IP address (loopback, private, metadata ...) that excludes it from the public Internet.

Spec: https://www.iana.org/assignments/iana-ipv4-special-registry and
https://www.iana.org/assignments/iana-ipv6-special-registry. ``ipaddress`` knows most of
it, more with each version of Python, but not multicast, embedded addresses, and the
metadata services of clouds.
"""

from __future__ import annotations

import re
import socket
from contextlib import suppress
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import unquote

from sitemap_harvest.urls import url_key

IPAddress = IPv4Address | IPv6Address

_METADATA = frozenset(
    map(
        ip_address,
        (
            "169.254.169.254",  # AWS, Google, Azure, Oracle, DigitalOcean, OpenStack and others
            "169.254.170.2",  # AWS, for containers
            "100.100.100.200",  # Alibaba
            "168.63.129.16",  # Azure, which uses a public address
            "192.0.0.192",  # Oracle, formerly
            "fd00:ec2::254",  # AWS
            "fd20:ce::254",  # Google
        ),
    )
)
_KINDS: tuple[tuple[str, str], ...] = (
    ("loopback", "127.0.0.0/8 ::1/128"),
    ("private", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 fc00::/7 fec0::/10 64:ff9b:1::/48"),
    ("link-local", "169.254.0.0/16 fe80::/10"),
    ("unspecified", "0.0.0.0/8 ::/128"),
    ("multicast", "224.0.0.0/4 ff00::/8"),
    ("reserved", "192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4"),
    ("reserved", "2001::/23 2001:db8::/32 3fff::/20"),  # the first includes Teredo and ORCHID, and no web site
)
_NETWORKS: tuple[tuple[IPv4Network | IPv6Network, str], ...] = tuple(
    (ip_network(network), kind) for kind, networks in _KINDS for network in networks.split()
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")  # all allocated IPv6 addresses
_NAT64 = IPv6Network("64:ff9b::/96")
_SPECIAL_NAME = re.compile(r"(?:.*\.)?(?:localhost|localdomain|local|internal|home\.arpa)", re.IGNORECASE | re.DOTALL)


@lru_cache(maxsize=4096)
def kind_of(address: IPAddress) -> str | None:
    """Return the kind of a non-public *address*; ``None`` if it is public.

    The kinds are ``loopback``, ``private``, ``link-local``, ``metadata`` (a cloud's
    metadata service), ``unspecified``, ``multicast`` and ``reserved``. For a transition
    address (IPv4-mapped, NAT64, 6to4) the embedded address decides.
    """
    if (inner := _embedded(address)) is not None:
        return kind_of(inner)
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        address = IPv6Address(int(address))
    if address in _METADATA:
        return "metadata"
    for network, kind in _NETWORKS:
        if address.version == network.version and address in network:
            return kind
    is_given_out = address.is_global and (address.version == 4 or address in _GLOBAL_UNICAST)
    return None if is_given_out else "reserved"


def _embedded(address: IPAddress) -> IPv4Address | None:
    """Return the IPv4 address embedded in *address*; ``None`` if there is none."""
    if isinstance(address, IPv4Address):
        return None
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


@lru_cache(maxsize=4096)
def literal(host: str) -> IPAddress | None:
    """Return *host* as an IP address; ``None`` if it is a name.

    Accepts every form that a system's resolver accepts: ``127.1``, ``0x7f.1``,
    ``0177.0.0.1``, ``2130706433`` and ``[::ffff:127.0.0.1]`` are all 127.0.0.1.
    """
    text = unquote(host).strip("[]").rstrip(".")
    with suppress(ValueError):
        address = ip_address(text)
        return (address.version == 6 and address.ipv4_mapped) or address
    try:
        return IPv4Address(socket.inet_aton(text))  # no lookup: this is the C library's own parser
    except (OSError, ValueError):
        return None


def has_special_name(host: str) -> bool:
    """Whether *host* is a name that is reserved for private use.

    RFC 6761 (``localhost``), RFC 6762 (``local``), RFC 8375 (``home.arpa``) and ICANN's
    resolution on ``internal``.
    """
    return _SPECIAL_NAME.fullmatch(host.rstrip(".")) is not None


@lru_cache(maxsize=4096)
def host_key(host: str) -> str:
    """Return *host* in canonical form: an IP address, or a name in punycode."""
    if (address := literal(host)) is not None:
        return str(address)
    name = host.rstrip(".")
    if name.isascii():
        return name.lower()
    key = url_key(f"http://{name}")
    return key.removeprefix("http://").rstrip("/") if key else name.lower()
