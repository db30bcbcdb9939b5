"""``compare``: the reliable changes between two snapshots of a site; ``pending_rows``: its uncertain removals."""

from __future__ import annotations

import shutil
from collections import Counter
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.diff.changes import FOUND, Changes, written
from sitemap_harvest.diff.classify import classified
from sitemap_harvest.diff.documents import DocumentPairs, SnapshotDocuments, differences, documents, staleness
from sitemap_harvest.diff.pairing import BUMPED, PAIRED, is_mass, pair
from sitemap_harvest.diff.temporary_files import TemporaryFile, temporary_folder
from sitemap_harvest.diff.touched_rows import Work, count_urls, touched_rows
from sitemap_harvest.errors import HarvestError
from sitemap_harvest.model import MAX_ROWS, ChangeSummary, MassChange, Rename
from sitemap_harvest.snapshots.store.row_ranges import RowRanges
from sitemap_harvest.snapshots.store.tables import PENDING, row_ranges_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from sitemap_harvest.snapshots.store import Snapshot

_MAX_NAMED = 50
_NAMED = ("stale_sitemaps", "sitemaps_came", "sitemaps_left", "sitemaps_emptied")


def compare(
    before: Snapshot | None, after: Snapshot, *, folder: Path | None = None, most_named: int | None = _MAX_NAMED
) -> Changes:
    """Return the changes of URLs from *before*, an earlier snapshot of the same site, to *after*.

    Without *before* (``None``) there are no changes, and the summary says so.
    If the distinct URLs of *before* were not counted in its run, they are now, which
    reads the keys of all rows even if no row has changed. Data that does not fit in
    memory is written below *folder* (default: the system's folder for temporary files),
    and removed with the result. *most_named*: the maximum number of documents of a sort
    that the summary names; ``None``: no maximum.

    Raises :exc:`HarvestError` if the snapshots are of different sites, and :exc:`TypeError` for other types.
    """
    for one in (after,) if before is None else (before, after):
        if not hasattr(one, "row_ranges"):
            wanted = "compare() takes snapshots, such as open_store(...).site(...).at('latest')"
            raise TypeError(f"{wanted}, and not a {type(one).__name__}")
    if before is not None and before.site != after.site:
        raise HarvestError(f"the snapshots are of different sites: {before.site} and {after.site}")
    place = temporary_folder(folder)
    try:
        with (
            closing(TemporaryFile(place / "changes.arrow", FOUND)) as changes,
            closing(TemporaryFile(place / "pairs.arrow", PAIRED)) as pairs,
            closing(Work(place)) as work,
        ):
            summary, urls = _compared(before, after, changes, pairs, work) if before else (_alone(after), [])
        for name in _NAMED:
            setattr(summary, name, getattr(summary, name)[:most_named])
        return Changes(summary, urls, changes, pairs, place)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


def pending_rows(before: Snapshot, after: Snapshot, *, is_due: Callable[[str, int], bool]) -> pa.Table | None:
    """Return the rows of *before* whose removal is pending in *after*; ``None`` if there are none.

    A snapshot stores these rows although no document lists them, until their removal is
    certain. *is_due* returns whether a removal is reported now although it is not
    certain, for the first run that did not find the URL and the number of runs for
    which it has been pending. The result has the columns
    :data:`~sitemap_harvest.snapshots.store.tables.PENDING`.
    """
    known = before.pending
    of_ranges = list(zip(known.since, known.runs, known.partial, strict=True))
    new = [(after.run.id, 0, False), (after.run.id, 0, True)]
    groups = [*new, *dict.fromkeys(of_ranges)]  # missed since, runs so far, partial
    is_waiting = np.array([not is_due(since, runs) for since, runs, _ in groups])
    if not is_waiting.any():
        return None
    rows, documents, positions = _missing(before, after)
    group = pc.is_null(before.sitemaps()["fresh_at"]).to_numpy()[documents].astype(np.int64)  # that of the new ones
    numbers = {group: number for number, group in enumerate(groups)}
    of_known = np.repeat([numbers[group] for group in of_ranges], known.row_ranges.count)
    _, found, at = np.intersect1d(rows, known.row_ranges.rows(), return_indices=True)
    group[found] = of_known[at]
    order = np.lexsort((positions, documents, group))
    order = order[is_waiting[group[order]]]
    is_other = np.diff(group[order]) | np.diff(documents[order])
    urls = before.sitemaps()["url"]
    tables = []
    for part in np.split(order, np.flatnonzero(is_other) + 1) if len(order) else ():
        since, runs, partial = groups[group[part[0]]]
        facts = {"run": after.run.id, "document": urls[documents[part[0]]].as_py(), "since": since, "runs": runs + 1}
        tables.append(row_ranges_table(PENDING, RowRanges.of(0, positions[part], rows[part]), **facts, partial=partial))
    return pa.concat_tables(tables) if tables else None


def _missing(before: Snapshot, after: Snapshot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows of *before* whose URL *after* does not list: their ids, documents and positions.

    A document is an index into ``before.sitemaps()``.
    """
    numbers = np.arange(len(before.sitemaps())), np.arange(len(after.sitemaps()))
    found = [(np.array([], dtype=np.int64),) * 3]
    place = temporary_folder(None)
    try:
        with closing(Work(place)) as work:
            for block in touched_rows(before, after, numbers, work):
                is_listed = np.zeros(int(block.url[-1]) + 1, dtype=bool)
                is_listed[block.url[block.is_after]] = True
                missing = ~is_listed[block.url]
                found.append((block.row[missing], block.document[missing], block.position[missing]))
    finally:
        shutil.rmtree(place, ignore_errors=True)
    rows, documents, positions = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return rows, documents, positions


def compare_each(snapshots: Iterable[Snapshot], *, most_named: int | None = _MAX_NAMED) -> Iterator[Changes]:
    """Yield the changes of each of *snapshots*, oldest first, since the one before it; see :func:`compare`."""
    for before, after in pairwise(snapshots):
        yield compare(before, after, most_named=most_named)


def _alone(after: Snapshot) -> ChangeSummary:
    """Return the summary of a first snapshot."""
    urls = count_urls(after)
    fresh = staleness(SnapshotDocuments.of(after), after.run)
    return ChangeSummary(site=after.site, run=after.run.id, newly_known=urls, urls_after=urls, **fresh)


def _compared(
    before: Snapshot, after: Snapshot, changes: TemporaryFile, pairs: TemporaryFile, work: Work
) -> tuple[ChangeSummary, list[str]]:
    """Write all changes and pairs to the files; return the summary, and the URLs of the documents by number."""
    ledgers = SnapshotDocuments.of(before), SnapshotDocuments.of(after)
    known = DocumentPairs.of(*ledgers)
    numbers = known.numbers(ledgers[0]), known.numbers(ledgers[1])
    counts: Counter[str] = Counter()
    for block in touched_rows(before, after, numbers, work):
        found, of_block = classified(block, known)
        batch = written(block, found, known, changes.rows)
        counts.update(of_block, bumped=batch["is_bumped"].true_count)
        for start in range(0, batch.num_rows, MAX_ROWS):
            changes.add(batch.slice(start, MAX_ROWS))
    changes.close()
    patterns: list[MassChange] = []
    renames: tuple[Rename, ...] = ()
    if counts["added"] and counts["removed"] + counts["expired"]:
        patterns, renames = pair(changes, pairs, work.duckdb)
    urls_before = count_urls(before) if before.run.urls is None else before.run.urls
    untouched = urls_before - counts["before"]
    stay, bumped = counts["stay"] + untouched, counts["bumped"]
    if is_mass(bumped, stay):
        detail = f"only lastmod differs, and is later, for {bumped:,} of the {stay:,} URLs in both snapshots"
        patterns.append(MassChange(name=BUMPED, count=bumped, share=round(bumped / stay, 4), detail=detail))
    summary = ChangeSummary(
        site=after.site,
        run=after.run.id,
        baseline=before.run.id,
        added=counts["added"],
        removed=counts["removed"],
        changed=counts["changed"],
        moved=counts["moved"],
        expired=counts["expired"],
        newly_known=counts["newly_known"],
        retracted=counts["retracted"],
        unchanged=counts["unchanged"] + untouched,
        pending=count_urls(after, after.pending.row_ranges.intervals()),
        urls_before=urls_before,
        urls_after=counts["after"] + untouched,
        **staleness(ledgers[1], after.run),
        **documents(*ledgers),
        patterns=tuple(sorted(patterns, key=lambda pattern: -pattern.count)),
        renames=renames,
        differences=differences(before.run.arguments, after.run.arguments),
    )
    return summary, known.urls
