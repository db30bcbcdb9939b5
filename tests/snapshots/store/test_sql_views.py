from __future__ import annotations

from importlib.util import find_spec

import pytest

from sitemap_harvest.errors import MissingPackageError, StoreError
from sitemap_harvest.snapshots.store import row_store
from tests.services import lacking
from tests.snapshots.store.making import SITE, Making, entry, locs

QUERIES = [
    "select count(*) from urls",
    "select count(title) from urls",
    "select loc from urls where title = 'odd' order by position",
    "select * from urls order by position",
    "select count(*) from (select * from urls)",
    "select max(columns(*)::varchar) from urls",
    "select a.loc, b.key from urls a join urls b on a.loc = b.key where b.title is null order by all",
    "with few as (select loc, position from urls) select avg(position) from few where loc like '%7'",
    "select title, count(*), min(loc) from urls group by all order by all",
    "select u.loc, s.outcome from urls u join sitemaps s on s.url = u.sitemap order by all limit 3",
    "select loc from urls where loc in (select loc from urls where title = 'odd') order by all",
    "select row_number() over (order by loc desc), position from urls order by all limit 5",
    "from urls select loc where position = (select max(position) from urls)",
    "select loc from urls order by title nulls last, position limit 3",
    "select * from (select loc, title from urls union all select loc, key from urls) order by all",
    "select * from urls limit 0",
]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    making = Making(tmp_path_factory.mktemp("views"))
    making.run({f"{SITE}/s.xml": [entry(loc, title="odd" if at % 2 else None) for at, loc in enumerate(locs(30))]})
    return making.store


@pytest.mark.parametrize("sql", QUERIES)
def test_unread_files_may_be_missing(store, sql, monkeypatch):
    found = store.query(sql)
    monkeypatch.setattr("sitemap_harvest.snapshots.store.sql_views.Views._columns_of", lambda self, sql: None)
    assert found.equals(store.query(sql))


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        pytest.param("select count(*) from urls", set(), id="none"),
        pytest.param("select count(*) from urls where lastmod is null", {"lastmod"}, id="one"),
        pytest.param("select loc, title from urls", {"loc", "title"}, id="two"),
        pytest.param("select count(*) from sitemaps", set(), id="another-view"),
    ],
)
def test_only_the_needed_columns_are_read(store, sql, columns, monkeypatch):
    read = set()
    load = row_store._read_rows
    monkeypatch.setattr(
        row_store, "_read_rows", lambda folder, part, names: read.update(names) or load(folder, part, names)
    )
    store.query(sql)
    assert read == columns


def test_a_date_without_runs_gives_no_rows_and_an_invalid_one_is_an_error(store):
    assert store.query("select count(*) from urls", at="2020-01-01").to_pylist() == [{"count_star()": 0}]
    with pytest.raises(StoreError, match="'nonsense' is not a run"):
        store.query("select count(*) from urls", at="nonsense")


def test_sites_that_were_not_part_of_a_run_are_omitted(tmp_path):
    making = Making(tmp_path)
    snapshot = making.run({f"{SITE}/s.xml": locs(2)})
    making.run({"https://b.example/s.xml": ["https://b.example/"]}, site="https://b.example")
    query = "select root, count(*) as urls from urls group by root"
    assert making.store.query(query, at=snapshot.run.id).to_pylist() == [{"root": SITE, "urls": 2}]
    with pytest.raises(StoreError, match="is not a run of this site"):
        making.store.query(query, at="20200101T000000Z-000000")


def test_pending_urls_are_a_view(tmp_path):
    making = Making(tmp_path)
    making.run({f"{SITE}/s.xml": [*locs(4), locs(1)[0]], f"{SITE}/t.xml": locs(1, start=1)})
    assert making.store.query("select * from pending").num_rows == 0
    making.holds = True
    second, third = (making.run({f"{SITE}/s.xml": listed, f"{SITE}/t.xml": None}) for listed in (locs(3), locs(2)[1:]))
    found = making.store.query("select * from pending order by loc", at="all").to_pylist()
    runs = [(3, second, second), (0, third, third), (2, third, third), (3, third, second)]
    assert sorted((row["run"], row["loc"], row["since"]) for row in found) == [
        (run.run.id, locs(4)[number], since.run.id) for number, run, since in runs
    ]
    assert {(row["root"], row["sitemap"]) for row in found} == {(SITE, f"{SITE}/s.xml")}


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        pytest.param("select url from urls", "in the views urls, changes and pending, ... is loc", id="url"),
        pytest.param("select u.URL from urls u", "in the views urls, changes and pending, ... is loc", id="of-a-view"),
        pytest.param("select loc from sitemaps", "in the views sitemaps and pages, ... is url", id="loc"),
        pytest.param("select site from runs", "the column for the site is root", id="site"),
    ],
)
def test_a_common_mistake_has_a_hint(store, sql, hint):
    with pytest.raises(StoreError) as caught:
        store.query(sql)
    assert str(caught.value).endswith("\n  Hint: " + hint.replace("...", "the column for the URL"))


def test_a_damaged_file_is_an_error(tmp_path):
    making = Making(tmp_path)
    making.run({f"{SITE}/s.xml": locs(3)})
    next(tmp_path.rglob("rows-*.parquet")).write_bytes(b"")
    with pytest.raises(StoreError, match=r"the query failed: .*rows-0001\.parquet has 0 bytes, but had \d+ when"):
        making.store.query("select loc from urls")


def test_rows_in_other_libraries(store):
    snapshot = store.latest(SITE)
    assert snapshot.relation(["loc"]).aggregate("count(*)").fetchall() == [(30,)]
    if find_spec("pandas") is None:
        lacking("pandas", "pip install '.[services]'")
    frame = snapshot.to_pandas(["loc", "title"])
    assert [*frame.columns] == ["loc", "title"]
    assert sorted(frame["loc"]) == sorted(row["loc"] for row in snapshot.urls().read_all().to_pylist())


def test_a_missing_library_is_an_error(store, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(MissingPackageError, match="polars is not installed: pip install polars"):
        store.latest(SITE).to_polars()
