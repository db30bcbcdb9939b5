from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from sitemap_harvest import Limits, Problem, Sample, SitemapRef
from sitemap_harvest.formats import collector as module
from sitemap_harvest.formats.collector import Collector, LimitReached
from sitemap_harvest.model import CATALOGUE, MAX_ROWS, FoundBy
from tests.documents import HERE, collected, collector, log, noted


def test_equal_problems_are_one_with_a_count_and_five_samples() -> None:
    problems = log()
    for number in range(7):
        problems.add("loc/empty", entry=number, excerpt="x" * 300)
    problems.add("xml/doctype", "in words", line=3, count=2)
    samples = tuple(Sample(entry=number, excerpt="x" * 200) for number in range(5))
    assert problems.all() == (
        Problem(code="loc/empty", document=HERE, detail=CATALOGUE["loc/empty"].meaning, count=7, samples=samples),
        Problem(code="xml/doctype", document=HERE, detail="in words", count=2, samples=(Sample(line=3),)),
    )
    assert not problems.lost_something


def test_a_problem_that_is_not_in_the_catalogue_is_a_bug() -> None:
    with pytest.raises(KeyError):
        log().add("no/such-code")


def test_flaws_of_a_batch_are_counted_and_sampled() -> None:
    into = collector()
    for number in range(1, 9):
        into.add(number, f"/{number}", "yesterday", None, "9")
    rows = collected(into, iter(()))
    assert [row.loc for row in rows] == [f"https://example.com/{number}" for number in range(1, 9)]
    assert noted(into.problems) == {"loc/relative": 8, "lastmod/unreadable": 8, "priority/unreadable": 8}
    assert [len(problem.samples) for problem in into.problems.all()] == [5, 5, 5]


def test_other_date_forms_are_read_and_noted_except_those_of_the_format() -> None:
    for w3c_dates, problems in ((True, {"lastmod/not-w3c": 2}), (False, {})):
        into = Collector(document=HERE, base=HERE, limits=Limits(), w3c_dates=w3c_dates)
        into.refer(1, "https://example.com/b", "Thu, 03 Nov 2016 10:00:00 GMT" if w3c_dates else "2016-11-03")
        into.add(2, "https://example.com/a", "Thu, 03 Nov 2016 10:00:00 GMT")
        into.add(3, "https://example.com/c", "2016-11-03")
        rows = collected(into, iter(()))
        assert [row.lastmod and row.lastmod.isoformat() for row in rows] == [
            "2016-11-03T10:00:00+00:00",
            "2016-11-03T00:00:00+00:00",
        ]
        assert noted(into.problems) == problems


def test_a_batch_is_emitted_when_it_is_full() -> None:
    into = collector()
    for number in range(MAX_ROWS - 1):
        into.add(number, "https://example.com/")
    assert (into.is_full, list(into.full_batches())) == (False, [])
    into.add(MAX_ROWS, "https://example.com/")
    assert into.is_full
    assert [len(batch) for batch in into.full_batches()] == [MAX_ROWS]
    assert list(into.last_batches()) == []


def test_entries_after_the_limit_are_ignored() -> None:
    into = collector(urls=2)
    into.add(1, "https://example.com/a")
    into.refer(2, "https://example.com/b")
    with pytest.raises(LimitReached):
        into.add(3, "https://example.com/c")
    assert [row.position for row in collected(into, iter(()))] == [1]
    assert list(into.refs) == [SitemapRef(loc="https://example.com/b", position=2)]
    assert noted(into.problems) == {"document/too-many-urls": 1}
    assert into.problems.lost_something


def test_sitemaps_after_the_limit_are_ignored() -> None:
    into = collector(sitemaps=2)
    into.refer(1, "https://example.com/1.xml")
    into.hint("https://example.com/2.xml", FoundBy.FEED_LINK)
    into.hint("https://example.com/2.xml", FoundBy.FEED_LINK)
    into.add(2, "https://example.com/a")
    for name_one in (lambda: into.refer(3, "/3.xml"), lambda: into.hint("/3.xml", FoundBy.FEED_LINK)):
        with pytest.raises(LimitReached):
            name_one()
    assert [reference.loc for reference in (*into.refs, *into.hints.values())] == [
        "https://example.com/1.xml",
        "https://example.com/2.xml",
    ]
    assert noted(into.problems) == {"document/too-many-sitemaps": 2}
    assert into.problems.lost_something


def test_no_columns_are_added_beyond_the_limit() -> None:
    into = collector(urls=3)
    with pytest.raises(LimitReached):
        into.apart(4)
    assert noted(into.problems) == {}
    into.apart(3)


def test_entries_read_apart_are_in_their_place_among_the_columns() -> None:
    into = collector()
    apart = into.apart(3)
    apart.add(2, "https://example.com/2", "2025-03-09", more={"images": [{"loc": "/2.png"}]})
    apart.add(2, "https://example.com/2b")
    apart.problems.add("loc/repeated", entry=2)
    texts = {
        "position": pa.array([1, 3, 4]),
        "loc": pa.array([f"https://example.com/{n}" for n in (1, 3, 4)]),
        "priority": pa.array(["0.5", None, "high"]),
    }
    rows = collected(into, into.add_columns(texts, apart))
    assert [(row.position, row.loc, row.lastmod_text, row.priority) for row in rows] == [
        (1, "https://example.com/1", None, 0.5),
        (2, "https://example.com/2", "2025-03-09", None),
        (2, "https://example.com/2b", None, None),
        (3, "https://example.com/3", None, None),
        (4, "https://example.com/4", None, None),
    ]
    assert [[image.loc for image in row.images or ()] for row in rows] == [[], ["/2.png"], [], [], []]
    assert noted(into.problems) == {"loc/repeated": 1, "priority/unreadable": 1}


def test_whitespace_around_values_is_ignored() -> None:
    into = collector()
    into.add(1, " https://example.com/ ", " 2025-03-09\n", "\tdaily", " 0.5 ")
    (row,) = collected(into, iter(()))
    assert (row.lastmod_text, row.changefreq, row.priority, row.loc_raw) == (
        "2025-03-09",
        "daily",
        0.5,
        " https://example.com/ ",
    )
    assert noted(into.problems) == {}


@pytest.mark.parametrize("count", [3, 2_500])
def test_references_are_returned_as_added(count: int) -> None:
    dates = {0: ("2005-01-01", datetime(2005, 1, 1, tzinfo=UTC)), 1: ("soon", None), 2: (None, None)}
    into = collector()
    for number in range(count):
        into.refer(number + 1, f"https://example.com/{number}", dates[number % 3][0])
    assert list(into.refs) == [
        SitemapRef(
            loc=f"https://example.com/{n}", position=n + 1, lastmod=dates[n % 3][1], lastmod_text=dates[n % 3][0]
        )
        for n in range(count)
    ]
    assert into.entries == count


@pytest.mark.parametrize("is_hint", [False, True], ids=["references", "hints"])
def test_sitemaps_above_the_memory_limit_are_ignored(is_hint: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_SITEMAP_BYTES", 100)
    monkeypatch.setattr(module, "_SITEMAP_BYTES", 0)
    into = collector()
    for number in range(2):
        if is_hint:
            into.hint(f"https://example.com/{number}", FoundBy.HTML_LINK)
        else:
            into.refer(number + 1, f"https://example.com/{number}")
    with pytest.raises(LimitReached):
        into.hint("https://example.com/a", FoundBy.HTML_LINK)
    assert (len(into.refs), len(into.hints)) == ((0, 2) if is_hint else (2, 0))
    assert into.problems.lost_something


def test_a_batch_with_long_addresses_is_full_earlier() -> None:
    into = collector()
    into.add(1, "https://example.com/" + "a" * module._MAX_BATCH_BYTES)
    assert into.is_full


def test_a_batch_is_full_once_much_of_the_document_was_read() -> None:
    read = iter([0, 10, module._MAX_BATCH_BYTES, module._MAX_BATCH_BYTES])
    into = Collector(document=HERE, base=HERE, limits=Limits(), bytes_read=lambda: next(read))
    into.add(1, "https://example.com/")
    assert [into.is_full, into.is_full] == [False, True]


def test_attributes_count_as_records_of_a_batch() -> None:
    into = collector()
    attributes = [{"name": "a", "value": "b"}] * module._MAX_RECORDS
    extra = [{"name": "x", "depth": 0, "text": None, "attributes": attributes}]
    into.add(1, "https://example.com/", more={"extra": extra})
    assert into.is_full


def test_a_longer_base_makes_smaller_batches_of_relative_addresses() -> None:
    base = f"https://example.com/{'b' * 1_900}/"
    into = collector(base=base)
    for number in range(3_000):
        into.add(number + 1, "a")
    sizes = [len(batch) for batch in into.last_batches()]
    assert sum(sizes) == 3_000
    assert max(sizes) * len(base) <= module._MAX_BATCH_BYTES
