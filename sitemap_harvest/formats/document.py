"""``Document``: a document and its contents, read on demand."""

from __future__ import annotations

import weakref
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from sitemap_harvest.display import SHOWN_ROWS, counted, first_rows, short, summary_as_html, table_as_html
from sitemap_harvest.formats.collector import Collector, LimitReached, Limits
from sitemap_harvest.formats.problem_log import ProblemLog
from sitemap_harvest.formats.readers import read_entries
from sitemap_harvest.formats.sniff import binary_format, sniff
from sitemap_harvest.formats.source import Source
from sitemap_harvest.frames import ArrowData
from sitemap_harvest.model import Kind, ReferenceBatch, UrlBatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from sitemap_harvest.model import Problem, SitemapRef, UrlEntry


OPEN_KINDS = frozenset({Kind.EMPTY, Kind.XML, Kind.UNKNOWN})
"""Kinds that the beginning of any document may seem to have."""


class Document(ArrowData):
    """A document and its contents, read on demand.

    Memory use is flat, whatever the size of the document: batches are yielded and not
    retained. Results that are only known at the end (:meth:`sitemaps`,
    :attr:`problems`, :attr:`complete` and the facts) read to the end first, unless
    :meth:`urls` has done so.
    """

    def __init__(
        self,
        body: bytes,
        *,
        url: str,
        content_type: str | None,
        limits: Limits,
        base: str | None = None,
        content_encodings: tuple[str, ...] = (),
        was_cut: bool = False,
        fast_path: bool = True,
    ) -> None:
        """*fast_path*: whether XML sitemaps may take it; the strict parser reads the same, more slowly."""
        self.url = url
        """The URL of the document; empty if it is unknown."""
        self._base = base or url
        self._was_cut = was_cut
        self._fast_path = fast_path
        self._source = Source(
            body=body, url=url, content_type=content_type, limits=limits, content_encodings=content_encodings
        )
        self._read: Collector | None = None
        self._size = 0  # with the digest, from the last complete reading
        self._digest: str | None = None

    def __repr__(self) -> str:
        return f"<Document {self.kind} {self.url}>"

    def _repr_html_(self) -> str:
        first = first_rows((batch.arrow for batch in self.urls()), UrlBatch.schema())
        named = list(self.sitemaps())
        state = "complete" if self.complete else "not complete"
        urls = self.entries - len(self._at_end.refs)
        title = f"Document, {self.kind}, {state}: {counted(urls, 'URL')}, {counted(len(named), 'sitemap')}"
        lines = (f"{one.severity}: {one.code} ({one.count:,}): {one.detail}" for one in self.problems)
        tables = [table_as_html("urls", first, rows=urls)] if urls else []
        if named:
            tables.append(table_as_html("sitemaps", ReferenceBatch.of(named[:SHOWN_ROWS]).arrow, rows=len(named)))
        return summary_as_html(title, [short(self.url), *lines] if self.url else lines, *tables)

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the URLs, or *columns* of them, as an Arrow table in memory.

        :meth:`urls` yields them with flat memory.
        """
        return UrlBatch.table(self.urls(), columns)

    @cached_property
    def kind(self) -> Kind:
        """The kind of the document, from its content."""
        if binary_format(self._source.start.data):
            return Kind.BINARY
        return sniff(self._source.start.head, url=self.url, content_type=self._source.content_type, base=self._base)

    def urls(self) -> Iterator[UrlBatch]:
        """Yield the URLs of the document, in batches of up to 10,000 rows; each call reads it again."""
        yield from filter(len, self.steps())

    def steps(self) -> Iterator[UrlBatch]:
        """Yield the same batches, and an empty one after each part of some megabytes without URLs."""
        source = weakref.proxy(self._source)  # lxml's parsers are reference cycles, which would keep the body alive
        into = Collector(
            document=self.url,
            base=self._base,
            limits=self._source.limits,
            w3c_dates=self.kind is not Kind.FEED,
            was_cut=self._was_cut,
            bytes_read=lambda: source.bytes_unpacked,
        )
        with suppress(LimitReached):
            yield from read_entries(self._source, self.kind, into, base=self._base, fast_path=self._fast_path)
        yield from into.last_batches()
        self._judge(into)
        self._read, self._size, self._digest = into, self._source.bytes_unpacked, self._source.sha256

    def blocks(self) -> Iterator[bytes]:
        """Yield the document, decompressed and in UTF-8, in blocks; each call reads it again."""
        yield from self._source.utf8(ProblemLog(self.url))

    def rows(self) -> Iterator[UrlEntry]:
        """Yield the URLs of the document, one by one."""
        for batch in self.urls():
            yield from batch.rows()

    def sitemaps(self) -> Iterator[SitemapRef]:
        """Yield the references of the document: the children of an index, the sitemaps of a robots.txt.

        Also those that the head of an HTML page hints at, marked by ``found_by``.
        """
        yield from self._at_end.refs
        yield from self._at_end.hints.values()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of the document."""
        return self._at_end.problems.all()

    @property
    def goes_on(self) -> bool:
        """Whether the published document goes on where the reading ended: at a closed connection, or a size limit."""
        return self._at_end.problems.goes_on

    @property
    def complete(self) -> bool:
        """Whether the document lists URLs or sitemaps and was read completely, so that nothing is missing."""
        return self.kind.is_readable and not self._at_end.problems.lost_something

    @property
    def last_sound_position(self) -> int | None:
        """Position of the last entry that is certainly as published; ``None`` if all entries read are.

        0 if none is. Entries after it come after the first damage. :class:`Reliability`
        describes the effect of other problems.
        """
        return self._at_end.problems.last_sound

    @property
    def entries(self) -> int:
        """Number of URLs and references read."""
        return self._at_end.entries

    @property
    def layers(self) -> tuple[str, ...]:
        """The compression layers of the document, outermost first, such as ``("gzip",)``."""
        self._at_end  # noqa: B018 - reads the document
        return tuple(self._source.layers)

    @property
    def encoding(self) -> str:
        """Name of the encoding used to decode the document."""
        return self._source.start.encoding.name

    @property
    def bytes_unpacked(self) -> int:
        """Size in bytes after decompression, as far as it was read."""
        self._at_end  # noqa: B018 - reads the document
        return self._size

    @property
    def sha256(self) -> str | None:
        """Hex SHA-256 digest of the decompressed document; ``None`` if it was not read to its end."""
        self._at_end  # noqa: B018 - reads the document
        return self._digest

    def digest(self) -> str | None:
        """Return the digest of the decompressed document without parsing it: only decompression is needed.

        It equals :attr:`sha256`, and is ``None`` if the document cannot be decompressed
        completely within the limits. Only if reading stops for another reason, such as
        too many URLs, is there a digest here but not there.
        """
        return self._source.digest(ProblemLog(self.url, was_cut=self._was_cut))

    @property
    def _at_end(self) -> Collector:
        if self._read is None:
            for _ in self.urls():
                pass
        assert self._read is not None  # noqa: S101 - for mypy: urls() sets it
        return self._read

    def _judge(self, into: Collector) -> None:
        is_open = self._was_cut and self.kind in OPEN_KINDS
        if is_open or (into.problems.lost_bytes and not self.kind.is_readable):
            return  # its kind is unknown
        if self._source.start.viewer:
            into.problems.add("document/viewer")
        if not self.kind.is_readable:
            into.problems.add(*self._why_nothing(), excerpt=self._source.start.head.strip()[:200] or None)
        elif not (into.entries or self._was_cut or self.kind is Kind.ROBOTS):
            into.problems.add("document/no-entries")

    def _why_nothing(self) -> tuple[str, str | None]:
        """Return code and text of the problem that documents of this kind list nothing."""
        if self.kind is Kind.EMPTY:
            return "document/empty", None
        if self.kind is Kind.BINARY:
            return "document/binary", f"the document is {binary_format(self._source.start.data) or 'not text'}"
        if self.kind is Kind.CHALLENGE:
            from sitemap_harvest.formats.html.page import challenger, look

            return "document/challenge", f"the response is a page of {challenger(look(self._source.start.head))}"
        if self.kind is Kind.SOFT_404:
            from sitemap_harvest.formats.html.page import look

            page = look(self._source.start.head)
            return "document/soft-404", f"the page says: {page.title or page.heading}"
        return "document/not-a-sitemap", f"the document is of kind {self.kind}"
