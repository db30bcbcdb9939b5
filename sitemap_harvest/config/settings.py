"""``HarvestSettings``: the ``SITEMAP_HARVEST_*`` settings, parsed and validated."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field, fields
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sitemap_harvest.config.value_parsers import InvalidValueError, boolean, choice, whole
from sitemap_harvest.discovery.rules import Offsite
from sitemap_harvest.errors import OptionError, there_is_no
from sitemap_harvest.formats.collector import MIB, Limits
from sitemap_harvest.frontier.site_queue import Budget
from sitemap_harvest.model import Severity
from sitemap_harvest.network import PrivateAddresses
from sitemap_harvest.redact import without_login
from sitemap_harvest.urls import site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sitemap_harvest.audit import RuleOptions

NEVER, FALLBACK, ALWAYS = MODES = ("never", "fallback", "always")  # browser modes
_PREFIX = "SITEMAP_HARVEST_"
_CONTACT = re.compile(  # ASCII without whitespace, and without ( ) \\ that would end or alter the comment
    r"https?://[!-'*-\[\]-~]+|(?:mailto:)?[!-'*-.0-?A-\[\]-~]+@[!-'*-.0-?A-\[\]-~]+", re.IGNORECASE
)
_SITE = re.compile(r"https?://[^/?#@\s]+/?", re.IGNORECASE)
_HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_HEADER_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")
_T = TypeVar("_T")


def _private(value: Any) -> PrivateAddresses:
    if value == PrivateAddresses.NEVER:
        return PrivateAddresses.NEVER
    try:
        return PrivateAddresses.ALWAYS if boolean(value) else PrivateAddresses.NAMED
    except InvalidValueError as error:
        raise InvalidValueError(f"True, False or {PrivateAddresses.NEVER}") from error


def _contact(value: Any) -> str | None:
    if value and not _CONTACT.fullmatch(str(value)):
        accepted = "an email address or a URL (http:// or https://), in ASCII, without parentheses or backslashes"
        raise InvalidValueError(accepted)
    return _text(value)


def _site_headers(value: Any) -> Mapping[str, Mapping[str, str]]:
    """Return the headers by site. Error messages never contain a value: it may be a password."""
    name = f"{_PREFIX}SITE_HEADERS"
    try:
        given = json.loads(value) if isinstance(value, str) else value
        given = {str(site): dict(headers) for site, headers in dict(given).items()}
    except (TypeError, ValueError) as error:
        accepted = 'a dictionary such as {"https://www.example.com": {"X-Api-Key": "..."}}'
        raise OptionError(f"{name} must be {accepted}, with headers for each site") from error.with_traceback(None)
    headers = {}
    for text, own in given.items():
        site = site_of(text) if _SITE.fullmatch(text) else None
        if site is None:
            raise OptionError(f"{name}: {without_login(text)!r} must be a site, such as https://www.example.com")
        for header, content in own.items():
            if not isinstance(header, str) or not _HEADER_NAME.fullmatch(header):
                raise OptionError(f"{name}: {site}: {header!r} is not a valid header name")
            if not isinstance(content, str) or not _HEADER_VALUE.fullmatch(content):
                raise OptionError(f"{name}: {site}: {header} must be one line of text")
        headers[site] = own
    return headers


def _audit_modules(value: Any) -> tuple[str, ...]:
    """Import the modules with rules of the user, and return their names."""
    names = tuple(value.split(",") if isinstance(value, str) else value)
    for name in names:
        try:
            import_module(name.strip())
        except Exception as error:  # its code may fail in any way
            raise OptionError(f"{_PREFIX}AUDIT_MODULES: {name} cannot be imported: {error!r}") from error
    return names


def _audit(value: Any) -> Mapping[str, RuleOptions]:
    """Return the options of rules, by id: given as ``off``, as a severity, or as a dictionary with thresholds too.

    A name can be a pattern, such as ``lastmod/*``. The ID of a rule takes precedence over
    patterns, and a pattern over those before it.
    """
    from sitemap_harvest.audit.explanation import no_such_rule, rules_like  # few runs need the rules

    name = f"{_PREFIX}AUDIT"
    try:
        given = dict(json.loads(value) if isinstance(value, str) else value)
    except (TypeError, ValueError) as error:
        accepted = '{"url/fragment": "off", "lastmod/*": "notice", "sitemap/slow": {"seconds": 10}}'
        raise OptionError(f"{name}: it must be a dictionary of rules, such as {accepted}") from error
    patterns: dict[str, RuleOptions] = {}
    exact: dict[str, RuleOptions] = {}
    for rule, wanted in given.items():
        if not (rules := rules_like(str(rule))):
            raise OptionError(f"{name}: {rule!r}: {no_such_rule(str(rule))}")
        (exact if rules == [rule] else patterns).update(_options_of(rules, rule, wanted))
    return patterns | exact


def _options_of(rules: list[str], name: str, wanted: Any) -> dict[str, RuleOptions]:
    """Return the options of each of *rules*, as *wanted* under *name*: a rule gets those thresholds that it has."""
    from sitemap_harvest.audit import RULES, RuleOptions

    thresholds = dict(wanted) if isinstance(wanted, dict) else {"severity": wanted}
    severity = thresholds.pop("severity", None)
    if severity not in {None, "off", *Severity}:
        raise OptionError(f"{_PREFIX}AUDIT: {name} is {severity!r}; it must be off or one of {', '.join(Severity)}")
    known = {rule: RULES[rule].thresholds if rule in RULES else {} for rule in rules}
    for threshold, number in thresholds.items():
        if not any(threshold in one for one in known.values()):
            valid = dict.fromkeys(threshold for one in known.values() for threshold in one)
            raise OptionError(f"{_PREFIX}AUDIT: {name}: {there_is_no('threshold', threshold, valid)}")
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise OptionError(f"{_PREFIX}AUDIT: {name}: {threshold} is {number!r}; it must be a number")
        most, words = (
            (1, "from 0 to 1, such as 0.2 for 20%") if threshold == "share" else (sys.float_info.max, "0 or more")
        )
        if not 0 <= number <= most:
            raise OptionError(f"{_PREFIX}AUDIT: {name}: {threshold} is {number!r}; it must be {words}")
    is_off = severity == "off"
    return {
        rule: RuleOptions(
            is_off=is_off,
            severity=None if is_off or severity is None else Severity(severity),
            thresholds={threshold: number for threshold, number in thresholds.items() if threshold in own},
        )
        for rule, own in known.items()
    }


def _text(value: Any) -> str | None:
    return str(value) if value else None


def _setting(default: _T, parse: Callable[[Any], _T], help_: str, *, bounds: bool = False) -> _T:
    """Return a field of :class:`HarvestSettings`; *bounds*: whether it bounds what is read."""
    return field(default=default, metadata={"help": help_, "parse": parse, "bounds": bounds})


_bound = partial(_setting, bounds=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestSettings:
    """The ``SITEMAP_HARVEST_*`` settings, read and validated only here. Explained in ``docs/reference/settings.md``."""

    items: str = _setting(
        "auto", choice("auto", "dicts", "rows"), "As what items pass through Scrapy and its pipelines"
    )
    max_depth: int = _bound(10, whole(), "Maximum number of levels below the documents that a run starts with")
    max_documents: int = _bound(50_000, whole(), "Maximum number of documents for one site")
    max_site_bytes: int | None = _bound(None, whole(), "Maximum number of bytes downloaded for one site")
    max_site_urls: int | None = _bound(None, whole(), "Maximum number of URLs read for one site")
    max_site_seconds: int | None = _bound(
        86_400, whole(), "Time limit in seconds for requesting the documents of one site"
    )
    max_unanswered: int = _setting(
        20,
        whole(),
        "Number of consecutive documents without a response after which a host gets no more requests in the run",
    )
    max_unanswered_hosts: int = _setting(
        100,
        whole(),
        "Number of consecutive hosts without a response after which the documents of a site are requested only from "
        "hosts that have responded",
    )
    max_wait: int = _setting(60, whole(), "Longest wait in seconds that a server may require")
    max_urls: int = _bound(1_000_000, whole(), "Maximum number of URLs in one document")
    max_unpacked: int = _bound(200 * MIB, whole(), "Maximum number of bytes of one document after decompression")
    max_ratio: int = _bound(200, whole(), "Maximum ratio of decompressed to compressed bytes")
    fast_path: bool = _setting(default=True, parse=boolean, help_="Whether the fast path reads XML sitemaps")
    concurrency: int = _setting(64, whole(), "Maximum number of concurrent document downloads across all hosts")
    bodies: int = _setting(24 * MIB, whole(), "Maximum number of bytes of large documents in memory at a time")
    offsite: str = _bound(
        Offsite.DOMAIN.value, choice(*Offsite), "Hosts whose documents an index, a page or a feed may list"
    )
    private: PrivateAddresses = _setting(  # noqa: RUF009 - an enum
        PrivateAddresses.NAMED,
        _private,
        "Whether a run may connect to private networks",
    )
    contact: str | None = _setting(None, _contact, "How site operators can reach you")
    site_headers: Mapping[str, Mapping[str, str]] = field(
        default_factory=dict,
        repr=False,
        metadata={"help": "Request headers for individual sites", "parse": _site_headers},
    )
    read_declared: bool = _bound(
        default=False, parse=boolean, help_="Whether to read a sitemap even if robots.txt disallows it"
    )
    store: str | None = _setting(None, _text, "Where to store snapshots")
    queue: str | None = _setting(None, _text, "The PostgreSQL database with the queue of jobs")
    absent_runs: int = _bound(
        3,
        whole(),
        "Number of runs that must find a document absent (404 or 410) before it leaves the snapshot",
    )
    pending_runs: int = _bound(3, whole(0), "Number of runs after which a pending removal is reported")
    pending_days: int = _bound(7, whole(0), "Number of days after which a pending removal is reported")
    busy: str = _setting(
        "refuse", choice("refuse", "wait"), "What to do with a site that another run has locked in the same store"
    )
    search_again: int = _setting(
        7, whole(0), "Number of days after which a site without sitemaps is searched for sitemaps again"
    )
    max_age: int = _setting(30 * 86_400, whole(), "Seconds after which a document is downloaded again")
    trust_lastmod: str = _setting(
        "auto",
        choice("auto", "always", NEVER),
        "Whether to skip a document if its lastmod in the index has not changed",
    )
    browser: str = _setting(NEVER, choice(*MODES), "When to use a browser for sites that admit only browsers")
    browser_pages: int = _setting(2, whole(), "Maximum number of browser pages open at a time")
    browser_seconds: int = _setting(30, whole(), "Maximum time in seconds for the browser to pass a challenge")
    audit_modules: tuple[str, ...] = _setting((), _audit_modules, "Modules with rules of the audit to import")
    audit: Mapping[str, RuleOptions] = field(
        default_factory=dict, metadata={"help": "Severity and thresholds of rules of the audit", "parse": _audit}
    )
    log: str = _setting("text", choice("text", "json"), "Format of the log")
    metrics: str | None = _setting(None, _text, "Path of the metrics file, in Prometheus text format")
    closing: str | None = _setting(None, _text, "Path of the closing record of the run")

    @property
    def limits(self) -> Limits:
        """The limits for reading one document."""
        sitemaps = max(Limits().sitemaps, self.max_documents)
        return Limits(unpacked_bytes=self.max_unpacked, ratio=self.max_ratio, urls=self.max_urls, sitemaps=sitemaps)

    @property
    def bounds(self) -> dict[str, Any]:
        """The settings that bound what is read, by name, if they differ from the defaults: stored with snapshots."""
        given = {one.name: (getattr(self, one.name), one) for one in fields(self) if one.metadata.get("bounds")}
        return {name: value for name, (value, one) in given.items() if value != one.default}

    @property
    def budget(self) -> Budget:
        """The limits of one site."""
        return Budget(
            documents=self.max_documents,
            bytes=self.max_site_bytes,
            urls=self.max_site_urls,
            seconds=self.max_site_seconds,
            unanswered=self.max_unanswered,
            unanswered_hosts=self.max_unanswered_hosts,
        )

    @classmethod
    def from_settings(cls, settings: Mapping[Any, Any]) -> Self:
        """Read the settings. Raises :exc:`OptionError`, which names the setting, its value and the accepted values."""
        known = {f"{_PREFIX}{one.name.upper()}": one for one in fields(cls)}
        for name in settings:
            if str(name).startswith(_PREFIX) and name not in known:
                raise OptionError(f"{name}: {there_is_no('setting', str(name), sorted(known))}")
        values: dict[str, Any] = {}
        for name, one in known.items():
            if (value := settings.get(name)) is not None:
                try:
                    values[one.name] = one.metadata["parse"](value)
                except InvalidValueError as error:
                    raise OptionError(f"{name} is {value!r}; it must be {error.accepted}") from error
            elif name in settings and "None" in str(one.type):  # set to None: no limit
                values[one.name] = None
        return cls(**values)
