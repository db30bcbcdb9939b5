"""The texts of rules and findings, for reports: what a rule is about, and how to fix what it finds, in plain text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from sitemap_harvest.audit.problems import UNCHECKED_IF_UNREAD, causes_of
from sitemap_harvest.audit.rule import NEEDS, RULES
from sitemap_harvest.model import CATALOGUE, Severity
from sitemap_harvest.model.problem import MAX_SAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sitemap_harvest.audit.rule import AuditRule
    from sitemap_harvest.model import Finding, FindingSample


_CODE = re.compile("(``.+?``|`[^`]+`)")
_SPECIAL = re.compile(r"[\\`*_\[\]<>&#~|]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The documentation of one rule, or of one problem code. Code in its texts is between backticks."""

    rule: str
    """The ID."""
    severity: Severity
    """The severity, unless a setting or the query gives another."""
    title: str
    """What is wrong, in one sentence."""
    paragraphs: tuple[str, ...] = ()
    """Why it matters. Each is one line."""
    fix: str = ""
    """How to fix it; empty if the rule of a user does not say."""
    specs: tuple[str, ...] = ()
    """URLs of specifications."""
    thresholds: Mapping[str, float] = field(default_factory=dict)
    """The default of each threshold."""
    not_checked: tuple[str, ...] = ()
    """When the rule is not checked, or only in part: sentences."""
    left_out: str | None = None
    """When an audit leaves out the problem; ``None``: it never does."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What other tools call it, by tool."""


def all_rules() -> tuple[str, ...]:
    """Return the IDs of all rules, and then those of the problem codes."""
    return tuple(dict.fromkeys([*RULES, *CATALOGUE]))


def is_validated_only(rule: str) -> bool:
    """Return whether *rule* is a problem code that only ``sitemap-harvest validate`` checks, and no audit."""
    return rule.startswith("protocol/") and rule not in RULES


def gaps_in_words(details: Sequence[str], known: Mapping[str, int], found: Mapping[str, int]) -> Iterator[str]:
    """Yield a line for each rule of *details* with more occurrences *found* than *known*, and for those never checked.

    *known* and *found* are numbers of occurrences, by rule.
    """
    for rule in details:
        if known.get(rule, 0) < (count := found.get(rule, 0)):
            yield (
                f"{rule}: {known.get(rule, 0):,} of {count:,} occurrences are known: "
                f"of each problem, a document has only the first {MAX_SAMPLES}"
            )
    if never := [rule for rule in details if is_validated_only(rule)]:
        yield f"Not checked, because only sitemap-harvest validate does: {', '.join(never)}"


def as_markdown(text: str) -> str:
    """Return *text* of an explanation as Markdown, in which only code has a meaning."""
    parts = _CODE.split(text)
    parts[::2] = [_SPECIAL.sub(r"\\\g<0>", part) for part in parts[::2]]
    return "".join(parts)


def rules_like(name: str) -> list[str]:
    """Return the IDs that *name*, an ID or a pattern such as ``lastmod/*``, means; none if it is unknown."""
    known = all_rules()
    return [name] if name in known else [rule for rule in known if "*" in name and fnmatchcase(rule, name)]


def no_such_rule(name: str) -> str:
    """Return a message that *name* is no rule, with the most similar IDs, or the pattern of the group of that name."""
    rules = all_rules()
    group = f"{name.removesuffix('/')}/"
    is_group = any(rule.startswith(group) for rule in rules)
    alike = [f"{group}*"] if is_group else get_close_matches(name, rules, 3)
    meant = f"did you mean {' or '.join(alike)}? " if alike else ""
    return f"unknown rule; {meant}sitemap-harvest audit --list-rules lists all rules"


def explanation_of(rule: str) -> Explanation:
    """Return the documentation of the rule or the problem code. Raises :exc:`KeyError` if there is none."""
    if rule in RULES:
        return _of_rule(RULES[rule])
    known = CATALOGUE[rule]
    paragraphs = (f"Usual cause: {known.cause}", known.consequence)
    return Explanation(
        rule=rule,
        severity=known.severity,
        title=known.meaning,
        paragraphs=paragraphs,
        fix=known.fix,
        left_out=when_left_out(rule),
    )


def when_left_out(code: str) -> str | None:
    """Return when an audit leaves out a problem with that *code*, as text; ``None`` if it never does."""
    causes = ", ".join(f"`{one}`" for one in causes_of(code))
    return f"the same document has a finding that explains it: {causes}" if causes else None


def _short(code: re.Match[str]) -> str:
    """Return *code* between single backticks, unless it contains one."""
    inner = code[0].strip("`")
    return code[0] if "`" in inner else f"`{inner}`"


def _of_rule(rule: AuditRule) -> Explanation:
    title, *rest = [_CODE.sub(_short, " ".join(one.split())) for one in rule.documentation.split("\n\n")]
    found: dict[str, list[str]] = {"Fix": [], "Spec": [], "": []}
    for one in rest:
        kind = next((name for name in ("Fix", "Spec") if one.startswith(f"{name}: ")), "")
        found[kind].append(one.removeprefix(f"{kind}: "))
    return Explanation(
        rule=rule.id,
        severity=rule.severity,
        title=title or rule.id,
        paragraphs=tuple(found[""]),
        fix=" ".join(found["Fix"]),
        specs=tuple(found["Spec"]),
        thresholds=rule.thresholds,
        not_checked=tuple(_not_checked(rule)),
        names=rule.names,
    )


def _not_checked(rule: AuditRule) -> Iterator[str]:
    if rule.all_needs:
        yield f"Not checked if {', or if '.join(NEEDS[one] for one in rule.all_needs)}."
    if rule.needs_all:
        yield f"Not checked if it would find something, and {UNCHECKED_IF_UNREAD.words}."
    if rule.unchecked is not None:
        yield f"Not checked, or only in part, if {rule.unchecked.words}."


def new_texts(finding: Finding, sample: FindingSample) -> list[str]:
    """Return the URL and the value of *sample* that the message of *finding* does not have as a whole."""
    return [text for text in (sample.loc, sample.value) if text and not _has(finding.message, text)]


def _has(message: str, text: str) -> bool:
    return re.search(rf"(?<![^\s(]){re.escape(text)}(?![^\s,;:)])", message) is not None
