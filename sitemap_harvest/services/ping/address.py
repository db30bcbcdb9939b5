"""The sitemap that a ping names, held against what the protocol wants and the configuration allows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sitemap_harvest.plan import Private, Reach
from sitemap_harvest.plan.networks import IPAddress, host_key, kind_of
from sitemap_harvest.services.ping.hosts import is_host
from sitemap_harvest.services.ping.refusal import Code, Refused
from sitemap_harvest.urls import url_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemap_harvest.services.ping.config import PingConfig

_MOST_CHARACTERS = 2048
_ESCAPED = re.compile(r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*")  # RFC 3986
_SIGNS_IN = re.compile(r"https?://([^/?#]*)", re.IGNORECASE)
_HOST_AND_PORT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.\-]+)(?::([0-9]{1,5}))?")
_WEB_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinged:
    """A sitemap that may be crawled, as far as its address tells."""

    url: str
    """As it was sent, decoded once."""
    key: str
    """Its canonical key: two pings with one key are for one sitemap."""
    host: str
    """The host, in the form that all its spellings have."""
    port: int
    may_be_private: bool
    """Whether the operator has named this host, and lets such hosts be private."""


def pinged(url: str, config: PingConfig) -> Pinged:
    """Return the sitemap at *url*. Raises :exc:`Refused` if it is no address of the web, or not one that is allowed."""
    _check_form(url)
    authority = _SIGNS_IN.match(url)[1]  # type: ignore[index]  # the form is right
    match = _HOST_AND_PORT.fullmatch(authority)
    key = url_key(url)
    if not match or key is None or match[1].endswith(".") or not is_host(host := host_key(match[1])):
        raise _bad("it must have a host that can be looked up")
    port = int(match[2] or _WEB_PORTS[url.partition(":")[0].lower()])
    if not 0 < port < 65536:
        raise _bad("its port must be from 1 to 65535")
    if not config.hosts.allows(host, port, ports=config.ports):
        raise Refused(Code.HOST_NOT_ALLOWED, "sitemaps of this host, at this port, are not taken")
    named = config.allow_private and config.hosts.names(host, port, ports=config.ports)
    found = Pinged(url=url, key=key, host=host, port=port, may_be_private=named)
    if _reach(found).refuse_url(url):
        raise _private()
    return found


def job_settings(sitemap: Pinged, found: Sequence[IPAddress]) -> dict[str, str]:
    """Return the settings that keep the crawl of *sitemap* where the ping may lead it; *found*, what a lookup gave.

    Raises :exc:`Refused` if no address may be connected to. The crawl looks the
    host up again, so the same rule goes with it.
    """
    if not found:
        raise Refused(Code.LOOKUP_FAILED, "the host of the sitemap has no address at present", Retry_After="60")
    if not (admitted := _reach(sitemap).admit(sitemap.host, sitemap.port, found)):
        raise _private()
    is_public = all(kind_of(address) is None for address in admitted)
    return {"SITEMAP_HARVEST_PRIVATE": Private.NEVER.value if is_public else "False"}


def _reach(sitemap: Pinged) -> Reach:
    reach = Reach(Private.NAMED if sitemap.may_be_private else Private.NEVER)
    reach.name(sitemap.url)
    return reach


def _check_form(url: str) -> None:
    if len(url) > _MOST_CHARACTERS:
        raise _bad(f"it must have {_MOST_CHARACTERS} characters at most")
    if not _ESCAPED.fullmatch(url):
        raise _bad("it must be URL-escaped: it has characters that no URL has, or a % without two digits")
    if not (match := _SIGNS_IN.match(url)) or not match[1]:
        raise _bad("it must be an absolute address that begins with http:// or https://")
    if "@" in match[1]:
        raise _bad("it must be without a user name")
    if "#" in url:
        raise _bad("it must be without a fragment (#)")
    try:
        urlsplit(url)
    except ValueError:
        raise _bad("it must be an address of the web") from None


def _bad(why: str) -> Refused:
    return Refused(Code.BAD_SITEMAP, f"sitemap is wrong: {why}")


def _private() -> Refused:
    return Refused(Code.PRIVATE_ADDRESS, "the host of the sitemap is one of a private network")
