"""``Captures``: an index of the responses in WARC files, and random access to them.

One pass over the files finds where the responses are: 32 bytes of memory each. A response
is read from its file when it is needed.
"""

from __future__ import annotations

import logging
import zlib
from array import array
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from warcio.archiveiterator import WARCIterator
from warcio.bufferedreaders import ChunkedDataReader
from warcio.exceptions import ArchiveLoadFailed
from warcio.statusandheaders import StatusAndHeadersParser

from sitemap_harvest.errors import ArchiveError
from sitemap_harvest.urls import document_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemap_harvest.archive.files import Slice, WarcFile

_logger = logging.getLogger(__name__)
_TYPES = frozenset({"response", "revisit"})
_BLOCK = 64 * 1024
_NOT_MODIFIED = "/server-not-modified"
_DAMAGE = (ArchiveLoadFailed, EOFError, ValueError, AttributeError, TypeError, AssertionError, zlib.error)
"""What warcio raises for damaged files; :exc:`ArchiveLoadFailed` where it has noticed it."""


@dataclass(frozen=True, slots=True)
class Capture:
    """A response in an archive."""

    url: str
    at: datetime
    """When it was received, in UTC."""
    status: int
    headers: list[tuple[str, str]]
    """Decoded as Latin-1."""
    body: bytes
    """Without a transfer encoding, but with its content encoding."""
    truncated: str | None = None
    """Why the body is cut, as WARC says it (``length``, ``time``, ``disconnect``, ``unspecified``); ``None``: it is
    not."""
    not_modified: Capture | None = None
    """If the server reported only that the document has not changed: that response. The others are those of the
    response that it confirms."""

    def header(self, name: str) -> str | None:
        """Return the first value of the header *name*, in lower case; ``None`` if it is absent."""
        return next((value for one, value in self.headers if one.lower() == name), None)


@dataclass(frozen=True, slots=True)
class Original:
    """A response that later records refer to, in the form of WARC headers."""

    url: str
    date: str
    record_id: str | None
    digest: str | None
    """Of its payload."""


class NoCaptureError(Exception):
    """An archive has no usable capture of a URL."""


class Captures:
    """The responses in WARC files, by URL and time."""

    def __init__(self, files: Iterable[WarcFile], *, until: datetime | None = None) -> None:
        """Index the responses in *files* that were received at *until* or before. Raises :exc:`ArchiveError`.

        Damaged files are read up to the damage, which is logged.
        """
        self._files = list(files)
        self._until = None if until is None else until.timestamp()
        keys, times, numbers, offsets = array("Q"), array("d"), array("I"), array("Q")
        for number, file in enumerate(self._files):
            for key, at, offset in self._scan(file):
                keys.append(key)
                times.append(at)
                numbers.append(number)
                offsets.append(offset)
        order = np.lexsort((np.asarray(times), np.asarray(keys)))  # stable: of the same time, the last in its file wins
        self._keys = np.asarray(keys)[order]
        self._numbers, self._offsets = np.asarray(numbers)[order], np.asarray(offsets)[order]

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, url: str, most_bytes: int = 0) -> Capture:
        """Return the last capture of *url*, a revisit with the body that it refers to. Raises :exc:`NoCaptureError`.

        A body is cut after *most_bytes* and one more, 0: is not.
        """
        try:
            for record in self._records(url):
                if record.rec_type == "response":
                    return _capture(record, most_bytes)
                return self._resolved(record, most_bytes)
        except _DAMAGE as error:
            raise NoCaptureError(f"its capture in the archive is damaged: {_words(error)}") from error
        except OSError as error:
            raise NoCaptureError(f"the archive cannot be read: {(error.strerror or str(error)).lower()}") from error
        raise NoCaptureError("the archive has no capture of it")

    def last(self, url: str) -> Original | None:
        """Return the last whole response with status 200."""
        with suppress(OSError, *_DAMAGE):
            for record in self._records(url):
                is_whole = record.rec_type == "response" and not _field(record, "WARC-Truncated")
                if is_whole and _capture(record, most_bytes=1).status == 200:
                    names = ("WARC-Date", "WARC-Record-ID", "WARC-Payload-Digest")
                    date, record_id, digest = (_field(record, name) for name in names)
                    return Original(_url(record), date or "", record_id, digest)
        return None

    def _resolved(self, revisit: Any, most_bytes: int) -> Capture:
        """Return the capture of *revisit* with the body of the response that it refers to."""
        found = _capture(revisit, most_bytes)
        is_not_modified = (_field(revisit, "WARC-Profile") or "").endswith(_NOT_MODIFIED) or found.status == 304
        if (original := self._original(revisit, most_bytes)) is None:
            if is_not_modified:
                return found
            raise NoCaptureError("the archive has a capture of it that refers to an earlier one, which is missing")
        if is_not_modified:
            return Capture(
                found.url, found.at, original.status, original.headers, original.body, original.truncated, found
            )
        status, headers = (found.status, found.headers) if found.headers else (original.status, original.headers)
        return Capture(found.url, found.at, status, headers, original.body, original.truncated)

    def _original(self, revisit: Any, most_bytes: int) -> Capture | None:
        url = _field(revisit, "WARC-Refers-To-Target-URI") or _url(revisit)
        wanted = {
            "WARC-Record-ID": _field(revisit, "WARC-Refers-To"),
            "WARC-Date": _field(revisit, "WARC-Refers-To-Date"),
            "WARC-Payload-Digest": _field(revisit, "WARC-Payload-Digest"),
        }
        for name, value in wanted.items():
            for record in self._records(url) if value else ():
                if record.rec_type == "response" and _field(record, name) == value:
                    return _capture(record, most_bytes)
        return None

    def _records(self, url: str) -> Iterator[Any]:
        """Yield the records of *url*, the last one first; each is read before the next one."""
        wanted = document_key(url)
        key = np.uint64(_hash(wanted))
        first, end = (int(np.searchsorted(self._keys, key, side)) for side in ("left", "right"))
        for place in range(end - 1, first - 1, -1):
            with self._files[self._numbers[place]].open(int(self._offsets[place])) as file:
                record = next(WARCIterator(file, no_record_parse=True), None)
                if record is not None and document_key(_url(record)) == wanted:
                    yield record

    def _scan(self, file: WarcFile) -> Iterator[tuple[int, float, int]]:
        """Yield the key, the time and the offset of each whole response in *file*."""
        try:
            with file.open() as stream:
                yield from self._responses(stream)
        except OSError as error:
            raise ArchiveError(f"{file.name} cannot be read: {(error.strerror or str(error)).lower()}") from error
        except _DAMAGE as error:
            _logger.warning("%s is damaged, and was read only up to the damage: %s", file.name, _words(error))

    def _responses(self, stream: Slice) -> Iterator[tuple[int, float, int]]:
        iterator = WARCIterator(stream, no_record_parse=True)
        for record in iterator:
            while record.raw_stream.read(_BLOCK):
                pass
            is_whole = (_field(record, "Content-Length") or "").isdecimal() and not record.raw_stream.limit
            if not is_whole or record.rec_type not in _TYPES:
                continue
            url, date = _url(record), _field(record, "WARC-Date")
            if url.lower().startswith(("http:", "https:")) and date:
                at = _time(date).timestamp()
                if self._until is None or at <= self._until:
                    yield _hash(document_key(url)), at, iterator.get_record_offset()


class _ResponseHead(StatusAndHeadersParser):  # type: ignore[misc]  # warcio has no type hints
    """Parses the status and the headers of a response without a loss: any byte is a character of Latin-1."""

    @staticmethod
    def decode_header(line: bytes) -> str:
        return line.decode("latin-1")


def _capture(record: Any, most_bytes: int) -> Capture:
    """Return the response in *record*; a revisit has no body, and perhaps no status (0) and no headers."""
    url, at, stream = _url(record), _time(_field(record, "WARC-Date") or ""), record.raw_stream
    try:
        head = _ResponseHead([], verify=False).parse(stream)
    except EOFError:
        return Capture(url, at, 0, [], b"")
    code = head.get_statuscode()
    if (head.get_header("Transfer-Encoding") or "").strip().lower() == "chunked":
        stream = ChunkedDataReader(stream, decomp_type=None)  # which notices if the chunks were removed
    body = stream.read(most_bytes + 1) if most_bytes else stream.read()
    truncated = _field(record, "WARC-Truncated")
    return Capture(url, at, int(code) if code.isdecimal() else 0, head.headers, body, truncated)


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def _url(record: Any) -> str:
    return _field(record, "WARC-Target-URI") or ""


def _field(record: Any, name: str) -> str | None:
    value: str | None = record.rec_headers.get_header(name)
    return value


def _time(date: str) -> datetime:
    """Return the time of the header ``WARC-Date``. Raises :exc:`ValueError`."""
    at = datetime.fromisoformat(date)
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _hash(key: str) -> int:
    return int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest())
