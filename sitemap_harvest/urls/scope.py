"""The scope rule: which URLs a document may list, by its location and the robots.txt files that name it.

Spec: https://www.sitemaps.org/protocol.html#location (location) and
https://www.sitemaps.org/protocol.html#sitemaps_cross_submits (cross-submission). On
columns: Python code runs for each site of a batch, not for each row.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.urls.key import url_key

if TYPE_CHECKING:
    from collections.abc import Iterable

_PARTS = re.compile(r"([^:]+)://(\[[^\]]*\]|[^:/]*)")
_FOLDER = re.compile(r"(https?://)(?:[^/?#@]*+@)*+([^/?#@]*+/(?:[^?#]*/)?)")
_SITE_END = re.compile(r"(?<=[^:/])/.*")
_USER = r"^([^:/?#]+://)[^/?#]*@"
_NO_REASON = pa.scalar(None, pa.string())
_PATH = pa.scalar("path", pa.string())


class ScopeColumns(NamedTuple):
    """The scope of each URL of a batch."""

    in_scope: pa.BooleanArray
    """Whether the document may list it. Null if the URL has no key."""
    reason: pa.StringArray
    """The first part of the URL that differs from the document: ``host``, ``scheme``, ``port`` or ``path``. Null unless
    ``in_scope`` is false."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The URLs that a document may list: those below its folders, and all of the sites that authorize it."""

    folders: tuple[str, ...]
    """Folders of the document, as keys with a trailing slash. Reasons refer to the first one."""
    authorized: frozenset[str] = frozenset()
    """Sites whose robots.txt names the document, or a document that led to it."""

    @classmethod
    def of(cls, addresses: Iterable[str], authorized: Iterable[str] = ()) -> Self | None:
        """Return the scope of the document with the URLs *addresses*, authorized by the sites *authorized*.

        Reasons refer to the last URL. ``None`` without a web URL: the future location
        of a local file is unknown.
        """
        last_first = reversed(tuple(addresses))
        folders = dict.fromkeys(folder for address in last_first if (folder := folder_of(address)))
        return cls(tuple(folders), frozenset(authorized)) if folders else None

    def columns(self, keys: pa.StringArray, sites: pa.StringArray) -> ScopeColumns:
        """Return the scope of each URL of a batch by its key and its site, which are null together."""
        encoded = sites.dictionary_encode()
        reasons = [self._reason(site) for site in encoded.dictionary.to_pylist()]
        if len(reasons) == 1 and not keys.null_count and (reasons != ["path"] or not self._is_below(keys).false_count):
            reason = None if reasons == ["path"] else reasons[0]
            values = pa.scalar(reason is None, pa.bool_()), pa.scalar(reason, pa.string())
            return ScopeColumns(*(pa.repeat(value, len(keys)) for value in values))  # the same for all, as usual
        reason = pa.array(reasons, pa.string()).take(encoded.indices)
        is_own_site = pc.equal(reason, _PATH)
        if is_own_site.true_count:
            is_below = self._is_below(keys.filter(is_own_site))
            reason = pc.replace_with_mask(reason, is_own_site, pc.if_else(is_below, _NO_REASON, _PATH))
        in_scope = reason.is_null()
        if keys.null_count:
            in_scope = pc.if_else(keys.is_valid(), in_scope, pa.scalar(None, pa.bool_()))
        return ScopeColumns(in_scope, reason)

    def _reason(self, site: str) -> str | None:
        """Return the part of *site* that differs. ``path`` if none does: URLs below the folders may be in scope."""
        if site in self.authorized:
            return None
        if any(folder.startswith(f"{site}/") for folder in self.folders):
            return "path"
        (scheme, host), (other_scheme, other_host) = _parts(self.folders[0]), _parts(site)
        if other_host != host:
            return "host"
        return "scheme" if other_scheme != scheme else "port"

    def _is_below(self, keys: pa.StringArray) -> pa.BooleanArray:
        """Return which of *keys*, on sites of the document, are below its folders."""
        is_plain = _starts_with_any(keys, {_SITE_END.sub("/", folder) for folder in self.folders})
        if is_plain.false_count:  # a user name is not part of the location
            keys = pc.replace_substring_regex(keys, _USER, r"\1")
        return _starts_with_any(keys, self.folders)


def folder_of(address: str) -> str | None:
    """Return the folder of the document at *address*, as a key with a trailing slash; ``None`` if not a web URL.

    Slashes in the query or the fragment do not count.
    """
    match = _FOLDER.match(url_key(address) or "")
    return match and match[1] + match[2]


def _starts_with_any(keys: pa.StringArray, prefixes: Iterable[str]) -> pa.BooleanArray:
    return reduce(pc.or_, (pc.starts_with(keys, prefix) for prefix in prefixes))


def _parts(url: str) -> tuple[str, str]:
    """Return scheme and host of *url*, a site or a folder."""
    scheme, host = _PARTS.match(url).groups()  # type: ignore[union-attr]  # each has both
    return scheme, host
