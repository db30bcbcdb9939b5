from __future__ import annotations

import re
import warnings

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sitemap_harvest.filters import _is_common, found

_PLAIN = [
    *("a", "b", "k", "B", "7", "/", "-", "_", "&", "\\.", "\\/", "\\-", "\\?", ".", "\\d", "\\w", "\\D", "\\W"),
    *("[ab]", "[^a]", "[a-k/]", "[^/]", "[A-Za-z0-9-]", "[\\w-]", "[\\d.]", "[?&]", "[^\\w/]", "[a-]", "[B-Z_]"),
]
_ODD = [
    *("ä", "\\s", "\\S", "\\x61", "\\u00e4", "\\n", "\\1", "\\_", " ", "{", "}", "]", "\n", "\\B", "\\A", "\\Z"),
    *("[]a]", "[%ä]", "[\\W]", "[[:alpha:]]", "[a&&b]", "[^\\D]", "[\\s]", "[B-a]", "a{,2}", "a*+", "a{1001}"),
]
_REPEATS = ["", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,}", "{0}", "{2}?"]
_GROUPS = ["({})", "(?:{})", "(?:{})?", "({})??"]
_ODD_GROUPS = ["(?={})", "(?!{})", "(?<=a){}", "(?P<n>{})", "(?i:{})", "(?:{})*", "({})+?", "(?:{}){{2}}", "(?>{})"]


def _patterns_of(atoms: list[str], groups: list[str], flags: list[str]) -> st.SearchStrategy[str]:
    """Return a strategy of texts that are mostly regular expressions."""
    repeated = st.builds(str.__add__, st.sampled_from(atoms), st.sampled_from(_REPEATS))
    bodies = st.recursive(
        st.lists(repeated | st.sampled_from(["^", "$", "\\b"]), max_size=4).map("".join),
        lambda inner: (
            st.builds("{}|{}".format, inner, inner)
            | st.builds("{}{}".format, inner, inner)
            | st.builds(str.format, st.sampled_from(groups), inner)
        ),
        max_leaves=4,
    )
    return st.builds(str.__add__, st.sampled_from(flags), bodies)


_common = _patterns_of(_PLAIN, _GROUPS, ["", "(?i)"])
_any = _patterns_of(_PLAIN + _ODD, _GROUPS + _ODD_GROUPS, ["", "(?i)", "(?s)", "(?m)", "(?a)", "(?x)"])
_texts = st.text("abkBAK7/-_&.?%:[]{} \t\n\v\x1c\x00äÄ٣\u212a\u017f\u2028", max_size=8)


@given(_common | _any, st.lists(_texts, max_size=5), st.sampled_from([0, 0, 0, re.IGNORECASE, re.MULTILINE, re.ASCII]))
def test_matches_are_those_of_python(text: str, texts: list[str], flags: int) -> None:
    pattern = compiled(text, flags)
    hits = found(pa.array(texts, pa.string()), pattern)
    assert hits.to_pylist() == [pattern.search(one) is not None for one in texts]


def compiled(text: str, flags: int = 0) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of character classes that Python may change
        try:
            return re.compile(text, flags)
        except (re.error, ValueError):
            assume(False)
            raise


@pytest.mark.parametrize(
    ("pattern", "is_quick"),
    [
        pytest.param("/blog/", True, id="words"),
        pytest.param(r"/\d{4}/\d\d/[\w-]+\.html$", True, id="usual"),
        pytest.param(r"(?i)^https://(?:www\.)?example\.com/(blog|shop)/", True, id="groups"),
        pytest.param(r"[?&](?:utm_\w+|page)=", True, id="query"),
        pytest.param(r"/(?!blog/)", False, id="look-ahead"),
        pytest.param(r"/(\w+)/\1/", False, id="back-reference"),
        pytest.param(r"\s", False, id="whitespace-differs-in-re2"),
        pytest.param("a{,2}", False, id="is-no-repetition-there"),
        pytest.param("(a|)*b", False, id="repeated-group"),
        pytest.param("a{1001}", False, id="too-often-for-it"),
        pytest.param("(?m)^a", False, id="flag"),
        pytest.param("caf\u00e9", False, id="not-ascii"),
    ],
)
def test_only_patterns_with_the_same_meaning_are_left_to_re2(pattern: str, is_quick: bool) -> None:
    assert _is_common(re.compile(pattern)) is is_quick


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        pytest.param(r"/\d/", "https://example.com/\u0663/", id="digit-of-another-script"),
        pytest.param(r"/a$", "https://example.com/a\n", id="end-before-a-line-feed"),
        pytest.param(r"caf\w$", "https://example.com/caf\u00e9", id="letter-of-latin-1"),
        pytest.param(r"(?i)/k", "https://example.com/\u212a", id="kelvin"),
    ],
)
def test_patterns_that_re2_matches_differently_are_found(pattern: str, text: str) -> None:
    assert found(pa.array(["https://example.com/", text]), re.compile(pattern)).to_pylist() == [False, True]
