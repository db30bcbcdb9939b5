"""Tables and summaries as text, for terminals, and as HTML, for notebooks. What comes from a site is escaped."""

from __future__ import annotations

from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any

from sitemap_harvest.escape import visible
from sitemap_harvest.text_width import cell_len, middle_cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

SHOWN_ROWS = 5
"""Rows that a table shows; the numbers of rows are always those of all."""
_LINES = 10
_WIDTH = 100  # terminal cells; a terminal may be wider, but the text may go to a file
_WIDEST = 80  # terminal cells of a cell in HTML
_MOST_CHARS = 2_048  # of a value, in its tooltip: as long as a URL may be
_MOST_PARTS = 20  # of a list
URL_COLUMNS = ("loc", "lastmod", "priority")
"""The columns that are shown of URLs."""
_MAIN_COLUMNS = (
    URL_COLUMNS,
    ("url", "kind", "outcome", "entries"),
    ("document", "severity", "code", "count", "detail"),
    ("root", "result", "documents", "urls"),
    ("kind", "loc", "fields"),
    ("loc", "lastmod", "found_by"),
)
"""The columns that are shown of URLs, documents, problems, sites, changes and references; of others, the first few."""


def table_as_text(name: str, table: pa.Table) -> str:
    """Return the number of rows in *table*, and the first ones."""
    if not table.num_rows:
        return _size(name, table)
    columns, rows = _head(table)
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


def table_as_html(name: str, table: pa.Table | pa.RecordBatch, *, rows: int | None = None) -> str:
    """Return the same as HTML. *rows*: the number of all rows, if *table* has only the first ones."""
    words = _size(name, table) if rows is None else f"{name}: {counted(rows, 'row')}"
    size = f"<p>{_escape(words)}</p>"
    return f"{size}{_html_table(*_head(table))}" if table.num_rows else size


def first_rows(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """Return the first rows of *batches*, as many as a table shows; no more batches are read than these need."""
    import pyarrow as pa  # whoever has batches has loaded it; the start of the command has not

    found = schema.empty_table()
    for batch in batches:
        found = pa.concat_tables([found, pa.Table.from_batches([batch], schema)])
        if found.num_rows >= SHOWN_ROWS:
            break
    return found.slice(0, SHOWN_ROWS)


def summary_as_html(title: str, lines: Iterable[str] = (), *parts: str) -> str:
    """Return *title*, the first *lines*, which may quote a site, and *parts*, which are HTML."""
    items = "".join(f"<li>{_escape(line)}</li>" for line in first_lines(lines))
    return f"<p><b>{_escape(visible(title))}</b></p>{f'<ul>{items}</ul>' if items else ''}{''.join(parts)}"


def first_lines(lines: Iterable[str]) -> list[str]:
    """Return the first of *lines*, escaped for terminals, and ``...`` if there are more."""
    shown = [middle_cut(visible(line), _MOST_CHARS) for line in islice(lines, _LINES + 1)]
    return [*shown[:_LINES], *(["..."] if len(shown) > _LINES else [])]


def short(url: str) -> str:
    """Return *url*, cut in the middle if it is long."""
    return middle_cut(visible(url), _WIDEST)


def counted(number: int, word: str) -> str:
    """Return *number* and *word*, in the plural if needed, such as ``1,200 rows``."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return *seconds* as text, such as ``2 h 3 min``."""
    if seconds < 1:
        return f"{seconds * 1_000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60:,} h {minutes % 60} min"


def percent(share: float, places: int = 0) -> str:
    """Return *share*, 0 to 1, as text, half rounded up; it is 0% or 100% only if it is exactly that.

    *places*: digits after the decimal point.
    """
    step = Decimal(1).scaleb(-places)
    value = 100 * Decimal(repr(float(share)))  # as written: 0.145 is 14.5%
    if 0 < value < step:
        return f"under {step}%"
    return f"over {100 - step}%" if 100 - step < value < 100 else f"{value.quantize(step, ROUND_HALF_UP)}%"


def _size(name: str, table: pa.Table | pa.RecordBatch) -> str:
    return f"{name}: {counted(table.num_rows, 'row')}, {counted(table.num_columns, 'column')}"


def _head(table: pa.Table | pa.RecordBatch) -> tuple[list[str], list[list[str]]]:
    """Return the names of the main columns of *table*, and their first values as text."""
    known = set(names := table.schema.names)
    main = next((columns for columns in _MAIN_COLUMNS if known.issuperset(columns)), None)
    shown = range(min(4, len(names))) if main is None else [names.index(name) for name in main]
    columns = [table.column(at).slice(0, SHOWN_ROWS).to_pylist() for at in shown]  # two may have the same name
    rows = [[_text(value) for value in row] for row in zip(*columns, strict=True)]
    return [_text(names[at]) for at in shown], rows


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        parts = [*map(_text, value[:_MOST_PARTS]), *(["..."] if len(value) > _MOST_PARTS else [])]
        return ", ".join(parts)[:_MOST_CHARS]
    text = value.isoformat(sep=" ", timespec="seconds") if isinstance(value, datetime) else str(value)
    return visible(text.removesuffix("+00:00")[:_MOST_CHARS])


def _html_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def cells(tag: str, texts: Sequence[str]) -> Iterator[str]:
        for text in texts:
            yield f"<{tag} style='text-align: left' title='{_escape(text)}'>{_escape(short(text))}</{tag}>"

    body = "".join(f"<tr>{''.join(cells('td', row))}</tr>" for row in rows)
    return f"<table><thead><tr>{''.join(cells('th', columns))}</tr></thead><tbody>{body}</tbody></table>"


def _escape(text: str) -> str:
    from html import escape  # few runs need it, and its entities take time to load

    return escape(text)
