"""Rules that are checked on columns, batch by batch, and the counts of entries."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.model import Kind
from sitemap_harvest.model.problem import MAX_SAMPLES
from sitemap_harvest.urls import Scope, site_of, url_key

if TYPE_CHECKING:
    from datetime import datetime

    from sitemap_harvest.formats.problems import ProblemLog
    from sitemap_harvest.model import SitemapRef, UrlBatch

_MOST_IMAGES = 1_000  # of one entry
_MOST_LOC_CHARS = 2_048
_SLACK = timedelta(days=1)  # a date without a zone may be 14 hours off, a clock some minutes
_TO_BE_ESCAPED = r'[<>"{}|\\^`]'
_LISTS = ("alternates", "images", "videos", "news")


@dataclass(slots=True, kw_only=True)
class Listed:
    """Counts of the contents of a document."""

    urls: int = 0
    """URLs of pages."""
    sitemaps: int = 0
    """References to other documents."""
    alternates: int = 0
    """Language and device versions of pages."""
    images: int = 0
    """Images of pages."""
    videos: int = 0
    """Videos of pages."""
    news: int = 0
    """Entries that are news articles."""


class Rules:
    """Checks the entries of one document, and counts them."""

    def __init__(self, kind: Kind, log: ProblemLog, *, now: datetime, location: str | None) -> None:
        self.listed = Listed()
        self.hashes = array("q")
        """Hashes of the keys of the entries."""
        self._kind = kind
        self._log = log
        self._latest = now + _SLACK
        self._location = url_key(location) if location else None
        self._site = site_of(location) if location else None
        self._scope = Scope.of([location]) if location else None

    def batch(self, batch: UrlBatch) -> None:
        """Process the next entries."""
        self.listed.urls += len(batch)
        for name in _LISTS:
            found = pc.sum(pc.list_value_length(batch[name])).as_py() or 0
            setattr(self.listed, name, getattr(self.listed, name) + found)
        if self._kind not in {Kind.SITEMAP, Kind.LIST}:
            return
        self.hashes.extend(hash(key) for key in batch["key"].to_pylist() if key is not None)
        self._note("protocol/too-many-images", pc.greater(pc.list_value_length(batch["images"]), _MOST_IMAGES), batch)
        self._note("protocol/loc-not-escaped", pc.match_substring_regex(batch["loc"], _TO_BE_ESCAPED), batch)
        self._note("protocol/future-lastmod", self._is_future(batch["lastmod"]), batch, "lastmod_text")
        if self._kind is Kind.LIST:  # for XML the structure is checked instead
            self._note("protocol/loc-too-long", pc.greater(pc.utf8_length(batch["loc"]), _MOST_LOC_CHARS), batch)
        if self._scope:
            reason = self._scope.columns(batch["key"], batch["site"]).reason
            self._note("protocol/other-site", pc.not_equal(reason, "path"), batch)
            self._note("protocol/outside-folder", pc.equal(reason, "path"), batch)

    def references(self, refs: list[SitemapRef], url: str) -> None:
        """Process the references of the document at *url*."""
        self.listed.sitemaps = len(refs)
        if self._kind is not Kind.INDEX:
            return
        own = {url_key(url) or url, self._location}
        for ref in refs:
            place: dict[str, Any] = {"entry": ref.position, "excerpt": ref.loc}
            key = url_key(ref.loc)
            if key is not None:
                self.hashes.append(hash(key))
            if (key or ref.loc) in own:
                self._log.add("protocol/self-reference", **place)
            if self._site and site_of(ref.loc) not in {None, self._site}:
                self._log.add("protocol/other-site", **place)
            if ref.lastmod is not None and ref.lastmod > self._latest:
                self._log.add("protocol/future-lastmod", entry=ref.position, excerpt=ref.lastmod_text)

    def _is_future(self, lastmod: pa.TimestampArray) -> pa.BooleanArray:
        return pc.greater(lastmod, pa.scalar(self._latest, lastmod.type))

    def _note(self, code: str, mask: pa.BooleanArray, batch: UrlBatch, excerpt: str = "loc") -> None:
        """Record the problem *code* for each row with a true *mask*."""
        if not (count := pc.sum(mask).as_py()):
            return
        first = batch.arrow.filter(mask).slice(0, MAX_SAMPLES)
        samples = zip(first["position"].to_pylist(), first[excerpt].to_pylist(), strict=True)
        for number, (position, text) in enumerate(samples):
            self._log.add(code, entry=position, excerpt=text, count=1 if number else count - first.num_rows + 1)
