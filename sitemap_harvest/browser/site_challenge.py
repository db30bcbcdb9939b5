"""``SiteChallenge``, the state of the challenge of a site, and ``Clearance``, with which plain requests pass it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http import Response
from scrapy.http.cookies import CookieJar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_FAILURES = 3
"""Number of documents that the browser may fail to reach before the site is given up; each may be the cause itself."""
MOST_SOLVED = 2
"""How often the challenge of a site is solved in a run: the clearance may expire, but not repeatedly."""
_KEPT = "sitemap_harvest_headers"
_HEADERS = ("Cookie", "User-Agent")


@dataclass(slots=True, kw_only=True)
class SiteChallenge:
    """The challenge of one site. One browser page at a time works on it."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    is_met: bool = False
    """Whether a challenge was found."""
    solved: int = 0
    """How often the browser passed it; the number of the clearance that plain requests use."""
    clearance: Clearance | None = None
    """The last clearance."""
    cookies: Sequence[Any] = ()
    """The cookies of the last clearance, for the browser's next visit."""
    has_worked: bool = False
    """Whether a plain request with the last clearance succeeded."""
    by_browser: bool = False
    """Whether plain requests are blocked even with a clearance, so that the browser fetches each document."""
    failures: int = 0
    """How often the browser reached neither the document nor a challenge."""
    is_none: bool = False
    """Whether the suspected challenge is a page of the site, because it stays in a browser too."""
    robots: Response | None = None
    """The robots.txt, if the browser has fetched it."""
    stays: str | None = None
    """Why the browser is not used for the site any more, as text."""

    def let_in(self, clearance: Clearance, cookies: Sequence[Any]) -> None:
        """Record that the browser passed the challenge, with its clearance."""
        self.solved += 1
        self.clearance, self.cookies, self.has_worked = clearance, cookies, False

    def refuses(self, number: int) -> bool:
        """Record that a plain request with the clearance *number* was blocked; return whether to give up."""
        if number != self.solved or not number or self.by_browser or self.stays is not None:
            return False
        if not self.has_worked:
            self.by_browser = True
        return self.has_worked and self.solved >= MOST_SOLVED


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
