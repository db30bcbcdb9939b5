"""The options ``--list-rules`` and ``--explain`` of ``sitemap-harvest audit``: the catalogue of rules on a terminal."""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import TYPE_CHECKING

import pyarrow as pa

from sitemap_harvest.audit import RuleOptions
from sitemap_harvest.audit.explanation import all_rules, explanation_of, is_validated_only
from sitemap_harvest.cli import output
from sitemap_harvest.config.arguments import rules_named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sitemap_harvest.audit.explanation import Explanation

_WIDEST = 100  # characters of a line; longer ones are hard to read


def list_rules(options: Mapping[str, RuleOptions]) -> None:
    """Print a table of all rules and problem codes, with the severities and thresholds of *options*."""
    rows = []
    for rule in all_rules():
        known, option = explanation_of(rule), options.get(rule, RuleOptions())
        thresholds = {**known.thresholds, **option.thresholds}
        severity = "off" if option.is_off else str(option.severity or known.severity)
        shown = ", ".join(f"{name}={value:g}" for name, value in thresholds.items())
        meaning = f"{'(validate only) ' if is_validated_only(rule) else ''}{known.title}"
        rows.append({"rule": rule, "severity": severity, "thresholds": shown, "meaning": meaning})
    output.show(pa.Table.from_pylist(rows), whole=["rule", "severity"], optional=["thresholds"])


def explain_rules(names: Sequence[str], options: Mapping[str, RuleOptions]) -> None:
    """Print the documentation of the rules *names*, IDs or patterns. Raises :exc:`ArgumentError` for an unknown one."""
    width = min(_WIDEST, shutil.get_terminal_size().columns) if sys.stdout.isatty() else _WIDEST
    for rule in rules_named(names, "--explain"):
        head, paragraphs, facts = _texts(explanation_of(rule), options.get(rule, RuleOptions()))
        output.say(head)
        for text in paragraphs:
            _say_wrapped(text, width)
            output.say("")
        for text in facts:
            _say_wrapped(text, width)
        if facts:
            output.say("")


def _say_wrapped(text: str, width: int) -> None:
    indent = "  "
    for line in textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ):
        output.say(line)


def _texts(known: Explanation, option: RuleOptions) -> tuple[str, list[str], list[str]]:
    """Return the head line, the paragraphs, and the facts of a rule."""
    severity = "off" if option.is_off else option.severity or known.severity
    head = f"{known.rule} ({severity}{'' if severity == known.severity else f'; the default is {known.severity}'})"
    facts = []
    for name, default in known.thresholds.items():
        value = option.thresholds.get(name, default)
        facts.append(f"Threshold {name}: {value:g}{'' if value == default else f' (the default is {default:g})'}")
    if is_validated_only(known.rule):
        facts.append("Not checked by an audit, only by sitemap-harvest validate.")
    if known.left_out is not None:
        facts.append(f"An audit leaves it out if {known.left_out}. sitemap-harvest validate always reports it.")
    facts += known.not_checked
    facts += [f"Specification: {spec}" for spec in known.specs]
    facts += [f"{tool.replace('_', ' ').title()}: {name}" for tool, name in known.names.items()]
    return head, [known.title, *known.paragraphs, *([f"Fix: {known.fix}"] if known.fix else [])], facts
