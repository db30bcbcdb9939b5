from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest import UrlBatch, UrlEntry
from sitemap_harvest.dates import DateRange, read_date
from sitemap_harvest.filters import PARTS, Filters
from sitemap_harvest.model import CHANGEFREQS, Alternate, Image, News, Video
from sitemap_harvest.model.entry import DataObject
from sitemap_harvest.urls import url_key

HERE = "https://www.example.com"


def entry(loc: str = f"{HERE}/a", lastmod: str | None = None, **fields: object) -> UrlEntry:
    """Return the row of *loc* as a reader makes it."""
    date = read_date(lastmod) if lastmod else None
    fields |= {"lastmod": date.value, "lastmod_precision": date.precision} if date else {}
    return UrlEntry(loc=loc, key=url_key(loc), sitemap=f"{HERE}/s.xml", position=1, lastmod_text=lastmod, **fields)


def span(text: str) -> DateRange:
    date = read_date(text)
    assert date is not None
    return DateRange.of(date)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def alternates(*pairs: tuple[str | None, str | None]) -> tuple[Alternate, ...]:
    return tuple(Alternate(hreflang=hreflang, href=href) for hreflang, href in pairs)


SINCE_MARCH = Filters(since=span("2025-03"))
SINCE_AN_INSTANT = Filters(since=span("2025-03-09T14:00:00Z"))
UNTIL_MARCH = Filters(until=span("2025-03"))
UNTIL_AN_INSTANT = Filters(until=span("2025-03-09T14:00:00Z"))
OF_ONE_DAY = Filters(since=span("2025-03-09"), until=span("2025-03-09"))


@pytest.mark.parametrize(
    ("filters", "lastmod", "dropped_by"),
    [
        pytest.param(SINCE_MARCH, "2025-03-01", None, id="since-is-inclusive"),
        pytest.param(SINCE_MARCH, "2025-02-28T23:59:59.999999Z", "since", id="just-before-since"),
        pytest.param(SINCE_MARCH, "2025-03-01T00:30+01:00", "since", id="before-since-in-utc"),
        pytest.param(SINCE_MARCH, "2025", None, id="year-that-has-begun-before-since"),
        pytest.param(SINCE_MARCH, "2024", "since", id="year-before-since"),
        pytest.param(SINCE_MARCH, "2025-02", "since", id="month-before-since"),
        pytest.param(SINCE_AN_INSTANT, "2025-03", None, id="month-that-since-lies-in"),
        pytest.param(SINCE_AN_INSTANT, "2025-03-09", None, id="day-that-since-lies-in"),
        pytest.param(SINCE_AN_INSTANT, "2025-03-09T13:59Z", "since", id="minute-before-since"),
        pytest.param(SINCE_AN_INSTANT, "2025-03-09T15:00:00+01:00", None, id="the-very-second"),
        pytest.param(SINCE_MARCH, None, None, id="since-keeps-what-has-no-lastmod"),
        pytest.param(SINCE_MARCH, "yesterday", None, id="since-keeps-what-is-unreadable"),
        pytest.param(UNTIL_MARCH, "2025-03-31T23:59:59.999999Z", None, id="until-is-inclusive"),
        pytest.param(UNTIL_MARCH, "2025-04-01", "until", id="just-after-until"),
        pytest.param(UNTIL_MARCH, "2025", None, id="year-that-has-begun-before-until"),
        pytest.param(UNTIL_MARCH, "2025-04", "until", id="month-after-until"),
        pytest.param(UNTIL_AN_INSTANT, "2025-03-09", None, id="day-that-until-lies-in"),
        pytest.param(UNTIL_AN_INSTANT, "2025-03-09T14:00:00.5Z", None, id="within-the-second-of-until"),
        pytest.param(UNTIL_AN_INSTANT, "2025-03-09T14:00:01Z", "until", id="second-after-until"),
        pytest.param(UNTIL_MARCH, None, None, id="until-keeps-what-has-no-lastmod"),
        pytest.param(OF_ONE_DAY, "2025-03-09T23:59Z", None, id="of-one-day"),
        pytest.param(OF_ONE_DAY, "2025-03-10", "until", id="not-of-one-day"),
        pytest.param(Filters(missing_lastmod=True), None, "missing_lastmod", id="missing"),
        pytest.param(Filters(missing_lastmod=True), "yesterday", None, id="unreadable-is-not-missing"),
        pytest.param(Filters(unreadable_lastmod=True), "yesterday", "unreadable_lastmod", id="unreadable"),
        pytest.param(Filters(unreadable_lastmod=True), None, None, id="missing-is-not-unreadable"),
        pytest.param(Filters(future_lastmod=moment("2025-03-09")), "2025-03-10", "future_lastmod", id="future"),
        pytest.param(Filters(future_lastmod=moment("2025-03-09")), "2025", None, id="year-that-has-begun"),
        pytest.param(Filters(future_lastmod=moment("2025-03-09")), None, None, id="missing-is-not-future"),
    ],
)
def test_lastmod(filters: Filters, lastmod: str | None, dropped_by: str | None) -> None:
    assert dropped(filters, entry(lastmod=lastmod)) == dropped_by


def test_naive_dates_without_precision_are_instants() -> None:
    row = UrlEntry(loc=HERE, sitemap=HERE, position=1, lastmod=moment("2025-03-09"))
    assert dropped(SINCE_AN_INSTANT, row) == "since"


GERMAN = Filters(lang=("de",))
AUSTRIAN = Filters(lang=("de-at",))


@pytest.mark.parametrize(
    ("filters", "row", "dropped_by"),
    [
        pytest.param(Filters(min_priority=0.5), entry(priority=0.5), None, id="min-priority-is-inclusive"),
        pytest.param(Filters(min_priority=0.5), entry(priority=0.4), "min_priority", id="min-priority"),
        pytest.param(Filters(min_priority=0.5), entry(), None, id="no-priority-is-0.5"),
        pytest.param(Filters(min_priority=0.6), entry(priority_text="high"), "min_priority", id="unreadable-is-0.5"),
        pytest.param(Filters(max_priority=0.5), entry(priority=0.6), "max_priority", id="max-priority"),
        pytest.param(Filters(max_priority=0.0), entry(priority=0.0), None, id="max-priority-is-inclusive"),
        pytest.param(Filters(changefreq=("daily",)), entry(changefreq="DAILY"), None, id="changefreq"),
        pytest.param(
            Filters(changefreq=("daily",)), entry(changefreq="often"), "changefreq", id="no-such-changefreq"
        ),
        pytest.param(Filters(changefreq=("daily",)), entry(), "changefreq", id="no-changefreq"),
        pytest.param(Filters(include=(re.compile("b"), re.compile("/a"))), entry(), None, id="include-any"),
        pytest.param(Filters(include=(re.compile("b"),)), entry(), "include", id="include-none"),
        pytest.param(Filters(exclude=(re.compile("b"), re.compile("/a"))), entry(), "exclude", id="exclude-any"),
        pytest.param(Filters(exclude=(re.compile("b"),)), entry(), None, id="exclude-none"),
        pytest.param(Filters(prefix=("/b", "/a")), entry(f"{HERE}/abc/d"), None, id="prefix-of-a-segment"),
        pytest.param(Filters(prefix=("/a/",)), entry(f"{HERE}/a"), "prefix", id="prefix-with-a-slash"),
        pytest.param(Filters(prefix=("/a",)), entry(f"{HERE}/A"), "prefix", id="prefix-in-other-letters"),
        pytest.param(Filters(prefix=("/a",)), entry(f"{HERE}/b/a"), "prefix", id="not-at-the-beginning"),
        pytest.param(Filters(prefix=("/a",)), entry(f"{HERE}/b?c=://d/a"), "prefix", id="in-the-query"),
        pytest.param(Filters(prefix=("/a.c",)), entry(f"{HERE}/abc"), "prefix", id="prefix-is-no-pattern"),
        pytest.param(Filters(prefix=("/~a",)), entry("http://me@EXAMPLE.com:80/%7ea"), None, id="prefix-of-the-key"),
        pytest.param(Filters(prefix=("/",)), entry("no address"), "prefix", id="no-path"),
        pytest.param(GERMAN, entry(alternates=alternates(("de", f"{HERE}/a"))), None, id="its-own-alternate"),
        pytest.param(GERMAN, entry(alternates=alternates(("de", f"{HERE}/de"))), "lang", id="another-ones-alternate"),
        pytest.param(
            GERMAN, entry(alternates=alternates(("en", f"{HERE}/b"), ("de", " HTTPS://www.example.com:443/%61"))), None,
            id="its-own-address-otherwise-written",
        ),
        pytest.param(GERMAN, entry(alternates=alternates(("de-AT", f"{HERE}/a"))), None, id="language-of-a-region"),
        pytest.param(AUSTRIAN, entry(alternates=alternates(("de_AT", f"{HERE}/a"))), None, id="underscore"),
        pytest.param(AUSTRIAN, entry(alternates=alternates(("de", f"{HERE}/a"))), "lang", id="not-all-of-a-language"),
        pytest.param(GERMAN, entry(alternates=alternates(("den", f"{HERE}/a"))), "lang", id="longer-tag"),
        pytest.param(
            GERMAN, entry(alternates=alternates(("x-default", f"{HERE}/a"), ("de", f"{HERE}/a"))), None, id="both"
        ),
        pytest.param(GERMAN, entry(alternates=alternates((None, f"{HERE}/a"), ("de", None))), "lang", id="half"),
        pytest.param(GERMAN, entry("no address", alternates=alternates(("de", "no address"))), "lang", id="no-key"),
        pytest.param(GERMAN, entry(news=(News(publication_language="de"),)), None, id="news"),
        pytest.param(GERMAN, entry(news=(News(),)), "lang", id="news-of-no-language"),
        pytest.param(GERMAN, entry(), "lang", id="no-language"),
        pytest.param(Filters(has=("image",)), entry(images=(Image(),)), None, id="image"),
        pytest.param(Filters(has=("image",)), entry(images=()), "has", id="no-image-among-none"),
        pytest.param(Filters(has=("video", "image")), entry(images=(Image(),)), "has", id="only-one-of-two"),
        pytest.param(Filters(has=("mobile",)), entry(mobile=True), None, id="mobile"),
        pytest.param(Filters(has=("mobile",)), entry(), "has", id="not-mobile"),
        pytest.param(Filters(has=("pagemap",)), entry(pagemap=(DataObject(),)), None, id="pagemap"),
        pytest.param(Filters(has=("title",)), entry(title="A"), None, id="title"),
        pytest.param(Filters(has=("title",)), entry(), "has", id="no-title"),
    ],
)  # fmt: skip
def test_other_filters(filters: Filters, row: UrlEntry, dropped_by: str | None) -> None:
    assert dropped(filters, row) == dropped_by


def dropped(filters: Filters, row: UrlEntry) -> str | None:
    """Return the filter that drops *row*, which must be the same in a batch and alone; ``None`` if none does."""
    batch = UrlBatch.of([entry(f"{HERE}/other"), row, entry(f"{HERE}/other")]).slice(1, 1)
    kept, counts = filters.keep(batch)
    assert list(kept.rows()) == ([] if counts else [row])
    assert list(counts.values()) in ([], [1])
    return next(iter(counts), None)


def test_a_row_counts_for_the_first_filter_that_drops_it() -> None:
    filters = Filters(since=span("2025"), min_priority=0.6, include=(re.compile("/a"),), has=("news",))
    rows = [
        entry(f"{HERE}/b", "2024", priority=0.1),
        entry(f"{HERE}/b", "2025", priority=0.1),
        entry(f"{HERE}/b", "2025", priority=0.9),
        entry(f"{HERE}/b", "2025", priority=0.9),
        entry(f"{HERE}/a", "2025", priority=0.9),
        entry(f"{HERE}/a", "2025", priority=0.9, news=(News(),)),
    ]
    kept, counts = filters.keep(UrlBatch.of(rows))
    assert list(kept.rows()) == rows[-1:]
    assert counts == {"since": 1, "min_priority": 1, "include": 2, "has": 1}


def test_batches_pass_unchanged_without_filters() -> None:
    batch = UrlBatch.of([entry()])
    kept, counts = Filters().keep(batch)
    assert kept is batch
    assert counts == {}


def test_an_empty_batch_passes_as_an_empty_batch() -> None:
    batch = UrlBatch.of([])
    filters = Filters(since=span("2025"), include=(re.compile("a"),), prefix=("/a",), lang=("de",), has=("news",))
    assert filters.keep(batch) == (batch, {})


_dates = st.sampled_from([
    *("2024", "2025", "2025-02", "2025-03", "2025-03-08", "2025-03-09", "2025-03-10", "2025-03-09T14:00Z"),
    *("2025-03-09T14:00:00Z", "2025-03-09T14:00:01+01:00", "2025-03-09T14:00:00.5Z", "2026-01"),
])  # fmt: skip
_urls = st.sampled_from([
    *(f"{HERE}/a", f"{HERE}/A/b1", f"{HERE}/%61", f"{HERE}/b?c=/a", "http://other.example/b/7", "no address"),
    *(f"{HERE}/\u00e9", f"{HERE}/\u0663", "https://www.example.com:443/a/"),
])  # fmt: skip
_tags = st.sampled_from(["de", "DE-at", "de_CH", "en", "den", "x-default", "", " de "])


def _few(values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.none() | st.lists(values, max_size=3).map(tuple)


_entries = st.builds(
    entry,
    _urls,
    st.none() | _dates | st.just("yesterday"),
    priority=st.none() | st.sampled_from([0.0, 0.4, 0.5, 0.6, 1.0]),
    changefreq=st.none() | st.sampled_from(["daily", "Weekly", "often"]),
    title=st.none() | st.just("A"),
    alternates=_few(st.builds(Alternate, hreflang=st.none() | _tags, href=st.none() | _urls)),
    images=_few(st.builds(Image)),
    videos=_few(st.builds(Video)),
    news=_few(st.builds(News, publication_language=st.none() | _tags)),
    mobile=st.none() | st.booleans(),
    pagemap=_few(st.builds(DataObject)),
)
_regexes = _few(st.sampled_from(["/a", r"\d", r"b\d?$", "(?i)/a/", "(?!x)e", r"^http:", "\u00e9"]).map(re.compile))
_filters = st.fixed_dictionaries(
    {},
    optional={
        "missing_lastmod": st.booleans(),
        "unreadable_lastmod": st.booleans(),
        "future_lastmod": st.just(moment("2025-03-09T10:00:00")),
        "since": _dates.map(span),
        "until": _dates.map(span),
        "min_priority": st.sampled_from([0.4, 0.5, 0.6]),
        "max_priority": st.sampled_from([0.4, 0.5, 0.6]),
        "changefreq": st.sets(st.sampled_from(CHANGEFREQS)).map(tuple),
        "include": _regexes.map(lambda found: found or ()),
        "exclude": _regexes.map(lambda found: found or ()),
        "prefix": st.lists(st.sampled_from(["/a", "/A/", "/%C3%A9", "/"]), max_size=2).map(tuple),
        "lang": st.lists(st.sampled_from(["de", "de-at", "en"]), max_size=2).map(tuple),
        "has": st.lists(st.sampled_from(list(PARTS)), max_size=2, unique=True).map(tuple),
    },
).map(lambda given: Filters(**given))


@given(st.lists(_entries, max_size=8), _filters, st.integers(0, 3))
def test_columnar_filters_match_row_by_row_filters(rows: list[UrlEntry], filters: Filters, start: int) -> None:
    kept, counts = filters.keep(UrlBatch.of(rows).slice(min(start, len(rows))))
    verdicts = [(row, first_that_drops(row, filters)) for row in rows[start:]]
    assert list(kept.rows()) == [row for row, name in verdicts if name is None]
    names = [name for _, name in verdicts if name]
    assert counts == {name: names.count(name) for name in names}


def first_that_drops(row: UrlEntry, filters: Filters) -> str | None:  # noqa: C901, PLR0911, PLR0912 - one line a filter
    """Return the first filter that drops a row, computed without columns."""
    lastmod = span(row.lastmod_text) if row.lastmod and row.lastmod_text else None
    priority = 0.5 if row.priority is None else row.priority
    if filters.missing_lastmod and row.lastmod_text is None:
        return "missing_lastmod"
    if filters.unreadable_lastmod and row.lastmod_text == "yesterday":
        return "unreadable_lastmod"
    if filters.future_lastmod and lastmod and lastmod.first > filters.future_lastmod:
        return "future_lastmod"
    if filters.since and lastmod and lastmod.last < filters.since.first:
        return "since"
    if filters.until and lastmod and lastmod.first > filters.until.last:
        return "until"
    if filters.min_priority is not None and priority < filters.min_priority:
        return "min_priority"
    if filters.max_priority is not None and priority > filters.max_priority:
        return "max_priority"
    if filters.changefreq and (row.changefreq or "").lower() not in filters.changefreq:
        return "changefreq"
    if filters.include and not any(pattern.search(row.loc) for pattern in filters.include):
        return "include"
    if any(pattern.search(row.loc) for pattern in filters.exclude):
        return "exclude"
    if filters.prefix and not (row.key and path(row.key).startswith(filters.prefix)):
        return "prefix"
    if filters.lang and not any(map(partial(is_in, filters.lang), tags_of(row))):
        return "lang"
    if not all(getattr(row, PARTS[part]) for part in filters.has):
        return "has"
    return None


def path(key: str) -> str:
    return "/" + key.split("/", maxsplit=3)[3].partition("?")[0]


def tags_of(row: UrlEntry) -> list[str]:
    own = [one for one in row.alternates or () if row.key and one.href and url_key(one.href) == row.key]
    published = [one.hreflang for one in own] + [one.publication_language for one in row.news or ()]
    return [tag.strip().lower().replace("_", "-") for tag in published if tag]


def is_in(languages: tuple[str, ...], tag: str) -> bool:
    return any(tag == language or tag.startswith(f"{language}-") for language in languages)
