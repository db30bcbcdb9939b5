"""Each file of a run has one use: what is read is not written over, nor is one output by another."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from w3lib.url import file_uri_to_path

from sitemap_harvest.errors import OptionError, without_login

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from scrapy.settings import BaseSettings

    from sitemap_harvest.plan import Lead


def check_own_files(
    settings: BaseSettings, leads: Iterable[Lead], *, sites: object, watched: Mapping[str, Path | None]
) -> None:
    """Raise :exc:`OptionError` if an output of the run is what it reads, or another output.

    *sites* is the argument of that name, and *watched* has the files that other settings name.
    """
    users: dict[Path, str] = {}
    if sites is not None:
        users[_real(str(sites))] = f"the argument sites={str(sites)!r}"
    for lead in leads:
        if lead.url.startswith("file:"):
            users[_real(file_uri_to_path(lead.url))] = "what is read"
    for user, path in _outputs(settings, watched):
        if path.exists() and not path.is_file():  # a device or a pipe, which has room for all
            continue
        if (other := users.setdefault(path, user)) != user:
            raise OptionError(without_login(f"{user} is the same file as {other}; give each a file of its own"))


def _outputs(settings: BaseSettings, watched: Mapping[str, Path | None]) -> Iterator[tuple[str, Path]]:
    for uri in map(str, settings.getdict("FEEDS")):
        if urlsplit(uri).scheme in {"", "file"}:
            yield f"the output {uri}", _real(file_uri_to_path(uri) if uri.startswith("file:") else uri)
    yield from ((setting, path) for setting, path in watched.items() if path is not None)


def _real(path: str) -> Path:
    return Path(os.path.realpath(path))
