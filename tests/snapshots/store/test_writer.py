from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from sitemap_harvest.errors import StoreError
from sitemap_harvest.frontier.intervals import ChangeHistory
from sitemap_harvest.model import Outcome, SitemapRef
from sitemap_harvest.snapshots.store import DocumentRows, DocumentWriter, SiteWriter, compact
from tests.snapshots.store.making import SITE, Making, batch_of, entry, listed, locs, record_of

S, T = f"{SITE}/s.xml", f"{SITE}/t.xml"


@pytest.fixture
def making(tmp_path):
    return Making(tmp_path)


def partly(making, rows, *, sound=None):
    """Keep a run that has read *rows* of a document, and not all of it."""
    writer = making.begin()
    document = DocumentWriter(writer, S)
    document.add(batch_of(rows, sitemap=S))
    record = record_of(S, at=making.now, outcome=Outcome.PARTIAL, complete=False, rows_from=writer.run_id)
    writer.keep(S, DocumentRows(record, document.added(sound=sound)))
    return making.commit(writer, [record])


def test_a_partial_read_adds_new_rows_and_keeps_the_rest(making):
    making.run({S: locs(5)})
    known = entry(locs(1)[0], title="another")
    after = partly(making, [known, *locs(2, start=9), *locs(1, start=3)])
    assert [loc for _, _, loc in listed(after)] == [*locs(5), *locs(2, start=9)]
    assert listed(after, ["title"]) == [(None,)] * 7
    assert [position for _, position, _ in listed(after)] == list(range(1, 8))


def test_rows_after_the_damage_are_not_added(making):
    making.run({S: locs(1)})
    assert [loc for _, _, loc in listed(partly(making, locs(5), sound=3))] == locs(3)


def test_a_partial_first_read_is_the_whole_content(making):
    assert [loc for _, _, loc in listed(partly(making, locs(5)))] == locs(5)


def test_rows_in_several_batches_are_one_document(making):
    making.run({S: locs(100)})
    writer = making.begin()
    document = DocumentWriter(writer, S)
    rows = batch_of([*locs(50), *locs(10, start=500), *locs(50, start=50)], sitemap=S)
    for start in range(0, 110, 7):
        document.add(rows.slice(start, 7))
    record = record_of(S, rows_from=writer.run_id)
    writer.keep(S, DocumentRows(record, document.all()))
    after = making.commit(writer, [record])
    assert after.run.rows == 10
    assert [loc for _, _, loc in listed(after)] == rows["loc"].to_pylist()


def test_documents_may_be_read_concurrently(making):
    writer = making.begin()
    documents = {url: DocumentWriter(writer, url) for url in (S, T)}
    for start in range(0, 40, 10):
        for url, document in documents.items():
            document.add(batch_of([f"{url}?{number}" for number in range(40)], sitemap=url).slice(start, 10))
    records = [record_of(url, rows_from=writer.run_id) for url in documents]
    for record, document in zip(records, documents.values(), strict=True):
        writer.keep(record.url, DocumentRows(record, document.all()))
    after = making.commit(writer, records)
    assert listed(after) == sorted((url, number + 1, f"{url}?{number}") for url in documents for number in range(40))


def test_ids_continue_from_the_last_run(making):
    making.run({S: locs(3)})
    making.run({S: locs(3, start=7)})
    assert making.store.history(SITE).manifest.next_row == 6
    assert making.store.latest(SITE).row_ranges().rows().tolist() == [3, 4, 5]


def test_documents_kept_at_a_checkpoint_are_resumed(making):
    making.run({S: locs(3), T: locs(3)})
    references = [SitemapRef(loc=S, position=1)]
    writer = making.begin()
    making.document(writer, S, [*locs(3), *locs(2, start=10)])
    making.document(writer, T, None)
    making.document(writer, f"{SITE}/index.xml", references)
    writer.checkpoint()
    making.document(writer, f"{SITE}/u.xml", locs(2, start=20))
    writer.checkpoint()
    making.document(writer, f"{SITE}/lost.xml", locs(2, start=30))
    assert writer.unwritten == 1

    history = making.store.history(SITE)
    assert history.unfinished() == [writer.run_id]
    again = SiteWriter(history, writer.run_id, history.latest())
    assert again.take_over()
    assert sorted(again.kept) == [f"{SITE}/{name}.xml" for name in ("index", "s", "t", "u")]
    assert again.kept[T].row_ranges is None
    assert again.kept[f"{SITE}/index.xml"].references == references
    assert [loc for batch in again.urls_of(again.kept[S]) for loc in batch["loc"].to_pylist()] == [
        *locs(3), *locs(2, start=10)
    ]  # fmt: skip
    lost = making.document(again, f"{SITE}/lost.xml", locs(1, start=40))
    after = making.commit(again, [*(kept.record for url, kept in again.kept.items() if url != lost.url), lost])
    assert [loc for _, _, loc in listed(after)] == [
        *locs(1, start=40), *locs(3), *locs(2, start=10), *locs(3), *locs(2, start=20)
    ]  # fmt: skip
    assert after.references() == {f"{SITE}/index.xml": references}
    assert making.store.site(SITE).unfinished() == []
    names = again.folder.names()
    assert [name for name in names if name.startswith(("manifest", "done-"))] == []
    files = {file.name.rpartition("/")[2] for file in making.store.site(SITE).manifest.files}
    assert files >= set(names)


def test_the_text_of_robots_txt_belongs_to_the_run_that_read_it(making):
    robots, text = f"{SITE}/robots.txt", "User-agent: *\nDisallow: /a\n"
    writer = making.begin()
    writer.robots_texts[robots] = text
    record = making.document(writer, robots, [SitemapRef(loc=S, position=1)])
    writer.checkpoint()
    again = SiteWriter(making.store.history(SITE), writer.run_id, None)
    assert again.take_over()
    first = making.commit(again, [record])
    second = making.run({robots: None, S: locs(1)})
    third = making.begin()
    third.robots_texts[robots] = ""
    assert making.commit(third, [making.document(third, robots, None)]).robots_texts() == {robots: ""}
    assert (first.robots_texts(), second.robots_texts()) == ({robots: text}, {})


def test_without_a_checkpoint_nothing_is_resumed(making):
    writer = making.begin()
    making.document(writer, S, locs(2))
    again = SiteWriter(making.store.history(SITE), writer.run_id, None)
    assert not again.take_over()
    assert again.folder.names() == []


def test_a_dropped_run_leaves_nothing(making):
    first = making.run({S: locs(2)})
    writer = making.begin()
    making.document(writer, S, locs(2, start=5))
    writer.checkpoint()
    making.document(writer, T, locs(2, start=5))
    writer.drop()
    history = making.store.history(SITE)
    assert ([run.id for run in history.runs], history.unfinished()) == ([first.run.id], [])
    assert writer.folder.names() == []


def test_a_committed_run_cannot_be_dropped(making):
    writer = making.begin()
    making.commit(writer, [making.document(writer, S, locs(2))])
    with pytest.raises(StoreError, match="is already a snapshot"):
        writer.drop()
    assert len(listed(making.store.latest(SITE))) == 2


def test_a_run_is_invisible_before_its_manifest_is_written(making, monkeypatch):
    making.run({S: locs(2)})
    writer = making.begin()
    record = making.document(writer, S, locs(2, start=5))

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("sitemap_harvest.snapshots.store.storage.Folder.replace", full)
        with pytest.raises(OSError, match="No space"):
            making.commit(writer, [record])
    assert [loc for _, _, loc in listed(making.store.latest(SITE))] == locs(2)


def test_of_two_concurrent_runs_the_second_to_end_is_not_kept(making):
    making.run({S: locs(2)})
    writer = making.begin()
    record = making.document(writer, S, locs(2, start=5))
    making.now += timedelta(hours=1)
    making.run({S: locs(2, start=9)})
    with pytest.raises(StoreError, match="another run has stored a snapshot in the meantime"):
        making.commit(writer, [record])
    assert [loc for _, _, loc in listed(making.store.latest(SITE))] == locs(2, start=9)


def test_positions_with_gaps_are_kept(making):
    writer = making.begin()
    document = DocumentWriter(writer, S)
    rows = batch_of(locs(6), sitemap=S)
    document.add(rows.filter(np.array([True, False, True, True, False, True])))
    record = record_of(S, rows_from=writer.run_id)
    writer.keep(S, DocumentRows(record, document.all()))
    assert [position for _, position, _ in listed(making.commit(writer, [record]))] == [1, 3, 4, 6]


def test_the_histories_of_sitemaps_survive_compaction(making):
    histories = {S: ChangeHistory(1.5, 20.25), T: ChangeHistory(0.0, 7.125)}
    for count in range(1, 10):
        writer = making.begin()
        writer.histories = histories
        snapshot = making.commit(writer, [making.document(writer, url, locs(count)) for url in (S, T, f"{SITE}/u.xml")])
        assert snapshot.change_histories() == histories
    history = making.store.history(SITE)
    assert compact(history)
    assert {len(set(file.runs)) for file in history.manifest.files if file.table == "sitemaps"} == {2}
    assert history.latest().change_histories() == histories
    assert making.run({S: None, T: None}).change_histories() == {}


def test_the_histories_of_many_sitemaps_are_columns_of_a_file(making):
    names = [f"{SITE}/{number}.xml" for number in range(100)]
    writer = making.begin()
    writer.histories = {name: ChangeHistory(0.0, float(number)) for number, name in enumerate(names[1:], start=1)}
    snapshot = making.commit(writer, [making.document(writer, name, locs(1)) for name in names])
    assert snapshot.change_histories() == writer.histories
    assert making.store.history(SITE).latest().change_histories() == writer.histories
