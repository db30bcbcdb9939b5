"""``FilteringProxy``: the browser's local SOCKS proxy, which resolves hosts and rejects private addresses.

A browser follows redirects, frames and scripts by itself, and resolves hosts at any
time. Behind a SOCKS5 proxy it does not resolve them at all, so the checked address is
the one connected to, as in :mod:`sitemap_harvest.integration.download_handler`.
"""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from contextlib import suppress
from ipaddress import ip_address
from socket import SOCK_STREAM
from typing import TYPE_CHECKING

from scrapy.exceptions import DownloadCancelledError

if TYPE_CHECKING:
    from sitemap_harvest.discovery.candidate import NotFetched
    from sitemap_harvest.network import AddressPolicy, IPAddress

_BLOCK = 64 * 1024
_HANDSHAKE_SECONDS = 60  # browsers open connections before they need them
_MAX_FAILURES = 1000
_SPARE_BYTES = 1024 * 1024  # for headers and handshake, in addition to the maximum size of a body
# RFC 1928. Chromium leaves all names to the proxy: https://www.chromium.org/developers/design-documents/network-stack/socks-proxy/
_VERSION, _CONNECT_TO_NAME = 5, b"\5\1\0\3"
_NO_PASSWORD = b"\5\0"
_CONNECTED = b"\5\0\0\1" + bytes(6)
_Streams = tuple[StreamReader, StreamWriter]


class FilteringProxy:
    """A proxy on loopback. Its state is discarded when it is closed."""

    def __init__(self, policy: AddressPolicy, *, most_bytes: int, seconds: float) -> None:
        """Connect to addresses that *policy* allows, within *seconds*.

        *most_bytes* limits the bytes of a connection (0: no limit).
        """
        self._policy = policy
        self._most_bytes = most_bytes
        self._seconds = seconds
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.failures: dict[tuple[str, int], Exception | NotFetched] = {}
        """Why the last connection to a host and port failed; the last 1,000."""

    async def open(self) -> str:
        """Listen, and return the URL of the proxy."""
        if self._server is None:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return f"socks5://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        """Stop listening, and close all connections."""
        if self._server is not None:
            self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        connection = asyncio.ensure_future(self._serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        with suppress(OSError, EOFError, ValueError, asyncio.CancelledError):  # it is no request, or a side is gone
            try:
                async with asyncio.timeout(_HANDSHAKE_SECONDS):
                    place = await _destination(reader, writer)
                server = await self._connect(*place)
                if isinstance(server, tuple):
                    self.failures.pop(place, None)
                    writer.write(_CONNECTED)
                    await self._tunnel((reader, writer), server, place)
                else:
                    self._note(*place, server)
            finally:
                writer.close()

    async def _connect(self, host: str, port: int) -> _Streams | Exception | NotFetched:
        """Return a connection to *host*, or why there is none."""
        if refusal := self._policy.refuse_url(f"http://{f'[{host}]' if ':' in host else host}:{port}/"):
            return refusal
        try:
            async with asyncio.timeout(self._seconds):
                infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=SOCK_STREAM)
            found = [ip_address(info[4][0]) for info in infos]
            if not (good := self._policy.allow(host, port, found)):
                return self._policy.refusal(host, port, found)
            for address in good[:-1]:
                with suppress(OSError):
                    return await self._connection(address, port)
            return await self._connection(good[-1], port)
        except (OSError, ValueError) as error:  # including TimeoutError
            return error

    async def _connection(self, address: IPAddress, port: int) -> _Streams:
        async with asyncio.timeout(self._seconds):
            return await asyncio.open_connection(str(address), port)

    async def _tunnel(self, browser: _Streams, server: _Streams, place: tuple[str, int]) -> None:
        """Forward the bytes of both sides unchanged, up to the limit, until one side ends."""
        upload = asyncio.ensure_future(_forward(browser[0], server[1]))
        try:
            if await _forward(server[0], browser[1], self._most_bytes and self._most_bytes + _SPARE_BYTES):
                self._note(
                    *place,
                    DownloadCancelledError(
                        f"the response is larger than DOWNLOAD_MAXSIZE ({self._most_bytes:,} bytes)"
                    ),
                )
        finally:
            upload.cancel()
            server[1].close()

    def _note(self, host: str, port: int, failure: Exception | NotFetched) -> None:
        self.failures[host, port] = failure
        if len(self.failures) > _MAX_FAILURES:
            del self.failures[next(iter(self.failures))]


async def _destination(reader: StreamReader, writer: StreamWriter) -> tuple[str, int]:
    """Return the host and port to connect to. Raises :exc:`ValueError` for anything but a request of a browser."""
    version, methods = await reader.readexactly(2)
    if version != _VERSION:
        raise ValueError(version)
    await reader.readexactly(methods)
    writer.write(_NO_PASSWORD)
    *head, length = await reader.readexactly(5)
    if bytes(head) != _CONNECT_TO_NAME:
        raise ValueError(head)
    host = await reader.readexactly(length)
    return host.decode("ascii").lower(), int.from_bytes(await reader.readexactly(2), "big")


async def _forward(reader: StreamReader, writer: StreamWriter, most: int = 0) -> bool:
    """Forward all bytes, then close *writer*; return whether there are more than *most* (0: no limit)."""
    count = 0
    with suppress(OSError):
        while block := await reader.read(_BLOCK):
            count += len(block)
            if 0 < most < count:
                return True
            writer.write(block)
            await writer.drain()
    writer.close()
    return False
