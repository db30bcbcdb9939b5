"""From the text of a ``<loc>`` to a URL: trimmed, made absolute, and otherwise as published."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urljoin

BLANKS = (
    " \t\n\r\f\v\x00\x85\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\u200b\ufeff"
)
"""What is trimmed around a URL: everything that shows as nothing, also a no-break space or a byte order mark."""

_WEB = re.compile(r"https?://[^/?#\s\\]", re.IGNORECASE)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+\-]*):(//[^/?#\s]|file:///)?")
_NEARLY_ABSOLUTE = re.compile(r"(?:https?[:/]|www\.|[A-Za-z0-9.\-]+:\d+(?:/|$))", re.IGNORECASE)
_INNER_WHITESPACE = re.compile(f"[{BLANKS}\x01-\x1f\x7f]")


class Address(NamedTuple):
    """What a text is, taken as the address of a page."""

    loc: str | None
    """The URL; ``None`` if the text is none."""
    flaw: str | None
    """Code of the problem with it, ``None`` if there is none."""


def resolve(text: str, base: str | None) -> Address:
    """Return the URL that *text* means in a document at *base*.

    A relative URL is made absolute. What looks like an absolute URL with a
    slip (``http:/host``, ``https//host``, ``www.host``) is kept to the letter:
    joined to *base* it would become a URL that nobody published.
    """
    loc = text.strip(BLANKS)
    if not loc:
        return Address(None, "loc/empty")
    if _WEB.match(loc):
        return Address(loc, "loc/whitespace" if _INNER_WHITESPACE.search(loc) else None)
    if _NEARLY_ABSOLUTE.match(loc):
        return Address(loc, "loc/malformed")
    if scheme := _SCHEME.match(loc):
        has_host = scheme[2] or loc.lower().startswith("file:///")
        return Address(loc, "loc/scheme") if has_host else Address(None, "loc/not-a-url")
    return _join(loc, base)


def _join(loc: str, base: str | None) -> Address:
    if base is None or not _WEB.match(base):
        return Address(loc, "loc/malformed")
    try:
        joined = urljoin(base, loc)
    except ValueError:  # an IPv6 address that is none
        return Address(loc, "loc/malformed")
    return Address(joined, "loc/relative")
