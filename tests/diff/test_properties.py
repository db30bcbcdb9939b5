"""The comparison against a naive one: dictionaries, row by row."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sitemap_harvest import ChangeKind, Kind
from sitemap_harvest.cli.diff_report import summary_lines
from sitemap_harvest.diff import compare, temporary_files
from sitemap_harvest.diff.pairing import MIN_URLS
from sitemap_harvest.model import Image, News
from tests.diff.snapshots import FRESH, NEVER, SITE, Doc, at, history
from tests.diff.test_compare import DAY, LATER, ROBOTS

if TYPE_CHECKING:
    from collections.abc import Callable

PATHS = ["/s.xml", "/t.xml", "/feed"]
FIELDS = ("lastmod", "changefreq", "title", "images", "news")
said = st.fixed_dictionaries(
    {},
    optional={
        "lastmod": st.sampled_from([DAY, LATER]),
        "title": st.sampled_from("AB"),
        "images": st.sampled_from([(Image(loc="i"),), (Image(loc="j"), Image())]),
        "news": st.just((News(title="N"),)),
    },
)
entries = st.builds(
    lambda loc, given: at(loc, **given, **({"key": None} if loc == "https://[" else {})),
    st.sampled_from(["/1", "/2", "/3", "/4", "https://["]),
    said,
)
documents = st.builds(
    lambda listed, known: (listed, known), st.lists(entries, max_size=5), st.sampled_from([FRESH, FRESH, NEVER])
)
sides = st.dictionaries(st.sampled_from(PATHS), documents, max_size=3)


def run_of(side: dict[str, Any]) -> dict[str, Doc]:
    kinds = {"/feed": Kind.FEED}
    return {"/robots.txt": ROBOTS} | {
        path: Doc([at(one.loc, **{name: getattr(one, name) for name in ("key", *FIELDS)}) for one in listed],
                  kind=kinds.get(path, Kind.SITEMAP), known=known)
        for path, (listed, known) in side.items()
    }  # fmt: skip


def naive(before: dict[str, Any], after: dict[str, Any]) -> set[tuple[Any, ...]]:
    """Return kind, URL, document, previous document and fields of each change, by the documented rules."""
    was, is_ = listed(before), listed(after)
    expected: set[tuple[Any, ...]] = set()
    for url in was.keys() | is_.keys():
        old, new = was.get(url, {}), is_.get(url, {})
        if not old:
            if any(path not in before or before[path][1] == FRESH for path in new):
                expected.add(("added", url, next(iter(new)), None, ()))
        elif not new and any(before[path][1] == FRESH for path in old):
            lasting = [path for path, rows in old.items() if path != "/feed" and not rows[0]["news"]]
            expected.add(("removed" if lasting else "expired", url, (lasting or list(old))[0], None, ()))
        elif new:
            expected |= stayed(url, old, new, whole={path for path in old if before[path][1] == FRESH})
    return expected


def listed(side: dict[str, Any]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for path in sorted(side):
        for one in side[path][0]:
            found.setdefault(one.loc, {}).setdefault(path, []).append({n: getattr(one, n) for n in FIELDS})
    return found


def stayed(url: str, old: dict[str, Any], new: dict[str, Any], *, whole: set[str]) -> set[tuple[Any, ...]]:
    for path in sorted(old.keys() & new.keys() & whole):
        fields = differences(old[path][0], new[path][0])
        if fields and {repr(row) for row in old[path]} != {repr(row) for row in new[path]}:
            return {("changed", url, path, None, fields)}
    if old.keys() & new.keys():
        return set()
    one, other = next(iter(old)), next(iter(new))
    fields = differences(old[one][0], new[other][0])
    moved = {("moved", url, other, one, ())}
    return moved | {("changed", url, other, one, fields)} if fields else moved


def differences(old: dict[str, Any], new: dict[str, Any]) -> tuple[str, ...]:
    return tuple(name for name in FIELDS if old[name] != new[name])


@pytest.mark.deep
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=80, deadline=None)
@given(sides, sides, st.sampled_from([1, 2, 100_000]))
def test_changes_match_a_naive_comparison(before: dict[str, Any], after: dict[str, Any], part: int) -> None:
    # parts of one or two rows, so that URLs cross their borders
    temporary_files.PART_ROWS, usual = part, temporary_files.PART_ROWS
    try:
        with compare(*history(run_of(before), run_of(after))) as found:
            changes = [change for batch in found.batches() for change in batch]
            summary = found.summary
    finally:
        temporary_files.PART_ROWS = usual
    short = [
        (
            str(change.kind),
            change.loc.removeprefix(SITE),
            change.sitemap.removeprefix(SITE),
            change.sitemap_before and change.sitemap_before.removeprefix(SITE),
            change.fields,
        )
        for change in changes
    ]
    strip = {(kind, url.removeprefix(SITE), *rest) for kind, url, *rest in naive(before, after)}
    assert set(short) == strip
    assert len(short) == len(strip)
    order = [((change.key or change.loc).encode(), list(ChangeKind).index(change.kind)) for change in changes]
    assert order == sorted(order)
    urls = [{one.loc for listed, _ in side.values() for one in listed} for side in (before, after)]
    assert (summary.urls_before, summary.urls_after) == tuple(map(len, urls))
    touched = {change.loc for change in changes if change.kind in {"changed", "moved"}}
    assert summary.unchanged == len(urls[0] & urls[1]) - len(touched)
    assert summary.added + summary.newly_known == len(urls[1] - urls[0])
    assert summary.removed + summary.expired + summary.retracted == len(urls[0] - urls[1])


URLS = 60
STEPS: dict[str, Callable[[str], list[Any]]] = {  # what becomes of the URL with a path
    "stays": lambda path: [at(path, lastmod=DAY)],
    "later": lambda path: [at(path, lastmod=LATER)],
    "earlier": lambda path: [at(path, lastmod=DAY - timedelta(days=9))],
    "later and changed": lambda path: [at(path, lastmod=LATER, changefreq="daily")],
    "http": lambda path: [at(f"http://a.example{path}", lastmod=DAY)],
    "www": lambda path: [at(f"https://www.a.example{path}", lastmod=LATER)],
    "slash": lambda path: [at(f"{path}/", lastmod=DAY)],
    "http and slash": lambda path: [at(f"http://a.example{path}/", lastmod=DAY)],
    "slash and www": lambda path: [at(f"{path}/", lastmod=DAY), at(f"https://www.a.example{path}", lastmod=DAY)],
    "other host": lambda path: [at(f"https://b.example{path}", lastmod=DAY)],
    "third host": lambda path: [at(f"https://c.example{path}", lastmod=DAY)],
    "gone": lambda _: [],
    "renamed": lambda path: [at(f"/new{path}", lastmod=DAY)],
}


@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(8, 200))]
)
def test_a_pattern_has_as_many_changes_as_it_counts(seed: int) -> None:
    random = Random(seed)
    usual = random.choices([*STEPS], k=random.choice([1, 1, 2, 3]))  # of an equal part of the URLs each
    others = {random.randrange(URLS): random.choice([*STEPS]) for _ in range(random.choice([0, 5, 20]))}
    place, number_there = random.choice(["/s.xml", "/t.xml", "/feed"]), random.choice([0, 30, URLS])
    sides: list[dict[str, Any]] = []
    for is_after in (False, True):
        listed: dict[str, list[Any]] = {"/s.xml": [], "/t.xml": [], "/feed": []}
        for number in range(URLS):
            step = others.get(number, usual[number * len(usual) // URLS]) if is_after else "stays"
            listed[place if number < number_there and (is_after or place == "/feed") else "/s.xml"] += STEPS[step](
                f"/page-{number}"
            )
        sides.append({path: (entries, FRESH) for path, entries in listed.items()})
    with compare(*history(*map(run_of, sides))) as found:
        changes = [change for batch in found.batches() for change in batch]
        report = [line for line in summary_lines(found.summary) if line.startswith("Pattern: ")]
    counted = Counter(change.pattern for change in changes if change.pattern and change.kind != "added")
    added = Counter(change.pattern for change in changes if change.pattern and change.kind == "added")
    assert {one.name: one.count for one in found.summary.patterns} == counted
    assert added == {name: count for name, count in counted.items() if name != "lastmods-bumped"}
    assert all(count >= MIN_URLS for count in counted.values())
    assert [line.partition(" URLs")[0] for line in report] == [
        f"Pattern: {one.name}, {one.count}" for one in found.summary.patterns
    ]
    halves = {(change.loc, change.counterpart) for change in changes if change.counterpart}
    assert {(other, one) for one, other in halves} == halves
    bumped = [change for change in changes if change.pattern == "lastmods-bumped"]
    assert {(change.kind, change.fields) for change in bumped} <= {("changed", ("lastmod",))}


def test_the_order_is_independent_of_the_order_of_documents() -> None:
    before = {"/robots.txt": ROBOTS, "/s.xml": Doc(["/1", "/2"]), "/t.xml": Doc(["/3"])}
    after = {"/robots.txt": ROBOTS, "/s.xml": Doc(["/9", "/5"]), "/t.xml": Doc(["/4", "/1"])}
    backwards = [dict(reversed(side.items())) for side in (before, after)]
    results = []
    for runs in ((before, after), backwards):
        with compare(*history(*runs)) as found:
            results.append([change for batch in found.batches() for change in batch])
    assert results[0] == results[1]
    assert len(results[0]) == 6
