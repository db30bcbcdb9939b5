"""From the text of an option to its value. Each raises :exc:`ValueError`, which says what is accepted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_FLAGS = {"yes": True, "on": True, "true": True, "1": True, "no": False, "off": False, "false": False, "0": False}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OF_THE_PING = frozenset({"sitemap", "site", "sites", "root"})
_OF_SCRAPYD = frozenset({"project", "spider", "spider_name", "priority", "settings", "name", "self"})
_PRIVATE = "SITEMAP_HARVEST_PRIVATE"
_SHORTEST_TOKEN = 16


def is_token(text: str) -> bool:
    """Whether *text* can be guessed by nobody soon, and sent in a header."""
    return len(text) >= _SHORTEST_TOKEN and text.isascii() and text.isprintable() and " " not in text


def tokens(text: str) -> tuple[str, ...]:
    """Read tokens that are separated by blanks."""
    found = tuple(text.split())
    if not all(map(is_token, found)):
        raise ValueError(f"each token must be of {_SHORTEST_TOKEN} characters or more, in ASCII")
    return found


def flag(text: str) -> bool:
    """Read a yes or a no."""
    if (value := _FLAGS.get(text.lower())) is None:
        raise ValueError("it must be yes or no")
    return value


def whole(least: int, most: int) -> Callable[[str], int]:
    """Return what reads a whole number from *least* to *most*."""

    def read(text: str) -> int:
        if not re.fullmatch("[0-9]{1,9}", text) or not least <= int(text) <= most:
            raise ValueError(f"it must be a whole number from {least} to {most}")
        return int(text)

    return read


def ports(text: str) -> tuple[int, ...]:
    """Read ports that are separated by blanks."""
    numbers = [int(part) if re.fullmatch("[0-9]{1,5}", part) else 0 for part in text.split()]
    if not numbers or not all(0 < number < 65536 for number in numbers):
        raise ValueError("it must be numbers from 1 to 65535, separated by blanks")
    return tuple(numbers)


def file(text: str) -> Path | None:
    """Read the path of a file; of nothing, ``None``."""
    if "\0" in text or "\n" in text:
        raise ValueError("it must be the path of a file")
    return Path(text) if text else None


def arguments(text: str) -> dict[str, str]:
    """Read arguments of a spider."""
    pairs = _pairs(text)
    for name in pairs:
        if name in _OF_THE_PING:
            raise ValueError(f"what is crawled is for the ping to say, so {name} cannot be given")
        if name in _OF_SCRAPYD or name.startswith("_"):
            raise ValueError(f"{name} is a name that Scrapyd uses itself")
    return pairs


def settings(text: str) -> dict[str, str]:
    """Read settings of Scrapy."""
    pairs = _pairs(text)
    if _PRIVATE in pairs:
        raise ValueError(f"{_PRIVATE} is for the service to set; see allow_private")
    return pairs


def _pairs(text: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.split("\n"))):
        name, sign, value = (part.strip() for part in line.partition("="))
        if not sign or not _NAME.fullmatch(name) or name in pairs:
            raise ValueError("it must be lines of the form name=value, each name once")
        pairs[name] = value
    return pairs
