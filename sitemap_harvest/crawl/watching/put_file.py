"""A small file that others read while it is written anew: it is there as it was, or as it is, and never half."""

from __future__ import annotations

import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sitemap_harvest.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

_HOLDER = re.compile(r"%(?:%|\((\w+)\)s)")
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # a pipe that nobody reads is an error then; Windows has neither
_UNSAFE = re.compile(r"[^\w.-]|^\.+")  # a job's id comes from a request, and must not lead to another folder


def path_of(setting: str, template: str, values: Mapping[str, str]) -> Path:
    """Return the path that *template*, the value of *setting*, names with *values* in it.

    Raises :exc:`OptionError`, also for a name that none of the *values* has.
    """
    held = {match[1] for match in _HOLDER.finditer(template)} - {None}
    if "%" in _HOLDER.sub("", template) or not held <= values.keys() or "://" in template or "\0" in template:
        holders = ", ".join(f"%({name})s" for name in values)
        accepted = f"the path of a file on this machine, which may hold {holders}, and %% for %"
        raise OptionError(f"{setting} is {template!r}; it must be {accepted}")
    text = template % {name: _UNSAFE.sub("_", value) for name, value in values.items()}
    return Path(os.path.realpath(text))  # so that a link stays a link


def check_place(setting: str, path: Path) -> None:
    """Raise :exc:`OptionError` if no file can be put at *path*, for *setting*. Nothing is left behind."""
    try:
        if _is_device(path):
            return
        if path.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        part = _part_of(path)
        os.close(_create(part))
        part.unlink()
    except OSError as error:
        words = (error.strerror or str(error)).lower()
        raise OptionError(f"{setting}: {path} cannot be written: {words}") from error


def put_file(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Put *data* at *path*, all of it or nothing, with the permissions *mode*; ``None``: those that new files have.

    A device, or what else is no file, is written to. Raises :exc:`OSError`.
    """
    if _is_device(path):
        _write(os.open(path, os.O_WRONLY | _NO_WAIT), data, is_file=False)
        return
    part = _part_of(path)
    try:
        _write(_create(part), data, is_file=True)
        if mode is not None:
            part.chmod(mode)
        part.replace(path)
    except OSError:
        with suppress(OSError):
            part.unlink()
        raise
    _sync(path.parent)


def _write(descriptor: int, data: bytes, *, is_file: bool) -> None:
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        if is_file:
            os.fsync(descriptor)


def _create(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)


def _part_of(path: Path) -> Path:
    """Return a name beside *path* that no other run has, and that who reads ``*.prom`` or ``*.json`` passes over."""
    return path.with_name(f".{path.name[:40]}.{secrets.token_hex(4)}.part")


def _is_device(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _sync(folder: Path) -> None:
    """Let the names in *folder* outlive a power cut, where the file system can see to that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
