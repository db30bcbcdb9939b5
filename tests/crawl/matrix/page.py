"""The page of the documentation that shows the matrix: ``python -m tests.crawl.matrix.page`` writes it anew."""

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

What the changes say when robots.txt, an index or a sitemap cannot be read, and the rest of the site has changed at the
same time. Each cell is a site that the tests crawl four times: before the fault, during it, after it, and once more. In
each, URLs are added, removed, changed and moved while the fault lasts, in every document.

No cell has a false removal or a false addition. What was added or changed elsewhere is told in the run of the fault;
removals [wait](snapshots.md#pending-removals), for the document that fails may list those URLs now. They are told, with
what changed in that document, as soon as it is read again, and the last run tells nothing. A cell says what the run
of the fault tells of the document that fails:

* **nothing**: the URLs that were known of it stay.
* **new**: what it lists newly is added; the rest waits. *In part*: only what stands before the damage is.
* **all**: nothing of it was lost.
* **empty**: it was read whole and lists nothing. All its URLs are removed, and the reason says so; when it lists them
  again, they are added again.
* **does not apply**: such a document cannot fail so, or nobody can tell that it did. A robots.txt has no end mark, so
  one that is shorter than it was says what it says.

"""
_TAIL = """
*All at once*: every document of the site fails so. A fault that is the host's is that of its robots.txt too.

## What cannot be told

A URL that moves from a document that fails to a healthy one is no change: as far as is known, it is in both, and then
it leaves one of them.

A sitemap that is not named any more stays until all documents that may name it were read whole: one of those that fail
may name it now. After as many runs as `SITEMAP_HARVEST_ABSENT_RUNS` says, it leaves all the same.

A document that is whole and well-formed is believed, whatever it says. One that was written wrongly by its publisher
tells of changes that are none of the pages.

## Whole histories

The matrix has one fault at a time, and four crawls. `python -m tests.histories --crawls 2000 --sites 40` crawls sites
that change and fail at random, dozens of times: URLs are added, removed, edited and moved, sitemaps split, merged,
emptied, renamed and renumbered; sites move to `https` or `www`, and some share an index. Validators and the dates in
indexes are right, wrong or absent. Several documents fail at once, for up to four crawls, or all documents of a site;
some runs are killed. An oracle that uses no code of the package compares what the runs report with the truth, for each
URL:

| count | URLs |
| --- | --- |
| FALSE | reported as added, removed, changed or moved, which is not true |
| LOST | added, removed or changed, and never reported, although all documents were read whole in two crawls since |
| VIEW | that the store has wrong after two such crawls |
| NOISE | reported although nothing had changed since the last report |

The score is the last line of the output, and all four must be 0. `--seed` chooses the history, `--only` some sites of
it, and `--log` names a file for what changed and what failed in each crawl.

The oracle excuses only what no reader can know: a server that sends an earlier version of a document or an empty one,
both sound; a validator that stays the same although the content changes; what a document that has gone lists while a
document that may list it fails. Damage that leaves no trace does not occur: a robots.txt or a text that is cut under
its own length, an empty text, and in the first reading of a document a wrong encoding or an empty index. The first
crawl of a site may fail, too: what it reports is then compared with the truth from the first two crawls on in which
nothing fails.

## The same for you

A document that is absent (404, 410) three times in a row, or as often as `SITEMAP_HARVEST_ABSENT_RUNS` says, leaves:
then its URLs are removed, and the reason says why. No other fault removes a URL that its document lists, however long
it lasts. A removal that is pending because of a fault is told when it reaches `SITEMAP_HARVEST_PENDING_RUNS` and
`SITEMAP_HARVEST_PENDING_DAYS`. The ledger tells since when the rows of each document are unconfirmed (`fresh_at`), and
the summary of a run how large their share is.
"""
_WORDS = {
    Belief.KEPT: "nothing",
    Belief.BEGUN: "new, in part",
    Belief.ADDED: "new",
    Belief.TRUE: "all",
    Belief.EMPTIED: "empty",
}
_NONE = "does not apply"


def text() -> str:
    """Return the page."""
    return _HEAD + "".join(f"{line}\n" for line in _table()) + _TAIL


def _table() -> Iterator[str]:
    shown = {(cell.fault, cell.place) for cell in cells(0, everything=True)}
    yield _row(["fault", *(PLACES[place] for place in MAIN_PLACES)])
    yield _row(["---"] * (1 + len(MAIN_PLACES)))
    for fault in ALL_FAULTS:
        words = [_word(fault, place) if (fault, place) in shown else _NONE for place in MAIN_PLACES]
        yield _row([fault.name.replace("<", "\\<"), *words])


def _word(fault: Fault, place: str) -> str:
    if place != EVERYWHERE:
        return _WORDS[fault.believed(place)]
    return "as each" if fault.beliefs or fault.belief is not Belief.KEPT else _WORDS[Belief.KEPT]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
