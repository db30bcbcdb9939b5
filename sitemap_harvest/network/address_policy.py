"""Which IP addresses a run may connect to: private ones only if the user named the host."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sitemap_harvest.discovery.candidate import NotFetched
from sitemap_harvest.model import Cause, Outcome
from sitemap_harvest.network.ip_ranges import has_special_name, host_key, kind_of, literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemap_harvest.network.ip_ranges import IPAddress

_SETTING = "SITEMAP_HARVEST_PRIVATE"
_WEB_PORTS = {"http": 80, "https": 443}
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
        if self._private is PrivateAddresses.NAMED and (place := _place(url)):
            self._was_private.setdefault(_key(*place), None)

    def refuse_url(self, url: str) -> NotFetched | None:
        """Return why *url* is not requested, judged by its host alone; ``None`` if the host does not decide it.

        This is the only check if something else, such as a proxy, resolves the host.
        """
        if self._private is PrivateAddresses.ALWAYS or (place := _place(url)) is None:
            return None
        host, port = place
        if (address := literal(host)) is not None:
            return None if self._allows(host, port, address) else self.refusal(host, port, [address])
        if has_special_name(host) and not self._is_private_allowed(_key(host, port)):
            return self._refusal(f"its host has the private name {host}", host, port)
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
        return public or [address for address in found if self._allows(host, port, address)]

    def refusal(self, host: str, port: int, found: Sequence[IPAddress]) -> NotFetched:
        """Return the reason why no address in *found*, the addresses of *host*, may be connected to at *port*."""
        return self._refusal(f"its host has the {kind_of(found[0])} address {found[0]}", host, port)

    def _refusal(self, fact: str, host: str, port: int) -> NotFetched:
        key = _key(host, port)
        if self._private is PrivateAddresses.NEVER:
            rule = "and private addresses are never requested"
        elif key not in self._was_private:
            rule = "which is allowed only for hosts that you name"
        elif self._was_private[key]:
            rule = "which is requested only if you name the address itself"
        else:
            rule = "and had a public one before"
        return NotFetched(Outcome.OUT_OF_SCOPE, f"{fact}, {rule} ({_SETTING}=True allows it)", Cause.PRIVATE)

    def _allows(self, host: str, port: int, address: IPAddress) -> bool:
        if (kind := kind_of(address)) is None:
            return True
        return self._is_private_allowed(_key(host, port)) and (kind in _BY_NAME or literal(host) is not None)

    def _is_private_allowed(self, key: str) -> bool:
        """Whether the user named the host of *key*, and no lookup has shown it to be public."""
        return self._was_private.get(key, False) is not False


def _place(url: str) -> tuple[str, int] | None:
    """Return host and port of *url*; ``None`` if it has no host, or is not a web URL."""
    try:
        parts = urlsplit(url)
        port = parts.port or _WEB_PORTS.get(parts.scheme)
    except ValueError:
        return None
    return (parts.hostname, port) if parts.hostname and port else None


def _key(host: str, port: int) -> str:
    name = host_key(host).removeprefix("www.")
    return name if port in _WEB_PORTS.values() else f"{name} {port}"
