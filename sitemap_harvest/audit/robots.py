"""Which listed URLs robots.txt disallows: an SQL query over the rules of each host, for the crawlers that matter most.

The first rule that matches a URL applies. A tree of regular expressions finds it: each
node matches all rules below it, so a URL is compared with few expressions, whatever the
number of rules. A loop in Python would take minutes for millions of URLs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from sitemap_harvest.discovery.rules import sites_of_robots
from sitemap_harvest.errors import StoreError
from sitemap_harvest.formats import Document, Limits
from sitemap_harvest.formats.robots_rules import ANY, rules_of
from sitemap_harvest.model import Outcome
from sitemap_harvest.snapshots.store.snapshot import is_present
from sitemap_harvest.urls import document_key, site_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sitemap_harvest.formats.robots_rules import RobotsRule
    from sitemap_harvest.snapshots.store import History, Run, Snapshot, Store

CRAWLERS = ("Googlebot", "Bingbot", "*")
"""``*`` is any crawler that robots.txt does not name."""
_MAIN = frozenset({"Googlebot", "Bingbot"})
_TEXT = pa.string()
ROBOTS = pa.schema([("site", _TEXT), ("url", _TEXT), ("text", _TEXT), ("reason", _TEXT)])
"""The robots.txt of each site: its ``text`` (empty: all is allowed), or the ``reason`` why it is not known."""
AUTHORIZED = pa.schema([("site", _TEXT), ("key", _TEXT)])
_FAN_OUT = 8
# RE2 has a budget of memory for one expression, beyond which it takes microseconds to milliseconds for a URL.
_MOST_CHARS = 16_000
_MOST_WEIGHT = 1_000
_WEIGHTS = (1, 10, 100)  # of a rule without a wildcard, with one, and with several
_MOST_EXPRESSIONS = 50
_MOST_RULES = 10_000
_MOST_WILDCARDS = 50  # of one rule
_NO_URLS = (
    "select sitemap, loc, position, null::varchar as value, null::varchar as severity from sitemap_urls where false"
)


def present_documents(snapshot: Snapshot) -> pa.Table:
    """Return the document records of *snapshot*, without those of removed documents that are no longer listed."""
    records = zip(*snapshot.columns("left", "fetched_at"), strict=True)
    is_wanted = [is_present(left, fetched_at, snapshot.run) for left, fetched_at in records]
    return snapshot.sitemaps().filter(pa.array(is_wanted, pa.bool_()))


def robots_of(ledger: pa.Table, texts: Mapping[str, str]) -> pa.Table:
    """Return the robots.txt of each site, with the schema :data:`ROBOTS`, from the document records of a snapshot.

    *texts* are those of the snapshot, by URL.
    """
    found: dict[str, dict[str, str | None]] = {}
    columns = ("url", "final_url", "outcome", "reason")
    for url, final_url, outcome, reason in zip(*(ledger[name].to_pylist() for name in columns), strict=True):
        if not url.endswith("/robots.txt"):
            continue
        text = "" if outcome == Outcome.ABSENT else texts.get(url)
        unknown = None if text is not None else reason or "the store does not have its text"
        for site in sites_of_robots([url, final_url or url]):
            if site not in found or site == site_of(url):  # its own rather than one that redirects there
                found[site] = {"site": site, "url": url, "text": text, "reason": unknown}
    return pa.Table.from_pylist([_checked(one) for one in found.values()], ROBOTS)


def with_others(robots: pa.Table, sites: Sequence[str], run: Run, store: Store) -> pa.Table:
    """Return *robots*, with those of *sites* whose text it lacks, as far as *run* read them for other sites in *store*.

    They are looked for where the user named the same host or its robots.txt, perhaps with
    another scheme, or with or without ``www.``: its robots.txt may redirect to the one of
    the site.
    """
    found = {row["site"]: row for row in robots.to_pylist()}
    read: dict[str, dict[str, dict[str, str | None]]] = {}  # the robots.txt files of each site that was named
    for site in sites:
        if site in found and found[site]["text"] is not None:
            continue
        for name in _names_of(site):
            if name not in read:
                read[name] = _in_run(run, store.history(name))
            other = read[name].get(site)
            if other is not None and (site not in found or other["text"] is not None):
                found[site] = other
            if site in found and found[site]["text"] is not None:
                break
    return pa.Table.from_pylist(list(found.values()), ROBOTS)


def authorized(robots: pa.Table) -> pa.Table:
    """Return the documents that each of *robots* names: the ``site`` that authorizes a document, and its ``key``."""
    rows = [
        {"site": row["site"], "key": document_key(ref.loc)}
        for row in robots.to_pylist()
        if row["text"]
        for ref in Document(row["text"].encode(), url=row["url"], content_type="text/plain", limits=Limits()).sitemaps()
    ]
    return pa.Table.from_pylist(rows, AUTHORIZED)


def _names_of(site: str) -> list[str]:
    """Return the targets that *site* may be: itself first, with ``www.``, the other scheme, or its robots.txt."""
    scheme, _, host = site.partition("://")
    hosts = (host, host.removeprefix("www.") if host.startswith("www.") else f"www.{host}")
    schemes = (scheme, "http" if scheme == "https" else "https")
    return [f"{one}://{name}{path}" for name in hosts for one in schemes for path in ("", "/robots.txt")]


def _in_run(run: Run, history: History) -> dict[str, dict[str, str | None]]:
    """Return the robots.txt files that *run* read for the site of *history*, by site."""
    try:
        same = [one for one in history.runs if one.id == run.id or one.started_at == run.started_at]
        if not same:
            return {}
        snapshot = history.snapshot(same[-1])
        present, texts = present_documents(snapshot), snapshot.robots_texts()
    except StoreError:  # the damage of another site must not end this audit
        return {}
    return {row["site"]: row for row in robots_of(present, texts).to_pylist()}


def _checked(robots: dict[str, str | None]) -> dict[str, str | None]:
    """Return *robots*, without its text if its rules would take too much time or memory."""
    text = robots["text"]
    if not text or all(_is_feasible(rules_of(text, crawler)) for crawler in CRAWLERS):
        return robots
    return {**robots, "text": None, "reason": "its rules are too many or too long"}


def _is_feasible(rules: Sequence[RobotsRule]) -> bool:
    are_short = all(len(one.pattern) <= _MOST_CHARS and one.pattern.count(ANY) <= _MOST_WILDCARDS for one in rules)
    return len(rules) <= _MOST_RULES and are_short and sum(1 for _ in _runs(rules)) <= _MOST_EXPRESSIONS


def disallowed_urls(robots: pa.Table) -> str:
    """Return the query of the URLs that *robots*, with the schema :data:`ROBOTS`, disallows.

    One row for each entry of a sitemap: ``sitemap``, ``loc``, ``position``, ``value`` (the
    rules and the crawlers), and ``severity``: ``notice`` if only crawlers that are not
    named may not fetch it.
    """
    queries = (_of_site(row["site"], row["text"]) for row in robots.to_pylist() if row["text"])
    return " union all ".join([_NO_URLS, *(query for query in queries if query)])


def _of_site(site: str, text: str) -> str | None:
    """Return the query of the disallowed URLs of *site*; ``None`` if *text* allows everything."""
    crawlers: dict[tuple[RobotsRule, ...], list[str]] = {}  # usually, all crawlers have the same rules
    for crawler in CRAWLERS:
        if rules := tuple(rules_of(text, crawler)):
            crawlers.setdefault(rules, []).append(crawler)
    if not crawlers:
        return None
    columns, values = [], []
    for number, (rules, names) in enumerate(crawlers.items()):
        columns.append(f"nullif({_first_match(site, rules)}, '') as rule{number}")
        values.append(f"rule{number} || ' for {', '.join(names)}'")
    main = [f"rule{number}" for number, names in enumerate(crawlers.values()) if _MAIN.intersection(names)]
    is_named = " or ".join(f"{name} is not null" for name in main) or "false"
    return f"""
        select sitemap, loc, position, value, if({is_named}, null, 'notice') as severity
        from (
            select *, concat_ws('; ', {", ".join(values)}) as value
            from (select sitemap, loc, position, {", ".join(columns)} from sitemap_urls where site = {_quoted(site)})
        ) where value <> ''
    """  # noqa: S608 - our own expressions


def _first_match(site: str, rules: Sequence[RobotsRule]) -> str:
    """Return an SQL expression: the first of *rules* that matches ``key``, empty if it allows; null if none matches."""
    cases = [f"case when {_matches(site, run)} then {_tree(site, run)} end" for run in _runs(rules)]
    return f"coalesce({', '.join(cases)})"


def _runs(rules: Iterable[RobotsRule]) -> Iterator[list[RobotsRule]]:
    """Yield *rules* in order, as many together as one expression can match."""
    run: list[RobotsRule] = []
    chars = weight = 0
    for rule in rules:
        more = _WEIGHTS[min(rule.pattern.count(ANY), len(_WEIGHTS) - 1)]
        if run and (chars + len(rule.pattern) > _MOST_CHARS or weight + more > _MOST_WEIGHT):
            yield run
            run, chars, weight = [], 0, 0
        run.append(rule)
        chars, weight = chars + len(rule.pattern), weight + more
    if run:
        yield run


def _tree(site: str, rules: Sequence[RobotsRule]) -> str:
    """Return an SQL expression: the first of *rules*, one of which matches ``key``."""
    if all(rule.is_allowed for rule in rules):
        return "''"
    if len(rules) == 1:
        return _quoted(f"{rules[0].text[:200]} (line {rules[0].line})")
    size = -(-len(rules) // _FAN_OUT)
    parts = [rules[start : start + size] for start in range(0, len(rules), size)]
    cases = " ".join(f"when {_matches(site, part)} then {_tree(site, part)}" for part in parts)
    return f"case {cases} end"


def _matches(site: str, rules: Sequence[RobotsRule]) -> str:
    patterns = "|".join(dict.fromkeys(rule.pattern for rule in rules))
    return f"regexp_matches(key, {_quoted(f'^{re.escape(site)}(?:{patterns})')})"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
