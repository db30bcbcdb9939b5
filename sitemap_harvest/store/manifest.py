"""What a folder of the store holds, written last: readers see only what a manifest names."""

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

    from sitemap_harvest.store.folder import Folder, HashedFile

FORMAT = 2
"""Goes up by one whenever older versions of the package could not read what is written."""
MANIFEST = "manifest.json"
RUNS_FILE = "runs.json.gz"
"""What the manifest of a single run says of it, for each of many runs: a JSON object a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run over one site, as it is kept."""

    id: str
    """Such as ``20261122T014512Z-4f2a1c``: when it began, in UTC, and six digits. They sort by time."""
    started_at: datetime
    """In UTC, as the other."""
    ended_at: datetime
    baseline: str | None = None
    """The run before it, which its ``changes`` are against; ``None`` if it is the first."""
    rows: int = 0
    """Rows that no run before it has kept."""
    documents: int = 0
    """Documents of the snapshot."""
    urls: int | None = None
    """Different URLs that the snapshot lists; ``None``: not counted yet."""
    complete: bool = False
    """Whether every document was read whole or confirmed in this run."""
    changes: Mapping[str, int] = field(default_factory=dict)
    """How many changes of each kind there are against the run before it."""
    trust: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """What was seen of the dates of each index up to this run: told, silent, idle, runs
    (:class:`~sitemap_harvest.plan.trust.Observed`)."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """What the run was asked for: arguments and settings that shape what is read or emitted."""

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> Self:
        """Make it of what :meth:`to_json` gave."""
        times = {name: datetime.fromisoformat(values[name]) for name in ("started_at", "ended_at")}
        known = {one.name for one in dataclasses.fields(cls)}
        return cls(**{**{name: value for name, value in values.items() if name in known}, **times})

    def to_json(self) -> dict[str, Any]:
        """Return it as values that JSON knows."""
        values = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        return values | {name: values[name].isoformat() for name in ("started_at", "ended_at")}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """One file that a manifest names."""

    name: str
    table: str
    """What it holds: ``rows``, ``extents``, ``pending``, ``references``, ``sitemaps``, ``changes``."""
    bytes: int
    sha256: str
    first: int = 0
    """Id of its first row, if it holds rows."""
    count: int = 0
    """How many rows it has."""
    end: int | None = None
    """The id after that of its last row; ``None``: there is no gap, so it is ``first`` + ``count``."""

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> Self:
        """Make it of what a manifest says."""
        known = {one.name for one in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})

    def to_json(self) -> dict[str, Any]:
        """Return it as values that JSON knows."""
        return {name: value for name, value in dataclasses.asdict(self).items() if value not in (None, 0)}

    @classmethod
    def written(
        cls, name: str, table: str, file: HashedFile, *, count: int, first: int = 0, end: int | None = None
    ) -> Self:
        """Describe *file*, which has been written."""
        return cls(name=name, table=table, bytes=file.bytes, sha256=file.sha256, first=first, count=count, end=end)

    def check(self, folder: Folder) -> None:
        """Raise :exc:`StoreError` if it is not in *folder*, or has not the size that it was written with."""
        if (size := folder.size(self.name)) != self.bytes:
            there = "is missing" if size is None else f"has {size:,} bytes, and was written with {self.bytes:,}"
            raise StoreError(f"{folder}/{self.name} {there}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a folder holds: one run, or several, one after the other, that were packed into one."""

    site: str
    runs: tuple[Run, ...]
    files: tuple[StoredFile, ...]
    next_row: int
    """The first id that no row has had so far."""
    also: tuple[str, ...] = ()
    """Ids of runs that were dropped, of which it holds what a later run still lists."""
    replaces: tuple[str, ...] = ()
    """Folders that it was made of, such as ``runs/20261122T014512Z-4f2a1c``: readers pass them over, if they are there
    still."""

    def put(self, folder: Folder) -> None:
        """Put it in place, from when on the runs are there for readers."""
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
        """Read that of *folder*; ``None`` if there is none. Raises :exc:`StoreError`."""
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
    """Return what is said of the runs of *folder*."""
    if (data := folder.read(RUNS_FILE)) is None:
        raise StoreError(f"{folder}/{RUNS_FILE} is missing")
    try:
        return [json.loads(line) for line in gzip.decompress(data).splitlines()]
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise StoreError(f"{folder}/{RUNS_FILE} is damaged: {error!r}") from error


def check_format(number: object, folder: Folder) -> None:
    """Raise :exc:`StoreError` if what *folder* holds was written in a format that is newer than this package."""
    if not isinstance(number, int) or number > FORMAT:
        raise StoreError(f"{folder} was written by a newer version of sitemap_harvest (format {number}); update it")
