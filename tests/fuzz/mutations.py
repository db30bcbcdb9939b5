"""Sample documents with random damage: ``python -m tests.fuzz.mutations SEED COUNT``.

Ten times as many documents a second as the coverage-guided fuzzer, and closer to the errors of the web: parts that are
missing, duplicated or from another document. A find is written to ``mutation-SEED-NUMBER``.
"""

from __future__ import annotations

import bz2
import gzip
import os
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz.reading import check

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FIXTURES = Path(__file__).parents[2] / "fixtures"
WORDS = (
    *(b"<urlset", b"</urlset>", b"<url>", b"</url>", b"<loc>", b"</loc>", b"<lastmod>", b"<sitemapindex>"),
    *(b"<sitemap>", b"<![CDATA[", b"]]>", b"<!--", b"-->", b"<?xml version='1.0' encoding='", b"?>", b"<!DOCTYPE"),
    *(b"<!ENTITY", b"&amp;", b"&amp", b"&", b"&#x0;", b"&lt;", b"<image:image>", b"<image:loc>", b"<?php", b"<"),
    *(b"<xhtml:link href='", b"<video:video>", b"<news:news>", b"xmlns:", b"xmlns='", b"<rss><channel>", b"<item>"),
    *(b"<link>", b"<guid", b"<feed", b"<entry>", b"<rdf:RDF", b'href="', b"xml:base='", b"https://", b"http://"),
    *(b"://", b"Sitemap:", b"User-agent:", b"2025-03-09T10:00:00Z", b"\x1f\x8b\x08", b"BZh9", b"PK\3\4", b"<html>"),
    *(b"<a href='", b"<title>Sitemap</title>", b"jsonfeed.org/version/1", b'"items":', b'"url":', b"\\u0000", b"{{"),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\x28\xb5\x2f\xfd", b"\0", b"\r", b"\r\n", b"\x1b$B", b"\xa0", b">", b"'", b'"'),
)
"""Text with a meaning somewhere in a document."""

_ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "iso2022_jp", "gb18030", "shift_jis")
_MEMBER_BYTES = 37


def samples(folder: Path) -> list[bytes]:
    """Return the documents below *folder* of up to 200 KB each."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".jsonl")
    return [path.read_bytes() for path in paths if path.stat().st_size < 200_000]


def mutations(documents: Sequence[bytes], *, seed: int) -> Iterator[bytes]:
    """Yield damaged parts of *documents* without end; the same *seed* yields the same parts."""
    chance = random.Random(seed)
    while True:
        yield _packed(_damaged(documents, chance), chance)


def _part(document: bytes, chance: random.Random) -> bytes:
    """Return a part of *document*; mostly its beginning and a part from elsewhere, as if the middle was missing."""
    size = chance.choice((200, 600, 1500, 4000))
    if len(document) <= size:
        return document
    if chance.random() < 0.3:
        at = chance.randrange(len(document) - size)
        return document[at : at + size]
    at = chance.randrange(len(document) - size // 2)
    return document[: size // 2] + document[at : at + size // 2]


def _damaged(documents: Sequence[bytes], chance: random.Random) -> bytes:
    body = bytearray(_part(chance.choice(documents), chance))
    for _ in range(chance.choice((0, 1, 1, 2, 3, 5, 8))):
        at = chance.randrange(len(body) + 1)
        source = chance.choice((body, _part(chance.choice(documents), chance)))
        start = chance.randrange(len(source) + 1)
        removed = chance.choice((0, 0, 0, 1, 2, 5, 20, 100))
        put = chance.choice(
            (
                b"",
                chance.choice(WORDS) * chance.choice((1, 1, 1, 2, 9)),
                bytes([chance.randrange(256)]),
                bytes(source[start : start + chance.choice((5, 30, 200))]),
            )
        )
        body[at : at + removed] = put
    return bytes(body)


def _packed(body: bytes, chance: random.Random) -> bytes:
    """Return *body*; in one of ten cases compressed or in another encoding."""
    kind = chance.randrange(50)
    if kind == 0:
        return b"".join(gzip.compress(body[at : at + _MEMBER_BYTES]) for at in range(0, len(body), _MEMBER_BYTES))
    if kind == 1:
        return bz2.compress(body)
    if kind == 2:
        packed = gzip.compress(body)
        return packed[: chance.randrange(len(packed))]
    if kind < 5:
        return body.decode(errors="replace").encode(chance.choice(_ENCODINGS), errors="ignore")
    return body


def main() -> None:
    """Check as many documents as the command line requests, each separately; exit with 1 after a find."""
    seed, count = map(int, sys.argv[1:])
    finds = 0
    folder = Path(os.environ.get("HARVEST_CORPUS", FIXTURES))
    for number, body in zip(range(count), mutations(samples(folder), seed=seed), strict=False):
        try:
            check(body)
        except AssertionError as error:
            finds += 1
            Path(f"mutation-{seed}-{number}").write_bytes(body)
            print(f"{number}: {str(error)[:200]}", flush=True)
    print(f"{count} documents, {finds} finds")
    sys.exit(finds > 0)


if __name__ == "__main__":
    main()
