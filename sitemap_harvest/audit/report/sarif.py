"""Renders the audit as SARIF 2.1.0, which GitHub code scanning shows at the lines of the files.

Spec: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html, and
https://docs.github.com/en/code-security/reference/code-scanning/sarif-files/sarif-support
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sitemap_harvest import __version__
from sitemap_harvest.audit.explanation import as_markdown, explanation_of, new_texts
from sitemap_harvest.audit.report.lines import lines_of
from sitemap_harvest.escape import ascii_json, visible
from sitemap_harvest.model import FindingSample, Severity, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sitemap_harvest.audit.site_audit import SiteAudit
    from sitemap_harvest.model import Finding

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTICE: "note"}
_MOST_RESULTS = 25_000  # GitHub rejects a run with more
_SHOWN = 5_000  # GitHub shows the most severe
_MOST_CHARS = 1_000  # of a message
_URI_CHARS = "!#$%&'()*+,/:;=?@[]~"  # that stay as they are


def render_sarif(audits: Sequence[SiteAudit]) -> bytes:
    """Return a log with one run, which has the results of all *audits*, the most severe first."""
    pairs = [(finding, audit) for audit in audits for finding in audit.findings]
    pairs.sort(key=lambda pair: pair[0].severity.rank)
    rules = list(dict.fromkeys(finding.rule for finding, _ in pairs))
    log = _Results(rules)
    results = list(islice((result for finding, audit in pairs for result in log.of(finding, audit)), _MOST_RESULTS))
    log.find_lines()
    samples = sum(max(1, len(finding.samples)) for finding, _ in pairs)
    findings = sum(total.findings for audit in audits for total in audit.rules.values()) - len(pairs)
    notes = [*_limits(len(results), samples - len(results) + findings), *_not_checked(audits)]
    run = {
        "tool": {
            "driver": {
                "name": "sitemap_harvest",
                "semanticVersion": __version__,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "results": results,
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notes}],
    }
    return f"{ascii_json({'$schema': _SCHEMA, 'version': '2.1.0', 'runs': [run]}, indent=1)}\n".encode()


def _rule(rule: str) -> dict[str, Any]:
    known = explanation_of(rule)
    fix = f"Fix: {known.fix}" if known.fix else ""
    text = "\n\n".join(part for part in (known.title, *known.paragraphs, fix) if part)
    found: dict[str, Any] = {
        "id": rule,
        "shortDescription": {"text": known.title},
        "fullDescription": {"text": " ".join((known.title, *known.paragraphs))},
        "help": {"text": text, "markdown": as_markdown(text)},
        "defaultConfiguration": {"level": _LEVELS[known.severity]},
        "properties": {"tags": list(dict.fromkeys(["sitemap", rule.partition("/")[0]]))},
    }
    return found | ({"helpUri": known.specs[0]} if known.specs else {})


class _Results:
    """Makes results of findings."""

    def __init__(self, rules: Sequence[str]) -> None:
        self._rules = {rule: number for number, rule in enumerate(rules)}
        self._seen: Counter[str] = Counter()  # results by fingerprint
        self._regions: dict[Path, list[tuple[int, dict[str, int]]]] = {}  # by file: positions whose line is unknown

    def of(self, finding: Finding, audit: SiteAudit) -> Iterator[dict[str, Any]]:
        """Yield a result for each sample of *finding*."""
        for sample in finding.samples or (FindingSample(),):
            texts = new_texts(finding, sample)
            document = sample.sitemap or finding.sitemap or f"{finding.site}/robots.txt"
            yield {
                "ruleId": finding.rule,
                "ruleIndex": self._rules[finding.rule],
                "level": _LEVELS[finding.severity],
                "message": {"text": _message(": ".join((finding.message, *texts)))},
                "locations": [{"physicalLocation": self._location(document, sample, audit)}],
                "partialFingerprints": {"primaryLocationLineHash": self._fingerprint(finding, sample)},
            }

    def find_lines(self) -> None:
        """Fill in the lines of the results in files, reading each file once."""
        for path, regions in self._regions.items():
            try:
                lines = lines_of(path.read_bytes(), {position for position, _ in regions})
            except OSError:  # it is gone, or is a folder
                continue
            for position, region in regions:
                region["startLine"] = lines.get(position, 1)

    def _location(self, document: str, sample: FindingSample, audit: SiteAudit) -> dict[str, Any]:
        """Return the place of *sample* in *document*: the file, if it was read from one, since GitHub needs files.

        If the file is missing, it is the place that names the document.
        """
        path = audit.file_of(document)
        if path is not None and document in audit.named_at and not path.exists():
            parent, position = audit.named_at[document]
            path, sample = audit.file_of(parent), FindingSample(position=position)
            document = parent
        if path is None:
            found: dict[str, Any] = {"artifactLocation": {"uri": quote(document, safe=_URI_CHARS)}}
            return found | ({"region": {"startLine": sample.line}} if sample.line else {})
        region = {"startLine": sample.line or 1}
        if sample.line is None and sample.position is not None:
            self._regions.setdefault(path, []).append((sample.position, region))
        return {"artifactLocation": _artifact(path), "region": region}

    def _fingerprint(self, finding: Finding, sample: FindingSample) -> str:
        """Return what stays the same between runs and machines, and a number for results with the same digest."""
        identity = json.dumps([finding.site, finding.rule, sample.sitemap or finding.sitemap, sample.loc])
        digest = hashlib.sha256(identity.replace(Path.cwd().as_uri(), "").encode()).hexdigest()[:32]
        self._seen[digest] += 1
        return f"{digest}:{self._seen[digest]}"


def _message(text: str) -> str:
    r"""Return *text* as a message in which nothing is a link (``[...](...)``) or a placeholder (``{0}``)."""
    shown = visible(text[:_MOST_CHARS])
    for character in "\\[]":
        shown = shown.replace(character, f"\\{character}")
    return shown.replace("{", "{{").replace("}", "}}")


def _artifact(path: Path) -> dict[str, str]:
    """Return the place of the file at *path*: relative to the current directory, if it is in there."""
    here = Path.cwd()
    if path.is_relative_to(here):
        return {"uri": quote(path.relative_to(here).as_posix()), "uriBaseId": "%SRCROOT%"}
    return {"uri": path.as_uri()}


def _limits(results: int, left_out: int) -> Iterator[dict[str, Any]]:
    if left_out:
        words = "result is" if left_out == 1 else "results are"
        yield _notification("warning", f"{left_out:,} more {words} not in this file. Use -O to save all findings.")
    if results > _SHOWN:
        yield _notification("note", f"GitHub shows only {_SHOWN:,} results, the most severe ones.")


def _not_checked(audits: Sequence[SiteAudit]) -> Iterator[dict[str, Any]]:
    if unread := sum(audit.summary.unread for audit in audits):
        documents = "document was" if unread == 1 else "documents were"
        yield _notification("warning", f"{unread:,} {documents} not read completely, so the audit is partial.")
    if left_out := sum(audit.summary.not_requested for audit in audits):
        documents = "document was" if left_out == 1 else "documents were"
        yield _notification("note", f"{left_out:,} listed {documents} not requested, so the audit is partial.")
    sites = Counter(
        (one.rule, "was checked only in part" if one.rule in summary.partly_checked else "was not checked", one.reason)
        for summary in (audit.summary for audit in audits)
        for one in summary.not_checked
    )
    for (rule, words, reason), count in sites.items():
        where = f" ({counted(count, 'site')})" if len(audits) > 1 else ""
        text = _message(f"{rule} {words}, because {reason}{where}")
        yield _notification("note", text) | {"associatedRule": {"id": rule}}


def _notification(level: str, text: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": text}}
