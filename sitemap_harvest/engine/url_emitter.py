"""``UrlEmitter``: filters the URLs that were read, applies ``limit``, and emits them as batches or single items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemap_harvest.filters.filters import Filters
from sitemap_harvest.model import Batch

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from sitemap_harvest.discovery.candidate import Candidate
    from sitemap_harvest.engine.run_parts import RunParts
    from sitemap_harvest.model import UrlBatch


class UrlEmitter:
    """Emits URLs as items, and queues page visits for them."""

    def __init__(self, parts: RunParts) -> None:
        self._config = parts.config
        self._summary = parts.summary
        self._stats = parts.stats
        self._pages = parts.pages
        self._needs_rows = parts.needs_rows
        self._as_rows = False
        self._has_filters = parts.config.filters != Filters()

    @property
    def has_enough(self) -> bool:
        """Whether ``limit`` URLs were emitted."""
        return self._config.limit is not None and self._summary.urls >= self._config.limit

    def limit_reason(self, when: str) -> str:
        """Return the text that the limit was reached *when*."""
        return f"limit={self._config.limit} was reached {when}"

    @property
    def needs_rows(self) -> bool:
        """Whether anything uses the URLs themselves, and not only their number."""
        is_plain = not self._has_filters and self._config.limit is None
        return "urls" in self._config.emit or self._pages.are_wanted or not is_plain

    def count(self, urls: int) -> None:
        """Count *urls* that nothing uses."""
        self._summary.urls += urls
        self._stats.inc_value("sitemap_harvest/urls", urls)

    def filtered(self, batch: UrlBatch) -> UrlBatch:
        """Return the rows of *batch* that pass the filters, and count passed and dropped rows."""
        if not self._has_filters:
            return batch
        kept, dropped = self._config.filters.keep(batch)
        self._summary.count_filtered(dropped, self._stats, kept=len(kept))
        return kept

    def items(self, batch: UrlBatch, candidate: Candidate) -> Generator[Any, None, int]:
        """Yield the items for *batch*, listed by the document of *candidate*, up to the limit; return the URL count.

        Do not compute it from ``summary.urls``: other documents may emit URLs between
        two yields.
        """
        if not len(batch):
            return 0
        if self._config.limit is not None:
            batch = batch.slice(0, self._config.limit - self._summary.urls)
        self._summary.urls += len(batch)
        self._stats.inc_value("sitemap_harvest/urls", len(batch))
        self._pages.add(batch, candidate)
        if "urls" not in self._config.emit:
            return len(batch)
        self._as_rows = self._as_rows or self._needs_rows()  # each time: a handler may have been connected since
        if self._as_rows:
            yield from batch.rows()
        else:
            yield batch
        return len(batch)

    def as_wanted(self, items: Iterable[Any]) -> Iterator[Any]:
        """Yield *items*; batches among them as single rows if URLs are emitted one by one."""
        for item in items:
            if isinstance(item, Batch):
                self._as_rows = self._as_rows or self._needs_rows()
            if isinstance(item, Batch) and self._as_rows:
                yield from item.rows()
            else:
                yield item
