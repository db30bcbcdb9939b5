"""``sitemap-harvest jobs``: crawls many sites as jobs that workers on any number of machines take from a queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemap_harvest.cli import output
from sitemap_harvest.config.arguments import RunConfig
from sitemap_harvest.config.named_targets import arguments_of
from sitemap_harvest.display import counted
from sitemap_harvest.engine.exit_codes import RunOutcome
from sitemap_harvest.errors import ArgumentError
from sitemap_harvest.jobs.address import check_installed, folder_for_workers, queue_address

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from scrapy.settings import Settings

    from sitemap_harvest.cli.parsers import ActionParser
    from sitemap_harvest.jobs.job_queue import JobQueue

USAGE = "COMMAND [TARGET...]"
_COMMANDS = {
    "submit": "crawl the TARGETs, from now on: sites, sitemaps, or files with sites",
    "work": "take jobs from the queue, until it is stopped",
    "status": "show the state of the queue",
    "pause": "begin no crawls of the TARGETs, or of --all",
    "resume": "undo pause",
    "retry": "crawl the TARGETs whose last crawl has failed, or --all of these, now, unless paused",
    "cancel": "remove the TARGETs, or --all, from the queue; their snapshots remain",
    "diff": "write the changes of all sites in the store, as jobs",
    "audit": "write the findings in the snapshots of all sites, as jobs",
    "export": "write the URLs in the snapshots of all sites, as jobs",
    "compact": "merge the small files of all sites in the store, as jobs",
}
EPILOG = "\n".join(
    [
        "Commands:",
        *(f"  {name:<18} {text}" for name, text in _COMMANDS.items()),
        "",
        (
            "The jobs are in a PostgreSQL database. Without --queue, a server for the jobs of one machine is started "
            "in the folder of --store."
        ),
        (
            "Exit codes: 0 success; 2 wrong usage, or the queue cannot be reached; 4 a part could not be written or "
            "compacted, a TARGET is not in the queue, or a line of a file is not a site; 130 interrupted."
        ),
    ]
)
_TARGETS_OF = frozenset({"submit", "pause", "resume", "retry", "cancel"})
_OPTIONS = {
    "all": {"pause", "resume", "retry", "cancel"},
    "spargs": {"submit"},
    "every": {"submit"},
    "budget": {"submit"},
    "priority": {"submit"},
    "one_per": {"submit"},
    "blocks": {"submit"},
    "concurrency": {"work"},
    "until_idle": {"work"},
    "time_limit": {"work"},
    "memory_limit": {"work"},
    "lease": {"work"},
    "watch": {"status"},
    "sites": {"status"},
    "failed": {"status"},
    "json": {"status"},
    "prometheus": {"status"},
    "html": {"status"},
    "output": {"diff", "audit", "export"},
    "parts": {"diff", "audit", "export", "compact"},
    "since": {"diff"},
}
"""The commands that an option has an effect on."""
_FORMS = ("watch", "sites", "failed", "json", "prometheus", "html")
_CREATE = frozenset({"submit", "diff", "audit", "export", "compact"})
"""The commands that create a queue: in a store without one, the others have nothing to do."""


def add_options(parser: ActionParser) -> None:
    """Add the options of this action."""
    parser.add_argument(
        "command_name", metavar="COMMAND", choices=list(_COMMANDS), help=f"one of {', '.join(_COMMANDS)}"
    )
    parser.add_argument("targets", nargs="*", default=[], metavar="TARGET", help="sites, sitemaps, or files with sites")
    output.add_store(parser)
    parser.add_argument("--queue", metavar="URI", help="the database: postgresql://me@host/database; or the setting "
                        "SITEMAP_HARVEST_QUEUE, or the variable of this name")  # fmt: skip
    submit = parser.add_argument_group("submit")
    submit.add_argument("--every", metavar="AGE|auto", help="crawl each site again after this time (1d, 6h), or auto: "
                        "the more often the more often it changes")  # fmt: skip
    submit.add_argument("--budget", metavar="N/day", help="with --every auto: crawls of all these sites in a day")
    submit.add_argument("--priority", metavar="N", help="a higher number is crawled first (default: 0)")
    submit.add_argument("--one-per", metavar="host|domain", help="what has at most one crawl at a time (default: host)")
    submit.add_argument(
        "--blocks", metavar="N", help="split a site with thousands of sitemaps into N jobs (default: 1)"
    )
    submit.add_argument(
        "-a", dest="spargs", action="append", default=[], metavar="NAME=VALUE", help="an argument of each crawl"
    )
    work = parser.add_argument_group("work")
    work.add_argument("--concurrency", metavar="N", help="crawls at a time (default: the number of processors)")
    work.add_argument("--until-idle", action="store_true", help="end when no job waits or runs, and no site is due: "
                      "failed ones may be due later")  # fmt: skip
    work.add_argument("--time-limit", metavar="AGE", help="the longest time of a job (default: 1d)")
    work.add_argument("--memory-limit", metavar="MIB", help="the most memory of the process of a job (default: 2048)")
    work.add_argument("--lease", metavar="SECONDS", help="time without a sign of life after which other workers take "
                      "over the jobs of a worker (default: 30); the same for all workers")  # fmt: skip
    status = parser.add_argument_group("status")
    status.add_argument("--watch", action="store_true", help="show it again every 2 seconds")
    status.add_argument("--sites", action="store_true", help="list the sites instead, with the next and last crawls")
    status.add_argument("--failed", action="store_true", help="list only those whose last crawl has failed")
    status.add_argument("--json", action="store_true", help="print it as JSON")
    status.add_argument("--prometheus", action="store_true", help="print it as metrics for Prometheus")
    status.add_argument("--html", metavar="FILE", help="write it to FILE, as a page")
    results = parser.add_argument_group("diff, audit, export, compact")
    results.add_argument("--output", metavar="FOLDER", help="where to write the Parquet files: a folder, or "
                         "s3://bucket/folder, which all workers reach")  # fmt: skip
    results.add_argument("--parts", metavar="N", help="the number of jobs, each of which writes one file (default: 16)")
    results.add_argument("--since", metavar="WHEN", help="changes since the last run by then: a date, a timestamp or "
                         "an age (default: since the run before the last)")  # fmt: skip
    parser.add_argument("--all", action="store_true", help="pause, resume, retry, cancel: all sites of the store")


def run(opts: Namespace, settings: Settings) -> RunOutcome:
    """Run the command. Raises :exc:`HarvestError`."""
    opts.command += f" {opts.command_name}"  # for messages
    _check_options(opts)
    check_installed()
    store = _store(opts, settings)
    act = _prepared(opts, store)
    address = queue_address(opts.queue, store, settings, creates=opts.command_name in _CREATE)
    from sitemap_harvest.jobs.job_queue import JobQueue  # needs packages that may not be installed

    with JobQueue.open(address) as queue:
        if opts.command_name != "work":
            return act(queue)
    return act(address)  # a worker has connections of its own, which survive a restart of the database


def _prepared(opts: Namespace, store: str | None) -> Callable[[Any], RunOutcome]:
    """Return the function that runs the command. All values were checked: a queue is not made for a wrong command."""
    command = opts.command_name
    if command == "work":
        from sitemap_harvest.cli import job_worker

        return job_worker.prepared(opts)
    if command == "status":
        from sitemap_harvest.cli import job_status

        return job_status.prepared(opts)
    if store is None:
        message = "no store was given: add --store FOLDER, or SITEMAP_HARVEST_STORE to settings.py"
        raise ArgumentError("store", None, "a folder, or s3://bucket/folder", message=message)
    if command == "submit":
        from sitemap_harvest.cli import job_submission

        return job_submission.prepared(opts, store)
    if command in _TARGETS_OF:
        return _change(opts, store)
    if command == "compact":
        from sitemap_harvest.cli import job_compaction

        return job_compaction.prepared(opts, store)
    from sitemap_harvest.cli import job_results

    return job_results.prepared(opts, store)


def _check_options(opts: Namespace) -> None:
    """Raise :exc:`ArgumentError` for an option or a target that has no effect on the command."""
    command = opts.command_name
    for name, commands in _OPTIONS.items():
        if getattr(opts, name) and command not in commands:
            option = "-a" if name == "spargs" else f"--{name.replace('_', '-')}"
            message = f"{option} has no effect on {command}, only on {', '.join(sorted(commands))}; leave it out"
            raise ArgumentError(option, None, "left out", message=message)
    if opts.targets and command not in _TARGETS_OF:
        message = f"TARGET {opts.targets[0]!r}: {command} takes no TARGET; leave it out"
        raise ArgumentError("TARGET", opts.targets, "left out", message=message)
    if command in _TARGETS_OF and bool(opts.targets) == bool(opts.all):
        what = "sites, sitemaps, or files with sites" if command == "submit" else "either TARGETs or --all"
        raise ArgumentError("TARGET", opts.targets, what, message=f"give {what}")
    if len(forms := [f"--{name}" for name in _FORMS if getattr(opts, name)]) > 1:
        raise ArgumentError(forms[0], None, "given alone", message=f"{' and '.join(forms)}: give one of them")


def _store(opts: Namespace, settings: Settings) -> str | None:
    """Return the store, in the form for workers; ``None`` if none is given. Raises :exc:`ArgumentError`."""
    if not (store := opts.store or settings.get("SITEMAP_HARVEST_STORE")):
        return None
    return folder_for_workers("store", str(store))


def _change(opts: Namespace, store: str) -> Callable[[JobQueue], RunOutcome]:
    """Return the function that pauses, resumes, retries or cancels sites."""
    command = opts.command_name
    sites, no_sites = None, list[str]()
    if opts.targets:
        config = RunConfig.of(arguments_of(opts.targets, {}, prefers_sites=True))
        sites, no_sites = [one.root for one in config.candidates], [reason for _, reason in config.no_sites]

    def act(queue: JobQueue) -> RunOutcome:
        for reason in no_sites:
            output.tell(reason)
        unknown = queue.unknown(store, sites or [])
        for site in unknown:
            output.tell(f"{site}: it was not submitted with the store {store}")
        changed = getattr(queue, command)(store, sites)
        done = {"pause": "paused", "resume": "resumed", "retry": "queued again", "cancel": "removed"}[command]
        output.tell(f"{counted(changed, 'site')} {done}")
        return RunOutcome.PARTLY_FAILED if unknown or no_sites else RunOutcome.WHOLE

    return act
