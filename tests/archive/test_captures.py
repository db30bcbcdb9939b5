"""Archives of others: formats, order, damage."""

from __future__ import annotations

import gzip
import zipfile
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from sitemap_harvest.archive.captures import Captures, NoCaptureError, Original
from sitemap_harvest.archive.files import files_of, is_archive
from sitemap_harvest.errors import ArchiveError
from tests.archive.records import URL, http, packed, record

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.warc.gz"


def bodies(path: Path, url: str = URL) -> bytes:
    return Captures(files_of(path)).find(url).body


@pytest.mark.parametrize(
    ("block", "body"),
    [
        pytest.param(http("a", "Content-Length: 1"), b"a", id="length"),
        pytest.param(http("3\r\nabc\r\n0\r\n\r\n", "Transfer-Encoding: chunked"), b"abc", id="chunks"),
        pytest.param(http("abc", "Transfer-Encoding: chunked"), b"abc", id="chunks-removed"),
        pytest.param(
            http("abc", "X-Crawl-Transfer-Encoding: chunked", "X-Crawl-Content-Encoding: gzip"), b"abc", id="renamed"
        ),
        pytest.param(http("\x1f\x8b", "Content-Encoding: gzip"), b"\x1f\x8b", id="content-encoding"),
        pytest.param(http(""), b"", id="empty"),
        pytest.param("HTTP/1.1 200\r\n\r\nabc", b"abc", id="no-headers"),
    ],
)
def test_bodies(path: Path, block: str, body: bytes) -> None:
    path.write_bytes(packed(record(block)))
    assert bodies(path) == body


@pytest.mark.parametrize(
    ("block", "status", "headers"),
    [
        pytest.param("HTTP/1.1 404 No such page\r\nA: b : c\r\n\r\n", 404, [("A", "b : c")], id="usual"),
        pytest.param("HTTP/2 200\r\nA:b\r\n\r\n", 200, [("A", "b")], id="no-reason"),
        pytest.param("HTTP/1.0 200 OK\nA: b\n\n", 200, [("A", "b")], id="line-feeds"),
        pytest.param("HTTP/1.1 200 OK\r\nA: b\r\n\tc\r\n \r\n\r\n", 200, [("A", "b c ")], id="folded"),
        pytest.param("HTTP/1.1 200 OK\r\njunk\r\nA : b\r\n\r\n", 200, [("A", "b")], id="junk"),
    ],
)
def test_heads(path: Path, block: str, status: int, headers: list[tuple[str, str]]) -> None:
    path.write_bytes(packed(record(block)))
    found = Captures(files_of(path)).find(URL)
    assert (found.status, found.headers, found.body) == (status, headers, b"")


@pytest.mark.parametrize("block", ["", "no HTTP at all", "\r\n\r\nbody"])
def test_other_contents_are_no_captures(path: Path, block: str) -> None:
    path.write_bytes(packed(record(block)))
    with pytest.raises(NoCaptureError, match="is not an HTTP response"):
        bodies(path)


CHUNKED = "Transfer-Encoding: chunked"


@pytest.mark.parametrize(
    ("block", "body", "truncated"),
    [
        pytest.param(http("3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX: y\r\n\r\n", CHUNKED), b"abcde", None, id="trailer"),
        pytest.param(http("3\r\nabc\r\n0\r\n\r\n", "Transfer-Encoding: gzip, chunked"), b"abc", None, id="two-codings"),
        pytest.param(http("0\r\n\r\n", CHUNKED), b"", None, id="no-chunk"),
        pytest.param(http("3\r\nabc\r\n1f", CHUNKED), b"abc", "disconnect", id="cut-in-size"),
        pytest.param(http("3\r\nabc\r\n8\r\nde", CHUNKED), b"abcde", "disconnect", id="cut-in-chunk"),
        pytest.param(http("3\r\nabc\r\n", CHUNKED), b"abc", "disconnect", id="cut-after-chunk"),
        pytest.param(http("abc", "Content-Length: 5"), b"abc", "disconnect", id="shorter-than-declared"),
        pytest.param(http("abc", "Content-Length: 2"), b"abc", None, id="longer-than-declared"),
        pytest.param(http("abc", "Content-Length: 5", "Content-Encoding: gzip"), b"abc", None, id="decoded"),
        pytest.param(http("abc", "Content-Length: 5", "x-orig-content-encoding: br"), b"abc", None, id="renamed"),
        pytest.param(http("", "Content-Length: 5", status="304 Not Modified"), b"", None, id="304"),
    ],
)
def test_cut_bodies_are_noticed(path: Path, block: str, body: bytes, truncated: str | None) -> None:
    path.write_bytes(packed(record(block)))
    captures = Captures(files_of(path))
    for most_bytes in (0, 100):
        found = captures.find(URL, most_bytes)
        assert (found.body, found.truncated) == (body, truncated)


@pytest.mark.parametrize("block", [http("5\r\nabcde\r\n5\r\nabcde\r\n0\r\n\r\n", CHUNKED), http("abcdeabcde")])
@pytest.mark.parametrize(("most_bytes", "size"), [(4, 5), (5, 6), (9, 10), (10, 10)])
def test_bodies_are_read_up_to_the_limit(path: Path, block: str, most_bytes: int, size: int) -> None:
    path.write_bytes(packed(record(block)))
    assert Captures(files_of(path)).find(URL, most_bytes).body == b"abcdeabcde"[:size]


@pytest.mark.parametrize("more", ["WARC-Truncated: unspecified", "WARC-Segment-Number: 1"])
def test_incomplete_blocks_say_so(path: Path, more: str) -> None:
    path.write_bytes(packed(record(http("a"), more=more)))
    captures = Captures(files_of(path))
    assert captures.find(URL).truncated == "unspecified"
    assert captures.last(URL) is None


@pytest.mark.parametrize(
    ("date", "at"),
    [
        pytest.param("2019", "2019-01-01T00:00:00+00:00", id="year"),
        pytest.param("2019-03", "2019-03-01T00:00:00+00:00", id="month"),
        pytest.param("2019-03-04T05:06Z", "2019-03-04T05:06:00+00:00", id="minute"),
        pytest.param("2019-03-04T05:06:07.123456789Z", "2019-03-04T05:06:07.123456+00:00", id="nanosecond"),
        pytest.param("2019-03-04T05:06:07", "2019-03-04T05:06:07+00:00", id="no-zone"),
        pytest.param("20190304050607", "2019-03-04T05:06:07+00:00", id="as-in-cdx"),
        pytest.param("yesterday", None, id="none"),
        pytest.param("2019-99-99T00:00:00Z", None, id="no-date"),
    ],
)
def test_dates(path: Path, caplog: pytest.LogCaptureFixture, date: str, at: str | None) -> None:
    path.write_bytes(packed(record(http("a"), date=date), record(http("b"), url="http://b.example/")))
    captures = Captures(files_of(path))
    assert captures.find("http://b.example/").body == b"b"
    if at is not None:
        assert captures.find(URL).at.isoformat() == at
    assert caplog.messages == ([] if at else ["1 responses in the archive have no valid date, and were ignored"])


@pytest.mark.parametrize("refers", ["request", "response"])
def test_only_responses_to_get_are_found(path: Path, refers: str) -> None:
    def pair(method: str, number: int) -> bytes:
        ids = {"request": f"<urn:uuid:{number}>", "response": f"<urn:uuid:{number}0>"}
        more = {name: f"WARC-Record-ID: {own}" for name, own in ids.items()}
        more[refers] += f"\r\nWARC-Concurrent-To: {ids['request' if refers == 'response' else 'response']}"
        date = f"202{number}-01-01T00:00:00Z"
        return packed(
            record(f"{method} / HTTP/1.1\r\n\r\n", kind="request", date=date, more=more["request"]),
            record(http(method, "Content-Length: 9"), date=date, more=more["response"]),
        )

    path.write_bytes(pair("GET", 1) + pair("HEAD", 2) + pair("POST", 3))
    assert bodies(path) == b"GET"


def test_records_of_other_types_are_skipped(path: Path) -> None:
    kinds = ("warcinfo", "request", "metadata", "resource", "conversion", "continuation", "other")
    path.write_bytes(packed(record(http("a")), *(record(http(kind), kind=kind) for kind in kinds)))
    assert len(Captures(files_of(path))) == 1


def test_the_last_capture_until_then_wins(path: Path) -> None:
    dates = ("2021-01-01T00:00:00Z", "2019-01-01T00:00:00.5Z", "2020-01-01T00:00:00Z")
    path.write_bytes(packed(*(record(http(date[:4]), date=date) for date in dates)))
    assert bodies(path) == b"2021"
    for year, body in ((2020, b"2019"), (2021, b"2021")):
        until = datetime(year, 1, 1, tzinfo=UTC).replace(year=year) if year > 2020 else datetime(2019, 6, 1, tzinfo=UTC)
        assert Captures(files_of(path), until=until).find(URL).body == body


@pytest.mark.parametrize(
    "url", ["HTTP://A.example:80/robots.txt", "http://me@a.example/robots.txt", "http://a.example/./%72obots.txt#x"]
)
def test_urls_are_compared_by_their_keys(path: Path, url: str) -> None:
    path.write_bytes(packed(record(http("a"))))
    assert bodies(path, url) == b"a"


def test_schemes_and_queries_are_not_ignored(path: Path) -> None:
    path.write_bytes(packed(record(http("a"))))
    for url in ("https://a.example/robots.txt", f"{URL}?"):
        with pytest.raises(NoCaptureError, match="no capture of it"):
            bodies(path, url)


@pytest.mark.parametrize(
    "more",
    [
        pytest.param(f"WARC-Refers-To-Target-URI: {URL}\r\nWARC-Refers-To-Date: 2019-01-01T00:00:00Z", id="date"),
        pytest.param("WARC-Refers-To: <urn:uuid:1>", id="record"),
        pytest.param("WARC-Payload-Digest: sha1:X", id="digest"),
    ],
)
@pytest.mark.parametrize("block", ["", http("", "X: 2")])
def test_revisits_have_the_body_of_another_file(tmp_path: Path, more: str, block: str) -> None:
    first = record(
        http("a", "X: 1"), date="2019-01-01T00:00:00Z",
        more="WARC-Record-ID: <urn:uuid:1>\r\nWARC-Payload-Digest: sha1:X",
    )  # fmt: skip
    (tmp_path / "b.warc").write_bytes(first)
    profile = "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/identical-payload-digest\r\n"
    (tmp_path / "a.warc.gz").write_bytes(packed(record(block, kind="revisit", more=profile + more)))
    found = Captures(files_of(tmp_path)).find(URL)
    assert (found.status, found.headers, found.body) == (200, [("X", "2" if block else "1")], b"a")


@pytest.mark.parametrize("block", ["", http("", "ETag: 1", status="304 Not Modified")])
def test_a_confirmation_has_the_status_304(path: Path, block: str) -> None:
    profile = "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    more = f"{profile}\r\nWARC-Refers-To-Date: 2019-01-01T00:00:00Z"
    path.write_bytes(packed(record(http("a"), date="2019-01-01T00:00:00Z"), record(block, kind="revisit", more=more)))
    found = Captures(files_of(path)).find(URL)
    assert (found.status, found.body, found.at.year) == (200, b"a", 2020)
    assert found.not_modified is not None
    assert found.not_modified.status == 304


def test_revisits_of_unknown_profiles_are_skipped(path: Path) -> None:
    revisit = record(http(""), kind="revisit", date="2021-01-01T00:00:00Z", more="WARC-Profile: http://x.example/diff")
    path.write_bytes(packed(record(http("a")), revisit))
    assert bodies(path) == b"a"


def test_record_ids_are_compared_without_their_marks(path: Path) -> None:
    first = record(http("a"), date="2019-01-01T00:00:00Z", more="WARC-Record-ID: urn:uuid:1")
    path.write_bytes(packed(first, record("", kind="revisit", more="WARC-Refers-To: <urn:uuid:1>")))
    assert bodies(path) == b"a"


def test_a_revisit_of_a_missing_capture_says_so(path: Path) -> None:
    path.write_bytes(packed(record(http(""), kind="revisit", more="WARC-Payload-Digest: sha1:X")))
    with pytest.raises(NoCaptureError, match="refers to an earlier one, which is missing"):
        bodies(path)


def test_every_cut_leaves_the_whole_records(path: Path) -> None:
    first, second = gzip.compress(record(http("a"))), gzip.compress(record(http("b" * 100), url="http://b.example/"))
    for size in range(len(first), len(first + second)):
        path.write_bytes((first + second)[:size])
        found = Captures(files_of(path))
        assert found.find(URL).body == b"a"
        assert len(found) == 1 or found.find("http://b.example/").body == b"b" * 100


@pytest.mark.parametrize(
    "junk",
    [
        pytest.param(b"junk", id="text"),
        pytest.param(b"\x1f\x8b\x08junk", id="gzip"),
        pytest.param(gzip.compress(b"WARC/1.0\r\nContent-Length: x\r\n\r\n"), id="length"),
        pytest.param(gzip.compress(record("HTTP/1.1 200 OK\r\n\r\n", date="yesterday")), id="date"),
        pytest.param(gzip.compress(record("", url="")), id="no-url"),
        pytest.param(gzip.compress(b"\0" * 100_000), id="nul"),
    ],
)
def test_damage_does_not_hide_what_precedes_it(path: Path, junk: bytes) -> None:
    path.write_bytes(packed(record(http("a"))) + junk)
    assert bodies(path) == b"a"


def flipped(member: bytes, place: int) -> bytes:
    changed = bytearray(member)
    changed[place] ^= 0xFF
    return bytes(changed)


LONG = packed(record(http("".join(map(str, range(20_000))))))


@pytest.mark.parametrize(
    ("damaged", "words"),
    [
        pytest.param(LONG[: len(LONG) // 2], "a record is incomplete", id="cut"),
        pytest.param(LONG[:100], "a record is incomplete", id="cut-in-head"),
        pytest.param(flipped(LONG, len(LONG) // 2), "Error -3 while decompressing data", id="body"),
        pytest.param(flipped(LONG, -5), "incorrect data check", id="checksum"),
        pytest.param(
            gzip.compress(b"WARC/1.0\r\nX: " + b"a" * 25_000_000, 1),
            "the head of a record is too long",
            id="endless-line",
        ),
        pytest.param(
            gzip.compress(b"WARC/1.0\r\n" + b"a: b\r\n" * 3_500_000, 1),
            "head of a record is too long",
            id="endless-head",
        ),
    ],
)
def test_damage_is_logged(
    path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], damaged: bytes, words: str
) -> None:
    path.write_bytes(packed(record(http("a"))) + damaged)
    assert bodies(path) == b"a"
    (message,) = caplog.messages
    assert message.startswith("a.warc.gz is damaged, and was read only up to the damage: ")
    assert words in message
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"", "no capture of it", id="empty"),
        pytest.param(b"junk" * 100, "is damaged: Invalid WARC record", id="junk"),
        pytest.param(None, "cannot be read: no such file", id="removed"),
    ],
)
def test_a_file_that_has_changed_since_then_is_an_error_of_the_document(
    path: Path, content: bytes | None, words: str
) -> None:
    path.write_bytes(packed(record(http("a"))))
    found = Captures(files_of(path))
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(NoCaptureError, match=words):
        found.find(URL)


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz", "A.WARC.GZ"])
def test_a_wacz_file_contains_warc_files(tmp_path: Path, name: str) -> None:
    records = (record(http("a"), url="http://b.example/"), record(http("b")))
    content = packed(*records) if name.lower().endswith(".gz") else b"".join(records)
    with zipfile.ZipFile(tmp_path / "x.wacz", "w") as archive:
        archive.writestr("datapackage.json", "{}")
        archive.writestr(f"archive/{name}", content)
        archive.writestr("archive/second.warc.gz", packed(record(http("c"), url="http://c.example/")))
    for path in (tmp_path, tmp_path / "x.wacz"):
        assert [bodies(path, url) for url in ("http://b.example/", URL, "http://c.example/")] == [b"a", b"b", b"c"]


def test_files_that_are_no_archives_are_refused(tmp_path: Path) -> None:
    zstd, text, zipped, packed_twice = (tmp_path / name for name in ("a.warc.zst", "a.txt", "a.wacz", "b.wacz"))
    zstd.write_bytes(b"\x28\xb5\x2f\xfd")
    text.write_bytes(b"x")
    zipped.write_bytes(b"PK")
    with zipfile.ZipFile(packed_twice, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/a.warc", record(http("a")))
    for path, words in (
        (zstd, "compressed with zstd"),
        (text, "is neither a WARC file"),
        (zipped, "is not a WACZ file"),
        (packed_twice, "is compressed in the WACZ file"),
        (tmp_path / "missing.warc", "cannot be read: no such file"),
    ):
        with pytest.raises(ArchiveError, match=words):
            Captures(files_of(path))


@pytest.mark.parametrize("block", ["", http("a", status="404"), http("a")])
def test_only_whole_documents_are_confirmed(path: Path, block: str) -> None:
    first = record(http("a"), date="2019-01-01T00:00:00Z", more="WARC-Payload-Digest: sha1:X")
    path.write_bytes(packed(first, record(block, more="WARC-Truncated: length" if block else "")))
    assert Captures(files_of(path)).last(URL) == Original(URL, "2019-01-01T00:00:00Z", None, "sha1:X")


def test_a_folder_with_warc_files_is_an_archive(tmp_path: Path) -> None:
    assert not is_archive(tmp_path)
    (tmp_path / "a.xml").touch()
    assert not is_archive(tmp_path)
    (tmp_path / "a.warc.gz").touch()
    assert is_archive(tmp_path)
