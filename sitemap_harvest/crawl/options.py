"""The ``SITEMAP_HARVEST_*`` settings."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

from sitemap_harvest.errors import OptionError
from sitemap_harvest.formats import Limits
from sitemap_harvest.plan import Private

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

_ITEMS = ("auto", "rows")
_PREFIX = "SITEMAP_HARVEST_"
_CONTACT = re.compile(  # ASCII without blanks, and without ( ) \\ that would end or alter the comment it stands in
    r"https?://[!-'*-\[\]-~]+|(?:mailto:)?[!-'*-.0-?A-\[\]-~]+@[!-'*-.0-?A-\[\]-~]+", re.IGNORECASE
)


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
    max_urls: int = 1_000_000
    """Most URLs of one document (``SITEMAP_HARVEST_MAX_URLS``)."""
    max_unpacked: int = 200 * 1024 * 1024
    """Most bytes of one document after unpacking (``SITEMAP_HARVEST_MAX_UNPACKED``). Scrapy's own
    ``DOWNLOAD_MAXSIZE`` bounds the bytes as downloaded."""
    max_ratio: int = 200
    """Most bytes unpacked for each packed one, past the first 10 MiB (``SITEMAP_HARVEST_MAX_RATIO``)."""
    concurrency: int = 8
    """Most documents downloaded at a time (``SITEMAP_HARVEST_CONCURRENCY``). Scrapy's own settings for concurrency
    and delay hold besides."""
    bodies: int = 32 * 1024 * 1024
    """Bytes of documents that may be held in memory (``SITEMAP_HARVEST_BODIES``): where sitemaps are large, fewer are
    downloaded at a time."""
    offsite: bool = False
    """Whether an index may name sitemaps on other hosts (``SITEMAP_HARVEST_OFFSITE``). robots.txt always may:
    that is the protocol's proof of ownership."""
    private: Private = Private.NAMED
    """Who may lead to addresses of private networks (``SITEMAP_HARVEST_PRIVATE``). ``False``: only you, by naming a
    host. ``True``: documents and redirects too. ``never``: nobody, which is for runs that are started by requests from
    the web."""
    contact: str | None = None
    """Where who runs a site can reach you (``SITEMAP_HARVEST_CONTACT``): an e-mail address, or that of a page. It
    becomes part of the ``User-Agent``, unless you set ``USER_AGENT``."""

    @property
    def limits(self) -> Limits:
        """What bounds the reading of one document."""
        return Limits(unpacked_bytes=self.max_unpacked, ratio=self.max_ratio, urls=self.max_urls)

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        """Read the settings. Raises :exc:`OptionError`, which names the setting, its value and what is accepted."""
        known = {f"{_PREFIX}{option.name.upper()}" for option in fields(cls)}
        for name in settings:
            if str(name).startswith(_PREFIX) and name not in known:
                raise OptionError(f"{name}: there is no such setting; there are {', '.join(sorted(known))}")
        default = cls()  # with slots, cls.max_depth is the slot and not its default
        return cls(
            items=_choice(settings, "ITEMS", default.items, _ITEMS),
            max_depth=_whole(settings, "MAX_DEPTH", default.max_depth),
            max_documents=_whole(settings, "MAX_DOCUMENTS", default.max_documents),
            max_urls=_whole(settings, "MAX_URLS", default.max_urls),
            max_unpacked=_whole(settings, "MAX_UNPACKED", default.max_unpacked),
            max_ratio=_whole(settings, "MAX_RATIO", default.max_ratio),
            concurrency=_whole(settings, "CONCURRENCY", default.concurrency),
            bodies=_whole(settings, "BODIES", default.bodies),
            offsite=_flag(settings, "OFFSITE", default.offsite),
            private=_private(settings),
            contact=_contact(settings),
        )


def _choice(settings: BaseSettings, name: str, default: str, choices: tuple[str, ...]) -> str:
    value = settings.get(f"{_PREFIX}{name}", default)
    if value not in choices:
        raise OptionError(f"{_PREFIX}{name} is {value!r}; it must be one of {', '.join(choices)}")
    return str(value)


def _whole(settings: BaseSettings, name: str, default: int) -> int:
    value = settings.get(f"{_PREFIX}{name}", default)
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if number < 1:
        raise OptionError(f"{_PREFIX}{name} is {value!r}; it must be a whole number, 1 or more")
    return number


def _flag(settings: BaseSettings, name: str, default: bool) -> bool:  # noqa: FBT001 - a value, not a switch
    try:
        return settings.getbool(f"{_PREFIX}{name}", default)
    except ValueError as error:
        value = settings.get(f"{_PREFIX}{name}")
        raise OptionError(f"{_PREFIX}{name} is {value!r}; it must be True or False") from error


def _private(settings: BaseSettings) -> Private:
    name = f"{_PREFIX}PRIVATE"
    if (value := settings.get(name)) == Private.NEVER:
        return Private.NEVER
    try:
        return Private.ALWAYS if settings.getbool(name) else Private.NAMED
    except ValueError as error:
        raise OptionError(f"{name} is {value!r}; it must be True, False or {Private.NEVER}") from error


def _contact(settings: BaseSettings) -> str | None:
    name = f"{_PREFIX}CONTACT"
    if not (value := settings.get(name)):
        return None
    if not _CONTACT.fullmatch(str(value)):
        accepted = "an e-mail address, or one that begins with http:// or https://, in ASCII and without ( ) \\"
        raise OptionError(f"{name} is {value!r}; it must be {accepted}")
    return str(value)
