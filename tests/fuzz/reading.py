"""What must hold of reading, whatever the bytes are."""

from __future__ import annotations

import gzip

from sitemap_harvest import Document, Limits, read
from sitemap_harvest.formats import unpack

URLS = (
    "https://example.com/sitemap.xml",
    "https://example.com/robots.txt",
    "https://example.com/urls.txt",
    "https://example.com/",
)
LIMITS = Limits(unpacked_bytes=1024 * 1024)


def check(body: bytes) -> None:
    """Read *body* in several ways. Raises :exc:`AssertionError` if what was found differs."""
    url = URLS[len(body) % len(URLS)]
    whole = found(body, url)
    assert found(body, url, block=61)[:-1] == whole[:-1], "how the bytes are cut matters"
    packed = found(gzip.compress(body, 1), url)
    assert packed == whole or read(body, url=url).layers, "whether the document is packed matters"


def found(body: bytes, url: str, *, block: int | None = None) -> tuple[object, ...]:
    """Return what is found in *body*, read in blocks of so many bytes (``None``: as usual)."""
    usual = unpack.BLOCK_BYTES
    unpack.BLOCK_BYTES = block or usual
    try:
        return _found(read(body, url=url, limits=LIMITS))
    finally:
        unpack.BLOCK_BYTES = usual


def _found(document: Document) -> tuple[object, ...]:
    rows, refs = list(document.rows()), list(document.sitemaps())
    problems = {problem.code: problem.count for problem in document.problems}
    assert [row.position for row in rows] == sorted(row.position for row in rows)
    assert all(row.loc for row in rows)
    assert document.kind.is_readable or not (rows or document.complete)
    return document.kind, rows, refs, document.complete, problems
