"""Documents designed to grow: each is limited, reported, and yields the URLs before the limit."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zlib
from typing import TYPE_CHECKING

import pytest

from tests.documents import HERE, SITEMAPS
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

MIB = 1024 * 1024
ROOT = f'<urlset xmlns="{SITEMAPS}">'.encode()
A = "https://example.com/a"
START = ROOT + f"<url><loc>{A}</loc></url>".encode()
MOST_MIB = 200


def growing(start: bytes, piece: bytes, times: int) -> bytes:
    """Return *start* and *times* the *piece*, as gzip, without holding it in memory."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([packer.compress(start), *(packer.compress(piece) for _ in range(times)), packer.flush()])


def laughs(levels: int) -> bytes:
    """Return the entities of a billion laughs, and an entry that uses the last."""
    names = "".join(f"<!ENTITY l{n} '{f'&l{n - 1};' * 10}'>" for n in range(1, levels))
    return (
        f"<!DOCTYPE l [<!ENTITY l0 'ha'>{names}]>".encode()
        + START
        + f"<url><loc>{A}&l{levels - 1};</loc></url>".encode()
    )


BOMBS = {
    "gzip-of-whitespace": (lambda: growing(START, b" " * MIB, 256), "unpack/ratio"),
    "gzip-of-a-comment": (lambda: growing(START + b"<!--", b"x" * MIB, 256), "unpack/ratio"),
    "gzip-of-tags": (lambda: growing(START, b"<a>" * 350_000, 200), "document/bloated"),
    "gzip-in-gzip": (lambda: gzip.compress(gzip.compress(growing(START, b"\0" * MIB, 256))), "unpack/ratio"),
    "gzip-in-gzip-in-gzip-and-so-on": (lambda: layers(START, 12), "unpack/too-deep"),
    "billion-laughs": (lambda: laughs(12), "xml/entity-not-expanded"),
    "quadratic-blow-up": (
        lambda: b"<!DOCTYPE l [<!ENTITY a '" + b"x" * 100_000 + b"'>]>" + START + b"<url><loc>" + b"&a;" * 100_000,
        "xml/entity-not-expanded",
    ),
    "nested-tags": (lambda: START + b"<a>" * 1_000_000, "document/bloated"),
    "nested-tags-in-an-entry": (lambda: START + b"<url>" + b"<a>" * 1_000_000, "document/bloated"),
    "nested-entries": (lambda: START + b"<url>" * 1_000_000, "document/bloated"),
    "text-of-a-url": (
        lambda: START + f"<url><loc>{A}".encode() + b"x" * 50 * MIB + b"</loc></url></urlset>",
        "xml/malformed",
    ),
    "text-between-entries": (lambda: START + b"x" * 50 * MIB + b"</urlset>", "xml/stray-text"),
    "attribute": (lambda: START + b"<url><a b='" + b"x" * 50 * MIB + b"'/></url></urlset>", "xml/malformed"),
}


def layers(body: bytes, count: int) -> bytes:
    for _ in range(count):
        body = gzip.compress(body)
    return body


READ = f"""
import json, re, sys
from sitemap_harvest import read
document = read(sys.stdin.buffer.read(), url={HERE!r})
found = [row.loc for row in document.rows()], [problem.code for problem in document.problems], document.complete
with open("/proc/self/status") as status:
    peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read())[1]) // 1024
print(json.dumps([*found, peak]))
"""


@pytest.mark.thorough
@pytest.mark.parametrize(("body", "code"), [pytest.param(*bomb, id=name) for name, bomb in BOMBS.items()])
def test_bombs_are_reported_with_bounded_memory_and_earlier_entries_are_read(
    body: Callable[[], bytes], code: str
) -> None:
    # In a separate process whose peak is that of this one reading, including the body and all imports.
    run = subprocess.run(
        [sys.executable, "-c", READ], input=body(), capture_output=True, check=True, timeout=PATIENCE_SECONDS
    )
    locs, codes, complete, peak = json.loads(run.stdout)
    assert locs == ([] if code == "unpack/too-deep" else [A])
    assert code in codes
    assert complete == (code == "xml/stray-text")
    assert peak < MOST_MIB
