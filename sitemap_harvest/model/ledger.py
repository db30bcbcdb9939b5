"""The ledger: what became of each document that a run met."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime  # noqa: TC003 - the schema is made from these annotations at run time
from enum import StrEnum

from sitemap_harvest.model.entry import INSTANT
from sitemap_harvest.model.kind import Kind  # noqa: TC001 - the schema is made from these annotations at run time
from sitemap_harvest.model.problem import Problem  # noqa: TC001 - the same


class Outcome(StrEnum):
    """What became of a document: one word each, and no two facts under one word."""

    READ = "read"
    """Read whole."""
    PARTIAL = "partial"
    """Read, but not whole: it was cut, damaged, or ran into a limit."""
    UNCHANGED = "unchanged"
    """The server says, or the digest shows, that it is as it was in the last run."""
    SKIPPED = "skipped"
    """Not read because there was no need or no wish to: ``reason`` says which."""
    ABSENT = "absent"
    """404 or 410, or no such file."""
    BLOCKED = "blocked"
    """401, 403, 407, 429, 451, or a challenge page with any status: the server keeps us out."""
    FORBIDDEN = "forbidden"
    """robots.txt asks robots not to fetch it."""
    FAILED = "failed"
    """No answer that can be used: DNS, refused, TLS, time-out, 5xx, an unreadable file."""
    NOT_A_SITEMAP = "not-a-sitemap"
    """An answer, but of a kind that lists no URLs."""
    TOO_LARGE = "too-large"
    """Larger than the limit, as downloaded or after unpacking."""
    OUT_OF_SCOPE = "out-of-scope"
    """On another site, or with an address that may not be followed."""
    OVER_LIMIT = "over-limit"
    """Not fetched because a limit of the run was reached before."""

    @property
    def has_rows(self) -> bool:
        """Whether the entries of a document with this outcome are in this run's output."""
        return self in {Outcome.READ, Outcome.PARTIAL, Outcome.TOO_LARGE}


class Cause(StrEnum):
    """Why there was no answer that can be used."""

    DNS = "dns"
    """The name of the host cannot be looked up."""
    REFUSED = "refused"
    """The host refuses the connection."""
    TIMEOUT = "timeout"
    """No answer within the time allowed."""
    TLS = "tls"
    """No secure connection could be made; a bad certificate is one reason."""
    CONNECTION = "connection"
    """The connection was broken off."""
    NOT_HTTP = "not-http"
    """Something answers that does not speak HTTP."""
    PRIVATE = "private"
    """The host is in a private network, where it may not be asked (``SITEMAP_HARVEST_PRIVATE``)."""
    SERVER_ERROR = "server-error"
    """An answer with a status that gives no document, such as 500."""


class FoundBy(StrEnum):
    """How a document was found."""

    ARGUMENT = "argument"
    """Named by the user, or the robots.txt of a site that the user named."""
    VARIANT = "variant"
    """The robots.txt of a site's other scheme, or with or without ``www.``, tried because the one named is not to be
    reached; or a sitemap with ``https`` that was named with ``http``."""
    ROBOTS = "robots"
    """A ``Sitemap:`` line of robots.txt."""
    WELL_KNOWN = "well-known"
    """A usual name, tried because nothing before it has led to a sitemap."""
    HOME = "home"
    """The home page of a site, tried for what it links to because no usual name is there."""
    INDEX = "index"
    """Listed by a sitemap index."""
    HTML_LINK = "html-link"
    """A link of a page."""
    FEED_LINK = "feed-link"
    """A feed that a page announces."""
    HTTP_LINK = "http-link"
    """A ``Link:`` header."""
    SNAPSHOT = "snapshot"
    """Known from the last snapshot of the site, and not met otherwise."""

    @property
    def is_guess(self) -> bool:
        """Whether nobody said that the document is there."""
        return self in {FoundBy.VARIANT, FoundBy.WELL_KNOWN, FoundBy.HOME}


@dataclass(slots=True, kw_only=True)
class SitemapRecord:
    """One document met in a run: a row of the ledger (table ``sitemaps``), and a Scrapy item."""

    url: str
    """The address as found."""
    final_url: str | None = None
    """The address after redirects; ``None`` if nothing was downloaded."""
    parent: str | None = None
    """Address of the document that named it first; ``None`` for those that a run starts with."""
    root: str
    """What the user named and this document was found from: a site or a document."""
    depth: int = 0
    """0 for what a run starts with, 1 for what that names, and so on."""
    found_by: FoundBy
    """How it was found."""
    kind: Kind | None = None
    """What the document turned out to be; ``None`` if there was nothing to look at."""
    outcome: Outcome
    """What became of it, in one word."""
    reason: str | None = None
    """Why it ended so, in words; ``None`` where the outcome says all (``read``)."""
    cause: Cause | None = None
    """Why there was no answer that can be used, in one word; ``None`` unless the outcome is ``failed`` for that."""
    via: str | None = None
    """How it was downloaded if not plainly: ``browser``, by a browser; ``browser cookies``, by Scrapy with what a
    browser was given. ``None``: plainly, or not at all."""
    status: int | None = None
    """HTTP status; ``None`` if there was no answer, or no HTTP."""
    content_type: str | None = None
    """The header ``Content-Type`` as sent."""
    etag: str | None = None
    """The header ``ETag`` as sent."""
    last_modified: str | None = None
    """The header ``Last-Modified`` as sent."""
    bytes_downloaded: int | None = None
    """Size of the body in bytes, as it was sent."""
    bytes_unpacked: int | None = None
    """Size of the document in bytes, unpacked."""
    layers: tuple[str, ...] = ()
    """How the document was packed, outermost first, such as ``("gzip",)``; without what a ``Content-Encoding`` adds."""
    encoding: str | None = None
    """The encoding that the document was read with."""
    entries: int = 0
    """URLs and references that the document lists, and that were read."""
    out_of_scope: int | None = None
    """URLs that it may not list (``in_scope`` is false), as far as the run has come. ``None``: not judged."""
    problems: tuple[Problem, ...] = ()
    """What is wrong with it."""
    sha256: str | None = None
    """Digest of the unpacked document, hexadecimal; ``None`` unless it was unpacked to its end."""
    fetched_at: datetime | None = field(default=None, metadata=INSTANT)
    """When it was asked for, in UTC."""
    seconds: float | None = None
    """From asking to the end of the download."""
    lastmod: datetime | None = field(default=None, metadata=INSTANT)
    """When it last changed, says its parent, in UTC."""
    lastmod_text: str | None = None
    """The same to the letter."""
    complete: bool = False
    """Whether it was read whole: only then may a URL that is missing from it be called removed."""
    rows_from: str | None = None
    """The run that holds its rows in the store; ``None`` without a store, and where there are none."""
    fresh_at: datetime | None = field(default=None, metadata=INSTANT)
    """When its rows in the store were last known to be all that it lists, as it was read whole or found unchanged, in
    UTC. ``None``: never, or there is no store."""
    fresh_run: str | None = None
    """The run that set ``fresh_at``. Runs sort by time, whatever the clock says."""
    read_at: datetime | None = field(default=None, metadata=INSTANT)
    """When a body was last downloaded that says what its rows in the store say, in UTC: a 304 does not move it."""
    absent_runs: int = 0
    """Runs with a store, one after the other, in which it was absent; 0 if it was not in the last."""
    left: str | None = None
    """Why it is no part of the snapshot any more, in words. ``None``: it is one. The row stays
    in the ledger for the run in which it left, and for as long as removals of its URLs are pending."""
