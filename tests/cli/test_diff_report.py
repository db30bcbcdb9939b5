"""The report of a comparison, asserted whole."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from sitemap_harvest.cli.diff_report import change_lines, pending_lines, summary_lines
from sitemap_harvest.diff import compare
from sitemap_harvest.model import ChangeSummary, Difference, LeftSitemap, Outcome, StaleSitemap
from tests.snapshots.store.making import SITE, Making, entry, locs

if TYPE_CHECKING:
    from pathlib import Path

    from sitemap_harvest.diff import Changes
    from sitemap_harvest.model import UrlEntry

pytestmark = pytest.mark.quick

MARCH = datetime(2026, 3, 1, 9, tzinfo=UTC)
LONG = "/shop/" + "x" * 70
NEWS, SHOP, BLOG = (f"{SITE}/{name}.xml" for name in ("news", "shop", "blog"))


def page(path: str, **values: object) -> UrlEntry:
    return entry(f"{SITE}{path}", **values)


def compared(folder: Path, before: dict[str, list[UrlEntry]], after: dict[str, list[UrlEntry]]) -> Changes:
    """Return the changes between two runs with these documents."""
    making = Making(folder)
    return compare(making.run(before), making.run(after))


def report(changes: Changes, width: int | None = None, *, only_totals: bool = False) -> str:
    lines = [*summary_lines(changes.summary, width=width), *change_lines(changes, width=width, only_totals=only_totals)]
    return "".join(f"{line}\n" for line in lines)


@pytest.fixture
def changes(tmp_path: Path) -> Changes:
    """Two removals, an addition, a move, two changes, and twelve moved dates."""
    dated = [page(f"/blog/{number}", lastmod=MARCH) for number in range(10, 22)]
    moved = page("/shop/moved")
    before = [page("/shop/a"), page(LONG), page("/about", title="About"), page("/shop/c", priority=0.5)]
    after = [page("/shop/new\x1b"), page("/about", title="About us"), page("/shop/c", priority=0.8, changefreq="daily")]
    later = [page(f"/blog/{number}", lastmod=MARCH + timedelta(days=1)) for number in range(10, 22)]
    return compared(
        tmp_path, {SHOP: before, BLOG: dated, NEWS: [moved]}, {SHOP: [*after, moved], BLOG: later, NEWS: [page("/n")]}
    )


WHOLE = """\
https://a.example since 20261101T030000Z-000000: 2 added, 2 removed, 14 changed, 1 moved
URLs: 17 before, 17 after, 0 unchanged

section ┃ removed ┃ added ┃ moved ┃ changed ┃ lastmod
━━━━━━━━╇━━━━━━━━━╇━━━━━━━╇━━━━━━━╇━━━━━━━━━╇━━━━━━━━
/shop/  │       2 │     1 │     1 │       1 │
/blog/  │         │       │       │         │      12
/       │         │     1 │       │       1 │
────────┼─────────┼───────┼───────┼─────────┼────────
total   │       2 │     2 │     1 │       2 │      12

Removed: 2
  the sitemap was read completely and no longer lists the URL:
  https://a.example/shop/a
  https://a.example/shop/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx

Added: 2
  https://a.example/n
  https://a.example/shop/new\\x1b

Moved: 1
  https://a.example/shop/moved
    sitemap  https://a.example/news.xml → https://a.example/shop.xml

Changed: 2
  https://a.example/about
    title  About → About us
  https://a.example/shop/c
    changefreq  (none) → daily
    priority  0.5 → 0.8

Changed only in lastmod: 12
"""
DATED = """\
  https://a.example/blog/{}
    lastmod  2026-03-01T09:00:00+00:00 → 2026-03-02T09:00:00+00:00
"""


def test_a_report_has_all_changes_and_all_text(changes: Changes) -> None:
    assert report(changes) == WHOLE + "".join(DATED.format(number) for number in range(10, 22))


def test_a_terminal_gets_the_first_changes_of_each_group(changes: Changes) -> None:
    cut = WHOLE.replace(LONG, f"/shop/xxxxxx…{'x' * 48}").replace("14 changed, 1 moved", "14\n  changed, 1 moved")
    assert (
        report(changes, 80)
        == f"{cut}{''.join(DATED.format(number) for number in range(10, 20))}  and 2 more: add -o changes.csv\n"
    )


NARROW = """\
Removed: 2
  the sitemap was read completely and
    no longer lists the URL:
  https://a.example/shop/a
  https://a.exa…xxxxxxxxxxxxxxxxxxxxxxxx
"""
NARROW_DATE = """\
    lastmod  2026-03-01T09:00:00+00:00
           → 2026-03-02T09:00:00+00:00
"""


def test_a_narrow_terminal_gets_short_lines(changes: Changes) -> None:
    shown = report(changes, 40)
    assert [line for line in shown.splitlines() if cell_len(line) > 40] == []
    assert NARROW in shown
    assert shown.count(NARROW_DATE) == 10


def test_no_line_is_wider_than_the_terminal(tmp_path: Path) -> None:
    texts = [LONG, "/" + "目录" * 40, "/" + "قائمة" * 20, "/e" + "\u0301" * 90, "/\x1b[2J" * 9, "/a/" * 50]
    before = [page(f"/before{text}", title=f"{text} {number}") for number, text in enumerate(texts)]
    after = [page(f"/after{text}") for text in texts]
    same = [[page(f"/same{text}", title=f"{text} {when}") for text in texts] for when in ("before", "after")]
    changes = compared(tmp_path, {SHOP: [*before, *same[0]]}, {SHOP: [*after, *same[1]]})
    for width in range(40, 121):
        assert [line for line in report(changes, width).splitlines() if cell_len(line) > width] == []


def test_totals_can_be_all(changes: Changes) -> None:
    assert report(changes, only_totals=True) == WHOLE.partition("\nRemoved:")[0]


def test_the_first_difference_of_long_values_is_shown(tmp_path: Path) -> None:
    title = "A long title, in which only the last word of all differs: "
    changes = compared(tmp_path, {SHOP: [page("/a", title=title + "one")]}, {SHOP: [page("/a", title=title + "two")]})
    assert report(changes, 60).endswith("\n    title  …iffers: one\n         → …iffers: two\n")


def test_pairs_of_a_pattern_are_reported_once_and_after_single_changes(tmp_path: Path) -> None:
    old = [f"http://a.example/p/{number:02}" for number in range(25)]
    changes = compared(
        tmp_path,
        {SHOP: [*map(entry, old), page("/gone")]},
        {SHOP: [entry(loc.replace("http:", "https:")) for loc in old]},
    )
    shown = report(changes, 80)
    assert "\nPattern: http-to-https, 25 URLs (such as http://" in shown
    assert shown.partition("\n\nRemoved")[2] == (
        ": 1\n  the sitemap was read completely and no longer lists the URL:\n  https://a.example/gone\n\n"
        "Part of a pattern: 25\n  the sitemap was read completely and no longer lists the URL:\n"
        + "".join(f"  {loc}\n    is now {loc.replace('http:', 'https:')}\n" for loc in old[:10])
        + "  and 15 more: add -o changes.csv\n"
    )


def test_a_terminal_gets_the_sections_with_the_most_removals(tmp_path: Path) -> None:
    before = [page(f"/{section:02}/{number}") for section in range(14) for number in range(section)]
    shown = report(compared(tmp_path, {SHOP: before}, {SHOP: [page("/00/1")]}), 80, only_totals=True)
    rows = [[cell.strip() for cell in line.split("│")] for line in shown.splitlines()[5:]]
    assert rows == [
        *([f"/{section:02}/", str(section), ""] for section in range(13, 3, -1)),
        ["4 other sections", "6", "1"],
        ["─────────────────┼─────────┼──────"],
        ["total", "91", "1"],
    ]


def test_urls_of_other_hosts_have_their_own_sections(tmp_path: Path) -> None:
    old = [entry(loc) for loc in ("https://www.a.example/a/1", "https://B.example/a/1?x=/y/", "ftp://c.example", "x")]
    shown = report(compared(tmp_path, {SHOP: [*old, *locs(1)]}, {SHOP: [*map(entry, locs(1))]}), only_totals=True)  # type: ignore[list-item]
    rows = [[cell.strip() for cell in line.split("│")] for line in shown.splitlines()[5:]]
    assert rows == [["/", "1"], ["/a/", "1"], ["b.example/a/", "1"], ["c.example/", "1"], rows[4], ["total", "4"]]


@pytest.mark.parametrize(
    ("counts", "lines"),
    [
        pytest.param({"unchanged": 35, "stale": 10, "stale_share": 0.2857},
                     ["URLs: 38 before, 38 after, 35 without a known change",
                      "Not confirmed in this run: 10 entries (28.6%)"], id="not-confirmed"),
        pytest.param({"unchanged": 38, "stale": 35, "stale_share": 1.0, "pending": 3},
                     ["URLs: 38 before, 38 after (3 of them pending), 38 without a known change",
                      "Not confirmed in this run: 35 entries (100.0% of those that are not pending)"], id="pending"),
    ],
)  # fmt: skip
def test_unconfirmed_and_pending_urls_are_not_called_unchanged(counts: dict[str, float], lines: list[str]) -> None:
    summary = ChangeSummary(site=SITE, run="b", baseline="a", urls_before=38, urls_after=38, **counts)
    assert [*summary_lines(summary)][1:] == lines


def test_an_argument_that_was_given_only_once_is_not_set_in_the_other_run() -> None:
    limits = (Difference(name="limit", before=None, after="9"), Difference(name="prefix", before="/q/", after=None))
    summary = ChangeSummary(site=SITE, run="b", baseline="a", differences=limits)
    assert [*summary_lines(summary)][2:] == [
        "Argument or limit changed: limit was not set and is now 9",
        "Argument or limit changed: prefix was /q/ and is now not set",
    ]


def test_no_change_is_two_lines(tmp_path: Path) -> None:
    changes = compared(tmp_path, {SHOP: [page("/a")]}, {SHOP: [page("/a")]})
    assert report(changes) == (
        "https://a.example since 20261101T030000Z-000000: no change\nURLs: 1 before, 1 after, 1 unchanged\n"
    )


PENDING = """
Pending: 12
  no longer listed, but https://a.example/blog.xml and other
    documents were not read completely and may list them:
"""


def test_pending_urls_are_reported(tmp_path: Path) -> None:
    making = Making(tmp_path)
    first = making.run({SHOP: locs(13)})
    making.holds = True
    after = making.run({SHOP: locs(1)})
    summary = compare(first, after).summary
    unread = tuple(StaleSitemap(url=url, outcome=Outcome.FAILED, reason="down") for url in (BLOG, NEWS))

    def shown(width: int | None, unread: tuple[StaleSitemap, ...], count: int = 1) -> str:
        named = dataclasses.replace(summary, stale_sitemaps=unread, unread=count)
        return "".join(f"{line}\n" for line in pending_lines(named, after.pending_urls(), width=width))

    found = [f"  {loc}\n" for loc in locs(13)[1:]]
    cut = "".join(found[:10])
    assert shown(70, unread) == f"{PENDING}{cut}  and 2 more: see the view pending of query\n"
    assert shown(None, unread[:1]).splitlines()[2:] == [
        f"  no longer listed, but {BLOG} was not read completely and may list them:",
        *(line.rstrip() for line in found),
    ]
    assert "but a document was not read completely and may" in shown(None, ())
    assert f"but {BLOG} was skipped, and may list them:" in shown(None, unread[:1], 0)
    assert f"but {BLOG} and other documents were skipped, and may list them:" in shown(None, unread, 0)
    assert list(pending_lines(compare(first, first).summary, first.pending_urls())) == []


def test_documents_without_urls_that_were_not_read_have_a_heading() -> None:
    unread = StaleSitemap(url=f"{SITE}/robots.txt", outcome=Outcome.FAILED, reason="down")
    summary = ChangeSummary(site=SITE, run="b", baseline="a", unchanged=1, stale_sitemaps=(unread,), unread=1)
    assert list(summary_lines(summary)) == [
        f"{SITE} since a: no change in the documents that were read; 1 document was not read completely",
        "URLs: 0 before, 0 after, 1 without a known change",
        "Not read completely in this run:",
        f"  {SITE}/robots.txt: down",
    ]


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        pytest.param({}, "no change", id="all-was-read"),
        pytest.param({"stale": 1}, "no change in the documents that were read", id="skipped-on-purpose"),
        pytest.param(
            {"stale": 5, "stale_share": 1.0, "unread": 2},
            "unknown, because no document that lists URLs was read; 2 documents were not read completely",
            id="unread",
        ),
        pytest.param(
            {"added": 1_200, "unread": 2_000}, "1,200 added; 2,000 documents were not read completely", id="changes"
        ),
        pytest.param(
            {"newly_known": 2},
            "2 newly known (from documents never read completely before, so perhaps not new)",
            id="newly-known",
        ),
    ],
)
def test_the_first_line_says_what_is_known(counts: dict[str, int], words: str) -> None:
    assert ChangeSummary(site=SITE, run="b", baseline="a", **counts).in_words() == f"{SITE} since a: {words}"


def test_a_terminal_gets_the_first_documents() -> None:
    unread = tuple(StaleSitemap(url=f"{SITE}/{number}.xml", outcome=Outcome.FAILED) for number in range(1_010))
    left = tuple(LeftSitemap(url=one.url, reason="gone") for one in unread[:7])
    summary = ChangeSummary(site=SITE, run="b", baseline="a", stale_sitemaps=unread, sitemaps_left=left, unread=1_010)
    failed, gone = (
        [line.format(SITE, number) for number in range(1_010)]
        for line in ("  {}/{}.xml: failed", "Removed sitemap: {}/{}.xml: gone")
    )
    assert list(summary_lines(summary))[3:] == [*failed, *gone[:7]]
    assert [line for line in summary_lines(summary, width=80) if not line.startswith("URLs")][3:] == [
        *failed[:5],
        "  and 1,005 more: see the view sitemaps of query",
        *gone[:5],
        "  and 2 more: see the view sitemaps of query",
    ]


def test_documents_that_are_gone_or_empty_are_named() -> None:
    summary = ChangeSummary(
        site=SITE,
        run="b",
        baseline="a",
        sitemaps_left=(
            LeftSitemap(url=f"{SITE}/robots.txt", reason="the document was absent in 3 runs"),
            LeftSitemap(url=f"{SITE}/s.xml", reason="the document was absent in 3 runs"),
        ),
        sitemaps_emptied=(f"{SITE}/news.xml",),
    )
    assert list(summary_lines(summary))[2:] == [
        f"{SITE}/robots.txt is gone: it was absent in 3 runs, so the site counts as one without a robots.txt",
        f"Removed sitemap: {SITE}/s.xml: the document was absent in 3 runs",
        f"Emptied sitemap: {SITE}/news.xml",
    ]


def test_a_change_of_the_date_of_a_moved_url_counts_like_that_of_any_other(tmp_path: Path) -> None:
    later = MARCH + timedelta(days=1)
    before = {SHOP: [page("/a", lastmod=MARCH), page("/b", lastmod=MARCH)]}
    changes = compared(tmp_path, before, {SHOP: [page("/b", lastmod=later)], BLOG: [page("/a", lastmod=later)]})
    dates = "    lastmod  2026-03-01T09:00:00+00:00 → 2026-03-02T09:00:00+00:00"
    assert report(changes).partition("\n\n")[2].splitlines() == [
        "section ┃ moved ┃ lastmod",
        "━━━━━━━━╇━━━━━━━╇━━━━━━━━",
        "/       │     1 │       2",
        "",
        "Moved: 1",
        f"  {SITE}/a",
        f"    sitemap  {SHOP} → {BLOG}",
        "",
        "Changed only in lastmod: 2",
        f"  {SITE}/a",
        dates,
        f"  {SITE}/b",
        dates,
    ]


def test_removals_are_grouped_by_reason(tmp_path: Path) -> None:
    before = {SHOP: [page(f"/{name}") for name in "acegi"], BLOG: [page(f"/{name}") for name in "bdf"]}
    changes = compared(tmp_path, before, {SHOP: [page("/c")]})
    gone = [f"{SITE}/{name}" for name in "aegibdf"]
    assert report(changes).partition("Removed: ")[2].splitlines() == [
        "7",
        "  the sitemap was read completely and no longer lists the URL:",
        *(f"  {loc}" for loc in gone[:4]),
        "  the sitemap has since been removed:",
        *(f"  {loc}" for loc in gone[4:]),
    ]
