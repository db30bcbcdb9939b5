"""``scrapy harvest audit``: the findings of a crawl or of a store, and the exit code."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pytest
from lxml import html

from sitemap_harvest import open_store
from sitemap_harvest.audit import RULES
from sitemap_harvest.model import CATALOGUE
from sitemap_harvest.snapshots.store import SiteLocks
from sitemap_harvest.snapshots.store.store import folder_name
from tests import forked
from tests.audit.auditing import audit_of_web
from tests.cli.storing import B, command
from tests.site import Page, Site, robots, urlset
from tests.snapshots.store.making import SITE, Making

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.run import Web

SITEMAP = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>https://www.example.com/</loc></url>
<url><loc>https://www.example.com/a</loc></url>
<url><loc>https://www.example.com/a#part</loc></url>
</urlset>"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("audit")
    making = Making(path / "s", compares=True)
    making.run({f"{SITE}/s.xml": [f"{SITE}/a"]})
    making.run({f"{SITE}/s.xml": [f"{SITE}/a#part"]})
    making.run({f"{B}/s.xml": [f"{B}/a"]}, site=B)
    return path


def rules(text: str) -> list[tuple[str, str]]:
    """Return the severity and the rule of each line of a JSON Lines output."""
    rows = map(json.loads, text.splitlines())
    return [(row["severity"], row["rule"]) for row in rows if row["rule"].startswith("url/")]


@pytest.mark.quick
def test_a_folder_is_audited_before_deployment(tmp_path: Path) -> None:
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "sitemap.xml").write_text(SITEMAP)
    target = ("harvest", "audit", "https://www.example.com", "-a", "root=public")
    run = forked.scrapy(*target, "-O", "findings.csv", "--fail-on", "warning", cwd=tmp_path)
    assert run.returncode == 4, run.stderr
    with (tmp_path / "findings.csv").open(newline="") as file:
        found = {row["rule"]: row for row in csv.DictReader(file)}
    assert found["url/fragment"] | {"run": ""} == {
        "site": "https://www.example.com",
        "run": "",
        "rule": "url/fragment",
        "severity": "warning",
        "sitemap": "https://www.example.com/sitemap.xml",
        "count": "1",
        "share": "0.3333333333333333",
        "threshold": "",
        "message": "1 URL with a fragment",
        "samples": '[{"loc": "https://www.example.com/a#part", "sitemap": "https://www.example.com/sitemap.xml", '
        '"position": 3, "value": null, "line": null}]',
    }
    assert {*found} == {"url/fragment", "site/not-in-robots", "lastmod/missing"}
    assert "https://www.example.com: 3 findings of 3 rules (3 warnings) in 3 URLs of 2 documents" in run.stderr
    assert "first snapshot" not in run.stderr  # the store is temporary
    no_pages = "no listed page was requested, by a probe (--probe N) or in a crawl export (--crawl-export FILE)"
    assert f"Not checked, because {no_pages}: 9 rules\n" in run.stderr
    assert forked.scrapy(*target, "--fail-on", "error", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("probe", [(), ("--probe", "1")], ids=["target", "store"])
def test_the_outputs_of_a_project_stay_as_they_were(tmp_path: Path, probe: tuple[str, ...]) -> None:
    (tmp_path / "sitemap.xml").write_text(SITEMAP)
    (tmp_path / "urls.jsonl").write_text("old\n")
    feeds = ("-s", 'FEEDS={"urls.jsonl": {"format": "jsonl", "overwrite": true}}', "--fail-on", "never")
    kept = forked.scrapy("harvest", "audit", "sitemap.xml", "-a", "store=kept", *feeds, cwd=tmp_path)
    if probe:
        kept = forked.scrapy("harvest", "audit", "--store", "kept", *probe, *feeds, cwd=tmp_path)
    assert "Traceback" not in kept.stderr
    assert (kept.returncode, (tmp_path / "urls.jsonl").read_text()) == (0, "old\n")


def test_a_target_without_urls_beside_others_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "good.xml").write_text(SITEMAP)
    targets = ("-a", "sitemap=good.xml typo.xml")
    run = forked.scrapy("harvest", "audit", *targets, "--fail-on", "never", cwd=tmp_path)
    assert run.returncode == 4, run.stderr
    typo = (tmp_path / "typo.xml").as_uri()
    assert f"\nNo URL was read from {typo}: not fetched: there is no such file\n" in run.stdout
    assert f"\nNot checked for {typo}, because no URL was read: " in run.stdout


def test_reports_of_a_folder_are_for_ci(tmp_path: Path) -> None:
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "sitemap.xml").write_text(SITEMAP)
    reports = ("--report", "audit.sarif", "--report", "junit.xml", "--report", "comment.md", "--report", "a.xlsx")
    target = ("harvest", "audit", "https://www.example.com", "-a", "root=public", *reports)
    run = forked.scrapy(*target, "--fail-on", "warning", cwd=tmp_path)
    assert run.returncode == 4, run.stderr
    assert "not saved" not in run.stdout
    (log,) = json.loads((tmp_path / "audit.sarif").read_text())["runs"]
    (result,) = [one for one in log["results"] if one["ruleId"] == "url/fragment"]
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "public/sitemap.xml", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 4},
            }
        }
    ]
    uris = {one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in log["results"]}
    assert uris == {"public/sitemap.xml"}  # GitHub refuses a file in which one result has another URL
    assert '<failure type="warning" message="1 URL with a fragment">' in (tmp_path / "junit.xml").read_text()
    assert (
        "| warning | `url/fragment` | 1 | 1 | `1 URL with a fragment` | `/sitemap.xml` |"
        in (tmp_path / "comment.md").read_text()
    )


def test_a_crawl_into_a_store_is_audited_with_its_history(tmp_path: Path) -> None:
    (tmp_path / "public").mkdir()
    target = ("harvest", "audit", "https://www.example.com", "-a", "root=public")
    for store in (["-a", "store=s"], ["-s", "SITEMAP_HARVEST_STORE=s"]):
        (tmp_path / "public" / "sitemap.xml").write_text(SITEMAP)
        run = forked.scrapy(*target, *store, cwd=tmp_path)
        assert run.returncode == 0, run.stderr
    assert "no earlier run" not in run.stdout
    assert len(open_store(tmp_path / "s").site("https://www.example.com").runs) == 2


def test_a_site_that_does_not_respond_is_a_finding_with_the_exit_code_of_the_crawl(tmp_path: Path) -> None:
    target = ("harvest", "audit", "http://127.0.0.1:9", "-s", "RETRY_TIMES=0")
    run = forked.scrapy(*target, "-O", "f.jsonl", cwd=tmp_path)
    assert run.returncode == 7, run.stderr
    assert "site/no-sitemap" in (tmp_path / "f.jsonl").read_text()
    assert " in 0 URLs of 2 documents (no URL was read, so the audit is partial)" in run.stderr
    assert forked.scrapy(*target, "--fail-on", "error", cwd=tmp_path).returncode == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["s.xml", "--at", "first"], "--at first: it needs --store", id="at-without-store"),
        pytest.param(["s.xml", "-O", "file/f.csv"], "output file/f.csv: the folder ", id="no-folder"),
        pytest.param([], "nothing to audit", id="no-target"),
        pytest.param(["-a", "store=s"], "nothing to audit: give a site", id="no-target-but-a-store"),
        pytest.param([f"{SITE}/a", "-a", "root=."], f"--root '.': it replaces a site, but '{SITE}/a'", id="root"),
        pytest.param([SITE, "-a", "store=file"], "store 'file': it cannot be opened: not a directory", id="store"),
        pytest.param([SITE, "--probe-seed", "3"], "--probe-seed 3: it chooses the pages of a probe", id="no-probe"),
        pytest.param([SITE, "--probe", "1", "--probe-seed", "x"], "--probe-seed x: it must be a whole", id="seed"),
        pytest.param(["s.xml", "--report", "s.xml"], "--report s.xml: the command reads or writes this", id="input"),
        pytest.param(["s.xml", "--report", "a.md", "--report", "./a.md"], "--report ./a.md: the command", id="twice"),
        pytest.param(["s.xml", "-O", "a.xml:csv", "--report", "a.xml"], "--report a.xml: the command", id="output"),
        pytest.param(["s.xml", "--report", "a.nope"], "--report a.nope: the suffix must be", id="no-report-format"),
        pytest.param(["s.xml", "--report", "file/a.html"], "--report file/a.html: the folder ", id="no-report"),
        pytest.param(["s.xml", "--report", "file/no/"], "--report file/no/: the folder ", id="no-parent"),
        pytest.param(["s.xml", "--report", "d"], "--report d: the suffix must be", id="folder-without-a-slash"),
        pytest.param(
            [SITE, "-a", "root=.", "--report", "a.md"], "--report a.md: it is in the", id="report-in-the-site"
        ),
        pytest.param(["s.xml", "--report", "file/"], "--report: ", id="folder-is-a-file"),
    ],
)
def test_a_wrong_option_is_reported_before_the_crawl(tmp_path: Path, arguments: list[str], words: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "d").mkdir()
    run = forked.scrapy("harvest", "audit", *arguments, cwd=tmp_path)
    assert run.returncode == 2
    assert run.stderr.startswith(f"scrapy harvest audit: {words}")
    assert run.stderr.count("\n") == 1


def test_the_robots_txt_of_both_targets_counts_for_both(tmp_path: Path) -> None:
    with Site() as one, Site() as other:
        for site, pages in ((one, (f"{other.url}/a", f"{one.url}/b")), (other, (f"{one.url}/a",))):
            site.pages = {"/robots.txt": robots("/s.xml", disallow=["/a"]), "/s.xml": urlset(*pages)}
        run = forked.scrapy("harvest", "audit", one.url, other.url, cwd=tmp_path)
    assert "not part of the audit" not in run.stdout
    row = next(line for line in run.stdout.splitlines() if "url/robots-disallowed" in line)
    assert [cell.strip() for cell in row.split("│")[:4]] == ["error", "url/robots-disallowed", "2", "2"]


def test_what_was_not_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "robots.txt").write_text(f"Sitemap: {SITE}/sitemap.xml\nSitemap: {SITE}/gone.xml\n")
    (tmp_path / "public" / "sitemap.xml").write_text(SITEMAP.replace("https://www.example.com", SITE))
    run = forked.scrapy("harvest", "audit", SITE, "-a", "root=public", "-O", "-", cwd=tmp_path)
    assert run.returncode == 0
    assert " in 3 URLs of 3 documents (1 not read completely, so the audit is partial); rules passed: " in run.stderr
    assert "sitemap/not-fetched" in {json.loads(line)["rule"] for line in run.stdout.splitlines()}  # JSON Lines


def test_the_audit_of_a_store_names_the_first_documents_that_were_not_read(tmp_path: Path) -> None:
    names = [f"{SITE}/{name}.xml" for name in "abcde"]
    web: Web = {f"{SITE}/robots.txt": "".join(f"Sitemap: {name}\n" for name in names).encode()}
    web |= dict.fromkeys(names, SITEMAP.encode())
    audit_of_web(tmp_path / "s", web, web | dict.fromkeys(names, 404), rules=[], site=SITE)
    run = command("audit", cwd=tmp_path)
    assert [line for line in run.stdout.splitlines() if line.startswith("Not read completely")] == [
        *(f"Not read completely: {name}: HTTP 404: the server has no such document" for name in names[:3]),
        f"Not read completely: 2 other documents of {SITE}",
    ]


def test_the_first_documents_that_were_left_out_are_named(tmp_path: Path) -> None:
    names = [f"{SITE}/{name}.xml" for name in "abcde"]
    web: Web = {f"{SITE}/robots.txt": "".join(f"Sitemap: {name}\n" for name in names).encode()}
    web |= dict.fromkeys(names, SITEMAP.encode())
    audit_of_web(tmp_path / "s", web, rules=[], site=SITE, skip="[a-d].xml")
    run = command("audit", cwd=tmp_path)
    assert [line for line in run.stdout.splitlines() if line.startswith("Not re")] == [
        f"Not requested: {names[0]}, {names[1]}, {names[2]} and 1 other document"
    ]


def test_a_sitemap_that_nothing_lists_any_more_is_named(tmp_path: Path) -> None:
    public = tmp_path / "public"
    public.mkdir()
    (public / "a.xml").write_text(SITEMAP)
    (public / "b.xml").write_text(SITEMAP)
    for names in ("abc", "ac"):  # c.xml, which does not exist, may list b.xml
        (public / "robots.txt").write_text("".join(f"Sitemap: {SITE}/{name}.xml\n" for name in names))
        run = forked.scrapy("harvest", "audit", SITE, "-a", "root=public", "-a", "store=s", cwd=tmp_path)
    assert [line for line in run.stdout.splitlines() if line.startswith("Not re")] == [
        f"Not read completely: {SITE}/b.xml: not requested in this run"
    ]


def test_rules_are_listed_with_the_settings(tmp_path: Path) -> None:
    given = json.dumps({"sitemap/*": "off", "sitemap/slow": {"seconds": 9}})
    run = forked.scrapy("harvest", "audit", "--list-rules", "-s", f"SITEMAP_HARVEST_AUDIT={given}", cwd=tmp_path)
    assert run.returncode == 0
    rows = {line.split("│")[0].strip(): line for line in run.stdout.splitlines()}
    assert rows.keys() >= RULES.keys() | CATALOGUE.keys()
    assert [cell.strip() for cell in rows["sitemap/slow"].split("│")] == [
        "sitemap/slow", "notice", "seconds=9", "The download of a sitemap took long."
    ]  # fmt: skip
    assert [cell.strip() for cell in rows["sitemap/empty"].split("│")][:2] == ["sitemap/empty", "off"]
    assert {rule for rule, line in rows.items() if "(validate only)" in line} == {
        code for code in CATALOGUE.keys() - RULES.keys() if code.startswith("protocol/")
    }


def test_a_rule_is_explained(tmp_path: Path) -> None:
    given = json.dumps({"change/flapping": {"times": 9, "severity": "error"}})
    options = (
        "--explain",
        "change/flap*",
        "loc/relative",
        "xml/bad-declaration",
        "protocol/root-name",
        "-s",
        f"SITEMAP_HARVEST_AUDIT={given}",
    )
    run = forked.scrapy("harvest", "audit", *options, cwd=tmp_path)
    assert run.returncode == 0
    assert (
        run.stdout
        == """\
change/flapping (error; the default is notice)
  A URL was removed from the sitemaps and added again several times.

  The threshold is the number of times that it was added again after a removal.

  The generator depends on something that changes by chance, such as stock, the order of a query
  with a limit, or the server that responds. Search engines and users of the data see a page that
  comes and goes.

  Fix: List a page as long as it exists, and sort before limiting the number of entries.

  Threshold times: 9 (the default is 3)
  Not checked if there is no earlier run of the site (-a store=FOLDER keeps the runs).

loc/relative (error)
  The URL is relative; it was resolved against the URL of the document.

  Usual cause: The generator is not configured with the base URL of the site.

  The protocol allows only absolute URLs, and search engines reject others.

  Fix: Write the full URL, with https:// and the host.

xml/bad-declaration (error)
  The XML declaration is not well-formed, or not at the very start; it was ignored.

  Usual cause: Typographic quotes, a blank line or a comment before it, or two concatenated files.

  A strict XML parser rejects the document.

  Fix: Write <?xml version="1.0" encoding="UTF-8"?>, and nothing before it.

  An audit leaves it out if the same document has a finding that explains it: `xml/junk-before`.
  sitemap-harvest validate always reports it.

protocol/root-name (error)
  The name of the root element is not spelled as in the protocol.

  Usual cause: Other letter case, such as urlSet or SitemapIndex.

  XML is case-sensitive, so strict readers do not recognize the document.

  Fix: Write urlset or sitemapindex.

  Not checked by an audit, only by sitemap-harvest validate.

"""
    )


def test_rules_are_explained_together_or_not_at_all(tmp_path: Path) -> None:
    each = [forked.scrapy("harvest", "audit", "--explain", one, cwd=tmp_path).stdout for one in ("url/*", "loc/empty")]
    for rules_given in (["url/*", "loc/empty"], ["url/*,loc/empty"], ["url/*", "--explain", "loc/empty"]):
        run = forked.scrapy("harvest", "audit", "--explain", *rules_given, cwd=tmp_path)
        assert (run.returncode, run.stdout) == (0, "".join(each))
    run = forked.scrapy("harvest", "audit", "--explain", "url/fragment", "loc/relativ", cwd=tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    assert "--explain: 'loc/relativ': unknown rule; did you mean loc/relative" in run.stderr


@pytest.mark.parametrize("options", [["--list-rules"], ["--explain", "url/fragment"]])
def test_no_target_is_ignored_beside_rules(options: list[str], tmp_path: Path) -> None:
    run = forked.scrapy("harvest", "audit", "loc/empty", *options, cwd=tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    assert "TARGET 'loc/empty': --list-rules and --explain audit nothing; to explain several rules, " in run.stderr


def test_rules_are_not_written_to_a_file(tmp_path: Path) -> None:
    for options in (["-O", "f.csv"], ["--report", "f.html"]):
        run = forked.scrapy("harvest", "audit", "--list-rules", *options, cwd=tmp_path)
        assert (run.returncode, run.stdout, [*tmp_path.iterdir()]) == (2, "", [])
        assert f"{' '.join(options)}: --list-rules and --explain print to standard output, and write no" in run.stderr


def test_all_sites_of_a_store_are_audited(folder: Path) -> None:
    run = command("audit", "-O", "-:jsonl", cwd=folder)
    assert (run.returncode, rules(run.stdout)) == (0, [("warning", "url/fragment")])
    assert f"{SITE}: " in run.stderr
    assert f"{B}: " in run.stderr


def test_details_of_pages_need_pages(tmp_path: Path) -> None:
    given = ("--details", "page/redirect,page/not-listed", "-O", "f.csv")
    run = forked.scrapy("harvest", "audit", SITE, *given, cwd=tmp_path)
    assert (run.returncode, [*tmp_path.iterdir()]) == (2, [])
    words = "--details page/redirect, page/not-listed: checked only with records of pages"
    assert f"{words}; add --probe N or --crawl-export FILE\n" in run.stderr


def test_unchecked_rules_that_details_name_are_named(folder: Path) -> None:
    run = command("audit", SITE, "--details", "page/*,url/fragment", "-O", "-:jsonl", cwd=folder)
    assert (run.returncode, len(run.stdout.splitlines())) == (0, 1)
    (line,) = (line for line in run.stderr.splitlines() if "--probe N" in line)
    assert "--crawl-export FILE): page/redirect, page/" in line
    assert "no earlier run" not in run.stderr  # for rules that --details does not name


def test_details_of_rules_that_only_validate_checks_are_an_error(tmp_path: Path) -> None:
    given = ("--details", "protocol/names*,protocol/duplicate", "-O", "f.csv")
    run = forked.scrapy("harvest", "audit", SITE, *given, cwd=tmp_path)
    assert (run.returncode, [*tmp_path.iterdir()]) == (2, [])
    words = "--details protocol/names*, protocol/duplicate: an audit does not check this; use sitemap-harvest validate"
    assert f"{words}\n" in run.stderr


def test_details_say_what_is_not_known(tmp_path: Path) -> None:
    entries = "".join(f"<url><loc>{SITE}/{n}</loc><lastmod>soon</lastmod></url>" for n in range(9))
    web: Web = {f"{SITE}/robots.txt": f"Sitemap: {SITE}/a.xml".encode()}
    web |= {f"{SITE}/a.xml": SITEMAP.replace("</urlset>", f"{entries}</urlset>").encode()}
    audit_of_web(tmp_path / "s", web, rules=[], site=SITE)
    run = command("audit", "--details", "lastmod/unreadable,protocol/*,lastmod/missing", "-O", "-:jsonl", cwd=tmp_path)
    assert run.returncode == 0
    assert [json.loads(line)["rule"] for line in run.stdout.splitlines()].count("lastmod/unreadable") == 5
    lines = run.stderr.splitlines()
    words = "lastmod/unreadable: 5 of 9 occurrences are known: of each problem, a document has only the first 5"
    assert [line for line in lines if "are known" in line] == [words]
    (line,) = (line for line in lines if line.startswith("Not checked, because only sitemap-harvest validate does: "))
    assert "protocol/namespace" in line
    assert "protocol/too-large" not in line


def test_details_are_rows_in_place_of_findings(folder: Path) -> None:
    run = command("audit", SITE, "--details", "url/fragment,sitemap/*", "-O", "-:jsonl", cwd=folder)
    assert run.returncode == 0
    (row,) = map(json.loads, run.stdout.splitlines())
    assert row | {"run": None} == {
        "site": SITE,
        "run": None,
        "rule": "url/fragment",
        "severity": "warning",
        "loc": f"{SITE}/a#part",
        "sitemap": f"{SITE}/s.xml",
        "position": 1,
        "value": None,
        "line": None,
        "count": 1,
    }
    assert f"{SITE}: 3 findings of 3 rules (2 warnings, 1 notice) in 1 URL" in run.stderr


def test_an_earlier_snapshot_is_audited(folder: Path) -> None:
    run = command("audit", SITE, "--at", "first", "-O", "-:jsonl", cwd=folder)
    assert (run.returncode, rules(run.stdout)) == (0, [])
    assert (
        "Not checked, because there is no earlier run of the site (-a store=FOLDER keeps the runs): 8 rules"
        in run.stderr
    )


@pytest.mark.parametrize("targets", [[], [B, SITE]], ids=["all-sites", "named"])
def test_a_snapshot_that_some_sites_lack_needs_the_names_of_the_others(targets: list[str], folder: Path) -> None:
    first = open_store(folder / "s").history(SITE).runs[0].id
    for when in ("previous", first):
        run = command("audit", *targets, "--at", when, cwd=folder)
        assert run.returncode == 2
        assert f"{B}: " in run.stderr
        assert f"; to audit only sites with such a snapshot, name them: {SITE}\n" in run.stderr
        assert command("audit", SITE, "--at", when, cwd=folder).returncode == 0


def test_rules_are_set_by_a_setting(folder: Path) -> None:
    for value, expected in (("off", []), ("error", [("error", "url/fragment")])):
        setting = f"SITEMAP_HARVEST_AUDIT={json.dumps({'url/fragment': value})}"
        assert rules(command("audit", SITE, "-O", "-:jsonl", "-s", setting, cwd=folder).stdout) == expected


def test_the_table_has_a_line_for_each_rule(folder: Path) -> None:
    run = command("audit", SITE, cwd=folder)
    (line,) = [line for line in run.stdout.splitlines() if "url/fragment" in line]
    assert [cell.strip() for cell in line.split("│")] == [
        "warning", "url/fragment", "1", "1", "1 URL with a fragment", "/s.xml"
    ]  # fmt: skip
    assert "The findings were not saved." in run.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param([SITE, "--fail-on", "bad"], "--fail-on bad: it must be one of error, warning", id="severity"),
        pytest.param(["c.example"], "c.example: the store has no snapshot of this site", id="no-site"),
        pytest.param([SITE, "--at", "x"], "'x' is not a run", id="no-run"),
        pytest.param(
            [SITE, "-a", "limit=1"],
            "--store audits stored snapshots, so --limit has no effect: leave it out, or give -a store=s in place of "
            "--store s to crawl into the store",
            id="argument",
        ),
        pytest.param(
            ["-a", "limit=1", "--skip", "x"],
            "--store audits stored snapshots, so --limit, --skip have no effect: leave them out\n",
            id="arguments-without-a-target",
        ),
        pytest.param([SITE, "--emit", "trust"], "--emit trust: this command writes findings, or with", id="emit"),
        pytest.param(
            ["https://c.example", "-a", "emit=trust", "-O", "f.csv"],
            "--emit trust: this command writes findings, or with --details their occurrences; for other kinds of "
            "items, use sitemap-harvest crawl TARGET --emit trust -O FILE\n",
            id="emit-as-an-argument",
        ),
        pytest.param(
            [SITE, "--since", "7d"],
            "--store audits stored snapshots, so --since has no effect: leave it out\n",
            id="option",
        ),
        pytest.param(
            [SITE, "--probe", "1", "-a", "probe=2"], "--probe 1 and -a probe=2 contradict each other", id="probe-twice"
        ),
        pytest.param([SITE, "--details", "url/fragment"], "--details url/fragment: it needs -O FILE", id="no-output"),
        pytest.param([SITE, "--details", "x/*", "-O", "f.csv"], "--details: 'x/*': unknown rule", id="details"),
        pytest.param(
            [SITE, "--details", "page/not-listed", "--probe", "1", "-O", "f.csv"],
            "--details page/not-listed: checked only with records of pages; add --crawl-export FILE",
            id="details-of-a-crawl-export",
        ),
        pytest.param([SITE, "-O", "f.nope"], "output f.nope: the suffix must be one of", id="no-format"),
        pytest.param(
            [SITE, "-O", "f.html"],
            "output f.html: .html is the suffix of a report, so use --report f.html; -O is for",
            id="report-as-output",
        ),
        pytest.param([SITE, "-s", "SITEMAP_HARVEST_AUDIT=1"], "SITEMAP_HARVEST_AUDIT: it must be", id="setting"),
    ],
)
def test_usage_errors_are_reported_in_one_line(folder: Path, arguments: list[str], words: str) -> None:
    run = command("audit", *arguments, cwd=folder)
    assert run.returncode == 2
    assert run.stderr.startswith(f"scrapy harvest audit: {words}")
    assert run.stderr.count("\n") == 1


def test_filters_of_urls_are_refused(tmp_path: Path) -> None:
    run = forked.scrapy("harvest", "audit", "https://c.example", "--prefix", "/blog/", cwd=tmp_path)
    assert run.returncode == 2
    assert run.stderr == (
        "scrapy harvest audit: --prefix '/blog/' has no effect: an audit checks every URL of the sitemaps that it "
        "reads; to audit a section, choose its sitemaps with --follow REGEX or --skip REGEX\n"
    )


def test_a_report_is_written_beside_the_findings(folder: Path, tmp_path: Path) -> None:
    run = command("audit", SITE, "-O", "-:jsonl", "--report", str(tmp_path / "audit.html"), cwd=folder)
    assert rules(run.stdout) == [("warning", "url/fragment")]
    assert "url/fragment" in (tmp_path / "audit.html").read_text()


def test_a_report_compares_with_the_baseline(tmp_path: Path) -> None:
    sitemap = tmp_path / "public" / "sitemap.xml"
    sitemap.parent.mkdir()
    audit = ("harvest", "audit", "https://www.example.com", "--root", "public", "-a", "store=s")
    for paths in (["a"], ["a", "b#x"]):
        sitemap.write_text(urlset(*[f"https://www.example.com/{path}" for path in paths]))
        assert forked.scrapy(*audit, cwd=tmp_path).returncode == 0
    pages = []
    for options in ((), ("--baseline", "first")):
        assert forked.scrapy(*audit, *options, "--report", "a.html", cwd=tmp_path).returncode == 0
        page = html.parse(tmp_path / "a.html").getroot()
        pages.append([" ".join(one.text_content().split()) for one in page.cssselect("#changes h2, .tiles.small li")])
        has_new = [one.text_content().endswith("url/fragment") for one in page.cssselect("#changes tbody th")]
        assert any(has_new) == bool(options)
    (first, *_) = open_store(str(tmp_path / "s")).history("https://www.example.com").runs
    assert pages[0] == ["Changes since the previous run"]
    assert pages[1] == [f"Changes since the run of {first.started_at:%Y-%m-%d %H:%M} UTC", "1 added"]


def test_reports_of_several_sites_have_a_page_each(folder: Path, tmp_path: Path) -> None:
    reports = ("--report", f"{tmp_path}/audits/", "--report", str(tmp_path / "all.html"))
    run = command("audit", *reports, cwd=folder)
    assert run.returncode == 0, run.stderr
    for overview, pages in (("audits/index.html", "audits"), ("all.html", "all-sites")):
        text = (tmp_path / overview).read_text()
        assert "Sitemap audit of 2 sites" in text
        assert {name.name for name in (tmp_path / pages).iterdir()} - {"index.html"} == {
            f"{folder_name(site)}.html" for site in (SITE, B)
        }


def test_a_report_that_cannot_be_written_loses_no_findings(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "full.html").symlink_to("/dev/full")
    reports = ("--report", str(tmp_path / "full.html"), "--report", str(tmp_path / "audit.html"))
    run = command("audit", SITE, "-O", str(tmp_path / "f.jsonl"), *reports, cwd=folder)
    assert run.returncode == 2
    assert f"{SITE}: " in run.stderr
    assert "full.html: [Errno 28] No space left on device" in run.stderr
    assert rules((tmp_path / "f.jsonl").read_text()) == [("warning", "url/fragment")]
    assert "url/fragment" in (tmp_path / "audit.html").read_text()


EXPORT = f"""\ufeffAddress,Status Code,Content Type,Title 1
{SITE}/a,404,text/html,
{SITE}/c,200,text/html,C
"""


@pytest.mark.quick
def test_a_crawl_export_is_joined_with_a_store(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "internal_all.csv").write_text(EXPORT)
    arguments = ("--store", str(folder / "s"), SITE, "--at", "first", "--crawl-export", "internal_all.csv")
    run = forked.scrapy("harvest", "audit", *arguments, "-O", "findings.jsonl", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert (
        "internal_all.csv: 2 pages; columns: url: Address; status: Status Code; content_type: Content Type;"
        in run.stderr
    )
    rows = map(json.loads, (tmp_path / "findings.jsonl").read_text().splitlines())
    found = {row["rule"]: (row["count"], row["samples"][0]["loc"]) for row in rows if row["rule"].startswith("page/")}
    assert found == {
        "page/client-error": (1, f"{SITE}/a"),
        "page/error-share": (1, None),
        "page/not-listed": (1, f"{SITE}/c"),
    }


def test_a_crawl_export_is_joined_with_a_crawl(tmp_path: Path) -> None:
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "sitemap.xml").write_text(SITEMAP)
    (tmp_path / "export.csv").write_text("Seite,Code\nhttps://www.example.com/a,500\n")
    export = ("--crawl-export", "export.csv", "--crawl-column", "url=Seite", "--crawl-column", "status=Code")
    arguments = ("https://www.example.com", "-a", "root=public", *export, "--report", "audit.html")
    run = forked.scrapy("harvest", "audit", *arguments, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "page/server-error" in run.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--crawl-export", "none.csv"], "none.csv: there is no such file", id="no file"),
        pytest.param(["--crawl-column", "url=A"], "--crawl-column names a column of a crawl export", id="no export"),
        pytest.param(["--crawl-export", "x", "--crawl-column", "url"], "it must be FIELD=COLUMN", id="no column"),
        pytest.param(
            ["--crawl-export", "x", "--crawl-column", "statuss=A"],
            "--crawl-column statuss=A: 'statuss': unknown field; did you mean status? Valid fields: url, status, ",
            id="field",
        ),
    ],
)
def test_wrong_crawl_exports(arguments: list[str], message: str, folder: Path) -> None:
    run = command("audit", *arguments, cwd=folder)
    assert (run.returncode, run.stdout) == (2, "")
    assert message in run.stderr


def served(*paths: str) -> Site:
    """Return a site that lists *paths*, of which ``/missing`` does not exist."""
    pages = {path: Page("<title>A page</title>", headers={"Content-Type": "text/html"}) for path in paths}
    pages.pop("/missing", None)
    return Site({"/robots.txt": robots("/s.xml"), "/s.xml": urlset(*paths), **pages})


@pytest.mark.quick
def test_listed_pages_are_requested_now_or_for_a_stored_run(tmp_path: Path) -> None:
    with served("/a", "/b", "/missing") as site:
        target = ("harvest", "audit", site.url, "-O", "f.jsonl", "--fail-on", "error")
        run = forked.scrapy(*target, "-a", "store=s", cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        run = forked.scrapy(*target, "--probe", "all", cwd=tmp_path)
        assert run.returncode == 4, run.stderr
        assert "; probe: 3 of 3 sampled pages (seed 0); " in run.stderr
        site.requests.clear()
        run = forked.scrapy(*target, "--store", "s", "--probe", "2", "--probe-seed", "3", cwd=tmp_path)
        assert "; probe: 2 of 2 sampled pages (seed 3); " in run.stderr, run.stderr
        assert len([one for one in site.requests if one.startswith("HEAD")]) == 2
        assert not {"/s.xml"} & {*site.requests}
    found = {row["rule"]: row for row in map(json.loads, (tmp_path / "f.jsonl").read_text().splitlines())}
    assert run.returncode == (4 if "page/client-error" in found else 0)


def test_a_stored_probe_of_a_busy_site_is_a_failure(folder: Path) -> None:
    store = open_store(folder / "s")
    locks = SiteLocks(store.folder, "20261101T000000Z-000000")
    locks.take(store.site(SITE).folder)
    try:
        run = command("audit", SITE, "--probe", "1", cwd=folder)
    finally:
        locks.release(store.site(SITE).folder)
        locks.close()
    assert run.returncode == 4
    assert f"The probe of {SITE} failed: the run 20261101T000000Z-000000 is harvesting" in run.stderr
    assert f"{SITE}: " in run.stdout  # it is audited without


@pytest.mark.parametrize("number", ["0", "many", "1.5"])
def test_the_size_of_a_probe_is_a_number_or_all(folder: Path, number: str) -> None:
    run = command("audit", SITE, "--probe", number, cwd=folder)
    assert run.returncode == 2
    assert run.stderr.endswith(f"--probe {number}: it must be a whole number, 1 or more, or all\n")
