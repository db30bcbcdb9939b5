"""Output conflicts: no output may overwrite an input of the run or another output."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from w3lib.url import file_uri_to_path

from sitemap_harvest.errors import OptionError
from sitemap_harvest.redact import without_login

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sitemap_harvest.discovery.candidate import Candidate


def check_output_conflicts(
    feeds: Iterable[object], candidates: Iterable[Candidate], *, sites: object, watched: Mapping[str, Path | None]
) -> None:
    """Raise :exc:`OptionError` if an output of the run is an input, or the same file as another output.

    *sites* is the argument of that name, and *watched* has the files that other
    settings name.
    """
    inputs = [file_uri_to_path(one.url) for one in candidates if one.url.startswith("file:")]
    users = {_real(path): "an input of the run" for path in inputs}
    if sites is not None:
        users[_real(str(sites))] = f"the argument sites={str(sites)!r}"
    outputs = [(f"the output {uri}", uri) for uri in map(str, feeds) if urlsplit(uri).scheme in {"", "file"}]
    for user, name in [*outputs, *watched.items()]:
        if name is None:
            continue
        path = _real(file_uri_to_path(name) if isinstance(name, str) and name.startswith("file:") else name)
        if path.exists() and not path.is_file():  # a device or a pipe, which several outputs may share
            continue
        if (other := users.setdefault(path, user)) != user:
            raise OptionError(without_login(f"{user} is the same file as {other}; use a different file for each"))


def _real(path: str | Path) -> Path:
    return Path(os.path.realpath(path))
