"""The entries of a site of the matrix before and after, and the changes between two states of knowledge about it. This
module imports nothing from the package: the results of the package are compared with it.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict

JANUARY, FEBRUARY = "2026-01-01", "2026-02-01"
ROBOTS, INDEX, NESTED = "/robots.txt", "/index.xml", "/nested.xml"
LISTS = ("/pages.xml", "/packed.xml.gz", "/deep.xml", "/news.xml", "/feed.xml")
WINDOWS = frozenset({"/news.xml", "/feed.xml"})
"""Lists of recent entries, whose missing entries have expired."""
LATIN, CYRILLIC = "caf\u00e9", "\u043d\u043e\u0432\u043e\u0441\u0442\u0438"
_FILLERS = 20  # so that half of a list is long after its beginning and long before its end

Entries = dict[str, str]
"""The URLs of a list, as paths of the site, each with its lastmod."""
Listed = dict[str, Entries]
"""The lists of a site, by path."""
Change = tuple[str, str, str | None, str | None]
"""A kind, the path of a URL, the former list of a moved URL, and its current or last list."""


def _name(path: str) -> str:
    return path.split(".", maxsplit=1)[0]


def _before(path: str) -> Entries:
    name = _name(path)
    noise = [hashlib.sha256(f"{name} {number}".encode()).hexdigest() for number in range(_FILLERS)]  # hard to compress
    fillers = {f"{name}/stays-{word}": JANUARY for word in noise} | {f"{name}/{CYRILLIC}": JANUARY}
    return {f"{name}/changes": JANUARY, f"{name}/{LATIN}": JANUARY, **fillers, f"{name}/goes": JANUARY}


def _after(path: str) -> Entries:
    name = _name(path)
    kept = {loc: lastmod for loc, lastmod in _before(path).items() if not loc.endswith("/goes")}
    return {f"{name}/comes": FEBRUARY, **kept, f"{name}/changes": FEBRUARY, f"{name}/comes-late": FEBRUARY}


def _hop(start: str, end: str) -> str:
    return "/hop" + f"{_name(start)}-to{_name(end)}".replace("/", "-")


_HOPS = (
    ("/pages.xml", "/packed.xml.gz"),
    ("/packed.xml.gz", "/deep.xml"),
    ("/deep.xml", "/pages.xml"),
    ("/old.xml", "/new.xml"),
    ("/former.xml", "/latter.xml"),
)

BEFORE: Listed = {path: _before(path) for path in LISTS} | {"/old.xml": {"/old/goes": JANUARY}}
AFTER: Listed = {path: _after(path) for path in LISTS} | {"/new.xml": {"/new/comes": FEBRUARY}}
BEFORE["/former.xml"], AFTER["/latter.xml"] = {"/former/goes": JANUARY}, {"/latter/comes": FEBRUARY}
for _start, _end in _HOPS:
    BEFORE[_start] = {**BEFORE[_start], _hop(_start, _end): JANUARY}
    AFTER[_end] = {_hop(_start, _end): JANUARY, **AFTER[_end]}

LEAVES = {INDEX: "/old.xml", ROBOTS: "/former.xml"}
"""The list that a document names only before. It is served nevertheless."""
JOINS = {INDEX: "/new.xml", ROBOTS: "/latter.xml"}
"""The list that a document names only after."""
_ALWAYS = {
    ROBOTS: (INDEX,),
    INDEX: ("/pages.xml", "/packed.xml.gz", NESTED, "/news.xml", "/feed.xml"),
    NESTED: ("/deep.xml",),
}


def named(path: str, *, is_after: bool) -> list[str]:
    """Return the documents that the one at *path* names."""
    extra = JOINS.get(path) if is_after else LEAVES.get(path)
    return [*([extra] if extra else []), *_ALWAYS[path]]


def changes(before: Listed, after: Listed) -> set[Change]:
    """Return the changes between two states of knowledge."""
    homes_before, homes_after = _homes(before), _homes(after)
    found: set[Change] = set()
    for loc in homes_before.keys() | homes_after.keys():
        was, now = homes_before.get(loc, []), homes_after.get(loc, [])
        if not was:
            found.add(("added", loc, None, now[0]))
        elif not now:
            found.add(("expired" if WINDOWS.issuperset(was) else "removed", loc, None, was[0]))
        elif not set(was) & set(now):
            found.add(("moved", loc, was[0], now[0]))
        elif any(before[home][loc] != after[home][loc] for home in set(was) & set(now)):
            found.add(("changed", loc, None, now[0]))
    return found


def _homes(listed: Listed) -> dict[str, list[str]]:
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(listed):
        for loc in listed[path]:
            homes[loc].append(path)
    return homes
