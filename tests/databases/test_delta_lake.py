"""Delta Lake: which folders are tables, partitions, concurrent writers, killed ones, and other programs that read."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from sitemap_harvest.databases import Mode, Rows, open_database, parse_location
from sitemap_harvest.errors import DatabaseError
from sitemap_harvest.model import LedgerBatch, SiteBatch, UrlBatch
from tests.databases.reading import load, read, rows_of
from tests.databases.test_tables import entry, urls
from tests.model.test_batch import FULL
from tests.services.object_store import object_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = urls(FULL, entry(2, site="a.example"), entry(3, site="b.example"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "lake"


def positions(folder: Path, version: int | None = None) -> list[int]:
    return sorted(DeltaTable(folder, version=version).to_pyarrow_table()["position"].to_pylist())


def test_one_kind_of_rows_is_the_folder_and_several_are_folders_in_it(folder: Path) -> None:
    load(f"delta:{folder}/one", "append", urls=ROWS)
    load(f"delta:{folder}/several", "append", urls=ROWS, sitemaps=LedgerBatch.of([]))
    load(f"delta:{folder}/several", "append", urls=ROWS)
    load(f"delta:{folder}/named?table=my%20urls", "append", urls=ROWS)
    found = {str(path.parent.relative_to(folder)) for path in folder.rglob("_delta_log")}
    assert found == {"one", "several/urls", "several/sitemaps", "named/my urls"}
    assert DeltaTable(folder / "several" / "urls").version() == 1


def test_a_table_cannot_hold_several_kinds_of_rows(folder: Path) -> None:
    load(f"delta:{folder}", "append", urls=ROWS)
    with pytest.raises(DatabaseError, match=r"cannot hold several kinds of rows \(urls, sites\), which need a folder"):
        load(f"delta:{folder}", "append", urls=ROWS, sites=SiteBatch.of([]))


def test_a_crawl_is_one_commit_and_the_versions_before_stay(folder: Path) -> None:
    load(f"delta:{folder}", "create", urls=urls(entry(1)))
    load(f"delta:{folder}", "upsert", urls=urls(entry(1), entry(2)))
    load(f"delta:{folder}", "replace", urls=urls(entry(3)))
    versions = [
        sorted(DeltaTable(folder, version=version).to_pyarrow_table()["position"].to_pylist()) for version in range(3)
    ]
    assert versions == [[1], [1, 2], [3]]


def test_polars_pandas_and_duckdb_read_what_a_parquet_file_says(folder: Path, tmp_path: Path) -> None:
    pl, pd = pytest.importorskip("polars"), pytest.importorskip("pandas")
    load(f"delta:{folder}", "create", urls=ROWS)
    pq.write_table(pa.Table.from_batches([ROWS.arrow]), file := tmp_path / "urls.parquet")
    table = DeltaTable(folder)
    assert pl.read_delta(str(folder)).sort("loc").to_dicts() == pl.read_parquet(file).sort("loc").to_dicts()
    frames = (one.sort_values("loc", ignore_index=True) for one in (table.to_pandas(), pd.read_parquet(file)))
    pd.testing.assert_frame_equal(*frames)
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        connection.register("lake", table.to_pyarrow_dataset())
        found, wanted = (
            connection.sql(f"select * from {source} order by loc").fetchall() for source in ("lake", f"'{file}'")
        )
    assert found == wanted


def test_partitions_are_folders_and_later_runs_keep_them(folder: Path) -> None:
    load(f"delta:{folder}?partition=site", "append", urls=ROWS)
    load(f"delta:{folder}", "append", urls=urls(entry(4, site="b.example")))
    load(f"delta:{folder}", "upsert", urls=urls(entry(2, site="a.example", title="new"), entry(5, site="c/\0")))
    assert DeltaTable(folder).metadata().partition_columns == ["site"]
    assert {path.name for path in folder.glob("site=*")} >= {"site=a.example", "site=b.example", "site=c%2F%00"}
    found = {row["position"]: (row["site"], row["title"]) for row in read(f"delta:{folder}")}
    wanted = {2: ("a.example", "new"), 3: ("b.example", None), 4: ("b.example", None), 5: ("c/\0", None)}
    assert found == {FULL.position: (FULL.site, FULL.title)} | wanted


@pytest.mark.parametrize(
    ("query", "message"),
    [
        pytest.param("partition=sitemap", "the table is not partitioned; remove", id="other"),
        pytest.param("table=new&partition=host", "partition=host: the rows have no such column", id="unknown"),
        pytest.param("table=new&partition=images", "cannot be partitioned by a nested column", id="nested"),
    ],
)
def test_wrong_partitions(folder: Path, query: str, message: str) -> None:
    load(f"delta:{folder}", "append", urls=ROWS)
    with pytest.raises(DatabaseError, match=message):
        load(f"delta:{folder}?{query}", "append", urls=ROWS)


def test_upsert_keeps_columns_that_the_rows_lack(folder: Path) -> None:
    other = {
        "position": [1, 2],
        "sitemap": ["https://a.example/s.xml"] * 2,
        "tags": [{"a": [1]}, None],
        "day": [b"\0", b"1"],
    }
    write_deltalake(folder, pa.table(other))
    load(f"delta:{folder}", "upsert", urls=urls(entry(2), entry(3)))
    table = DeltaTable(folder).to_pyarrow_table().sort_by("position")
    assert table.select(["position", "loc", "tags", "day"]).to_pylist() == [
        {"position": 1, "loc": None, "tags": {"a": [1]}, "day": b"\0"},
        {"position": 2, "loc": "https://a.example/2", "tags": None, "day": None},
        {"position": 3, "loc": "https://a.example/3", "tags": None, "day": None},
    ]


@pytest.mark.parametrize(
    ("column", "settings", "message"),
    [
        pytest.param(pa.field("day", pa.string(), nullable=False), {}, "the column day cannot be null", id="required"),
        pytest.param(pa.field("Title", pa.string()), {}, "so it cannot have the column title", id="case"),
        pytest.param(pa.field("day", pa.string()), {"delta.appendOnly": "true"}, "use mode=append", id="append-only"),
    ],
)
def test_a_table_of_another_program_that_cannot_take_the_rows(
    folder: Path, column: pa.Field, settings: dict[str, str | None], message: str
) -> None:
    write_deltalake(folder, pa.table([["x"]], schema=pa.schema([column])), configuration=settings)
    with (
        open_database(parse_location(f"delta:{folder}", default=Mode.REPLACE)) as database,
        pytest.raises(DatabaseError, match=message),
    ):
        database.check({"urls": UrlBatch.schema()})


@pytest.mark.parametrize(
    ("writer_features", "message"),
    [
        pytest.param(["deletionVectors"], None, id="known"),
        pytest.param(["inCommitTimestamp"], "Unsupported table features required", id="unknown"),
    ],
)
def test_features_of_a_table_that_cannot_be_written_are_found_before_the_run(
    folder: Path, writer_features: list[str], message: str | None
) -> None:
    write_deltalake(folder, pa.table({"loc": ["x"], "day": ["1"]}), partition_by=["day"])
    log = folder / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    reader_features = [feature for feature in writer_features if feature == "deletionVectors"]
    protocol: dict[str, object] = {"minReaderVersion": 3 if reader_features else 1, "minWriterVersion": 7}
    protocol |= {"writerFeatures": writer_features} | ({"readerFeatures": reader_features} if reader_features else {})
    lines = [{"protocol": protocol} if "protocol" in action else action for action in actions]
    log.write_text("\n".join(map(json.dumps, lines)))
    with (
        open_database(parse_location(f"delta:{folder}", default=Mode.APPEND)) as database,
        pytest.raises(DatabaseError, match=message) if message else nullcontext(),
    ):
        database.try_out({"urls": UrlBatch.schema()})
    table = DeltaTable(folder)
    assert (table.version(), [field.name for field in table.schema().fields]) == (0, ["loc", "day"])


def test_a_damaged_log_is_an_error_without_a_traceback(folder: Path) -> None:
    write_deltalake(folder, pa.table({"loc": ["x"]}))
    log = folder / "_delta_log" / f"{0:020}.json"
    log.write_text(log.read_text()[:100])
    with pytest.raises(DatabaseError, match=r"lake: .* Truncated record whilst reading string$"):
        load(f"delta:{folder}", "append", urls=ROWS)


def test_a_file_cannot_be_a_table(folder: Path) -> None:
    folder.write_text("")
    with pytest.raises(DatabaseError, match=r"lake is a file, and must be a folder"):
        load(f"delta:{folder}/urls", "append", urls=ROWS)


def test_a_check_changes_nothing(folder: Path) -> None:
    with open_database(parse_location(f"delta:{folder}/urls", default=Mode.CREATE)) as database:
        database.check({"urls": UrlBatch.schema()})
    assert not folder.exists()


class Contended:
    """Rows that can be read more than once; another program writes to the table while they are read first."""

    def __init__(self, folder: Path, mode: str) -> None:
        self.code = (
            f"from tests.databases.test_delta_lake import *; load('delta:{folder}', '{mode}', urls=urls(entry(20)))"
        )

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield urls(entry(10)).arrow
        if self.code:
            subprocess.run([sys.executable, "-c", self.code], check=True)
            self.code = ""
        yield urls(entry(11)).arrow


@pytest.mark.deep
@pytest.mark.parametrize(
    ("mode", "other", "wanted"),
    [
        pytest.param("append", "append", [1, 10, 11, 20], id="append-append"),
        pytest.param("append", "replace", [10, 11, 20], id="append-replace"),
        pytest.param("replace", "replace", [10, 11], id="replace-replace"),
        pytest.param("upsert", "replace", [10, 11, 20], id="upsert-replace"),
    ],
)
def test_a_run_writes_again_if_another_has_changed_the_table(
    folder: Path, mode: str, other: str, wanted: list[int]
) -> None:
    load(f"delta:{folder}", "append", urls=urls(entry(1)))
    with open_database(parse_location(f"delta:{folder}", default=Mode(mode))) as database:
        assert database.load({"urls": Rows(UrlBatch.schema(), Contended(folder, other))}) == 2
    assert positions(folder) == wanted


@pytest.mark.deep
def test_rows_that_can_be_read_once_are_refused_then(folder: Path) -> None:
    load(f"delta:{folder}", "append", urls=urls(entry(1)))
    with (
        open_database(parse_location(f"delta:{folder}", default=Mode.REPLACE)) as database,
        pytest.raises(DatabaseError, match=r"another program has changed the table .*; run the command again"),
    ):
        database.load({"urls": Rows(UrlBatch.schema(), iter(Contended(folder, "replace")))})
    assert positions(folder) == [20]


@pytest.mark.deep
def test_a_killed_writer_leaves_the_version_before(folder: Path) -> None:
    load(f"delta:{folder}", "append", urls=ROWS)
    code = (
        "import os, signal; from tests.databases.test_delta_lake import *\n"
        "def killed():\n"
        "    yield urls(*map(entry, range(1, 20_000))).arrow\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        f"with open_database(parse_location('delta:{folder}', default=Mode.REPLACE)) as database:\n"
        "    database.load({'urls': Rows(UrlBatch.schema(), killed())})\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    assert read(f"delta:{folder}") == rows_of(ROWS)
    load(f"delta:{folder}", "replace", urls=urls(entry(4)))
    assert positions(folder) == [4]


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    yield from object_store(tmp_path_factory.mktemp("objects"))


@pytest.mark.deep
@pytest.mark.service
def test_tables_in_an_object_store(bucket: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in bucket.items():
        monkeypatch.setenv(name, value)
    location = parse_location("s3://bucket/lake/urls?mode=upsert", "delta", default=Mode.APPEND)
    for batch in (urls(entry(1), entry(2)), urls(entry(2, title="new"), entry(3))):
        with open_database(location) as database:
            database.check({"urls": UrlBatch.schema()})
            database.load({"urls": Rows(UrlBatch.schema(), [batch.arrow])})
    table = DeltaTable("s3://bucket/lake/urls", storage_options={"allow_http": "true"})
    rows = table.to_pyarrow_table().sort_by("position").select(["position", "title"]).to_pylist()
    assert [(row["position"], row["title"]) for row in rows] == [(1, None), (2, "new"), (3, None)]
    assert table.version() == 1
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with open_database(location) as database, pytest.raises(DatabaseError, match="SignatureDoesNotMatch"):
        database.check({"urls": UrlBatch.schema()})


def test_credentials_in_an_address_are_refused_and_not_shown() -> None:
    with pytest.raises(DatabaseError, match="remove the credentials, and set AWS_ACCESS_KEY_ID") as raised:
        parse_location("s3://key:hush@bucket/urls", "delta", default=Mode.APPEND)
    assert "hush" not in str(raised.value)
