"""The same names convert documents, batches, snapshots and changes into the forms of other libraries."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest

from sitemap_harvest import HarvestError, MissingPackageError, UrlBatch, read
from sitemap_harvest.diff import compare
from sitemap_harvest.model import ChangeBatch
from tests.snapshots.store.making import SITE, Making, entry, locs

if TYPE_CHECKING:
    from pathlib import Path

KINDS = ["document", "batch", "snapshot", "changes"]


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One object of each kind, with the URLs of ``locs(3)``."""
    making = Making(tmp_path_factory.mktemp("frames") / "store")
    before, after = (making.run({f"{SITE}/s.xml": urls}) for urls in ([f"{SITE}/"], [f"{SITE}/", *locs(3)]))
    return {
        "document": read("\n".join(locs(3)).encode(), url=f"{SITE}/s.txt"),
        "batch": UrlBatch.of(map(entry, locs(3))),
        "snapshot": making.run({f"{SITE}/s.xml": locs(3)}),
        "changes": compare(before, after),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_arrow(converted: dict[str, Any], kind: str) -> None:
    rows = converted[kind]
    schema = (ChangeBatch if kind == "changes" else UrlBatch).schema()
    for table in (rows.to_arrow(), pa.table(rows), pa.table(rows.arrow.to_pydict(), schema)):
        assert table.schema.equals(schema)
        assert table["loc"].to_pylist() == locs(3)
    assert isinstance(rows.arrow, pa.RecordBatch if kind == "batch" else pa.Table)
    assert rows.to_arrow(["key", "loc"]).column_names == ["key", "loc"]
    assert rows.to_arrow("loc").to_pydict() == {"loc": locs(3)}
    with pytest.raises(HarvestError, match="column 'locs': unknown column; did you mean loc"):
        rows.to_arrow(["locs"])


@pytest.mark.parametrize("kind", KINDS)
def test_duckdb(converted: dict[str, Any], kind: str) -> None:
    rows = converted[kind]
    assert rows.relation(["loc"]).order("loc").fetchall() == [(loc,) for loc in locs(3)]
    assert duckdb.sql("select count(*) from rows").fetchall() == [(3,)]
    one, other = (rows.relation(["loc"], connection=duckdb).set_alias(name) for name in ("one", "other"))
    assert len(one.join(other, "one.loc = other.loc")) == 3


@pytest.mark.service
@pytest.mark.parametrize("kind", KINDS)
def test_data_frames(converted: dict[str, Any], kind: str) -> None:
    pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    rows = converted[kind]
    assert rows.to_pandas(["loc"]).to_dict("list") == {"loc": locs(3)}
    assert rows.to_pandas().columns.tolist() == rows.arrow.schema.names
    assert rows.to_polars(["loc"]).to_dict(as_series=False) == {"loc": locs(3)}
    assert polars.DataFrame(rows)["loc"].to_list() == locs(3)


@pytest.mark.parametrize("package", ["pandas", "polars"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_package_is_named(
    converted: dict[str, Any], kind: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=f"^{package} is not installed: pip install {package}$") as error:
        getattr(converted[kind], f"to_{package}")()
    assert isinstance(error.value, ImportError)


def test_columns_that_pipelines_added_are_converted() -> None:
    batch = UrlBatch.of([entry(locs(1)[0])]).with_columns(words=pa.array([12]))
    assert batch.to_arrow(["words"]).to_pydict() == {"words": [12]}


def test_an_index_has_no_rows() -> None:
    body = b'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"></sitemapindex>'
    assert read(body).arrow.equals(UrlBatch.schema().empty_table())


def test_closed_changes_cannot_be_converted(tmp_path: Path) -> None:
    making = Making(tmp_path / "store")
    with compare(*(making.run({f"{SITE}/s.xml": locs(3, start=start)}) for start in (0, 1))) as changes:
        assert changes.arrow.num_rows == len(changes) == 2
    with pytest.raises(HarvestError, match="the changes were closed, and their files are removed"):
        changes.to_arrow()
