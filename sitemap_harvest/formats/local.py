"""``read``: the contents of bytes, of a file, or of an open file. Fetches nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from w3lib.url import file_uri_to_path

from sitemap_harvest.errors import ArgumentError
from sitemap_harvest.formats.collector import Limits
from sitemap_harvest.formats.document import Document
from sitemap_harvest.urls import site_of

_NO_LIMITS_NAMED = Limits()
_ABSOLUTE = "the absolute URL of the document, such as https://www.example.com/sitemap.xml"
Body = bytes | bytearray | memoryview | str | os.PathLike[str] | IO[bytes]


def read(
    body: Body, *, url: str | None = None, content_type: str | None = None, limits: Limits = _NO_LIMITS_NAMED
) -> Document:
    """Return the contents of *body*: a robots.txt, index, sitemap, list or feed, compressed or not.

    *body*: bytes, the path of a file, or a file that is open in binary mode. *url* is the
    absolute URL of the document, the base of relative URLs; without it, that of the file, and
    relative URLs are reported as a problem. *content_type* is that header, if there was
    one; it has little influence, because the kind is determined by the content.

    Fetches nothing: :func:`~sitemap_harvest.harvest` does. Never raises for the contents
    of a body: its flaws are in :attr:`Document.problems`. Raises :exc:`OSError` for a
    path that cannot be read, and :exc:`ArgumentError` for an address, or a *url* that is relative.
    """
    if url is not None and not _is_absolute(url):
        raise ArgumentError("url", url, _ABSOLUTE)
    content, own_url = _body_of(body)
    return Document(content, url=own_url if url is None else url, content_type=content_type, limits=limits)


def _is_absolute(url: object) -> bool:
    return isinstance(url, str) and (url.lower().startswith("file:") or site_of(url) is not None)


def _body_of(source: Body) -> tuple[bytes, str]:
    """Return the bytes of *source*, and its URL: that of the file, or empty if it is none.

    Raises :exc:`ArgumentError` for an address, :exc:`OSError` for a path that cannot be
    read, and :exc:`TypeError` for text and other types.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), ""
    if isinstance(source, str) and ("<" in source or "\n" in source):
        raise TypeError("read() takes the bytes of a document, not its text: encode it, or open its file with 'rb'")
    if isinstance(source, (str, os.PathLike)):
        return _of_path(os.fspath(source))
    if not hasattr(source, "read"):
        raise TypeError(f"read() takes the bytes of a document, a path or an open file, not {type(source).__name__}")
    body = source.read()
    if not isinstance(body, bytes):
        raise TypeError("read() takes a file of bytes: open it with 'rb'")
    name = getattr(source, "name", None)
    return body, Path(os.path.abspath(name)).as_uri() if isinstance(name, str) else ""  # noqa: PTH100 - keeps links


def _of_path(name: str) -> tuple[bytes, str]:
    path = name
    if "://" in name:
        if not name.lower().startswith("file:"):
            message = f"read() fetches nothing, and {name!r} is an address: use sitemap_harvest.harvest() to fetch it"
            raise ArgumentError("body", name, "bytes, a path or an open file", message=message)
        path = file_uri_to_path(name)
    try:
        return Path(path).read_bytes(), Path(os.path.abspath(path)).as_uri()  # noqa: PTH100 - keeps links
    except FileNotFoundError as error:
        words = f"{error.strerror} (read() fetches nothing: for an address, use sitemap_harvest.harvest())"
        raise FileNotFoundError(error.errno, words, name) from None
    except (IsADirectoryError, PermissionError) as error:
        if not Path(path).is_dir():
            raise
        words = (
            f"{error.strerror} (read() takes one document: for the site in a folder, use harvest(site, root=folder))"
        )
        raise type(error)(error.errno, words, name) from None  # on Windows, a folder is a PermissionError
