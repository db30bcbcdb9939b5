"""Which addresses a run may connect to: those of private networks only where the user has named the host."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sitemap_harvest.model import Cause, Outcome
from sitemap_harvest.plan.lead import Refusal
from sitemap_harvest.plan.networks import has_special_name, host_key, kind_of, literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemap_harvest.plan.networks import IPAddress

_SETTING = "SITEMAP_HARVEST_PRIVATE"
_WEB_PORTS = {"http": 80, "https": 443}
_BY_NAME = frozenset({"loopback", "private", "reserved"})
"""What a name that the user gives may lead to. No honest name leads to the others: the user has to give the address."""


class Private(StrEnum):
    """Who may lead a run to the addresses of private networks."""

    NAMED = "named"
    """The user, by naming the host; no document and no redirect."""
    ALWAYS = "always"
    """Whoever: for a network of one's own."""
    NEVER = "never"
    """Nobody, also not who starts the run: for runs that are started by requests from the web."""


class Reach:
    """Which addresses a run may connect to. Remembers of each host that the user named what its first lookup gave.

    A host is the same with and without ``www.``, and at both ports of the web:
    a site that is named leads from one to the other. Any other port is another
    host.
    """

    def __init__(self, private: Private = Private.NAMED) -> None:
        self._private = private
        # Of each named host, whether its first lookup gave private addresses alone; None before that.
        self._was_private: dict[str, bool | None] = {}

    def name(self, url: str) -> None:
        """Note that the user named *url*. What has no host, such as a file, is passed over."""
        if self._private is Private.NAMED and (place := _place(url)):
            self._was_private.setdefault(_key(*place), None)

    def refuse_url(self, url: str) -> Refusal | None:
        """Return why *url* is not asked for, as far as its host alone tells; ``None`` if that tells nothing.

        This is all there is where somebody else looks the host up, such as a proxy.
        """
        if self._private is Private.ALWAYS or (place := _place(url)) is None:
            return None
        host, port = place
        if (address := literal(host)) is not None:
            return None if self._admits(host, port, address) else self.refusal(host, port, [address])
        if has_special_name(host) and not self._is_let_home(_key(host, port)):
            return self._refusal(f"its host has the private name {host}", host, port)
        return None

    def admit(self, host: str, port: int, found: Sequence[IPAddress]) -> list[IPAddress]:
        """Return those of *found*, all that a lookup of *host* gave, that may be connected to at *port*.

        The first lookup of a host that the user named decides: if it gives a
        public address, a private one is not believed later (DNS rebinding).
        """
        if self._private is Private.ALWAYS:
            return list(found)
        public = [address for address in found if kind_of(address) is None]
        key = _key(host, port)
        if found and self._was_private.get(key, False) is None:
            self._was_private[key] = not public
        return public or [address for address in found if self._admits(host, port, address)]

    def refusal(self, host: str, port: int, found: Sequence[IPAddress]) -> Refusal:
        """Return why none of *found*, the addresses of *host*, is connected to at *port*."""
        return self._refusal(f"its host has the {kind_of(found[0])} address {found[0]}", host, port)

    def _refusal(self, fact: str, host: str, port: int) -> Refusal:
        key = _key(host, port)
        if self._private is Private.NEVER:
            rule = "and none such is asked"
        elif key not in self._was_private:
            rule = "which only a host that you name may have"
        elif self._was_private[key]:
            rule = "which is asked only if you name the address itself"
        else:
            rule = "and had a public one before"
        return Refusal(Outcome.OUT_OF_SCOPE, f"{fact}, {rule} ({_SETTING}=True allows it)", Cause.PRIVATE)

    def _admits(self, host: str, port: int, address: IPAddress) -> bool:
        if (kind := kind_of(address)) is None:
            return True
        return self._is_let_home(_key(host, port)) and (kind in _BY_NAME or literal(host) is not None)

    def _is_let_home(self, key: str) -> bool:
        """Whether the user named the host of *key*, and nothing has shown it to be a public one."""
        return self._was_private.get(key, False) is not False


def _place(url: str) -> tuple[str, int] | None:
    """Return host and port of *url*; ``None`` if it has none, or is none of the web."""
    try:
        parts = urlsplit(url)
        port = parts.port or _WEB_PORTS.get(parts.scheme)
    except ValueError:
        return None
    return (parts.hostname, port) if parts.hostname and port else None


def _key(host: str, port: int) -> str:
    name = host_key(host).removeprefix("www.")
    return name if port in _WEB_PORTS.values() else f"{name} {port}"
