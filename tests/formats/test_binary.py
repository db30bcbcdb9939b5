from __future__ import annotations

import gzip
import io
import tarfile
import zipfile

import pytest

from sitemap_harvest import Kind, read
from tests.documents import HERE, codes, fixture_bytes, locs

RDF = b"<x:xmpmeta><rdf:RDF></rdf:RDF></x:xmpmeta>"


def archive_of(*names: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in names:
            archive.writestr(name, "<urlset><url><loc>https://example.com/a</loc></url></urlset>")
    return made.getvalue()


def tar(name: str, body: bytes) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(body)
        archive.addfile(member, io.BytesIO(body))
    return made.getvalue()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param(b"%PDF-1.7\n" + RDF, "the document is a PDF file", id="pdf"),
        pytest.param(b"\x89PNG\r\n\x1a\n" + RDF, "the document is a PNG image", id="png"),
        pytest.param(b"\xff\xd8\xff\xe1" + RDF, "the document is a JPEG image", id="jpeg"),
        pytest.param(b"GIF89a" + RDF, "the document is a GIF image", id="gif"),
        pytest.param(b"\0\0\1\0\3\0\x30\x30", "the document is an icon", id="icon"),
        pytest.param(b"\0\0\0\x18ftypmp42" + RDF, "the document is an image or a video", id="video"),
        pytest.param(b"{\\rtf1 https://example.com/}", "the document is an RTF document", id="rtf"),
        pytest.param(b"\x7fELF\2\1\1\0", "the document is a program", id="program"),
        pytest.param(tar("a.bin", b"\1\2\3"), "the document is not text", id="tar"),
        pytest.param(
            archive_of("[Content_Types].xml", "word/document.xml"), "the document is an office document", id="office"
        ),
        pytest.param(b"\1\2\3 https://example.com/", "the document is not text", id="control-characters"),
    ],
)
def test_binary_files_are_classified_and_never_read(body: bytes, words: str) -> None:
    document = read(body, url=HERE)
    assert (document.kind, list(document.rows()), document.complete) == (Kind.BINARY, [], False)
    assert [(problem.code, problem.detail) for problem in document.problems] == [("document/binary", words)]


def test_an_archive_of_one_sitemap_is_no_office_document() -> None:
    document = read(archive_of("sitemap.xml"), url=HERE)
    assert (locs(document), codes(document)) == (["https://example.com/a"], {})


def test_a_sitemap_in_a_tar_archive_is_read() -> None:
    body = fixture_bytes("xml/plain.xml")
    document = read(gzip.compress(tar("sitemap.xml", body)), url=HERE)
    assert locs(document) == locs(read(body, url=HERE))
    assert document.problems
