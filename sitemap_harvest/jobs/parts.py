"""Tables over all sites of a store, written in parts: each part is one file, which one job writes.

A part has the sites whose folders in the store have a name with the same remainder, so a part needs only the names of
the other sites. The file appears when it is complete, so a part can be written repeatedly, also at the same time.
"""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from sitemap_harvest.dates import DateRange, read_age, read_date
from sitemap_harvest.diff import compare_each
from sitemap_harvest.errors import ArgumentError, HarvestError, StoreError
from sitemap_harvest.files import temporary_files
from sitemap_harvest.integration.items.exporters import ParquetExporter
from sitemap_harvest.jobs.retries import StoreRetries
from sitemap_harvest.model import MAX_ROWS, Batch, ChangeBatch, FindingBatch, UrlBatch
from sitemap_harvest.snapshots.store import open_store
from sitemap_harvest.snapshots.store.storage import Folder, shown
from sitemap_harvest.snapshots.store.store import folders_of_part, site_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import BinaryIO

    from sitemap_harvest.audit import RuleOptions
    from sitemap_harvest.snapshots.store import History, Run, Store

TABLES: Mapping[str, type[Batch[Any]]] = {"changes": ChangeBatch, "findings": FindingBatch, "urls": UrlBatch}
"""The tables, with the kind of their rows."""
COMPACTION = "compaction"
"""What a part has that writes no table, but compacts its sites."""
_SPOOLED_BYTES = 32 << 20  # of the rows of one site that are kept in memory until the site was read completely
NOT_READ = (HarvestError, OSError, pa.ArrowException)
"""The errors of a site that cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a table. Raises :exc:`ArgumentError` if a value is invalid."""

    table: str
    """A key of :data:`TABLES`, or :data:`COMPACTION`. ``changes`` are those of each run after :attr:`since`;
    ``findings`` and ``urls`` are those of the last snapshot of each site."""
    number: int
    """Counted from 0."""
    parts: int
    """The number of all parts."""
    store: str
    """A folder, or ``s3://bucket/folder``, like ``output``."""
    output: str
    since: str | None = None
    """A text for :func:`since_moment`; ``None``: since the run before the last of each site."""

    def __post_init__(self) -> None:
        if self.table not in {*TABLES, COMPACTION}:
            raise ArgumentError("table", self.table, f"one of {', '.join(TABLES)}")
        if self.parts < 1:
            raise ArgumentError("parts", self.parts, "at least 1")
        if not 0 <= self.number < self.parts:
            raise ArgumentError("number", self.number, f"from 0 to {self.parts - 1}")
        if self.since is not None and self.table != "changes":
            raise ArgumentError("since", self.since, "given only for changes")

    @property
    def name(self) -> str:
        """The name of its file, such as ``changes-0003-of-0064.parquet``; if it writes none, its name in messages."""
        if self.table == COMPACTION:
            return f"part {self.number + 1} of {self.parts}"
        return f"{self.table}-{self.number:04}-of-{self.parts:04}.parquet"

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON-compatible values."""
        return dataclasses.asdict(self)

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the part with *values*, a result of :meth:`to_json`."""
        return cls(**values)


@dataclass(slots=True, kw_only=True)
class PartCounts:
    """What a part has."""

    sites: int = 0
    """Sites with a snapshot that were read."""
    rows: int = 0
    failed: list[str] = field(default_factory=list)
    """A message for each site that could not be read; the part has none of its rows."""


def since_moment(text: str, *, now: datetime) -> datetime:
    """Return the moment, in UTC, that *text* names: a date (its end), a timestamp, or an age before *now*.

    Its ``isoformat(timespec="microseconds")`` names it too, and does not depend on when a part is written.
    Raises :exc:`ArgumentError` for other texts.
    """
    if (age := read_age(text)) is not None:
        return (now - age).astimezone(UTC)
    if (date := read_date(text)) is not None:
        return DateRange.of(date).last
    raise ArgumentError("since", text, "a date, a timestamp or an age (2w, 7d, 36h)")


def missing(output: str, table: str, parts: int) -> list[int]:
    """Return the numbers of the *parts* of *table* without a file in *output*. Raises :exc:`HarvestError`."""
    wanted = [Part(table=table, number=number, parts=parts, store="", output=output) for number in range(parts)]
    try:
        names = {*Folder.at(output, what="output").names()}
    except OSError as error:
        raise StoreError(f"output {shown(output)!r}: it cannot be read: {error.strerror or error}") from error
    return [part.number for part in wanted if part.name not in names]


def write_part(
    part: Part,
    *,
    now: datetime,
    rules: Mapping[str, RuleOptions] | None = None,
    sleep: Callable[[float], object] = time.sleep,
) -> PartCounts:
    """Write the file of *part*. *now* is the time that an age is relative to. *rules*: the options of audit rules.

    While the store or the output cannot be reached, it waits up to four times, with *sleep*.
    Raises :exc:`HarvestError` if the store does not exist, ``since`` is no date, or the file cannot be written.
    """
    since = None if part.since is None else since_moment(part.since, now=now)
    retries = StoreRetries(sleep)
    while True:
        try:
            return _write_file(part, since, rules, retries)
        except (StoreError, OSError) as error:
            if not retries.wait(error):
                raise


def _write_file(
    part: Part, since: datetime | None, rules: Mapping[str, RuleOptions] | None, retries: StoreRetries
) -> PartCounts:
    store = open_store(part.store)
    sources: dict[str, Callable[[History], Iterator[Batch[Any]]]] = {
        "changes": lambda history: _changes(history, since),
        "findings": lambda history: _findings(history, store, rules),
        "urls": _urls,
    }
    try:
        with Folder.at(part.output, what="output").replacing(part.name) as file:
            return _write(part, store, sources[part.table], file, retries)
    except OSError as error:
        raise StoreError(f"output {shown(part.output)!r}: {part.name} cannot be written: {error}") from error


def _write(
    part: Part,
    store: Store,
    batches_of: Callable[[History], Iterator[Batch[Any]]],
    file: BinaryIO,
    retries: StoreRetries,
) -> PartCounts:
    """Write the rows of the sites of *part*, by site, to *file*."""
    kind = TABLES[part.table]
    exporter = ParquetExporter(file)
    exporter.start_exporting()
    exporter.export_item(kind.of([]))  # so that a file without rows has the columns
    counts = PartCounts()
    for site in sites_of(part, store, counts, retries):
        history = store.history(site)
        with SpooledTemporaryFile(max_size=_SPOOLED_BYTES) as rows:
            while (error := _spool(batches_of(history), kind, rows)) is not None and retries.wait(error):
                rows.seek(0)
                rows.truncate()
                history = store.history(site)
            if error is not None:
                reason = str(error)
                counts.failed.append(reason if reason.startswith(site) else f"{site}: {reason}")
                continue
            rows.seek(0)
            for batch in pa.ipc.open_stream(rows):
                exporter.export_item(kind(batch))
                counts.rows += batch.num_rows
        counts.sites += bool(history.runs)
    exporter.finish_exporting()
    return counts


def sites_of(part: Part, store: Store, counts: PartCounts, retries: StoreRetries) -> list[str]:
    """Return the sites of *part*, sorted; add those with a damaged folder to *counts*, a message for each."""
    found = []
    waiting = folders_of_part(store, part.number, part.parts)
    while waiting:
        try:
            site = site_in(store, waiting[-1])
        except NOT_READ as error:
            if retries.wait(error):
                continue
            counts.failed.append(str(error))
        else:
            found += [] if site is None else [site]
        waiting.pop()
    return sorted(found)


def _spool(batches: Iterator[Batch[Any]], kind: type[Batch[Any]], file: Any) -> Exception | None:
    """Write *batches*, all rows of one site, to *file*; return the error if they cannot be read.

    No rows of a site are better than some of them: only then is the sum of the parts that of complete sites.
    """
    with pa.ipc.new_stream(file, kind.schema()) as writer:
        while True:
            try:
                batch = next(batches, None)
            except NOT_READ as error:
                return error
            if batch is None:
                return None
            with temporary_files():
                writer.write_batch(batch.arrow)


def _changes(history: History, since: datetime | None) -> Iterator[ChangeBatch]:
    """Yield the changes of each run after the last one that began until *since*, or of the last run."""
    for changes in compare_each(map(history.snapshot, _runs(history.runs, since))):
        with changes:
            yield from changes.batches()


def _runs(runs: Sequence[Run], since: datetime | None) -> Sequence[Run]:
    """Return the *runs* to compare, each with the one before it. All if the first began after *since*."""
    if since is None:
        return runs[-2:]
    earlier = [number for number, run in enumerate(runs) if run.started_at <= since]
    return runs[max(earlier, default=0) :]


def _findings(history: History, store: Store, rules: Mapping[str, RuleOptions] | None) -> Iterator[FindingBatch]:
    """Yield the findings of the audit of the last snapshot."""
    from sitemap_harvest.audit.audit import Audit  # DuckDB takes 0.1 seconds to load

    if (snapshot := history.latest()) is not None:
        with Audit(snapshot, history, rules, store=store) as audit:
            findings = audit.findings()
            while some := FindingBatch.of(islice(findings, MAX_ROWS)):
                yield some


def _urls(history: History) -> Iterator[UrlBatch]:
    """Yield the URLs of the last snapshot."""
    if (snapshot := history.latest()) is not None:
        yield from map(UrlBatch, snapshot.urls())
