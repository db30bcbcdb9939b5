"""``ARGUMENTS`` of the package's spiders, and ``RunConfig``, their parsed form. Checked before anything is fetched."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from sitemap_harvest.config import value_parsers as parse
from sitemap_harvest.config.settings import MODES
from sitemap_harvest.config.targets import parse_targets
from sitemap_harvest.config.value_parsers import InvalidValueError
from sitemap_harvest.dates import DateRange
from sitemap_harvest.discovery.well_known import robots_of
from sitemap_harvest.errors import ArgumentError, there_is_no
from sitemap_harvest.filters import PARTS, Filters
from sitemap_harvest.model import (
    CHANGEFREQS,
    AuditBatch,
    ChangeBatch,
    FindingBatch,
    LedgerBatch,
    OccurrenceBatch,
    PageBatch,
    SiteBatch,
    SummaryBatch,
    TrustBatch,
    UrlBatch,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from sitemap_harvest.discovery.candidate import Candidate
    from sitemap_harvest.model import Batch

EMIT: dict[str, type[Batch[Any]]] = {
    "urls": UrlBatch,
    "sitemaps": LedgerBatch,
    "sites": SiteBatch,
    "changes": ChangeBatch,
    "summaries": SummaryBatch,
    "pages": PageBatch,
    "findings": FindingBatch,
    "occurrences": OccurrenceBatch,
    "audits": AuditBatch,
    "trust": TrustBatch,
}
_OF_AUDITS = frozenset({"findings", "occurrences", "audits", "trust"})
_NEED_STORE = ("baseline", "consumer", "force", "resume", "feeds_only", "max_age", "at")
YES_OR_NO = "yes|no"
_NUMBERS = frozenset({"N", "0.0-1.0", "WHEN", "AGE"})  # numbers and text
_TEXTS = (str, re.Pattern)
_FUTURE = timedelta(hours=24)  # time zones are at most 14 hours ahead of UTC; the rest allows for wrong clocks


@dataclass(frozen=True, slots=True)
class Argument:
    """A spider argument."""

    help: str
    """Its meaning, in one line."""
    parse: Callable[[Any], Any] | None = None
    """Its parser; ``None``: :mod:`~sitemap_harvest.config.targets` parses it together with others."""
    default: str | None = None
    is_recorded: bool = True
    """Whether snapshots record it, because it may be the reason for a difference between two of them."""
    value: str = field(kw_only=True)
    """What its value is, in one word, or the words that it accepts, separated by ``|``."""
    is_list: bool = field(default=False, kw_only=True)
    """Whether it takes several values, separated by whitespace."""

    def takes(self, value: Any) -> bool:
        """Whether *value*, as :func:`plain` returns it, has a valid type: some parsers accept any object as text."""
        if self.value in _NUMBERS:
            return not isinstance(value, bool)
        is_several = isinstance(value, list) and (self.is_list or self.parse is None)
        return all(isinstance(part, _TEXTS) for part in (value if is_several else [value]))


_unrecorded = partial(Argument, is_recorded=False)
_keep_or_drop = partial(Argument, parse=parse.switch(keep=False, drop=True), default="keep", value="keep|drop")
_yes_or_no = partial(_unrecorded, parse=parse.switch(yes=True, no=False), default="no", value=YES_OR_NO)

ARGUMENT_GROUPS = {
    "Targets": {
        "site": _unrecorded("sites to search for sitemaps, starting with robots.txt", value="SITES", is_list=True),
        "sites": _unrecorded("a text file with one site per line", value="FILE"),
        "sitemap": _unrecorded(
            "sitemaps, indexes, URL lists or feeds: URLs or local files", value="URLS", is_list=True
        ),
        "root": _unrecorded(
            "a folder that replaces the site, or a web archive that replaces the network; nothing is fetched",
            value="PATH",
        ),
    },
    "Filters": {
        "follow": Argument(
            "of the sitemaps in an index, read only those whose URL matches this pattern", parse.pattern, value="REGEX"
        ),
        "skip": Argument("do not read sitemaps whose URL matches this pattern", parse.pattern, value="REGEX"),
        "scope": Argument(
            "URLs that are out of scope: mark to mark them, strict to drop them",
            parse.switch(mark=False, strict=True),
            "mark",
            value="mark|strict",
        ),
        "limit": Argument(
            "end after this many URLs; snapshots and audits have all URLs of the documents read by then",
            parse.whole(),
            value="N",
        ),
        "since": Argument("only URLs whose lastmod is not before this date or age", parse.date_or_age, value="WHEN"),
        "until": Argument("only URLs whose lastmod is not after this date or age", parse.date_or_age, value="WHEN"),
        "missing_lastmod": _keep_or_drop("URLs without lastmod: keep or drop"),
        "unreadable_lastmod": _keep_or_drop("URLs whose lastmod is not a date: keep or drop"),
        "future_lastmod": _keep_or_drop("URLs whose lastmod is in the future: keep or drop"),
        "prune_index": _yes_or_no("yes: skip sitemaps whose lastmod in the index is before since", is_recorded=True),
        "min_priority": Argument(
            "only URLs with this priority or a higher one (none: 0.5)", parse.fraction, value="0.0-1.0"
        ),
        "max_priority": Argument(
            "only URLs with this priority or a lower one (none: 0.5)", parse.fraction, value="0.0-1.0"
        ),
        "changefreq": Argument(
            "only URLs with one of these changefreq values", parse.words(CHANGEFREQS), value="VALUES", is_list=True
        ),
        "include": Argument(
            "only URLs that match one of these patterns", parse.patterns, value="REGEXES", is_list=True
        ),
        "exclude": Argument("no URLs that match any of these patterns", parse.patterns, value="REGEXES", is_list=True),
        "prefix": Argument(
            "only URLs whose path begins with one of these prefixes", parse.paths, value="PATHS", is_list=True
        ),
        "lang": Argument("only URLs that declare one of these languages", parse.languages, value="LANGS", is_list=True),
        "has": Argument(
            "only URLs with all of these parts, such as image or news", parse.words(PARTS), value="PARTS", is_list=True
        ),
    },
    "Store and changes": {
        "store": _unrecorded("where to store snapshots: a folder, or s3://bucket/folder", str, value="FOLDER"),
        "baseline": _unrecorded(
            "the snapshot to compare with: a run, a date or an age (7d)", parse.baseline, value="WHEN"
        ),
        "consumer": _unrecorded(
            "name of the consumer that receives the changes; the store keeps its cursor", parse.consumer, value="NAME"
        ),
        "force": _yes_or_no("yes: download and read every document, even if it has not changed"),
        "max_age": _unrecorded("download documents again after this time", parse.seconds, value="AGE"),
        "resume": _yes_or_no("yes: resume a run that was killed"),
        "feeds_only": _yes_or_no("yes: request only the feeds in the last snapshot", is_recorded=True),
    },
    "Audit": {
        "at": _unrecorded(
            "audit this snapshot in the store, a run, a date or an age; or read the archive as it was then",
            parse.baseline,
            value="WHEN",
        ),
        "probe": _unrecorded("number of listed pages of each site to request, or all", parse.whole_or_all, value="N"),
        "probe_seed": _unrecorded("another number chooses other pages for the probe", parse.whole(0), "0", value="N"),
        "details": _unrecorded(
            "rules of the audit, such as url/fragment: emit each occurrence of what they find, in place of findings",
            parse.names,
            value="RULES",
            is_list=True,
        ),
    },
    "Requests and output": {
        "browser": _unrecorded(
            "when to use a browser: never, fallback or always", parse.choice(*MODES), value="|".join(MODES)
        ),
        "archive": _unrecorded(
            "store all that is downloaded in this folder, as WARC files", parse.local_path, value="FOLDER"
        ),
        "emit": _unrecorded(
            f"kinds of items to emit: {', '.join(EMIT)}; or none; the filters apply to urls only",
            parse.words(EMIT, alone="none"),
            "urls",
            value="KINDS",
            is_list=True,
        ),
    },
}
"""The arguments of ``scrapy crawl sitemap -a name=value``, and options of the command, by the title of their group."""

ARGUMENTS = {name: argument for group in ARGUMENT_GROUPS.values() for name, argument in group.items()}
URL_FILTERS = tuple(name for name in ARGUMENT_GROUPS["Filters"] if name not in {"follow", "skip", "limit"})
"""The arguments that select URLs rather than documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """The parsed arguments of a run. Those that are converted no further have the names of the arguments."""

    candidates: tuple[Candidate, ...]
    """The candidates that the run starts with."""
    logins: Mapping[str, str] = field(repr=False)
    """``Authorization`` headers by site, for the sites that the user named with a login."""
    no_sites: tuple[tuple[str, str], ...]
    """Lines of ``sites`` that are not a site, each with the reason."""
    root: Path | None = None
    """The local folder that replaces the site; ``None`` without one."""
    only_site: str | None = None
    """The site that the folder replaces."""
    replay: Path | None = None
    """The web archive that replaces the network: a file, or a folder of files; ``None`` without one."""
    replay_until: datetime | None = None
    """Later responses in the archive are ignored; ``None``: none are."""
    follow: re.Pattern[str] | None = None
    skip: re.Pattern[str] | None = None
    limit: int | None = None
    filters: Filters
    pruned_before: DateRange | None
    """Sitemaps whose ``lastmod`` in their index is before this are not fetched; ``None``: all are."""
    store: str | None = None
    baseline: str | None = None
    consumer: str | None = None
    force: bool = False
    resume: bool = False
    feeds_only: bool = False
    max_age: int | None = None
    """In seconds; ``None``: the setting decides."""
    at: str | None = None
    """The snapshot that is audited; ``None``: the one that the run makes."""
    probe: int | None = None
    """Pages of each site to request."""
    probe_seed: int = 0
    archive: str | None = None
    """The folder for WARC files of all that is downloaded; ``None``: they are not written."""
    intervals: tuple[float, float] | None = None
    """The multiplier of the intervals of sitemaps, and their ceiling in days, for a job of a plan with a budget.
    ``None``: the run requests all sitemaps."""
    recorded: Mapping[str, str]
    """The recorded arguments that differ from their defaults, as text: stored with each snapshot."""
    browser: str | None = None
    """Browser mode; ``None``: the setting decides."""
    details: tuple[str, ...] = ()
    """Rules of which each occurrence is emitted; IDs or patterns."""
    emit: Mapping[str, type[Batch[Any]]]
    """The kinds of items to emit, and the type of a batch of each."""

    @property
    def is_offline(self) -> bool:
        """Whether a folder or an archive replaces the network."""
        return self.root is not None or self.replay is not None

    @property
    def sites(self) -> dict[str, bool]:
        """The sites that are read from the network or an archive, each with whether the user named only its host."""
        return {one.root: one.is_bare for one in self.candidates if one.site_root} if self.root is None else {}

    def with_names(self, names: Mapping[str, str]) -> Self:
        """Return the configuration with other *names* of some sites, by name."""
        candidates = [robots_of(names[one.root]) if one.root in names else one for one in self.candidates]
        return replace(self, candidates=tuple(candidates))

    @property
    def audits(self) -> bool:
        """Whether the sites are audited."""
        return not self.emit.keys().isdisjoint(_OF_AUDITS)

    @classmethod
    def of(cls, arguments: Mapping[str, Any], *, now: datetime | None = None, needs_target: bool = True) -> Self:
        """Parse *arguments*; ages count from *now*. Raises :exc:`ArgumentError` for the first invalid one.

        *needs_target*: whether it is an error if they name nothing to harvest.
        """
        arguments = {name: plain(name, value) for name, value in arguments.items()}
        parsed = _parse(arguments)
        targets = parse_targets(arguments, needs_target=needs_target)
        now = now or datetime.now(UTC)
        filters = _filters(arguments, parsed, now)
        if "replay" in targets:
            targets["replay_until"] = _replay_until(parsed, now)
        if parsed["archive"] is not None and targets.keys() & {"root", "replay"}:
            message = f"argument archive={parsed['archive']!r}: with root, nothing is downloaded; omit one of them"
            raise ArgumentError("archive", parsed["archive"], "given without root", message=message)
        parsed["emit"] = _with_occurrences(parsed["emit"], parsed["details"])
        parsed["emit"] = {name: batch_type for name, batch_type in EMIT.items() if name in parsed["emit"]}
        return cls(
            **targets,
            **_for(cls, parsed),
            filters=filters,
            pruned_before=filters.since if parsed["prune_index"] else None,
            recorded={
                name: " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
                for name, argument in ARGUMENTS.items()
                if argument.is_recorded and (value := arguments.get(name, argument.default)) != argument.default
            },
        )


def plain(name: str, value: Any) -> Any:
    """Return *value* of the argument *name* as ``-a`` has it, if it is a type that only Python has."""
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(name, part) for part in value]
    if isinstance(value, bool) and name in ARGUMENTS and ARGUMENTS[name].value == YES_OR_NO:
        return "yes" if value else "no"
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, timedelta):
        return f"{int(value.total_seconds())}s"
    return value


def check_names(arguments: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise :exc:`ArgumentError` for the first of *arguments* that is none of the *known* ones."""
    for name, value in arguments.items():
        if name not in known:
            message = f"argument {name}: {there_is_no('argument', name, known)}"  # the value may be a password
            raise ArgumentError(name, value, ", ".join(known), message=message)


def _with_occurrences(emit: tuple[str, ...], details: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the kinds to *emit*, with occurrences in place of findings if there are *details*."""
    if details and "occurrences" not in emit:
        emit = tuple("occurrences" if kind == "findings" else kind for kind in emit)
    if details and "occurrences" not in emit:
        message = f"argument details={','.join(details)!r}: the run emits no findings; add emit=occurrences"
        raise ArgumentError("details", details, "given with emit=occurrences", message=message)
    if "occurrences" in emit and not details:
        message = "argument emit='occurrences': of which rules? Add details, for example details=url/fragment"
        raise ArgumentError("emit", "occurrences", "given with details", message=message)
    return emit


def check_details(names: Collection[str], option: str = "argument details") -> tuple[str, ...]:
    """Return the rules that *names* mean, as :func:`rules_named` does.

    Also raises :exc:`ArgumentError` if an audit checks none of them.
    """
    rules = rules_named(names, option)
    if rules:
        from sitemap_harvest.audit.explanation import is_validated_only

        if all(map(is_validated_only, rules)):
            message = f"{option} {', '.join(names)}: an audit does not check this; use sitemap-harvest validate"
            raise ArgumentError("details", names, "rules of the audit", message=message)
    return rules


def rules_named(names: Collection[str], option: str) -> tuple[str, ...]:
    """Return the rules that *names*, IDs or patterns such as ``lastmod/*``, mean.

    Raises :exc:`ArgumentError`, which begins with *option*, if one means none. Rules of the user are known once
    the settings were read.
    """
    if not names:
        return ()
    from sitemap_harvest.audit.explanation import no_such_rule, rules_like  # few runs need the rules

    rules: dict[str, None] = {}
    for name in names:
        if not (found := rules_like(name)):
            raise ArgumentError("details", name, "a rule", message=f"{option}: {name!r}: {no_such_rule(name)}")
        rules.update(dict.fromkeys(found))
    return tuple(rules)


def check_filters(config: RunConfig) -> None:
    """Raise :exc:`ArgumentError` if *config* selects URLs of a run that emits none, only the results of an audit."""
    if not config.audits or "urls" in config.emit:
        return
    for name in URL_FILTERS:
        if (value := config.recorded.get(name)) is not None:
            message = (
                f"argument {name}={value!r} has no effect: an audit checks every URL of the sitemaps that it reads; "
                "to audit a section, choose its sitemaps with follow=REGEX or skip=REGEX"
            )
            raise ArgumentError(name, value, "omitted in an audit", message=message)


def check_store(config: RunConfig, store: str | None) -> None:
    """Raise :exc:`ArgumentError` if *config* needs a *store* and there is none, or contradicts itself."""
    if config.consumer is not None and "changes" not in config.emit:
        message = f"argument consumer={config.consumer!r}: a consumer needs changes; add changes to emit"
        raise ArgumentError("consumer", config.consumer, "given with emit=changes", message=message)
    if "pages" in config.emit and config.probe is None:
        message = "argument emit='pages': only a probe has pages; add one, for example probe=500"
        raise ArgumentError("emit", "pages", "given with probe", message=message)
    if config.at is not None and (others := [name for name in config.emit if name not in _OF_AUDITS | {"pages"}]):
        message = (
            f"argument at={config.at!r}: an audit of a snapshot emits no {', '.join(others)}; add emit=findings, "
            f"or list the URLs with sitemap-harvest query --at {config.at}"
        )
        raise ArgumentError("at", config.at, "given with emit=findings", message=message)
    if store is not None:
        return
    given = {name: getattr(config, name) for name in _NEED_STORE}
    given["emit"] = ",".join(name for name in ("changes", "summaries") if name in config.emit) or None
    for name, value in given.items():
        if value is not None and value is not False:
            shown = "yes" if value is True else value
            message = f"argument {name}={shown!r}: it requires a store; add one, for example store=snapshots"
            raise ArgumentError(name, shown, "given with store", message=message)


def _parse(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parsed value of each argument that has a parser; ``None`` if it is not given and has no default."""
    check_names(arguments, ARGUMENTS)
    for name, value in arguments.items():
        if any(isinstance(part, str) and not part.strip() for part in (value if isinstance(value, list) else [value])):
            message = f"argument {name} is empty; give a value, or omit the argument"
            raise ArgumentError(name, value, "a value", message=message)
    parsed = {}
    for name, argument in ARGUMENTS.items():
        value = arguments.get(name, argument.default)
        try:
            is_given = value is not None or argument.default is not None
            parsed[name] = argument.parse(value) if argument.parse and is_given else None
        except InvalidValueError as error:
            raise ArgumentError(name, value if error.part is None else error.part, error.accepted) from error
        if value is not None and not argument.takes(value):
            raise ArgumentError(name, value, f"{argument.value}: {argument.help}")
    if parsed["consumer"] is not None and parsed["baseline"] is not None:
        message = f"argument consumer={parsed['consumer']!r}: its cursor is already the baseline; omit baseline"
        raise ArgumentError("consumer", parsed["consumer"], "given without baseline", message=message)
    return parsed


def _replay_until(parsed: dict[str, Any], now: datetime) -> datetime | None:
    """Return the end of ``at``, which is removed from *parsed*: with an archive, it selects no snapshot."""
    if (at := parsed.pop("at")) in {None, "latest"}:
        return None
    try:
        date = parse.date_or_age(at)
    except InvalidValueError as error:
        raise ArgumentError("at", at, f"{error.accepted}, to read an archive as it was then") from error
    return now - date if isinstance(date, timedelta) else date.last


def _filters(arguments: Mapping[str, Any], parsed: dict[str, Any], now: datetime) -> Filters:
    """Return the filters. Raises :exc:`ArgumentError` if two arguments contradict each other."""
    for name in ("since", "until"):
        if isinstance(age := parsed[name], timedelta):
            parsed[name] = DateRange(now - age, now - age)
    since, until, low, high = (parsed[name] for name in ("since", "until", "min_priority", "max_priority"))
    if since and until and since.first > until.last:
        raise ArgumentError("since", arguments["since"], f"before the end of until={arguments['until']!r}")
    if low is not None and high is not None and low > high:
        accepted = f"at most max_priority={arguments['max_priority']!r}"
        raise ArgumentError("min_priority", arguments["min_priority"], accepted)
    if parsed["prune_index"] and since is None:
        raise ArgumentError("prune_index", arguments["prune_index"], "used together with the argument since")
    parsed["future_lastmod"] = now + _FUTURE if parsed["future_lastmod"] else None
    return Filters(**_for(Filters, parsed))


def _for(record: type, parsed: dict[str, Any]) -> dict[str, Any]:
    """Return the given values of *parsed* whose names are fields of *record*."""
    return {one.name: parsed[one.name] for one in fields(record) if parsed.get(one.name) is not None}
