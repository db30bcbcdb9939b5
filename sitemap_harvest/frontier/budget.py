"""The limits of one site: documents, bytes, URLs and seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sitemap_harvest.discovery.candidate import NotFetched
from sitemap_harvest.model import Outcome

if TYPE_CHECKING:
    from sitemap_harvest.discovery.site_state import SiteState


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of one site, or of one document that the user named; ``None``: no limit."""

    documents: int | None = None
    """Documents requested."""
    bytes: int | None = None
    """Bytes of bodies, as downloaded. Responses in flight when it is reached are still read."""
    urls: int | None = None
    """URLs listed by its documents."""
    seconds: float | None = None
    """Seconds between its first and its last request."""

    def refuse(self, site: SiteState, now: float) -> NotFetched | None:
        """Return which limit the harvest of *site* has reached at *now* (seconds), ``None`` if none."""
        seconds = 0.0 if site.started_at is None else now - site.started_at
        for most, spent, code, name in (
            (self.documents, site.documents, "limit/documents", "MAX_DOCUMENTS"),
            (self.bytes, site.bytes_downloaded, "limit/bytes", "MAX_SITE_BYTES"),
            (self.urls, site.urls, "limit/urls", "MAX_SITE_URLS"),
            (self.seconds, seconds, "limit/seconds", "MAX_SITE_SECONDS"),
        ):
            if most is not None and spent >= most:
                return NotFetched(Outcome.OVER_LIMIT, f"{name} ({most:,}) was reached", problem=code)
        return None
