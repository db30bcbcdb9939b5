"""Documents that several sites of a run name: they are read for one, and kept for each."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from sitemap_harvest.crawl.site_keeping import Known
from sitemap_harvest.model import FoundBy, Kind, LedgerBatch, Outcome
from sitemap_harvest.plan import document_key, final_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sitemap_harvest.crawl.site_keeping import SiteKeeper
    from sitemap_harvest.plan import Lead
    from sitemap_harvest.store import Snapshot


def lend(
    borrower: SiteKeeper,
    leads: Iterable[tuple[Lead, str]],
    *,
    owner_of: Callable[[str], str | None],
    lender_of: Callable[[str], Callable[[str], Known | None] | None],
) -> None:
    """Keep for *borrower* what *leads* lead to, with all below them, as it was read for other sites.

    Each of *leads* has the address that it was read at, which is another one after a redirect.

    *owner_of* tells for which site a document was read, by its address;
    *lender_of* what gives the documents of a site by their keys.
    """
    todo, seen = deque(leads), set()
    while todo:
        lead, url = todo.popleft()
        key, owner = document_key(url), owner_of(url)
        if document_key(lead.url) in seen or owner is None or owner == lead.root:
            continue
        seen.add(document_key(lead.url))
        if (lender := lender_of(owner)) is None or (lent := lender(key)) is None:
            continue
        lent = _redirected(lent, key, owner_of=owner_of, lender_of=lender_of) or lent
        borrower.borrow(lent, lead)
        found_by = FoundBy.ROBOTS if lent.record.kind is Kind.ROBOTS else FoundBy.INDEX
        children = [lead.child(reference, reference.found_by or found_by) for reference in lent.references]
        todo += [(child, child.url) for child in children]


def _redirected(
    lent: Known,
    key: str,
    *,
    owner_of: Callable[[str], str | None],
    lender_of: Callable[[str], Callable[[str], Known | None] | None],
) -> Known | None:
    """Return what was read at the address that *lent*, the document *key*, redirects to; ``None`` if it does not."""
    final_url, target = lent.record.final_url, final_key(lent.record, key)
    if lent.record.outcome is not Outcome.SKIPPED or final_url is None or target == key:
        return None
    owner = owner_of(final_url)
    lender = lender_of(owner) if owner is not None else None
    found = lender(target) if lender is not None else None
    return None if found is None else replace(found, record=replace(found.record, final_url=final_url))


def of_snapshot(snapshot: Snapshot) -> Callable[[str], Known | None]:
    """Return what gives the documents of a site whose snapshot has been put in place in this run."""
    batches = map(LedgerBatch, snapshot.sitemaps().to_batches())
    rows = {document_key(row.url): row for batch in batches for row in batch.rows()}
    references, reading = snapshot.references(), snapshot.reading()

    def find(key: str) -> Known | None:
        if (row := rows.get(key)) is None or row.left is not None:
            return None
        return Known(row, references.get(row.url, ()), lambda: reading.urls_of(row.url))

    return find
