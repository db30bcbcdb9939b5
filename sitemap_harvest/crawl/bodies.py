"""The bodies of documents in memory: many small ones at a time, of large ones as many as fit."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import StopDownload

from sitemap_harvest.crawl.document_requests import lead_of
from sitemap_harvest.plan import host_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from sitemap_harvest.plan import Lead


class Bodies:
    """Stops the download of a large body that does not fit beside the others, and lets it wait until it does.

    The size of a body is known once its headers or its bytes have come. Until
    then it is taken to be as large as the largest of its host so far. A body is
    held from then until its document is done with.
    """

    def __init__(self, *, most: int, small: int) -> None:
        """Hold *most* bytes of bodies that are larger than *small*; or one, if that alone is larger."""
        self._most = most
        self._small = small
        self._held: dict[str, int] = {}  # by address
        self._large = 0  # bytes of those that are not small
        self._received: dict[str, int] = {}
        self._usual: dict[str, int] = {}  # by host, where it is not small
        self._stopped: dict[str, int] = {}
        self._waiting: deque[Lead] = deque()

    def listen(self, crawler: Crawler) -> None:
        """Hear from *crawler* how large bodies are."""
        crawler.signals.connect(self.note_headers, signal=signals.headers_received)
        crawler.signals.connect(self.note_bytes, signal=signals.bytes_received)

    def fits(self, lead: Lead) -> bool:
        """Whether the body of *lead*, as large as it is expected to be, fits beside the others."""
        size = self._expected(lead)
        return size <= self._small or not self._large or self._large + size <= self._most

    def wait(self, lead: Lead) -> None:
        """Let *lead* wait until its body fits."""
        self._waiting.append(lead)

    def next(self) -> Lead | None:
        """Return the lead that has waited longest, if its body fits now."""
        return self._waiting.popleft() if self._waiting and self.fits(self._waiting[0]) else None

    def begin(self, lead: Lead) -> None:
        """Note that *lead* is being asked for."""
        self._hold(lead.url, self._expected(lead))

    def end(self, lead: Lead) -> None:
        """Note that the document of *lead* is done with."""
        if (size := self._held.get(lead.url, 0)) > self._small:
            host = host_of(lead.url)
            self._usual[host] = max(size, self._usual.get(host, 0))
        self._hold(lead.url, 0)
        for known in (self._held, self._received, self._stopped):
            known.pop(lead.url, None)
        if lead in self._waiting:
            self._waiting.remove(lead)

    def was_stopped(self, lead: Lead) -> bool:
        """Whether the download of *lead* was stopped because its body did not fit."""
        return lead.url in self._stopped and not self._held.get(lead.url)

    def note_headers(self, body_length: object, request: Request) -> None:
        """Take in how large the body of an answer is, if its headers tell."""
        if (lead := lead_of(request)) is not None and lead.url in self._held:
            self._received[lead.url] = 0
            size = body_length if isinstance(body_length, int) else 0
            self._note(lead, size, expected=size)

    def note_bytes(self, data: bytes, request: Request) -> None:
        """Take in that *data* has come."""
        if (lead := lead_of(request)) is not None and lead.url in self._held:
            self._received[lead.url] = size = self._received.get(lead.url, 0) + len(data)
            self._note(lead, size, expected=2 * size)

    def _note(self, lead: Lead, size: int, *, expected: int) -> None:
        """Hold *size* bytes for *lead*; stop its download if they do not fit, and expect so many the next time."""
        if size <= self._held[lead.url]:
            return
        self._hold(lead.url, size)
        if size > self._small and size < self._large and self._large > self._most:
            self._hold(lead.url, 0)
            self._stopped[lead.url] = expected
            raise StopDownload(fail=True)

    def _expected(self, lead: Lead) -> int:
        return max(self._usual.get(host_of(lead.url), 0), self._stopped.get(lead.url, 0))

    def _hold(self, url: str, size: int) -> None:
        for bytes_held, sign in ((self._held.get(url, 0), -1), (size, 1)):
            self._large += sign * bytes_held if bytes_held > self._small else 0
        self._held[url] = size
