"""``InFlight``: the documents in flight: exactly one record for each, and limited memory for their bodies."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sitemap_harvest.urls import host_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from sitemap_harvest.discovery.candidate import Candidate

_PATIENCE_SECONDS = 5.0  # after which a document without a response, or of unknown size, does not delay others
_IDLE_SECONDS = 5.0  # of an idle downloader, after which a document in flight counts as lost
_MOST_USUAL = 10_000  # documents and hosts whose usual body size is remembered


@dataclass(slots=True)
class Download:
    """One document in flight."""

    candidate: Candidate
    began: float
    """Seconds of the monotonic clock; minus infinity while it waits for memory for its body."""
    is_coming: bool = False
    """Whether its response has begun to arrive."""
    needs_record: bool = True
    was_scheduled: bool = False
    """Whether its request has reached the downloader's queue."""
    held: int | None = None
    """Bytes of memory reserved for its body; ``None`` before it was requested."""
    received: int = 0
    """Bytes of its body received so far."""
    expected: int = 0
    """The expected size of its body after its download was stopped; 0: it was not."""

    @property
    def was_stopped(self) -> bool:
        """Whether its download was stopped because its body did not fit."""
        return self.expected > 0 and not self.held


class InFlight:
    """Tracks in-flight documents, each of which gets exactly one record, and limits the memory for their bodies.

    The download of a large body that does not fit in memory with the others is stopped
    and postponed. The size of a body is known once its headers or its bytes arrive.
    Until then the estimate is the largest body so far of the same parent document, or
    else of the same host. The first child of a document is requested alone until its
    size is known; otherwise several downloads might have to be stopped. *now* is in
    seconds of a monotonic clock.
    """

    def __init__(self, *, most: int, small: int, wake: Callable[[], None] = lambda: None) -> None:
        """Hold up to *most* bytes of bodies that are larger than *small*, or one body that alone is larger.

        *wake* is called when a document has ended, or a postponed one may fit.
        """
        self._most = most
        self._small = small
        self._wake = wake
        self.downloads: dict[str, Download] = {}
        """The documents in flight, by URL."""
        self._idle_since: float | None = None
        self._large = 0  # bytes of the bodies larger than small
        self._usual: OrderedDict[str | None, int] = OrderedDict()  # by parent document, and by host
        self._first: dict[str | None, float] = {}  # when the first child of each parent document was requested

    def begin(self, candidate: Candidate, now: float, *, is_requested: bool = True) -> None:
        """Record that *candidate* is in flight; reserve memory for its body if it *is_requested*."""
        self._idle_since = None
        download = self.downloads.setdefault(candidate.url, Download(candidate, now))
        download.began, download.is_coming, download.was_scheduled = now, False, False
        if not is_requested:
            return
        if candidate.parent is not None and candidate.parent not in self._usual:
            self._first.setdefault(candidate.parent, now)
        self._hold(download, self._expected(candidate))

    def fits(self, candidate: Candidate, now: float) -> bool | None:
        """Whether the estimated body of *candidate* fits in memory.

        ``None``: the first child of the same parent document was requested recently, and
        its size is still unknown.
        """
        if now - self._first.get(candidate.parent, -math.inf) < _PATIENCE_SECONDS:
            return None
        size = self._expected(candidate)
        return size <= self._small or not self._large or self._large + size <= self._most

    def postpone(self, candidate: Candidate) -> None:
        """Let *candidate* wait, in flight, until its body fits."""
        download = self.downloads.pop(candidate.url, None) or Download(candidate, -math.inf)
        download.began = -math.inf
        self.downloads[candidate.url] = download  # behind those that wait already
        self._idle_since = None
        self._wake()

    def next_postponed(self, now: float) -> Candidate | None:
        """Return the candidate that has waited longest, if its body fits now."""
        for download in self.downloads.values():
            if download.began == -math.inf and (fits := self.fits(download.candidate, now)) is not None:
                if not fits:
                    return None
                download.began = now
                return download.candidate
        return None

    def is_full(self, now: float, *, most: int) -> bool:
        """Whether *most* documents need memory for a body.

        Excluded are documents without any response, because a host that hangs must not
        delay the others, and the robots.txt of sites, which are small.
        """
        bodies = sum(
            not download.candidate.site_root and (download.is_coming or now - download.began < _PATIENCE_SECONDS)
            for download in self.downloads.values()
        )
        return bodies >= most

    def lost(self, now: float, *, is_idle: bool) -> list[Candidate]:
        """Return the candidates that are lost: the downloader has been idle for long, and no response has begun.

        *is_idle*: whether it is idle *now*. Postponed candidates are not lost: they are
        requested when others end.
        """
        if not is_idle:
            self._idle_since = None
            return []
        if self._idle_since is None:
            self._idle_since = now
        if now - self._idle_since < _IDLE_SECONDS:
            return []
        return [download.candidate for download in self.downloads.values() if download.began > -math.inf]

    def end(self, candidate: Candidate) -> None:
        """End *candidate*."""
        download = self.downloads.pop(candidate.url, None)
        if download is not None and download.held is not None:
            self._first.pop(candidate.parent, None)
            self._learn(candidate, download.received)
            self._hold(download, 0)
        self._wake()

    def note_headers(self, candidate: Candidate, size: int | None) -> bool:
        """Record that the headers of a response have arrived, with the *size* of the body if they announce one.

        Return whether the download has to be stopped.
        """
        if (download := self.downloads.get(candidate.url)) is None:
            return False
        download.is_coming = True
        if download.held is None:
            return False
        download.received = 0
        if size is None:
            return False
        self._first.pop(candidate.parent, None)
        self._learn(candidate, size)
        must_stop = self._must_stop(download, size, expected=size)
        if any(other.began == -math.inf for other in self.downloads.values()):
            self._wake()
        return must_stop

    def note_bytes(self, candidate: Candidate, size: int) -> bool:
        """Record that *size* more bytes were received; return whether the download has to be stopped."""
        download = self.downloads.get(candidate.url)
        if download is None or download.held is None:
            return False
        download.received += size
        if download.received <= download.held:
            return False  # as expected
        if download.received > self._small:
            self._learn(candidate, download.received)
        return self._must_stop(download, download.received, expected=2 * download.received)

    def _must_stop(self, download: Download, size: int, *, expected: int) -> bool:
        """Hold *size* bytes for *download*, or nothing if they do not fit; then expect *expected* bytes."""
        self._hold(download, size)
        if size <= self._small or size >= self._large or self._large <= self._most:
            return False
        self._hold(download, 0)
        download.expected = expected
        return True

    def _learn(self, candidate: Candidate, size: int) -> None:
        """Use *size*, the known size of the body of *candidate*, as an estimate for others."""
        for key in {candidate.parent, host_of(candidate.url)} - {None}:
            self._usual[key] = max(size, self._usual.get(key, 0))
            self._usual.move_to_end(key)
        while len(self._usual) > _MOST_USUAL:
            self._usual.popitem(last=False)

    def _expected(self, candidate: Candidate) -> int:
        usual = self._usual.get(candidate.parent, self._usual.get(host_of(candidate.url), 0))
        download = self.downloads.get(candidate.url)
        return max(usual, download.expected if download else 0)

    def _hold(self, download: Download, size: int) -> None:
        for bytes_held, sign in ((download.held or 0, -1), (size, 1)):
            self._large += sign * bytes_held if bytes_held > self._small else 0
        download.held = size
