"""``Folder``: file access of the store, on a local disk or in an object store."""

from __future__ import annotations

import os
import re
import secrets
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import fs

from sitemap_harvest.errors import StoreError
from sitemap_harvest.files import put_file, remove_left_overs, replacing, sync

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

_CREDENTIALS = re.compile(r"(?<=://)(?:[^/@:]*:.*|[^/@]*)@", re.DOTALL)  # a secret key may contain a slash


def shown(address: str | Path) -> str:
    """Return *address* without credentials, for display."""
    return _CREDENTIALS.sub("", str(address))


class Folder:
    """A folder on a disk. It may not exist yet: it is created with its first file."""

    def __init__(self, files: fs.FileSystem, path: str) -> None:
        """Use the folder at *path* of *files*."""
        self._files = files
        self.path = path

    @staticmethod
    def at(address: str | Path, *, what: str = "store") -> Folder:
        """Return the folder at *address*: a path, or ``s3://bucket/folder``. Raises :exc:`StoreError`.

        *what*: the word for it in the message of the error.
        """
        text = str(address)
        if text.startswith("s3://"):
            from sitemap_harvest.snapshots.store.object_store import ObjectFolder  # which is a folder itself

            return ObjectFolder.of(text, what=what)
        if "://" in text and not text.startswith("file://"):
            raise StoreError(f"{what} {shown(text)!r}: it must be a folder, or s3://bucket/folder")
        try:
            path = fs.FileSystem.from_uri(text)[1] if "://" in text else os.path.abspath(text)  # noqa: PTH100 - pyarrow takes text
        except (pa.ArrowException, ValueError) as error:
            raise StoreError(f"{what} {shown(text)!r}: {error}") from None
        return Folder(fs.LocalFileSystem(), path)

    def __truediv__(self, name: str) -> Folder:
        return Folder(self._files, f"{self.path}/{name}")

    def __str__(self) -> str:
        return self.path

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine, as seen by the operating system."""
        return True

    def check_conditions(self) -> None:
        """Raise :exc:`StoreError` if :meth:`create` and :meth:`replace` are not safe here, as on some servers."""

    def trust_conditions(self) -> None:
        """Skip :meth:`check_conditions` in this process, because another one has done it."""

    def names(self, *begin: str) -> list[str]:
        """Return the names of its contents, sorted; with *begin*, those that begin with one of these lower-case texts.

        On a disk, their case does not matter.
        """
        selector = fs.FileSelector(self.path, allow_not_found=True)
        try:
            found = self._files.get_file_info(selector)
        except FileNotFoundError:  # despite the option, if another process creates the folder at this moment
            found = self._files.get_file_info(selector)
        return sorted(one.base_name for one in found if not begin or one.base_name.lower().startswith(begin))

    def tree(self) -> dict[str, list[str]]:
        """Return the names of the contents of each folder in it, by the name of the folder, sorted."""
        return {name: (self / name).names() for name in self.names()}

    def size(self, name: str) -> int | None:
        """Return the size of the file *name* in bytes; ``None`` if there is none."""
        info = self._files.get_file_info(f"{self.path}/{name}")
        return info.size if info.type == fs.FileType.File else None

    def age(self, name: str) -> float | None:
        """Return the seconds since the file *name* was written, by the clock of the server; ``None``: there is none."""
        info = self._files.get_file_info(f"{self.path}/{name}")
        return time.time() - info.mtime.timestamp() if info.type == fs.FileType.File else None

    def read(self, name: str) -> bytes | None:
        """Return the contents of the file *name*; ``None`` if there is none."""
        try:
            with self._files.open_input_stream(f"{self.path}/{name}", compression=None) as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None

    def put(self, name: str, data: bytes) -> None:
        """Write *data* to the file *name* atomically and durably."""
        self._files.create_dir(self.path)
        put_file(Path(self.path, name), data)

    @contextmanager
    def replacing(self, name: str) -> Iterator[BinaryIO]:
        """Yield a file that replaces the file *name* atomically at the end; nothing is left if the block fails.

        For data that may not fit in memory. Raises :exc:`OSError`.
        """
        self._files.create_dir(self.path)
        remove_left_overs(Path(self.path, name))
        with replacing(Path(self.path, name)) as file:
            yield file

    def create(self, name: str, data: bytes) -> bool:
        """Write *data* to the file *name* unless it exists; return whether it was written.

        On a disk, it is not durable across a power cut, unlike with :meth:`put`: waiting for
        the disk takes long with many sites.
        """
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

    def replace(self, name: str, data: bytes, *, was: bytes | None) -> bool:
        """Write *data* to the file *name* if its content is *was* (``None``: no file); return whether it was written.

        Of concurrent callers in an object store, at most one gets ``True``, unless they
        write the same bytes. On a disk, the caller holds the lock of the site.
        """
        if self.read(name) != was:
            return False
        self.put(name, data)
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
            file.write(data)

    def sync(self, names: Iterable[str]) -> None:
        """Make the files *names*, which have been written, and their folders durable across a power cut."""
        paths = set()
        for path in (f"{self.path}/{name}" for name in names):
            while path != self.path and path not in paths:
                paths.add(path)
                path = path.rpartition("/")[0]  # noqa: PLW2901 - up to this folder
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
