"""``FilteringProxy``: the browser's local proxy, which resolves hosts and rejects private addresses.

A browser follows redirects, frames and scripts by itself, and resolves hosts at any
time. Behind a proxy it does not resolve them at all, so the checked address is the one
connected to, as in :mod:`sitemap_harvest.integration.download_handler`.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from asyncio import StreamReader, StreamWriter
from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from socket import SOCK_STREAM
from typing import TYPE_CHECKING, Any, Self

from sitemap_harvest.discovery.candidate import NotFetched

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

    from sitemap_harvest.network.address_policy import AddressPolicy
    from sitemap_harvest.network.ip_ranges import IPAddress

_HEAD_BYTES = 64 * 1024
_BLOCK = 64 * 1024
_HEAD_SECONDS = 60  # browsers open connections before they need them
_MAX_FAILURES = 1000
_SPARE_BYTES = 1024 * 1024  # for headers and handshake, in addition to the maximum size of a body
_USER = "harvest"
_END = b"\r\n\r\n"
_HOP_BY_HOP = (b"proxy-", b"connection:", b"keep-alive:")
_WHO_ARE_YOU = (
    b"HTTP/1.1 407 Proxy Authentication Required\r\n"
    b'Proxy-Authenticate: Basic realm="harvest"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
)
_TARGET = re.compile(rb"(?:(?:http|ws)://)?(\[[^\]/]+\]|[^:/\s]+)(?::(\d{1,5}))?(/.*)?", re.DOTALL)
_Streams = tuple[StreamReader, StreamWriter]


class BodyLimitError(Exception):
    """A connection received more bytes than a document may have."""


class FilteringProxy:
    """A proxy on loopback with a password. Its state is discarded when it is closed."""

    def __init__(self, policy: AddressPolicy, *, most_bytes: int, seconds: float) -> None:
        """Connect to addresses that *policy* allows, within *seconds*.

        *most_bytes* limits the bytes of a connection (0: no limit).
        """
        self._policy = policy
        self._most_bytes = most_bytes
        self._seconds = seconds
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._failures: dict[tuple[str, int], Exception | NotFetched] = {}
        self._word = secrets.token_urlsafe()
        self._password = b"Basic " + b64encode(f"{_USER}:{self._word}".encode())

    async def open(self) -> None:
        """Start listening, if it is not listening yet."""
        if self._server is None:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_HEAD_BYTES)

    async def close(self) -> None:
        """Stop listening, and close all connections."""
        if self._server is not None:
            self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    @property
    def proxy(self) -> dict[str, str]:
        """The proxy options for the browser."""
        assert self._server is not None  # noqa: S101 - for mypy: open() was called before
        port = self._server.sockets[0].getsockname()[1]
        return {
            "server": f"http://127.0.0.1:{port}",
            "username": _USER,
            "password": self._word,
            "bypass": "<-loopback>",  # no exceptions, not even for loopback
        }

    def failure(self, host: str, port: int) -> Exception | NotFetched | None:
        """Return why the last connection to *host* at *port* failed; ``None`` if none has failed."""
        return self._failures.get((host, port))

    async def _accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - for mypy: it runs as a task
        self._connections.add(task)
        try:
            await self._serve(reader, writer)
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass  # the browser disconnected, or the run ends
        finally:
            self._connections.discard(task)
            writer.close()

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        async with asyncio.timeout(_HEAD_SECONDS):
            head = _Head.read(await reader.readuntil(_END))
        if head is None:
            return
        if not any(secrets.compare_digest(self._password, given) for given in head.values(b"proxy-authorization")):
            writer.write(_WHO_ARE_YOU)
            await writer.drain()
            return
        place = head.host, head.port
        try:
            server = await self._connect(*place)
        except (OSError, ValueError) as error:  # including TimeoutError
            self._note(*place, error)
            return
        if isinstance(server, NotFetched):
            self._note(*place, server)
            return
        self._failures.pop(place, None)
        try:
            if head.method == b"CONNECT":
                await self._tunnel((reader, writer), server, place)
            else:
                await self._exchange((reader, writer), server, place, head)
        finally:
            server[1].close()

    async def _connect(self, host: str, port: int) -> _Streams | NotFetched:
        """Return a connection to *host*, or why it is not allowed. Raises :exc:`OSError` if it fails."""
        if refusal := self._policy.refuse_url(f"http://{f'[{host}]' if ':' in host else host}:{port}/"):
            return refusal
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(self._seconds):
            found = [ip_address(info[4][0]) for info in await loop.getaddrinfo(host, port, type=SOCK_STREAM)]
        if not (good := self._policy.allow(host, port, found)):
            return self._policy.refusal(host, port, found)
        for address in good[:-1]:
            with suppress(OSError):
                return await self._connection(address, port)
        return await self._connection(good[-1], port)

    async def _connection(self, address: IPAddress, port: int) -> _Streams:
        async with asyncio.timeout(self._seconds):
            return await asyncio.open_connection(str(address), port, limit=_HEAD_BYTES)

    async def _tunnel(self, browser: _Streams, server: _Streams, place: tuple[str, int]) -> None:
        """Forward the bytes of both sides unchanged, until one side ends."""
        browser[1].write(b"HTTP/1.1 200 OK\r\n\r\n")
        await _first_to_end(_pass_on(browser[0], server[1]), self._bring(server[0], browser[1], place))

    async def _exchange(self, browser: _Streams, server: _Streams, place: tuple[str, int], head: _Head) -> None:
        """Forward one request and its response.

        The connection is then closed, because the next request might be for another
        host.
        """
        server[1].write(head.for_server())
        if head.length:
            server[1].write(await browser[0].readexactly(head.length))
        await _first_to_end(browser[0].read(1), self._answer(server[0], browser[1], place))

    async def _answer(self, server: StreamReader, browser: StreamWriter, place: tuple[str, int]) -> None:
        """Forward a response, and tell the browser that the connection ends with it."""
        is_final = False
        while not is_final:
            line, *headers = (await server.readuntil(_END)).removesuffix(_END).split(b"\r\n")
            is_final = not re.match(rb"HTTP/1\.\d 1(?!01)", line)
            browser.write(_head_of(line, headers))
        await self._bring(server, browser, place)

    async def _bring(self, server: StreamReader, browser: StreamWriter, place: tuple[str, int]) -> None:
        """Forward the bytes of *server*, up to the limit."""
        count = 0
        while block := await server.read(_BLOCK):
            count += len(block)
            if self._most_bytes and count > self._most_bytes + _SPARE_BYTES:
                self._note(*place, BodyLimitError())
                return
            browser.write(block)
            await browser.drain()

    def _note(self, host: str, port: int, failure: Exception | NotFetched) -> None:
        self._failures[host, port] = failure
        if len(self._failures) > _MAX_FAILURES:
            del self._failures[next(iter(self._failures))]


@dataclass(frozen=True, slots=True)
class _Head:
    """The request line and headers of a request from the browser."""

    method: bytes
    host: str
    port: int
    path: bytes
    headers: list[bytes]

    @classmethod
    def read(cls, text: bytes) -> Self | None:
        """Parse *text*; ``None`` if it is not a request to a proxy."""
        line, *headers = text.removesuffix(_END).split(b"\r\n")
        method, target, _ = line.split(b" ", 2)
        if (parts := _TARGET.fullmatch(target)) is None:
            return None
        return cls(
            method, parts[1].decode("latin-1").strip("[]").lower(), int(parts[2] or 80), parts[3] or b"/", headers
        )

    @property
    def length(self) -> int:
        """Length of the body that follows."""
        return next((int(value) for value in self.values(b"content-length")), 0)

    def values(self, name: bytes) -> Iterator[bytes]:
        """Yield the values of the headers *name*."""
        for header in self.headers:
            given, _, value = header.partition(b":")
            if given.strip().lower() == name:
                yield value.strip()

    def for_server(self) -> bytes:
        """Return the head in the form for the server."""
        return _head_of(self.method + b" " + self.path + b" HTTP/1.1", self.headers)


def _head_of(line: bytes, headers: list[bytes]) -> bytes:
    """Return *line* and *headers* without hop-by-hop headers: each connection is for one request."""
    kept = [header for header in headers if not header.lower().startswith(_HOP_BY_HOP)]
    return b"\r\n".join([line, *kept, b"Connection: close", b"", b""])


async def _pass_on(reader: StreamReader, writer: StreamWriter) -> None:
    while block := await reader.read(_BLOCK):
        writer.write(block)
        await writer.drain()


async def _first_to_end(*works: Coroutine[Any, Any, Any]) -> None:
    """Wait for the first of *works* to end, and cancel the others."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
