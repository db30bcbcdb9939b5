"""Output of commands: files in the format of their name, and tables."""

from __future__ import annotations

import argparse
import json
import sys
from codecs import getincrementaldecoder
from contextlib import closing
from io import BufferedWriter, RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
from rich.console import Console
from rich.text import Text
from scrapy.utils.misc import load_object

from sitemap_harvest.cli import tables
from sitemap_harvest.cli.closed_pipe import unless_closed
from sitemap_harvest.config.value_parsers import InvalidValueError
from sitemap_harvest.databases import kind_of
from sitemap_harvest.errors import ArgumentError, StoreError
from sitemap_harvest.escape import visible, visible_lines
from sitemap_harvest.files import replacing
from sitemap_harvest.integration.default_settings import BINARY_FORMATS, COMPRESSIONS, FORMATS, why_no_package
from sitemap_harvest.model import Batch
from sitemap_harvest.redact import without_login

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from typing import IO, TextIO

    from scrapy.settings import Settings

    from sitemap_harvest.snapshots.store import History, Store

_FORMATS = ", ".join(FORMATS)
_SUFFIXES = [name for name in FORMATS if name != "csv-excel"]  # which is a kind of CSV
_T = TypeVar("_T")
_IN_ASCII = str.maketrans(
    {"│": "|", "┃": "|", "━": "-", "╇": "+", "─": "-", "┼": "+", "…": "~", "→": ">"}
)  # of the same width
NEVER = "never"
"""A value of ``--fail-on``: no severity changes the exit code."""


class AnyBatch(Batch[Any]):
    """Columns of any names and types."""

    __slots__ = ()

    def __init__(self, arrow: pa.RecordBatch) -> None:
        """Wrap *arrow*."""
        self._arrow = arrow


class PipeConsole(Console):
    """A console that raises :exc:`BrokenPipeError` if the reader has closed the pipe, where that of Rich exits."""

    def on_broken_pipe(self) -> None:
        """Raise the error."""
        raise BrokenPipeError


def say(line: str) -> None:
    """Write *line* to standard output: on a terminal, in lines that fit, with long words cut in the middle."""
    _write_line(sys.stdout, line, width=screen_width(), cuts=True)


def tell(line: str, *more: str, style: str = "", cuts: bool = False) -> None:
    """Write *line* to standard error, followed by the indented lines *more*.

    On a terminal, the lines have the *style*, such as ``red``, unless ``NO_COLOR`` is set
    (https://no-color.org); *cuts*: long words are cut in the middle.
    """
    for number, one in enumerate((line, *more)):
        width = screen_width(sys.stderr)
        _write_line(sys.stderr, f"  {one}" if number else one, width=width, cuts=cuts, style=style)


def _write_line(file: TextIO, line: str, *, width: int | None, cuts: bool = False, style: str = "") -> None:
    text = "\n".join(tables.fitted(visible(line), width, cuts=cuts))
    is_unicode = (file.encoding or "utf-8").lower().startswith("utf")
    text = text if is_unicode else text.translate(_IN_ASCII)
    with unless_closed(file):
        if style:
            PipeConsole(file=file).print(Text(text, style), soft_wrap=True)
        else:
            file.write(f"{text}\n")


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--store``."""
    parser.add_argument("--store", metavar="S", help="the store of snapshots: a folder, or s3://bucket/folder")


class _OneOutput(argparse.Action):
    """Stores the only output. A second one is an error, as otherwise it would silently replace the first."""

    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        if (given := getattr(namespace, self.dest)) is not None:
            message = f"{option_string} {values}: {given} is the output already; give one output, with -o or -O"
            parser.error(message)
        setattr(namespace, self.dest, values)


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the option ``-o``, with its other name ``-O``."""
    parser.add_argument(
        "-o",
        "-O",
        action=_OneOutput,
        dest="output",
        metavar="FILE|FORMAT",
        help="write to FILE, which is replaced, in the format of its suffix (rows.csv) or in the given one "
        "(rows.txt:csv); a FORMAT alone writes to standard output, and - writes JSON Lines there; the formats are "
        f"{_FORMATS} (xlsx needs the extra of this name)",
    )


def parsed_option(option: str, value: str, parse: Callable[[str], _T]) -> _T:
    """Return the parsed *value* of *option*. Raises :exc:`ArgumentError` if it is invalid."""
    try:
        return parse(value)
    except InvalidValueError as error:
        message = f"{option} {value}: it must be {error.accepted}"
        raise ArgumentError(option, value, error.accepted, message=message) from error


def option_value(opts: argparse.Namespace, name: str, parse: Callable[[str], _T], default: _T) -> _T:
    """Return the parsed value of the option *name*, or the *default* without it. Raises :exc:`ArgumentError`."""
    value = getattr(opts, name)
    return default if value is None else parsed_option(f"--{name.replace('_', '-')}", value, parse)


def store_of(opts: argparse.Namespace, settings: Settings) -> Store:
    """Open the store of ``--store``, or of the setting. Raises :exc:`HarvestError`."""
    from sitemap_harvest.snapshots.store import open_store  # a crawl uses this module too, and may have no store

    if not (path := opts.store or settings.get("SITEMAP_HARVEST_STORE")):
        message = "no store was given: add --store FOLDER, or SITEMAP_HARVEST_STORE to settings.py"
        raise ArgumentError("store", path, "a folder, or s3://bucket/folder", message=message)
    return open_store(path)


def stored_site(store: Store, name: str) -> History:
    """Return the history of the site *name* in *store*; say so if it has another name. Raises :exc:`StoreError`."""
    history = store.site(name)
    if not f"//{history.site}".endswith(f"//{name.rstrip('/').lower()}"):
        tell(f"{name} is stored as {history.site}")
    return history


def with_snapshot(histories: Sequence[History], when: str) -> tuple[list[History], list[StoreError]]:
    """Return those of *histories* with a snapshot *when*, and the errors of the others."""
    found, errors = [], []
    for history in histories:
        try:
            history.run(when)
        except StoreError as error:
            errors.append(error)
        else:
            found.append(history)
    return found, errors


def make_folder(option: str, given: str, path: str | Path) -> None:
    """Create the folder of the file *path*, which *option* names as *given*, as ``crawl -O`` does.

    Raises :exc:`ArgumentError`.
    """
    folder = Path(path).resolve().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{option} {given}: the folder {folder} cannot be created: {(error.strerror or str(error)).lower()}"
        raise ArgumentError(option, given, "a file", message=message) from error


def file_and_format(output: str) -> tuple[str, str]:
    """Return the path and the format of *output*. Raises :exc:`ArgumentError` for an unknown format.

    ``-`` is standard output, as JSON Lines; the name of a format alone is standard output too.
    """
    if output in FORMATS:
        output = f"-:{output}"
    if output == "-":
        output = "-:jsonl"
    path, colon, name = output.rpartition(":")
    if not (colon and path and name in FORMATS):
        stem, _, suffix = output.rpartition(".")
        path, name = output, (stem.rpartition(".")[2] if suffix in COMPRESSIONS else suffix).lower()
    if name in BINARY_FORMATS and _is_compressed(path):
        message = f"output {output}: {BINARY_FORMATS[name]} is already compressed; use the suffix .{name} alone"
        raise ArgumentError("output", output, _FORMATS, message=message)
    if name not in FORMATS:
        raise ArgumentError("output", output, _FORMATS, message=f"output {unknown_format(output)}")
    if reason := why_no_package(name):
        raise ArgumentError("output", output, "a format that is installed", message=f"output {output}: {reason}")
    return path, name


def with_format(output: str, formats: Collection[str]) -> str | None:
    """Return the *output* of a crawl with its format if Scrapy does not find it; ``None`` if it is not in *formats*."""
    if output == "-":
        return "-:jsonl"
    named, suffix = output.rpartition(":")[2] if ":" in output else "", Path(output).suffix[1:]
    if (not named or named not in formats) and (kind := kind_of(output)):
        return f"{output}:{kind}"
    is_known = any(name in formats for name in (named, suffix) if name or "://" in output)
    return output if is_known else None


def unknown_format(output: str, *, databases: Sequence[str] = ()) -> str:
    """Return the message that the format of *output*, which may be one of *databases*, is unknown."""
    stem, _, suffix = output.rpartition(".")
    hint = "or name the format, as in urls.txt:csv"
    if suffix.lower() == "xls":
        hint = f"did you mean {stem}.xlsx?"
    elif stem.rpartition(".")[2] in _SUFFIXES:
        hint = f"did you mean {stem}.{COMPRESSIONS[0]}?"
    elif databases and "?" in output:
        base, _, parameters = output.partition("?")
        path, _, name = base.rpartition(":")
        path, name = (path, name) if path and name in databases else (base, databases[0])
        hint = f"or name the format at the end, as in {path}?{parameters}:{name}"
    packed = f"{', '.join(COMPRESSIONS[:-1])} or {COMPRESSIONS[-1]}"
    others = f", or one of {', '.join(databases)}" if databases else ""
    return without_login(
        f"{output}: the suffix must be one of {', '.join(_SUFFIXES)}, which {packed} may follow{others}; {hint}"
    )


def checked_output(output: str) -> tuple[str, str]:
    """Return the path and the format of *output*, whose folder is created. Raises :exc:`ArgumentError`."""
    path, name = file_and_format(output)
    if path != "-":
        make_folder("output", output, path)
    return path, name


def write(batches: Iterable[Batch[Any]], output: str) -> int:
    """Write *batches* to *output*, a value of ``-o``; return the number of rows.

    An existing file is replaced when the new one is complete.
    """
    path, name = file_and_format(output)
    try:
        if path == "-":
            return _export(batches, _standard_output(name), name)
        with replacing(Path(path)) as file:
            if not _is_compressed(path):
                return _export(batches, file, name)
            from sitemap_harvest.integration.items.output_files import compressed  # Scrapy's extensions load slowly

            with closing(compressed(path, file)) as packed:
                return _export(batches, packed, name)
    except BrokenPipeError:
        raise
    except OSError as error:
        place = "standard output" if path == "-" else f"output {output}"
        raise StoreError(f"{place}: {error.strerror or error}") from error


def _is_compressed(path: str) -> bool:
    return path.rpartition(".")[2] in COMPRESSIONS


def _standard_output(name: str) -> IO[bytes]:
    """Return a file that writes data in the format *name* to standard output, escaped if that is a terminal."""
    if not sys.stdout.isatty():
        return sys.stdout.buffer
    if name in BINARY_FORMATS:
        message = f"output {name}: the format is binary, and standard output is a terminal; write to a file or a pipe"
        raise ArgumentError("output", name, "a file", message=message)
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
    exporter = load_object(FORMATS[name])(file)
    exporter.start_exporting()
    rows = 0
    for batch in batches:
        exporter.export_item(batch)
        rows += len(batch)
    exporter.finish_exporting()
    for flaw in exporter.flaws():
        tell(f"The output has not all values: {flaw}")
    if name in {"json", "xml"}:  # a feed of Scrapy ends without a line feed, but this is the output of a command
        file.write(b"\n")
    file.flush()
    return rows


def screen_width(file: TextIO | None = None) -> int | None:
    """Return the width of the terminal *file*, at least 40; ``None`` if it is none. The default is standard output."""
    file = sys.stdout if file is None else file
    return max(Console(file=file).width, tables.NARROWEST) if file.isatty() else None


def show(
    rows: pa.Table,
    *,
    whole: Collection[str] = (),
    optional: Sequence[str] = (),
    group: str | None = None,
    has_separators: bool = False,
) -> None:
    """Print *rows* as a table, which fits a terminal, and has all text elsewhere.

    *whole*, *optional* and *group*: columns, as for :func:`~sitemap_harvest.cli.tables.table_lines`.
    *has_separators*: whether whole numbers are counts, with separators of thousands.
    """
    numbers, unbroken = [], [*whole]
    for field in rows.schema:
        if any(check(field.type) for check in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)):
            numbers.append(field.name)
        elif pa.types.is_temporal(field.type):
            unbroken.append(field.name)
    text = _counted_text if has_separators else _text
    cells = [list(map(text, column.to_pylist(maps_as_pydicts="lossy"))) for column in rows.columns]
    lines = tables.table_lines(
        rows.column_names,
        list(zip(*cells, strict=True)),
        width=screen_width(),
        right=numbers,
        whole=unbroken,
        optional=optional,
        group=group,
    )
    for line in lines:
        _write_line(sys.stdout, line, width=None)


def _counted_text(value: Any) -> str:
    return f"{value:,}" if type(value) is int else _text(value)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        value = ", ".join(value)
    elif isinstance(value, (list, dict)):
        value = json.dumps(value, ensure_ascii=False, default=str)
    text = value.isoformat(sep=" ", timespec="seconds") if hasattr(value, "astimezone") else str(value)
    return visible(text.removesuffix("+00:00"))
