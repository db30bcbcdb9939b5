"""Manifests: the runs and files of a folder of the store.

Written last, because readers see only what a manifest names.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import zlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from sitemap_harvest.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sitemap_harvest.snapshots.store.storage import Folder, HashedFile

FORMAT = 2
"""Incremented whenever older versions of the package cannot read the written format."""
MANIFEST = "manifest.json"
RUNS_FILE = "runs.json.gz"
"""File with the run entries of a compacted segment: one JSON object per line."""


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
    (:class:`~sitemap_harvest.snapshots.conditional.lastmod_trust.LastmodStats`)."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Arguments and settings of the run that affect what is read or emitted."""

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> Self:
        """Create it from the result of :meth:`to_json`."""
        times = {name: datetime.fromisoformat(values[name]) for name in ("started_at", "ended_at")}
        known = {one.name for one in dataclasses.fields(cls)}
        return cls(**{**{name: value for name, value in values.items() if name in known}, **times})

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON-compatible values."""
        values = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        return values | {name: values[name].isoformat() for name in ("started_at", "ended_at")}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """One file that a manifest names."""

    name: str
    table: str
    """Its contents: ``rows``, ``row_ranges``, ``pending``, ``references``, ``sitemaps``, ``changes``."""
    bytes: int
    sha256: str
    first: int = 0
    """Id of its first row, if it holds rows."""
    count: int = 0
    """Number of rows."""
    end: int | None = None
    """The id after that of its last row; ``None``: without gaps, so it is ``first`` + ``count``."""

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> Self:
        """Create it from a manifest entry."""
        known = {one.name for one in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON-compatible values."""
        return {name: value for name, value in dataclasses.asdict(self).items() if value not in (None, 0)}

    @classmethod
    def written(
        cls, name: str, table: str, file: HashedFile, *, count: int, first: int = 0, end: int | None = None
    ) -> Self:
        """Return the entry of *file*, which has been written."""
        return cls(name=name, table=table, bytes=file.bytes, sha256=file.sha256, first=first, count=count, end=end)

    def check(self, folder: Folder) -> None:
        """Raise :exc:`StoreError` if the file is missing in *folder*, or its size differs."""
        if (size := folder.size(self.name)) != self.bytes:
            there = "is missing" if size is None else f"has {size:,} bytes, but was written with {self.bytes:,}"
            raise StoreError(f"{folder}/{self.name} {there}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The contents of a folder: one run, or several consecutive ones that were compacted."""

    site: str
    runs: tuple[Run, ...]
    files: tuple[StoredFile, ...]
    next_row: int
    """The first unused row id."""
    also: tuple[str, ...] = ()
    """Ids of dropped runs with data that a later run still lists."""
    replaces: tuple[str, ...] = ()
    """Folders that it replaces, such as ``runs/20261122T014512Z-4f2a1c``: readers ignore them if they still exist."""

    def put(self, folder: Folder) -> None:
        """Write it. From then on readers see its runs."""
        values = {
            "format": FORMAT,
            "site": self.site,
            "next_row": self.next_row,
            "runs": [] if any(file.table == "runs" for file in self.files) else [run.to_json() for run in self.runs],
            "files": [file.to_json() for file in self.files],
            "also": self.also,
            "replaces": self.replaces,
        }
        folder.put(MANIFEST, json.dumps(values, ensure_ascii=False, separators=(",", ":"), default=str).encode())

    @classmethod
    def read(cls, folder: Folder) -> Self | None:
        """Read the manifest of *folder*; ``None`` if there is none. Raises :exc:`StoreError`."""
        if (data := folder.read(MANIFEST)) is None:
            return None
        try:
            values = json.loads(data)
            check_format(values["format"], folder)
            files = tuple(StoredFile.of_json(file) for file in values["files"])
            runs = _packed_runs(folder) if any(file.table == "runs" for file in files) else values["runs"]
            return cls(
                site=values["site"],
                runs=tuple(Run.of_json(run) for run in runs),
                files=files,
                next_row=values["next_row"],
                also=tuple(values.get("also", ())),
                replaces=tuple(values.get("replaces", ())),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{folder}/{MANIFEST} is damaged: {error!r}") from error


def _packed_runs(folder: Folder) -> list[Any]:
    """Return the run entries of *folder*."""
    if (data := folder.read(RUNS_FILE)) is None:
        raise StoreError(f"{folder}/{RUNS_FILE} is missing")
    try:
        return [json.loads(line) for line in gzip.decompress(data).splitlines()]
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise StoreError(f"{folder}/{RUNS_FILE} is damaged: {error!r}") from error


def check_format(number: object, folder: Folder) -> None:
    """Raise :exc:`StoreError` if *folder* was written in a format newer than this package supports."""
    if not isinstance(number, int) or number > FORMAT:
        raise StoreError(f"{folder} was written by a newer version of sitemap_harvest (format {number}); update it")
