"""The properties of each host of the network: its documents and the expected results of a crawl."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from tests.site import index, numbered, urlset

_URLS = 20  # of a sitemap
_STRIDE = 37  # coprime to 100: of 100 hosts in a row each has its own slot
_CHALLENGE = b"<!doctype html><title>Just a moment...</title>"


class Sort(StrEnum):
    """The behaviour of a host."""

    INDEXED = "indexed"
    """robots.txt names an index of three sitemaps."""
    BARE = "bare"
    """No robots.txt; ``/sitemap.xml`` exists."""
    DELAYED = "delayed"
    """robots.txt sets a crawl delay of one second, and names two sitemaps."""
    ALIAS = "alias"
    """Redirects everything to the same path of another host, which is an indexed one."""
    CHALLENGING = "challenging"
    """Answers everything with 403 and a challenge page."""
    EMPTY = "empty"
    """A robots.txt that names nothing and a home page without links; 404 for all else."""
    GONE = "gone"
    """Answers everything with 404."""
    HANGING = "hanging"
    """Accepts connections and never answers."""
    REFUSING = "refusing"
    """Refuses connections."""


_ANSWERING = (
    *(Sort.INDEXED, Sort.INDEXED, Sort.INDEXED, Sort.BARE, Sort.BARE),
    *(Sort.DELAYED, Sort.ALIAS, Sort.CHALLENGING, Sort.EMPTY, Sort.GONE),
)
_IN_VAIN = {  # the result of the site, its cause, the outcome of robots.txt, and that of all other documents tried
    Sort.CHALLENGING: ("blocked", None, "blocked", {"blocked"}),
    Sort.HANGING: ("unreachable", "timeout", "failed", {"failed"}),
    Sort.REFUSING: ("unreachable", "refused", "failed", {"failed"}),
    Sort.GONE: ("not-a-site", None, "absent", {"absent"}),
    Sort.EMPTY: ("absent", None, "read", {"absent", "not-a-sitemap"}),
    Sort.ALIAS: ("found", None, "skipped", {"absent", "skipped"}),  # its target is in the list and is read itself
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The expected results of a crawl that starts with a host."""

    result: str | None
    """The result of the site; ``None`` if it is not determined."""
    cause: str | None = None
    """Why it is unreachable."""
    outcomes: dict[str, str]
    """The outcome of each required document, by its address."""
    others: frozenset[str]
    """The possible outcomes of all other requests there, such as those for well-known paths."""
    locs: tuple[str, ...] = ()
    """The URLs in its documents, each once."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """One host of the network."""

    number: int
    sort: Sort
    port: int
    target: Host | None = None
    """The target of an alias."""
    is_listed: bool = True
    """Whether it is a target of the crawl, and not only reached by a redirect."""

    @property
    def address(self) -> str:
        """Its address on this machine."""
        return f"127.{10 + self.number // 62_500}.{self.number // 250 % 250}.{1 + self.number % 250}"

    @property
    def url(self) -> str:
        """Its URL, without a slash at its end."""
        return f"http://{self.address}:{self.port}"

    @cached_property
    def pages(self) -> dict[str, bytes]:
        """Its documents, by path."""
        lists = numbered({Sort.INDEXED: 3, Sort.DELAYED: 2}.get(self.sort, 0), prefix="/sitemap-")
        pages = {}
        if self.sort is Sort.INDEXED:
            pages = {"/robots.txt": "Sitemap: {site}/index", "/index": index(*lists)}
        elif self.sort is Sort.DELAYED:
            named = "\n".join(f"Sitemap: {{site}}{path}" for path in lists)
            pages = {"/robots.txt": f"User-agent: *\nCrawl-delay: 1\n\n{named}"}
        elif self.sort is Sort.EMPTY:
            pages = {"/robots.txt": "User-agent: *", "/": "<!doctype html><title>Welcome</title>"}
        elif self.sort is Sort.BARE:
            lists = ["/sitemap.xml"]
        pages |= {path: urlset(*_paths(path)) for path in lists}
        return {path: body.replace("{site}", self.url).encode() for path, body in pages.items()}

    @property
    def expected(self) -> Expected:
        """The expected results of a crawl that starts with it."""
        robots = f"{self.url}/robots.txt"
        if self.sort in _IN_VAIN and not (self.target and not self.target.is_listed):
            result, cause, outcome, others = _IN_VAIN[self.sort]
            return Expected(result=result, cause=cause, outcomes={robots: outcome}, others=frozenset(others))
        there = self.target or self
        paths = [path for path in there.pages if path != "/robots.txt"]
        has_robots = "/robots.txt" in there.pages
        return Expected(
            result="found",
            outcomes={robots: "read" if has_robots else "absent"} | {f"{there.url}{path}": "read" for path in paths},
            others=frozenset({"absent"}),
            locs=tuple(f"{there.url}{loc}" for path in paths if "sitemap" in path for loc in _paths(path)),
        )

    def response(self, path: str) -> bytes:
        """Return the response to a request for *path*."""
        if self.target is not None:
            return _response("301 Moved Permanently", headers=f"Location: {self.target.url}{path}\r\n")
        if self.sort is Sort.CHALLENGING:
            return _response("403 Forbidden", _CHALLENGE)
        if (body := self.pages.get(path)) is None:
            return _response("404 Not Found")
        return _response("200 OK", body)


def hosts_of(*, count: int, hanging: int, refusing: int, beyond: bool, port: int) -> list[Host]:
    """Return *count* hosts, of which *hanging* and *refusing* per cent are of these sorts.

    With *beyond*, each alias leads to a separate host, which is not listed; otherwise to one of the others.
    """
    sorts = [_sort(number * _STRIDE % 100, hanging, refusing) for number in range(count)]
    hosts = [Host(number=number, sort=sort, port=port) for number, sort in enumerate(sorts)]
    indexed = [host for host in hosts if host.sort is Sort.INDEXED]
    for alias in [host for host in hosts if host.sort is Sort.ALIAS]:
        target = indexed[alias.number % len(indexed)]
        if beyond:
            target = Host(number=len(hosts), sort=Sort.INDEXED, port=port, is_listed=False)
            hosts.append(target)
        hosts[alias.number] = Host(number=alias.number, sort=Sort.ALIAS, port=port, target=target)
    return hosts


def _sort(slot: int, hanging: int, refusing: int) -> Sort:
    if slot < hanging:
        return Sort.HANGING
    return Sort.REFUSING if slot < hanging + refusing else _ANSWERING[slot % len(_ANSWERING)]


def _paths(sitemap: str) -> list[str]:
    return numbered(_URLS, prefix=f"{sitemap}/page-")


def _response(status: str, body: bytes = b"", headers: str = "") -> bytes:
    headers += f"Content-Type: {_type(body)}\r\nContent-Length: {len(body)}\r\n"
    return f"HTTP/1.1 {status}\r\n{headers}\r\n".encode() + body


def _type(body: bytes) -> str:
    return "application/xml" if body[:5] == b"<?xml" else "text/html" if body[:1] == b"<" else "text/plain"
