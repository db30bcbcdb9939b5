"""The arguments of the ``sitemap`` spider, checked before anything is fetched."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Self

from sitemap_harvest.crawl.browser.switch import MODES
from sitemap_harvest.crawl.named import leads_of, root_of
from sitemap_harvest.crawl.snapshot_wishes import SnapshotWishes, asked_for, snapshot_wishes
from sitemap_harvest.crawl.wishes import filters_of, pruning_of
from sitemap_harvest.errors import ArgumentError, there_is_no
from sitemap_harvest.model import ChangeBatch, LedgerBatch, SiteBatch, SummaryBatch, UrlBatch
from sitemap_harvest.plan import Filters, Lead, Span

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sitemap_harvest.model import Batch

EMIT: dict[str, type[Batch[Any]]] = {
    "urls": UrlBatch,
    "sitemaps": LedgerBatch,
    "sites": SiteBatch,
    "changes": ChangeBatch,
    "summaries": SummaryBatch,
}
_MOST = 2**63 - 1  # what columns can count


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What ``scrapy crawl sitemap -a name=value`` takes. At least one of site, sites and sitemap is needed."""

    site: str | list[str] | None = None
    """A site, such as ``https://www.example.com``, or several separated by blanks: its robots.txt is asked for its
    sitemaps. Without a scheme, https. A path behind the host is passed over. A login may stand in it
    (``https://user:password@www.example.com``): it goes to this site alone, and is kept nowhere."""
    sites: str | None = None
    """A text file of sites, one a line. Blank lines and what follows a ``#`` are passed over, a site that stands twice
    counts once, and a line that is no site is reported and the others are harvested."""
    sitemap: str | list[str] | None = None
    """Sitemaps, indexes, lists or feeds, separated by blanks: addresses, or files on this machine. A login may
    stand in an address, as in that of a site."""
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
    store: str | None = None
    """Where snapshots are kept: a folder, or ``s3://bucket/folder``. What is read is kept there for the next run, which
    then asks for what has changed only. What the filters drop is kept as well."""
    baseline: str | None = None
    """The snapshot that changes are against: ``latest``, ``first``, the id of a run, or a date or an instant, which is
    the last run that began before its end. Without it, the last snapshot before this run."""
    consumer: str | None = None
    """Who receives the changes: a name, such as ``billing``. The store has a cursor for each consumer and site: the run
    up to which the consumer has received the changes. They are delivered from there on, run by run, and the cursor
    moves when all outputs of the run are stored, so that each change is delivered :ref:`at least once <consumers>`. A
    new consumer begins at the last snapshot. Needs ``emit=changes`` and an output, and cannot be given with
    ``baseline``."""
    full: str = "no"
    """``yes``: everything is downloaded and read, whatever the store knows of it."""
    max_age: str | int | None = None
    """Documents are downloaded again that were last downloaded longer ago than this, whatever their server says:
    ``30d``, ``36h``, or seconds. Without it, as ``SITEMAP_HARVEST_MAX_AGE`` says."""
    resume: str = "no"
    """``yes``: what the last run, which was interrupted, has read of a site is taken over and not asked for again."""
    poll: str = "no"
    """``yes``: only the feeds are asked for that the last snapshot knows. What they list is added to the snapshot, and
    nothing is taken out."""
    browser: str | None = None
    """Whether a browser helps where a site lets in browsers only: ``never``, ``fallback`` or ``always``. Without it, as
    ``SITEMAP_HARVEST_BROWSER`` says."""
    emit: str = "urls"
    """Kinds of item, separated by commas or blanks: ``urls`` (:class:`~sitemap_harvest.UrlEntry`), ``sitemaps``
    (:class:`~sitemap_harvest.SitemapRecord`, one for each document met), ``sites``
    (:class:`~sitemap_harvest.SiteRecord`, one for each site or document that you named: what came of it), ``changes``
    (:class:`~sitemap_harvest.Change`, one for each URL that changed since the baseline), ``summaries``
    (:class:`~sitemap_harvest.ChangeSummary`, one for each site). The last two need ``store``. ``none``,
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
                # Without its value, which may be a password.
                message = f"argument {name}: {there_is_no('argument', name, cls.names())}"
                raise ArgumentError(name, value, ", ".join(cls.names()), message=message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the arguments mean."""

    leads: tuple[Lead, ...]
    """What the run starts with."""
    logins: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What the header ``Authorization`` says to each site whose name the user gave with a login."""
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
    snapshots: SnapshotWishes = field(default_factory=SnapshotWishes)
    asked_for: Mapping[str, str] = field(default_factory=dict)
    """What of the arguments shapes what is read or emitted, as text: kept with each snapshot."""
    browser: str | None = None
    """Whether a browser helps; ``None``: as the setting says."""
    emit: frozenset[str] = frozenset({"urls"})

    @classmethod
    def of(cls, arguments: Arguments, *, now: datetime | None = None, needs_target: bool = True) -> Self:
        """Read *arguments*; ages count from *now*. Raises :exc:`ArgumentError` at the first that is wrong.

        *needs_target* is whether it is wrong that they name nothing to harvest.
        """
        _check_not_blank(arguments)
        leads, no_sites, logins = leads_of(arguments, needs_target=needs_target)
        filters = filters_of(arguments, now=now or datetime.now(UTC))
        return cls(
            leads=tuple(leads),
            logins=logins,
            no_sites=tuple(no_sites),
            root=root_of(arguments),
            only_site=leads[0].root if arguments.root else None,
            follow=_pattern("follow", arguments.follow),
            skip=_pattern("skip", arguments.skip),
            limit=_limit(arguments.limit),
            filters=filters,
            pruned_before=pruning_of(arguments, filters),
            snapshots=snapshot_wishes(arguments),
            asked_for=asked_for(arguments),
            browser=_browser(arguments.browser),
            emit=_emit(arguments.emit),
        )

    @property
    def batch_types(self) -> tuple[type[Batch[Any]], ...]:
        """The kinds of batch that the run gives."""
        return tuple(batch_type for name, batch_type in EMIT.items() if name in self.emit)


def _check_not_blank(arguments: Arguments) -> None:
    for name in Arguments.names():
        value = getattr(arguments, name)
        if any(isinstance(part, str) and not part.strip() for part in (value if isinstance(value, list) else [value])):
            raise ArgumentError(
                name, value, "a value", message=f"argument {name}: it is empty; give a value, or leave it out"
            )


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


def _browser(value: str | None) -> str | None:
    if value is not None and value not in MODES:
        raise ArgumentError("browser", value, f"one of {', '.join(MODES)}")
    return value


def _emit(value: str) -> frozenset[str]:
    kinds = frozenset(re.split(r"[\s,]+", str(value).strip(" ,")))
    if kinds == {"none"}:
        return frozenset()
    if not kinds <= EMIT.keys():
        raise ArgumentError("emit", value, f"any of {', '.join(EMIT)}")
    return kinds
