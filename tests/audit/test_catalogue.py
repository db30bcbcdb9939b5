"""Every rule is documented in full."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from sitemap_harvest.audit import RULES, AuditRule
from sitemap_harvest.audit.explanation import explanation_of
from sitemap_harvest.audit.rule import NEEDS
from sitemap_harvest.model import CATALOGUE
from tests.audit import test_hreflang_rules, test_media_rules, test_sitemap_rules

IN_TABLES = {
    rule for module in (test_hreflang_rules, test_media_rules, test_sitemap_rules) for rule, *_ in module.CASES
}
"""Rules in tables of which each row has a case that trips the rule and one that nearly does."""
BOTH_IN_ONE_TEST = {"page/not-listed", "url/robots-disallowed"}


def test_only_limits_of_the_protocol_have_the_id_of_a_problem() -> None:
    shared = RULES.keys() & CATALOGUE.keys()
    assert {name.partition("/")[0] for name in shared} == {"protocol"}
    assert {name: RULES[name].severity for name in shared} == {name: CATALOGUE[name].severity for name in shared}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_every_rule_is_documented(rule: AuditRule) -> None:
    title, *paragraphs = rule.documentation.split("\n\n")
    assert re.fullmatch(r"[A-Z][^\n]+\.", " ".join(title.split()))
    assert [text for text in paragraphs if text.startswith("Fix: ")] == [paragraphs[-1]]
    assert all(text.endswith(".") for text in paragraphs if not text.startswith("Spec: "))
    assert all(re.fullmatch(r"Spec: https://\S+", text) for text in paragraphs if text.startswith("Spec: "))


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_every_rule_has_valid_facts(rule: AuditRule) -> None:
    assert re.fullmatch(r"[a-z]+/[a-z0-9-]+", rule.id)
    assert rule.needs is None or rule.needs in NEEDS
    assert rule.names.keys() <= {"google", "bing", "screaming_frog", "sitebulb"}
    assert all(isinstance(value, int | float) for value in rule.thresholds.values())


MAY_BE_LISTED = (
    "a document that was not read completely, or that the run did not request, may list what seems to be missing"
)


@pytest.mark.parametrize(
    ("rule", "sentences"),
    [
        ("site/repeated-in-robots", ()),
        ("url/fragment", ("Not checked if no URL was read.",)),
        (
            "site/home-page-missing",
            (
                "Not checked if a single document was audited, not a site, or if no URL was read.",
                f"Not checked if it would find something, and {MAY_BE_LISTED}.",
            ),
        ),
        (
            "hreflang/target-not-listed",
            (
                "Not checked if a single document was audited, not a site.",
                f"Not checked, or only in part, if {MAY_BE_LISTED}.",
            ),
        ),
    ],
)
def test_the_explanation_says_when_a_rule_is_not_checked(rule: str, sentences: tuple[str, ...]) -> None:
    assert explanation_of(rule).not_checked == sentences


def test_the_explanation_has_each_reason_why_a_rule_may_not_be_checked() -> None:
    counts = {
        name: bool(rule.needs) + rule.needs_all + (rule.unchecked is not None and bool(rule.unchecked.words))
        for name, rule in RULES.items()
    }
    assert {name: len(explanation_of(name).not_checked) for name in RULES} == counts


def test_every_rule_has_a_case_that_trips_it_and_one_that_nearly_does() -> None:
    trees = [
        ast.parse(path.read_bytes())
        for path in Path(__file__).parent.glob("test_*.py")
        if path.name != Path(__file__).name
    ]
    constants = [node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    cases = Counter(value for value in constants if value in RULES)
    assert [name for name in RULES if cases[name] < (1 if name in IN_TABLES | BOTH_IN_ONE_TEST else 2)] == []
