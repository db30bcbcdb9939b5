"""Common uses of Scrapy's ``SitemapSpider`` work with ours: each idiom is run under both base classes."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.crawl.crawling import HERE
from tests.crawl.idioms import DIFFERENCES, IDIOMS, PAGES, pages_of
from tests.site import Page, Site
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return the results of each idiom, by the base class: all of them run in one process for each."""
    folder: Path = tmp_path_factory.mktemp("idioms")
    with Site(dict(PAGES)) as site:
        site.pages.update(pages_of(site.url))
        site.generate = lambda path: Page(status=404) if path.startswith("/missing") else f"<title>{path}</title>"
        started = {
            whose: subprocess.Popen(
                [sys.executable, "-m", "tests.crawl.idioms", whose, site.url, str(folder / whose)],
                cwd=HERE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for whose in ("scrapys", "ours")
        }
        for process in started.values():
            try:
                said, _ = process.communicate(timeout=PATIENCE_SECONDS)
            finally:
                process.kill()
            assert process.returncode == 0, said
            assert "Traceback" not in said, said
    return {whose: json.loads((folder / whose).read_text()) for whose in started}


@pytest.mark.parametrize("name", [name for name in IDIOMS if name not in DIFFERENCES])
def test_an_idiom_has_the_same_result_under_both_base_classes(found, name):
    assert found["ours"][name] == found["scrapys"][name]


@pytest.mark.parametrize(
    ("name", "field", "ours"),
    [
        ("a_feed", "url", ["/a/1", "/a/2"]),
        ("a_text_list", "url", ["/a/1", "/a/2"]),
        ("a_truncated_sitemap", "url", ["/a/1"]),
        ("a_cut_connection", "url", ["/a/1"]),
        ("a_sitemap_outside_allowed_domains", "url", ["/c/1"]),
        ("a_sitemap_that_lists_sitemaps", "url", ["/a/1", "/a/2", "/s/one.xml"]),
        ("an_index_of_another_host", "url", ["/a/1"]),
        ("a_filter_that_fails", "url", ["/a/1", "/a/2", "/c/1"]),
        ("requests_with_a_priority", "priority", [-9, -5, -1]),
        ("no_callback", "position", [1]),
    ],
)  # fmt: skip
def test_a_difference_is_the_documented_one(found, name, field, ours):
    items = found["ours"][name]["items"]
    assert sorted(item[field] for item in items) == ours
    assert items != found["scrapys"][name]["items"]
    assert DIFFERENCES[name] in (HERE / "docs" / "reference" / "spiders.md").read_text()


def test_each_difference_is_tested_and_there_are_many_idioms():
    (cases,) = test_a_difference_is_the_documented_one.pytestmark
    assert {name for name, _, _ in cases.args[1]} == DIFFERENCES.keys()
    assert len(IDIOMS) >= 72
