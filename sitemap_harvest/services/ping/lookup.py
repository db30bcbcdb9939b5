"""The addresses of a host, looked up while Scrapyd goes on with its other work."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as DeferredTimeout
from twisted.internet.interfaces import IResolutionReceiver
from zope.interface import implementer  # type: ignore[import-untyped]  # it has no type hints

from sitemap_harvest.plan.networks import literal
from sitemap_harvest.services.ping.refusal import Code, Refused

if TYPE_CHECKING:
    from twisted.internet.interfaces import IAddress, IHostResolution

    from sitemap_harvest.plan.networks import IPAddress

_SECONDS = 10


async def addresses_of(host: str, port: int, reactor: Any) -> list[IPAddress]:
    """Return what a lookup of *host* gives, nothing if it gives nothing. Raises :exc:`Refused` if it takes too long."""
    if (address := literal(host)) is not None:
        return [address]
    receiver = _Receiver()
    reactor.nameResolver.resolveHostName(receiver, host, port)
    try:
        return await receiver.found.addTimeout(_SECONDS, reactor)
    except DeferredTimeout:
        message = "the host of the sitemap could not be looked up in time"
        raise Refused(Code.LOOKUP_FAILED, message, Retry_After="60") from None


@implementer(IResolutionReceiver)
class _Receiver:
    def __init__(self) -> None:
        self.found: Deferred[list[IPAddress]] = Deferred()
        self._addresses: list[IPAddress] = []

    def resolutionBegan(self, resolution: IHostResolution) -> None:  # noqa: N802 - Twisted's name
        """Nothing is to be done yet."""

    def addressResolved(self, address: IAddress) -> None:  # noqa: N802 - Twisted's name
        """Keep *address*."""
        self._addresses.append(ip_address(address.host))

    def resolutionComplete(self) -> None:  # noqa: N802 - Twisted's name
        """Hand out what was found."""
        self.found.callback(self._addresses)
