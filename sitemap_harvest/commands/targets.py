"""What the user names for a validation: files, folders, standard input and addresses."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from w3lib.url import file_uri_to_path

from sitemap_harvest.crawl.logins import Logins
from sitemap_harvest.crawl.named import document_address
from sitemap_harvest.errors import ArgumentError
from sitemap_harvest.urls import site_of, without_user

if TYPE_CHECKING:
    from collections.abc import Iterator

STDIN = "-"
_ACCEPTED = "a file, a folder, an address that begins with http:// or https://, or - for standard input"
_HOST = re.compile(r"(?:[a-z0-9\-]+\.)+[a-z0-9\-]+(?::\d+)?(?:/|\Z)", re.IGNORECASE)
_PACKED = ("", ".gz", ".bz2", ".zst", ".br", ".zip")
_SUFFIXES = tuple(kind + packed for kind in (".xml", ".rss", ".atom") for packed in _PACKED)
_NAMED = ("sitemap", "urllist")  # a text file below a folder is a list only if its name says so
_LIST_SUFFIXES = tuple(".txt" + packed for packed in _PACKED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One document to be validated."""

    name: str
    """What it is called in the output."""
    url: str
    """Its address; that of a file begins with ``file:``, and that of standard input is ``-``."""
    served_at: str | None = None
    """The address that a file will be served at, where the user says so."""
    path: Path | None = None
    """The file, where it is one."""
    is_found: bool = False
    """Whether it was found in a folder, where other files than ours lie too."""
    refusal: str | None = None
    """Why it cannot be read, as far as that is known."""

    @property
    def is_remote(self) -> bool:
        """Whether it is fetched from a server."""
        return self.path is None and self.url != STDIN


def targets_of(names: list[str], at: str | None = None, logins: Logins | None = None) -> list[Target]:
    """Return the documents that *names* stand for, each once. Raises :exc:`ArgumentError` for what is no name.

    User names in addresses go to *logins*.

    *at* is the address that the one file, or the files in the one folder, will be served at.
    """
    if not names:
        raise ArgumentError("TARGET", None, _ACCEPTED, message=f"nothing to validate: name {_ACCEPTED}")
    logins = Logins() if logins is None else logins
    targets: dict[str, Target] = {}
    for name in names:
        for target in _targets(name, logins):
            targets.setdefault(target.url, target)
    return [replace(target, served_at=_served_at(target, names, at)) for target in targets.values()]


def _served_at(target: Target, names: list[str], at: str | None) -> str | None:
    """Return *at*, with the name of the file behind it if it is the address of a folder."""
    if at is None:
        return None
    at = without_user(at)
    if not at.lower().startswith(("http://", "https://")) or site_of(at) is None:
        raise ArgumentError("--at", at, "an address that begins with http:// or https://")
    if len(names) > 1 or target.is_remote:
        raise ArgumentError("--at", at, "given with one file or one folder")
    if target.path is None or not at.endswith("/"):
        return at
    folder = Path(names[0]) if Path(names[0]).is_dir() else target.path.parent
    return at + quote(target.path.relative_to(folder).as_posix())


def _targets(name: str, logins: Logins) -> Iterator[Target]:
    if not name.strip():
        raise ArgumentError("TARGET", name, _ACCEPTED, message=f"a TARGET is empty: name {_ACCEPTED}")
    if name == STDIN:
        yield Target(name="standard input", url=STDIN)
        return
    try:
        url = document_address(name, logins)
    except ArgumentError as error:
        message = str(error).replace("argument sitemap=", "TARGET ", 1)
        raise ArgumentError("TARGET", name, error.accepted, message=message) from error
    if not url.startswith("file:"):
        yield Target(name=without_user(name if "://" in name else f"//{name}").removeprefix("//"), url=url)
        return
    path = Path(file_uri_to_path(url)) if "://" in name else Path(name)
    if path.is_dir():
        yield from _below(path)
    else:
        refusal = None
        if not path.exists() and _HOST.match(name) and ("/" in name or not _is_named_like_ours(name.lower())):
            refusal = f"there is no such file; if it is an address, write https://{name}"
        yield Target(name=name, url=url, path=path, refusal=refusal)


def _below(folder: Path) -> Iterator[Target]:
    """Yield the files below *folder* whose names are those of our documents, in the order of their names."""
    found = False
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if (
            _is_named_like_ours(path.name.lower())
            and not any(part.startswith(".") for part in parts)
            and path.is_file()
        ):
            found = True
            yield Target(name=str(path), url=_uri(path), path=path, is_found=not _is_surely_meant(path.name.lower()))
    if not found:
        yield Target(name=str(folder), url=_uri(folder), path=folder, refusal="there is no sitemap in this folder")


def _is_named_like_ours(name: str) -> bool:
    return name.endswith(_SUFFIXES) or _is_surely_meant(name)


def _is_surely_meant(name: str) -> bool:
    """Whether a file of that *name* is to be one of ours, whatever is in it."""
    return name == "robots.txt" or (name.endswith(_SUFFIXES + _LIST_SUFFIXES) and any(word in name for word in _NAMED))


def _uri(path: Path) -> str:
    return Path(os.path.abspath(path)).as_uri()  # noqa: PTH100 - without .. and, unlike resolve(), through no link
