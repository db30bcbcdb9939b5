"""``Clearance``: cookies and ``User-Agent`` with which the browser passed a challenge, for plain requests."""

from __future__ import annotations

from http.cookiejar import Cookie
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http.cookies import CookieJar
from scrapy.utils.httpobj import urlparse_cached

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.http import Response

_KEPT = "sitemap_harvest_headers"
_HEADERS = ("Cookie", "User-Agent")


class Clearance:
    """Cookies of one site and a ``User-Agent``, never sent to another site."""

    def __init__(self, cookies: Iterable[dict[str, Any]], user_agent: str | None, *, host: str) -> None:
        """Take *cookies* in the browser's format, only those for *host*."""
        self._jar = CookieJar()
        self._user_agent = user_agent
        for cookie in cookies:
            domain = cookie["domain"].lstrip(".").lower()
            if host == domain or host.endswith(f".{domain}"):
                self._jar.set_cookie(_cookie(cookie))

    def put_on(self, request: Request) -> None:
        """Add the clearance to *request*, until :func:`take_off`."""
        request.meta[_KEPT] = {name: request.headers.getlist(name) for name in _HEADERS}
        bare = Request(request.url)
        self._jar.add_cookie_header(bare)
        if cookies := [*request.headers.getlist("Cookie"), *bare.headers.getlist("Cookie")]:
            request.headers["Cookie"] = b"; ".join(cookies)
        if self._user_agent is not None:
            request.headers["User-Agent"] = self._user_agent

    def learn(self, response: Response, request: Request) -> None:
        """Store the cookies that *response* sets: sites renew them before they expire."""
        self._jar.extract_cookies(response, Request(request.url))


def take_off(request: Request) -> None:
    """Restore the original headers of *request*, which may be redirected to another site."""
    for name, values in request.meta.pop(_KEPT, {}).items():
        if values:
            request.headers.setlist(name, values)
        else:
            request.headers.pop(name, None)


def _cookie(given: dict[str, Any]) -> Cookie:
    domain = given["domain"]
    if "." not in domain.strip("."):
        domain = f"{domain}.local"  # the form of a host without a dot in http.cookiejar
    expires = given.get("expires", -1)
    return Cookie(
        version=0,
        name=given["name"],
        value=given["value"],
        port=None,
        port_specified=False,
        domain=domain,
        domain_specified=domain.startswith("."),
        domain_initial_dot=domain.startswith("."),
        path=given.get("path", "/"),
        path_specified=True,
        secure=given.get("secure", False),
        expires=None if expires < 0 else int(expires),
        discard=expires < 0,
        comment=None,
        comment_url=None,
        rest={},
    )


def origin_of(request: Request) -> str:
    """Return the scheme, host and port of *request*, which identify the site of a challenge."""
    url = urlparse_cached(request)
    return f"{url.scheme}://{url.netloc.rpartition('@')[2].lower()}"
