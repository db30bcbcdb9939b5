"""Cursors: the last run whose changes each consumer of a site has received.

A cursor is one small file in the folder of the site, ``consumers/NAME.json``. Run ids
sort by time, so a cursor is useful even if its run was dropped.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from sitemap_harvest.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemap_harvest.snapshots.store.storage import Folder
    from sitemap_harvest.snapshots.store.store import History, Run

BEGINNING = ""
"""The run of a cursor that has not received any run."""
_CONSUMERS = "consumers"
_SUFFIX = ".json"


class Cursor(NamedTuple):
    """The last run whose changes a consumer has received."""

    consumer: str
    run: str
    """The id of the run; :data:`BEGINNING` if it is before the first."""


def cursors(history: History) -> list[Cursor]:
    """Return the cursors of the site, by the names of their consumers. Raises :exc:`StoreError`."""
    names = [name.removesuffix(_SUFFIX) for name in (history.folder / _CONSUMERS).names() if name.endswith(_SUFFIX)]
    found = (cursor_of(history, name) for name in names)
    return [cursor for cursor in found if cursor is not None]


def cursor_of(history: History, consumer: str) -> Cursor | None:
    """Return the cursor of *consumer*; ``None`` if it has none. Raises :exc:`StoreError` if it is damaged."""
    folder = history.folder / _CONSUMERS
    return _cursor_in(folder.read(consumer + _SUFFIX), folder, consumer)


def _cursor_in(data: bytes | None, folder: Folder, consumer: str) -> Cursor | None:
    if data is None:
        return None
    try:
        return Cursor(consumer, str(json.loads(data)["run"]))
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{folder}/{consumer}{_SUFFIX} is damaged: {error!r}") from error


def move(history: History, cursor: Cursor) -> None:
    """Store *cursor*. It never moves back: if two runs deliver concurrently, the later one wins."""
    name, folder = cursor.consumer + _SUFFIX, history.folder / _CONSUMERS
    data = json.dumps({"run": cursor.run}).encode()
    while True:
        was = folder.read(name)
        current = _cursor_in(was, folder, cursor.consumer)
        if (current is not None and current.run >= cursor.run) or folder.replace(name, data, was=was):
            return


def drop(history: History, consumer: str) -> bool:
    """Remove the cursor of *consumer*; return whether there was one."""
    name, folder = consumer + _SUFFIX, history.folder / _CONSUMERS
    has_one = folder.size(name) is not None
    folder.remove(name)
    return has_one


def runs_since(history: History, run: str) -> Sequence[Run]:
    """Return the runs after the run with id *run*, oldest first, preceded by their baseline.

    The baseline is *run* itself, or the last run before it if it was dropped: then
    changes are delivered again, but none is lost. If there is no such run, the list
    begins with the first run.
    """
    earlier = [number for number, one in enumerate(history.runs) if one.id <= run]
    return history.runs[max(earlier, default=0) :]


def gap(history: History, cursor: Cursor) -> str | None:
    """Return a message if changes after *cursor* are no longer available; ``None`` if all are."""
    if cursor.run == BEGINNING or not history.runs or history.runs[0].id <= cursor.run:
        return None
    first = history.runs[0].id
    return (
        f"{history.site}: {cursor.consumer} has received the changes up to the run {cursor.run}, which is not in the "
        f"store; the changes between that run and {first} are unknown"
    )


def runs_held(history: History) -> dict[str, list[str]]:
    """Return the IDs of the runs that each consumer needs to receive the changes after its cursor."""
    return {cursor.consumer: [run.id for run in runs_since(history, cursor.run)] for cursor in cursors(history)}
