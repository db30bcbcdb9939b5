"""``StoreExport``: writes the snapshots of a store to the tables of a database, whole or what is new.

A table of the database has the last exported run of each site. It is written in the transaction of the rows, so an
export that is killed has written a site completely or not at all, and the next one continues.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from sitemap_harvest.databases.comments import commented
from sitemap_harvest.databases.database import EXPORTED, EXPORTS, Rows
from sitemap_harvest.errors import DatabaseError, StoreError
from sitemap_harvest.model import Change, Problem, SitemapRecord, UrlEntry
from sitemap_harvest.snapshots.store import sql_views as views
from sitemap_harvest.snapshots.store.store import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sitemap_harvest.databases.database import Database
    from sitemap_harvest.snapshots.store import History

FORMAT = 1
"""Incremented whenever older versions of the package cannot continue an export."""
_GROUP_SITES = 100
_GROUP_ROWS = 100_000

_SITE = {"root": "The site as named by the user.", "run": "The run of the snapshot."}
TABLES: dict[str, pa.Schema] = {
    "urls": commented(views.URLS, "The URLs in the last snapshot of each site.", UrlEntry, _SITE),
    "sitemaps": commented(views.SITEMAPS, "The documents in the last snapshot of each site.", SitemapRecord, _SITE),
    "problems": commented(
        views.PROBLEMS,
        "The problems of the documents in the last snapshot of each site.",
        Problem,
        _SITE | {"sitemap": "The URL of the document in the table sitemaps."},
    ),
    "changes": commented(views.CHANGES, "The changes of each run compared with the one before.", Change, {}),
    "runs": commented(
        views.RUNS,
        "The runs over each site.",
        Run,
        {
            "root": _SITE["root"],
            "run": "Its ID, which begins with its start in UTC. IDs sort by time.",
            **{kind: f"Number of URLs that are {kind} since the run before." for kind in views.KINDS},
            "arguments": "Arguments and settings that affect what is read, as JSON.",
        },
    ),
    EXPORTS: pa.schema(
        [
            ("root", pa.string()),
            ("run", pa.string()),
            ("exported_at", pa.timestamp("us", "UTC")),
            ("format", pa.int64()),
        ],
        {"comment": "The last run of each site that sitemap-harvest export has written."},
    ),
}
"""The tables and their columns. The first three have the last snapshot of each site, the next two the history."""
_INDEXED = {
    "urls": ("root", "key"),
    "sitemaps": ("root",),
    "problems": ("root",),
    "changes": ("site", "run", "key"),
    "runs": ("root", "run"),
    EXPORTS: ("root",),
}


class _New(NamedTuple):
    """The runs of a site that are to be exported."""

    history: History
    runs: Sequence[Run]
    is_known: bool
    """Whether the tables may have rows of the site."""


@dataclass(slots=True)
class ExportCounts:
    """What an export has done."""

    rows: Counter[str] = field(default_factory=Counter)
    """Rows written, by table."""
    sites: int = 0
    """Sites with new runs."""
    up_to_date: int = 0
    """Sites without any."""
    failed: list[str] = field(default_factory=list)
    """Messages on the sites that could not be read."""


class StoreExport:
    """One export, of some sites after the other."""

    def __init__(
        self, database: Database, *, is_full: bool = False, on_rows: Callable[[int], object] = lambda _: None
    ) -> None:
        """Write to *database*. *is_full*: also the runs that it has.

        *on_rows* gets the number of rows of each batch that was written.
        """
        self.counts = ExportCounts()
        self._database = database
        self._is_full = is_full
        self._on_rows = on_rows

    def check(self) -> None:
        """Raise :exc:`DatabaseError` if the tables of the database are not those of an export."""
        with self._database.transaction():
            self._database.lock(EXPORTS)
            self._database.check(TABLES)
            if not self._database.exists(EXPORTS) and (others := list(filter(self._database.exists, TABLES))):
                location = self._database.location
                name = f"{location.schema}.{others[0]}" if location.schema else others[0]
                add = ", or add the parameter schema=NAME" if location.has_schemas else ""
                raise DatabaseError(
                    f"the table {name} already exists, and no export has written it; export to another database"
                    f"{' or schema' if location.schema else add}"
                )

    def export(self, histories: Iterable[History]) -> Iterator[int]:
        """Export *histories*; yield the number of sites after each transaction.

        Raises :exc:`DatabaseError`. A site that cannot be read is left out.
        """
        if not self._database.has_transactions:
            self._create_tables()
        if self._is_full:
            self._remove_others()
        for group in _groups(histories, self.counts.failed):
            self._export(group)
            yield len(group)

    def _create_tables(self) -> None:
        """Create the tables that are missing, the state first: it shows that the others are those of an export.

        A commit that creates a table conflicts with no other, so two exports at once would leave the rows of both.
        """
        for name in (EXPORTS, *TABLES):
            if not self._database.exists(name):
                self._database.write(name, Rows(TABLES[name], []))

    def _remove_others(self) -> None:
        """Delete the rows that no export has written: earlier versions let crawls write to the tables."""
        with self._database.transaction():
            self._database.lock(EXPORTS)
            for name in filter(self._database.exists, EXPORTED):
                self._database.delete_nulls(name, "run")

    def _export(self, group: Sequence[History]) -> None:
        try:
            self._write(group)
        except StoreError as error:
            if len(group) == 1:
                self.counts.failed.append(str(error))
                return
            for history in group:
                history.forget()  # a run may have replaced its files since
                self._export([history])

    def _write(self, group: Sequence[History]) -> None:
        with self._database.transaction():
            self._database.lock(EXPORTS)
            new = list(self._new(group))
            written = {name: self._database.write(name, rows) for name, rows in self._rows(new)} if new else {}
        self.counts.rows.update(written)
        self.counts.sites += len(new)
        self.counts.up_to_date += len(group) - len(new)

    def _new(self, group: Sequence[History]) -> Iterator[_New]:
        known: dict[str, str] = {}
        if self._database.exists(EXPORTS):
            sites = [history.site for history in group]
            for root, run, number in self._database.select(EXPORTS, ["root", "run", "format"], "root", sites):
                if number > FORMAT:
                    raise DatabaseError(
                        f"a newer version of sitemap_harvest has exported to the database (format {number}); "
                        "update sitemap_harvest"
                    )
                known[root] = run
        for history in group:
            last = known.get(history.site)
            if runs := [run for run in history.runs if last is None or self._is_full or run.id > last]:
                yield _New(history, runs, is_known=last is not None)

    def _rows(self, new: Sequence[_New]) -> Iterator[tuple[str, Rows]]:
        """Yield the new rows of each table; they are read when they are written."""
        snapshots = [one.history.snapshot(one.runs[-1]) for one in new]
        now = datetime.now(UTC)
        state = [(one.history.site, one.runs[-1].id, now, FORMAT) for one in new]
        sources: dict[str, Iterable[pa.RecordBatch]] = {
            "urls": (batch for one in snapshots for batch in views.urls_of(one)),
            "sitemaps": (batch for one in snapshots for batch in views.sitemaps_of(one)),
            "problems": (batch for one in snapshots for batch in views.problems_of(one)),
            "changes": (batch for one in new for batch in views.changes_of(one.history, one.runs)),
            "runs": (batch for one in new for batch in views.table_of_runs(one.history, one.runs).to_batches()),
            EXPORTS: [_batch(state, TABLES[EXPORTS].names)],
        }
        for name, batches in sources.items():
            replaced = self._replaced(name, new)
            yield name, Rows(TABLES[name], self._counted(batches), replaced=replaced, indexed=_INDEXED[name])

    def _replaced(self, name: str, new: Sequence[_New]) -> pa.RecordBatch | None:
        """Return the values of the rows of the table *name* that the *new* rows replace; ``None``: there are none.

        Without transactions, an export that failed may have left rows of sites and runs that are not in the state.
        """
        site = "site" if name == "changes" else "root"
        if name in {"changes", "runs"} and any(one.is_known for one in new):
            is_kept = self._database.has_transactions and not self._is_full
            pairs = [(one.history.site, run.id) for one in new for run in one.runs]
            return None if is_kept else _batch(pairs, [site, "run"])
        sites = [(one.history.site,) for one in new if one.is_known or not self._database.has_transactions]
        return _batch(sites, [site]) if sites else None

    def _counted(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            self._on_rows(batch.num_rows)


def _batch(rows: Sequence[tuple[object, ...]], names: Sequence[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(dict(zip(names, zip(*rows, strict=True), strict=True)))


def _groups(histories: Iterable[History], failed: list[str]) -> Iterator[list[History]]:
    """Yield *histories* in groups for one transaction each; append the messages on those without runs to *failed*."""
    group: list[History] = []
    rows = 0
    for history in histories:
        try:
            runs = history.runs
        except StoreError as error:
            failed.append(str(error))
            continue
        if runs:
            group.append(history)
            rows += runs[-1].urls or 0
        if len(group) >= _GROUP_SITES or rows >= _GROUP_ROWS:
            yield group
            group, rows = [], 0
    if group:
        yield group
