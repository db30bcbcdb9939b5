"""A site with the flaws that the audit has rules for, and others with flaws that exclude some of these.

Beside most flaws is the ID of their rule.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from tests.audit.web import (
    NO_ANSWER,
    Web,
    cut,
    html,
    index,
    link,
    news,
    page,
    redirect,
    robots,
    tags,
    text,
    url,
    urlset,
)

SITE = "https://www.flawed.example"
SHOP = "https://shop.flawed.example"
"""It has no robots.txt, so its sitemap is found at a usual path; its pages have not changed for years."""
CLOSED = "https://closed.flawed.example"
"""Its robots.txt fails."""
SEASON = "https://season.flawed.example"
"""Its documents can all be read, so that no removal is pending."""
PAGES = "https://pages.flawed.example"
"""Its sitemap is as it should be, but its pages are not: for a probe, and for :func:`crawl_export`."""
LISTS = "https://lists.flawed.example"
"""Its lists are close to the limits of the protocol, or beyond them."""
NOWHERE = "https://nowhere.flawed.example"
"""It has no sitemap."""
SITES = (SITE, SHOP, CLOSED, SEASON, LISTS, NOWHERE)
RUNS = 3
OPTIONS = {
    "change/flapping": {"times": 1},
    "sitemap/slow": {"seconds": 0.2},
    "sitemap/large-uncompressed": {"megabytes": 1},
}
"""Thresholds that are reached in three runs and in little time."""
SLOW = {f"{SITE}/pages.xml": 0.3}

_DAY = timedelta(days=1)


def web(run: int, now: datetime) -> Web:
    """Return the answers of all hosts in *run*, from 1, which is at the time *now*."""
    nowhere = {f"{NOWHERE}/robots.txt": text("User-agent: *\nAllow: /\n")}
    return {**_site(run, now), **_shop(run), **_season(run), **_lists(), **_pages(), **nowhere}


def crawl_export() -> str:
    """Return a crawl export, as CSV."""
    return f"url,status,content_type\n{PAGES}/,200,text/html\n{PAGES}/forgotten,200,text/html\n"  # page/not-listed


def _site(run: int, now: datetime) -> Web:
    names = [
        "missing.xml", "private/sitemap.xml", "page.xml", "cut.xml", "moved.xml", "empty.xml", "index.xml", "urls.xml",
        "pages.xml", "languages.xml", "dates.xml", "build.xml", "moving.xml", "media.xml", "news.xml",
        "priorities.xml",
    ]  # fmt: skip
    later = f"{now + 3 * _DAY:%Y-%m-%d}"
    moments = [f"{now - (RUNS - run) * timedelta(minutes=1):%Y-%m-%dT%H:%M:%SZ}"] * 20
    return {
        f"{SITE}/robots.txt": robots(
            *[f"{SITE}/{name}" for name in [*names, names[0]]],  # site/repeated-in-robots
            "http://www.flawed.example/http.xml",
            disallow=["/private/"],
        ),
        f"{SITE}/private/sitemap.xml": urlset(f"{SITE}/private/1"),  # sitemap/robots-disallowed
        f"{SITE}/page.xml": html("Welcome"),  # sitemap/not-a-sitemap
        f"{SITE}/cut.xml": cut(urlset(f"{SITE}/cut-1", f"{SITE}/cut-2")),  # sitemap/incomplete
        f"{SITE}/moved.xml": redirect(f"{SITE}/there.xml"),  # sitemap/redirected
        f"{SITE}/there.xml": urlset(f"{SITE}/there"),
        f"{SITE}/empty.xml": urlset(),
        "http://www.flawed.example/http.xml": urlset(f"{SITE}/http-1", f"{SITE}/http-2"),  # sitemap/http-on-https-site
        f"{SITE}/index.xml": index(
            (f"{SITE}/dates.xml", "2020-01-01"),  # sitemap/index-lastmod-stale
            (f"{SITE}/media.xml", later),  # protocol/future-lastmod
            f"{SITE}/nested.xml",  # sitemap/nested-index
            f"{SITE}/urls.xml",
            f"{SITE}/urls.xml",  # sitemap/listed-twice
        ),
        f"{SITE}/nested.xml": index(f"{SITE}/index.xml"),  # sitemap/cycle
        f"{SITE}/urls.xml": page(urlset(*_flawed_urls())[2], "text/html"),  # sitemap/wrong-content-type
        f"{SITE}/pages.xml": urlset(
            f"{LISTS}/foreign",  # site/foreign-hosts: its robots.txt allows it
            f"{SITE}/private/page",  # url/robots-disallowed
            f"{SITE}/shared",  # url/duplicate-across-sitemaps
            url(f"{SITE}/dated", "2024-05-05"),  # url/conflicting-lastmod
        ),
        f"{SITE}/languages.xml": urlset(*_languages()),
        f"{SITE}/dates.xml": urlset(
            url(f"{SITE}/future", later),
            url(f"{SITE}/ancient", "1970-01-01T00:00:00Z"),
            url(f"{SITE}/back", f"2024-0{4 - run}-01"),  # lastmod/goes-back
            url(f"{SITE}/precise", "2024-05-05T10:00:00Z"),  # lastmod/mixed-precision
            url(
                f"{SITE}/often", "2020-01-01", changefreq="daily"
            ),  # changefreq/ignored, changefreq/contradicts-lastmod
        ),
        f"{SITE}/build.xml": urlset(*[url(f"{SITE}/b{number}", "2024-05-05T10:00:00Z") for number in range(20)]),
        f"{SITE}/moving.xml": urlset(
            # lastmod/fetch-time, lastmod/moves-without-change
            *[url(f"{SITE}/m{number}", moment) for number, moment in enumerate(moments)]
        ),
        f"{SITE}/media.xml": urlset(*_media(run)),
        f"{SITE}/news.xml": urlset(
            url(f"{SITE}/n1", None, news("", "2020-01-01")),  # news/missing-required, news/too-old
            url(f"{SITE}/n0", None, news("T", later), news("T", "yesterday")),  # news/future, news/invalid-date
            url(f"{SITE}/n2", None, news("T", f"{now:%Y-%m-%d}", language="english")),  # news/invalid-language
            # protocol/too-many-news
            *[url(f"{SITE}/n{number}", None, news("T", f"{now:%Y-%m-%d}")) for number in range(3, 1003)],
        ),
        f"{SITE}/priorities.xml": urlset(*[url(f"{SITE}/p{number}", priority="0.5") for number in range(20)]),
    }


def _flawed_urls() -> list[str]:
    return [
        f"{SITE}/twice",
        f"{SITE}/twice",
        f"{SITE}/shared",
        url(f"{SITE}/dated", "2024-01-01"),
        f"{SITE}/slash",
        f"{SITE}/slash/",
        f"{SITE}/Case",
        f"{SITE}/case",
        f"{SITE}/twin",
        "https://flawed.example/twin",  # site/mixed-www, url/www-twins, url/out-of-scope
        "http://www.flawed.example/twin",  # site/mixed-schemes, url/scheme-twins
        f"{SITE}/folder/",
        f"{SITE}/folder/index.html",
        f"{SITE}/?utm_source=sitemap",
        f"{SITE}/a;jsessionid=0123456789ABCDEF",
        f"{SITE}/a#part",
        f"{SITE}/ä",
        f"{SITE}/a%2520b",
        f"{SITE}//a",
        "http://localhost/a",
        "https://staging.flawed.example/",
        f"{SITE}/style.css",
        f"{SITE}/private/a",  # url/robots-disallowed
        f"{SITE}/robots.txt",
        f"{SITE}/%7B%7Bslug%7D%7D",
        f"{SITE}/{'long' * 600}",
    ]


def _languages() -> list[str]:
    de, en, fr, at = (f"{SITE}/{path}" for path in ("de", "en", "fr", "de-at"))
    return [
        url(de, None, link("de", de), link("en", en), link("fr", fr)),  # hreflang/no-x-default, missing-return
        url(en, None, link("en", en)),
        url(at, None, link("de", at), link("fr", fr)),  # hreflang/conflicting-clusters
        url(fr, None, link("fr", fr), link("de", at), link("de", de)),  # hreflang/several-urls
        url(f"{SITE}/es", None, link("de", de), link("jp", f"{SITE}/jp")),  # missing-self
        url(f"{SITE}/it", None, link("it", f"{SITE}/it"), link("en", "/en")),  # hreflang/invalid-url
    ]


def _media(run: int) -> list[str]:
    picture = f"{SITE}/{run}.jpg"
    whole = {"thumbnail_loc": picture, "title": "T", "description": "D", "content_loc": f"{SITE}/v.mp4"}
    return [
        # image/deprecated-tag; protocol/too-many-images
        url(f"{SITE}/i1", "2024-05-05", *[tags("image", "image", loc=f"{SITE}/i.jpg", title="T")] * 1_001),
        url(f"{SITE}/i2", "2024-05-05", tags("image", "image", loc=picture)),  # lastmod/silent-change
        url(f"{SITE}/i3", "2024-05-05", tags("image", "image", title="T")),  # image/missing-required
        url(f"{SITE}/v1", "2024-05-05", tags("video", "video", thumbnail_loc=picture)),  # missing-required, no-location
        url(f"{SITE}/v2", "2024-05-05", tags("video", "video", **whole | {"content_loc": f"{SITE}/v2"})),
        url(f"{SITE}/v3", "2024-05-05", tags("video", "video", **whole, duration="0", category="c")),
        url(f"{SITE}/v4", "2024-05-05", tags("video", "video", **whole, expiration_date="2020-01-01")),
        url(f"{SITE}/v5", "2024-05-05", tags("video", "video", **whole, live="maybe")),  # video/invalid-value
    ]


def _shop(run: int) -> Web:
    pages = range(20 if run == RUNS else 5)  # change/mass-addition
    return {
        f"{CLOSED}/robots.txt": (500, {}, b""),  # site/robots-unreadable
        f"{SHOP}/sitemap.xml": urlset(  # site/not-in-robots, site/home-page-missing
            *[url(f"{SHOP}/{number}", f"2020-01-{number + 1:02}") for number in pages],  # lastmod/stale-site
            url(f"{SHOP}/en", "2020-01-01", link("en", f"{SHOP}/en"), link("fr", f"{SHOP}/fr")),  # target-not-listed
        ),
    }


def _season(run: int) -> Web:
    is_over = run == RUNS
    return {
        f"{SEASON}/robots.txt": robots(f"{SEASON}/pages.xml", *([] if is_over else [f"{SEASON}/gone.xml"])),
        f"{SEASON}/pages.xml": urlset(
            f"{SEASON}/",
            *([f"{SEASON}/flapping"] if run != 2 else []),
            *[f"{SEASON}/{number}" for number in range(0 if is_over else 10)],  # change/mass-removal
        ),
        # change/sitemap-gone, sitemap/unlisted
        **({} if is_over else {f"{SEASON}/gone.xml": urlset(f"{SEASON}/gone")}),
    }


def _pages() -> Web:
    pages = {
        f"{PAGES}/": html("Home"),
        f"{PAGES}/redirect": redirect(f"{PAGES}/"),
        f"{PAGES}/client-error": (410, {}, b""),  # and page/error-share
        f"{PAGES}/server-error": (500, {}, b""),
        f"{PAGES}/unreachable": NO_ANSWER,
        f"{PAGES}/noindex": html("A", '<meta name="robots" content="noindex">'),
        f"{PAGES}/canonical-elsewhere": html("A", f'<link rel="canonical" href="{PAGES}/">'),
        f"{PAGES}/soft-404": html("Page not found"),
        f"{PAGES}/lastmod-differs": html("A", **{"Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}),
    }
    return {
        f"{PAGES}/robots.txt": robots(f"{PAGES}/sitemap.xml"),
        f"{PAGES}/sitemap.xml": urlset(*[url(loc, "2026-01-01") for loc in pages]),
        **pages,
    }


def _lists() -> Web:
    pages = [f"{LISTS}/{number}" for number in range(95_002)]
    blank = (" " * 8_000 + "\n") * 6_554  # 50 MB
    return {
        f"{LISTS}/robots.txt": robots(f"{LISTS}/near.txt", f"{LISTS}/beyond.txt", f"{SITE}/pages.xml"),
        f"{LISTS}/near.txt": text("\n".join(pages[:45_001])),  # sitemap/near-limit
        # protocol/too-many-entries, protocol/too-large, sitemap/large-uncompressed
        f"{LISTS}/beyond.txt": text("\n".join([*pages[45_001:], blank])),
    }
