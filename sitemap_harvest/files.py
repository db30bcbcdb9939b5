"""Atomic replacement of files that others read at the same time: outputs, metrics and closing records."""

from __future__ import annotations

import errno
import glob
import os
import re
import secrets
import shutil
import stat
import tempfile
import weakref
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sitemap_harvest.errors import OptionError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import BinaryIO

_HOLDER = re.compile(r"%(?:%|\((\w+)\)s)")
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # a pipe without a reader is then an error; Windows has neither
_IS_WINDOWS = os.name == "nt"
_OPEN_FILE = re.compile(r"/dev/(?:stdout|stderr|fd/\d+)\Z|/proc/\w+/fd/")
_RANDOM = "[0-9a-f]" * 8  # of a temporary name
_UNSAFE = re.compile(r"[^\w.-]|^\.+")  # a job's id comes from a request, and must not lead to another folder


def path_of(setting: str, template: str, values: Mapping[str, str]) -> Path:
    """Return the path of *template*, the value of *setting*, with *values* filled in.

    Raises :exc:`OptionError`, also for an unknown placeholder.
    """
    held = {match[1] for match in _HOLDER.finditer(template)} - {None}
    if "%" in _HOLDER.sub("", template) or not held <= values.keys() or "://" in template or "\0" in template:
        holders = ", ".join(f"%({name})s" for name in values)
        accepted = f"the path of a local file, which may contain {holders}, and %% for a literal %"
        raise OptionError(f"{setting} is {template!r}; it must be {accepted}")
    text = template % {name: _UNSAFE.sub("_", value) for name, value in values.items()}
    return Path(os.path.realpath(text))  # so that a link is not replaced


def check_place(setting: str, path: Path) -> None:
    """Raise :exc:`OptionError` if no file can be written at *path*, for *setting*. Leaves nothing behind."""
    try:
        if is_device(path):
            return
        if path.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        Replacement(path).discard()
    except OSError as error:
        words = (error.strerror or str(error)).lower()
        raise OptionError(f"{setting}: {path} cannot be written: {words}") from error


def put_file(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Write *data* to *path* as :func:`replacing` does."""
    with replacing(path, mode=mode) as file:
        file.write(data)


@contextmanager
def replacing(path: Path, *, mode: int | None = None) -> Iterator[BinaryIO]:
    """Yield a file that replaces *path* atomically at the end; for *mode* see :class:`Replacement`.

    Devices and other non-files are written to directly. Raises :exc:`OSError`.
    """
    if is_device(path):
        with os.fdopen(os.open(path, os.O_WRONLY | _NO_WAIT), "wb") as file:
            if _NO_WAIT:
                os.set_blocking(file.fileno(), True)  # it has a reader, which may be slow
            yield file
        return
    new = Replacement(path, mode=mode)
    try:
        yield new.file
        new.commit()
    except BaseException:
        new.discard()
        raise


class Replacement:
    """The new content of the file at *path*, in a temporary file beside it until :meth:`commit`."""

    def __init__(self, path: Path, *, mode: int | None = None) -> None:
        """Create the temporary file. Raises :exc:`OSError`.

        *mode*: the permissions; ``None``: those of the file that it replaces, and if there is none, as usual.
        """
        self.path = path = Path(os.path.realpath(path))  # so that a link is not replaced
        while True:
            self.part = _part_of(path)
            self.file: BinaryIO = self.part.open("xb")
            with suppress(OSError):  # the file system has no locks
                _lock(self.file)
            if self.part.exists():  # otherwise another run has removed it just before the lock
                break
            self.file.close()
        if mode is not None:
            self.part.chmod(mode)
        else:
            self._keep_permissions()

    def _keep_permissions(self) -> None:
        with suppress(OSError, AttributeError):  # there is no file yet, it is someone else's, or this is Windows
            known = self.path.stat()
            self.part.chmod(stat.S_IMODE(known.st_mode))
            os.chown(self.part, known.st_uid, known.st_gid)

    def commit(self, path: Path | None = None) -> None:
        """Sync the file to disk, and replace :attr:`path` with it, or *path*. Raises :exc:`OSError`."""
        path = path or self.path
        if not self.file.closed:
            self.file.flush()
            os.fsync(self.file.fileno())
        if _IS_WINDOWS:  # an open file cannot be renamed; elsewhere, closing it would end its lock too early
            self.file.close()
        try:
            self.part.replace(path)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            shutil.copyfile(self.part, path)  # a single file that is mounted into a container can only be overwritten
            self.part.unlink()
        self.file.close()
        with suppress(OSError):  # not all file systems can
            sync(path.parent)

    def discard(self) -> None:
        """Remove the temporary file."""
        with suppress(OSError):  # its buffer cannot be written
            self.file.close()
        with suppress(OSError):
            self.part.unlink()


@contextmanager
def temporary_files() -> Iterator[None]:
    """Raise an :exc:`OSError` of the block, which writes temporary files, with the name of their folder."""
    try:
        yield
    except OSError as error:
        words = f"{error.strerror or error}; set TMPDIR to a folder on a larger disk"
        raise OSError(error.errno, words, tempfile.gettempdir()) from error


class TemporaryFolder:
    """A folder in ``TMPDIR``, removed when the process ends at the latest. A killed process leaves it to the next one.

    Without locks (Windows), the folder of a killed process remains.
    """

    def __init__(self, kind: str) -> None:
        """Create a folder, and remove those of *kind*, a word, whose processes were killed. Raises :exc:`OSError`."""
        prefix = f"sitemap-harvest-{kind}-"
        for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
            with suppress(OSError):  # its process is active, or it is someone else's
                _remove_folder(left, _locked_folder(left, waits=False))
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=prefix))
            lock = None
            with suppress(OSError):  # the file system has no locks, or another process has just removed it
                lock = _locked_folder(self.path)
            if self.path.exists():
                break
        self.remove = weakref.finalize(self, _remove_folder, self.path, lock)
        """Removes the folder."""


def _locked_folder(path: Path, *, waits: bool = True) -> int:
    """Lock the folder *path*, and return the descriptor that holds the lock. Raises :exc:`OSError`."""
    if fcntl is None:
        raise OSError(errno.ENOSYS, "the system has no locks", str(path))
    descriptor = os.open(path, os.O_RDONLY)
    try:
        _lock(descriptor, waits=waits)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _remove_folder(path: Path, lock: int | None) -> None:
    shutil.rmtree(path, ignore_errors=True)
    if lock is not None:
        os.close(lock)


def remove_left_overs(path: Path) -> list[Path]:
    """Remove and return the temporary files that killed runs have left beside *path*.

    Those of active runs are locked. Without locks (Windows), none is removed.
    """
    removed = []
    for part in path.parent.glob(f"{glob.escape(_prefix(path))}.{_RANDOM}.part"):
        with suppress(OSError, ValueError), part.open("rb") as file:
            if _lock(file, waits=False):
                part.unlink()
                removed.append(part)
    return removed


def _lock(file: BinaryIO | int, *, waits: bool = True) -> bool:
    """Lock *file*, or a descriptor, until it is closed, also for other processes. Return whether the system has locks.

    Raises :exc:`OSError`.
    """
    if fcntl is None:
        return False
    fcntl.flock(file, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    return True


def sync(path: str | Path) -> None:
    """Make the file or the names in the folder *path* durable across a power cut. Raises :exc:`OSError`."""
    if _IS_WINDOWS and Path(path).is_dir():
        return  # Windows cannot open a folder, and journals its names
    descriptor = os.open(path, os.O_RDWR if _IS_WINDOWS else os.O_RDONLY)  # there only what can be written is synced
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _prefix(path: Path) -> str:
    return f".{path.name[:40]}"


def _part_of(path: Path) -> Path:
    """Return a unique temporary name beside *path*, which patterns such as ``*.prom`` or ``*.json`` do not match."""
    return path.with_name(f"{_prefix(path)}.{secrets.token_hex(4)}.part")


def is_device(path: str | Path) -> bool:
    """Whether *path* is a device, a pipe or an open file of this process rather than a file or a folder."""
    if _OPEN_FILE.match(str(path)):
        return True
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
