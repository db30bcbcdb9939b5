"""A bucket in memory, with a clock of its own, for tests of what happens between two requests."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import count
from typing import TYPE_CHECKING, Any, BinaryIO

from sitemap_harvest.snapshots.store.object_store import ObjectFolder, StoredObject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_numbers = count()


class MemoryBucket:
    """Does what :class:`Bucket` does."""

    name = "bucket"

    def __init__(self, version_of: Callable[[bytes], str] = lambda data: hashlib.md5(data).hexdigest()) -> None:
        """Hold nothing. *version_of* returns the version of an object with these contents."""
        self._address = f"memory:{next(_numbers)}"  # of no earlier bucket, as the check of a server is remembered
        self.objects: dict[str, tuple[bytes, datetime]] = {}
        self.now = datetime(2026, 11, 1, tzinfo=UTC)
        self.before_put: Callable[[str], None] = lambda key: None
        """Called before each write."""
        self.answers: list[Callable[[], bool]] = []
        """What the next writes return, after they have happened."""
        self.requests: list[str] = []
        self._version_of = version_of

    @property
    def identity(self) -> tuple[str, str]:
        return self._address, self.name

    def folder(self) -> ObjectFolder:
        """Return the folder of a store in it."""
        return ObjectFolder(self, "bucket/store")  # type: ignore[arg-type]

    def pass_time(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def get(self, key: str) -> StoredObject | None:
        self.requests.append(f"GET {key}")
        return StoredObject(data, self._etag(data)) if (data := self._data(key)) is not None else None

    def head(self, key: str) -> dict[str, Any] | None:
        self.requests.append(f"HEAD {key}")
        if key not in self.objects:
            return None
        data, written_at = self.objects[key]
        headers = {"date": format_datetime(self.now, usegmt=True)}
        return {"ContentLength": len(data), "LastModified": written_at, "ResponseMetadata": {"HTTPHeaders": headers}}

    def put(
        self,
        key: str,
        body: bytes | BinaryIO,
        *,
        IfMatch: str | None = None,  # noqa: N803 - name of S3
        IfNoneMatch: str | None = None,  # noqa: N803 - name of S3
    ) -> bool:
        data = body if isinstance(body, bytes) else body.read()
        hook, self.before_put = self.before_put, lambda key: None
        hook(key)
        self.requests.append(f"PUT {key}")
        there = self._data(key)
        is_refused = (IfNoneMatch is not None and there is not None) or (
            IfMatch is not None and (there is None or self._etag(there) != IfMatch)
        )
        if not is_refused:
            self.objects[key] = data, self.now
        return self.answers.pop(0)() if self.answers else not is_refused

    def keys(self, prefix: str, *, deep: bool = False) -> Iterator[str]:
        self.requests.append(f"LIST {prefix}")
        found = [key for key in self.objects if key.startswith(prefix)]
        yield from found if deep else {prefix + self._first(key.removeprefix(prefix)) for key in found}

    def delete(self, key: str) -> None:
        self.requests.append(f"DELETE {key}")
        self.objects.pop(key, None)

    def _data(self, key: str) -> bytes | None:
        return self.objects[key][0] if key in self.objects else None

    def _etag(self, data: bytes) -> str:
        return f'"{self._version_of(data)}"'

    def _first(self, rest: str) -> str:
        first, slash, _ = rest.partition("/")
        return first + slash
