"""Every exception that this package raises on purpose.

Raised where a caller must act. What is wrong with a *document* is a
:class:`~sitemap_harvest.model.Problem` instead: data, never an exception.
"""

from __future__ import annotations

import re

_BEFORE_HOST = re.compile(r"(?<=//)\S*@")
_WITHOUT_SCHEME = re.compile(r"[^\s'\"=(]+:(?!//)\S*@")
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
    text = _WITHOUT_SCHEME.sub("***@", _BEFORE_HOST.sub("***@", text))
    return _NO_PORT.sub(r"\1***", text)


class OptionError(HarvestError, ValueError):
    """A setting is wrong: one of ``SITEMAP_HARVEST_*``, or one of Scrapy's for the output."""


class SchemaError(HarvestError, TypeError):
    """Columns do not have the names or types that the schema gives them."""


class StoreError(HarvestError):
    """Something is wrong with a store of snapshots: it is damaged, of a newer version, or in use by another run."""
