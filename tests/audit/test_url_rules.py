"""Rules about listed URLs: each with a sitemap that trips it, and one that nearly does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.audit.auditing import SITE, SITEMAP, findings_of, of_rule

if TYPE_CHECKING:
    from pathlib import Path

CASES = [
    pytest.param(
        "url/duplicate-in-sitemap",
        ["/a", "/b", "/a", "/a"],
        [("/a", 3, "first at position 1"), ("/a", 4, "first at position 1")],
        id="duplicate-in-sitemap",
    ),
    pytest.param("url/fragment", ["/a", "/a#top", "/b#!state"], [("/a#top", 2, None)], id="fragment"),
]
NEARLY = [
    pytest.param("url/duplicate-in-sitemap", ["/a", "/A", "/a/", "/a?"], id="duplicate-in-sitemap"),
    pytest.param("url/fragment", ["/a", "/%23a", "/b#!state"], id="fragment"),
]


@pytest.mark.parametrize(("rule", "paths", "samples"), CASES)
def test_a_sitemap_that_trips_the_rule(
    rule: str, paths: list[str], samples: list[tuple[str, int, str | None]], tmp_path: Path
) -> None:
    (finding,) = of_rule(findings_of(tmp_path, {SITEMAP: [f"{SITE}{path}" for path in paths]}), rule)
    assert [(one.loc, one.position, one.value) for one in finding.samples] == [
        (f"{SITE}{path}", position, value) for path, position, value in samples
    ]
    assert (finding.sitemap, finding.count) == (SITEMAP, len(samples))


@pytest.mark.parametrize(("rule", "paths"), NEARLY)
def test_a_sitemap_that_nearly_trips_the_rule(rule: str, paths: list[str], tmp_path: Path) -> None:
    assert of_rule(findings_of(tmp_path, {SITEMAP: [f"{SITE}{path}" for path in paths]}), rule) == []
