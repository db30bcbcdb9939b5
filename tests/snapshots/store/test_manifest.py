from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime

import pytest

from sitemap_harvest.errors import StoreError
from sitemap_harvest.snapshots.store import Run, open_store
from sitemap_harvest.snapshots.store.storage import Folder
from sitemap_harvest.snapshots.store.store import FORMAT, MANIFEST, Manifest
from sitemap_harvest.snapshots.store.tables import StoredFile

RUN = Run(
    id="20261101T030000Z-000000",
    job="17",
    started_at=datetime(2026, 11, 1, 3, tzinfo=UTC),
    ended_at=datetime(2026, 11, 1, 3, 1, tzinfo=UTC),
    baseline="20261031T030000Z-000000",
    rows=3,
    urls=4,
    complete=True,
    changes={"added": 3},
    arguments={"site": "https://a.example", "max_depth": 3, "filter": ["a", None]},
)
FILE = StoredFile(
    name=f"runs/{RUN.id}/rows-0001.parquet",
    table="rows",
    bytes=10,
    sha256="0" * 64,
    count=3,
    runs=(RUN.id,) * 2,
    ids=(7, 10),
)
WHOLE = Manifest(runs=(RUN,), files=(FILE,), next_row=10)


@pytest.fixture
def folder(tmp_path):
    return Folder.at(tmp_path / "site")


def test_a_manifest_round_trips(folder):
    assert Manifest.read(folder) == Manifest()
    folder.put(MANIFEST, WHOLE.data())
    assert Manifest.read(folder) == WHOLE
    assert folder.names() == [MANIFEST]


def values_of(folder):
    folder.put(MANIFEST, WHOLE.data())
    return json.loads(gzip.decompress(folder.read(MANIFEST)))


def put(folder, values):
    folder.put(MANIFEST, gzip.compress(json.dumps(values).encode()))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{}", id="not-compressed"),
        pytest.param(gzip.compress(b"{}")[:-3], id="cut"),
        pytest.param(gzip.compress(b'{"format":1'), id="no-json"),
        pytest.param(gzip.compress(b"[]"), id="no-object"),
        pytest.param(gzip.compress(b"{}"), id="nothing-in-it"),
        pytest.param(gzip.compress(b'{"format":1,"runs":[{}],"files":[],"next_row":0}'), id="a-run-without-times"),
        pytest.param(gzip.compress(b"\xff\xfe\x00"), id="no-text"),
    ],
)
def test_a_damaged_manifest_is_named(folder, data):
    folder.put(MANIFEST, data)
    with pytest.raises(StoreError, match=r"site/manifest\.json\.gz is damaged"):
        Manifest.read(folder)


@pytest.mark.parametrize("number", [FORMAT + 1, 99, "1", None])
def test_a_newer_format_is_rejected(folder, number):
    put(folder, values_of(folder) | {"format": number})
    with pytest.raises(StoreError, match="newer version of sitemap_harvest"):
        Manifest.read(folder)


def test_unknown_fields_of_later_versions_are_ignored(folder):
    values = values_of(folder)
    values["runs"][0]["later"] = values["files"][0]["later"] = values["later"] = 1
    put(folder, values)
    assert Manifest.read(folder) == WHOLE


def test_a_store_exists_or_is_created(tmp_path):
    with pytest.raises(StoreError, match="no snapshot store exists there"):
        open_store(tmp_path / "s")
    open_store(tmp_path / "s", create=True)
    assert open_store(tmp_path / "s").sites() == []


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(b'{"format": 99}', "newer version", id="newer"),
        pytest.param(b"", "is damaged", id="empty"),
        pytest.param(b"[1]", "is damaged", id="no-object"),
        pytest.param(b'{"name": "shop"}', "is damaged, or not that of a store", id="of-another-program"),
    ],
)
def test_an_unreadable_store_is_an_error(tmp_path, data, words):
    (tmp_path / "store.json").write_bytes(data)
    with pytest.raises(StoreError, match=words):
        open_store(tmp_path)


def test_a_new_store_in_a_folder_with_other_files_is_logged(tmp_path, caplog):
    for name in ("empty", "hidden/.git", "used/notes"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("empty", "hidden", "used", "used", "new"):  # the second time, it is a store
        open_store(tmp_path / name, create=True)
    assert caplog.messages == [f"A new store is created in {tmp_path / 'used'}, a folder that already has other files"]


def test_a_file_in_place_of_a_store_is_an_error(tmp_path):
    (tmp_path / "s").write_text("x")
    with pytest.raises(StoreError, match="store '"):
        open_store(tmp_path / "s", create=True)
