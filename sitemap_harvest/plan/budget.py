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
        for name, words, spent in (
            ("documents", "documents", site.documents),
            ("bytes", "bytes", site.bytes_downloaded),
            ("urls", "URLs", site.urls),
            ("seconds", "seconds", seconds),
        ):
            most = getattr(self, name)
            if most is not None and spent >= most:
                setting = f"SITEMAP_HARVEST_{_SETTINGS[name]}"
                return Refusal(
                    Outcome.OVER_LIMIT,
                    f"{setting} is {most:,}, and so many {words} of the site were spent before",
                    problem=f"limit/{name}",
                )
        return None

    def urls_left(self, site: Site) -> int | None:
        """Return how many more URLs of *site* may be read; ``None``: any number."""
        return None if self.urls is None else max(0, self.urls - site.urls)


_SETTINGS = {
    "documents": "MAX_DOCUMENTS",
    "bytes": "MAX_SITE_BYTES",
    "urls": "MAX_SITE_URLS",
    "seconds": "MAX_SITE_SECONDS",
}
