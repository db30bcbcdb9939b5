"""The parts of one giant site, which several jobs read: a *head* and *blocks* of the children of its large indexes.

The head reads a site as usual, but postpones the children of large indexes. Each block reads those of these children
whose key has its number as the remainder of a hash, and all that they lead to. Neither publishes a snapshot: both leave
checkpoints, which a last run resumes.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self

from sitemap_harvest.discovery.candidate import Candidate
from sitemap_harvest.model import FoundBy, Kind
from sitemap_harvest.urls import document_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sitemap_harvest.discovery.candidate import NotFetched
    from sitemap_harvest.model import SitemapRecord, SitemapRef

MOST_CHILDREN = 1_000
"""Children of an index that its head reads itself. With fewer, one process needs less time than the jobs would take."""


@dataclass(frozen=True, slots=True)
class PostponedIndex:
    """An index whose children blocks read."""

    url: str
    depth: int
    authorized: Sequence[str]
    """As for :class:`Candidate`."""


@dataclass(slots=True, kw_only=True)
class SiteHead:
    """The part of a site that is read first."""

    most_children: int = field(default_factory=lambda: MOST_CHILDREN)
    postponed: list[PostponedIndex] = field(default_factory=list)
    """The indexes whose children are left to blocks, as far as read."""
    run: str | None = None
    """The run whose checkpoints blocks continue, once they are written; ``None``: there is nothing for blocks."""
    sharers: ClassVar[int] = 1
    """How many jobs share what a host may get."""
    block: ClassVar[None] = None

    def leave(self, run_id: str) -> None:
        """Record that the checkpoint of the run *run_id* is written."""
        self.run = run_id

    @property
    def is_published(self) -> bool:
        """Whether its run publishes a snapshot: nothing is left to blocks."""
        return not self.postponed

    def postpones(self, candidate: Candidate, record: SitemapRecord, children: int) -> bool:
        """Whether to leave the *children* of the document of *candidate*, whose record is *record*, to blocks.

        An incomplete index may gain children of the last snapshot later, and one whose rows are not stored cannot be
        found by the blocks.
        """
        is_stored = record.complete and record.fresh_run is not None
        if record.kind is not Kind.INDEX or not is_stored or children <= self.most_children:
            return False
        self.postponed.append(PostponedIndex(candidate.url, candidate.depth, sorted(candidate.authorized)))
        return True


@dataclass(slots=True, kw_only=True)
class SiteBlock:
    """One of the other parts."""

    number: int
    """Counted from 0."""
    blocks: int
    """The number of all blocks."""
    attempt: int
    """Counted from 1; another one each time that the block is begun."""
    run: str
    """The run of the head."""
    postponed: Sequence[PostponedIndex]
    has_begun: bool = False
    """Whether its candidates are queued."""
    has_ended: bool = False
    """Whether its checkpoint is written."""
    is_published: ClassVar[bool] = False

    @property
    def block(self) -> Self:
        """The part itself: it is a block."""
        return self

    def leave(self, _run_id: str) -> None:
        """Record that the checkpoint is written."""
        self.has_ended = True

    @property
    def sharers(self) -> int:
        """How many jobs share what a host may get."""
        return self.blocks

    @property
    def first_rows(self) -> int:
        """Which range of row ids after those of the head is its own, counted from 0."""
        return (self.attempt - 1) * self.blocks + self.number

    def has(self, url: str) -> bool:
        """Whether the child at *url* belongs to this block."""
        key = document_key(url).encode("utf-8", "surrogatepass")
        return zlib.crc32(key) % self.blocks == self.number

    def children(
        self,
        root: str,
        references_of: Callable[[str], Sequence[SitemapRef]],
        wanted: Callable[[list[SitemapRef], Kind], Iterable[tuple[SitemapRef, NotFetched | None]]],
    ) -> Iterator[tuple[Candidate, NotFetched | None]]:
        """Yield a candidate for each postponed child of the site *root*, with the reason if the user does not want it.

        *references_of* returns the documents that the one at a URL names; *wanted* pairs these with the reasons.
        """
        for one in self.postponed:
            authorized = frozenset(one.authorized)
            index = Candidate(url=one.url, root=root, depth=one.depth, authorized=authorized)
            for reference, unwanted in wanted(list(references_of(one.url)), Kind.INDEX):
                yield index.child(reference, reference.found_by or FoundBy.INDEX), unwanted


SitePart = SiteHead | SiteBlock
