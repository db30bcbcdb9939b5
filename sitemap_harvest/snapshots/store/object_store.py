"""``ObjectFolder``: file access of a store on S3, where a writer replaces an object only if nobody else has.

Every write that decides something, such as the one of a manifest or of a lock, is
conditional: the server refuses it if the object has changed since it was read. So it
does not matter how many machines write to the store.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import tempfile
import time
from contextlib import contextmanager, suppress
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Self
from urllib.parse import parse_qsl, unquote, urlsplit

import pyarrow as pa

from sitemap_harvest.errors import StoreError
from sitemap_harvest.snapshots.store.storage import Folder, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_CONNECT_SECONDS, _READ_SECONDS = 10, 30
_MOST_ATTEMPTS = 5  # of a request, and of a write that meets a concurrent one
_PAUSE_SECONDS = 0.2
_OPTIONS = frozenset({"endpoint_override", "region", "scheme"})
_NOT_WRITTEN = frozenset({404, 409, 412})
"""Responses to a conditional write: no such object, another write is in progress, and the object has changed."""
_checked: set[tuple[str, str]] = set()
"""The buckets whose server respects conditions. A forked process need not check them again."""


class StoredObject(NamedTuple):
    """An object as read."""

    data: bytes
    etag: str
    """Its version."""


class Bucket:
    """A bucket on S3, or on a server with its protocol. Each process has connections of its own."""

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        """Use the bucket *name*. *options*: arguments of ``create_client()`` of botocore."""
        self.name = name
        self._options = options
        self.identity  # noqa: B018 - raises the errors of its options

    @property
    def _client(self) -> Any:
        access = tuple(one for one in sorted(os.environ.items()) if one[0].startswith("AWS_"))
        return _client(os.getpid(), access, **self._options)  # a forked process must not use those of its parent

    @property
    def identity(self) -> tuple[str, str]:
        """The address of the server, and the name."""
        return self._client.meta.endpoint_url, self.name

    def get(self, key: str) -> StoredObject | None:
        """Return the object at *key*; ``None`` if there is none."""
        from botocore.exceptions import HTTPClientError, IncompleteReadError

        with _errors():
            for attempt in range(1, _MOST_ATTEMPTS + 1):
                try:
                    answer = self._client.get_object(Bucket=self.name, Key=key)
                    return StoredObject(answer["Body"].read(), answer["ETag"])
                except self._client.exceptions.NoSuchKey:
                    break
                except (HTTPClientError, IncompleteReadError):  # botocore does not repeat these
                    if attempt == _MOST_ATTEMPTS:
                        raise
        return None

    def head(self, key: str) -> Mapping[str, Any] | None:
        """Return what the server says about the object at *key*; ``None`` if there is none."""
        from botocore.exceptions import ClientError

        with _errors():
            try:
                answer: Mapping[str, Any] = self._client.head_object(Bucket=self.name, Key=key)
            except ClientError as error:
                if _status(error) == 404:
                    return None
                raise
            return answer

    def put(self, key: str, data: bytes | BinaryIO, **condition: str) -> bool:
        """Write the object at *key*; return whether the *condition* held, ``IfMatch`` or ``IfNoneMatch``."""
        from botocore.exceptions import ClientError

        with _errors():
            try:
                self._client.put_object(Bucket=self.name, Key=key, Body=data, **condition)
            except ClientError as error:
                is_missing = error.response["Error"]["Code"] == "NoSuchBucket"
                if not condition or is_missing or _status(error) not in _NOT_WRITTEN:
                    raise
                return False
            return True

    def keys(self, prefix: str, *, deep: bool = False) -> Iterator[str]:
        """Yield the keys that begin with *prefix*, up to the next slash; with *deep*, to their ends."""
        options = {} if deep else {"Delimiter": "/"}
        with _errors():
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix, **options)
            for page in pages:
                yield from (one["Key"] for one in page.get("Contents", ()))
                yield from (one["Prefix"] for one in page.get("CommonPrefixes", ()))

    def delete(self, key: str) -> None:
        """Remove the object at *key*, if there is one."""
        with _errors():
            self._client.delete_object(Bucket=self.name, Key=key)


class ObjectFolder(Folder):
    """A folder in a bucket: the objects whose keys begin with its path."""

    def __init__(self, bucket: Bucket, path: str) -> None:
        """Use the folder at *path*, which begins with the name of the *bucket*."""
        self._bucket = bucket
        self.path = path

    @classmethod
    def of(cls, address: str, *, what: str = "store") -> Self:
        """Return the folder at *address*, ``s3://bucket/folder``. Raises :exc:`StoreError`, which names it *what*."""
        bucket, path, options = _parts(address, what)
        try:
            return cls(Bucket(bucket, options), f"{bucket}/{path}".rstrip("/"))
        except ModuleNotFoundError as error:
            if error.name is None or not error.name.startswith("botocore"):
                raise
            how = "pip install 'scrapy-sitemap-harvest[s3]'"
            raise StoreError(f"{what} {shown(address)!r}: boto3 is not installed: {how}") from None
        except OSError as error:
            raise StoreError(f"{what} {shown(address)!r}: {error}") from None

    def __truediv__(self, name: str) -> ObjectFolder:
        return ObjectFolder(self._bucket, f"{self.path}/{name}")

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine: never."""
        return False

    def _key(self, name: str) -> str:
        return f"{self.path.partition('/')[2]}/{name}".lstrip("/")

    def check_conditions(self) -> None:
        """Raise :exc:`StoreError` if the server ignores conditions of writes. Asks it once in a process."""
        if (identity := self._bucket.identity) in _checked:
            return
        key = self._key(f"probe-{secrets.token_hex(8)}.json")
        refused = [
            not self._bucket.put(key, b"{}", **condition)
            for condition in ({"IfNoneMatch": "*"}, {"IfNoneMatch": "*"}, {"IfMatch": '"0"'})
        ]
        self._bucket.delete(key)
        if refused != [False, True, True]:
            raise StoreError(
                f"store {self.path!r}: the server does not support conditional writes (the headers If-None-Match and "
                "If-Match of PutObject), which protect the store from concurrent runs; use another server, or a newer "
                "version of it"
            )
        _checked.add(identity)

    def trust_conditions(self) -> None:
        """Skip :meth:`check_conditions` in this process, because another one has done it."""
        _checked.add(self._bucket.identity)

    def names(self, *begin: str) -> list[str]:
        """Return the names of its contents, sorted; with *begin*, those that begin with one of these texts."""
        prefix = self._key("")
        keys = {key for one in begin or ("",) for key in self._bucket.keys(prefix + one)}
        return sorted(key.removeprefix(prefix).rstrip("/") for key in keys - {prefix})

    def tree(self) -> dict[str, list[str]]:
        """Return the names of the contents of each folder in it, by the name of the folder, sorted."""
        prefix, found = self._key(""), dict[str, list[str]]()
        for key in sorted(self._bucket.keys(prefix, deep=True)):
            folder, _, name = key.removeprefix(prefix).partition("/")
            found.setdefault(folder, []).append(name)
        return found

    def size(self, name: str) -> int | None:
        """Return the size of the file *name* in bytes; ``None`` if there is none."""
        found = self._bucket.head(self._key(name))
        return None if found is None else int(found["ContentLength"])

    def age(self, name: str) -> float | None:
        """Return the seconds since the file *name* was written, by the clock of the server; ``None``: there is none."""
        if (found := self._bucket.head(self._key(name))) is None:
            return None
        now = parsedate_to_datetime(found["ResponseMetadata"]["HTTPHeaders"]["date"])
        return float((now - found["LastModified"]).total_seconds())

    def read(self, name: str) -> bytes | None:
        """Return the contents of the file *name*; ``None`` if there is none."""
        found = self._bucket.get(self._key(name))
        return None if found is None else found.data

    def put(self, name: str, data: bytes) -> None:
        """Write *data* to the file *name*, whatever it is."""
        self.write(name, data)

    def create(self, name: str, data: bytes) -> bool:
        """Write *data* to the file *name* unless it exists; return whether it was written."""
        return self.replace(name, data, was=None)

    def replace(self, name: str, data: bytes, *, was: bytes | None) -> bool:
        """Write *data* to the file *name* if its content is *was* (``None``: no file); return whether that held."""
        key = self._key(name)
        # Usually the version is the MD5 digest of the content. If it is not, the object is read for it below.
        version = None if was is None else f'"{hashlib.md5(was, usedforsecurity=False).hexdigest()}"'
        for attempt in range(_MOST_ATTEMPTS):
            if attempt:
                time.sleep(_PAUSE_SECONDS * attempt)  # another write may be in progress
            if self._bucket.put(key, data, **({"IfNoneMatch": "*"} if version is None else {"IfMatch": version})):
                return True
            found = self._bucket.get(key)
            if found is not None and found.data == data:
                return True  # by an attempt whose response was lost
            if (None if found is None else found.data) != was:
                return False
            version = None if found is None else found.etag
        raise OSError(f"{self}/{name}: the server refused {_MOST_ATTEMPTS} writes, although nobody else has written it")

    @contextmanager
    def replacing(self, name: str) -> Iterator[BinaryIO]:
        """Yield a temporary file that is uploaded as the file *name* at the end, unless the block fails."""
        with tempfile.TemporaryFile() as file:
            yield file
            file.seek(0)
            self._bucket.put(self._key(name), file)

    def link(self, name: str, path: str) -> bool:
        """Raise :exc:`OSError`: an object store has no links."""
        raise OSError(f"{self}/{name} cannot be a link to {path}: an object store has no links")

    def open(self, name: str) -> pa.NativeFile:
        """Open the file *name* for random access. It is read at once: it has some megabytes at most."""
        if (data := self.read(name)) is None:
            raise FileNotFoundError(f"{self}/{name} is missing")
        return pa.BufferReader(data)

    def write(self, name: str, data: bytes | pa.Buffer) -> None:
        """Write *data* to the file *name*."""
        self._bucket.put(self._key(name), data if isinstance(data, bytes) else data.to_pybytes())

    def sync(self, names: Iterable[str]) -> None:
        """Do nothing: an object is durable when it is visible."""

    def remove(self, name: str) -> None:
        """Remove the file *name*, if there is one."""
        self._bucket.delete(self._key(name))

    def remove_all(self) -> None:
        """Remove all of its contents."""
        for key in self._bucket.keys(self._key(""), deep=True):
            self._bucket.delete(key)


def preload() -> None:
    """Load what clients of S3 need, for processes that are forked from this one; do nothing without boto3."""
    with suppress(ModuleNotFoundError):
        _client(os.getpid(), (), region_name="us-east-1")


def _parts(address: str, what: str) -> tuple[str, str, dict[str, Any]]:
    """Return the bucket, the folder and the options for ``create_client()`` in *address*. Raises StoreError."""
    try:
        parts = urlsplit(address)
        given = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    except ValueError:
        raise StoreError(f"{what} {shown(address)!r}: it is not a valid address") from None  # the cause repeats it
    login, _, bucket = parts.netloc.rpartition("@")
    if not bucket or ":" in bucket or parts.fragment:
        hint = "s3://bucket/folder (in a key in it, write %2F for a slash, %40 for @, %23 for #)"
        raise StoreError(f"{what} {shown(address)!r}: it is not an address such as {hint}")
    if unknown := given.keys() - _OPTIONS:
        words = f"unknown option {min(unknown)!r}; valid options: {', '.join(sorted(_OPTIONS))}"
        raise StoreError(f"{what} {shown(address)!r}: {words}")
    key, _, secret = (unquote(part) for part in login.partition(":"))
    scheme, endpoint = given.get("scheme", "https"), given.get("endpoint_override")
    options: dict[str, Any] = {
        "region_name": given.get("region") or os.environ.get("AWS_REGION"),
        "use_ssl": scheme != "http",
        "aws_access_key_id": key or None,
        "aws_secret_access_key": secret or None,
    }
    if endpoint:
        options["endpoint_url"] = endpoint if "://" in endpoint else f"{scheme}://{endpoint}"
    return bucket, unquote(parts.path).strip("/"), options


@cache
def _client(process: int, access: tuple[tuple[str, str], ...], **options: Any) -> Any:  # noqa: ARG001 - parts of the key
    """Return the client of S3 of the *process* with this id, and with these variables.

    Raises :exc:`ModuleNotFoundError` and :exc:`OSError`.

    Making one takes 30 ms of CPU.
    """
    from botocore.config import Config  # the extra [s3], which loads slowly
    from botocore.session import Session

    session = Session()
    session.register_component("data_loader", _loader())
    config = Config(
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=_READ_SECONDS,
        retries={"mode": "standard", "total_max_attempts": _MOST_ATTEMPTS},
        request_checksum_calculation="when_required",  # other servers do not know the new checksums
        response_checksum_validation="when_required",
    )
    with _errors():
        return session.create_client("s3", config=config, **options)


@cache
def _loader() -> Any:
    """Return what reads the description of S3, which takes 0.1 seconds: once for a process and those forked from it."""
    from botocore.loaders import create_loader

    return create_loader()


def _status(error: Any) -> int:
    return int(error.response["ResponseMetadata"]["HTTPStatusCode"])


@contextmanager
def _errors() -> Iterator[None]:
    """Raise :exc:`OSError`, in one line and without credentials, for an error of botocore."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (BotoCoreError, ClientError, ValueError) as error:
        words = " ".join(str(error).split())
        if "header value" in words:  # it repeats the header, which has the key or the token
            words = "a key or a token has a character that HTTP does not allow, such as a line break"
        raise OSError(words) from None
