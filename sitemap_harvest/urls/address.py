"""``resolve``: turns the text of a ``<loc>`` into an absolute URL, otherwise unchanged."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

MAX_BASE_CHARS = 2048
"""Maximum length of a base URL, as for URLs in the protocol: each reference adds it to the output."""

WHITESPACE = (
    " \t\n\r\f\v\x85\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\u200b\ufeff"
)
"""Characters trimmed around a URL: everything invisible, such as a no-break space or a byte order mark.

Not NUL: it fills files that were not written completely, so part of the URL may be
missing there.
"""

_PLAIN = re.compile(  # an absolute URL without special cases, as most are
    r"https?://[a-z0-9.\-]++(?::[0-9]*+)?/[A-Za-z0-9\-._~!$&'()*+,;=:@/?#]*+"
)
IPV6_PATTERN = r"\[[0-9A-Fa-f]*:[0-9A-Fa-f:.]+\]"
"""A host that is an IPv6 address; not all that match it are valid."""
_WEB = re.compile(r"https?://[^/?#\s\\]", re.IGNORECASE)
_AUTHORITY = re.compile(
    rf"https?://(?:[^/?#@]*@)?(?:{IPV6_PATTERN}|[^/?#@:\[\]]+)(?::[0-9]*)?(?=[/?#\\]|\Z)", re.IGNORECASE
)
_OTHER_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+\-]*:(?://[^/?#\s]|(?<=file:)///)", re.IGNORECASE)
_URL_INSIDE = re.compile(r"\s[A-Za-z][A-Za-z0-9+.\-]*+://")  # after text: the whole is no relative reference
_ANY_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+\-]*:")
_NEARLY_ABSOLUTE = re.compile(
    r"""[^/?#]*://  # with something before it, such as a quote, or without a host behind it
    |https?(?:[^A-Za-z0-9]{1,3}|%3A)(?:/|%2F){1,2}|https?:  # another sign for the colon, or a slash too few
    |www\.|(?:localhost|[A-Za-z0-9\-]+\.[A-Za-z0-9.\-]+):[0-9]+(?:/|\Z)  # a host without a scheme
    |/+\Z(?<=//)""",
    re.IGNORECASE | re.VERBOSE,
)
_PLAIN_REFERENCE = re.compile(  # without a colon, or anything else that an absolute URL could begin with
    r"(?:/(?!/)|(?!https?|www\.)[a-z0-9_])[a-z0-9\-._~!$&'()*+,;=@%/?#]*+", re.IGNORECASE
)
_PARTS = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*:)?(//[^/?#]*)?([^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL)
_SPACE_CHARACTER = re.compile(f"[{WHITESPACE}]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_TEMPLATE_MARKS = (("{{", "}}"), ("{%", "%}"), ("<%", "%>"), ("<?", "?>"), ("${", "}"))
_PLACEHOLDER = re.compile(r"%%[A-Za-z_][\w.\-]++%%", re.ASCII)
_BETWEEN = re.compile(r"[ \t\n]+")
_SEGMENT_END = re.compile(r"[/?#]")


class Address(NamedTuple):
    """The interpretation of a text as a page URL."""

    loc: str | None
    """The URL; ``None`` if the text is not one."""
    flaw: str | None
    """Code of the problem with it, ``None`` if there is none."""


def resolve(text: str, base: str | None) -> Address:
    """Return the URL that *text* means in a document at *base*.

    A relative URL is resolved. A malformed absolute URL (``http:/host``,
    ``https//host``, ``www.host``, one in quotes) is returned unchanged: joined to
    *base* it would become a URL that nobody published.
    """
    loc = text.strip(WHITESPACE)
    return Address(loc, None) if _PLAIN.fullmatch(loc) else _resolve_odd(loc, base)


def _resolve_odd(loc: str, base: str | None) -> Address:
    if _PLAIN_REFERENCE.fullmatch(loc) and "%%" not in loc:
        return _join(loc, base)
    if flaw := disqualifier(loc) if loc else "loc/empty":
        return Address(None, flaw)
    if _WEB.match(loc):
        return Address(loc, _flaw(loc))
    if _OTHER_SCHEME.match(loc):
        return Address(loc, "loc/scheme")
    if _NEARLY_ABSOLUTE.match(_SPACE_CHARACTER.sub("", loc)):
        return Address(loc, "loc/malformed")
    is_no_url = _ANY_SCHEME.match(loc) or _URL_INSIDE.search(loc)
    return Address(None, "loc/not-a-url") if is_no_url else _join(loc, base)


def disqualifier(text: str) -> str | None:
    """Return the code of the problem if *text* cannot be or contain a URL, ``None`` if there is none.

    The problem is a control character other than white space, or an unrendered template
    placeholder. A placeholder needs both of its delimiters: ``{id}`` of a URI template,
    JSON in a query and an escape such as ``{%22`` are none.
    """
    if _CONTROL.search(text):
        return "loc/control-character"
    if "{" not in text and "%" not in text and "<?" not in text:
        return None
    for opening, closing in _TEMPLATE_MARKS:
        if (start := text.find(opening)) >= 0 and text.find(closing, start + len(opening) + 1) >= 0:
            return "loc/template"
    return "loc/template" if _PLACEHOLDER.search(text) else None


def several(text: str) -> list[str]:
    """Return the URLs in *text*: several if whitespace separates them and each is a web URL; else *text* alone."""
    parts = _BETWEEN.split(text.strip(WHITESPACE))
    return parts if len(parts) > 1 and all(map(_WEB.match, parts)) else [text]


def web_line(text: str) -> str:
    """Return the only line of *text* that is a web URL, if there is exactly one; else *text*."""
    lines = [line for line in text.split("\n") if _WEB.match(line.strip(WHITESPACE))]
    return lines[0] if len(lines) == 1 else text


def _flaw(loc: str) -> str | None:
    if _SPACE_CHARACTER.search(loc):
        return "loc/whitespace"
    return None if _AUTHORITY.match(loc) else "loc/malformed"


def _join(loc: str, base: str | None) -> Address:
    if base is not None and len(base) > MAX_BASE_CHARS:
        return Address(None, "loc/long-base")
    if base is None or not (parts := _split(base)).is_web:
        return Address(loc, "loc/no-base")
    if loc[0] != "/" and _first_segment(loc) == parts.first_segment:  # the scheme is missing
        return Address(loc, "loc/malformed")
    joined = join(base, loc)
    has_own = ":" in loc or loc.startswith("//")  # a scheme or an authority
    is_sound = _AUTHORITY.match(joined) if has_own else parts.is_sound
    return Address(joined, "loc/relative") if is_sound else Address(loc, "loc/malformed")


def join(base: str, reference: str) -> str:
    """Return the relative *reference* resolved against *base*; any other reference unchanged.

    Spec: https://www.rfc-editor.org/rfc/rfc3986#section-5.2. Not ``urljoin()``, which
    drops an empty query and empty path segments, and so returns another page.
    """
    scheme, authority, path, query, folder = _split(base)[:5]
    if reference.startswith("/") and not reference.startswith("//") and "/." not in reference:
        return f"{scheme}{authority}{reference}"
    own_scheme, own_authority, own_path, own_query, own_fragment = _PARTS.match(reference).groups()  # type: ignore[union-attr]  # the same
    if own_scheme is not None:
        return reference
    if own_authority is not None:
        authority, path, query = own_authority, own_path, own_query
    elif own_path:
        path = without_dot_segments(own_path if own_path.startswith("/") else folder + own_path)
        query = own_query
    elif own_query is not None:
        query = own_query
    return f"{scheme}{authority}{path}{query or ''}{own_fragment or ''}"


class _Base(NamedTuple):
    """The parts of a base URL; empty if absent."""

    scheme: str
    authority: str
    path: str
    query: str
    folder: str
    first_segment: str
    """The text between the scheme and the first slash after it, in lower case."""
    is_web: bool
    """Whether it is a web URL."""
    is_sound: bool
    """Whether its host and port are valid."""


@lru_cache(maxsize=64)
def _split(base: str) -> _Base:
    scheme, authority, path, query, _ = _PARTS.match(base).groups(default="")  # type: ignore[union-attr]  # it always matches
    folder = path[: path.rfind("/") + 1] or "/"
    return _Base(
        scheme,
        authority,
        path,
        query,
        folder,
        first_segment=_first_segment(base.partition("://")[2]),
        is_web=_WEB.match(base) is not None,
        is_sound=_AUTHORITY.match(f"{scheme}{authority}{path or '/'}") is not None,
    )


def without_dot_segments(path: str) -> str:
    """Return the absolute *path* with ``.`` and ``..`` resolved (RFC 3986, section 5.2.4)."""
    if "/." not in path:
        return path
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in {".", ".."}:
        kept.append("")
    return "/" + "/".join(kept)


def _first_segment(text: str) -> str:
    return _SEGMENT_END.split(text, maxsplit=1)[0].lower()
