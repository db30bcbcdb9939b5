"""Whether two audits of a site can be compared: both checked the same rules, in the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemap_harvest.audit.rule import RULES
from sitemap_harvest.diff.documents import differences
from sitemap_harvest.model import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sitemap_harvest.audit.site_audit import SiteAudit


def why_not_compared(now: SiteAudit, before: SiteAudit) -> str | None:
    """Return why no finding of *now* can be compared with those of *before*; ``None`` if findings can."""
    if changed := differences(before.run.arguments, now.run.arguments):
        names = ", ".join(one.name for one in changed)
        return f"the two runs have different arguments or settings ({names})"
    return None


def why_no_difference(now: SiteAudit, before: SiteAudit) -> str | None:
    """Return why the score of *now* cannot be compared with that of *before*, if findings can; ``None``: it can."""
    if _probe(now) != _probe(before):
        only_one = not (now.run.probe and before.run.probe)
        return "only one of the two runs has probed pages" if only_one else "the two probes have different samples"
    if rules := {*now.checked} ^ {*before.checked}:
        return f"only one of the two runs has checked {_named(rules)}"
    if rules := {rule for rule, _ in _in_part(now).items() ^ _in_part(before).items()}:
        return f"one of the two runs has checked only a part of {_named(rules)}"
    return None


def is_comparable(rule: str, now: SiteAudit, before: SiteAudit) -> bool:
    """Whether both audits checked *rule* in the same way, unless :func:`why_not_compared` has a reason."""
    needs_pages = rule in RULES and (RULES[rule].needs or "").startswith("pages")
    return (
        rule in now.checked
        and rule in before.checked
        and _in_part(now).get(rule) == _in_part(before).get(rule)
        and not (needs_pages and _probe(now) != _probe(before))
    )


def _probe(audit: SiteAudit) -> tuple[object, ...] | None:
    """Return what the sample of pages depends on, and how many of it are missing; ``None`` without a probe."""
    probe, summary = audit.run.probe, audit.summary
    if not probe:
        return None
    size = probe.get("sample")
    missing = (summary.sampled_pages or 0) - (summary.probed_pages or 0)
    return probe.get("seed"), None if size == probe.get("listed") else size, missing


def _named(rules: set[str]) -> str:
    return f"{counted(len(rules), 'rule')}, such as {min(rules)}" if len(rules) > 1 else min(rules)


def _in_part(audit: SiteAudit) -> Mapping[str, str]:
    """Return why rules were checked only in part, by rule."""
    return {one.rule: one.reason for one in audit.summary.not_checked if one.rule in audit.checked}
