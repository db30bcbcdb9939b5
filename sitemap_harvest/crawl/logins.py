"""Who the user is at which site, by the user names and passwords in the addresses that the user names."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING
from urllib.parse import unquote

from sitemap_harvest.errors import ArgumentError
from sitemap_harvest.urls import site_of, user_of, without_user

if TYPE_CHECKING:
    from collections.abc import Mapping


class Logins:
    """What the header ``Authorization`` says to each site (scheme, host and port), and to no other."""

    def __init__(self) -> None:
        self._headers: dict[str, str] = {}

    def take(self, name: str, url: str) -> str:
        """Return *url*, which the argument *name* gives, without its user name, and remember that.

        Raises :exc:`ArgumentError` if it is none, or its site was named with another one.
        """
        user, address = user_of(url), without_user(url)
        site = site_of(address)
        if not (user or "").strip(":") or site is None:
            return address
        header = _basic(name, user or "")
        if self._headers.setdefault(site, header) != header:
            message = f"argument {name}: {site} is named with two different logins; name it with one"
            raise ArgumentError(name, None, "one login for each site", message=message)
        return address

    @property
    def headers(self) -> Mapping[str, str]:
        """The values of ``Authorization`` by site.

        What was said to a site that speaks http is for its https as well: who answers there has heard it before.
        """
        plain = {site: header for site, header in self._headers.items() if site.startswith("http:")}
        twins = {f"https{site[4:]}": header for site, header in plain.items() if site.count(":") == 1}
        return {**twins, **self._headers}


def _basic(name: str, user: str) -> str:
    """Return the header for *user*, with a password behind a colon, both escaped as in an address.

    Spec: https://www.rfc-editor.org/rfc/rfc7617#section-2
    """
    login, _, password = user.partition(":")
    if ":" in (login := unquote(login)):
        message = f"argument {name}: a user name in an address has a colon in it (%3A), which no server can tell apart"
        raise ArgumentError(name, None, "a user name without a colon", message=message)
    return "Basic " + base64.b64encode(f"{login}:{unquote(password)}".encode()).decode()
