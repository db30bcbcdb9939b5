from __future__ import annotations

import bz2
import gzip
import io
import random
import sys
import zipfile
import zlib
from typing import TYPE_CHECKING

import brotli
import pytest

from sitemap_harvest import Limits, read
from sitemap_harvest.formats import decompressors as module
from sitemap_harvest.formats.source import Source
from tests.documents import HERE, codes, locs, log, noted, urlset

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT = urlset("".join(f"<url><loc>https://example.com/{number}</loc></url>" for number in range(20)))
DEFAULT = Limits()
NOISE = random.Random(1).randbytes(3000)


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()


def unpacked(body: bytes, limits: Limits = DEFAULT) -> tuple[bytes, list[str], dict[str, int]]:
    problems, source = log(), Source(body=body, url=HERE, content_type=None, limits=limits)
    data = b"".join(source.blocks(problems, size=module.BLOCK_BYTES))
    return data, source.layers, noted(problems)


@pytest.mark.parametrize(
    ("body", "data", "layers"),
    [
        pytest.param(TEXT, TEXT, [], id="not-packed"),
        pytest.param(b"", b"", [], id="empty"),
        pytest.param(gzip.compress(TEXT), TEXT, ["gzip"], id="gzip"),
        pytest.param(gzip.compress(b""), b"", ["gzip"], id="gzip-of-nothing"),
        pytest.param(gzip.compress(TEXT[:50]) + gzip.compress(TEXT[50:]), TEXT, ["gzip"], id="two-members"),
        pytest.param(
            b"".join(gzip.compress(bytes([byte])) for byte in TEXT), TEXT, ["gzip"], id="a-member-for-each-byte"
        ),
        pytest.param(gzip.compress(gzip.compress(TEXT)), TEXT, ["gzip", "gzip"], id="gzip-in-gzip"),
        pytest.param(gzip.compress(TEXT) + b"\0" * 1000, TEXT, ["gzip"], id="padded-with-zeros"),
        pytest.param(zlib.compress(TEXT), TEXT, ["zlib"], id="zlib"),
        pytest.param(zlib.compress(TEXT, 1), TEXT, ["zlib"], id="zlib-fast"),
        pytest.param(bz2.compress(TEXT), TEXT, ["bzip2"], id="bzip2"),
        pytest.param(bz2.compress(TEXT[:50]) + bz2.compress(TEXT[50:]), TEXT, ["bzip2"], id="two-bzip2-streams"),
        pytest.param(zstd.compress(TEXT), TEXT, ["zstd"], id="zstd"),
        pytest.param(zstd.compress(TEXT[:50]) + zstd.compress(TEXT[50:]), TEXT, ["zstd"], id="two-zstd-frames"),
        pytest.param(zipped({"sitemap.xml": TEXT}), TEXT, ["zip"], id="zip"),
        pytest.param(zipped({"maps/": b"", "maps/a.xml": TEXT}), TEXT, ["zip"], id="zip-with-a-folder"),
        pytest.param(zipped({"a.xml": TEXT}, zipfile.ZIP_STORED), TEXT, ["zip"], id="zip-that-packs-nothing"),
        pytest.param(gzip.compress(zstd.compress(bz2.compress(TEXT))), TEXT, ["gzip", "zstd", "bzip2"], id="three"),
        pytest.param(b"x^2 is text", b"x^2 is text", [], id="text-like-zlib"),
        pytest.param(b"BZh is text", b"BZh is text", [], id="text-like-bzip2"),
    ],
)
def test_compressed_documents_are_decompressed_completely(body: bytes, data: bytes, layers: list[str]) -> None:
    assert unpacked(body) == (data, layers, {})


@pytest.mark.parametrize(
    ("body", "data", "problems"),
    [
        pytest.param(gzip.compress(TEXT) + b"junk", TEXT, {"unpack/trailing-bytes": 1}, id="bytes-behind"),
        pytest.param(gzip.compress(TEXT)[:-8] + b"\0" * 8, TEXT, {"unpack/bad-checksum": 1}, id="bad-checksum"),
        pytest.param(gzip.compress(TEXT)[:-1] + b"\xff", TEXT, {"unpack/bad-checksum": 1}, id="bad-length"),
        pytest.param(b"\x1f\x8b junk", b"", {"unpack/unreadable": 1}, id="not-gzip-after-all"),
        pytest.param(b"\x1f\x8b", b"", {"unpack/truncated": 1}, id="two-bytes"),
        pytest.param(
            gzip.compress(TEXT) + b"\x1f\x8b junk", TEXT, {"unpack/unreadable": 1}, id="second-member-is-damaged"
        ),
    ],
)
def test_data_before_a_fault_is_kept(body: bytes, data: bytes, problems: dict[str, int]) -> None:
    assert unpacked(body) == (data, ["gzip"], problems)


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        pytest.param(zipped({"a.xml": TEXT, "b.xml": TEXT}), {"unpack/several-files": 1}, id="zip-of-two"),
        pytest.param(
            zipped({"a.xml": TEXT})[:-50],
            {"unpack/trailing-bytes": 1, "unpack/truncated": 1},
            id="zip-without-directory",
        ),
        pytest.param(zlib.compress(TEXT) + b"junk", {"unpack/trailing-bytes": 1}, id="behind-zlib"),
        pytest.param(bz2.compress(TEXT) + b"junk", {"unpack/trailing-bytes": 1}, id="behind-bzip2"),
        pytest.param(zstd.compress(TEXT) + b"junk", {"unpack/trailing-bytes": 1}, id="behind-zstd"),
        pytest.param(zlib.compress(TEXT)[:-2], {"unpack/truncated": 1}, id="zlib-without-checksum"),
    ],
)
def test_trailing_data_is_reported(body: bytes, problems: dict[str, int]) -> None:
    data, _, found = unpacked(body)
    assert (data, found) == (TEXT, problems)


@pytest.mark.parametrize("compress", [zlib.compress, bz2.compress, zstd.compress, lambda text: zipped({"a": text})])
def test_data_before_a_truncation_is_kept(compress: Callable[[bytes], bytes]) -> None:
    whole = "".join(f"<url><loc>https://example.com/{NOISE[:number].hex()}</loc></url>" for number in range(1000))
    body = compress(whole.encode())
    for cut in (len(body) // 10 * 9, len(body) // 2):
        data, _, problems = unpacked(body[:cut])
        assert whole.encode().startswith(data)
        assert problems == {"unpack/truncated": 1}
    assert data or compress is bz2.compress  # whose blocks are larger than this


def test_brotli_is_recognized_by_name_only() -> None:
    body = brotli.compress(TEXT)
    assert locs(read(body, url=f"{HERE}.br?v=1")) == locs(read(TEXT, url=HERE))
    assert read(body, url=f"{HERE}.br").layers == ("brotli",)
    assert read(TEXT, url=f"{HERE}.br").layers == ()
    assert codes(read(body[:-5], url=f"{HERE}.br"))["unpack/truncated"] == 1
    assert not read(body, url=HERE).complete


def test_an_encrypted_zip_is_unreadable() -> None:
    body = bytearray(zipped({"a.xml": TEXT}))
    body[6] |= 1
    body[body.index(b"PK\x01\x02") + 8] |= 1
    assert unpacked(bytes(body)) == (b"", ["zip"], {"unpack/unreadable": 1})


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(gzip.compress(TEXT), id="text"),
        pytest.param(gzip.compress(NOISE), id="noise"),
        pytest.param(gzip.compress(TEXT[:99]) + gzip.compress(TEXT[99:]), id="two-members"),
        pytest.param(gzip.compress(gzip.compress(TEXT)), id="two-layers"),
    ],
)
def test_a_file_cut_at_any_byte_gives_a_prefix_and_is_reported(body: bytes) -> None:
    whole, _, _ = unpacked(body)
    border = len(gzip.compress(TEXT[:99]))
    for cut in range(2, len(body)):
        data, _, problems = unpacked(body[:cut])
        assert whole.startswith(data) or data == b"\x1f"  # the first byte of an inner layer identifies nothing
        assert problems.keys() <= {"unpack/truncated"}
        assert problems or cut == border, cut


def test_a_fault_at_any_byte_loses_nothing_silently() -> None:
    body = gzip.compress(TEXT, mtime=0)
    for at in range(10, len(body)):  # after the header, whose time and flags mean nothing
        damaged = body[:at] + bytes([body[at] ^ 0xFF]) + body[at + 1 :]
        data, _, problems = unpacked(damaged)
        assert data == TEXT or problems
        assert problems


def test_the_size_of_blocks_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    body = gzip.compress(TEXT[:99]) + gzip.compress(TEXT[99:]) + b"\0\0"
    for size in (1, 2, 3, 17, 64):
        monkeypatch.setattr(module, "BLOCK_BYTES", size)
        assert unpacked(body) == (TEXT, ["gzip"], {})


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(TEXT, id="plain"),
        pytest.param(gzip.compress(TEXT), id="gzip"),
        pytest.param(gzip.compress(TEXT[:9]) + gzip.compress(TEXT[9:]), id="two-members"),
    ],
)
@pytest.mark.parametrize("size", [512, 700, 10_000])
def test_blocks_have_the_requested_size(body: bytes, size: int) -> None:
    blocks = list(Source(body=body, url=HERE, content_type=None, limits=DEFAULT).blocks(log(), size=size))
    assert blocks == [TEXT[start : start + size] for start in range(0, len(TEXT), size)]


@pytest.mark.parametrize(
    ("body", "limits", "size", "problems"),
    [
        pytest.param(gzip.compress(TEXT), Limits(unpacked_bytes=100), 100, {"unpack/too-large": 1}, id="size"),
        pytest.param(TEXT, Limits(unpacked_bytes=100), 100, {"unpack/too-large": 1}, id="size-of-a-plain-one"),
        pytest.param(TEXT, Limits(unpacked_bytes=len(TEXT)), len(TEXT), {}, id="as-large-as-allowed"),
        pytest.param(gzip.compress(b"\0" * 20_000_000), Limits(ratio=100), 10 * 2**20, {"unpack/ratio": 1}, id="ratio"),
        pytest.param(gzip.compress(b"\0" * 2_000_000), Limits(ratio=100), 2_000_000, {}, id="ratio-of-a-small-one"),
        pytest.param(
            gzip.compress(gzip.compress(b"\0" * 20_000_000)), Limits(), 10 * 2**20, {"unpack/ratio": 1}, id="two-layers"
        ),
        pytest.param(
            gzip.compress(gzip.compress(TEXT)), Limits(layers=1), 0, {"unpack/too-deep": 1}, id="too-many-layers"
        ),
    ],
)
def test_limits(body: bytes, limits: Limits, size: int, problems: dict[str, int]) -> None:
    data, _, found = unpacked(body, limits)
    assert (len(data), found) == (size, problems)


def test_only_a_complete_decompression_has_a_digest() -> None:
    body = gzip.compress(TEXT)
    whole, cut = read(body, url=HERE), read(body[:-30], url=HERE)
    assert whole.sha256 == read(TEXT, url=HERE).sha256 is not None
    assert whole.bytes_unpacked == len(TEXT)
    assert cut.sha256 is None
    assert read(body, url=HERE, limits=Limits(unpacked_bytes=100)).sha256 is None


def test_a_damaged_member_after_a_whole_document_is_reported() -> None:
    document = read(gzip.compress(TEXT) + b"\x1f\x8b junk", url=HERE)
    assert len(locs(document)) == 20
    assert codes(document) == {"unpack/unreadable": 1}
    assert not document.complete


def test_small_members_are_joined_into_large_blocks() -> None:
    body = b"".join(gzip.compress(NOISE[at : at + 20]) for at in range(0, len(NOISE), 20))
    blocks = Source(body=body, url=HERE, content_type=None, limits=DEFAULT).blocks(log(), size=module.BLOCK_BYTES)
    assert [len(block) for block in blocks] == [len(NOISE)]


def test_thousands_of_nearly_empty_members_are_not_all_decompressed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MANY_MEMBERS", 100)
    assert unpacked(gzip.compress(b"a") * 200) == (b"a" * 101, ["gzip"], {"unpack/tiny-members": 1})
    assert unpacked(gzip.compress(b"a" * 16) * 200) == (b"a" * 3200, ["gzip"], {})


@pytest.mark.parametrize("spooled", [0, 1_000_000], ids=["on-disk", "in-memory"])
def test_a_zip_archive_is_read_at_any_offset(spooled: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_ARCHIVE_BYTES", spooled or 1)
    whole = zipped({"a.xml": TEXT})
    assert unpacked(whole) == (TEXT, ["zip"], {})
    data, layers, problems = unpacked(whole[:-150])
    assert TEXT.startswith(data)
    assert (bool(data), layers, problems) == (True, ["zip"], {"unpack/truncated": 1})


def test_a_zip_archive_with_too_many_files_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_DIRECTORY_BYTES", 100)
    body = zipped({"a.xml": TEXT, "b.xml": TEXT})
    assert unpacked(body) == (b"", ["zip"], {"unpack/unreadable": 1})
