"""The cells of the matrix: a fault at a place, as a site; and the knowledge about that site after each run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tests.crawl.matrix.bodies import body_of
from tests.crawl.matrix.faults import ALL_FAULTS, ANYWHERE, HOME, Belief, Fault
from tests.crawl.matrix.listed import AFTER, BEFORE, INDEX, JOINS, LEAVES, NESTED, ROBOTS, Listed, named
from tests.site import Page

if TYPE_CHECKING:
    from tests.crawl.matrix.listed import Entries

BEFORE_RUN, FAULTY_RUN = 1, 2
EVERYWHERE = "everywhere"
NEW = JOINS[INDEX]
PLACES = {
    ROBOTS: "robots.txt",
    INDEX: "index",
    "/pages.xml": "sitemap",
    "/packed.xml.gz": "packed sitemap",
    NESTED: "nested index",
    "/deep.xml": "its sitemap",
    "/news.xml": "news sitemap",
    "/feed.xml": "feed",
    NEW: "new sitemap",
    EVERYWHERE: "all at once",
}
"""Where a fault can be, and its name in the documentation."""
MAIN_PLACES = (ROBOTS, INDEX, "/pages.xml", EVERYWHERE)
"""The places where every fault is tried, and which the documentation shows."""

_WHOLE = frozenset({Belief.TRUE, Belief.EMPTIED})


@dataclass(frozen=True)
class Cell:
    """A site with one fault at one place, for one run."""

    fault: Fault | None
    """``None``: nothing fails."""
    place: str
    port: int

    @cached_property
    def host(self) -> str:
        """The name of its host."""
        place = PLACES[self.place].replace(" ", "-").replace(".", "-")
        return f"{place}.{self.fault.slug if self.fault else 'healthy'}.test"

    @property
    def url(self) -> str:
        """The address of the site."""
        return f"http://{self.host}:{self.port}"

    @property
    def failing(self) -> frozenset[str]:
        """The documents that fail."""
        if self.fault is None:
            return frozenset()
        is_all = self.place == EVERYWHERE or (self.fault.hosts and self.place == ROBOTS)  # whose host is that of all
        return ANYWHERE if is_all else frozenset({self.place})

    def address(self, path: str) -> str:
        """Return the URL of *path*.

        A document that fails because of its host has its own host if the others do not fail.
        """
        has_own = self.fault is not None and self.fault.hosts and path == self.place != ROBOTS
        return f"http://{'own.' if has_own else ''}{self.host}:{self.port}{path}"

    def names(self, run: int) -> dict[str, str | None]:
        """Return the addresses of the hosts that have moved."""
        if self.fault is None or run != FAULTY_RUN:
            return {}
        own = "" if self.place in {ROBOTS, EVERYWHERE} else "own."
        return {f"{own}{self.host}": address for address in self.fault.hosts.values()}

    def page(self, path: str, run: int) -> Page | None:
        """Return the page that is served in a run; ``None``: no such page."""
        if path.split("?", maxsplit=1)[0] in {"/", "/login"}:
            return Page(HOME, headers={"Content-Type": "text/html"})
        document = path.removesuffix("?again")
        body = body_of(document, is_after=run != BEFORE_RUN, address=self.address)
        if body is None:
            return None
        if self.fault is not None and run == FAULTY_RUN and document in self.failing:
            return self.fault.page(body)
        return Page(body)

    def known(self, run: int) -> Listed:
        """Return the knowledge about the site after a run."""
        listed = self._named(ROBOTS, run)
        for guide in (INDEX, NESTED):
            listed |= self._named(guide, run) if guide in listed else set()
        if not self._were_all_read(run):  # a document that was not read may name what others no longer name
            listed |= {child for guide in (ROBOTS, INDEX, NESTED) for child in self._named(guide, run - 1)}
        found = {path: self._entries(path, run) for path in listed - {INDEX, NESTED}}
        return found if self._was_all_read(run) else self._with_pending(found, run)

    def _was_all_read(self, run: int) -> bool:
        return all(self._belief(path, run) in _WHOLE for path in ANYWHERE | {NEW})

    def _with_pending(self, found: Listed, run: int) -> Listed:
        """Return *found* with the entries that are no longer listed: a failing document may list them."""
        now = {loc for entries in found.values() for loc in entries}
        before = {path: entries.items() for path, entries in self.known(run - 1).items()}
        pending = {path: {loc: at for loc, at in entries if loc not in now} for path, entries in before.items()}
        return {path: pending.get(path, {}) | found.get(path, {}) for path in found.keys() | pending.keys()}

    def _were_all_read(self, run: int) -> bool:
        """Whether all documents that may name others were read completely; an unread one may name any."""
        return all(self._belief(path, run) in _WHOLE for path in (ROBOTS, INDEX, NESTED, NEW))

    def _belief(self, path: str, run: int) -> Belief:
        if run == FAULTY_RUN and self.fault is not None and path in self.failing:
            return self.fault.believed(path)
        return Belief.TRUE

    def _named(self, guide: str, run: int) -> set[str]:
        before, after = set(named(guide, is_after=False)), set(named(guide, is_after=True))
        if run == BEFORE_RUN:
            return before
        return {
            Belief.KEPT: before,
            Belief.BEGUN: before | after,  # new entries come first
            Belief.ADDED: before | after,
            Belief.TRUE: after,
            Belief.EMPTIED: set(),
        }[self._belief(guide, run)]

    def _entries(self, path: str, run: int) -> Entries:
        before, after = BEFORE.get(path, {}), AFTER.get(path, {})
        if run == BEFORE_RUN or path in LEAVES.values():
            return before
        belief = self._belief(path, run)
        new = {loc: lastmod for loc, lastmod in after.items() if loc not in before}
        begun = {loc: lastmod for loc, lastmod in new.items() if not loc.endswith("-late")}
        return {
            Belief.KEPT: before,
            Belief.BEGUN: before | begun,
            Belief.ADDED: before | new,
            Belief.TRUE: after,
            Belief.EMPTIED: {},
        }[belief]


def cells(port: int, *, everything: bool = False) -> list[Cell]:
    """Return the cells, the healthy site first: of each fault those in the table, or really all."""
    pairs = [(fault, place) for fault in ALL_FAULTS for place in PLACES if _fits(fault, place)]
    wanted = [(fault, place) for fault, place in pairs if everything or place in MAIN_PLACES or _is_tried(fault, place)]
    return [Cell(None, INDEX, port), *(Cell(fault, place, port) for fault, place in wanted)]


def _is_tried(fault: Fault, place: str) -> bool:
    """Whether *fault* is tried at *place*, which is none of the main ones."""
    if place in {"/news.xml", "/deep.xml"}:  # sitemaps like the main one, except for the meaning of leaving them
        return place in fault.beliefs
    return place == NEW or fault.is_particular


def _fits(fault: Fault, place: str) -> bool:
    if place == NEW:  # which has nothing yet that could be lost
        return fault.name in {"HTTP 404", "HTTP 503", "a web page"}
    if place == EVERYWHERE:
        return fault.places == ANYWHERE and not fault.hosts
    return place in fault.places
