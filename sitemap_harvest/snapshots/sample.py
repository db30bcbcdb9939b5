"""``PageSample``: a random sample of the URLs that a snapshot lists, proportional to sitemaps and ages.

A systematic sample: the different pages are sorted by sitemap, by age class, and then at
random. Every n-th of them is in the sample, from a random start. So each URL is in the
sample with the same probability, and each sitemap and each age class has its share of
the sample, give or take one URL. Shares of the sample therefore estimate shares of the
site without weights.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.snapshots.store import Snapshot

_PORTION = 100_000  # URLs in memory at a time
_SLICE_ROWS = 500  # as Python objects
_BATCH_ROWS = 100_000
_NONE = np.empty(0, dtype=np.int64)
MAY_BE_REQUESTED = "(coalesce(regexp_matches(key, '^https?:'), false) and scope_reason is distinct from 'host')"
"""The SQL condition of the URLs that a sample may contain: http or https, on the host of the document."""
_FACTS = f"""
    {MAY_BE_REQUESTED} as is_wanted, sitemap,
    md5_number_lower({{seed}} || ' ' || split_part(key, '#', 1)) as number,
    case when lastmod > timestamptz '{{time}}' - interval 30 day then 0
         when lastmod > timestamptz '{{time}}' - interval 365 day then 1
         when lastmod is not null then 2 else 3 end::integer as age
"""
_AGES = 4


class SampledPage(NamedTuple):
    """One URL of the sample."""

    loc: str
    """As listed for the first time."""
    key: str
    sitemap: str
    """The document that lists it first."""


class PageSample:
    """The sample of one snapshot: always the same for the same size and seed."""

    def __init__(self, snapshot: Snapshot, *, size: int, seed: int) -> None:
        """Choose up to *size* of the different pages with http or https on the hosts of their documents, by *seed*.

        Documents that another host authorizes may list its URLs too.
        """
        self._snapshot = snapshot
        row, number, stratum, left_out = _facts(snapshot, seed)
        order = np.argsort(number, kind="stable")
        order = order[_is_first(number[order])]  # the first URL of each page
        order = order[np.argsort(stratum[order], kind="stable")]
        self.listed = len(order)
        """Number of pages that the sample was chosen from: URLs that differ in more than the fragment."""
        self.left_out = left_out
        """Number of entries whose URL is invalid, has another scheme, or is on another host."""
        size = min(size, self.listed)
        start = random.Random(seed).random()  # noqa: S311 - a sample, not a secret
        chosen = order[((np.arange(size) + start) * (self.listed / max(size, 1))).astype(np.int64)]
        # In random order, so that the requested part is a random sample too if the probe ends early.
        self._rows = row[chosen[np.argsort(number[chosen])]]

    def __len__(self) -> int:
        return len(self._rows)

    def pages(self) -> Iterator[SampledPage]:
        """Yield the URLs of the sample in random order, with few in memory at a time."""
        for start in range(0, len(self), _PORTION):
            rows = self._rows[start : start + _PORTION]
            order = np.argsort(rows)
            found = _rows(self._snapshot, rows[order]).take(pa.array(np.argsort(order)))
            for first in range(0, len(rows), _SLICE_ROWS):
                columns = found.slice(first, _SLICE_ROWS).to_pydict().values()
                yield from map(SampledPage, *columns)


def _facts(snapshot: Snapshot, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return of each URL that may be requested: its row in the snapshot, a random number of its page, its stratum.

    The last value is the number of the other entries.
    """
    import duckdb  # takes 0.1 seconds to load

    documents = snapshot.sitemaps()["url"].combine_chunks()
    rows, numbers, strata, offset = [_NONE.astype(np.uint32)], [_NONE.astype(np.uint64)], [_NONE.astype(np.int32)], 0
    with duckdb.connect(config={"threads": 1}) as connection:  # in the order of the rows
        urls = connection.from_arrow(snapshot.urls(["sitemap", "key", "lastmod", "scope_reason"], pending=False))
        facts = urls.project(_FACTS.format(seed=seed, time=snapshot.run.started_at.isoformat()))
        for batch in facts.to_arrow_reader(_BATCH_ROWS):
            wanted = batch.filter(batch["is_wanted"])
            document = pc.fill_null(pc.index_in(wanted["sitemap"], documents), -1)
            rows.append((offset + np.flatnonzero(np.asarray(batch["is_wanted"]))).astype(np.uint32))
            numbers.append(np.asarray(wanted["number"]))
            strata.append(np.asarray(document) * _AGES + np.asarray(wanted["age"]))
            offset += batch.num_rows
    found = np.concatenate(rows)
    return found, np.concatenate(numbers), np.concatenate(strata), offset - len(found)


def _is_first(ordered: np.ndarray) -> np.ndarray:
    """Return whether each of the *ordered* numbers differs from the one before."""
    return np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]


def _rows(snapshot: Snapshot, rows: np.ndarray) -> pa.Table:
    """Return the URLs of *snapshot* in these *rows*, which ascend."""
    schema = pa.schema([(name, pa.string()) for name in SampledPage._fields])
    found, offset = [], 0
    for batch in snapshot.urls(schema.names, pending=False):
        first, last = np.searchsorted(rows, [offset, offset + batch.num_rows])
        if first < last:
            found.append(batch.take(pa.array(rows[first:last].astype(np.int64) - offset)))
        offset += batch.num_rows
    return pa.Table.from_batches([batch.cast(schema) for batch in found], schema)
