"""``Outputs``: the location, item count and completeness of each output, for the closing report."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scrapy.utils.defer import ensure_awaitable

from sitemap_harvest.model.run import Output

if TYPE_CHECKING:
    from scrapy.extensions.feedexport import FeedSlot

_MOST = 50  # with batch_item_count there may be thousands


class Outputs:
    """The outputs of a run: the first 50."""

    def __init__(self) -> None:
        self._slots: list[FeedSlot] = []
        self._stored: list[FeedSlot] = []
        self._closed: list[FeedSlot] = []

    def watch(self, slot: FeedSlot) -> None:
        """Track *slot*, which was just opened."""
        if len(self._slots) >= _MOST:
            return
        store = slot.storage.store

        async def watched(file: Any) -> None:
            await ensure_awaitable(store(file))
            self._stored.append(slot)

        with suppress(AttributeError):  # it has slots, so the attribute cannot be set
            slot.storage.store = watched  # type: ignore[method-assign, assignment]  # Scrapy tells nobody how it went
            self._slots.append(slot)

    def note_closed(self, slot: FeedSlot) -> None:
        """Record that *slot* was closed, successfully or not."""
        if len(self._closed) < _MOST:
            self._closed.append(slot)

    def records(self) -> tuple[Output, ...]:
        """Return the outputs that were written to or closed."""
        others = [slot for slot in self._closed if slot not in self._slots]
        seen = [(slot, slot in self._stored) for slot in self._slots if slot.itemcount or slot in self._closed]
        every = [*seen, *((slot, None) for slot in others)]
        return tuple(Output(uri=slot.uri, items=slot.itemcount, ok=ok) for slot, ok in every[:_MOST])
