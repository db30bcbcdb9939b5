from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest import Kind, Limits, UrlEntry, read
from sitemap_harvest.formats.feeds.json import Cutter
from tests.documents import HERE, codes, fixture_bytes, locs, log

A = "https://example.com/a"
VERSION = '"version": "https://jsonfeed.org/version/1.1"'
NO_LINK = {"feed/no-link": 1, "document/no-entries": 1}


def feed(*items: str, head: str = VERSION, behind: str = "}") -> bytes:
    return f'{{{head}, "items": [{", ".join(items)}]{behind}'.encode()


def one(**names: Any) -> UrlEntry:
    return next(read(feed(json.dumps(names)), url=HERE).rows())


@pytest.mark.parametrize(
    ("item", "urls", "problems"),
    [
        pytest.param(f'{{"url": "{A}"}}', [A], {}, id="url"),
        pytest.param(f'{{"url": "{A}", "id": "https://example.com/id"}}', [A], {}, id="url-before-id"),
        pytest.param(r'{"url": "https:\/\/example.com\/\u0061"}', [A], {}, id="escapes"),
        pytest.param(f'{{"id": "{A}"}}', [A], {}, id="id"),
        pytest.param('{"id": "a"}', [], NO_LINK, id="id-is-no-url"),
        pytest.param('{"id": 7, "url": null}', [], NO_LINK, id="no-text"),
        pytest.param(f'{{"external_url": "{A}"}}', [], NO_LINK, id="another-page"),
        pytest.param('{"url": "/a"}', [A], {"loc/relative": 1}, id="relative"),
        pytest.param(f'{{"url": "/b", "url": "{A}"}}', [A], {"json/repeated-name": 1}, id="repeated"),
        pytest.param(
            r'{"url": "https://example.com/\ud800"}',
            ["https://example.com/\\ud800"],
            {"json/lone-surrogate": 1},
            id="half-of-a-character",
        ),
        pytest.param(f'{{"url": "{A}", "\\udc00": "\\ud800"}}', [A], {"json/lone-surrogate": 1}, id="in-a-name"),
        pytest.param(f'{{"url": "{A}", "n": {"9" * 5000}, "f": 1e999, "x": NaN}}', [A], {}, id="huge-numbers"),
        pytest.param(f'{{"url": "{A}", "t": "a\nb"}}', [A], {"json/control-character": 1}, id="line-in-a-text"),
        pytest.param(f'{{"url": "{A}" "t": 1}}', [], {"json/malformed": 1, "document/no-entries": 1}, id="no-comma"),
        pytest.param(
            f'{{"url": "{A}", "x": {"[" * 100_000}{"]" * 100_000}}}',
            [],
            {"json/malformed": 1, "document/no-entries": 1},
            id="too-deep-to-be-read",
        ),
        pytest.param(
            f'{{"url": "{A}", "x": {"[" * 90}1{"]" * 90}}}', [A], {"json/malformed": 1}, id="too-deep-to-be-kept"
        ),
        pytest.param(f'"{A}"', [], {"json/malformed": 1, "document/no-entries": 1}, id="text-for-an-item"),
        pytest.param(f'{{"url": "{A}"}},', [A], {"json/malformed": 1}, id="comma-behind-the-last"),
        pytest.param(f'{{"url": "{A}"}} {{"url": "{A}"}}', [A, A], {"json/malformed": 1}, id="no-comma-between"),
        pytest.param(f'{{"url": "{A}"]}}', [], {"json/malformed": 2, "document/no-entries": 1}, id="wrong-bracket"),
        pytest.param(
            f'{{"url": "{A}", "t": "{"x" * 4_200_000}"}}',
            [],
            {"json/malformed": 1, "document/no-entries": 1},
            id="too-long",
        ),
    ],
)
def test_items(item: str, urls: list[str], problems: dict[str, int]) -> None:
    document = read(feed(item), url=HERE)
    assert locs(document) == urls
    assert codes(document) == problems


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        pytest.param(feed(f'{{"url": "{A}"}}', behind="} x"), {"json/malformed": 1}, id="junk-behind"),
        pytest.param(feed(f'{{"url": "{A}"}}', behind=", }"), {"json/malformed": 1}, id="comma-at-the-end"),
        pytest.param(feed(f'{{"url": "{A}"}}', behind=""), {"json/truncated": 1}, id="cut-behind-the-items"),
        pytest.param(feed(f'{{"url": "{A}"}}', behind=', "t": "\\'), {"json/truncated": 1}, id="cut-in-an-escape"),
        pytest.param(
            feed(f'{{"url": "{A}"}}', '{"url": "b').removesuffix(b"]}"), {"json/truncated": 1}, id="cut-in-an-item"
        ),
        pytest.param(feed(f'{{"url": "{A}"}}', behind=f', "x": [{{"items": [{{"url": "{A}b"}}]}}]}}'), {}, id="deeper"),
        pytest.param(b"\xef\xbb\xbf" + feed(f'{{"url": "{A}"}}'), {}, id="mark"),
        pytest.param(feed(f'{{"url": "{A}"}}').decode().encode("utf-16"), {}, id="utf-16"),
        pytest.param(
            feed(f'{{"url": "{A}"}}', head=f'{VERSION}, "t": "\\"items\\": [{{"'), {}, id="brackets-in-a-text"
        ),
    ],
)
def test_text_around_items_is_ignored(body: bytes, problems: dict[str, int]) -> None:
    document = read(body, url=HERE)
    assert document.kind is Kind.FEED
    assert locs(document) == [A]
    assert codes(document) == problems
    assert document.complete is not bool(problems)


def test_dates_and_title() -> None:
    entry = one(url=A, title=" T ", date_published="2025-01-01", date_modified="2025-01-02")
    assert (entry.title, entry.lastmod_text) == ("T", "2025-01-02")
    assert one(url=A, date_published="2025-01-01").lastmod_text == "2025-01-01"


def test_other_members_of_an_item_are_kept_by_name_except_the_text_of_the_page() -> None:
    entry = one(
        url=A,
        id="1",
        content_html="<p>",
        content_text="p",
        summary="s",
        tags=["x", "y"],
        authors=[{"name": "N"}],
        n=None,
    )
    assert [(extra.name, extra.depth, extra.text) for extra in entry.extra or ()] == [
        ("id", 0, "1"),
        ("tags", 0, "x"),
        ("tags", 0, "y"),
        ("authors", 0, None),
        ("name", 1, "N"),
    ]


def test_numbers_are_kept_as_written() -> None:
    document = read(feed(f'{{"url": "{A}", "n": 4.50, "big": 1e999, "yes": true}}'), url=HERE)
    assert [extra.text for row in document.rows() for extra in row.extra or ()] == ["4.50", "1e999", "true"]


@pytest.mark.deep
def test_a_feed_cut_at_any_byte_yields_no_invented_url() -> None:
    body = fixture_bytes("feeds/feed.json")
    whole = set(locs(read(body, url=HERE)))
    for cut in range(len(body.rstrip())):
        document = read(body[:cut], url=HERE)
        assert set(locs(document)) <= whole, cut
        assert not document.complete, cut


def test_the_url_limit_is_kept() -> None:
    document = read(feed(*[f'{{"url": "{A}"}}'] * 3), url=HERE, limits=Limits(urls=2))
    assert (len(locs(document)), codes(document)) == (2, {"document/too-many-urls": 1})


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='ab"\\{}[],:\n'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
items = st.lists(st.dictionaries(st.text(alphabet='ab"\\{}[]', max_size=3), values, max_size=3), max_size=4)


@given(items, values, st.integers(1, 9), st.sampled_from([None, 1]))
def test_items_are_split_as_by_a_json_parser(found: list[Any], other: Any, size: int, indent: int | None) -> None:
    text = json.dumps({"x": other, "items": found, "y": other}, indent=indent)
    problems = log()
    cut = Cutter(iter([text[start : start + size] for start in range(0, len(text), size)]), problems)
    assert [json.loads(item.text or "") for item in cut] == found
    assert problems.all() == ()


@given(st.text(alphabet='{}[]":,\\ab \n', max_size=60))
def test_nothing_raises(text: str) -> None:
    document = read(f'{{{VERSION}, "items": [{text}'.encode(), url=HERE)
    assert isinstance(document.problems, tuple)
    assert not document.complete or text.count("]")


def test_an_item_with_too_many_values_is_left_out() -> None:
    items = '{"url":"https://example.com/a","x":[' + "1," * 300_000 + '1]},{"url":"https://example.com/b"}'
    document = read(f'{{"version":"https://jsonfeed.org/version/1","items":[{items}]}}'.encode(), url=HERE)
    assert (locs(document), codes(document)) == (["https://example.com/b"], {"json/malformed": 1})
