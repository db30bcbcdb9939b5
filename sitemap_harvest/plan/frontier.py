"""The documents known in a run: which wait, which have been taken up, each once, and which were refused."""

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
        self._refused: set[str] = set()
        self._per_root: dict[str, int] = {}
        self._waiting: deque[Lead] = deque()

    def __len__(self) -> int:
        """Return how many leads wait."""
        return len(self._waiting)

    def knows(self, url: str) -> bool:
        """Whether the document at *url* has been taken up, under any spelling."""
        return document_key(url) in self._known

    def claim(self, url: str) -> bool:
        """Note that the document at *url* is taken up; ``False`` if it was before."""
        return _is_new(document_key(url), self._known)

    def refuse(self, url: str) -> bool:
        """Note that the document at *url* was refused, which ends nothing; ``False`` if it was before."""
        return _is_new(document_key(url), self._refused)

    def add(self, lead: Lead) -> Refusal | None:
        """Take *lead* up and let it wait its turn; return why not, if there is no room."""
        count = self._per_root.get(lead.root, 0)
        if count >= self._max_documents:
            return Refusal(Outcome.OVER_LIMIT, f"more than {self._max_documents} documents")
        self.claim(lead.url)
        self._per_root[lead.root] = count + 1
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


def _is_new(key: str, keys: set[str]) -> bool:
    """Add *key* to *keys*; ``False`` if it was there."""
    before = len(keys)
    keys.add(key)
    return len(keys) > before
