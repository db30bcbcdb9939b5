"""Measure the time and memory of an audit of a large site.

    python -m tests.benchmarks.audit [--urls 1000000] [--alternates 5] [--flawed 0] [--robots 100] [--rules 10]

Writes a snapshot directly to the store, without a crawl: sitemaps of 50,000 URLs with a `lastmod`, in groups of
language versions. Audits it with all rules in another process. Prints the rules that took longest, the processor time,
and the peak memory. Entries with flaws repeat the URL of another one, with another date or with a slash at its end, and
name language versions that do not link back. The robots.txt has rules that match no URL, one in ten of them with a
wildcard; with `--disallow-all`, it has one more that disallows every URL. All files are in a temporary folder. The
benchmark ends without intervention.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from sitemap_harvest.audit import RULES
from sitemap_harvest.audit.audit import Audit
from sitemap_harvest.model import FoundBy, Kind, Outcome, SitemapRecord, UrlBatch, UrlEntry, arrow_schema
from sitemap_harvest.snapshots.store import DocumentRows, DocumentWriter, Run, SiteWriter, open_store

SITE = "https://www.example.com"
_BEGIN = datetime(2026, 1, 1, 3, 15, tzinfo=UTC)
_DATES = 20_000_000  # seconds before the run within which pages have changed
_SITEMAP_URLS = 50_000
_BATCH_ROWS = 10_000
_LANGUAGES = ("x-default", "en", "de", "fr", "es", "it", "nl", "pl", "pt", "sv")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=int, default=1_000_000, help="URLs (1000000)")
    parser.add_argument("--alternates", type=int, default=5, choices=range(len(_LANGUAGES) + 1), help="of each URL (5)")
    parser.add_argument("--flawed", type=float, default=0, help="share of the URLs that have flaws, 0 to 1 (0)")
    parser.add_argument("--robots", type=int, default=100, help="rules of the robots.txt (100)")
    parser.add_argument("--disallow-all", action="store_true", help="disallow every URL in robots.txt")
    parser.add_argument("--rules", type=int, default=10, help="number of the slowest rules to print (10)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for step in (write, audit):  # in processes of their own, so that each has its own peak
            process = multiprocessing.get_context("spawn").Process(target=step, args=(Path(name, "store"), options))
            process.start()
            process.join()
            if process.exitcode:
                raise SystemExit(process.exitcode)


def write(path: Path, options: argparse.Namespace) -> None:
    """Write the snapshot to a store at *path*."""
    started = time.process_time()
    history = open_store(path, create=True).history(SITE)
    open_store(path).begin(history)
    run = Run(id=f"{_BEGIN:%Y%m%dT%H%M%SZ}-000000", started_at=_BEGIN, ended_at=_BEGIN + timedelta(minutes=1))
    writer = SiteWriter(history, run.id, None)
    records = [_record(f"{SITE}/robots.txt", run.id, entries=0, kind=Kind.ROBOTS, found_by=FoundBy.ARGUMENT)]
    writer.robots_texts[f"{SITE}/robots.txt"] = _robots(options)
    for first in range(0, options.urls, _SITEMAP_URLS):
        url = f"{SITE}/sitemap-{first // _SITEMAP_URLS}.xml"
        end = min(first + _SITEMAP_URLS, options.urls)
        record = _record(url, run.id, entries=end - first)
        rows = DocumentWriter(writer, url)
        for start in range(first, end, _BATCH_ROWS):
            rows.add(_entries(url, range(start, min(start + _BATCH_ROWS, end)), options))
        writer.keep(url, DocumentRows(record, rows.all()))
        records.append(record)
    writer.seal(records, run)
    writer.publish(run, iter(()))
    print(f"{options.urls:,} URLs with {options.alternates} alternates, {options.flawed:.0%} of them with flaws:")
    print(f"  {time.process_time() - started:.1f} s of processor time to write the store")


def _robots(options: argparse.Namespace) -> str:
    rules = [f"Disallow: /{'*/' * (number % 10 == 0)}private-{number}/" for number in range(options.robots)]
    return "\n".join(["User-agent: *", *rules, *(["Disallow: /"] if options.disallow_all else [])])


def _record(url: str, run: str, *, entries: int, **facts: Any) -> SitemapRecord:
    return SitemapRecord(
        **{"found_by": FoundBy.INDEX, "kind": Kind.SITEMAP, **facts},
        url=url,
        final_url=url,
        root=SITE,
        outcome=Outcome.READ,
        entries=entries,
        fetched_at=_BEGIN,
        complete=True,
        rows_from=run,
        fresh_at=_BEGIN,
        fresh_run=run,
        read_at=_BEGIN,
    )


def _entries(sitemap: str, numbers: range, options: argparse.Namespace) -> UrlBatch:
    """Return the entries with these numbers, all in one sitemap."""
    pages = [_page(number, options) for number in numbers]
    dates = [_BEGIN - timedelta(seconds=number * 7_919 % _DATES) for number in numbers]
    columns: dict[str, Any] = {
        "loc": pages,
        "key": pages,
        "site": [SITE] * len(numbers),
        "sitemap": [sitemap] * len(numbers),
        "position": [number % _SITEMAP_URLS + 1 for number in numbers],
        "lastmod": dates,
        "lastmod_text": [date.isoformat() for date in dates],
        "lastmod_precision": ["second"] * len(numbers),
        "in_scope": [True] * len(numbers),
    }
    if options.alternates:
        columns["alternates"] = [_alternates(number, options) for number in numbers]
    schema = arrow_schema(UrlEntry)
    arrays = [pa.array(columns.get(field.name, [None] * len(numbers)), field.type) for field in schema]
    return UrlBatch(pa.RecordBatch.from_arrays(arrays, schema=schema))


def _page(number: int, options: argparse.Namespace) -> str:
    """Return the URL of an entry. With flaws, two entries share it, or a slash at its end distinguishes them."""
    page, ending = number, ""
    half = int(options.flawed * options.urls) // 2
    if half <= number < 2 * half:
        page, ending = number - half, "/" if number % 4 == 0 else ""
    return f"{SITE}/section-{page % 97}/page-{page:08}{ending}"


def _alternates(number: int, options: argparse.Namespace) -> list[dict[str, str]]:
    """Return the language versions of an entry: the entries of its group, or with flaws those that follow it."""
    is_flawed = number < options.flawed * options.urls
    first = number if is_flawed else number - number % options.alternates
    return [
        {"hreflang": language, "href": _page(first + at, options)}
        for at, language in enumerate(_LANGUAGES[: options.alternates])
    ]


def audit(path: Path, options: argparse.Namespace) -> None:
    """Audit the latest snapshot in the store at *path*, and print what it took."""
    history = open_store(path).history(SITE)
    timed = Timed(history.at("latest"), history)
    started, processor = time.perf_counter(), time.process_time()
    findings = sum(1 for _ in timed.findings())
    seconds, processor = time.perf_counter() - started, time.process_time() - processor
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    summary = timed.summary()
    failed = [one.rule for one in summary.not_checked if "failed" in one.reason]
    print(f"  {findings} findings of {len(RULES)} rules, of which {len(failed)} failed: {', '.join(failed) or 'none'}")
    for rule, cost in sorted(timed.costs.items(), key=lambda one: -one[1])[: options.rules]:
        print(f"  {cost:8.2f} s of processor time: {rule}")
    print(f"  {seconds:.1f} s, {processor:.1f} s of processor time, {megabytes:,.0f} MB peak")


class Timed(Audit):
    """An audit that notes the processor time of each rule in :attr:`costs`, in seconds by id."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.costs: dict[str, float] = {}

    def _of_rule(self, rule: Any, *args: Any) -> Any:
        started = time.process_time()
        found = list(super()._of_rule(rule, *args))
        self.costs[rule.id] = time.process_time() - started
        return iter(found)


if __name__ == "__main__":
    main()
