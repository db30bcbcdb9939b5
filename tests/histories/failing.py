"""How documents fail: what is served in their place, and for how many crawls."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from tests.crawl.matrix.bodies import EMPTY_URLSET
from tests.crawl.matrix.faults import ALL_FAULTS, Belief
from tests.crawl.matrix.faults import Fault as Known
from tests.crawl.matrix.listed import INDEX, ROBOTS
from tests.histories.documents import Form
from tests.histories.outages import DNS, REFUSED
from tests.server import Manner

if TYPE_CHECKING:
    from collections.abc import Callable

_PLACES = {
    Form.ROBOTS: ROBOTS,
    Form.INDEX: INDEX,
    Form.XML: "/pages.xml",
    Form.GZIP: "/packed.xml.gz",
    Form.TEXT: "/pages.xml",
    Form.NEWS: "/news.xml",
    Form.RSS: "/feed.xml",
    Form.ATOM: "/feed.xml",
}
MOST_URLS = 1000
"""The limits of the crawls, far above healthy documents."""
_OTHERWISE = {"HTTP 429", "over the URL limit", "a redirect to another sitemap", "connection refused", "no DNS entry"}
_SLOW = {"a timeout", "a response byte by byte, too slow"}
_OF_HOSTS = {*_SLOW, "HTTP 503", "connection reset", "a challenge page", "a web page", "an empty body"}
_ENDINGS = {Manner.RESET: "reset", Manner.TORN: "reset", Manner.HANG: "hang", Manner.DRIP: "hang"}
_SOUND = ("declared as", "an empty urlset", "an index without children", "a robots.txt without sitemaps")
_MARKUP = (
    *("truncated XML", "over the decompression limit", "a stray <", "an unterminated comment"),
    *("a missing </", "a damaged </", "declared as"),
)


@dataclass(frozen=True)
class Reply:
    """The response that is sent."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    sent: int | None = None
    """The number of bytes of the body before the connection ends; ``None``: all of them, and it stays open."""
    framing: str = "length"
    """How the length of the body is given:

    ``length`` (a header), ``chunks``, or ``close`` (the end of the connection).
    """
    ending: str = "close"
    """The end of a partial body: ``close``, ``reset``, or ``hang``, which sends nothing."""


@dataclass(frozen=True)
class Fault:
    """One way to fail."""

    name: str
    reply: Callable[[bytes, Random], Reply]
    forms: frozenset[Form]
    is_empty: bool = False
    """Whether the response is a sound document without entries, which has to be accepted."""
    is_garbled: bool = False
    """Whether only a reader of an earlier version can detect the failure."""
    is_slow: bool = False
    """Whether the crawler times out on it."""
    is_of_host: bool = False
    """Whether it can affect all documents of a site at once; without forms, always all of them."""
    outage: str | None = None
    """Why the host cannot be reached, if it cannot."""
    versions: int = 0
    """The age in crawls of the response, if it is a sound document of an earlier crawl."""


def _of_the_matrix(known: Known) -> Fault:
    def reply(body: bytes, random: Random) -> Reply:
        try:
            page = known.page(body)
        except (ValueError, IndexError):  # too short for such damage
            return Reply(503)
        half = len(page.body) // 2
        sent = {Manner.CUT: half, Manner.TORN: half, Manner.DRIP: half, Manner.LIES_LONGER: len(page.body)}
        ending = _ENDINGS.get(page.manner, "close")
        if page.manner in {Manner.CLOSE, Manner.RESET, Manner.GARBAGE, Manner.HANG}:
            return Reply(sent=0, ending=ending)
        if page.manner is Manner.LIES_SHORTER:
            return Reply(body=page.body[:half])
        return Reply(page.status, tuple(page.headers.items()), page.body, sent.get(page.manner), ending=ending)

    forms = {form for form, place in _PLACES.items() if place in known.places}
    if known.name.startswith(_MARKUP):
        forms -= {Form.TEXT}
    emptied = {form for form in forms if known.believed(_PLACES[form]) is Belief.EMPTIED}
    return Fault(
        known.name,
        reply,
        frozenset(forms - emptied),
        is_garbled=known.name.startswith(_SOUND),
        is_slow=known.name in _SLOW,
        is_of_host=known.name in _OF_HOSTS,
    )


def _cut_anywhere(body: bytes, random: Random) -> Reply:
    return Reply(body=body, sent=random.randrange(len(body)), ending=random.choice(("close", "reset")))


def _cut_within_chunks(body: bytes, random: Random) -> Reply:
    return Reply(body=body, sent=random.randrange(1, len(body)), framing="chunks")


def _cut_and_closed(body: bytes, random: Random) -> Reply:
    """Return a body that ends anywhere, with its actual length or without one."""
    return Reply(body=body[: random.randrange(len(body))], framing=random.choice(("length", "close")))


def _altered(alter: Callable[[bytes, Random], bytes]) -> Callable[[bytes, Random], Reply]:
    """Return a function that serves a document with *alter* applied to its text; compressed bodies stay compressed."""

    def reply(body: bytes, random: Random) -> Reply:
        if body.startswith(b"\x1f\x8b"):
            return Reply(body=gzip.compress(alter(gzip.decompress(body), random), mtime=0))
        return Reply(body=alter(body, random))

    return reply


def _unwritten(text: bytes, random: Random) -> bytes:
    """Return a file that was not written to its end: zeros fill the rest."""
    start = random.randrange(len(text))
    return text[:start] + bytes(len(text) - start)


def _holed(text: bytes, random: Random) -> bytes:
    """Return a file with zeros in the middle."""
    start = random.randrange(len(text))
    count = min(random.choice((1, 3, 40)), len(text) - start)
    return text[:start] + bytes(count) + text[start + count :]


def _repeated(text: bytes, random: Random) -> bytes:
    """Return a document that repeats one of its lines too often."""
    lines = text.splitlines(keepends=True)
    at = random.randrange(len(lines))
    return b"".join([*lines[:at], *lines[at : at + 1] * MOST_URLS, *lines[at:]])


def _emptied(body: bytes, random: Random) -> Reply:
    if body.startswith(b"\x1f\x8b"):
        return Reply(body=gzip.compress(EMPTY_URLSET, mtime=0))
    return Reply(body=EMPTY_URLSET)


def _refused(status: int, **headers: str) -> Callable[[bytes, Random], Reply]:
    """Return a function that answers with *status* and *headers*, whose names are written with underscores."""
    sent = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return lambda _, __: Reply(status, sent, b"an error")


_ALL = frozenset(Form)
_LISTED = _ALL - {Form.ROBOTS, Form.INDEX}
_TEXT_HAS_NO_END = {Form.ROBOTS, Form.TEXT}
_NOTHING_LESS: frozenset[Form] = frozenset()
_STATUSES = tuple(Fault(f"HTTP {code}", _refused(code), _ALL) for code in (403, 404, 410, 503))
_OF_WHOLE_HOSTS = (
    Fault("no DNS entry", _refused(502), _NOTHING_LESS, is_of_host=True, outage=DNS),
    Fault("connection refused", _refused(502), _NOTHING_LESS, is_of_host=True, outage=REFUSED),
    Fault("HTTP 429", _refused(429), _NOTHING_LESS, is_of_host=True),
    Fault("HTTP 503 for an hour", _refused(503, Retry_After="3600"), _NOTHING_LESS, is_of_host=True),
)
UNAVAILABLE = _STATUSES[-1]
FAULTS = (
    *_STATUSES,
    *_STATUSES,
    *(_of_the_matrix(known) for known in ALL_FAULTS if known.name not in _OTHERWISE),
    *(3 * (Fault("cut anywhere", _cut_anywhere, _ALL),)),
    *(3 * (Fault("cut and closed", _cut_and_closed, _ALL - _TEXT_HAS_NO_END),)),
    *_OF_WHOLE_HOSTS,
    Fault("HTTP 429 for a second", _refused(429, Retry_After="1"), _ALL),
    Fault("cut within chunks", _cut_within_chunks, _ALL),
    *(2 * (Fault("unwritten", _altered(_unwritten), _ALL),)),
    *(2 * (Fault("holed", _altered(_holed), _ALL),)),
    Fault("over the URL limit", _altered(_repeated), frozenset({Form.XML, Form.GZIP})),
    Fault("emptied", _emptied, frozenset({Form.XML, Form.GZIP}), is_empty=True),
    *(Fault(f"of {count} crawls ago", lambda *_: Reply(), _ALL, versions=count) for count in (1, 2, 4)),
)


@dataclass(frozen=True)
class Failing:
    """A document that fails."""

    fault: Fault
    last: int
    """The last crawl in which it fails."""
    seed: float

    def reply(self, body: bytes) -> Reply:
        """Return the response that is served instead of *body*."""
        return self.fault.reply(body, Random(self.seed)) if body else Reply(503)
