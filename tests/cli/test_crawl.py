from __future__ import annotations

import json
import os
import pty
import re
import shlex
import signal
import subprocess
from threading import Event
from typing import TYPE_CHECKING

import duckdb
import pytest

from tests import forked
from tests.forked_program import scrapy_program
from tests.site import Manner, Page, Site, index, robots, urlset
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping
    from email.message import Message
    from pathlib import Path

HOME = "<!doctype html><title>Shop</title><p>Hello.</p>"


def harvest(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run ``scrapy harvest`` outside a Scrapy project."""
    return forked.scrapy("harvest", *arguments, "-s", "RETRY_TIMES=0", "-s", "DOWNLOAD_TIMEOUT=20", cwd=cwd)


@pytest.mark.quick
def test_a_whole_site_is_harvested_with_exit_code_0(tmp_path: Path) -> None:
    with Site({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/a", "/b")}) as site:
        run = harvest("crawl", site.url, "-O", "urls.jsonl", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    rows = [json.loads(line) for line in (tmp_path / "urls.jsonl").read_text().splitlines()]
    assert [row["loc"] for row in rows] == [f"{site.url}/a", f"{site.url}/b"]
    assert run.stdout == ""
    table = run.stderr[run.stderr.index("outcome") :].splitlines()
    assert table[2].replace("│", "").split()[:3] == ["read", "2", "2"]
    assert table[4].replace("│", "").split()[:3] == ["total", "2", "2"]


@pytest.mark.quick
def test_a_failed_child_gives_exit_code_4_and_a_line_with_the_reason(tmp_path: Path) -> None:
    pages = {"/i.xml": index("/a.xml", "/gone.xml", "/page.xml"), "/a.xml": urlset("/a"), "/page.xml": "<html></html>"}
    with Site(pages) as site:
        run = harvest("crawl", f"{site.url}/i.xml", "-O", "urls.csv", cwd=tmp_path)
    assert run.returncode == 4, run.stderr
    assert f"{site.url}/gone.xml: HTTP 404: the server has no such document" in run.stderr
    assert f"{site.url}/page.xml: the document is a web page" in run.stderr
    assert len((tmp_path / "urls.csv").read_text().splitlines()) == 2


@pytest.mark.quick
def test_the_closing_table_of_a_run_that_ends_early_counts_unread_documents(tmp_path: Path) -> None:
    names = [f"{number}.xml" for number in range(50)]
    for name in names:
        (tmp_path / name).write_text(urlset("https://a.example/1"))
    run = harvest("crawl", *names, "-O", "urls.jsonl", "-s", "CLOSESPIDER_PAGECOUNT=5", cwd=tmp_path)
    assert run.returncode == 4, run.stderr
    cells = [line.replace("│", "").split()[:3] for line in run.stderr.splitlines()]
    (read,) = (int(row[1]) for row in cells if row[:1] == ["read"])
    assert ["interrupted", str(50 - read), "0"] in cells
    assert ["total", "50"] in [row[:2] for row in cells]
    assert f"early (closespider_pagecount): {50 - read} queued documents were not read (exit code 4)." in run.stderr
    assert "the run ended early" not in run.stderr
    assert "the search is unfinished" not in run.stderr


def test_a_setting_with_a_typo_is_named(tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text(urlset("https://a.example/1"))
    run = harvest("crawl", "s.xml", "-s", "CONCURRENT_REQUEST=3", "-s", "MY_OWN=4", cwd=tmp_path)
    assert run.stderr.count("Unknown setting") == 1
    assert run.stderr.startswith("Unknown setting CONCURRENT_REQUEST; did you mean CONCURRENT_REQUESTS?\n")


def test_a_page_in_the_place_of_a_site_is_recognized(tmp_path: Path) -> None:
    with Site({"/shop/": HOME}) as site:
        run = harvest("crawl", f"{site.url}/shop/", cwd=tmp_path)
    assert run.returncode == 3, run.stderr
    assert (
        f"No URL was found: {site.url}/shop/ is a web page, not a sitemap.\n"
        f"To search {site.url} for sitemaps: sitemap-harvest crawl {site.url}\n"
    ) in run.stderr


def test_several_files_are_read_including_names_with_spaces(tmp_path: Path) -> None:
    names = [f"a folder/sitemap number {number}.xml" for number in range(300)]
    (tmp_path / "a folder").mkdir()
    for number, name in enumerate(names):
        (tmp_path / name).write_text(urlset(f"https://a.example/{number}"))
    run = harvest("crawl", *names, "-O", "urls.jsonl", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    rows = [json.loads(line) for line in (tmp_path / "urls.jsonl").read_text().splitlines()]
    assert {row["loc"] for row in rows} == {f"https://a.example/{number}" for number in range(300)}


@pytest.mark.parametrize("output", ["urls.duckdb?mode=upsert", "duckdb:{folder}/urls.db", "duckdb://{folder}/urls.db"])
def test_databases_are_found_by_their_names(tmp_path: Path, output: str) -> None:
    (tmp_path / "s.xml").write_text(urlset("https://a.example/1", "https://a.example/2"))
    run = harvest("crawl", "s.xml", "-O", output.format(folder=tmp_path), cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    (path,) = set(tmp_path.iterdir()) - {tmp_path / "s.xml"}
    with duckdb.connect(path) as database:
        assert database.sql("select count(*) from urls").fetchall() == [(2,)]


@pytest.mark.parametrize(
    ("pages", "code", "words"),
    [
        pytest.param({"/": HOME}, 3, "there is no sitemap", id="no-sitemap"),
        pytest.param({"/robots.txt": robots("/s.xml"), "/s.xml": urlset()}, 3, "list none", id="empty"),
        pytest.param(
            {"/robots.txt": Page("go away", status=403)}, 5, "HTTP 403: the server refuses access", id="blocked"
        ),
        pytest.param({"/robots.txt": robots(disallow=["/"])}, 6, "robots.txt disallows the URL", id="forbidden"),
        pytest.param({"/robots.txt": Page(manner=Manner.RESET)}, 7, "unreachable (connection)", id="unreachable"),
        pytest.param({}, 8, "HTTP 404", id="no-site"),
    ],
)
def test_exit_code_and_message_name_the_reason_if_nothing_is_found(
    pages: dict[str, Page | str | bytes], code: int, words: str, tmp_path: Path
) -> None:
    with Site(pages) as site:
        run = harvest("crawl", site.url, cwd=tmp_path)
    assert run.returncode == code, run.stderr
    assert "No URL was found" in run.stderr
    assert words in run.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["crawl"], "nothing to harvest: give a site, the URL of a sitemap, or a file", id="no-target"),
        pytest.param(["crawl", ""], "TARGET is empty: give a site", id="empty-target"),
        pytest.param(["crawl", "a.example", " "], "TARGET is empty: give a site", id="whitespace-target"),
        pytest.param(["crawl", "a.example", "-a", "root="], "--root is empty", id="empty-argument"),
        pytest.param(["crawl", "a.example", "-a", "bogus=1"], "bogus: unknown argument", id="unknown-argument"),
        pytest.param(
            ["crawl", "a.example", "-a", "limit=few"], "--limit 'few': it must be a whole number", id="bad-limit"
        ),
        pytest.param(["crawl", "a.example", "--frob"], "unknown option --frob", id="unknown-option"),
        pytest.param(
            ["crawl", "a.example", "-O", "x.bogus"],
            "-O x.bogus: the suffix must be one of jsonl, jsonlines, jl, json, csv, tsv, xml, parquet, "
            "xlsx, which gz, zst, bz2 or xz may follow, or one of duckdb, sqlite, delta; "
            "or name the format, as in urls.txt:csv",
            id="unknown-format",
        ),
        pytest.param(["crawl", "a.example", "-O", "x.db?mode=append"], "x.db?mode=append:duckdb", id="parameters"),
        pytest.param(
            ["crawl", "a.example", "-O", "u_lake:delta?mode=upsert"],
            "name the format at the end, as in u_lake?mode=upsert:delta",
            id="parameters-after-the-format",
        ),
        pytest.param(["crawl", "a.example", "-O", "x.db"], "x.db: the kind of the database is unknown", id="database"),
        pytest.param(["crawl", "a.example", "-O", "x.sqlite.gz"], "a database cannot be compressed", id="compressed"),
        pytest.param(["crawl", "a.example", "-O", "x"], "-O x: the suffix must be one of jsonl", id="no-suffix"),
        pytest.param(
            ["crawl", "a.example", "-O", "file:///tmp/x"],
            "file:///tmp/x: the format is unknown",
            id="no-suffix-of-a-uri",
        ),
        pytest.param(
            ["crawl", "a.example", "-O", "x.csv.zip"],
            "or one of duckdb, sqlite, delta; did you mean x.csv.gz?",
            id="unknown-compression",
        ),
        pytest.param(["crawl", "a.example", "-o", "x.xls"], "; did you mean x.xlsx?", id="excel"),
        pytest.param(["crawl", "a.example", "-s", "SITEMAP_HARVEST_MAX_DEPTH=0"], "MAX_DEPTH is '0'", id="bad-setting"),
        pytest.param(["crawl", "a.example", "-s", "SITEMAP_HARVEST_DEPTH=1"], "unknown setting", id="unknown-setting"),
        pytest.param(["crawl", "a.example", "-s", "LOG_LEVEL=LOUD"], "LOG_LEVEL is 'LOUD'; it must be", id="log-level"),
        pytest.param(["validate", "s.xml", "-s", "CONCURRENT_REQUESTS=many"], "REQUESTS is 'many'", id="scrapys"),
        pytest.param(["crawl", "ftp://me:secret@a.example"], "'ftp://***@a.example': it must be", id="password"),
        pytest.param(["crawl", "http://me:se/secret@a.example/s.xml"], "'http://***@a.example/s.xml'", id="password-2"),
        pytest.param(
            ["crawl", "a.example", "-a", "http_pass=secret"], "argument http_pass: unknown argument", id="password-3"
        ),
        pytest.param(["crawl", "-a", "site=u:secret@a.example", "v:secret@b.example"], "'***@b.example'", id="twice"),
        pytest.param(
            ["crawl", "a.example", "b.example", "-a", "root=."],
            "--root '.': it must be used with exactly one --site, which the folder replaces",
            id="folder-for-two",
        ),
        pytest.param(["frob"], "frob: unknown action; valid actions: crawl, validate", id="unknown-action"),
    ],
)
def test_usage_errors_give_exit_code_2_and_one_line(arguments: list[str], words: str, tmp_path: Path) -> None:
    run = forked.scrapy("harvest", *arguments, cwd=tmp_path)
    assert run.returncode == 2, run.stderr
    assert words in run.stderr
    assert "Traceback" not in run.stderr
    assert "secret" not in run.stderr
    assert list(tmp_path.iterdir()) == []


def test_outputs_that_cannot_be_appended_to_are_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "urls.parquet").write_bytes(b"the last run")
    with Site({"/s.xml": urlset("/a")}) as site:
        run = harvest("crawl", f"{site.url}/s.xml", "-o", "urls.parquet", cwd=tmp_path)
    assert run.returncode == 2, run.stderr
    assert run.stderr.splitlines()[-1].startswith("scrapy harvest crawl: urls.parquet already exists, ")
    assert (run.stderr.count("already exists"), "wrong_argument" in run.stderr) == (1, False)
    assert (tmp_path / "urls.parquet").read_bytes() == b"the last run"


QUIET = [
    pytest.param([], id="shown"),
    pytest.param(["--nolog"], id="nolog"),
    pytest.param(["-L", "CRITICAL"], id="level"),
    pytest.param(["--logfile", "run.log"], id="file"),
]


@pytest.mark.parametrize("quiet", QUIET)
@pytest.mark.parametrize(
    ("setting", "words"),
    [
        pytest.param('FEEDS={"b.jsonl": {"format": "jsn"}}', "b.jsonl: unknown format; did you mean json", id="format"),
        pytest.param('FEEDS={"foo://b": {"format": "jsonl"}}', "FEEDS: Scrapy cannot write", id="scheme"),
        pytest.param("FEED_EXPORT_BATCH_ITEM_COUNT=5", "FEEDS: Scrapy cannot write", id="parts"),
        pytest.param("FEED_EXPORT_ENCODING=nope", "FEED_EXPORT_ENCODING is 'nope'; it must be", id="encoding"),
        pytest.param(
            'FEEDS={"b.jsonl": {"format": "jsonl", "encoding": "nope"}}', "encoding of b.jsonl is 'nope'", id="its-own"
        ),
        pytest.param('FEEDS={"/proc/b.jsonl": {"format": "jsonl"}}', "/proc/b.jsonl cannot be written", id="path"),
    ],
)
def test_misconfigured_outputs_are_a_usage_error_at_any_log_level(
    setting: str, words: str, quiet: list[str], tmp_path: Path
) -> None:
    output = [] if setting.startswith("FEEDS") else ["-O", "urls.jsonl"]
    with Site({"/s.xml": urlset("/a")}) as site:
        run = harvest("crawl", f"{site.url}/s.xml", *output, "-s", setting, *quiet, cwd=tmp_path)
    assert run.returncode == 2, run.stderr
    assert run.stderr.count(words) == 1
    assert "Traceback" not in run.stderr
    assert site.requests == []


@pytest.mark.parametrize("quiet", QUIET)
def test_errors_of_the_project_give_exit_code_4_at_any_log_level(quiet: list[str], tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text("class Bug:\n    def process_item(self, item):\n        raise ValueError\n")
    (tmp_path / "s.xml").write_text(urlset("https://a.example/1"))
    pipeline = 'ITEM_PIPELINES={"parts.Bug": 1}'
    run = harvest("crawl", "s.xml", "-O", "urls.jsonl", "-s", pipeline, *quiet, cwd=tmp_path)
    assert run.returncode == 4, run.stderr


def test_pipelines_that_cannot_be_opened_give_exit_code_1_without_an_error_of_the_package(tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text(
        "class Bug:\n    def open_spider(self):\n        raise ValueError('no database')\n"
    )
    run = harvest("crawl", "a.example", "-O", "urls.jsonl", "-s", 'ITEM_PIPELINES={"parts.Bug": 1}', cwd=tmp_path)
    assert run.returncode == 1, run.stderr
    assert "no database" in run.stderr
    assert "sitemap_harvest/" not in run.stderr


@pytest.mark.parametrize("quiet", QUIET)
def test_two_kinds_in_one_output_are_a_usage_error_at_any_log_level(quiet: list[str], tmp_path: Path) -> None:
    run = harvest("crawl", "a.example", "-a", "emit=urls,sitemaps", "-O", "b.jsonl", *quiet, cwd=tmp_path)
    assert run.returncode == 2, run.stderr
    message = "would contain several kinds of items (urls,sitemaps); choose one kind with emit, write a workbook"
    assert run.stderr.count(message) == 1
    (feeds,) = re.findall(r"-O: (FEEDS='.*?')$", run.stderr, re.MULTILINE)
    (tmp_path / "s.xml").write_text(urlset("https://a.example/1"))
    run = harvest("crawl", "s.xml", "--emit", "urls,sitemaps", "-s", *shlex.split(feeds), *quiet, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert json.loads((tmp_path / "urls.jsonl").read_text())["loc"] == "https://a.example/1"
    assert json.loads((tmp_path / "sitemaps.jsonl").read_text())["entries"] == 1


@pytest.mark.parametrize("output", ["folder.jsonl", "folder.parquet", "file/urls.jsonl", "/proc/urls.jsonl"])
def test_unwritable_outputs_are_a_usage_error_and_nothing_is_fetched(output: str, tmp_path: Path) -> None:
    for name in ("folder.jsonl", "folder.parquet"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").touch()
    with Site({"/s.xml": urlset("/a")}) as site:
        run = harvest("crawl", f"{site.url}/s.xml", "-O", output, cwd=tmp_path)
    assert run.returncode == 2, run.stderr
    assert f"{output} cannot be written: " in run.stderr
    assert "Traceback" not in run.stderr
    assert site.requests == []


@pytest.mark.parametrize("suffix", ["jsonl", "json", "csv", "xml", "parquet", "xlsx", "duckdb", "delta"])
@pytest.mark.parametrize("items", ["auto", "rows"])
def test_a_full_disk_ends_the_run_with_one_line(suffix: str, items: str, tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text(urlset(*(f"https://a.example/{number * 7919}" for number in range(5_000))))
    arguments = ["crawl", "s.xml", "-O", f"urls.{suffix}", "-s", f"SITEMAP_HARVEST_ITEMS={items}"]
    run = forked.scrapy("harvest", *arguments, cwd=tmp_path, largest_file=16 * 1024)
    assert run.returncode == 4, run.stderr
    (error,) = re.findall(r"The output cannot be written: (.*)", run.stderr)
    named = "set TMPDIR" if suffix in {"xlsx", "duckdb", "delta"} else f"urls.{suffix}: [Errno"
    assert named in error
    assert run.stderr.count(" ERROR: ") == 1
    assert "Traceback" not in run.stderr


def test_a_disk_that_is_full_at_the_end_of_a_file_ends_the_run_with_one_line(tmp_path: Path) -> None:
    for name in ("a", "b"):
        rows = (f"https://{name}.example/{number * 7919}" for number in range(5_000))
        (tmp_path / f"{name}.xml").write_text(urlset(*rows))
    feeds = ["-O", "%(batch_id)d.parquet", "-s", "FEED_EXPORT_BATCH_ITEM_COUNT=3000"]  # written at the end of each file
    run = forked.scrapy("harvest", "crawl", "a.xml", "b.xml", *feeds, cwd=tmp_path, largest_file=16 * 1024)
    assert run.returncode == 4, run.stderr
    assert run.stderr.count("The output cannot be written: ") == 1
    assert run.stderr.count(" ERROR: ") == 1
    assert "Closing spider (output_failed)" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("output", ["-", "-:jsonl"])
def test_standard_output_gets_the_rows_without_a_warning(output: str, tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text(urlset("https://a.example/1"))
    run = harvest("crawl", "s.xml", "-O", output, cwd=tmp_path)
    assert [json.loads(line)["loc"] for line in run.stdout.splitlines()] == ["https://a.example/1"]
    assert "WARNING" not in run.stderr


@pytest.mark.parametrize("mode", ["wb", "ab"])
def test_standard_output_has_a_header_even_if_it_is_a_file_with_content(mode: str, tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text(urlset("https://a.example/1"))
    command = [scrapy_program(), "harvest", "crawl", "s.xml", "-o", "-:csv", "-s", "FEED_EXPORT_FIELDS=loc"]
    with (tmp_path / "rows.txt").open(mode) as file:
        file.write(b"hi\n")
        file.flush()
        subprocess.run(command, cwd=tmp_path, stdout=file, stderr=subprocess.DEVNULL, check=True)
    assert (tmp_path / "rows.txt").read_text().splitlines() == ["hi", "loc", "https://a.example/1"]


@pytest.mark.quick
@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_reader_that_closes_the_pipe_ends_the_run_without_an_error(suffix: str, tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text(urlset("https://a.example/1"))
    reader, writer = os.pipe()
    os.close(reader)
    command = [scrapy_program(), "harvest", "crawl", "s.xml", "-o", f"-:{suffix}"]
    run = subprocess.run(command, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert run.returncode == 0
    assert run.stderr.count("has closed the pipe") == 1
    for word in ("WARNING", "ERROR", "Error", "Exception", "Traceback"):
        assert word not in run.stderr


@pytest.mark.quick
def test_a_terminal_shows_only_warnings_in_this_repository_too(tmp_path: Path) -> None:
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = sitemap_harvest.settings\n")
    (tmp_path / "s.xml").write_text(urlset("https://a.example/1"))
    quiet = on_terminal("crawl", "s.xml", cwd=tmp_path)
    assert "complete." in quiet
    assert "INFO: " not in quiet
    assert "INFO: Spider opened" in on_terminal("crawl", "s.xml", "-s", "LOG_LEVEL=INFO", cwd=tmp_path)


def test_the_log_is_plain_lines_without_a_terminal(tmp_path: Path) -> None:
    with Site({"/s.xml": urlset("/a")}) as site:
        run = harvest("crawl", f"{site.url}/s.xml", cwd=tmp_path)
    assert "Spider opened" in run.stderr
    assert "\x1b" not in run.stderr
    assert "Overridden settings" not in run.stderr
    assert "No output file was given, so nothing is saved" in run.stderr


@pytest.mark.parametrize("options", [["--nolog"], ["-L", "ERROR"], ["--logfile", "run.log"], []])
def test_the_last_lines_say_once_that_an_output_stays_as_it_was(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "i.xml").write_text(index("http://127.0.0.1:1/s.xml"))
    (tmp_path / "urls.jsonl").write_text("old")
    run = harvest("crawl", "i.xml", "-O", "urls.jsonl", *options, cwd=tmp_path)
    assert run.returncode == 3, run.stderr
    assert run.stderr.count("urls.jsonl stays as it was: the run has read no sitemap\n") == 1
    assert (tmp_path / "urls.jsonl").read_text() == "old"


def test_a_refused_run_gives_no_hint_about_its_output(tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text(urlset("https://a.example/1"))
    run = harvest("crawl", "s.xml", "--max-age", "1d", cwd=tmp_path)
    assert "nothing is saved" not in run.stderr
    assert run.stderr.splitlines()[-1].endswith("it requires a store; add one, for example --store snapshots")


@pytest.mark.quick
def test_a_terminal_shows_a_live_line(tmp_path: Path) -> None:
    line = "0 documents done, 1 queued · 0 URLs"
    is_shown = Event()

    def answer(_: Message) -> str:
        is_shown.wait(PATIENCE_SECONDS)
        return urlset("/a")

    with Site({"/s.xml": answer}) as site:
        shown = on_terminal("crawl", f"{site.url}/s.xml", cwd=tmp_path, when={line: is_shown})
    assert line in shown
    assert "INFO" not in shown
    assert "total" in shown


def test_a_refused_run_shows_no_live_line(tmp_path: Path) -> None:
    (tmp_path / "urls.json").write_text("[]")
    (tmp_path / "s.txt").write_text("https://a.example/a\nhttps://a.example/b\n")
    shown = on_terminal("crawl", "s.txt", "-o", "urls.json", cwd=tmp_path)
    assert shown.startswith("scrapy harvest crawl: urls.json already exists, and files of this format cannot be ")


def on_terminal(*arguments: str, cwd: Path, when: Mapping[str, Event] | None = None) -> str:
    """Return the whole output of ``scrapy harvest`` on a terminal; set each event of *when* once its text is shown."""
    ours, theirs = pty.openpty()
    command = [scrapy_program(), "harvest", *arguments]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(command, cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                shown += os.read(ours, 4096)
            except OSError:  # the other end was closed
                break
            for text, event in (when or {}).items():
                if text.encode() in shown:
                    event.set()
        process.wait(timeout=PATIENCE_SECONDS)
    os.close(ours)
    return shown.decode()


@pytest.mark.quick
def test_a_file_of_hosts_is_a_list_of_sites(tmp_path: Path) -> None:
    with Site({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/a", "/b")}) as site:
        (tmp_path / "hosts.txt").write_text(f"{site.url.removeprefix('http://')}\n{site.url}/\n")
        run = harvest("crawl", "hosts.txt", "-a", "emit=sites", "-O", "sites.jsonl", cwd=tmp_path)
    note = "hosts.txt lists sites: each is searched for sitemaps. To read it as a list of URLs, use --sitemap hosts.txt"
    assert run.stderr.count(f"{note}\n") == 1
    rows = [json.loads(line) for line in (tmp_path / "sites.jsonl").read_text().splitlines()]
    assert ("found", 2) in [(row["result"], row["urls"]) for row in rows]


@pytest.mark.quick
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_says_what_it_does_and_gives_exit_code_130(times: int, tmp_path: Path) -> None:
    is_requested, may_respond = Event(), Event()

    def answer(_: Message) -> str:
        is_requested.set()
        may_respond.wait(PATIENCE_SECONDS)
        return urlset("/a")

    pages = {"/i.xml": index("/a.xml", "/b.xml"), "/a.xml": answer, "/b.xml": urlset("/b")}
    output, command = tmp_path / "output", ["harvest", "crawl", "-a", "emit=sitemaps", "-O", "sitemaps.jsonl"]
    output.mkdir()
    one_by_one = ["-s", "CONCURRENT_REQUESTS_PER_DOMAIN=1", "-s", "DOWNLOAD_TIMEOUT=90", "-a", "store=snapshots"]
    with Site(pages) as site:
        arguments = [*command, f"{site.url}/i.xml", *one_by_one]
        with forked.running(*arguments, cwd=tmp_path, environment=None, folder=str(output)) as process:
            assert is_requested.wait(PATIENCE_SECONDS)
            os.kill(process.pid, signal.SIGINT)
            wait_until(lambda: "Press Ctrl-C again" in (output / "stderr").read_text())
            if times == 2:
                os.kill(process.pid, signal.SIGINT)
                process.join(PATIENCE_SECONDS)
            may_respond.set()
            process.join(PATIENCE_SECONDS)
            shown = (output / "stderr").read_text()
            assert process.exitcode == 130, shown
    assert (
        "Interrupted: the run requests no more documents, waits for 1 response (at most 90 seconds) "
        "and keeps what it has read.\n"
        "Press Ctrl-C again to abort at once, without writing the output files and the snapshots.\n"
    ) in shown
    if times == 2:
        lost = "what it had read is not in the output files; snapshots in the store are unchanged (exit code 130)."
        rest = "There is nothing to resume yet: a run saves its progress every 500 documents or 30 seconds.\n"
        assert shown.endswith(f"The run was aborted: {lost} {rest}")
        return
    ending = "Run the same command again to read the rest: it requests this document first."
    assert f"1 queued document was not read (exit code 130). {ending}" in shown
    rows = map(json.loads, (tmp_path / "sitemaps.jsonl").read_text().splitlines())
    assert [(row["url"].removeprefix(site.url), row["outcome"], row["reason"]) for row in rows] == [
        ("/i.xml", "read", None),
        ("/a.xml", "read", None),
        ("/b.xml", "interrupted", "the run ended before the document was requested"),
    ]


def test_a_run_that_could_not_read_a_sitemap_does_not_claim_that_nothing_has_changed(tmp_path: Path) -> None:
    command = ("crawl", "-a", "store=snapshots", "-a", "emit=changes")
    with Site({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/a", "/b")}) as site:
        first = harvest(*command, site.url, cwd=tmp_path)
        second = harvest(*command, site.url, cwd=tmp_path)
        site.pages["/s.xml"] = Page("no", status=403)
        third = harvest(*command, site.url, cwd=tmp_path)
    assert not any("nothing is saved" in run.stderr for run in (first, second, third))
    other_id = re.compile("; its run ID is .*, not that of this run")  # of a run in the same second as the one before
    lines = [
        [other_id.sub("", line) for line in run.stderr.splitlines() if "snapshot" in line and " INFO: " not in line]
        for run in (first, second, third)
    ]
    assert lines == [
        ["1 first snapshot: nothing to compare with.", "Stored 1 snapshot with 2 different URLs."],
        ["Since the last snapshot: nothing has changed.", "Stored 1 snapshot with 2 different URLs."],
        [
            f"Since the last snapshot: {UNKNOWN}; 1 document was not read completely.",
            "Stored 1 snapshot with 2 different URLs; 2 of the entries are from earlier runs.",
        ],
    ]
    runs = forked.scrapy("harvest", "runs", "--store", "snapshots", cwd=tmp_path).stdout.splitlines()[2:]
    cells = [[cell.strip() for cell in line.split("│")] for line in runs]
    assert [(urls, changes, complete) for *_, urls, changes, complete in cells] == [
        ("2", "first", "yes"),
        ("2", "none", "yes"),
        ("2", "unknown", "no (blocked)"),
    ]


UNKNOWN = "unknown, because no document that lists URLs was read"


@pytest.mark.parametrize(
    ("status", "crawl", "diff", "cells"),
    [
        pytest.param(404, "nothing has changed", "no change", ("none", "yes (absent)"), id="no-sitemap"),
        pytest.param(403, UNKNOWN, UNKNOWN, ("unknown", "no (blocked)"), id="there-may-be-one"),
    ],
)
def test_crawl_runs_and_diff_agree_about_a_site_without_sitemaps(
    status: int, crawl: str, diff: str, cells: tuple[str, str], tmp_path: Path
) -> None:
    command = ("crawl", "-a", "store=snapshots", "-a", "emit=sites", "-O", "sites.jsonl")
    with Site(
        {"/robots.txt": Page("User-agent: *"), "/": Page("<html>", headers={"Content-Type": "text/html"})}
    ) as site:
        harvest(*command, site.url, cwd=tmp_path)
        site.pages["/sitemap.xml"] = Page("no", status=status)
        run = harvest(*command, site.url, cwd=tmp_path)
    assert f"Since the last snapshot: {crawl}." in run.stderr.splitlines()
    (record,) = map(json.loads, (tmp_path / "sites.jsonl").read_text().splitlines())
    assert record["complete"] is (status == 404)
    first = forked.scrapy("harvest", "diff", "--store", "snapshots", site.url, cwd=tmp_path).stdout.splitlines()[0]
    assert first.partition(": ")[2] == diff
    last = forked.scrapy("harvest", "runs", "--store", "snapshots", cwd=tmp_path).stdout.splitlines()[-1]
    assert tuple(cell.strip() for cell in last.split("│")[-2:]) == cells
