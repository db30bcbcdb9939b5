"""``AuditRule``: one check of the audit, an SQL query with its documentation; ``@rule`` declares one."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from sitemap_harvest.display import percent
from sitemap_harvest.model import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sitemap_harvest.model import Finding

    Query = Callable[..., str]

MAX_TEXT_CHARS = 2_048  # of a URL or a value in a sample: the longest URL that the protocol allows
_MAX_VALUE_CHARS = 200  # in a message
_ID = re.compile(r"[a-z0-9-]+/[a-z0-9-]+")
_Q = TypeVar("_Q", bound="Query")
NEEDS = {
    "urls": "no URL was read",
    "site": "a single document was audited, not a site",
    "site.urls": "no URL was read",
    "site.history": "there is no earlier run of the site (-a store=FOLDER keeps the runs)",
    "history": "there is no earlier run of the site (-a store=FOLDER keeps the runs)",
    "pages": "no listed page was requested, by a probe (--probe N) or in a crawl export (--crawl-export FILE)",
    "pages.canonical": "the crawl export has no canonical URLs",
    "pages.directives": "the crawl export has no robots directives",
    "pages.last_modified": "the pages have no Last-Modified header",
    "pages.title": "the crawl export has no titles",
    "crawl-export": "there is no crawl export with pages of the site (--crawl-export FILE)",
}
"""What a rule may need, each with the reason why it is not checked without. ``a.b`` needs ``a`` too."""
_SOURCES = {"hreflang": "alternates", "image": "images", "news": "news", "video": "videos"}  # by subject of our rules


@dataclass(frozen=True, slots=True)
class Unchecked:
    """When a rule is not checked, or only for a part of the snapshot."""

    query: str
    """An SQL query of the reasons, one in each row; no row if the rule is checked."""
    words: str
    """The condition as text, which follows ``if``."""

    def where(self, condition: str) -> Unchecked:
        """Return the same, of snapshots that fulfill an SQL *condition*: the query ends with one already."""
        return Unchecked(f"{self.query} and {condition}", self.words)


class _FormattedNumber(float):
    """A number that is formatted with a noun, as in ``{count:image}``, or as other numbers."""

    def __format__(self, spec: str) -> str:
        if len(spec) > 1 and spec.replace(" ", "").isalpha():
            return f"{self} {spec}{'' if float(self) == 1.0 else 's'}"
        return format(float(self), spec) if spec else str(self)

    def __str__(self) -> str:
        return f"{int(self):,}" if self.is_integer() else f"{float(self):g}"


@dataclass(frozen=True, slots=True)
class MostFrequent:
    """The most frequent value of a finding; formatted with a noun, as in ``{most:host}``, it says how many others."""

    value: str
    count: int
    """Its occurrences."""
    others: int
    """Number of other values."""

    def __format__(self, noun: str) -> str:
        value = shortened(self.value, _MAX_VALUE_CHARS)
        plural = "" if self.others == 1 else "s"
        return f"{value} ({self.count:,}) and {self.others:,} other {noun}{plural}" if self.others else value


def shortened(value: Any, most: int) -> Any:
    """Return *value*, if it is a text with at most so many characters, and ``...`` if it has more."""
    return f"{value[:most]}..." if isinstance(value, str) and len(value) > most else value


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRule:
    """One check of the audit."""

    id: str
    """Stable id, such as ``url/fragment``."""
    severity: Severity
    message: str
    """The message of a finding: a format string with the fields ``count``, ``urls`` (``1 URL``, ``2 URLs``), ``share``,
    ``value`` (of the first sample), and the names of the thresholds. ``{count:image}`` is ``1 image`` or ``2 images``,
    also for thresholds. ``{most:host}`` is the most frequent value, and how many other hosts there are."""
    query: Query
    """Returns the SQL query, given the thresholds. Its docstring is the page of the rule in the catalogue.

    The query returns one row for each occurrence, with any of the columns ``sitemap``,
    ``loc``, ``position``, ``value``, ``count`` (occurrences in this row; 1 if absent),
    ``share`` and ``severity`` (that of the rule if null; each severity is a finding)."""
    of_site: bool = False
    """Whether the occurrences of all documents are one finding."""
    has_share: bool = False
    """Whether the share is that of the entries with an occurrence, rather than what the query returns."""
    needs: str | None = "urls"
    """A key of :data:`NEEDS`; ``None``: nothing."""
    unchecked: Unchecked | None = None
    """When parts of the snapshot are not checked; ``None``: all are."""
    needs_all: bool = False
    """Whether a document that was not read completely may refute what it finds: then it is not checked."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What other tools call it, by tool."""

    @property
    def source(self) -> str | None:
        """A view without whose rows the query returns none; ``None``: none is known."""
        is_own = self.query.__module__.startswith(__package__)
        return _SOURCES.get(self.id.partition("/")[0]) if is_own else None

    @property
    def documentation(self) -> str:
        """The page of the rule in the catalogue: the flaw, why it matters, the specification and the fix."""
        return inspect.getdoc(self.query) or ""

    @property
    def title(self) -> str:
        """What is wrong, in one sentence."""
        return self.documentation.partition("\n")[0]

    @property
    def thresholds(self) -> dict[str, float]:
        """The default of each threshold, by name; the first is the one that findings have."""
        return dict(_defaults(self.query))

    @property
    def all_needs(self) -> tuple[str, ...]:
        """The keys of :data:`NEEDS` without which the rule is not checked."""
        return () if self.needs is None else tuple(dict.fromkeys([self.needs.partition(".")[0], self.needs]))

    @property
    def names_most(self) -> bool:
        """Whether the message has the most frequent value."""
        return "{most:" in self.message

    def words(self, finding: Finding, thresholds: Mapping[str, float], most: MostFrequent | None = None) -> str:
        """Return the message of *finding*; *most* is ``None`` unless :attr:`names_most`."""
        value = next((sample.value for sample in finding.samples), None)
        numbers = {name: _FormattedNumber(one) for name, one in {**thresholds, "count": finding.count}.items()}
        values = {
            "urls": f"{numbers['count']:URL}",
            "value": shortened(value, _MAX_VALUE_CHARS),
            "share": "" if finding.share is None else percent(finding.share),
            "most": most,
        }
        return self.message.format(**{**numbers, **values})


@cache
def _defaults(query: Query) -> dict[str, float]:
    return {name: one.default for name, one in inspect.signature(query).parameters.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleOptions:
    """What the user sets for one rule."""

    is_off: bool = False
    severity: Severity | None = None
    """``None``: that of the rule."""
    thresholds: Mapping[str, float] = field(default_factory=dict)


RULES: dict[str, AuditRule] = {}
"""All rules, by id, in the order of their declaration."""


def rule(
    name: str,
    severity: Severity,
    message: str,
    *,
    of_site: bool = False,
    has_share: bool = False,
    needs: str | None = "urls",
    unchecked: Unchecked | None = None,
    needs_all: bool = False,
    **names: str,
) -> Callable[[_Q], _Q]:
    """Declare the decorated function as the query of a rule; for the arguments see :class:`AuditRule`.

    *names* are those of other tools: ``google``, ``bing``, ``screaming_frog``,
    ``sitebulb``. Raises :exc:`ValueError` if the ID is invalid or exists already.
    """

    def declare(query: _Q) -> _Q:
        if not _ID.fullmatch(name):
            raise ValueError(f"rule {name!r}: an ID has a subject and a name, such as shop/long-url")
        if name in RULES:
            raise ValueError(f"there are two rules named {name}")
        RULES[name] = AuditRule(
            id=name,
            severity=Severity(severity),
            message=message,
            query=query,
            of_site=of_site,
            has_share=has_share,
            needs=needs,
            unchecked=unchecked,
            needs_all=needs_all,
            names=names,
        )
        return query

    return declare
