"""A server on this machine that writes any bytes, including invalid HTTP: each response is an iterator of bytes."""

from __future__ import annotations

import socketserver
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Self

Answer = Callable[[], Iterable[bytes]]
"""The response of a path: yields status line, headers and body as they are sent."""

_LONGEST_SECONDS = 60  # after which an endless response ends
_LARGEST_BYTES = 400 * 1024 * 1024


class Flood:
    """Answers each path with the bytes that its function yields, status line and headers included; others with 404."""

    def __init__(self, answers: dict[str, Answer], *, host: str = "127.0.0.1") -> None:
        self.answers = answers
        self.requests: list[str] = []
        self._server = _Server((host, 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        """The site's address, without a slash at its end."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[socketserver.StreamRequestHandler]:
        flood = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                path = self.rfile.readline().split(b" ")[1].decode()
                while self.rfile.readline().strip():
                    pass
                flood.requests.append(path)
                answer = flood.answers.get(path)
                blocks = answer() if answer else [b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"]
                with suppress(OSError):  # the crawler closed the connection
                    self._write(blocks)

            def _write(self, blocks: Iterable[bytes]) -> None:
                written, ends = 0, time.monotonic() + _LONGEST_SECONDS
                for block in blocks:
                    self.wfile.write(block)
                    written += len(block)
                    if written > _LARGEST_BYTES or time.monotonic() > ends:
                        return

        return Handler


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 512

    def handle_error(self, *_: object) -> None:
        """Print nothing: crawlers may close connections at any time."""
