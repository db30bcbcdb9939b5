"""A rewritten file has its old content or its new one; a path that cannot be written is an error before the run."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from sitemap_harvest.errors import OptionError
from sitemap_harvest.files import check_place, path_of, put_file

pytestmark = pytest.mark.quick

VALUES = {"run": "20261122T014512Z-4f2a1c", "job": "7", "name": "shop"}


@pytest.mark.parametrize(
    ("template", "values", "wanted"),
    [
        pytest.param("/a/b.json", VALUES, "/a/b.json", id="plain"),
        pytest.param("/a/%(name)s-%(run)s.json", VALUES, "/a/shop-20261122T014512Z-4f2a1c.json", id="values"),
        pytest.param("/a/100%%.json", VALUES, "/a/100%.json", id="per-cent"),
        pytest.param("/a/%(job)s.json", {"job": "../../etc/x"}, "/a/__.._etc_x.json", id="leads-elsewhere"),
        pytest.param("/a/%(job)s/b.json", {"job": ".."}, "/a/_/b.json", id="the-folder-above"),
        pytest.param("/a/%(job)s.json", {"job": "a\0b\nc"}, "/a/a_b_c.json", id="control-characters"),
        pytest.param("/a/%(job)s.json", {"job": "Ä%(run)s"}, "/a/Ä__run_s.json", id="a-template-in-a-value"),
    ],
)
def test_a_path_with_placeholders(template, values, wanted):
    assert str(path_of("S", template, values)) == wanted


@pytest.mark.parametrize(
    "template",
    ["%(date)s.json", "%s.json", "%d", "100%", "%(run)d", "%(run", "s3://bucket/a.json", "a\0b"],
)
def test_invalid_paths_are_rejected(template):
    with pytest.raises(OptionError, match=r"^S is .*; it must be the path of a local file, which may contain"):
        path_of("S", template, VALUES)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        pytest.param("none/a.json", "no such file or directory", id="no-folder"),
        pytest.param("folder", "it is a folder", id="folder"),
        pytest.param("file/a.json", "not a directory", id="below-a-file"),
        pytest.param("/proc/a.json", "no such file or directory", id="no-place-for-files"),
        pytest.param("a" * 300, "file name too long", id="too-long"),
    ],
)
def test_unwritable_places_are_rejected(place, words, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(OptionError, match=words):
        check_place("S", tmp_path / place)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_file_is_replaced_atomically_and_a_checked_place_is_unchanged(tmp_path):
    path = tmp_path / "a.json"
    check_place("S", path)
    assert list(tmp_path.iterdir()) == []
    put_file(path, b"before")
    check_place("S", path)
    assert path.read_bytes() == b"before"
    reader = path.open("rb")
    put_file(path, b"after", mode=0o644)
    assert reader.read() == b"before"  # a reader sees one of the two completely
    reader.close()
    assert path.read_bytes() == b"after"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert list(tmp_path.iterdir()) == [path]


def test_other_users_can_read_public_files_with_any_umask(tmp_path):
    before = os.umask(0o077)
    try:
        put_file(tmp_path / "for-all", b"", mode=0o644)
        put_file(tmp_path / "own", b"")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"for-all": 0o644, "own": 0o600}


def test_a_full_disk_is_an_error_and_a_device_stays_a_device():
    full = Path("/dev/full")
    check_place("S", full)
    with pytest.raises(OSError, match="No space left"):
        put_file(full, b"x")
    assert full.is_char_device()


def test_a_link_stays_a_link_and_a_pipe_without_a_reader_does_not_block(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    put_file(path_of("S", str(tmp_path / "link"), {}), b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"x"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="No such device"):
        put_file(tmp_path / "pipe", b"x")
