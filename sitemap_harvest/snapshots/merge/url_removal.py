"""When the removal of a URL is certain: once no sitemap that the site lists now can still list the URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sitemap_harvest.model import Kind
from sitemap_harvest.model.run import moment_of
from sitemap_harvest.snapshots.merge.document_removal import may_list
from sitemap_harvest.snapshots.merge.merge_policy import final_key

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sitemap_harvest.model import SitemapRecord


_LISTERS = frozenset({Kind.ROBOTS, Kind.INDEX})


class PendingLimits(NamedTuple):
    """How long a removal may be pending. It is reported once both limits are reached."""

    runs: int
    days: int


def must_be_read_since(
    since: str, run: str, before: Mapping[str, SitemapRecord], ledger: Mapping[str, SitemapRecord]
) -> str:
    """Return the run since which every document must be read before a removal is certain.

    That is *since*, the first run that did not find the URL. But if a document that
    was not read since then leaves in this *run*, its URLs may have moved to any
    other document: then it is this run. *before* is the ledger of the last
    snapshot, *ledger* that of the new one, both by :func:`document_key`.
    """
    left = (row for key, row in ledger.items() if row.left is not None and key in before and before[key].left is None)
    return run if any(_is_unread(row, since) for row in left) else since


def is_settled(
    since: str, run: str, ledger: Mapping[str, SitemapRecord], references: Mapping[str, Collection[str]]
) -> bool:
    """Return whether no document of a site can list a URL that the run *since* did not find in any.

    *ledger* has the documents of the new snapshot, and *references* what each of them
    lists, both by :func:`document_key`. A document can list the URL if no run
    from *since* on has read it whole or found it unchanged. robots.txt and an
    index may list a new document, so they must be known as of this *run*.
    """
    present = {key: row for key, row in ledger.items() if row.left is None}
    if any(_is_unread(row, run if row.kind in _LISTERS else since) and may_list(row) for row in present.values()):
        return False
    met = ledger.keys() | {final_key(row, key) for key, row in ledger.items()}
    return all(met.issuperset(references.get(key, ())) for key in present)


def _is_unread(row: SitemapRecord, since: str) -> bool:
    return row.fresh_run is None or row.fresh_run < since


def is_overdue(since: str, run: str, *, runs: int, limits: PendingLimits) -> bool:
    """Return whether a removal has been pending for too long.

    *since* is the first run that did not find the URL, *run* this one, and *runs*
    in how many runs the removal has been pending so far.
    """
    return runs >= limits.runs and (moment_of(run) - moment_of(since)).days >= limits.days
