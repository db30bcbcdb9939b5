"""Tables over all sites of a store, in parts: together they have the rows that one machine finds."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import groupby, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from sitemap_harvest.audit import RULES, RuleOptions
from sitemap_harvest.audit.audit import Audit
from sitemap_harvest.diff import compare_each
from sitemap_harvest.errors import ArgumentError, StoreError
from sitemap_harvest.jobs import parts
from sitemap_harvest.jobs.parts import TABLES, Part, missing, since_moment, write_part
from sitemap_harvest.model import FindingBatch, Severity
from sitemap_harvest.snapshots.store import Store, open_store
from sitemap_harvest.snapshots.store.storage import Folder
from sitemap_harvest.snapshots.store.store import folders_of_part, site_in
from tests import forked
from tests.rings import some_quick
from tests.services.object_store import BUCKET, object_store
from tests.snapshots.store.making import BEGAN, Making
from tests.snapshots.store.memory_bucket import MemoryBucket

if TYPE_CHECKING:
    from collections.abc import Iterator

SITES = [f"https://{name}.example" for name in ("a", "a-b", "b", "c", "d")]
NEW = "https://new.example"
NOW = datetime(2026, 11, 11, 3, tzinfo=UTC)
OPTIONS = {rule: RuleOptions(is_off=True) for rule in RULES} | {"url/fragment": RuleOptions(severity=Severity.ERROR)}
"""All rules take a second for each site."""
Rows = dict[str, list[dict[str, Any]]]
"""The rows of each site."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with three runs of each site, one run of a new site, and a site whose first run has not ended."""
    path = str(tmp_path_factory.mktemp("parts") / "s")
    fill(path)
    return path


def fill(path: str) -> None:
    making = Making(path, compares=True)
    for day in range(3):
        for number, site in enumerate(SITES):
            making.now = BEGAN + timedelta(days=day)
            listed = [f"{site}/{page}" for page in range(day, day + number)]
            making.run({f"{site}/s.xml": [*listed, f"{site}/p#part"]}, site=site)
    making.run({f"{NEW}/s.xml": [f"{NEW}/1"]}, site=NEW)
    making.begin("https://begun.example")


def part_of(table: str, store: str, output: Path | str, number: int = 0, parts: int = 1, **facts: Any) -> Part:
    return Part(table=table, number=number, parts=parts, store=store, output=str(output), **facts)


def written(part: Part) -> Rows:
    """Write *part*; return the rows of its file by site. The sites are in order, each once."""
    counts = write_part(part, now=NOW, rules=OPTIONS)
    assert counts.failed == []
    table = pq.read_table(f"{part.output}/{part.name}")
    assert table.schema.equals(TABLES[part.table].schema())
    assert table.num_rows == counts.rows
    grouped = [(site, [*rows]) for site, rows in groupby(table.to_pylist(), lambda row: site_of(part.table, row))]
    assert [site for site, _ in grouped] == sorted({site for site, _ in grouped})
    return dict(grouped)


def site_of(table: str, row: dict[str, Any]) -> str:
    return row["sitemap"].rpartition("/")[0] if table == "urls" else row["site"]


def all_written(table: str, store: str, output: Path, parts: int, **facts: Any) -> Rows:
    """Write all parts of *table*; return the rows of all files by site."""
    found: Rows = {}
    for number in range(parts):
        of_part = written(part_of(table, store, output, number, parts, **facts))
        assert not found.keys() & of_part.keys()
        found |= of_part
    return found


@cache
def alone(table: str, store: str, first: int = -2) -> Rows:
    """Return the rows of *table* that one machine finds, by site; *first*: the first run to compare for changes."""
    opened = open_store(store)
    found = {}
    for history in opened.histories():
        if table == "urls":
            batches = history.latest().urls()
        elif table == "findings":
            batches = [FindingBatch.of(Audit(history.latest(), history, OPTIONS, store=opened).findings()).arrow]
        else:
            compared = compare_each(map(history.snapshot, history.runs[first:]))
            batches = [batch.arrow for changes in compared for batch in changes.batches()]
        if rows := [row for batch in batches for row in batch.to_pylist()]:
            found[history.site] = rows
    return found


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("parts", some_quick([2, 1, 7], every=3))
def test_the_parts_have_the_rows_of_all_sites(store: str, tmp_path: Path, table: str, parts: int) -> None:
    found = all_written(table, store, tmp_path, parts)
    assert found == alone(table, store)
    assert len(found) >= len(SITES) - 1
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        f"{table}-{number:04}-of-{parts:04}.parquet" for number in range(parts)
    ]


@pytest.mark.parametrize(
    ("since", "first"),
    [
        pytest.param(None, -2, id="the-run-before-the-last"),
        pytest.param("2026-11-01", 0, id="a-date"),
        pytest.param("2026-11-02T03:00:00Z", 1, id="a-timestamp"),
        pytest.param("9d", 1, id="an-age", marks=pytest.mark.thorough),
        pytest.param("2026-11-09", -1, id="after-the-last-run", marks=pytest.mark.thorough),
        pytest.param("2020-01-01", 0, id="before-the-first-run", marks=pytest.mark.thorough),
    ],
)
def test_changes_are_those_of_each_run_since(store: str, tmp_path: Path, since: str | None, first: int) -> None:
    assert all_written("changes", store, tmp_path, 2, since=since) == alone("changes", store, first)


def test_each_site_is_in_one_part(store: str) -> None:
    opened = open_store(store)
    everything = folders_of_part(opened, 0, 1)
    assert len(everything) == len(SITES) + 2
    for count in (1, 2, 7, 64):
        found = [folders_of_part(opened, number, count) for number in range(count)]
        assert sorted(name for names in found for name in names) == everything


def test_other_folders_are_no_sites(tmp_path: Path) -> None:
    making = Making(tmp_path)
    for name in (".DS_Store", "lost+found", "a-0123456", "a-0123456G"):
        (tmp_path / "sites" / name).mkdir(parents=True)
    making.run({f"{NEW}/s.xml": []}, site=NEW)
    assert [site_in(making.store, name) for name in folders_of_part(making.store, 0, 1)] == [NEW]


def test_a_part_that_is_written_twice_is_the_same_file(store: str, tmp_path: Path) -> None:
    part = part_of("urls", store, tmp_path, 1, 2)
    first = write_part(part, now=NOW)
    data = (tmp_path / part.name).read_bytes()
    assert write_part(part, now=NOW) == first
    assert [file.name for file in tmp_path.iterdir()] == [part.name]
    assert (tmp_path / part.name).read_bytes() == data


def test_a_part_that_is_written_twice_at_once_is_the_same_file(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = part_of("urls", store, tmp_path)
    urls, others = parts._urls, []

    def write_another(history: Any) -> Iterator[Any]:
        if not others:
            others.append(None)
            others.append((write_part(part, now=NOW), (tmp_path / part.name).read_bytes()))
        yield from urls(history)

    monkeypatch.setattr(parts, "_urls", write_another)
    counts = write_part(part, now=NOW)
    assert others == [None, (counts, (tmp_path / part.name).read_bytes())]
    assert [file.name for file in tmp_path.iterdir()] == [part.name]


def test_an_interrupted_part_leaves_the_complete_file(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = part_of("urls", store, tmp_path)
    write_part(part, now=NOW)
    data = (tmp_path / part.name).read_bytes()

    def interrupt(history: Any) -> Iterator[Any]:
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(parts, "_urls", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_part(part, now=NOW)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {part.name: data}


@pytest.mark.parametrize("table", TABLES)
def test_a_damaged_site_is_listed_and_has_no_rows(store: str, tmp_path: Path, table: str) -> None:
    path = str(shutil.copytree(store, tmp_path / "s"))
    expected = alone(table, path)
    unnamed, unlisted, cut = (Path(open_store(path).history(SITES[number]).folder.path) for number in (4, 1, 3))
    (unnamed / "site.json").write_bytes(b"{}")
    (unlisted / "manifest.json.gz").write_bytes(b"no manifest")
    last = max(cut.rglob("rows-*.parquet"))
    size = last.stat().st_size
    last.write_bytes(b"no rows")
    counts = write_part(part_of(table, path, tmp_path / "out"), now=NOW, rules=OPTIONS)
    found = pq.read_table(tmp_path / "out" / f"{table}-0000-of-0001.parquet").to_pylist()
    kept = [row for site, rows in expected.items() if site not in {SITES[1], SITES[3], SITES[4]} for row in rows]
    assert found == kept
    assert (counts.sites, counts.rows) == (len(SITES) + 1 - 3, len(kept))
    assert [text.partition(": ")[0] for text in counts.failed] == [
        f"{unnamed}/site.json is damaged",
        SITES[1],
        SITES[3],
    ]
    assert f": {unlisted}/manifest.json.gz is damaged: " in counts.failed[1]
    assert counts.failed[2] == f"{SITES[3]}: {last} has 7 bytes, but had {size} when it was written"


def test_a_site_that_cannot_be_read_to_the_end_has_no_rows(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    urls = parts._urls

    def fail_late(history: Any) -> Iterator[Any]:
        yield from urls(history)
        if history.site == NEW:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(parts, "_urls", fail_late)
    counts = write_part(part := part_of("urls", store, tmp_path), now=NOW)
    assert counts.failed == [f"{NEW}: [Errno 5] Input/output error"]
    assert NEW not in {site_of("urls", row) for row in pq.read_table(tmp_path / part.name).to_pylist()}


class RefusingBucket(MemoryBucket):
    """Refuses reads after a number of them, until enough time has passed."""

    def __init__(self, folder: str, *, reads: int, waits: int) -> None:
        """Have the files of the local store *folder*. Refuse until somebody has waited *waits* times."""
        super().__init__()
        for file in Path(folder).rglob("*"):
            if file.is_file():
                self.put(f"store/{file.relative_to(folder)}", file.read_bytes())
        self._reads, self._waits = reads, waits
        self.waited: list[float] = []

    def get(self, key: str) -> Any:
        self._reads -= 1
        if self._reads < 0 and len(self.waited) < self._waits:
            raise OSError("Could not connect to the endpoint")
        return super().get(key)


@pytest.mark.parametrize(
    ("table", "reads"),
    [
        pytest.param(table, reads, marks=[pytest.mark.thorough] if table == "findings" and reads else [])
        for table, reads in product(TABLES, [0, 3, len(SITES) + 5, len(SITES) + 7, len(SITES) + 8])
    ],
)
def test_a_store_that_refuses_for_a_minute_loses_nothing(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, reads: int
) -> None:
    bucket = RefusingBucket(store, reads=reads, waits=3)
    monkeypatch.setattr(parts, "open_store", lambda path: Store(bucket.folder()))
    part = part_of(table, "s3://bucket/store", tmp_path)
    counts = write_part(part, now=NOW, rules=OPTIONS, sleep=bucket.waited.append)
    rows = [row for of_site in alone(table, store).values() for row in of_site]
    assert (counts.failed, counts.sites) == ([], len(SITES) + 1)
    assert pq.read_table(tmp_path / part.name).to_pylist() == rows
    assert bucket.waited == [5, 20, 80]


def test_what_is_missing_is_named_if_a_store_refuses_for_long(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = RefusingBucket(store, reads=len(SITES) + 5, waits=99)
    monkeypatch.setattr(parts, "open_store", lambda path: Store(bucket.folder()))
    part = part_of("urls", "s3://bucket/store", tmp_path)
    counts = write_part(part, now=NOW, sleep=bucket.waited.append)
    named = [text.partition(": ") for text in counts.failed]
    assert {reason for *_, reason in named} == {"Could not connect to the endpoint"}
    found = {site_of("urls", row) for row in pq.read_table(tmp_path / part.name).to_pylist()}
    assert sorted([*found, *(site for site, *_ in named)]) == sorted([*SITES, NEW, "https://begun.example"])
    assert bucket.waited == [5, 20, 80, 320]


@pytest.mark.parametrize("failures", [1, 4, 5])
def test_an_output_that_refuses_is_tried_again(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    refusals, waited = [OSError("SlowDown")] * failures, []  # type: ignore[var-annotated]
    write = parts._write

    def refuse(*arguments: Any) -> Any:
        counts = write(*arguments)
        if refusals:
            raise refusals.pop()
        return counts

    monkeypatch.setattr(parts, "_write", refuse)
    part = part_of("urls", store, tmp_path)
    if failures > 4:
        with pytest.raises(StoreError, match=f"output '{tmp_path}': {part.name} cannot be written: SlowDown"):
            write_part(part, now=NOW, sleep=waited.append)
    else:
        assert write_part(part, now=NOW, sleep=waited.append).sites == len(SITES) + 1
    assert waited == [5, 20, 80, 320][:failures]
    assert (tmp_path / part.name).exists() == (failures < 5)


def test_parts_without_a_file_are_missing(store: str, tmp_path: Path) -> None:
    output = tmp_path / "out"
    assert missing(str(output), "urls", 3) == [0, 1, 2]
    write_part(part_of("urls", store, output, 1, 3), now=NOW)
    assert missing(str(output), "urls", 3) == [0, 2]
    assert missing(str(output), "urls", 2) == [0, 1]
    assert missing(str(output), "changes", 3) == [0, 1, 2]


def test_a_part_is_stored_as_json() -> None:
    part = part_of("changes", "s3://b/s", "s3://b/out", 3, 64, since="7d")
    values = json.loads(json.dumps(part.to_json()))
    assert values == {
        "table": "changes",
        "number": 3,
        "parts": 64,
        "store": "s3://b/s",
        "output": "s3://b/out",
        "since": "7d",
    }
    assert Part.of_json(values) == part
    assert part.name == "changes-0003-of-0064.parquet"


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        pytest.param({"table": "sites"}, "table='sites': it must be one of changes, findings, urls", id="table"),
        pytest.param({"parts": 0}, "parts=0: it must be at least 1", id="no-parts"),
        pytest.param({"number": 2, "parts": 2}, "number=2: it must be from 0 to 1", id="no-such-part"),
        pytest.param({"number": -1}, "number=-1: it must be from 0 to 0", id="negative"),
        pytest.param({"since": "7d"}, "since='7d': it must be given only for changes", id="since"),
    ],
)
def test_invalid_parts_are_errors(facts: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        Part(**{"table": "urls", "number": 0, "parts": 1, "store": "s", "output": "out", **facts})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("2026-11-01", datetime(2026, 11, 1, 23, 59, 59, 999_999, UTC), id="a-date"),
        pytest.param("2026-11-01T05:00:00+02:00", datetime(2026, 11, 1, 3, 0, 0, 999_999, UTC), id="a-timestamp"),
        pytest.param("36h", datetime(2026, 11, 9, 15, tzinfo=UTC), id="an-age"),
    ],
)
def test_since_is_a_moment(text: str, expected: datetime) -> None:
    assert since_moment(text, now=NOW) == expected
    assert since_moment(expected.isoformat(timespec="microseconds"), now=BEGAN) == expected


@pytest.mark.parametrize("text", ["", "yesterday", "latest", "2026-02-30", "7m"])
def test_other_texts_are_no_moment(store: str, tmp_path: Path, text: str) -> None:
    message = re.escape(f"since={text!r}: it must be a date, a timestamp or an age (2w, 7d, 36h)")
    with pytest.raises(ArgumentError, match=message):
        since_moment(text, now=NOW)
    with pytest.raises(ArgumentError, match=message):
        write_part(part_of("changes", store, tmp_path / "out", since=text), now=NOW)
    assert not (tmp_path / "out").exists()


def test_an_absent_store_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=f"store '{tmp_path}/s': no snapshot store exists there"):
        write_part(part_of("urls", f"{tmp_path}/s", tmp_path / "out"), now=NOW)
    assert not (tmp_path / "out").exists()


def test_an_output_that_cannot_be_written_is_an_error(store: str, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(StoreError, match=f"output '{tmp_path}/out': urls-0000-of-0001.parquet cannot be written: "):
        write_part(part_of("urls", store, tmp_path / "out"), now=NOW)
    with pytest.raises(StoreError, match=f"output '{tmp_path}/out': it cannot be read: "):
        missing(f"{tmp_path}/out", "urls", 1)
    with pytest.raises(StoreError, match="output 'ftp://host/out': "):
        write_part(part_of("urls", store, "ftp://host/out"), now=NOW)


@pytest.mark.thorough
def test_commands_on_one_machine_write_the_same_rows(store: str, tmp_path: Path) -> None:
    run = forked.scrapy("harvest", "audit", "--store", store, "-O", "findings.parquet", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    part = part_of("findings", store, tmp_path)
    write_part(part, now=NOW)
    assert pq.read_table(tmp_path / part.name).equals(pq.read_table(tmp_path / "findings.parquet"))
    found = written(part_of("changes", store, tmp_path, since="2026-11-01"))
    for site in SITES:
        options = ("--store", store, site, "--after", "2026-11-01", "-O", "changes.parquet")
        run = forked.scrapy("harvest", "diff", *options, cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        assert pq.read_table(tmp_path / "changes.parquet").to_pylist() == found.get(site, [])


@pytest.mark.thorough
@pytest.mark.service
def test_parts_in_an_object_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with contextmanager(object_store)(tmp_path) as reached:
        for name, value in reached.items():
            monkeypatch.setenv(name, value)
        address, output = f"s3://{BUCKET}/snapshots", f"s3://{BUCKET}/out"
        fill(address)
        expected = {}
        for number in range(2):
            part = part_of("urls", address, output, number, 2)
            assert missing(output, "urls", 2) == list(range(number, 2))
            write_part(part, now=NOW)
            with Folder.at(output).open(part.name) as file:
                rows = pq.read_table(file).to_pylist()
            expected |= {site: [*found] for site, found in groupby(rows, lambda row: site_of("urls", row))}
        assert missing(output, "urls", 2) == []
        assert expected == alone("urls", address)
