"""Every exception that this package raises on purpose.

Raised where a caller must act. What is wrong with a *document* is a
:class:`~sitemap_harvest.model.Problem` instead: data, never an exception.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from os.path import commonprefix
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LIKENESS = 0.8  # sitmap is sitemap; category is no argument of ours
_WORD = re.compile(r"\S+")
_BEFORE_HOST = re.compile(r"(?<=//).*@", re.DOTALL)
_WITHOUT_SCHEME = re.compile(r"(?<![^'\"=(])[^'\"=(]+:(?!//).*@", re.DOTALL)
_NO_PORT = re.compile(r"(//[^\s/@:\[\]]*:)(?!\d*(?:[/?#'\"\s]|\Z))\S+?(?=['\"]?[:,]?(?:\s|\Z))")


class HarvestError(Exception):
    """Base of every exception that this package raises on purpose."""


class ArgumentError(HarvestError, ValueError):
    """An argument of a spider or of a command is wrong, or missing."""

    def __init__(self, name: str, value: object, accepted: str, *, message: str | None = None) -> None:
        """*message* says it where "it must be" and *accepted* would not."""
        super().__init__(without_login(message or f"argument {name}={value!r}: it must be {accepted}"))
        self.name = name  #: The argument's name.
        self.value = value  #: What was given.
        self.accepted = accepted  #: What is accepted instead, in words.


def without_login(text: str) -> str:
    """Return *text* with ``***`` for what may be a user name and a password in the addresses in it.

    It is for messages, whose addresses may be wrong: a password may hold what ends the name of a host.
    """
    return _NO_PORT.sub(r"\1***", _WORD.sub(_word_without_login, text))


def _word_without_login(word: re.Match[str]) -> str:
    # Up to the last @ alone, which is where each search succeeds at once: a value may be long.
    before, sign, rest = word[0].rpartition("@")
    return _WITHOUT_SCHEME.sub("***@", _BEFORE_HOST.sub("***@", before + sign)) + rest


def there_is_no(what: str, name: str, known: Iterable[str]) -> str:
    """Return that *name* is no *what*, such as "setting": the one that was probably meant, and all that are *known*."""
    names = list(known)
    meant = probably_meant(name, names)
    words = f"did you mean {meant}? There" if meant else "there"
    return f"there is no such {what}; {words} are {', '.join(names)}"


def probably_meant(name: str, known: Iterable[str]) -> str | None:
    """Return which of those *known* was probably meant by *name*; ``None`` if none is like it."""
    names = list(known)
    prefix = commonprefix(names)  # noqa: RUF071 - by characters is meant: all settings begin with the same ones
    alike = get_close_matches(name.removeprefix(prefix), [one.removeprefix(prefix) for one in names], 1, _LIKENESS)
    return f"{prefix}{alike[0]}" if alike else None


class OptionError(HarvestError, ValueError):
    """A setting is wrong: one of ``SITEMAP_HARVEST_*``, or one of Scrapy's for the output."""


class SchemaError(HarvestError, TypeError):
    """Columns do not have the names or types that the schema gives them."""


class StoreError(HarvestError):
    """Something is wrong with a store of snapshots: it is damaged, of a newer version, or in use by another run."""
