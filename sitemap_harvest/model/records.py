"""``SitemapRecord`` and ``SiteRecord``: the outcome of each document and each site of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime  # noqa: TC003 - the schema is built from these annotations at run time
from enum import StrEnum

from sitemap_harvest.model.entry import INSTANT
from sitemap_harvest.model.item import ItemRecord, WideItemRecord
from sitemap_harvest.model.problem import Problem  # noqa: TC001 - the same


class Kind(StrEnum):
    """The kinds of documents, determined by content rather than name."""

    SITEMAP = "sitemap"
    """An XML ``<urlset>``."""
    INDEX = "index"
    """An XML ``<sitemapindex>``."""
    LIST = "list"
    """A plain text file with one URL per line."""
    FEED = "feed"
    """RSS, Atom, JSON Feed or CDF."""
    ROBOTS = "robots"
    """A robots.txt."""
    LINKS = "links"
    """An HTML page that lists links: an HTML sitemap."""
    HTML = "html"
    """Any other web page."""
    CHALLENGE = "challenge"
    """A page of a firewall that asks visitors to prove that they are human, or rejects them."""
    SOFT_404 = "soft-404"
    """A web page whose title or first heading says that the page does not exist."""
    XML = "xml"
    """Any other XML, including XSLT."""
    BINARY = "binary"
    """An image, a PDF, an office document, an archive, a program: not text."""
    EMPTY = "empty"
    """No bytes, or only whitespace."""
    UNKNOWN = "unknown"
    """Anything else: text without a URL, or JSON that is not a feed."""

    @property
    def is_readable(self) -> bool:
        """Whether documents of this kind publish URLs and can be read."""
        return self in {Kind.SITEMAP, Kind.INDEX, Kind.LIST, Kind.FEED, Kind.ROBOTS, Kind.LINKS}


class Outcome(StrEnum):
    """The outcome of a document: one word for each distinct result."""

    READ = "read"
    """Read completely."""
    PARTIAL = "partial"
    """Read incompletely: it was truncated or damaged, or reached a limit."""
    UNCHANGED = "unchanged"
    """The same as in the last run, as shown by the server's response or the digest."""
    SKIPPED = "skipped"
    """Not read, because it was unnecessary or unwanted; ``reason`` says why."""
    ABSENT = "absent"
    """404 or 410, or no such file."""
    BLOCKED = "blocked"
    """401, 403, 407, 429, 451, or a challenge page with any status: the server refuses access."""
    FORBIDDEN = "forbidden"
    """robots.txt disallows it."""
    FAILED = "failed"
    """No usable response: DNS, refused, TLS, timeout, 5xx, an unreadable file."""
    NOT_A_SITEMAP = "not-a-sitemap"
    """A response, but of a kind that lists no URLs."""
    TOO_LARGE = "too-large"
    """Larger than the limit, as downloaded or after decompression."""
    OUT_OF_SCOPE = "out-of-scope"
    """On another site, or with a URL that may not be followed."""
    OVER_LIMIT = "over-limit"
    """Not fetched because a limit of the run was reached."""
    INTERRUPTED = "interrupted"
    """Not read because the run ended early, for example by Ctrl-C."""

    @property
    def has_rows(self) -> bool:
        """Whether the entries of a document with this outcome are in the output of this run."""
        return self in {Outcome.READ, Outcome.PARTIAL, Outcome.TOO_LARGE}


NO_ROBOTS = frozenset({Outcome.ABSENT, Outcome.NOT_A_SITEMAP})
"""The outcomes of a robots.txt that does not exist: servers may respond with a page in its place."""
READ_SEPARATELY = "which is read separately"
"""The end of the reason of a ``skipped`` document that redirects to another document of the run."""


class Cause(StrEnum):
    """Why there was no usable response."""

    DNS = "dns"
    """The host name cannot be resolved."""
    REFUSED = "refused"
    """The host refuses the connection."""
    TIMEOUT = "timeout"
    """No response within the timeout."""
    TLS = "tls"
    """The TLS handshake failed, for example because of an invalid certificate."""
    CONNECTION = "connection"
    """The connection was lost."""
    NOT_HTTP = "not-http"
    """The server does not speak HTTP."""
    PRIVATE = "private"
    """The host is in a private network, which is not allowed (``SITEMAP_HARVEST_PRIVATE``)."""
    NOT_ARCHIVED = "not-archived"
    """The archive that the run reads (``root``) has no response."""
    SERVER_ERROR = "server-error"
    """A response with an error status, such as 500."""


class FoundBy(StrEnum):
    """How a document was found."""

    ARGUMENT = "argument"
    """Named by the user, or the robots.txt of a site that the user named."""
    VARIANT = "variant"
    """The robots.txt of a site with the other scheme, or with or without ``www.``, probed because the named site cannot
    be reached; or a sitemap with ``https`` that was named with ``http``. In a snapshot and in ``evidence``, also the
    robots.txt of the named site itself, if it has never responded and another variant has."""
    ROBOTS = "robots"
    """A ``Sitemap:`` line of robots.txt."""
    WELL_KNOWN = "well-known"
    """A well-known path, probed because no earlier step led to a sitemap."""
    HOME = "home"
    """The home page of a site, whose links were read because no well-known path exists."""
    INDEX = "index"
    """Listed by a sitemap index."""
    HTML_LINK = "html-link"
    """A link in a page."""
    FEED_LINK = "feed-link"
    """A feed that a page announces."""
    HTTP_LINK = "http-link"
    """A ``Link:`` header."""
    SNAPSHOT = "snapshot"
    """Known from the last snapshot of the site, and not found otherwise."""

    @property
    def is_guess(self) -> bool:
        """Whether it was only probed: nothing says that the document exists."""
        return self in {FoundBy.VARIANT, FoundBy.WELL_KNOWN, FoundBy.HOME}


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapRef:
    """A document that another one names: an index, a robots.txt, or a page or its headers as a hint."""

    loc: str
    """URL of the sitemap: trimmed and made absolute, otherwise as published."""
    position: int
    """Position of the reference in the document, from 1. In robots.txt, the line."""
    lastmod: datetime | None = None
    """Last change of the sitemap according to the index, in UTC. ``None`` if absent or unreadable."""
    lastmod_text: str | None = None
    """``lastmod`` as published; ``None`` if absent."""
    found_by: FoundBy | None = None
    """The kind of hint in a page: ``html-link``, ``feed-link`` or ``http-link``; ``None`` in an index or robots.txt."""


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class SitemapRecord(WideItemRecord):
    """One document of a run: a row of the ledger (table ``sitemaps``), and a Scrapy item."""

    url: str
    """The URL as found."""
    final_url: str | None = None
    """The URL after redirects; ``None`` if nothing was downloaded."""
    parent: str | None = None
    """URL of the document that named it first; ``None`` for starts of the run."""
    root: str
    """The site or document that the user named and that led to it."""
    depth: int = 0
    """0 for starts of the run, 1 for documents that these name, and so on."""
    found_by: FoundBy
    kind: Kind | None = None
    """The kind of its contents; ``None`` if there were none."""
    outcome: Outcome
    reason: str | None = None
    """The reason of the outcome, as text; ``None`` if the outcome says everything (``read``)."""
    cause: Cause | None = None
    """Why there was no usable response; ``None`` unless the outcome is ``failed`` for that reason."""
    via: str | None = None
    """How it was downloaded, unless plainly: ``browser``, by a browser; ``browser cookies``, by Scrapy with the cookies
    of a browser. ``None``: plainly, or not at all."""
    status: int | None = None
    """HTTP status; ``None`` without a response, or without HTTP."""
    content_type: str | None = None
    """The header ``Content-Type`` as sent."""
    etag: str | None = None
    """The header ``ETag`` as sent."""
    last_modified: str | None = None
    """The header ``Last-Modified`` as sent."""
    bytes_downloaded: int | None = None
    """Size of the body in bytes, as sent."""
    bytes_unpacked: int | None = None
    """Size of the document in bytes, after decompression."""
    layers: tuple[str, ...] = ()
    """The compression layers of the document, outermost first, such as ``("gzip",)``; without ``Content-Encoding``."""
    encoding: str | None = None
    """The encoding that the document was decoded with."""
    entries: int = 0
    """URLs and references of the document that were read."""
    out_of_scope: int | None = None
    """URLs that it may not list (``in_scope`` is false), among those read. ``None``: not checked."""
    problems: tuple[Problem, ...] = ()
    sha256: str | None = None
    """Hex SHA-256 digest of the decompressed document; ``None`` unless it was decompressed completely."""
    fetched_at: datetime | None = field(default=None, metadata=INSTANT)
    """When the last request for it was sent, in UTC: after redirects, retries, and waits for the delay of the host. If
    a file or a cache replaced the response, when that was read. ``None``: no request was sent."""
    seconds: float | None = None
    """Seconds from ``fetched_at`` to the end of the body, or to the error; DNS and connecting included. ``None``: no
    request was sent, or a cache replaced the response."""
    lastmod: datetime | None = field(default=None, metadata=INSTANT)
    """Last change according to its parent, in UTC."""
    lastmod_text: str | None = None
    """``lastmod`` as published."""
    complete: bool = False
    """Whether it was read completely: only then can a missing URL count as removed."""
    rows_from: str | None = None
    """The run that holds its rows in the store; ``None`` without a store or rows."""
    fresh_at: datetime | None = field(default=None, metadata=INSTANT)
    """When it was last read completely or found unchanged, in UTC. ``None``: never, or there is no store."""
    fresh_run: str | None = None
    """The run that set ``fresh_at``. Runs sort by time, independent of clock changes."""
    read_at: datetime | None = field(default=None, metadata=INSTANT)
    """When a body with the contents of its rows in the store was last downloaded, in UTC: a 304 does not change it."""
    absent_runs: int = 0
    """Consecutive runs with a store in which it was absent; 0 if it was not absent in the last one."""
    left: str | None = None
    """Why it was removed from the snapshot, as text. ``None``: it was not. The record stays in the ledger for the run
    of the removal, and while removals of its URLs are pending."""

    @property
    def is_confirmation(self) -> bool:
        """Whether it confirms the stored document: unchanged, or skipped because it is fresh."""
        return self.outcome is Outcome.UNCHANGED or (self.outcome is Outcome.SKIPPED and self.complete)


class SiteResult(StrEnum):
    """The result of the sitemap search of a site."""

    FOUND = "found"
    """A document that lists URLs was read, or all named documents were skipped at the user's request."""
    ABSENT = "absent"
    """The site responds, but no sitemap was found."""
    BLOCKED = "blocked"
    """The server refuses access: there may be sitemaps."""
    FORBIDDEN = "forbidden"
    """robots.txt disallows access: there may be sitemaps."""
    UNREACHABLE = "unreachable"
    """No usable response; ``cause`` says why."""
    NOT_A_SITE = "not-a-site"
    """The target is not the URL of a site, or no site is served there."""
    UNFINISHED = "unfinished"
    """The run ended, reached a limit, or did not request a listed document at a private address, before the result was
    certain."""

    @property
    def is_conclusive(self) -> bool:
        """Whether the run knows if the site has sitemaps."""
        return self in {SiteResult.FOUND, SiteResult.ABSENT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One document that was tried, and its outcome."""

    url: str
    """The requested URL."""
    found_by: FoundBy
    outcome: Outcome
    reason: str | None = None
    """The reason of the outcome, as text; ``None`` if it was read."""
    cause: Cause | None = None
    """Why there was no response; ``None`` if there was one."""


def is_read_separately(reason: str | None) -> bool:
    """Return whether *reason* means that the document redirects to another document of the run."""
    return reason is not None and reason.endswith(READ_SEPARATELY)


@dataclass(kw_only=True, eq=False, repr=False)
class SiteRecord(ItemRecord):
    """One site of a run, or one document that the user named: a row of the table ``sites``, and a Scrapy item."""

    root: str
    """The target as named by the user; the ``root`` of its documents in the ledger."""
    base: str | None = None
    """The site that responded: with another scheme, or with or without ``www.``, if the named one did not. ``None`` if
    none did, or if a document was named."""
    result: SiteResult
    cause: Cause | None = None
    """Why it is ``unreachable``. ``None`` if a response was unreadable, such as a file that cannot be decompressed, and
    for every other result."""
    reason: str
    """The reason of the result, as text."""
    found_by: FoundBy | None = None
    """How the first document that lists URLs was found; ``None`` if none was."""
    evidence: tuple[Evidence, ...] = ()
    """What was tried, in order: the first 50 documents that failed. Then the home page, if the search of the site is
    postponed. Empty if all succeeded."""
    documents: int = 0
    """Documents requested."""
    read: int = 0
    """Documents read, completely or partly."""
    urls: int = 0
    """URLs that they list, before filters and ``limit``."""
    bytes_downloaded: int = 0
    """Size of all bodies in bytes, as sent."""
    limits: tuple[str, ...] = ()
    """Codes of the limits that were reached, such as ``limit/documents``: the harvest of the site is incomplete."""
    complete: bool = False
    """Whether the result is ``found`` or ``absent``, and every named document was read completely: only then can a
    missing URL count as removed."""
    started_at: datetime | None = field(default=None, metadata=INSTANT)
    """When its first document was requested, in UTC; ``None`` if none was."""
    seconds: float | None = None
    """Seconds from then to the end of its last document, with all waits."""

    @property
    def is_not_a_sitemap(self) -> bool:
        """Whether a document was named that exists but lists no URLs, such as an image."""
        return any(one.url == self.root and one.outcome is Outcome.NOT_A_SITEMAP for one in self.evidence)

    def in_words(self) -> str:
        """Return the result in one line."""
        result = Outcome.NOT_A_SITEMAP if self.is_not_a_sitemap else self.result
        return f"{result}{f' ({self.cause})' if self.cause else ''}: {self.reason}"
