"""``need_of``: whether a browser is needed, because a response is a challenge page or lacks its links.

The requested URL matters little: a challenge page looks the same for every URL, and a
regular page of the site is not a challenge.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sitemap_harvest.discovery.well_known import PAGES
from sitemap_harvest.formats.html.page import challenger, look
from sitemap_harvest.formats.sniff import binary_format, sniff
from sitemap_harvest.formats.source import Source
from sitemap_harvest.integration.document_requests import candidate_of
from sitemap_harvest.model import FoundBy, Kind

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from sitemap_harvest.formats import Limits
    from sitemap_harvest.formats.html.page import Page

_FINAL = frozenset({304, 401, 404, 407, 410, 451})
_KEEPS_OUT = frozenset({403, 429, 503})
_WAITS = frozenset({429, 503})
_PAGES = frozenset({Kind.HTML, Kind.SOFT_404, Kind.CHALLENGE, Kind.LINKS})
_MOST_WORDS_CHARS = 1500  # a page whose only purpose is its script has almost no text
MOST_LINKS = 3  # such as home, contact and legal notice, beside links that a script adds

_COOKIE = re.compile(r"\bdocument\s*\.\s*cookie\s*=|\bcookieStore\s*\.\s*set\b|\bset_?cookie\s*\(", re.IGNORECASE)
_AGAIN = re.compile(
    r"\blocation\s*(?:\.\s*(?:reload|replace|assign)\s*\(|(?:\.\s*href\s*)?=[^=])|\.\s*submit\s*\(|\bhistory\s*\.\s*go\b",
    re.IGNORECASE,
)
_REFRESH = re.compile(r'<meta(?=[^\n]* http-equiv="refresh")[^\n]* content="\s*\d{0,2}(?!\d)', re.IGNORECASE)
"""A delay of a minute and a half at most: later reloads refresh news, or end a session."""
_MOVES = re.compile(r"<(?:script|iframe|frame)\b", re.IGNORECASE)
_LINK = re.compile(r"<a\b[^\n]* href=\"(?!#|javascript:)", re.IGNORECASE)
_SCRIPT = re.compile(r"<script\b", re.IGNORECASE)


class BrowserNeed(StrEnum):
    """What a browser is needed for."""

    PASS = "pass"  # noqa: S105 - no password
    """The page replaces the document, and may admit a browser."""
    PROOF = "proof"
    """The page sets cookies and reloads, as challenges do, but also home pages that ask for consent.

    It is a challenge if it navigates by itself in a browser; otherwise it is the
    document.
    """
    RENDER = "render"
    """The page is the document, but its script has yet to add the links."""


def need_of(request: Request, response: Response, limits: Limits, *, has_cookies: bool = False) -> BrowserNeed | None:
    """Return what a browser is needed for to get the document of *request*; ``None`` if it would not help.

    *has_cookies*: whether *response* set a cookie, although its headers do not show it.
    """
    if response.status in _FINAL or not (head := _head(response, limits)).startswith("<"):
        return None
    kind = sniff(head, url=response.url, content_type=_content_type(response))
    if kind not in _PAGES:
        return None
    page = look(head)
    is_temporary = response.status in _WAITS and "Retry-After" in response.headers  # such a response is retried
    if kind is Kind.CHALLENGE or challenger(page) or (response.status in _KEEPS_OUT and not is_temporary):
        return BrowserNeed.PASS
    if not 200 <= response.status < 300 or kind in {Kind.LINKS, Kind.SOFT_404}:
        return None
    if _only_sets_cookie(page, by_header=has_cookies or "Set-Cookie" in response.headers):
        return BrowserNeed.PROOF
    lacks_links = _SCRIPT.search(page.tags) and len(_LINK.findall(page.tags)) <= MOST_LINKS
    return BrowserNeed.RENDER if lacks_links and _wants_links(request) else None


def may_navigate(response: Response, limits: Limits) -> bool:
    """Whether the page of *response* can replace itself; if not, waiting is useless."""
    page = look(_head(response, limits))
    return bool(_MOVES.search(page.tags) or _REFRESH.search(page.tags))


def _head(response: Response, limits: Limits) -> str:
    """Return the beginning of the decoded body of *response*, without leading whitespace; empty if it is binary."""
    encodings = ",".join(value.decode("latin-1") for value in response.headers.getlist("Content-Encoding"))
    source = Source(
        body=response.body,
        url=response.url,
        content_type=_content_type(response),
        limits=limits,
        content_encodings=tuple(filter(None, map(str.strip, encodings.lower().split(",")))),
    )
    return "" if binary_format(source.start.data) else source.start.head.lstrip()


def _content_type(response: Response) -> str:
    return (response.headers.get("Content-Type") or b"").decode("latin-1")


def _wants_links(request: Request) -> bool:
    """Whether *request* may be for an HTML sitemap rather than a file: named by the user, or probed as one."""
    if (candidate := candidate_of(request)) is None:
        return False
    if candidate.found_by is FoundBy.ARGUMENT:
        return not candidate.site_root
    return candidate.found_by is FoundBy.WELL_KNOWN and urlsplit(candidate.url).path in PAGES


def _only_sets_cookie(page: Page, *, by_header: bool) -> bool:
    """Whether the only purpose of *page* is to set a cookie and reload."""
    if len(page.words) > _MOST_WORDS_CHARS or len(_LINK.findall(page.tags)) > MOST_LINKS:
        return False
    by_script = bool(_AGAIN.search(page.scripts)) and (by_header or bool(_COOKIE.search(page.scripts)))
    return by_script or (by_header and bool(_REFRESH.search(page.tags)))
