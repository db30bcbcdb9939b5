"""Each occurrence of what some rules find."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sitemap_harvest.audit import RuleOptions
from sitemap_harvest.audit.audit import Audit
from sitemap_harvest.audit.explanation import gaps_in_words
from sitemap_harvest.config.arguments import check_details
from sitemap_harvest.errors import ArgumentError
from sitemap_harvest.model import Occurrence, Problem, Sample, Severity
from tests.audit.auditing import SITE, SITEMAP, _Facts, dated, urls

if TYPE_CHECKING:
    from pathlib import Path

OTHER = f"{SITE}/other.xml"


def audit_of(path: Path, documents: dict[str, Any], *, options: Any = None, **facts: Any) -> Audit:
    """Return the audit of a run that read *documents*; *facts* are those of the sitemap."""
    making = _Facts(path, compares=True)
    making.facts = {SITEMAP: facts}
    return Audit(making.run(documents), making.store.history(SITE), options)


def rows(audit: Audit, *rules: str) -> list[Occurrence]:
    return [row for batch in audit.occurrences(rules) for row in batch]


def test_every_occurrence_is_a_row_in_the_order_of_the_documents(tmp_path: Path) -> None:
    many = [f"{SITE}/{number}#a" for number in range(11)]
    audit = audit_of(tmp_path, {SITEMAP: urls(*many), OTHER: urls(f"{SITE}/#!b")})
    with audit:
        (site_wide, *_) = [one for one in audit.findings() if one.rule == "url/fragment"]
        found = rows(audit, "url/fragment")
    assert site_wide.count == 11
    facts = {"site": SITE, "run": found[0].run, "rule": "url/fragment"}
    assert found == [
        Occurrence(**facts, severity=Severity.NOTICE, loc=f"{SITE}/#!b", sitemap=OTHER, position=1),
        *(
            Occurrence(**facts, severity=Severity.WARNING, loc=loc, sitemap=SITEMAP, position=number)
            for number, loc in enumerate(many, start=1)
        ),
    ]


def test_the_severity_of_the_user_and_thresholds_apply(tmp_path: Path) -> None:
    options = {
        "url/fragment": RuleOptions(severity=Severity.ERROR),
        "lastmod/ancient": RuleOptions(is_off=True),  # it was named
    }
    documents = {SITEMAP: urls(f"{SITE}/#!a") + dated("1970-01-01")}
    found = rows(audit_of(tmp_path, documents, options=options), "lastmod/ancient", "url/fragment")
    assert [(one.rule, one.severity) for one in found] == [("lastmod/ancient", "warning"), ("url/fragment", "error")]


def test_a_problem_code_has_the_samples_of_the_documents(tmp_path: Path) -> None:
    problem = Problem(
        code="loc/relative",
        document=SITEMAP,
        detail="d",
        count=7,
        samples=(Sample(entry=2, excerpt="/a"), Sample(entry=3, excerpt="/b"), Sample(line=9)),
    )
    with audit_of(tmp_path, {SITEMAP: urls(SITE, f"{SITE}/a"), OTHER: urls(SITE)}, problems=(problem,)) as audit:
        found = rows(audit, "loc/relative", "loc/empty")
        (finding,) = [one for one in audit.findings() if one.rule == "loc/relative"]
    facts = {"site": SITE, "run": found[0].run, "rule": "loc/relative", "severity": Severity.ERROR, "sitemap": SITEMAP}
    assert found == [
        Occurrence(**facts, loc=f"{SITE}/a", position=2, value="/a"),
        Occurrence(**facts, position=3, value="/b"),  # an entry without a URL
        Occurrence(**facts, line=9),
    ]
    assert [one.loc for one in finding.samples] == [f"{SITE}/a", None, None]
    words = "loc/relative: 3 of 7 occurrences are known: of each problem, a document has only the first 5"
    assert [*gaps_in_words(["loc/relative", "loc/empty"], audit.written, audit.found)] == [words]


def test_a_problem_without_samples_is_a_row(tmp_path: Path) -> None:
    problem = Problem(code="encoding/unknown", document=SITEMAP, detail="d", count=1, samples=())
    with audit_of(tmp_path, {SITEMAP: urls(SITE)}, problems=(problem,)) as audit:
        (row,) = rows(audit, "encoding/unknown")
    assert (row.sitemap, row.loc, row.position, row.value, row.count) == (SITEMAP, None, None, None, 1)


def test_an_audit_checks_all_but_what_only_validate_does(tmp_path: Path) -> None:
    with audit_of(tmp_path, {SITEMAP: urls(SITE)}) as audit:
        assert [*audit.findings()]
    assert {"protocol/namespace", "lastmod/unreadable", "protocol/too-large"}.intersection(audit.checked) == {
        "lastmod/unreadable",
        "protocol/too-large",
    }


def test_a_rule_that_was_not_checked_has_no_rows(tmp_path: Path) -> None:
    with audit_of(tmp_path, {SITEMAP: urls(SITE)}) as audit:
        assert [*audit.findings()]
        assert rows(audit, "change/flapping") == []


@pytest.mark.parametrize(
    ("names", "rules"),
    [
        pytest.param(["url/fragment", "url/fragment"], ("url/fragment",), id="twice"),
        pytest.param(
            ["priority/*"], ("priority/all-the-same", "priority/ignored", "priority/unreadable"), id="pattern"
        ),
        pytest.param([], (), id="none"),
    ],
)
def test_names_and_patterns(names: list[str], rules: tuple[str, ...]) -> None:
    assert check_details(names) == rules


def test_rules_that_only_validate_checks_are_an_error_alone() -> None:
    message = "argument details protocol/namespace: an audit does not check this; use sitemap-harvest validate"
    with pytest.raises(ArgumentError, match=message):
        check_details(["protocol/namespace"])
    assert check_details(["protocol/namespace", "url/fragment"]) == ("protocol/namespace", "url/fragment")
    assert {"protocol/namespace", "protocol/too-large"} <= {*check_details(["protocol/*"])}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("url/fragmnt", "argument details: 'url/fragmnt': unknown rule; did you mean url/fragment"),
        ("lastmod", "argument details: 'lastmod': unknown rule; did you mean lastmod/*? sitemap-harvest"),
        ("lastmod/", "argument details: 'lastmod/': unknown rule; did you mean lastmod/*? "),
        ("nothing", "argument details: 'nothing': unknown rule; sitemap-harvest audit --list-rules lists all rules"),
        ("no/*", "argument details: 'no/*': unknown rule; "),
    ],
)
def test_an_unknown_rule_is_an_error(name: str, words: str) -> None:
    with pytest.raises(ArgumentError) as error:
        check_details([name])
    assert str(error.value).startswith(words)
