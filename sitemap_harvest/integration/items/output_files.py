"""Local output files that are replaced as a whole at the end of a run; and compression by their names."""

from __future__ import annotations

import bz2
import errno
import gzip
import logging
import lzma
import os
import shutil
import sys
import weakref
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

from scrapy.extensions import feedexport, postprocessing

from sitemap_harvest.engine.run_state import fields
from sitemap_harvest.files import Replacement, is_device, remove_left_overs
from sitemap_harvest.integration.default_settings import COMPRESSIONS
from sitemap_harvest.integration.spider_attributes import run_of
from sitemap_harvest.redact import without_login

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from typing import IO

    from scrapy import Spider

logger = logging.getLogger(__name__)

_PROTECTED_FOLDER = {errno.EACCES, errno.EPERM, errno.EROFS}
_BLOCK_BYTES = 1024 * 1024
_READERS: dict[bytes, Any] = {  # by the first bytes: a temporary file has no suffix
    b"\x1f\x8b": gzip.open,
    b"\x28\xb5\x2f\xfd": zstd.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}


class ZstdPlugin:
    """Compresses an output with zstd: a plugin for the option ``postprocessing`` of ``FEEDS``.

    The option ``zstd_level`` of the feed sets the level.
    """

    def __init__(self, file: BinaryIO, feed_options: dict[str, Any]) -> None:
        self._file = zstd.ZstdFile(file, "wb", level=feed_options.get("zstd_level", 3))

    def write(self, data: bytes) -> int:
        """Compress *data*."""
        return int(self._file.write(data))

    def close(self) -> None:
        """Write the end of the compressed data."""
        self._file.close()


_PLUGINS = (postprocessing.GzipPlugin, ZstdPlugin, postprocessing.Bz2Plugin, postprocessing.LZMAPlugin)
_OPTIONS = {
    "gzip_compresslevel": 6,  # measured: 9, the default of Scrapy, takes three times as long for 0.3 % less
    "gzip_filename": "",  # otherwise the temporary name
}


def compress(uri: str, options: dict[str, Any]) -> None:
    """Change the feed *options* of *uri* so that it is compressed as its suffix says, such as ``.jsonl.gz``."""
    stem, _, suffix = uri.rpartition(".")
    if suffix in COMPRESSIONS:
        if options["format"] == suffix:  # Scrapy's format is the last suffix
            options["format"] = stem.rpartition(".")[2]
        plugin = _PLUGINS[COMPRESSIONS.index(suffix)]
        for name, value in {"postprocessing": [plugin], **_OPTIONS}.items():
            options.setdefault(name, value)


def compressed(name: str, file: IO[bytes]) -> IO[bytes]:
    """Return a file that writes to *file*, named *name*, compressed as its suffix says."""
    options: dict[str, Any] = {"format": None}
    compress(name, options)
    return postprocessing.PostProcessingManager(options["postprocessing"], file, options)  # type: ignore[return-value]


def first_line(path: Path) -> bytes:
    """Return the first line of a file, also of a compressed one, or its first megabyte; nothing if it is empty.

    Raises :exc:`OSError`, also if compressed data are incomplete.
    """
    with path.open("rb") as file:
        start = file.read(max(map(len, _READERS)))
        file.seek(0)
        reader = next((reader for magic, reader in _READERS.items() if start.startswith(magic)), None)
        if reader is None:
            return file.readline(_BLOCK_BYTES)
        try:
            with reader(file, "rb") as plain:
                return bytes(plain.readline(_BLOCK_BYTES))
        except (EOFError, ValueError, zlib.error, lzma.LZMAError, zstd.ZstdError) as error:
            raise OSError(errno.EIO, f"its compressed data cannot be read: {error}", str(path)) from error


class FileFeedStorage(feedexport.FileFeedStorage):
    """A local file, written beside its place and moved there by :meth:`put`.

    If *appends*, its present content is copied first. A device or a pipe is written to
    directly, as is a file in a folder in which the run may not create one.
    """

    _in_use: ClassVar[weakref.WeakSet[FileFeedStorage]] = weakref.WeakSet()
    """Those of all crawls of the process that are open."""

    def __init__(self, path: str, *, appends: bool) -> None:
        super().__init__(path, feed_options={"overwrite": not appends})
        self._target = Path(os.path.realpath(self.path))  # so that a link is not replaced
        self._new: Replacement | None = None
        self._partial = self._target
        self._finalizer: Any = None

    @property
    def exists(self) -> bool:
        """Whether there is a file, such as that of an earlier run."""
        return self._target.is_file()

    @property
    def is_new(self) -> bool:
        """Whether :meth:`put` creates the file, rather than replaces one."""
        return self._new is not None and not self.exists

    def check(self) -> None:
        """Raise :exc:`OSError` if the file cannot be written. Leaves nothing behind but its folder."""
        if is_device(self.path):
            return
        self._target.parent.mkdir(parents=True, exist_ok=True)
        if self._target.exists():
            self._target.open("ab").close()  # it may be a folder, or protected
        if (new := self._replacement()) is not None:
            new.discard()

    def _replacement(self) -> Replacement | None:
        """Return the new file; ``None`` if only the present one can be written. Raises :exc:`OSError`."""
        try:
            return Replacement(self._target)
        except OSError as error:
            if self.exists and error.errno in _PROTECTED_FOLDER:
                return None
            raise

    def open(self, spider: Spider) -> IO[bytes]:
        """Return the temporary file. Raises :exc:`OSError`."""
        if is_device(self.path):
            return Path(self.path).open("wb")
        self._target.parent.mkdir(parents=True, exist_ok=True)
        for part in remove_left_overs(self._target):
            logger.info("Removed %s, which a killed run has left behind", part)
        self._new = self._replacement()
        if self._new is None:
            return self._target.open(self.write_mode)
        run = run_of(spider)  # its ID keeps the rows of several interrupted runs apart
        self._partial = Path(f"{self._target}.{run.run_id if run else os.getpid()}.partial")
        if any(other._target == self._target for other in self._in_use):  # noqa: SLF001 - of the same class
            logger.warning(
                "%s: another crawl of this process writes the same file, and the one that ends last replaces it; put "
                "%%(name)s or another attribute of the spider into the name of the output",
                self.path,
            )
        self._in_use.add(self)
        self._finalizer = weakref.finalize(self, _abandon, self._new, self.path)
        if self.write_mode == "ab" and self.exists:
            with self._target.open("rb") as known:
                shutil.copyfileobj(known, self._new.file, _BLOCK_BYTES)
            self._new.file.flush()  # exporters look at its size
        return self._new.file

    def put(self, *, is_whole: bool) -> Path | None:
        """Move the file to its place; return its path if it is elsewhere. Raises :exc:`OSError`.

        If it is not whole, it does not replace another, unless it has its content too: the ID of the run and
        ``.partial`` are added to its name.
        """
        if (new := self._taken()) is None:
            return None
        partial = self._partial
        try:
            if not is_whole and self.exists and self.write_mode == "wb":
                new.commit(partial)
                return partial
            new.commit()
        except PermissionError as error:  # on Windows, another program has opened it
            new.commit(partial)
            raise PermissionError(error.errno, f"{error.strerror}; the new file is {partial}", self.path) from error
        finally:
            new.discard()  # if that failed
        return None

    def store(self, file: IO[bytes]) -> None:
        """Move the file to its place, unless :meth:`put` has done so."""
        self.put(is_whole=True)
        file.close()

    def discard(self) -> None:
        """Remove the temporary file, if there is one."""
        if (new := self._taken()) is not None:
            new.discard()

    def _taken(self) -> Replacement | None:
        new, self._new = self._new, None
        self._in_use.discard(self)
        if self._finalizer is not None:
            self._finalizer.detach()
        return new


def _abandon(new: Replacement, name: str) -> None:
    """Remove the temporary file of a run that was stopped at once, such as by a second Ctrl-C."""
    new.discard()
    if new.path.exists():
        tell_kept(name, "the run was stopped at once")


def tell_kept(uri: str, reason: str, *, exists: bool = True) -> None:
    """Log that the output *uri* keeps the content of an earlier run."""
    uri, what = without_login(uri), "stays as it was" if exists else "is not written"
    logger.warning("%s %s: %s", uri, what, reason, extra=fields("output-kept", output=uri))


def tell_incomplete(uri: str, reason: str) -> None:
    """Log that the output *uri*, a new file, has only a part of the rows."""
    uri = without_login(uri)
    logger.warning("%s is not complete: %s", uri, reason, extra=fields("output-incomplete", output=uri))
