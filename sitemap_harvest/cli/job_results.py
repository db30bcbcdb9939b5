"""``sitemap-harvest jobs diff``, ``audit`` and ``export``: tables over all sites of a store, written by jobs."""

from __future__ import annotations

import re
import sys
import time
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from sitemap_harvest.cli import output
from sitemap_harvest.config import value_parsers
from sitemap_harvest.display import counted
from sitemap_harvest.engine.exit_codes import RunOutcome
from sitemap_harvest.errors import ArgumentError
from sitemap_harvest.jobs.address import folder_for_workers
from sitemap_harvest.jobs.parts import COMPACTION, Part, missing, since_moment
from sitemap_harvest.snapshots.store import open_store
from sitemap_harvest.snapshots.store.storage import Folder, shown

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Mapping, Sequence

    from sitemap_harvest.jobs.job_queue import JobQueue, PartResult

_TABLES = {"diff": ("changes", "change"), "audit": ("findings", "finding"), "export": ("urls", "URL")}
_PARTS = 16
_LOOK_SECONDS = 0.5
_MOST_NAMED = 20  # failed sites


def prepared(opts: Namespace, store: str) -> Callable[[JobQueue], RunOutcome]:
    """Return the function that lets workers write the table of the command. Raises :exc:`HarvestError`."""
    table, noun = _TABLES[opts.command_name]
    parts = _parts(opts, store, table)
    return lambda queue: _write_table(queue, parts, noun)


def counts_of(queue: JobQueue, parts: Sequence[Part]) -> tuple[list[PartResult], list[Mapping[str, Any]], bool]:
    """Let workers do the *parts*, wait for them, and name the sites and parts that have failed.

    Return the results, the counts of the parts that have not failed, and whether a site of these has.
    """
    request = queue.submit_parts(parts)
    try:
        results = _awaited(queue, request)
    except KeyboardInterrupt:
        output.tell("The jobs that have not ended are removed from the queue.")
        raise
    finally:
        queue.drop_parts(request)
    counts = [one.counts for one in results if one.counts is not None]
    failed = [message for one in counts for message in one["failed"]]
    compacts = parts[0].table == COMPACTION
    for message in failed[:_MOST_NAMED]:
        output.tell(message)
    if len(failed) > _MOST_NAMED:
        output.tell(
            f"and {counted(len(failed) - _MOST_NAMED, 'more site')} could not be {'compacted' if compacts else 'read'}"
        )
    for one in results:
        if one.reason is not None:
            output.tell(f"{parts[one.number].name} was not {'compacted' if compacts else 'written'}: {one.reason}")
    return results, counts, bool(failed)


def _write_table(queue: JobQueue, parts: Sequence[Part], noun: str) -> RunOutcome:
    """Let workers write the *parts*, and wait for them."""
    results, counts, has_failed = counts_of(queue, parts)
    absent = {*missing(parts[0].output, parts[0].table, len(parts))}
    if elsewhere := absent & {one.number for one in results if one.counts is not None}:
        files = f"{counted(len(elsewhere), 'file')} of {shown(parts[0].output)}"
        output.tell(
            f"{files} cannot be found here: workers wrote to this folder elsewhere; use --output s3://bucket/folder"
        )
    rows, sites = sum(one["rows"] for one in counts), sum(one["sites"] for one in counts)
    place = f"{counted(len(counts), 'file')} in {shown(parts[0].output)}"
    output.tell(f"{counted(rows, noun)} of {counted(sites, 'site')} written to {place}")
    return RunOutcome.PARTLY_FAILED if has_failed or elsewhere or len(counts) < len(results) else RunOutcome.WHOLE


def number_of_parts(opts: Namespace) -> int:
    """Return the value of ``--parts``. Raises :exc:`ArgumentError`."""
    return _PARTS if opts.parts is None else output.parsed_option("--parts", opts.parts, value_parsers.whole())


def _parts(opts: Namespace, store: str, table: str) -> Sequence[Part]:
    """Return the parts of *table* that the options describe. Raises :exc:`HarvestError` if they are wrong."""
    open_store(store)
    if not opts.output:
        message = "no output was given: add --output, a folder or s3://bucket/folder for the files"
        raise ArgumentError("--output", None, "a folder", message=message)
    folder = folder_for_workers("--output", opts.output)
    number = number_of_parts(opts)
    since = None
    if opts.since is not None:
        try:
            since = since_moment(opts.since, now=datetime.now(UTC)).isoformat(timespec="microseconds")
        except ArgumentError as error:
            message = f"--since {opts.since}: it must be {error.accepted}"
            raise ArgumentError("--since", opts.since, error.accepted, message=message) from error
    others = re.compile(rf"{table}-\d+-of-(?!{number:04}\.)\d+\.parquet")
    if Path(folder).is_file():
        message = f"--output {opts.output}: it is a file; give a folder, or s3://bucket/folder"
        raise ArgumentError("--output", opts.output, "a folder", message=message)
    try:
        names = Folder.at(folder, what="output").names()
    except OSError as error:
        message = f"--output {opts.output}: it cannot be read: {error.strerror or error}"
        raise ArgumentError("--output", opts.output, "a folder that can be read", message=message) from error
    if old := next(filter(others.fullmatch, names), None):
        message = (
            f"--output {shown(folder)}: it has {old}, of another number of parts; remove it, or use another folder"
        )
        raise ArgumentError("--output", folder, "another folder", message=message)
    return [
        Part(table=table, number=one, parts=number, store=store, output=folder, since=since) for one in range(number)
    ]


def _awaited(queue: JobQueue, request: str) -> list[PartResult]:
    """Return the results of *request* when all its jobs have ended."""
    if not queue.status().workers:
        output.tell("No worker runs; start one: sitemap-harvest jobs work")
    with _progress() as progress:
        task = progress.add_task("")
        while True:
            results = queue.part_results(request)
            ended = sum(one.has_ended for one in results)
            progress.update(task, completed=ended, total=len(results))
            if ended == len(results):
                return results
            time.sleep(_LOOK_SECONDS)


def _progress() -> Progress:
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("parts"), TimeElapsedColumn())
    is_terminal = sys.stderr.isatty()
    console = Console(file=sys.stderr if is_terminal else StringIO())
    return Progress(*columns, console=console, transient=True, disable=not is_terminal)
