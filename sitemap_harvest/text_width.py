"""The width of text in terminal cells, of which a Chinese character takes two, and text cut to a width.

Text must be free of control characters (see ``escape.visible``). Imports nothing from the package.
"""

from __future__ import annotations

CUT = "…"
"""Replaces the part of a text that is left out."""


def middle_cut(text: str, width: int) -> str:
    """Return *text* with ``…`` in place of its middle if it is wider than *width*: URLs differ at their ends."""
    if cell_len(text) <= width:
        return text
    head = beginning(text, (width - 1) * 2 // 5)
    return f"{head}{CUT}{_end(text, width - 1 - cell_len(head))}"


def head_cut(text: str, width: int) -> str:
    """Return *text* with ``…`` in place of its end if it is wider than *width*."""
    return text if cell_len(text) <= width else f"{beginning(text, width - 1)}{CUT}"


def cell_len(text: str) -> int:
    """Return the width of *text*."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len as cells  # most texts are ASCII

    return cells(text)


def beginning(text: str, width: int) -> str:
    """Return the beginning of *text* that fits *width*."""
    text = text[: 2 * width]  # combining characters have no width, but a text may have any number of them
    while cell_len(text) > width:
        text = text[:-1]
    return text


def _end(text: str, width: int) -> str:
    """Return the end of *text* that fits *width*; it does not begin with a combining character."""
    text = text[-2 * width :] if width > 0 else ""
    while text and (cell_len(text) > width or not cell_len(text[0])):
        text = text[1:]
    return text
