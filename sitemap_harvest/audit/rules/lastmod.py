"""Rules about ``lastmod``, ``priority`` and ``changefreq``, without feeds: their dates are those of publication."""

from __future__ import annotations

from sitemap_harvest.audit.rule import rule
from sitemap_harvest.model import Severity

_NO_NEWS = "sitemap not in (from news_sitemaps)"
_HAS_TIME = "lastmod_precision in ('minute', 'second', 'fraction')"
_READ_AT = "coalesce(read_at, fetched_at)"
_LATEST = "(select max(run) from runs)"
_FIRST = "qualify row_number() over (partition by u.sitemap, u.key order by u.position) = 1"
"""Of repeated entries in a sitemap, only the first one: it is the one that changes compare."""
_ZONES = "interval 14 hours"  # the largest offset of a time zone: a date without one may be off by as much


@rule("lastmod/missing", Severity.NOTICE, "{urls} without lastmod ({share})")
def missing(share: float = 0.2) -> str:
    """Many entries of a sitemap have no ``lastmod``.

    Without it, search engines cannot tell which pages have changed, so they notice
    changes late. If no entry has one, it is a warning. Text lists, feeds and news sitemaps
    do not count, nor do entries with a video that has a valid ``publication_date``: these
    have a date of their own.

    Spec: https://www.sitemaps.org/protocol.html#lastmoddef

    Fix: Give each entry the date of the last significant change of its page.
    """
    return f"""
        with counts as (
            select sitemap, count(*) as entries, count_if(lastmod_text is null and lastmod is null) as missing
            from lastmod_urls group by sitemap
        )
        select sitemap, loc, position, missing / entries as share, if(missing = entries, 'warning', null) as severity
        from lastmod_urls join counts using (sitemap)
        where lastmod_text is null and lastmod is null and missing >= {share} * entries
    """  # noqa: S608 - a number


@rule("lastmod/future", Severity.ERROR, "{urls} with a lastmod in the future, such as {value}", has_share=True)
def future(hours: float = 24) -> str:
    """The ``lastmod`` of an entry is later than the download of the sitemap.

    Nothing has changed yet at that time, so the date is wrong, and search engines stop
    using the dates of a site that they find to be wrong. Often the date is that of an
    event or of the next publication, or day and month are exchanged.

    Fix: Give the date of the last significant change of the page.
    """
    return f"""
        select sitemap, loc, position, lastmod_text as value from sitemap_urls
        where lastmod > {_READ_AT} + to_microseconds(({hours} * 3600e6)::bigint)
    """  # noqa: S608 - a number


@rule("lastmod/ancient", Severity.WARNING, "{urls} with a lastmod before 1995, such as {value}", has_share=True)
def ancient() -> str:
    """The ``lastmod`` of an entry is older than almost all web pages, such as 1970-01-01.

    The generator wrote an empty date as a number, or the date of the subject of the page,
    such as that of a photograph.

    Fix: Give the date of the last significant change of the page, or omit ``lastmod`` if it
    is unknown.
    """
    return """
        select sitemap, loc, position, lastmod_text as value from sitemap_urls
        where lastmod < timestamptz '1995-01-01 00:00:00+00'
    """


@rule("lastmod/one-stamp", Severity.WARNING, "{count:date} ({share}) are the same: {value}")
def one_stamp(share: float = 0.9, entries: float = 20) -> str:
    """Almost all entries of a sitemap have the same ``lastmod``.

    It is the date of a build or of a migration instead of that of each page. Search
    engines notice that the pages have not changed, and then ignore the dates of the site.
    Times count as the same within one minute; dates without a time count as the same only
    if no entry has a time. Years, months and news sitemaps do not count.

    Spec: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap

    Fix: Take the date from the content, such as its last commit or edit, or omit ``lastmod``.
    """
    return f"""
        with stamps as (
            select sitemap, date_trunc('minute', lastmod) as stamp, {_HAS_TIME} as has_time, count(*) as urls
            from sitemap_urls
            where {_NO_NEWS} and lastmod is not null and lastmod_precision not in ('year', 'month') group by 1, 2, 3
        ), common as (
            select *, urls / sum(urls) over listings as share, sum(urls) over listings as dated,
                bool_or(has_time) over listings as some_have_time
            from stamps window listings as (partition by sitemap)
        )
        select sitemap, loc, position, lastmod_text as value, share
        from sitemap_urls join common using (sitemap)
        where share >= {share} and dated >= {entries} and has_time = some_have_time
            and date_trunc('minute', lastmod) = stamp and ({_HAS_TIME}) = has_time
    """  # noqa: S608 - numbers and our own conditions


@rule("lastmod/fetch-time", Severity.WARNING, "{count:date} ({share}) are the time of the request: {value}")
def fetch_time(share: float = 0.9, minutes: float = 10, entries: float = 5) -> str:
    """The dates of a sitemap are the time at which it was requested.

    The server generates the sitemap for each request, and writes the current time as
    ``lastmod``. All pages then seem to have changed at each request, so search engines
    ignore the dates. Checked for sitemaps that were downloaded from a server and have
    five dates with a time or more.

    Fix: Give the date of the last significant change of the page, or omit ``lastmod``.
    """
    return f"""
        with counts as (
            select u.sitemap, count(*) as dated,
                count_if(abs(epoch({_READ_AT}) - epoch(u.lastmod)) <= {minutes} * 60) as recent
            from (select sitemap, lastmod from sitemap_urls where {_HAS_TIME}) u join sitemaps on url = u.sitemap
            where status is not null group by 1
        )
        select sitemap, loc, position, lastmod_text as value, recent / dated as share
        from sitemap_urls join counts using (sitemap)
        where recent >= {share} * dated and dated >= {entries} and {_HAS_TIME}
            and abs(epoch({_READ_AT}) - epoch(lastmod)) <= {minutes} * 60
    """  # noqa: S608 - numbers and our own conditions


@rule(
    "lastmod/mixed-precision",
    Severity.NOTICE,
    "{count:date} ({share}) with another precision than the most frequent one, such as {value}",
)
def mixed_precision(share: float = 0.05) -> str:
    """The dates of a sitemap have different precisions: a year, a month, a day, or a time.

    All are allowed. Usually the entries come from several sources. Readers that compare
    instants take a date for its first instant, so a day may be up to a day early, and a
    month up to a month. Times count as one precision, with or without seconds and
    fractions. Counted are the dates without the most frequent precision of the sitemap;
    of two that are equally frequent, that is the coarser one.

    Spec: https://www.w3.org/TR/NOTE-datetime

    Fix: Give all dates of a sitemap with the same precision.
    """
    return f"""
        with dates as (
            select sitemap, loc, position, lastmod_text, if({_HAS_TIME}, 'time', lastmod_precision) as precision
            from sitemap_urls where lastmod is not null
        ), counts as (select sitemap, precision, count(*) as dates from dates group by 1, 2),
        facts as (
            select sitemap, sum(dates) as dated, max(dates) as usual, arg_max(precision,
                row(dates, list_position(['time', 'day', 'month', 'year'], precision))) as usual_precision
            from counts group by 1
        )
        select sitemap, loc, position, lastmod_text as value, (dated - usual) / dated as share
        from dates join facts using (sitemap)
        where precision <> usual_precision and dated - usual > {share} * dated
    """  # noqa: S608 - numbers and our own conditions


@rule("lastmod/stale-site", Severity.NOTICE, "no page has changed since {value}", of_site=True,
      needs="site.urls", needs_all=True)  # fmt: skip
def stale_site(days: float = 365) -> str:
    """No ``lastmod`` of the site is from the year before the last download.

    Either the site is not maintained, or its sitemaps are no longer generated, so that
    new pages are missing. Checked if half of the entries of sitemaps or more have a date.
    Feeds count too, because they show that the site is maintained.

    Fix: Check that the generator still runs, and that its result is published.
    """
    return f"""
        with dated as (select *, period_end(lastmod, lastmod_precision) as until from urls where lastmod is not null),
        facts as (
            select (select max(until) from dated) as newest, (select max({_READ_AT}) from sitemaps) as read_at,
                (select count(lastmod) / nullif(count(*), 0) from sitemap_urls) as share
        )
        select arg_min(sitemap, row(sitemap, position)) as sitemap, arg_min(loc, row(sitemap, position)) as loc,
            arg_min(position, row(sitemap, position)) as position,
            arg_min(lastmod_text, row(sitemap, position)) as value
        from dated where until = (select newest from facts where share >= 0.5
            and newest < facts.read_at - to_microseconds(({days} * 86400e6)::bigint))
        having count(*) > 0
    """  # noqa: S608 - a number


@rule(
    "lastmod/moves-without-change",
    Severity.WARNING,
    "almost all dates changed together {value}",
    needs="history",
)
def moves_without_change(share: float = 0.5, looks: float = 2, entries: float = 20) -> str:
    """From run to run, the ``lastmod`` of almost all entries moves to the same moment, and nothing else changes.

    It is the time of the build or of the request, not that of a change. Search engines
    notice that the pages have not changed, and then ignore the dates of the site. It
    counts in a run if it happens to nine tenths of a sitemap with 20 entries or more, and
    is reported if it happens in half of the runs.

    Fix: Take the date from the content, such as its last commit or edit, or omit ``lastmod``.
    """
    return f"""
        with listed as (
            select sitemap, count(*) as entries from sitemap_urls where kind = 'sitemap' and {_NO_NEWS}
            group by 1 having count(*) >= {entries}
        ), moves as (
            select run, sitemap, count(*) as moved from changes
            where kind = 'changed' and fields = ['lastmod'] and sitemap_before is null
                and try_cast(after['lastmod'] as timestamptz) > try_cast(before['lastmod'] as timestamptz)
            group by run, sitemap, date_trunc('minute', try_cast(after['lastmod'] as timestamptz))
        ), counts as (
            select sitemap, count(distinct run) as moved, (select count(baseline) from runs) as runs
            from moves join listed using (sitemap) where moved >= 0.9 * entries group by 1
        )
        select sitemap, moved as count, moved / runs as share, printf('in %d of %d runs', moved, runs) as value
        from counts where moved >= {looks} and moved >= {share} * runs
    """  # noqa: S608 - numbers and our own conditions


@rule(
    "lastmod/silent-change",
    Severity.WARNING,
    "{urls} with a change that lastmod does not show, such as of {value}",
    needs="history",
)
def silent_change() -> str:
    """Since the last run, an entry has changed, but its ``lastmod`` has not.

    A page whose images, videos or article have changed was changed itself. Search engines
    that rely on ``lastmod`` do not crawl it again. An entry counts if its date is before
    the last run; a URL counts once: by its first entry, in the first sitemap in which it
    has changed. If 20 entries or more, and more than half of the sitemap, have changed at
    once, their images were likely moved to another host, and no entry counts.

    Fix: Update ``lastmod`` with each significant change of the page.
    """
    return f"""
        with silent as (
            select *, count(*) over (partition by sitemap) as together from changes
            where run = {_LATEST} and kind = 'changed' and sitemap_before is null
                and not list_contains(fields, 'lastmod') and list_has_any(fields, ['images', 'videos', 'news'])
        ), compared as (
            select u.*, together, fields, baseline
            from sitemap_urls u join silent s on s.sitemap = u.sitemap and s.key = u.key {_FIRST}
        ), found as (
            select sitemap, loc, position, together, array_to_string(fields, ', ') as value
            from compared join runs on runs.run = compared.baseline
            where kind = 'sitemap' and period_end(lastmod, lastmod_precision) + {_ZONES} < runs.started_at
        ), sizes as (
            select sitemap, count(*) as entries from sitemap_urls group by 1
        )
        select sitemap, loc, position, value from found join sizes using (sitemap)
        where together < 20 or 2 * together <= entries
    """  # noqa: S608 - our own conditions


@rule(
    "lastmod/goes-back",
    Severity.WARNING,
    "{urls} with an earlier lastmod than in the last run, such as {value}",
    needs="history",
)
def goes_back() -> str:
    """Since the last run, the ``lastmod`` of an entry has become earlier.

    The date of a last change can only become later. An older version of the site or of
    the sitemap was published, or servers give different dates. A date that was in the
    future may be corrected, and a date may lose its time. A URL counts once: by its first
    entry, in the first sitemap in which it has changed.

    Fix: Check that the current sitemap is published, and that all servers have the same one.
    """
    return f"""
        with moved as (
            select *, try_cast(before['lastmod'] as timestamptz) as earlier from changes
            where run = {_LATEST} and kind = 'changed' and sitemap_before is null and list_contains(fields, 'lastmod')
        ), compared as (
            select u.*, earlier, before, baseline
            from sitemap_urls u join moved on moved.sitemap = u.sitemap and moved.key = u.key {_FIRST}
        )
        select sitemap, loc, position,
            lastmod_text || ' instead of ' || replace(before['lastmod'], 'T00:00:00+00:00', '') as value
        from compared join runs on runs.run = compared.baseline
        where kind = 'sitemap' and period_end(lastmod, lastmod_precision) + {_ZONES} < earlier
            and earlier < runs.ended_at + interval 1 day
    """  # noqa: S608 - our own conditions


@rule("priority/all-the-same", Severity.NOTICE, "all {count} entries have the priority {value}")
def same_priority(entries: float = 20) -> str:
    """All entries of a sitemap have the same ``priority``.

    The priority is relative to that of the other URLs of the site, so equal values say
    nothing.

    Spec: https://www.sitemaps.org/protocol.html#prioritydef

    Fix: Omit ``priority``.
    """
    return f"""
        select sitemap, count(*) as count, min(priority)::varchar as value from sitemap_urls group by sitemap
        having count(*) >= {entries} and count(*) = count(priority) and min(priority) = max(priority)
    """  # noqa: S608 - a number


@rule("priority/ignored", Severity.NOTICE, "{urls} with a priority, which search engines ignore", of_site=True,
      has_share=True)  # fmt: skip
def priority_ignored() -> str:
    """Entries have a ``priority``.

    Google and Bing ignore it. It makes the sitemap larger, and suggests an effect that it
    does not have.

    Spec: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap

    Fix: Omit ``priority``, unless another reader of the sitemap needs it.
    """
    return """
        select sitemap, loc, position, coalesce(priority::varchar, priority_text) as value from sitemap_urls
        where value is not null
    """


@rule("changefreq/ignored", Severity.NOTICE, "{urls} with a changefreq, which search engines ignore", of_site=True,
      has_share=True)  # fmt: skip
def changefreq_ignored() -> str:
    """Entries have a ``changefreq``.

    Google and Bing ignore it: they rely on ``lastmod`` and on what they observe.

    Spec: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap

    Fix: Omit ``changefreq``, and give an exact ``lastmod``.
    """
    return "select sitemap, loc, position, changefreq as value from sitemap_urls where changefreq is not null"


@rule(
    "changefreq/contradicts-lastmod",
    Severity.NOTICE,
    "{urls} with a changefreq that lastmod contradicts, such as {value}",
    has_share=True,
)
def contradicts_lastmod(days: float = 365) -> str:
    """An entry says that its page changes daily or more often, and that it has not changed for a year.

    One of the two is wrong, usually ``changefreq``, which is set for all pages at once.

    Spec: https://www.sitemaps.org/protocol.html#changefreqdef

    Fix: Omit ``changefreq``, and give an exact ``lastmod``.
    """
    return f"""
        select sitemap, loc, position, changefreq || ' since ' || lastmod_text as value from sitemap_urls
        where lower(changefreq) in ('always', 'hourly', 'daily')
            and period_end(lastmod, lastmod_precision) < {_READ_AT} - to_microseconds(({days} * 86400e6)::bigint)
    """  # noqa: S608 - a number
