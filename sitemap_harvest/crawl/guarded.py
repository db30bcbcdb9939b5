"""Scrapy's download handler, with a look at each address before it is connected to.

What is looked at is what the resolver gave, and what passes is what is
connected to: no second lookup lies between, which might give something else. A
connection that was kept open came about under the same rule, for it is only
taken for the same scheme, host and port.
"""

from __future__ import annotations

import logging
from io import BytesIO
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, cast

from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler, _BindAddressAgent, _ScrapyAgent
from scrapy.exceptions import CannotResolveHostError, ResponseDataLossError
from scrapy.utils._download_handlers import get_dataloss_msg, normalize_bind_address, wrap_twisted_exceptions
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.interfaces import IHostnameResolver, IReactorPluggableNameResolver, IResolutionReceiver
from zope.interface import implementer  # type: ignore[import-untyped]  # it has no type hints

from sitemap_harvest.crawl.connections import FewIdleConnections
from sitemap_harvest.crawl.reach import reach_of, refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.base import ReactorBase
    from twisted.internet.interfaces import IAddress
    from twisted.web.client import Agent

    from sitemap_harvest.plan import Reach, Refusal

_logger = logging.getLogger(__name__)


class GuardedHandler(HTTP11DownloadHandler):
    """Downloads as Scrapy's own handler does, and connects to what :class:`~sitemap_harvest.plan.Reach` admits.

    Scrapy has no public way in, so this leans on its insides. Should they
    change, it fails as it is loaded: nothing is downloaded then, rather than
    without the check.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._pool = FewIdleConnections.like(self._pool)

    async def download_request(self, request: Request) -> Response:
        """Download *request*. Raises :exc:`~sitemap_harvest.crawl.reach.PrivateAddressError` before a byte is sent."""
        if request.meta.get("proxy"):
            return await super().download_request(request)  # the proxy looks hosts up, and the user chose it
        lookup = _GuardedLookup(reach_of(self._crawler))
        agent = _GuardedAgent(
            lookup,
            contextFactory=self._contextFactory,
            bindAddress=self._bind_address,
            pool=self._pool,
            maxsize=self._default_maxsize,
            warnsize=self._default_warnsize,
            fail_on_dataloss=self._fail_on_dataloss,
            crawler=self._crawler,
            tls_verbose_logging=self._tls_verbose_logging,
        )
        try:
            with wrap_twisted_exceptions():
                return await maybe_deferred_to_future(agent.download_request(request))
        except CannotResolveHostError as error:
            if lookup.refusal is None:
                raise
            raise refused(self._crawler, request, lookup.refusal) from error
        except ResponseDataLossError:
            if not self._fail_on_dataloss_warned:
                _logger.warning("%s", get_dataloss_msg(request.url))
                self._fail_on_dataloss_warned = True
            raise


class _GuardedAgent(_ScrapyAgent):
    """One request, whose host is looked up by *lookup*."""

    def __init__(self, lookup: _GuardedLookup, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._lookup = lookup

    def _get_agent(self, request: Request, timeout: float) -> Agent:
        return _BindAddressAgent(
            reactor=cast("ReactorBase", _Reactor(self._lookup)),
            contextFactory=self._contextFactory,
            connectTimeout=timeout,
            bindAddress=normalize_bind_address(request.meta.get("bindaddress") or self._bindAddress),
            pool=self._pool,
        )

    def _cb_bodydone(self, result: Any, url: str) -> Response:
        stop = result.get("stop_download")
        if stop is not None and stop.fail and (reader := result["txresponse"]._bodyProtocol) is not None:  # noqa: SLF001 - Twisted's
            # Nobody reads this part of a body, but the traceback of StopDownload keeps it until garbage is collected.
            result["body"], reader._bodybuf = b"", BytesIO()  # noqa: SLF001 - Scrapy's
        return super()._cb_bodydone(result, url)


@implementer(IReactorPluggableNameResolver)
class _Reactor:
    """The reactor, but for the way in which it looks up hosts."""

    def __init__(self, lookup: _GuardedLookup) -> None:
        self.nameResolver = lookup

    def __getattr__(self, name: str) -> Any:
        return getattr(_reactor(), name)


@implementer(IHostnameResolver)
class _GuardedLookup:
    """Looks up the host of one request as ever, and passes on the addresses that may be connected to."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self.refusal: Refusal | None = None
        """Why none may be, if there were any."""

    def resolveHostName(  # noqa: N802 - Twisted's interface
        self,
        resolutionReceiver: Any,  # noqa: N803 - the same
        hostName: str,  # noqa: N803
        portNumber: int = 0,  # noqa: N803
        addressTypes: Sequence[type[IAddress]] | None = None,  # noqa: N803
        transportSemantics: str = "TCP",  # noqa: N803
    ) -> Any:
        """Begin a lookup."""

        def admitted(found: list[Any]) -> list[Any]:
            addresses = [ip_address(address.host) for address in found]
            good = self._reach.admit(hostName, portNumber, addresses)
            self.refusal = self._reach.refusal(hostName, portNumber, addresses) if addresses and not good else None
            return [address for address, ip in zip(found, addresses, strict=True) if ip in good]

        return _reactor().nameResolver.resolveHostName(
            _Sieve(resolutionReceiver, admitted), hostName, portNumber, addressTypes, transportSemantics
        )


@implementer(IResolutionReceiver)
class _Sieve:
    """Gathers the addresses of a lookup, and hands on those that *admitted* lets pass."""

    def __init__(self, receiver: Any, admitted: Callable[[list[Any]], list[Any]]) -> None:
        self._receiver = receiver
        self._admitted = admitted
        self._found: list[Any] = []

    def resolutionBegan(self, resolutionInProgress: Any) -> None:  # noqa: N802, N803
        self._receiver.resolutionBegan(resolutionInProgress)

    def addressResolved(self, address: IAddress) -> None:  # noqa: N802
        self._found.append(address)

    def resolutionComplete(self) -> None:  # noqa: N802
        for address in self._admitted(self._found):
            self._receiver.addressResolved(address)
        self._receiver.resolutionComplete()


def _reactor() -> Any:
    from twisted.internet import reactor  # Scrapy chooses which one, and this would choose before it

    return reactor
