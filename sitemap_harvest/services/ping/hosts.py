"""The hosts whose sitemaps may be crawled."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from sitemap_harvest.plan.networks import host_key, literal

if TYPE_CHECKING:
    from collections.abc import Collection

_ENTRY = re.compile(r"(\*\.)?(\[[0-9A-Fa-f:.]+\]|[^\[\]/:*@?#%\s]+)(?::([0-9]{1,5}))?")
_NAME = re.compile(r"(?!-)[a-z0-9_\-]+(?<!-)(?:\.(?!-)[a-z0-9_\-]+(?<!-))*")
_LONGEST_NAME = 253
_ACCEPTED = "www.example.com, *.example.com, www.example.com:8080, or any"


@dataclass(frozen=True, slots=True)
class _Entry:
    host: str
    """The key of a host."""
    has_star: bool
    """Whether the hosts below it are meant, and not itself."""
    port: int | None
    """The one port, ``None`` for the usual ones."""


@dataclass(frozen=True, slots=True)
class Hosts:
    """A list of hosts."""

    entries: tuple[_Entry, ...] = ()
    any: bool = False
    """Whether every host is in it."""

    @classmethod
    def read(cls, text: str) -> Self:
        """Read a list that is separated by blanks. Raises :exc:`ValueError`, which says what is accepted."""
        words = text.split()
        is_any = "any" in words
        return cls(tuple(map(_entry, (word for word in words if word != "any"))), is_any)

    def __bool__(self) -> bool:
        return self.any or bool(self.entries)

    def __str__(self) -> str:
        return "any" if self.any else " ".join(map(_shown, self.entries))

    def allows(self, host: str, port: int, *, ports: Collection[int]) -> bool:
        """Whether *host*, a key, is in the list, and may be asked at *port*; *ports* are those of who has none."""
        if self.any and port in ports:
            return True
        return any(_is_in(host, entry) and _is_at(port, entry, ports) for entry in self.entries)

    def names(self, host: str, port: int, *, ports: Collection[int]) -> bool:
        """Whether *host*, a key, stands in the list to the letter, with *port* or as one of *ports*."""
        return any(host == entry.host and not entry.has_star and _is_at(port, entry, ports) for entry in self.entries)


def is_host(key: str) -> bool:
    """Whether *key* is an address, or a name that can be looked up."""
    return literal(key) is not None or (len(key) <= _LONGEST_NAME and _NAME.fullmatch(key) is not None)


def _entry(word: str) -> _Entry:
    match = _ENTRY.fullmatch(word)
    host = host_key(match[2].strip("[]")) if match else ""
    port = int(match[3]) if match and match[3] else None
    is_below_address = match and match[1] and literal(host) is not None
    if not match or not is_host(host) or is_below_address or port == 0 or (port or 0) > 65535:
        raise ValueError(f"{word!r} is no host; each must be of the form {_ACCEPTED}")
    return _Entry(host, bool(match[1]), port)


def _is_in(host: str, entry: _Entry) -> bool:
    return host.endswith(f".{entry.host}") if entry.has_star else host == entry.host


def _is_at(port: int, entry: _Entry, ports: Collection[int]) -> bool:
    return port in ports if entry.port is None else port == entry.port


def _shown(entry: _Entry) -> str:
    host = f"[{entry.host}]" if ":" in entry.host else entry.host
    return f"{'*.' if entry.has_star else ''}{host}{'' if entry.port is None else f':{entry.port}'}"
