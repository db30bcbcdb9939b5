"""A web server on this machine, for tests with real downloads: one site, served well or badly."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import ssl
    from email.message import Message

_MAX_REQUESTS = 5_000  # ends a crawl that loops
_LONGEST_HANG_SECONDS = 30
_SECONDS_A_DRIP = 0.1
_ENDLESS_BYTES = 200 * 1024 * 1024  # ends an endless body, in case the crawler does not
_BLOCK = 64 * 1024


class Manner(StrEnum):
    """How a page is served."""

    WHOLE = "whole"
    CUT = "cut"
    """Half of the body with a Content-Length for all of it; then the connection is closed."""
    TORN = "torn"
    """Half of the body with a Content-Length for all of it; then the connection is reset."""
    LIES_LONGER = "lies longer"
    """All of the body with a Content-Length for 1,000 bytes more; then the connection is closed."""
    LIES_SHORTER = "lies shorter"
    """All of the body with a Content-Length for half of it."""
    HANG = "hang"
    """No bytes until the site is stopped."""
    DRIP = "drip"
    """The body byte by byte, then spaces until the site is stopped."""
    ENDLESS = "endless"
    """The body, then spaces as fast as they are read, up to 200 MiB."""
    GARBAGE = "garbage"
    """The body alone, without a status or headers: no HTTP."""
    CLOSE = "close"
    """The connection is closed without a response."""
    RESET = "reset"
    """The connection is reset without a response."""


@dataclass(frozen=True, slots=True)
class Page:
    """The response of one path. In a ``str`` body and in headers ``{site}`` is replaced by the site's address."""

    body: bytes | str = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    manner: Manner = Manner.WHOLE
    delay: float = 0.0
    """Seconds before the response."""
    after: Callable[[], bool] | None = None
    """If set, the delay begins once this is true."""


Served = Page | str | bytes
Answers = Served | Callable[["Message"], Served]
"""The content of a path: a page, or a function that makes one from the headers of the request."""


class Site:
    """Serves pages by path (with the query) and records every request."""

    def __init__(
        self, pages: dict[str, Answers] | None = None, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
    ) -> None:
        self.pages: dict[str, Answers] = dict(pages or {})
        self.generate: Callable[[str], Served | None] | None = None
        """Makes the page of a path that is not in :attr:`pages`, if set."""
        self.max_requests = _MAX_REQUESTS
        """The number of requests after which the server is down."""
        self.knows_head = False
        """Whether HEAD is answered like GET, without the body; otherwise with 501."""
        self.requests: list[str] = []
        """The requested paths, in order; ``HEAD`` and a space precede those of HEAD requests."""
        self.times: list[tuple[float, str]] = []
        """The same, each with its time in seconds of the monotonic clock."""
        self.headers: list[tuple[str, Message]] = []
        """The paths of GET requests, each with the headers of its request."""
        self.user_agents: set[str | None] = set()
        self.cookies: list[str | None] = []
        self._scheme = "http" if tls is None else "https"
        self._stopped = threading.Event()
        self._server = _Server((host, 0), self._handler)
        if tls is not None:  # the handshake is left to the thread of its connection
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        """The site's address, without a slash at its end."""
        host, port = self._server.server_address[:2]
        return f"{self._scheme}://{host!s}:{port}"

    def sent(self, header: str) -> dict[str, set[str | None]]:
        """Return the values of *header* in the requests for each path; ``None`` where it was missing."""
        found: dict[str, set[str | None]] = {}
        for path, headers in self.headers:
            found.setdefault(path, set()).add(headers[header])
        return found

    def count(self, path: str) -> int:
        """Return how often *path* was requested."""
        return self.requests.count(path)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop serving and release the clients that wait."""
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def page(self, path: str, headers: Message) -> Page:
        """Return the response to a request for *path* with *headers*."""
        page = self.pages.get(path)
        if page is None and self.generate is not None:
            page = self.generate(path)
        if page is None or len(self.requests) > self.max_requests:
            return Page(b"no such page", status=404)
        if callable(page):
            page = page(headers)
        return page if isinstance(page, Page) else Page(page)

    @cached_property
    def _handler(self) -> type[BaseHTTPRequestHandler]:
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = _LONGEST_HANG_SECONDS
            disable_nagle_algorithm = True  # a body sent after its head waits 0.04 seconds otherwise

            def do_GET(self) -> None:
                site._note(self.path)
                site.headers.append((self.path, self.headers))
                site.user_agents.add(self.headers["User-Agent"])
                site.cookies.append(self.headers["Cookie"])
                site._answer(self, site.page(self.path, self.headers))

            def do_HEAD(self) -> None:
                site._note(f"HEAD {self.path}")
                if site.knows_head:
                    site._answer(self, site.page(self.path, self.headers))
                else:
                    self.send_error(501)

            def log_message(self, *_: Any) -> None:
                """Print nothing."""

        return Handler

    def _note(self, request: str) -> None:
        self.times.append((time.monotonic(), request))
        self.requests.append(request)

    def _answer(self, handler: BaseHTTPRequestHandler, page: Page) -> None:
        if page.manner is not Manner.WHOLE:
            handler.close_connection = True
        deadline = time.monotonic() + _LONGEST_HANG_SECONDS
        while page.after is not None and not page.after() and time.monotonic() < deadline:
            self._stopped.wait(0.02)
        if page.delay:
            self._stopped.wait(page.delay)
        if page.manner is Manner.HANG:
            self._stopped.wait(_LONGEST_HANG_SECONDS)
        elif page.manner is Manner.RESET:
            _tear(handler)
        elif page.manner is not Manner.CLOSE:
            with suppress(OSError):  # the crawler closed the connection
                self._send(handler, page)

    def _send(self, handler: BaseHTTPRequestHandler, page: Page) -> None:
        body = page.body.replace("{site}", self.url).encode() if isinstance(page.body, str) else page.body
        if page.manner is not Manner.GARBAGE:
            self._send_head(handler, page, len(body))
        if handler.command == "HEAD":
            return
        if page.manner is Manner.DRIP:
            self._drip(handler, body)
            return
        handler.wfile.write(body[: len(body) // 2] if page.manner in {Manner.CUT, Manner.TORN} else body)
        if page.manner is Manner.ENDLESS:
            for _ in range(_ENDLESS_BYTES // _BLOCK):
                handler.wfile.write(b" " * _BLOCK)
        elif page.manner is Manner.TORN:
            self._stopped.wait(_SECONDS_A_DRIP)  # unread data in the buffer would be lost with the connection
            _tear(handler)

    def _send_head(self, handler: BaseHTTPRequestHandler, page: Page, length: int) -> None:
        handler.send_response(page.status)
        for name, value in page.headers.items():
            handler.send_header(name, value.replace("{site}", self.url))
        if page.manner is Manner.LIES_LONGER:
            length += 1_000
        elif page.manner is Manner.LIES_SHORTER:
            length //= 2
        is_open = page.manner in {Manner.DRIP, Manner.ENDLESS} or "Transfer-Encoding" in page.headers
        if page.status != 204 and not is_open:
            handler.send_header("Content-Length", str(length))
        handler.end_headers()

    def _drip(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        for number in range(int(_LONGEST_HANG_SECONDS / _SECONDS_A_DRIP)):
            handler.wfile.write(body[number : number + 1] or b" ")
            if self._stopped.wait(_SECONDS_A_DRIP):
                return


def _tear(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """Print nothing: crawlers may close connections at any time."""
