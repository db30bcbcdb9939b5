"""The documents known in a run: which wait, and which have been taken up, each once."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING
from urllib.parse import urldefrag

from sitemap_harvest.model import Outcome
from sitemap_harvest.plan.lead import Lead, Refusal
from sitemap_harvest.urls import url_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


def document_key(url: str) -> str:
    """Return what identifies the document at *url*: its key without the fragment, which is never sent."""
    address = urldefrag(url).url
    return url_key(address) or address


def host_of(url: str) -> str:
    """Return host and port of *url*; empty for a file."""
    return url.partition("://")[2].partition("/")[0]


class Frontier:
    """What is known of the documents of a run. Holds addresses only, so 50,000 children cost a few megabytes."""

    def __init__(self, *, max_documents: int) -> None:
        self._max_documents = max_documents
        self._known: set[str] = set()
        self._per_root: dict[str, int] = {}
        self._waiting: deque[Lead] = deque()

    def __len__(self) -> int:
        """Return how many leads wait."""
        return len(self._waiting)

    def claim(self, url: str) -> bool:
        """Note that the document at *url* is taken up; ``False`` if it was known before, under any spelling."""
        key = document_key(url)
        is_new = key not in self._known
        self._known.add(key)
        return is_new

    def add(self, lead: Lead) -> Refusal | None:
        """Let *lead*, whose address has been claimed, wait its turn; return why not, if there is no room."""
        count = self._per_root[lead.root] = self._per_root.get(lead.root, 0) + 1
        if count > self._max_documents:
            return Refusal(Outcome.OVER_LIMIT, f"more than {self._max_documents} documents")
        self._waiting.append(lead)
        return None

    def take(self, busy_hosts: Collection[str] = ()) -> Lead | None:
        """Return the lead whose turn it is, of those that are not on *busy_hosts*; ``None`` if there is none."""
        for number, lead in enumerate(self._waiting):
            if host_of(lead.url) not in busy_hosts:
                del self._waiting[number]
                return lead
        return None

    def drain(self) -> Iterator[Lead]:
        """Yield all leads that wait; none does afterwards."""
        while self._waiting:
            yield self._waiting.popleft()
