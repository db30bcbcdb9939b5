"""A web site on this machine, for tests that download for real.

>>> with Site({"/robots.txt": "Sitemap: {site}/sitemap.xml"}) as site:
...     ...  # crawl site.url
>>> site.requests
['/robots.txt']
"""

from __future__ import annotations

import gzip
import itertools
import socket
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MAX_REQUESTS = 5_000  # a crawl that has lost its way must end
_LONGEST_HANG_SECONDS = 30


class Manner(StrEnum):
    """How a page is served."""

    WHOLE = "whole"
    CUT = "cut"
    """Half of the body, under a Content-Length for all of it; then the connection is closed."""
    HANG = "hang"
    """Nothing at all, until the site is stopped."""
    RESET = "reset"
    """The connection is torn down without an answer."""


@dataclass(frozen=True, slots=True)
class Page:
    """What is served at one path. In a ``str`` body and in headers ``{site}`` stands for the site's address."""

    body: bytes | str = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    manner: Manner = Manner.WHOLE
    delay: float = 0.0
    """Seconds before the answer."""


def moved(to: str) -> Page:
    """Return a permanent redirect."""
    return Page(status=301, headers={"Location": to})


class Site:
    """Serves pages by their path (with the query), and remembers every request."""

    def __init__(self, pages: dict[str, Page | str | bytes] | None = None, *, host: str = "127.0.0.1") -> None:
        self.pages = dict(pages or {})
        self.generate: Callable[[str], Page | str | bytes | None] | None = None
        """Makes the page of a path that is not in :attr:`pages`, if it is set."""
        self.requests: list[str] = []
        """The paths asked for, in order."""
        self.user_agents: set[str | None] = set()
        self.cookies: list[str | None] = []
        self._stopped = threading.Event()
        self._server = _Server((host, 0), self._handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        """The site's address, without a slash at its end."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    def count(self, path: str) -> int:
        """Return how often *path* was asked for."""
        return self.requests.count(path)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def page(self, path: str) -> Page:
        """Return what is served at *path*."""
        page = self.pages.get(path)
        if page is None and self.generate is not None:
            page = self.generate(path)
        if page is None or len(self.requests) > _MAX_REQUESTS:
            return Page(b"no such page", status=404)
        return page if isinstance(page, Page) else Page(page)

    @cached_property
    def _handler(self) -> type[BaseHTTPRequestHandler]:
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = _LONGEST_HANG_SECONDS

            def do_GET(self) -> None:
                site.requests.append(self.path)
                site.user_agents.add(self.headers["User-Agent"])
                site.cookies.append(self.headers["Cookie"])
                site._answer(self, site.page(self.path))

            def log_message(self, *_: Any) -> None:
                """Print nothing."""

        return Handler

    def _answer(self, handler: BaseHTTPRequestHandler, page: Page) -> None:
        if page.manner is not Manner.WHOLE:
            handler.close_connection = True
        if page.delay:
            self._stopped.wait(page.delay)
        if page.manner is Manner.HANG:
            self._stopped.wait(_LONGEST_HANG_SECONDS)
        elif page.manner is Manner.RESET:
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            handler.connection.close()
        else:
            self._send(handler, page)

    def _send(self, handler: BaseHTTPRequestHandler, page: Page) -> None:
        body = page.body.replace("{site}", self.url).encode() if isinstance(page.body, str) else page.body
        handler.send_response(page.status)
        for name, value in page.headers.items():
            handler.send_header(name, value.replace("{site}", self.url))
        if page.status != 204:
            handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        with suppress(ConnectionError):  # the crawler has had enough
            handler.wfile.write(body[: len(body) // 2] if page.manner is Manner.CUT else body)


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """Print nothing: crawlers hang up as they like."""


def robots(*sitemaps: str, disallow: Iterable[str] = ()) -> str:
    """Return a robots.txt."""
    rules = ["User-agent: *", *(f"Disallow: {path}" for path in disallow), ""]
    return "\n".join(
        [*rules, *(f"Sitemap: {{site}}{path}" if path[0] == "/" else f"Sitemap: {path}" for path in sitemaps)]
    )


def index(*children: str) -> str:
    """Return a sitemap index; a child that begins with a slash is a path of the site."""
    return _document("sitemapindex", "sitemap", children)


def urlset(*locs: str) -> str:
    """Return a sitemap; a URL that begins with a slash is a path of the site."""
    return _document("urlset", "url", locs)


def numbered(count: int, *, start: int = 1, prefix: str = "/p") -> list[str]:
    """Return the paths of *count* pages."""
    return [f"{prefix}{number}" for number in itertools.islice(itertools.count(start), count)]


def gzipped(text: str | bytes) -> bytes:
    """Return *text*, packed."""
    return gzip.compress(text.encode() if isinstance(text, str) else text, mtime=0)


def _document(root: str, entry: str, locs: Iterable[str]) -> str:
    entries = "".join(f"<{entry}><loc>{'{site}' if loc[:1] == '/' else ''}{loc}</loc></{entry}>\n" for loc in locs)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</{root}>\n'
    )
