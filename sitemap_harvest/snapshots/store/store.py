"""``Store``: the histories of many sites, and queries over them; ``History``: the runs of one site.

The manifest of a site names its runs, and the files with their data. Readers see only
what it names. It is replaced atomically, so a run, a compaction or a pruning happens
completely or not at all.
"""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import json
import logging
import os
import re
import zlib
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Self, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.dates import DateRange, read_age, read_date
from sitemap_harvest.discovery.well_known import scheme_twin
from sitemap_harvest.display import SHOWN_ROWS, short, summary_as_html, table_as_html
from sitemap_harvest.errors import InvalidRunError, StoreError
from sitemap_harvest.model.run import is_run_id
from sitemap_harvest.snapshots.store.snapshot import Snapshot
from sitemap_harvest.snapshots.store.storage import Folder, shown
from sitemap_harvest.snapshots.store.tables import SCHEMAS, StoredFile, read_table
from sitemap_harvest.urls import host_of, site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

logger = logging.getLogger(__name__)

_T = TypeVar("_T", "Run", StoredFile)

FORMAT = 2
"""Incremented whenever older versions of the package cannot read the written format. 2: data in the manifest."""
MANIFEST = "manifest.json.gz"
_DECODERS: dict[str, Callable[[Any], Any]] = {
    "started_at": datetime.fromisoformat, "ended_at": datetime.fromisoformat, "runs": tuple, "ids": tuple
}  # fmt: skip
RUNS = "runs"
_STORE = "store.json"
_SITE = "site.json"
_SITES = "sites"
_DIGEST = re.compile(r"(?<=-)[0-9a-f]{8}\Z")
"""The end of a name of :func:`folder_name`, which distributes the sites evenly to parts."""
_SCHEMES, _WWW = ("https", "http"), ("", "www.")
_READ_TWICE = frozenset({"row_ranges", "references"})
_EMPTY = {name: schema.empty_table() for name, schema in SCHEMAS.items()}
_FEW_SITES = 100  # of a run, that are looked up one by one in an object store
_SMALL_ROWS = 100  # of a file that is held in memory while its site is open: some 10 KB


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of one site, as stored."""

    id: str
    """Start of the run in UTC, and six hex digits, such as ``20261122T014512Z-4f2a1c``. Ids sort by time."""
    job: str | None = None
    """The id of the job that has stored the run, such as the job of Scrapyd; ``None``: it was no job."""
    started_at: datetime
    """In UTC, like ``ended_at``."""
    ended_at: datetime
    baseline: str | None = None
    """The previous run, which its ``changes`` are relative to; ``None`` if it is the first."""
    base: str | None = None
    """The address at which the site responded, such as ``http://a.example``; ``None``: at none, or it is a document."""
    rows: int = 0
    """Entries that no earlier run had stored: few if the sitemaps have hardly changed."""
    documents: int = 0
    """Documents of the snapshot, and those that are still listed, but left it because they are absent or redirect."""
    urls: int | None = None
    """Distinct URLs that the snapshot lists; ``None``: not counted yet."""
    result: str | None = None
    """The result of the site, a value of :class:`~sitemap_harvest.SiteResult`."""
    reason: str | None = None
    """The reason of the result, as text."""
    complete: bool = False
    """Whether every document was read completely or confirmed in this run."""
    not_due: int | None = None
    """Number of sitemaps that were not requested because their own interval has not passed, if every other document was
    read completely or confirmed in this run: then it is not ``complete``. ``None``: there are none, or others too."""
    partly_read: int = 0
    """Entries that were read in this run, of documents that it could read only in part."""
    changes: Mapping[str, int] = field(default_factory=dict)
    """Number of changes of each kind since the previous run, and of URLs that are ``newly_known`` or ``retracted``, or
    whose removal is ``pending``, if there are some."""
    trust: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Statistics of the dates of each index up to this run: correct, missed, spurious, runs
    (:class:`~sitemap_harvest.snapshots.conditional_requests.LastmodStats`)."""
    search: Mapping[str, Any] = field(default_factory=dict)
    """The last complete search for sitemaps, if it found none: the fields of
    :class:`~sitemap_harvest.discovery.past_search.PastSearch`; empty without one."""
    probe: Mapping[str, int] = field(default_factory=dict)
    """Of the last probe of its pages: ``listed`` (different pages that may be requested), ``left_out`` (entries that
    may not be requested), ``sample`` (pages in the sample), ``seed``; empty without one."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Arguments and settings of the run that affect what is read or emitted."""

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON-compatible values."""
        times = {name: getattr(self, name).isoformat() for name in ("started_at", "ended_at")}
        return _values_of(self) | times


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The runs of a site, oldest first, and its files in the order of their runs."""

    runs: tuple[Run, ...] = ()
    files: tuple[StoredFile, ...] = ()
    next_row: int = 0
    """The first unused row id."""
    taken_by: str | None = None
    """The run that has taken over the lock of another one since the last change (:func:`fence`)."""

    def data(self) -> bytes:
        """Return it as the contents of its file."""
        values = {
            **({} if self.taken_by is None else {"taken_by": self.taken_by}),
            "format": FORMAT,
            "next_row": self.next_row,
            "runs": [run.to_json() for run in self.runs],
            "files": [_values_of(file) for file in self.files],
        }
        text = json.dumps(values, ensure_ascii=False, separators=(",", ":"), default=str)
        return gzip.compress(text.encode(), compresslevel=6, mtime=0)

    @classmethod
    def read(cls, folder: Folder) -> Self:
        """Read the manifest of *folder*; it is empty if there is none. Raises :exc:`StoreError`."""
        return cls.of(folder.read(MANIFEST), folder)

    @classmethod
    def of(cls, data: bytes | None, folder: Folder) -> Self:
        """Return the manifest in *data*, the contents of the file in *folder*; ``None``: there is none."""
        if data is None:
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
    names = [name for name in _NAMES[cls] if name in values]
    return cls(**{name: _DECODERS[name](values[name]) if name in _DECODERS else values[name] for name in names})


def _values_of(one: Run | StoredFile) -> dict[str, Any]:
    """Return the fields of *one* that are not ``None``. Not ``asdict()``, which copies their values, field by field."""
    return {name: value for name in _NAMES[type(one)] if (value := getattr(one, name)) is not None}


_NAMES: dict[type[Any], list[str]] = {cls: [one.name for one in dataclasses.fields(cls)] for cls in (Run, StoredFile)}


def fence(folder: Folder, run_id: str) -> None:
    """Change the manifest in *folder* for the run *run_id*, which has taken over the lock of a run that seems dead.

    If that run goes on after all, it cannot replace the manifest any more.
    """
    while True:
        was = folder.read(MANIFEST)
        manifest = dataclasses.replace(Manifest.of(was, folder), taken_by=run_id)
        if folder.replace(MANIFEST, manifest.data(), was=was):
            return


def check_format(number: object, folder: Folder) -> None:
    """Raise :exc:`StoreError` if *folder* was written in a format newer than this package supports."""
    if not isinstance(number, int) or number > FORMAT:
        raise StoreError(
            f"{folder} was written by a newer version of sitemap_harvest (format {number}); update sitemap_harvest"
        )


def open_store(path: str | Path, *, create: bool = False) -> Store:
    """Open the store at *path*: a folder, or ``s3://bucket/folder``. With *create*, make it if there is none.

    Raises :exc:`StoreError` if there is none, or it cannot be read or written.
    """
    store = store_at(path)
    if create:
        store.create()
    elif not store.exists:
        raise StoreError(
            f"store {shown(path)!r}: no snapshot store exists there; "
            f"a crawl makes one: sitemap-harvest crawl SITE --store {quote(shown(path))}"
        )
    return store


def store_at(path: str | Path) -> Store:
    """Return the store at *path*, which need not exist. Raises :exc:`StoreError` if it cannot be read."""
    folder = Folder.at(path)
    with _naming(shown(path)):
        try:
            if (data := folder.read(_STORE)) is not None:
                check_format(json.loads(data)["format"], folder)
        except (ValueError, TypeError, KeyError) as error:
            words = f"{folder}/{_STORE} is damaged, or not that of a store"
            raise StoreError(f"store {shown(path)!r}: {words}") from error
    return Store(folder, new_at=shown(path) if data is None else None)


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Raise :exc:`StoreError` with the *path* of the store for an error of the file system."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        errno = getattr(error, "errno", None)
        words = f"it cannot be opened: {os.strerror(errno).lower()}" if errno else error
        raise StoreError(f"store {path!r}: {words}") from error


def is_store(path: str) -> bool:
    """Whether *path* is a store, or a folder in an object store, which may be one."""
    return path.startswith("s3://") or Path(path, _STORE).is_file()


class Store:
    """The snapshots of many sites. A *site* is the site or document that the user named."""

    def __init__(self, folder: Folder, *, new_at: str | None = None) -> None:
        """Open the store in *folder*. *new_at*: the path of a store that does not exist, as the user gave it."""
        self.folder = folder
        self._new_at = new_at

    def __repr__(self) -> str:
        return f"<Store {shown(self.folder.path)}>"

    @property
    def exists(self) -> bool:
        """Whether there is such a store."""
        return self._new_at is None

    def create(self) -> None:
        """Make the store, unless it exists. Raises :exc:`StoreError` if it cannot be written, or not safely."""
        with _naming(self._new_at or str(self.folder)):
            self.folder.check_conditions()
            if self._new_at is None:
                return
            if self.folder.is_local and any(name[0] != "." for name in self.folder.names()):
                logger.warning("A new store is created in %s, a folder that already has other files", self.folder)
            self.folder.replace(_STORE, json.dumps({"format": FORMAT}).encode(), was=None)
        self._new_at = None

    def sites(self) -> list[str]:
        """Return the sites that have a snapshot, sorted."""
        return [history.site for history in self.histories()]

    def histories(self) -> list[History]:
        """Return the histories of the sites that have a snapshot, sorted by site."""
        return sorted((history for history in self.iter_histories() if history.runs), key=lambda history: history.site)

    def size(self) -> int:
        """Return the number of the sites, some of which may have no runs."""
        return len((self.folder / _SITES).names())

    def iter_histories(self) -> Iterator[History]:
        """Yield the histories of all sites, by the names of their folders; some may have no runs."""
        yield from _histories(self.folder / _SITES)

    def query(self, sql: str, *, at: str = "latest", site: str | None = None) -> pa.Table:
        """Return the result of *sql*, one SELECT statement over the views. Raises :exc:`StoreError`.

        *at*: the snapshots that the views ``urls``, ``sitemaps``, ``problems`` and ``pending``
        show: any value that :meth:`History.at` accepts, or ``all``. *site*: only that one.
        """
        from sitemap_harvest.snapshots.store.sql_views import Views  # DuckDB takes 0.1 seconds to load

        with closing(Views([self.site(site)] if site is not None else self.histories(), at=at)) as views:
            return views.query(sql).read_all()

    def history(self, site: str) -> History:
        """Return the history of *site*, which may have no runs."""
        return History(site, self.folder / _SITES / folder_name(site))

    def site(self, name: str) -> History:
        """Return the history of the site *name*: as given to the run, or without ``https://`` or ``http://``.

        If there is none, return the only one of a site that was read at this address, or of the same host with the
        other scheme. Raises :exc:`StoreError` if there is none, or if there are several.
        """
        names = dict.fromkeys([name, *(site_of(f"{scheme}{name}") or name for scheme in ("", "https://", "http://"))])
        for site in names:
            if (history := self.history(site)).runs:
                return history
        histories = self.histories()
        read_there = [one for one in histories if any(run.base in names for run in one.runs)]
        twins = {scheme_twin(site) for site in names}
        if len(found := read_there or [one for one in histories if one.site in twins]) == 1:
            return found[0]
        known = [one.site for one in found or histories]
        hint = f", only of {', '.join(known[:5])}{' and more' if len(known) > 5 else ''}" if known else ""
        raise StoreError(f"{name}: the store has no snapshot of this site{hint}")

    def renamed(self, sites: Mapping[str, bool]) -> dict[str, str]:
        """Return the names that those of *sites* have in the store which are stored with the other scheme.

        The values of *sites* say whether the user named only the host. A site with a history of its own keeps its
        name, as does one that is named with both schemes. An address with a scheme has the other
        name only if a run has read the site there. Raises :exc:`StoreError`.
        """
        found = {}
        with _naming(str(self.folder)):
            folders = self._folders_of(sites)
            for site, is_bare in sites.items() if folders else ():
                twin = scheme_twin(site)
                if twin in sites or folder_name(twin) not in folders or folder_name(site) in folders:
                    continue
                runs = self.history(twin).runs
                if runs and (is_bare or any(run.base == site for run in runs)):
                    found[site] = twin
        return found

    def _folders_of(self, sites: Collection[str]) -> set[str]:
        """Return the names of the folders of *sites* and of their twins, at least."""
        folder = self.folder / _SITES
        if folder.is_local or len(sites) > _FEW_SITES:
            return {*folder.names()}
        # A store may have a million sites, and one request lists a thousand.
        twins = [twin for site in sites if (twin := scheme_twin(site)) not in sites]
        found = {name for name in map(folder_name, twins) if (folder / name).size(_SITE) is not None}
        return found | {name for name in map(folder_name, sites) if found and (folder / name).size(_SITE) is not None}

    def latest(self, site: str) -> Snapshot:
        """Return the last snapshot of *site*. Raises :exc:`StoreError` if there is none."""
        return self.site(site).at("latest")

    def begin(self, history: History) -> None:
        """Create the folder for the first run of a site."""
        if history.folder.is_local or not history.runs:  # in an object store, each request costs
            history.folder.replace(_SITE, json.dumps({"site": history.site}, ensure_ascii=False).encode(), was=None)


def sites_alike(store: Store, site: str) -> list[str]:
    """Return the other sites with a snapshot, and documents, on the host of *site*, with or without ``www.``."""
    host = _host_of(site)
    begin = [folder_name(f"{scheme}://{www}{host}").rpartition("-")[0] for scheme in _SCHEMES for www in _WWW]
    found = _histories(store.folder / _SITES, *begin) if host else ()
    return sorted(one.site for one in found if one.site != site and _host_of(one.site) == host and one.runs)


def folders_of_part(store: Store, part: int, parts: int) -> list[str]:
    """Return the names of the folders of the sites in one *part*, counted from 0, of these *parts* of *store*, sorted.

    The name determines the part of a site, so no file is read.
    """
    names = (store.folder / _SITES).names()
    return [name for name in names if (match := _DIGEST.search(name)) and int(match[0], 16) % parts == part]


def site_in(store: Store, folder: str) -> str | None:
    """Return the site whose folder in *store* has this name; ``None`` if its first run has not begun.

    Raises :exc:`StoreError` if its file is damaged.
    """
    return _site_in(store.folder / _SITES / folder)


def _host_of(site: str) -> str:
    return host_of(site).removeprefix("www.")


def _histories(sites: Folder, *begin: str) -> Iterator[History]:
    """Yield the histories of the *sites* whose folder names begin with one of these texts; without any, of all."""
    for name in sites.names(*begin):
        if (site := _site_in(sites / name)) is not None:
            yield History(site, sites / name)


def _site_in(folder: Folder) -> str | None:
    """Return the site in *folder*, as for :func:`site_in`."""
    if not (data := folder.read(_SITE)):
        return None
    try:
        return str(json.loads(data)["site"])
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{folder}/{_SITE} is damaged: {error!r}") from error


def folder_name(site: str) -> str:
    """Return the folder name of *site*: readable and unique."""
    digest = hashlib.blake2s(site.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{re.sub(r'[^A-Za-z0-9.]+', '-', site)[:80].strip('-.')}-{digest}"


class History:
    """The finished runs of one site, oldest first."""

    def __init__(
        self, site: str, folder: Folder, manifest: Manifest | None = None, *, earlier: History | None = None
    ) -> None:
        """Open the history of *site* in *folder*. Files are read on first use.

        *manifest*: a manifest that is not in the folder yet; ``None``: the one that is. *earlier*: the same
        history with fewer runs, whose small files need not be read again.
        """
        self.site = site
        self.folder = folder
        self._small: dict[str, pa.Table] = {} if earlier is None else earlier._small  # noqa: SLF001 - of the same class
        self._data: bytes | None = None  # of the manifest, as read
        if manifest is not None:
            self.__dict__["manifest"] = manifest

    def __repr__(self) -> str:
        return f"<History of {self.site}>"

    def _repr_html_(self) -> str:
        last = [
            {
                "run": run.id,
                "urls": run.urls,
                "complete": run.complete,
                "changes": [f"{count:,} {kind}" for kind, count in run.changes.items() if count],
            }
            for run in self.runs[: -SHOWN_ROWS - 1 : -1]
        ]
        table = table_as_html("runs, the last one first", pa.Table.from_pylist(last), rows=len(self.runs))
        return summary_as_html(f"History of {short(self.site)}", (), table)

    @cached_property
    def manifest(self) -> Manifest:
        """The runs and files of the site."""
        self._data = self.folder.read(MANIFEST)
        return Manifest.of(self._data, self.folder)

    def replace(self, manifest: Manifest) -> None:
        """Replace the manifest in the folder, once the files that the new one adds are durable.

        Readers see it from then on; the history itself keeps the old one until :meth:`forget`.
        Raises :exc:`StoreError` if another run has replaced it since it was read.
        """
        known = {file.name for file in self.manifest.files}
        self.folder.sync(file.name for file in manifest.files if file.values is None and file.name not in known)
        if not self.folder.replace(MANIFEST, manifest.data(), was=self._data):
            raise StoreError(f"{self.site}: another run has stored a snapshot in the meantime")

    def forget(self) -> None:
        """Discard the manifest, so that it is read again on next use."""
        self.__dict__.pop("manifest", None)

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs, oldest first."""
        return self.manifest.runs

    def latest(self) -> Snapshot | None:
        """Return the last snapshot; ``None`` if there is none."""
        return self.snapshot(self.runs[-1]) if self.runs else None

    def at(self, when: str, *, now: datetime | None = None) -> Snapshot:
        """Return the snapshot of the run that *when* names.

        ``latest``, ``previous``, ``first``, a run ID, a date, a timestamp or an age. A date or
        a timestamp names the last run that began before its end, and an age, such as ``7d``,
        the last run that began at least that long before *now* (``None``: the current
        time). Raises :exc:`StoreError` if there is none.
        """
        return self.snapshot(self.run(when, now=now))

    def run(self, when: str, *, now: datetime | None = None, before: str | None = None) -> Run:
        """Return the run that *when* names, as for :meth:`at`, of those before the run with the ID *before*."""
        runs = [run for run in self.runs if before is None or run.id < before]
        if not runs:
            raise StoreError(f"{self.site}: there is no snapshot")
        places = {"latest": -1, "first": 0, "previous": -2}
        if when in places:
            if when == "previous" and len(runs) < 2:
                raise StoreError(f"{self.site}: there is only one snapshot, {runs[0].id}")
            return runs[places[when]]
        if named := [run for run in runs if run.id == when or (len(when) >= 8 and run.id.startswith(when))]:
            return named[-1]
        if (age := read_age(when)) is not None:
            end, words = (now or datetime.now(UTC)) - age, f"that is at least {when} old"
        elif (date := read_date(when)) is not None:
            end, words = DateRange.of(date).last, f"from {when} or earlier"
        elif is_run_id(when):
            raise InvalidRunError(
                f"{self.site}: {when!r} is not a run of this site; the last one is {runs[-1].id} (a run that "
                "resumes another has the ID of that one)"
            )
        else:
            known = "latest, previous, first, a run ID, a date, a timestamp or an age (2w, 7d, 36h)"
            raise InvalidRunError(f"{when!r} is not a run; use {known}")
        if not (old := [run for run in runs if run.started_at <= end]):
            first = runs[0]
            raise StoreError(f"{self.site}: there is no snapshot {words}; the first is {first.id}")
        return old[-1]

    def snapshot(self, run: Run) -> Snapshot:
        """Return the snapshot of *run*."""
        return Snapshot(run, self)

    def tables(self, name: str, runs: Collection[str], columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield the data of *runs* in the table *name*. Raises :exc:`StoreError` if a file is missing or damaged.

        *columns*: those to read, with ``run``; ``None``: all.
        """
        for file in self.manifest.files:
            if file.table == name and any(file.runs[0] <= run <= file.runs[1] for run in runs):
                table = self._read(file) if columns is None else read_table(self.folder, file, columns)
                if file.runs[0] == file.runs[1]:
                    yield table
                    continue
                is_wanted = pc.is_in(table.column("run"), pa.array(sorted(runs), pa.string()))
                yield table if pc.all(is_wanted).as_py() else table.filter(is_wanted)  # which copies

    def table(self, name: str, runs: Collection[str], columns: Sequence[str] | None = None) -> pa.Table:
        """Return the data of *runs* in the table *name*, as for :meth:`tables`."""
        found = list(self.tables(name, runs, columns)) or [_EMPTY[name].select(columns or SCHEMAS[name].names)]
        return found[0] if len(found) == 1 else pa.concat_tables(found)

    def _read(self, file: StoredFile) -> pa.Table:
        """Return the data of *file*. What documents list is read for two snapshots, the last one and the next one."""
        if (table := self._small.get(file.name)) is None:
            table = read_table(self.folder, file)
            if file.table in _READ_TWICE and file.count <= _SMALL_ROWS:
                self._small[file.name] = table
        return table

    def unfinished(self, names: Iterable[str] | None = None) -> list[str]:
        """Return the ids of runs that have not ended: they are still running, or were interrupted.

        *names*: those of the folders of runs; ``None``: read them.
        """
        known = {run.id for run in self.runs} | {file.name.split("/")[1] for file in self.manifest.files}
        found = (self.folder / RUNS).names() if names is None else names
        return [name for name in found if is_run_id(name) and name not in known]
