"""The canonical key of a URL: URLs with the same key are the same URL. And what follows from it: site, host, domain.

Spec: https://www.rfc-editor.org/rfc/rfc3986#section-6.2.2 (syntax-based) and section
6.2.3 (scheme-based normalisation), and no more: anything that could identify another
page stays different (query order, trailing slash, letter case of the path, ``www``, the
fragment). :func:`document_key` leaves out the user name and the fragment, which are never sent.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from string import ascii_lowercase, ascii_uppercase
from typing import TYPE_CHECKING

import idna

from sitemap_harvest.urls.address import IPV6_PATTERN, without_dot_segments

if TYPE_CHECKING:
    from tldextract import TLDExtract

_KEYS_KEPT = 64  # the same few URLs are looked up several times in a row; one may have a megabyte
_PARTS = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL)
_AUTHORITY = re.compile(rf"(?>(.*)@)?+({IPV6_PATTERN}|[^:\[\]]*)(?::([0-9]*))?", re.DOTALL)
_USER = re.compile(r"((?:[A-Za-z][A-Za-z0-9+.\-]*:)?//)([^/?#\\]*)@", re.DOTALL)
_DEFAULT_PORTS = {"http": "80", "https": "443", "ftp": "21"}
_KNOWN_SUFFIXES = frozenset(  # frequent, so that most runs need not load the list; and those of private networks
    {"com", "org", "net", "localhost", "local", "internal", "example", "test", "invalid", "lan", "home", "corp"}
)
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ESCAPE_OR_ILLEGAL = re.compile(r"%[0-9A-Fa-f]{2}|%|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?#%]++")
_ESCAPES = [f"%{byte:02X}" for byte in range(0x100)]
_TO_LOWER_CASE = str.maketrans(ascii_uppercase, ascii_lowercase)

_ATOM = r"[A-Za-z0-9\-_~!$&'()*+,;=:@]|%(?:[0189A-F][0-9A-F]|2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[B-DF])"
CANONICAL_PATTERN = (
    r"^https?://[a-z0-9-]+(?:\.[a-z0-9-]+)*"  # any host in lower-case letters, also 127.0.0.1 and punycode
    r"(?::(?:[1-9]|[1-79][0-9]|8[1-9]|[1-35-9][0-9]{2}|4[0-35-9][0-9]|44[0-24-9]|[1-9][0-9]{3,4}))?"  # not 80, 443
    rf"(?:/(?:(?:{_ATOM})(?:{_ATOM}|\.)*)?)+"  # segments that begin with a dot are handled by url_key
    rf"(?:\?(?:{_ATOM}|[./?])*)?$"
)
"""URLs that match this (with RE2, or ``re.fullmatch``) are their own key. Most do, and need no Python call."""
_USUAL = re.compile(
    r"https?://[a-z0-9-]++(?:\.[a-z0-9-]++)*+(?::[1-9][0-9]{3,4}+)?+"
    r"(?:/(?:[A-Za-z0-9\-_~!$&'()*+,;=:@][A-Za-z0-9\-._~!$&'()*+,;=:@]*+)?+)++"
)  # a subset of CANONICAL_PATTERN, four times as fast
_NO_NAME = re.compile(r".*[^\w.\-]|(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\Z", re.IGNORECASE | re.DOTALL)
"""Hosts that are not names: with a character that names lack, such as the colon of IPv6, or with a numeric last label.
"""
SITE = re.compile(r"([^:/?#]+://)(?:[^/?#]*@)?([^/?#]*)")


def url_key(url: str) -> str | None:
    """Return the canonical key of *url*, or ``None`` if it is no absolute URL with a host that can be parsed.

    The steps, as ``docs/explain/urls.md`` names them. *case*: scheme and host
    in lower case. *international host*: in punycode (UTS 46). *default port*:
    left out. *empty path*: becomes ``/``. *unreserved*: their escapes are
    undone. *escape case*: other escapes in upper case. *illegal characters*:
    escaped as UTF-8. *dot segments*: resolved, last, for an escaped dot is one
    too. User name, query and fragment stay.
    """
    if _USUAL.fullmatch(url):
        return url
    if not (match := _PARTS.fullmatch(url)):
        return None
    scheme, authority, path, query, fragment = match.groups(default="")
    scheme = scheme.lower()
    host = _authority(authority, scheme)
    if not host:
        return None
    path = without_dot_segments(_escaped(path)) or "/"
    return f"{scheme}://{host}{path}{_escaped(query)}{_escaped(fragment)}"


def without_user(url: str) -> str:
    """Return *url* without a user name and a password: they belong to the client."""
    return f"{match[1]}{url[match.end() :]}" if "@" in url and (match := _USER.match(url)) else url


def user_of(url: str) -> str | None:
    """Return the raw text before the ``@`` of the host of *url*; ``None`` if there is no ``@``."""
    match = _USER.match(url)
    return match[2] if match else None


@lru_cache(maxsize=_KEYS_KEPT)
def document_key(url: str) -> str:
    """Return the identity of the document at *url*: its key without user name and fragment."""
    address = without_user(url.partition("#")[0])  # not urldefrag(), which raises for an invalid host
    return url_key(address) or address


def site_of(url: str) -> str | None:
    """Return the site of *url* in canonical form, such as ``https://www.example.com``.

    ``None`` if *url* is not absolute. A default port is left out, a user name too.
    """
    key = url_key(url)
    return match[1] + match[2] if key and (match := SITE.match(key)) else None


def host_of(url: str) -> str:
    """Return host and port of *url*; empty for a file."""
    return url.partition("://")[2].partition("/")[0].lower()


def registrable_domain(host: str) -> str | None:
    """Return the registrable domain of *host*, such as ``example.co.uk``; ``None`` if it has none.

    IP addresses, public suffixes and single labels such as ``localhost`` have none.
    Under a suffix that is not in the list, such as ``internal``, it is the last two
    labels (https://github.com/publicsuffix/list/wiki/Format#algorithm). The private
    part of the list counts, so that ``this.github.io`` and ``that.github.io`` differ.
    """
    name = host.lower().removesuffix(".")
    if not name or _NO_NAME.match(name):
        return None
    found = _extract()(name)
    if found.suffix:
        return f"{found.domain}.{found.suffix}" if found.domain else None
    labels = name.split(".")
    return ".".join(labels[-2:]) if len(labels) > 1 and all(labels[-2:]) else None


def has_known_suffix(host: str) -> bool:
    """Whether *host* ends in a public suffix, such as ``com``, or in a name that is reserved for private use."""
    name = host.lower().removesuffix(".")
    return name.rpartition(".")[2] in _KNOWN_SUFFIXES or bool(_extract()(name).suffix)


def _authority(authority: str, scheme: str) -> str | None:
    if not (match := _AUTHORITY.fullmatch(authority)) or not match[2]:
        return None
    user, host, port = match.groups()
    host = _host(host)
    prefix = f"{_escaped(user)}@" if user else ""
    port = (port or "").lstrip("0") or (port and "0")  # as text: int() rejects thousands of digits
    suffix = f":{port}" if port and port != _DEFAULT_PORTS.get(scheme) else ""
    return prefix + host + suffix


def _host(host: str) -> str:
    if host.startswith("["):
        return host.lower()
    if not host.isascii():
        try:
            return idna.encode(host, uts46=True).decode("ascii")
        except idna.IDNAError:
            pass  # not a valid host name: escaped below, so that it still has a key
    if "%" not in host:
        return _escaped(host.translate(_TO_LOWER_CASE))
    return _escaped(_escaped(host).lower())  # again, for the escapes in upper case


def _escaped(text: str) -> str:
    return _ESCAPE_OR_ILLEGAL.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    found = match[0]
    if len(found) > 1 and found[0] == "%":  # an escape
        byte = int(found[1:], 16)
        return chr(byte) if byte in _UNRESERVED else _ESCAPES[byte]
    return "".join([_ESCAPES[byte] for byte in found.encode("utf-8", "surrogatepass")])


@cache
def _extract() -> TLDExtract:
    """Return the extractor with the list that it comes with: loaded on first use, because few runs need it."""
    from tldextract import TLDExtract

    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)
