"""Results as text, for terminals, and as HTML, for notebooks. What comes from a site is escaped."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from sitemap_harvest.escape import visible
from sitemap_harvest.model import Outcome, counted
from sitemap_harvest.text_width import cell_len, middle_cut

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from sitemap_harvest.api.result import HarvestResult

_ROWS = 5
_FAILURES = 10
_WIDTH = 100  # terminal cells; a terminal may be wider, but the text may go to a file
_WIDEST = 80  # terminal cells of a cell in HTML
_MAIN_COLUMNS = {
    "urls": ("loc", "lastmod", "priority"),
    "sitemaps": ("url", "kind", "outcome", "entries"),
    "problems": ("document", "severity", "code", "count", "detail"),
    "sites": ("root", "result", "documents", "urls"),
    "changes": ("kind", "loc", "fields"),
}
"""The columns that are shown; of other kinds, the first few."""


def table_as_text(name: str, table: pa.Table) -> str:
    """Return the number of rows in *table*, and the first ones."""
    if not table.num_rows:
        return _size(name, table)
    columns, rows = _head(name, table)
    widths = _widths([columns, *rows])
    lines = ["  ".join(map(_cell, row, widths)).rstrip() for row in [columns, *rows]]
    return "\n".join([_size(name, table), *lines, *(["..."] if table.num_rows > len(rows) else [])])


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the widths of columns that fit; the widest one is cut first."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    while sum(widths) + 2 * (len(widths) - 1) > _WIDTH:
        widths[widths.index(max(widths))] -= 1
    return widths


def _cell(text: str, width: int) -> str:
    """Return *text*, cut or padded to *width*."""
    text = middle_cut(text, width)
    return text + " " * (width - cell_len(text))


def table_as_html(name: str, table: pa.Table) -> str:
    """Return the same as HTML."""
    size = f"<p>{html.escape(_size(name, table))}</p>"
    return f"{size}{_html_table(*_head(name, table))}" if table.num_rows else size


def result_as_text(result: HarvestResult) -> str:
    """Return the summary of *result*, and its failures."""
    title, lines = _summary(result)
    return "\n".join([title, *(f"  {line}" for line in lines), f"tables: {_sizes(result)}"])


def result_as_html(result: HarvestResult) -> str:
    """Return the same as HTML, with the first URLs."""
    title, lines = _summary(result)
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    urls = result.tables.get("urls")
    return (
        f"<p><b>{html.escape(title)}</b></p>{f'<ul>{items}</ul>' if items else ''}"
        f"{'' if urls is None else urls._repr_html_()}<p>tables: {html.escape(_sizes(result))}</p>"
    )


def _summary(result: HarvestResult) -> tuple[str, list[str]]:
    """Return the title of *result*, and a line for each thing that failed."""
    if result.was_killed:
        return "HarvestResult of a run that was killed", []
    report, counts = result.summary, result.summary.counts
    limit = report.arguments.get("limit")
    outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.documents.items())
    complete = f"limit {limit} was reached" if limit == str(counts.urls) else "complete"
    state = complete if result.complete else f"not complete ({report.verdict})"
    urls, documents = counted(counts.urls, "URL"), counted(sum(counts.documents.values()), "document")
    title = f"HarvestResult, {state}: {urls} from {documents}"
    exists = {one.url for one in report.failed_documents if one.outcome == Outcome.NOT_A_SITEMAP}  # not absent
    lines = [
        f"{site.root}: {Outcome.NOT_A_SITEMAP if site.root in exists else site.result}: {site.reason}"
        for site in report.failed_sites
    ]
    named = {site.root for site in report.failed_sites}  # a document that was named is one too
    others = (one for one in report.failed_documents if one.url not in named)
    lines += [f"{document.url}: {document.outcome}: {document.reason}" for document in others]
    lines = [*lines[:_FAILURES], *(["..."] if len(lines) > _FAILURES else [])]
    return f"{title} ({outcomes})" if outcomes else title, [visible(line) for line in lines]


def _sizes(result: HarvestResult) -> str:
    return ", ".join(f"{name} ({len(table):,})" for name, table in result.tables.items())


def _size(name: str, table: pa.Table) -> str:
    return f"{name}: {counted(table.num_rows, 'row')}, {table.num_columns} columns"


def _head(name: str, table: pa.Table) -> tuple[list[str], list[list[str]]]:
    """Return the names of the main columns of *table*, and their first values as text."""
    columns = [column for column in _MAIN_COLUMNS.get(name, ()) if column in table.column_names]
    part = table.slice(0, _ROWS).select(columns or table.column_names[:4])
    return part.column_names, [[_text(value) for value in row.values()] for row in part.to_pylist()]


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    text = value.isoformat(sep=" ", timespec="seconds") if hasattr(value, "isoformat") else str(value)
    return visible(text.removesuffix("+00:00"))


def _html_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def cells(tag: str, texts: Sequence[str]) -> Iterator[str]:
        for text in texts:
            shown = middle_cut(text, _WIDEST)
            yield f"<{tag} style='text-align: left' title='{html.escape(text)}'>{html.escape(shown)}</{tag}>"

    body = "".join(f"<tr>{''.join(cells('td', row))}</tr>" for row in rows)
    return f"<table><thead><tr>{''.join(cells('th', columns))}</tr></thead><tbody>{body}</tbody></table>"
