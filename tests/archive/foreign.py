"""Archives with the structure that other programs give them, made from the responses of a site.

Common Crawl: src/java/org/commoncrawl/util/WarcRecordWriter.java and WarcWriter.java of github.com/commoncrawl/nutch.
Heritrix: modules/src/main/java/org/archive/modules/warc of github.com/internetarchive/heritrix3.
Browsertrix: src/util/recorder.ts, reqresp.ts and wacz.ts of github.com/webrecorder/browsertrix-crawler.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import socket
import zipfile
import zlib
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Iterable

DATE = "2024-07-22T12:07:55Z"
Fields = dict[str, str]


@dataclass(frozen=True)
class Exchange:
    """A request and its response, as they were on the wire."""

    url: str
    request: bytes
    status: str
    headers: list[tuple[str, str]]
    raw: bytes
    """The body, with its chunks."""

    def header(self, name: str) -> str:
        return next((value for one, value in self.headers if one.lower() == name), "")

    @property
    def response(self) -> bytes:
        return head(self.status, self.headers) + self.raw

    @property
    def body(self) -> bytes:
        """The body without its transfer encoding."""
        if self.header("transfer-encoding") != "chunked":
            return self.raw
        body, rest = b"", self.raw
        while (size := int((parts := rest.partition(b"\r\n"))[0], 16)) != 0:
            body, rest = body + parts[2][:size], parts[2][size + 2 :]
        return body

    @property
    def decoded(self) -> bytes:
        """The body without its content encoding, as far as it can be decoded."""
        if self.header("content-encoding") != "gzip":
            return self.body
        return zlib.decompressobj(31).decompress(self.body)

    @property
    def is_cut(self) -> bool:
        return len(self.raw) < int(self.header("content-length") or 0) and not self.header("transfer-encoding")


def head(status: str, headers: Iterable[tuple[str, str]]) -> bytes:
    lines = [status, *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def fetched(url: str) -> Exchange:
    """Return the response to a request for *url*, byte by byte."""
    parts = urlsplit(url)
    lines = (
        f"GET {parts.path} HTTP/1.1",
        f"Host: {parts.netloc}",
        "Accept-Encoding: gzip",
        "Connection: close",
        "",
        "",
    )
    request = "\r\n".join(lines).encode()
    with socket.create_connection((parts.hostname, parts.port)) as connection:
        connection.sendall(request)
        response = b"".join(iter(lambda: connection.recv(65_536), b""))
    begin, _, body = response.partition(b"\r\n\r\n")
    status, *found = begin.decode("latin-1").split("\r\n")
    return Exchange(
        url, request, status, [(name, value) for name, _, value in (one.partition(": ") for one in found)], body
    )


def member(kind: str, fields: Fields, block: bytes, *, version: str = "1.0", content_type: str = "") -> bytes:
    """Return a record as a gzip member."""
    default = f"application/http; msgtype={'request' if kind == 'request' else 'response'}"
    lines = {
        "WARC-Type": kind,
        "WARC-Date": DATE,
        "WARC-Record-ID": new_id(),
        "Content-Length": str(len(block)),
        "Content-Type": content_type or default,
        **fields,
    }
    begin = "\r\n".join((f"WARC/{version}", *(f"{name}: {value}" for name, value in lines.items()), "", ""))
    return gzip.compress(begin.encode() + block + b"\r\n\r\n")


def new_id() -> str:
    return f"<urn:uuid:{uuid4()}>"


def sha1(data: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode()


def common_crawl(exchanges: Iterable[Exchange], *, is_old: bool = False) -> bytes:
    """Return a file of Common Crawl: bodies are decoded. *is_old*: as before 2018, the headers are as they were."""
    info = new_id()
    facts = b"isPartOf: CC-MAIN-2024-30\r\npublisher: Common Crawl\r\nformat: WARC File Format 1.1\r\n"
    fields = {"WARC-Record-ID": info, "WARC-Filename": "CC-MAIN-20240722095039-20240722125039-00410.warc.gz"}
    members = [member("warcinfo", fields, facts, content_type="application/warc-fields")]
    for one in exchanges:
        body, request, response = one.decoded, new_id(), new_id()
        headers = []
        for name, value in one.headers:
            is_renamed = name.lower() in {"content-encoding", "content-length", "transfer-encoding"} and not is_old
            headers.append((f"X-Crawler-{name}" if is_renamed else name, value))
            if is_renamed and name.lower() == "content-length":
                headers.append(("Content-Length", str(len(body))))
        block = head(one.status, headers) + body
        shared = {"WARC-Warcinfo-ID": info, "WARC-IP-Address": "127.0.0.1", "WARC-Target-URI": one.url}
        fields = {
            "WARC-Record-ID": response,
            "WARC-Warcinfo-ID": info,
            "WARC-Concurrent-To": request,
            **shared,
            "WARC-Protocol": "http/1.1",
            "WARC-Payload-Digest": sha1(body),
            "WARC-Block-Digest": sha1(block),
            **({"WARC-Truncated": "disconnect"} if one.is_cut else {}),
            "WARC-Identified-Payload-Type": "application/xml",
        }
        about = {"WARC-Warcinfo-ID": info, "WARC-Concurrent-To": response, "WARC-Target-URI": one.url}
        members += [
            member("request", {"WARC-Record-ID": request, **shared}, one.request),
            member("response", fields, block),
            member("metadata", about, b"fetchTimeMs: 12\r\n\r\n", content_type="application/warc-fields"),
        ]
    return b"".join(members)


def heritrix(exchanges: Iterable[Exchange]) -> bytes:
    """Return a file of Heritrix: each body as it was sent, and all of them visited again without a change."""
    facts = b"software: Heritrix/3.4.0 http://crawler.archive.org\r\nrobots: obey\r\n\r\n"
    members = [member("warcinfo", {"WARC-Filename": "WEB-1.warc.gz"}, facts, content_type="application/warc-fields")]
    dns = {"WARC-Target-URI": "dns:a.example"}
    members.append(member("response", dns, b"20240722120755\na.example. 60 IN A 127.0.0.1\n", content_type="text/dns"))
    profile = "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest"
    for one in exchanges:
        response, place = new_id(), {"WARC-Target-URI": one.url, "WARC-IP-Address": "127.0.0.1"}
        digest = {"WARC-Payload-Digest": sha1(one.body)}
        cut = {"WARC-Truncated": "disconnect"} if one.is_cut else {}
        about = {"WARC-Concurrent-To": response, "WARC-Target-URI": one.url}
        later = {
            "WARC-Date": "2024-08-22T12:07:55Z", "WARC-Profile": profile, "WARC-Truncated": "length",
            "WARC-Refers-To-Target-URI": one.url, "WARC-Refers-To-Date": DATE, **place, **digest,
        }  # fmt: skip
        members += [
            member("response", {"WARC-Record-ID": response, **place, **digest, **cut}, one.response),
            member("request", {**place, "WARC-Concurrent-To": response}, one.request),
            member("metadata", about, b"hopsFromSeed: M\r\n\r\n", content_type="application/warc-fields"),
            member("revisit", later, head(one.status, one.headers)),
        ]
    return b"".join(members)


def browsertrix(exchanges: Iterable[Exchange]) -> bytes:
    """Return a WACZ file of Browsertrix: bodies are decoded by the browser."""
    members = [
        member("warcinfo", {"WARC-Filename": "rec-0.warc.gz"}, b"software: Browsertrix-Crawler 1.6\r\n", version="1.1")
    ]
    for one in exchanges:
        response, body = new_id(), one.decoded
        encodings = ("content-encoding", "transfer-encoding")
        lower = [(name.lower(), value) for name, value in one.headers]
        headers = [(f"x-orig-{name}" if name in encodings else name, value) for name, value in lower]
        headers = [(name, str(len(body)) if name == "content-length" and body else value) for name, value in headers]
        shared = {"WARC-Target-URI": one.url, "WARC-Date": "2024-07-22T12:07:55.123Z", "WARC-Page-ID": "1"}
        fields = {"WARC-Record-ID": response, "WARC-Resource-Type": "document", "WARC-JSON-Metadata": "{}", **shared}
        fields |= {"WARC-Truncated": "disconnect"} if one.is_cut else {}
        info = {**shared, "WARC-Target-URI": f"urn:pageinfo:{one.url}"}
        members += [
            member("response", fields, head(one.status, headers) + body, version="1.1"),
            member("request", {**shared, "WARC-Concurrent-To": response}, one.request, version="1.1"),
            member("resource", info, b"{}", version="1.1", content_type="application/json"),
        ]
    with zipfile.ZipFile(file := BytesIO(), "w") as archive:
        archive.writestr("archive/rec-0.warc.gz", b"".join(members))
        archive.writestr("indexes/index.cdx.gz", gzip.compress(b""))
        archive.writestr("pages/pages.jsonl", '{"format": "json-pages-1.0"}\n', zipfile.ZIP_DEFLATED)
        archive.writestr("datapackage.json", json.dumps({"profile": "data-package", "wacz_version": "1.1.1"}))
    return file.getvalue()
