"""``ArchiveWriter``: writes requests and responses as WARC 1.1, each record a gzip member of its own.

A record is compressed in memory and appended at once, so that a killed process leaves at most
one incomplete member, at the end of its file.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from io import BytesIO
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

from warcio.statusandheaders import StatusAndHeaders
from warcio.timeutils import datetime_to_iso_date
from warcio.warcwriter import WARCWriter

from sitemap_harvest.archive.captures import Original
from sitemap_harvest.files import sync
from sitemap_harvest.redact import suggests_secret, without_credentials
from sitemap_harvest.urls import document_key, without_user

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

MAX_BYTES = 1_000_000_000
"""Size of a file after which the next one is begun."""
_SPEC = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_PROFILES = "http://netpreserve.org/warc/1.1/revisit/"
_SECRETS = frozenset({"authorization", "proxy-authorization", "cookie", "cookie2", "set-cookie", "set-cookie2"})
_MOST_KEPT = 100_000  # digests of the documents written last, some 30 MB

Headers: TypeAlias = "Sequence[tuple[bytes, bytes]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request and its response."""

    url: str
    at: datetime
    """When the request was sent, in UTC."""
    sent: tuple[str, Headers] | None
    """The method and the headers of the request; ``None`` if they are not known."""
    status: int
    headers: Headers
    """Of the response."""
    body: bytes
    """Without its transfer encoding, with its content encoding."""
    reason: bytes | None = None
    """The text after the status; ``None``: it is not known, and the usual one is written."""
    protocol: str = "HTTP/1.1"
    ip_address: str | None = None
    truncated: str | None = None
    """Why the body is cut: ``length``, ``disconnect`` or ``unspecified``; ``None``: it is not."""


class ArchiveWriter:
    """Writes the WARC files of one run. Their names begin with its ID. Threads may share it."""

    def __init__(
        self,
        folder: Path,
        run_id: str,
        info: Mapping[str, str],
        *,
        last: Callable[[str], Original | None] | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        """*info* describes the run. *last* returns the last response for a URL, as :meth:`Captures.last` does."""
        self._folder, self._run_id, self._info = folder, run_id, info
        self._last = last or (lambda _: None)
        self._max_bytes = max_bytes
        self._known: dict[str, Original] = {}
        self._lock = threading.Lock()
        self._builder: Any = _Writer(BytesIO(), warc_version="WARC/1.1")
        self._file: BinaryIO | None = None
        self._number = 0
        self._info_id = ""

    def write(self, exchange: Exchange) -> None:
        """Append the records of *exchange*. Raises :exc:`OSError`; then the file ends before them."""
        exchange = replace(exchange, url=without_user(exchange.url))
        with self._lock:
            records = [response := self._response(exchange)]
            if exchange.sent is not None:
                records.append(self._request(exchange, *exchange.sent, response))
            self._add(*records)

    def write_failure(self, url: str, at: datetime, facts: Mapping[str, str]) -> None:
        """Append a record with *facts* about a request for *url*, sent at *at*, that got no response.

        The first one is :data:`FETCH_ERROR`. Raises :exc:`OSError`; then the file ends before the record.
        """
        lines = (f"{name}: {' '.join(value.split())}\r\n" for name, value in facts.items())
        block = "".join(lines).encode()
        record = self._builder.create_warc_record(
            without_user(url),
            "metadata",
            payload=BytesIO(block),
            length=len(block),
            warc_headers_dict={"WARC-Date": _date(at)},
        )
        with self._lock:
            self._add(record)

    def _add(self, *records: Any) -> None:
        file = self._file or self._next_file()
        for record in records:
            record.rec_headers.add_header("WARC-Warcinfo-ID", self._info_id)
        self._append(file, *records)
        if file.tell() >= self._max_bytes:
            self._close()

    def close(self) -> None:
        """Close the file, if there is one. Raises :exc:`OSError`."""
        with self._lock:
            self._close()

    def _response(self, exchange: Exchange) -> Any:
        fields = {"WARC-Date": _date(exchange.at)}
        if exchange.ip_address:
            fields["WARC-IP-Address"] = exchange.ip_address
        if exchange.truncated:
            fields["WARC-Truncated"] = exchange.truncated
        head = _RecordHead(f"{exchange.protocol} {exchange.status} {_reason(exchange)}", _honest(exchange))
        if exchange.status == 304:
            return self._revisit("server-not-modified", exchange.url, self._earlier(exchange.url), fields, head)
        record = self._builder.create_warc_record(
            exchange.url,
            "response",
            payload=BytesIO(exchange.body),
            length=len(exchange.body),
            warc_headers_dict=fields,
            http_headers=head,
        )
        digest = record.rec_headers.get_header("WARC-Payload-Digest")
        if exchange.status != 200 or not exchange.body or exchange.truncated:
            return record
        if (earlier := self._earlier(exchange.url)) is not None and earlier.digest == digest:
            fields |= {"WARC-Payload-Digest": digest, "WARC-Truncated": "length"}  # its body is left out
            return self._revisit("identical-payload-digest", exchange.url, earlier, fields, head)
        record_id = record.rec_headers.get_header("WARC-Record-ID")
        self._keep(Original(exchange.url, fields["WARC-Date"], record_id, digest))
        return record

    def _revisit(
        self, profile: str, url: str, earlier: Original | None, fields: dict[str, str], head: _RecordHead
    ) -> Any:
        fields["WARC-Profile"] = _PROFILES + profile
        if earlier is not None:
            fields |= {"WARC-Refers-To-Target-URI": earlier.url, "WARC-Refers-To-Date": earlier.date}
            if earlier.record_id:
                fields["WARC-Refers-To"] = earlier.record_id
        return self._builder.create_warc_record(url, "revisit", warc_headers_dict=fields, http_headers=head)

    def _request(self, exchange: Exchange, method: str, headers: Headers, response: Any) -> Any:
        parts = urlsplit(exchange.url)
        target = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
        names = {name.lower() for name, _ in headers}
        host = [] if b"host" in names else [(b"Host", parts.netloc.rpartition("@")[2].encode())]
        fields = {
            name: response.rec_headers.get_header(name)
            for name in ("WARC-Date", "WARC-IP-Address")
            if response.rec_headers.get_header(name)
        }
        fields["WARC-Concurrent-To"] = response.rec_headers.get_header("WARC-Record-ID")
        shown = [one for one in headers if not suggests_secret(one[0].decode("latin-1"))]
        head = _RecordHead(f"{method} {target} HTTP/1.1", [*host, *shown])
        return self._builder.create_warc_record(exchange.url, "request", warc_headers_dict=fields, http_headers=head)

    def _earlier(self, url: str) -> Original | None:
        return self._known.get(document_key(url)) or self._last(url)

    def _keep(self, original: Original) -> None:
        key = document_key(original.url)
        self._known.pop(key, None)
        self._known[key] = original
        if len(self._known) > _MOST_KEPT:
            del self._known[next(iter(self._known))]

    def _next_file(self) -> BinaryIO:
        self._number += 1
        path = self._folder / f"{self._run_id}-{self._number:05}.warc.gz"
        file = path.open("xb", buffering=0)
        facts = {
            "software": self._info["software"],
            "format": "WARC File Format 1.1",
            "conformsTo": _SPEC,
            **self._info,
        }
        record = self._builder.create_warcinfo_record(path.name, facts)
        self._info_id = record.rec_headers.get_header("WARC-Record-ID")
        try:
            self._append(file, record)
        except OSError:
            file.close()
            path.unlink()
            raise
        self._file = file
        return file

    def _append(self, file: BinaryIO, *records: Any) -> None:
        """Append *records*, each as a gzip member, or nothing."""
        members = BytesIO()
        writer = _Writer(members)
        for record in records:
            writer.write_record(record)
        data, begin = memoryview(members.getbuffer()), file.tell()
        try:
            while data:
                data = data[file.write(data) :]
        except OSError as error:
            error.filename = file.name  # no file is named in an error of writing
            file.truncate(begin)
            file.seek(begin)
            raise

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()
            sync(file.name)
            sync(self._folder)


class _Writer(WARCWriter):  # type: ignore[misc]  # warcio has no type hints
    NO_PAYLOAD_DIGEST_TYPES = (*WARCWriter.NO_PAYLOAD_DIGEST_TYPES, "metadata")  # WARC defines no payload of it


class _RecordHead(StatusAndHeaders):  # type: ignore[misc]  # warcio has no type hints
    """The first line and the headers of a request or a response, byte by byte; without credentials."""

    def __init__(self, line: str, headers: Headers) -> None:
        protocol, _, rest = line.partition(" ")
        shown = [(name.decode("latin-1"), _without_logins(value)) for name, value in headers if not _is_secret(name)]
        super().__init__(rest, shown, protocol=protocol)
        self.compute_headers_buffer()

    def compute_headers_buffer(self, header_filter: object = None) -> None:  # noqa: ARG002 - warcio's interface
        """Set the bytes of the headers. The method of the class would escape those that are not ASCII."""
        self.headers_buff = self.to_bytes(encoding="latin-1")


def _honest(exchange: Exchange) -> Headers:
    """Return the headers of the response, with a ``Content-Length`` that is that of the body, unless it is cut.

    Headers that do not describe the body are renamed as Common Crawl does. A response to HEAD or with 304 has no body.
    """
    length = b"%d" % len(exchange.body)
    lengths = [value for name, value in exchange.headers if name.lower() == b"content-length"]
    is_right = bool(exchange.truncated) or exchange.status == 304 or all(value == length for value in lengths)
    wrong = {b"transfer-encoding"} if is_right else {b"transfer-encoding", b"content-length"}
    headers = [(b"X-Crawler-" + name if name.lower() in wrong else name, value) for name, value in exchange.headers]
    return headers if is_right else [*headers, (b"Content-Length", length)]


def _date(at: datetime) -> str:
    date: str = datetime_to_iso_date(at.astimezone(UTC).replace(tzinfo=None), use_micros=True)
    return date


def _is_secret(name: bytes) -> bool:
    return name.decode("latin-1").lower() in _SECRETS


def _without_logins(value: bytes) -> str:
    """Return the value of a header without the user names in its URLs, and without line breaks."""
    text: str = without_credentials(value.decode("latin-1"))
    return text.replace("\r", " ").replace("\n", " ")


def _reason(exchange: Exchange) -> str:
    if exchange.reason is not None:
        return exchange.reason.decode("latin-1")
    try:
        return HTTPStatus(exchange.status).phrase
    except ValueError:
        return ""
