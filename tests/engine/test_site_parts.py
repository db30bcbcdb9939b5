"""A site that is read in parts, a head and blocks, gives the snapshot of one run."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import pytest

from sitemap_harvest import Outcome, open_store
from sitemap_harvest.config.settings import HarvestSettings
from sitemap_harvest.engine.crawl_loop import CrawlLoop
from sitemap_harvest.engine.run_summary import Summary
from sitemap_harvest.engine.site_parts import SiteBlock, SiteHead
from sitemap_harvest.snapshots.store.compaction import compact, prune
from sitemap_harvest.snapshots.store.storage import Folder
from sitemap_harvest.snapshots.store.writer import SiteWriter
from tests.documents import index, urlset
from tests.engine.run import Cut, Tagged, Web, harvest, run_parts, session_of
from tests.snapshots.contents import contents
from tests.snapshots.store.memory_bucket import MemoryBucket

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SITE = "https://www.example.com"
ROBOTS = f"{SITE}/robots.txt"
BLOCKS = 3
FIRST_DAY = datetime(2026, 11, 20, 3, 17, tzinfo=UTC)


def listing(*pages: str) -> bytes:
    return urlset("".join(f"<url><loc>{SITE}/{page}</loc></url>" for page in pages))


def children(*names: str) -> bytes:
    return index("".join(f"<sitemap><loc>{SITE}/{name}.xml</loc></sitemap>" for name in names))


def numbered(*left_out: int, last: int = 12) -> list[str]:
    return [f"{number}" for number in range(1, last + 1) if number not in left_out]


def site(pages: dict[str, bytes | int | str], *names: str, small: bytes | None = None) -> Web:
    """Return a site with a large index of *names*, whose documents are those of *pages*, or list two pages each."""
    documents = {name: pages.get(name, Tagged(listing(f"{name}/a", f"{name}/b"))) for name in names}
    return {
        ROBOTS: f"Sitemap: {SITE}/index.xml\nSitemap: {SITE}/small.xml".encode(),
        f"{SITE}/index.xml": Tagged(children(*names)),
        f"{SITE}/small.xml": small or listing("small"),
        **{f"{SITE}/{name}.xml": body for name, body in (pages | documents).items()},
    }


FIRST = site(
    {
        "5": 500,
        "6": 404,
        "7": f"{SITE}/8.xml",  # a redirect to a child of another block
        "9": f"{SITE}/elsewhere.xml",
        "10": f"{SITE}/elsewhere.xml",
        "elsewhere": listing("elsewhere"),
        "11": Cut(b"<urlset><url><loc>https://www.example.com/cut</loc></url>"),
        "nested": children("n1", "n2", "n3", "n4", "shared"),
        "other": children("shared", "n4"),
        **{name: listing(name) for name in ("n1", "n2", "n3", "n4", "shared")},
    },
    *numbered(),
    "nested",
    "other",
)
SECOND = site(
    {
        "1": listing("1/a", "2/b", "new"),  # one moves here from a child of another block
        "2": listing("2/a"),
        "3": 304,
        "5": listing("5/a"),
        "nested": children("n1", "n3", "n5"),
        "n1": listing("n1"),
        "n3": listing("n3", "n2"),
        "n5": listing("n5"),
        "other": children("shared", "n4"),
        "shared": listing("shared", "new-too"),
        "n4": listing("n4"),
    },
    *numbered(4, last=14),
    "nested",
    "other",
    small=listing("small", "4/a"),
)
THIRD = SECOND | {f"{SITE}/14.xml": listing("14/b", "14/a"), f"{SITE}/3.xml": listing("3/a")}


class Store:
    """One store, into which a site is read day after day."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.now = FIRST_DAY
        self.options: HarvestSettings | None = None
        self.requests: dict[str, list[str]] = {}
        """The URLs that each part of the last crawl has requested."""

    def whole(self, web: Web, **arguments: str) -> None:
        """Read the site in one run."""
        self._run("whole", web, None, arguments)
        self.now += timedelta(days=1)

    def head(self, web: Web, most_children: int = 5, **arguments: str) -> SiteHead:
        head = SiteHead(most_children=most_children)
        self._run("head", web, head, arguments)
        return head

    def block(self, web: Web, head: SiteHead, number: int, attempt: int = 1, *, last: str | None = None) -> SiteBlock:
        """Read a block; *last*: the URL after which it is interrupted."""
        assert head.run is not None
        block = SiteBlock(number=number, blocks=BLOCKS, attempt=attempt, run=head.run, postponed=head.postponed)
        self._run(f"block {number}", web, block, {}, last=last)
        return block

    def close(self, web: Web) -> None:
        """Read what is left, and publish the snapshot."""
        self._run("last", web, None, {"resume": "yes"})
        self.now += timedelta(days=1)

    def split(self, web: Web) -> None:
        """Read the site in parts."""
        head = self.head(web)
        for number in range(BLOCKS):
            assert self.block(web, head, number).has_ended
        self.close(web)

    def _run(self, name: str, web: Web, part: Any, arguments: dict[str, str], *, last: str | None = None) -> None:
        given = {"site": SITE, "emit": "none", "store": self.folder} | arguments
        session = session_of(given, self.now, part=part, options=self.options)
        self.requests[name] = harvest(web, session=session, last=last, options=self.options, **given).requests
        self.now += timedelta(minutes=1)

    def names_by_block(self) -> list[list[str]]:
        return [names(self.requests[f"block {number}"]) for number in range(BLOCKS)]

    @property
    def history(self):
        return open_store(self.folder).history(SITE)

    def contents(self) -> dict[str, Any]:
        return contents(self.history)


@pytest.fixture(params=["disk", pytest.param("bucket", marks=pytest.mark.thorough)])
def stores(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Store, Store]:
    """Return two stores, for the same site read whole and in parts."""
    if request.param == "bucket":
        buckets = {f"{tmp_path}/{name}": MemoryBucket() for name in ("whole", "parts")}
        monkeypatch.setattr(Folder, "at", staticmethod(lambda address, **_: buckets[address].folder()))
    return Store(f"{tmp_path}/whole"), Store(f"{tmp_path}/parts")


def names(requests: list[str]) -> list[str]:
    return sorted(url.rpartition("/")[2].removesuffix(".xml") for url in requests)


def test_parts_give_the_snapshots_of_whole_runs(stores: tuple[Store, Store]) -> None:
    whole, parts = stores
    for web in (FIRST, SECOND, THIRD):
        whole.whole(web)
        parts.split(web)
        assert parts.contents() == whole.contents()
    assert [len(run) for run in parts.contents()["runs"]] == [5] * 3


def test_no_document_is_requested_twice_unless_it_failed(stores: tuple[Store, Store]) -> None:
    _, parts = stores
    for web in (SECOND, THIRD):  # all of it is new, and most of it is unchanged
        parts.split(web)
        blocks = parts.names_by_block()
        assert names(parts.requests["head"]) == ["index", "robots.txt", "small"]
        assert all(blocks)
        assert sorted(chain(*blocks)) == sorted(
            [*numbered(4, last=14), "nested", "n1", "n3", "n5", "other", "shared", "n4"]
        )
        failed = ["3"] if web is SECOND else []
        assert names(parts.requests["last"]) == failed
    parts.split(FIRST)
    both = ["n4", "shared"]  # children of documents of two blocks
    blocks = parts.names_by_block()
    assert sorted(chain(*blocks)) == sorted([*numbered(), "nested", "other", "n1", "n2", "n3", *both, *both])
    assert names(parts.requests["last"]) == ["10", "5", "6", "7"]


@pytest.mark.parametrize("done", [[], [1]], ids=["none", "one"])
def test_what_blocks_have_not_read_is_read_in_the_end(stores: tuple[Store, Store], done: list[int]) -> None:
    whole, parts = stores
    for web in (FIRST, SECOND):
        whole.whole(web)
        head = parts.head(web)
        for number in done:
            parts.block(web, head, number)
        parts.close(web)
    assert parts.contents() == whole.contents()


def test_a_block_continues_what_it_has_read_before(stores: tuple[Store, Store]) -> None:
    whole, parts = stores
    for web in (FIRST, SECOND):
        whole.whole(web)
        head = parts.head(web)
        for number in range(BLOCKS):
            parts.block(web, head, number, last=f"{SITE}/{['12', '9', '2'][number]}.xml")
            before = {*parts.requests[f"block {number}"]}
            parts.block(web, head, number, attempt=2)
            assert len(before) > 1 or number == 2
            assert not before.intersection(parts.requests[f"block {number}"]) - {f"{SITE}/7.xml"}  # not read at first
        parts.close(web)
    assert parts.contents() == whole.contents()


class Interrupted(Web):
    """A web where something happens before the answer at one URL."""

    def __init__(self, web: Web, url: str, happens: Callable[[], object]) -> None:
        super().__init__(web)
        self._url, self._happens = url, happens

    def get(self, url: str, default: Any = None) -> Any:
        if url == self._url:
            self._url = ""
            self._happens()
        return super().get(url, default)


def test_what_was_read_is_stored_if_the_host_does_not_answer_any_more(stores: tuple[Store, Store]) -> None:
    _, parts = stores
    parts.options = HarvestSettings(max_unanswered=2)
    good = site({}, *numbered())
    first = good | {f"{SITE}/1.xml": 500, f"{SITE}/2.xml": 500}
    head = parts.head(first)
    assert all(parts.block(first, head, number).has_ended for number in range(BLOCKS))
    parts.close(good | {f"{SITE}/1.xml": None, f"{SITE}/2.xml": None})
    assert names(parts.requests["last"]) == ["1", "2"]
    failed = {row.url for row in parts.history.latest().records() if row.outcome is Outcome.FAILED}
    assert failed == {f"{SITE}/1.xml", f"{SITE}/2.xml"}
    assert sum(map(len, parts.history.latest().urls())) == 2 * 10 + 1


def test_a_run_with_the_row_ids_of_a_block_is_not_resumed(
    stores: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, parts = stores
    web = site({}, *numbered())
    whole.whole(web)
    head = parts.head(web)

    def other() -> None:  # resumes the run, and is killed after a checkpoint
        with monkeypatch.context() as patch:
            patch.setattr(SiteWriter, "seal", killed)
            parts._run("other", web, None, {"resume": "yes"})

    def killed(writer: SiteWriter, *_: object) -> None:
        writer.checkpoint()
        raise RuntimeError("killed")

    assert parts.block(Interrupted(web, f"{SITE}/3.xml", other), head, 0).has_ended
    parts.close(web)
    assert parts.contents() == whole.contents()


@pytest.mark.parametrize("is_over", [False, True], ids=["before-the-last-run", "after-the-last-run"])
def test_a_late_block_changes_nothing(stores: tuple[Store, Store], is_over: bool) -> None:
    whole, parts = stores
    whole.whole(FIRST)
    head = parts.head(FIRST)

    def others() -> None:
        for number, attempt in ((0, 1), (1, 2), (2, 1)):
            parts.block(FIRST, head, number, attempt)
        if is_over:
            parts.close(FIRST)

    parts.block(Interrupted(FIRST, f"{SITE}/10.xml", others), head, 1)
    if not is_over:
        parts.close(FIRST)
    assert parts.contents() == whole.contents()
    for store in stores:
        store.now = FIRST_DAY + timedelta(days=2)
        store.whole(SECOND)
    assert parts.contents() == whole.contents()


def test_after_another_run_blocks_fail_and_all_is_read_again(stores: tuple[Store, Store]) -> None:
    whole, parts = stores
    whole.whole(FIRST)
    whole.whole(SECOND)
    head = parts.head(FIRST)
    parts.block(FIRST, head, 0)
    parts.whole(FIRST)  # a user's
    assert not parts.block(SECOND, head, 1).has_ended
    assert parts.requests["block 1"] == []
    parts.close(SECOND)
    assert parts.contents() == whole.contents()


def test_a_last_run_that_is_interrupted_splits_what_is_left(stores: tuple[Store, Store]) -> None:
    whole, parts = stores
    whole.whole(FIRST)
    head = parts.head(FIRST)
    parts.block(FIRST, head, 0)
    again = parts.head(FIRST, resume="yes")
    assert (again.run, again.postponed) == (head.run, head.postponed)
    for number in range(BLOCKS):
        parts.block(FIRST, again, number)
    assert parts.requests["head"] == parts.requests["block 0"] == []
    parts.close(FIRST)
    assert parts.contents() == whole.contents()


def test_a_site_without_a_large_index_is_not_split(stores: tuple[Store, Store]) -> None:
    whole, parts = stores
    for web in (FIRST, SECOND):
        whole.whole(web)
        assert parts.head(web, most_children=15).run is None
        parts.now = whole.now
    assert parts.contents() == whole.contents()


def test_an_index_that_was_read_in_part_is_not_postponed(stores: tuple[Store, Store]) -> None:
    _, parts = stores
    web = FIRST | {f"{SITE}/index.xml": Cut(children(*numbered())[:-15])}
    assert parts.head(web).run is None
    assert len(parts.requests["head"]) > 12


def test_row_ids_have_gaps_and_none_is_used_twice(stores: tuple[Store, Store]) -> None:
    _, parts = stores
    for web in (FIRST, SECOND, THIRD):
        parts.split(web)
    history = parts.history
    files = [file for file in history.manifest.files if file.table == "rows"]
    assert all(one.ids[1] <= other.ids[0] for one, other in pairwise(files))
    assert sum(run.rows for run in history.runs) == sum(file.count for file in files)
    assert history.manifest.next_row > 1 << 32
    expected = parts.contents()
    compact(history, fewest=2)
    assert parts.contents() == expected
    prune(parts.history, [])
    (last,) = parts.history.runs
    assert [row for batch in parts.history.snapshot(last).urls() for row in batch.to_pylist()]


def test_a_crawl_delay_is_shared_by_all_blocks() -> None:
    block = SiteBlock(number=1, blocks=4, attempt=1, run="run", postponed=[])
    parts = run_parts(None, HarvestSettings(), Summary(), part=block, site=SITE)
    CrawlLoop(parts).slow_down(SITE, 2.5)
    assert parts.sites.frontier.host(SITE).delay == 10.0


def test_each_child_belongs_to_one_block() -> None:
    blocks = [SiteBlock(number=number, blocks=4, attempt=1, run="run", postponed=[]) for number in range(4)]
    urls = [f"{SITE}/{number}.xml" for number in range(1_000)]
    owners = [[block.number for block in blocks if block.has(url)] for url in urls]
    assert {len(found) for found in owners} == {1}
    assert all(200 < owners.count([number]) < 300 for number in range(4))
    assert [block.has(f"{SITE}:443/1.xml#top") for block in blocks] == [block.has(urls[1]) for block in blocks]
    attempts = [replace(block, attempt=attempt).first_rows for attempt in (1, 2) for block in blocks]
    assert attempts == [*range(8)]
