"""Outputs that are killed, or whose disk is full, or whose server refuses them: the old rows stay, or all are new."""

from __future__ import annotations

import errno
import io
import os
import resource
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import adbc_driver_manager
import pyarrow as pa
import pytest

from sitemap_harvest.databases import Mode, Rows, open_database, parse_location
from sitemap_harvest.databases.adbc import AdbcDatabase
from sitemap_harvest.databases.delta_lake import DeltaFolder
from sitemap_harvest.databases.duckdb_file import DuckDbFile
from sitemap_harvest.errors import DatabaseError
from sitemap_harvest.integration.items import database_output
from sitemap_harvest.integration.items.database_output import RowFiles, TablesExporter
from tests.databases.reading import load, read, run_query
from tests.databases.test_tables import entry, urls
from tests.forked import FORKSERVER
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.process import BaseProcess

BATCHES, BATCH_ROWS = 8, 400
MOMENTS = [3, BATCHES]
AT_COMMIT = ["before the commit", "after the commit"]
"""Of a kill: before the batch of this number, or at the commit."""


def rows_of_output() -> Iterator[pa.RecordBatch]:
    """Yield the rows that the tests write: as many as no cache holds. The first three have the keys of old rows."""
    numbers = count()
    for _ in range(BATCHES):
        yield urls(*(entry(next(numbers), title="new " * 100) for _ in range(BATCH_ROWS))).arrow


def titles(uri: str) -> list[tuple[int, str | None]]:
    """Return the positions and the first words of the titles."""
    return [(row["position"], row["title"] and row["title"][:3]) for row in read(uri)]


OLD = [(number, "old") for number in (0, 1, 2, -1)]
NEW = [(number, "new") for number in range(BATCHES * BATCH_ROWS)]
AFTER = {"create": NEW, "replace": NEW, "append": [*OLD, *NEW], "upsert": [OLD[-1], *NEW]}


def write(uri: str, mode: str, *, moment: int | str = "", limit: int | None = None) -> int:
    """Write the new rows in another process, as a run does at its end; return its exit code."""
    return ended(start(uri, mode, moment=moment, limit=limit))


def start(uri: str, mode: str, *, moment: int | str = "", limit: int | None = None) -> BaseProcess:
    process = FORKSERVER.Process(target=_write, args=(f"{uri}?mode={mode}", moment, limit, dict(os.environ)))
    process.start()
    return process


def ended(process: BaseProcess) -> int:
    process.join(PATIENCE_SECONDS)
    assert process.exitcode is not None
    return process.exitcode


def _write(uri: str, moment: int | str, limit: int | None, environment: dict[str, str]) -> None:
    os.environ.update(environment)  # the forkserver has that of its start

    class Batches(database_output._Stream):
        def __iter__(self) -> Iterator[pa.RecordBatch]:
            for number, batch in enumerate(super().__iter__()):
                _kill_at(moment, number)
                yield batch
            _kill_at(moment, BATCHES)

    def committing(commit: Callable[[Any], None]) -> Callable[[Any], None]:
        def committed(database: Any) -> None:
            _kill_at(moment, "before the commit")
            commit(database)
            _kill_at(moment, "after the commit")

        return committed

    database_output._Stream = Batches  # type: ignore[misc]
    for kind in (AdbcDatabase, DuckDbFile):
        kind._commit = committing(kind._commit)  # type: ignore[method-assign]
    storage = database_output.DatabaseStorage(uri, feed_options={"format": ""})
    file = storage.open(None).opened("urls")  # type: ignore[arg-type]
    with pa.ipc.new_stream(file, urls().arrow.schema) as writer:
        for batch in rows_of_output():
            writer.write_batch(batch)
    file.flush()
    if limit is not None:
        sys.dont_write_bytecode = True  # Python would store modules that are cut, and fail to load them later
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        storage.put(is_whole=True)
    except DatabaseError:
        sys.exit(3)


def _kill_at(moment: int | str, now: int | str) -> None:
    if now == moment:
        os.kill(os.getpid(), signal.SIGKILL)


def prepare(uri: str, mode: str) -> None:
    if mode != "create":
        load(uri, "create", urls=urls(*(entry(number, title="old") for number, _ in OLD)))


@pytest.mark.thorough
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("mode", list(AFTER))
def test_an_output_that_is_killed_while_it_loads_leaves_the_old_rows(any_uri: str, mode: str, moment: int) -> None:
    check_killed(any_uri, mode, moment)


@pytest.mark.thorough
@pytest.mark.parametrize("moment", AT_COMMIT)
@pytest.mark.parametrize("mode", list(AFTER))
def test_an_output_that_is_killed_at_its_commit_has_the_old_rows_or_all_new_ones(
    uri: str, mode: str, moment: str
) -> None:
    """That of Delta Lake is inside its library."""
    check_killed(uri, mode, moment)


def check_killed(uri: str, mode: str, moment: int | str) -> None:
    prepare(uri, mode)
    assert write(uri, mode, moment=moment) == -signal.SIGKILL
    is_new = moment == "after the commit"
    if is_new or mode != "create":
        assert sorted(titles(uri)) == sorted(AFTER[mode] if is_new else OLD)
    if not is_new:
        assert write(uri, mode) == 0
        assert sorted(titles(uri)) == sorted(AFTER[mode])


@pytest.mark.thorough
@pytest.mark.parametrize("mode", ["replace", "append", "upsert"])
def test_of_two_outputs_at_once_one_waits_or_is_refused(any_uri: str, mode: str) -> None:
    prepare(any_uri, mode)
    others: list[Any] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in rows_of_output():
            if not others:  # the first one has locked the table, if it does
                others.append(start(any_uri, mode))
            yield batch

    with open_database(parse_location(any_uri, default=Mode(mode))) as database:
        database.load({"urls": Rows(urls().arrow.schema, batches())})
    (other,) = others
    second = ended(other)
    assert second == 0 or (second == 3 and any_uri.startswith("duckdb"))
    wanted = AFTER[mode] + (NEW if mode == "append" and not second else [])
    assert sorted(titles(any_uri)) == sorted(wanted)


def test_a_message_lacks_the_words_of_the_driver(tmp_path: Path) -> None:
    error = adbc_driver_manager.Error(
        "IO: Error message returned by PQputCopyEnd: server closed\n\tthe connection", status_code=10
    )
    with open_database(parse_location(f"sqlite:{tmp_path}/x.db", default=Mode.APPEND)) as database:
        assert isinstance(database, AdbcDatabase)
        assert database._words(error) == "server closed the connection"


@pytest.mark.parametrize("mode", ["create", "replace", "append", "upsert"])
def test_a_delta_lake_that_two_outputs_create_at_once_has_the_rows_that_one_after_the_other_gives(
    tmp_path: Path, mode: str
) -> None:
    location = parse_location(f"delta:{tmp_path}/new", default=Mode(mode))
    schema = urls().arrow.schema

    def load_other() -> None:
        with open_database(location) as other:
            rows = urls(entry(1, title="first"), entry(2, title="first")).arrow
            other.load({"urls": Rows(schema, [rows])})

    others = [load_other]

    class Batches:
        """Rows; when they are read first, the output has found no table, and another one creates it."""

        def __iter__(self) -> Iterator[pa.RecordBatch]:
            if others:
                with ThreadPoolExecutor() as threads:
                    threads.submit(others.pop()).result()
            yield urls(entry(2, title="second"), entry(3, title="second")).arrow

    is_refused = pytest.raises(DatabaseError, match="already exists; use mode=append") if mode == "create" else None
    with open_database(location) as database, is_refused or nullcontext():
        database.load({"urls": Rows(schema, Batches())})
    wanted = {
        "create": [(1, "fir"), (2, "fir")],
        "replace": [(2, "sec"), (3, "sec")],
        "append": [(1, "fir"), (2, "fir"), (2, "sec"), (3, "sec")],
        "upsert": [(1, "fir"), (2, "sec"), (3, "sec")],
    }
    assert sorted(titles(f"delta:{tmp_path}/new")) == wanted[mode]


@pytest.mark.service
@pytest.mark.deep
@pytest.mark.parametrize("mode", list(AFTER))
def test_a_server_that_ends_the_connection_leaves_the_old_rows(server: str, mode: str) -> None:
    name = f"{server}?table=cut_{mode}"
    if mode != "create":
        load(name, "create", urls=urls(entry(0)))

    def batches() -> Iterator[pa.RecordBatch]:
        for number, batch in enumerate(rows_of_output()):
            if number == 3:
                run_query(server, "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = "
                          "'client backend' and pid <> pg_backend_pid()")  # fmt: skip
            yield batch

    lost = r"postgresql://\*{3}@[\d.:]+/postgres: (terminating connection|server closed the connection)"
    with (
        open_database(parse_location(name, default=Mode(mode))) as database,
        pytest.raises(DatabaseError, match=lost),
    ):
        database.load({"urls": Rows(urls().arrow.schema, batches())})
    with open_database(parse_location(name, default=Mode.APPEND)) as database:
        assert database.exists("urls") == (mode != "create")
    if mode != "create":
        assert [row["position"] for row in read(server, f"cut_{mode}")] == [0]


@pytest.mark.thorough
@pytest.mark.parametrize("mode", list(AFTER))
@pytest.mark.parametrize("kind", ["duckdb", "sqlite", "delta"])
def test_a_full_disk_leaves_the_old_rows_and_no_other_files(tmp_path: Path, kind: str, mode: str) -> None:
    uri = f"{kind}:{tmp_path}/data.db"
    prepare(uri, mode)
    before = files(tmp_path)
    assert write(uri, mode, limit=20_000 if kind == "delta" else 500_000) == 3
    left = files(tmp_path) - before
    if mode == "create":
        assert left == ({"data.db"} if kind == "sqlite" else set())  # an empty file
    else:
        assert left <= {"data.db.wal"}  # DuckDB's journal, which the next one who opens the file removes
        assert sorted(titles(uri)) == sorted(OLD)
    assert write(uri, mode) == 0
    assert sorted(titles(uri)) == sorted(AFTER[mode])


def test_a_full_disk_of_a_delta_lake_is_one_error_without_a_panic(tmp_path: Path) -> None:
    program = f"""
        import resource, sys
        from sitemap_harvest.databases import Mode, open_database, parse_location
        from sitemap_harvest.databases.database import Rows
        from sitemap_harvest.errors import DatabaseError
        from tests.databases.test_failures import rows_of_output, urls
        sys.dont_write_bytecode = True
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
        print("before", file=sys.stderr)
        with open_database(parse_location("delta:{tmp_path}/new", default=Mode.CREATE)) as database:
            try:
                database.load({{"urls": Rows(urls().arrow.schema, rows_of_output())}})
            except DatabaseError as error:
                print(error, file=sys.stderr)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    before, error = run.stderr.splitlines()
    assert (run.returncode, before) == (0, "before")
    assert "File too large" in error
    assert files(tmp_path) == set()
    assert not (tmp_path / "new").exists()


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_failed_load_leaves_no_new_file_of_duckdb(tmp_path: Path) -> None:
    def fail() -> Iterator[pa.RecordBatch]:
        yield urls(entry(1)).arrow
        raise OSError(errno.ENOSPC, "full")

    location = parse_location(f"duckdb:{tmp_path}/a.duckdb", default=Mode.APPEND)
    with open_database(location) as database, pytest.raises(OSError, match="full"):
        database.load({"urls": Rows(urls().arrow.schema, fail())})
    assert files(tmp_path) == set()
    load(f"duckdb:{tmp_path}/a.duckdb", "append", urls=urls())
    with open_database(location) as database:
        database.check({"urls": urls().arrow.schema})
    assert files(tmp_path) == {"a.duckdb"}


def test_duckdb_writes_temporary_files_where_the_next_run_removes_those_of_a_killed_one(tmp_path: Path) -> None:
    with open_database(parse_location(f"duckdb:{tmp_path}/a.duckdb", default=Mode.APPEND)) as database:
        ((folder,),) = database._query("select current_setting('temp_directory')", [])  # type: ignore[attr-defined]
        assert Path(folder).name.startswith("sitemap-harvest-duckdb-")
    assert not Path(folder).exists()


class _FullOnce(io.BytesIO):
    """A file on a disk that is full at the second write."""

    writes = 0

    def write(self, data: Any) -> int:
        self.writes += 1
        if self.writes == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(data)


def test_rows_that_a_full_temporary_folder_lacks_are_an_error_to_the_end(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(RowFiles, "opened", lambda *_: _FullOnce())
    exporter = TablesExporter(RowFiles())
    words = f"No space left on device; set TMPDIR to a folder on a larger disk: '{tmp_path}'"
    for number in range(3):
        with pytest.raises(OSError, match=words):
            exporter.export_item(urls(*[entry(number)] * 200_000)) if number < 2 else exporter.finish_exporting()


def test_rows_that_are_kept_in_a_file_have_its_name_when_all_are_written(tmp_path: Path, monkeypatch: Any) -> None:
    seen = []

    class Watched(database_output._Stream):
        def __iter__(self) -> Iterator[pa.RecordBatch]:
            for batch in super().__iter__():
                seen.append([path.suffix for path in tmp_path.iterdir()])
                yield batch

    monkeypatch.setattr(database_output, "_Stream", Watched)
    rows = RowFiles()
    with pa.ipc.new_stream(rows.opened("urls"), urls().arrow.schema) as writer:
        writer.write_batch(urls(entry(1)).arrow)
    assert rows.kept_in(tmp_path, "run") == [tmp_path / "urls.run.parquet"]
    rows.close()
    assert seen == [[".part"]]
    assert files(tmp_path) == {"urls.run.parquet"}


PREPARED = (
    "INVALID_STATE: [libpq] Failed to prepare query: ERROR:  {}\nLINE 1: delete\n        ^\n\nQuery was: x. SQLSTATE: 1"
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(PREPARED.format("no\nDETAIL:  more"), "no DETAIL: more", id="prepared"),
        pytest.param(
            "IO: [libpq] Failed to execute query 'insert\n': server closed it\n\tThis\n",
            "server closed it This",
            id="gone",
        ),
        pytest.param('IO: [libpq] Failed to connect: to "h" failed: FATAL:  no\n', "no", id="connect"),
        pytest.param("IO: Error writing tuple field data: no connection", "no connection", id="copy"),
        pytest.param(
            "INTERNAL: failed to execute: disk I/O error\nquery was: INSERT\n(?)", "disk I/O error", id="sqlite"
        ),
        pytest.param("INVALID_ARGUMENT: [SQLite] Failed to prepare query: no\nquery: x", "no", id="sqlite-prepared"),
    ],
)
def test_errors_of_drivers_are_one_line_without_the_statement(tmp_path: Path, text: str, words: str) -> None:
    with (
        open_database(parse_location(f"sqlite:{tmp_path}/a", default=Mode.APPEND)) as database,
        pytest.raises(DatabaseError, match=rf"/a: {words}\Z"),
        database._errors(),  # type: ignore[attr-defined]
    ):
        raise adbc_driver_manager.OperationalError(text, status_code=adbc_driver_manager.AdbcStatusCode.IO)


def test_the_error_of_a_parquet_file_is_that_of_its_disk(tmp_path: Path) -> None:
    folder = DeltaFolder(parse_location(f"delta:{tmp_path}/a", default=Mode.APPEND))
    with pytest.raises(DatabaseError, match=r"/a: No space left \(os error 28\)\Z"), folder._errors():
        raise OSError("Failed to parse parquet: External: No space left (os error 28)")


@pytest.mark.service
@pytest.mark.deep
def test_the_right_to_delete_is_needed_before_a_run_that_deletes(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    load(f"{server}?schema=fixed", "create", urls=urls(entry(0)))
    with open_database(parse_location(server, default=Mode.APPEND)) as owner, owner.transaction():
        for statement in (
            "create role adds login password 'adds'",
            "grant usage on schema fixed to adds",
            "grant insert, select on fixed.urls to adds",
        ):
            owner._execute(statement)  # type: ignore[attr-defined]
    monkeypatch.setenv("PGPASSWORD", "adds")
    uri = f"postgresql://adds@{server.partition('@')[2]}"
    location = parse_location(f"{uri}?schema=fixed", default=Mode.REPLACE)
    with (
        open_database(location) as database,
        pytest.raises(DatabaseError, match=r": permission denied for table urls\Z"),
    ):
        database.try_out({"urls": urls().arrow.schema})
    load(f"{uri}?schema=fixed", "append", urls=urls(entry(2)))
    monkeypatch.setenv("PGPASSWORD", "wrong")
    with pytest.raises(DatabaseError, match='failed for user "adds"; set the environment variable PGPASSWORD'):
        load(uri, "append", urls=urls())


def test_waiting_for_a_program_that_has_locked_the_file_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    uri = f"sqlite:{tmp_path}/x.db"
    load(uri, "create", urls=urls(entry(0)))
    with ThreadPoolExecutor(1) as threads:
        with open_database(parse_location(uri, default=Mode.APPEND)) as other, other.transaction():
            monkeypatch.setattr("sitemap_harvest.databases.sql_database._SILENT_SECONDS", 0.01)
            loading = threads.submit(load, uri, "append", urls=urls(entry(1)))
            wait_until(lambda: caplog.messages)
        assert loading.result() == 1
    assert caplog.messages == [f"{tmp_path}/x.db: another program has locked it; waiting for at most 60 seconds"]
    assert [row["position"] for row in read(uri)] == [0, 1]


@pytest.mark.service
@pytest.mark.deep
def test_a_locked_table_is_an_error_after_a_while(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    load(f"{server}?table=locked", "create", urls=urls(entry(0)))
    monkeypatch.setattr("sitemap_harvest.databases.postgresql.LOCK_SECONDS", 1)
    with open_database(parse_location(server, default=Mode.APPEND)) as other, other.transaction():
        other._execute("lock table locked")  # type: ignore[attr-defined]
        with pytest.raises(DatabaseError, match="another program has locked the table for 1 seconds; run the command"):
            load(f"{server}?table=locked", "replace", urls=urls(entry(1)))
    assert [row["position"] for row in read(server, "locked")] == [0]
