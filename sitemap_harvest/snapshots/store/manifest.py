"""The manifest: the runs of a site, and the files with their data.

Readers see only what it names. It is replaced atomically, so a run, a compaction or a
pruning happens completely or not at all.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import zlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sitemap_harvest.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sitemap_harvest.snapshots.store.storage import Folder

_T = TypeVar("_T", "Run", "StoredFile")

FORMAT = 1
"""Incremented whenever older versions of the package cannot read the written format."""
MANIFEST = "manifest.json.gz"
_DECODERS: dict[str, Callable[[Any], Any]] = {
    "started_at": datetime.fromisoformat, "ended_at": datetime.fromisoformat, "runs": tuple, "ids": tuple
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of one site, as stored."""

    id: str
    """Start of the run in UTC, and six hex digits, such as ``20261122T014512Z-4f2a1c``. Ids sort by time."""
    started_at: datetime
    """In UTC, like ``ended_at``."""
    ended_at: datetime
    baseline: str | None = None
    """The previous run, which its ``changes`` are relative to; ``None`` if it is the first."""
    rows: int = 0
    """Rows that no earlier run had stored."""
    documents: int = 0
    """Documents of the snapshot."""
    urls: int | None = None
    """Distinct URLs that the snapshot lists; ``None``: not counted yet."""
    complete: bool = False
    """Whether every document was read completely or confirmed in this run."""
    changes: Mapping[str, int] = field(default_factory=dict)
    """Number of changes of each kind since the previous run."""
    trust: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Statistics of the dates of each index up to this run: correct, missed, spurious, runs
    (:class:`~sitemap_harvest.snapshots.conditional_requests.LastmodStats`)."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Arguments and settings of the run that affect what is read or emitted."""

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON-compatible values."""
        times = {name: getattr(self, name).isoformat() for name in ("started_at", "ended_at")}
        return dataclasses.asdict(self) | times


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """One file that the manifest names."""

    name: str
    """Its path in the folder of the site, such as ``runs/20261122T014512Z-4f2a1c/sitemaps.parquet``."""
    table: str
    """Its contents: ``rows``, ``row_ranges``, ``pending``, ``references``, ``sitemaps``, ``changes``."""
    bytes: int
    sha256: str
    count: int
    """Number of rows."""
    runs: tuple[str, str]
    """The first and the last run whose data it may have."""
    ids: tuple[int, int] = (0, 0)
    """Of a file of rows: the first id, and the id after the last. There may be gaps between them."""

    def check(self, folder: Folder) -> None:
        """Raise :exc:`StoreError` if the file is missing in *folder*, or its size differs."""
        if (size := folder.size(self.name)) != self.bytes:
            there = "is missing" if size is None else f"has {size:,} bytes, but had {self.bytes:,} when it was written"
            raise StoreError(f"{folder}/{self.name} {there}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The runs of a site, oldest first, and its files in the order of their runs."""

    runs: tuple[Run, ...] = ()
    files: tuple[StoredFile, ...] = ()
    next_row: int = 0
    """The first unused row id."""

    def put(self, folder: Folder) -> None:
        """Write it to *folder*. From then on readers see its runs."""
        values = {
            "format": FORMAT,
            "next_row": self.next_row,
            "runs": [run.to_json() for run in self.runs],
            "files": [dataclasses.asdict(file) for file in self.files],
        }
        text = json.dumps(values, ensure_ascii=False, separators=(",", ":"), default=str)
        folder.put(MANIFEST, gzip.compress(text.encode(), mtime=0))

    @classmethod
    def read(cls, folder: Folder) -> Self:
        """Read the manifest of *folder*; it is empty if there is none. Raises :exc:`StoreError`."""
        if (data := folder.read(MANIFEST)) is None:
            return cls()
        try:
            values = json.loads(gzip.decompress(data))
            check_format(values["format"], folder)
            return cls(
                runs=tuple(_of_json(Run, one) for one in values["runs"]),
                files=tuple(_of_json(StoredFile, one) for one in values["files"]),
                next_row=values["next_row"],
            )
        except (ValueError, KeyError, TypeError, OSError, EOFError, zlib.error) as error:
            raise StoreError(f"{folder}/{MANIFEST} is damaged: {error!r}") from error


def _of_json(cls: type[_T], values: Mapping[str, Any]) -> _T:
    """Return the instance of *cls* with *values*. Fields of later versions are ignored."""
    names = [one.name for one in dataclasses.fields(cls) if one.name in values]
    return cls(**{name: _DECODERS[name](values[name]) if name in _DECODERS else values[name] for name in names})


def check_format(number: object, folder: Folder) -> None:
    """Raise :exc:`StoreError` if *folder* was written in a format newer than this package supports."""
    if not isinstance(number, int) or number > FORMAT:
        raise StoreError(
            f"{folder} was written by a newer version of sitemap_harvest (format {number}); update sitemap_harvest"
        )
