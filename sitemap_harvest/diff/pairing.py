"""Pairing of removed with added URLs: mass changes by rule, and likely renames by similarity. Joins run in DuckDB.

A rule is reported only if it holds for many URLs, never guessed from a few. Similarity is
a heuristic without a spec, so each pair has a score, and stays two changes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.diff.classify import ADDED, EXPIRED, REMOVED
from sitemap_harvest.model import MassChange, Rename

if TYPE_CHECKING:
    from sitemap_harvest.diff.temporary_files import TemporaryFile

MIN_URLS = 20  # with fewer, a rule is no mass change: the pairs are likely renames, one by one
MIN_SHARE = 0.9  # of the remaining URLs, for lastmod; one page in ten may be new or unchanged
MIN_HOST_SHARE = 0.5  # of the removed URLs of a host: paths such as /about may match by chance
BUMPED = "lastmods-bumped"
HOST_MOVE = "host-move"
MAX_RENAMES_LOOKED_FOR = 100_000  # on either side: beyond it, a site was rebuilt, and names mean little
MAX_COMPARED = 1000  # on either side, for the comparison by words: a million pairs take a tenth of a second
MIN_SCORE = 0.6
_HOST_SCORE = 0.95
_TITLE_SCORE = 0.8
_NAME_SCORE = 0.7  # same last segment; up to 1.0 by the words of the rest
_MIN_NAME_CHARS = 4  # shorter ones, such as page numbers, match by chance
_MAX_SHOWN = 50
_BATCH_ROWS = 50_000
_WORD = re.compile(r"[^\W_]+")
_PAIRS = pa.schema({"gone": pa.int64(), "came": pa.int64(), "name": pa.string(), "score": pa.float64()})
PAIRED = pa.schema({"change": pa.int64(), "pattern": pa.string(), "counterpart": pa.string(), "score": pa.float64()})
"""One half of a pair, by the number of the change."""

MACROS = r"""
create macro bare(path) as if(contains(path, '?') or contains(path, '#'),
    regexp_replace(path, '^([^?#]+)/([?#].*)?$', '\1\2'), if(ends_with(path, '/'), path[:-2], path));
create macro normal_form(key) as bare(regexp_replace(key, '^(https://)?(http://)?(www[.])?', ''));
create macro has_www(key) as starts_with(key, 'https://www.') or starts_with(key, 'http://www.');
create macro has_slash(key) as regexp_matches(key, '^[^?#]+/([?#].*)?$');
create macro either(was, now, came, went) as case when now and not was then came when was and not now then went end;
create macro rule(before, after) as nullif(concat_ws('+',
    either(starts_with(before, 'https:'), starts_with(after, 'https:'), 'http-to-https', 'https-to-http'),
    either(has_www(before), has_www(after), 'www-added', 'www-removed'),
    either(has_slash(before), has_slash(after), 'slash-added', 'slash-removed')), '');
create macro host(normal) as regexp_extract(normal, '^[^/?#]*');
"""
"""Functions of keys in SQL. A normal form is a key without scheme, ``www.`` and the trailing slash of the path:
migrations do not change the rest. A rule, such as ``http-to-https``, turns one key into the other with the same normal
form; several are joined by ``+``. A host may have a port: a move to another host does not change the rest."""
_PAIR_BY_RULE = f"""
create table urls as select change, kind, kind = {ADDED} as is_new, loc, key, title, normal_form(key) as normal
    from arriving where kind in ({ADDED}, {REMOVED}, {EXPIRED}) and key is not null;
create table same_form as
    select max(change) filter (not is_new) as gone, max(change) filter (is_new) as came
    from urls group by normal having count(*) = 2 and count_if(is_new) = 1;
create table pairs as select gone, came, rule(one.key, other.key) as name, 1.0::double as score
    from same_form join urls as one on one.change = gone join urls as other on other.change = came
    where name is not null;
create view unpaired as
    from urls anti join (select gone as change from pairs union all select came from pairs) using (change);
create table parts as select change, is_new, host(normal) as host, normal[length(host) + 1 :] as path from unpaired;
create table moves as
    select max(change) filter (not is_new) as gone, max(change) filter (is_new) as came,
        max(host) filter (not is_new) as before, max(host) filter (is_new) as after
    from parts where path <> '' group by path having count(*) = 2 and count_if(is_new) = 1 and before <> after;
create table hosts as select before, after, count(*) as pairs
    from moves join (select host as before, count(*) as urls from parts where not is_new group by host) using (before)
    group by before, after, urls having count(*) >= {MIN_URLS} and count(*) >= {MIN_HOST_SHARE} * urls;
insert into pairs select gone, came, '{HOST_MOVE}', {_HOST_SCORE} from moves join hosts using (before, after);
"""  # noqa: S608 - our own numbers
"""Pairs of URLs with the same normal form, then of URLs with the same path on another host if that holds for most URLs
of the host; each if the normal form, or the path, is unique on both sides."""
_BOTH = "from pairs join urls as gone on gone.change = pairs.gone join urls as came on came.change = pairs.came"


def is_mass(count: int, total: int, share: float = MIN_SHARE) -> bool:
    """Whether *count* of *total* are enough for a mass change."""
    return count >= MIN_URLS and count >= share * total


def pair(changes: TemporaryFile, pairs: TemporaryFile, connection: Any) -> tuple[list[MassChange], tuple[Rename, ...]]:
    """Find pairs among *changes*, write both halves of each to *pairs* by change, and return what they amount to.

    That is: the mass changes, and the best renames that are not part of one. *connection*
    is one to DuckDB.
    """
    connection.execute(MACROS)
    connection.register("arriving", changes.reader(["change", "kind", "loc", "key", "title"]))
    connection.execute(_PAIR_BY_RULE)
    patterns = _mass_changes(connection)
    names = ", ".join(f"'{pattern.name}'" for pattern in patterns) or "''"
    _pair_by_likeness(connection)
    best = _rows(
        connection,
        f"""select gone.loc, came.loc, score {_BOTH} where name is null or name not in ({names})
        order by score desc, pairs.gone limit {_MAX_SHOWN}""",
    )
    halves = " union all ".join(
        f"select {side} as change, case when name in ({names}) then name end as pattern, loc as counterpart, score"  # noqa: S608
        f" from pairs join urls on change = {other}"
        for side, other in (("gone", "came"), ("came", "gone"))
    )
    for batch in connection.sql(f"from ({halves}) order by change").to_arrow_reader(_BATCH_ROWS):
        pairs.add(batch.cast(PAIRED))
    return patterns, tuple(Rename(removed=removed, added=added, score=score) for removed, added, score in best)


def _mass_changes(connection: Any) -> list[MassChange]:
    """Return the rules that hold for many URLs, largest first. Pairs of other rules can become likely renames."""
    ((gone,),) = _rows(connection, "select count(*) from urls where not is_new")
    found = []
    for name, count, first in _rows(
        connection,
        f"""select name, count(*), min(gone) from pairs group by name
        having count(*) >= {MIN_URLS} order by count(*) desc, name""",  # noqa: S608 - our own number
    ):
        moves = []
        if name == HOST_MOVE:
            moves = _rows(connection, f"from hosts order by pairs desc, before, after limit {_MAX_SHOWN}")
        ((before, after),) = _rows(connection, f"select gone.loc, came.loc {_BOTH} where pairs.gone = {first}")
        hosts = [f"{pairs:,} from {one} to {other}" for one, other, pairs in moves]
        detail = ", ".join([*hosts, f"such as {before} to {after}"])
        found.append(MassChange(name=name, count=count, share=round(count / gone, 4), detail=detail))
    return found


def _pair_by_likeness(connection: Any) -> None:
    """Add likely renames among the other URLs to the table ``pairs``, unless there are too many."""
    sides = [
        connection.sql(f"select change, normal, title from unpaired where {which} order by change").to_arrow_table()  # noqa: S608
        for which in (f"kind = {REMOVED}", "is_new")
    ]
    if not all(0 < side.num_rows <= MAX_RENAMES_LOOKED_FOR for side in sides):
        return
    found = renames(*sides)
    gone, came = (
        side["change"].combine_chunks().take(pa.array(rows)) for side, rows in zip(sides, found[:2], strict=True)
    )
    columns = [gone, came, pa.nulls(len(gone), pa.string()), pa.array(found.score)]
    connection.register("likely", pa.Table.from_arrays(columns, schema=_PAIRS))
    connection.execute("insert into pairs from likely")


def _rows(connection: Any, query: str) -> list[Any]:
    return list(connection.execute(query).fetchall())  # all: an unfinished result blocks the connection


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
