"""The WARC files of an archive: one file, those of a folder, or those in a WACZ file."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self
from zipfile import ZIP_STORED, BadZipFile, ZipFile

from sitemap_harvest.errors import ArchiveError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO
    from zipfile import ZipInfo

_WARC = (".warc", ".warc.gz")
_ZSTD = (".warc.zst", ".warc.zstd")
_WACZ = ".wacz"
_LOCAL_HEADER = struct.Struct("<26xHH")  # of a file in a zip archive: up to the lengths of its name and extra field


@dataclass(frozen=True, slots=True)
class WarcFile:
    """A WARC file, which may be part of a WACZ file."""

    name: str
    path: Path
    """The file that contains it."""
    start: int = 0
    """Offset of its first byte in that file."""
    size: int | None = None
    """In bytes; ``None``: up to the end of that file."""

    def open(self, offset: int = 0) -> Slice:
        """Return a reader that begins at *offset* of :attr:`path`, or at the beginning. Raises :exc:`OSError`."""
        file = self.path.open("rb")
        file.seek(offset or self.start)
        return Slice(file, None if offset or self.size is None else self.size)


class Slice:
    """A reader of a part of a file, from its current position."""

    def __init__(self, file: BinaryIO, size: int | None) -> None:
        """*size* is in bytes; ``None``: up to the end of the file."""
        self._file = file
        self._left = size

    def read(self, size: int) -> bytes:
        """Return at most *size* bytes."""
        data = self._file.read(size if self._left is None else min(size, self._left))
        if self._left is not None:
            self._left -= len(data)
        return data

    def tell(self) -> int:
        """Return the position in the whole file."""
        return self._file.tell()

    def __enter__(self) -> Self:
        """Return the reader, which is closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def is_archive(path: Path) -> bool:
    """Whether *path* is an archive: a file, or a folder that directly contains WARC or WACZ files."""
    if not path.is_dir():
        return path.is_file()
    return any(_is_warc_or_wacz(one) for one in path.iterdir())


def files_of(path: Path) -> list[WarcFile]:
    """Return the WARC files of the archive at *path*, in the order of their names. Raises :exc:`ArchiveError`."""
    try:
        paths = sorted(filter(_is_warc_or_wacz, path.iterdir())) if path.is_dir() else [path]
        return [file for one in paths for file in _files_in(one)]
    except OSError as error:
        raise ArchiveError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from error


def is_named_as_archive(name: str) -> bool:
    """Whether the file *name* is that of a WARC or WACZ file."""
    return name.lower().endswith((*_WARC, *_ZSTD, _WACZ))


def _is_warc_or_wacz(path: Path) -> bool:
    return is_named_as_archive(path.name) and path.is_file()


def _files_in(path: Path) -> list[WarcFile]:
    name = path.name.lower()
    if name.endswith(_ZSTD):
        raise ArchiveError(f"{path}: WARC files compressed with zstd are not supported; decompress it with zstd -d")
    if name.endswith(_WARC):
        return [WarcFile(path.name, path)]
    if not name.endswith(_WACZ):
        raise ArchiveError(f"{path} is neither a WARC file (.warc, .warc.gz) nor a WACZ file (.wacz)")
    try:
        with ZipFile(path) as archive, path.open("rb") as file:
            parts = [one for one in archive.infolist() if one.filename.lower().endswith(_WARC)]
            return [_part(path, one, file) for one in parts]
    except (BadZipFile, struct.error) as error:
        raise ArchiveError(f"{path} is not a WACZ file: {error}") from error


def _part(path: Path, info: ZipInfo, file: BinaryIO) -> WarcFile:
    if info.compress_type != ZIP_STORED:
        raise ArchiveError(
            f"{path}: {info.filename} is compressed in the WACZ file; unzip it, and give its folder archive"
        )
    file.seek(info.header_offset)
    name, extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    start = info.header_offset + _LOCAL_HEADER.size + name + extra
    return WarcFile(f"{path.name}/{info.filename}", path, start, info.file_size)
