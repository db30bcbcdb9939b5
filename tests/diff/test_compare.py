"""The changes between two snapshots: each kind, and the differences that are no change."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from sitemap_harvest import HarvestError, Kind, Outcome, UrlEntry, read
from sitemap_harvest.diff import compare
from sitemap_harvest.model import READ_SEPARATELY, Alternate, Image, News
from sitemap_harvest.model.change import LeftSitemap
from sitemap_harvest.snapshots.merge import NOT_ASKED_FOR
from tests.diff.snapshots import FRESH, NEVER, OLD, SITE, Doc, at, history

if TYPE_CHECKING:
    from pathlib import Path

ROBOTS = Doc(kind=Kind.ROBOTS, parent=None)
INDEX = Doc(kind=Kind.INDEX)
DAY = datetime(2026, 3, 1, tzinfo=UTC)
LATER = datetime(2026, 4, 1, tzinfo=UTC)


def changes(before: dict[str, Doc], after: dict[str, Doc]) -> list[str]:
    """Return the changes from *before* to *after*, each in one line without the site."""
    with compare(*history(before, after)) as found:
        return [line for batch in found.batches() for line in map(in_a_line, batch)]


def in_a_line(change: Any) -> str:
    words = [change.kind, change.loc]
    words.append(f"{change.sitemap_before}>{change.sitemap}" if change.sitemap_before else change.sitemap)
    words += [f"{name}:{change.before[name]}>{change.after[name]}" for name in change.fields]
    return " ".join(words).replace(SITE, "")


def one(*entries: UrlEntry | str, **said: Any) -> dict[str, Doc]:
    return {"/robots.txt": ROBOTS, "/s.xml": Doc(entries, **said)}


def two(first: Any, second: Any) -> dict[str, Doc]:
    return {"/robots.txt": ROBOTS, "/s.xml": Doc(first), "/t.xml": Doc(second)}


IMAGE, OTHER_IMAGE = Image(loc="https://a.example/1.png"), Image(loc="https://a.example/2.png")
CASES = [
    pytest.param(one("/1"), one("/1", "/2"), ["added /2 /s.xml"], id="added"),
    pytest.param(one("/1", "/2"), one("/1"), ["removed /2 /s.xml"], id="removed"),
    pytest.param(one("/1", "/2"), one("/2", "/1"), [], id="order-only"),
    pytest.param(one("/1", "/2"), one("/1", "/1", "/2"), [], id="listed-once-more"),
    pytest.param(one("/1", "/1"), one("/1"), [], id="listed-once-less"),
    pytest.param(
        one(at("/1", lastmod=DAY, lastmod_text="2026-03-01")),
        one(at("/1", lastmod=DAY, lastmod_text="2026-03-01T00:00:00Z", lastmod_precision="second")),
        [],
        id="lastmod-reformatted",
    ),
    pytest.param(
        one(at("/1", lastmod=LATER, lastmod_text="x")),
        one(at("/1", lastmod=DAY, lastmod_text="y")),
        ["changed /1 /s.xml lastmod:2026-04-01T00:00:00+00:00>2026-03-01T00:00:00+00:00"],
        id="lastmod-backwards",
    ),
    pytest.param(
        one(at("/1", lastmod=DAY, lastmod_text="2026-03-01")),
        one(at("/1", lastmod_text="yesterday")),
        ["changed /1 /s.xml lastmod:2026-03-01T00:00:00+00:00>yesterday"],
        id="lastmod-unreadable-now",
    ),
    pytest.param(
        one(at("/1", lastmod_text="monday")),
        one(at("/1", lastmod_text="tuesday")),
        ["changed /1 /s.xml lastmod:monday>tuesday"],
        id="lastmod-unreadable-both-times",
    ),
    pytest.param(
        one(at("/1")),
        one(at("/1", lastmod=DAY, lastmod_text="2026-03-01")),
        ["changed /1 /s.xml lastmod:None>2026-03-01T00:00:00+00:00"],
        id="lastmod-is-there-now",
    ),
    pytest.param(
        one(at("/1", priority=0.5, changefreq="daily", title="A")),
        one(at("/1", priority_text="high", title="B")),
        ["changed /1 /s.xml changefreq:daily>None priority:0.5>high title:A>B"],
        id="several-fields",
    ),
    pytest.param(
        one(at("/a b", key=f"{SITE}/a%20b")),
        one(at("/a%20b", key=f"{SITE}/a%20b")),
        ["changed /a%20b /s.xml loc:/a b>/a%20b"],
        id="another-spelling-of-one-key",
    ),
    pytest.param(
        one(at("/1", images=(IMAGE,), alternates=(Alternate(href="/de", hreflang="de"),))),
        one(at("/1", images=(OTHER_IMAGE,), mobile=True)),
        [
            (
            'changed /1 /s.xml alternates:[{"href": "/de", "hreflang": "de", "media": null, "type": null}]>None '
            'images:[{"loc": "/1.png", "caption": null, "title": null, "geo_location": null, "license": null}]>'
            '[{"loc": "/2.png", "caption": null, "title": null, "geo_location": null, "license": null}] '
            "mobile:None>true"
            ),
        ],
        id="nested-fields",
    ),
    pytest.param(
        one(at("https://[", key=None), at("https://[b", key=None, title="A")),
        one(at("https://[b", key=None, title="B"), at("https://[c", key=None)),
        [
            "removed https://[ /s.xml",
            "changed https://[b /s.xml title:A>B",
            "added https://[c /s.xml",
        ],
        id="no-key-so-loc-is-the-identity",
    ),
    pytest.param(one(at("/1")), one(at("/1", loc_raw=" /1", in_scope=False)), [], id="what-is-not-compared"),
    pytest.param(two(["/1", "/2"], ["/3"]), two(["/1"], ["/2", "/3"]), ["moved /2 /s.xml>/t.xml"], id="moved"),
    pytest.param(
        two([at("/1"), at("/2", title="A")], []),
        two([at("/1")], [at("/2", title="B")]),
        ["changed /2 /s.xml>/t.xml title:A>B", "moved /2 /s.xml>/t.xml"],
        id="moved-and-changed",
    ),
    pytest.param(two(["/1"], ["/1"]), two(["/1"], []), [], id="listed-by-one-document-less"),
    pytest.param(two(["/1"], []), two(["/1"], ["/1"]), [], id="listed-by-one-document-more"),
    pytest.param(
        two([at("/1", title="A")], [at("/1", title="A")]),
        two([at("/1", title="A")], [at("/1", title="B")]),
        ["changed /1 /t.xml title:A>B"],
        id="changed-in-one-of-two-documents",
    ),
    pytest.param(
        two([at("/1", title="A")], [at("/1", title="A")]),
        two([at("/1", title="B")], [at("/1", title="C")]),
        ["changed /1 /s.xml title:A>B"],
        id="changed-in-both-documents-names-the-first",
    ),
    pytest.param(
        one(at("/1", title="A"), at("/1", title="B")),
        one(at("/1", title="B"), at("/1", title="A")),
        [],
        id="duplicates-in-another-order",
    ),
    pytest.param(
        one(at("/1", title="A"), at("/1", title="B")),
        one(at("/1", title="C"), at("/1", title="A")),
        ["changed /1 /s.xml title:A>C"],
        id="duplicates-that-say-another-thing",
    ),
    pytest.param(
        one(at("/1", title="A"), at("/1", title="B")),
        one(at("/1", title="A"), at("/1", title="C")),
        [],
        id="duplicates-of-which-the-first-stays",
    ),
    pytest.param(
        one(at("/1", news=(News(title="N"),)), "/2"), one("/2"), ["expired /1 /s.xml"], id="news-expires"
    ),
    pytest.param(
        one("/1", "/2", kind=Kind.FEED), one("/2", kind=Kind.FEED), ["expired /1 /s.xml"], id="feed-entry-expires"
    ),
    pytest.param(
        two([at("/1", news=(News(title="N"),))], ["/1", "/2"]),
        two([], ["/2"]),
        ["removed /1 /t.xml"],
        id="news-that-a-sitemap-listed-too-is-removed",
    ),
    pytest.param(one("/1", "/2"), one(), ["removed /1 /s.xml", "removed /2 /s.xml"], id="emptied"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "wanted"), CASES)
def test_changes_of_each_kind(before: dict[str, Doc], after: dict[str, Doc], wanted: list[str]) -> None:
    assert sorted(changes(before, after)) == sorted(wanted)


S = "/s.xml"
KNOWN = [
    pytest.param({S: Doc(["/1"])}, {S: Doc(["/1", "/2"])}, True, id="read-whole-before"),
    pytest.param({S: Doc(["/1"], known=OLD)}, {S: Doc(["/1", "/2"])}, True, id="read-whole-long-before"),
    pytest.param({S: Doc(["/1"], known=NEVER)}, {S: Doc(["/1", "/2"])}, False, id="read-in-part-before"),
    pytest.param({S: Doc(known=NEVER, outcome=Outcome.FAILED)}, {S: Doc(["/2"])}, False, id="failed-before"),
    pytest.param({}, {S: Doc(["/2"])}, True, id="new-in-a-robots-txt-that-was-read-whole"),
    pytest.param({}, {S: Doc(["/2"], parent=None)}, False, id="named-by-the-user-for-the-first-time"),
    pytest.param(
        {"/i.xml": INDEX}, {"/i.xml": INDEX, S: Doc(["/2"], parent=f"{SITE}/i.xml")}, True, id="new-in-an-index"
    ),
    pytest.param(
        {"/i.xml": Doc(kind=Kind.INDEX, known=NEVER, outcome=Outcome.PARTIAL)},
        {"/i.xml": INDEX, S: Doc(["/2"], parent=f"{SITE}/i.xml")},
        False,
        id="in-an-index-that-was-read-in-part-before",
    ),
    pytest.param(
        {"/i.xml": Doc(kind=Kind.INDEX, names=[S])},
        {"/i.xml": INDEX, S: Doc(["/2"], parent=f"{SITE}/i.xml")},
        False,
        id="named-by-an-index-before-and-one-of-too-many-to-have-a-record",
    ),
    pytest.param(
        {}, {"/i.xml": INDEX, S: Doc(["/2"], parent=f"{SITE}/i.xml")}, True, id="in-an-index-that-is-new-itself"
    ),
    pytest.param(
        {},
        {"/i.xml": Doc(kind=Kind.INDEX, parent=None), S: Doc(["/2"], parent=f"{SITE}/i.xml")},
        False,
        id="in-an-index-that-the-user-names-for-the-first-time",
    ),
    pytest.param(
        {S: Doc(known=OLD, left="absent in 3 runs", parent=None)},
        {S: Doc(["/2"], parent=None)},
        True,
        id="back-after-it-had-left",
    ),
]


@pytest.mark.parametrize(("before", "after", "is_added"), KNOWN)
def test_entries_of_documents_never_read_are_never_added(
    before: dict[str, Doc], after: dict[str, Doc], is_added: bool
) -> None:
    robots = {"/robots.txt": ROBOTS}
    with compare(*history(robots | before, robots | after)) as found:
        assert [change.loc for batch in found.batches() for change in batch] == [f"{SITE}/2"] * is_added
    assert (found.summary.added, found.summary.newly_known) == (is_added, not is_added)


@pytest.mark.parametrize("known", [OLD, NEVER])
def test_a_listed_document_that_never_existed_is_not_removed(known: str) -> None:
    robots, words = {"/robots.txt": ROBOTS}, "robots.txt no longer lists the document"
    before = robots | {S: Doc(known=known, outcome=Outcome.ABSENT)}
    after = robots | {S: Doc(known=known, outcome=Outcome.ABSENT, left=words)}
    with compare(*history(before, after)) as found:
        removed = (LeftSitemap(url=f"{SITE}{S}", reason=words),)
        assert found.summary.sitemaps_left == (removed if known == OLD else ())


def test_a_sitemap_that_only_the_previous_index_named() -> None:
    child = Doc(["/2"], parent=f"{SITE}/i.xml")
    for names, came in (([S], ()), ([], (f"{SITE}{S}",))):
        with compare(*history({"/i.xml": Doc(kind=Kind.INDEX, names=names)}, {"/i.xml": INDEX, S: child})) as found:
            assert found.summary.sitemaps_came == came


def test_entries_of_incomplete_documents_are_neither_removed_nor_changed() -> None:
    before = {"/robots.txt": ROBOTS, S: Doc(["/1", at("/2", title="A")], known=NEVER)}
    after = {"/robots.txt": ROBOTS, S: Doc([at("/2", title="B")])}
    assert changes(before, after) == []
    with compare(*history(before, after)) as found:
        assert (found.summary.retracted, found.summary.unchanged) == (1, 1)


def test_a_url_is_added_if_one_of_its_documents_is_trusted() -> None:
    before = {"/robots.txt": ROBOTS, S: Doc(["/1"]), "/t.xml": Doc(known=NEVER)}
    assert changes(before, two(["/1", "/2"], ["/2", "/3"])) == ["added /2 /s.xml"]


REASONS = [
    pytest.param(one("/1", "/2"), "the sitemap was read completely and no longer lists the URL", id="not-listed"),
    pytest.param(one(), "the sitemap was read completely and is now empty", id="emptied"),
    pytest.param(
        one(left="its index no longer lists it"), "the sitemap was removed: its index no longer lists it", id="left"
    ),
    pytest.param({"/robots.txt": ROBOTS}, "the sitemap has since been removed", id="left-in-between"),
]


@pytest.mark.parametrize(("after", "reason"), REASONS)
def test_reasons_for_removed(after: dict[str, Doc], reason: str) -> None:
    with compare(*history(one("/0", "/1", "/2"), after)) as found:
        reasons = {change.loc: change.reason for batch in found.batches() for change in batch}
    assert reasons[f"{SITE}/0"] == reason


def test_reasons_for_expired() -> None:
    before = two([at("/1", news=(News(),))], []) | {"/feed": Doc(["/2"], kind=Kind.FEED)}
    with compare(*history(before, two([], []) | {"/feed": Doc([], kind=Kind.FEED)})) as found:
        assert [(change.loc, change.reason) for batch in found.batches() for change in batch] == [
            (f"{SITE}/1", "the URL is no longer in a news sitemap, which lists only recent items"),
            (f"{SITE}/2", "the URL is no longer in a feed, which lists only recent items"),
        ]


def test_a_complete_change_record() -> None:
    (before, after) = history(one(at("/1", title="A")), one(at("/1", title="B", lastmod=DAY)))
    with compare(before, after) as found:
        ((change,),) = found.batches()
    assert (change.kind, change.key, change.site, change.run, change.baseline) == (
        "changed", f"{SITE}/1", SITE, "run-1", "run-0"
    )  # fmt: skip
    assert change.fields == ("lastmod", "title")
    assert change.before == {"lastmod": None, "title": "A"}
    assert change.after == {"lastmod": "2026-03-01T00:00:00+00:00", "title": "B"}
    assert (change.sitemap_before, change.reason, change.pattern, change.counterpart, change.score) == (None,) * 5


class DamagedError(Exception):
    pass


def test_errors_while_reading_propagate_and_leave_no_files(tmp_path: Path) -> None:
    before, after = history(one("/1", "/2"), one("/2", "/3"))

    def rows(wanted: Any, columns: Any) -> Any:
        yield from type(after).rows(after, wanted, columns)
        if columns == ["key"]:
            raise DamagedError

    after.rows = rows  # type: ignore[method-assign]
    with pytest.raises(DamagedError):
        compare(before, after, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_files_are_deleted_on_close(tmp_path: Path) -> None:
    changes = compare(*history(one("/1"), one("/2")), folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    assert list(changes.batches()) != []
    changes.close()
    assert list(tmp_path.iterdir()) == []


def test_previous_urls_are_counted_unless_recorded_by_their_run() -> None:
    before, after = history(one("/1", "/2", "/2"), one("/2", "/3"))
    with compare(before, after) as changes:
        counted = changes.summary
    before.run.urls = 2
    with compare(before, after) as changes:
        assert changes.summary == counted


@pytest.mark.thorough
@pytest.mark.parametrize(("partly_read", "stale", "share"), [(0, 30_000, 1.0), (1, 29_999, 0.9999), (30_000, 0, 0.0)])
def test_entries_that_were_partly_read_are_not_stale(partly_read: int, stale: int, share: float) -> None:
    listed = Doc([f"/{number}" for number in range(30_000)], known=OLD, outcome=Outcome.PARTIAL)
    before, after = history({S: listed}, {S: listed})
    after.run.partly_read = partly_read
    with compare(before, after) as found:
        assert (found.summary.stale, found.summary.stale_share, found.summary.unread) == (stale, share, 1)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        pytest.param("absent", "no change", id="no-sitemap"),
        pytest.param("found", "no change", id="empty-sitemaps"),
        pytest.param(None, "no change", id="not-recorded"),
        pytest.param("blocked", "unknown, because no document that lists URLs was read", id="there-may-be-sitemaps"),
    ],
)
def test_a_site_that_lists_nothing_has_no_change_only_if_that_is_certain(result: str | None, words: str) -> None:
    before, after = history({}, {})
    after.run.result = result
    with compare(before, after) as found:
        assert found.summary.in_words() == f"{SITE} since {before.run.id}: {words}"


REDIRECTS = f"the URL redirects to {SITE}/b.xml, {READ_SEPARATELY}"


@pytest.mark.parametrize(
    ("document", "arguments", "named", "unread"),
    [
        pytest.param(Doc(known=NEVER, outcome=Outcome.FAILED), {}, 1, 1, id="failed"),
        pytest.param(Doc(known=NEVER, outcome=Outcome.ABSENT), {}, 1, 1, id="absent"),
        pytest.param(Doc(known=FRESH, outcome=Outcome.ABSENT), {}, 1, 1, id="absent-for-long"),
        pytest.param(Doc(known=OLD, outcome=Outcome.ABSENT, left="absent", names=[S]), {}, 1, 1, id="absent-and-left"),
        pytest.param(Doc(known=OLD, outcome=Outcome.ABSENT, left="no longer listed"), {}, 0, 0, id="no-longer-listed"),
        pytest.param(Doc(known=NEVER, outcome=Outcome.INTERRUPTED), {}, 1, 1, id="interrupted"),
        pytest.param(Doc(known=NEVER, outcome=Outcome.OVER_LIMIT), {}, 1, 1, id="over-limit"),
        pytest.param(Doc(known=NEVER, outcome=Outcome.READ), {}, 1, 1, id="suspect"),
        pytest.param(Doc(known=NEVER, outcome=Outcome.SKIPPED, reason="skip"), {}, 0, 0, id="skipped"),
        pytest.param(Doc(["/1"], known=OLD, outcome=Outcome.SKIPPED, reason="skip"), {}, 1, 0, id="skipped-with-urls"),
        pytest.param(
            Doc(["/1"], known=OLD, outcome=Outcome.SKIPPED, reason=REDIRECTS), {}, 1, 1, id="redirects-to-another-one"
        ),
        pytest.param(
            Doc(known=NEVER, outcome=Outcome.SKIPPED, reason=REDIRECTS), {}, 0, 0, id="redirects-and-never-had-urls"
        ),
        pytest.param(Doc(known=NEVER, outcome=Outcome.OUT_OF_SCOPE), {}, 0, 0, id="out-of-scope"),
        pytest.param(
            Doc(["/1"], known=OLD, outcome=Outcome.SKIPPED, reason=NOT_ASKED_FOR), {}, 1, 1, id="the-run-ended-early"
        ),
        pytest.param(
            Doc(["/1"], known=OLD, outcome=Outcome.SKIPPED, reason=NOT_ASKED_FOR),
            {"feeds_only": "yes"},
            1,
            0,
            id="feeds-only",
        ),
    ],
)
def test_documents_that_were_not_read_are_named_and_counted_unless_that_was_the_aim(
    document: Doc, arguments: dict[str, str], named: int, unread: int
) -> None:
    runs = history({S: document}, {S: document}, arguments=[arguments, arguments])
    with compare(*runs) as found:
        assert (len(found.summary.stale_sitemaps), found.summary.unread) == (named, unread)


def test_snapshots_of_different_sites_are_not_compared() -> None:
    before, after = history(one("/1"), one("/1"))
    with pytest.raises(HarvestError, match=r"^the snapshots are of different sites: https://a.example and b.example$"):
        compare(before, replace(after, site="b.example"))


def test_only_snapshots_are_compared() -> None:
    before, after = history(one("/1"), one("/1"))
    for arguments in ((before, "latest"), ([1], after), (None, read(b"<urlset/>")), (before, None)):
        with pytest.raises(
            TypeError, match=r"^compare\(\) takes snapshots, such as open_store\(\.\.\.\)\.site\(\.\.\.\)\.at"
        ):
            compare(*arguments)  # type: ignore[arg-type]
