"""Whether a plain answer stands in the way of a document, and a browser may get past it.

Pure. What is asked for counts for little: a page that lets in whoever runs its
script is such a page wherever it comes, and what is a page of the site is no wall.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sitemap_harvest.formats.html.challenges import challenger
from sitemap_harvest.formats.html.page import look
from sitemap_harvest.formats.sniff import sniff
from sitemap_harvest.model import FoundBy, Kind
from sitemap_harvest.plan.discovery import PAGES

if TYPE_CHECKING:
    from sitemap_harvest.formats.html.page import Page
    from sitemap_harvest.plan.lead import Lead

_PLAIN_WORDS = frozenset({401, 404, 407, 410, 451})  # these mean what they say
_KEEPS_OUT = frozenset({403, 429, 503})
_WAITS = frozenset({429, 503})
_PAGES = frozenset({Kind.HTML, Kind.SOFT_404, Kind.CHALLENGE, Kind.LINKS})
_MOST_WORDS_CHARS = 1500  # there is next to nothing to read where a script only opens the door
MOST_LINKS = 3  # such as home, contact and imprint, beside what a script has yet to write

_COOKIE = re.compile(r"\bdocument\s*\.\s*cookie\s*=|\bcookieStore\s*\.\s*set\b|\bset_?cookie\s*\(", re.IGNORECASE)
_AGAIN = re.compile(
    r"\blocation\s*(?:\.\s*(?:reload|replace|assign)\s*\(|(?:\.\s*href\s*)?=[^=])|\.\s*submit\s*\(|\bhistory\s*\.\s*go\b",
    re.IGNORECASE,
)
_REFRESH = re.compile(r'<meta(?=[^\n]* http-equiv="refresh")[^\n]* content="\s*\d{0,2}(?!\d)', re.IGNORECASE)
"""After a minute and a half at most: what loads anew later is news, or ends a session."""
_MOVES = re.compile(r"<(?:script|iframe|frame)\b", re.IGNORECASE)
_LINK = re.compile(r"<a\b[^\n]* href=\"(?!#|javascript:)", re.IGNORECASE)
_SCRIPT = re.compile(r"<script\b", re.IGNORECASE)


class Need(StrEnum):
    """What a browser is needed for."""

    PASS = "pass"  # noqa: S105 - no password
    """A page stands in the place of the document, and may let a browser in."""
    PROOF = "proof"
    """The page sets cookies and moves on, as pages do that let browsers in, and as home pages do that ask for consent.

    It is the former if it goes anywhere by itself in a browser, and else what there is.
    """
    RENDER = "render"
    """The page is the document, but for the links, which its script has yet to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """An answer, as far as it tells whether it is the document."""

    status: int
    head: str
    """How its body begins, unpacked, as text: see :attr:`sitemap_harvest.formats.source.Source.head`."""
    url: str
    """The address that answered."""
    content_type: str | None = None
    retry_after: bool = False
    """Whether it has that header."""
    sets_cookie: bool = False
    """Whether it sets a cookie by its headers."""
    wants_links: bool = False
    """Whether a page of links was asked for, and not a file: see :func:`wants_links`."""


def wants_links(lead: Lead) -> bool:
    """Whether *lead* may be a site map for people: the user named it, or it is the guess that there is one."""
    if lead.found_by is FoundBy.ARGUMENT:
        return not lead.site_root
    return lead.found_by is FoundBy.WELL_KNOWN and urlsplit(lead.url).path in PAGES


def need_of(answer: Plain) -> Need | None:
    """Return what a browser is needed for to get what *answer* should have been; ``None`` if it would be of no use."""
    if answer.status in _PLAIN_WORDS or not answer.head.lstrip().startswith("<"):
        return None
    kind = sniff(answer.head, url=answer.url, content_type=answer.content_type)
    if kind not in _PAGES:
        return None
    page = look(answer.head)
    if kind is Kind.CHALLENGE or challenger(page) or _keeps_out(answer):
        return Need.PASS
    if not 200 <= answer.status < 300 or kind in {Kind.LINKS, Kind.SOFT_404}:
        return None
    if _is_door(page, sets_cookie=answer.sets_cookie):
        return Need.PROOF
    return Need.RENDER if answer.wants_links and _is_unwritten(page) else None


def may_open(head: str) -> bool:
    """Whether the page that begins with *head* can become another one by itself; else there is nothing to wait for."""
    page = look(head)
    return bool(_MOVES.search(page.tags) or _REFRESH.search(page.tags))


def _keeps_out(answer: Plain) -> bool:
    """Whether a page refuses by its status; one that says when to come again is waited for instead."""
    return answer.status in _KEEPS_OUT and not (answer.retry_after and answer.status in _WAITS)


def _is_door(page: Page, *, sets_cookie: bool) -> bool:
    """Whether *page* is there to set a cookie and to be asked for again, and for nothing else."""
    if len(page.words) > _MOST_WORDS_CHARS or len(_LINK.findall(page.tags)) > MOST_LINKS:
        return False
    by_script = bool(_AGAIN.search(page.scripts)) and (sets_cookie or bool(_COOKIE.search(page.scripts)))
    return by_script or (sets_cookie and bool(_REFRESH.search(page.tags)))


def _is_unwritten(page: Page) -> bool:
    """Whether *page* has scripts and next to no links."""
    return bool(_SCRIPT.search(page.tags)) and len(_LINK.findall(page.tags)) <= MOST_LINKS
