"""The way out of the browser: a proxy on this machine that looks hosts up, and connects to what may be connected to.

A browser follows redirects, frames and scripts by itself, and looks hosts up
when it likes. Behind a proxy it does not look them up at all: so what passed
is what is connected to, as in :mod:`sitemap_harvest.crawl.guarded`.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from base64 import b64encode
from contextlib import suppress
from ipaddress import ip_address
from socket import SOCK_STREAM, gaierror
from typing import TYPE_CHECKING

from sitemap_harvest.plan import Refusal  # noqa: TC001 - mypy

if TYPE_CHECKING:
    from sitemap_harvest.plan import Reach
    from sitemap_harvest.plan.networks import IPAddress

_HEAD_BYTES = 64 * 1024
_BLOCK = 64 * 1024
_HEAD_SECONDS = 60  # browsers open connections before they need them
_MAX_FAILURES = 1000
_SPARE_BYTES = 1024 * 1024  # for the headers, and the handshake, of what may be as large as it may be
_USER = "harvest"
_TARGET = re.compile(rb"(?:(?:http|ws)://)?(\[[^\]/]+\]|[^:/\s]+)(?::(\d{1,5}))?(/.*)?", re.DOTALL)


class TooMuchError(Exception):
    """A connection brought more bytes than a document may have."""


class Gate:
    """A proxy on loopback, for who knows its password. It forgets what it did when it is closed."""

    def __init__(self, reach: Reach, *, most_bytes: int, seconds: float) -> None:
        """Connect to what *reach* admits, within *seconds*; one connection may bring *most_bytes* (0: any number)."""
        self._reach = reach
        self._most_bytes = most_bytes
        self._seconds = seconds
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._failures: dict[tuple[str, int], Exception | Refusal] = {}
        self._password = secrets.token_urlsafe()
        self._authorization = b"Basic " + b64encode(f"{_USER}:{self._password}".encode())

    async def open(self) -> None:
        """Listen, if it does not yet."""
        if self._server is None:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_HEAD_BYTES)

    async def close(self) -> None:
        """Listen no more, and cut what is connected."""
        if self._server is not None:
            self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    @property
    def proxy(self) -> dict[str, str]:
        """What a browser has to be told of it."""
        assert self._server is not None  # noqa: S101 - open() comes first; this tells mypy
        port = self._server.sockets[0].getsockname()[1]
        return {
            "server": f"http://127.0.0.1:{port}",
            "username": _USER,
            "password": self._password,
            "bypass": "<-loopback>",  # nothing passes by it
        }

    def failure(self, host: str, port: int) -> Exception | Refusal | None:
        """Return why the last connection to *host* at *port* came to nothing; ``None`` if none has."""
        return self._failures.get((host, port))

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - it runs as one; this tells mypy
        self._connections.add(task)
        try:
            await self._serve(reader, writer)
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass  # the browser has gone, or the run ends
        finally:
            self._connections.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _HEAD_SECONDS)
        line, *headers = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
        method, target, _ = line.split(b" ", 2)
        if not any(_is(header, b"proxy-authorization", self._authorization) for header in headers):
            writer.write(
                b"HTTP/1.1 407 Proxy Authentication Required\r\n"
                b'Proxy-Authenticate: Basic realm="harvest"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
            )
            await writer.drain()
            return
        if (parts := _TARGET.fullmatch(target)) is None:
            return
        host, port = parts[1].decode("latin-1").strip("[]").lower(), int(parts[2] or 80)
        try:
            there, away = await self._connect(host, port)
        except (OSError, ValueError, TimeoutError) as error:
            self._note(host, port, error)
            return
        if there is None or away is None:
            return
        self._failures.pop((host, port), None)
        try:
            if method == b"CONNECT":
                writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            else:
                away.write(_request(method, parts[3] or b"/", headers))
            await self._relay(reader, writer, there, away, place=(host, port))
        finally:
            away.close()

    async def _connect(
        self, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | tuple[None, None]:
        """Return a connection to *host*; none if it is not admitted. Raises :exc:`OSError` where there is no way."""
        if refusal := self._reach.refuse_url(f"http://{f'[{host}]' if ':' in host else host}:{port}/"):
            self._note(host, port, refusal)
            return None, None
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(self._seconds):
            found = [ip_address(info[4][0]) for info in await loop.getaddrinfo(host, port, type=SOCK_STREAM)]
        if not (good := self._reach.admit(host, port, found)):
            self._note(host, port, self._reach.refusal(host, port, found))
            return None, None
        return await self._first_of(good, port)

    async def _first_of(
        self, addresses: list[IPAddress], port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        for number, address in enumerate(addresses, start=1):
            try:
                async with asyncio.timeout(self._seconds):
                    return await asyncio.open_connection(str(address), port)
            except (OSError, TimeoutError):
                if number == len(addresses):
                    raise
        raise gaierror("no address")

    async def _relay(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        there: asyncio.StreamReader,
        away: asyncio.StreamWriter,
        *,
        place: tuple[str, int],
    ) -> None:
        """Pass on what comes from both sides until the other side has said all."""
        sending = asyncio.create_task(_pass_on(reader, away))
        try:
            count = 0
            while block := await there.read(_BLOCK):
                count += len(block)
                if self._most_bytes and count > self._most_bytes + _SPARE_BYTES:
                    self._note(*place, TooMuchError())
                    return
                writer.write(block)
                await writer.drain()
        finally:
            sending.cancel()
            with suppress(asyncio.CancelledError):
                await sending

    def _note(self, host: str, port: int, failure: Exception | Refusal) -> None:
        self._failures[host, port] = failure
        if len(self._failures) > _MAX_FAILURES:
            del self._failures[next(iter(self._failures))]


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while block := await reader.read(_BLOCK):
            writer.write(block)
            await writer.drain()


def _request(method: bytes, path: bytes, headers: list[bytes]) -> bytes:
    """Return the head of a request as the server gets it: one for each connection, so that bodies end with it."""
    kept = [header for header in headers if not header.lower().startswith((b"proxy-", b"connection:"))]
    return b"\r\n".join([method + b" " + path + b" HTTP/1.1", *kept, b"Connection: close", b"", b""])


def _is(header: bytes, name: bytes, value: bytes) -> bool:
    given, _, text = header.partition(b":")
    return given.strip().lower() == name and secrets.compare_digest(text.strip(), value)
