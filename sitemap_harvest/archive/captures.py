"""``Captures``: an index of the responses in WARC files, and random access to them.

One pass over the files finds where the responses are: 32 bytes of memory each. A response
is read from its file when it is needed.
"""

from __future__ import annotations

import logging
import math
import re
import zlib
from array import array
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from warcio.archiveiterator import WARCIterator
from warcio.bufferedreaders import DecompressingBufferedReader
from warcio.exceptions import ArchiveLoadFailed

from sitemap_harvest.dates import read_date
from sitemap_harvest.errors import ArchiveError
from sitemap_harvest.urls import document_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemap_harvest.archive.files import Slice, WarcFile

_logger = logging.getLogger(__name__)
_TYPES = frozenset({"response", "revisit"})
FETCH_ERROR = "fetchError"
"""The first field of a metadata record that describes a request without a response."""
_BLOCK = 64 * 1024
_MOST_HEAD_BYTES = 1024 * 1024
_CHUNK = re.compile(rb"([0-9a-fA-F]{1,16})[ \t]*(?:;.*)?\r?\n", re.DOTALL)
_BLANKS = " \t"
_NOT_MODIFIED = "/server-not-modified"
_PROFILES = (_NOT_MODIFIED, "identical-payload-digest")
"""How the profiles of revisits end that can be read. Their beginning depends on the version and on the program."""
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


class FetchFailedError(NoCaptureError):
    """An archive has no capture of a URL, but describes a request for it that got no response."""

    def __init__(self, at: datetime, facts: dict[str, str]) -> None:
        super().__init__("the request got no response")
        self.at = at  #: When the request was sent, in UTC.
        self.facts = facts  #: The fields of the record.


class Captures:
    """The responses in WARC files, by URL and time."""

    def __init__(self, files: Iterable[WarcFile], *, until: datetime | None = None) -> None:
        """Index the responses in *files* that were received at *until* or before. Raises :exc:`ArchiveError`.

        Damaged files are read up to the damage, which is logged.
        """
        self._files = list(files)
        self._until = math.inf if until is None else until.timestamp()
        self._undated = self.failures = 0
        self._others: set[str] = set()  # IDs of requests that are not GET, and of the records that belong to them
        keys, times, numbers, offsets = array("Q"), array("d"), array("I"), array("Q")
        for number, file in enumerate(self._files):
            for key, at, offset in self._scan(file):
                keys.append(key)
                times.append(at)
                numbers.append(number)
                offsets.append(offset)
        if self._undated:
            _logger.warning("%d responses in the archive have no valid date, and were ignored", self._undated)
        order = np.lexsort((np.asarray(times), np.asarray(keys)))  # stable: of the same time, the last in its file wins
        self._keys = np.asarray(keys)[order]
        self._numbers, self._offsets = np.asarray(numbers)[order], np.asarray(offsets)[order]

    def __len__(self) -> int:
        """Return the number of captures; :attr:`failures` is that of requests without a response."""
        return len(self._keys) - self.failures

    def find(self, url: str, most_bytes: int = 0) -> Capture:
        """Return the last capture of *url*, a revisit with the body that it refers to. Raises :exc:`NoCaptureError`.

        A body is cut after *most_bytes* and one more, 0: is not. Without a capture, the
        error describes the last request that failed, if the archive does.
        """
        failure = None
        try:
            for record in self._records(url):
                if record.rec_type == "metadata":
                    failure = failure or _failure(record)
                    continue
                is_response = record.rec_type == "response"
                found = _capture(record, most_bytes) if is_response else self._resolved(record, most_bytes)
                if not found.status:
                    raise NoCaptureError("its capture in the archive is not an HTTP response")
                return found
        except _DAMAGE as error:
            raise NoCaptureError(f"its capture in the archive is damaged: {_words(error)}") from error
        except OSError as error:
            raise NoCaptureError(f"the archive cannot be read: {(error.strerror or str(error)).lower()}") from error
        raise failure or NoCaptureError("the archive has no capture of it")

    def last(self, url: str) -> Original | None:
        """Return the last whole response with status 200."""
        with suppress(OSError, *_DAMAGE):
            for record in self._records(url):
                is_whole = record.rec_type == "response" and not _truncated(record)
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
            confirmation = replace(found, status=304)  # it may be missing
            return replace(original, url=found.url, at=found.at, not_modified=confirmation)
        status, headers = (found.status, found.headers) if found.headers else (original.status, original.headers)
        return replace(original, url=found.url, at=found.at, status=status, headers=headers)

    def _original(self, revisit: Any, most_bytes: int) -> Capture | None:
        url = _field(revisit, "WARC-Refers-To-Target-URI") or _url(revisit)
        wanted: dict[str, str | None] = {
            "WARC-Record-ID": _field(revisit, "WARC-Refers-To"),
            "WARC-Date": _field(revisit, "WARC-Refers-To-Date"),
            "WARC-Payload-Digest": _field(revisit, "WARC-Payload-Digest"),
        }
        for name, value in wanted.items():
            for record in self._records(url) if value else ():
                if record.rec_type == "response" and _without_marks(_field(record, name)) == _without_marks(value):
                    return _capture(record, most_bytes)
        return None

    def _records(self, url: str) -> Iterator[Any]:
        """Yield the records of *url*, the last one first; each is read before the next one."""
        wanted = document_key(url)
        key = np.uint64(_hash(wanted))
        first, end = (int(np.searchsorted(self._keys, key, side)) for side in ("left", "right"))
        for place in range(end - 1, first - 1, -1):
            with self._files[self._numbers[place]].open(int(self._offsets[place])) as file:
                record = next(_records_in(file), None)
                if record is None or document_key(_url(record)) != wanted:
                    continue
                if self._others.isdisjoint(_ids(record)):
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
        iterator = _records_in(stream)
        for record in iterator:
            begin = record.raw_stream.read(_BLOCK)
            while record.raw_stream.read(_BLOCK):
                pass
            if not (_field(record, "Content-Length") or "").isdecimal() or record.raw_stream.limit:
                raise ArchiveLoadFailed("a record is incomplete")
            if record.rec_type == "request" and begin and not begin.startswith(b"GET "):
                self._others |= _ids(record)
            url, profile = _url(record), _field(record, "WARC-Profile") or ""
            is_unknown = record.rec_type == "revisit" and profile and not profile.endswith(_PROFILES)
            is_failure = record.rec_type == "metadata" and begin.startswith(f"{FETCH_ERROR}:".encode())
            if not url.lower().startswith(("http:", "https:")):
                continue
            if is_unknown or not (is_failure or record.rec_type in _TYPES):
                continue
            if (at := _time(record)) is None:
                self._undated += 1
            elif at.timestamp() <= self._until:
                self.failures += is_failure
                yield _hash(document_key(url)), at.timestamp(), iterator.get_record_offset()


class _BoundedReader(DecompressingBufferedReader):  # type: ignore[misc]  # warcio has no type hints
    """Decompresses the members of a file, with errors for damage and for endless heads, which warcio does not have."""

    _head_bytes: float = 0  # decompressed since a body was read

    def read(self, length: int | None = None) -> bytes:
        self._head_bytes = -math.inf
        data: bytes = super().read(length)
        self._head_bytes = 0
        return data

    def _init_decomp(self, decomp_type: str) -> None:
        self._head_bytes = 0
        super()._init_decomp(decomp_type)

    def _decompress(self, data: bytes) -> bytes:
        if self._head_bytes > _MOST_HEAD_BYTES:
            raise ArchiveLoadFailed("the head of a record is too long")
        if not self.decompressor or not self.num_block_read:
            found: bytes = super()._decompress(data)  # perhaps it is not compressed
        else:
            found = self.decompressor.decompress(data)
        self._head_bytes += len(found)
        return found


def _records_in(stream: Slice) -> Any:
    iterator = WARCIterator(stream, no_record_parse=True)
    iterator.reader = _BoundedReader(stream)
    return iterator


def _capture(record: Any, most_bytes: int) -> Capture:
    """Return the response in *record*; a revisit has no body, and perhaps no status (0) and no headers."""
    stream, at = record.raw_stream, _time(record)
    if at is None:
        raise ArchiveLoadFailed("it has no valid date")
    found = Capture(_url(record), at, *_head(stream), b"")
    is_chunked = (found.header("transfer-encoding") or "").lower().endswith("chunked")
    body, is_whole = (_dechunked if is_chunked else _plain)(stream, most_bytes)
    is_encoded = any(name.lower().endswith("content-encoding") for name, _ in found.headers)  # or was, and is renamed
    length = found.header("content-length") or ""
    if length.isdecimal() and int(length) > len(body) and not (is_chunked or is_encoded or found.status == 304):
        is_whole = False
    return replace(found, body=body, truncated=_truncated(record) or (None if is_whole else "disconnect"))


def _failure(record: Any) -> FetchFailedError:
    text: bytes = record.raw_stream.read(_BLOCK)
    lines = (line.partition(": ") for line in text.decode(errors="replace").splitlines())
    return FetchFailedError(_time(record) or datetime.now(UTC), {name: value for name, _, value in lines})


def _head(stream: Any) -> tuple[int, list[tuple[str, str]]]:
    """Return the status and the headers of the response in *stream*. warcio's parser loses bytes that are not ASCII."""
    first: bytes = stream.readline()
    _, code, *_ = (*first.split(), b"", b"")
    headers: list[tuple[str, str]] = []
    while line := stream.readline().decode("latin-1").rstrip("\r\n"):
        if line[0] in _BLANKS and headers:
            name, value = headers.pop()
            headers.append((name, f"{value} {line.strip(_BLANKS)}"))
        elif ":" in line:
            name, _, value = line.partition(":")
            headers.append((name.strip(_BLANKS), value.strip(_BLANKS)))
    return int(code) if code.isdigit() else 0, headers


def _plain(stream: Any, most_bytes: int) -> tuple[bytes, bool]:
    return stream.read(most_bytes + 1) if most_bytes else stream.read(), True


def _dechunked(stream: Any, most_bytes: int) -> tuple[bytes, bool]:
    """Return the body in *stream* without its chunks, if it still has them, and whether none is missing."""
    line, body = stream.readline(_BLOCK), bytearray()
    if (match := _CHUNK.fullmatch(line)) is None:
        return line + _plain(stream, most_bytes)[0], True
    while match is not None and (size := int(match[1], 16)):
        piece = stream.read(min(size, most_bytes + 1 - len(body)) if most_bytes else size)
        body += piece
        if len(piece) < size:
            return bytes(body), False  # or too large
        match = None if stream.readline(_BLOCK).strip() else _CHUNK.fullmatch(stream.readline(_BLOCK))
    return bytes(body), match is not None


def _truncated(record: Any) -> str | None:
    """Return why the block of *record* is not complete; a segment is continued in another record."""
    return _field(record, "WARC-Truncated") or ("unspecified" if _field(record, "WARC-Segment-Number") else None)


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def _url(record: Any) -> str:
    return _field(record, "WARC-Target-URI") or ""


def _field(record: Any, name: str) -> str | None:
    value: str | None = record.rec_headers.get_header(name)
    return value


def _time(record: Any) -> datetime | None:
    date = _field(record, "WARC-Date") or ""
    try:
        at = datetime.fromisoformat(date)  # the usual format, 40 times as fast
    except ValueError:
        found = read_date(date)
        return None if found is None else found.value
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _ids(record: Any) -> set[str]:
    """Return the ID of *record*, and that of the record that belongs to it, such as the request of a response."""
    names = ("WARC-Record-ID", "WARC-Concurrent-To")
    return {_without_marks(_field(record, name)) for name in names} - {""}


def _without_marks(value: str | None) -> str:
    return (value or "").strip("<>")  # of a record ID, which some programs write without them


def _hash(key: str) -> int:
    return int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest())
