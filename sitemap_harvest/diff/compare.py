"""``compare``: the reliable changes between two snapshots of a site."""

from __future__ import annotations

import shutil
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sitemap_harvest.diff.changes import FOUND, Changes, written
from sitemap_harvest.diff.classify import ADDED, EXPIRED, KINDS, REMOVED, ChangeCounts, classified
from sitemap_harvest.diff.documents import DocumentPairs, Places, SnapshotDocuments, differences, documents, staleness
from sitemap_harvest.diff.mass_changes import BUMPED, PAIRED, Pairing, is_mass
from sitemap_harvest.diff.temporary_files import TemporaryFile
from sitemap_harvest.diff.touched_rows import Work, count_urls, touched
from sitemap_harvest.model import ChangeSummary, MassChange, Rename

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemap_harvest.snapshots.store import Snapshot


def compare(before: Snapshot | None, after: Snapshot, *, folder: Path | None = None) -> Changes:
    """Return the changes of URLs from *before*, an earlier snapshot of the same site, to *after*.

    Without *before* (``None``) there are no changes, and the summary says so.
    If the distinct URLs of *before* were not counted in its run, they are now, which
    reads the keys of all rows even if no row has changed. Data that does not fit in
    memory is written below *folder* (default: the system's folder for temporary files),
    and removed with the result.
    """
    place = Path(tempfile.mkdtemp(prefix="sitemap-harvest-", dir=folder))
    work = Work(place)
    try:
        comparison = _Comparison(after, work)
        summary = comparison.since(before) if before else comparison.alone()
        return Changes(summary, comparison.urls, comparison.changes, comparison.pairs, place)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    finally:
        work.close()


def compare_each(snapshots: Iterable[Snapshot]) -> Iterator[Changes]:
    """Yield the changes of each of *snapshots*, oldest first, since the one before it."""
    for before, after in pairwise(snapshots):
        yield compare(before, after)


class _Comparison:
    """One comparison, and the temporary files that it fills."""

    def __init__(self, after: Snapshot, work: Work) -> None:
        self.changes = TemporaryFile(work.folder / "changes.arrow", FOUND)
        self.pairs = TemporaryFile(work.folder / "pairs.arrow", PAIRED)
        self.urls: list[str] = []  # of the documents, by number
        self._after = after
        self._work = work
        self._kinds = np.zeros(len(KINDS), dtype=np.int64)  # changes of each kind
        self._later = 0  # changes to a later lastmod

    def alone(self) -> ChangeSummary:
        """Return the summary of a first snapshot."""
        urls = count_urls(self._after)
        self.changes.close()
        self.pairs.close()
        fresh = staleness(SnapshotDocuments.of(self._after), self._after.run.started_at)
        run = self._after.run.id
        return ChangeSummary(site=self._after.site, run=run, newly_known=urls, urls_after=urls, **fresh)

    def since(self, before: Snapshot) -> ChangeSummary:
        """Find all changes since *before*, and return their summary."""
        after = self._after
        ledgers = SnapshotDocuments.of(before), SnapshotDocuments.of(after)
        counts = self._find(before, DocumentPairs.of(*ledgers))
        patterns, renames = self._pair()
        urls_before = count_urls(before) if before.run.urls is None else before.run.urls
        untouched = urls_before - counts.before
        stay, later = counts.stay + untouched, self._later
        if is_mass(later, stay):
            detail = f"lastmod is later for {later} of the {stay} URLs in both snapshots"
            bumped = MassChange(name=BUMPED, count=later, share=round(later / stay, 4), detail=detail)
            patterns = (*patterns, bumped)
        added, removed, changed, moved, expired = self._kinds.tolist()
        return ChangeSummary(
            site=after.site,
            run=after.run.id,
            baseline=before.run.id,
            added=added,
            removed=removed,
            changed=changed,
            moved=moved,
            expired=expired,
            unchanged=counts.unchanged + untouched,
            newly_known=counts.newly_known,
            retracted=counts.retracted,
            pending=count_urls(after, after.pending_rows()),
            urls_before=urls_before,
            urls_after=counts.after + untouched,
            **staleness(ledgers[1], after.run.started_at),
            **documents(*ledgers),
            patterns=tuple(sorted(patterns, key=lambda pattern: -pattern.count)),
            renames=renames,
            differences=differences(before.run.arguments, after.run.arguments),
        )

    def _find(self, before: Snapshot, known: DocumentPairs) -> ChangeCounts:
        """Write all changes to the file, and return the counts of the URLs examined."""
        self.urls = known.urls
        was, is_ = (Places(one.row_ranges(), known.numbers(one.sitemaps())) for one in (before, self._after))
        counts = ChangeCounts()
        for block in touched(before, self._after, (was, is_), self._work):
            found, of_block = classified(block, known, was.positions, is_.positions)
            counts = counts.plus(of_block)
            batch = written(block, found, known)
            self._kinds += np.bincount(found.kind, minlength=len(KINDS))
            self._later += batch["later"].true_count
            self.changes.add(batch)
        self.changes.close()
        return counts

    def _pair(self) -> tuple[tuple[MassChange, ...], tuple[Rename, ...]]:
        """Write the pairs to the file, and return the mass changes and renames."""
        patterns: tuple[MassChange, ...] = ()
        renames: tuple[Rename, ...] = ()
        if self._kinds[ADDED] and self._kinds[REMOVED] + self._kinds[EXPIRED]:
            pairing = Pairing(self._work.duckdb, self.changes)
            patterns, renames = pairing.patterns, pairing.renames
            for batch in pairing.halves():
                self.pairs.add(batch)
        self.pairs.close()
        return patterns, renames
