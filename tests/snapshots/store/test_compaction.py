from __future__ import annotations

import contextlib
import random
import shutil
from pathlib import Path

import pytest

from sitemap_harvest.model import SitemapRef
from sitemap_harvest.snapshots.store import History, SiteWriter, Snapshot, open_store, tables
from sitemap_harvest.snapshots.store.compaction import compact, prune, tidy
from tests.snapshots.store.making import SITE, Making, entry, listed, locs, table_of

S, T, INDEX = f"{SITE}/s.xml", f"{SITE}/t.xml", f"{SITE}/index.xml"


@pytest.fixture
def making(tmp_path):
    return Making(tmp_path)


def story(making, days):
    """Keep some runs, in which one document changes each day, one sometimes, and one never."""
    for day in range(days):
        first = day == 0
        making.run(
            {
                S: locs(20 + day),
                T: locs(5, start=1000 * day) if day % 5 == 0 else None,
                INDEX: [SitemapRef(loc=S, position=1), SitemapRef(loc=T, position=2)] if first else None,
            }
        )
    return making.store.history(SITE)


def content(snapshot):
    """Return the content of a snapshot, in an order that compaction does not change."""
    return (
        snapshot.run,
        snapshot.sitemaps().sort_by("url").to_pylist(),
        listed(snapshot),
        table_of(snapshot).num_rows,
        snapshot.references(),
        [batch["loc"].to_pylist() for url in (S, T) for batch in snapshot.urls_of(url)],
    )


def all_content(history):
    fresh = History(history.site, history.folder)
    return {run.id: content(fresh.snapshot(run)) for run in fresh.runs}


def files_of(history, table):
    return [file for file in History(history.site, history.folder).manifest.files if file.table == table]


def on_disk(history):
    """Return the paths of all files of the site except its manifest and its name."""
    folder = Path(history.folder.path)
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.parquet"))


def test_the_small_files_of_eight_runs_become_one_per_table_with_the_same_content(making):
    history = story(making, 7)
    assert not compact(history)
    before = all_content(story(making, 1))
    assert compact(history)
    assert all_content(history) == before
    first, last = history.runs[0].id, history.runs[-1].id
    assert sorted((file.table, file.runs) for file in history.manifest.files) == [
        ("references", (first, first)),
        ("references", (last, last)),  # too few to be merged
        *((table, (first, last)) for table in ("row_ranges", "rows", "sitemaps")),
    ]
    assert on_disk(history) == [file.name for file in history.manifest.files if file.table == "rows"]
    assert not compact(history)


@pytest.mark.thorough
def test_merged_files_are_merged_again_until_they_are_large(making, monkeypatch):
    monkeypatch.setattr("sitemap_harvest.snapshots.store.compaction._SMALL_ROWS", 60)
    history = making.store.history(SITE)
    counts = []
    for _ in range(70):
        story(making, 1)  # with three ledger rows
        compact(history)
        counts.append(len(files_of(history, "sitemaps")))
    assert max(counts) == 9
    assert [file.count for file in files_of(history, "sitemaps")] == [66, 66, 66, 3, 3, 3, 3]
    assert len(history.runs) == 70


def test_a_run_continues_from_merged_files(making):
    history = story(making, 8)
    compact(history)
    after = making.run({S: None, T: locs(5, start=5000), INDEX: None})
    assert after.run.rows == 0  # the rows of the sixth day are still known
    assert after.references()[INDEX][0].loc == S
    assert [loc for url, _, loc in listed(after) if url == S] == locs(27)


@pytest.mark.thorough
def test_large_files_are_not_merged(making):
    making.run({S: locs(25_000)})
    making.run({S: locs(25_010)})
    making.run({S: [*locs(25_010), *locs(5, start=90_000)]})
    history = making.store.history(SITE)
    large, *_ = files_of(history, "rows")
    before = all_content(history)
    assert compact(history, fewest=2)
    assert [(file.count, file.ids) for file in files_of(history, "rows")] == [
        (25_000, (0, 25_000)),
        (15, (25_000, 25_015)),
    ]
    assert files_of(history, "rows")[0] == large
    assert all_content(history) == before


def test_dropping_runs_drops_their_rows(making):
    for day in range(6):
        making.run({S: locs(1000, start=day * 1000), T: locs(10) if day == 0 else None})
    history = making.store.history(SITE)
    before = all_content(history)
    kept = [run.id for run in history.runs[-2:]]
    assert prune(history, kept) == 4
    assert all_content(history) == {run: before[run] for run in kept}
    assert sum(file.count for file in files_of(history, "rows")) == 2010
    assert history.manifest.next_row == 6010
    assert prune(history, kept) == 0


def test_the_last_run_is_never_dropped(making):
    history = story(making, 3)
    before = all_content(history)
    last = history.runs[-1].id
    assert prune(history, []) == 2
    assert all_content(history) == {last: before[last]}


def test_rows_that_other_runs_need_are_kept(making):
    rows = [entry(loc) for loc in locs(3000)]
    making.run({S: rows})
    making.run({S: [entry(row.loc, title="new") if number % 7 == 0 else row for number, row in enumerate(rows)]})
    history = making.store.history(SITE)
    before = all_content(history)
    last = history.runs[-1].id
    assert prune(history, [last]) == 1
    assert all_content(history) == {last: before[last]}
    assert sum(file.count for file in files_of(history, "rows")) == 3000


def test_dropped_rows_that_are_no_longer_needed_go_with_the_next_compaction(making):
    making.run({S: locs(50), T: locs(50)})
    making.run({S: None, T: locs(50, start=100)})
    history = making.store.history(SITE)
    prune(history, [])
    assert sum(file.count for file in files_of(history, "rows")) == 100
    making.run({S: locs(5, start=500), T: None})
    history.forget()
    before = all_content(history)
    last = history.runs[-1].id
    prune(history, [])
    assert all_content(history) == {last: before[last]}
    assert sum(file.count for file in files_of(history, "rows")) == 55


class Killed(BaseException):
    """A killed process: nothing catches it."""


@contextlib.contextmanager
def killed_after(operations):
    """Let that many changes of files happen, and interrupt at the next."""
    from sitemap_harvest.snapshots.store.storage import Folder

    left = [operations]

    def counted(method):
        def call(*args, **kwargs):
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return method(*args, **kwargs)

        return call

    class Files:
        """File systems of pyarrow cannot be patched, so this wraps one."""

        def __init__(self, files):
            self._files = files

        def __getattr__(self, name):
            method = getattr(self._files, name)
            return counted(method) if name in ("delete_file", "copy_file", "open_output_stream") else method

        def delete_dir_contents(self, path, **_):
            for child in sorted(Path(path).iterdir()) if Path(path).is_dir() else []:
                counted(child.unlink)()

    with pytest.MonkeyPatch.context() as patch:
        for name in ("put", "sync", "remove"):
            patch.setattr(Folder, name, counted(getattr(Folder, name)))
        patch.setattr(Folder, "is_local", True)
        patch.setattr("os.rmdir", counted(__import__("os").rmdir))
        yield Files


def with_files(history, files):
    from sitemap_harvest.snapshots.store.storage import Folder

    return History(history.site, Folder(files(history.folder._files), history.folder.path))


@pytest.mark.thorough
@pytest.mark.parametrize("action", ["compact", "prune"])
@pytest.mark.parametrize(
    ("few_bytes", "least"), [pytest.param(0, 10, id="all-in-files"), pytest.param(8_000, 2, id="much-in-the-manifest")]
)
def test_a_kill_at_any_moment_loses_nothing(tmp_path, monkeypatch, action, few_bytes, least):
    monkeypatch.setattr(tables, "_FEW_BYTES", few_bytes)
    made = story(Making(tmp_path / "made"), 9)
    before = all_content(made)
    kept = [run.id for run in made.runs[4:]]
    after = {run: before[run] for run in kept} if action == "prune" else before
    operations, done = 0, False
    while not done:
        shutil.copytree(tmp_path / "made", tmp_path / "copy")
        history = open_store(tmp_path / "copy").history(SITE)
        with killed_after(operations) as files, contextlib.suppress(Killed):
            _act(with_files(history, files), action, kept)
            done = True
        assert all_content(history) in (before, after)
        leftovers = History(SITE, history.folder).unfinished()
        assert set(leftovers) <= before.keys() - after.keys()
        if operations % 5 == 0:
            for run in leftovers:  # as the next run does
                SiteWriter(history, run, history.latest()).drop()
            _act(History(SITE, history.folder), action, kept)
            assert all_content(history) == after
            history.forget()
            assert on_disk(history) == sorted(file.name for file in history.manifest.files if file.values is None)
        shutil.rmtree(tmp_path / "copy")
        operations += 1
    assert operations > least


def _act(history, action, kept):
    if action == "prune":
        prune(history, kept)
    else:
        compact(history, fewest=2)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
def test_each_kept_run_has_the_same_content_after_any_actions(tmp_path, seed):
    chance = random.Random(seed)
    making = Making(tmp_path)
    history = making.store.history(SITE)
    expected, now = {}, {S: locs(30), T: locs(10), INDEX: [SitemapRef(loc=S, position=1)]}
    for _ in range(15):
        history.forget()
        action = chance.choice(["run", "run", "run", "compact", "prune"])
        if action == "run":
            snapshot = making.run(_some_changes(chance, now, known=bool(expected)))
            expected[snapshot.run.id] = content(snapshot)
        elif expected:
            kept = chance.sample(sorted(expected), k=chance.randint(1, len(expected)))
            kept = sorted({*kept, max(expected)})
            with killed_after(chance.choice([3, 10, 30, 1000])) as files, contextlib.suppress(Killed):
                there = with_files(history, files)
                _act(there, action, kept)
            if action == "prune" and {run.id for run in History(SITE, history.folder).runs} == set(kept):
                expected = {run: expected[run] for run in kept}
        assert all_content(history) == expected
    tidy(history)
    assert all_content(history) == expected


def _some_changes(chance, now, *, known):
    documents = {}
    for url in (S, T):
        if known and chance.random() < 0.5:
            documents[url] = None
            continue
        rows = [row for row in now[url] if chance.random() < 0.9]
        rows[chance.randint(0, len(rows)) : 0] = locs(chance.randint(0, 5), start=chance.randint(0, 100_000))
        documents[url] = now[url] = rows
    documents[INDEX] = None if known else now[INDEX]
    return documents


def test_a_snapshot_equals_the_result_of_its_history(making):
    assert isinstance(story(making, 1).latest(), Snapshot)


@pytest.mark.thorough
def test_daily_runs_of_an_almost_unchanged_site_need_little_space(tmp_path):
    chance = random.Random(1)
    making = Making(tmp_path, compares=True)
    history = making.store.history(SITE)
    rows = {f"{SITE}/s{number}.xml": _goods(chance, 2000) for number in range(10)}
    making.run(rows)
    for _ in range(71):
        changed = chance.choice(sorted(rows))
        for at in chance.sample(range(2000), k=2):
            rows[changed][at] = _goods(chance, 1)[0]
        making.run({url: rows[url] if url == changed else None for url in rows})
        history.forget()
        compact(history)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    whole = sum(path.stat().st_size for path in files)
    of_rows = sum(path.stat().st_size for path in files if path.name.startswith("rows-"))
    assert len(history.runs) == 72
    assert whole <= 1.2 * of_rows


def _goods(chance, count):
    """Return rows whose text compresses as badly as that of a real shop."""
    letters = "aeioubcdfglmnprst"
    names = ["".join(chance.choices(letters, k=16)) for _ in range(count)]
    return [entry(f"{SITE}/shop/{name[:8]}-{name[8:]}-{chance.randint(1, 99_999)}") for name in names]


@pytest.fixture
def pending(making):
    """Four runs: two URLs are missing from the second on, two more from the third on, and one is back in the last."""
    making.run({S: locs(6), T: locs(2, start=50)})
    making.holds = True
    for left in ([0, 1, 2, 3], [0, 1], [0, 1, 2]):
        making.run({S: [locs(6)[number] for number in left], T: None})
    return making.store.history(SITE)


def held(snapshot):
    """Return the pending URLs of a snapshot: since which run, and in how many."""
    batches = snapshot.rows(snapshot.pending.row_ranges.intervals(), ["loc"])
    locs_of = {
        row: loc for batch in batches for row, loc in zip(*(column.to_pylist() for column in batch), strict=True)
    }
    row_ranges, since, runs, _ = snapshot.pending
    facts = [
        fact for fact, count in zip(zip(since, runs, strict=True), row_ranges.count, strict=True) for _ in range(count)
    ]
    return {locs_of[row]: fact for row, fact in zip(row_ranges.rows().tolist(), facts, strict=True)}


def test_pending_rows_are_part_of_a_snapshot_until_their_url_is_listed_again(pending):
    second, third = pending.runs[1].id, pending.runs[2].id
    latest = pending.latest()
    assert held(latest) == {locs(6)[3]: (third, 2), locs(6)[4]: (second, 3), locs(6)[5]: (second, 3)}
    assert sorted(table_of(latest, ["loc"])["loc"].to_pylist()) == sorted([*locs(6), *locs(2, start=50)])
    assert [batch["loc"].to_pylist() for batch in latest.urls_of(S)] == [locs(3)]


@pytest.mark.parametrize("kept", [pytest.param(4, id="compact"), pytest.param(1, id="prune-all-but-the-last")])
def test_pending_rows_survive_compaction_and_pruning(pending, kept):
    before = held(pending.latest()), listed(pending.latest())
    compact(pending, fewest=2)
    prune(pending, {run.id for run in pending.runs[-kept:]})
    latest = History(pending.site, pending.folder).latest()
    assert (held(latest), listed(latest)) == before
