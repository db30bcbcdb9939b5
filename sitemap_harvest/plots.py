"""Charts of dates, URLs and changes, drawn as in the report of an audit."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
from markupsafe import Markup

from sitemap_harvest.audit.facts import dates_of
from sitemap_harvest.audit.report.html import chart_page
from sitemap_harvest.dates import distinct_moments
from sitemap_harvest.display import counted
from sitemap_harvest.errors import HarvestError
from sitemap_harvest.escape import visible
from sitemap_harvest.files import put_file
from sitemap_harvest.frames import ArrowData
from sitemap_harvest.model import counts_in_words
from sitemap_harvest.snapshots.store import History

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemap_harvest.snapshots.store import Run

_MOST_PLACES = 366
_FRAME = "width: 100%; height: 25rem; border: 0"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Chart:
    """A chart. A notebook shows it, and :meth:`save` writes it to a file."""

    title: str
    kind: str
    """``bar``, ``line``, or ``updown``: bars up for the first numbers, and down for the second ones."""
    columns: tuple[str, ...]
    """The names of the labels and of each series of numbers."""
    rows: Sequence[tuple[str | int | None, ...]]
    """A label and its numbers, which are ``None`` if they are unknown."""
    note: str
    """What the chart shows and what it leaves out, as text."""

    def __repr__(self) -> str:
        return f"<Chart of {visible(self.title)}: {counted(len(self.rows), 'row')}>"

    def _repr_html_(self) -> str:
        frame = Markup('<iframe srcdoc="{}" title="{}" sandbox="allow-scripts" style="{}"></iframe>')
        return frame.format(chart_page(self).decode(), visible(self.title), _FRAME)

    def save(self, path: str | Path) -> None:
        """Write the chart to *path* as an HTML page, which works offline. Raises :exc:`OSError`."""
        if (path := Path(path)).suffix.lower() not in {".html", ".htm"}:
            raise HarvestError(f"{path}: a chart is saved as an HTML page; use a name that ends with .html")
        put_file(path, chart_page(self))


def lastmod(rows: Any) -> Chart:
    """Return how many *rows* have a ``lastmod`` in each day, month or year, whichever gives a readable chart.

    *rows*: anything with the column ``lastmod``: a table of a result, a document, a snapshot, a batch, a data frame,
    or an Arrow table. Dates before 1995, and dates in the future, are only counted.
    """
    column = _lastmods(rows)
    with closing(duckdb.connect()) as connection:
        connection.execute("set TimeZone = 'UTC'")
        connection.register("all_urls", pa.table({"lastmod": column}))
        dates = dates_of(lambda sql: connection.sql(sql).fetchall(), datetime.now(UTC))
    others = {"without a valid date": dates.missing, "before 1995": dates.ancient, "in the future": dates.future}
    left_out = "".join(f", {count:,} {words}" for words, count in others.items() if count)
    return Chart(
        title=f"Entries by {dates.unit} of lastmod",
        kind="bar",
        columns=(dates.unit.capitalize(), "Entries"),
        rows=dates.rows,
        note=f"{counted(len(column), 'row')}{left_out}",
    )


def urls(history: History) -> Chart:
    """Return the number of distinct URLs of a site in each run of *history*, up to the last 366 runs."""
    runs = _runs(history)
    shown = runs[-_MOST_PLACES:]
    return Chart(
        title=f"URLs of {history.site} by run",
        kind="line",
        columns=("Run", "URLs"),
        rows=list(zip(distinct_moments([run.started_at for run in shown]), [run.urls for run in shown], strict=True)),
        note=f"{f'the last {len(shown)} of ' if len(shown) < len(runs) else ''}{counted(len(runs), 'run')}",
    )


def changes(history: History) -> Chart:
    """Return the numbers of URLs that the runs of *history* found added and removed, by day in UTC.

    Days without a run are left out, and so are all days before the last 366.
    """
    by_day: dict[str, Counter[str]] = {}
    for run in _runs(history):
        by_day.setdefault(f"{run.started_at:%Y-%m-%d}", Counter()).update(run.changes)
    shown = list(by_day.items())[-_MOST_PLACES:]
    total = sum((counts for _, counts in shown), Counter[str]())
    words = ", ".join(counts_in_words({name.replace("_", " "): count for name, count in total.items()}))
    return Chart(
        title=f"Added and removed URLs of {history.site} by day",
        kind="updown",
        columns=("Day", "Added", "Removed"),
        rows=[(day, counts["added"], counts["removed"]) for day, counts in shown],
        note=f"in total: {words or 'no change'}",
    )


def _lastmods(rows: Any) -> pa.ChunkedArray:
    """Return the column ``lastmod`` of *rows*."""
    wanted = "plots.lastmod() needs rows with the column lastmod, such as result.urls"
    if not isinstance(rows, ArrowData):
        try:
            rows = pa.table(rows)
        except (TypeError, ValueError) as error:  # also of pyarrow
            raise TypeError(f"{wanted}, and not a {type(rows).__name__}") from error
        if "lastmod" not in rows.column_names:
            raise HarvestError(f"{wanted}, and not {', '.join(rows.column_names)}")
    table = rows.to_arrow(["lastmod"]) if isinstance(rows, ArrowData) else rows
    try:
        return table["lastmod"].cast(pa.timestamp("us", tz="UTC"), safe=False)
    except pa.ArrowException as error:
        raise HarvestError(f"{wanted}: it has the type {table['lastmod'].type}, and must be a timestamp") from error


def _runs(history: History) -> Sequence[Run]:
    if not isinstance(history, History):
        kind = type(history).__name__
        raise TypeError(f"the chart needs the history of one site, such as store.site('a.example'), and not a {kind}")
    return history.runs
