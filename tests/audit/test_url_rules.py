"""Rules about listed URLs: each with a sitemap that trips it, and one that nearly does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sitemap_harvest.audit import RULES
from sitemap_harvest.model import Image, Kind, News, Severity, UrlEntry, Video
from tests.audit.auditing import SITE, SITEMAP, audited, dated, findings_of, found, found_in_each, numbered, urls

if TYPE_CHECKING:
    from pathlib import Path

    from sitemap_harvest.model import Finding

OTHER = f"{SITE}/other.xml"
MD5 = "0123456789abcdef0123456789abcdef"
CASES = [
    pytest.param(
        "url/duplicate-in-sitemap",
        ["/a", "/b", "/a", "/a", "HTTPS://A.example/b"],
        [
            ("/a", 3, "first at position 1"),
            ("/a", 4, "first at position 1"),
            ("HTTPS://A.example/b", 5, "first at position 2"),
        ],
        id="duplicate-in-sitemap",
    ),
    pytest.param(
        "url/tracking-parameters",
        ["/a?utm_source=x", "/a?b=c&UTM_Medium=d", "/a?x=1&amp;fbclid=2", "/a?gclid="],
        [
            ("/a?utm_source=x", 1, "utm_source"),
            ("/a?b=c&UTM_Medium=d", 2, "UTM_Medium"),
            ("/a?x=1&amp;fbclid=2", 3, "fbclid"),
            ("/a?gclid=", 4, "gclid"),
        ],
        id="tracking-parameters",
    ),
    pytest.param(
        "url/session-id",
        [
            f"/a;jsessionid={MD5}?b",
            "/a?x=1&PHPSESSID=5b",
            "/(S(lit3py55t21z5v55vlm25s55))/a.aspx",
            f"/a?sid={MD5}",
            f"/a?s={MD5}&b",
        ],
        [
            (f"/a;jsessionid={MD5}?b", 1, "jsessionid"),
            ("/a?x=1&PHPSESSID=5b", 2, "PHPSESSID"),
            ("/(S(lit3py55t21z5v55vlm25s55))/a.aspx", 3, "S"),
            (f"/a?sid={MD5}", 4, "sid"),
            (f"/a?s={MD5}&b", 5, "s"),
        ],
        id="session-id",
    ),
    pytest.param("url/fragment", ["/a", "/a#top", "/#/route"], [("/a#top", 2, None), ("/#/route", 3, None)]),
    pytest.param("url/fragment", ["/b#!state"], [("/b#!state", 1, None)], id="fragment of an application"),
    pytest.param(
        "url/unescaped",
        ["/é", "/a b", "/a|b", "/a%zz", "/100%"],
        [("/é", 1, "é"), ("/a b", 2, " "), ("/a|b", 3, "|"), ("/a%zz", 4, "%z"), ("/100%", 5, "%")],
        id="unescaped",
    ),
    pytest.param(
        "url/double-encoded",
        ["/a%2520b", "/caf%25C3%25A9", "/?q=a%2520b"],
        [("/a%2520b", 1, "%2520"), ("/caf%25C3%25A9", 2, "%25C3%25A9"), ("/?q=a%2520b", 3, "%2520")],
        id="double-encoded",
    ),
    pytest.param("url/double-slash", ["//a", "/a//b"], [("//a", 1, None), ("/a//b", 2, None)], id="double-slash"),
    pytest.param(
        "url/not-public-host",
        [
            "http://localhost:4000/a",
            "http://192.168.1.2/",
            "http://[::1]/",
            "http://intranet/",
            "https://www.example.com/a",
        ],
        [
            ("http://localhost:4000/a", 1, "localhost"),
            ("http://192.168.1.2/", 2, "192.168.1.2"),
            ("http://[::1]/", 3, "[::1]"),
            ("http://intranet/", 4, "intranet"),
            ("https://www.example.com/a", 5, "www.example.com"),
        ],
        id="not-public-host",
    ),
    pytest.param("url/not-public-host", ["http://a.local/"], [("http://a.local/", 1, "a.local")], id="local name"),
    pytest.param(
        "url/staging-host",
        ["https://staging.b.com/", "https://www.dev2.b.com/a", "https://b-staging.c.com/", "https://test.b.co.uk/"],
        [
            ("https://staging.b.com/", 1, "staging.b.com"),
            ("https://www.dev2.b.com/a", 2, "www.dev2.b.com"),
            ("https://b-staging.c.com/", 3, "b-staging.c.com"),
            ("https://test.b.co.uk/", 4, "test.b.co.uk"),
        ],
        id="staging-host",
    ),
    pytest.param(
        "url/not-a-page",
        ["/assets/site.css", "/app.js", "/a/b.min.js?v=1", "/fonts/a.WOFF2", "/files/all.zip"],
        [
            ("/assets/site.css", 1, "css"),
            ("/app.js", 2, "js"),
            ("/a/b.min.js?v=1", 3, "js"),
            ("/fonts/a.WOFF2", 4, "woff2"),
            ("/files/all.zip", 5, "zip"),
        ],
        id="not-a-page",
    ),
    pytest.param(
        "url/lists-a-sitemap",
        ["/0.xml", "/news/sitemap-2.xml.gz", "/a"],
        [("/0.xml", 1, "sitemap"), ("/news/sitemap-2.xml.gz", 2, None)],
        id="lists-a-sitemap",
    ),
    pytest.param(
        "url/template-placeholder",
        ["/%7B%7Bslug%7D%7D", "/{{slug", "/$%7Bid%7D", "/__BASE_URL__/a", "/%3C%25=id"],
        [
            ("/%7B%7Bslug%7D%7D", 1, "%7B%7B"),
            ("/{{slug", 2, "{{"),
            ("/$%7Bid%7D", 3, "$%7B"),
            ("/__BASE_URL__/a", 4, "__BASE_URL__"),
            ("/%3C%25=id", 5, "%3C%25"),
        ],
        id="template-placeholder",
    ),
]
TWINS = [
    pytest.param(
        "url/trailing-slash-twins",
        ["/a/", "/a", "/b/", "/c?d=e/", "/c/?d=e/", "/a/", "/"],
        [("/a/", 1, "/a"), ("/c/?d=e/", 5, "/c?d=e/")],
        id="trailing-slash-twins",
    ),
    pytest.param("url/case-twins", ["/a", "/A", "/b%C3?c", "/B%C3?c"], [("/A", 2, "/a"), ("/B%C3?c", 4, "/b%C3?c")]),
    pytest.param(
        "url/www-twins", ["https://www.a.example/b", "/b"], [("https://www.a.example/b", 1, "/b")], id="www-twins"
    ),
    pytest.param("url/scheme-twins", ["/b", "http://a.example/b"], [("http://a.example/b", 2, "/b")]),
    pytest.param(
        "url/index-file-twins",
        ["/a/", "/a/index.html", "/", "/Default.aspx", "/?b=c", "/index.php?b=c"],
        [("/a/index.html", 2, "/a/"), ("/Default.aspx", 4, "/"), ("/index.php?b=c", 6, "/?b=c")],
        id="index-file-twins",
    ),
]
NEARLY = [
    pytest.param("url/duplicate-in-sitemap", ["/a", "/A", "/a/", "/a?"], id="duplicate-in-sitemap"),
    pytest.param("url/tracking-parameters", ["/utm_source=x", "/?q=utm_source=", "/?x_gclid=1", "/a#?utm_source=x"]),
    pytest.param(
        "url/session-id",
        [
            "/jsessionid",
            "/?sid=12",
            f"/sid/{MD5}",
            "/?session_id=550e8400-e29b-41d4-a716-446655440000",
            "/?s=phpsessid",
        ],
    ),
    pytest.param("url/fragment", ["/a", "/%23a"], id="fragment"),
    pytest.param("url/unescaped", ["/%C3%A9", "/a+b?c[d]=e;f&g='(h)'*~!@$,:", "/100%25"], id="unescaped"),
    pytest.param(
        "url/double-encoded",
        ["/100%25", "/100%25baumwolle", "/?to=%2Fa%3Fq%3Db%2520c", "/a%20b"],
        id="double-encoded",
    ),
    pytest.param("url/double-slash", ["/web/2020/https://a.example/", "/?a=//b", "/a/#//"], id="double-slash"),
    pytest.param(
        "url/not-public-host",
        ["/", "https://www.b.example/", "https://10.com/", "https://localhost.com/", "https://local.dev/"],
        id="not-public-host",
    ),
    pytest.param(
        "url/staging-host",
        ["/", "https://dev.to/", "https://test.co.uk/", "https://speed-test.b.com/", "https://developer.b.com/"],
        id="staging-host",
    ),
    pytest.param("url/not-a-page", ["/tags/vue.js", "/a.html", "/zip", "/a?b=c.css", "/topics/normalize.css/"]),
    pytest.param("url/lists-a-sitemap", ["/sitemap", "/sitemap.html", "/sitemap/", "/a?b=/sitemap.xml"]),
    pytest.param("url/template-placeholder", ["/%7B%22a%22%3A1%7D", "/manual/__FILE__", "/50%25%25", "/{id}", "/$x"]),
]
NO_TWINS = [
    pytest.param("url/trailing-slash-twins", ["/a", "/b/", "/", "/a?b=c/", "/a?b=c", "/d//", "/d/"]),
    pytest.param("url/case-twins", ["/a%c3%a9", "/A?v=aB", "/a?v=ab", "/B", "/%2f"]),
    pytest.param("url/www-twins", ["https://www.a.example/b", "http://a.example/b", "/c"]),
    pytest.param("url/scheme-twins", ["/b", "http://a.example/b?c", "http://www.a.example/b"]),
    pytest.param("url/index-file-twins", ["/a/index.html", "/a", "/b/index", "/b/", "/c/my-index.html", "/c/"]),
]


def full(path: str) -> str:
    return f"{SITE}{path}" if path.startswith("/") else path


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> list[list[Finding]]:
    """Return the findings of each of the cases about a sitemap."""
    cases = [(rule, urls(*map(full, paths)), {}) for rule, paths, *_ in (case.values for case in [*CASES, *NEARLY])]
    return found_in_each(tmp_path_factory.mktemp("cases"), cases)


@pytest.mark.parametrize(("number", "rule", "paths", "samples"), numbered(CASES))
def test_a_sitemap_that_trips_the_rule(
    number: int,
    rule: str,
    paths: list[str],
    samples: list[tuple[str, int, str | None]],
    findings: list[list[Finding]],
) -> None:
    (finding,) = findings[number]
    assert [(one.loc, one.position, one.value) for one in finding.samples] == [
        (full(path), position, value) for path, position, value in samples
    ]
    assert (finding.count, finding.share) == (len(samples), len(samples) / len(paths))


@pytest.mark.parametrize(("rule", "paths", "samples"), TWINS)
def test_twins(rule: str, paths: list[str], samples: list[tuple[str, int, str]], tmp_path: Path) -> None:
    (finding,) = found(tmp_path, rule, {SITEMAP: urls(*map(full, paths))})
    assert [(one.loc, one.position, one.value) for one in finding.samples] == [
        (full(path), position, full(twin)) for path, position, twin in samples
    ]
    assert (finding.sitemap, finding.count) == (None, len(samples))


@pytest.mark.parametrize(("number", "rule", "paths"), numbered(NEARLY, len(CASES)))
def test_a_sitemap_that_nearly_trips_the_rule(
    number: int, rule: str, paths: list[str], findings: list[list[Finding]]
) -> None:
    assert findings[number] == []


@pytest.mark.parametrize(("rule", "paths"), NO_TWINS)
def test_urls_that_are_nearly_twins(rule: str, paths: list[str], tmp_path: Path) -> None:
    assert found(tmp_path, rule, {SITEMAP: urls(*map(full, paths))}) == []


@pytest.mark.parametrize("kind", [Kind.FEED, Kind.LINKS])
def test_entries_of_feeds_and_pages_of_links_may_be_parts_of_pages(kind: Kind, tmp_path: Path) -> None:
    names = ["url/duplicate-in-sitemap", "url/tracking-parameters", "url/fragment", "url/trailing-slash-twins"]
    rules = [RULES[name] for name in names]
    entries = urls(*map(full, ["/a", "/a", "/a/", "/a#b", "/a?utm_source=rss"]))
    assert findings_of(tmp_path, {SITEMAP: entries}, facts={SITEMAP: {"kind": kind}}, rules=rules) == []


def test_the_fragment_of_an_application_is_a_notice(tmp_path: Path) -> None:
    findings = found(tmp_path, "url/fragment", {SITEMAP: urls(f"{SITE}/#!a", f"{SITE}/#a", f"{SITE}/#b")})
    assert [(one.severity, one.count) for one in findings] == [(Severity.WARNING, 2), (Severity.NOTICE, 1)]


def test_the_twin_may_be_in_another_sitemap(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, "url/trailing-slash-twins", {SITEMAP: urls(f"{SITE}/a"), OTHER: urls(f"{SITE}/a/")})
    (sample,) = finding.samples
    assert (sample.sitemap, sample.loc, sample.value) == (OTHER, f"{SITE}/a/", f"{SITE}/a")


def test_urls_out_of_scope_with_their_reason(tmp_path: Path) -> None:
    entries = [
        entry
        for reason in (None, "host", "path", "host")
        for entry in urls(f"{SITE}/{reason}", in_scope=reason is None, scope_reason=reason)
    ]
    (finding,) = found(tmp_path, "url/out-of-scope", {SITEMAP: entries, OTHER: urls(f"{SITE}/a")})
    assert (finding.sitemap, finding.count, finding.share) == (SITEMAP, 3, 0.75)
    assert [(one.position, one.value) for one in finding.samples] == [
        (2, "host, a.example"),
        (3, "path"),
        (4, "host, a.example"),
    ]
    assert (
        finding.message == "3 URLs that the sitemap may not list (75%): another host, a.example (2) and 1 other reason"
    )


@pytest.mark.parametrize(
    ("rule", "locs", "message"),
    [
        pytest.param(
            "site/foreign-hosts",
            [f"https://{host}/{number}" for host in ("b.org", "c.org", "d.org") for number in range(1 + (host > "c"))],
            "5 URLs not on the host of the site: c.org (2) and 2 other hosts",
            id="of the site",
        ),
        pytest.param(
            "url/not-public-host",
            ["http://10.0.0.1/", "http://web/", "http://web/a"],
            "3 URLs on a host that is not public: web (2) and 1 other host",
            id="of a sitemap",
        ),
        pytest.param(
            "url/staging-host",
            ["https://dev.b.com/", "https://dev.b.com/a"],
            "2 URLs on a test host: dev.b.com",
            id="only one",
        ),
    ],
)
def test_a_message_names_the_most_frequent_value(rule: str, locs: list[str], message: str, tmp_path: Path) -> None:
    assert [one.message for one in found(tmp_path, rule, {SITEMAP: urls(f"{SITE}/", *locs)})] == [message]


def test_hosts_that_are_not_public_are_out_of_scope_too(tmp_path: Path) -> None:
    entries = urls("http://localhost/1", "https://staging.b.com/", in_scope=False, scope_reason="host")
    rules = [RULES[f"url/{name}"] for name in ("out-of-scope", "not-public-host", "staging-host")]
    found = findings_of(tmp_path, {SITEMAP: entries}, rules=rules)
    assert [(one.rule, one.count) for one in found] == [
        ("url/out-of-scope", 2),
        ("url/not-public-host", 1),
        ("url/staging-host", 1),
    ]


def test_the_urls_of_a_sitemap_with_another_scheme_are_out_of_scope_too(tmp_path: Path) -> None:
    plain = SITEMAP.replace("https:", "http:")
    documents = {plain: urls(f"{SITE}/1", in_scope=False, scope_reason="scheme")}
    rules = [RULES["url/out-of-scope"], RULES["sitemap/http-on-https-site"]]
    assert {one.rule: one.message for one in findings_of(tmp_path, documents, rules=rules)} == {
        "sitemap/http-on-https-site": "served by http, but lists 1 https URL",
        "url/out-of-scope": "1 URL that the sitemap may not list (100%): another scheme",
    }


@pytest.mark.parametrize("host", ["A.LOCAL", "a.local"])
def test_the_kind_of_host_of_the_site_is_public(host: str, tmp_path: Path) -> None:
    facts = {"root": f"http://{host}"}
    assert audited(tmp_path, "url/not-public-host", {SITEMAP: (urls("http://a.local/1"), facts)}) == []


IMAGES, VIDEOS, NEWS = {"images": (Image(loc=f"{SITE}/a.png"),)}, {"videos": (Video(title="a"),)}, {"news": (News(),)}


@pytest.mark.parametrize("content", [{}, IMAGES, VIDEOS, NEWS])
def test_a_url_in_several_sitemaps(content: dict[str, Any], tmp_path: Path) -> None:
    locs = [f"{SITE}/a", f"{SITE}/b", f"{SITE}/a"]
    documents = {SITEMAP: urls(*locs, **content), OTHER: urls(*locs[:1], **content)}
    (finding,) = found(tmp_path, "url/duplicate-across-sitemaps", documents)
    (sample,) = finding.samples
    assert (finding.sitemap, finding.count, finding.share) == (None, 1, 0.25)
    assert (sample.sitemap, sample.position, sample.loc, sample.value) == (
        SITEMAP,
        1,
        f"{SITE}/a",
        f"also in {OTHER}",
    )


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        pytest.param(IMAGES, {}, id="image sitemap"),
        pytest.param(VIDEOS, {}, id="video sitemap"),
        pytest.param(NEWS, {}, id="news sitemap"),
        pytest.param({}, {OTHER: {"kind": Kind.FEED}}, id="feed"),
        pytest.param({}, {SITEMAP: {"sha256": MD5}, OTHER: {"sha256": MD5}}, id="one document at two addresses"),
        pytest.param({}, {OTHER: {"final_url": SITEMAP}}, id="redirect"),
    ],
)
def test_a_url_that_several_documents_may_list(content: dict[str, Any], facts: dict[str, Any], tmp_path: Path) -> None:
    documents = {SITEMAP: urls(f"{SITE}/a"), OTHER: urls(f"{SITE}/a", **content)}
    assert found(tmp_path, "url/duplicate-across-sitemaps", documents, facts=facts) == []


@pytest.mark.parametrize(("with_images", "shared"), [(0, 10), (5, 10), (8, 10), (9, 0), (10, 0)])
def test_a_sitemap_is_one_of_images_if_nearly_all_its_entries_have_some(
    with_images: int, shared: int, tmp_path: Path
) -> None:
    locs = [f"{SITE}/{number}" for number in range(10)]
    some = urls(*locs[:with_images], **IMAGES) + urls(*locs[with_images:])
    findings = found(tmp_path, "url/duplicate-across-sitemaps", {SITEMAP: some, OTHER: urls(*locs)})
    assert sum(one.count for one in findings) == shared


def test_sitemaps_that_contradict_each_other_about_a_date(tmp_path: Path) -> None:
    documents = {SITEMAP: dated("2026-01-01"), OTHER: dated("2026-01-02T14:01+00:00")}
    (finding,) = found(tmp_path, "url/conflicting-lastmod", documents)
    (sample,) = finding.samples
    assert (finding.sitemap, finding.count, finding.threshold) == (None, 1, 14)
    assert (sample.sitemap, sample.position, sample.loc, sample.value) == (
        SITEMAP,
        1,
        f"{SITE}/1",
        f"2026-01-01, but 2026-01-02T14:01+00:00 in {OTHER}",
    )


@pytest.mark.parametrize(
    ("other", "facts"),
    [
        pytest.param(dated("2026-01-02T13:59+00:00"), {}, id="the same day in another time zone"),
        pytest.param(dated("2026"), {}, id="the same year"),
        pytest.param(urls(f"{SITE}/1"), {}, id="no date"),
        pytest.param(dated("2026-03-01"), {"kind": Kind.FEED}, id="date of publication"),
        pytest.param(dated("2026-03-01"), {"outcome": "failed"}, id="read in an earlier run"),
    ],
)
def test_sitemaps_that_agree_about_a_date(other: list[UrlEntry], facts: dict[str, Any], tmp_path: Path) -> None:
    documents = {SITEMAP: dated("2026-01-01"), OTHER: other}
    assert found(tmp_path, "url/conflicting-lastmod", documents, facts={OTHER: facts}) == []
