"""The settings of rules: switched off, severities, thresholds, modules of the user, and each invalid value."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from sitemap_harvest.audit import RULES, AuditRule, RuleOptions
from sitemap_harvest.audit.audit import Audit
from sitemap_harvest.config.settings import HarvestSettings
from sitemap_harvest.errors import OptionError
from sitemap_harvest.model import CATALOGUE, Alternate, Finding, Image, News, Severity, Video
from tests.audit.auditing import SITE, SITEMAP, findings_of, urls
from tests.snapshots.store.making import Making

if TYPE_CHECKING:
    from pathlib import Path

GIVEN = {
    "url/fragment": "off",
    "loc/relative": "warning",
    "sitemap/slow": {"seconds": 10, "severity": "error"},
    "sitemap/near-limit": {"share": 0.5},
}
READ = {
    "url/fragment": RuleOptions(is_off=True),
    "loc/relative": RuleOptions(severity=Severity.WARNING),
    "sitemap/slow": RuleOptions(severity=Severity.ERROR, thresholds={"seconds": 10}),
    "sitemap/near-limit": RuleOptions(thresholds={"share": 0.5}),
}


@pytest.mark.parametrize("value", [GIVEN, json.dumps(GIVEN)], ids=["dictionary", "json"])
def test_options_are_read_from_a_dictionary_or_from_json(value: Any) -> None:
    assert HarvestSettings.from_settings({"SITEMAP_HARVEST_AUDIT": value}).audit == READ


def test_a_pattern_means_all_rules_that_match_and_an_id_takes_precedence() -> None:
    value = {
        "priority/ignored": {"severity": "error"},
        "*": "notice",
        "priority/*": {"severity": "off", "entries": 3},
    }
    options = HarvestSettings.from_settings({"SITEMAP_HARVEST_AUDIT": value}).audit
    assert options.keys() == RULES.keys() | CATALOGUE.keys()
    assert {name: one for name, one in options.items() if name.startswith("priority/")} == {
        "priority/ignored": RuleOptions(severity=Severity.ERROR),
        "priority/all-the-same": RuleOptions(is_off=True, thresholds={"entries": 3}),
        "priority/unreadable": RuleOptions(is_off=True),
    }
    assert options["loc/relative"] == RuleOptions(severity=Severity.NOTICE)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        pytest.param("{", "SITEMAP_HARVEST_AUDIT: it must be a dictionary of rules", id="no-json"),
        pytest.param({"url/fragmnt": "off"}, "unknown rule; did you mean url/fragment?", id="misspelt-rule"),
        pytest.param({"nothing/*": "off"}, "'nothing/*': unknown rule", id="pattern-without-rules"),
        pytest.param({"lastmod/*": {"second": 1}}, "lastmod/*: unknown threshold", id="threshold-of-no-rule"),
        pytest.param({7: "off"}, "7: unknown rule", id="no-text"),
        pytest.param({"url/fragment": "none"}, "url/fragment is 'none'; it must be off or one of error", id="severity"),
        pytest.param({"sitemap/slow": {"second": 1}}, "unknown threshold; valid thresholds: seconds", id="threshold"),
        pytest.param({"sitemap/slow": {"seconds": "1"}}, "seconds is '1'; it must be a number", id="no-number"),
        pytest.param(
            {"lastmod/missing": {"share": 20}}, "share is 20; it must be from 0 to 1, such as 0.2", id="percent"
        ),
        pytest.param({"sitemap/slow": {"seconds": -1}}, "seconds is -1; it must be 0 or more", id="negative"),
        pytest.param('{"sitemap/slow": {"seconds": NaN}}', "seconds is nan; it must be 0 or more", id="nan"),
        pytest.param({"sitemap/slow": {"seconds": True}}, "seconds is True; it must be a number", id="boolean"),
    ],
)
def test_an_invalid_option_is_an_error_that_names_it(value: Any, words: str) -> None:
    with pytest.raises(OptionError) as error:
        HarvestSettings.from_settings({"SITEMAP_HARVEST_AUDIT": value})
    assert words in str(error.value)


def test_a_rule_of_the_user_is_evaluated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop_rules.py").write_text(
        "from sitemap_harvest.audit import rule\n"
        "from sitemap_harvest.model import Severity\n"
        "@rule('shop/long', Severity.WARNING, '{urls} longer than {characters:g}')\n"
        "def long(characters: float = 20) -> str:\n"
        "    'A URL is too long.'\n"
        "    return f'select sitemap, loc, position from urls where length(loc) > {characters}'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    try:
        settings = HarvestSettings.from_settings(
            {
                "SITEMAP_HARVEST_AUDIT_MODULES": ["shop_rules"],
                "SITEMAP_HARVEST_AUDIT": {"shop/long": {"characters": 22}},
            }
        )
        documents = {SITEMAP: urls("https://a.example/1234", "https://a.example/12345")}
        (finding,) = [
            one for one in findings_of(tmp_path / "s", documents, options=settings.audit) if one.rule == "shop/long"
        ]
    finally:
        RULES.pop("shop/long", None)
        sys.modules.pop("shop_rules", None)
    assert (finding.message, finding.threshold) == ("1 URL longer than 22", 22)


@pytest.mark.parametrize(
    ("count", "share", "message"),
    [
        pytest.param(1, 0.001, "1 image, 1 URL, 1, 2 days, 2.5, under 1%", id="one"),
        pytest.param(1_200, 0.5, "1,200 images, 1,200 URLs, 1,200, 2 days, 2.5, 50%", id="many"),
        pytest.param(0, 0.996, "0 images, 0 URLs, 0, 2 days, 2.5, over 99%", id="none"),
    ],
)
def test_the_numbers_of_a_message_have_a_noun(count: int, share: float, message: str) -> None:
    text = "{count:image}, {urls}, {count}, {days:day}, {mb:g}, {share}"
    rule = AuditRule(id="shop/a", severity=Severity.ERROR, message=text, query=lambda: "")
    finding = Finding(site=SITE, run="r", rule="shop/a", severity=Severity.ERROR, count=count, share=share, message="")
    assert rule.words(finding, {"days": 2, "mb": 2.5}) == message


def test_what_a_rule_returns_is_bounded(tmp_path: Path) -> None:
    query = "select 'other.xml' as sitemap, repeat('a', 9999) as loc, repeat('b', 9999) as value from range(1000)"
    rule = AuditRule(
        id="shop/a", severity=Severity.ERROR, message="{value} {share}", query=lambda: query, has_share=True
    )
    (finding,) = findings_of(tmp_path, {SITEMAP: urls(f"{SITE}/a")}, rules=[rule])
    assert (finding.sitemap, finding.count, finding.share) == ("other.xml", 1000, None)
    assert finding.message == f"{'b' * 200}... "
    assert [(one.loc, one.value) for one in finding.samples] == [(f"{'a' * 2048}...", f"{'b' * 2048}...")] * 5


UNUSUAL = [
    "", "http://", "http://[::1", "javascript:alert(1)", f"{SITE}:99999999/", f"{SITE}/a\x00b", f"{SITE}/\x01\x7f",
    f"{SITE}/{'x' * 100_000}", f"{SITE}/'\"<script>%s{{}}", f"{SITE}/\u202e", f"{SITE}/{'%25' * 999}",
    f"{SITE}{'/' * 999}", f"{SITE}/?{'&'.join(f'a{number}=b' for number in range(999))}", f"http://{'a.' * 999}com/",
]  # fmt: skip


def test_no_rule_fails_on_unusual_values(tmp_path: Path) -> None:
    odd = "\x00" + "y" * 9_999
    entries = urls(
        *UNUSUAL,
        lastmod_text=odd,
        changefreq=odd,
        alternates=(Alternate(href=odd, hreflang=odd), Alternate(href=None, hreflang=None)),
        images=(Image(loc=odd, title=odd),),
        videos=(Video(title=odd, duration=odd, expiration_date=odd),),
        news=(News(publication_language=odd, publication_date=odd),),
    )
    making = Making(tmp_path)
    audit = Audit(making.run({SITEMAP: entries, odd: entries}), making.store.history(SITE))
    findings = [*audit.findings()]
    assert not [one for one in audit.summary().not_checked if one.reason.startswith("the rule failed")]
    assert {"changefreq/ignored", "url/unescaped", "hreflang/invalid-code"} <= {one.rule for one in findings}
    texts = [text for finding in findings for one in finding.samples for text in (one.loc, one.value)]
    assert max(len(text or "") for text in texts) == 2_048 + len("...")
    assert max(len(one.message) for one in findings) < 500


def test_a_store_without_documents_and_rules_that_are_all_off(tmp_path: Path) -> None:
    making = Making(tmp_path)
    nothing = Audit(making.run({}), making.store.history(SITE))
    assert [*nothing.findings()] == []
    assert "no URL was read" in nothing.summary().not_checked_by_reason
    off = dict.fromkeys([*RULES, *CATALOGUE], RuleOptions(is_off=True))
    audit = Audit(making.run({SITEMAP: urls(f"{SITE}/#a")}), making.store.history(SITE), off)
    assert ([*audit.findings()], audit.summary().passed, audit.summary().not_checked) == ([], 0, ())


@pytest.mark.parametrize(
    ("query", "message", "reason"),
    [
        pytest.param("select nothing from urls", "m", "the rule failed: Binder Error", id="no-column"),
        pytest.param("select loc as page from urls", "m", "the rule failed: column 'page' is unknown", id="column"),
        pytest.param("select", "m", "the rule failed: Parser Error", id="no-sql"),
        pytest.param("select loc, cast(loc as int) as value from urls", "m", "the rule failed: Conversion", id="cast"),
        pytest.param("select loc from urls", "{nothing}", "the rule failed: 'nothing'", id="message"),
    ],
)
def test_a_rule_that_fails_is_not_checked(query: str, message: str, reason: str, tmp_path: Path) -> None:
    rule = AuditRule(id="shop/bad", severity=Severity.ERROR, message=message, query=lambda: query)
    making = Making(tmp_path)
    audit = Audit(making.run({SITEMAP: urls("https://a.example/")}), making.store.history(SITE), rules=[rule])
    assert [*audit.findings()] == []
    (not_checked,) = audit.summary().not_checked
    assert not_checked.rule == "shop/bad"
    assert not_checked.reason.startswith(reason)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        pytest.param(None, "ModuleNotFoundError", id="missing"),
        pytest.param("def f(:", "SyntaxError", id="syntax"),
        pytest.param("rule('Shop Bad', 'warning', 'm')(lambda: '')", "an ID has a subject and a name", id="id"),
        pytest.param("rule('url/fragment', 'warning', 'm')(lambda: '')", "two rules named url/fragment", id="twice"),
        pytest.param("rule('shop/bad', 'bad', 'm')(lambda: '')", "'bad' is not a valid Severity", id="severity"),
    ],
)
def test_a_module_that_cannot_be_imported_is_an_error(
    code: str | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if code is not None:
        (tmp_path / "bad_rules.py").write_text(f"from sitemap_harvest.audit import rule\n{code}\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(OptionError) as error:
        HarvestSettings.from_settings({"SITEMAP_HARVEST_AUDIT_MODULES": "bad_rules"})
    assert str(error.value).startswith("SITEMAP_HARVEST_AUDIT_MODULES: bad_rules cannot be imported: ")
    assert words in str(error.value)
