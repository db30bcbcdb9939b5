"""How much of one site is read at most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sitemap_harvest.model import Outcome
from sitemap_harvest.plan.lead import Refusal

if TYPE_CHECKING:
    from sitemap_harvest.plan.site import Site


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Ceilings for one site, or one document that the user named; ``None``: none."""

    documents: int | None = None
    """Documents that are asked for."""
    bytes: int | None = None
    """Bytes of bodies, as downloaded. What is on its way when it is reached is still read."""
    urls: int | None = None
    """URLs that its documents list."""
    seconds: float | None = None
    """From asking for its first document to asking for its last."""

    def refuse(self, site: Site, now: float) -> Refusal | None:
        """Return which ceiling the harvest of *site* has reached at *now* (seconds), or ``None`` if it has none."""
        seconds = 0.0 if site.started_at is None else now - site.started_at
        for most, spent, code, told in (
            (self.documents, site.documents, "limit/documents", "MAX_DOCUMENTS is {:,}, and so many were asked for"),
            (self.bytes, site.bytes_downloaded, "limit/bytes", "MAX_SITE_BYTES is {:,}, and so many were downloaded"),
            (self.urls, site.urls, "limit/urls", "MAX_SITE_URLS is {:,}, and so many were read"),
            (self.seconds, seconds, "limit/seconds", "MAX_SITE_SECONDS is {:,}, and so many have passed"),
        ):
            if most is not None and spent >= most:
                return Refusal(Outcome.OVER_LIMIT, told.format(most), problem=code)
        return None
