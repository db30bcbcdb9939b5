"""Reads an XML sitemap or index with the fast path, the strict parser or the tolerant parser.

Spec: https://www.sitemaps.org/protocol.html. The fast path reads the usual output of
generators, the strict parser everything else that is well-formed, and the tolerant
parser the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemap_harvest.formats.source import Source
from sitemap_harvest.formats.xml.entries import EntryReader
from sitemap_harvest.formats.xml.fast import Rest, read_fast
from sitemap_harvest.formats.xml.strict import NotWellFormed, read_strictly
from sitemap_harvest.formats.xml.tolerant import read_tolerantly
from sitemap_harvest.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.formats.collector import Collector
    from sitemap_harvest.model import UrlBatch


def read_sitemap(source: Source, kind: Kind, into: Collector) -> Iterator[UrlBatch]:
    """Read the sitemap or index in *source*, yielding batches."""
    into.problems.is_well_formed = True  # until a flaw is found
    rest: Rest | None = Rest(source.utf8(into.problems))
    if kind is Kind.SITEMAP:
        rest = yield from read_fast(source.utf8(into.problems), into)
    if rest is None:
        return
    reader = EntryReader(into, kind, read=rest.entries, line=rest.lines)
    try:
        yield from read_strictly(rest.blocks, reader, into)
    except NotWellFormed as reason:
        # The entries read so far are well-formed: the tolerant parser skips as many children of the root.
        into.problems.is_well_formed = False
        into.problems.forget(Source.PROBLEMS)
        if reason.is_flaw:
            line = reason.line and reason.line + rest.lines
            into.problems.add("xml/not-well-formed", str(reason), line=line)
        mending = EntryReader(into, kind, read=reader.read_children, position=reader.position)
        has_read = reader.read_children > rest.entries
        yield from read_tolerantly(source.text(into.problems), mending, into, is_text_read=has_read)
