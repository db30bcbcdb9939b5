"""Which IP addresses a run may connect to: private ones only if the user named the host. Pure."""

from __future__ import annotations

import re
import socket
from contextlib import suppress
from enum import StrEnum
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from sitemap_harvest.discovery.candidate import NotFetched
from sitemap_harvest.model import Cause, Outcome
from sitemap_harvest.urls import url_key

if TYPE_CHECKING:
    from collections.abc import Sequence


IPAddress = IPv4Address | IPv6Address

# Specs: https://www.iana.org/assignments/iana-ipv4-special-registry and
# https://www.iana.org/assignments/iana-ipv6-special-registry. The module ipaddress knows most of it, more with each
# version of Python, but not multicast, embedded addresses, and the metadata services of clouds.
_METADATA = (
    "169.254.169.254 169.254.170.2 fd00:ec2::254 "  # AWS; the first also Google, Azure, Oracle, OpenStack and others
    "fd20:ce::254 "  # Google
    "168.63.129.16 "  # Azure, which uses a public address
    "192.0.0.192 "  # Oracle, formerly
    "100.100.100.200"  # Alibaba
)
_KINDS: tuple[tuple[str, str], ...] = (
    ("metadata", _METADATA),
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
    if isinstance(address, IPv6Address):
        embedded = IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else address.ipv4_mapped
        if (embedded := embedded or address.sixtofour) is not None:
            return kind_of(embedded)
        address = IPv6Address(int(address))  # without its scope
    for network, kind in _NETWORKS:
        if address.version == network.version and address in network:
            return kind
    is_given_out = address.is_global and (address.version == 4 or address in _GLOBAL_UNICAST)
    return None if is_given_out else "reserved"


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


_SETTING = "SITEMAP_HARVEST_PRIVATE"
WEB_PORTS = {"http": 80, "https": 443}
_BY_NAME = frozenset({"loopback", "private", "reserved"})
"""Kinds of private addresses that a host name given by the user may resolve to. No honest name resolves to the other
kinds: for those the user has to give the IP address."""


class PrivateAddresses(StrEnum):
    """Whether a run may connect to private networks."""

    NAMED = "named"
    """Only the user, by naming the host; no document and no redirect."""
    ALWAYS = "always"
    """Anyone: for crawls of your own network."""
    NEVER = "never"
    """Nobody, not even the user who starts the run: for runs that web requests start."""


class AddressPolicy:
    """Which addresses a run may connect to. Remembers the first lookup of each host that the user named.

    A host is the same with and without ``www.``, and at both web ports, because a named
    site redirects between them. Any other port counts as another host.
    """

    def __init__(self, private: PrivateAddresses = PrivateAddresses.NAMED) -> None:
        self._private = private
        # For each named host, whether its first lookup returned only private addresses; None before the lookup.
        self._was_private: dict[str, bool | None] = {}

    def name(self, url: str) -> None:
        """Record that the user named *url*. URLs without a host, such as files, are ignored."""
        if self._private is PrivateAddresses.NAMED and (place := place_of(url)):
            self._was_private.setdefault(_key(*place), None)

    def refuse_url(self, url: str) -> NotFetched | None:
        """Return why *url* is not requested, judged by its host alone; ``None`` if the host does not decide it.

        This is the only check if something else, such as a proxy, resolves the host.
        """
        if self._private is PrivateAddresses.ALWAYS or (place := place_of(url)) is None:
            return None
        host, port = place
        if (address := literal(host)) is not None:
            return None if self.allow(host, port, [address]) else self.refusal(host, port, [address])
        if has_special_name(host) and not self._is_private_allowed(_key(host, port)):
            return self._refusal(f"the host has the private name {host}", host, port)
        return None

    def allow(self, host: str, port: int, found: Sequence[IPAddress]) -> list[IPAddress]:
        """Return the addresses in *found*, the whole result of a lookup of *host*, that may be connected to at *port*.

        The first lookup of a host that the user named decides: if it returns a public
        address, private ones are rejected later (DNS rebinding).
        """
        if self._private is PrivateAddresses.ALWAYS:
            return list(found)
        public = [address for address in found if kind_of(address) is None]
        key = _key(host, port)
        if found and self._was_private.get(key, False) is None:
            self._was_private[key] = not public
        if public or not self._is_private_allowed(key):
            return public
        return [address for address in found if kind_of(address) in _BY_NAME or literal(host) is not None]

    def refusal(self, host: str, port: int, found: Sequence[IPAddress]) -> NotFetched:
        """Return the reason why no address in *found*, the addresses of *host*, may be connected to at *port*."""
        return self._refusal(f"the host has the {kind_of(found[0])} address {found[0]}", host, port)

    def _refusal(self, fact: str, host: str, port: int) -> NotFetched:
        key = _key(host, port)
        if self._private is PrivateAddresses.NEVER:
            rule = "and private addresses are never requested"
        elif key not in self._was_private:
            rule = "which is allowed only for hosts that you name"
        elif self._was_private[key]:
            rule = "which is requested only if you name the address itself"
        else:
            rule = "but had a public one before"
        return NotFetched(Outcome.OUT_OF_SCOPE, f"{fact}, {rule} (-s {_SETTING}=True allows it)", Cause.PRIVATE)

    def _is_private_allowed(self, key: str) -> bool:
        """Whether the user named the host of *key*, and no lookup has shown it to be public."""
        return self._was_private.get(key, False) is not False


def place_of(url: str) -> tuple[str, int] | None:
    """Return host and port of *url*; ``None`` if it has no host, or is not a web URL."""
    try:
        parts = urlsplit(url)
        port = parts.port or WEB_PORTS.get(parts.scheme)
    except ValueError:
        return None
    return (parts.hostname, port) if parts.hostname and port else None


def _key(host: str, port: int) -> str:
    name = host_key(host).removeprefix("www.")
    return name if port in WEB_PORTS.values() else f"{name} {port}"
