"""Measure the size of daily snapshots of a site whose sitemaps mostly do not change.

    python -m tests.benchmarks.two_years [--days 730] [--sitemaps 50] [--urls 2000] [--changed 2] [--rows 10]

Writes a snapshot for each day directly to the store, without a crawl: each day, some sitemaps have new URLs and new
dates, and the others are unchanged. Prints the size of the store, by sort of file, against one Parquet file of the
distinct rows. All files are in a temporary folder. The benchmark ends without intervention.
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from sitemap_harvest import Kind, Outcome, SitemapRecord, read
from sitemap_harvest.diff import compare
from sitemap_harvest.model import FoundBy, SitemapRef
from sitemap_harvest.snapshots.store import DocumentRows, DocumentWriter, History, Run, SiteWriter, open_store
from sitemap_harvest.snapshots.store.compaction import compact
from sitemap_harvest.snapshots.store.tables import ROW_COLUMNS

SITE = "https://www.example.com"
_INDEX = f"{SITE}/sitemap_index.xml"
_LETTERS = "eeeeaaaiiioountrslcdpmhgb"
_BEGIN = datetime(2025, 1, 1, 3, 15, tzinfo=UTC)


class Simulated:
    """The site: the entries of each sitemap, day by day."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._random = Random(1)
        self._options = options
        self.sitemaps = [f"{SITE}/sitemap-{number}.xml" for number in range(options.sitemaps)]
        self._words = ["".join(self._random.choices(_LETTERS, k=self._random.randint(3, 9))) for _ in range(2_000)]
        self._lists = [
            [self._entry(number, row, 0) for row in range(options.urls)] for number in range(options.sitemaps)
        ]

    def _entry(self, number: int, row: int, day: int) -> tuple[str, str]:
        slug = "-".join(self._random.choices(self._words, k=self._random.randint(2, 6)))
        loc = f"{SITE}/catalog/section-{number}/{slug}-{row}"
        moment = _BEGIN + timedelta(days=day - 1, seconds=self._random.randrange(86_400))
        return loc, moment.isoformat()

    def change(self, day: int) -> list[str]:
        """Advance by one day and return the sitemaps that changed: half of the edits are new URLs, half new dates."""
        changed = self._random.sample(range(len(self._lists)), self._options.changed)
        for number in changed:
            entries = self._lists[number]
            for at in self._random.sample(range(len(entries)), self._options.rows // 2):
                entries[at] = (entries[at][0], self._entry(number, 0, day)[1])
            new = self._options.rows - self._options.rows // 2
            del entries[:new]
            entries += [self._entry(number, 100_000 + day * 100 + row, day) for row in range(new)]
        return [self.sitemaps[number] for number in changed]

    def body(self, url: str) -> bytes:
        """Return the current body of a sitemap."""
        urls = "".join(
            f"<url><loc>{loc}</loc><lastmod>{lastmod}</lastmod><changefreq>weekly</changefreq></url>\n"
            for loc, lastmod in self._lists[self.sitemaps.index(url)]
        )
        return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n'.encode()


class Keeper:
    """Keeps a snapshot of the site for each day, and stores each distinct row once."""

    def __init__(self, folder: Path, site: Simulated) -> None:
        self._store = open_store(folder, create=True)
        self._site = site
        self._ledger: dict[str, SitemapRecord] = {}
        self.distinct: dict[tuple[str, str, str | None], None] = {}
        self.rows: list[pa.RecordBatch] = []

    def keep(self, day: int, changed: list[str]) -> None:
        """Keep the snapshot of a day on which *changed* was downloaded and the rest was unchanged."""
        now = _BEGIN + timedelta(days=day)
        run = Run(id=f"{now:%Y%m%dT%H%M%SZ}-{day:06x}", started_at=now, ended_at=now + timedelta(minutes=1))
        history = self._store.history(SITE)
        self._store.begin(history)
        writer = SiteWriter(history, run.id, history.latest())
        for url in changed:
            self._keep_sitemap(writer, url, now)
        if day == 0:
            self._keep_index(writer, now)
        for url, record in self._ledger.items():
            if url not in changed and day:
                self._ledger[url] = _unchanged(record, run)
        changes = compare(writer.before, writer.seal(list(self._ledger.values()), run))
        writer.publish(dataclasses.replace(run, urls=changes.summary.urls_after), changes.batches())
        compact(self._store.history(SITE))

    def _keep_sitemap(self, writer: SiteWriter, url: str, now: datetime) -> None:
        document, into = read(self._site.body(url), url=url), DocumentWriter(writer, url)
        for batch in document.urls():
            into.add(batch)
            self._note(batch.arrow)
        record = SitemapRecord(
            url=url,
            final_url=url,
            parent=_INDEX,
            root=SITE,
            depth=2,
            found_by=FoundBy.INDEX,
            kind=Kind.SITEMAP,
            outcome=Outcome.READ,
            status=200,
            etag=f'"{document.sha256[:16]}"',
            last_modified=f"{now:%a, %d %b %Y %H:%M:%S GMT}",
            bytes_downloaded=document.bytes_unpacked,
            bytes_unpacked=document.bytes_unpacked,
            encoding=document.encoding,
            entries=document.entries,
            sha256=document.sha256,
            fetched_at=now,
            seconds=0.2,
            complete=True,
            rows_from=writer.run_id,
            fresh_at=now,
            fresh_run=writer.run_id,
            read_at=now,
        )
        self._ledger[url] = record
        writer.keep(url, DocumentRows(record, into.all()))

    def _keep_index(self, writer: SiteWriter, now: datetime) -> None:
        record = dataclasses.replace(
            self._ledger[self._site.sitemaps[0]], url=_INDEX, parent=f"{SITE}/robots.txt", depth=1, kind=Kind.INDEX
        )
        references = [SitemapRef(loc=url, position=position) for position, url in enumerate(self._site.sitemaps)]
        self._ledger[_INDEX] = record
        writer.keep(_INDEX, DocumentRows(record, None, references))

    def _note(self, batch: pa.RecordBatch) -> None:
        keys = zip(*(batch.column(name).to_pylist() for name in ("sitemap", "loc", "lastmod_text")), strict=True)
        is_new = []
        for key in keys:
            is_new.append(key not in self.distinct)
            self.distinct[key] = None
        self.rows.append(batch.filter(pa.array(is_new)).select(list(ROW_COLUMNS)))


def _unchanged(record: SitemapRecord, run: Run) -> SitemapRecord:
    now = run.started_at
    return dataclasses.replace(
        record,
        outcome=Outcome.UNCHANGED,
        status=304,
        bytes_downloaded=0,
        fetched_at=now,
        fresh_at=now,
        fresh_run=run.id,
        seconds=0.1,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=730, help="snapshots (730)")
    parser.add_argument("--sitemaps", type=int, default=50, help="sitemaps of the site (50)")
    parser.add_argument("--urls", type=int, default=2_000, help="URLs in each (2000)")
    parser.add_argument("--changed", type=int, default=2, help="sitemaps that change each day (2)")
    parser.add_argument("--rows", type=int, default=10, help="rows of each that are new then (10)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        site = Simulated(options)
        session = Keeper(Path(name, "store"), site)
        started = time.process_time()
        for day in range(options.days):
            session.keep(day, site.change(day) if day else site.sitemaps)
        seconds = time.process_time() - started
        report(Path(name), session, options, seconds)


def report(folder: Path, session: Keeper, options: argparse.Namespace, seconds: float) -> None:
    """Print the size of the store."""
    table = pa.Table.from_batches(session.rows)
    pq.write_table(table, folder / "distinct.parquet", compression="zstd")
    distinct = (folder / "distinct.parquet").stat().st_size
    files = [path for path in (folder / "store").rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    on_disk = sum(path.stat().st_blocks * 512 for path in files)
    print(f"{options.days} snapshots in {seconds:.0f} s of processor time; {table.num_rows:,} distinct rows")
    print(f"one Parquet file of them: {distinct / 1e6:.2f} MB, {distinct / table.num_rows:.0f} bytes a row")
    print(f"the store: {size / 1e6:.2f} MB in {len(files):,} files")
    print(f"  {size / distinct:.2f} times the room; {on_disk / 1e6:.2f} MB of blocks on disk")
    by_sort: Counter[str] = Counter()
    for path in files:
        by_sort[path.name.split(".")[0].split("-")[0]] += path.stat().st_size
    for sort, bytes_ in by_sort.most_common():
        print(f"  {sort:>12}: {bytes_ / 1e6:.2f} MB")
    last = History(SITE, session._store.history(SITE).folder).latest()
    assert last is not None
    started = time.perf_counter()
    urls = sum(batch.num_rows for batch in last.urls(["loc"]))
    print(f"reading all {urls:,} addresses of the last snapshot takes {time.perf_counter() - started:.2f} s")


if __name__ == "__main__":
    main()
