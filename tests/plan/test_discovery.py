from __future__ import annotations

from sitemap_harvest import FoundBy
from sitemap_harvest.plan import Lead, next_well_known, robots_of

SITE = "https://example.com"


def well_known(path: str) -> Lead:
    return Lead(url=SITE + path, root=SITE, found_by=FoundBy.WELL_KNOWN, depth=1)


def test_the_harvest_of_a_site_begins_with_its_robots_txt() -> None:
    assert robots_of(SITE) == Lead(url=f"{SITE}/robots.txt", root=SITE, site_root=True)


def test_well_known_names_are_tried_one_after_the_other() -> None:
    first = next_well_known(robots_of(SITE))
    assert first == well_known("/sitemap.xml")
    second = next_well_known(first)
    assert second == well_known("/sitemap_index.xml")
    assert next_well_known(second) is None
