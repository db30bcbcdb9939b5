"""What a browser was let in with, for plain requests: the cookies of one site, and the name that the browser gave."""

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


class Pass:
    """Cookies of one site and a ``User-Agent``. It is shown to no other site."""

    def __init__(self, cookies: Iterable[dict[str, Any]], user_agent: str | None, *, host: str) -> None:
        """Take *cookies* as the browser tells of them, those for *host* only."""
        self._jar = CookieJar()
        self._user_agent = user_agent
        for cookie in cookies:
            domain = cookie["domain"].lstrip(".").lower()
            if host == domain or host.endswith(f".{domain}"):
                self._jar.set_cookie(_cookie(cookie))

    def put_on(self, request: Request) -> None:
        """Give *request* what the browser had, until :func:`take_off`."""
        request.meta[_KEPT] = {name: request.headers.getlist(name) for name in _HEADERS}
        bare = Request(request.url)
        self._jar.add_cookie_header(bare)
        if cookies := [*request.headers.getlist("Cookie"), *bare.headers.getlist("Cookie")]:
            request.headers["Cookie"] = b"; ".join(cookies)
        if self._user_agent is not None:
            request.headers["User-Agent"] = self._user_agent

    def learn(self, response: Response, request: Request) -> None:
        """Keep the cookies that *response* sets: sites give new ones before the old ones end."""
        self._jar.extract_cookies(response, Request(request.url))


def take_off(request: Request) -> None:
    """Give *request* back the headers that it had: it may be sent on to another site."""
    for name, values in request.meta.pop(_KEPT, {}).items():
        if values:
            request.headers.setlist(name, values)
        else:
            request.headers.pop(name, None)


def _cookie(given: dict[str, Any]) -> Cookie:
    domain = given["domain"]
    if "." not in domain.strip("."):
        domain = f"{domain}.local"  # as http.cookiejar calls a host without a dot
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
    """Return the scheme, host and port that *request* goes to: one site, as far as a wall is concerned."""
    url = urlparse_cached(request)
    return f"{url.scheme}://{url.netloc.rpartition('@')[2].lower()}"
