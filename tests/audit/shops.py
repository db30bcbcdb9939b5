"""A store with sites whose report has all parts, is empty, or tries to run scripts; each is made without a crawl."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sitemap_harvest.audit.audit import Audit
from sitemap_harvest.audit.site_audit import SiteAudit
from sitemap_harvest.model import Alternate, FoundBy, Image, Kind, Outcome, SitemapRef
from tests.audit.auditing import _Facts, urls
from tests.snapshots.store.making import SITE

if TYPE_CHECKING:
    from pathlib import Path

    from sitemap_harvest.snapshots.store import Store

SHOP = SITE
CLEAN = "https://clean.example"
NOTHING = "https://nothing.example"
EMPTY = "https://empty.example"
HOSTILE = "https://hostile.example"
SITES = (SHOP, CLEAN, NOTHING, EMPTY, HOSTILE)
INDEX = f"{SHOP}/index.xml"
PRODUCTS = f"{SHOP}/products.xml"
MISSING = f"{SHOP}/missing.xml"
BEGAN = datetime(2026, 11, 1, 3, 0, tzinfo=UTC)
HARMFUL = (
    "</script><script>document.title='run'</script>",
    "<img src=x onerror=document.title='run'>",
    "\"onmouseover=\"document.title='run'",
    "\u202egnp.exe\x1b[31m\u2028",
    "{{ 7 * 7 }}",
    "a" * 3_000,
)
"""Texts that try to leave their place in the page."""


def store(path: Path) -> Store:
    """Return the store with all sites: four runs of the shop, and one of each other site."""
    making = _Facts(path, compares=True)
    making.facts = {
        f"{SHOP}/robots.txt": {"kind": Kind.ROBOTS, "found_by": FoundBy.ARGUMENT, "status": 200, "seconds": 0.1},
        INDEX: {"kind": Kind.INDEX, "parent": f"{SHOP}/robots.txt", "depth": 1, "seconds": 0.2},
        PRODUCTS: {"parent": INDEX, "depth": 2, "bytes_downloaded": 1_200, "bytes_unpacked": 12_000, "seconds": 2.5},
        MISSING: {"parent": INDEX, "depth": 2, "outcome": Outcome.ABSENT, "status": 404, "reason": "status 404"},
    }
    for run in range(4):
        making.run(_shop(run), result="found", reason="robots.txt names a sitemap")
    making.facts = {
        f"{CLEAN}/robots.txt": {"kind": Kind.ROBOTS, "found_by": FoundBy.ARGUMENT, "root": CLEAN},
        f"{CLEAN}/sitemap.xml": {"root": CLEAN},
    }
    clean = urls(f"{CLEAN}/", **_date(making.now - timedelta(days=9)))
    robots = [SitemapRef(loc=f"{CLEAN}/sitemap.xml", position=1)]
    making.run({f"{CLEAN}/robots.txt": robots, f"{CLEAN}/sitemap.xml": clean}, site=CLEAN)
    making.facts = {}
    making.run({}, site=NOTHING, result="unreachable", reason="the host name cannot be resolved")
    making.run({f"{EMPTY}/sitemap.xml": []}, site=EMPTY, result="found", reason="0 URLs in 1 document")
    making.run({f"{HOSTILE}/sitemap.xml": _hostile()}, site=HOSTILE)
    return making.store


def audited(store: Store, site: str, *, at: str = "latest", with_before: bool = True) -> SiteAudit:
    """Return the audit of *site* that a report shows, with that of its previous run if there is one."""
    history = store.history(site)
    has_before = with_before and len(history.runs) > 1
    result = SiteAudit(before=audited(store, site, at="previous", with_before=False) if has_before else None)
    list(result.collect(Audit(history.at(at), history, with_facts=True)))
    return result


def _shop(run: int) -> dict[str, Any]:
    now = BEGAN + timedelta(days=run)
    pages = []
    for number in range(30 + 5 * run - 10 * (run == 2)):
        loc = f"{SHOP}/p/{number}{'#part' if run > 1 and number < 3 else ''}"
        alternates = tuple(Alternate(hreflang=code, href=f"{loc}?l={code}") for code in ("en", "de"))
        values = {"images": (Image(loc=f"{loc}.jpg"),), "alternates": alternates} if number % 2 else {}
        pages += urls(loc, **_date(now - timedelta(days=40 * number)), **values)
    return {
        f"{SHOP}/robots.txt": [SitemapRef(loc=INDEX, position=1)],
        INDEX: [SitemapRef(loc=one, position=at) for at, one in enumerate((PRODUCTS, MISSING), start=1)],
        PRODUCTS: pages,
        MISSING: [],
    }


def _date(value: datetime) -> dict[str, Any]:
    return {"lastmod": value, "lastmod_text": value.isoformat(), "lastmod_precision": "second"}


def _hostile() -> list[Any]:
    """Return entries whose every text is :data:`HARMFUL`, and URLs that run a script when they are followed."""
    entries = urls("javascript:document.title='run'//#a", "data:text/html,<script>document.title='run'</script>#b")
    for text in HARMFUL:
        alternates = (Alternate(hreflang=text, href=f"javascript:{text}"), Alternate(hreflang=text, href=text))
        entries += urls(f"{HOSTILE}/{text}#c", alternates=alternates, lastmod_text=text, changefreq=text)
    return entries
