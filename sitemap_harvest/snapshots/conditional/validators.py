"""Which validators (``ETag``, ``Last-Modified``) of a document can be sent in a conditional request.

Spec: https://www.rfc-editor.org/rfc/rfc9110#section-8.8
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sitemap_harvest.dates import read_date

if TYPE_CHECKING:
    from sitemap_harvest.model import SitemapRecord

ROUNDED_SECONDS = 1
"""How far the time of a download may be in the future: records store whole seconds, rounded up."""
_MINUTE = timedelta(minutes=1)
_MAX_ETAG_CHARS = 512  # the longest in the wild have a few hundred
_ENTITY_TAG = re.compile(r'(W/|w/)?"([\x21\x23-\x7e\x80-\xff]+)"')
_BARE_TAG = re.compile(r"(W/|w/)?([\w.:/+=-]+)", re.ASCII)  # unquoted, against the spec; never "*", the wildcard
_CODING = re.compile(r"(?:--?|;)(?:gzip|br|zstd|deflate|df)$", re.IGNORECASE)


def conditions(known: SitemapRecord, now: datetime) -> dict[str, str]:
    """Return the headers of a conditional request for *known*; empty if it has no usable validator."""
    headers = {}
    if tags := _tags(known.etag):
        headers["If-None-Match"] = ", ".join(tags)
    if known.last_modified is not None and _may_be_sent(known.last_modified, known, now):
        headers["If-Modified-Since"] = known.last_modified.strip()
    return headers


def is_request_tag(known: SitemapRecord, answer: SitemapRecord) -> bool:
    """Whether a 304 matches the request: its tag, if any, is that of *known*, if that has one."""
    if answer.etag is None or not _tags(known.etag):
        return True
    return _bare(answer.etag) == _bare(known.etag or "")


def _may_be_sent(last_modified: str, known: SitemapRecord, now: datetime) -> bool:
    """Whether the date *last_modified* can detect a later change.

    Not if it is in the future or within a minute of the download: responses generated
    on each request have such dates, and a file may be written twice in a second.
    """
    date = read_date(last_modified)
    if date is None or known.read_at is None or not last_modified.isprintable() or not last_modified.isascii():
        return False
    return date.value + _MINUTE <= known.read_at <= now + timedelta(seconds=ROUNDED_SECONDS)


def _tags(etag: str | None) -> list[str]:
    """Return the entity tags to send: *etag* as received, and without a content-coding suffix.

    A server that compresses responses may add the coding to the tag, and then not
    recognize its own tag. The decoded content is the same for both.
    """
    if etag is None or len(etag) > _MAX_ETAG_CHARS:
        return []
    etag = etag.strip()
    if not (match := _ENTITY_TAG.fullmatch(etag) or _BARE_TAG.fullmatch(etag)):
        return []
    plain = _CODING.sub("", match[2])
    if plain == match[2] or not plain:
        return [etag]
    return [etag, etag.replace(match[2], plain)]


def _bare(etag: str) -> str:
    """Return *etag* in the form used for weak comparison, without a content-coding suffix."""
    return _CODING.sub("", etag.strip().removeprefix("W/").removeprefix("w/").strip('"'))
