"""A stand-in for the web: a proxy on this machine that answers for a few hosts, from a folder.

>>> with StandIn(folder) as web:
...     ...  # run something with http_proxy=web.url, https_proxy=web.url and SSL_CERT_FILE=web.authority
>>> web.requests
['https://www.example.com/robots.txt']

Each host is a folder of its name below *folder*, and each of its addresses a file: ``www.example.com/robots.txt``; an
address that ends in a slash is ``index.html``, and a page (no file ending) without a file is generated. All else is
404. A file ``.password`` in the folder of a host, such as ``user:secret``, closes it to requests without that password.
Files may be changed at any time.
"""

from __future__ import annotations

import base64
import hashlib
import html
import mimetypes
import threading
from email.utils import formatdate, parsedate_to_datetime
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import unquote, urlsplit

from tests.certificates import Authority

if TYPE_CHECKING:
    from http.client import HTTPMessage

_TYPES = {".xml": "application/xml", ".txt": "text/plain; charset=utf-8", ".gz": "application/gzip"}
_PAGE = "<!DOCTYPE html>\n<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>\n"
Answer = tuple[int, dict[str, str], bytes]


class StandIn:
    """Answers for the hosts of a folder and records the requests."""

    def __init__(self, folder: Path) -> None:
        self.requests: list[str] = []
        """Every requested address."""
        self.folder = folder
        self._authority = Authority()
        self._server = _Server(("127.0.0.1", 0), self._handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        """The address of the proxy."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def authority(self) -> bytes:
        """The certificate (PEM) of the authority for all hosts."""
        return self._authority.certificate

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, url: str, headers: HTTPMessage) -> Answer:
        """Return status, headers and body for a request of *url*."""
        self.requests.append(url)
        parts = urlsplit(url)
        site = self.folder / (parts.hostname or "nowhere")
        if not site.is_dir():
            return 404, {"Content-Type": "text/plain"}, b"there is no such host here\n"
        if (secret := site / ".password").exists() and not _is_authorized(secret.read_text("utf-8").strip(), headers):
            return 401, {"WWW-Authenticate": 'Basic realm="members"', "Content-Type": "text/plain"}, b"who are you?\n"
        path = PurePosixPath(unquote(parts.path or "/"))
        file = site.joinpath(*path.parts[1:], *(["index.html"] if parts.path.endswith("/") else []))
        if file.is_file() and ".." not in path.parts and file.name != ".password":
            return _of_a_file(file, headers)
        if path.suffix:
            return 404, {"Content-Type": "text/html"}, _PAGE.format(title="No such page").encode()
        title = html.escape(path.name.replace("-", " ").capitalize() or "Home")
        return 200, {"Content-Type": "text/html; charset=utf-8"}, _PAGE.format(title=title).encode()

    @cached_property
    def _handler(self) -> type[BaseHTTPRequestHandler]:
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 60
            disable_nagle_algorithm = True  # a body sent after its head waits 0.04 seconds otherwise
            host = ""

            def do_CONNECT(self) -> None:
                host = self.path.rpartition(":")[0]
                self.send_response(200)
                self.end_headers()
                tls = web._authority.server(host)
                self.connection = tls.wrap_socket(self.connection, server_side=True)
                self.rfile = self.connection.makefile("rb", self.rbufsize)
                self.wfile = self.connection.makefile("wb", 0)
                self.host = f"https://{host}"
                self.close_connection = False

            def do_GET(self) -> None:
                status, headers, body = web.answer(self.host + self.path, self.headers)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if "Content-Length" in headers:
                    self.close_connection = True  # it may be wrong
                else:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_HEAD = do_GET  # noqa: N815 - http.server looks for that name

            def finish(self) -> None:
                try:
                    super().finish()
                finally:
                    self.connection.close()  # the server only closes the connection below TLS

            def log_message(self, *_: Any) -> None:
                """Print nothing."""

        return Handler


def _of_a_file(file: Path, headers: HTTPMessage) -> Answer:
    body = file.read_bytes()
    etag, changed = f'"{hashlib.sha256(body).hexdigest()[:16]}"', int(file.stat().st_mtime)
    kind = _TYPES.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    response_headers = {"ETag": etag, "Last-Modified": formatdate(changed, usegmt=True), "Content-Type": kind}
    if tags := headers.get("If-None-Match"):
        is_known = etag in {tag.strip().removeprefix("W/") for tag in tags.split(",")}
    else:
        since = headers.get("If-Modified-Since")
        is_known = since is not None and changed <= parsedate_to_datetime(since).timestamp()
    return (304, response_headers, b"") if is_known else (200, response_headers, body)


def _is_authorized(secret: str, headers: HTTPMessage) -> bool:
    return headers.get("Authorization") == "Basic " + base64.b64encode(secret.encode()).decode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Print nothing: crawlers may close connections at any time."""
