"""The exceptions of the package.

Raised if a caller must act. A flaw of a *document* is a
:class:`~sitemap_harvest.model.Problem` instead: data, never an exception.
"""

from __future__ import annotations

from difflib import get_close_matches
from os.path import commonprefix
from typing import TYPE_CHECKING, Any

from sitemap_harvest.redact import without_login

if TYPE_CHECKING:
    from collections.abc import Iterable

_LIKENESS = 0.8  # sitmap is similar to sitemap; category is not similar to any argument


class HarvestError(Exception):
    """Base of every exception that this package raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling, for pools of processes: by default, it would call ``__init__`` with the message alone."""
        return type(self).__new__, (type(self), *self.args), self.__dict__


class ArgumentError(HarvestError, ValueError):
    """An argument of a spider or a command is invalid or missing."""

    def __init__(self, name: str, value: object, accepted: str, *, message: str | None = None) -> None:
        """*message* replaces the default text "it must be" with *accepted*."""
        super().__init__(without_login(message or f"argument {name}={value!r}: it must be {accepted}"))
        self.name = name  #: Name of the argument.
        self.value = value  #: The invalid value.
        self.accepted = accepted  #: The accepted values, as text.


def there_is_no(what: str, name: str, known: Iterable[str]) -> str:
    """Return a message that *name* is no *what*, such as "setting", with the similar name and all *known* ones."""
    names = list(known)
    meant = probably_meant(name, names)
    words = f"did you mean {meant}? Valid" if meant else "valid"
    return f"unknown {what}; {words} {what}s: {', '.join(names)}"


def probably_meant(name: str, known: Iterable[str]) -> str | None:
    """Return the one of *known* that is similar to *name*; ``None`` if there is none."""
    names = list(known)
    prefix = commonprefix(names)  # noqa: RUF071 - by characters on purpose: all settings begin with the same ones
    alike = get_close_matches(name.removeprefix(prefix), [one.removeprefix(prefix) for one in names], 1, _LIKENESS)
    return f"{prefix}{alike[0]}" if alike else None


class OptionError(HarvestError, ValueError):
    """A setting is invalid: one of ``SITEMAP_HARVEST_*``, or a Scrapy setting for the output."""


class CrawlExportError(HarvestError, ValueError):
    """The file of another crawler cannot be read, or its columns are not recognized."""


class ArchiveError(HarvestError, ValueError):
    """A web archive cannot be read."""


class SchemaError(HarvestError, TypeError):
    """Columns do not have the names or types of the schema."""


class StoreError(HarvestError):
    """A store of snapshots is damaged, has a newer version, or is in use by another run."""


class DatabaseError(HarvestError):
    """A database cannot be written: it is not reachable, or a table has other columns."""


class ColumnError(DatabaseError):
    """Rows do not have the columns that a table, a key or a partition needs."""

    def __init__(self, message: str, column: str) -> None:
        super().__init__(message)
        self.column = column  #: The column.


class InvalidRunError(StoreError):
    """A text is neither a run ID, nor a date, nor a word such as ``latest``."""


class MissingPackageError(HarvestError, ImportError):
    """An optional package is not installed."""
