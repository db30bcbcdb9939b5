"""SQL over a store: the views (``urls``, ``sitemaps``, ``problems`` ...), which read only what a query needs.

DuckDB plans a query before it reads anything, so the plan shows which columns are
needed. Only these are read, and only for the views that the query names.
"""

from __future__ import annotations

import json
import re
import tempfile
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.errors import InvalidRunError, StoreError
from sitemap_harvest.model import Change, PageRecord, Problem, SitemapRecord, UrlEntry, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from sitemap_harvest.snapshots.store.snapshot import Snapshot
    from sitemap_harvest.snapshots.store.store import History, Run

ALL_RUNS = "all"
_BATCH_ROWS = 100_000
_TEXT, _COUNT, _TIME = pa.string(), pa.int64(), pa.timestamp("us", "UTC")


def _nullable(*fields: pa.Field) -> pa.Schema:
    """Return the schema of *fields*, all nullable: a column that is not needed is not read."""
    return pa.schema([pa.field(field.name, field.type) for field in fields])


_RUN, _ROOT = pa.field("run", _TEXT), pa.field("root", _TEXT)
URLS = _nullable(_RUN, _ROOT, *arrow_schema(UrlEntry))  # if rows are only counted, DuckDB requests the first column
SITEMAPS = _nullable(_RUN, *arrow_schema(SitemapRecord))
PROBLEMS = _nullable(_RUN, _ROOT, pa.field("sitemap", _TEXT), *arrow_schema(Problem))
_PENDING = _nullable(_RUN, _ROOT, *(pa.field(name, _TEXT) for name in ("loc", "sitemap", "since")))
_PAGES = _nullable(*arrow_schema(PageRecord))
CHANGES = _nullable(*arrow_schema(Change))
KINDS = ("added", "removed", "changed", "moved", "expired")
RUNS = pa.schema(
    [
        ("root", _TEXT), ("run", _TEXT), ("started_at", _TIME), ("ended_at", _TIME), ("baseline", _TEXT),
        ("documents", _COUNT), ("urls", _COUNT), ("rows", _COUNT), ("complete", pa.bool_()),
        *((kind, _COUNT) for kind in KINDS), ("result", _TEXT), ("reason", _TEXT), ("arguments", _TEXT),
    ]
)  # fmt: skip
_VIEWS = {
    "urls": f"select {', '.join(URLS.names[2:])}, root, run from all_urls",  # noqa: S608 - names of our own columns
    "sitemaps": "select * from all_sitemaps",
    "problems": (
        "select run, root, sitemap, problem.* from "
        "(select run, root, url as sitemap, unnest(problems) as problem from all_sitemaps)"
    ),
    "pending": "select loc, sitemap, since, root, run from all_pending",
    "pages": "select * from all_pages",
    "changes": "select * from all_changes",
    "runs": "select * from all_runs",
    "sites": (
        "select root, count(*) as runs, min(started_at) as first_at, max(started_at) as last_at, "
        "arg_max(run, started_at) as latest, arg_max(urls, started_at) as urls from all_runs group by root"
    ),
}

_HINTS = {
    "url": "in the views urls, changes and pending, the column for the URL is loc",
    "loc": "in the views sitemaps and pages, the column for the URL is url",
    "site": "the column for the site is root",
}
"""For names of columns that some views have, and others do not."""


class Views:
    """SQL views over histories, with a connection of their own."""

    def __init__(self, histories: Sequence[History], *, at: str = "latest") -> None:
        """Open views over *histories*. Nothing is read before a query needs it.

        *at*: which snapshots ``urls``, ``sitemaps``, ``problems``, ``pending`` and ``pages`` show:
        ``latest``, any other value that :meth:`History.at` accepts, or ``all``.
        """
        import duckdb  # takes 0.1 seconds

        self._histories = histories
        self._at = at
        self._now = datetime.now(UTC)
        self._needed: frozenset[str] | None = None
        self._spill = tempfile.TemporaryDirectory(prefix="sitemap-harvest-")
        self._connection = duckdb.connect(config={"temp_directory": self._spill.name})
        self._connection.execute("set TimeZone = 'UTC'")
        sources = {
            "all_urls": _Source(URLS, self._urls),
            "all_sitemaps": _Source(SITEMAPS, self._sitemaps),
            "all_pending": _Source(_PENDING, self._pending),
            "all_pages": _Source(_PAGES, self._pages),
            "all_changes": _Source(CHANGES, self._changes),
            "all_runs": _Source(RUNS, self._runs),
        }
        for name, source in sources.items():
            self._connection.register(name, source)
        for name, query in _VIEWS.items():
            self._connection.execute(f"create view {name} as {query}")
        self._connection.execute("set python_enable_replacements = false")
        self._connection.execute("set enable_external_access = false")
        self._connection.execute("set lock_configuration = true")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
        self._spill.cleanup()

    def query(self, sql: str) -> pa.RecordBatchReader:
        """Return the result of *sql*, one SELECT statement. Raises :exc:`StoreError` if the query fails."""
        import duckdb

        try:
            statements = self._connection.extract_statements(sql)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise StoreError("the query must be one SELECT statement: a store is read-only")
            relation = self._connection.sql(sql)
            self._needed = self._columns_of(sql)
            reader = relation.to_arrow_reader(_BATCH_ROWS)
        except duckdb.Error as error:
            raise StoreError(f"the query failed: {error}{_hint(str(error))}") from error
        return pa.RecordBatchReader.from_batches(reader.schema, _answered(reader))

    def _columns_of(self, sql: str) -> frozenset[str] | None:
        """Return the names of the columns that *sql* reads; ``None`` if they cannot be determined."""
        ((_, plan),) = self._connection.execute(f"explain (format json) {sql}").fetchall()
        found: set[str] = set()
        waiting = list(json.loads(plan))
        while waiting:
            node = waiting.pop()
            waiting += node["children"]
            if "ARROW" in node["name"]:
                names = node["extra_info"].get("Projections")
                if names is None:
                    return None
                found |= {names} if isinstance(names, str) else set(names)
        return frozenset(found)

    def _snapshots(self) -> Iterator[Snapshot]:
        invalid: list[InvalidRunError] = []
        for history in self._histories:
            if self._at == ALL_RUNS:
                yield from (history.snapshot(run) for run in history.runs)
                continue
            try:
                snapshot = history.at(self._at, now=self._now)
            except InvalidRunError as error:  # with many sites, some may not be part of that run
                invalid.append(error)
                continue
            except StoreError:  # others may have begun later
                continue
            yield snapshot
        if invalid and len(invalid) == len(self._histories):
            raise invalid[0]

    def _urls(self) -> Iterator[pa.RecordBatch]:
        for snapshot in self._snapshots():
            yield from urls_of(snapshot, self._needed)

    def _sitemaps(self) -> Iterator[pa.RecordBatch]:
        for snapshot in self._snapshots():
            yield from sitemaps_of(snapshot)

    def _pending(self) -> Iterator[pa.RecordBatch]:
        for snapshot in self._snapshots():
            for batch in snapshot.pending_urls():
                yield _filled(batch, _PENDING, {"run": snapshot.run.id, "root": snapshot.site})

    def _pages(self) -> Iterator[pa.RecordBatch]:
        for snapshot in self._snapshots():
            yield from (batch.cast(_PAGES) for batch in snapshot.page_batches())

    def _changes(self) -> Iterator[pa.RecordBatch]:
        for history in self._histories:
            yield from changes_of(history, history.runs)

    def _runs(self) -> Iterator[pa.RecordBatch]:
        for history in self._histories:
            yield from table_of_runs(history, history.runs).to_batches()


def urls_of(snapshot: Snapshot, needed: Collection[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the URLs of *snapshot*: rows of the view ``urls``. Columns that are not *needed* are null."""
    wanted = [name for name in arrow_schema(UrlEntry).names if needed is None or name in needed]
    facts = {"run": snapshot.run.id, "root": snapshot.site}
    for batch in snapshot.urls(wanted) if wanted else _counted(snapshot):
        yield _filled(batch, URLS, facts)


def sitemaps_of(snapshot: Snapshot) -> Iterator[pa.RecordBatch]:
    """Yield the document records of *snapshot*: rows of the view ``sitemaps``."""
    for batch in snapshot.sitemaps().to_batches():
        yield _filled(batch, SITEMAPS, {"run": snapshot.run.id, "root": snapshot.site})


def problems_of(snapshot: Snapshot) -> Iterator[pa.RecordBatch]:
    """Yield the problems of the documents of *snapshot*: rows of the view ``problems``."""
    for batch in snapshot.sitemaps().to_batches():
        lists = batch.column("problems")
        document = pc.list_parent_indices(lists)
        facts = (pa.repeat(text, len(document)) for text in (snapshot.run.id, snapshot.site))
        columns = [*facts, batch.column("url").take(document), *pc.list_flatten(lists).flatten()]
        yield pa.RecordBatch.from_arrays(columns, schema=PROBLEMS)


def changes_of(history: History, runs: Sequence[Run]) -> pa.RecordBatchReader:
    """Return the changes of *runs*: the view ``changes``."""

    def batches() -> Iterator[pa.RecordBatch]:
        for table in history.tables("changes", [run.id for run in runs]):
            yield from table.cast(CHANGES).to_batches()

    return pa.RecordBatchReader.from_batches(CHANGES, batches())


def table_of_runs(history: History, runs: Sequence[Run]) -> pa.Table:
    """Return the table of *runs*: the view ``runs``."""
    rows = [
        {
            "root": history.site,
            "run": run.id,
            **{name: getattr(run, name) for name in (*RUNS.names[2:9], "result", "reason")},
            **{kind: run.changes.get(kind, 0) for kind in KINDS},
            "arguments": json.dumps(run.arguments, ensure_ascii=False, default=str),
        }
        for run in runs
    ]
    return pa.Table.from_pylist(rows, RUNS)


def _hint(error: str) -> str:
    """Return the name of the column that was probably meant, which DuckDB cannot know; empty if there is none."""
    named = re.search(r'column (?:named )?"(\w+)"', error)
    hint = _HINTS.get(named[1].lower()) if named else None
    return f"\n  Hint: {hint}" if hint else ""


def _answered(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """Yield the batches of *reader*; the store is read during this iteration."""
    import duckdb

    try:
        yield from reader
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise StoreError(f"the query failed: {error}") from error


class _Source:
    """An Arrow source that can be read repeatedly, once for each time that a query names it."""

    def __init__(self, schema: pa.Schema, batches: Callable[[], Iterator[pa.RecordBatch]]) -> None:
        self._schema = schema
        self._batches = batches

    def __arrow_c_schema__(self) -> Any:
        return self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        reader = pa.RecordBatchReader.from_batches(self._schema, self._batches())
        return reader.__arrow_c_stream__(requested_schema)


def _filled(batch: pa.RecordBatch, schema: pa.Schema, facts: dict[str, str]) -> pa.RecordBatch:
    """Return *batch* with all columns of *schema*: *facts* are constant columns, the others are not read."""
    columns = []
    for field in schema:
        if field.name in facts:
            columns.append(pa.repeat(pa.scalar(facts[field.name], field.type), batch.num_rows))
        elif field.name in batch.schema.names:
            columns.append(batch.column(field.name))
        else:
            columns.append(pa.nulls(batch.num_rows, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _counted(snapshot: Snapshot) -> Iterator[pa.RecordBatch]:
    """Yield empty batches with as many rows as *snapshot* has URLs."""
    left = int(snapshot.row_ranges().count.sum())
    while left:
        rows = min(left, _BATCH_ROWS)
        yield pa.record_batch([pa.nulls(rows)], names=["nothing"])
        left -= rows
