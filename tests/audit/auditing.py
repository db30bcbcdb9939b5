"""Audits of small stores, made without a crawl or by a run of the engine."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from sitemap_harvest.audit import RULES
from sitemap_harvest.audit.audit import Audit
from sitemap_harvest.dates import read_date
from sitemap_harvest.model import PageBatch, PageRecord, PageSource, UrlEntry
from sitemap_harvest.urls import site_of, url_key
from tests.engine.run import Web, harvest, session_of
from tests.snapshots.store.making import SITE, Making

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from sitemap_harvest.audit import AuditRule, RuleOptions
    from sitemap_harvest.model import Finding, SitemapRecord
    from sitemap_harvest.snapshots.store import SiteWriter

SITEMAP = f"{SITE}/sitemap.xml"
Documents = dict[str, tuple[list[Any], dict[str, Any]]]
"""The entries and references of each document, and the facts of its record."""
Sites = dict[str, Any]
"""The content of each document of a site, as for :meth:`Making.run`."""


def urls(*locs: str, **values: Any) -> list[UrlEntry]:
    """Return an entry for each of *locs*, with the same *values*."""
    return [
        UrlEntry(loc=loc, key=url_key(loc), site=site_of(loc), sitemap=SITEMAP, position=1, **values) for loc in locs
    ]


def dated(*texts: str | None, **values: Any) -> list[UrlEntry]:
    """Return entries of the pages ``/1``, ``/2`` and so on, with these texts as ``lastmod``, and with *values*."""
    return [
        dataclasses.replace(one, lastmod_text=text, **_date(text), **values)
        for one, text in zip(urls(*[f"{SITE}/{at + 1}" for at in range(len(texts))]), texts, strict=True)
    ]


def page(url: str, **values: Any) -> PageRecord:
    """Return the record of a page that a probe requested and that exists, with other *values*."""
    facts = {"method": "GET", "status": 200, "final_url": url, "content_type": "text/html", **values}
    return PageRecord(**{"site": SITE, "run": "", "source": PageSource.PROBE, "url": url, "key": url_key(url), **facts})


def _date(text: str | None) -> dict[str, Any]:
    date = read_date(text or "")
    return {"lastmod": date.value, "lastmod_precision": date.precision} if date else {}


class _Facts(Making):
    """Makes runs whose documents have some other facts in the ledger."""

    facts: Mapping[str, dict[str, Any]] = {}

    def document(self, writer: SiteWriter, url: str, listed: Any) -> SitemapRecord:
        return dataclasses.replace(super().document(writer, url, listed), **self.facts.get(url, {}))


def findings_of(
    path: Path,
    *runs: Sites,
    options: Mapping[str, RuleOptions] | None = None,
    facts: Mapping[str, dict[str, Any]] | None = None,
    rules: Sequence[AuditRule] | None = None,
    pages: Sequence[PageRecord] = (),
) -> list[Finding]:
    """Return the findings of the last of *runs*, each of which is stored at *path*.

    *facts*: fields of the ledger rows of documents, by URL. *rules*: if not all. *pages*: the requested pages.
    """
    making = _Facts(path, compares=True)
    making.facts = facts or {}
    snapshots = [making.run(documents) for documents in runs]
    batches = [PageBatch.of(pages).arrow]
    return [*Audit(snapshots[-1], making.store.history(SITE), options, rules=rules, pages=batches).findings()]


def findings_of_web(path: Path, *webs: Web, site: str = SITE) -> list[Finding]:
    """Return the findings of the last of several runs of the engine over *site*, which serves *webs* in turn."""
    return [*audit_of_web(path, *webs, site=site).findings()]


def found_on_web(path: Path, rule: str, *webs: Web) -> list[Finding]:
    """Return the findings of *rule* alone for the last of several runs of the engine over *webs*."""
    return of_rule([*audit_of_web(path, *webs, rules=[RULES[rule]], site=SITE).findings()], rule)


def audit_of_web(path: Path, *webs: Web, rules: Sequence[AuditRule] | None = None, **arguments: str) -> Audit:
    """Return the audit of the last of several runs of the engine over *webs*, with *arguments*, such as ``site``.

    *rules*: if not all.
    """
    for web in webs:
        arguments = {"store": str(path), "emit": "sites", **arguments}
        harvest(web, session=(session := session_of(arguments)), **arguments)
    (history,) = session.store.histories()
    return Audit(history.at("latest"), history, rules=rules)


def of_rule(findings: list[Finding], rule: str) -> list[Finding]:
    """Return the findings of *rule*."""
    return [finding for finding in findings if finding.rule == rule]


def found(path: Path, rule: str, *runs: Sites, **options: Any) -> list[Finding]:
    """Return the findings of *rule* alone; the other arguments as for :func:`findings_of`."""
    return of_rule(findings_of(path, *runs, rules=[RULES[rule]], **options), rule)


def found_in_each(path: Path, cases: Sequence[tuple[str, list[UrlEntry], dict[str, Any]]]) -> list[list[Finding]]:
    """Return for each of *cases* what its rule finds in its sitemap; all are sitemaps of one site, to be fast.

    A case is the id of a rule about single documents, entries, and fields of the ledger row.
    """
    names = [f"{SITE}/{number}.xml" for number in range(len(cases))]
    findings = findings_of(
        path,
        {name: entries for name, (_, entries, _) in zip(names, cases, strict=True)},
        facts={name: facts for name, (*_, facts) in zip(names, cases, strict=True)},
        rules=[RULES[rule] for rule in dict.fromkeys(rule for rule, *_ in cases)],
    )
    return [
        [one for one in findings if (one.rule, one.sitemap) == (rule, name)]
        for name, (rule, *_) in zip(names, cases, strict=True)
    ]


def numbered(cases: Sequence[Any], first: int = 0) -> list[Any]:
    """Return the parameters *cases* with a number before each."""
    return [pytest.param(number, *case.values, id=case.id) for number, case in enumerate(cases, start=first)]


def audited(path: Path, rule: str, documents: Documents, **run: Any) -> list[Finding]:
    """Return the findings of *rule* for a run that read *documents*; *run* are facts of it."""
    return [*audit_of(path, rule, documents, **run).findings()]


def audit_of(path: Path, rule: str, documents: Documents, **run: Any) -> Audit:
    """Return the audit by *rule* alone of a run that read *documents*; *run* are facts of it."""
    making = Making(path)
    writer = making.begin()
    records = [
        dataclasses.replace(making.document(writer, url, listed), **facts) for url, (listed, facts) in documents.items()
    ]
    snapshot = making.commit(writer, records, **run)
    return Audit(snapshot, making.store.history(SITE), rules=[RULES[rule]])


def seen(finding: Finding) -> tuple[Any, ...]:
    """Return what a table of cases has: the document, the count, and ``loc`` and ``value`` of the samples."""
    return finding.sitemap, finding.count, [(one.loc, one.value) for one in finding.samples]
