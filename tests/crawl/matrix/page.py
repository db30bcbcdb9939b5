"""The page of the documentation with the matrix: ``python -m tests.crawl.matrix.page`` writes it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.crawl.matrix.cells import EVERYWHERE, MAIN_PLACES, PLACES, cells
from tests.crawl.matrix.faults import ALL_FAULTS, Belief, Fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PAGE = Path(__file__).parents[3] / "docs" / "explain" / "faults.md"
_HEAD = """\
# When a document fails

This page shows what a run reports if robots.txt, an index or a sitemap cannot be read while the rest of the site
changes. Each cell of the table represents a site that the tests crawl four times: before the fault, during it, after
it, and once more. URLs are added, removed, changed and moved in every document while the fault lasts.

No cell has a false removal or a false addition. The run during the fault reports the changes in other documents, except
removals. Removals are [pending](snapshots.md#pending-removals), because the failing document may list those URLs now.
They are reported, together with the changes in the failing document, as soon as that document can be read. The fourth
run reports nothing. Each cell shows what the run during the fault reports about the failing document:

* **nothing**: no change is reported, and its known URLs remain in the snapshot.
* **new**: URLs that are new in the document are reported as added. All other changes are reported later. *In part*
  means that only new URLs before the damage are reported.
* **all**: all changes in the document are reported.
* **empty**: the document was read completely and lists nothing. All its URLs are reported as removed, with that reason,
  and later as added when it lists them again.
* **n/a**: such a document cannot fail this way, or the failure cannot be detected. A robots.txt has no end mark, so a
  truncated robots.txt looks complete.

In the last column, every document of the site has the fault. A fault of the host also affects its robots.txt.

"""
_TAIL = """
A document leaves the snapshot if it is absent (404, 410) in `SITEMAP_HARVEST_ABSENT_RUNS` runs (3 by default), and is
neither read nor found unchanged in between. Its URLs are then reported as removed, with that reason. No other fault
causes the removal of a URL that its document lists, even if the fault lasts for many runs. `fresh_at` in the ledger
says when the rows of each document were last confirmed, and the summary of a run gives the share of unconfirmed URLs.

A complete, well-formed document is accepted unless it is [suspect](snapshots.md#suspect-documents). If its publisher
generated it incorrectly, the reported changes do not correspond to changes of the pages.

## Whole histories

The table covers one fault at a time. `python -m tests.histories --crawls 2000 --sites 40` crawls each of 40 sites
dozens of times while they change and fail at random. URLs are added, removed, edited and moved. Sitemaps are split,
merged, emptied, renamed and renumbered. Sites move to `https` or `www`, some share an index, and some have no sitemap
at first. Validators and index dates are right, wrong or absent. Several documents, or the whole site, fail at once for
up to four crawls, and some runs are killed. An oracle that does not use the package's code compares the reports with
the actual changes, for each URL:

| count | URLs |
| --- | --- |
| FALSE | falsely reported as added, removed, changed or moved |
| LOST | added, removed or changed but never reported, although two later crawls read all documents completely |
| VIEW | wrong in the store after two such crawls |
| NOISE | reported although nothing changed since the last report |

The last line of the output is the score: all four counts must be 0. `--seed` selects the history, and `--only` selects
some of its sites. `--log` records the changes and failures of each crawl in a file.

The oracle tolerates only errors that no reader can avoid. Such errors occur if a server sends a valid but outdated or
empty version of a document, or if a validator stays the same although the content changes. They also occur if a
document is removed while another document that may list its URLs fails. The histories contain no undetectable damage.
For example, no robots.txt or text list is truncated with a matching `Content-Length`, and no text list is empty. When a
document is read for the first time, its encoding is correct, and an index is not empty. If the first crawl of a site
fails, the comparison starts after the first two crawls without a failure.
"""
_WORDS = {
    Belief.KEPT: "nothing",
    Belief.BEGUN: "new, in part",
    Belief.ADDED: "new",
    Belief.TRUE: "all",
    Belief.EMPTIED: "empty",
}
_NONE = "n/a"


def text() -> str:
    """Return the page."""
    return _HEAD + "".join(f"{line}\n" for line in _table()) + _TAIL


def _table() -> Iterator[str]:
    shown = {(cell.fault, cell.place) for cell in cells(0, everything=True)}
    yield _row(["fault", *(PLACES[place] for place in MAIN_PLACES)])
    yield _row(["---"] * (1 + len(MAIN_PLACES)))
    faults: dict[tuple[str, ...], list[str]] = {}
    for fault in ALL_FAULTS:
        words = tuple(_word(fault, place) if (fault, place) in shown else _NONE for place in MAIN_PLACES)
        faults.setdefault(words, []).append(fault.name.replace("<", "\\<"))
    for words, names in faults.items():
        yield _row(["; ".join(names).replace("; HTTP ", ", "), *words])


def _word(fault: Fault, place: str) -> str:
    if place != EVERYWHERE:
        return _WORDS[fault.believed(place)]
    return "as each" if fault.beliefs or fault.belief is not Belief.KEPT else _WORDS[Belief.KEPT]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
