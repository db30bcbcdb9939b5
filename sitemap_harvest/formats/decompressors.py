"""Decompressors: gzip, zlib, zstd, brotli, bzip2 and zip; compressed blocks in, decompressed blocks out.

Specs: https://www.rfc-editor.org/rfc/rfc1952 (gzip), rfc1950 (zlib), rfc8878 (zstd) and
rfc7932 (brotli); bzip2 and zip as in Python's modules. Memory use is at most one block,
except for zip, whose directory is at its end: a large archive is written to a temporary
file. Data before an error is used, and the error is a problem.
"""

from __future__ import annotations

import bz2
import io
import re
import struct
import sys
import zipfile
import zlib
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any

import brotli  # type: ignore[import-untyped]  # it has no hints

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from sitemap_harvest.formats.problem_log import ProblemLog

BLOCK_BYTES = 512 * 1024  # large enough for column operations, small compared with the 104 MB of the imports
_STEP_BYTES = 16 * 1024  # fed at a time: bounds the output of a step, and the loss if a step fails
_LEAST_BLOCK_BYTES = 64 * 1024  # of a block, except for the last one
_MAX_ARCHIVE_BYTES = 16 * 1024 * 1024  # of a zip archive in memory; a larger one goes to a temporary file
_MAX_DIRECTORY_BYTES = 4 * 1024 * 1024  # of a zip archive: some 50,000 files, for which zipfile takes 60 MB
_ZIP_END_BYTES = 65_535 + 22 + 20 + 56  # the longest comment, and the records of the end of a directory
_MANY_MEMBERS = 10_000  # of any size: each takes as long as reading some 300 bytes
_LEAST_MEMBER_BYTES = 16  # average size of the members of a document with more
_TRIED_BYTES = 32  # text fails within these; a document with a later error is compressed, and damaged
OFFICE_DOCUMENT = re.compile(
    rb"PK\x03\x04.{26}(?:\[Content_Types\]\.xml|_rels/|docProps/|word/|xl/|ppt/|mimetype|META-INF/)", re.DOTALL
)
"""Matches the start of an office document or a program package: a zip archive, but not a compressed document."""
_ERRORS = (zlib.error, OSError, EOFError, zstd.ZstdError, brotli.error)
_ZIP_ERRORS = (NotImplementedError, RuntimeError, ValueError, IndexError, struct.error, *_ERRORS)


@dataclass(frozen=True, slots=True)
class Packing:
    """One compression format."""

    name: str
    magic: tuple[bytes, ...]
    """Signatures of compressed documents; empty if only a header identifies the format."""
    decompressor: Callable[[], Any]
    """Creates a decompressor with the interface of :class:`bz2.BZ2Decompressor`."""
    is_sure: bool = True
    """Whether :attr:`magic` cannot be text; if it can, decompression is tried."""

    def begins(self, data: bytes) -> bool:
        """Whether *data* is the start of a compressed document."""
        if (self.magic and not data.startswith(self.magic)) or OFFICE_DOCUMENT.match(data):
            return False
        if self.is_sure:
            return True
        with suppress(*_ERRORS):
            self.decompressor().decompress(data[:_TRIED_BYTES], BLOCK_BYTES)
            return True
        return False

    def unpack(self, packed: Iterator[bytes], problems: ProblemLog) -> Iterator[bytes]:
        """Yield the decompressed members of a compressed document, one after the other."""
        held: list[bytes] = []  # members may be a few bytes each
        size = 0
        for part in _Members(self, packed, problems).unpack():
            held.append(part)
            size += len(part)
            if size and (size >= _LEAST_BLOCK_BYTES or not part):
                yield b"".join(held)
                held, size = [], 0
        if size:
            yield b"".join(held)


class _Zlib:
    """Adapts the decompressor of :mod:`zlib` to the interface of :mod:`bz2`."""

    def __init__(self, inflater: Any) -> None:
        self._inflater = inflater

    @property
    def eof(self) -> bool:
        return bool(self._inflater.eof)

    @property
    def needs_input(self) -> bool:
        return not self._inflater.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return bytes(self._inflater.unused_data)

    def copy(self) -> _Zlib:
        return _Zlib(self._inflater.copy())

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return bytes(self._inflater.decompress(self._inflater.unconsumed_tail + data, max_length))


class _Brotli:
    """Adapts the decompressor of :mod:`brotli`."""

    unused_data = b""

    def __init__(self) -> None:
        self._decompressor = brotli.Decompressor()
        self._has_more = False

    @property
    def eof(self) -> bool:
        return bool(self._decompressor.is_finished())

    @property
    def needs_input(self) -> bool:
        return not self._has_more and bool(self._decompressor.can_accept_more_data())

    def decompress(self, data: bytes, max_length: int) -> bytes:
        unpacked: bytes = self._decompressor.process(data, output_buffer_limit=max_length)
        self._has_more = len(unpacked) >= max_length
        return unpacked


class _Members:
    """The members of one compressed document."""

    def __init__(self, packing: Packing, packed: Iterator[bytes], problems: ProblemLog) -> None:
        self._packing = packing
        self._pieces = (block[at : at + _STEP_BYTES] for block in packed for at in range(0, len(block), _STEP_BYTES))
        self._problems = problems
        self._data = b""  # received, but not decompressed
        self._offset = 0  # offset of self._data in the compressed document
        self._unpacked_bytes = 0
        self._telling_bytes = len(packing.magic[0]) if packing.is_sure else _TRIED_BYTES  # whether a member begins

    def unpack(self) -> Iterator[bytes]:
        """Yield the data of the members in parts, and an empty part before each problem: all data before is whole."""
        magic = self._packing.magic
        members = 0
        while self._find_member(members):
            if len(self._data) < self._telling_bytes and any(one.startswith(self._data) for one in magic):
                code, excerpt = "unpack/truncated", None
            elif members > _MANY_MEMBERS and self._unpacked_bytes < members * _LEAST_MEMBER_BYTES:
                code, excerpt = "unpack/tiny-members", None
            elif members and not (magic and self._packing.begins(self._data)):
                code, excerpt = "unpack/trailing-bytes", repr(self._data[:60])
            else:
                members += 1
                is_whole = yield from self._member()
                if is_whole:
                    continue
                return
            yield b""
            self._problems.add(code, byte=self._offset, excerpt=excerpt)
            return

    def _find_member(self, members: int) -> bool:
        """Whether there is more after *members* members, without zero padding: gzip(1) skips it too."""
        while True:
            if members and self._data.startswith(b"\0"):
                size = len(self._data)
                self._data = self._data.lstrip(b"\0")
                self._offset += size - len(self._data)
            if len(self._data) >= self._telling_bytes or not (piece := next(self._pieces, b"")):
                return bool(self._data)
            self._data += piece

    def _member(self) -> Generator[bytes, None, bool]:
        """Yield the data of the next member; return whether it is whole."""
        decompressor = self._packing.decompressor()
        # Creating is faster than copying, and there may be a million members.
        before = self._packing.decompressor() if hasattr(decompressor, "copy") else None
        data = self._data
        while True:
            try:
                unpacked = decompressor.decompress(data, BLOCK_BYTES)
            except _ERRORS as error:
                yield b""
                code = "unpack/bad-checksum" if "check" in str(error) else "unpack/unreadable"
                detail = f"after byte {self._offset} of the compressed data: {error}"
                self._problems.add(code, detail, byte=self._offset)
                if before is not None:
                    yield _salvage(before, data)
                return False
            if unpacked:
                self._unpacked_bytes += len(unpacked)
                yield unpacked
            self._offset += len(data)
            if decompressor.eof:
                self._data = decompressor.unused_data
                self._offset -= len(self._data)
                return True
            data = next(self._pieces, b"") if decompressor.needs_input else b""
            if not data and decompressor.needs_input:
                yield b""
                self._problems.add("unpack/truncated", byte=self._offset)
                return False
            before = None if before is None else decompressor.copy()


def _salvage(decompressor: Any, data: bytes) -> bytes:
    """Return the part of *data* that can be decompressed before an error: zlib returns nothing from a failed call."""
    salvaged = []
    for start in range(len(data)):
        try:
            salvaged.append(decompressor.decompress(data[start : start + 1], BLOCK_BYTES))
        except _ERRORS:
            break
    return b"".join(salvaged)


class Zip(Packing):
    """Zip archives with one file."""

    __slots__ = ()

    def unpack(self, packed: Iterator[bytes], problems: ProblemLog) -> Iterator[bytes]:
        """Yield the first file of an archive."""
        has_begun = False
        with SpooledTemporaryFile(_MAX_ARCHIVE_BYTES) as archive:
            try:
                for block in packed:  # not writelines(), which before Python 3.13 reads all of it into memory first
                    archive.write(block)
                for block in _first_file(archive, problems):
                    has_begun = True
                    yield block
            except zipfile.BadZipFile as error:
                if has_begun:
                    problems.add("unpack/bad-checksum", str(error))
                    return
                # The directory, which is at the end, is missing.
                size = archive.seek(0, io.SEEK_END)
                archive.seek(_zip_header_bytes(archive))
                yield from _RAW_DEFLATE.unpack(iter(partial(archive.read, BLOCK_BYTES), b""), problems)
                if "unpack/truncated" not in problems:
                    problems.add("unpack/truncated", "the zip archive ends before its central directory", byte=size)
            except _ZIP_ERRORS as error:
                problems.add("unpack/unreadable", f"the zip archive cannot be read: {error}")


def _first_file(archive: IO[bytes], problems: ProblemLog) -> Iterator[bytes]:
    if _directory_bytes(archive) > _MAX_DIRECTORY_BYTES:
        raise ValueError(f"the central directory is larger than {_MAX_DIRECTORY_BYTES} bytes")
    with zipfile.ZipFile(archive) as opened:
        files = [entry for entry in opened.infolist() if not entry.filename.endswith("/")]
        if len(files) > 1:
            names = ", ".join(entry.filename for entry in files[:5])
            problems.add("unpack/several-files", f"{len(files)} files, of which only the first was read: {names}")
        for entry in files[:1]:
            with opened.open(entry) as file:
                while block := file.read(_STEP_BYTES):
                    yield block


def _directory_bytes(archive: IO[bytes]) -> int:
    """Return the directory size stated in *archive*; the greater one, if it has two (Zip64)."""
    archive.seek(max(0, archive.seek(0, io.SEEK_END) - _ZIP_END_BYTES))
    end = archive.read()
    at = end.rfind(b"PK\5\6", 0, -18)
    size, size_64 = end[at + 12 : at + 16], b""
    if (at_64 := end.rfind(b"PK\6\6", 0, max(0, at))) >= 0:
        size_64 = end[at_64 + 40 : at_64 + 48]
    return max(int.from_bytes(size, "little"), int.from_bytes(size_64, "little")) if at >= 0 else 0


def _zip_header_bytes(archive: IO[bytes]) -> int:
    """Return the number of bytes before the data of the first file."""
    archive.seek(26)
    return 30 + int.from_bytes(archive.read(2), "little") + int.from_bytes(archive.read(2), "little")


_GZIP = Packing("gzip", (b"\x1f\x8b",), lambda: _Zlib(zlib.decompressobj(zlib.MAX_WBITS | 16)))
_ZSTD = Packing("zstd", (b"\x28\xb5\x2f\xfd",), zstd.ZstdDecompressor)
_ZLIB = Packing(
    "zlib", (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"), lambda: _Zlib(zlib.decompressobj()), is_sure=False
)
_BZIP2 = Packing("bzip2", (b"BZh",), bz2.BZ2Decompressor, is_sure=False)
_ZIP = Zip("zip", (b"PK\x03\x04",), lambda: None)
PACKINGS = {one.magic[0][:1]: one for one in (_GZIP, _BZIP2, _ZSTD, _ZLIB, _ZIP)}
"""The format of each first byte with which a signature begins."""
BROTLI = Packing("brotli", (), _Brotli, is_sure=False)
"""A format without a signature, identified by a header or file name."""
_RAW_DEFLATE = Packing("deflate", (), lambda: _Zlib(zlib.decompressobj(-zlib.MAX_WBITS)), is_sure=False)
CONTENT_ENCODINGS = {
    "gzip": (_GZIP,),
    "x-gzip": (_GZIP,),
    "deflate": (_ZLIB, _RAW_DEFLATE),  # zlib by the standard, but raw from some servers
    "br": (BROTLI,),
    "zstd": (_ZSTD,),
}
"""Possible formats of each name in the header ``Content-Encoding`` (RFC 9110, section 8.4.1)."""
