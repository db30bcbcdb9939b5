"""Rules about images, videos and news: each with an entry that trips it, and one that nearly does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sitemap_harvest.model import Attribute, Image, News, Price, Video
from tests.audit.auditing import SITE, found_in_each, urls

if TYPE_CHECKING:
    from sitemap_harvest.model import Finding

PAGE = f"{SITE}/page"
VIDEO = {"thumbnail_loc": f"{SITE}/t.jpg", "title": "T", "description": "D", "content_loc": f"{SITE}/v.mp4"}
NEWS = {"publication_name": "N", "publication_language": "en", "publication_date": "2026-11-01", "title": "T"}


def video(**values: Any) -> dict[str, Any]:
    return {"videos": (Video(**{**VIDEO, **values}),)}


def news(**values: Any) -> dict[str, Any]:
    return {"news": (News(**{**NEWS, **values}),)}


CASES: list[Any] = [
    (
        "image/deprecated-tag",
        {"images": (Image(loc="i.png"), Image(loc="j.png", caption="c", license="l"))},
        {"images": (Image(loc="i.png"),)},
        "caption, license",
    ),
    ("image/missing-required", {"images": (Image(loc=" "),)}, {"images": (Image(loc="i.png"),)}, None),
    (
        "video/deprecated-tag",
        video(category="c", prices=(Price(value="1"),), other=(Attribute(name="tvshow/episode", value="1"),)),
        video(other=(Attribute(name="id", value="1"),)),
        "category, price, tvshow",
    ),
    ("video/missing-required", video(title=" ", description=None), video(), "title, description"),
    ("video/no-location", video(content_loc=None), video(content_loc=None, player_loc="p"), "T"),
    ("video/content-is-page", video(content_loc=PAGE), video(player_loc=PAGE), "T"),
    (
        "video/out-of-range",
        video(duration="28801", rating="high", tags=("t",) * 33, title="t" * 101, description="d" * 2049),
        video(duration="1", rating="5.0", tags=("t",) * 32, title="t" * 100, description="d" * 2048),
        "duration 28801, rating high, 33 tags, title of 101 characters, description of 2049 characters",
    ),
    (
        "video/invalid-value",
        video(publication_date="gestern", expiration_date="2026-13-01", family_friendly="maybe", live="1"),
        video(publication_date="2026", expiration_date="", family_friendly="No", requires_subscription=" yes "),
        "publication_date gestern, expiration_date 2026-13-01, family_friendly maybe, live 1",
    ),
    ("video/expired", video(expiration_date="2026-10-30"), video(expiration_date="2026-11-01"), "2026-10-30"),
    (
        "news/missing-required",
        news(publication_name=None, title=""),
        news(),
        "publication_name, title",
    ),
    ("news/too-old", news(publication_date="2026-10-28"), news(publication_date="2026-10-30T03:00:00Z"), "2026-10-28"),
    (
        "news/invalid-date",
        news(publication_date="09/03/2026"),
        news(publication_date=" 2026-10-30T03:00Z "),
        "09/03/2026",
    ),
    ("news/invalid-date", news(publication_date="2026-13-01"), news(publication_date="2026-10"), "2026-13-01"),
    ("news/future", news(publication_date="2026-11-03"), news(publication_date="2026-11-02T03:00:00Z"), "2026-11-03"),
    ("news/invalid-language", news(publication_language="english"), news(publication_language="zh-CN"), "english"),
]


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> list[list[Finding]]:
    """Return the findings of each case, and then those of each case that nearly trips its rule."""
    cases = [(case[0], urls(PAGE, **case[at]), {}) for at in (1, 2) for case in CASES]
    return found_in_each(tmp_path_factory.mktemp("cases"), cases)


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case[0] for case in CASES])
def test_a_rule_and_what_nearly_trips_it(number: int, findings: list[list[Finding]]) -> None:
    (finding,) = findings[number]
    assert (finding.count, [(one.loc, one.value) for one in finding.samples]) == (1, [(PAGE, CASES[number][3])])
    assert findings[len(CASES) + number] == []
