"""The site of a URL: scheme, host and port; and the registrable domain of a host."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from sitemap_harvest.urls.key import url_key

if TYPE_CHECKING:
    from tldextract import TLDExtract

_NO_NAME = re.compile(r".*[^\w.\-]|(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\Z", re.IGNORECASE | re.DOTALL)
"""Hosts that are not names: with a character that names lack, such as the colon of IPv6, or with a numeric last label.
"""
SITE = re.compile(r"([^:/?#]+://)(?:[^/?#]*@)?([^/?#]*)")


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


@cache
def _extract() -> TLDExtract:
    """Return the extractor with the list that it comes with: loaded on first use, because few runs need it."""
    from tldextract import TLDExtract

    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)
