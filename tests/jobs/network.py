"""A network of many small sites on loopback addresses of their own, which notices two crawls of one host at once."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable

_NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


class Network:
    """Sites at ``http://127.1.X.Y:PORT``. A site lists other URLs in each *version*."""

    def __init__(self, sites: int, *, delay: float = 0.0) -> None:
        """*delay*: seconds before each response."""
        self.delay = delay
        self.version = 0
        self.requests: dict[str, dict[Any, list[float]]] = defaultdict(dict)
        """The begin of the first request and the end of the last, by host and connection: each crawl has its own."""
        self._lock = threading.Lock()
        self._server = _Server(("0.0.0.0", 0), _handler(self._answer))
        port = self._server.server_address[1]
        self.sites = [f"http://127.1.{number // 250}.{number % 250 + 1}:{port}" for number in range(sites)]

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def pages(self, site: str) -> list[str]:
        """Return the URLs that *site* lists now: one is new in each version, and one is gone."""
        number = self.sites.index(site)
        return [f"{site}/{page}" for page in range(self.version, self.version + 3 + number % 5)]

    def overlapping(self) -> dict[str, list[list[float]]]:
        """Return the hosts of which two crawls made requests alternately, with the times of these crawls."""
        spans = {host: sorted(found.values()) for host, found in self.requests.items()}
        return {host: found for host, found in spans.items() if any(one[1] > two[0] for one, two in pairwise(found))}

    def _answer(self, connection: Any, host: str, path: str) -> tuple[int, str]:
        begin = time.monotonic()
        time.sleep(self.delay)
        with self._lock:
            self.requests[host].setdefault(connection, [begin, 0.0])[1] = time.monotonic()
        return self._page(f"http://{host}", path)

    def _page(self, site: str, path: str) -> tuple[int, str]:
        if site not in self.sites:
            return 404, ""
        if path == "/robots.txt":
            return 200, f"Sitemap: {site}/index.xml\n"
        if path == "/index.xml":
            return 200, f"<sitemapindex {_NAMESPACE}><sitemap><loc>{site}/1.xml</loc></sitemap></sitemapindex>"
        if path == "/1.xml":
            urls = "".join(f"<url><loc>{url}</loc></url>" for url in self.pages(site))
            return 200, f"<urlset {_NAMESPACE}>{urls}</urlset>"
        return 404, ""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Ignore that a client was killed."""

    request_queue_size = 128


def _handler(answer: Callable[[Any, str, str], tuple[int, str]]) -> Any:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, text = answer(self.client_address, self.headers["Host"], self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    return Handler
