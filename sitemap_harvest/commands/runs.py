"""``scrapy harvest runs``: what a store keeps; and whether it is whole, how much of it, and how it is packed."""

from __future__ import annotations

import hashlib
import secrets
import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from rich.console import Console

from sitemap_harvest.commands import closing, output
from sitemap_harvest.crawl.snapshot_wishes import check_consumer_name
from sitemap_harvest.crawl.wishes import age_of
from sitemap_harvest.errors import ArgumentError, StoreError
from sitemap_harvest.escape import ascii_json
from sitemap_harvest.store import Claims
from sitemap_harvest.store.cursors import cursors, drop, runs_held
from sitemap_harvest.store.packing import pack_all, prune

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from scrapy.settings import Settings

    from sitemap_harvest.store import History, Run, Store

HELP = "List the runs that a store keeps; check, drop or pack them."
ARGUMENTS = "--store S [SITE]"
EPILOG = "Exit codes: 0 fine; 2 wrong usage; 3 the store keeps no run; 4 a file is damaged, or a site is in use."
_PRUNE = "a number of runs to keep of each site (30), or an age (26w, 90d)"
_BLOCK = 1 << 20


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this action."""
    parser.add_argument("site", nargs="?", metavar="SITE", help="only this site")
    output.add_store(parser)
    parser.add_argument("--json", action="store_true", help="one record a run, one a line")
    parser.add_argument("--verify", action="store_true", help="compare all files with their checksums first")
    parser.add_argument(
        "--prune",
        metavar="N|AGE",
        help="keep the last N runs of each site, or those younger than AGE; the last run always stays, "
        "and so does what a consumer has not received",
    )
    parser.add_argument("--drop-consumer", metavar="NAME", help="remove the cursor of the consumer NAME first")
    parser.add_argument(
        "--pack", action="store_true", help="put the runs of each site into one folder, which takes less room"
    )


def run(opts: argparse.Namespace, settings: Settings) -> int:
    """Do what is asked for, list the runs, and return the exit code. Raises :exc:`HarvestError`."""
    store = output.store_of(opts, settings)
    rule = None if opts.prune is None else _rule(opts.prune)
    histories = store.histories() if opts.site is None else [store.site(opts.site)]
    damaged = [words for history in histories for words in _damaged(history)] if opts.verify else []
    for words in damaged:
        output.tell(f"damaged: {words}")
    if opts.drop_consumer is not None:
        _drop_consumer(histories, opts.drop_consumer)
    busy = False
    if (rule or opts.pack) and not damaged:
        done = [_change(store, history, rule, pack=opts.pack) for history in histories]
        busy = not all(done)
    _show(histories, as_json=opts.json)
    if damaged or busy:
        return closing.PARTLY_FAILED
    return closing.FINE if any(history.runs for history in histories) else closing.NOTHING_FOUND


class _Rule:
    """Which runs stay."""

    def __init__(self, *, last: int | None = None, since: datetime | None = None) -> None:
        self._last = last
        self._since = since

    def kept(self, runs: Sequence[Run]) -> list[str]:
        """Return the ids of those of *runs* that stay."""
        if self._since is None:
            return [run.id for run in runs[-(self._last or 1) :]]
        return [run.id for run in runs if run.started_at >= self._since]


def _rule(text: str) -> _Rule:
    if text.isascii() and text.isdigit() and int(text) > 0:
        return _Rule(last=int(text))
    if (age := age_of(text)) is None:
        raise ArgumentError("--prune", text, _PRUNE, message=f"--prune {text}: it must be {_PRUNE}")
    return _Rule(since=datetime.now(UTC) - age)


def _change(store: Store, history: History, rule: _Rule | None, *, pack: bool) -> bool:
    """Drop and pack the runs of a site; return ``False`` if a run is at work on it."""
    with _claimed(store, history) as holder:
        if holder is not None:
            output.tell(f"{history.site}: the run {holder} is at work on it; nothing was done")
            return False
        history.forget()
        if rule is not None and (dropped := prune(history, _kept(history, rule))):
            output.tell(f"{history.site}: {dropped} run{' was' if dropped == 1 else 's were'} dropped")
        if pack:
            pack_all(history)
    return True


def _kept(history: History, rule: _Rule) -> set[str]:
    """Return the ids of the runs that stay by the *rule*, and of those that a consumer needs, which is said."""
    kept = {*rule.kept(history.runs), *(run.id for run in history.runs[-1:])}
    needed: set[str] = set()
    for consumer, runs in runs_held(history).items():
        if more := set(runs) - kept:
            count = f"{len(more)} older run{' stays' if len(more) == 1 else 's stay'}"
            since = f"{consumer} has not received the changes after {runs[0]} (or: --drop-consumer {consumer})"
            output.tell(f"{history.site}: {count}, as the consumer {since}")
            needed |= more
    return kept | needed


def _drop_consumer(histories: Sequence[History], name: str) -> None:
    """Remove the cursor of a consumer. Raises :exc:`HarvestError` if there is none."""
    check_consumer_name(name, option="--drop-consumer")
    dropped = [drop(history, name) for history in histories]
    if not any(dropped):
        raise StoreError(f"--drop-consumer {name}: there is no such consumer")


@contextmanager
def _claimed(store: Store, history: History) -> Iterator[str | None]:
    """Claim the site for the block; give the id of the run that has claimed it, if one has."""
    claims = Claims(store.folder, f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}")
    holder = claims.take(history.folder)
    try:
        yield holder
    finally:
        if holder is None:
            claims.release(history.folder)
        claims.close()


def _damaged(history: History) -> Iterator[str]:
    """Yield in words what is wrong with the files of a site."""
    try:
        volumes = history.volumes
    except StoreError as error:
        yield str(error)
        return
    for volume in volumes:
        for file in volume.manifest.files:
            digest = hashlib.sha256()
            try:
                with volume.folder.open(file.name) as opened:
                    while data := opened.read(_BLOCK):
                        digest.update(data)
            except (OSError, pa.ArrowException) as error:
                yield f"{volume.folder}/{file.name}: {error}"
                continue
            if digest.hexdigest() != file.sha256:
                yield f"{volume.folder}/{file.name}: it is not as it was written"


def _show(histories: Sequence[History], *, as_json: bool) -> None:
    rows = [facts for history in histories for facts in _facts(history)]
    if as_json:
        sys.stdout.writelines(ascii_json(row, default=str) + "\n" for row in rows)
        return
    console = Console(file=sys.stdout)
    if not rows:
        output.say(console, "The store keeps no run.")
        return
    output.show(pa.Table.from_pylist([_told(row) for row in rows]), console)
    for history in histories:
        for cursor in cursors(history):
            words = f"{history.site}: {cursor.consumer} has received the changes up to {cursor.run or 'no run'}"
            output.say(console, words)


def _facts(history: History) -> Iterator[dict[str, Any]]:
    """Yield what is told of each run of a site, with the consumers whose cursors are there."""
    found = cursors(history)
    for run in history.runs:
        values = run.to_json()
        consumers = [cursor.consumer for cursor in found if cursor.run == run.id]
        yield {"site": history.site, "run": values.pop("id"), **values, "consumers": consumers}


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """Return what the table shows of a run."""
    lasted = datetime.fromisoformat(row["ended_at"]) - datetime.fromisoformat(row["started_at"])
    changes = ", ".join(f"{count:,} {kind}" for kind, count in row["changes"].items() if count)
    return {
        "site": row["site"],
        "run": row["run"],
        "started": datetime.fromisoformat(row["started_at"]),
        "seconds": round(lasted.total_seconds(), 1),
        "documents": row["documents"],
        "URLs": row["urls"],
        "changes": changes or ("first" if row["baseline"] is None else "none"),
        "complete": "yes" if row["complete"] else "no",
    }
