"""The arguments of the ``sitemap`` spider, checked before anything is fetched."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from scrapy.extensions.feedexport import FeedExporter
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object

from sitemap_harvest.crawl.defaults import LOCAL_FILES
from sitemap_harvest.crawl.wishes import filters_of, pruning_of
from sitemap_harvest.errors import ArgumentError, OptionError
from sitemap_harvest.model import LedgerBatch, SiteBatch, UrlBatch
from sitemap_harvest.plan import Filters, Lead, Span, robots_of
from sitemap_harvest.urls import BLANKS, site_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from sitemap_harvest.model import Batch

EMIT: dict[str, type[Batch[Any]]] = {"urls": UrlBatch, "sitemaps": LedgerBatch, "sites": SiteBatch}
_HOST = re.compile(
    r"(?:[^\W_](?:[\w\-]*[^\W_])?\.)+[^\W\d_]{2,}\.?(?::\d{1,5})?(?=[/?#]|$)|localhost(?::\d{1,5})?(?=/|$)",
    re.IGNORECASE,
)
_DOCUMENT = re.compile(r"/[^?#]*\.(?:xml|gz|txt|rss|atom|json)(?:[?#]|$)", re.IGNORECASE)
_MOST = 2**63 - 1  # what columns can count
_HOST_NAME = re.compile(r"\[[0-9A-Fa-f:.]+\]|[\w.\-]+")
_ONE_SITE = "a site, such as https://www.example.com"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What ``scrapy crawl sitemap -a name=value`` takes. At least one of site, sites and sitemap is needed."""

    site: str | list[str] | None = None
    """A site, such as ``https://www.example.com``, or several separated by blanks: its robots.txt is asked for its
    sitemaps. Without a scheme, https. A path behind the host is passed over."""
    sites: str | None = None
    """A text file of sites, one a line. Blank lines and what follows a ``#`` are passed over, a site that stands twice
    counts once, and a line that is no site is reported and the others are harvested."""
    sitemap: str | list[str] | None = None
    """Sitemaps, indexes, lists or feeds, separated by blanks: addresses, or files on this machine."""
    root: str | None = None
    """A folder that stands in for the site: each of its addresses is a file below the folder. Nothing is fetched
    from the network. Needs ``site``."""
    follow: str | None = None
    """Regular expression: of what an index names, only sitemaps in whose address it is found are read."""
    skip: str | None = None
    """Regular expression: sitemaps in whose address it is found are not read, whether robots.txt or an index names
    them."""
    scope: str = "mark"
    """What becomes of URLs that the protocol does not let their document list (``in_scope`` is false): ``mark``, they
    are harvested with the others; ``strict``, they are dropped."""
    limit: str | int | None = None
    """Most URLs to harvest, 1 or more; those that the filters below drop are not counted."""
    since: str | date | None = None
    """Only URLs that changed since then, by their ``lastmod``: a date (``2025``, ``2025-03``, ``2025-03-09``), an
    instant (``2025-03-09T14:00:00+01:00``; in UTC where it has no zone), or an age before now (``2w``, ``7d``, ``36h``,
    ``90min``). A date is all that it may mean, here and in ``lastmod``: one that began before and ended after
    passes."""
    until: str | date | None = None
    """Only URLs that changed until then: the same, and all of a day, month or year that is named is part of it."""
    missing_lastmod: str = "keep"
    """What becomes of URLs without ``lastmod``: ``keep`` or ``drop``, also where ``since`` and ``until`` are not
    given."""
    unreadable_lastmod: str = "keep"
    """The same for URLs whose ``lastmod`` is no date."""
    future_lastmod: str = "keep"
    """The same for URLs whose ``lastmod`` is more than 24 hours after now."""
    prune_index: str = "no"
    """``yes``: a sitemap that changed last before ``since``, says its index, is not fetched, and has the outcome
    ``skipped``. Needs ``since``."""
    min_priority: str | float | None = None
    """Only URLs of this ``priority`` or a higher one, 0.0 to 1.0. One that has none counts as 0.5, as the protocol
    says."""
    max_priority: str | float | None = None
    """Only URLs of this ``priority`` or a lower one: the same."""
    changefreq: str | list[str] | None = None
    """Only URLs with one of these, separated by commas or blanks: ``always``, ``hourly``, ``daily``, ``weekly``,
    ``monthly``, ``yearly``, ``never``. One without is dropped."""
    include: str | list[str] | None = None
    """Regular expressions, separated by blanks: only URLs in which one of them is found."""
    exclude: str | list[str] | None = None
    """Regular expressions, separated by blanks: no URLs in which one of them is found."""
    prefix: str | list[str] | None = None
    """Beginnings of paths, such as ``/blog/``, separated by blanks: only URLs whose path begins with one of them.
    ``/blog`` is also the beginning of ``/blogger``."""
    lang: str | list[str] | None = None
    """Languages, separated by commas or blanks: only URLs that say they are in one of them, by the ``hreflang`` of the
    alternate that is their own address, or as news. ``de`` is ``de-AT`` as well. One that says nothing is dropped."""
    has: str | list[str] | None = None
    """Only URLs that have all of these, separated by commas or blanks: ``image``, ``video``, ``news``, ``alternate``,
    ``mobile``, ``pagemap``, ``title``."""
    emit: str = "urls"
    """Kinds of item, separated by commas or blanks: ``urls`` (:class:`~sitemap_harvest.UrlEntry`), ``sitemaps``
    (:class:`~sitemap_harvest.SitemapRecord`, one for each document met), ``sites``
    (:class:`~sitemap_harvest.SiteRecord`, one for each site or document that you named: what came of it). ``none``,
    which is what a spider of one's own that visits pages has if it is not told otherwise: only what its callbacks
    give."""

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of all arguments."""
        return tuple(field.name for field in fields(cls))

    @classmethod
    def check_names(cls, given: dict[str, object]) -> None:
        """Raise :exc:`ArgumentError` if *given* has a name that is no argument."""
        for name, value in given.items():
            if name not in cls.names():
                known = ", ".join(cls.names())
                message = f"argument {name}={value!r}: there is no such argument; there are {known}"
                raise ArgumentError(name, value, known, message=message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the arguments mean."""

    leads: tuple[Lead, ...]
    """What the run starts with."""
    no_sites: tuple[tuple[str, str], ...] = ()
    """Lines of ``sites`` that are no site, each with what is wrong with it in words."""
    root: Path | None = None
    only_site: str | None = None
    follow: re.Pattern[str] | None = None
    skip: re.Pattern[str] | None = None
    limit: int | None = None
    filters: Filters = field(default_factory=Filters)
    pruned_before: Span | None = None
    """Sitemaps that changed last before this, says their index, are not fetched; ``None``: all are."""
    emit: frozenset[str] = frozenset({"urls"})

    @classmethod
    def of(cls, arguments: Arguments, *, now: datetime | None = None) -> Self:
        """Read *arguments*; ages count from *now*. Raises :exc:`ArgumentError` at the first that is wrong."""
        _check_not_blank(arguments)
        leads, no_sites = _leads(arguments)
        filters = filters_of(arguments, now=now or datetime.now(UTC))
        return cls(
            leads=tuple(leads),
            no_sites=tuple(no_sites),
            root=_root(arguments),
            only_site=leads[0].root if arguments.root else None,
            follow=_pattern("follow", arguments.follow),
            skip=_pattern("skip", arguments.skip),
            limit=_limit(arguments.limit),
            filters=filters,
            pruned_before=pruning_of(arguments, filters),
            emit=_emit(arguments.emit),
        )

    @property
    def batch_types(self) -> tuple[type[Batch[Any]], ...]:
        """The kinds of batch that the run gives."""
        return tuple(batch_type for name, batch_type in EMIT.items() if name in self.emit)


def check_feeds(settings: BaseSettings, emit: frozenset[str]) -> None:
    """Raise :exc:`ArgumentError` if a feed would hold several kinds of item, which have no columns in common."""
    if len(emit) < 2:
        return
    for uri, options in settings.getdict("FEEDS").items():
        if not options.get("item_classes") and not options.get("item_filter"):
            given = ",".join(name for name in EMIT if name in emit)
            message = f"argument emit={given!r}: the feed {uri} would hold both kinds; give it item_classes"
            raise ArgumentError("emit", given, " or ".join(EMIT), message=message)


def check_exporter(crawler: Crawler) -> None:
    """Raise :exc:`OptionError` if outputs are named and Scrapy has left out what would write them."""
    settings = crawler.settings
    _check_encodings(settings)
    if not settings["FEEDS"] and not settings["FEED_URI"]:
        return
    enabled = build_component_list(settings.get_component_priority_dict_with_base("EXTENSIONS"))
    is_wanted = any(issubclass(load_object(extension), FeedExporter) for extension in enabled)
    if is_wanted and crawler.get_extension(FeedExporter) is None:
        raise OptionError("FEEDS: Scrapy cannot write such an output; its error in the log says why")


def _check_encodings(settings: BaseSettings) -> None:
    given = {"FEED_EXPORT_ENCODING": settings["FEED_EXPORT_ENCODING"]}
    given |= {f"FEEDS: encoding of {uri}": feed.get("encoding") for uri, feed in settings.getdict("FEEDS").items()}
    for name, encoding in given.items():
        try:
            "".encode(encoding or "utf-8")
        except LookupError as error:
            raise OptionError(f"{name} is {encoding!r}; it must be an encoding, such as utf-8") from error


def check_root(root: Path | None, crawler: Crawler) -> None:
    """Raise :exc:`ArgumentError` if a folder stands in for the site, and *crawler* would go to the network for it."""
    if root is not None and crawler.get_downloader_middleware(load_object(LOCAL_FILES)) is None:
        message = f"argument root={str(root)!r}: this project has no sitemap_harvest add-on, which it needs (ADDONS)"
        raise ArgumentError("root", root, "given where the add-on is", message=message)


def _check_not_blank(arguments: Arguments) -> None:
    for name in Arguments.names():
        value = getattr(arguments, name)
        if any(isinstance(part, str) and not part.strip() for part in (value if isinstance(value, list) else [value])):
            raise ArgumentError(
                name, value, "a value", message=f"argument {name}: it is empty; give a value, or leave it out"
            )


def _leads(arguments: Arguments) -> tuple[list[Lead], list[tuple[str, str]]]:
    sites: list[str] = []
    no_sites: list[tuple[str, str]] = []
    if arguments.site is not None:
        sites += [_site("site", site) for site in _parts(arguments.site) or [""]]
    if arguments.sites is not None:
        listed, no_sites = _listed_sites(arguments.sites)
        sites += listed
    leads = [robots_of(site) for site in dict.fromkeys(sites)]
    if arguments.sitemap is not None:
        leads += [Lead(url=url, root=url) for url in dict.fromkeys(_sitemaps(arguments.sitemap))]
    if not leads:
        message = "nothing to harvest: give at least one of the arguments site, sites and sitemap"
        raise ArgumentError("site", None, _ONE_SITE, message=message)
    return leads, no_sites


def _site(name: str, value: str) -> str:
    text = str(value).strip(BLANKS)
    url = text if "://" in text else f"https://{text}"
    host = url.partition("://")[2]
    is_web = url.lower().startswith(("http://", "https://"))
    site = site_of(url) if is_web and host and not re.search(r"\s", host) and host[0] not in "/?#." else None
    _check_no_password(name, url)
    if not site or not _has_port_in_range(site) or ("://" not in text and re.match("https?:", text)):
        raise ArgumentError(name, value, _ONE_SITE)
    if not _HOST_NAME.fullmatch(re.sub(r":\d*$", "", re.split(r"[/?#]", host, maxsplit=1)[0])):
        raise ArgumentError(name, value, _ONE_SITE)
    if _DOCUMENT.search(host):
        raise ArgumentError(name, value, f"{_ONE_SITE}; a document is named by sitemap=")
    return site


def _has_port_in_range(site: str) -> bool:
    try:
        return urlsplit(site).port != 0
    except ValueError:
        return False


def _listed_sites(path: str) -> tuple[list[str], list[tuple[str, str]]]:
    try:
        text = Path(path).read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        hint = "; a site is named by site=" if "://" in path else ""
        raise ArgumentError("sites", path, f"a text file of sites, one a line ({_words(error)}){hint}") from error
    sites, no_sites = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        if not (entry := re.sub(r"(?:^|\s)#.*", "", line).strip(BLANKS)):
            continue
        try:
            sites.append(_site("sites", entry))
        except ArgumentError as error:
            why = "; a document is named by sitemap=" if "sitemap=" in error.accepted else ""
            no_sites.append((entry[:100], f"{path}, line {number}: {entry[:100]!r} is no site{why}"))
    if not sites:
        raise ArgumentError("sites", path, "a text file of sites, one a line, and this one has none")
    return sites, no_sites


def _sitemaps(value: str | list[str]) -> Iterator[str]:
    if not (names := _parts(value)):
        raise ArgumentError("sitemap", value, "addresses or files, separated by blanks")
    for name in names:
        yield document_address(name)


def _parts(value: str | list[str]) -> list[str]:
    """Return the parts of *value*, which are separated by blanks unless it is the name of one file with blanks."""
    if isinstance(value, list):
        return value
    return [value] if os.path.isfile(value) else str(value).split()  # noqa: PTH113 - Path raises on a long text


def _check_no_password(name: str, url: str) -> None:
    if "@" in re.split(r"[/?#]", url.partition("://")[2], maxsplit=1)[0]:
        message = f"argument {name}: an address with a user name in it cannot be fetched; leave out all up to the @"
        raise ArgumentError(name, None, "an address without a user name", message=message)


def document_address(name: str) -> str:
    """Return the address of the document that the user names *name*. Raises :exc:`ArgumentError` if it is none."""
    if "://" in name:
        _check_no_password("sitemap", name)
        if name.lower().startswith("file:"):
            return name
        if name.lower().startswith(("http://", "https://")) and (site := site_of(name)) and _has_port_in_range(site):
            return name
        raise ArgumentError("sitemap", name, "an address that begins with http:// or https://, or a file")
    if "/" in name and not os.path.exists(name) and _HOST.match(name):  # noqa: PTH110 - the same
        return f"https://{name}"
    return Path(os.path.abspath(name)).as_uri()  # noqa: PTH100 - without .. and, unlike resolve(), through no link


def _root(arguments: Arguments) -> Path | None:
    if arguments.root is None:
        return None
    folder = Path(str(arguments.root))
    if not folder.is_dir():
        raise ArgumentError("root", arguments.root, "a folder that is there")
    if arguments.sites is not None or arguments.sitemap is not None or len(_parts(arguments.site or "")) != 1:
        raise ArgumentError("root", arguments.root, "given with the one site that the folder stands in for, as site=")
    return folder.resolve()


def _pattern(name: str, value: str | None) -> re.Pattern[str] | None:
    if value is None:
        return None
    try:
        return re.compile(value)
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        raise ArgumentError(name, value, f"a regular expression ({error})") from error


def _limit(value: str | int | None) -> int | None:
    if value is None:
        return None
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = 0
    if not 1 <= number <= _MOST:
        raise ArgumentError("limit", value, "a whole number, 1 or more")
    return number


def _emit(value: str) -> frozenset[str]:
    kinds = frozenset(re.split(r"[\s,]+", str(value).strip(" ,")))
    if kinds == {"none"}:
        return frozenset()
    if not kinds <= EMIT.keys():
        raise ArgumentError("emit", value, f"any of {', '.join(EMIT)}")
    return kinds


def _words(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
