"""The external sort, with parts of a few rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from sitemap_harvest.diff import temporary_files

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SCHEMA = pa.schema({"key": pa.string(), "row": pa.int64(), "empty": pa.string()})


def test_many_small_batches_are_sorted_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A sample is taken of every tenth row, and the batches are smaller.
    monkeypatch.setattr(temporary_files, "PART_ROWS", 500)
    monkeypatch.setattr(temporary_files, "_SAMPLED", 50)
    keys = [f"{number * 7919 % 1_000:03}" for number in range(2_000)]
    rows = temporary_files.TemporaryFile(tmp_path / "rows.arrow", SCHEMA)
    for number, key in enumerate(keys):
        rows.add(pa.record_batch([[key], [number], pa.nulls(1, pa.string())], schema=SCHEMA))
    found = list(temporary_files.sorted_by_key(rows))
    assert len(found) == 4
    assert [key for batch in found for key in batch["key"].to_pylist()] == sorted(keys)
    assert {tuple(batch.schema.names) for batch in found} == {("key", "row")}
    assert list(tmp_path.iterdir()) == []
