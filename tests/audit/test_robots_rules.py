"""The rule ``url/robots-disallowed``: the same decisions as Protego's, and hosts whose robots.txt is unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from protego import Protego

from sitemap_harvest.audit import RULES, RuleOptions
from sitemap_harvest.audit.audit import Audit
from sitemap_harvest.audit.robots import ROBOTS, disallowed_urls, robots_of
from sitemap_harvest.config.settings import HarvestSettings
from sitemap_harvest.model import AuditSummary, FindingBatch, FindingSample, Severity
from sitemap_harvest.urls import url_key
from tests.audit.auditing import SITE, audit_of_web, found_on_web
from tests.engine.run import Result, harvest, session_of
from tests.formats.test_robots_rules import AGENTS, TEXTS, URLS
from tests.rings import some_quick
from tests.site import index, urlset

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.run import Web

ROBOTS_TXT, SITEMAP = f"{SITE}/robots.txt", f"{SITE}/sitemap.xml"
ALL = "for Googlebot, Bingbot, *"


def disallowed(text: str, paths: list[str], site: str = SITE) -> dict[str, tuple[str, str | None]]:
    """Return the rules and the severity for each of *paths* that the robots.txt *text* disallows."""
    keys = [url_key(site + path) for path in paths]
    positions = list(range(len(paths)))
    urls = pa.table({"key": keys, "loc": paths, "position": positions}).append_column(
        "site", pa.repeat(site, len(keys))
    )
    robots = pa.Table.from_pylist([{"site": site, "text": text}], ROBOTS)
    with duckdb.connect() as connection:
        connection.register("sitemap_urls", urls.append_column("sitemap", pa.repeat(SITEMAP, len(keys))))
        rows = connection.execute(f"select loc, value, severity from ({disallowed_urls(robots)})").fetchall()
    return {loc: (value, severity) for loc, value, severity in rows}


def check(text: str, paths: list[str]) -> None:
    """Check that the decisions for *paths* are those of Protego."""
    protego = Protego.parse(text)
    expected = {path: [one for one in AGENTS if not protego.can_fetch(f"{SITE}{path}", one)] for path in paths}
    found = disallowed(text, paths)
    names = {path: [one for one in AGENTS if f" {one}" in value.replace(",", "")] for path, (value, _) in found.items()}
    assert names == {path: agents for path, agents in expected.items() if agents}


@settings(max_examples=20)
@given(TEXTS, URLS)
def test_decisions_are_those_of_protego(text: str, path: str) -> None:
    check(text, [(url_key(SITE + path) or SITE).removeprefix(SITE)])


def test_decisions_of_many_rules_are_those_of_protego() -> None:
    rules = [
        f"{('Disallow', 'Allow')[number % 3 == 0]}: /{'*/' * (number % 7 == 0)}{number % 50}/{number}"
        for number in range(1000)
    ]
    paths = [
        f"/{prefix}{number % 50}/{number}{end}"
        for number in range(0, 1000, 7)
        for prefix in ("", "a/")
        for end in ("", "0")
    ]
    check("\n".join(["User-agent: *", *rules]), paths)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("User-agent: *\nDisallow: /", (f"Disallow: / (line 2) {ALL}", None), id="all"),
        pytest.param("User-agent: *\nAllow: /\nDisallow: /a", (f"Disallow: /a (line 3) {ALL}", None), id="longest"),
        pytest.param(
            "User-agent: Bingbot\nDisallow: /\n\nUser-agent: *\nDisallow: /*a$ # a",
            ("Disallow: /*a$ (line 5) for Googlebot, *; Disallow: / (line 2) for Bingbot", None),
            id="several groups",
        ),
        pytest.param(
            "User-agent: Googlebot\nUser-agent: Bingbot\nAllow: /\nUser-agent: *\nDisallow: /",
            ("Disallow: / (line 5) for *", "notice"),
            id="only others",
        ),
        pytest.param("User-agent: *\nDisallow: /it's", None, id="quote"),
        pytest.param("User-agent: *\nDisallow: /a\nAllow: /a", None, id="allowed"),
        pytest.param("", None, id="empty"),
    ],
)
def test_the_value_has_rules_lines_and_crawlers(text: str, expected: tuple[str, str | None] | None) -> None:
    assert disallowed(text, ["/a"]) == ({"/a": expected} if expected else {})


def test_a_quote_in_a_rule_stays_text() -> None:
    text = "User-agent: *\nDisallow: /it's\nDisallow: /'); drop table sitemap_urls; --"
    assert disallowed(text, ["/it's", "/b"]) == {"/it's": (f"Disallow: /it's (line 2) {ALL}", None)}


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param([f"Disallow: /{number}" for number in range(10_001)], id="too many"),
        pytest.param([f"Disallow: /*a*{number}" for number in range(600)], id="too many with wildcards"),
        pytest.param(["Disallow: /" + "*a" * 51], id="too many wildcards"),
        pytest.param(["Disallow: /" + "a" * 16_001], id="too long"),
    ],
)
def test_rules_that_would_take_too_long_are_unknown(rules: list[str]) -> None:
    text = "\n".join(["User-agent: *", *rules])
    ledger = pa.table({"url": [ROBOTS_TXT], "final_url": [ROBOTS_TXT], "outcome": ["read"], "reason": [None]})
    reason = "its rules are too many or too long"
    expected = [{"site": SITE, "url": ROBOTS_TXT, "text": None, "reason": reason}]
    assert robots_of(ledger, {ROBOTS_TXT: text}).to_pylist() == expected


def web(robots: bytes | int | str, *paths: str, **others: bytes | int | str) -> Web:
    return {ROBOTS_TXT: robots, SITEMAP: urlset(*paths).encode(), **others}


def test_a_listed_url_that_robots_txt_disallows(tmp_path: Path) -> None:
    site = web(b"User-agent: *\nDisallow: /b", f"{SITE}/a", f"{SITE}/b")
    (finding,) = found_on_web(tmp_path, "url/robots-disallowed", site, site)  # the second run reads it again
    value = f"Disallow: /b (line 2) {ALL}"
    assert (finding.sitemap, finding.severity, finding.count, finding.share) == (SITEMAP, Severity.ERROR, 1, 0.5)
    assert finding.samples == (FindingSample(loc=f"{SITE}/b", sitemap=SITEMAP, position=2, value=value),)
    assert finding.message == f"1 URL that robots.txt disallows, such as by {value}"


def test_the_rules_of_the_last_run_count(tmp_path: Path) -> None:
    webs = [web(f"User-agent: *\nDisallow: {path}".encode(), f"{SITE}/a") for path in ("/a", "/b")]
    assert found_on_web(tmp_path, "url/robots-disallowed", *webs) == []


def test_a_redirected_robots_txt_holds_for_both_sites(tmp_path: Path) -> None:
    other = "https://www.a.example"
    text = f"User-agent: *\nDisallow: /a\nSitemap: {SITEMAP}".encode()
    site = web(f"{other}/robots.txt", f"{SITE}/a", f"{other}/a", **{f"{other}/robots.txt": text})
    (finding,) = found_on_web(tmp_path, "url/robots-disallowed", site)
    assert [sample.loc for sample in finding.samples] == [f"{SITE}/a", f"{other}/a"]


@pytest.mark.parametrize(
    ("robots", "locs", "reasons"),
    [
        pytest.param(404, f"{SITE}/a", [], id="absent"),
        pytest.param(b"", f"{SITE}/a", [], id="empty"),
        pytest.param(b"<html><body>Hello</body></html>", f"{SITE}/a", [], id="a web page"),
        pytest.param(503, f"{SITE}/a", [f"{ROBOTS_TXT} is unknown (HTTP 503: the server failed)"], id="failed"),
        pytest.param(
            403, f"{SITE}/a", [f"{ROBOTS_TXT} is unknown (HTTP 403: the server refuses access)"], id="refused"
        ),
        pytest.param(
            b"User-agent: *\nDisallow: /a",
            "https://b.example/a",
            ["the robots.txt of https://b.example is not part of the audit unless that site is a target too (URLs: 1)"],
            id="another host",
        ),
        pytest.param(
            b"User-agent: *\nDisallow: /a",
            "https://b.example/a https://c.example/a https://c.example/b",
            [
                (
                    "the robots.txt of 2 hosts (such as https://c.example) is not part of the audit "
                    "unless that site is a target too (URLs: 3)"
                )
            ],
            id="other hosts",
        ),
    ],
)
def test_urls_without_known_rules_are_not_checked(
    robots: bytes | int, locs: str, reasons: list[str], tmp_path: Path
) -> None:
    audit = audit_of_web(tmp_path, web(robots, *locs.split()), rules=[RULES["url/robots-disallowed"]], site=SITE)
    assert [one for one in audit.findings() if one.rule == "url/robots-disallowed"] == []
    summary = audit.summary()
    assert [one.reason for one in summary.not_checked] == reasons
    assert (summary.passed, "url/robots-disallowed" in audit.checked) == ((0, False) if reasons else (1, True))


B, A_INSECURE, A_WWW = "https://b.example", SITE.replace("https", "http"), SITE.replace("://", "://www.")
FORBIDS = b"User-agent: *\nDisallow: /a\nSitemap: %s/sitemap.xml"


class Findings(Result):
    """Keeps the findings, by site, and why rules were not checked."""

    def __init__(self) -> None:
        super().__init__()
        self.disallowed: dict[str, list[str | None]] = {}
        self.not_checked: dict[str, list[str]] = {}

    def add(self, item: object) -> None:
        super().add(item)
        if isinstance(item, FindingBatch):
            for one in item.rows():
                if one.rule == "url/robots-disallowed":
                    self.disallowed[one.site] = [sample.loc for sample in one.samples]
        elif isinstance(item, AuditSummary):
            reasons = [one.reason for one in item.not_checked if one.rule == "url/robots-disallowed"]
            self.not_checked |= {item.site: reasons} if reasons else {}


def listing(site: str, *locs: str) -> Web:
    """Return a site whose only sitemap lists *locs*, and whose robots.txt allows everything."""
    return {f"{site}/robots.txt": f"Sitemap: {site}/s.xml".encode(), f"{site}/s.xml": urlset(*locs).encode()}


def redirected(start: str, end: str) -> Web:
    """Return a site at *start* that redirects to *end*, whose robots.txt forbids ``/a``."""
    return {
        **{f"{start}{path}": f"{end}{path}" for path in ("/robots.txt", "/sitemap.xml")},
        f"{end}/robots.txt": FORBIDS % end.encode(),
        f"{end}/sitemap.xml": urlset(f"{end}/").encode(),
    }


@pytest.mark.parametrize("is_reversed", some_quick([False, True], every=2), ids=["", "reversed"])
@pytest.mark.parametrize(
    ("targets", "web", "disallowed", "reason"),
    [
        pytest.param([B, SITE], redirected("", SITE), [f"{SITE}/a"], None, id="another-site"),
        pytest.param([B, A_INSECURE], redirected(A_INSECURE, SITE), [f"{SITE}/a"], None, id="https"),
        pytest.param([B, SITE, A_INSECURE], redirected(A_INSECURE, SITE), [f"{SITE}/a"], None, id="both-schemes"),
        pytest.param([B, SITE], redirected(SITE, A_WWW), [f"{SITE}/a", f"{A_WWW}/a"], None, id="www"),
        pytest.param([B, A_WWW], redirected(A_WWW, SITE), [f"{SITE}/a", f"{A_WWW}/a"], None, id="without-www"),
        pytest.param([B], redirected("", SITE), [], f"the robots.txt of {SITE} is not part of the audit", id="one"),
        pytest.param(
            [B, SITE],
            {**redirected("", SITE), f"{SITE}/robots.txt": 503},
            [],
            f"{SITE}/robots.txt is unknown (HTTP 503: the server failed)",
            id="failed",
        ),
    ],
)
def test_the_robots_txt_of_each_site_of_a_run_counts_for_all(
    targets: list[str], web: Web, disallowed: list[str], reason: str | None, tmp_path: Path, *, is_reversed: bool
) -> None:
    listed = [*dict.fromkeys([f"{SITE}/a", *disallowed])]
    (tmp_path / "sites.txt").write_text("\n".join(targets[::-1] if is_reversed else targets))
    options = HarvestSettings(audit={name: RuleOptions(is_off=name != "url/robots-disallowed") for name in RULES})
    sites = str(tmp_path / "sites.txt")
    arguments = {"store": str(tmp_path / "store"), "sites": sites, "emit": "findings,audits"}
    session = session_of(arguments, options=options)
    result = Findings()
    harvest({**web, **listing(B, *listed)}, session=session, result=result, **arguments)
    assert result.disallowed.get(B, []) == disallowed
    assert [one.partition(" unless")[0] for one in result.not_checked.get(B, [])] == (
        [] if reason is None else [reason]
    )


@pytest.mark.parametrize("is_reversed", some_quick([False, True], every=2), ids=["", "reversed"])
@pytest.mark.parametrize(
    ("named", "address", "web", "is_allowed"),
    [
        pytest.param("/s.xml", "/s.xml", {}, True, id="sitemap"),
        pytest.param("/index.xml", "/s.xml", {f"{B}/index.xml": index(f"{B}/s.xml").encode()}, True, id="its-index"),
        pytest.param("/moved.xml", "/moved.xml", {f"{B}/s.xml": f"{B}/moved.xml"}, True, id="its-last-address"),
        pytest.param("/other.xml", "/s.xml", {}, False, id="another"),
    ],
)
def test_a_robots_txt_may_be_read_after_the_sitemap_that_it_names(
    named: str, address: str, web: Web, tmp_path: Path, *, is_allowed: bool, is_reversed: bool
) -> None:
    targets = [f"{B}/index.xml" if named == "/index.xml" else f"{B}/s.xml", ROBOTS_TXT]
    web = {
        f"{B}{address}": urlset(f"{SITE}/1", f"{B}/1").encode(),
        ROBOTS_TXT: f"Sitemap: {B}{named}\nSitemap: {SITEMAP}".encode(),
        SITEMAP: urlset(SITE).encode(),
        **web,
    }
    named_targets = " ".join(targets[::-1] if is_reversed else targets)
    arguments = {"store": str(tmp_path / "store"), "sitemap": named_targets, "emit": "sites"}
    session = session_of(arguments)
    harvest(web, session=session, **arguments)
    for target in targets:
        history = session.store.history(target)
        audit = Audit(history.at("latest"), history, rules=[RULES["url/out-of-scope"]], store=session.store)
        found = [one for one in audit.findings() if one.sitemap == f"{B}/s.xml"]
        expected = [] if is_allowed or target == ROBOTS_TXT else [f"{SITE}/1"]
        assert [sample.loc for one in found for sample in one.samples] == expected
