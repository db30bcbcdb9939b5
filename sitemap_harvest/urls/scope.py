"""Which URLs a document may list, by where it lies and by whose robots.txt names it.

Spec: https://www.sitemaps.org/protocol.html#location (the location rule) and
https://www.sitemaps.org/protocol.html#sitemaps_cross_submits (the proof).
On columns: Python is called for each site of a batch, and for no row.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.urls.key import url_key
from sitemap_harvest.urls.site import site_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_PARTS = re.compile(r"([^:]+)://(\[[^\]]*\]|[^:/]*)")
_SITE_END = re.compile(r"(?<=[^:/])/.*")
_USER = r"^([^:/?#]+://)[^/?#]*@"
_NO_REASON = pa.scalar(None, pa.string())


class ScopeColumns(NamedTuple):
    """What a :class:`Scope` says of each URL of a batch."""

    in_scope: pa.BooleanArray
    """Whether the document may list it. Null where the URL has no key."""
    reason: pa.StringArray
    """What of the URL is not the document's: ``host``, ``scheme``, ``port`` or ``path``, the first of these that is
    not. Null where ``in_scope`` is not false."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The URLs that a document may list: those below its folders, and all of the sites that vouch for it."""

    folders: tuple[str, ...]
    """Folders that the document lies in, as keys with a slash at their end. Reasons are told against the first one."""
    vouched: frozenset[str] = frozenset()
    """Sites whose robots.txt names the document, or one that led to it."""

    @classmethod
    def of(cls, addresses: Iterable[str], vouched: Iterable[str] = ()) -> Self | None:
        """Return the scope of the document that lies at each of *addresses*, and that the sites *vouched* vouch for.

        The last address is the one that reasons are told against. ``None`` if it has no address on the web: where a
        local file will lie, nobody can tell.
        """
        last_first = reversed(tuple(addresses))
        folders = dict.fromkeys(folder for address in last_first if (folder := folder_of(address)))
        return cls(tuple(folders), frozenset(vouched)) if folders else None

    def columns(self, keys: pa.StringArray, sites: pa.StringArray) -> ScopeColumns:
        """Judge each URL of a batch by its key and its site; where one is null, the other is."""
        encoded = sites.dictionary_encode()
        reasons = [self._reason(site) for site in encoded.dictionary.to_pylist()]
        reason = pa.array(reasons, pa.string()).take(encoded.indices)
        is_own_site = pc.equal(reason, "path")
        if is_own_site.true_count:
            is_below = self._is_below(keys.filter(is_own_site))
            reason = pc.replace_with_mask(reason, is_own_site, pc.if_else(is_below, _NO_REASON, "path"))
        in_scope = reason.is_null()
        if keys.null_count:
            in_scope = pc.if_else(keys.is_valid(), in_scope, pa.scalar(None, pa.bool_()))
        return ScopeColumns(in_scope, reason)

    def _reason(self, site: str) -> str | None:
        """Return what of *site* is not the document's. ``path`` where all is: what lies below its folders may count."""
        if site in self.vouched:
            return None
        if any(folder.startswith(f"{site}/") for folder in self.folders):
            return "path"
        (scheme, host), (other_scheme, other_host) = _parts(self.folders[0]), _parts(site)
        if other_host != host:
            return "host"
        return "scheme" if other_scheme != scheme else "port"

    def _is_below(self, keys: pa.StringArray) -> pa.BooleanArray:
        """Return which of *keys*, of sites that the document lies on, are below its folders."""
        is_plain = _starts_with_any(keys, {_SITE_END.sub("/", folder) for folder in self.folders})
        if is_plain.false_count:  # a user name, which is no part of the place
            keys = pc.replace_substring_regex(keys, _USER, r"\1")
        return _starts_with_any(keys, self.folders)


def folder_of(address: str) -> str | None:
    """Return the folder of the document at *address*, as a key with a slash at its end; ``None`` if not on the web.

    A slash in the query or in the fragment is none of the path.
    """
    key, site = url_key(address), site_of(address)
    if key is None or site is None or not key.startswith(("http://", "https://")):
        return None
    path = re.split("[?#]", key, maxsplit=1)[0].partition("://")[2].partition("/")[2]
    return f"{site}/{path[: path.rfind('/') + 1]}"


def _starts_with_any(keys: pa.StringArray, prefixes: Iterable[str]) -> pa.BooleanArray:
    return reduce(pc.or_, (pc.starts_with(keys, prefix) for prefix in prefixes))


def _parts(url: str) -> tuple[str, str]:
    """Return scheme and host of *url*, a site or a folder."""
    scheme, host = _PARTS.match(url).groups()  # type: ignore[union-attr]  # each has both
    return scheme, host
