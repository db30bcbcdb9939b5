"""``need_of``: whether a plain response needs a browser, because it is a challenge or lacks its links.

Pure. The requested URL matters little: a challenge page looks the same for every URL,
and a regular page of the site is not a challenge.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sitemap_harvest.discovery.well_known import PAGES
from sitemap_harvest.formats.html.challenges import challenger
from sitemap_harvest.formats.html.page import look
from sitemap_harvest.formats.sniff import sniff
from sitemap_harvest.model import FoundBy, Kind

if TYPE_CHECKING:
    from sitemap_harvest.discovery.candidate import Candidate
    from sitemap_harvest.formats.html.page import Page

_PLAIN_WORDS = frozenset({401, 404, 407, 410, 451})  # these statuses are final answers
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainAnswer:
    """The facts of a response that decide whether it is the document."""

    status: int
    head: str
    """The beginning of its decoded body as text: see :attr:`sitemap_harvest.formats.source.Source.head`."""
    url: str
    """The final URL."""
    content_type: str | None = None
    retry_after: bool = False
    """Whether it has that header."""
    sets_cookie: bool = False
    """Whether its headers set a cookie."""
    wants_links: bool = False
    """Whether a page of links was requested, rather than a file: see :func:`wants_links`."""


def wants_links(candidate: Candidate) -> bool:
    """Whether *candidate* may be an HTML sitemap: named by the user, or probed as one."""
    if candidate.found_by is FoundBy.ARGUMENT:
        return not candidate.site_root
    return candidate.found_by is FoundBy.WELL_KNOWN and urlsplit(candidate.url).path in PAGES


def need_of(answer: PlainAnswer) -> BrowserNeed | None:
    """Return what a browser is needed for to get the document of *answer*; ``None`` if it would not help."""
    if answer.status in _PLAIN_WORDS or not answer.head.lstrip().startswith("<"):
        return None
    kind = sniff(answer.head, url=answer.url, content_type=answer.content_type)
    if kind not in _PAGES:
        return None
    page = look(answer.head)
    if kind is Kind.CHALLENGE or challenger(page) or _keeps_out(answer):
        return BrowserNeed.PASS
    if not 200 <= answer.status < 300 or kind in {Kind.LINKS, Kind.SOFT_404}:
        return None
    if _is_door(page, sets_cookie=answer.sets_cookie):
        return BrowserNeed.PROOF
    return BrowserNeed.RENDER if answer.wants_links and _is_unwritten(page) else None


def may_open(head: str) -> bool:
    """Whether the page that begins with *head* can replace itself; if not, waiting is useless."""
    page = look(head)
    return bool(_MOVES.search(page.tags) or _REFRESH.search(page.tags))


def _keeps_out(answer: PlainAnswer) -> bool:
    """Whether the status of a page refuses access; one with Retry-After is retried instead."""
    return answer.status in _KEEPS_OUT and not (answer.retry_after and answer.status in _WAITS)


def _is_door(page: Page, *, sets_cookie: bool) -> bool:
    """Whether the only purpose of *page* is to set a cookie and reload."""
    if len(page.words) > _MOST_WORDS_CHARS or len(_LINK.findall(page.tags)) > MOST_LINKS:
        return False
    by_script = bool(_AGAIN.search(page.scripts)) and (sets_cookie or bool(_COOKIE.search(page.scripts)))
    return by_script or (sets_cookie and bool(_REFRESH.search(page.tags)))


def _is_unwritten(page: Page) -> bool:
    """Whether *page* has scripts and almost no links."""
    return bool(_SCRIPT.search(page.tags)) and len(_LINK.findall(page.tags)) <= MOST_LINKS
