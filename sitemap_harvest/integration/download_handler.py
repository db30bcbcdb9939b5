"""Download handler: checks each resolved IP address before it connects, and limits idle connections and headers.

The checked addresses come from the resolver and are used for the connection: there is
no second lookup, which might return others. A reused connection was checked by the same
rule, because it is reused only for the same scheme, host and port.
"""

from __future__ import annotations

import logging
from io import BytesIO
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, cast

from scrapy.core.downloader.handlers.http11 import (
    HTTP11DownloadHandler,
    _BindAddressAgent,
    _LenientHTTP11ClientFactory,
    _LenientHTTP11ClientProtocol,
    _LenientHTTPClientParser,
    _ScrapyAgent,
)
from scrapy.exceptions import CannotResolveHostError, DownloadCancelledError, ResponseDataLossError
from scrapy.http import Response
from scrapy.utils._download_handlers import get_dataloss_msg, normalize_bind_address, wrap_twisted_exceptions
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IHostnameResolver, IReactorPluggableNameResolver, IResolutionReceiver
from twisted.python.failure import Failure
from twisted.web._newclient import HEADER, STATUS
from twisted.web.client import HTTPConnectionPool
from twisted.web.http import _ChunkedTransferDecoder
from zope.interface import implementer  # type: ignore[import-untyped]  # it has no type hints

from sitemap_harvest.integration.document_requests import candidate_of
from sitemap_harvest.integration.guards import address_policy_of, refused
from sitemap_harvest.integration.transfers import note_head

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from twisted.internet.base import ReactorBase
    from twisted.internet.interfaces import IAddress
    from twisted.web._newclient import Request as TxRequest
    from twisted.web.client import Agent

    from sitemap_harvest.discovery.candidate import NotFetched
    from sitemap_harvest.network import AddressPolicy

_logger = logging.getLogger(__name__)


class AddressCheckingHandler(HTTP11DownloadHandler):
    """Downloads like Scrapy's handler, but connects only to addresses that :class:`AddressPolicy` allows.

    Scrapy has no public extension point for this, so the class depends on internals. If
    they change, loading it fails: then nothing is downloaded, rather than without the
    check.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._pool.__class__, self._pool._factory = FewIdleConnections, _BoundedFactory  # noqa: SLF001 - as Scrapy does

    async def download_request(self, request: Request) -> Response:
        """Download *request*. Raises :exc:`PrivateAddressError` before a byte is sent."""
        if request.meta.get("proxy"):
            return await super().download_request(request)  # the proxy resolves hosts, and the user chose it
        reactor = _CheckingReactor(address_policy_of(self._crawler))
        agent = _AddressCheckingAgent(
            reactor,
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
            if reactor.refusal is None:
                raise
            raise refused(self._crawler, request, reactor.refusal) from error
        except DownloadCancelledError as error:
            error.response_head = agent.head  # type: ignore[attr-defined]  # for the archive of the run
            raise
        except ResponseDataLossError:
            # The run downloads a document again, and its record says so: Scrapy's advice is not for it.
            if not self._fail_on_dataloss_warned and candidate_of(request) is None:
                _logger.warning("%s", get_dataloss_msg(request.url))
                self._fail_on_dataloss_warned = True
            raise


class _AddressCheckingAgent(_ScrapyAgent):
    def __init__(self, reactor: _CheckingReactor, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._reactor = reactor
        self.head: Response | None = None
        """The response without its body, once its headers were received."""

    def _cb_bodyready(self, txresponse: Any, request: Request) -> Any:
        headers = self._headers_from_twisted_response(txresponse)
        self.head = _with_head(Response(request.url, status=int(txresponse.code), headers=headers), txresponse)
        return super()._cb_bodyready(txresponse, request)

    def _get_agent(self, request: Request, timeout: float) -> Agent:
        return _BindAddressAgent(
            reactor=cast("ReactorBase", self._reactor),
            contextFactory=self._contextFactory,
            connectTimeout=timeout,
            bindAddress=normalize_bind_address(request.meta.get("bindaddress") or self._bindAddress),
            pool=self._pool,
        )

    def _cb_bodydone(self, result: Any, url: str) -> Response:
        stop = result.get("stop_download")
        if stop is not None and stop.fail and (reader := result["txresponse"]._bodyProtocol) is not None:  # noqa: SLF001 - Twisted's
            # Nothing reads this part of a body, but the traceback of StopDownload references it until garbage
            # collection.
            result["body"], reader._bodybuf = b"", BytesIO()  # noqa: SLF001 - Scrapy's
        return _with_head(super()._cb_bodydone(result, url), result["txresponse"])


def _with_head(response: Response, txresponse: Any) -> Response:
    note_head(response, txresponse.phrase, getattr(txresponse, "raw_headers", []))
    return response


@implementer(IReactorPluggableNameResolver, IHostnameResolver, IResolutionReceiver)
class _CheckingReactor:
    """The reactor for one request: of the addresses of its host, it passes on those that may be connected to."""

    def __init__(self, policy: AddressPolicy) -> None:
        self._policy = policy
        self.refusal: NotFetched | None = None
        """Why none is allowed, if there were any."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_reactor(), name)

    @property
    def nameResolver(self) -> Any:  # noqa: N802 - Twisted's interface
        return self

    def resolveHostName(self, receiver: Any, host: str, portNumber: int, **options: Any) -> Any:  # noqa: N802, N803
        self._receiver, self._place, self._found = receiver, (host, portNumber), list[Any]()
        return _reactor().nameResolver.resolveHostName(self, host, portNumber, **options)

    def resolutionBegan(self, resolutionInProgress: Any) -> None:  # noqa: N802, N803
        self._receiver.resolutionBegan(resolutionInProgress)

    def addressResolved(self, address: IAddress) -> None:  # noqa: N802
        self._found.append(address)

    def resolutionComplete(self) -> None:  # noqa: N802
        receiver, self._receiver = self._receiver, None  # it refers to this object
        addresses = [ip_address(address.host) for address in self._found]
        good = self._policy.allow(*self._place, addresses)
        self.refusal = self._policy.refusal(*self._place, addresses) if addresses and not good else None
        for address, ip in zip(self._found, addresses, strict=True):
            if ip in good:
                receiver.addressResolved(address)
        receiver.resolutionComplete()


def _reactor() -> Any:
    from twisted.internet import reactor  # the import installs a reactor, which Scrapy has to choose

    return reactor


_MOST_IDLE = 100  # over all hosts; processes are often limited to 1,024 open files, and a connection is one
_MOST_HEADER_BYTES = 256 * 1024  # the limit of Chrome; Twisted limits the length of a line, but not their number


class HeadersTooLargeError(Exception):
    """The headers of a response exceed the limit."""


class _ChunksOfOneRead(_ChunkedTransferDecoder):
    """Delivers chunks that arrive together as one piece: a chunk may have one byte, and each piece sends a signal."""

    def __init__(self, deliver: Callable[[bytes], None], finish: Callable[[bytes], None]) -> None:
        self._chunks: list[bytes] = []
        self._deliver = deliver
        self._finish = finish
        super().__init__(self._chunks.append, self._finished)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        try:
            super().dataReceived(data)
        finally:
            self._flush()

    def _finished(self, rest: bytes) -> None:
        self._flush()
        self._finish(rest)

    def _flush(self) -> None:
        if self._chunks:
            piece = b"".join(self._chunks)
            self._chunks.clear()
            self._deliver(piece)


class _BoundedParser(_LenientHTTPClientParser):
    _transferDecoders = {b"chunked": _ChunksOfOneRead}  # type: ignore[dict-item]  # noqa: N815, RUF012 - Twisted's name

    def headerReceived(self, name: bytes, value: bytes) -> None:  # noqa: N802 - Twisted's name
        super().headerReceived(name, value)  # type: ignore[no-untyped-call]  # Twisted has no types for it
        self.response.__dict__.setdefault("raw_headers", []).append((name, value))  # Twisted's have no order and case


class _BoundedProtocol(_LenientHTTP11ClientProtocol):
    """Scrapy's protocol, but aborts connections whose response headers exceed the limit."""

    _header_bytes = 0

    def request(self, request: TxRequest) -> Any:
        self._header_bytes = 0
        response = super().request(request)
        self._parser.__class__ = _BoundedParser  # Scrapy does the same, for the same reason
        return response

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        super().dataReceived(data)  # type: ignore[no-untyped-call]  # Twisted has no types for it
        if self._parser is None or self._parser.state not in {STATUS, HEADER}:
            return
        self._header_bytes += len(data)
        if self._header_bytes > _MOST_HEADER_BYTES:
            self.transport.abortConnection()  # type: ignore[union-attr]  # a TCP connection has it
            error = HeadersTooLargeError(f"the response headers are larger than {_MOST_HEADER_BYTES:,} bytes")
            self._disconnectParser(Failure(error))  # type: ignore[no-untyped-call]  # the same


class _BoundedFactory(_LenientHTTP11ClientFactory):
    def buildProtocol(self, addr: IAddress | None) -> _BoundedProtocol:  # noqa: ARG002, N802 - Twisted's name
        return _BoundedProtocol(self._quiescentCallback)  # type: ignore[no-untyped-call]  # the same


class _FirstResult(Deferred[None]):
    """A deferred that ignores further results."""

    def callback(self, result: Any) -> None:
        if not self.called:
            super().callback(result)


class FewIdleConnections(HTTPConnectionPool):
    """Twisted's connection pool, which keeps connections for four minutes, but closes the longest idle ones first."""

    def closeCachedConnections(self) -> Deferred[None]:  # noqa: N802 - Twisted's name
        """Close all idle connections; Scrapy also calls the result back, after a second."""
        # On a busy machine both happen before Scrapy runs again, which logged an AlreadyCalledError.
        closed = _FirstResult()
        super().closeCachedConnections().chainDeferred(closed)  # type: ignore[no-untyped-call]  # the same
        return closed

    def _putConnection(self, key: Hashable, connection: Any) -> None:  # noqa: N802 - Twisted's name
        super()._putConnection(key, connection)  # type: ignore[no-untyped-call]  # Twisted has no types for it
        while len(self._timeouts) > _MOST_IDLE:
            ending = next(iter(self._timeouts.values()))  # in order of arrival
            end, arguments = ending.func, ending.args
            ending.cancel()
            end(*arguments)
