"""``Folder``: file access of the store, on a local disk or in an object store."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pyarrow as pa
from pyarrow import fs

from sitemap_harvest.errors import StoreError
from sitemap_harvest.files import put_file, sync

if TYPE_CHECKING:
    from collections.abc import Iterable

_CREDENTIALS = re.compile(r"(?<=://)(?:[^/@:]*:.*|[^/@]*)@", re.DOTALL)  # a secret key may contain a slash


def shown(address: str | Path) -> str:
    """Return *address* without credentials, for display."""
    return _CREDENTIALS.sub("", str(address))


class Folder:
    """A folder. It may not exist yet: it is created with its first file."""

    def __init__(self, files: fs.FileSystem, path: str) -> None:
        """Use the folder at *path* of *files*."""
        self._files = files
        self.path = path

    @classmethod
    def at(cls, address: str | Path) -> Self:
        """Return the folder at *address*: a path, or ``s3://bucket/folder``. Raises :exc:`StoreError`."""
        text = str(address)
        if "://" not in text:
            return cls(fs.LocalFileSystem(), os.path.abspath(text))  # noqa: PTH100 - pyarrow takes text
        try:
            return cls(*fs.FileSystem.from_uri(text))
        except (pa.ArrowException, OSError, ValueError) as error:
            words = (str(error) or type(error).__name__).splitlines()[0].replace(text, shown(text))
            raise StoreError(f"store {shown(text)!r}: {words}") from None  # the cause repeats the credentials

    def __truediv__(self, name: str) -> Folder:
        return Folder(self._files, f"{self.path}/{name}")

    def __str__(self) -> str:
        return self.path

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine, as seen by the operating system."""
        return isinstance(self._files, fs.LocalFileSystem)

    def names(self) -> list[str]:
        """Return the names of its contents, sorted."""
        found = self._files.get_file_info(fs.FileSelector(self.path, allow_not_found=True))
        return sorted(one.base_name for one in found)

    def size(self, name: str) -> int | None:
        """Return the size of the file *name* in bytes; ``None`` if there is none."""
        info = self._files.get_file_info(f"{self.path}/{name}")
        return info.size if info.type == fs.FileType.File else None

    def read(self, name: str) -> bytes | None:
        """Return the contents of the file *name*; ``None`` if there is none."""
        try:
            with self._files.open_input_stream(f"{self.path}/{name}", compression=None) as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None

    def put(self, name: str, data: bytes) -> None:
        """Write *data* to the file *name* atomically and durably."""
        if self.is_local:
            self._files.create_dir(self.path)
            put_file(Path(self.path, name), data)
        else:
            self.write(name, data)

    def create(self, name: str, data: bytes) -> bool:
        """Write *data* to the file *name* unless it exists; return whether it was written.

        Not durable across a power cut, unlike :meth:`put`: waiting for the disk takes
        long with many sites. In an object store, two concurrent callers may both get
        ``True``.
        """
        if not self.is_local:
            if self.size(name) is not None:
                return False
            self.put(name, data)
            return True
        part = f".{name}.{secrets.token_hex(4)}"
        self._files.create_dir(self.path)
        with open(f"{self.path}/{part}", "wb") as file:  # noqa: PTH123 - paths of the store are text
            file.write(data)
        try:
            os.link(f"{self.path}/{part}", f"{self.path}/{name}")
        except FileExistsError:
            return False
        finally:
            self.remove(part)
        return True

    def link(self, name: str, path: str) -> bool:
        """Make the file *name* a link to the local file at *path* unless it exists; return whether it was made.

        Raises :exc:`OSError`, also if the file system has no links.
        """
        self._files.create_dir(self.path)
        try:
            os.link(path, f"{self.path}/{name}")
        except FileExistsError:
            return False
        return True

    def open(self, name: str) -> pa.NativeFile:
        """Open the file *name* for random access."""
        return self._files.open_input_file(f"{self.path}/{name}")

    def write(self, name: str, data: bytes | pa.Buffer) -> None:
        """Write *data* to the file *name*. Neither atomic nor durable on a disk: see :meth:`sync`."""
        path = f"{self.path}/{name}"
        self._files.create_dir(path.rpartition("/")[0])
        with self._files.open_output_stream(path, compression=None) as file:
            file.write(data)  # an object becomes visible only when complete

    def sync(self, names: Iterable[str]) -> None:
        """Make the files *names*, which have been written, and their folders durable across a power cut."""
        paths = set()
        for path in (f"{self.path}/{name}" for name in names):
            while path != self.path and path not in paths:
                paths.add(path)
                path = path.rpartition("/")[0]  # noqa: PLW2901 - up to this folder
        if self.is_local:
            for path in paths:
                sync(path)

    def remove(self, name: str) -> None:
        """Remove the file *name*, if there is one."""
        if self.size(name) is not None:
            self._files.delete_file(f"{self.path}/{name}")

    def remove_all(self) -> None:
        """Remove the folder and all of its contents."""
        if self._files.get_file_info(self.path).type == fs.FileType.Directory:
            self._files.delete_dir(self.path)
