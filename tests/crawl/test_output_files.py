"""Output files: the file of an earlier run is there, and whole, until the one of this run replaces it."""

from __future__ import annotations

import bz2
import codecs
import csv
import errno
import gzip
import io
import json
import lzma
import os
import re
import shlex
import signal
import stat
import subprocess
import threading
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import pytest
from lxml import etree

from sitemap_harvest.files import Replacement, is_device, remove_left_overs
from sitemap_harvest.formats.decompressors import zstd
from sitemap_harvest.integration.items.output_files import FileFeedStorage
from tests import forked
from tests.crawl.crawling import lines
from tests.site import Manner, Page, index, numbered, robots, unless, urlset
from tests.waiting import PATIENCE_SECONDS, wait_until

OLD = b"the file of yesterday\n"
URLS = ["sitemap_harvest.UrlEntry"]
NAMES = ("urls.jsonl", "urls.csv", "urls.json", "urls.parquet", "urls.jsonl.gz")
MANY = 5000  # more rows than an exporter collects before it writes


def feeds_of(folder, *names, **options):
    """Return feeds that overwrite *names* in *folder*."""
    options = {"overwrite": True, "item_classes": URLS, **options}
    return {f"{folder}/{name}": {"format": name.split(".")[1], **options} for name in names}


def old_files(folder, *names):
    for name in names:
        (folder / name).write_bytes(OLD)


def kept(folder, *names):
    """Whether the files of the earlier run are as they were."""
    return all((folder / name).read_bytes() == OLD for name in names)


def parts(folder):
    """Return the temporary files that have content."""
    found = []
    for part in folder.glob(".*.part"):
        with suppress(FileNotFoundError):  # a run first tries whether it can write the file
            if part.stat().st_size:
                found.append(part)
    return found


HANGING = numbered(200, prefix="/hangs/")
UNHURRIED = {  # a run takes 100 seconds, and ends within one if it is interrupted
    "TEST_HANGING": "/hangs/",
    "CONCURRENT_REQUESTS_PER_DOMAIN": 2,
    "SITEMAP_HARVEST_MAX_UNANSWERED": 1000,
}

ONE_BY_ONE = {"SITEMAP_HARVEST_CONCURRENCY": 1, "CONCURRENT_REQUESTS": 1}


@pytest.fixture
def endless(serve):
    """Return a site that has many URLs in its first sitemap, and never sends the others."""
    hanging = dict.fromkeys(HANGING, Page("", manner=Manner.HANG))
    return serve({"/index.xml": index("/1.xml", *hanging), "/1.xml": urlset(*numbered(MANY)), **hanging})


@pytest.fixture
def started(crawl, endless, tmp_path):
    """Return a context with a crawl of the endless site that has written rows, as a process."""

    @contextmanager
    def start(*names, **options):
        feeds = feeds_of(tmp_path, *names, **options)
        process = crawl.start(sitemap=f"{endless.url}/index.xml", emit="urls", feeds=feeds, settings=UNHURRIED)
        try:
            wait_until(lambda: len(parts(tmp_path)) == len(names) or process.poll() is not None)
            yield process
        finally:
            process.kill()
            if not process.stdout.closed:
                process.communicate()

    return start


def test_a_killed_run_leaves_the_files_as_they_were_and_the_next_run_removes_what_it_left(
    crawl, started, endless, tmp_path
):
    old_files(tmp_path, *NAMES)
    with started("urls.jsonl", "urls.csv", "urls.json") as process:
        assert kept(tmp_path, *NAMES)
        process.kill()
        process.communicate()
    assert kept(tmp_path, *NAMES)
    left = parts(tmp_path)
    assert len(left) == 3
    endless.pages |= {"/index.xml": index("/1.xml", "/2.xml"), "/2.xml": urlset("/last")}
    run = crawl(sitemap=f"{endless.url}/index.xml", emit="urls", feeds=feeds_of(tmp_path, *NAMES))
    assert not list(tmp_path.glob(".*.part"))
    assert run.log.count("which a killed run has left behind") == 3
    assert len(lines(tmp_path / "urls.jsonl")) == len(json.loads((tmp_path / "urls.json").read_bytes())) == MANY + 1
    assert len(gzip.decompress((tmp_path / "urls.jsonl.gz").read_bytes()).splitlines()) == MANY + 1


@pytest.mark.parametrize("name", ["urls.jsonl", "urls.parquet", "urls.json.gz"])
def test_a_reader_sees_the_old_file_or_the_new_one_at_every_moment(crawl, serve, tmp_path, name):
    pages = {f"/{number}.xml": urlset(*numbered(MANY, prefix=f"/{number}/p")) for number in range(8)}
    site = serve({"/index.xml": index(*pages), **pages})
    old_files(tmp_path, name)
    seen, has_ended = {OLD}, threading.Event()

    def watch():
        while not has_ended.is_set():
            seen.add((tmp_path / name).read_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        crawl(sitemap=f"{site.url}/index.xml", emit="urls", feeds=feeds_of(tmp_path, name))
    finally:
        has_ended.set()
        watcher.join()
    assert seen <= {OLD, (tmp_path / name).read_bytes()}


@pytest.mark.quick
def test_an_interrupted_run_puts_its_rows_beside_an_earlier_file(crawl, started, tmp_path):
    old_files(tmp_path, "urls.jsonl")
    with started("urls.jsonl", "new.json") as process:
        process.send_signal(signal.SIGINT)
        log, _ = process.communicate(timeout=PATIENCE_SECONDS)
    run = crawl.finished(process.returncode, log)
    assert run.reason == "shutdown"
    assert kept(tmp_path, "urls.jsonl")
    partial = tmp_path / f"urls.jsonl.{run.stats['sitemap_harvest/run']}.partial"
    rows = lines(partial)
    assert len(rows) == MANY
    assert json.loads((tmp_path / "new.json").read_bytes()) == rows  # there was no such file
    path = tmp_path / "urls.jsonl"
    assert f"{path} stays as it was: the run was interrupted; its {MANY:,} items are in {partial}\n" in log
    assert f"{tmp_path / 'new.json'} is not complete: the run was interrupted\n" in log
    assert f"Stored jsonl feed ({MANY} items) in: {path}" not in log
    assert not list(tmp_path.glob(".*.part"))


@pytest.mark.parametrize(
    ("last", "is_replaced"),
    [
        pytest.param("/2.xml", True, id="after-the-last-document"),
        pytest.param("/1.xml", False, id="before-the-last-document"),
    ],
)
def test_an_interrupted_run_replaces_a_file_only_if_nothing_was_left_to_read(crawl, serve, tmp_path, last, is_replaced):
    site = serve({"/robots.txt": robots("/1.xml", "/2.xml"), "/1.xml": urlset("/a"), "/2.xml": urlset("/b")})
    old_files(tmp_path, "urls.jsonl")
    settings = {"EXTENSIONS": {"tests.crawl.parts.InterruptedAfter": 0}, "TEST_LAST": last, **ONE_BY_ONE}
    run = crawl(site=site.url, emit="urls", feeds=feeds_of(tmp_path, "urls.jsonl"), settings=settings)
    assert run.reason == "shutdown"
    assert kept(tmp_path, "urls.jsonl") is not is_replaced
    if is_replaced:
        assert [row["loc"] for row in lines(tmp_path / "urls.jsonl")] == [f"{site.url}/a", f"{site.url}/b"]
    assert [path.suffix for path in tmp_path.glob("urls.jsonl.*")] == ([] if is_replaced else [".partial"])


def test_an_interrupted_run_appends_its_rows_to_a_compressed_file(crawl, started, tmp_path):
    path = tmp_path / "urls.jsonl.gz"
    path.write_bytes(gzip.compress(b"{}\n"))
    with started(path.name, overwrite=False) as process:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_SECONDS)
    assert gzip.decompress(path.read_bytes()).count(b"\n") == MANY + 1
    assert list(tmp_path.glob("*.partial")) == []


def test_a_run_that_is_stopped_at_once_leaves_the_file_as_it_was(started, tmp_path):
    old_files(tmp_path, "urls.jsonl")
    with started("urls.jsonl") as process:
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
    assert kept(tmp_path, "urls.jsonl")
    assert not list(tmp_path.glob(".*.part"))


@pytest.mark.parametrize(
    ("settings", "is_kept"),
    [
        pytest.param({}, True, id="default"),
        pytest.param({"FEED_STORE_EMPTY": "True"}, False, id="wanted"),
        pytest.param({"FEED_STORE_EMPTY": "False"}, True, id="not-wanted"),
    ],
)
def test_a_run_that_has_read_nothing_leaves_the_file_as_it_was(crawl, serve, tmp_path, settings, is_kept):
    site = serve({"/index.xml": index("/1.xml"), "/1.xml": Page("", status=500)})
    old_files(tmp_path, "urls.csv")
    feeds = feeds_of(tmp_path, "urls.csv", "new.csv") | {
        f"{tmp_path}/sites.jsonl": {"format": "jsonl", "item_classes": ["sitemap_harvest.SiteRecord"]}
    }
    run = crawl(sitemap=f"{site.url}/index.xml", emit="urls,sites", feeds=feeds, settings=settings, calm=False)
    assert kept(tmp_path, "urls.csv") is is_kept
    assert (tmp_path / "new.csv").exists() is not is_kept
    reason = "stays as it was: the run has read no sitemap"
    assert (f"{tmp_path}/urls.csv {reason}" in run.log) is (settings == {})
    assert [row["result"] for row in lines(tmp_path / "sites.jsonl")] == ["unreachable"]


SEVERAL = ["sitemap_harvest.UrlEntry", "sitemap_harvest.SitemapRecord"]


@pytest.mark.parametrize("name", ["all.xlsx", "all.jsonl"])
def test_a_run_that_has_read_nothing_leaves_a_file_of_several_kinds(crawl, serve, tmp_path, name):
    site = serve({"/s.xml": Page("", status=500)})
    old_files(tmp_path, name)
    feeds = feeds_of(tmp_path, name, f"new_{name}", item_classes=SEVERAL)
    run = crawl(sitemap=f"{site.url}/s.xml", emit="urls,sitemaps", feeds=feeds, calm=False)
    assert kept(tmp_path, name)
    (partial,) = tmp_path.glob(f"{name}.*.partial")
    reason = f"the run has read no sitemap; its 1 item is in {partial}"
    assert f"{tmp_path}/{name} stays as it was: {reason}" in run.log
    assert partial.stat().st_size
    assert (tmp_path / f"new_{name}").stat().st_size
    assert f"new_{name} is not" not in run.log
    assert not list(tmp_path.glob(f"new_{name}.*"))


def test_rows_of_failures_are_appended_to_a_file_of_several_kinds(crawl, serve, tmp_path):
    site = serve({"/s.xml": Page("", status=500)})
    feeds = feeds_of(tmp_path, "all.jsonl", item_classes=SEVERAL, overwrite=False)
    for _ in range(2):
        crawl(sitemap=f"{site.url}/s.xml", emit="urls,sitemaps", feeds=feeds, calm=False)
    assert [row["outcome"] for row in lines(tmp_path / "all.jsonl")] == ["failed", "failed"]


def test_a_run_that_has_read_nothing_writes_nothing_to_other_storages(crawl, serve):
    site = serve({"/s.xml": Page("", status=500)})
    settings = {"FEED_STORAGES": {"tests.crawl.parts": "tests.crawl.parts.NoStorage"}}
    feeds = {"tests.crawl.parts:no": {"format": "jsonl"}, "stdout:": {"format": "json"}}
    run = crawl(sitemap=f"{site.url}/s.xml", emit="urls", feeds=feeds, settings=settings)
    assert "tests.crawl.parts:no stays as it was: the run has read no sitemap" in run.log
    assert "Stored json feed (0 items) in: stdout:" in run.log


@pytest.mark.parametrize(
    ("urls", "arguments"),
    [
        pytest.param(["/a"], {"include": "nothing"}, id="filters"),
        pytest.param([], {}, id="empty-sitemap"),
    ],
)
def test_an_output_without_rows_replaces_the_file_if_a_sitemap_was_read(crawl, serve, tmp_path, urls, arguments):
    site = serve({"/1.xml": urlset(*urls), "/2.xml": Page("", status=500)})
    old_files(tmp_path, "urls.jsonl")
    crawl(sitemap=f"{site.url}/1.xml {site.url}/2.xml", feeds=feeds_of(tmp_path, "urls.jsonl"), calm=False, **arguments)
    assert (tmp_path / "urls.jsonl").read_bytes() == b""


@pytest.mark.parametrize(
    ("classes", "given", "is_kept"),
    [
        (URLS, {"emit": "sitemaps"}, True),
        (URLS, {"emit": "sitemaps", "settings": {"FEED_STORE_EMPTY": True}}, False),
        (["builtins.dict"], {}, True),
        (["builtins.dict"], {"settings": {"ITEM_PIPELINES": {"tests.crawl.parts.Plain": 1}}}, False),
        (URLS, {"spider": "titles"}, True),
        (["sitemap_harvest.SitemapRecord", *URLS], {"emit": "urls", "include": "nothing"}, False),
    ],
)
def test_a_run_leaves_files_of_items_that_it_does_not_emit(crawl, serve, tmp_path, classes, given, is_kept):
    site = serve({"/s.xml": urlset("/a")})
    old_files(tmp_path, "a.csv", "a.parquet")
    feeds = feeds_of(tmp_path, "a.csv", "a.parquet", "new.csv", item_classes=classes)
    run = crawl(sitemap=f"{site.url}/s.xml", feeds=feeds, calm=False, **given)
    assert [kept(tmp_path, name) for name in ("a.csv", "a.parquet")] == [is_kept] * 2
    assert (tmp_path / "new.csv").exists() == (not is_kept)
    assert run.log.count("a.csv stays as it was: the run emits no items of its item_classes") == is_kept


@pytest.mark.parametrize("etag", [None, '"1"'])
def test_a_run_that_finds_no_changes_empties_the_file_of_the_last_changes(crawl, serve, tmp_path, etag):
    headers = {"ETag": etag} if etag else {}
    page = Page(urlset("/a"), headers=headers)
    site = serve({"/s.xml": unless(etag, page.body) if etag else page})
    feed = {
        f"{tmp_path}/changes.jsonl": {"format": "jsonl", "item_classes": ["sitemap_harvest.Change"], "overwrite": True}
    }
    crawl(spider="changes", sitemap=f"{site.url}/s.xml", store=tmp_path / "store", feeds=feed)
    old_files(tmp_path, "changes.jsonl")
    crawl(spider="changes", sitemap=f"{site.url}/s.xml", store=tmp_path / "store", feeds=feed)
    assert (tmp_path / "changes.jsonl").read_bytes() == b""
    del site.pages["/s.xml"]
    old_files(tmp_path, "changes.jsonl")
    crawl(spider="changes", sitemap=f"{site.url}/s.xml", store=tmp_path / "store", feeds=feed, calm=False)
    assert kept(tmp_path, "changes.jsonl")


@pytest.fixture
def source(tmp_path):
    """Return a sitemap of three URLs."""
    path = tmp_path / "s.xml"
    path.write_text(urlset(*(f"https://a.example{path}" for path in numbered(3))))
    return path


LOCS = [f"https://a.example{path}" for path in numbered(3)]


def harvest(folder, *options, largest_file=None):
    return forked.scrapy("harvest", "crawl", "s.xml", *options, cwd=folder, largest_file=largest_file)


@pytest.mark.parametrize("name", ["urls.jsonl", "urls.json", "urls.parquet", "urls.csv.gz"])
def test_a_full_disk_leaves_the_file_as_it_was(tmp_path, name):
    (tmp_path / "s.xml").write_text(urlset(*(f"https://a.example/{number * 7919}" for number in range(MANY))))
    old_files(tmp_path, name)
    run = harvest(tmp_path, "-O", name, largest_file=4096)
    assert run.returncode == 4, run.stderr
    assert kept(tmp_path, name)
    assert run.stderr.count(f"{name} stays as it was: ") == 1
    assert not list(tmp_path.glob(".*.part"))


def test_a_link_stays_a_link_and_a_file_keeps_its_permissions(tmp_path, source):
    old_files(tmp_path, "target")
    (tmp_path / "target").chmod(0o640)
    (tmp_path / "urls.jsonl").symlink_to("target")
    assert harvest(tmp_path, "-O", "urls.jsonl").returncode == 0
    assert (tmp_path / "urls.jsonl").is_symlink()
    assert [row["loc"] for row in lines(tmp_path / "target")] == LOCS
    assert stat.S_IMODE((tmp_path / "target").stat().st_mode) == 0o640


def test_a_pipe_and_an_open_file_are_written_to_directly(tmp_path, source):
    os.mkfifo(tmp_path / "pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()), daemon=True)
    reader.start()
    run = harvest(tmp_path, "-O", "pipe:jsonl", "-O", "/dev/stdout:jsonl", "-O", "/dev/null:csv")
    assert run.returncode == 0
    reader.join(PATIENCE_SECONDS)
    assert [json.loads(line)["loc"] for line in read[0].splitlines()] == LOCS
    assert [json.loads(line)["loc"] for line in run.stdout.splitlines()] == LOCS


def unpacked(path):
    unpack = {"gz": gzip, "zst": zstd, "bz2": bz2, "xz": lzma}[path.suffix[1:]]
    return unpack.decompress(path.read_bytes()).decode()


@pytest.mark.parametrize("suffix", ["gz", "zst", "bz2", "xz"])
def test_outputs_are_compressed_by_their_names_and_may_be_appended_to(tmp_path, source, suffix):
    names = [f"urls.jsonl.{suffix}", f"urls.csv.{suffix}", f"urls.json.{suffix}", f"urls.xml.{suffix}"]
    assert harvest(tmp_path, *(option for name in names for option in ("-O", name))).returncode == 0
    rows = [json.loads(line) for line in unpacked(tmp_path / names[0]).splitlines()]
    assert [row["loc"] for row in rows] == LOCS
    assert json.loads(unpacked(tmp_path / names[2])) == rows
    assert etree.fromstring(unpacked(tmp_path / names[3]).encode()).xpath("//item/loc/text()") == LOCS
    assert harvest(tmp_path, "-o", names[0], "-o", names[1]).returncode == 0
    assert unpacked(tmp_path / names[0]).count("\n") == 6
    assert [row["loc"] for row in csv.DictReader(io.StringIO(unpacked(tmp_path / names[1]), newline=""))] == LOCS * 2


def test_a_name_in_feeds_compresses_the_output_unless_the_feed_says_how(crawl, tmp_path, source):
    plain = {"format": "jsonl", "postprocessing": []}
    crawl(sitemap=source, emit="urls", feeds={f"{tmp_path}/a.jsonl.gz": {}, f"{tmp_path}/b.jsonl.gz": plain})
    assert gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()) == (tmp_path / "b.jsonl.gz").read_bytes()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param("urls.parquet.gz", "Parquet is already compressed, so remove .gz from the name", id="parquet"),
        pytest.param("urls.duckdb.gz:duckdb", "a database cannot be compressed, so remove .gz", id="database"),
        pytest.param("urls.gz", "the format is unknown; name the output like urls.jsonl.gz", id="no-format"),
        pytest.param("urls.txt.zst", "the format is unknown; name the output like urls.jsonl.zst", id="unknown-format"),
    ],
)
def test_a_name_that_cannot_be_compressed_is_an_error(tmp_path, source, name, words):
    run = harvest(tmp_path, "-O", name)
    assert run.returncode == 2
    assert f"{name.partition(':')[0]}: {words}" in run.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.xml"]


@pytest.mark.parametrize(
    ("encoding", "mark"), [("utf-8-sig", codecs.BOM_UTF8), ("utf_8_sig", codecs.BOM_UTF8), ("utf-16", codecs.BOM_UTF16)]
)
@pytest.mark.parametrize("name", ["urls.csv", "urls.csv.gz"])
def test_a_file_begins_with_one_byte_order_mark(crawl, tmp_path, source, encoding, mark, name):
    for _ in range(2):
        crawl(
            sitemap=source,
            emit="urls",
            options=("-o", f"{tmp_path}/{name}"),
            settings={"FEED_EXPORT_ENCODING": encoding},
        )
    written = (tmp_path / name).read_bytes()
    written = gzip.decompress(written) if name.endswith(".gz") else written
    assert written.count(mark) == 1
    rows = csv.DictReader(io.StringIO(written.decode(encoding), newline=""))
    assert [row["loc"] for row in rows] == LOCS * 2


def test_changes_in_a_partial_output_are_delivered_again(crawl, serve, tmp_path):
    hanging = dict.fromkeys(HANGING, Page("", manner=Manner.HANG))
    site, other = serve({"/s.xml": urlset("/a")}), serve({"/index.xml": index(*hanging), **hanging})
    feed = {"format": "jsonl", "item_classes": ["sitemap_harvest.Change"], "overwrite": True}
    given = {
        "spider": "changes",
        "store": tmp_path / "store",
        "consumer": "c",
        "feeds": {f"{tmp_path}/changes.jsonl": feed},
    }
    crawl(sitemap=f"{site.url}/s.xml", **given)
    site.pages["/s.xml"] = urlset("/a", "/b")
    old_files(tmp_path, "changes.jsonl")
    process = crawl.start(sitemap=f"{site.url}/s.xml {other.url}/index.xml", settings=UNHURRIED, **given)
    try:
        wait_until(lambda: list(tmp_path.glob(".changes.jsonl.*.part")) and other.requests)
        process.send_signal(signal.SIGTERM)
        log, _ = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        process.kill()
    assert kept(tmp_path, "changes.jsonl")
    assert "to the consumer c again: an output was not replaced" in log
    crawl(sitemap=f"{site.url}/s.xml", **given)
    assert "this command does" not in log
    for path in (tmp_path / "changes.jsonl", *tmp_path.glob("changes.jsonl.*.partial")):
        assert [(row["kind"], row["loc"]) for row in lines(path)] == [("added", f"{site.url}/b")]


def test_changes_of_interrupted_runs_are_in_a_file_each_and_can_be_listed_again(crawl, serve, tmp_path):
    hanging = dict.fromkeys(HANGING, Page("", manner=Manner.HANG))
    site, other = serve({"/s.xml": urlset("/a")}), serve({"/index.xml": index(*hanging), **hanging})
    feed = {"format": "jsonl", "item_classes": ["sitemap_harvest.Change"], "overwrite": True}
    given = {"spider": "changes", "store": tmp_path / "store", "feeds": {f"{tmp_path}/changes.jsonl": feed}}
    crawl(sitemap=f"{site.url}/s.xml", **given)
    old_files(tmp_path, "changes.jsonl")
    commands = []
    for name in ("/b", "/c"):
        site.pages["/s.xml"] = urlset("/a", name)
        seen = len(other.requests)
        process = crawl.start(sitemap=f"{site.url}/s.xml {other.url}/index.xml", settings=UNHURRIED, **given)
        try:
            wait_until(lambda: list(tmp_path.glob(".changes.jsonl.*.part")) and len(other.requests) > seen)  # noqa: B023
            process.send_signal(signal.SIGTERM)
            log, _ = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.kill()
        commands += re.findall("this command does: sitemap-harvest (diff .*)", log)
    assert kept(tmp_path, "changes.jsonl")
    first, second = sorted(tmp_path.glob("changes.jsonl.*.partial"), key=lambda path: path.stat().st_mtime_ns)
    rows = [*lines(first), *lines(second)]
    found = [(row["kind"], row["loc"]) for row in rows]
    assert found == [("added", f"{site.url}/b"), ("removed", f"{site.url}/b"), ("added", f"{site.url}/c")]
    run = forked.scrapy("harvest", *shlex.split(commands[0]), "-O", "-:jsonl", cwd=tmp_path)
    assert [json.loads(line) for line in run.stdout.splitlines()] == rows
    assert len(commands) == 2


@pytest.mark.quick
def test_of_two_runs_with_the_same_output_the_last_one_replaces_the_file(tmp_path):
    path = tmp_path / "urls.jsonl"
    first, second = Replacement(path), Replacement(path)
    for new, data in ((first, b"first"), (second, b"second")):
        new.file.write(data)
    second.commit()
    assert path.read_bytes() == b"second"
    first.commit()
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.quick
def test_the_temporary_file_of_an_active_run_is_not_removed(tmp_path):
    path = tmp_path / "urls.jsonl"
    new = Replacement(path)
    assert remove_left_overs(path) == []
    new.file.write(b"new")
    new.commit()
    assert path.read_bytes() == b"new"
    left = tmp_path / ".urls.jsonl.0123abcd.part"
    others = [tmp_path / ".urls.json.0123abcd.part", tmp_path / ".urls.jsonl.mine.part"]
    for one in (left, *others):
        one.touch()
    assert remove_left_overs(path) == [left]
    assert sorted(tmp_path.iterdir()) == sorted([path, *others])


@pytest.mark.quick
@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS, errno.ENOSPC])
def test_a_file_in_a_protected_folder_is_overwritten(tmp_path, monkeypatch, code):
    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("sitemap_harvest.integration.items.output_files.Replacement", refuse)
    old_files(tmp_path, "urls.jsonl")
    storage = FileFeedStorage(str(tmp_path / "urls.jsonl"), appends=False)
    with pytest.raises(OSError, match="No space left") if code == errno.ENOSPC else nullcontext():
        storage.check()
        file = storage.open(None)
        file.write(b"new")
        assert storage.put(is_whole=False) is None
        storage.store(file)
    assert kept(tmp_path, "urls.jsonl") is (code == errno.ENOSPC)
    with pytest.raises(OSError, match=os.strerror(code)):
        FileFeedStorage(str(tmp_path / "new.jsonl"), appends=False).check()


@pytest.mark.quick
def test_crawls_of_one_process_that_write_the_same_file_at_once_are_warned(tmp_path, caplog):
    first, second, other = (FileFeedStorage(str(tmp_path / name), appends=False) for name in ("a", "a", "b"))
    files = [storage.open(None) for storage in (first, other)]
    assert caplog.messages == []
    files.append(second.open(None))
    (message,) = caplog.messages
    assert message.startswith(f"{tmp_path}/a: another crawl of this process writes the same file")
    assert "put %(name)s or another attribute" in message
    for storage, file in zip((first, other, second), files, strict=True):
        storage.store(file)
    third = FileFeedStorage(str(tmp_path / "a"), appends=False)
    third.store(third.open(None))
    assert len(caplog.messages) == 1


@pytest.mark.quick
def test_a_mounted_file_is_overwritten(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EBUSY, "Device or resource busy")

    path = tmp_path / "mounted"
    path.write_bytes(b"a longer old content")
    new = Replacement(path)
    new.file.write(b"new")
    monkeypatch.setattr("pathlib.Path.replace", refuse)
    new.commit()
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.quick
def test_a_file_that_another_program_has_open_on_windows_stays_and_the_new_one_is_beside_it(tmp_path, monkeypatch):
    path = tmp_path / "urls.jsonl"
    path.write_bytes(OLD)
    storage = FileFeedStorage(str(path), appends=False)
    storage.open(None).write(b"new")
    replace = Path.replace

    def refuse(part, to):
        if to == path:
            raise PermissionError(errno.EACCES, "Access is denied")
        return replace(part, to)

    monkeypatch.setattr("pathlib.Path.replace", refuse)
    with pytest.raises(PermissionError, match=r"Access is denied; the new file is .*urls\.jsonl\.\d+\.partial"):
        storage.put(is_whole=True)
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == {
        "urls.jsonl": OLD,
        f"urls.jsonl.{os.getpid()}.partial": b"new",
    }


@pytest.mark.quick
@pytest.mark.parametrize(
    ("path", "wanted"),
    [("/dev/null", True), ("/dev/stdout", True), ("/dev/fd/1", True), ("/dev/shm", False), ("/dev/none", False)],
)
def test_devices(path, wanted):
    assert is_device(path) is wanted
