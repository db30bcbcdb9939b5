"""``sitemap-harvest export``: its lines, exit codes and refusals. What it writes, tests/databases has tested."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from sitemap_harvest.cli.main import main
from sitemap_harvest.errors import DatabaseError
from tests.cli.storing import B, command, made
from tests.databases.reading import run_query
from tests.databases.test_store_export import queried, tables
from tests.services.postgresql import postgresql
from tests.snapshots.store.making import SITE, Making, locs

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "export-a-store.md"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Start PostgreSQL; return the URI of its database."""
    yield from postgresql()


@pytest.fixture
def making(tmp_path: Path) -> Making:
    """Return the store ``s`` with four runs over two sites."""
    return made(tmp_path / "s")


@pytest.mark.quick
def test_first_everything_then_what_is_new(making: Making, tmp_path: Path) -> None:
    first = command("export", "new/seo.duckdb", cwd=tmp_path)
    assert (first.returncode, first.stdout) == (0, "")
    assert first.stderr == "2 sites exported: 40 URLs, 2 documents, 0 problems, 4 changes, 4 runs\n"
    again = command("export", "new/seo.duckdb", cwd=tmp_path)
    assert (again.returncode, again.stderr) == (0, "nothing new: 2 sites up to date\n")
    making.run({f"{B}/s.xml": locs(3)}, site=B)
    new = command("export", "new/seo.duckdb", cwd=tmp_path)
    assert new.stderr == "1 site exported (1 up to date): 3 URLs, 1 document, 0 problems, 20 changes, 1 run\n"
    one = command("export", "new/seo.duckdb", "a.example", SITE, "--full", cwd=tmp_path)
    assert one.stderr == "1 site exported: 20 URLs, 1 document, 0 problems, 4 changes, 3 runs\n"
    assert tables(f"duckdb:{tmp_path}/new/seo.duckdb") == queried(making.store)


def test_the_kind_may_follow_the_path(making: Making, tmp_path: Path) -> None:
    for name in ("seo.db:sqlite", "SEO.DuckDB", "delta:seo", "seo:delta"):
        assert command("export", name, cwd=tmp_path).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["SEO.DuckDB", "s", "seo", "seo.db"]
    assert tables(f"sqlite:{tmp_path}/seo.db") == tables(f"delta:{tmp_path}/seo") == queried(making.store)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["x.xyz"], "x.xyz: the kind of the database is unknown; it must be one of", id="kind"),
        pytest.param(["x.duckdb?mode=replace"], "an export has no parameters table, mode, key", id="mode"),
        pytest.param(["x.sqlite?table=x"], "an export has no parameters table, mode, key", id="table"),
        pytest.param(["delta:x?partition=root"], "an export has no parameters table, mode, key", id="partition"),
        pytest.param(["x.duckdb", "c.example"], "c.example: the store has no snapshot of this site", id="site"),
        pytest.param(["postgresql://me:secret@localhost/x"], "remove the password", id="password"),
        pytest.param(["postgresql://me@127.0.0.1:1/x"], "connection to server at", id="no-server"),
        pytest.param(["s/store.json:duckdb"], "s/store.json: it is not a database of DuckDB", id="json"),
    ],
)
def test_refusals(making: Making, tmp_path: Path, arguments: list[str], message: str) -> None:
    del making
    run = command("export", *arguments, cwd=tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    assert message in run.stderr
    assert "secret" not in run.stderr
    assert run.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_a_store_without_runs_and_a_site_that_cannot_be_read(making: Making, tmp_path: Path) -> None:
    Making(tmp_path / "s" / "empty")
    empty = command("export", "--store", "s/empty", "seo.duckdb", cwd=tmp_path)
    assert (empty.returncode, empty.stderr) == (3, "The store has no runs.\n")
    (damaged,) = Path(str(making.store.site(B).folder)).rglob("rows-*.parquet")
    damaged.write_bytes(b"")
    run = command("export", "seo.duckdb", cwd=tmp_path)
    assert run.returncode == 4
    message, counts = run.stderr.splitlines()
    assert message.endswith("rows-0001.parquet has 0 bytes, but had " + message.rpartition(" had ")[2])
    assert counts.startswith("1 site exported: 20 URLs")


@pytest.mark.service
def test_a_server_that_refuses(server: str, making: Making, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert command("export", server, cwd=tmp_path).returncode == 0
    assert tables(server) == queried(making.store)
    refused = [command("export", f"{server}_no", cwd=tmp_path)]
    monkeypatch.setenv("PGPASSWORD", "wrong")
    refused.append(command("export", server, cwd=tmp_path))
    assert [run.returncode for run in refused] == [2, 2]
    assert 'database "postgres_no" does not exist' in refused[0].stderr
    assert 'password authentication failed for user "harvest"' in refused[1].stderr
    assert [run.stderr.count("\n") for run in refused] == [1, 1]


@pytest.mark.service
def test_the_queries_of_the_how_to_run_in_postgresql_too(server: str, making: Making, tmp_path: Path) -> None:
    folder = f"{server}?schema=howto"
    assert command("export", folder, cwd=tmp_path).returncode == 0
    assert command("export", "seo.duckdb", cwd=tmp_path).returncode == 0
    assert making.store.sites()
    queries = re.findall(r"```sql\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(queries) == 3
    for query in queries:
        with duckdb.connect(str(tmp_path / "seo.duckdb"), read_only=True) as database:
            database.execute("set timezone = 'UTC'")
            wanted = database.sql(query).to_arrow_table().to_pylist()
        qualified = re.sub(r"\bfrom (urls|runs|problems)\b", r"from howto.\1", query)
        assert run_query(server, qualified) == [{**row, **_texts(row)} for row in wanted]


def _texts(row: dict[str, object]) -> dict[str, str]:
    """Return the dates of *row* as text."""
    return {name: value.isoformat() for name, value in row.items() if isinstance(value, date)}


class CancelledError(Exception):
    """As the driver of PostgreSQL raises it."""

    sqlstate = "57014"


def caused_by(error: BaseException, cause: BaseException | None) -> BaseException:
    """Return *error* as ``raise ... from`` leaves it."""
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("cause", "code"),
    [
        pytest.param(caused_by(ValueError("cannot cancel"), KeyboardInterrupt()), 130, id="sqlite"),
        pytest.param(CancelledError(), 130, id="postgresql"),
        pytest.param(RuntimeError("Query interrupted"), 130, id="duckdb"),
        pytest.param(ValueError("the disk is full"), 2, id="failed"),
        pytest.param(None, 2, id="refused"),
    ],
)
def test_ctrl_c_ends_a_statement(
    making: Making, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cause: BaseException | None, code: int
) -> None:
    def fail(*_: object) -> None:
        raise caused_by(DatabaseError("the statement failed"), cause)

    monkeypatch.setattr("sitemap_harvest.cli.export.StoreExport.export", fail)
    monkeypatch.chdir(tmp_path)
    assert making.store.sites()
    assert main(["export", "--store", "s", "seo.duckdb"]) == code
