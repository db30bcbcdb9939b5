"""The documents that ``sitemap-harvest validate`` reads: files, those in folders, URLs, and standard input."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from w3lib.url import file_uri_to_path

from sitemap_harvest.config.targets import Credentials, document_address
from sitemap_harvest.errors import ArgumentError
from sitemap_harvest.urls import site_of, without_user

if TYPE_CHECKING:
    from collections.abc import Iterator

STDIN = "-"
_ACCEPTED = "a file, a folder, a URL that begins with http:// or https://, or - for standard input"
_HOST = re.compile(r"(?:[a-z0-9\-]+\.)+[a-z0-9\-]+(?::\d+)?(?:/|\Z)", re.IGNORECASE)
_SUFFIX = r"\.(?:xml|rss|atom{})(?:\.(?:gz|bz2|zst|br|zip))?\Z"
_CERTAIN = re.compile(r"\Arobots\.txt\Z|(?:sitemap|urllist).*" + _SUFFIX.format("|txt"), re.IGNORECASE | re.DOTALL)
"""A file of such a name is meant to be a sitemap document, whatever its contents."""
_SITEMAP = re.compile(f"{_CERTAIN.pattern}|{_SUFFIX.format('')}", re.IGNORECASE | re.DOTALL)
"""The names of the files in a folder that are validated, if they are not other XML."""
_LIST = re.compile(rb"(?:\xef\xbb\xbf)?\s*https?://\S*(?:\s+https?://\S*)*\s*", re.IGNORECASE)
"""The start of a text file that is validated whatever its name: only URLs."""
_START_BYTES = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One document to validate."""

    name: str
    """Its name in the output."""
    url: str
    """Its URL; ``file:`` for a file, ``-`` for standard input."""
    served_at: str | None = None
    """The URL that a file will be served at, if the user gives one."""
    path: Path | None = None
    """The path, if it is a file."""
    is_found: bool = False
    """Whether it was found in a folder, which may contain other files too."""
    refusal: str | None = None
    """Why it cannot be read, if known."""

    @property
    def is_remote(self) -> bool:
        """Whether it is fetched over the network."""
        return self.path is None and self.url != STDIN


def targets_of(names: list[str], at: str | None = None, logins: Credentials | None = None) -> list[Target]:
    """Return the documents of *names*, without duplicates. Raises :exc:`ArgumentError` for an invalid name.

    Logins in URLs are moved to *logins*. *at* is the URL that the one file, or the
    files in the one folder, will be served at.
    """
    if not names:
        raise ArgumentError("TARGET", None, _ACCEPTED, message=f"nothing to validate: give {_ACCEPTED}")
    logins = Credentials() if logins is None else logins
    targets: dict[str, Target] = {}
    for name in names:
        for target in _targets(name, logins):
            targets.setdefault(target.url, target)
    return [replace(target, served_at=_served_at(target, names, at)) for target in targets.values()]


def _served_at(target: Target, names: list[str], at: str | None) -> str | None:
    """Return *at*, with the name of the file appended if it is the URL of a folder."""
    if at is None:
        return None
    at = without_user(at)
    if not at.lower().startswith(("http://", "https://")) or site_of(at) is None:
        raise ArgumentError("--at", at, "a URL that begins with http:// or https://")
    if len(names) > 1 or target.is_remote:
        raise ArgumentError("--at", at, "used with a single local file or folder")
    if target.path is None or not at.endswith("/"):
        return at
    folder = Path(names[0]) if Path(names[0]).is_dir() else target.path.parent
    return at + quote(target.path.relative_to(folder).as_posix())


def _targets(name: str, logins: Credentials) -> Iterator[Target]:
    if name == STDIN:
        yield Target(name="standard input", url=STDIN)
        return
    if not name.strip():
        raise ArgumentError("TARGET", name, _ACCEPTED, message=f"TARGET is empty: give {_ACCEPTED}")
    try:
        url = document_address(name, logins)
    except ArgumentError as error:
        message = str(error).replace("argument sitemap=", "TARGET ", 1)
        raise ArgumentError("TARGET", name, error.accepted, message=message) from error
    path = Path(file_uri_to_path(url)) if "://" in name else Path(name)
    if not url.startswith("file:"):
        yield Target(name=without_user(name if "://" in name else f"//{name}").removeprefix("//"), url=url)
    elif path.is_dir():
        yield from _below(path)
    else:
        is_host = _HOST.match(name) and ("/" in name or not _SITEMAP.search(name))
        refusal = f"there is no such file; if it is a URL, write https://{name}" if is_host else None
        yield Target(name=name, url=url, path=path, refusal=None if path.exists() else refusal)


def _below(folder: Path) -> Iterator[Target]:
    """Yield the files below *folder* whose names are those of sitemap documents, and lists of URLs, sorted by name."""
    visible = (
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
    found = [path for path in visible if _SITEMAP.search(path.name) or _is_list(path)]
    for path in found or [folder]:
        yield Target(
            name=str(path),
            url=Path(os.path.abspath(path)).as_uri(),  # noqa: PTH100 - resolves .. and, unlike resolve(), no links
            path=path,
            is_found=bool(found) and not _CERTAIN.search(path.name),
            refusal=None if found else "the folder contains no sitemap",
        )


def _is_list(path: Path) -> bool:
    """Whether *path* is a text file whose first lines are URLs."""
    if path.suffix.lower() != ".txt":
        return False
    try:
        with path.open("rb") as file:
            start = file.read(_START_BYTES)
        return _LIST.fullmatch(start.rpartition(b"\n")[0] or start) is not None
    except OSError:
        return True  # its validation reports why
