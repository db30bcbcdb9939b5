"""Sites that change at random, and their state in each crawl."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests.histories.documents import FULL, LISTS, Document, Entry, Form

if TYPE_CHECKING:
    from collections.abc import Iterable

_WINDOWS = {Form.NEWS, Form.RSS, Form.ATOM}
_ENDINGS = {Form.GZIP: ".xml.gz", Form.TEXT: ".txt", Form.RSS: ".rss", Form.ATOM: ".atom"}
_WELL_KNOWN = ("sitemap.xml", "sitemap.xml", "sitemap_index.xml", "wp-sitemap.xml")
_BASES = ("http://{}", "https://{}", "http://www.{}", "https://www.{}")


@dataclass(frozen=True)
class Frame:
    """The state of all sites in one crawl."""

    documents: dict[str, Document]
    redirects: dict[str, str]
    """The target of each base that has moved: ``http://s1.test`` to ``https://s1.test``."""

    def resolve(self, url: str) -> str:
        """Return the address that *url* redirects to in the end."""
        while (base := base_of(url)) in self.redirects:
            url = self.redirects[base] + url.removeprefix(base)
        return url


def base_of(url: str) -> str:
    """Return scheme and host of *url*."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


@dataclass
class Site:
    """The current state of one site."""

    number: int
    random: Random
    is_declared: bool
    """Whether robots.txt names its sitemaps. Otherwise they are at a well-known path."""
    dates: str
    """The dates of children in its indexes:

    ``right``, ``none``, ``stuck`` (always the same) or ``run`` (another in each crawl).
    """
    opens_in: int = 0
    """The number of crawls in which it has no sitemap yet."""
    base: str = ""
    documents: dict[str, Document] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    """Descriptions of the changes since the last crawl."""
    _well_known: str = ""
    _names: int = 0
    _gone: list[str] = field(default_factory=list)
    _used: set[str] = field(default_factory=set)
    """The paths of documents before or after they were renamed."""

    def __post_init__(self) -> None:
        self.base = self.root
        self._well_known = self.random.choice(_WELL_KNOWN)
        if not self.opens_in:
            self._found()
        elif self.is_declared or self.random.random() < 0.5:
            self.documents[f"{self.base}/robots.txt"] = Document(Form.ROBOTS, tag=self._tag())

    @property
    def root(self) -> str:
        """The address that the user names."""
        return f"http://s{self.number}.test"

    @property
    def entrance(self) -> str:
        """The address of the document that leads to all others."""
        return f"{self.base}/{self.entrance_path}"

    @property
    def entrance_path(self) -> str:
        """The path of that document."""
        return "robots.txt" if self.is_declared else self._well_known

    def step(self) -> None:
        """Let it change, or stay unchanged."""
        self.log = []
        if self.opens_in:
            self.opens_in -= 1
            if not self.opens_in:
                self._found()
                self.log.append(f"opens: {self.entrance}")
            return
        if self.random.random() < 0.25:
            return
        for _ in range(self.random.choice((1, 1, 2, 3, 5))):
            change = self.random.choice(_CHANGES)
            done = change(self)
            if done:
                self.log.append(f"{change.__name__[1:]}: {done}")

    def heal(self) -> None:
        """Let stuck validators be right."""
        for url, document in list(self.documents.items()):
            if document.tag == "stuck":
                self.put(url, tag="right")

    def lists(self, forms: Iterable[Form] = LISTS) -> list[str]:
        """Return the addresses of its documents of these *forms*."""
        return [url for url in self._listed() if self.documents[url].form in forms]

    def _listed(self) -> list[str]:
        found, todo = {}, [self.entrance]
        while todo:
            url = todo.pop()
            if url in found or url not in self.documents:
                continue
            found[url] = None
            todo += self.documents[url].children
        return list(found)

    def put(self, url: str, **values) -> None:
        """Put a new version of the document at *url* in place. An empty text would be a failure: it keeps one URL."""
        document = self.documents[url]
        if document.form is Form.TEXT and document.entries and not values.get("entries", True):
            values["entries"] = dict(list(document.entries.items())[:1])
        self.documents[url] = replace(document, version=document.version + 1, **values)

    def _found(self) -> None:
        """Make its first documents."""
        robots = f"{self.base}/robots.txt"
        forms = [self.random.choice((Form.XML, Form.XML, *LISTS)) for _ in range(self.random.randint(2, 7))]
        urls = [self._new_document(form) for form in forms]
        if self.is_declared:
            number = self.random.randint(0, len(urls) - 1)
            tops = urls[:number]
            if urls[number:]:
                tops.append(self._new_index(f"{self.base}/index-{self._name()}.xml", urls[number:]))
            version = self.documents[robots].version + 1 if robots in self.documents else 0
            self.documents[robots] = Document(Form.ROBOTS, children=tuple(tops), tag=self._tag(), version=version)
        else:
            self._new_index(self.entrance, urls)
            if robots not in self.documents and self.random.random() < 0.5:
                self.documents[robots] = Document(Form.ROBOTS, tag=self._tag())

    def _new_index(self, url: str, children: Iterable[str]) -> str:
        self.documents[url] = Document(Form.INDEX, children=tuple(children), tag=self._tag())
        return url

    def _new_document(self, form: Form, entries: dict[str, Entry] | None = None) -> str:
        query = self.random.choice(("", "", "", "?v=1", "?type=page&part=1"))
        url = f"{self.base}/{form}-{self._name()}{_ENDINGS.get(form, '.xml')}{query}"
        entries = self._entries(self.random.randint(3, 25)) if entries is None else entries
        self.documents[url] = Document(form, entries, tag=self._tag())
        return url

    def _tag(self) -> str:
        return self.random.choice(("right", "right", "date", "random", "none", "none"))

    def _name(self) -> int:
        self._names += 1
        return self._names

    def _entries(self, count: int) -> dict[str, Entry]:
        return {self._page(): self._entry() for _ in range(count)}

    def _page(self) -> str:
        name = self._name()
        word = self.random.choice(("page", "page", "shop/item", "caf\u00e9", "caf%C3%A9", "list?a=1&b"))
        return f"{self.base}/{word}{'=' if '?' in word else '/'}{name}"

    def _entry(self) -> Entry:
        day = f"2026-{self.random.randint(1, 9):02}-{self.random.randint(1, 28):02}"
        alternates = (f"{self.base}/de/{self.random.randint(1, 99)}",) if self.random.random() < 0.2 else ()
        return Entry(
            day if self.random.random() < 0.8 else None,
            f"0.{self.random.randint(1, 9)}" if self.random.random() < 0.4 else None,
            alternates,
        )

    def parents(self, url: str) -> list[str]:
        """Return the addresses of the documents that list the one at *url*."""
        return [parent for parent in self._listed() if url in self.documents[parent].children]

    def _pick(self, forms: Iterable[Form] = LISTS, *, is_full: bool = False) -> str | None:
        """Return the address of some list; if *full*, of one with entries."""
        urls = [url for url in self.lists(forms) if self.documents[url].entries or not is_full]
        return self.random.choice(urls) if urls else None

    def _share(self, urls: Iterable[str], most: float = 0.5) -> list[str]:
        urls = list(urls)
        return self.random.sample(urls, max(1, int(len(urls) * self.random.random() * most))) if urls else []

    # Changes. Each returns its description, or nothing if it does not fit.

    def _add(self) -> str | None:
        if (url := self._pick()) is None:
            return None
        new = self._entries(self.random.randint(1, 6))
        if self._gone and self.random.random() < 0.3:
            new[self.random.choice(self._gone)] = self._entry()
        old = self.documents[url].entries
        self.put(url, entries={**new, **old} if self.random.random() < 0.5 else {**old, **new})
        return f"{len(new)} in {url}"

    def _remove(self) -> str | None:
        if (url := self._pick(is_full=True)) is None:
            return None
        entries = dict(self.documents[url].entries)
        gone = self._share(entries)
        for page in gone:
            del entries[page]
        self._gone += gone
        self.put(url, entries=entries)
        return f"{len(gone)} of {url}"

    def _edit(self) -> str | None:
        if (url := self._pick(is_full=True)) is None:
            return None
        entries = dict(self.documents[url].entries)
        edited = self._share(entries)
        entries.update({page: self._entry() for page in edited})
        self.put(url, entries=entries)
        return f"{len(edited)} of {url}"

    def _reorder(self) -> str | None:
        if (url := self._pick(is_full=True)) is None:
            return None
        items = list(self.documents[url].entries.items())
        self.random.shuffle(items)
        self.put(url, entries=dict(items))
        return url

    def _move(self) -> str | None:
        start, end = self._pick(is_full=True), self._pick()
        if start is None or end is None or start == end:
            return None
        return self._carry(self._share(self.documents[start].entries), start, end)

    def _carry(self, pages: list[str], start: str, end: str) -> str:
        entries, others = dict(self.documents[start].entries), dict(self.documents[end].entries)
        carried = {page: entries.pop(page) for page in pages}
        self.put(start, entries=entries)
        self.put(end, entries={**others, **carried})
        return f"{len(pages)} from {start} to {end}"

    def _pour(self) -> str | None:
        """Move all entries of one sitemap to another; the empty one stays listed."""
        start, end = self._pick(is_full=True), self._pick()
        if start is None or end is None or start == end:
            return None
        return self._carry(list(self.documents[start].entries), start, end)

    def _copy(self) -> str | None:
        start, end = self._pick(is_full=True), self._pick()
        if start is None or end is None or start == end:
            return None
        entries = self.documents[start].entries
        copied = {page: entries[page] for page in self._share(entries, 0.3)}
        self.put(end, entries={**copied, **self.documents[end].entries})
        return f"{len(copied)} of {start} in {end}"

    def _empty(self) -> str | None:
        if self.random.random() < 0.7 or (url := self._pick(is_full=True)) is None:
            return None
        self._gone += self.documents[url].entries
        self.put(url, entries={})
        return url

    def _split(self) -> str | None:
        if (url := self._pick(is_full=True)) is None or not (parents := self.parents(url)):
            return None
        form = self.documents[url].form
        new = self._new_document(form if self.random.random() < 0.7 else Form.XML, {})
        self._list(parents[0], new)
        return self._carry(self._share(self.documents[url].entries, 1.0), url, new)

    def _list(self, parent: str, child: str) -> None:
        children = list(self.documents[parent].children)
        children.insert(self.random.randint(0, len(children)), child)
        self.put(parent, children=tuple(children))

    def _unlist(self, url: str) -> bool:
        """Remove a document from all that list it; ``False`` if a robots.txt would then name nothing."""
        parents = self.parents(url)
        if any(self.documents[parent].children == (url,) for parent in parents):
            return False
        for parent in parents:
            self.put(parent, children=tuple(child for child in self.documents[parent].children if child != url))
        return True

    def _merge(self) -> str | None:
        start, end = self._pick(), self._pick()
        if start is None or end is None or start == end or not self._unlist(start):
            return None
        text = self._carry(list(self.documents[start].entries), start, end)
        self._maybe_delete(start)
        return text

    def _maybe_delete(self, url: str) -> None:
        if self.random.random() < 0.5:
            del self.documents[url]  # otherwise it is still served

    def _open(self) -> str | None:
        parents = self.lists([Form.INDEX, Form.ROBOTS])
        if not parents or len(self.lists()) > 9 or (not self.is_declared and len(parents) < 1):
            return None
        parent = self.random.choice([url for url in parents if self._may_list(url)])
        form = self.random.choice((Form.XML, Form.XML, *LISTS))
        new = self._new_document(form)
        self._list(parent, new)
        return f"{new} in {parent}"

    def _may_list(self, url: str) -> bool:
        return self.is_declared or self.documents[url].form is Form.INDEX

    def _close(self) -> str | None:
        if len(self.lists()) < 3 or (url := self._pick()) is None or not self._unlist(url):
            return None
        self._maybe_delete(url)
        return url

    def _reopen(self) -> str | None:
        """List again a document that was listed before and is still served."""
        listed = set(self._listed())
        left = [url for url, document in self.documents.items() if url not in listed and document.form in LISTS]
        parents = [url for url in self.lists([Form.INDEX, Form.ROBOTS]) if self._may_list(url)]
        if not left or not parents:
            return None
        url = self.random.choice(left)
        self._list(self.random.choice(parents), url)
        return url

    def _rename(self) -> str | None:
        if (url := self._pick()) is None:
            return None
        return self._renamed([url])

    def _renamed(self, urls: list[str]) -> str:
        for url in urls:
            match = re.search(r"\?v=(\d+)$", url)
            if match:
                new = url[: match.start(1)] + str(int(match[1]) + 1)
            elif "?type=page&part=1" in url:
                new = url.replace("?type=page&part=1", "?part=1&type=page")
            elif self.random.random() < 0.5:
                new = f"{url.split('?')[0]}?v={self._name()}"
            else:
                new = url.replace(f"{self.base}/", f"{self.base}/r{self._name()}-", 1)
            if new.removeprefix(self.base) in self._used:  # its validators would be those of another document
                new = f"{url.split('?')[0]}?v={self._name()}"
            self._used |= {url.removeprefix(self.base), new.removeprefix(self.base)}
            for parent in self.parents(url):
                children = self.documents[parent].children
                self.put(parent, children=tuple(new if child == url else child for child in children))
            self.documents[new] = self.documents[url]
            if self.random.random() < 0.7:
                del self.documents[url]
        return " ".join(urls)

    def _rename_all(self) -> str | None:
        indexes = [url for url in self.lists([Form.INDEX]) if self.documents[url].children]
        if not indexes:
            return None
        index = self.random.choice(indexes)
        children = [url for url in self.documents[index].children if self.documents[url].form in LISTS]
        return self._renamed(children) if children else None

    def _renumber(self) -> str | None:
        """Redistribute the URLs of several sitemaps, new ones first, as generators do with numbered parts."""
        urls = self.lists(FULL)
        if len(urls) < 2:
            return None
        new = self._entries(self.random.randint(0, 3))
        entries = list((new | {page: e for url in urls for page, e in self.documents[url].entries.items()}).items())
        size = -(-len(entries) // len(urls)) or 1
        for number, url in enumerate(urls):
            self.put(url, entries=dict(entries[number * size : (number + 1) * size]))
        return f"{len(urls)} with {len(new)} new"

    def _nest(self) -> str | None:
        if (url := self._pick()) is None or not (parents := self.parents(url)):
            return None
        new = self._new_index(f"{self.base}/nested-{self._name()}.xml", [url])
        children = self.documents[parents[0]].children
        self.put(parents[0], children=tuple(new if child == url else child for child in children))
        return f"{url} below {new}"

    def _relocate(self) -> str | None:
        """List a sitemap in another index, or in robots.txt."""
        parents = [url for url in self.lists([Form.INDEX, Form.ROBOTS]) if self._may_list(url)]
        if (url := self._pick()) is None or len(parents) < 2:
            return None
        end = self.random.choice(parents)
        if url in self.documents[end].children or not self._unlist(url):
            return None
        self._list(end, url)
        return f"{url} to {end}"

    def _respell(self) -> str | None:
        """Write the parameters of pages in another order: those are different URLs."""
        if (url := self._pick(is_full=True)) is None:
            return None
        pattern = re.compile(r"\?a=1&b=(\d+)$")
        entries = {pattern.sub(r"?b=\1&a=1", page): e for page, e in self.documents[url].entries.items()}
        if entries.keys() == self.documents[url].entries.keys():
            return None
        self.put(url, entries=entries)
        return url

    def _revalidate(self) -> str | None:
        if (url := self._pick()) is None:
            return None
        tag = self._tag()
        if tag == "random" and self.random.random() < 0.5:
            tag = "stuck"
        self.put(url, tag=tag, epoch=self.documents[url].version + 1)
        return f"{tag} at {url}"

    def _migrate(self) -> str | None:
        if self.random.random() < 0.8:
            return None
        bases = [pattern.format(f"s{self.number}.test") for pattern in _BASES]
        later = [
            base for base in bases[bases.index(self.base) + 1 :] if base.split("://")[0] >= self.base.split("://")[0]
        ]
        if not later:
            return None
        old, new = self.base, self.random.choice(later)
        with_pages = self.random.random() < 0.5

        def moved(url: str) -> str:
            return new + url.removeprefix(old) if url.startswith(f"{old}/") else url

        self.documents = {
            moved(url): replace(
                document,
                version=document.version + 1,
                children=tuple(map(moved, document.children)),
                entries={moved(page) if with_pages else page: e for page, e in document.entries.items()},
            )
            for url, document in self.documents.items()
        }
        self.redirects[old] = new
        self.base = new
        return f"{old} to {new}, {'with' if with_pages else 'without'} its pages"


_CHANGES = (
    *(Site._add, Site._add, Site._remove, Site._remove, Site._edit, Site._reorder, Site._move, Site._move),
    *(Site._pour, Site._copy, Site._empty, Site._split, Site._merge, Site._open, Site._close, Site._reopen),
    *(Site._rename, Site._rename_all, Site._renumber, Site._nest, Site._relocate, Site._respell, Site._revalidate),
    Site._migrate,
)


class World:
    """All sites, and their state in each crawl."""

    def __init__(self, sites: int, random: Random) -> None:
        self.sites = [
            Site(
                number,
                Random(random.random()),
                is_declared=random.random() < 0.7,
                dates=random.choice(("right", "right", "none", "stuck", "run")),
                opens_in=random.choice((0, 0, 0, 0, 2, 5)),
            )
            for number in range(sites)
        ]
        for shared_from, recipient in zip(self.sites[::4], self.sites[1::4], strict=False):
            _share(shared_from, recipient)
        self.frames: list[Frame] = []
        self._dates = {site.number: site.dates for site in self.sites}

    def step(self, frozen: set[int]) -> None:
        """Let every site change except those whose numbers are *frozen*."""
        for site in self.sites:
            site.log = []
            if site.number not in frozen:
                site.step()

    def record(self) -> Frame:
        """Record the state of the sites in the next crawl."""
        documents = {url: document for site in self.sites for url, document in site.documents.items()}
        redirects = {old: new for site in self.sites for old, new in site.redirects.items()}
        self.frames.append(Frame(documents, redirects))
        return self.frames[-1]

    def lastmods(self, url: str, frame: Frame, crawl: int) -> dict[str, str]:
        """Return the dates of its children in the index at *url* in a crawl."""
        number = int(re.search(r"s(\d+)\.test", url)[1])
        dates = self._dates[number]
        if dates == "none":
            return {}
        children = frame.documents[url].children
        versions = {child: _version(child, frame) for child in children}
        day = {"stuck": lambda _: 1, "run": lambda _: crawl}.get(dates, lambda version: version)
        return {child: f"2026-{1 + day(v) // 28 % 9:02}-{1 + day(v) % 28:02}" for child, v in versions.items()}


def _version(url: str, frame: Frame) -> int:
    document = frame.documents.get(frame.resolve(url))
    return document.version if document else 0


def _share(shared_from: Site, recipient: Site) -> None:
    """Let the robots.txt of *recipient* name an index of *shared_from*."""
    indexes = shared_from.lists([Form.INDEX])
    if shared_from.is_declared and recipient.is_declared and indexes:
        robots = f"{recipient.base}/robots.txt"
        recipient.put(robots, children=(*recipient.documents[robots].children, indexes[0]))
