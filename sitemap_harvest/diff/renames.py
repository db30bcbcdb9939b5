"""Likely renames: pairs of a removed and an added URL that look like the same page. Pure functions of columns.

A heuristic without a spec. So each pair has a score, and stays two changes.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MAX_COMPARED = 1000  # on either side, for the comparison by words: a million pairs take a tenth of a second
MIN_SCORE = 0.6
_NAME_SCORE = 0.7  # same last segment; up to 1.0 by the words of the rest
_TITLE_SCORE = 0.8
_MIN_NAME_CHARS = 4  # shorter ones, such as page numbers, match by chance

_WORD = re.compile(r"[^\W_]+")


class Pairs(NamedTuple):
    """Pairs of a removed and an added URL: indices into the given columns, and scores from 0 to 1."""

    gone: np.ndarray
    came: np.ndarray
    score: np.ndarray


def last_segments(normal: pa.StringArray) -> pa.StringArray:
    """Return the last path segment of normal forms; null if it is too short or too generic."""
    name = pc.struct_field(pc.extract_regex(normal, r"^[^/?#]*/(?:[^?#]*/)?(?P<name>[^/?#]+)(?:[?#].*)?$"), "name")
    says_much = pc.and_(
        pc.greater_equal(pc.utf8_length(name), _MIN_NAME_CHARS),
        pc.invert(pc.match_substring_regex(name, r"^(?:index|default|home)\.[a-z0-9]+$|^[0-9]{1,4}$")),
    )
    return pc.if_else(says_much, name, pa.scalar(None, pa.string()))


def renames(gone: pa.Table, came: pa.Table) -> Pairs:
    """Return likely renames. Both tables have ``normal`` (normal form of the key) and ``title``.

    A URL is in at most one pair. First come pairs with the same last segment, then with
    the same title, if it is unique on both sides; then pairs with similar words, rare
    words counting more, unless there are too many.
    """
    is_free = np.ones(gone.num_rows, dtype=bool), np.ones(came.num_rows, dtype=bool)
    parts: list[Pairs] = []

    def add(one: np.ndarray, other: np.ndarray, score: np.ndarray) -> None:
        wanted = is_free[0][one] & is_free[1][other]
        parts.append(Pairs(one[wanted], other[wanted], score[wanted]))
        is_free[0][one[wanted]] = is_free[1][other[wanted]] = False

    one, other = same_and_only(*(last_segments(table["normal"].combine_chunks()) for table in (gone, came)))
    words = zip(_words(gone, one), _words(came, other), strict=True)
    rest = [len(left & right) / max(1, len(left | right)) for left, right in words]
    add(one, other, _NAME_SCORE + (1 - _NAME_SCORE) * np.array(rest, dtype=np.float64))
    one, other = same_and_only(*(table["title"].combine_chunks() for table in (gone, came)))
    add(one, other, np.full(len(one), _TITLE_SCORE))
    free = [np.flatnonzero(side) for side in is_free]
    if all(0 < len(side) <= MAX_COMPARED for side in free):
        one, other, score = _alike(_words(gone, free[0]), _words(came, free[1]))
        add(free[0][one], free[1][other], score)
    joined = Pairs(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    order = np.argsort(joined.gone, kind="stable")
    return Pairs(*(column[order] for column in joined))


def same_and_only(one: pa.StringArray, other: pa.StringArray) -> tuple[np.ndarray, np.ndarray]:
    """Return where the two have the same text, if it is unique in both."""
    encoded = pa.chunked_array([one, other]).dictionary_encode().unify_dictionaries()
    codes = [chunk.indices.fill_null(-1).to_numpy() for chunk in encoded.chunks]
    once = [_once(part) for part in codes]
    found = np.intersect1d(codes[0][once[0]], codes[1][once[1]], return_indices=True)
    return once[0][found[1]], once[1][found[2]]


def _once(codes: np.ndarray) -> np.ndarray:
    values, first, count = np.unique(codes, return_index=True, return_counts=True)
    return np.asarray(first[(count == 1) & (values >= 0)])


def _words(table: pa.Table, rows: np.ndarray) -> list[set[str]]:
    """Return the words of the path and the query of each of *rows*."""
    texts = table["normal"].take(pa.array(rows)).to_pylist()
    return [set(_WORD.findall(text.partition("/")[2].lower())) for text in texts]


def _alike(gone: list[set[str]], came: list[set[str]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pairs that are each other's best match, and their scores: weight of shared words by weight of all words.

    If the words with digits differ, the URLs are two pages of one template.
    """
    numbers = {word: number for number, word in enumerate(sorted(set().union(*gone, *came)))}
    left, right = _matrix(gone, numbers), _matrix(came, numbers)
    weight = np.log1p((len(gone) + len(came)) / (left.sum(axis=0) + right.sum(axis=0)))
    shared = (left * weight) @ right.T
    score = shared / ((left @ weight)[:, None] + (right @ weight)[None, :] - shared + np.float32(1e-9))
    has_digit = np.array([any(map(str.isdigit, word)) for word in numbers], dtype=bool)
    left, right = left[:, has_digit], right[:, has_digit]
    score[left.sum(axis=1)[:, None] + right.sum(axis=1)[None, :] != 2 * (left @ right.T)] = 0  # other sets
    best, best_back = score.argmax(axis=1), score.argmax(axis=0)
    one = np.flatnonzero(best_back[best] == np.arange(len(gone)))
    one = one[score[one, best[one]] >= MIN_SCORE]
    return one, best[one], np.round(score[one, best[one]].astype(np.float64), 3)


def _matrix(words: list[set[str]], numbers: dict[str, int]) -> np.ndarray:
    """Return a matrix with a row for each set and a column for each word: 1 if the set has the word."""
    matrix = np.zeros((len(words), len(numbers)), dtype=np.float32)
    for row, found in enumerate(words):
        matrix[row, [numbers[word] for word in found]] = 1
    return matrix
