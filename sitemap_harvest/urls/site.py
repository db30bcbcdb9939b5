"""The site of a URL: scheme, host and port."""

from __future__ import annotations

import re

from sitemap_harvest.urls.key import url_key

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
