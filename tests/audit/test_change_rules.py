"""Rules about changes between runs: each with a history that trips it, and some that nearly do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sitemap_harvest.audit import RuleOptions
from sitemap_harvest.model import Kind, News, Severity
from tests.audit.auditing import SITE, SITEMAP, found, found_on_web, urls

if TYPE_CHECKING:
    from pathlib import Path

OTHER = f"{SITE}/other.xml"


def pages(start: int, end: int, site: str = SITE) -> list[Any]:
    """Return entries whose URLs are unlike each other."""
    return urls(*[f"{site}/{number}/{'abcdefghij'[number % 10] * 9}" for number in range(start, end)])


def samples(finding: Any) -> list[tuple[Any, ...]]:
    return [(one.sitemap, one.loc, one.value) for one in finding.samples]


def locs(start: int, end: int) -> list[str]:
    return sorted(one.loc for one in pages(start, end))


def test_many_urls_removed(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, "change/mass-removal", {SITEMAP: pages(0, 50)}, {SITEMAP: pages(0, 40)})
    assert (finding.sitemap, finding.severity, finding.count, finding.share) == (None, Severity.WARNING, 10, 0.2)
    assert finding.message == "10 URLs removed since the last run (20%)"
    reason = finding.samples[0].value
    assert reason
    assert samples(finding) == [(SITEMAP, loc, reason) for loc in locs(40, 50)[:5]]


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param([pages(0, 100), pages(0, 81)], id="19 percent"),
        pytest.param([pages(0, 10), pages(0, 1)], id="few URLs"),
        pytest.param([pages(0, 30), pages(0, 30, "https://www.a.example")], id="moved to www"),
        pytest.param([pages(0, 50), pages(0, 10), pages(0, 10)], id="in an earlier run"),
    ],
)
def test_not_many_urls_removed(runs: list[Any], tmp_path: Path) -> None:
    assert found(tmp_path, "change/mass-removal", *[{SITEMAP: entries} for entries in runs]) == []


def test_many_urls_expired_from_a_feed(tmp_path: Path) -> None:
    runs = [{SITEMAP: pages(0, 50)}, {SITEMAP: pages(0, 10)}]
    assert found(tmp_path, "change/mass-removal", *runs, facts={SITEMAP: {"kind": Kind.FEED}}) == []


def test_many_urls_added(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, "change/mass-addition", {SITEMAP: pages(0, 10)}, {SITEMAP: pages(0, 20)})
    assert (finding.sitemap, finding.severity, finding.count, finding.share) == (None, Severity.NOTICE, 10, 0.5)
    assert finding.message == "10 URLs added since the last run (50%)"
    assert samples(finding) == [(SITEMAP, loc, None) for loc in locs(10, 20)[:5]]


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param([pages(0, 11), pages(0, 21)], id="48 percent"),
        pytest.param([pages(0, 1), pages(0, 10)], id="few URLs"),
        pytest.param([pages(0, 30)], id="first run"),
    ],
)
def test_not_many_urls_added(runs: list[Any], tmp_path: Path) -> None:
    assert found(tmp_path, "change/mass-addition", *[{SITEMAP: entries} for entries in runs]) == []


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        pytest.param({}, Kind.FEED, id="feed"),
        pytest.param({"news": (News(title="t"),)}, Kind.SITEMAP, id="news sitemap"),
    ],
)
def test_many_urls_added_to_a_list_of_recent_pages(values: dict[str, Any], kind: Kind, tmp_path: Path) -> None:
    runs = [{SITEMAP: urls(*locs(start, start + 20), **values)} for start in (0, 20)]
    assert found(tmp_path, "change/mass-addition", *runs, facts={SITEMAP: {"kind": kind}}) == []


def flapping(*numbers: int) -> list[dict[str, Any]]:
    """Return a history of as many runs as *numbers*, each with that number of URLs."""
    return [{SITEMAP: pages(0, number)} for number in numbers]


def test_urls_that_come_and_go(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, "change/flapping", *flapping(3, 1, 3, 1, 3, 1, 3, 2, 3))
    assert (finding.sitemap, finding.severity, finding.count, finding.threshold) == (None, Severity.NOTICE, 2, 3)
    assert samples(finding) == [
        (SITEMAP, pages(1, 2)[0].loc, "3 times"),
        (SITEMAP, pages(2, 3)[0].loc, "4 times"),
    ]
    assert finding.message == "2 URLs removed and added again at least 3 times"


def test_urls_that_came_again_once(tmp_path: Path) -> None:
    options = {"change/flapping": RuleOptions(thresholds={"times": 1})}
    (finding,) = found(tmp_path, "change/flapping", *flapping(1, 2, 1, 2), options=options)
    assert finding.message == "1 URL removed and added again at least 1 time"
    assert samples(finding) == [(SITEMAP, pages(1, 2)[0].loc, "once")]


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param(flapping(2, 1, 2, 1, 2, 1), id="removed three times, added again twice"),
        pytest.param(flapping(1, 2, 1, 2, 1, 2), id="added three times, twice of them again"),
    ],
)
def test_urls_that_came_again_twice(runs: list[dict[str, Any]], tmp_path: Path) -> None:
    assert found(tmp_path, "change/flapping", *runs) == []


def urlset(*paths: str) -> bytes:
    return f"<urlset>{''.join(f'<url><loc>{SITE}/{path}</loc></url>' for path in paths)}</urlset>".encode()


def web(**sitemaps: bytes) -> dict[str, Any]:
    """Return a site whose robots.txt names *sitemaps*."""
    robots = "".join(f"Sitemap: {SITE}/{name}.xml\n" for name in sitemaps)
    return {f"{SITE}/robots.txt": robots.encode(), **{f"{SITE}/{name}.xml": text for name, text in sitemaps.items()}}


def test_a_sitemap_that_is_gone(tmp_path: Path) -> None:
    before, after = web(sitemap=urlset("a"), other=urlset("b", "xyz")), web(sitemap=urlset("a"))
    (finding,) = found_on_web(tmp_path, "change/sitemap-gone", before, after)
    assert (finding.sitemap, finding.severity, finding.count) == (OTHER, Severity.WARNING, 2)
    reason = finding.samples[0].value
    assert reason
    assert samples(finding) == [(OTHER, f"{SITE}/b", reason), (OTHER, f"{SITE}/xyz", reason)]
    assert finding.message == f"removed together with 2 URLs: {reason}"


def test_a_sitemap_that_nothing_names_any_more(tmp_path: Path) -> None:
    before, after = web(sitemap=urlset("a"), other=urlset("b")), web(sitemap=urlset("a", "b"))
    (finding,) = found_on_web(tmp_path, "sitemap/unlisted", before, after)
    reason = f"{SITE}/robots.txt was read completely and no longer lists the document"
    assert (finding.severity, finding.message) == (Severity.NOTICE, f"named by nothing any more: {reason}")
    assert samples(finding) == [(OTHER, None, reason)]


def test_a_sitemap_that_is_named_and_absent_is_not_unlisted(tmp_path: Path) -> None:
    before = web(sitemap=urlset("a"), other=urlset("b"))
    after = {url: answer for url, answer in before.items() if url != OTHER}
    assert found_on_web(tmp_path, "sitemap/unlisted", before, after) == []


def test_a_sitemap_with_another_version_is_not_unlisted(tmp_path: Path) -> None:
    webs = [
        {f"{SITE}/robots.txt": f"Sitemap: {OTHER}?v={version}".encode(), f"{OTHER}?v={version}": urlset("a")}
        for version in (1, 2)
    ]
    assert found_on_web(tmp_path, "sitemap/unlisted", *webs) == []


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(web(sitemap=urlset("a"), new=urlset("b", "xyz")), id="renamed"),
        pytest.param(web(sitemap=urlset("a", "b", "xyz")), id="joined"),
        pytest.param(web(sitemap=urlset("a"), other=urlset("b")), id="shorter"),
    ],
)
def test_a_sitemap_that_is_nearly_gone(after: dict[str, Any], tmp_path: Path) -> None:
    before = web(sitemap=urlset("a"), other=urlset("b", "xyz"))
    assert found_on_web(tmp_path, "change/sitemap-gone", before, after) == []
