"""No published text reaches a log or a terminal unescaped, through any channel; data keeps it."""

from __future__ import annotations

import io
import json
import os
import re
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from rich.console import Console

from sitemap_harvest.cli import crawl as closing
from sitemap_harvest.cli import output
from sitemap_harvest.cli import validation_report as report
from sitemap_harvest.cli.validation_report import Validation
from sitemap_harvest.engine.exit_codes import RunOutcome
from sitemap_harvest.engine.run_summary import Summary
from sitemap_harvest.escape import ascii_json, visible
from sitemap_harvest.model import Kind, Problem, Sample
from sitemap_harvest.scrapyd_ping import PingConfig, PingError, ping_target
from tests import forked
from tests.cli.test_crawl import on_terminal
from tests.site import Page, Site, index, moved, robots
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CONTROLS = {
    "title": "\x1b]0;pwned\x07",
    "screen": "\x1b[2J\x1b[8m",
    "delete": "\x7f\x08",
    "c1": "\x9b2J\x85\x9d",
    "line": "\r\n2026-11-22 00:00:00 [forged] ERROR: forged",
}
INVISIBLE = {
    "bidi": "\u202egpj\u2066\u2069\u200f\u061c",
    "separators": "a\u2028\u2029b",
    "zero-width": "a\u200b\u2060\ufeff\u3164b",
    "tags": "a\U000e0041\U000e0001b",
}
HARMLESS = {"markup": "[red]:skull:[blink]"}
PAYLOADS = CONTROLS | INVISIBLE | HARMLESS
ONE_LINE = {name: text for name, text in PAYLOADS.items() if name != "line"}
ALWAYS_SHOWN = INVISIBLE | HARMLESS
"""Characters that may be in a URL: an entry with control characters in its address is suspect, and never fetched."""
OWN_CODES = re.compile(r"\x1b\[(?:[0-9]|[39][0-7]|1;3[0-7])?(?:;[0-9]+)?m|\x1b\[(?:2K|1A|\?25[lh])|\r")
"""The sequences of our own output; concealed text (8) is not among them."""
A_FEED = "<rss version='2.0'><channel>{}</channel></rss>"
AN_ITEM = "<item><title>{1}</title><link>{{site}}/item-{0}</link></item>"


def raw(shown: str) -> set[str]:
    """Return the characters of *shown* that have an effect or are invisible."""
    return {character for character in shown if character != "\n" and visible(character) != character}


def pages(*, has_more: bool) -> dict[str, Page | str | bytes]:
    listed = "".join(f"{{site}}/list-{name}-{text}.\nno address {text}.\n" for name, text in ONE_LINE.items())
    new = "".join(f"{{site}}/new-{name}-{text}.\n" for name, text in ALWAYS_SHOWN.items()) if has_more else ""
    children = [f"/child-{name}-{text}.xml" for name, text in ALWAYS_SHOWN.items()]
    children += [f"http://evil.test/{name}-{text}.xml" for name, text in PAYLOADS.items()]
    children += ["/list.txt", "/new.txt", "/feed.xml", "/page.html", "/moved.xml", "/header.xml"]
    header = {"Content-Type": "text/\x1b[2J\x9b2J", "Server": "\x1b]0;pwned\x07", "Content-Encoding": "\x1b[8m"}
    return {
        "/robots.txt": robots("/index.xml", *(f"/robots-{name}-{text}.xml" for name, text in ONE_LINE.items())),
        "/index.xml": index(*children),
        "/list.txt": Page(listed, headers={"Content-Type": "text/plain; charset=utf-8"}),
        "/new.txt": Page("{site}/\n" + new, headers={"Content-Type": "text/plain; charset=utf-8"}),
        "/feed.xml": A_FEED.format("".join(AN_ITEM.format(*pair) for pair in PAYLOADS.items())),
        "/page.html": f"<html><title>{''.join(PAYLOADS.values())}</title><p>No.</p></html>",
        "/moved.xml": moved("{site}/to-\x1b[2J\x9b8m"),
        "/header.xml": Page("no sitemap \x1b[2J", headers=header),
    }


class Doors:
    """The output of each channel of two crawls of a hostile site, and of the commands that report on them."""

    def __init__(self, folder: Path, site: Site) -> None:
        self.folder = folder
        self.site = site
        self.shown: dict[str, str] = {}
        settings = ["-s", "RETRY_TIMES=0", "-s", "DNS_TIMEOUT=2", "-s", "DOWNLOAD_TIMEOUT=20"]
        named = ["-a", "store=store", "-O", "urls.jsonl", *settings]
        crawl = ["crawl", site.url, *named]
        self.shown["log"] = self.scrapy("crawl", "sitemap", "-a", f"site={site.url}", *named, "-L", "DEBUG")
        self.run("table", *crawl)
        watched = "-L DEBUG -s SITEMAP_HARVEST_LOG=json -s SITEMAP_HARVEST_METRICS=m.prom -s SITEMAP_HARVEST_CLOSING=-"
        self.run("json log", *crawl, *watched.split())
        self.shown["metrics"] = Path(folder, "m.prom").read_text()
        site.pages |= pages(has_more=True)
        self.shown["terminal"] = on_terminal(*crawl, cwd=folder)
        self.make_files()
        documents = [f"{site.url}/{name}" for name in ("index.xml", "list.txt", "feed.xml", "header.xml", "moved.xml")]
        self.run("validate", "validate", *documents, "files", *settings)
        self.run("validate as json", "validate", *documents, "files", "--format", "json", *settings)
        store = ["--store", "store"]
        self.run("runs", "runs", *store)
        self.run("runs as json", "runs", *store, "--json")
        self.run("diff", "diff", *store, site.url)
        self.shown["query"] = on_terminal("query", *store, "select loc, title from urls", cwd=folder)
        self.run("query that fails", "query", *store, "select title::int from urls where title is not null")
        self.run("damaged", "runs", "--store", "\x1b[2J\u202e")
        csv = ["query", *store, "select loc, title from urls", "-O", "-:csv"]
        self.shown["csv on a terminal"] = on_terminal(*csv, cwd=folder)
        self.run("csv in a pipe", *csv)
        self.shown["parquet"] = on_terminal(*csv[:-1], "-:parquet", cwd=folder)

    def run(self, door: str, *arguments: str) -> None:
        self.shown[door] = self.scrapy("harvest", *arguments)

    def scrapy(self, *arguments: str) -> str:
        environment = {**os.environ, "SCRAPY_SETTINGS_MODULE": "sitemap_harvest.settings"}
        done = forked.scrapy(*arguments, cwd=self.folder, environment=environment, timeout=PATIENCE_SECONDS)
        return done.stdout + done.stderr

    def make_files(self) -> None:
        files = self.folder / "files"
        files.mkdir()
        for text in PAYLOADS.values():
            (files / f"sitemap-{text}.txt").write_text(f"no address {text}.")
        Path(os.fsdecode(bytes(files) + b"/sitemap-\xff.txt")).write_text("no address")


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    with ExitStack() as stack:
        site = stack.enter_context(Site(pages(has_more=False)))
        yield Doors(tmp_path_factory.mktemp("doors"), site)


SHOWS_ADDRESSES = ("log", "table", "json log", "terminal", "diff", "query", "csv on a terminal")


@pytest.mark.parametrize("door", [*SHOWS_ADDRESSES, "metrics", "validate", "runs", "damaged", "query that fails"])
def test_no_foreign_text_is_shown_unescaped(doors: Doors, door: str) -> None:
    shown = OWN_CODES.sub("", doors.shown[door])
    assert raw(shown) == set()
    assert not re.search(r"^2026-11-22 00:00:00 \[forged\]", shown, re.MULTILINE)


@pytest.mark.parametrize("name", ALWAYS_SHOWN)
@pytest.mark.parametrize("door", SHOWS_ADDRESSES)
def test_foreign_text_is_shown_escaped(doors: Doors, door: str, name: str) -> None:
    shown = "".join(OWN_CODES.sub("", doors.shown[door]).split())
    if door == "json log":
        shown = shown.replace("\\\\", "\\")
    text = visible(ALWAYS_SHOWN[name])
    if door in {"diff", "query"}:
        text = text[:16]  # a cell of a table has a limited width
    assert text in re.sub("[│┃]", "", shown)


@pytest.mark.parametrize("name", PAYLOADS)
def test_validate_shows_each_payload_escaped(doors: Doors, name: str) -> None:
    assert f"no address {visible(PAYLOADS[name])}." in doors.shown["validate"]
    assert f"files/sitemap-{visible(PAYLOADS[name])}.txt" in doors.shown["validate"]


def test_a_decoded_line_of_the_json_log_is_still_escaped(doors: Doors) -> None:
    lines = [line for line in doors.shown["json log"].splitlines() if line.startswith("{")]
    records = [json.loads(line) for line in lines]
    texts = [str(value) for record in records if "logger" in record for value in record.values()]
    assert len(texts) > 50
    assert set.union(*map(raw, texts)) == set()


@pytest.mark.parametrize("door", ["validate as json", "runs as json"])
def test_json_is_ascii_and_decodes_to_the_published_text(doors: Doors, door: str) -> None:
    assert raw(doors.shown[door]) == set()
    assert doors.shown[door].isascii()
    records = [json.loads(line) for line in doors.shown[door].splitlines()]
    excerpts = {one["excerpt"] for record in records for each in record.get("problems", ()) for one in each["samples"]}
    assert door != "validate as json" or f"no address {INVISIBLE['bidi']}." in excerpts


@pytest.mark.parametrize("name", ALWAYS_SHOWN)
def test_data_is_as_published(doors: Doors, name: str) -> None:
    address = f"{doors.site.url}/list-{name}-{ALWAYS_SHOWN[name]}."
    rows = (doors.folder / "urls.jsonl").read_bytes().splitlines()
    assert address in [json.loads(row)["loc"] for row in rows]
    assert address in doors.shown["csv in a pipe"]


def test_binary_data_is_not_written_to_a_terminal(doors: Doors) -> None:
    assert "output parquet: the format is binary, and standard output is a terminal" in doors.shown["parquet"]
    assert raw(OWN_CODES.sub("", doors.shown["parquet"])) == set()


def console(file: io.StringIO) -> Console:
    return Console(file=file, width=2000)


def closing_table(text: str) -> str:
    summary = Summary(urls=1, has_failed=True)
    summary.notes.add(f"{text}: no")
    summary.site_notes.add(f"{text}: nothing")
    with redirect_stderr(io.StringIO()) as file:
        closing.show(
            summary, {"finish_reason": text, "elapsed_time_seconds": 1.0}, RunOutcome.PARTLY_FAILED, has_output=False
        )
    return file.getvalue()


def a_table(text: str) -> str:
    with redirect_stdout(io.StringIO()) as file:
        output.show(pa.table({text: [text], "texts": [[text]]}))
    return file.getvalue()


def an_error(text: str) -> str:
    with redirect_stderr(io.StringIO()) as file:
        output.tell(text)
    return file.getvalue()


def a_validation(text: str) -> str:
    problem = Problem(code="text/not-a-url", document=text, detail=text, samples=(Sample(excerpt=text),))
    facts = {"target": text, "url": "u", "final_url": text, "reason": text}
    found = Validation(**facts, kind=Kind.HTML, encoding=text, layers=(text,), bytes=1, problems=(problem,))
    for one in (found, Validation(**facts)):
        report.show(one, console(file := io.StringIO()))
        assert visible(text) in file.getvalue()
    report.show(found, console(file))
    return file.getvalue()


def a_ping(text: str) -> str:
    options = {"project": "p", "hosts": "a.example", "tokens": "0123456789abcdef"}
    with pytest.raises(PingError) as caught:
        ping_target(text, PingConfig.read(options.items()))
    return ascii_json(str(caught.value)).replace("\\\\", "\\")


@pytest.mark.parametrize("name", PAYLOADS)
@pytest.mark.parametrize("door", [closing_table, a_table, an_error, a_validation, a_ping])
def test_each_channel_escapes_each_payload(door: Callable[[str], str], name: str) -> None:
    shown = door(PAYLOADS[name])
    assert raw(shown) == set()
    assert visible(PAYLOADS[name]) in shown
