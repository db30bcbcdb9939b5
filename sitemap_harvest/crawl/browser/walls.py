"""What is known of the wall of each site: whether it lets a browser in, and what it was let in with."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.http import Response

    from sitemap_harvest.crawl.browser.passes import Pass

MOST_FAILURES = 3
"""How many documents the browser may fail to reach, each of which may itself be why, before it is the wall."""
MOST_SOLVED = 2
"""How often one wall is got past in a run: what was given then may have ended, but not time and again."""


class Wall:
    """The wall of one site. One page of the browser at a time is at work on it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.is_met = False
        """Whether there is one."""
        self.solved = 0
        """How often a browser was let in; the number of the pass that plain requests have."""
        self.given: Pass | None = None
        """What it was let in with the last time."""
        self.cookies: Sequence[Any] = ()
        """The same for the browser, which comes back with it."""
        self.has_worked = False
        """Whether a plain request was answered that had the last pass."""
        self.by_browser = False
        """Whether plain requests are kept out with a pass too, so that each document is left to the browser."""
        self.failures = 0
        """How often the browser reached neither the document nor a wall."""
        self.is_none = False
        """Whether what looked like a wall is a page of the site: it stays as it is in a browser too."""
        self.robots: Response | None = None
        """The robots.txt, if the browser has brought it."""
        self.stays: str | None = None
        """Why the browser is not sent there any more, in words."""

    def let_in(self, given: Pass, cookies: Sequence[Any]) -> None:
        """Note that a browser was let in, and with what."""
        self.solved += 1
        self.given, self.cookies, self.has_worked = given, cookies, False

    def refuses(self, number: int) -> bool:
        """Note that a plain request was kept out that had the pass of that *number*; return whether that is the end."""
        if number != self.solved or not number or self.by_browser or self.stays is not None:
            return False
        if not self.has_worked:
            self.by_browser = True
        return self.has_worked and self.solved >= MOST_SOLVED
