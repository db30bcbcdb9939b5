"""``Clearance``: cookies and ``User-Agent`` with which the browser passed a challenge, for plain requests."""

from __future__ import annotations

from email.utils import formatdate
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http import Response
from scrapy.http.cookies import CookieJar

if TYPE_CHECKING:
    from collections.abc import Iterable

_KEPT = "sitemap_harvest_headers"
_HEADERS = ("Cookie", "User-Agent")


class Clearance:
    """Cookies, each sent only to the hosts for which it was set, and a ``User-Agent``."""

    def __init__(self, cookies: Iterable[dict[str, Any]], user_agent: bytes | None) -> None:
        """Take *cookies* in the browser's format."""
        self._jar = CookieJar()
        self._user_agent = user_agent
        for cookie in cookies:
            self.learn(Response(f"https://{cookie['domain'].lstrip('.')}", headers={"Set-Cookie": _set_cookie(cookie)}))

    def put_on(self, request: Request) -> None:
        """Add the clearance to *request*, until :func:`take_off`."""
        request.meta[_KEPT] = {name: request.headers.getlist(name) for name in _HEADERS}
        bare = Request(request.url)
        self._jar.add_cookie_header(bare)
        if cookies := [*request.headers.getlist("Cookie"), *bare.headers.getlist("Cookie")]:
            request.headers["Cookie"] = b"; ".join(cookies)
        if self._user_agent is not None:
            request.headers["User-Agent"] = self._user_agent

    def learn(self, response: Response) -> None:
        """Store the cookies that *response* sets: sites renew them before they expire."""
        self._jar.extract_cookies(response, Request(response.url))


def take_off(request: Request) -> None:
    """Restore the original headers of *request*, which may be redirected to another site."""
    for name, values in request.meta.pop(_KEPT, {}).items():
        if values:
            request.headers.setlist(name, values)
        else:
            request.headers.pop(name, None)


def _set_cookie(given: dict[str, Any]) -> str:
    """Return the header that sets the cookie *given*, which is in the browser's format."""
    domain, expires = given["domain"], given.get("expires", -1)
    return "; ".join([
        f"{given['name']}={given['value']}",
        f"Path={given.get('path', '/')}",
        *([f"Domain={domain}"] if domain.startswith(".") else []),  # otherwise it is for the host alone
        *([f"Expires={formatdate(expires, usegmt=True)}"] if expires >= 0 else []),
        *(["Secure"] if given.get("secure") else []),
    ])  # fmt: skip
