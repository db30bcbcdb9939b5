"""Atomic replacement of files that others read at the same time, such as metrics and closing records."""

from __future__ import annotations

import os
import re
import secrets
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sitemap_harvest.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import BinaryIO

_HOLDER = re.compile(r"%(?:%|\((\w+)\)s)")
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # a pipe without a reader is then an error; Windows has neither
_IS_WINDOWS = os.name == "nt"
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
        if _is_device(path):
            return
        if path.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        part = _part_of(path)
        part.open("xb").close()
        part.unlink()
    except OSError as error:
        words = (error.strerror or str(error)).lower()
        raise OptionError(f"{setting}: {path} cannot be written: {words}") from error


def put_file(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Write *data* to *path* as :func:`replacing` does."""
    with replacing(path, mode=mode) as file:
        file.write(data)


@contextmanager
def replacing(path: Path, *, mode: int | None = None) -> Iterator[BinaryIO]:
    """Yield a file that replaces *path* atomically at the end, with the permissions *mode*; ``None``: as usual.

    Devices and other non-files are written to directly. Raises :exc:`OSError`.
    """
    if _is_device(path):
        with os.fdopen(os.open(path, os.O_WRONLY | _NO_WAIT), "wb") as file:
            yield file
        return
    part = _part_of(path)
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            part.chmod(mode)
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
    with suppress(OSError):  # not all file systems can
        sync(path.parent)


def sync(path: str | Path) -> None:
    """Make the file or the names in the folder *path* durable across a power cut. Raises :exc:`OSError`."""
    if _IS_WINDOWS and Path(path).is_dir():
        return  # Windows cannot open a folder, and journals its names
    descriptor = os.open(path, os.O_RDWR if _IS_WINDOWS else os.O_RDONLY)  # there only what can be written is synced
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _part_of(path: Path) -> Path:
    """Return a unique temporary name beside *path* that patterns such as ``*.prom`` or ``*.json`` do not match."""
    return path.with_name(f".{path.name[:40]}.{secrets.token_hex(4)}.part")


def _is_device(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
