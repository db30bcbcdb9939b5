"""``Credentials``: ``Authorization`` headers from the user names and passwords in the URLs that the user gives."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from sitemap_harvest.errors import ArgumentError
from sitemap_harvest.urls import site_of, user_of, without_user

if TYPE_CHECKING:
    from collections.abc import Mapping


class Credentials:
    """``Authorization`` headers for each site (scheme, host and port); no other site gets them."""

    def __init__(self) -> None:
        self._headers: dict[str, str] = {}

    def take(self, name: str, url: str) -> str:
        """Return *url*, the value of the argument *name*, without its user name, and store the login for its site.

        Raises :exc:`ArgumentError` if the URL is invalid, or its site already has
        another login.
        """
        user, address = user_of(url), without_user(url)
        site = site_of(address)
        if not (user or "").strip(":") or site is None:
            return address
        header = _basic(name, user or "")
        if self._headers.setdefault(site, header) != header:
            message = f"argument {name}: two different logins are given for {site}; give one"
            raise ArgumentError(name, None, "one login for each site", message=message)
        return address

    @property
    def headers(self) -> Mapping[str, str]:
        """The ``Authorization`` headers by site.

        Credentials for an http site are also used for https on the same host, which has
        received them already.
        """
        plain = {site: header for site, header in self._headers.items() if site.startswith("http:")}
        twins = {f"https{site[4:]}": header for site, header in plain.items() if site.count(":") == 1}
        return {**twins, **self._headers}


def _basic(name: str, user: str) -> str:
    """Return the header for *user*, with a password after a colon, both percent-encoded as in a URL.

    Spec: https://www.rfc-editor.org/rfc/rfc7617#section-2
    """
    # Bytes, not text: only the server knows their encoding.
    login, _, password = user.encode("utf-8", "surrogateescape").partition(b":")
    if b":" in (login := unquote_to_bytes(login)):
        message = f"argument {name}: the user name in a URL contains a colon (%3A), which HTTP does not allow"
        raise ArgumentError(name, None, "a user name without a colon", message=message)
    return "Basic " + base64.b64encode(login + b":" + unquote_to_bytes(password)).decode()
