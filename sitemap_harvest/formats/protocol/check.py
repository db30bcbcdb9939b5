"""``check``: validates a document against the rules of the sitemap protocol.

Specs: https://www.sitemaps.org/protocol.html and the two schemas that it names,
https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap
(images, news). Pure: the clock is the argument ``now``. Memory use is flat, except for
some 40 bytes per entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sitemap_harvest.formats.problems import ProblemLog
from sitemap_harvest.formats.protocol.listed import Listed, Rules
from sitemap_harvest.formats.protocol.repeats import note_repeats
from sitemap_harvest.formats.protocol.structure import check_structure
from sitemap_harvest.model import Kind

if TYPE_CHECKING:
    from datetime import datetime

    from sitemap_harvest.formats.document import Document
    from sitemap_harvest.model import Problem

_MOST_ENTRIES = 50_000
_MOST_BYTES = 52_428_800  # 50 MiB, decompressed
_MOST_NEWS = 1_000
_KINDS = frozenset({Kind.SITEMAP, Kind.INDEX, Kind.LIST})  # kinds with rules in the protocol
_PREFIX = "protocol/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The counts of a document, and the rules that it breaks."""

    listed: Listed
    """Number of items of each sort."""
    problems: tuple[Problem, ...]
    """Problems whose codes begin with ``protocol/``. Those found by reading are in ``Document.problems``."""


def check(document: Document, *, now: datetime, location: str | None = None) -> Verdict:
    """Return the counts of *document*, and the rules that it breaks. Never raises for a document.

    *now* is the instant that dates are compared with. *location* is the URL that the
    document is served at: if given, entries are checked against the rule that a sitemap
    lists URLs of its own site, below its own folder.
    """
    log = ProblemLog(document.url)
    rules = Rules(document.kind, log, now=now, location=location)
    for batch in document.urls():
        rules.batch(batch)
    rules.references(list(document.sitemaps()), document.url)
    if document.kind in _KINDS:
        _check_size(document, rules.listed, log)
        note_repeats(document, rules.hashes, log)
    if document.kind in {Kind.SITEMAP, Kind.INDEX}:
        check_structure(document.blocks(), document.kind, log)
    problems = tuple(problem for problem in log.all() if problem.code.startswith(_PREFIX))
    return Verdict(listed=rules.listed, problems=problems)


def _check_size(document: Document, listed: Listed, log: ProblemLog) -> None:
    if document.entries > _MOST_ENTRIES:
        log.add("protocol/too-many-entries", f"{document.entries:,} entries, but only 50,000 are allowed")
    if document.bytes_unpacked > _MOST_BYTES:
        log.add("protocol/too-large", f"{document.bytes_unpacked:,} bytes unpacked, but only 52,428,800 are allowed")
    if listed.news > _MOST_NEWS:
        log.add("protocol/too-many-news", f"{listed.news:,} news articles, but only 1,000 are allowed")
    if document.encoding != "utf-8":
        log.add("protocol/not-utf-8", f"it was read as {document.encoding}")
