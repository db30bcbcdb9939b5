from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.crawl.crawling import Runner, lines
from tests.crawl.matrix.cells import BEFORE_RUN, EVERYWHERE, FAULTY_RUN, Cell, cells
from tests.crawl.matrix.faults import MOST_BYTES, MOST_UNPACKED, MOST_URLS, Belief
from tests.crawl.matrix.listed import LISTS, Change, changes
from tests.crawl.matrix.page import PAGE, text
from tests.crawl.matrix.serving import Cells

if TYPE_CHECKING:
    from pathlib import Path


RECOVERED_RUN, LAST_RUN = 3, 4
RUNS = (BEFORE_RUN, FAULTY_RUN, RECOVERED_RUN, LAST_RUN)
SETTINGS = {
    "TWISTED_DNS_RESOLVER": "tests.crawl.parts.LocalNames",
    "DOWNLOAD_MAXSIZE": MOST_BYTES,
    "SITEMAP_HARVEST_MAX_UNPACKED": MOST_UNPACKED,
    "SITEMAP_HARVEST_MAX_URLS": MOST_URLS,
    "SITEMAP_HARVEST_PRIVATE": "True",  # the hosts that get lost are named by documents
    "LOG_LEVEL": "WARNING",
}
TIMEOUT_SECONDS, LONG_TIMEOUT_SECONDS = 15, 120  # with and without faults; on a busy machine, sites may take long
NAMES = [cell.host for cell in cells(0)]


@dataclass(frozen=True)
class Reports:
    """The changes reported by the four runs, by site."""

    cells: dict[str, Cell]
    changes: dict[int, dict[str, list[dict[str, Any]]]]
    summaries: dict[int, dict[str, dict[str, Any]]]

    def by_path(self, cell: Cell, run: int) -> list[Change]:
        """Return the changes that a run reports for a site."""
        return [
            (row["kind"], path(row["loc"]), path(row.get("sitemap_before")), path(row.get("sitemap")))
            for row in self.changes[run][cell.url]
        ]


def path(url: str | None) -> str | None:
    return None if url is None else unquote(urlsplit(url).path)


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    """Crawl all cells, once for each run."""
    folder = tmp_path_factory.mktemp("matrix")
    found: dict[int, Any] = {}
    with Cells() as served:
        (folder / "sites.txt").write_text("\n".join(cell.url for cell in served.cells))
        for served.run in RUNS:
            found[served.run] = crawl(folder, served)
    return Reports(
        cells={cell.host: cell for cell in served.cells},
        changes={run: rows for run, (rows, _) in found.items()},
        summaries={run: rows for run, (_, rows) in found.items()},
    )


def crawl(folder: Path, served: Cells) -> tuple[dict[str, list[dict[str, Any]]], dict[str, dict[str, Any]]]:
    (out := folder / str(served.run)).mkdir()
    feeds = {
        f"{out}/{name}.jsonl": {"format": "jsonl", "item_classes": [kind], "overwrite": True}
        for name, kind in (("changes", "sitemap_harvest.Change"), ("summaries", "sitemap_harvest.ChangeSummary"))
    }
    run = Runner(out)(
        spider="changes",
        sites=folder / "sites.txt",
        store=folder / "store",
        emit="changes,summaries",
        feeds=feeds,
        settings=SETTINGS | {"DOWNLOAD_TIMEOUT": TIMEOUT_SECONDS if served.run == FAULTY_RUN else LONG_TIMEOUT_SECONDS},
        environment={"LOCAL_NAMES": json.dumps(served.names())},
        patience=900,  # on a busy machine, many of its hosts take minutes
    )
    assert run.code == 0
    rows = defaultdict(list)
    for row in lines(out / "changes.jsonl"):
        rows[row["site"]].append(row)
    return rows, {row["site"]: row for row in lines(out / "summaries.jsonl")}


def expected(cell: Cell, run: int) -> set[Change]:
    return set() if run == BEFORE_RUN else changes(cell.known(run - 1), cell.known(run))


def ends(change: Change) -> tuple[str, str]:
    return change[:2]


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", NAMES)
def test_each_run_reports_the_detectable_changes(reports, name, run):
    cell = reports.cells[name]
    found = reports.by_path(cell, run)
    assert Counter(map(ends, found)) == Counter(map(ends, expected(cell, run)))


@pytest.mark.parametrize("name", NAMES)
def test_all_runs_together_report_the_true_changes(reports, name):
    cell = reports.cells[name]
    kinds = defaultdict(list)
    for run in RUNS:
        for kind, loc, *_ in sorted(reports.by_path(cell, run)):
            kinds[loc].append(kind)
    true = {loc: [kind] for kind, loc, *_ in changes(cell.known(BEFORE_RUN), cell.known(RECOVERED_RUN))}
    otherwise = {loc: found for loc, found in kinds.items() if true.get(loc) != found}
    otherwise |= {loc: [] for loc in true.keys() - kinds.keys()}
    if cell.fault is not None and Belief.EMPTIED in {cell.fault.believed(path) for path in cell.failing}:
        return  # a document that was emptied for a while causes more reports than its final state
    # A URL that moves away from a failing document is listed by both documents for a while.
    assert all("/hop" in loc and found == [] for loc, found in otherwise.items())


def test_the_healthy_site_has_changes_of_every_kind(reports):
    found = reports.by_path(reports.cells[NAMES[0]], FAULTY_RUN)
    assert set(found) == expected(reports.cells[NAMES[0]], FAULTY_RUN)
    assert {kind for kind, *_ in found} == {"added", "removed", "changed", "moved", "expired"}


def test_changed_fields_are_named(reports):
    rows = [row for run in RUNS for site in reports.changes[run].values() for row in site if row["kind"] == "changed"]
    assert rows
    assert all(row["fields"] == ["lastmod"] for row in rows)


@pytest.mark.parametrize("name", NAMES)
def test_an_emptied_sitemap_is_the_reported_reason(reports, name):
    cell = reports.cells[name]
    for row in reports.changes[FAULTY_RUN][cell.url]:
        home = path(row["sitemap"])
        is_emptied = cell.fault is not None and home in cell.failing and cell.fault.believed(home) is Belief.EMPTIED
        if row["kind"] == "removed" and home in LISTS:
            assert ("is now empty" in row["reason"]) is is_emptied


@pytest.mark.parametrize("name", NAMES)
def test_exactly_the_failed_documents_are_stale(reports, name):
    cell = reports.cells[name]
    if cell.place == EVERYWHERE:
        return
    for run in (BEFORE_RUN, RECOVERED_RUN, LAST_RUN):
        assert reports.summaries[run][cell.url]["stale"] == 0


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == text(), "write it anew: python -m tests.crawl.matrix.page"
