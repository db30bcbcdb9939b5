"""Connection pool and HTTP protocol of the download handler: few idle connections, limited response headers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from scrapy.core.downloader.handlers.http11 import (
    _LenientHTTP11ClientFactory,
    _LenientHTTP11ClientProtocol,
    _LenientHTTPClientParser,
)
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from twisted.web._newclient import HEADER, STATUS
from twisted.web.client import HTTPConnectionPool
from twisted.web.http import _ChunkedTransferDecoder

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from twisted.internet.interfaces import IAddress
    from twisted.web._newclient import Request as TxRequest

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

    _factory = _BoundedFactory

    @classmethod
    def like(cls, pool: HTTPConnectionPool) -> Self:
        """Return a pool with the same number of connections per host as *pool*."""
        made = cls(pool._reactor, persistent=pool.persistent)  # noqa: SLF001 - not public in Twisted's pool
        made.maxPersistentPerHost = pool.maxPersistentPerHost
        made.retryAutomatically = pool.retryAutomatically
        return made

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
