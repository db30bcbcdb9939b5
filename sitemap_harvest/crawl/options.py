"""The ``SITEMAP_HARVEST_*`` settings."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

from sitemap_harvest.crawl.browser.switch import MODES
from sitemap_harvest.errors import OptionError, there_is_no, without_login
from sitemap_harvest.formats import Limits
from sitemap_harvest.plan import Budget, Offsite, Private
from sitemap_harvest.urls import site_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.settings import BaseSettings

_ITEMS = ("auto", "rows")
_PREFIX = "SITEMAP_HARVEST_"
_CONTACT = re.compile(  # ASCII without blanks, and without ( ) \\ that would end or alter the comment it stands in
    r"https?://[!-'*-\[\]-~]+|(?:mailto:)?[!-'*-.0-?A-\[\]-~]+@[!-'*-.0-?A-\[\]-~]+", re.IGNORECASE
)

_SITE = re.compile(r"https?://[^/?#@\s]+/?", re.IGNORECASE)
_HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_HEADER_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The ``SITEMAP_HARVEST_*`` settings, read and checked here once; nothing else reads them."""

    items: str = "auto"
    """How URLs travel through Scrapy (``SITEMAP_HARVEST_ITEMS``): ``auto``, as batches wherever every part of the
    project can take them; ``rows``, always one item a URL."""
    max_depth: int = 10
    """Levels of documents followed below what the run starts with, 1 or more (``SITEMAP_HARVEST_MAX_DEPTH``).
    Scrapy's own ``DEPTH_LIMIT`` holds where it is smaller and not 0."""
    max_documents: int = 50_000
    """Most documents of one site or one named sitemap (``SITEMAP_HARVEST_MAX_DOCUMENTS``)."""
    max_site_bytes: int | None = None
    """Most bytes downloaded of one site or one named sitemap (``SITEMAP_HARVEST_MAX_SITE_BYTES``). ``None``: no
    limit. What is on its way when it is reached is still read."""
    max_site_urls: int | None = None
    """Most URLs read of one site or one named sitemap (``SITEMAP_HARVEST_MAX_SITE_URLS``). ``None``: no limit."""
    max_site_seconds: int | None = 24 * 3600
    """Seconds after the first document of a site for which new ones are asked for
    (``SITEMAP_HARVEST_MAX_SITE_SECONDS``). ``None``: no limit."""
    max_unanswered: int = 20
    """Documents of one host in a row that get no answer, each asked for as often as ``RETRY_TIMES`` says, before the
    host is asked for nothing more in the run (``SITEMAP_HARVEST_MAX_UNANSWERED``)."""
    max_wait: int = 60
    """Longest pause in seconds that a server gets by ``Retry-After`` or ``Crawl-delay``
    (``SITEMAP_HARVEST_MAX_WAIT``). A host that asks for longer by ``Retry-After`` is asked for nothing more in the
    run; a longer ``Crawl-delay`` is cut to it."""
    max_urls: int = 1_000_000
    """Most URLs of one document (``SITEMAP_HARVEST_MAX_URLS``)."""
    max_unpacked: int = 200 * 1024 * 1024
    """Most bytes of one document after unpacking (``SITEMAP_HARVEST_MAX_UNPACKED``). Scrapy's own
    ``DOWNLOAD_MAXSIZE`` bounds the bytes as downloaded."""
    max_ratio: int = 200
    """Most bytes unpacked for each packed one, past the first 10 MiB (``SITEMAP_HARVEST_MAX_RATIO``)."""
    concurrency: int = 64
    """Most documents downloaded at a time over all hosts (``SITEMAP_HARVEST_CONCURRENCY``), hosts not counted that do
    not answer. Scrapy's own settings for concurrency and delay hold besides: of one host, no more than
    ``CONCURRENT_REQUESTS_PER_DOMAIN``."""
    bodies: int = 32 * 1024 * 1024
    """Bytes of large documents that may be held in memory (``SITEMAP_HARVEST_BODIES``), or one document: others wait
    for room. Those are not counted that are no larger than the setting divided by ``CONCURRENT_REQUESTS``."""
    offsite: str = Offsite.DOMAIN.value
    """Where documents may lie that an index, a page or a feed names (``SITEMAP_HARVEST_OFFSITE``): ``none``, on its own
    host or that of the site; ``proven``, also on one whose robots.txt vouches for them; ``domain``, also below the same
    registrable domain, such as ``cdn.example.com``; ``any``. robots.txt may name any host."""
    private: Private = field(default=Private.NAMED, metadata={"setting": False})
    """Who may lead to addresses of private networks (``SITEMAP_HARVEST_PRIVATE``). ``False``: only you, by naming a
    host. ``True``: documents and redirects too. ``never``: nobody, which is for runs that are started by requests from
    the web."""
    contact: str | None = None
    """Where who runs a site can reach you (``SITEMAP_HARVEST_CONTACT``): an e-mail address, or that of a page. It
    becomes part of the ``User-Agent``, unless you set ``USER_AGENT``."""

    site_headers: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False, metadata={"setting": {}})
    """Headers for one site each (``SITEMAP_HARVEST_SITE_HEADERS``), such as
    ``{"https://www.example.com": {"X-Api-Key": "..."}}``: a site is scheme, host and port, and no other is sent them,
    also after a redirect. What a request has already stays. They are kept nowhere."""

    read_declared: bool = False
    """Whether a sitemap that robots.txt of its own site names, or that such a sitemap leads to, is read though the
    rules of that robots.txt forbid it (``SITEMAP_HARVEST_READ_DECLARED``). Nothing else is: ``ROBOTSTXT_OBEY`` holds
    for pages, and for sitemaps found in other ways."""

    store: str | None = None
    """Where snapshots are kept (``SITEMAP_HARVEST_STORE``): a folder, or ``s3://bucket/folder``. The argument ``store``
    holds where it is given. ``None``: none are."""
    absent_runs: int = 3
    """Runs, one after the other, in which a document has to be absent (404, 410) before it leaves the snapshot
    (``SITEMAP_HARVEST_ABSENT_RUNS``)."""
    pending_runs: int = 3
    """Runs in which the removal of a URL may be pending because a sitemap that may list it cannot be read
    (``SITEMAP_HARVEST_PENDING_RUNS``). The removal is reported when this and ``SITEMAP_HARVEST_PENDING_DAYS`` are
    reached, or as soon as every sitemap has been read."""
    pending_days: int = 7
    """Days for which the removal of a URL may be pending (``SITEMAP_HARVEST_PENDING_DAYS``)."""
    busy: str = "refuse"
    """What becomes of a site that another run is at work on in the same store (``SITEMAP_HARVEST_BUSY``): ``refuse``,
    it is not harvested; ``wait``, it is when that run has ended."""
    max_age: int = 30 * 24 * 3600
    """Seconds after which a document is downloaded again, whatever its server says of changes
    (``SITEMAP_HARVEST_MAX_AGE``)."""
    trust_lastmod: str = "auto"
    """Whether a document is not asked for whose index says by ``lastmod`` that it has not changed
    (``SITEMAP_HARVEST_TRUST_LASTMOD``): ``auto``, where its index has proved to be right; ``always``; ``never``."""
    browser: str = "never"
    """Whether a browser helps where a site lets in browsers only (``SITEMAP_HARVEST_BROWSER``): ``never``;
    ``fallback``, where a plain download was kept out; ``always``, for each document. Needs the extra ``[browser]`` and
    Chromium. The argument ``browser`` comes first."""
    browser_pages: int = 2
    """Most pages that it has open at a time (``SITEMAP_HARVEST_BROWSER_PAGES``)."""
    browser_seconds: int = 30
    """Longest time in seconds that the browser waits to be let in (``SITEMAP_HARVEST_BROWSER_SECONDS``)."""

    log: str = "text"
    """How the log is written (``SITEMAP_HARVEST_LOG``): ``text``, as Scrapy does; ``json``, one object a line. Needs
    the extra ``[observe]``."""
    metrics: str | None = None
    """A file for Prometheus (``SITEMAP_HARVEST_METRICS``): its path, which ends with ``.prom`` and may hold
    ``%(name)s``, the name of the spider. It is written when the run begins, while it runs every ``LOGSTATS_INTERVAL``
    seconds, and when it has ended. Needs the extra ``[observe]``."""
    closing: str | None = None
    """Where the closing record of a run is written (``SITEMAP_HARVEST_CLOSING``): the path of a file, which may hold
    ``%(run)s``, ``%(job)s`` (on Scrapyd; elsewhere that is the run too) and ``%(name)s``, the name of the spider;
    ``-`` is standard output."""

    @property
    def limits(self) -> Limits:
        """What bounds the reading of one document."""
        sitemaps = max(Limits().sitemaps, self.max_documents)
        return Limits(unpacked_bytes=self.max_unpacked, ratio=self.max_ratio, urls=self.max_urls, sitemaps=sitemaps)

    @property
    def bounds(self) -> dict[str, Any]:
        """The settings that bound what is read, by name, where they differ from what is usual: kept with snapshots."""
        names = ("max_depth", "max_documents", "max_site_bytes", "max_site_urls", "max_site_seconds", "max_urls")
        usual = Options()
        kept = ("max_unpacked", "max_ratio", "offsite", "read_declared", "absent_runs", "pending_runs", "pending_days")
        return {name: getattr(self, name) for name in (*names, *kept) if getattr(self, name) != getattr(usual, name)}

    @property
    def budget(self) -> Budget:
        """What bounds the harvest of one site."""
        return Budget(
            documents=self.max_documents,
            bytes=self.max_site_bytes,
            urls=self.max_site_urls,
            seconds=self.max_site_seconds,
        )

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        """Read the settings. Raises :exc:`OptionError`, which names the setting, its value and what is accepted."""
        known = {f"{_PREFIX}{option.name.upper()}" for option in fields(cls)}
        for name in settings:
            if str(name).startswith(_PREFIX) and name not in known:
                raise OptionError(f"{name}: {there_is_no('setting', str(name), sorted(known))}")
        default = cls()  # with slots, cls.max_depth is the slot and not its default
        return cls(
            items=_choice(settings, "ITEMS", default.items, _ITEMS),
            max_depth=_whole(settings, "MAX_DEPTH", default.max_depth),
            max_documents=_whole(settings, "MAX_DOCUMENTS", default.max_documents),
            max_site_bytes=_ceiling(settings, "MAX_SITE_BYTES"),
            max_site_urls=_ceiling(settings, "MAX_SITE_URLS"),
            max_site_seconds=_ceiling(settings, "MAX_SITE_SECONDS", default.max_site_seconds),
            max_unanswered=_whole(settings, "MAX_UNANSWERED", default.max_unanswered),
            max_wait=_whole(settings, "MAX_WAIT", default.max_wait),
            max_urls=_whole(settings, "MAX_URLS", default.max_urls),
            max_unpacked=_whole(settings, "MAX_UNPACKED", default.max_unpacked),
            max_ratio=_whole(settings, "MAX_RATIO", default.max_ratio),
            concurrency=_whole(settings, "CONCURRENCY", default.concurrency),
            bodies=_whole(settings, "BODIES", default.bodies),
            read_declared=_flag(settings, "READ_DECLARED", default=default.read_declared),
            offsite=_choice(settings, "OFFSITE", default.offsite, tuple(Offsite)),
            private=_private(settings),
            contact=_contact(settings),
            site_headers=_site_headers(settings),
            store=settings.get(f"{_PREFIX}STORE") or None,
            absent_runs=_whole(settings, "ABSENT_RUNS", default.absent_runs),
            pending_runs=_whole(settings, "PENDING_RUNS", default.pending_runs, least=0),
            pending_days=_whole(settings, "PENDING_DAYS", default.pending_days, least=0),
            busy=_choice(settings, "BUSY", default.busy, ("refuse", "wait")),
            max_age=_whole(settings, "MAX_AGE", default.max_age),
            log=_choice(settings, "LOG", default.log, ("text", "json")),
            metrics=settings.get(f"{_PREFIX}METRICS") or None,
            closing=settings.get(f"{_PREFIX}CLOSING") or None,
            trust_lastmod=_choice(settings, "TRUST_LASTMOD", default.trust_lastmod, ("auto", "always", "never")),
            browser=_choice(settings, "BROWSER", default.browser, MODES),
            browser_pages=_whole(settings, "BROWSER_PAGES", default.browser_pages),
            browser_seconds=_whole(settings, "BROWSER_SECONDS", default.browser_seconds),
        )


def _choice(settings: BaseSettings, name: str, default: str, choices: tuple[str, ...]) -> str:
    value = settings.get(f"{_PREFIX}{name}", default)
    if value not in choices:
        raise OptionError(f"{_PREFIX}{name} is {value!r}; it must be one of {', '.join(choices)}")
    return str(value)


def _whole(settings: BaseSettings, name: str, default: int, *, least: int = 1) -> int:
    value = settings.get(f"{_PREFIX}{name}", default)
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = -1
    if number < least:
        raise OptionError(f"{_PREFIX}{name} is {value!r}; it must be a whole number, {least} or more")
    return number


def _flag(settings: BaseSettings, name: str, *, default: bool) -> bool:
    try:
        return settings.getbool(f"{_PREFIX}{name}", default)
    except ValueError as error:
        value = settings.get(f"{_PREFIX}{name}")
        raise OptionError(f"{_PREFIX}{name} is {value!r}; it must be True or False") from error


def _ceiling(settings: BaseSettings, name: str, default: int | None = None) -> int | None:
    """Return the setting of that *name*; *default* where it is not set, ``None`` where it is set to that."""
    if settings.get(f"{_PREFIX}{name}") is None:
        return None if f"{_PREFIX}{name}" in settings else default
    return _whole(settings, name, 0)


def _private(settings: BaseSettings) -> Private:
    name = f"{_PREFIX}PRIVATE"
    if (value := settings.get(name)) == Private.NEVER:
        return Private.NEVER
    try:
        return Private.ALWAYS if settings.getbool(name) else Private.NAMED
    except ValueError as error:
        raise OptionError(f"{name} is {value!r}; it must be True, False or {Private.NEVER}") from error


def _site_headers(settings: BaseSettings) -> Mapping[str, Mapping[str, str]]:
    """Return the headers by site. No message has a value in it: it may be a password."""
    name = f"{_PREFIX}SITE_HEADERS"
    try:
        given = {str(site): dict(headers) for site, headers in settings.getdict(name).items()}
    except (TypeError, ValueError) as error:
        accepted = 'a dictionary such as {"https://www.example.com": {"X-Api-Key": "..."}}'
        raise OptionError(f"{name}: it must be {accepted}, with headers for each site") from error.with_traceback(None)
    headers = {}
    for text, own in given.items():
        site = site_of(text) if _SITE.fullmatch(text) else None
        if site is None:
            raise OptionError(f"{name}: {without_login(text)!r} must be a site, such as https://www.example.com")
        for header, value in own.items():
            if not isinstance(header, str) or not _HEADER_NAME.fullmatch(header):
                raise OptionError(f"{name}: {site}: {header!r} must be the name of a header")
            if not isinstance(value, str) or not _HEADER_VALUE.fullmatch(value):
                raise OptionError(f"{name}: {site}: {header} must be a text of one line")
        headers[site] = own
    return headers


def _contact(settings: BaseSettings) -> str | None:
    name = f"{_PREFIX}CONTACT"
    if not (value := settings.get(name)):
        return None
    if not _CONTACT.fullmatch(str(value)):
        accepted = "an e-mail address, or one that begins with http:// or https://, in ASCII and without ( ) \\"
        raise OptionError(f"{name} is {value!r}; it must be {accepted}")
    return str(value)
