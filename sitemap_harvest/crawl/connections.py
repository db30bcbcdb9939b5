"""Connections of Scrapy's download handler: few of them idle, and none with response headers of any size."""

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

_MOST_IDLE = 100  # of all hosts; a process may often have no more than 1,024 files open, and a connection is one
_MOST_HEADER_BYTES = 256 * 1024  # as much as Chrome allows; Twisted limits the length of a line, not how many there are


class HeadersTooLargeError(Exception):
    """The headers of a response are larger than allowed."""


class _ChunksOfOneRead(_ChunkedTransferDecoder):
    """Delivers chunks that arrive together in one piece: a chunk may have one byte, and each piece costs a signal."""

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
    """Scrapy's protocol, which aborts a connection whose response headers do not end."""

    _header_bytes = 0

    def request(self, request: TxRequest) -> Any:
        self._header_bytes = 0
        response = super().request(request)
        self._parser.__class__ = _BoundedParser  # as Scrapy does, and for the same reason
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
    """Twisted's pool, which keeps each connection open for four minutes, but closes what has waited longest."""

    _factory = _BoundedFactory

    @classmethod
    def like(cls, pool: HTTPConnectionPool) -> Self:
        """Return a pool that keeps as many connections of one host as *pool* does."""
        made = cls(pool._reactor, persistent=pool.persistent)  # noqa: SLF001 - Twisted's pool tells it to nobody
        made.maxPersistentPerHost = pool.maxPersistentPerHost
        made.retryAutomatically = pool.retryAutomatically
        return made

    def closeCachedConnections(self) -> Deferred[None]:  # noqa: N802 - Twisted's name
        """Close all connections that are kept open; Scrapy calls the result back as well, after a second."""
        # On a busy machine both happen before Scrapy gets its turn, which was an AlreadyCalledError in the log.
        closed = _FirstResult()
        super().closeCachedConnections().chainDeferred(closed)  # type: ignore[no-untyped-call]  # the same
        return closed

    def _putConnection(self, key: Hashable, connection: Any) -> None:  # noqa: N802 - Twisted's name
        super()._putConnection(key, connection)  # type: ignore[no-untyped-call]  # Twisted has no types for it
        while len(self._timeouts) > _MOST_IDLE:
            ending = next(iter(self._timeouts.values()))  # they stand in the order in which they came
            end, arguments = ending.func, ending.args
            ending.cancel()
            end(*arguments)
