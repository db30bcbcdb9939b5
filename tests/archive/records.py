"""WARC files as other programs write them."""

from __future__ import annotations

import gzip

URL = "http://a.example/robots.txt"


def record(
    body: str, *, kind: str = "response", url: str = URL, date: str = "2020-01-02T03:04:05Z", more: str = ""
) -> bytes:
    """Return a record whose block is *body*."""
    lines = ("WARC/1.0", f"WARC-Type: {kind}", f"WARC-Date: {date}", f"WARC-Target-URI: {url}", *more.splitlines())
    content = body.encode("latin-1")
    head = "\r\n".join((*lines, "Content-Type: application/http; msgtype=response", f"Content-Length: {len(content)}"))
    return f"{head}\r\n\r\n".encode() + content + b"\r\n\r\n"


def http(body: str, *headers: str, status: str = "200 OK") -> str:
    return "\r\n".join((f"HTTP/1.1 {status}", *headers, "", body))


def packed(*records: bytes) -> bytes:
    return b"".join(map(gzip.compress, records))
