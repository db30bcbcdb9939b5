"""Pairing of removed with added URLs: mass changes by rule, and likely renames by similarity. Joins run in DuckDB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.diff.classify import ADDED, EXPIRED, REMOVED
from sitemap_harvest.diff.patterns import HOST, HOST_MOVE, MIN_HOST_SHARE, MIN_URLS, normal_forms, rules
from sitemap_harvest.diff.renames import renames
from sitemap_harvest.diff.temporary_file import TemporaryFile
from sitemap_harvest.model import MassChange, Rename

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.diff.touched_rows import Work

MAX_RENAMES_LOOKED_FOR = 100_000  # on either side: beyond it, a site was rebuilt, and names mean little
_MAX_TOLD = 50
_BATCH_ROWS = 50_000
_HOST_SCORE = 0.95
_BOTH = "from pairs join gone on gone.change = pairs.gone join came on came.change = pairs.came"
_SIDES = {"gone": (REMOVED, EXPIRED), "came": (ADDED,)}
_COLUMNS = ["kind", "loc", "key", "title"]
_NARROW = pa.schema(
    {name: pa.string() for name in _COLUMNS} | {"change": pa.int64(), "kind": pa.int8(), "normal": pa.string()}
)
_PAIRS = pa.schema({"gone": pa.int64(), "came": pa.int64(), "name": pa.string(), "score": pa.float64()})
PAIRED = pa.schema({"change": pa.int64(), "pattern": pa.string(), "counterpart": pa.string(), "score": pa.float64()})
"""One half of a pair, by the number of the change."""


class Pairing:
    """The pairs among the changes of one comparison."""

    def __init__(self, work: Work, changes: TemporaryFile) -> None:
        """Find pairs in *changes*."""
        self._connection = work.duckdb
        self._folder = work.folder
        for side, kinds in _SIDES.items():
            narrow = (_narrow(batch, kinds) for batch in changes.numbered(_COLUMNS))
            self._fill(side, pa.RecordBatchReader.from_batches(_NARROW, narrow))
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
        reader = self._connection.sql(
            f"""select gone.change as gone, came.change as came, gone.key as before, came.key as after
            from ({only.format("gone")}) gone join ({only.format("came")}) came using (normal)"""  # noqa: S608
        ).to_arrow_reader(_BATCH_ROWS)
        # A connection cannot read and write at the same time.
        found = TemporaryFile(self._folder / "rules.arrow", _PAIRS)
        for batch in reader:
            names = rules(batch["before"], batch["after"])
            columns = [batch["gone"], batch["came"], names, pa.repeat(1.0, len(names))]
            found.add(pa.RecordBatch.from_arrays(columns, schema=_PAIRS).filter(names.is_valid()))
        found.close()
        self._fill("pairs", pa.RecordBatchReader.from_batches(_PAIRS, found.batches()))

    def _pair_by_host(self) -> None:
        """Pair URLs with the same path on another host, if that holds for most URLs of the host."""
        parts = f"regexp_extract(normal, '{HOST}') as host, regexp_replace(normal, '{HOST}', '') as path"
        for side in _SIDES:
            self._connection.execute(
                f"""create table {side}_parts as select change, {parts} from {side}
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
        told = f"{count} URLs"
        if name == HOST_MOVE:
            moves = self._rows(f"from hosts order by pairs desc, before, after limit {_MAX_TOLD}")
            told = ", ".join(f"{pairs} from {one} to {other}" for one, other, pairs in moves)
        return f"{told}, such as {before} to {after}"

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
            order by score desc, pairs.gone limit {_MAX_TOLD}"""
        )
        return tuple(Rename(removed=removed, added=added, score=score) for removed, added, score in found)

    def _names(self) -> str:
        return ", ".join(f"'{pattern.name}'" for pattern in self.patterns) or "''"

    def _rows(self, query: str) -> list[Any]:
        return list(self._connection.execute(query).fetchall())  # all: an unfinished result blocks the connection

    def _fill(self, table: str, rows: pa.RecordBatchReader | pa.Table) -> None:
        """Append *rows* to *table*, which is created if needed."""
        self._connection.register("arriving", rows.schema.empty_table())
        self._connection.execute(f"create table if not exists {table} as from arriving")
        self._connection.register("arriving", rows)
        self._connection.execute(f"insert into {table} from arriving")


def _narrow(batch: pa.RecordBatch, kinds: tuple[int, ...]) -> pa.RecordBatch:
    """Return the changes of *batch* that are of *kinds*, with the columns used for pairing."""
    mask = pc.is_in(batch["kind"], pa.array(kinds, pa.int8()))
    batch = batch.filter(pc.and_(mask, batch["key"].is_valid()))
    columns = [batch[name] for name in _COLUMNS]
    return pa.RecordBatch.from_arrays([*columns, batch["change"], normal_forms(batch["key"])], schema=_NARROW)
