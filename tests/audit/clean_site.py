"""A site without a flaw: sections in a compressed index, images, videos, news, language versions, a feed and a list."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING

from tests.audit.web import Answer, Web, gzipped, html, index, link, news, robots, rss, tags, text, url, urlset

if TYPE_CHECKING:
    from collections.abc import Iterable

SITE = "https://www.clean.example"
RUNS = 3

_LANGUAGES = ("de", "en", "en-GB", "zh-Hant-TW")
_SUBJECTS = 30
_DAY = timedelta(days=1)


def web(run: int, now: datetime) -> Web:
    """Return the answers of the site in *run*, from 1, which is at the time *now*: each has a few honest changes."""
    days = [now.replace(hour=0, minute=0, second=0, microsecond=0) - (RUNS + 1 - one) * _DAY for one in range(run + 1)]
    articles = [(f"{SITE}/news/{number}", now - number * timedelta(hours=3)) for number in range(6 + run)]
    children = {
        "pages": urlset(url(f"{SITE}/", _day(days[run])), *_pages(days)),
        "products": urlset(*_products(days)),
        "languages": urlset(*_versions()),
        "videos": urlset(*_videos()),
        "news": urlset(*[url(loc, None, news(f"Article {loc}", _moment(date))) for loc, date in articles]),
    }
    return {
        f"{SITE}/robots.txt": robots(f"{SITE}/sitemap_index.xml.gz", f"{SITE}/all.txt", disallow=["/cart/"]),
        f"{SITE}/sitemap_index.xml.gz": gzipped(
            index(*[(f"{SITE}/sitemaps/{name}.xml.gz", _moment(now)) for name in children], f"{SITE}/feed.rss")
        ),
        **{f"{SITE}/sitemaps/{name}.xml.gz": gzipped(child) for name, child in children.items()},
        f"{SITE}/all.txt": text("".join(f"{SITE}/archive/{number}\n" for number in range(50))),
        f"{SITE}/feed.rss": rss(*[(f"{loc}?utm_source=rss", format_datetime(date)) for loc, date in articles]),
    }


def page_of(loc: str) -> Answer:
    """Return the page of a URL of the site, which is generated for each request."""
    head = f'<link rel="canonical" href="{loc}">'
    return html(f"The page {loc}", head, **{"Last-Modified": format_datetime(datetime.now(UTC), usegmt=True)})


def _pages(days: list[datetime]) -> Iterable[str]:
    """Yield pages: in each run, which was on one of *days*, one was changed and one is new."""
    for number in range(1, 40):
        yield url(f"{SITE}/pages/{number}", _day(days[number] if number < len(days) else days[0] - 3 * number * _DAY))
    for run, day in enumerate(days[1:], start=1):
        yield url(f"{SITE}/pages/new-{run}", _day(day))


def _products(days: list[datetime]) -> Iterable[str]:
    """Yield products with images: in each run, the first is sold out, and one has a new image."""
    for number in range(len(days), 60):
        run = number - 10
        has_new = 0 < run < len(days)
        picture = tags("image", "image", loc=f"{SITE}/images/{number}{'-new' if has_new else ''}.jpg")
        yield url(f"{SITE}/products/{number}", _moment(days[run] if has_new else days[0] - 5 * number * _DAY), picture)


def _versions() -> Iterable[str]:
    for number in range(_SUBJECTS):
        versions = {language: f"{SITE}/{language.lower()}/{number}" for language in _LANGUAGES}
        links = [link(language, loc) for language, loc in versions.items()] + [link("x-default", versions["en"])]
        for loc in versions.values():
            yield url(loc, f"2026-0{number % 9 + 1}-{number % 28 + 1:02}", *links)


def _videos() -> Iterable[str]:
    for number in range(10):
        values = {
            "thumbnail_loc": f"{SITE}/thumbnails/{number}.jpg",
            "title": f"Video {number}",
            "description": "How to do it.",
            "content_loc": f"{SITE}/videos/{number}.mp4",
            "duration": str(60 + number),
            "rating": "4.5",
            "publication_date": "2026-01-01",
        }
        yield url(f"{SITE}/watch/{number}", f"2026-02-{number + 1:02}", tags("video", "video", **values))


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"


def _moment(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
