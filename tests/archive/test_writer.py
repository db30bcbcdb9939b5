"""WARC files that runs write: records, digests, rotation; and what is never in them."""

from __future__ import annotations

import errno
import gzip
import resource
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from sitemap_harvest.archive.captures import FETCH_ERROR, Captures, FetchFailedError
from sitemap_harvest.archive.files import files_of
from sitemap_harvest.archive.writer import ArchiveWriter, Exchange

if TYPE_CHECKING:
    from pathlib import Path

RUN = "20261126T000000Z-abcdef"
URL = "https://a.example/x?y=1"
NOW = datetime(2026, 11, 26, 10, 0, 0, 250_000, tzinfo=UTC)
INFO = {"software": "test", "isPartOf": RUN}
exchange = partial(
    Exchange,
    url=URL,
    at=NOW,
    sent=("GET", [(b"User-Agent", b"test")]),
    status=200,
    headers=[(b"Content-Type", b"text/xml")],
    body=b"hello",
)


def written(folder: Path, *exchanges: Exchange, run: str = RUN, **options: Any) -> list[Path]:
    """Write *exchanges* and return the files, which warcio has checked."""
    writer = ArchiveWriter(folder, run, INFO, **options)
    for one in exchanges:
        writer.write(one)
    writer.close()
    files = sorted(folder.iterdir())
    check = type("Arguments", (), {"inputs": list(map(str, files)), "verbose": False})()
    assert Checker(check).process_all() == 0
    return files


def records(path: Path) -> list[dict[str, str]]:
    with path.open("rb") as file:
        return [dict(record.rec_headers.headers) for record in ArchiveIterator(file)]


def test_a_response_is_followed_by_its_request(tmp_path: Path) -> None:
    (path,) = written(tmp_path, exchange(ip_address="127.0.0.1"))
    info, response, request = records(path)
    assert path.name == info["WARC-Filename"] == f"{RUN}-00001.warc.gz"
    assert {name: response[name] for name in sorted(response) if name not in {"WARC-Record-ID"}} == {
        "Content-Length": "48",
        "Content-Type": "application/http; msgtype=response",
        "WARC-Block-Digest": "sha1:DAY2P6NBSWAAXDL5YKNRWN7JOFF4KYGI",
        "WARC-Date": "2026-11-26T10:00:00.250000Z",
        "WARC-IP-Address": "127.0.0.1",
        "WARC-Payload-Digest": "sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N",
        "WARC-Target-URI": URL,
        "WARC-Type": "response",
        "WARC-Warcinfo-ID": info["WARC-Record-ID"],
    }
    assert request["WARC-Concurrent-To"] == response["WARC-Record-ID"]
    text = gzip.decompress(path.read_bytes())
    assert b"\r\n\r\nGET /x?y=1 HTTP/1.1\r\nHost: a.example\r\nUser-Agent: test\r\n\r\n" in text
    assert b"\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n\r\nhello\r\n\r\n" in text


def test_credentials_are_not_written(tmp_path: Path) -> None:
    names = (b"Authorization", b"proxy-authorization", b"Cookie", b"Set-Cookie")
    secrets = [(name, b"secret") for name in names] + [(b"Location", b"https://me:secret@a.example/")]
    sent = [*secrets, (b"X-Api-Key", b"secret"), (b"X-Auth-Token", b"secret")]
    (path,) = written(tmp_path, exchange(url="https://me:secret@a.example/x", sent=("GET", sent), headers=secrets))
    text = gzip.decompress(path.read_bytes())
    assert b"secret" not in text
    assert {one["WARC-Target-URI"] for one in records(path)[1:]} == {"https://a.example/x"}
    assert text.count(b"Location: https://a.example/\r\n") == 2


def test_other_header_bytes_are_kept(tmp_path: Path) -> None:
    place = "/citt\u00e0".encode()  # whose last byte is a no-break space in Latin-1
    written(tmp_path, exchange(headers=[(b"X", b"\xe9\xff"), (b"Location", place), (b"X", b"")]))
    expected = [("X", "\xe9\xff"), ("Location", place.decode("latin-1")), ("X", "")]
    assert Captures(files_of(tmp_path)).find(URL).headers == expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param([], [], id="none"),
        pytest.param([(b"Content-Length", b"5")], [("Content-Length", "5")], id="right"),
        pytest.param(
            [(b"Content-Length", b"9")], [("X-Crawler-Content-Length", "9"), ("Content-Length", "5")], id="wrong"
        ),
        pytest.param([(b"Transfer-Encoding", b"chunked")], [("X-Crawler-Transfer-Encoding", "chunked")], id="chunked"),
    ],
)
def test_the_headers_describe_the_body(tmp_path: Path, headers: Any, expected: Any) -> None:
    written(tmp_path, exchange(headers=headers))
    assert Captures(files_of(tmp_path)).find(URL).headers == expected


def types(path: Path) -> list[str]:
    return [f"{one['WARC-Type']}{one.get('WARC-Refers-To-Date', '')[17:-1]}" for one in records(path)]


def test_unchanged_documents_are_revisits(tmp_path: Path) -> None:
    later = [NOW + timedelta(seconds=second) for second in range(6)]
    (path,) = written(
        tmp_path,
        exchange(sent=None),
        exchange(sent=None, at=later[1]),
        exchange(sent=None, at=later[2], status=304, body=b""),
        exchange(sent=None, at=later[3], body=b"new"),
        exchange(sent=None, at=later[4], status=500, body=b"new"),
        exchange(sent=None, at=later[5], status=304, body=b""),
    )
    assert types(path) == [
        "warcinfo", "response", "revisit00.250000", "revisit00.250000", "response", "response", "revisit03.250000"
    ]  # fmt: skip
    captures = Captures(files_of(tmp_path))
    assert (captures.find(URL).status, captures.find(URL).body) == (200, b"new")
    assert captures.find(URL).not_modified is not None
    for second, body in enumerate([b"hello", b"hello", b"hello", b"new"]):
        assert Captures(files_of(tmp_path), until=later[second]).find(URL).body == body


REFERRED = ("WARC-Profile", "WARC-Refers-To", "WARC-Refers-To-Target-URI", "WARC-Refers-To-Date", "WARC-Truncated")


@pytest.mark.parametrize("is_earlier_run", [False, True])
def test_revisits_identify_the_response_that_they_confirm(tmp_path: Path, is_earlier_run: bool) -> None:
    first = exchange(url="https://a.example/%78?y=1")
    others = exchange(at=NOW + timedelta(seconds=1)), exchange(at=NOW + timedelta(seconds=2), status=304, body=b"")
    if is_earlier_run:
        written(tmp_path, first)
        path = written(tmp_path, *others, run="B", last=Captures(files_of(tmp_path)).last)[1]
    else:
        (path,) = written(tmp_path, first, *others)
    everything = [one for file in sorted(tmp_path.iterdir()) for one in records(file)]
    (original,) = (one for one in everything if one["WARC-Type"] == "response")
    base, found = "http://netpreserve.org/warc/1.1/revisit/", [one for one in records(path) if "WARC-Profile" in one]
    place = (original["WARC-Record-ID"], original["WARC-Target-URI"], original["WARC-Date"])
    assert [tuple(map(one.get, REFERRED)) for one in found] == [
        (f"{base}identical-payload-digest", *place, "length"),
        (f"{base}server-not-modified", *place, None),
    ]
    assert found[0]["WARC-Payload-Digest"] == original["WARC-Payload-Digest"]


def test_documents_of_earlier_runs_are_known(tmp_path: Path) -> None:
    written(tmp_path, exchange(sent=None))
    known = Captures(files_of(tmp_path))
    files = written(tmp_path, exchange(sent=None, at=NOW + timedelta(days=1)), run="B", last=known.last)
    assert types(files[1]) == ["warcinfo", "revisit00.250000"]
    assert Captures(files_of(tmp_path)).find(URL).body == b"hello"


@pytest.mark.parametrize("body", [b"", b"hel"])
def test_cut_bodies_say_so(tmp_path: Path, body: bytes) -> None:
    headers = [(b"Content-Length", b"5")]
    written(
        tmp_path, exchange(), exchange(at=NOW + timedelta(seconds=1), body=body, headers=headers, truncated="length")
    )
    found = Captures(files_of(tmp_path)).find(URL)
    assert (found.body, found.truncated, found.headers) == (body, "length", [("Content-Length", "5")])


def test_full_files_are_followed_by_others(tmp_path: Path) -> None:
    files = written(tmp_path, *(exchange(url=f"{URL}&{number}") for number in range(4)), max_bytes=1_500)
    assert [path.name for path in files] == [f"{RUN}-0000{number}.warc.gz" for number in (1, 2)]
    assert [records(path)[0]["WARC-Type"] for path in files] == ["warcinfo"] * 2
    assert len(Captures(files_of(tmp_path))) == 4


FACTS = {FETCH_ERROR: "dns", "fetchOutcome": "failed", "fetchReason": "no such host:\r\n https://a.example"}


def test_failed_requests_are_described(tmp_path: Path) -> None:
    writer = ArchiveWriter(tmp_path, RUN, INFO)
    writer.write_failure("https://me:secret@a.example/x?y=1", NOW, FACTS)
    writer.close()
    (path,) = tmp_path.iterdir()
    _, found = records(path)
    assert found["WARC-Type"] == "metadata"
    assert found["WARC-Target-URI"] == URL
    assert found["Content-Type"] == "application/warc-fields"
    assert "WARC-Payload-Digest" not in found
    captures = Captures(files_of(tmp_path))
    assert (len(captures), captures.failures) == (0, 1)
    with pytest.raises(FetchFailedError) as raised:
        captures.find(URL)
    assert raised.value.at == NOW
    assert raised.value.facts == {**FACTS, "fetchReason": "no such host: https://a.example"}


@pytest.mark.parametrize("second", [-1, 1])
def test_a_capture_counts_more_than_a_failed_request(tmp_path: Path, second: int) -> None:
    writer = ArchiveWriter(tmp_path, RUN, INFO)
    writer.write(exchange())
    writer.write_failure(URL, NOW + timedelta(seconds=second), FACTS)
    writer.close()
    captures = Captures(files_of(tmp_path))
    assert captures.find(URL).body == b"hello"
    assert captures.last(URL) is not None


def test_a_run_without_responses_has_no_file(tmp_path: Path) -> None:
    assert written(tmp_path) == []


@pytest.mark.parametrize("left", [50, 500])
def test_a_failed_record_leaves_no_half(tmp_path: Path, left: int) -> None:
    class Full:
        """A file on a disk that is full after some bytes."""

        def __init__(self, file: Any, left: int) -> None:
            self._file, self._left = file, left

        def __getattr__(self, name: str) -> Any:
            return getattr(self._file, name)

        def write(self, data: memoryview) -> int:
            if not self._left:
                raise OSError(errno.ENOSPC, "No space left on device")
            written = self._file.write(data[: self._left])
            self._left -= written
            return int(written)

    writer = ArchiveWriter(tmp_path, RUN, INFO)
    writer.write(exchange())
    whole = (path := next(tmp_path.iterdir())).read_bytes()
    writer._file = Full(writer._file, left)  # type: ignore[assignment]
    with pytest.raises(OSError, match=f"No space left on device: .{path}"):
        writer.write(exchange(url="https://a.example/2", body=b"x" * 100))
    writer.close()
    assert path.read_bytes() == whole


def test_a_file_for_which_there_is_no_space_is_removed(tmp_path: Path) -> None:
    writer = ArchiveWriter(tmp_path, RUN, INFO)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(OSError, match=r"File too large: .*-00001\.warc\.gz"):
            writer.write(exchange())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    writer.close()
    assert list(tmp_path.iterdir()) == []
