"""All that a store has of a site, so that two stores can be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemap_harvest.diff import compare_each

if TYPE_CHECKING:
    from sitemap_harvest.snapshots.store import History

_OF_ONE_RUN = ("run", "fetched_at", "seconds", "fresh_at", "read_at", "rows_from", "fresh_run")


def contents(history: History) -> dict[str, Any]:
    """Return what *history* has, without the ids and times of single runs: two runs over one site give the same."""
    numbers = {run.id: number for number, run in enumerate(history.runs)}
    snapshots = [history.snapshot(run) for run in history.runs]
    found: dict[str, Any] = {
        "runs": [(run.result, run.complete, run.urls, run.documents, dict(run.changes)) for run in history.runs]
    }
    for number, snapshot in enumerate(snapshots):
        found[f"documents {number}"] = {
            row["url"]: {name: value for name, value in row.items() if name not in _OF_ONE_RUN}
            | {name: numbers.get(row[name]) for name in ("rows_from", "fresh_run")}
            for row in snapshot.sitemaps().to_pylist()
        }
        urls = [row for batch in snapshot.urls() for row in batch.to_pylist()]
        found[f"urls {number}"] = sorted(urls, key=lambda row: (row["sitemap"], row["position"]))
    for number, compared in enumerate(compare_each(snapshots), start=1):
        with compared:
            changes = [row for batch in compared.batches() for row in batch.arrow.to_pylist()]
        found[f"changes {number}"] = sorted(
            ({name: row[name] for name in row if name not in {"run", "baseline"}} for row in changes), key=repr
        )
    return found
