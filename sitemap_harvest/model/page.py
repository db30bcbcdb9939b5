"""``PageRecord``: what came of the request for one page, from a probe of listed URLs or from a crawl export."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - the schema is built from these annotations
from enum import StrEnum

from sitemap_harvest.model.item import ItemRecord
from sitemap_harvest.model.records import Cause  # noqa: TC001 - the same


class PageSource(StrEnum):
    """Where a page record comes from."""

    PROBE = "probe"
    """A request of this package for a URL that a sitemap lists."""
    CRAWL_EXPORT = "crawl-export"
    """A file of another crawler."""


@dataclass(kw_only=True, eq=False, repr=False)
class PageRecord(ItemRecord):
    """The response to the request for one page: a row of the table ``pages``, and a Scrapy item."""

    site: str
    """The site, as named by the user."""
    run: str
    """The run whose snapshot was audited."""
    source: PageSource
    url: str
    """The URL that was requested: for a probe, the ``loc`` as listed."""
    key: str | None
    """Canonical key of ``url``; ``None`` if it is invalid."""
    sitemap: str | None = None
    """The document that lists the URL; ``None`` if none does."""
    requested_at: datetime | None = None
    """When the last request for the page was sent; ``None`` if none was, or if a crawl export does not say."""
    method: str | None = None
    """Method of the last request: ``HEAD`` or ``GET``."""
    status: int | None = None
    """HTTP status after redirects; ``None`` if there is no such response."""
    error: str | None = None
    """Why there is no such response: a DNS error, a timeout, a redirect loop, a robots.txt rule; or that the response
    comes from a firewall instead of the site. ``None`` if the page responded."""
    cause: Cause | None = None
    """What kind of failure ``error`` is; ``None`` without one, or if a rule or a limit prevented the request."""
    redirects: tuple[str, ...] = ()
    """The URLs that redirects led to, in order; the last is ``final_url``, if that responded."""
    redirect_statuses: tuple[int, ...] = ()
    """The status of each redirect, in the same order."""
    final_url: str | None = None
    """The URL that sent the last response; ``None`` if none arrived."""
    content_type: str | None = None
    """The ``Content-Type`` header."""
    x_robots_tag: str | None = None
    """The ``X-Robots-Tag`` headers, joined by commas; ``None`` without one."""
    meta_robots: str | None = None
    """The ``robots`` meta tags, joined by commas; those for one crawler begin with its name, such as ``googlebot:
    noindex``. ``None`` without one, or if the body was not requested."""
    canonical: str | None = None
    """The canonical URL that the page or its ``Link`` header names, absolute; ``None`` without one."""
    last_modified: datetime | None = None
    """The ``Last-Modified`` header; ``None`` without one, or if it is invalid."""
    title: str | None = None
    """The title of the page; ``None`` without one, or if the body was not requested."""
    soft_404: str | None = None
    """The text of the page that says that there is nothing; ``None`` if none does."""
    indexable: bool | None = None
    """Whether the crawl export says that the page may be indexed; ``None`` if it does not say, and for a probe."""

    @property
    def is_disallowed(self) -> bool:
        """Whether the page was not requested because robots.txt disallows it."""
        return self.requested_at is None and "robots.txt" in (self.error or "")


def requested_in_words(pages: int, requested: int, disallowed: int, reason: str | None) -> str:
    """Return how many of the *pages* of a probe were *requested*, and why others were not.

    *reason*: why the first one that is not disallowed was not requested; ``None`` if there is none.
    """
    others = pages - requested - disallowed
    why = f" ({'the first ' if others > 1 else ''}because {reason})" if reason else ""
    parts = [(requested, "requested"), (disallowed, "disallowed by robots.txt"), (others, f"not requested{why}")]
    return ", ".join(f"{count:,} {what}" for count, what in parts if count or what == "requested")


def left_out_in_words(entries: int) -> str:
    """Return that a probe leaves out *entries*, and why."""
    return f"{entries:,} {'entry' if entries == 1 else 'entries'} left out (invalid, or on another host)"
