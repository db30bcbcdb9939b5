"""What a target means that the user named without an argument: sites, or a document; for the command and Python."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sitemap_harvest.archive.files import is_archive, is_named_as_archive
from sitemap_harvest.config.arguments import ARGUMENTS
from sitemap_harvest.config.site_lists import FileKind, are_several, host_in, kind_of_file, without_typo
from sitemap_harvest.errors import ArgumentError, probably_meant
from sitemap_harvest.redact import without_login
from sitemap_harvest.urls import without_user

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TARGET = "a site, the URL of a sitemap, or a file"
_PATH = re.compile(r"[A-Za-z]:[\\/]|[.~]?[\\/]|\.\.")  # C:\x, ./x, ../x, ~/x
_FILE_NAME = re.compile(r"[^/]+\.(?:xml|gz|txt|csv|json|rss|atom|html?|zip)", re.IGNORECASE)


def arguments_of(targets: Iterable[str], given: Mapping[str, Any], *, prefers_sites: bool = False) -> dict[str, Any]:
    """Return the spider's arguments: those for *targets*, and the *given* ones.

    A target is a site (``site``), a file of sites (``sites``), or a sitemap, by URL or as
    a file (``sitemap``). A file of hosts, or of the home pages of several sites, is a file
    of sites. Raises :exc:`ArgumentError` for a target that is neither an existing file
    nor an address, or that may be a file of sites or of URLs, unless the caller *prefers_sites*.
    """
    found: dict[str, list[str]] = {}
    for target in targets:
        found.setdefault(_argument_for(target, prefers_sites=prefers_sites), []).append(target)
    arguments: dict[str, Any] = dict(given)
    for name, values in found.items():
        if name in given:
            message = f"argument {name}={given[name]!r}: the target {values[0]!r} is also given; give both as targets"
            raise ArgumentError(name, given[name], "given once", message=message)
        arguments[name] = values
    if not arguments:
        raise ArgumentError("TARGET", None, TARGET, message=f"nothing to harvest: give {TARGET}")
    return arguments


def notes_on(arguments: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """Return a line for each target that was taken for a file of sites; see :func:`arguments_of`."""
    files = [] if "sites" in given else arguments.get("sites", [])
    return [
        f"{file} lists sites: each is searched for sitemaps. To read it as a list of URLs, use sitemap={file}"
        for file in files
    ]


def is_site(target: str) -> bool:
    """Whether *target*, which is no file, is the URL of a site rather than of a document: it has no path."""
    try:
        parts = urlsplit(target if "://" in target else f"https://{target}")
    except ValueError:  # an unclosed bracket; checking the argument reports it
        return True
    if "://" not in target and "/" in target.strip("/"):
        return False
    return parts.scheme in {"http", "https"} and parts.path in {"", "/"} and not parts.query


def _argument_for(target: str, *, prefers_sites: bool) -> str:
    name, equals, _ = target.partition("=")
    if not target.strip():
        raise _error(target, f"TARGET is empty: give {TARGET}")
    if target == "-":
        message = "only the action validate reads standard input; save it to a file, and give the name of the file"
        raise _error(target, f"TARGET '-': {message}")
    if equals and name in ARGUMENTS:
        raise _error(target, f"TARGET {target!r} is an argument, not a target; write {target}")
    if target in ARGUMENTS and not Path(target).exists():
        message = f"TARGET {target!r} is the name of an argument: write {target}=VALUE; if it is a host, write https://{target}"
        raise _error(target, message)
    if are_several(target) and not os.path.exists(target):  # noqa: PTH110 - Path raises on a long text
        raise _error(target, f"TARGET {target!r} has several addresses: give each as a target of its own")
    if "://" in target:
        return "site" if is_site(target) else "sitemap"
    if os.path.exists(target):  # noqa: PTH110 - Path raises on a long text
        return _argument_for_path(target, prefers_sites=prefers_sites)
    if url := without_typo(target.strip()):
        raise _error(target, f"TARGET {target!r} is not a URL: write {url}")
    address = without_user(f"//{target.strip()}")[2:]
    host = address.partition("/")[0]
    if _PATH.match(target) or _is_missing_file(host, has_path="/" in address.strip("/")):
        raise _error(target, f"TARGET {target!r}: {_no_such_file(target)}")
    return "site" if is_site(target) else "sitemap"


def _argument_for_path(path: str, *, prefers_sites: bool) -> str:
    if is_named_as_archive(path) or (Path(path).is_dir() and is_archive(Path(path))):
        message = f"TARGET {path!r} is a web archive: give a site or a sitemap to read from it, and root={path}"
        raise _error(path, message)
    if Path(path).is_dir():
        site = "the site that it contains, such as https://www.example.com"
        raise _error(path, f"TARGET {path!r} is a folder: to read it in place of a site, give {site}, and root={path}")
    try:
        kind = kind_of_file(path) if Path(path).is_file() else FileKind.DOCUMENT  # reading a pipe would empty it
    except OSError:  # reported when it is read
        return "sitemap"
    if kind is FileKind.TABLE:
        hint = "save it as a text or CSV file with one column of hosts"
        raise _error(path, f"TARGET {path!r} is a spreadsheet, or has several columns of hosts: {hint}")
    if kind in {FileKind.MIXED, FileKind.HOME_PAGES}:
        if prefers_sites:
            return "sites"
        what = "both sites and pages" if kind is FileKind.MIXED else "only home pages of one site"
        choice = f"to search sites for sitemaps, use sites={path}; to read a list of URLs, use sitemap={path}"
        raise _error(path, f"TARGET {path!r} may be a list of sites or of URLs, because it lists {what}: {choice}")
    return "sites" if kind is FileKind.SITES else "sitemap"


def _is_missing_file(host: str, *, has_path: bool) -> bool:
    """Whether a target without a scheme that begins with *host* can only be a file."""
    is_host = host_in(host) is not None and not host.lower().endswith(".zip")  # also a top-level domain
    return not (is_host or host.startswith("[") or ("." not in host and not has_path))


def _no_such_file(target: str) -> str:
    if "*" in target or "[" in target:
        how = f"give its files, in Python as glob.glob({target!r}), in a shell without quotes"
        return f"there is no such file, and patterns are not expanded: {how}"
    path = Path(target)
    try:
        meant = probably_meant(path.name, os.listdir(path.parent))  # noqa: PTH208 - names, as text
    except OSError:
        meant = None
    if meant is not None:
        return f"there is no such file; did you mean {path.with_name(meant)}?"
    is_path = _PATH.match(target) or _FILE_NAME.fullmatch(target)
    hint = "" if is_path else f"; if it is on a host, write https://{target}"
    return f"there is no such file{hint}"


def _error(target: str, message: str) -> ArgumentError:
    return ArgumentError("TARGET", without_login(target), TARGET, message=message)
