from __future__ import annotations

import pytest

from sitemap_harvest.errors import StoreError
from sitemap_harvest.snapshots.store.store import folder_name
from tests.snapshots.store.making import SITE, Making, locs

OTHERS = ["https://b.example", "https://b.example/deep/sitemap.xml", "https://münchen.example", "http://c.example:8080"]


@pytest.fixture
def made(tmp_path):
    making = Making(tmp_path)
    for site in (SITE, *OTHERS):
        making.run({f"{site}/s.xml": locs(2)}, site=site)
    return making


def test_sites_with_a_snapshot_are_sorted(made):
    made.store.begin(made.store.history("https://never.example"))
    made.begin("https://begun.example").keep_rows  # noqa: B018 - begun, and nothing more
    assert made.store.sites() == sorted([SITE, *OTHERS])


@pytest.mark.parametrize(
    ("name", "site"),
    [
        pytest.param("https://a.example", SITE, id="as-it-was-named"),
        pytest.param("a.example", SITE, id="without-scheme"),
        pytest.param("https://a.example/", SITE, id="with-a-slash"),
        pytest.param("https://b.example/deep/sitemap.xml", OTHERS[1], id="a-document"),
        pytest.param("c.example:8080", OTHERS[3], id="http-without-scheme"),
    ],
)
def test_a_site_is_found_by_its_name(made, name, site):
    assert made.store.site(name).site == site
    assert made.store.latest(name).site == site


def test_an_unknown_site_is_an_error_that_lists_the_known_ones(made):
    with pytest.raises(
        StoreError,
        match=r"d\.example: the store has no snapshot of this site, only of http://c\.example:8080, https://a",
    ):
        made.store.site("d.example")


def test_each_site_has_its_own_folder_with_a_readable_name():
    names = [folder_name(f"https://a.example/{'x' * 200}{end}") for end in ("", "/", "?", "1", "2", "/..", "\\")]
    assert len(set(names)) == len(names)
    assert all(name.startswith("https-a.example-xxx") and len(name) < 100 for name in names)
    assert folder_name("..") not in ("..", ".")
