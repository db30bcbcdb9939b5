"""The section ``[sitemap_harvest]`` of ``scrapyd.conf``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from sitemap_harvest.errors import OptionError, there_is_no
from sitemap_harvest.services.ping import readers
from sitemap_harvest.services.ping.hosts import Hosts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

_SECRET = frozenset({"tokens", "arguments", "settings"})  # what stands in them is not for a log


@dataclass(frozen=True, slots=True, kw_only=True)
class PingConfig:
    """The options, read and checked here once."""

    project: str = ""
    """The project whose spider is run, as Scrapyd calls it. Must be given."""
    spider: str = ""
    """The spider, which has to take the argument ``sitemap``: ``changes``, ``sitemap``, or one of your own. Must be
    given."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """More arguments of the spider: ``name=value``, one a line."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings of Scrapy for the job: ``NAME=value``, one a line."""
    hosts: Hosts = field(default_factory=Hosts)
    """Hosts whose sitemaps may be crawled, separated by blanks: ``www.example.com``; ``*.example.com`` for all below
    it, and not itself; one with a port, ``www.example.com:8080``, at that port alone; or ``any``. Must be given."""
    ports: tuple[int, ...] = (80, 443)
    """The ports at which they may be asked, separated by blanks."""
    allow_private: bool = False
    """Whether a host that stands in ``hosts`` to the letter may be one of a private network."""
    tokens: tuple[str, ...] = field(default=(), repr=False)
    """Tokens that open the service, separated by blanks, each of 16 characters or more. Better kept elsewhere: in
    ``token_file``, or in the environment variable ``SITEMAP_HARVEST_PING_TOKENS``."""
    token_file: Path | None = None
    """A file of tokens, one a line, or a name and a token: the name goes into the access log. What follows a ``#`` is
    passed over. It is read anew for each ping."""
    get: bool = False
    """Whether the protocol's own form is taken too, ``GET /ping?sitemap=...``. The token is in a header then."""
    repeat_minutes: int = 10
    """A ping for a sitemap whose last job was scheduled less than this long ago makes no new one. 0: only as long as
    that job is pending or running."""
    per_minute: int = 10
    """Most pings a minute with one token, and most wrong tokens a minute from one address."""
    per_minute_all: int = 60
    """Most pings a minute over all tokens."""
    max_pending: int = 20
    """Most jobs of pings that may be pending."""
    access_log: Path | None = None
    """A file that gets one line of JSON for each request. Without it, they go into Scrapyd's log."""
    forwarded: bool = False
    """Whether the last address in ``X-Forwarded-For`` is taken for the sender's. Only behind a proxy of your own that
    sets it."""

    @classmethod
    def read(cls, items: Iterable[tuple[str, str]]) -> Self:
        """Read the options. Raises :exc:`OptionError`, which names the option, its value and what is accepted."""
        values = {}
        for name, text in items:
            if name not in _READERS:
                raise OptionError(f"{name}: {there_is_no('option', name, _READERS)}")
            try:
                values[name] = _READERS[name](text.strip())
            except ValueError as error:
                shown = "" if name in _SECRET else f" is {text[:200]!r}"
                raise OptionError(f"{name}{shown}: {error}") from None
        return cls(**values)

    def check_complete(self) -> None:
        """Raise :exc:`OptionError` if an option is missing that a service which is open must have."""
        for name in ("project", "spider"):
            if not getattr(self, name):
                raise OptionError(f"{name} is missing, and has no default")
        if not self.hosts:
            raise OptionError("hosts is missing: name the hosts whose sitemaps may be crawled, or 'any'")


_READERS: dict[str, Callable[[str], Any]] = {
    "project": str,
    "spider": str,
    "arguments": readers.arguments,
    "settings": readers.settings,
    "hosts": Hosts.read,
    "ports": readers.ports,
    "allow_private": readers.flag,
    "tokens": readers.tokens,
    "token_file": readers.file,
    "get": readers.flag,
    "repeat_minutes": readers.whole(0, 7 * 24 * 60),
    "per_minute": readers.whole(1, 10_000),
    "per_minute_all": readers.whole(1, 10_000),
    "max_pending": readers.whole(1, 10_000),
    "access_log": readers.file,
    "forwarded": readers.flag,
}
