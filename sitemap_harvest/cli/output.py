"""Output of commands: files in the format of their name, and tables."""

from __future__ import annotations

import sys
from codecs import getincrementaldecoder
from io import BufferedWriter, RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
from rich.console import Console
from rich.table import Table
from rich.text import Text
from scrapy.utils.misc import load_object

from sitemap_harvest.config.value_parsers import InvalidValueError
from sitemap_harvest.errors import ArgumentError, StoreError
from sitemap_harvest.escape import visible, visible_lines
from sitemap_harvest.files import replacing
from sitemap_harvest.integration.default_settings import FEED_EXPORTERS
from sitemap_harvest.model import Batch

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Collection, Iterable
    from typing import IO

    from scrapy.settings import Settings

    from sitemap_harvest.snapshots.store import Store

_FORMATS = ", ".join(FEED_EXPORTERS)
_PLAIN = {pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.timestamp("us", "UTC")}
_T = TypeVar("_T")
_WIDEST = 60  # characters of a table cell on a terminal; other output is not truncated
_WIDEST_PATH = 40
NEVER = "never"
"""A value of ``--fail-on``: no severity changes the exit code."""


class AnyBatch(Batch[Any]):
    """Columns of any names and types."""

    __slots__ = ()

    def __init__(self, arrow: pa.RecordBatch) -> None:
        """Wrap *arrow*."""
        self.arrow = arrow


def say(line: str) -> None:
    """Write *line* to standard output."""
    sys.stdout.write(f"{visible(line)}\n")


def tell(line: str, *more: str) -> None:
    """Write *line* to standard error, followed by the indented lines *more*."""
    sys.stderr.write("\n  ".join(map(visible, (line, *more))) + "\n")


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--store``."""
    parser.add_argument("--store", metavar="S", help="the store of snapshots: a folder, or s3://bucket/folder")


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the option ``-O``."""
    parser.add_argument(
        "-O",
        dest="output",
        metavar="FILE",
        help="write to FILE in the format of its suffix, or give the format as FILE:FORMAT; - is standard output as "
        "JSON Lines, and -:FORMAT in another format "
        f"({_FORMATS})",
    )


def parsed_option(option: str, value: str, parse: Callable[[str], _T]) -> _T:
    """Return the parsed *value* of *option*. Raises :exc:`ArgumentError` if it is invalid."""
    try:
        return parse(value)
    except InvalidValueError as error:
        message = f"{option} {value}: it must be {error.accepted}"
        raise ArgumentError(option, value, error.accepted, message=message) from error


def store_of(opts: argparse.Namespace, settings: Settings) -> Store:
    """Open the store of ``--store``, or of the setting. Raises :exc:`HarvestError`."""
    from sitemap_harvest.snapshots.store import open_store  # a crawl uses this module too, and may have no store

    if not (path := opts.store or settings.get("SITEMAP_HARVEST_STORE")):
        message = "no store was given: add --store FOLDER, or set SITEMAP_HARVEST_STORE"
        raise ArgumentError("store", path, "a folder, or s3://bucket/folder", message=message)
    return open_store(path)


def check_folder(option: str, given: str, path: str | Path) -> None:
    """Raise :exc:`ArgumentError` if there is no folder for the file *path*, which *option* names as *given*."""
    if not (folder := Path(path).resolve().parent).is_dir():
        raise ArgumentError(option, given, "a file", message=f"{option} {given}: there is no folder {folder}")


def file_and_format(output: str) -> tuple[str, str]:
    """Return the path and the format of *output*. Raises :exc:`ArgumentError` for an unknown format.

    ``-`` is standard output, as JSON Lines.
    """
    if output == "-":
        output = "-:jsonl"
    path, colon, name = output.rpartition(":")
    if not (colon and path and name in FEED_EXPORTERS):
        path, name = output, output.rpartition(".")[2].lower()
    if name not in FEED_EXPORTERS:
        raise ArgumentError("-O", output, _FORMATS, message=f"-O {output}: the suffix must be one of {_FORMATS}")
    return path, name


def write(batches: Iterable[Batch[Any]], output: str) -> int:
    """Write *batches* to *output*, a value of ``-O``; return the number of rows.

    An existing file is replaced when the new one is complete.
    """
    path, name = file_and_format(output)
    if path == "-":
        return _export(batches, _standard_output(name), name)
    try:
        with replacing(Path(path).resolve()) as file:
            return _export(batches, file, name)
    except OSError as error:
        raise StoreError(f"-O {output}: {error}") from error


def _standard_output(name: str) -> IO[bytes]:
    """Return a file that writes data in the format *name* to standard output, escaped if that is a terminal."""
    if not sys.stdout.isatty():
        return sys.stdout.buffer
    if name == "parquet":
        message = f"-O -:{name}: the format is binary, and standard output is a terminal; write to a file or a pipe"
        raise ArgumentError("-O", name, "a file", message=message)
    return BufferedWriter(_TerminalOutput())


class _TerminalOutput(RawIOBase):
    """Writes to a terminal, escaped."""

    def __init__(self) -> None:
        self._decode = getincrementaldecoder("utf-8")("backslashreplace").decode

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        sys.stdout.write(visible_lines(self._decode(bytes(data)).replace("\r\n", "\n")))  # CSV has both line ends
        return len(data)


def _export(batches: Iterable[Batch[Any]], file: IO[bytes], name: str) -> int:
    exporter = load_object(FEED_EXPORTERS[name])(file)
    exporter.start_exporting()
    rows = 0
    for batch in batches:
        exporter.export_item(batch)
        rows += len(batch)
    exporter.finish_exporting()
    file.flush()
    return rows


def plain(batch: pa.RecordBatch) -> AnyBatch:
    """Return *batch* with types that all formats support; others become text."""
    columns = [_plain(column) for column in batch.columns]
    return AnyBatch(pa.RecordBatch.from_arrays(columns, names=batch.schema.names))


def _plain(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_nested(kind) or kind in _PLAIN:
        return column
    wanted = pa.string()
    if pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0):  # sum() returns such decimals
        wanted = pa.int64()
    elif pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        wanted = pa.float64()
    try:
        return column.cast(wanted)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())


def show(rows: pa.Table, *, widest: int = _WIDEST, paths: Collection[str] = (), whole: Collection[str] = ()) -> None:
    """Print *rows* as a table, with its full width unless a terminal limits it.

    *widest*: characters of a cell on a terminal. Longer cells of the columns *paths* keep their end. The columns
    *whole* are not wrapped.
    """
    console = Console()
    table = Table(title=None, show_edge=False, pad_edge=False)
    for field in rows.schema:
        is_number = any(check(field.type) for check in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal))
        table.add_column(
            Text(visible(field.name)),
            justify="right" if is_number else "left",
            overflow="fold",
            no_wrap=field.name in whole,
        )
    for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        cells = [_text(value) for value in row]
        if console.is_terminal:
            names = zip(cells, rows.column_names, strict=True)
            cells = [_cut_path(cell) if name in paths else _cut(cell, widest) for cell, name in names]
        table.add_row(*map(Text, cells))
    if not console.is_terminal:
        console.width = 10_000
    console.print(table)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        value = ", ".join(value)
    text = value.isoformat(sep=" ", timespec="seconds") if hasattr(value, "astimezone") else str(value)
    return visible(text.removesuffix("+00:00"))


def _cut(text: str, widest: int) -> str:
    return text if len(text) <= widest else f"{text[: widest - 1]}…"


def _cut_path(text: str) -> str:
    return text if len(text) <= _WIDEST_PATH else f"…{text[1 - _WIDEST_PATH :]}"
