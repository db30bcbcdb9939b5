"""The arguments that say what is kept in a store, and what is known from there."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from sitemap_harvest.dates import read_date
from sitemap_harvest.errors import ArgumentError

if TYPE_CHECKING:
    from sitemap_harvest.crawl.arguments import Arguments

_AGE = re.compile(r"(\d{1,9})(w|d|h|min|s)?", re.ASCII)
_SECONDS = {"w": 7 * 24 * 3600, "d": 24 * 3600, "h": 3600, "min": 60, "s": 1, None: 1}
_PLACES = ("latest", "previous", "first")
_RUN = re.compile(r"\d{8}(T\d{0,6}Z?(-[0-9a-f]{0,6})?)?", re.ASCII)
_CONSUMER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)  # it is part of the name of a file
_CHOICES = {"yes": True, "no": False}
_TARGETS = frozenset(
    {"site", "sites", "sitemap", "root", "store", "baseline", "consumer"}
    | {"emit", "resume", "full", "max_age", "browser"}
)  # and what changes how a document is asked for, but not what is known of it


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotWishes:
    """What the arguments for a store mean."""

    store: str | None = None
    """Where snapshots are kept, if an argument says so."""
    baseline: str | None = None
    """The snapshot that changes are against: ``None`` is the last."""
    consumer: str | None = None
    """Who has a cursor in the store, which the changes are against."""
    is_full: bool = False
    """Whether all is downloaded and read, whatever is known."""
    resumes: bool = False
    """Whether what a run that was interrupted has read is taken over."""
    polls: bool = False
    """Whether only the feeds are asked for that the last snapshot knows."""
    max_age: int | None = None
    """Seconds after which a document is downloaded again; ``None``: as the setting says."""


def snapshot_wishes(arguments: Arguments) -> SnapshotWishes:
    """Return what *arguments* say of a store. Raises :exc:`ArgumentError` at the first that is wrong."""
    store = None if arguments.store is None else str(arguments.store)
    return SnapshotWishes(
        store=store,
        baseline=_baseline(arguments.baseline),
        consumer=_consumer(arguments),
        is_full=_flag("full", arguments.full),
        resumes=_flag("resume", arguments.resume),
        polls=_flag("poll", arguments.poll),
        max_age=_age("max_age", arguments.max_age),
    )


def check_store(wishes: SnapshotWishes, emit: frozenset[str], store: str | None) -> None:
    """Raise :exc:`ArgumentError` if *wishes* or *emit* need a *store*, and there is none, or do not fit each other."""
    if wishes.consumer is not None and "changes" not in emit:
        message = f"argument consumer={wishes.consumer!r}: it receives changes; add changes to emit"
        raise ArgumentError("consumer", wishes.consumer, "given with emit=changes", message=message)
    if store is not None:
        return
    flags = {"full": wishes.is_full, "resume": wishes.resumes, "poll": wishes.polls}
    given: dict[str, Any] = {"baseline": wishes.baseline, "consumer": wishes.consumer, "max_age": wishes.max_age}
    given |= {name: "yes" for name, is_set in flags.items() if is_set}
    given["emit"] = ",".join(sorted(emit & {"changes", "summaries"})) or None
    for name, value in given.items():
        if value is None:
            continue
        message = f"argument {name}={value!r}: it needs snapshots; name a folder for them, such as store=snapshots"
        raise ArgumentError(name, value, "given with store", message=message)


def check_consumer_name(value: Any, *, option: str | None = None) -> None:
    """Raise :exc:`ArgumentError` if *value*, that of the argument or of an *option*, cannot name a consumer."""
    if not _CONSUMER.fullmatch(str(value)):
        accepted = "1 to 64 letters, digits, dots, hyphens and underscores, the first a letter or a digit"
        message = None if option is None else f"{option} {value}: it must be {accepted}"
        raise ArgumentError("consumer", value, accepted, message=message)


def asked_for(arguments: Arguments) -> dict[str, str]:
    """Return what a run was asked for beside its targets: the arguments that differ from what is usual, as text."""
    given = {}
    for one in fields(arguments):
        value = getattr(arguments, one.name)
        if one.name not in _TARGETS and value != one.default:
            given[one.name] = " ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    return given


def _baseline(value: Any) -> str | None:
    if value is None:
        return None
    text = str(value).strip()
    if text not in _PLACES and not _RUN.fullmatch(text) and read_date(text) is None:
        raise ArgumentError("baseline", value, f"{', '.join(_PLACES)}, the id of a run, a date or an instant")
    return text


def _consumer(arguments: Arguments) -> str | None:
    if (value := arguments.consumer) is None:
        return None
    check_consumer_name(value)
    if arguments.baseline is not None:
        message = f"argument consumer={value!r}: its cursor says what changes are against; leave baseline out"
        raise ArgumentError("consumer", value, "given without baseline", message=message)
    return str(value)


def _flag(name: str, value: Any) -> bool:
    if (word := str(value).strip().lower()) not in _CHOICES:
        raise ArgumentError(name, value, " or ".join(_CHOICES))
    return _CHOICES[word]


def _age(name: str, value: Any) -> int | None:
    if value is None:
        return None
    if not (match := _AGE.fullmatch(str(value).strip())):
        raise ArgumentError(name, value, "an age (2w, 7d, 36h, 90min) or a number of seconds")
    return int(match[1]) * _SECONDS[match[2]]
