"""Tables and lines of text that fit the width of a terminal.

Pure: knows neither terminals nor files. Widths are in terminal cells, as in
``text_width``. Text must be free of control characters (see ``escape.visible``).
"""

from __future__ import annotations

import re
from itertools import groupby
from os.path import commonprefix
from typing import TYPE_CHECKING

from sitemap_harvest.text_width import CUT, beginning, cell_len, middle_cut

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

NARROWEST = 40
"""The smallest supported width."""
_LEAST = 24  # of a column that may be cut: run IDs (23) and times (19) always fit
_LEAST_OF_SHORT, _SHORT = 12, 36  # of a column of texts of at most 36, which are wrapped
_SAME = 4  # characters of long values that are shown before their first difference
_MOST_LINES = 6  # of a cell
_UNBROKEN = re.compile(
    r"(?:\(for help: |(?<=: ))(?:sitemap-harvest|scrapy harvest) [^);]*|(?<![^\s=(])'[^']*'(?![^\s,;:.)])"
)
"""Text to copy: the commands in messages, and quoted values, such as paths."""


def table_lines(
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int | None = None,
    right: Collection[str] = (),
    whole: Collection[str] = (),
    optional: Sequence[str] = (),
    group: str | None = None,
    has_total: bool = False,
) -> Iterator[str]:
    """Yield the lines of a table with the columns *names* and the cells *rows*, no wider than *width*.

    ``None``: as wide as its cells, each of them on one line. Columns in *right* are
    right-aligned; neither these nor those in *whole* are cut or wrapped. If the table does
    not fit, the column *group* becomes a heading above its rows; then the *optional*
    columns are left out, the first one first, and named below the table; and if that is
    not enough, each row becomes a record, with a line per column. What all values of a
    column begin with, such as the host of URLs, is left out if they must be cut, and named
    below the table. *has_total*: the last row is the sum of the others.
    """
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    titles = {name: name if width is None else middle_cut(name, _LEAST) for name in names}
    natural = {name: max(map(cell_len, (titles[name], *column))) for name, column in zip(names, columns, strict=True)}
    kept, headings, hidden = dict(natural), [""] * len(rows), list[str]()
    least = {name: _least([titles[name], *column]) for name, column in zip(names, columns, strict=True)}
    while (widths := _widths(kept, least, {*right, *whole}, width)) is None:
        if group in kept:
            del kept[group]
            headings = list(columns[names.index(group)])
        elif left := [name for name in optional if name in kept]:
            del kept[left[0]]
            hidden.append(left[0])
        else:
            yield from _record_lines(names, rows, max(width or 0, NARROWEST))
            return
    yield _joined([titles[name] for name in widths], widths, " ┃ ", right)
    yield "━╇━".join("━" * one for one in widths.values())
    starts = {
        name: _common_start(columns[names.index(name)], natural[name] - one + 1)
        for name, one in widths.items()
        if one < natural[name]
    }
    shown = [[_without_start(row[names.index(name)], starts.get(name, "")) for name in widths] for row in rows]
    yield from _row_lines(headings, shown, widths, right, width=width, has_total=has_total)
    for name, start in starts.items():
        if start:
            yield from fitted(f"Each {titles[name]} begins with {start}", width)
    if hidden:
        yield from fitted(f"Columns not shown, because the lines would be too long: {', '.join(hidden)}", width)


def _row_lines(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    widths: Mapping[str, int],
    right: Collection[str],
    *,
    width: int | None,
    has_total: bool,
) -> Iterator[str]:
    """Yield the lines of *rows*, each group below its heading."""
    for heading, members in groupby(zip(headings, rows, strict=True), lambda pair: pair[0]):
        if heading:
            yield middle_cut(heading, width or cell_len(heading))
        for _, row in members:
            if has_total and row is rows[-1]:
                yield "─┼─".join("─" * one for one in widths.values())
            parts = [wrapped(cell, one, most=_MOST_LINES) for cell, one in zip(row, widths.values(), strict=True)]
            for number in range(max(map(len, parts))):
                yield _joined([part[number] if number < len(part) else "" for part in parts], widths, " │ ", right)


def _least(cells: Sequence[str]) -> int:
    """Return the least width of a column whose title and cells are *cells*: only short texts are wrapped in less."""
    if max(map(cell_len, cells)) > _SHORT or not any(" " in cell for cell in cells):
        return _LEAST
    words = max((cell_len(word) for cell in cells[1:] for word in cell.split(" ")), default=0)
    return min(max(_LEAST_OF_SHORT, cell_len(cells[0]), words), _LEAST)


def _common_start(cells: Iterable[str], excess: int) -> str:
    """Return the beginning to leave out of *cells*, which are *excess* too wide; all share it.

    It ends before a slash if possible, and is empty if they are texts, or all alike.
    """
    texts = {cell for cell in cells if cell}
    prefix = commonprefix(list(texts))  # noqa: RUF071 - by characters on purpose
    most = max(prefix.rfind("/"), len(prefix) - _SAME, 0)
    least = min(excess, most)
    start = prefix[: max(prefix.find("/", least, most + 1), least)]
    return start if len(texts) > 1 and len(start) > 1 and not any(" " in text for text in texts) else ""


def _without_start(cell: str, start: str) -> str:
    return f"{CUT}{cell[len(start) :]}" if start and cell else cell


def _widths(
    natural: Mapping[str, int], least: Mapping[str, int], unbroken: Collection[str], width: int | None
) -> dict[str, int] | None:
    """Return the width of each column; ``None`` if they do not fit.

    *natural*: the width of the widest cell of each. Columns that are not *unbroken* may have their *least* width,
    and share what is left.
    """
    if width is None:
        return dict(natural)
    widths = {name: one if name in unbroken else min(one, least[name]) for name, one in natural.items()}
    if not widths or (room := width - 3 * (len(widths) - 1) - sum(widths.values())) < 0:
        return None
    growing = sorted((name for name in widths if widths[name] < natural[name]), key=lambda name: natural[name])
    for number, name in enumerate(growing):
        more = min(natural[name] - widths[name], room // (len(growing) - number))
        widths[name] += more
        room -= more
    return widths


def _joined(parts: Iterable[str], widths: Mapping[str, int], between: str, right: Collection[str]) -> str:
    """Return one line of a table."""
    padded = []
    for part, (name, width) in zip(parts, widths.items(), strict=True):
        blank = " " * (width - cell_len(part))
        padded.append(blank + part if name in right else part + blank)
    return between.join(padded).rstrip()


def _record_lines(names: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Yield a line per cell, and an empty line between rows."""
    margin = min(max(map(cell_len, names)), width - 2 - _LEAST)
    for number, row in enumerate(rows):
        if number:
            yield ""
        for name, cell in zip(names, row, strict=True):
            title = middle_cut(name, margin)
            for part in wrapped(cell, width - margin - 2, most=_MOST_LINES):
                yield f"{title}{' ' * (margin - cell_len(title))}  {part}".rstrip()
                title = ""


def fitted(text: str, width: int | None, *, cuts: bool = True) -> list[str]:
    """Return the line *text* in lines of at most *width*, the others indented, as :func:`wrapped` does.

    ``None``: as it is.
    """
    if width is None or cell_len(text) <= width:
        return [text]
    margin = " " * (len(text) - len(text.lstrip(" ")) + 2)
    first, *others = wrapped(text.strip(" "), max(width - len(margin), 1), cuts=cuts)
    return [f"{margin[2:]}{first}", *(f"{margin}{one}" for one in others)]


def wrapped(text: str, width: int, *, most: int | None = None, cuts: bool = True) -> list[str]:
    """Return *text* in lines of at most *width*, broken between words.

    *cuts*: words that are longer are cut in the middle; otherwise they are too wide, and so
    are commands and quoted values. What does not fit into *most* lines is left out;
    ``None``: nothing.
    """
    if cell_len(text) <= width:
        return [text]
    lines = [""]
    if not cuts:
        text = _UNBROKEN.sub(lambda found: found[0].replace(" ", "\0"), text)
    for word in text.split(" "):
        short = middle_cut(word, width) if cuts else word.replace("\0", " ")
        joined = f"{lines[-1]} {short}" if lines[-1] else short
        if cell_len(joined) <= width or lines == [""]:
            lines[-1] = joined
        else:
            lines.append(short)
    if most is not None and len(lines) > most:
        lines[most - 1 :] = [f"{beginning(lines[most - 1], width - 1)}{CUT}"]
    return lines
