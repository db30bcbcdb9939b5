"""The faults: the response in place of a document, and how a run may treat it."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import TYPE_CHECKING
from urllib.parse import quote

from tests.crawl.matrix.bodies import EMPTY_INDEX, EMPTY_URLSET
from tests.crawl.matrix.listed import CYRILLIC, INDEX, LATIN, LISTS, NESTED, ROBOTS
from tests.site import Manner, Page, moved

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MOST_BYTES, MOST_UNPACKED, MOST_URLS = 256 * 1024, 1024 * 1024, 60
"""The limits of the crawls, far above healthy documents."""


class Belief(StrEnum):
    """How a run treats a failing document. Each but the first reports a part of its changes at once."""

    KEPT = "kept"
    """Not read: it is unchanged."""
    BEGUN = "what is new before the damage"
    """Its old entries, and the new ones in its first half."""
    ADDED = "what is new"
    """Its old entries and all new ones."""
    TRUE = "all"
    """Its entries: none were lost."""
    EMPTIED = "that it was emptied"
    """No entries, which is true while the fault lasts."""


_TRIED_ALL_OVER = frozenset({"HTTP 404", "HTTP 503", "an HTML sitemap", "an index without children"})
XML = frozenset({INDEX, NESTED, *LISTS})
INDEXES = frozenset({INDEX, NESTED})
ANYWHERE = frozenset({ROBOTS, *XML})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fault:
    """One way to fail."""

    name: str
    """A description for the documentation."""
    page: Callable[[bytes], Page]
    """The response in place of a document."""
    belief: Belief = Belief.KEPT
    beliefs: Mapping[str, Belief] = field(default_factory=dict)
    """Exceptions, by place."""
    places: frozenset[str] = ANYWHERE
    """The documents that can fail this way."""
    hosts: Mapping[str, str | None] = field(default_factory=dict)
    """The address of its host during the fault if that is the fault: an address, or ``None``."""

    @property
    def is_particular(self) -> bool:
        """Whether its effect may depend on the kind of document."""
        return self.belief is not Belief.KEPT or bool(self.beliefs) or self.name in _TRIED_ALL_OVER

    def believed(self, path: str) -> Belief:
        """Return the treatment of the document at *path* when it fails."""
        return self.beliefs.get(path, self.belief)

    @property
    def slug(self) -> str:
        """The name as a part of a host name."""
        words = "".join(char if char.isalnum() and char.isascii() else " " for char in self.name.lower()).split()
        return "-".join(words)[:40].strip("-")


def _status(code: int, body: bytes = b"an error") -> Callable[[bytes], Page]:
    return lambda _: Page(body, status=code, headers={"Content-Type": "text/html"})


def _served(manner: Manner) -> Callable[[bytes], Page]:
    return lambda body: Page(body, manner=manner)


def _instead(body: bytes, content_type: str = "text/html", status: int = 200) -> Callable[[bytes], Page]:
    return lambda _: Page(body, status=status, headers={"Content-Type": content_type})


def _altered(alter: Callable[[bytes], bytes]) -> Callable[[bytes], Page]:
    """Return a function that serves a document with *alter* applied to its text; compressed bodies stay compressed."""

    def page(body: bytes) -> Page:
        is_packed = body.startswith(b"\x1f\x8b")
        text = alter(gzip.decompress(body) if is_packed else body)
        return Page(gzip.compress(text, mtime=0) if is_packed else text)

    return page


def _middle(text: bytes) -> int:
    """Return where the entry in the middle of *text* begins."""
    return text.index(b"\n", len(text) // 2) + 1


def _inserted(what: bytes) -> Callable[[bytes], Page]:
    return _altered(lambda text: text[: _middle(text)] + what + text[_middle(text) :])


def _replaced(old: bytes, new: bytes) -> Callable[[bytes], Page]:
    """Return a function that serves a document with *new* for the first *old* after its middle."""
    return _altered(lambda text: text[: _middle(text)] + text[_middle(text) :].replace(old, new, 1))


def _repeated(text: bytes) -> bytes:
    """Return *text* with one of its entries repeated until it has too many."""
    start = _middle(text)
    entry = text[start : text.index(b"\n", start) + 1]
    return text[:start] + entry * MOST_URLS + text[start:]


def _in_windows_1251(text: bytes) -> bytes:
    return text.replace(CYRILLIC.encode(), CYRILLIC.encode("cp1251")).replace(LATIN.encode(), quote(LATIN).encode())


_HTML = b"<!doctype html><html><head><title>Welcome</title></head><body><h1>Welcome</h1><p>Hello.</p></body></html>"
HOME = (
    b"<!doctype html><html><head><title>Welcome</title></head><body><h1>Welcome</h1>"
    b"<a href='/pages/goes'>One</a> <a href='/about'>About</a></body></html>"
)
_SITE_MAP = (
    b"<!doctype html><html><head><title>Site map</title></head><body><h1>Site map</h1><ul>"
    + b"".join(b"<li><a href='/section/%d'>Section</a></li>" % number for number in range(40))
    + b"</ul></body></html>"
)
_CHALLENGE = b"<!doctype html><title>Just a moment...</title><script src='/cdn-cgi/challenge-platform/x.js'></script>"
_SOFT_404 = b"<!doctype html><title>404 Not Found</title><h1>Page not found</h1>"
_S3 = b'<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>'
_EMPTY_FEED = b'<?xml version="1.0"?><rss version="2.0"><channel><title>Feed</title></channel></rss>'
_NO_SITEMAPS = b"User-agent: *\nDisallow: /private/\n"
_STATUSES = (401, 403, 404, 410, 429, 500, 502, 503)
_SHORT = {INDEX: Belief.KEPT}  # so short that a part of it cannot be decompressed
_OWN_EMPTY = dict.fromkeys(LISTS, Belief.EMPTIED)
_NOISE = Random(1).randbytes(2 * MOST_BYTES).hex().encode()  # cannot be compressed to less than half
_COMMENT = b"<!--" + _NOISE + b"-->\n"
_LONG_COMMENT = b"<!--" + b" " * (2 * MOST_UNPACKED) + b"-->\n"


def _padded(body: bytes) -> Page:
    return Page(b"#" + _NOISE + b"\n" + body if body.startswith(b"Sitemap") else _inserted(_COMMENT)(body).body)


def _bomb(body: bytes) -> Page:
    text = gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body
    return Page(gzip.compress(text[: _middle(text)] + _LONG_COMMENT + text[_middle(text) :], mtime=0))


def _half_compressed(body: bytes) -> Page:
    packed = body if body.startswith(b"\x1f\x8b") else gzip.compress(body, mtime=0)
    return Page(packed[: len(packed) * 3 // 4])


def _emptied(body: bytes) -> Page:
    if body.startswith(b"\x1f\x8b"):
        return Page(gzip.compress(EMPTY_URLSET, mtime=0))
    return Page(_EMPTY_FEED if b"<rss" in body else EMPTY_URLSET)


ALL_FAULTS = (
    *(Fault(name=f"HTTP {code}", page=_status(code)) for code in _STATUSES),
    Fault(name="HTTP 204", page=_status(204, b"")),
    Fault(name="a timeout", page=_served(Manner.HANG)),
    Fault(name="a response byte by byte, too slow", page=_served(Manner.DRIP)),
    Fault(name="closed without a response", page=_served(Manner.CLOSE)),
    Fault(name="connection reset", page=_served(Manner.RESET)),
    Fault(name="reset halfway", page=_served(Manner.TORN), belief=Belief.BEGUN),
    Fault(name="closed halfway", page=_served(Manner.CUT), belief=Belief.BEGUN),
    Fault(name="closed before the Content-Length", page=_served(Manner.LIES_LONGER), belief=Belief.ADDED),
    Fault(name="not HTTP", page=_served(Manner.GARBAGE)),
    Fault(name="connection refused", page=_status(200), hosts={"": "127.0.0.9"}),
    Fault(name="no DNS entry", page=_status(200), hosts={"": None}),
    Fault(
        name="truncated XML", page=_served(Manner.LIES_SHORTER), belief=Belief.BEGUN, places=XML - {"/packed.xml.gz"}
    ),
    Fault(name="truncated gzip", page=_half_compressed, belief=Belief.BEGUN, beliefs=_SHORT, places=XML),
    Fault(name="an empty body", page=_instead(b"")),
    Fault(name="only whitespace", page=_instead(b"\n\n  \n")),
    Fault(name="an empty urlset", page=_emptied, beliefs=_OWN_EMPTY),
    Fault(name="an index without children", page=_instead(EMPTY_INDEX), beliefs=dict.fromkeys(INDEXES, Belief.EMPTIED)),
    Fault(name="a web page", page=_instead(_HTML)),
    Fault(name="an HTML sitemap", page=_instead(_SITE_MAP)),
    Fault(name="a soft 404", page=_instead(_SOFT_404)),
    Fault(name="a challenge page", page=_instead(_CHALLENGE)),
    Fault(name="a challenge page with HTTP 403", page=_status(403, _CHALLENGE)),
    Fault(name="a challenge page with HTTP 503", page=_status(503, _CHALLENGE)),
    Fault(name="other XML", page=_instead(_S3, "application/xml")),
    Fault(name="JSON", page=_instead(b'{"error": "internal"}', "application/json")),
    Fault(name="a redirect home", page=lambda _: Page(status=302, headers={"Location": "/"})),
    Fault(name="a redirect to a login", page=lambda _: Page(status=302, headers={"Location": "/login"})),
    Fault(name="a redirect loop", page=lambda _: Page(status=302, headers={"Location": "?again"})),
    Fault(name="a redirect to another sitemap", page=lambda _: moved("/news.xml"), places=ANYWHERE - {"/news.xml"}),
    Fault(
        name="declared as ISO-8859-1, is UTF-8",
        page=_altered(lambda text: text.replace(b"UTF-8", b"ISO-8859-1", 1)),
        beliefs=dict.fromkeys(INDEXES, Belief.TRUE),
        places=XML,
    ),
    Fault(
        name="declared as UTF-8, is ISO-8859-1",
        page=_altered(lambda text: text.replace(LATIN.encode(), LATIN.encode("latin-1"))),
        beliefs=dict.fromkeys(INDEXES, Belief.TRUE),
        places=XML,
    ),
    Fault(
        name="declared as UTF-8, is windows-1251",
        page=_altered(_in_windows_1251),
        beliefs=dict.fromkeys(INDEXES, Belief.TRUE),
        places=XML,
    ),
    Fault(name="a stray < in the middle", page=_inserted(b"<"), belief=Belief.TRUE, places=XML),
    Fault(name="an unterminated comment", page=_inserted(b"<!-- "), belief=Belief.BEGUN, places=XML),
    Fault(
        name="a missing </loc>",
        page=_replaced(b"</loc>", b""),
        belief=Belief.BEGUN,
        places=XML - {"/feed.xml", NESTED},
    ),
    Fault(
        name="a damaged </loc>",
        page=_replaced(b"</loc>", b"/loc>"),
        belief=Belief.BEGUN,
        places=XML - {"/feed.xml", NESTED},
    ),
    Fault(
        name="a missing </url>",
        page=_replaced(b"</url>", b""),
        belief=Belief.TRUE,
        places=XML - {"/feed.xml"} - INDEXES,
    ),
    Fault(name="over the download limit", page=_padded),
    Fault(name="over the decompression limit", page=_bomb, belief=Belief.BEGUN, places=XML),
    Fault(name="over the URL limit", page=_altered(_repeated), belief=Belief.BEGUN, places=frozenset(LISTS)),
    Fault(
        name="a robots.txt without sitemaps",
        page=_instead(_NO_SITEMAPS, "text/plain"),
        places=frozenset({ROBOTS}),
    ),
)
