"""``sitemap-harvest jobs submit``: puts sites into the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemap_harvest.cli import output
from sitemap_harvest.config import value_parsers
from sitemap_harvest.config.arguments import ARGUMENTS, URL_FILTERS, RunConfig, check_names
from sitemap_harvest.config.named_targets import arguments_of
from sitemap_harvest.display import counted
from sitemap_harvest.engine.exit_codes import RunOutcome
from sitemap_harvest.errors import ArgumentError
from sitemap_harvest.jobs.job_queue import JobQueue, Plan
from sitemap_harvest.snapshots.store import open_store
from sitemap_harvest.urls import host_of, registrable_domain

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable
    from datetime import timedelta

_NOT_IN_JOBS = {
    "store": "is given with --store",
    "root": "reads files of one machine",
    "resume": "is set for crawls that were killed",
    "emit": "has no effect, as jobs write snapshots",
    "consumer": "delivers items, and jobs emit none",
    "baseline": "is for items, and jobs emit none",
    "at": "is for audits",
    "details": "is for audits",
    "site": "is given as a TARGET",
    "sites": "is given as a TARGET",
    "sitemap": "is given as a TARGET",
    "probe": "is for audits",
    "probe_seed": "is for audits",
} | {
    name: "has no effect, as snapshots have all URLs"
    for name in URL_FILTERS
    if name not in {"since", "prune_index"}  # which tell what is not requested
}
_MOST_PRIORITY = 2**31 - 1  # of PostgreSQL's integers


def prepared(opts: Namespace, store: str) -> Callable[[JobQueue], RunOutcome]:
    """Return the function that puts the targets into the queue. Raises :exc:`HarvestError` if a value is wrong."""
    arguments = _arguments(opts)
    config = RunConfig.of(arguments_of(opts.targets, arguments, prefers_sites=True))
    _check_targets(config)
    every, budget = _schedule(opts)
    priority = output.option_value(opts, "priority", _parsed_priority, 0)
    lock_of = _lock_of(output.option_value(opts, "one_per", value_parsers.choice("host", "domain"), "host"))
    blocks = output.option_value(opts, "blocks", value_parsers.whole(), 1)
    plan = Plan(store=store, arguments=arguments, every=every, budget=budget, blocks=blocks)

    def act(queue: JobQueue) -> RunOutcome:
        open_store(store, create=True)  # an error is seen now, and not in each job
        for _, reason in config.no_sites:
            output.tell(reason)
        done = queue.submit(plan, ((one.root, lock_of(one.root)) for one in config.candidates), priority=priority)
        again = f", {done.known:,} of them again" if done.known else ""
        output.tell(f"{counted(done.new + done.known, 'site')} submitted{again}; jobs work crawls them")
        return RunOutcome.PARTLY_FAILED if config.no_sites else RunOutcome.WHOLE

    return act


def _arguments(opts: Namespace) -> dict[str, str]:
    """Return the arguments of each crawl. Raises :exc:`ArgumentError` for those that jobs cannot have."""
    arguments: dict[str, str] = opts.spargs
    for name, reason in _NOT_IN_JOBS.items():
        if name in arguments:
            raise ArgumentError(name, arguments[name], "left out", message=f"-a {name}: it {reason}; leave it out")
    check_names(arguments, [name for name in ARGUMENTS if name not in _NOT_IN_JOBS])
    return arguments


def _check_targets(config: RunConfig) -> None:
    """Raise :exc:`ArgumentError` for a target that a worker cannot crawl."""
    for site in config.logins:
        message = (
            f"TARGET {site}: its user name would be stored in the queue; leave it out, and set "
            "SITEMAP_HARVEST_SITE_HEADERS for the workers"
        )
        raise ArgumentError("TARGET", site, "without a user name", message=message)
    for candidate in config.candidates:
        if candidate.url.startswith("file:"):
            message = (
                f"TARGET {candidate.url}: it lists no sites; give a file with a site in each line, or the URL of a "
                "sitemap: workers on other machines cannot read a local one"
            )
            raise ArgumentError("TARGET", candidate.url, "a URL", message=message)


def _schedule(opts: Namespace) -> tuple[timedelta | None, float | None]:
    """Return the interval, and the crawls a day if intervals depend on the site."""
    every = output.option_value(opts, "every", value_parsers.every, None)
    if every == "auto" and opts.budget is None:
        message = "--every auto: add --budget, the crawls of all these sites, such as --budget 100000/day"
        raise ArgumentError("--budget", None, "a number of crawls a day", message=message)
    if every != "auto" and opts.budget is not None:
        message = f"--budget {opts.budget}: it has an effect only with --every auto; leave it out"
        raise ArgumentError("--budget", opts.budget, "left out", message=message)
    return None if every == "auto" else every, output.option_value(opts, "budget", value_parsers.budget, None)


def _priority(text: str) -> int:
    if abs(number := int(text)) > _MOST_PRIORITY:
        raise ValueError(text)
    return number


_parsed_priority = value_parsers.parser(f"a whole number from -{_MOST_PRIORITY} to {_MOST_PRIORITY}", _priority)


def _lock_of(one_per: str) -> Callable[[str], str]:
    """Return the function from a site to its lock: its host, or its registrable domain."""
    if one_per == "host":
        return host_of
    return lambda site: registrable_domain(host_of(site)) or host_of(site)
