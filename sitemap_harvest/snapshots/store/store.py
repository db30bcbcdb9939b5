"""``Store``: the histories of many sites, and queries over them."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING

import pyarrow as pa

from sitemap_harvest.errors import StoreError
from sitemap_harvest.snapshots.store.history import History
from sitemap_harvest.snapshots.store.manifest import FORMAT, check_format
from sitemap_harvest.snapshots.store.storage import Folder, shown
from sitemap_harvest.urls import site_of

if TYPE_CHECKING:
    from pathlib import Path

    from sitemap_harvest.snapshots.store.snapshot import Snapshot

_STORE = "store.json"
_SITE = "site.json"
_SITES = "sites"


def open_store(path: str | Path, *, create: bool = False) -> Store:
    """Open the store at *path*: a folder, or ``s3://bucket/folder``. With *create*, make it if there is none.

    Raises :exc:`StoreError` if there is none, or it cannot be read or written.
    """
    folder = Folder.at(path)
    try:
        if (data := folder.read(_STORE)) is None and not create:
            raise StoreError(f"store {shown(path)!r}: there is no store of snapshots")
        if data is None:
            folder.put(_STORE, json.dumps({"format": FORMAT}).encode())
        else:
            check_format(json.loads(data).get("format"), folder)
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"store {shown(path)!r}: {error}") from error
    except (ValueError, AttributeError) as error:
        raise StoreError(f"store {shown(path)!r}: {folder}/{_STORE} is damaged") from error
    return Store(folder)


class Store:
    """The snapshots of many sites. A *site* is the site or document that the user named."""

    def __init__(self, folder: Folder) -> None:
        """Open the store in *folder*."""
        self.folder = folder

    def sites(self) -> list[str]:
        """Return the sites that have a snapshot, sorted."""
        found = []
        for name in (self.folder / _SITES).names():
            folder = self.folder / _SITES / name
            if (data := folder.read(_SITE)) and History(site := json.loads(data)["site"], folder).runs:
                found.append(site)
        return sorted(found)

    def histories(self) -> list[History]:
        """Return the histories of the sites that have a snapshot, sorted by site."""
        return [self.history(site) for site in self.sites()]

    def query(self, sql: str, *, at: str = "latest", site: str | None = None) -> pa.Table:
        """Return the result of *sql*, one SELECT statement over the views. Raises :exc:`StoreError`.

        *at*: the snapshots that the views ``urls``, ``sitemaps`` and ``problems`` show:
        any value that :meth:`History.at` accepts, or ``all``. *site*: only that one.
        """
        from sitemap_harvest.snapshots.store.sql_views import Views  # DuckDB takes 0.1 seconds to load

        one = None if site is None else [self.site(site)]
        with Views(lambda: self.histories() if one is None else one, at=at) as views:
            return views.query(sql).read_all()

    def history(self, site: str) -> History:
        """Return the history of *site*, which may have no runs."""
        return History(site, self.folder / _SITES / folder_name(site))

    def site(self, name: str) -> History:
        """Return the history of the site *name*: as given to the run, or without ``https://``.

        Raises :exc:`StoreError` if there is none.
        """
        for site in dict.fromkeys((name, site_of(name) or name, site_of(f"https://{name}") or name)):
            if (history := self.history(site)).runs:
                return history
        known = self.sites()
        hint = f", only of {', '.join(known[:5])}{' and more' if len(known) > 5 else ''}" if known else ""
        raise StoreError(f"{name}: the store has no snapshot of it{hint}")

    def latest(self, site: str) -> Snapshot:
        """Return the last snapshot of *site*. Raises :exc:`StoreError` if there is none."""
        return self.site(site).at("latest")

    def begin(self, history: History) -> None:
        """Create the folder for the first run of a site."""
        if history.folder.size(_SITE) is None:
            history.folder.put(_SITE, json.dumps({"site": history.site}, ensure_ascii=False).encode())


def folder_name(site: str) -> str:
    """Return the folder name of *site*: readable and unique."""
    digest = hashlib.blake2s(site.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{re.sub(r'[^A-Za-z0-9.]+', '-', site)[:80].strip('-.')}-{digest}"
