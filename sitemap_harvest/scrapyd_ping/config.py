"""``PingConfig``: the section ``[sitemap_harvest]`` of ``scrapyd.conf``."""

from __future__ import annotations

import re
from configparser import ConfigParser
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from sitemap_harvest.errors import OptionError, there_is_no
from sitemap_harvest.network import host_key, literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_LABEL = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"  # RFC 1035, 2.3.4; underscores occur
HOST = rf"(\[[0-9a-f:.]+\]|{_LABEL}(?:\.{_LABEL})*)(?::([0-9]{{1,5}}))?"
"""The pattern of a host and its optional port, in lower case."""
_HOST = re.compile(rf"(\*\.)?{HOST}", re.IGNORECASE | re.ASCII)
_WEB_PORTS = (80, 443)
_SHORTEST_TOKEN = 16


class AllowedHost(NamedTuple):
    """One of the hosts whose sitemaps may be crawled."""

    host: str
    """In canonical form."""
    is_parent: bool
    """Whether it matches all hosts below it, but not itself."""
    ports: tuple[int, ...]

    def allows(self, host: str, port: int) -> bool:
        """Whether *host*, in canonical form, may be requested at *port*."""
        return port in self.ports and (host.endswith(f".{self.host}") if self.is_parent else host == self.host)


@dataclass(frozen=True, slots=True, kw_only=True)
class PingConfig:
    """The options, read and validated only here."""

    project: str
    """The Scrapyd project whose spider is run. Required."""
    hosts: tuple[AllowedHost, ...]
    """Hosts whose sitemaps may be crawled, separated by whitespace. Required. ``www.example.com``; ``*.example.com``
    for all hosts below it, but not itself; ``www.example.com:8080`` for this port only, instead of 80 and 443. Write
    international names in punycode."""
    tokens: tuple[str, ...] = field(repr=False)
    """Tokens that authorize pings, separated by whitespace, each of 16 characters or more. Required. With one per
    sender, you can withdraw one alone."""
    spider: str = "changes"
    """The spider, which must accept the argument ``sitemap``: ``changes`` (the default), ``sitemap``, or your own."""
    allow_private: bool = False
    """``yes`` if a host that is listed literally in ``hosts`` may be in a private network; ``no`` by default."""

    @classmethod
    def read(cls, items: Iterable[tuple[str, str]]) -> Self:
        """Read the options. Raises :exc:`OptionError`, which names the option, its value and the accepted values."""
        given, options = dict(items), {}
        for required in ("project", "hosts", "tokens"):  # after the options given, which are checked first
            given.setdefault(required, "")
        for name, value in given.items():
            if name not in _PARSERS:
                raise OptionError(f"{name}: {there_is_no('option', name, _PARSERS)}")
            text = value.strip()
            try:
                options[name] = _PARSERS[name](text)
            except ValueError as error:
                shown = "" if name == "tokens" and text else f" is {text[:200]!r}"
                raise OptionError(f"{name}{shown}: {error}") from None
        return cls(**options)


def _name(text: str) -> str:
    if not text:
        raise ValueError("it must not be empty")
    return text


def _hosts(text: str) -> tuple[AllowedHost, ...]:
    if not text:
        raise ValueError("it must name the hosts whose sitemaps may be crawled, such as www.example.com *.example.org")
    return tuple(map(_host, text.split()))


def _host(word: str) -> AllowedHost:
    match = _HOST.fullmatch(word)
    host = host_key(match[2].strip("[]")) if match else ""
    ports = (int(match[3]),) if match and match[3] else _WEB_PORTS
    is_address = literal(host) is not None
    if not match or (is_address and match[1]) or (":" in host and not is_address) or not 0 < ports[0] < 65536:
        raise ValueError(f"{word!r} must be of the form www.example.com, *.example.com or www.example.com:8080")
    return AllowedHost(host, bool(match[1]), ports)


def _tokens(text: str) -> tuple[str, ...]:
    tokens = tuple(text.split())
    if not tokens or not all(len(each) >= _SHORTEST_TOKEN and each.isascii() for each in tokens):
        raise ValueError(
            f"each token must have {_SHORTEST_TOKEN} ASCII characters or more; generate one with "
            "python -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    return tokens


def _flag(text: str) -> bool:
    if (value := ConfigParser.BOOLEAN_STATES.get(text.lower())) is None:
        raise ValueError("it must be yes or no")
    return value


_PARSERS: dict[str, Callable[[str], Any]] = {
    "project": _name,
    "hosts": _hosts,
    "tokens": _tokens,
    "spider": _name,
    "allow_private": _flag,
}
