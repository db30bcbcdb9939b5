"""Changes are delivered to a consumer at least once and in order, however the runs end."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from sitemap_harvest.config.arguments import RunConfig, check_store
from sitemap_harvest.errors import ArgumentError
from sitemap_harvest.snapshots.store import open_store
from sitemap_harvest.snapshots.store.cursors import Cursor, cursors
from tests.crawl.crawling import Runner
from tests.crawl.killing import Moment, kill, listed, served
from tests.crawl.matrix.listed import Change, Listed, changes
from tests.site import Page, Site, urlset

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "billing"
KILLS = 48
_GONE = {"removed", "expired"}


def small(version: int) -> Listed:
    """Return the URLs of a version of a small site. Odd versions add some, and even ones remove them again."""
    days = {f"/a/{number}": "2026-01-01" for number in range(version, version + 3)}
    return {"/a.xml": days | now_and_then(version), "/b.xml": {"/b/1": f"2026-01-{1 + version:02}"}}


def now_and_then(version: int) -> dict[str, str]:
    return {"/now-and-then": "2026-01-01"} if version % 2 else {}


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Return the changes in *path*, without a truncated line."""
    found = []
    for line in path.read_bytes().splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def change_of(row: dict[str, Any]) -> Change:
    """Return a change in the form of the oracle."""
    paths = (url and urlsplit(url).path for url in (row["loc"], row["sitemap_before"], row["sitemap"]))
    return (row["kind"], *paths)  # type: ignore[return-value]


def by_run(rows: list[dict[str, Any]]) -> list[set[Change]]:
    """Return the changes of each run, in the order of the output."""
    runs = dict.fromkeys(row["run"] for row in rows)
    assert [row["run"] for row in rows] == sorted(row["run"] for row in rows)
    return [{change_of(row) for row in rows if row["run"] == run} for run in runs]


def applied(known: set[str], rows: list[dict[str, Any]]) -> set[str]:
    """Return the URLs that a consumer knows after *rows* if it knew *known* before."""
    known = set(known)
    for row in rows:
        path = urlsplit(row["loc"]).path
        (known.discard if row["kind"] in _GONE else known.add)(path)
    return known


def urls(lists: Listed) -> set[str]:
    return {loc for entries in lists.values() for loc in entries}


class Consuming:
    """Runs for a consumer over the small site, each with a separate output."""

    def __init__(self, crawl: Runner, site: Site, **given: Any) -> None:
        self.crawl, self.site, self.given = crawl, site, given
        self.store = crawl.folder / "store"
        self._number = 0

    def __call__(self, version: int, *, calm: bool = True, **given: Any) -> list[dict[str, Any]]:
        """Crawl *version* of the site, and return the changes in the output."""
        self.site.pages = served(small(version))
        self._number += 1
        path = self.crawl.folder / f"{self._number}.jsonl"
        arguments = {"consumer": NAME, **self.given, **given}
        options = ("-o", str(path))
        self.run = self.crawl(
            spider="changes", site=self.site.url, store=self.store, options=options, calm=calm, **arguments
        )
        return rows_of(path)

    @property
    def cursors(self) -> dict[str, str]:
        """The cursors, by consumer."""
        return dict(cursors(open_store(self.store).history(self.site.url)))

    @property
    def latest(self) -> str:
        """The id of the last run in the store."""
        return open_store(self.store).history(self.site.url).runs[-1].id


@pytest.fixture
def consuming(crawl: Runner, serve: Any) -> Consuming:
    return Consuming(crawl, serve())


def step(before: int, after: int) -> set[Change]:
    return changes(small(before), small(after))


@pytest.mark.quick
def test_without_failures_each_change_is_delivered_once(consuming: Consuming) -> None:
    assert consuming(0) == []
    assert consuming.cursors == {NAME: consuming.latest}
    assert by_run(consuming(1)) == [step(0, 1)]
    assert f"since the cursor of {NAME}: 2 added, 1 removed, 1 changed" in consuming.run.log
    assert consuming(1) == []
    assert consuming.cursors == {NAME: consuming.latest}


def test_a_consumer_receives_the_changes_of_other_runs_run_by_run(consuming: Consuming) -> None:
    consuming(0)
    assert by_run(consuming(1, consumer=None)) == [step(0, 1)]
    assert by_run(consuming(2, consumer=None)) == [step(1, 2)]
    assert by_run(consuming(3)) == [step(0, 1), step(1, 2), step(2, 3)]
    assert consuming.run.stats["sitemap_harvest/snapshots"] == 1
    assert consuming.run.stats["sitemap_harvest/changes/added"] == 5


def test_what_was_pending_in_an_earlier_run_is_not_counted(consuming: Consuming) -> None:
    consuming(0)
    consuming.site.pages = served(small(1)) | {"/b.xml": Page(status=404)}
    missed = consuming.crawl(spider="changes", site=consuming.site.url, store=consuming.store)
    assert missed.stats["sitemap_harvest/changes/pending"] == 1
    consuming(1)
    assert f"since the cursor of {NAME}: 2 added, 1 removed, 1 changed\n" in consuming.run.log
    assert "sitemap_harvest/changes/pending" not in consuming.run.stats


def test_a_new_consumer_starts_at_the_last_snapshot_and_consumers_are_independent(consuming: Consuming) -> None:
    consuming(0)
    consuming(1, consumer="other")
    assert by_run(consuming(2, consumer="other")) == [step(1, 2)]
    assert by_run(consuming(3)) == [step(0, 1), step(1, 2), step(2, 3)]
    assert {*consuming.cursors} == {NAME, "other"}


MOMENTS = {
    "as its pipeline gets the first change": {"ITEM_PIPELINES": {"tests.crawl.parts.KilledByAnItem": 1}},
    **{
        f"at {name}": {"EXTENSIONS": {"tests.crawl.parts.KilledAt": 1}, "KILLED_AT": name}
        for name in ("item_scraped", "feed_slot_closed", "feed_exporter_closed", "engine_stopped")
    },
}


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[int, Any, Any, set[str]]]]:
    """Return the output of each killed run and of the next one, and the URLs that the consumer then knows."""
    with Site() as site:
        consuming = Consuming(Runner(tmp_path_factory.mktemp("killed")), site)
        consuming(0)
        known, found = urls(small(0)), {}
        for number, (moment, settings) in enumerate(MOMENTS.items()):
            cursor = consuming.cursors
            cut = consuming(2 * number + 1, settings=settings)
            assert (consuming.run.code, consuming.cursors) == (-9, cursor)
            whole = consuming(2 * number + 2)
            assert consuming.cursors == {NAME: consuming.latest}
            known = applied(known, cut + whole)
            found[moment] = 2 * number, cut, whole, known
        yield found


@pytest.mark.parametrize("moment", MOMENTS)
def test_changes_of_a_killed_run_are_delivered_by_the_next(killed: Any, moment: str) -> None:
    version, cut, whole, known = killed[moment]
    assert by_run(whole) == [step(version, version + 1), step(version + 1, version + 2)]
    assert by_run(cut) in ([], [step(version, version + 1)])
    assert known == urls(small(version + 2))


def test_some_of_the_killed_runs_had_stored_their_output(killed: Any) -> None:
    assert [moment for moment, (_, cut, _, _) in killed.items() if cut] == [*MOMENTS][2:]


def test_a_consumer_killed_in_its_first_run_has_a_cursor(consuming: Consuming) -> None:
    consuming(0, settings=MOMENTS["at engine_stopped"])
    assert (consuming.run.code, consuming.cursors) == (-9, {NAME: ""})
    consuming(1, settings=MOMENTS["at item_scraped"])
    assert by_run(consuming(2)) == [step(0, 1), step(1, 2)]


def pipelines(*names: str) -> dict[str, int]:
    return {f"tests.crawl.parts.{name}": number for number, name in enumerate(names)}


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"ITEM_PIPELINES": pipelines("FailAtNow")}, id="it-fails-on-a-change"),
        pytest.param(
            {"ITEM_PIPELINES": pipelines("ToDict", "FailAtNow")}, id="it-fails-on-what-another-has-made-of-a-change"
        ),
        pytest.param({"ITEM_PIPELINES": pipelines("FailAtTheEnd")}, id="it-fails-as-it-is-closed"),
        pytest.param({"ITEM_PIPELINES": pipelines("Awaited"), "CLOSESPIDER_PAGECOUNT": 2}, id="the-run-ends-before"),
    ],
)
def test_changes_that_a_pipeline_missed_are_delivered_again(consuming: Consuming, settings: dict[str, Any]) -> None:
    consuming(0)
    cursor = consuming.cursors
    consuming(1, calm=False, settings=settings)
    assert consuming.cursors == cursor
    assert f"to the consumer {NAME} again: " in consuming.run.log
    assert set().union(*by_run(consuming(1))) == step(0, 1)
    assert consuming.cursors == {NAME: consuming.latest}


def test_changes_of_an_output_that_was_not_stored_are_delivered_again(consuming: Consuming) -> None:
    consuming(0)
    cursor = consuming.cursors
    failing = {"FEED_STORAGES": {"none": "tests.crawl.parts.NoStorage"}}
    consuming.crawl(
        spider="changes",
        site=consuming.site.url,
        store=consuming.store,
        consumer=NAME,
        calm=False,
        feeds={"none://x": {"format": "jsonl"}},
        settings=failing,
    )
    assert consuming.cursors == cursor


def test_without_pipelines_a_run_that_ends_early_has_delivered_its_outputs(
    consuming: Consuming,
) -> None:
    consuming(0)
    consuming(1, settings={"CLOSESPIDER_PAGECOUNT": 2})
    assert consuming.run.reason == "closespider_pagecount"
    assert consuming.cursors == {NAME: consuming.latest}


def test_a_limit_cuts_no_changes_and_the_cursor_moves(consuming: Consuming) -> None:
    consuming(0)
    delivered = [row for _ in range(3) for row in consuming(1, limit=1)] + consuming(1)
    assert set().union(*by_run(delivered)) == step(0, 1)
    assert applied(urls(small(0)), delivered) == urls(small(1))


def test_runs_that_can_no_longer_be_compared_are_reported(consuming: Consuming) -> None:
    consuming(0)
    path = next(consuming.store.glob(f"sites/*/consumers/{NAME}.json"))
    path.write_text('{"run": "20200101T000000Z-abcdef"}')
    assert by_run(consuming(1)) == [step(0, 1)]
    assert (
        f"{NAME} has received the changes up to the run 20200101T000000Z-abcdef, which is not in" in consuming.run.log
    )
    path.write_text("{")
    assert consuming(2, calm=False) == []
    assert f"consumers/{NAME}.json is damaged" in consuming.run.log
    assert path.read_text() == "{"


@pytest.mark.quick
@pytest.mark.parametrize(
    ("given", "store", "words"),
    [
        ({"consumer": "a b"}, "s", "argument consumer='a b': it must be 1 to 64 letters, digits, dots"),
        ({"consumer": "../x"}, "s", "argument consumer='../x': it must be 1 to 64 letters, digits, dots"),
        ({"baseline": "first"}, "s", "argument consumer='billing': its cursor is already the baseline"),
        ({"emit": "urls"}, "s", "argument consumer='billing': a consumer needs changes; add changes to emit"),
        ({}, None, "argument consumer='billing': it requires a store; add one"),
    ],
)
def test_impossible_options_for_a_consumer_are_rejected(given: dict[str, Any], store: str | None, words: str) -> None:
    arguments = {"site": "a.example", "consumer": NAME, "emit": "changes", **given}
    with pytest.raises(ArgumentError, match=re.escape(words)):
        check(arguments, store)


def check(arguments: dict[str, Any], store: str | None) -> None:
    check_store(RunConfig.of(arguments), store)


def test_a_run_without_an_output_for_changes_is_rejected(crawl: Runner, serve: Any) -> None:
    site = serve({"/1.xml": urlset("/1")})
    run = crawl(spider="changes", site=site.url, store=crawl.folder / "store", consumer=NAME, feeds={}, calm=False)
    (error,) = run.errors
    assert "argument consumer='billing': this run has no output to deliver to; add -O changes.jsonl" in error
    assert (run.reason, site.requests) == ("wrong_argument", [])


def moment(number: int) -> Moment:
    """Return when a run is killed: mostly after its snapshot was committed."""
    random = Random(number)
    return Moment(None, "../../manifest*", random.random() * 0.4) if number % 4 else Moment.of(number)


def test_many_kills_lose_no_change_and_invent_none(tmp_path: Path) -> None:
    def lists(version: int) -> Listed:
        found = listed(version)
        found["/0.xml"] |= now_and_then(version)
        return found

    crawl, store, output = Runner(tmp_path), tmp_path / "store", tmp_path / "changes.jsonl"
    given = {"consumer": NAME, "options": ("-o", str(output))}
    versions: dict[str, int] = {}  # of the site, by the run that has read it
    undelivered = 0

    with Site() as site:

        def note(version: int) -> None:
            for run in open_store(store).history(site.url).runs:
                versions.setdefault(run.id, version)

        for version in range(2 * KILLS + 1):
            site.pages = served(lists(version), delay=0.005)
            if version % 2:
                kill(crawl, site, store, moment(version // 2), **given)
                note(version)
                (cursor,) = cursors(open_store(store).history(site.url))
                undelivered += cursor != Cursor(NAME, max(versions))
                continue
            run = crawl(spider="changes", site=site.url, store=store, settings={"LOG_LEVEL": "WARNING"}, **given)
            assert run.code == 0
            note(version)
            assert applied(urls(lists(0)), rows_of(output)) == urls(lists(version))
    runs = sorted(versions)
    expected = {
        (after, change)
        for before, after in pairwise(runs)
        for change in changes(lists(versions[before]), lists(versions[after]))
    }
    assert {(row["run"], change_of(row)) for row in rows_of(output)} == expected
    assert len(runs) > KILLS + 1  # some of the killed runs were committed
    assert undelivered
