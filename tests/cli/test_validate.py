from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from sitemap_harvest.cli.validate import outcome_of
from sitemap_harvest.cli.validation_report import Validation, show, show_closing
from sitemap_harvest.cli.validation_targets import Target, targets_of
from sitemap_harvest.errors import ArgumentError
from sitemap_harvest.formats.protocol import Listed
from sitemap_harvest.model import CATALOGUE, Kind, Problem, Sample
from tests import forked
from tests.cli.test_crawl import on_terminal
from tests.forked_program import scrapy_program
from tests.site import Manner, Page, Site, gzipped, moved, robots, urlset
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from pathlib import Path

GOOD = urlset("https://a.example/1", "https://a.example/2")
BAD_DATE = GOOD.replace("</loc>", "</loc><lastmod>yesterday</lastmod>", 1)
NOTICE_ONLY = GOOD.replace("</loc>", "</loc><lastmod>2026-01</lastmod>", 1)
BARE = GOOD.replace("/1", "/?a=1&b=2")


def validate(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run ``scrapy harvest validate`` outside a Scrapy project."""
    return forked.scrapy("harvest", "validate", *arguments, "-s", "RETRY_TIMES=0", "-s", "DOWNLOAD_TIMEOUT=20", cwd=cwd)


def records(run: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run.stdout.splitlines()]


@pytest.mark.quick
def test_the_complete_output_for_a_file(tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text(BAD_DATE)
    run = validate("s.xml", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    assert run.stdout == (
        "s.xml\n"
        f"  sitemap · 2 URLs · utf-8 · {len(BAD_DATE)} bytes · complete\n"
        "\n"
        "  warning  lastmod/unreadable\n"
        "           The date has none of the forms that are read.\n"
        "             entry 1  yesterday\n"
        "           Fix: Write 2026-03-09 or 2026-03-09T14:00:00+01:00, or leave the element out.\n"
        "\n"
        "1 document: 1 warning\n"
        "An audit checks hreflang, news, images and other contents, but not the schema: sitemap-harvest audit s.xml\n"
    )


@pytest.mark.parametrize(
    ("body", "fail_on", "expected"),
    [
        pytest.param(GOOD, "error", 0, id="good"),
        pytest.param(GOOD, "notice", 0, id="good-strict"),
        pytest.param(NOTICE_ONLY, "warning", 0, id="notice-below-warning"),
        pytest.param(NOTICE_ONLY, "notice", 4, id="notice"),
        pytest.param(BAD_DATE, "error", 0, id="warning-not-minded"),
        pytest.param(BAD_DATE, "warning", 4, id="warning"),
        pytest.param(BARE, "error", 4, id="error"),
        pytest.param(BARE, "never", 0, id="never"),
        pytest.param("", "error", 4, id="empty"),
        pytest.param("<html></html>", "error", 4, id="web-page"),
        pytest.param(GOOD[:-5], "error", 4, id="cut"),
    ],
)
def test_the_exit_code_reflects_the_severity(body: str, fail_on: str, expected: int, tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text(body)
    run = validate("s.xml", "--fail-on", fail_on, cwd=tmp_path)
    assert run.returncode == expected, run.stdout


@pytest.mark.quick
def test_a_whole_record_in_json(tmp_path: Path) -> None:
    (tmp_path / "s.xml.gz").write_bytes(gzipped(BAD_DATE))
    run = validate("s.xml.gz", "--format", "json", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    entry = CATALOGUE["lastmod/unreadable"]
    assert records(run) == [
        {
            "target": "s.xml.gz",
            "url": (tmp_path / "s.xml.gz").as_uri(),
            "final_url": None,
            "reason": None,
            "kind": "sitemap",
            "encoding": "utf-8",
            "layers": ["gzip"],
            "bytes": len(BAD_DATE),
            "listed": {"urls": 2, "sitemaps": 0, "alternates": 0, "images": 0, "videos": 0, "news": 0},
            "complete": True,
            "problems": [
                {
                    "code": "lastmod/unreadable",
                    "severity": "warning",
                    "detail": entry.meaning,
                    "count": 1,
                    "samples": [{"entry": 1, "line": None, "byte": None, "excerpt": "yesterday"}],
                    "meaning": entry.meaning,
                    "cause": entry.cause,
                    "consequence": entry.consequence,
                    "fix": entry.fix,
                    "loses": False,
                }
            ],
            "severity": "warning",
        }
    ]


@pytest.mark.quick
def test_addresses_are_fetched_and_the_others_are_validated_if_one_fails(tmp_path: Path) -> None:
    pages: dict[str, Page | str | bytes] = {
        "/robots.txt": robots("/s.xml", disallow=["/"]),
        "/s.xml": urlset("/a", "/b"),
        "/moved.xml": moved("/s.xml"),
        "/packed.xml": Page(gzipped(urlset("/a")), headers={"Content-Encoding": "gzip"}),
        "/cut.xml": Page(urlset("/a", "/b", "/c"), manner=Manner.CUT),
        "/login.xml": Page("go away", status=403),
    }
    with Site(pages) as site:
        urls = [site.url + path for path in ("/s.xml", "/moved.xml", "/gone.xml", "/packed.xml", "/cut.xml")]
        urls += [f"{site.url}/login.xml", "http://127.0.0.1:9/", "http://nowhere.invalid/s.xml"]
        run = validate(*urls, "--format", "json", cwd=tmp_path)
    assert run.returncode == 4, run.stderr
    assert "Traceback" not in run.stderr
    found = [
        (r["target"], r["final_url"], r["reason"], r["kind"], (r["listed"] or {}).get("urls")) for r in records(run)
    ]
    assert found == [
        (urls[0], urls[0], None, "sitemap", 2),
        (urls[1], urls[0], None, "sitemap", 2),
        (urls[2], urls[2], "HTTP 404: the server has no such document", None, None),
        (urls[3], urls[3], None, "sitemap", 1),
        (urls[4], urls[4], "the connection was closed early; the partial data was read", "sitemap", found[4][4]),
        (urls[5], urls[5], "HTTP 403: the server refuses access", None, None),
        (urls[6], None, "the host refuses the connection", None, None),
        (urls[7], None, "no such host: DNS cannot resolve the name", None, None),
    ]
    assert [problem["code"] for problem in records(run)[4]["problems"] if "loc/" not in problem["code"]] == []
    assert site.count("/robots.txt") == 0
    assert site.count("/a") == 0


def test_the_location_rule_is_checked_for_addresses(tmp_path: Path) -> None:
    with Site({"/maps/s.xml": urlset("/a", "/maps/b", "https://b.example/")}) as site:
        run = validate(f"{site.url}/maps/s.xml", "--format", "json", cwd=tmp_path)
    (record,) = records(run)
    codes = {problem["code"]: problem["samples"][0]["entry"] for problem in record["problems"]}
    assert codes == {"protocol/other-site": 3, "protocol/outside-folder": 1}


def test_each_unreadable_target_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "good.xml").write_text(GOOD)
    run = validate("missing.xml", "folder", "good.xml", cwd=tmp_path)
    assert run.returncode == 4, run.stderr
    assert run.stdout == (
        "missing.xml\n"
        "  not read: there is no such file\n"
        "\n"
        "folder\n"
        "  not read: the folder contains no sitemap\n"
        "\n"
        "good.xml\n"
        f"  sitemap · 2 URLs · utf-8 · {len(GOOD)} bytes · complete\n"
        "\n"
        "3 documents, 2 of them not read: no problems in how they are written\n"
        "An audit checks hreflang, news, images and other contents, but not the schema: "
        "sitemap-harvest audit good.xml\n"
    )


def test_the_exit_code_is_3_if_nothing_can_be_read_at_any_threshold(tmp_path: Path) -> None:
    run = validate("missing.xml", "--fail-on", "never", cwd=tmp_path)
    assert run.returncode == 3, run.stderr
    assert run.stdout.splitlines()[-1] == "No document could be read."


def test_files_above_the_size_limit_are_reported(tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text(GOOD)
    run = validate("s.xml", "-s", "SITEMAP_HARVEST_MAX_UNPACKED=100", cwd=tmp_path)
    assert run.returncode == 3, run.stderr
    assert "not read: more than 100 bytes; -s SITEMAP_HARVEST_MAX_UNPACKED=N reads more" in run.stdout


def test_sitemaps_below_a_folder_are_validated(tmp_path: Path) -> None:
    files = {
        "b/sitemap.xml": GOOD,
        "b/pages.xml": GOOD.replace("/1", "/3"),
        "a/sitemap-news.xml.gz": "",  # named like a sitemap, so an empty file is a problem
        "a/opensearch.xml": "<OpenSearchDescription/>",
        "a/license.txt": "https://a.example/license\nis the licence.\n",
        "a/products.txt": "https://a.example/2\nhttps://a.example/1\n",
        "a/unfinished.txt": "https://a.example/2",
        "a/urllist.txt": "https://a.example/1\n",
        "robots.txt": "User-agent: *\n",
        ".git/sitemap.xml": GOOD,
        "page.html": "<html></html>",
    }
    for name, text in files.items():
        (tmp_path / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / name).write_text(text)
    run = validate("site", "site/b/sitemap.xml", "--format", "json", cwd=tmp_path)
    assert [(record["target"], record["kind"]) for record in records(run)] == [
        ("site/a/products.txt", "list"),
        ("site/a/sitemap-news.xml.gz", "empty"),
        ("site/a/unfinished.txt", "list"),
        ("site/a/urllist.txt", "list"),
        ("site/b/pages.xml", "sitemap"),
        ("site/b/sitemap.xml", "sitemap"),
        ("site/robots.txt", "robots"),
    ]
    skipped = (
        "3 files skipped that do not look like sitemaps: site/a/license.txt, site/a/opensearch.xml, site/page.html. "
        "To check one, name it as a target."
    )
    assert skipped in run.stderr.splitlines()
    run = validate("site", "site/page.html", cwd=tmp_path)
    assert run.stdout.splitlines()[-2] == skipped.replace("3 files", "2 files").replace(", site/page.html", "")


LINES = "".join(f"https://a.example/{number}\n" for number in range(3))
JSON_FEED = '{"version": "https://jsonfeed.org/version/1.1", "items": [{"id": "1", "url": "https://a.example/1"}]}'


@pytest.mark.quick
@pytest.mark.parametrize(
    ("name", "body", "is_validated"),
    [
        pytest.param("urls.txt", f"{LINES}no url\n", True, id="list-with-an-invalid-line"),
        pytest.param("urls.txt", f"# ours\n#\n#\n#\n\n{LINES}", True, id="list-with-comments"),
        pytest.param("urls.txt", f"{LINES}/relative\n", True, id="list-with-a-relative-url"),
        pytest.param("urls.txt", "https://a.example/1 https://a.example/2\n", True, id="list-on-one-line"),
        pytest.param("urls.txt", LINES.replace("\n", "\t2026-01-01\n"), True, id="list-with-columns"),
        pytest.param("urls.txt", LINES.encode("utf-16"), True, id="list-in-utf-16"),
        pytest.param("urls.text", LINES, True, id="list-text"),
        pytest.param("urls.txt.gz", gzipped(LINES), True, id="list-compressed"),
        pytest.param("sm.gz", gzipped(GOOD), True, id="sitemap-compressed"),
        pytest.param("feed.json", JSON_FEED, True, id="json-feed"),
        pytest.param("feed", GOOD, True, id="no-suffix"),
        pytest.param("sitemap.txt", "", True, id="named-like-a-sitemap"),
        pytest.param("x.xml", "", True, id="empty-xml"),
        pytest.param("urls.txt", "", False, id="empty-text"),
        pytest.param("README.txt", "See\n\nhttps://a.example/\n", False, id="text-with-a-url"),
        pytest.param("README.txt", "A sitemap begins with <urlset>.", False, id="text-about-sitemaps"),
        pytest.param("humans.txt", "Sitemap: https://a.example/\n", False, id="text-like-robots"),
        pytest.param("data.json", '{"items": []}', False, id="json"),
        pytest.param("app.js.gz", gzipped("f('https://a.example/')"), False, id="script-compressed"),
        pytest.param("page.html", "<html></html>", False, id="page"),
        pytest.param("page.html.gz", gzipped("<html></html>"), False, id="page-compressed"),
        pytest.param("x.xml", "<OpenSearchDescription/>", False, id="other-xml"),
    ],
)
def test_files_in_a_folder_are_validated_or_named(
    name: str, body: str | bytes, is_validated: bool, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(body if isinstance(body, bytes) else body.encode())
    found = [(target.path, target.is_skipped) for target in targets_of([str(tmp_path)])]
    none = [] if is_validated else [(tmp_path, False)]  # the folder contains no sitemap
    assert found == [*none, (tmp_path / name, not is_validated)]
    named = targets_of([str(tmp_path), str(tmp_path / name)])[-1]
    assert (named.path, named.is_skipped) == (tmp_path / name, False)


@pytest.mark.quick
@pytest.mark.skipif(os.name == "nt", reason="links and pipes")
def test_links_and_pipes_in_a_folder_are_named(tmp_path: Path) -> None:
    (tmp_path / "loop.xml").symlink_to("loop.xml")
    (tmp_path / "missing.xml").symlink_to("gone.xml")
    (tmp_path / "folder").symlink_to(".")
    os.mkfifo(tmp_path / "pipe.xml")
    dead = "the symbolic link leads to no file"
    found = {target.path: (target.refusal, target.is_skipped) for target in targets_of([str(tmp_path)])}
    assert found == {
        tmp_path / "loop.xml": (dead, False),
        tmp_path / "missing.xml": (dead, False),
        tmp_path / "folder": (None, True),
        tmp_path / "pipe.xml": (None, True),
    }


@pytest.mark.quick
def test_a_folder_that_cannot_be_listed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "s.xml").write_text(GOOD)
    scandir = os.scandir

    def refuse(path: str) -> Any:
        if os.fspath(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = [(target.path, target.refusal) for target in targets_of([str(tmp_path)])]
    reason = "the folder cannot be read: permission denied"
    assert found == [(tmp_path / "s.xml", None), (tmp_path / "closed", reason)]


def test_standard_input(tmp_path: Path) -> None:
    command = [scrapy_program(), "harvest", "validate", "-"]
    run = subprocess.run(
        command, input=BARE, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    assert run.returncode == 4, run.stderr
    assert run.stdout.startswith("standard input\n  sitemap · 2 URLs")
    assert "An audit checks" not in run.stdout  # audit does not read standard input


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param([], "nothing to validate: give a file, a folder, a URL", id="no-target"),
        pytest.param([""], "TARGET is empty: give a file", id="empty-target"),
        pytest.param(["ftp://a.example/s.xml"], "a URL that begins with http:// or https://", id="scheme"),
        pytest.param(["ftp://me:secret@a.example/s.xml"], "'ftp://***@a.example/s.xml': it must be", id="password"),
        pytest.param(["me:se/secret@a.example/s.xml"], "in a password, write / as %2F", id="password-2"),
        pytest.param(["s.xml", "--at", "ftp://me:secret@a.example"], "argument --at='ftp://", id="password-3"),
        pytest.param(["s.xml", "--fail-on", "some"], "invalid choice: 'some'", id="severity"),
        pytest.param(["s.xml", "--format", "xml"], "invalid choice: 'xml'", id="format"),
        pytest.param(["s.xml", "-O", "x.jsonl"], "unknown option -O", id="output"),
        pytest.param(["s.xml", "-s", "SITEMAP_HARVEST_MAX_URLS=0"], "MAX_URLS is '0'", id="setting"),
    ],
)
def test_usage_errors_give_exit_code_2_and_one_line(arguments: list[str], words: str, tmp_path: Path) -> None:
    run = forked.scrapy("harvest", "validate", *arguments, cwd=tmp_path)
    assert run.returncode == 2, run.stderr
    assert words in run.stderr
    assert "Traceback" not in run.stderr
    assert "secret" not in run.stderr


def test_outputs_and_pipelines_of_the_project_are_not_used(tmp_path: Path) -> None:
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = project\n")
    (tmp_path / "project.py").write_text(
        'FEEDS = {"urls.jsonl": {"format": "jsonl", "overwrite": True}}\nITEM_PIPELINES = {"nowhere.Pipeline": 1}\n'
    )
    (tmp_path / "urls.jsonl").write_text("the last run")
    with Site({"/s.xml": urlset("/a")}) as site:
        run = validate(f"{site.url}/s.xml", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "urls.jsonl").read_text() == "the last run"


HOSTILE = GOOD.replace("/1", "/\x1b[31mred\x1b]0;title\x07 \u202egnp.exe")


def test_terminal_sequences_in_a_document_are_escaped(tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text(HOSTILE)
    run = validate("s.xml", cwd=tmp_path)
    assert "\x1b" not in run.stdout
    assert "\x07" not in run.stdout
    assert "\u202e" not in run.stdout
    assert r"/\x1b[31mred\x1b]0;title\x07 \u202egnp.exe" in run.stdout
    shown = on_terminal("validate", "s.xml", cwd=tmp_path)
    assert "\x1b[1;31merror" in shown
    assert "\x1b]0;" not in shown
    assert "\x1b[31mred" not in shown


def test_no_color_disables_colours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s.xml").write_text(BARE)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "31m" not in on_terminal("validate", "s.xml", cwd=tmp_path)


@pytest.mark.quick
@pytest.mark.parametrize("columns", [80, 120])
def test_output_stays_within_the_width_of_the_terminal(columns: int) -> None:
    samples = (Sample(entry=1, line=2, excerpt="https://a.example/" + "x" * 180), Sample(entry=10_000, excerpt="y"))
    problem = Problem(code="loc/malformed", document="", detail="d" * 70, count=7, samples=samples)
    found = Validation(
        target="t" * 300,
        url="-",
        kind=Kind.SITEMAP,
        encoding="utf-8",
        bytes=1,
        listed=Listed(urls=1),
        problems=(problem,),
    )
    file = io.StringIO()
    show(found, console := Console(file=file, width=columns, force_terminal=True, no_color=True, color_system=None))
    show_closing([found], console)
    lines = file.getvalue().splitlines()
    assert max(len(line) for line in lines) <= columns
    assert lines[3] == "  error    loc/malformed  7 times"
    assert sum(line.startswith("             entry ") for line in lines) == 2


def one(*codes: str, kind: Kind | None = Kind.SITEMAP, reason: str | None = None) -> Validation:
    problems = tuple(Problem(code=code, document="", detail="") for code in codes)
    return Validation(target="t", url="t", kind=kind, problems=problems, reason=reason)


UNREAD = one(kind=None, reason="no")


@pytest.mark.quick
@pytest.mark.parametrize(
    ("found", "fail_on", "expected"),
    [
        pytest.param([one(), one("lastmod/no-zone")], "error", 0, id="fine"),
        pytest.param([one(), UNREAD], "never", 4, id="one-not-read"),
        pytest.param([UNREAD], "never", 3, id="none-read"),
        pytest.param([], "error", 3, id="none-found"),
        pytest.param([one(reason="cut")], "error", 4, id="cut"),
        pytest.param([one(), one("xml/truncated")], "error", 4, id="error"),
        pytest.param([one("lastmod/no-zone")], "notice", 4, id="notice"),
    ],
)
def test_exit_codes(found: list[Validation], fail_on: str, expected: int) -> None:
    assert outcome_of(found, fail_on).exit_code == expected


def closing_line(*found: Validation) -> str:
    file = io.StringIO()
    show_closing(found, Console(file=file, width=200))
    return file.getvalue()


@pytest.mark.quick
def test_the_closing_line() -> None:
    hint = (
        "An audit checks hreflang, news, images and other contents, but not the schema: sitemap-harvest audit TARGET\n"
    )
    assert closing_line(one(), one()) == f"2 documents: no problems in how they are written\n{hint}"
    assert closing_line(one("xml/truncated", "lastmod/no-zone"), one("xml/doctype"), UNREAD) == (
        f"3 documents, 1 of them not read: 1 error, 1 warning, 1 notice\n{hint}"
    )
    of_one = hint.replace("TARGET", one().target)
    assert closing_line(one()) == f"1 document: no problems in how it is written\n{of_one}"
    assert closing_line(one(reason="cut")) == f"1 document, 1 incomplete: no problems in what was read\n{of_one}"
    assert closing_line(one("xml/doctype", reason="cut"), UNREAD) == (
        f"2 documents, 1 of them not read, 1 incomplete: 1 warning\n{of_one}"
    )
    assert closing_line(UNREAD) == "No document could be read.\n"


@pytest.mark.quick
def test_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.xml").touch()
    uri, path = (tmp_path / "s.xml").as_uri(), tmp_path / "s.xml"
    found = targets_of(["s.xml", "https://a.example/s.xml", "www.a.example/t.xml", "-", "s.xml", uri])
    assert [(target.name, target.url, target.is_remote) for target in found] == [
        ("s.xml", uri, False),
        ("https://a.example/s.xml", "https://a.example/s.xml", True),
        ("www.a.example/t.xml", "https://www.a.example/t.xml", True),
        ("standard input", "-", False),
    ]
    assert targets_of([uri]) == [Target(name=uri, url=uri, path=path)]
    with pytest.raises(ArgumentError):
        targets_of([" "])


def test_the_url_of_a_host_without_a_scheme_is_named_if_it_cannot_be_read(tmp_path: Path) -> None:
    with Site({"/s.xml": urlset("/a")}) as site:
        host = site.url.removeprefix("http://")
        run = validate(f"{host}/s.xml", cwd=tmp_path)
    assert run.stdout.splitlines()[:2] == [
        f"{host}/s.xml",
        f"  not read: https://{host}/s.xml: TLS failed: the server does not speak TLS; the URL may need http://",
    ]


def test_ctrl_c_prints_the_results_so_far(tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text(GOOD)
    with Site({"/s.xml": Page(urlset("/a"), manner=Manner.HANG)}) as site:
        command = [scrapy_program(), "harvest", "validate", f"{site.url}/s.xml", "s.xml"]
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            wait_until(lambda: site.requests or run.poll() is not None)
            run.send_signal(signal.SIGINT)
            time.sleep(1)  # two interrupts at once count as one
            run.send_signal(signal.SIGINT)
            output, errors = run.communicate(timeout=PATIENCE_SECONDS)
    assert run.returncode == 130, errors
    assert "not read: interrupted before a response arrived" in output
    assert "sitemap · 2 URLs" in output
    assert "Traceback" not in errors


def test_errors_at_the_start_of_scrapy_are_reported(tmp_path: Path) -> None:
    run = validate("http://127.0.0.1:9/s.xml", "-s", "STATS_CLASS=nowhere.Stats", cwd=tmp_path)
    assert run.returncode == 1
    assert run.stderr.startswith("scrapy harvest validate: Scrapy could not start: ")
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("target", "message"),
    [
        pytest.param("htp://a.example/", "TARGET 'htp://a.example/': it must be", id="scheme"),
        pytest.param("www.a.example", "write https://www.a.example", id="no-scheme"),
    ],
)
def test_invalid_targets_are_reported_in_plain_words(target: str, message: str, tmp_path: Path) -> None:
    run = validate(target, cwd=tmp_path)
    assert message in run.stdout + run.stderr


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text(BARE)
    command = f"{sys.executable} -m scrapy harvest validate {'s.xml ./s.xml ' * 3} | head -1"
    run = subprocess.run(
        command, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    assert (run.stdout, run.stderr) == ("s.xml\n", "")


def test_a_stdout_in_another_encoding_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text(BAD_DATE.replace("yesterday", "gestern \u2190"))
    environment = os.environ | {"PYTHONIOENCODING": "latin-1"}
    run = forked.scrapy("harvest", "validate", "s.xml", cwd=tmp_path, environment=environment)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    ("at", "codes"),
    [
        pytest.param("https://a.example/", [], id="folder"),
        pytest.param("https://a.example/s.xml", [], id="file"),
        pytest.param("https://b.example/s.xml", ["protocol/other-site"], id="another-site"),
        pytest.param("https://a.example/maps/", ["protocol/outside-folder"], id="deeper"),
    ],
)
def test_a_file_is_checked_against_its_future_address(at: str, codes: list[str], tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text(GOOD)
    for target in ("s.xml", "."):
        run = validate(target, "--at", at, "--format", "json", cwd=tmp_path)
        (record,) = records(run)
        assert [problem["code"] for problem in record["problems"]] == codes
        assert record["target"] == "s.xml"
        assert record["url"] == (at if at.endswith(".xml") else f"{at}s.xml")
        assert record["final_url"] is None


@pytest.mark.parametrize("arguments", [("s.xml", "--at", "here"), ("https://a.example/", "--at", "https://a.example/")])
def test_an_impossible_address_for_a_file_is_rejected(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text(GOOD)
    run = validate(*arguments, cwd=tmp_path)
    assert run.returncode == 2
    assert "argument --at=" in run.stderr


@pytest.mark.parametrize(
    ("url", "fix"),
    [
        pytest.param("https://a.example/", "Name the sitemap. To find and check the sitemaps of the site: ", id="home"),
        pytest.param("https://a.example", "Name the sitemap. To find ", id="site"),
        pytest.param("https://a.example/shop", "Name the sitemap. To find ", id="no-suffix"),
        pytest.param("https://a.example/shop.html?x=1", "Name the sitemap. To find ", id="html"),
        pytest.param("https://a.example/sitemap.xml", "Serve the sitemap at this URL", id="sitemap"),
        pytest.param("file:///shop.html", "Name another file, or replace this one with a sitemap.\n", id="file"),
    ],
)
def test_the_fix_of_a_page_or_file_is_to_name_the_sitemap(url: str, fix: str) -> None:
    problem, text = Problem(code="document/not-a-sitemap", document=url, detail="html"), io.StringIO()
    show(Validation(target=url, url=url, kind=Kind.HTML, problems=(problem,)), Console(file=text, width=200))
    assert f"Fix: {fix}" in text.getvalue()
    assert ("sitemap-harvest audit https://a.example\n" in text.getvalue()) is fix.startswith("Name the")
