"""How documents fail: what is served in the place of what is there, and for how many crawls."""

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
_SLOW = ("HTTP 429", "no answer in time", "an answer byte by byte, too slow", "larger than", "more URLs than")
_SOUND = ("declared as", "an empty urlset", "an index without children")
_MARKUP = ("truncated XML", "a stray <", "a comment", "a missing end", "half an end", "an entry without", "declared as")


@dataclass(frozen=True)
class Reply:
    """What is sent."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    sent: int | None = None
    """How many bytes of the body are sent before the connection ends; ``None``: all of them, and it stays."""


@dataclass(frozen=True)
class Fault:
    """One way to fail."""

    name: str
    reply: Callable[[bytes, Random], Reply]
    forms: frozenset[Form]
    is_empty: bool = False
    """Whether what is served is a sound document without entries, which has to be believed."""
    is_garbled: bool = False
    """Whether nobody can tell that it fails who has not read the document whole before."""
    versions: int = 0
    """How many crawls old what is served is, where it is a sound document of an earlier crawl."""


def _of_the_matrix(known: Known) -> Fault:
    def reply(body: bytes, random: Random) -> Reply:
        try:
            page = known.page(body)
        except (ValueError, IndexError):  # too short to be damaged so
            return Reply(503)
        sent = {Manner.CUT: len(page.body) // 2, Manner.TORN: len(page.body) // 2, Manner.LIES_LONGER: len(page.body)}
        if page.manner in {Manner.CLOSE, Manner.RESET, Manner.GARBAGE}:
            return Reply(sent=0)
        if page.manner is Manner.LIES_SHORTER:
            return Reply(body=page.body[: len(page.body) // 2])
        return Reply(page.status, tuple(page.headers.items()), page.body, sent.get(page.manner))

    forms = {form for form, place in _PLACES.items() if place in known.places}
    if known.name.startswith(_MARKUP):
        forms -= {Form.TEXT}
    emptied = {form for form in forms if known.believed(_PLACES[form]) is Belief.EMPTIED}
    return Fault(known.name, reply, frozenset(forms - emptied), is_garbled=known.name.startswith(_SOUND))


def _cut_anywhere(body: bytes, random: Random) -> Reply:
    return Reply(body=body, sent=random.randrange(len(body)))


def _cut_and_closed(body: bytes, random: Random) -> Reply:
    """Return a body that ends anywhere, under its own length."""
    return Reply(body=body[: random.randrange(len(body))])


def _unwritten(body: bytes, random: Random) -> Reply:
    """Return a file that was not written to its end: zeros stand there."""
    packed = body.startswith(b"\x1f\x8b")
    text = gzip.decompress(body) if packed else body
    start = random.randrange(len(text))
    text = text[:start] + bytes(len(text) - start)
    return Reply(body=gzip.compress(text, mtime=0) if packed else text)


def _holed(body: bytes, random: Random) -> Reply:
    """Return a file in the middle of which zeros stand."""
    packed = body.startswith(b"\x1f\x8b")
    text = gzip.decompress(body) if packed else body
    start = random.randrange(len(text))
    count = min(random.choice((1, 3, 40)), len(text) - start)
    text = text[:start] + bytes(count) + text[start + count :]
    return Reply(body=gzip.compress(text, mtime=0) if packed else text)


def _emptied(body: bytes, random: Random) -> Reply:
    if body.startswith(b"\x1f\x8b"):
        return Reply(body=gzip.compress(EMPTY_URLSET, mtime=0))
    return Reply(body=EMPTY_URLSET)


_ALL = frozenset(Form)
_LISTED = _ALL - {Form.ROBOTS, Form.INDEX}
_TEXT_HAS_NO_END = {Form.ROBOTS, Form.TEXT}
_STATUSES = tuple(
    Fault(f"HTTP {code}", lambda _, __, code=code: Reply(code, body=b"an error"), _ALL) for code in (403, 404, 410, 503)
)
UNAVAILABLE = _STATUSES[-1]
FAULTS = (
    *_STATUSES,
    *_STATUSES,
    *(
        _of_the_matrix(known)
        for known in ALL_FAULTS
        if not known.hosts and not known.name.startswith(_SLOW) and known.name != "a redirect to another sitemap"
    ),
    *(3 * (Fault("cut anywhere", _cut_anywhere, _ALL),)),
    *(3 * (Fault("cut and closed", _cut_and_closed, _ALL - _TEXT_HAS_NO_END),)),
    *(2 * (Fault("unwritten", _unwritten, _ALL),)),
    *(2 * (Fault("holed", _holed, _ALL),)),
    Fault("emptied", _emptied, frozenset({Form.XML, Form.GZIP}), is_empty=True),
    *(Fault(f"of {count} crawls ago", lambda *_: Reply(), _ALL, versions=count) for count in (1, 2, 4)),
)


@dataclass(frozen=True)
class Failing:
    """A document that fails."""

    fault: Fault
    last: int
    """The last crawl in which it does."""
    seed: float

    def reply(self, body: bytes) -> Reply:
        """Return what is served instead of *body*."""
        return self.fault.reply(body, Random(self.seed)) if body else Reply(503)
