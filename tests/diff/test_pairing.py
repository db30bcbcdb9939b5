"""Mass changes, reported as one, and likely renames."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sitemap_harvest.diff import compare
from sitemap_harvest.diff.changes import FOUND
from sitemap_harvest.diff.classify import ADDED, REMOVED
from sitemap_harvest.diff.pairing import MACROS, PAIRED, is_mass, last_segments, pair, renames
from sitemap_harvest.diff.temporary_files import TemporaryFile
from sitemap_harvest.diff.touched_rows import Work
from sitemap_harvest.model import ChangeSummary, Difference, LeftSitemap, Outcome, Rename
from tests.diff.snapshots import NEVER, OLD, SITE, Doc, at, history
from tests.diff.test_compare import DAY, INDEX, LATER, ROBOTS, one, two

MANY = 1_000_000


def sql(function: str, *keys: str) -> str | None:
    """Return the result of a function of keys."""
    with duckdb.connect() as connection:
        connection.execute(MACROS)
        ((result,),) = connection.execute(f"select {function}({', '.join('?' * len(keys))})", keys).fetchall()
        return result


def test_normal_forms_remove_what_a_migration_changes() -> None:
    same = ["http://a.example/x/?q=/", "https://www.a.example/x?q=/", "https://a.example/x/?q=/"]
    assert {sql("normal_form", key) for key in same} == {"a.example/x?q=/"}
    others = ["https://a.example/", "https://a.example/x/#y", "https://a.example:8080//", "https://a.example/x?u=/"]
    assert [sql("normal_form", key) for key in others] == [
        "a.example", "a.example/x#y", "a.example:8080/", "a.example/x?u=/"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        pytest.param("http://a.example/x", "https://a.example/x", "http-to-https", id="https"),
        pytest.param("https://a.example/x", "http://a.example/x", "https-to-http", id="back"),
        pytest.param("https://a.example/x", "https://a.example/x/", "slash-added", id="slash"),
        pytest.param("https://a.example/x/?q", "https://a.example/x?q", "slash-removed", id="no-slash-before-a-query"),
        pytest.param("https://a.example/x", "https://www.a.example/x", "www-added", id="www"),
        pytest.param("https://www.a.example/x", "https://a.example/x", "www-removed", id="no-www"),
        pytest.param("http://a.example/x", "https://www.a.example/x/", "http-to-https+www-added+slash-added", id="all"),
        pytest.param("https://a.example/x", "https://a.example/x", None, id="the-same"),
        pytest.param("http://a.example/x?u=/", "https://a.example/x?u=/", "http-to-https", id="slash-in-the-query"),
    ],
)
def test_rules_have_names(before: str, after: str, name: str | None) -> None:
    assert sql("rule", before, after) == name


@pytest.mark.parametrize(
    ("count", "total", "wanted"),
    [
        pytest.param(20, 20, True, id="all-of-a-few"),
        pytest.param(19, 19, False, id="too-few"),
        pytest.param(90, 100, True, id="nine-in-ten"),
        pytest.param(89, 100, False, id="less"),
    ],
)
def test_mass_changes_are_detected(count: int, total: int, wanted: bool) -> None:
    assert is_mass(count, total) is wanted


MASS = [
    pytest.param("http://a.example/p{}", "https://a.example/p{}", "http-to-https", 1.0, id="http-to-https-of-all"),
    pytest.param("https://a.example/p{}", "https://a.example/p{}/", "slash-added", 1.0, id="slash"),
    pytest.param("https://a.example/p{}", "https://www.a.example/p{}", "www-added", 1.0, id="www"),
    pytest.param("https://old.example/p{}", "https://new.example/p{}", "host-move", 0.95, id="host"),
]


@pytest.mark.parametrize(("old", "new", "name", "score"), MASS)
def test_a_mass_change_is_reported_once(old: str, new: str, name: str, score: float) -> None:
    before = [old.format(number) for number in range(30)]
    after = [new.format(number) for number in range(30)]
    with compare(*history(one(*before, "/stays"), one(*after, "/stays"))) as found:
        changes = [change for batch in found.batches() for change in batch]
    assert {(change.kind, change.pattern, change.score) for change in changes} == {
        ("added", name, score),
        ("removed", name, score),
    }
    assert {change.loc: change.counterpart for change in changes} == dict(
        zip(before + after, after + before, strict=True)
    )
    (pattern,) = found.summary.patterns
    assert (pattern.name, pattern.count, pattern.share) == (name, 30, 1.0)
    assert pattern.detail.endswith(f"such as {before[0]} to {after[0]}")
    assert (found.summary.removed, found.summary.added, found.summary.renames) == (30, 30, ())


def test_a_rule_with_few_matches_makes_likely_renames() -> None:
    with compare(*history(one("http://a.example/x"), one("https://a.example/x"))) as found:
        changes = [change for batch in found.batches() for change in batch]
    assert [(change.pattern, change.score) for change in changes] == [(None, 1.0)] * 2
    assert found.summary.patterns == ()
    assert found.summary.renames == (Rename(removed="http://a.example/x", added="https://a.example/x", score=1.0),)


def test_a_few_equal_paths_are_no_move_to_another_host() -> None:
    before = [f"https://old.example/{number}" for number in range(100)]
    after = [f"https://new.example/{number}" for number in range(70, 100)]
    with compare(*history(one(*before), one(*after))) as found:
        assert found.summary.patterns == ()


def test_later_lastmods_everywhere_are_one_change() -> None:
    before = [at(f"/{number}", lastmod=DAY) for number in range(25)]
    after = [at(f"/{number}", lastmod=LATER) for number in range(23)] + before[23:24]
    after += [at("/24", lastmod=LATER, title="New")]
    with compare(*history(one(*before), one(*after))) as found:
        changes = {change.loc: change.pattern for batch in found.batches() for change in batch}
    assert [changes[f"{SITE}/{number}"] for number in (0, 22, 24)] == ["lastmods-bumped", "lastmods-bumped", None]
    (pattern,) = found.summary.patterns
    assert (pattern.name, pattern.count, pattern.share) == ("lastmods-bumped", 23, 0.92)
    assert pattern.detail == "only lastmod differs, and is later, for 23 of the 25 URLs in both snapshots"


def test_later_lastmods_of_changed_entries_are_no_mass_change() -> None:
    before = [at(f"/{number}", lastmod=DAY) for number in range(100)]
    after = [at(f"/{number}", lastmod=LATER, changefreq="daily" if number < 90 else None) for number in range(100)]
    with compare(*history(one(*before), one(*after))) as found:
        changes = [change for batch in found.batches() for change in batch]
    assert (len(changes), {change.pattern for change in changes}, found.summary.patterns) == (100, {None}, ())


def test_earlier_lastmods_everywhere_are_no_mass_change() -> None:
    before, after = ([at(f"/{number}", lastmod=when) for number in range(25)] for when in (LATER, DAY))
    with compare(*history(one(*before), one(*after))) as found:
        assert (found.summary.changed, found.summary.patterns) == (25, ())


RENAMES = [
    pytest.param("/blog/a-fine-day", "/news/2026/a-fine-day", 0.7, id="same-last-segment"),
    pytest.param("/blog/how-to-bake-bread", "/blog/how-to-bake-sourdough-bread", 0.6, id="similar-words"),
    pytest.param("/product-123-with-a-name", "/product-124-with-a-name", None, id="another-number-is-another-page"),
    pytest.param("/blog/summer", "/blog/winter", None, id="nothing-alike"),
    pytest.param("/blog/index.html", "/shop/index.html", None, id="names-that-say-nothing"),
]


@pytest.mark.parametrize(("old", "new", "least"), RENAMES)
def test_likely_renames(old: str, new: str, least: float | None) -> None:
    with compare(*history(one(old, "/stays"), one(new, "/stays"))) as found:
        pairs = [(rename.removed, rename.added) for rename in found.summary.renames]
    assert pairs == ([(SITE + old, SITE + new)] if least else [])
    assert all(rename.score >= (least or 1) for rename in found.summary.renames)


def table(*rows: tuple[str, str | None]) -> pa.Table:
    return pa.table(
        {"normal": pa.array([row[0] for row in rows]), "title": pa.array([row[1] for row in rows], pa.string())}
    )


def test_ambiguous_names_and_titles_make_no_rename() -> None:
    gone = table(("a/1/some-name", "T"), ("a/2/some-name", "T"), ("a/3/", "Only"))
    came = table(("a/4/some-name", "T"), ("b/zzz", "Only"))
    pairs = renames(gone, came)
    assert (pairs.gone.tolist(), pairs.came.tolist(), pairs.score.tolist()) == ([2], [1], [0.8])


def test_last_segments() -> None:
    given = ["a/b/page.html?x=/y", "a/12", "a/b/", "a", "a/index.php", "a/b/long-name#top"]
    assert last_segments(pa.array(given)).to_pylist() == ["page.html", None, None, None, None, "long-name"]


def test_the_whole_summary() -> None:
    before = {
        "/robots.txt": ROBOTS,
        "/s.xml": Doc(["/1", "/2", at("/3", title="A")]),
        "/kept.xml": Doc(["/4", "/5"]),
        "/left.xml": Doc(["/6"]),
        "/empty.xml": Doc(["/7"]),
        "/part.xml": Doc(known=NEVER, outcome=Outcome.FAILED),
    }
    after = {
        "/robots.txt": ROBOTS,
        "/s.xml": Doc(["/1", at("/3", title="B"), "/10"]),
        "/kept.xml": Doc(["/4", "/5"], known=OLD, outcome=Outcome.FAILED),
        "/left.xml": Doc(left="its index no longer lists it"),
        "/empty.xml": Doc([]),
        "/part.xml": Doc(["/8"], known=NEVER, outcome=Outcome.PARTIAL),
        "/new.xml": Doc(["/2", "/9"]),
        "/i.xml": INDEX,
    }
    first, last = history(before, after, arguments=[{"max_urls": 100, "since": "7d"}, {"max_urls": 200}])
    last.run.partly_read = 1
    with compare(first, last) as found:
        summary = found.summary
        assert len(found) == sum(len(batch) for batch in found.batches()) == 6
    stale = summary.stale_sitemaps
    assert [(one.url, one.outcome, one.fresh_at is None) for one in stale] == [
        (f"{SITE}/kept.xml", Outcome.FAILED, False),
        (f"{SITE}/part.xml", Outcome.PARTIAL, True),
    ]
    summary.stale_sitemaps = ()
    assert summary == ChangeSummary(
        site=SITE,
        run="run-1",
        baseline="run-0",
        added=2,
        removed=2,
        changed=1,
        moved=1,
        unchanged=3,
        newly_known=1,
        urls_before=7,
        urls_after=8,
        stale=2,
        stale_share=0.25,
        unread=2,
        sitemaps_came=(f"{SITE}/new.xml",),
        sitemaps_left=(LeftSitemap(url=f"{SITE}/left.xml", reason="its index no longer lists it"),),
        sitemaps_emptied=(f"{SITE}/empty.xml",),
        differences=(
            Difference(name="max_urls", before="100", after="200"),
            Difference(name="since", before="7d", after=None),
        ),
    )


def test_a_first_snapshot_is_marked_and_has_no_changes() -> None:
    (only,) = history(two(["/1", "/2"], ["/2", at("no-url", key=None)]))
    with compare(None, only) as found:
        assert (len(found), list(found.batches())) == (0, [])
    assert found.summary == ChangeSummary(site=SITE, run="run-0", baseline=None, newly_known=3, urls_after=3)
    assert found.summary.in_words() == f"first snapshot of {SITE}: 3 URLs, nothing to compare with"
    only_one = replace(found.summary, urls_after=1)
    assert only_one.in_words() == f"first snapshot of {SITE}: 1 URL, nothing to compare with"


def test_a_summary_as_text() -> None:
    with compare(*history(one("/1", "/2"), one("/2", "/3", "/4"))) as found:
        assert found.summary.in_words() == f"{SITE} since run-0: 2 added, 1 removed"
    with compare(*history(one("/1"), one("/1"))) as found:
        assert found.summary.in_words() == f"{SITE} since run-0: no change"


@pytest.mark.thorough
def test_many_urls_with_another_scheme_are_paired_within_the_memory_limit(tmp_path):
    changes, pairs = TemporaryFile(tmp_path / "changes", FOUND), TemporaryFile(tmp_path / "pairs", PAIRED)
    number = pa.array(range(MANY)).cast(pa.string())
    for kind, scheme in ((REMOVED, "http"), (ADDED, "https")):
        locs = pc.binary_join_element_wise(f"{scheme}://a.example/catalog/section/product-", number, "-with-a-name", "")
        columns = {name: pa.nulls(MANY, FOUND.field(name).type) for name in FOUND.names}
        columns |= {"change": pa.array(range(changes.rows, changes.rows + MANY)), "loc": locs, "key": locs}
        columns["kind"] = pa.repeat(pa.scalar(kind, pa.int8()), MANY)
        changes.add(pa.RecordBatch.from_pydict(columns, schema=FOUND))
    changes.close()
    with closing(Work(tmp_path)) as work:
        (pattern,), renamed = pair(changes, pairs, work.duckdb)
    pairs.close()
    assert (pattern.name, pattern.count, renamed, pairs.rows) == ("http-to-https", MANY, (), 2 * MANY)
