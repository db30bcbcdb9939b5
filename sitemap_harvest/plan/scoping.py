"""Judging the URLs of one document by where it lies and who vouches for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import pyarrow.compute as pc

from sitemap_harvest.model import Kind, UrlBatch
from sitemap_harvest.urls import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemap_harvest.plan.lead import Lead


class Scoping:
    """Fills ``in_scope`` and ``scope_reason`` of one document's URLs, counts those that are out, and may drop them."""

    def __init__(self, scope: Scope | None, *, drops: bool = False) -> None:
        """Judge by *scope*; ``None``: nothing can be said. *drops* is whether to drop what is out of scope."""
        self.outside: int | None = None if scope is None else 0
        """URLs that are out of scope, so far; ``None`` if nothing can be said."""
        self.dropped = 0
        """URLs that were dropped, so far."""
        self._scope = scope
        self._drops = drops

    @classmethod
    def of(cls, lead: Lead, kind: Kind, addresses: Iterable[str], *, drops: bool = False) -> Self:
        """Return what judges the document of *lead*, a *kind* that lies at each of *addresses*."""
        is_sitemap = kind is not Kind.LINKS  # the protocol has no rule for web pages
        return cls(Scope.of(addresses, lead.vouched) if is_sitemap else None, drops=drops)

    def judged(self, batches: Iterable[UrlBatch]) -> Iterator[UrlBatch]:
        """Yield *batches* with both columns filled, and without what is to be dropped."""
        for batch in batches:
            if len(judged := self._judged(batch)):
                yield judged

    def _judged(self, batch: UrlBatch) -> UrlBatch:
        if self._scope is None or self.outside is None:
            return batch
        found = self._scope.columns(batch["key"], batch["site"])
        outside = found.in_scope.false_count
        self.outside += outside
        batch = batch.with_columns(in_scope=found.in_scope, scope_reason=found.reason)
        if not self._drops or not outside:
            return batch
        self.dropped += outside
        return batch.filter(pc.fill_null(found.in_scope, True))  # noqa: FBT003 - a value: what cannot be judged stays
