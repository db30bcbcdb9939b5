"""Renders the audit as GitHub Flavored Markdown, short enough for a comment on a pull request.

Text of the site is in code spans, in which neither markup nor mentions have a meaning.

Spec: https://github.github.com/gfm/#code-spans
"""

from __future__ import annotations

import re
from collections import Counter
from html import escape
from typing import TYPE_CHECKING

from sitemap_harvest.audit.explanation import as_markdown, explanation_of, new_texts
from sitemap_harvest.escape import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sitemap_harvest.audit.site_audit import SiteAudit
    from sitemap_harvest.model import Finding, FindingSample

_MOST_BYTES = 65_000  # GitHub allows 65,536 characters in a comment
_MOST_CHARS = 300  # of a text of the site
_MOST_FINDINGS = 5  # of a rule, in the details
_BACKTICKS = re.compile("`+")
_HEAD = "| severity | rule | documents | count | first finding | in |\n|---|---|--:|--:|---|---|\n"


def render_markdown(audits: Sequence[SiteAudit]) -> bytes:
    """Return the comment on *audits*: the table of each site, and then the details of each, as far as they fit."""
    pairs = [(audit, _by_rule(audit)) for audit in audits]
    parts = [part for audit, found in pairs for part in _tables(audit, found)]
    for audit, found in pairs:
        where = f" on <code>{escape(visible(audit.summary.site))}</code>" if len(audits) > 1 else ""
        parts += [_details(findings, where) for findings in found.values()]
    parts += _not_checked(audits)
    text = b"## Sitemap audit\n"
    for part in map(str.encode, parts):
        if len(text) + len(part) > _MOST_BYTES:
            return text + b"\nThe comment is too long to show everything.\n"
        text += part
    return text


def _by_rule(audit: SiteAudit) -> dict[str, list[Finding]]:
    """Return the findings of each rule, the most severe first."""
    found: dict[str, list[Finding]] = {}
    for finding in sorted(audit.findings, key=lambda finding: finding.severity.rank):
        found.setdefault(finding.rule, []).append(finding)
    return found


def _tables(audit: SiteAudit, found: dict[str, list[Finding]]) -> Iterator[str]:
    site = audit.summary.site
    words = audit.summary.in_words().removeprefix(f"{site}: ")
    yield f"\n### {_code(site)}\n\n{words}\n"
    if audit.summary.lastmod_trust is not None:
        yield f"\ntrust in lastmod: {audit.summary.lastmod_trust} of 100\n"
    if found:
        yield f"\n{_HEAD}"
        yield from (_row(findings, audit) for findings in found.values())


def _row(findings: list[Finding], audit: SiteAudit) -> str:
    first, total = findings[0], audit.rules[findings[0].rule]
    cells = (
        str(total.severity),
        _code(first.rule),
        f"{total.documents:,}" if total.documents else "",
        f"{total.count:,}",
        _code(first.message),
        _code(_place(first)),
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def _details(findings: list[Finding], where: str) -> str:
    rule = findings[0].rule
    known = explanation_of(rule)
    lines = [f"\n<details><summary><code>{rule}</code>{where}</summary>\n", as_markdown(known.title), ""]
    for finding in findings[:_MOST_FINDINGS]:
        lines.append(f"- {_code(_place(finding))}: {_code(finding.message)}")
        lines += [f"  - {text}" for sample in finding.samples if (text := _sample(sample, finding))]
    if known.fix:
        lines += ["", f"Fix: {as_markdown(known.fix)}"]
    return "\n".join([*lines, "\n</details>\n"])


def _not_checked(audits: Sequence[SiteAudit]) -> Iterator[str]:
    """Yield the rules that were not checked for some of the sites, if there are any."""
    sites: dict[str, Counter[str]] = {}
    for audit in audits:
        for reason, rules in audit.summary.not_checked_by_reason.items():
            sites.setdefault(reason, Counter()).update(rules)
        for reason, rules in audit.summary.partly_checked_by_reason.items():
            sites.setdefault(f"only in part: {reason}", Counter()).update(rules)
    if not sites:
        return
    lines = []
    for reason, counts in sites.items():
        rules = [
            _code(rule) + ("" if count == len(audits) else f" ({count:,} of {len(audits):,} sites)")
            for rule, count in counts.items()
        ]
        lines.append(f"- {_code(reason)}: {', '.join(rules)}")
    count = len({rule for counts in sites.values() for rule in counts})
    yield "\n".join([f"\n<details><summary>Not checked: {count}</summary>\n", *lines, "\n</details>\n"])


def _sample(sample: FindingSample, finding: Finding) -> str:
    """Return what *sample* adds to the message of its *finding*; empty if nothing."""
    texts = [_code(text) for text in new_texts(finding, sample)]
    numbers = (("line", sample.line), ("entry", sample.position))
    places = [f"{name} {number}" for name, number in numbers if number is not None][:1]
    if places and not texts and (text := sample.loc or sample.value):
        texts = [_code(text)]  # a place alone says little
    if places and sample.sitemap and sample.sitemap != finding.sitemap:
        places[0] += f" of {_code(sample.sitemap.removeprefix(finding.site) or sample.sitemap)}"
    return ", ".join(texts + places)


def _place(finding: Finding) -> str:
    """Return the path of the document, or its URL if it is on another host."""
    return (finding.sitemap or "").removeprefix(finding.site) or finding.sitemap or finding.site


def _code(text: str) -> str:
    """Return *text* as a code span of one line."""
    shown = visible(text)
    shown = shown if len(shown) <= _MOST_CHARS else f"{shown[: _MOST_CHARS - 1]}…"
    longest = max((len(run) for run in _BACKTICKS.findall(shown)), default=0)
    fence = "`" * (longest + 1)
    space = " " if shown[:1] in {"`", " ", ""} or shown[-1:] in {"`", " "} else ""
    return f"{fence}{space}{shown}{space}{fence}"
