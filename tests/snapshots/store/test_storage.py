from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from pyarrow import fs

from sitemap_harvest.errors import StoreError
from sitemap_harvest.snapshots.store.storage import Folder, shown
from tests.snapshots.store.memory_bucket import MemoryBucket


@pytest.fixture
def folder(tmp_path):
    return Folder.at(tmp_path / "store") / "a"


def test_a_missing_folder_is_empty(folder):
    assert folder.names() == []
    assert folder.read("x") is None
    assert folder.size("x") is None
    folder.remove("x")
    folder.remove_all()


def test_a_folder_that_another_process_creates_while_it_is_listed_is_empty(tmp_path):
    class Files:
        """Creates the folder between the two times that pyarrow looks for it, and then fails as pyarrow does."""

        def get_file_info(self, selector):
            if not Path(selector.base_dir).exists():
                Path(selector.base_dir).mkdir()
                raise FileNotFoundError(2, "Cannot list directory")
            return fs.LocalFileSystem().get_file_info(selector)

    assert Folder(Files(), str(tmp_path / "sites")).names() == []


def test_a_written_file_is_read_and_nothing_else_stays(folder):
    folder.put("x", b"one")
    folder.put("x", b"two")
    assert (folder.read("x"), folder.size("x"), folder.names()) == (b"two", 3, ["x"])


def test_a_file_has_an_age(folder):
    folder.put("x", b"one")
    os.utime(f"{folder}/x", (0, 0))
    assert folder.age("x") > 1_000_000_000
    assert folder.age("y") is None


def test_of_a_file_only_the_known_content_is_replaced(folder):
    assert [folder.replace("x", data, was=was) for data, was in ((b"1", b"0"), (b"1", None), (b"2", None))] == [
        False,
        True,
        False,
    ]
    assert [folder.replace("x", b"2", was=b"0"), folder.replace("x", b"2", was=b"1")] == [False, True]
    assert folder.read("x") == b"2"


def test_a_failed_write_leaves_the_old_content(folder, monkeypatch):
    folder.put("x", b"one")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        folder.put("x", b"two")
    assert folder.read("x") == b"one"


@pytest.fixture(params=["a-disk", "an-object-store"])
def either(folder, request):
    """A folder, on a disk or in an object store."""
    return folder if request.param == "a-disk" else MemoryBucket().folder()


def test_a_file_is_replaced_when_it_is_complete(either):
    with either.replacing("x") as file:
        file.write(b"one")
        assert either.size("x") is None
    with either.replacing("x") as file:
        file.write(b"two")
        file.flush()
        assert either.read("x") == b"one"
    assert (either.read("x"), either.names()) == (b"two", ["x"])


def test_a_file_that_could_not_be_completed_leaves_the_old_one(either):
    either.write("x", b"one")
    with pytest.raises(ZeroDivisionError), either.replacing("x") as file:
        file.write(b"%d" % (1 // file.tell()))
    assert (either.read("x"), either.names()) == (b"one", ["x"])


@pytest.mark.parametrize(("is_windows", "opened"), [(False, ["b", "x"]), (True, ["x"])])
def test_written_files_and_their_folders_are_synced_but_folders_not_on_windows(folder, monkeypatch, is_windows, opened):
    folder.write("b/x", b"one")
    monkeypatch.setattr("sitemap_harvest.files._IS_WINDOWS", is_windows)
    real, synced = os.open, []

    def open_(path, flags):
        synced.append((Path(path).name, flags))
        return real(path, flags)

    monkeypatch.setattr("sitemap_harvest.files.os.open", open_)
    folder.sync(["b/x"])
    assert sorted(synced) == [(name, os.O_RDWR if is_windows else os.O_RDONLY) for name in opened]


def test_only_one_of_many_concurrent_creators_succeeds(folder):
    done = []
    barrier = threading.Barrier(8)

    def create(number):
        barrier.wait()
        done.append(folder.create("x", b"%d" % number))

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [False] * 7 + [True]
    assert folder.names() == ["x"]


def test_a_written_file_is_opened(folder):
    folder.write("b/x", b"one")
    with folder.open("b/x") as opened:
        assert (opened.size(), opened.read()) == (3, b"one")


def test_a_folder_is_removed_with_its_content(folder):
    folder.put("x", b"one")
    (folder / "b").put("y", b"two")
    folder.remove_all()
    assert folder.names() == []


@pytest.mark.parametrize("address", ["nonsense://x", "http://a.example/x"])
def test_an_address_without_a_folder_is_an_error(address):
    with pytest.raises(StoreError, match="store '"):
        Folder.at(address)


def test_names_may_have_any_letters(tmp_path):
    folder = Folder.at(tmp_path / "ä b %20 #x")
    folder.put("ü", b"one")
    assert folder.names() == ["ü"]


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        pytest.param("s3://bucket/folder", "s3://bucket/folder", id="none"),
        pytest.param("s3://key:secret@bucket/folder", "s3://bucket/folder", id="both"),
        pytest.param("s3://key@bucket/folder", "s3://bucket/folder", id="key-alone"),
        pytest.param("s3://key:se/cr@et@bucket/folder", "s3://bucket/folder", id="slash-and-at"),
        pytest.param("s3://bucket/a@b", "s3://bucket/a@b", id="at-in-the-path"),
        pytest.param("snapshots/a@b", "snapshots/a@b", id="folder"),
    ],
)
def test_the_address_of_a_store_is_shown_without_credentials(address, expected):
    assert shown(address) == expected
