"""``sitemap-harvest runs``: lists, checks, prunes and compacts the runs of a store."""

from __future__ import annotations

import hashlib
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sitemap_harvest.cli import output
from sitemap_harvest.cli.closed_pipe import write
from sitemap_harvest.config import value_parsers
from sitemap_harvest.engine.exit_codes import RunOutcome
from sitemap_harvest.errors import StoreError
from sitemap_harvest.escape import ascii_json
from sitemap_harvest.model import SiteResult, counted
from sitemap_harvest.model.run import new_run_id
from sitemap_harvest.snapshots.store import SiteLocks, compact, prune
from sitemap_harvest.snapshots.store.cursors import cursors, drop, runs_held

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from scrapy.settings import Settings

    from sitemap_harvest.snapshots.store import History, Run, Store

USAGE = "--store S [SITE]"
EPILOG = (
    "Columns: documents and URLs are those of the whole snapshot, also those that the run did not request; changes are "
    "those since the previous run (first: there is none); complete is yes if every document was read completely or "
    "confirmed, and has the result of the site unless that is found; not due are sitemaps whose own interval had not "
    "passed in a job with a budget. "
    "In the JSON and in the view runs of a query, rows is the number of entries that no earlier run had stored.\n"
    "Exit codes: 0 success; 2 wrong usage; 3 the store has no runs; 4 a file is damaged, or a site is locked."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this action."""
    parser.add_argument("site", nargs="?", metavar="SITE", help="only this site")
    output.add_store(parser)
    parser.add_argument("--json", action="store_true", help="print one line of JSON per run")
    parser.add_argument("--verify", action="store_true", help="check all files against their checksums first")
    parser.add_argument(
        "--prune",
        metavar="N|AGE",
        help="keep the last N runs of each site, or those younger than AGE; the last run is always kept, "
        "and so are changes that a consumer has not received",
    )
    parser.add_argument("--drop-consumer", metavar="NAME", help="remove the cursor of the consumer NAME before pruning")
    parser.add_argument("--pack", action="store_true", help="merge the small files of each site")


def run(opts: argparse.Namespace, settings: Settings) -> RunOutcome:
    """Change the store if requested, and list the runs. Raises :exc:`HarvestError`."""
    store = output.store_of(opts, settings)
    keep = None if opts.prune is None else output.parsed_option("--prune", opts.prune, _number_or_start)
    histories = store.histories() if opts.site is None else [output.stored_site(store, opts.site)]
    damaged = [words for history in histories for words in _damaged(history)] if opts.verify else []
    for words in damaged:
        output.tell(f"damaged: {words}")
    if opts.verify and not damaged:
        output.tell(_verified(histories))
    if opts.drop_consumer is not None:
        name = output.parsed_option("--drop-consumer", opts.drop_consumer, value_parsers.consumer)
        dropped = [drop(history, name) for history in histories]
        if not any(dropped):
            raise StoreError(f"--drop-consumer {name}: there is no such consumer")
    is_changed = []
    if (keep is not None or opts.pack) and not damaged:
        is_changed = [_change(store, history, keep, pack=opts.pack) for history in histories]
    _show(histories, as_json=opts.json)
    if damaged or not all(is_changed):
        return RunOutcome.PARTLY_FAILED
    return RunOutcome.WHOLE if any(history.runs for history in histories) else RunOutcome.NOTHING_FOUND


def _number_or_start(text: str) -> int | datetime:
    """Parse *text*, the value of ``--prune``: the number of runs to keep, or an age; return that as a time."""
    try:
        if text.isdecimal():
            return value_parsers.whole()(text)
        return datetime.now(UTC) - timedelta(seconds=value_parsers.seconds(text))
    except value_parsers.InvalidValueError as error:
        accepted = "a number of runs to keep for each site (30), or an age (26w, 90d)"
        raise value_parsers.InvalidValueError(accepted) from error


def _change(store: Store, history: History, keep: int | datetime | None, *, pack: bool) -> bool:
    """Prune and compact the runs of a site; return ``False`` if a running run has locked it.

    *keep*: the number of runs to keep, or the start of the earliest; ``None``: all are
    kept.
    """
    with closing(SiteLocks(store.folder, new_run_id(datetime.now(UTC)))) as locks:
        if (holder := locks.take(history.folder)) is not None:
            output.tell(f"{history.site}: locked by the run {holder}; nothing was changed")
            return False
        try:
            history.forget()
            if keep is not None and (dropped := prune(history, _kept(history, keep))):
                output.tell(f"{history.site}: {dropped} run{' was' if dropped == 1 else 's were'} removed")
            if pack:
                compact(history, fewest=2)
        finally:
            locks.release(history.folder)
    return True


def _kept(history: History, keep: int | datetime) -> set[str]:
    """Return the IDs of the runs to keep: also the last, and those that a consumer needs, which is printed."""
    runs = history.runs
    wanted = runs[-keep:] if isinstance(keep, int) else [run for run in runs if run.started_at >= keep]
    kept, needed = {run.id for run in (*wanted, *runs[-1:])}, set[str]()
    for consumer, held in runs_held(history).items():
        if more := set(held) - kept:
            needed |= more
            output.tell(
                f"{history.site}: {len(more)} older run{' is' if len(more) == 1 else 's are'} kept: the consumer "
                f"{consumer} has not received the changes after {held[0]} "
                f"(if it no longer exists, add --drop-consumer {consumer})"
            )
    return kept | needed


def _verified(histories: Sequence[History]) -> str:
    """Return the number of the files of *histories*, none of which is damaged, as text.

    Data in a manifest is part of the manifest, which has a checksum too.
    """
    names = [{file.name for file in history.manifest.files if file.values is None} for history in histories]
    files, sites = sum(map(len, names)) + len(names), len(names)
    match = "matches its checksum" if files == 1 else "match their checksums"
    return f"{counted(files, 'file')} of {counted(sites, 'site')} {match}"


def _damaged(history: History) -> Iterator[str]:
    """Yield the problems with the files of a site as text."""
    try:
        files = history.manifest.files
    except StoreError as error:
        yield str(error)
        return
    for file in files:
        if file.values is not None:  # the manifest has a checksum of its own
            continue
        try:
            with history.folder.open(file.name) as opened:
                digest = hashlib.file_digest(opened, "sha256")
        except (OSError, pa.ArrowException) as error:
            yield f"{history.folder}/{file.name}: {error}"
            continue
        if digest.hexdigest() != file.sha256:
            yield f"{history.folder}/{file.name}: the checksum does not match"


def _show(histories: Sequence[History], *, as_json: bool) -> None:
    found = [(history, cursors(history)) for history in histories]
    if as_json:
        for history, consumers in found:
            for run in history.runs:
                values = run.to_json()
                received_last = [cursor.consumer for cursor in consumers if cursor.run == run.id]
                row = {"site": history.site, "run": values.pop("id"), **values, "consumers": received_last}
                write(ascii_json(row, default=str) + "\n")
    elif rows := [_columns(history.site, run) for history in histories for run in history.runs]:
        optional = ["seconds", "documents", "started"]
        output.show(pa.Table.from_pylist(rows), whole=["run"], optional=optional, group="site", has_separators=True)
        for history, consumers in found:
            for cursor in consumers:
                received = f"the changes up to {cursor.run}" if cursor.run else "no changes"
                output.say(f"{history.site}: {cursor.consumer} has received {received}")
    else:
        output.say("The store has no runs.")


def _columns(site: str, run: Run) -> dict[str, Any]:
    changes = ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in run.changes.items() if count)
    result = "" if run.result in {None, SiteResult.FOUND} else f" ({run.result})"
    left_out = "" if run.not_due is None else f", {run.not_due:,} not due"
    no_change = "none" if run.complete else "unknown" if result else "none known"
    return {
        "site": site,
        "run": run.id,
        "started": run.started_at,
        "seconds": round((run.ended_at - run.started_at).total_seconds(), 1),
        "documents": run.documents,
        "URLs": run.urls,
        "changes": changes or ("first" if run.baseline is None else no_change),
        "complete": f"{'yes' if run.complete else 'no'}{left_out}{result}",
    }
