"""Pairing of removed with added URLs: mass changes by rule, and likely renames by similarity. Joins run in DuckDB.

A rule is reported only if it holds for many URLs, never guessed from a few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sitemap_harvest.diff.classify import ADDED, EXPIRED, REMOVED
from sitemap_harvest.diff.renames import renames
from sitemap_harvest.model import MassChange, Rename

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.diff.temporary_files import TemporaryFile

MIN_URLS = 20  # with fewer, a rule is no mass change: the pairs are likely renames, one by one
MIN_SHARE = 0.9  # of the remaining URLs, for lastmod; one page in ten may be new or unchanged
MIN_HOST_SHARE = 0.5  # of the removed URLs of a host: paths such as /about may match by chance
BUMPED = "lastmods-bumped"
HOST_MOVE = "host-move"
MAX_RENAMES_LOOKED_FOR = 100_000  # on either side: beyond it, a site was rebuilt, and names mean little
_MAX_SHOWN = 50
_BATCH_ROWS = 50_000
_HOST_SCORE = 0.95
_BOTH = "from pairs join gone on gone.change = pairs.gone join came on came.change = pairs.came"
_SIDES = {"gone": (REMOVED, EXPIRED), "came": (ADDED,)}
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


def is_mass(count: int, total: int, share: float = MIN_SHARE) -> bool:
    """Whether *count* of *total* are enough for a mass change."""
    return count >= MIN_URLS and count >= share * total


class Pairing:
    """The pairs among the changes of one comparison."""

    def __init__(self, connection: Any, changes: TemporaryFile) -> None:
        """Find pairs in *changes* with *connection*, to DuckDB."""
        self._connection = connection
        self._connection.execute(MACROS)
        for side, kinds in _SIDES.items():
            rows = changes.numbered(["kind", "loc", "key", "title"])
            where = f"kind in ({', '.join(map(str, kinds))}) and key is not null"
            self._fill(side, rows, f"select *, normal_form(key) as normal from arriving where {where}")  # noqa: S608
        self._fill("pairs", _PAIRS.empty_table())
        self._pair_by_rule()
        self._pair_by_host()
        self.patterns = self._mass_changes()
        self._pair_by_likeness()
        self.renames = self._best()

    def halves(self) -> Iterator[pa.RecordBatch]:
        """Yield both halves of each pair, by the number of the change (see :data:`PAIRED`)."""
        pattern = f"case when name in ({self._names()}) then name end as pattern"
        query = " union all ".join(
            f"select {side} as change, {pattern}, other.loc as counterpart, score"  # noqa: S608 - our own names
            f" from pairs join {other} as other on other.change = pairs.{other}"
            for side, other in (("gone", "came"), ("came", "gone"))
        )
        for batch in self._connection.sql(f"from ({query}) order by change").to_arrow_reader(_BATCH_ROWS):
            yield batch.cast(PAIRED)

    def _pair_by_rule(self) -> None:
        """Pair URLs with the same normal form, if it is unique on both sides."""
        only = """select any_value(change) as change, any_value(key) as key, normal from {}
            group by normal having count(*) = 1"""
        self._connection.execute(
            f"""insert into pairs select gone.change, came.change, rule(gone.key, came.key) as name, 1.0
            from ({only.format("gone")}) gone join ({only.format("came")}) came using (normal)
            where name is not null"""  # noqa: S608 - our own names
        )

    def _pair_by_host(self) -> None:
        """Pair URLs with the same path on another host, if that holds for most URLs of the host."""
        for side in _SIDES:
            self._connection.execute(
                f"""create table {side}_parts as
                select change, host(normal) as host, normal[length(host) + 1 :] as path from {side}
                where not exists (from pairs where pairs.{side} = {side}.change)"""  # noqa: S608 - our own names
            )
        only = """select any_value(change) as change, any_value(host) as host, path from {}_parts
            where path <> '' group by path having count(*) = 1"""
        self._connection.execute(
            f"""create table moves as
            select gone.change as gone, came.change as came, gone.host as before, came.host as after
            from ({only.format("gone")}) gone join ({only.format("came")}) came using (path)
            where gone.host <> came.host"""  # noqa: S608 - our own names
        )
        self._connection.execute(
            f"""create table hosts as select before, after, count(*) as pairs from moves
            join (select host as before, count(*) as urls from gone_parts group by host) using (before)
            group by before, after, urls
            having count(*) >= {MIN_URLS} and count(*) >= {MIN_HOST_SHARE} * urls"""  # noqa: S608 - our own numbers
        )
        self._connection.execute(
            f"""insert into pairs select gone, came, '{HOST_MOVE}', {_HOST_SCORE}
            from moves join hosts using (before, after)"""  # noqa: S608 - our own numbers
        )

    def _mass_changes(self) -> tuple[MassChange, ...]:
        """Return the rules that hold for many URLs, largest first. Pairs of other rules can become likely renames."""
        ((gone,),) = self._rows("select count(*) from gone")
        found = self._rows(
            f"""select name, count(*), min(gone) from pairs group by name
            having count(*) >= {MIN_URLS} order by count(*) desc, name"""  # noqa: S608 - our own number
        )
        return tuple(
            MassChange(name=name, count=count, share=round(count / gone, 4), detail=self._detail(name, count, first))
            for name, count, first in found
        )

    def _detail(self, name: str, count: int, first: int) -> str:
        ((before, after),) = self._rows(f"select gone.loc, came.loc {_BOTH} where pairs.gone = {first}")
        counted = f"{count} URLs"
        if name == HOST_MOVE:
            moves = self._rows(f"from hosts order by pairs desc, before, after limit {_MAX_SHOWN}")
            counted = ", ".join(f"{pairs} from {one} to {other}" for one, other, pairs in moves)
        return f"{counted}, such as {before} to {after}"

    def _pair_by_likeness(self) -> None:
        gone, came = (self._unpaired(side) for side in _SIDES)
        if not 0 < gone.num_rows <= MAX_RENAMES_LOOKED_FOR or not 0 < came.num_rows <= MAX_RENAMES_LOOKED_FOR:
            return
        found = renames(gone, came)
        columns = [
            gone["change"].combine_chunks().take(pa.array(found.gone)),
            came["change"].combine_chunks().take(pa.array(found.came)),
            pa.nulls(len(found.score), pa.string()),
            pa.array(found.score),
        ]
        self._fill("pairs", pa.Table.from_arrays(columns, schema=_PAIRS))

    def _unpaired(self, side: str) -> pa.Table:
        query = f"""select change, normal, title from {side} where kind <> {EXPIRED}
            and not exists (from pairs where pairs.{side} = {side}.change) order by change"""  # noqa: S608
        return self._connection.sql(query).to_arrow_table()

    def _best(self) -> tuple[Rename, ...]:
        """Return the best renames that are not part of a mass change."""
        found = self._rows(
            f"""select gone.loc, came.loc, score {_BOTH} where name is null or name not in ({self._names()})
            order by score desc, pairs.gone limit {_MAX_SHOWN}"""
        )
        return tuple(Rename(removed=removed, added=added, score=score) for removed, added, score in found)

    def _names(self) -> str:
        return ", ".join(f"'{pattern.name}'" for pattern in self.patterns) or "''"

    def _rows(self, query: str) -> list[Any]:
        return list(self._connection.execute(query).fetchall())  # all: an unfinished result blocks the connection

    def _fill(self, table: str, rows: pa.RecordBatchReader | pa.Table, query: str = "from arriving") -> None:
        """Append *rows*, the result of *query* over the table ``arriving``, to *table*, which is created if needed."""
        self._connection.register("arriving", rows.schema.empty_table())
        self._connection.execute(f"create table if not exists {table} as {query}")
        self._connection.register("arriving", rows)
        self._connection.execute(f"insert into {table} {query}")
