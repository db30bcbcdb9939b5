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
from sitemap_harvest.formats import Document, Limits
from sitemap_harvest.model import Kind
from sitemap_harvest.urls import site_of, without_user

if TYPE_CHECKING:
    from collections.abc import Iterator

STDIN = "-"
_ACCEPTED = "a file, a folder, a URL that begins with http:// or https://, or - for standard input"
_HOST = re.compile(r"(?:[a-z0-9\-]+\.)+[a-z0-9\-]+(?::\d+)?(?:/|\Z)", re.IGNORECASE)
_FLAGS = re.IGNORECASE | re.DOTALL
_PACKED = r"\.(?:gz|bz2|zst|br|zip)"
_SUFFIX = rf"\.(?:xml|rss|atom{{}})(?:{_PACKED})?\Z"
_CERTAIN = re.compile(r"\Arobots\.txt\Z|(?:sitemap|urllist).*" + _SUFFIX.format("|txt"), _FLAGS)
"""A file in a folder with such a name is meant to be a sitemap document, whatever its contents."""
_LIKELY = re.compile(f"{_CERTAIN.pattern}|{_SUFFIX.format('')}", _FLAGS)
"""A file with such a name is one unless it is other XML."""
_POSSIBLE = re.compile(rf"{_LIKELY.pattern}|\.(?:txt|text|json|rdf)\Z|\A[^.]+\Z|{_PACKED}\Z", _FLAGS)
"""A file with such a name is one if its contents are."""
_SITEMAPS = frozenset({Kind.SITEMAP, Kind.INDEX, Kind.FEED})
_URLS = re.compile(rb"https?://\S*(?:\s+https?://\S*|\t.*)*", re.IGNORECASE)
"""A line with nothing but URLs, or a URL and the columns of a table."""
_START_BYTES = 64 * 1024
_IGNORED = b"\xef\xbb\xbf \t\r\n"


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
    is_skipped: bool = False
    """Whether it was found in a folder, and does not look like a sitemap document."""
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
            if target.url not in targets or targets[target.url].is_skipped:
                targets[target.url] = target
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
        is_host = _HOST.match(name) and ("/" in name or not _LIKELY.search(name))
        refusal = f"there is no such file; if it is a URL, write https://{name}" if is_host else None
        yield Target(name=name, url=url, path=path, refusal=None if path.exists() else refusal)


def _below(folder: Path) -> Iterator[Target]:
    """Yield the sitemap documents below *folder*, sorted by name, the folders that cannot be read, and other files."""
    unread: list[OSError] = []
    paths: list[Path] = []
    for place, folders, files in os.walk(folder, onerror=unread.append):
        folders[:] = [name for name in folders if not name.startswith(".")]
        links = [name for name in folders if Path(place, name).is_symlink()]  # which are not followed
        paths += [Path(place, name) for name in (*files, *links) if not name.startswith(".")]
    found = {path: _is_sitemap(path) for path in sorted(paths)}
    for path in (path for path, is_sitemap in found.items() if is_sitemap):
        is_dead = path.is_symlink() and not os.path.exists(path)  # noqa: PTH110 - raises nothing
        yield _target_of(path, refusal="the symbolic link leads to no file" if is_dead else None)
    for error in unread:
        reason = f"the folder cannot be read: {(error.strerror or str(error)).lower()}"
        yield _target_of(Path(error.filename), refusal=reason)
    if not (any(found.values()) or unread):
        yield _target_of(folder, refusal="the folder contains no sitemap")
    others = (path for path, is_sitemap in found.items() if not is_sitemap)
    for path in sorted(others, key=lambda path: not _POSSIBLE.search(path.name)):  # those first that may be meant
        yield _target_of(path, is_skipped=True)


def _target_of(path: Path, *, refusal: str | None = None, is_skipped: bool = False) -> Target:
    url = Path(os.path.abspath(path)).as_uri()  # noqa: PTH100 - resolves .. and, unlike resolve(), no links
    return Target(name=str(path), url=url, path=path, refusal=refusal, is_skipped=is_skipped)


def _is_sitemap(path: Path) -> bool:
    """Whether *path* is a sitemap document, or is meant to be one, by its name and the start of its contents."""
    if not _POSSIBLE.search(path.name) or (os.path.exists(path) and not os.path.isfile(path)):  # noqa: PTH110, PTH113
        return False
    if _CERTAIN.search(path.name):
        return True
    try:
        with path.open("rb") as file:
            start = file.read(_START_BYTES)
    except OSError:
        return True  # its validation reports why
    document = Document(start, url=path.name, content_type=None, limits=Limits(), was_cut=len(start) == _START_BYTES)
    if _LIKELY.search(path.name):
        return document.kind is not Kind.XML
    text = next(document.blocks(), b"").lstrip(_IGNORED)
    if document.kind is Kind.LIST:
        return _lists_urls(text)
    return document.kind in _SITEMAPS and text[:1] in b"<{"  # others may quote one


def _lists_urls(text: bytes) -> bool:
    """Whether most lines of *text*, without comments and blank lines, are URLs."""
    lines = [line for line in map(bytes.strip, text.splitlines()) if line and not line.startswith(b"#")]
    return 2 * sum(_URLS.fullmatch(line) is not None for line in lines) > len(lines)
