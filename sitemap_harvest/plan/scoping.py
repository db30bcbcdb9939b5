"""Judging the URLs of one document by where it lies and who vouches for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from sitemap_harvest.model import Kind, UrlBatch
from sitemap_harvest.urls import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemap_harvest.plan.lead import Lead


class Scoping:
    """Fills ``in_scope`` and ``scope_reason`` of one document's URLs, and counts those that are out."""

    def __init__(self, scope: Scope | None) -> None:
        """Judge by *scope*; ``None``: nothing can be said."""
        self.outside: int | None = None if scope is None else 0
        """URLs that are out of scope, so far; ``None`` if nothing can be said."""
        self._scope = scope

    @classmethod
    def of(cls, lead: Lead, kind: Kind, addresses: Iterable[str]) -> Self:
        """Return what judges the document of *lead*, a *kind* that lies at each of *addresses*."""
        is_sitemap = kind is not Kind.LINKS  # the protocol has no rule for web pages
        return cls(Scope.of(addresses, lead.vouched) if is_sitemap else None)

    def judged(self, batches: Iterable[UrlBatch]) -> Iterator[UrlBatch]:
        """Yield *batches* with both columns filled."""
        return map(self._judged, batches)

    def _judged(self, batch: UrlBatch) -> UrlBatch:
        if self._scope is None or self.outside is None:
            return batch
        found = self._scope.columns(batch["key"], batch["site"])
        self.outside += found.in_scope.false_count
        return batch.with_columns(in_scope=found.in_scope, scope_reason=found.reason)
