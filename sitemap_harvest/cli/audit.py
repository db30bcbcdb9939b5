"""``sitemap-harvest audit``: reports what is wrong with the sitemaps of sites, after a crawl or from a store."""

from __future__ import annotations

import argparse
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from sitemap_harvest.cli import audit_export, audit_reports, crawl, output, spider_options
from sitemap_harvest.cli.audit_findings import audit_sites
from sitemap_harvest.config import value_parsers
from sitemap_harvest.config.arguments import ARGUMENTS, URL_FILTERS, RunConfig, check_details, check_filters
from sitemap_harvest.config.named_targets import TARGET, arguments_of
from sitemap_harvest.config.settings import HarvestSettings
from sitemap_harvest.engine.exit_codes import RunOutcome
from sitemap_harvest.errors import ArgumentError, StoreError
from sitemap_harvest.model import Severity
from sitemap_harvest.model.problem import MAX_SAMPLES
from sitemap_harvest.snapshots.store import open_store, store_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy.settings import Settings

    from sitemap_harvest.cli.audit_reports import AuditReports
    from sitemap_harvest.cli.parsers import ActionParser
    from sitemap_harvest.snapshots.store import History

_MOST_SITES = 5  # in a message
USAGE = "TARGET... | --store S [SITE...]"
EPILOG = (
    "With --store, the audit reads the last snapshot of each SITE, or of all sites, "
    "and requests only the pages of --probe. "
    "Exit codes: 0 success; 2 wrong usage; 4 a finding of the severity of --fail-on or above, or no URL was read from "
    "some of the targets; 1 and 3 to 8 no URL was read from any, as for crawl.\n"
    f"{spider_options.NOTE}"
)


def add_options(parser: ActionParser) -> None:
    """Add the options of this action."""
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="a site, a sitemap or a file, as for crawl")
    parser.add_argument(
        "-a", dest="spargs", action="append", default=[], metavar="NAME=VALUE", help="an argument of the crawl"
    )
    output.add_store(parser)
    parser.add_argument(
        "--at",
        metavar="WHEN",
        default="latest",
        help="with --store: the snapshot to audit; with an archive as root: its time",
    )
    parser.add_argument(
        "--fail-on",
        metavar="SEVERITY",
        help=f"exit with 4 if a finding is at least this severe: {', '.join(Severity)}; the default is {output.NEVER}",
    )
    parser.add_argument(
        "--probe", metavar="N", help="request N listed pages of each site, or all of them, and check their responses"
    )
    parser.add_argument("--probe-seed", metavar="SEED", help="another number chooses other pages for --probe")
    audit_export.add_crawl_export(parser)
    parser.add_argument(
        "--details",
        action="append",
        default=[],
        metavar="RULES",
        help="write each occurrence of these rules, such as url/fragment or lastmod/*, to -O in place of findings; "
        f"of problems of documents, at most the first {MAX_SAMPLES} in each document",
    )
    parser.add_argument("--list-rules", action="store_true", help="list the rules with your settings, and stop")
    parser.add_argument(
        "--explain",
        action="extend",
        nargs="+",
        default=[],
        metavar="RULE",
        help="explain these rules, such as url/fragment or lastmod/*, and stop",
    )
    output.add_output(parser)
    audit_reports.add_report(parser)
    parser.add_argument("--emit", help=argparse.SUPPRESS)  # which explains itself
    spider_options.add_arguments(
        parser, but={"store", "at", "probe", "probe_seed", "details", "emit"}, hidden=URL_FILTERS
    )


def run(opts: argparse.Namespace, settings: Settings) -> RunOutcome:
    """Audit. Raises :exc:`HarvestError`."""
    if opts.list_rules or opts.explain:
        return _show_rules(opts, HarvestSettings.from_settings(settings))
    others = [*opts.targets]
    if opts.output is not None:
        audit_reports.check_data_file(opts.output)
        others.append(output.checked_output(opts.output)[0])
    reports = audit_reports.AuditReports(opts.reports, others=others)
    limit = None
    if opts.fail_on is not None:
        given = output.parsed_option("--fail-on", opts.fail_on, value_parsers.choice(*Severity, output.NEVER))
        if given != output.NEVER:
            limit = reports.fail_on = Severity(given)
    if (kinds := opts.spargs.get("emit") if opts.emit is None else opts.emit) is not None:
        message = (
            f"--emit {kinds}: this command writes findings, or with --details their occurrences; "
            f"for other kinds of items, use sitemap-harvest crawl TARGET --emit {kinds} -O FILE"
        )
        raise ArgumentError("--emit", kinds, "not given", message=message)
    settings.set("FEEDS", {}, priority="cmdline")  # the crawl emits nothing: the project's files would become empty
    options = HarvestSettings.from_settings(settings)
    opts.details = _details(opts)
    probe = _probe(opts)
    has_probe = opts.store is not None or "probe" in {**probe, **opts.spargs}  # a store may have records of one
    audit_export.check_pages(opts.details, has_export=opts.crawl_export is not None, has_probe=has_probe)
    if opts.store is None:
        with audit_export.opened(opts) as opts.export:
            return _crawl(opts, settings, options, limit, reports, probe)
    if opts.spargs:
        message = _without_effect(opts)
        raise ArgumentError("-a", opts.spargs, "given without --store", message=message)
    store = open_store(opts.store)
    histories = [output.stored_site(store, name) for name in opts.targets] or store.histories()
    _check_time(opts.at, histories)
    probed = RunOutcome.WHOLE if opts.probe is None else _probe_stored(histories, opts, settings, probe)
    opts.baseline = None
    with audit_export.opened(opts) as opts.export:
        audited, _ = audit_sites(store, histories, opts, options, limit, reports)
    return audited if probed is RunOutcome.WHOLE else probed


def _check_time(at: str, histories: Sequence[History]) -> None:
    """Raise :exc:`StoreError` if one of *histories* has no snapshot *at* that time, with the sites that have one."""
    found, errors = output.with_snapshot(histories, at)
    if errors and found:
        more = f" and {len(found) - _MOST_SITES:,} more" if found[_MOST_SITES:] else ""
        names = f"{' '.join(history.site for history in found[:_MOST_SITES])}{more}"
        raise StoreError(f"{errors[0]}; to audit only sites with such a snapshot, name them: {names}") from errors[0]
    if errors:
        raise errors[0]


def _without_effect(opts: argparse.Namespace) -> str:
    """Return what to do about the arguments in *opts*, which an audit of stored snapshots does not use."""
    options = [spider_options.option_of(name) for name in opts.spargs]
    have, them = ("has", "it") if len(options) == 1 else ("have", "them")
    words = f"--store audits stored snapshots, so {', '.join(options)} {have} no effect: leave {them} out"
    if not opts.targets or not {*URL_FILTERS, "store"}.isdisjoint(opts.spargs):
        return words  # which no crawl of an audit uses either
    return f"{words}, or give -a store={opts.store} in place of --store {opts.store} to crawl into the store"


def _probe(opts: argparse.Namespace) -> dict[str, str]:
    """Return the arguments of the crawl that the options of the probe mean."""
    given = {name: value for name in ("probe", "probe_seed") if (value := getattr(opts, name)) is not None}
    for name, value in given.items():
        spider_options.check_same(name, value, opts.spargs)
        if parse := ARGUMENTS[name].parse:
            output.parsed_option(spider_options.option_of(name), value, parse)
    if given.keys() == {"probe_seed"} and "probe" not in opts.spargs:
        message = f"--probe-seed {opts.probe_seed}: it chooses the pages of a probe; add --probe N"
        raise ArgumentError("--probe-seed", opts.probe_seed, "given with --probe", message=message)
    return given


def _probe_stored(
    histories: Sequence[History], opts: argparse.Namespace, settings: Settings, probe: Mapping[str, str]
) -> RunOutcome:
    """Request the pages of *probe* for the stored snapshots of *histories*; return the result."""
    arguments = {"emit": "none", "store": opts.store, "at": opts.at, **probe}
    crawled = argparse.Namespace(**vars(opts) | {"targets": [one.site for one in histories], "spargs": arguments})
    outcome, has_finished = crawl.crawl(crawled, settings, has_output=None)
    if not has_finished:
        output.tell("The probe ended early, so the audit is incomplete.")
    for history in histories:
        history.forget()
    return outcome if outcome in {RunOutcome.WHOLE, RunOutcome.INTERRUPTED} else RunOutcome.PARTLY_FAILED


def _show_rules(opts: argparse.Namespace, options: HarvestSettings) -> RunOutcome:
    from sitemap_harvest.cli.audit_rules import explain_rules, list_rules

    if opts.output or opts.reports:
        message = f"-O {opts.output}: " if opts.output else f"--report {opts.reports[0]}: "
        message += "--list-rules and --explain print to standard output, and write no file"
        raise ArgumentError("-O", opts.output, "not given", message=message)
    if opts.targets:
        message = (
            f"TARGET {opts.targets[0]!r}: --list-rules and --explain audit nothing; "
            "to explain several rules, give all of them after --explain"
        )
        raise ArgumentError("TARGET", opts.targets[0], "not given", message=message)
    if opts.list_rules:
        list_rules(options.audit)
    if opts.explain:
        names = output.parsed_option("--explain", ",".join(opts.explain), value_parsers.names)
        explain_rules(names, options.audit)
    return RunOutcome.WHOLE


def _details(opts: argparse.Namespace) -> tuple[str, ...]:
    """Return the rules of ``--details`` and ``-a details``. Raises :exc:`ArgumentError` for an unknown rule."""
    given = [*opts.details, *filter(None, [opts.spargs.pop("details", None)])]
    if given and not opts.output:
        message = f"--details {given[0]}: it needs -O FILE, which gets a row for each occurrence"
        raise ArgumentError("--details", given[0], "given with -O", message=message)
    return check_details(
        output.parsed_option("--details", ",".join(given), value_parsers.names) if given else [], "--details"
    )


def _crawl(
    opts: argparse.Namespace,
    settings: Settings,
    options: HarvestSettings,
    limit: Severity | None,
    reports: AuditReports,
    probe: Mapping[str, str],
) -> RunOutcome:
    """Crawl the targets into a store, a temporary one unless the user names one, and audit them."""
    given = {"emit": "none", **probe, **opts.spargs}
    if opts.at != "latest":
        if "root" not in given:
            raise ArgumentError("--at", opts.at, "given with --store", message=f"--at {opts.at}: it needs --store")
        given["at"] = opts.at  # of an archive
    config = RunConfig.of(arguments_of(opts.targets, given | {"emit": "findings"}), needs_target=False)
    check_filters(config)
    opts.baseline = config.baseline
    if not config.candidates:
        message = f"nothing to audit: give {TARGET}; or --store S to audit stored snapshots"
        raise ArgumentError("TARGET", None, TARGET, message=message)
    reports.use_root(config.root)
    roots = [one.root for one in config.candidates]
    with TemporaryDirectory(prefix="sitemap-harvest-") as folder:
        opts.spargs = {"store": options.store or folder, **given}
        keeps_store = opts.spargs["store"] != folder
        store = store_at(opts.spargs["store"])  # the crawl creates it
        names = store.renamed(config.sites)
        roots = [names.get(root, root) for root in roots]
        before = {root: store.history(root).runs[-1:] for root in roots}
        outcome, has_finished = crawl.crawl(opts, settings, has_output=None, keeps_store=keeps_store)
        histories = [store.history(root) for root, runs in before.items() if store.history(root).runs[-1:] != runs]
        if not histories and not has_finished:
            output.tell("Nothing was audited, and no file was written, because the crawl stored nothing.")
            return outcome if outcome in {RunOutcome.NOT_STARTED, RunOutcome.INTERRUPTED} else RunOutcome.PARTLY_FAILED
        audited, all_have_urls = audit_sites(store, histories, opts, options, limit, reports)
    if not has_finished:
        output.tell("The crawl ended early, so the audit is incomplete.")
        return outcome if outcome is RunOutcome.INTERRUPTED else RunOutcome.PARTLY_FAILED
    if audited is not RunOutcome.WHOLE:
        return audited
    if outcome not in {RunOutcome.WHOLE, RunOutcome.PARTLY_FAILED}:
        return outcome
    is_whole = all_have_urls and len(histories) == len(before) and not config.no_sites
    return RunOutcome.WHOLE if is_whole else RunOutcome.PARTLY_FAILED
