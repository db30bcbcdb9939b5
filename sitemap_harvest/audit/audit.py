"""``Audit``: evaluates the rules over one snapshot: findings, and a summary with the rules that were not checked."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.audit.dataset import Dataset
from sitemap_harvest.audit.explanation import is_validated_only
from sitemap_harvest.audit.facts import facts_of
from sitemap_harvest.audit.problems import PROBLEMS, UNCHECKED_IF_UNREAD, places, problem_in_words
from sitemap_harvest.audit.rule import MAX_TEXT_CHARS, NEEDS, RULES, MostFrequent, RuleOptions, shortened
from sitemap_harvest.audit.trust import lastmod_trust
from sitemap_harvest.diff.documents import unread_documents
from sitemap_harvest.model import (
    CATALOGUE,
    AuditSummary,
    Finding,
    FindingSample,
    NotChecked,
    OccurrenceBatch,
    Severity,
)
from sitemap_harvest.urls import site_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sitemap_harvest.audit.facts import SiteFacts
    from sitemap_harvest.audit.rule import AuditRule
    from sitemap_harvest.model import LastmodTrust, StaleSitemap
    from sitemap_harvest.snapshots.store import History, Snapshot, Store

_SAMPLES = 5
_COLUMNS = {
    "sitemap": "varchar",
    "loc": "varchar",
    "position": "bigint",
    "value": "varchar",
    "count": "bigint",
    "share": "double",
    "severity": "varchar",
    "line": "bigint",
}  # that a query may return
_NO_ROWS = f"select {', '.join(f'null::{kind} as {name}' for name, kind in _COLUMNS.items())} where false"
_SAMPLE = "{'loc': loc, 'sitemap': sitemap, 'position': position, 'value': value, 'line': line}"
_HAS_READ = """
    from sitemaps
    where outcome in ('read', 'unchanged', 'partial', 'too-large') or (outcome = 'skipped' and complete) limit 1
"""
_NOTHING_READ = "no document was read"
_NAMED_AT = """
    select s.url, s.parent, min(c.position) from sitemaps s
    left join children c on c.sitemap = s.parent and c.key = s.key
    where s.parent is not null and s.entries = 0 and s.outcome in ('absent', 'blocked', 'failed', 'forbidden')
    group by 1, 2 order by 1 limit 1000
"""
_PAGES = {  # that each key of NEEDS is there; of a probe, it is known that pages have none
    "pages": "(select count(*) > 0 from listed_pages)",
    "pages.canonical": "bool_or(source = 'probe' or canonical is not null)",
    "pages.directives": "bool_or(source = 'probe' or coalesce(x_robots_tag, meta_robots) is not null)",
    "pages.last_modified": "bool_or(last_modified is not null)",
    "pages.title": "bool_or(source = 'probe' or title is not null)",
    "crawl-export": "bool_or(source = 'crawl-export' and host_of(page_site) = host_of(site))",
}


class Audit:
    """The audit of one snapshot."""

    def __init__(
        self,
        snapshot: Snapshot,
        history: History,
        options: Mapping[str, RuleOptions] | None = None,
        *,
        rules: Iterable[AuditRule] | None = None,
        pages: Iterable[pa.RecordBatch] = (),
        with_facts: bool = False,
        store: Store | None = None,
    ) -> None:
        """*options* are the settings of rules, by id. *rules*: only these, without :attr:`trust`; ``None``: all.

        *pages* are rows of :class:`PageRecord`, of a crawl export. *with_facts*: collect
        :attr:`facts` for a report, too. *store*: the store of *snapshot*, if it may have
        other sites of the same run: their robots.txt files are used for URLs of these sites.
        """
        self._snapshot = snapshot
        self._history = history
        self._store = store
        self._options = options or {}
        self._rules = RULES.values() if rules is None else rules
        self._pages = pages
        self._counts: Counter[Severity] = Counter()
        self.found: Counter[str] = Counter()
        """Occurrences in the findings that were read, by rule."""
        self.written: Counter[str] = Counter()
        """Occurrences that :meth:`occurrences` has yielded, by rule."""
        self.run = snapshot.run
        self.checked: list[str] = []
        """IDs of the rules that were evaluated, and of the problem codes, once all findings were read."""
        self._not_checked: list[NotChecked] = []
        self._urls = self._documents = 0
        self._has_read = False
        self._may_be_listed: list[str] = []
        """Why what seems to be missing may be listed; empty if all documents were read."""
        self._coverage: tuple[int | None, int | None] = (None, None)
        self._dataset: Dataset | None = None
        self._with_facts = with_facts
        self._with_trust = rules is None or with_facts
        self.trust: list[LastmodTrust] = []
        """How far the dates of the site and of its documents can be relied on, once all findings were read."""
        self.named_at: dict[str, tuple[str, int | None]] = {}
        """See :class:`SiteAudit`; known once all findings were read."""
        self.unread: Sequence[StaleSitemap] = ()
        """The documents that the run did not read completely, once all findings were read."""
        self.left_out: Sequence[str] = ()
        """The other documents that the site lists, but that the run did not request, by URL; known likewise."""
        self.facts: SiteFacts | None = None
        """The facts of the site, once all findings were read."""

    def __enter__(self) -> Self:
        """Load the tables once for all methods. Raises :exc:`StoreError`."""
        self._dataset = Dataset(self._snapshot, self._history, self._pages, store=self._store)
        return self

    def __exit__(self, *_: object) -> None:
        if self._dataset is not None:
            self._dataset.close()
            self._dataset = None

    @contextmanager
    def _loaded(self) -> Iterator[Dataset]:
        """Yield the tables: those of the ``with`` statement if there is one, or else loaded for this use."""
        if self._dataset is not None:
            yield self._dataset
            return
        with self, self._loaded() as dataset:
            yield dataset

    def findings(self) -> Iterator[Finding]:
        """Yield the findings of each rule, largest first, then the problems of documents. Raises :exc:`StoreError`."""
        with self._loaded() as dataset:
            entries = dict(dataset.rows("select sitemap, count(*) from urls group by 1"))
            self._urls = sum(entries.values())
            self._documents = dataset.rows("select count(*) from sitemaps")[0][0]
            self.unread = unread_documents(self._snapshot)
            self._has_read = bool(dataset.rows(_HAS_READ))
            self._may_be_listed = [reason for (reason,) in dataset.rows(UNCHECKED_IF_UNREAD.query)]
            self.left_out = self._left_out(dataset)
            missing = self._missing(dataset)
            self._coverage = next(iter(dataset.rows("select listed, exported from coverage")), (None, None))
            for rule in self._rules:
                if self._option(rule.id).is_off:
                    continue
                if reason := next((missing[one] for one in rule.all_needs if one in missing), None):
                    self._not_checked.append(NotChecked(rule=rule.id, reason=reason))
                    continue
                found, unchecked = self._result(rule, dataset, entries)
                if unchecked:  # in part, and perhaps completely
                    self._not_checked.append(NotChecked(rule=rule.id, reason="; ".join(unchecked)))
                if found or not unchecked:
                    self.checked.append(rule.id)
                yield from map(self._counted, found)
            yield from map(self._counted, self._of_problems(dataset))
            if self._has_read:
                codes = (code for code in CATALOGUE if code not in RULES and not is_validated_only(code))
                self.checked += [code for code in codes if not self._option(code).is_off]
            if self._with_trust:
                self.trust = lastmod_trust(dataset, self._options)
            self.named_at = {url: (parent, position) for url, parent, position in dataset.rows(_NAMED_AT)}
            if self._with_facts:
                self.facts = facts_of(dataset, self._snapshot, self._history, self.trust)

    def occurrences(self, rules: Iterable[str]) -> Iterator[OccurrenceBatch]:
        """Yield each occurrence of *rules*, IDs of rules or problem codes, in the order of the documents.

        Of a problem code, there are only the samples of the documents. Rules that
        :meth:`findings` could not evaluate have none. Raises :exc:`StoreError`.
        """
        not_checked = {one.rule for one in self._not_checked} - {*self.checked}
        with self._loaded() as dataset:
            for name in rules:
                if name in RULES and name not in not_checked:
                    yield from self._occurrences(name, self._query(RULES[name], dataset), dataset)
                if name in CATALOGUE:
                    yield from self._occurrences(name, places(name), dataset)

    def _occurrences(self, name: str, query: str, dataset: Dataset) -> Iterator[OccurrenceBatch]:
        severity = self._option(name).severity
        default = RULES[name].severity if name in RULES else CATALOGUE[name].severity
        facts = {"site": self._snapshot.site, "run": self._snapshot.run.id, "rule": name}
        schema = OccurrenceBatch.schema()
        for batch in dataset.batches(f"""
            select {f"'{severity}'" if severity else f"coalesce(severity, '{default}')"} as severity,
                loc, sitemap, position, value, line, coalesce(count, 1) as count
            from ({_NO_ROWS} union all by name ({query})) order by sitemap, position, loc, value
        """):  # noqa: S608 - the queries of rules are trusted
            columns = {one: pa.repeat(value, len(batch)) for one, value in facts.items()}
            columns |= {one: batch[one].cast(schema.field(one).type) for one in batch.schema.names}
            self.written[name] += pc.sum(columns["count"]).as_py() or 0
            arrays = [columns[one] for one in schema.names]
            yield OccurrenceBatch(pa.RecordBatch.from_arrays(arrays, schema=schema))

    def summary(self) -> AuditSummary:
        """Return the result, once all findings were read."""
        probe = self._snapshot.run.probe
        pages, reason = [0, 0, 0], None  # with a record, requested, disallowed
        for batch in self._snapshot.page_batches() if probe else ():
            is_new = pc.is_null(batch["requested_at"])
            disallowed = pc.and_(is_new, pc.match_substring(pc.fill_null(batch["error"], ""), "robots.txt"))
            for at, count in enumerate((len(batch), len(batch) - pc.sum(is_new).as_py(), pc.sum(disallowed).as_py())):
                pages[at] += count
            others = batch["error"].filter(pc.and_not(is_new, disallowed))
            reason = reason or next(iter(others.slice(0, 1).to_pylist()), None)
        listed, exported = self._coverage
        return AuditSummary(
            site=self._snapshot.site,
            run=self._snapshot.run.id,
            urls=self._urls,
            sitemaps=self._documents,
            unread=len(self.unread),
            not_requested=len(self.left_out),
            pending=self.run.changes.get("pending", 0),
            sampled_pages=probe.get("sample"),
            probed_pages=pages[0] if probe else None,
            requested_pages=pages[1] if probe else None,
            disallowed_pages=pages[2] if probe else None,
            not_requested_reason=reason,
            left_out=probe.get("left_out"),
            listed_urls=listed,
            exported_urls=exported,
            probe_seed=probe.get("seed"),
            lastmod_trust=next((one.score for one in self.trust if one.sitemap is None), None),
            errors=self._counts[Severity.ERROR],
            warnings=self._counts[Severity.WARNING],
            notices=self._counts[Severity.NOTICE],
            rules=tuple(self.found),
            passed=len({*self.checked} - self.found.keys() - (CATALOGUE.keys() - RULES.keys())),
            not_checked=tuple(self._not_checked),
        )

    def _left_out(self, dataset: Dataset) -> list[str]:
        """Return the documents that the run left out, without those that :attr:`unread` has."""
        left_out = dataset.rows(
            "select url from unread_documents where is_left_out and outcome in ('skipped', 'out-of-scope')"
        )
        return sorted({url for (url,) in left_out} - {one.url for one in self.unread})

    def _missing(self, dataset: Dataset) -> dict[str, str]:
        """Return the keys of :data:`NEEDS` that *dataset* lacks, each with the reason why rules are not checked."""
        of_pages = dataset.rows(f"select {', '.join(_PAGES.values())} from pages")[0]  # noqa: S608 - our own
        has = {
            "urls": self._urls > 0,
            "site": site_of(self._snapshot.site) == self._snapshot.site,
            "history": len([run for run in self._history.runs if run.id <= self._snapshot.run.id]) > 1,
            **dict(zip(_PAGES, of_pages, strict=True)),
        }
        has["crawl-export"] = has["crawl-export"] and has["site"]
        has |= {"site.urls": has["urls"], "site.history": has["history"]}
        missing = {name: NEEDS[name] for name, is_there in has.items() if not is_there}
        if "pages" in missing:  # perhaps there is an export, but without listed URLs
            known = dataset.rows("select reason from coverage where reason is not null")
            missing["pages"] = known[0][0] if known else NEEDS["pages"]
        return missing

    def _counted(self, finding: Finding) -> Finding:
        self._counts[finding.severity] += 1
        self.found[finding.rule] += finding.count
        return finding

    def _option(self, name: str) -> RuleOptions:
        return self._options.get(name, RuleOptions())

    def _query(self, rule: AuditRule, dataset: Dataset) -> str:
        """Return the checked query of *rule*. Raises :exc:`StoreError` if it is invalid."""
        query = rule.query(**{**rule.thresholds, **self._option(rule.id).thresholds})
        dataset.check(query, _COLUMNS)
        return query

    def _result(self, rule: AuditRule, dataset: Dataset, entries: Mapping[str, int]) -> tuple[list[Finding], list[str]]:
        """Return the findings of *rule*, and the reasons why it is not checked, or only in part."""
        try:
            found = list(self._of_rule(rule, dataset, entries))
            unchecked = [] if rule.unchecked is None else [text for (text,) in dataset.rows(rule.unchecked.query)]
        except Exception as error:  # noqa: BLE001 - the code of a user's rule may fail in any way
            return [], [f"the rule failed: {error}"]
        if found and rule.needs_all and self._may_be_listed:
            return [], self._may_be_listed
        if not (found or unchecked or self._has_read):
            return [], [_NOTHING_READ]
        return found, unchecked

    def _of_rule(self, rule: AuditRule, dataset: Dataset, entries: Mapping[str, int]) -> Iterator[Finding]:
        """Yield the findings of *rule*. *entries*: number of URLs by document."""
        option = self._option(rule.id)
        thresholds = {**rule.thresholds, **option.thresholds}
        about = "null::varchar" if rule.of_site else "sitemap"
        query = self._query(rule, dataset)
        grouped = f"""
            with found as ({_NO_ROWS} union all by name ({query}))
            select {about} as about, severity, sum(coalesce(count, 1))::bigint as count, any_value(share),
                arg_min({_SAMPLE}, row(sitemap, position, loc, value), {_SAMPLES})
            from found group by 1, 2 order by count desc, about, severity
        """  # noqa: S608 - the queries of rules are trusted
        dataset.check(grouped)
        if rule.source in dataset.empty_sources or not dataset.may_return_rows(query):
            return
        rows = dataset.rows(grouped)
        most = {}
        if rows and rule.names_most:
            values = dataset.rows(f"""
                with counts as (
                    select {about} as about, severity, coalesce(value, '') as value,
                        sum(coalesce(count, 1))::bigint as count
                    from ({_NO_ROWS} union all by name ({query})) group by all
                )
                select about, severity, arg_min(value, row(-count, value)), max(count), count(*) - 1
                from counts group by 1, 2
            """)  # noqa: S608 - the queries of rules are trusted
            most = {(about, severity): MostFrequent(*facts) for about, severity, *facts in values}
        for about, own_severity, count, own_share, samples in rows:
            total = self._urls if about is None else entries.get(about)
            share = (count / total if total else None) if rule.has_share else own_share
            severity = option.severity or (Severity(own_severity) if own_severity else rule.severity)
            finding = self._finding(rule.id, about, count, samples, severity=severity)
            finding.share, finding.threshold = share, next(iter(thresholds.values()), None)
            finding.message = rule.words(finding, thresholds, most.get((about, own_severity)))
            yield finding

    def _of_problems(self, dataset: Dataset) -> Iterator[Finding]:
        """Yield the problems of the documents: each code is a rule."""
        for sitemap, code, count, detail, samples in dataset.rows(PROBLEMS):
            option = self._option(code)
            if not option.is_off:
                severity = option.severity or CATALOGUE[code].severity
                message = problem_in_words(code, detail, count, samples[0]["value"] if samples else None)
                yield self._finding(code, sitemap, count, samples[:_SAMPLES], severity=severity, message=message)

    def _finding(
        self, rule: str, sitemap: str | None, count: int, samples: list[dict[str, Any]], **facts: Any
    ) -> Finding:
        return Finding(
            site=self._snapshot.site,
            run=self._snapshot.run.id,
            rule=rule,
            sitemap=sitemap,
            count=count,
            samples=tuple(
                FindingSample(**{key: shortened(one, MAX_TEXT_CHARS) for key, one in sample.items()})
                for sample in samples
            ),
            **{"message": "", **facts},
        )
