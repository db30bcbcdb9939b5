"""``SiteChallenge``: the state of the challenge of each site: solved, failed or none, and the clearance."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.http import Response

    from sitemap_harvest.browser.clearance import Clearance

MOST_FAILURES = 3
"""Number of documents that the browser may fail to reach before the site is given up; each may be the cause itself."""
MOST_SOLVED = 2
"""How often the challenge of a site is solved in a run: the clearance may expire, but not repeatedly."""


class SiteChallenge:
    """The challenge of one site. One browser page at a time works on it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.is_met = False
        """Whether a challenge was found."""
        self.solved = 0
        """How often the browser passed it; the number of the clearance that plain requests use."""
        self.clearance: Clearance | None = None
        """The last clearance."""
        self.cookies: Sequence[Any] = ()
        """The cookies of the last clearance, for the browser's next visit."""
        self.has_worked = False
        """Whether a plain request with the last clearance succeeded."""
        self.by_browser = False
        """Whether plain requests are blocked even with a clearance, so that the browser fetches each document."""
        self.failures = 0
        """How often the browser reached neither the document nor a challenge."""
        self.is_none = False
        """Whether the suspected challenge is a page of the site, because it stays in a browser too."""
        self.robots: Response | None = None
        """The robots.txt, if the browser has fetched it."""
        self.stays: str | None = None
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
