"""Where the answer of a command goes: a file of the format that its name says, or a table."""

from __future__ import annotations

import os
import sys
from codecs import getincrementaldecoder
from io import BufferedWriter, RawIOBase
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from rich.table import Table
from rich.text import Text
from scrapy.utils.misc import load_object

from sitemap_harvest.crawl.defaults import FEED_EXPORTERS
from sitemap_harvest.errors import ArgumentError, StoreError
from sitemap_harvest.escape import visible, visible_lines
from sitemap_harvest.model import Batch
from sitemap_harvest.store import open_store

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable
    from typing import IO

    from rich.console import Console, JustifyMethod
    from scrapy.settings import Settings

    from sitemap_harvest.store import Store

STANDARD_OUTPUT = "-"
_FORMATS = ", ".join(FEED_EXPORTERS)
_BINARY = frozenset({"parquet"})
_PLAIN = {pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.timestamp("us", "UTC")}
_WIDEST = 60  # characters of a cell of a table; a file has all of it


class AnyBatch(Batch[Any]):
    """Columns of any names and types."""

    __slots__ = ()

    def __init__(self, arrow: pa.RecordBatch) -> None:
        """Wrap *arrow*."""
        self.arrow = arrow


def say(console: Console, line: str) -> None:
    """Print *line*, whatever is in it."""
    console.print(Text(visible(line)), soft_wrap=True)


def tell(line: str, *more: str) -> None:
    """Write *line* to standard error, and indented below it what *more* belongs to it."""
    sys.stderr.write("\n  ".join(map(visible, (line, *more))) + "\n")


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--store``."""
    parser.add_argument("--store", metavar="S", help="where the snapshots are: a folder, or s3://bucket/folder")


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the option ``-O``."""
    parser.add_argument(
        "-O",
        dest="output",
        metavar="FILE",
        help=f"write to FILE, in the format that its ending says, or as FILE:FORMAT; - is standard output ({_FORMATS})",
    )


def store_of(opts: argparse.Namespace, settings: Settings) -> Store:
    """Open the store that ``--store`` names, or the setting. Raises :exc:`HarvestError`."""
    if not (path := opts.store or settings.get("SITEMAP_HARVEST_STORE")):
        message = "no store is named: add --store FOLDER, or set SITEMAP_HARVEST_STORE"
        raise ArgumentError("store", path, "a folder, or s3://bucket/folder", message=message)
    return open_store(path)


def file_and_format(output: str) -> tuple[str, str]:
    """Return the file that *output* names, and the format. Raises :exc:`ArgumentError` if there is no such format."""
    path, colon, name = output.rpartition(":")
    if not (colon and path and name in FEED_EXPORTERS):
        path, name = output, output.rpartition(".")[2].lower()
    if name not in FEED_EXPORTERS:
        raise ArgumentError("-O", output, _FORMATS, message=f"-O {output}: its ending must be one of {_FORMATS}")
    return path, name


def write(batches: Iterable[Batch[Any]], output: str) -> int:
    """Write *batches* to *output*, as ``-O`` has it; return how many rows there were.

    A file that is there is replaced when the new one is whole.
    """
    path, name = file_and_format(output)
    if path == STANDARD_OUTPUT:
        file = _standard_output(name)
        rows = _export(batches, file, name)
        file.flush()
        return rows
    part = f"{path}.part"
    try:
        with open(part, "wb") as file:  # noqa: PTH123 - text, as the user wrote it
            rows = _export(batches, file, name)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)  # noqa: PTH105 - the same
    except OSError as error:
        raise StoreError(f"-O {output}: {error}") from error
    finally:
        if os.path.exists(part):  # noqa: PTH110 - the same
            os.unlink(part)  # noqa: PTH108 - the same
    return rows


def _standard_output(name: str) -> IO[bytes]:
    """Return what standard output takes data in the format *name* by: to a terminal it goes as a person may see it."""
    if not sys.stdout.isatty():
        return sys.stdout.buffer
    if name in _BINARY:
        message = f"-O -:{name}: it is no text, and standard output is a terminal; name a file, or a program behind |"
        raise ArgumentError("-O", name, "a file", message=message)
    return BufferedWriter(_TerminalOutput())


class _TerminalOutput(RawIOBase):
    """Shows on standard output what is written to it."""

    def __init__(self) -> None:
        self._decode = getincrementaldecoder("utf-8")("backslashreplace").decode

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        sys.stdout.write(visible_lines(self._decode(bytes(data)).replace("\r\n", "\n")))  # CSV has both
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
    """Return *batch* with types that all formats know; others become text."""
    columns = [_plain(column) for column in batch.columns]
    return AnyBatch(pa.RecordBatch.from_arrays(columns, names=batch.schema.names))


def _plain(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_nested(kind) or kind in _PLAIN:
        return column
    wanted = pa.string()
    if pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0):  # sum() gives such decimals
        wanted = pa.int64()
    elif pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        wanted = pa.float64()
    try:
        return column.cast(wanted)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())


def table_of(rows: pa.Table) -> Table:
    """Return *rows* as a table for a terminal."""
    table = Table(title=None, show_edge=False, pad_edge=False)
    for field in rows.schema:
        justify: JustifyMethod = "right" if _is_number(field.type) else "left"
        table.add_column(Text(visible(field.name)), justify=justify, overflow="fold")
    cells = [[_cell(value) for value in column.to_pylist()] for column in rows.columns]
    for row in zip(*cells, strict=True):
        table.add_row(*row)
    return table


def show(rows: pa.Table, console: Console) -> None:
    """Print *rows* as a table: as wide as it is where no terminal sets a limit."""
    if not console.is_terminal:
        console.width = 10_000
    console.print(table_of(rows))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _cell(value: Any) -> Text:
    if value is None:
        return Text()
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        value = ", ".join(value)
    text = value.isoformat(sep=" ", timespec="seconds") if hasattr(value, "astimezone") else str(value)
    shown = visible(text.removesuffix("+00:00"))
    return Text(shown if len(shown) <= _WIDEST else shown[: _WIDEST - 1] + "…")
