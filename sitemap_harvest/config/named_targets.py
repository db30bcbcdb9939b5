"""What a target means that the user named without an argument: a site, or a document; for the command and Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sitemap_harvest.config.arguments import ARGUMENTS
from sitemap_harvest.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TARGET = "a site, the URL of a sitemap, or a file"


def arguments_of(targets: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spider's arguments: *targets* and the *given* ones of ``-a``. Raises :exc:`ArgumentError`."""
    for target in targets:
        name, equals, _ = target.partition("=")
        if not target.strip():
            raise ArgumentError("TARGET", target, TARGET, message=f"TARGET is empty: give {TARGET}")
        if equals and name in ARGUMENTS:
            message = f"TARGET {target!r} is an argument, not a target; write -a {target}"
            raise ArgumentError("TARGET", target, TARGET, message=message)
    arguments: dict[str, Any] = dict(given)
    sites = [target for target in targets if is_site(target)]
    for name, values in (("site", sites), ("sitemap", [target for target in targets if target not in sites])):
        if values and name in given:
            message = f"argument {name}={given[name]!r}: the target {values[0]!r} is also given; give both as targets"
            raise ArgumentError(name, given[name], "given once", message=message)
        if values:
            arguments[name] = values
    if not arguments:
        raise ArgumentError("TARGET", None, TARGET, message=f"nothing to harvest: give {TARGET}")
    return arguments


def is_site(target: str) -> bool:
    """Whether *target* is the URL of a site rather than of a document: it has no path."""
    try:
        parts = urlsplit(target if "://" in target else f"https://{target}")
    except ValueError:  # an unclosed bracket; checking the argument reports it
        return True
    suffixes = (".xml", ".gz", ".txt", ".rss", ".atom")
    if "://" not in target and ("/" in target.strip("/") or target.endswith(suffixes) or Path(target).exists()):
        return False
    return parts.scheme in {"http", "https"} and parts.path in {"", "/"} and not parts.query
