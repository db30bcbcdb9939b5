from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest import read
from sitemap_harvest.formats.decode import Encoding, decode, detect
from tests.documents import HERE, codes, locs, log, noted

LIES = {"encoding/lies": 1}
LATIN = "<?xml encoding='iso-8859-1'?>ééé"
XML = '<?xml version="1.0" encoding="{}"?><urlset><url><loc>https://example.com/é</loc></url></urlset>'


@pytest.mark.parametrize(
    ("head", "content_type", "encoding", "problems"),
    [
        pytest.param(b"<urlset>", None, Encoding("utf-8", 0), {}, id="nothing-said"),
        pytest.param(codecs.BOM_UTF8 + b"<u", None, Encoding("utf-8", 3), {}, id="mark"),
        pytest.param(codecs.BOM_UTF16_LE + b"<\0", None, Encoding("utf-16-le", 2), {}, id="mark-16-le"),
        pytest.param(codecs.BOM_UTF16_BE + b"\0<", None, Encoding("utf-16-be", 2), {}, id="mark-16-be"),
        pytest.param(codecs.BOM_UTF32_LE + b"<\0\0\0", None, Encoding("utf-32-le", 4), {}, id="mark-32-le"),
        pytest.param(codecs.BOM_UTF32_BE + b"\0\0\0<", None, Encoding("utf-32-be", 4), {}, id="mark-32-be"),
        pytest.param("<ur".encode("utf-16-le"), None, Encoding("utf-16-le", 0), {}, id="16-le-without-mark"),
        pytest.param("http".encode("utf-16-be"), None, Encoding("utf-16-be", 0), {}, id="16-be-without-mark"),
        pytest.param("<ur".encode("utf-32-le"), None, Encoding("utf-32-le", 0), {}, id="32-le-without-mark"),
        pytest.param("<ur".encode("utf-32-be"), None, Encoding("utf-32-be", 0), {}, id="32-be-without-mark"),
        pytest.param(b"<?xml encoding='ISO-8859-1'?>", None, Encoding("cp1252", 0), {}, id="latin-1-as-on-the-web"),
        pytest.param(b'\n<?xml version="1.0" encoding = "gb2312"?>', None, Encoding("gb18030", 0), {}, id="chinese"),
        pytest.param(b"<?xml encoding='us-ascii'?>", None, Encoding("utf-8", 0), {}, id="ascii"),
        pytest.param(b"http://e.x/", "text/plain; charset=Shift_JIS", Encoding("cp932", 0), {}, id="header"),
        pytest.param(
            b"<?xml encoding='utf-8'?>", "text/xml; charset=latin-1", Encoding("utf-8", 0), {}, id="document-wins"
        ),
        pytest.param(
            codecs.BOM_UTF8 + b"<?xml encoding='utf-16'?>",
            None,
            Encoding("utf-8", 3),
            {"encoding/lies": 1},
            id="mark-wins",
        ),
        pytest.param(
            b"<?xml encoding='utf-16'?>", None, Encoding("utf-8", 0), {"encoding/lies": 1}, id="lies-about-utf-16"
        ),
        pytest.param(
            b"<?xml encoding='cp500'?>", None, Encoding("utf-8", 0), {"encoding/lies": 1}, id="lies-about-ebcdic"
        ),
        pytest.param(
            b"<?xml encoding='x-none'?>", None, Encoding("utf-8", 0), {"encoding/unknown": 1}, id="unknown-name"
        ),
        pytest.param(
            b"<?xml encoding='x-none'?>",
            "text/xml; charset=latin-1",
            Encoding("cp1252", 0),
            {"encoding/unknown": 1},
            id="unknown-name-and-header",
        ),
        pytest.param(
            b"<?xml encoding='base64'?>", None, Encoding("utf-8", 0), {"encoding/unknown": 1}, id="no-text-encoding"
        ),
        pytest.param(
            b"<?xml encoding='utf-7'?>", None, Encoding("utf-8", 0), {"encoding/unknown": 1}, id="utf-7-is-refused"
        ),
        pytest.param(b"<?xml encoding='windows-31j'?>", None, Encoding("cp932", 0), {}, id="unknown-to-python"),
        pytest.param(b"<?xml encoding='x-sjis'?>", None, Encoding("cp932", 0), {}, id="with-an-x"),
        pytest.param("é".encode(), "text/plain; charset=ISO-8859-1", Encoding("utf-8", 0), LIES, id="header-lies"),
        pytest.param(LATIN.encode(), None, Encoding("utf-8", 0), LIES, id="lies-about-latin-1"),
        pytest.param(LATIN.encode()[:-1], None, Encoding("utf-8", 0), LIES, id="lies-and-is-cut-within-a-character"),
        pytest.param(LATIN.encode("latin-1"), None, Encoding("cp1252", 0), {}, id="latin-1"),
        pytest.param(
            "<?xml encoding='iso-2022-jp'?>é".encode(), None, Encoding("utf-8", 0), LIES, id="lies-about-iso-2022"
        ),
        pytest.param("<?xml encoding='gb2312'?>汉字".encode("gb2312"), None, Encoding("gb18030", 0), {}, id="gb2312"),
        pytest.param(
            "<?xml encoding='gb2312'?>é".encode() + b"\n", None, Encoding("gb18030", 0), {}, id="could-be-both"
        ),
        pytest.param(b"<?xml encoding='UTF'?>", None, Encoding("utf-8", 0), {"encoding/unknown": 1}, id="nickname"),
        pytest.param(b"x", "text/xml; charset=idna", Encoding("utf-8", 0), {"encoding/unknown": 1}, id="idna"),
    ],
)
def test_encoding(head: bytes, content_type: str | None, encoding: Encoding, problems: dict[str, int]) -> None:
    found = log()
    assert detect(head, content_type, found) == encoding
    assert noted(found) == problems


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        pytest.param(XML.format("utf-8").encode(), {}, id="utf-8"),
        pytest.param(codecs.BOM_UTF8 + XML.format("utf-8").encode(), {}, id="utf-8-with-mark"),
        pytest.param(XML.format("utf-16").encode("utf-16"), {}, id="utf-16"),
        pytest.param(XML.format("utf-16").encode("utf-16-be"), {}, id="utf-16-without-mark"),
        pytest.param(XML.format("utf-32").encode("utf-32"), {}, id="utf-32"),
        pytest.param(XML.format("iso-8859-1").encode("latin-1"), {}, id="latin-1"),
        pytest.param(XML.format("UTF-16").encode(), {"encoding/lies": 1}, id="lies"),
        pytest.param(XML.format("none").encode(), {"encoding/unknown": 1}, id="unknown"),
        pytest.param(
            XML.format("utf-8").encode("latin-1"), {"xml/not-well-formed": 1, "encoding/bad-bytes": 1}, id="bad-bytes"
        ),
    ],
)
def test_a_sitemap_is_read_in_its_encoding(body: bytes, problems: dict[str, int]) -> None:
    document = read(body, url=HERE)
    assert locs(document) == ["https://example.com/é"]
    assert codes(document) == problems
    assert document.complete


@pytest.mark.parametrize("name", ["iso-8859-1", "windows-1251", "us-ascii", "utf-8"])
def test_utf_8_is_detected_wherever_its_first_character_is(name: str) -> None:
    entries = "".join(f"<url><loc>https://example.com/{number}</loc></url>" for number in range(3_000))
    body = (
        f'<?xml version="1.0" encoding="{name}"?><urlset>{entries}<url><loc>https://example.com/é</loc></url></urlset>'
    )
    document = read(body.encode(), url=HERE)
    assert locs(document)[-1] == "https://example.com/é"
    assert codes(document) == (LIES if name in {"iso-8859-1", "windows-1251"} else {})


def test_invalid_bytes_are_read_as_windows_1252_and_counted() -> None:
    found = log()
    assert "".join(decode([b"a\x80b\xe9", b"\x81"], Encoding("utf-8", 0), found)) == "a€bé\x81"
    assert noted(found) == {"encoding/bad-bytes": 3, "encoding/cut-character": 1}


def test_published_replacement_characters_are_no_flaw() -> None:
    found = log()
    assert "".join(decode(["a\ufffd".encode()], Encoding("utf-8", 0), found)) == "a\ufffd"
    assert noted(found) == {}


def test_half_a_character_of_utf_16_is_replaced() -> None:
    found = log()
    assert "".join(decode([b"a\0\x3d\xd8", b"b\0c"], Encoding("utf-16-le", 0), found)).startswith("a\ufffd")
    assert "encoding/bad-bytes" in found


@pytest.mark.parametrize(
    ("name", "body"),
    [("iso2022_jp", b"\x1b$\0\0\0\0\0\0\0"), ("iso2022_jp", b"a\x1b$\0\0"), ("gb18030", b"a\x810\x81")],
    ids=["escape-sequence-without-end", "cut-escape-sequence", "cut-character"],
)
def test_no_byte_at_the_end_is_lost(name: str, body: bytes) -> None:
    found = log()
    assert "".join(decode([body], Encoding(name, 0), found)).encode("cp1252", "replace") == body.replace(b"\x81", b"?")
    assert "encoding/bad-bytes" in found


@given(
    st.binary(max_size=60) | st.text("\x1b$B~{}!(aé", max_size=20).map(str.encode),
    st.sampled_from(["utf-8", "utf-16-le", "utf-32-be", "cp1252", "cp932", "gb18030", "iso2022_jp", "hz"]),
)
def test_the_size_of_blocks_does_not_matter(body: bytes, name: str) -> None:
    whole = "".join(decode([body], Encoding(name, 0), log()))
    assert not any(0xD800 <= ord(character) < 0xE000 for character in whole)
    assert whole == "".join(decode([bytes([byte]) for byte in body], Encoding(name, 0), log()))


@given(
    st.sampled_from(["", "text/plain; charset="]),
    st.text(st.characters(codec="ascii"), max_size=12),
    st.binary(max_size=40),
)
def test_no_name_of_an_encoding_raises(prefix: str, label: str, rest: bytes) -> None:
    for name in (label, *_ODD_CODECS):
        body = b'<?xml version="1.0" encoding="%b"?>' % name.encode() if not prefix else b""
        document = read(body + rest, url=HERE, content_type=prefix + name)
        assert isinstance(document.problems, tuple)


_ODD_CODECS = ("idna", "punycode", "utf-7", "unicode_escape", "raw_unicode_escape", "undefined", "rot13", "hz", "mbcs")


ESCAPES = [b"\x1b$B", b"\x1b(B", b"\x1b$(D", b"\x1b&@", b"\x1b", b"\x1b$", b"\x0e", b'$"', b"&@", b"a", b"\n"]


@given(st.lists(st.sampled_from(ESCAPES), max_size=16).map(b"".join), st.sampled_from(["iso2022_jp_3", "iso2022_kr"]))
def test_escape_sequences_may_be_cut_anywhere_or_unfinished(body: bytes, name: str) -> None:
    whole = "".join(decode([body], Encoding(name, 0), log()))
    for cut in range(len(body)):
        assert "".join(decode([body[:cut], body[cut:]], Encoding(name, 0), log())) == whole
