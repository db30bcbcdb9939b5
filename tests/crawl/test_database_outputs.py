"""Outputs of crawls in tables of databases: the rows of a run as a whole, or those of the run before."""

from __future__ import annotations

import signal
from datetime import date, time
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from sitemap_harvest.databases import Mode, Rows, open_database, parse_location
from sitemap_harvest.databases.database import EXPORTED, EXPORTS
from sitemap_harvest.databases.store_export import TABLES
from sitemap_harvest.errors import DatabaseError
from sitemap_harvest.integration.items.database_output import DatabaseStorage, RowFiles, TablesExporter
from tests.databases.reading import load, read, run_query
from tests.databases.test_tables import entry, urls
from tests.rings import some_quick
from tests.services.postgresql import postgresql
from tests.site import Manner, Page, index, numbered, robots, urlset
from tests.waiting import PATIENCE_SECONDS, wait_until

OLD = [0]


@pytest.fixture(scope="module")
def server():
    yield from postgresql()


@pytest.fixture(params=["duckdb", "sqlite", "delta", pytest.param("postgresql", marks=pytest.mark.service)])
def uri(request, tmp_path):
    """Return the URI of a database whose table of URLs has one row, of the position 0."""
    if request.param == "postgresql":
        base = f"{request.getfixturevalue('server')}?schema={tmp_path.name}"
    else:
        base = f"{request.param}:{tmp_path}/data.db"
    load(base, "create", urls=urls(entry(0)))
    return base


def feed(uri, **options):
    """Return the feed of a database, as -O does."""
    return {uri: {"format": "", "overwrite": True, **options}}


def positions(uri):
    schema = uri.partition("?schema=")[2]
    return [row["position"] for row in read(uri, f'"{schema}".urls' if schema else "urls")]


@pytest.mark.quick
@pytest.mark.parametrize("overwrite", some_quick([False, True], every=2))
def test_rows_are_replaced_or_appended(crawl, serve, uri, overwrite):
    site = serve({"/s.xml": urlset("/1", "/2")})
    run = crawl(sitemap=f"{site.url}/s.xml", emit="urls", feeds=feed(uri, overwrite=overwrite))
    assert positions(uri) == ([1, 2] if overwrite else [0, 1, 2])
    assert "Stored" in run.log


def test_several_kinds_have_their_tables_and_equal_the_rows_of_parquet(crawl, serve, tmp_path):
    site = serve(
        {"/robots.txt": robots("/i.xml"), "/i.xml": index("/a.xml", "/gone.xml"), "/a.xml": urlset("/1", "/2")}
    )
    feeds = {
        f"{tmp_path}/all.duckdb": {"format": "duckdb", "overwrite": True},
        f"{tmp_path}/lake": {"format": "delta", "overwrite": True},
        f"{tmp_path}/urls.parquet": {"format": "parquet", "item_classes": ["sitemap_harvest.UrlEntry"]},
        f"{tmp_path}/sitemaps.parquet": {"format": "parquet", "item_classes": ["sitemap_harvest.SitemapRecord"]},
    }
    crawl(site=site.url, emit="urls,sitemaps,sites", feeds=feeds)
    with duckdb.connect(f"{tmp_path}/all.duckdb") as connection:
        connection.execute("set timezone = 'UTC'")
        for name, count in (("urls", 2), ("sitemaps", 4)):
            wanted = pq.read_table(tmp_path / f"{name}.parquet").to_pylist(maps_as_pydicts="strict")
            found = connection.sql(f"select * from {name}").to_arrow_table().to_pylist(maps_as_pydicts="strict")
            assert found == wanted
            assert len(found) == count
            lake = DeltaTable(tmp_path / "lake" / name).to_pyarrow_table()
            assert lake.to_pylist(maps_as_pydicts="strict") == wanted
        assert connection.sql("select count(*) from sites").fetchall() == [(1,)]


def test_a_table_without_rows_is_emptied_if_the_run_has_read_something(crawl, serve, uri):
    site = serve({"/s.xml": urlset()})
    crawl(sitemap=f"{site.url}/s.xml", emit="urls", feeds=feed(uri))
    assert positions(uri) == []


def test_a_run_that_has_read_nothing_leaves_the_rows(crawl, serve, uri):
    site = serve({})
    crawl(sitemap=f"{site.url}/s.xml", emit="urls", feeds=feed(uri), calm=False)
    assert positions(uri) == OLD


def test_a_run_that_has_read_nothing_leaves_the_tables_of_kinds_without_rows(crawl, serve, tmp_path, uri):
    schema = uri.partition("?schema=")[2]
    lake = uri.replace("data.db", "lake") if uri.startswith("delta") else uri
    names = {name: f'"{schema}".{name}' if schema else name for name in ("urls", "sites")}
    site = serve({"/s.xml": urlset("/1", "/2"), "/robots.txt": robots("/s.xml")})
    crawl(site=site.url, emit="urls,sites", feeds=feed(lake))
    before = run_query(lake, f"select * from {names['urls']} order by loc")
    for path in [*site.pages]:
        site.pages[path] = Page("", status=500)
    run = crawl(site=site.url, emit="urls,sites", feeds=feed(lake), calm=False)
    assert run_query(lake, f"select * from {names['urls']} order by loc") == before
    assert len(before) == 2
    assert run_query(lake, f"select result from {names['sites']}") == [{"result": "unreachable"}]
    assert run.log.count("no rows are written to the table urls: the run has read no sitemap") == 1
    run = crawl(site=site.url, emit="urls,sites", feeds=feed(lake), settings={"FEED_STORE_EMPTY": "True"}, calm=False)
    assert run_query(lake, f"select * from {names['urls']}") == []


def test_tables_of_an_export_are_refused_before_the_run_begins(crawl, serve, uri):
    site = serve({"/s.xml": urlset("/1")})
    base = uri.replace("data.db", "lake" if uri.startswith("delta") else "data.db")
    with open_database(parse_location(base, default=Mode.APPEND)) as database, database.transaction():
        database.lock(EXPORTS)
        database.check(TABLES)
        for name in (EXPORTS, *(EXPORTED if uri.startswith("delta") else ())):
            database.write(name, Rows(TABLES[name], []))
    run = crawl(sitemap=f"{site.url}/s.xml", emit="urls,sites", feeds=feed(base), calm=False)
    (error,) = run.errors
    assert "urls is written by sitemap-harvest export; write to another database" in error
    assert run.reason == "wrong_argument"
    assert not site.requests
    crawl(sitemap=f"{site.url}/s.xml", emit="sites", feeds=feed(base))
    with pytest.raises(DatabaseError, match="is written by sitemap-harvest export"):
        load(base, "append", urls=urls(entry(1)))


@pytest.mark.parametrize("name", ["new/dir/x.duckdb", "new/dir/x.sqlite"])
def test_missing_folders_of_a_file_are_created(crawl, serve, tmp_path, name):
    site = serve({"/s.xml": urlset("/1")})
    kind = name.rpartition(".")[2]
    crawl(sitemap=f"{site.url}/s.xml", emit="urls", feeds={f"{tmp_path}/{name}": {"format": kind, "overwrite": True}})
    assert len(read(f"{kind}:{tmp_path}/{name}")) == 1


@pytest.mark.parametrize("name", ["new.duckdb", "new.sqlite", "lake:delta"])
def test_a_first_run_that_has_read_nothing_creates_no_database(crawl, serve, tmp_path, name):
    site = serve({})
    path, _, kind = f"{tmp_path}/{name}".partition(":")
    feeds = {path: {"format": kind or name.rpartition(".")[2], "overwrite": True}}
    run = crawl(sitemap=f"{site.url}/s.xml", emit="urls", feeds=feeds, calm=False)
    assert f"{path} is not written: the run has read no sitemap" in run.log
    assert not Path(path).exists()


@pytest.mark.parametrize(
    ("uri_of", "message"),
    [
        pytest.param("{}/file/x.duckdb", "/file cannot be created: ", id="folder"),
        pytest.param("duckdb:{}/x.db?mode=apend", "unknown mode; did you mean append?", id="mode"),
        pytest.param("postgresql://me:pw@127.0.0.1:1/x", "remove the password", id="password"),
        pytest.param("postgresql://me@127.0.0.1:1/x", "Connection refused", id="refused"),
    ],
)
def test_a_database_that_cannot_be_written_ends_the_run_before_it_begins(crawl, serve, tmp_path, uri_of, message):
    site = serve({"/s.xml": urlset("/1")})
    uri = uri_of.format(tmp_path)
    (tmp_path / "file").touch()
    feeds = {uri: {"format": "duckdb" if uri.endswith(".duckdb") else ""}}
    run = crawl(sitemap=f"{site.url}/s.xml", emit="urls", feeds=feeds, calm=False)
    (error,) = run.errors
    assert message in error
    assert ":pw@" not in run.log
    assert run.reason == "wrong_argument"
    assert not site.requests


def test_another_type_of_a_column_ends_the_run_before_it_begins(crawl, serve, uri):
    site = serve({"/s.xml": urlset("/1")})
    wrong = uri.replace("data.db", "wrong.db") if "data.db" in uri else f"{uri}_w"
    load(wrong, "create", urls=urls(entry(0)).arrow.select(["loc"]).append_column("position", pa.array(["first"])))
    run = crawl(sitemap=f"{site.url}/s.xml", emit="urls", feeds=feed(wrong), calm=False)
    (error,) = run.errors
    assert "the column position has the type" in error
    assert not site.requests


def test_a_killed_run_leaves_the_rows(crawl, serve, uri):
    site = serve({"/s.xml": urlset(*numbered(5000))})
    settings = {"EXTENSIONS": {"tests.crawl.parts.KilledAt": 0}, "KILLED_AT": "spider_closed"}
    crawl.start(sitemap=f"{site.url}/s.xml", emit="urls", feeds=feed(uri), settings=settings).communicate()
    assert positions(uri) == OLD


def test_rows_of_an_interrupted_run_are_beside_the_rows_that_they_would_replace(crawl, serve, uri, tmp_path):
    hanging = {f"/hangs/{number}.xml": Page("", manner=Manner.HANG) for number in range(100)}
    site = serve({"/i.xml": index("/s.xml", *hanging), "/s.xml": urlset(*numbered(5000)), **hanging})
    settings = {"TEST_HANGING": "/hangs/", "CONCURRENT_REQUESTS_PER_DOMAIN": 2, "SITEMAP_HARVEST_MAX_UNANSWERED": 1000}
    environment = {"TMPDIR": str(tmp_path)}
    process = crawl.start(
        sitemap=f"{site.url}/i.xml", emit="urls", feeds=feed(uri), settings=settings, environment=environment
    )
    wait_until(lambda: sum("/hangs/" in str(one) for one in site.requests) > 1 or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    log, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert positions(uri) == OLD
    (kept,) = tmp_path.glob("urls.*.parquet")
    assert pq.read_metadata(kept).num_rows == 5000
    assert f"stays as it was: the run was interrupted; its rows are in {kept}" in log


@pytest.mark.service
def test_rows_are_kept_if_the_server_is_gone_at_the_end(crawl, serve, tmp_path):
    server = postgresql()
    uri = next(server)

    def stop():
        server.close()
        return True

    site = serve({"/s.xml": Page(urlset("/1", "/2"), after=stop)})
    environment = {"TMPDIR": str(tmp_path)}
    run = crawl(sitemap=f"{site.url}/s.xml", emit="urls", feeds=feed(uri), environment=environment, calm=False)
    (error,) = run.errors
    assert "Connection refused" in error
    assert "Traceback" not in run.log
    (kept,) = tmp_path.glob("urls.*.parquet")
    assert pq.read_metadata(kept).num_rows == 2
    assert f"stays as it was: the new rows cannot be written; its rows are in {kept}" in run.log
    assert run.stats["sitemap_harvest/output_failed"] == 1


@pytest.mark.parametrize("folder", ["missing", "full"])
def test_rows_that_cannot_be_kept_beside_the_database_are_in_the_temporary_folder(tmp_path, monkeypatch, folder):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    storage = DatabaseStorage(f"delta:{tmp_path}/{folder}/urls", feed_options={"format": ""})
    file = storage.open(None)
    table = pa.table({"loc": ["x"]})
    with pa.ipc.new_stream(file.opened("urls"), table.schema) as writer:
        writer.write_table(table)
    if folder == "full":
        (tmp_path / "full" / "urls.rows.parquet").mkdir(parents=True)  # so the file cannot be written
    assert storage.kept() == [tmp_path / "urls.rows.parquet"]
    file.close()
    assert pq.read_table(tmp_path / "urls.rows.parquet").equals(table)


def test_columns_of_any_type_that_a_pipeline_adds_are_stored(uri):
    seconds = pa.array([1, None], pa.int64())
    added = {
        "small": pa.array([1, None], pa.int8()),
        "hash": pa.array([2**64 - 1, None], pa.uint64()),
        "half": pa.array([0.5, None], pa.float16()),
        "exact": pa.array([Decimal("0.10"), None]),
        "coded": pa.array(["a", None]).dictionary_encode(),
        "long": pa.array(["b", None], pa.large_string()),
        "seen": pa.array([-1_500, None], pa.timestamp("ns")),
        "day": pa.array([date(1, 1, 1), None]),
        "time": pa.array([time(1, 2, 3), None]),
        "age": seconds.cast(pa.duration("s")),
        "raw": pa.array([b"\xff", None]),
        "many": pa.array([[1], None], pa.large_list(pa.int32())),
        "days": pa.array([[date(9999, 12, 31)], None]),
    }
    batch = urls(entry(1), entry(2)).with_columns(**added)
    files = RowFiles()
    exporter = TablesExporter(files)
    exporter.export_item(batch)
    exporter.finish_exporting()
    with open_database(parse_location(uri, default=Mode.REPLACE)) as database:
        assert database.load({name: Rows(one.opened().schema, one) for name, one in files.streams().items()}) == 2
    files.close()
    schema = uri.partition("?schema=")[2]
    row, other = read(uri, f'"{schema}".urls' if schema else "urls")
    plain = {"small": 1, "half": 0.5, "coded": "a", "long": "b", "day": "0001-01-01"}
    assert {name: row[name] for name in plain} == plain
    assert row["seen"].startswith("1969-12-31T23:59:59.999999")
    as_json = {"hash": "18446744073709551615", "exact": '"0.10"', "time": '"01:02:03"', "age": '"0:00:01"',
               "raw": '"\\\\xff"', "many": "[1]", "days": '["9999-12-31"]'}  # fmt: skip
    assert {name: row[name] for name in as_json} == as_json
    assert [other[name] for name in added] == [None] * len(added)


def test_rows_are_kept_whatever_error_the_driver_raises(crawl, serve, tmp_path):
    site = serve({"/s.xml": urlset("/1", "/2")})
    settings = {"EXTENSIONS": {"tests.crawl.parts.FailsToLoad": 0}}
    run = crawl(sitemap=f"{site.url}/s.xml", feeds=feed(f"duckdb:{tmp_path}/u.db"), settings=settings, calm=False)
    (kept,) = tmp_path.glob("urls.*.parquet")
    assert pq.read_metadata(kept).num_rows == 2
    assert f"its rows are in {kept}" in run.log
    assert "KeyError: 'unexpected'" in run.log


def test_items_of_a_spider_that_is_not_ours_are_stored(crawl, tmp_path):
    crawl(spider="stock", feeds={f"{tmp_path}/data.duckdb": {"format": "duckdb"}})
    with duckdb.connect(f"{tmp_path}/data.duckdb") as connection:
        assert connection.sql("select number from items order by number").fetchall() == [(0,), (1,), (2,)]


def _ranked(uri, name, parameters=""):
    """Return the URI of a table of its own."""
    base, _, schema = uri.replace("data.db", f"{name}.db").partition("?")
    return f"{base}?table={name}{'&' if schema else ''}{schema}{parameters}"


def _in_schema(uri, name):
    schema = uri.partition("?schema=")[2]
    return f'"{schema}".{name}' if schema else name


@pytest.mark.parametrize("fields", [None, ["position", "loc", "rank", "priority"], {"rank": "rank"}])
def test_the_key_may_be_a_column_that_a_pipeline_adds(crawl, serve, uri, fields):
    site = serve({"/s.xml": urlset("/1", "/22", "/33")})
    target = feed(_ranked(uri, "ranked", "&mode=upsert&key=rank"), fields=fields)
    settings, table = {"ITEM_PIPELINES": {"tests.crawl.parts.Ranked": 1}}, _in_schema(uri, "ranked")
    for include, wanted in (("/none", None), ("/.", 3), ("/1", 3), ("/none", 3), ("/33", 2)):
        crawl(sitemap=f"{site.url}/s.xml", emit="urls", feeds=target, settings=settings, include=include)
        if wanted:
            ranks = [row["rank"] for row in run_query(_ranked(uri, "ranked"), f"select rank from {table}")]
            assert sorted(rank - len(site.url) for rank in ranks) == [2, 3, 3][:wanted]


def test_columns_that_a_pipeline_changes_are_replaced_by_each_run(crawl, serve, uri):
    site = serve({"/s.xml": urlset("/1", "/2")})
    target, settings = feed(_ranked(uri, "text")), {"ITEM_PIPELINES": {"tests.crawl.parts.Ranked": 1}}
    for include, wanted in (("/.", 2), ("/.", 2), ("/none", 0)):
        crawl(sitemap=f"{site.url}/s.xml", emit="urls", feeds=target, settings=settings, include=include)
        assert [row["priority"] for row in read(_ranked(uri, "text"), _in_schema(uri, "text"))] == ["high"] * wanted


@pytest.mark.parametrize("values", [[None, 1], [1, None], [1.5, 2], ["a", None]])
def test_a_column_that_a_pipeline_adds_has_the_type_of_its_values(uri, values):
    target = f"{uri}{'&' if '?' in uri else '?'}mode=append"
    for position, value in enumerate(values, 1):
        storage = DatabaseStorage(target, feed_options={"format": "duckdb"})
        exporter = TablesExporter(files := storage.open(None))
        exporter.export_item(urls(entry(position)).with_columns(x=pa.array([value])))
        exporter.finish_exporting()
        assert storage.put(is_whole=True) == []
        storage.store(files)
    schema = uri.partition("?schema=")[2]
    assert [row["x"] for row in read(uri, f'"{schema}".urls' if schema else "urls")] == [None, *values]


@pytest.mark.parametrize(
    ("parameters", "fields"),
    [("mode=upsert&key=rnk", None), ("mode=upsert&key=rank", ["loc"]), ("partition=rank", ["loc"])],
)
def test_a_column_that_no_row_has_is_no_key(crawl, serve, tmp_path, parameters, fields):
    site, kind = serve({"/s.xml": urlset("/1", "/2")}), "delta" if "partition" in parameters else "sqlite"
    settings = {"ITEM_PIPELINES": {"tests.crawl.parts.Ranked": 1}}
    target = feed(f"{kind}:{tmp_path}/data.db?{parameters}", fields=fields)
    run = crawl(sitemap=f"{site.url}/s.xml", emit="urls", feeds=target, settings=settings, calm=False)
    (error,) = run.errors
    assert "the rows have no such column; they have loc" in error
    is_known = fields is not None  # before the run begins
    assert (run.reason == "wrong_argument") == (not site.requests) == is_known
    assert [pq.read_metadata(kept).num_rows for kept in tmp_path.glob("urls.*.parquet")] == ([] if is_known else [2])


def test_rows_without_any_of_the_fields_are_an_error_in_one_line(crawl, serve, tmp_path):
    site = serve({"/s.xml": urlset("/1", "/2")})
    settings = {"ITEM_PIPELINES": {"tests.crawl.parts.ToDict": 1}}
    target = feed(f"sqlite:{tmp_path}/data.db", fields=["loc"])
    run = crawl(sitemap=f"{site.url}/s.xml", emit="urls", feeds=target, settings=settings, calm=False)
    (error,) = run.errors
    assert error.endswith("The output cannot be written: the table items: the rows have none of the fields to export")


def test_a_run_without_items_of_an_own_spider_names_the_database_that_it_leaves(crawl, serve, tmp_path):
    site = serve({"/s.xml": urlset("/1")})
    target = feed(f"duckdb:{tmp_path}/data.db")
    given = {"spider": "titles", "sitemap": f"{site.url}/s.xml", "feeds": target, "calm": False}
    run = crawl(**given)
    assert "data.db is not written: the run has no items, whose kinds are the tables" in run.log
    site.pages["/1"] = "<title>a</title>"
    crawl(**given)
    run = crawl(**given, settings={"ITEM_PIPELINES": {"tests.crawl.parts.DropOwn": 1}})
    assert "data.db stays as it was: the run has no items, whose kinds are the tables" in run.log
    assert run_query(f"duckdb:{tmp_path}/data.db", "select title from items") == [{"title": "a"}]


@pytest.mark.quick
def test_several_kinds_in_one_table_end_the_run_before_it_begins(crawl, serve, tmp_path):
    site = serve({"/s.xml": urlset("/1")})
    feeds = {f"{tmp_path}/data.sqlite?table=seo": {"format": "sqlite", "overwrite": True}}
    run = crawl(sitemap=f"{site.url}/s.xml", emit="urls,sitemaps", feeds=feeds, calm=False)
    (error,) = run.errors
    assert error.endswith(
        "data.sqlite: one table cannot hold several kinds of rows (urls, sitemaps); remove table=seo, so that each "
        "kind has a table of its own, or write one kind"
    )
    assert run.reason == "wrong_argument"
    assert not site.requests
    assert not (tmp_path / "data.sqlite").exists()


@pytest.mark.parametrize(
    "selected", [{"item_classes": ["sitemap_harvest.UrlEntry"]}, {"item_filter": "tests.crawl.parts.Odd"}]
)
def test_an_output_of_one_kind_may_name_its_table(crawl, serve, tmp_path, selected):
    site = serve({"/s.xml": urlset("/p1", "/p3")})
    feeds = {f"sqlite:{tmp_path}/data.db?table=seo": {"format": "", "overwrite": True, **selected}}
    crawl(sitemap=f"{site.url}/s.xml", emit="urls,sitemaps", feeds=feeds)
    assert [row["position"] for row in read(f"sqlite:{tmp_path}/data.db", "seo")] == [1, 2]


def test_several_outputs_may_be_tables_of_one_file(crawl, serve, tmp_path):
    site = serve({"/s.xml": urlset("/1", "/2")})
    classes = {"u": "sitemap_harvest.UrlEntry", "s": "sitemap_harvest.SitemapRecord"}
    feeds = {
        f"duckdb:{tmp_path}/data.db?table={name}": {"format": "", "overwrite": True, "item_classes": [one]}
        for name, one in classes.items()
    }
    crawl(sitemap=f"{site.url}/s.xml", emit="urls,sitemaps", feeds=feeds)
    with duckdb.connect(tmp_path / "data.db") as connection:
        counts = "select (select count(*) from u), (select count(*) from s)"
        assert connection.sql(counts).fetchall() == [(2, 1)]


@pytest.mark.parametrize("mode", ["replace", "append", "upsert"])
def test_rows_of_a_kind_that_a_pipeline_adds_are_kept_if_the_table_is_for_another(crawl, serve, tmp_path, mode):
    site = serve({"/s.xml": urlset("/1", "/2")})
    load(f"sqlite:{tmp_path}/data.db", "create", urls=urls(entry(0)))
    feeds = {f"sqlite:{tmp_path}/data.db?table=urls&mode={mode}": {"format": ""}}
    settings = {"ITEM_PIPELINES": {"tests.crawl.parts.FirstToDict": 1}}
    run = crawl(sitemap=f"{site.url}/s.xml", emit="urls", feeds=feeds, settings=settings, calm=False)
    assert [row["position"] for row in read(f"sqlite:{tmp_path}/data.db")] == OLD
    assert "one table cannot hold several kinds of rows (items, urls); remove table=urls" in run.log
    kept = {path.name.partition(".")[0]: pq.read_metadata(path).num_rows for path in tmp_path.glob("*.parquet")}
    assert kept == {"items": 1, "urls": 1}
    assert run.stats["sitemap_harvest/output_failed"] == 1


def test_kinds_whose_names_differ_in_case_do_not_replace_each_other(tmp_path):
    storage = DatabaseStorage(f"sqlite:{tmp_path}/data.db", feed_options={"format": "", "overwrite": True})
    file = storage.open(None)
    for name in ("urls", "Urls"):
        table = pa.table({"loc": [name]})
        with pa.ipc.new_stream(file.opened(name), table.schema) as writer:
            writer.write_table(table)
    with pytest.raises(DatabaseError, match=r"several kinds of rows \(urls, Urls\); rename a class, or write one kind"):
        storage.put(is_whole=True)
    file.close()
