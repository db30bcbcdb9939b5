"""``Dataset``: the views of one run that the rules of the audit query, as DuckDB tables, in bounded memory."""

from __future__ import annotations

from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.audit.languages import hreflang_flaw, is_language
from sitemap_harvest.audit.problems import UNREAD_DOCUMENTS
from sitemap_harvest.audit.robots import authorized, disallowed_urls, present_documents, robots_of, with_others
from sitemap_harvest.audit.temporary_database import TemporaryDatabase
from sitemap_harvest.errors import StoreError
from sitemap_harvest.model import MAX_ROWS, PageRecord, SitemapRef, UrlEntry, arrow_schema
from sitemap_harvest.snapshots.conditional_requests import LastmodStats
from sitemap_harvest.snapshots.sample import MAY_BE_REQUESTED
from sitemap_harvest.snapshots.store.sql_views import CHANGES, changes_of, table_of_runs
from sitemap_harvest.urls import document_key
from sitemap_harvest.urls.columns import address_columns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from sitemap_harvest.snapshots.store import History, Snapshot, Store

_CHUNK_ROWS = 20_000
_FEW = 100_000  # rows that fit in memory in any case
_TINY = 10_000  # rows, with which planning a query takes longer than evaluating it
_TEXT = pa.string()
_MEDIA = ("images", "videos", "news")
_SOURCES = ("alternates", *_MEDIA)  # views of which an entry may have many rows
_URLS = (
    "position", "loc", "key", "site", "lastmod", "lastmod_text", "lastmod_precision", "changefreq", "priority",
    "priority_text", "in_scope", "scope_reason",
)  # fmt: skip
_CHILDREN = pa.schema([("sitemap", _TEXT), *arrow_schema(SitemapRef), ("key", _TEXT)])
_DOCUMENT = pa.field("document", pa.int32())
_INDEX_DATES = pa.schema([("key", _TEXT), *((name, pa.int64()) for name in LastmodStats._fields)])
_ALTERNATES = pa.schema(
    [_DOCUMENT, ("position", pa.int64())]
    + [(name, _TEXT) for name in ("loc", "key", "hreflang", "media", "href", "href_key")]
)
_STORED = {  # numbers in place of texts: to group and join them takes less time and memory
    # The record of a document that left is that of its last reading, which is no longer part of the snapshot.
    "sitemaps": """
        * replace (null::varchar as "left", if("left" is null, kind, null) as kind,
            if("left" is null, entries, 0) as entries, if("left" is null, problems, []) as problems,
            if("left" is null, bytes_unpacked, null) as bytes_unpacked)
    """,
    "all_urls": "*, if(key is null, null, hash(key)) as key_hash",
    "all_alternates": """
        *, (document::bigint << 32) + position as entry, lower(hreflang) as lang,
        if(key is null, null, hash(key)) as key_hash, if(href_key is null, null, hash(href_key)) as href_hash
    """,
    "media": "*",
    "pending": "hash(key) as key_hash",
    "pages": """
        *, if(key is null, null, hash(key)) as key_hash,
        if(final_key is null, null, hash(final_key)) as final_hash
    """,
}
_PAGES = pa.schema(
    [*arrow_schema(PageRecord), *((name, _TEXT) for name in ("page_site", "canonical_key", "final_key"))]
)
_OTHER_RECORDS = """
    select id from (
        select rowid as id,
            row_number() over (partition by key_hash order by method is null, source = 'probe', url) as number
        from pages where key_hash in (select key_hash from pages group by 1 having count(*) > 1)
    ) where number > 1
"""  # of the same page
_LISTED_PAGES = """
    with listings as (
        select document, key_hash, min(position) as position from all_urls join sitemaps on number = document
        where key_hash in (select key_hash from pages) group by 1, 2
    )
    select s.url as sitemap, s.number as document, s.kind, u.loc, u.position, u.lastmod, u.lastmod_text,
        u.lastmod_precision, p.* exclude (sitemap)
    from listings join all_urls u using (document, key_hash, position) join sitemaps s on s.number = document
    join pages p on p.key_hash = listings.key_hash where p.method is not null
    -- Nothing is known of a page that robots.txt or a firewall hides from the probe, perhaps after a redirect.
        and (p.source <> 'probe' or p.error is null or coalesce(p.cause <> 'private', false))
"""
_COVERAGE = f"""
    with listed as (
        select distinct key_hash, site from all_urls where {MAY_BE_REQUESTED}
    ), exported as (
        select key_hash, page_site from pages where source = 'crawl-export'
    ), counts as (
        select count(*) as listed, count_if(key_hash in (select key_hash from exported)) as exported,
            count_if(key_hash in (select key_hash from pages)) as known,
            if(bool_or(site in (select page_site from exported)), '', format(
                ': it has URLs of {{}}, and the sitemaps list URLs of {{}}',
                (select mode(page_site) from exported), mode(site))) as hint
        from listed
    )
    select listed, exported, if(known < listed, format('{{}}{{:,}} of {{:,}} listed URLs are in the crawl export{{}}',
        if(exported > 0, 'only ', ''), exported, listed, hint), null) as reason
    from counts
"""  # noqa: S608 - our own condition
_SITES = "select site from all_urls where site is not null group by 1 order by count(*) desc, 1 limit 100"
_REPEATED = "select key_hash from all_urls where key_hash is not null group by key_hash having count(*) > 1"
_VIEWS = {
    "problems": "select sitemap, problem.* from (select url as sitemap, unnest(problems) as problem from sitemaps)",
    "unread_documents": UNREAD_DOCUMENTS,
    "urls": """
        select s.url as sitemap, u.*, s.kind, s.outcome, s.fetched_at, s.read_at
        from all_urls u join sitemaps s on s.number = u.document
    """,
    "alternates": "select s.url as sitemap, a.* from all_alternates a join sitemaps s on s.number = a.document",
    "sitemap_urls": "select * from urls where kind not in ('feed', 'links')",
    **{
        f"{name}": f"select s.url as sitemap, position, loc, fetched_at, unnest({name}) as {one} "  # noqa: S608
        f"from media m join sitemaps s on s.number = m.document where {name} is not null"
        for name, one in zip(_MEDIA, ("image", "video", "article"), strict=True)
    },
    "news_sitemaps": """
        select sitemap from (select sitemap, count(distinct position) as articles from news group by 1)
        join (select sitemap, count(*) as entries from urls group by 1) using (sitemap) where 2 * articles >= entries
    """,
    "lastmod_urls": """
        select * from sitemap_urls where kind = 'sitemap' and sitemap not in (from news_sitemaps)
            and not (lastmod is null and lastmod_text is null and (document, position) in (
                select document, position from media
                where len(list_filter(videos, lambda video: is_w3c_date(video.publication_date))) > 0))
    """,
}
_W3C_DATE = r"\d{4}(-\d\d(-\d\d(T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?)?)?"
_MACROS = {
    "period_end(instant, precision)": """
        instant + case precision when 'year' then interval 1 year when 'month' then interval 1 month
            when 'day' then interval 1 day when 'minute' then interval 1 minute else interval 0 second end
    """,
    "is_w3c_date(text)": f"""
        regexp_full_match(trim(text), '{_W3C_DATE}') and try_cast(left(trim(text) || '-01-01', 10) as date) is not null
    """,
    "host_of(url)": r"lower(regexp_extract(url, '^[^:/?#]+://(?:[^/?#]*@)?(\[[^\]/?#]*\]|[^:/?#]*)', 1))",
}


_CHECKED: set[str] = set()
"""The queries that are valid: all datasets have the same tables and columns."""


class Dataset(TemporaryDatabase):
    """The tables of one snapshot.

    ``urls``, ``alternates``, ``images``, ``videos``, ``news``, ``sitemaps``,
    ``problems``, ``children`` (the documents that documents list); and of the history
    up to it, ``changes``, ``runs``, ``gone_sitemaps`` (those that the run removed, and
    those removed before whose URLs may still be there) and ``index_dates`` (how often the
    dates of each index were correct). Derived from these: ``sitemap_urls`` (``urls``
    without those of feeds and pages of links), ``news_sitemaps`` (the sitemaps of
    which half the entries or more are news articles), ``lastmod_urls`` (the entries that
    should have a ``lastmod``: without those of news sitemaps, and without those that have
    only the publication date of a video), and ``unread_documents`` (those that
    may list more: see :data:`~sitemap_harvest.audit.problems.UNREAD_DOCUMENTS`).
    ``read_at``: when the document was downloaded, perhaps in an earlier run. Macros:
    ``period_end`` (the first instant after a date of that precision), ``is_w3c_date`` and
    ``host_of``.

    To be grouped and joined in little memory, strings also have a number: ``urls`` and
    ``alternates`` have ``document`` (the ``number`` of the sitemap in ``sitemaps``),
    ``key_hash`` and ``href_hash`` (64 bits; null without a key), and ``entry`` (unique
    for each entry); ``lang`` is ``hreflang`` in lower case. ``repeated`` has the
    ``key_hash`` of the URLs that are listed several times. ``pending`` has the ``key_hash``
    of the URLs whose removal is pending: no document that was read lists them, so they are
    not in ``urls``, but they are not missing either.

    ``pages`` has the records of requested pages, one for each key, with ``page_site`` (that
    of ``url``), ``key_hash``, ``canonical_key``, and ``final_key`` and ``final_hash`` (those
    of ``final_url``). ``listed_pages``: those that a response was requested for, with the
    ``sitemap``, ``document``, ``kind``, ``loc``, ``position`` and ``lastmod`` of the URL in
    each document that lists it, once for each. ``coverage`` has one row if there is a crawl
    export, and none otherwise: how many different URLs are ``listed``, how many of them are
    ``exported``, and the ``reason`` why rules are not checked (null: all URLs are known).

    ``robots`` has the robots.txt of each ``site`` (scheme and host): its ``url``, its
    ``text`` (empty: it allows everything; null: unknown) and the ``reason`` if it is
    unknown. ``disallowed_urls``: the URLs of sitemaps that these disallow. ``authorized``:
    the ``key`` of each document that these name, and the ``site``.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        history: History,
        pages: Iterable[pa.RecordBatch] = (),
        *,
        store: Store | None = None,
    ) -> None:
        """Load the tables from the store; the columns are those of the records. Raises :exc:`StoreError`.

        *pages* are rows of :class:`PageRecord`, of a crawl export, in addition to those of a probe in the store.
        *store* has the other sites of the run, whose robots.txt files are used for their URLs; ``None``: none has.
        """
        rows = max(len(snapshot.sitemaps()), int(snapshot.row_ranges().count.sum()))
        super().__init__(in_memory=rows < _FEW)
        self._is_tiny = rows < _TINY
        self._returns_rows: dict[str, bool] = {}
        for function in (document_key, hreflang_flaw, is_language):
            self._connection.create_function(function.__name__, function)
        try:
            self._load(snapshot, history, store)
            self._create("probes", pa.table({"listed": pa.array([snapshot.run.probe.get("listed")], pa.int64())}))
            self._load_pages(chain(snapshot.page_batches(), pages))
        except BaseException as error:
            self.close()
            if isinstance(error, duckdb.Error | OSError):
                raise StoreError(f"{snapshot.site}: the snapshot cannot be loaded for the audit: {error}") from error
            raise

    @cached_property
    def empty_sources(self) -> Collection[str]:
        """Those of the views with language versions, images, videos and news articles that have no rows."""
        checks = " union all ".join(f"(select '{name}' where not exists (from {name}))" for name in _SOURCES)
        return {name for (name,) in self.rows(checks)}

    def check(self, sql: str, known: Collection[str] | None = None) -> None:
        """Raise :exc:`StoreError` if *sql* is invalid, or returns a column that is not *known* (``None``: all are)."""
        if sql in _CHECKED:
            return
        try:
            names = self._connection.sql(f"from ({sql})").columns  # which does not evaluate it
        except duckdb.Error as error:
            raise StoreError(str(error).partition("\n")[0]) from error
        if known is not None and (unknown := sorted({*names} - {*known})):
            raise StoreError(f"column {unknown[0]!r} is unknown; a rule returns {', '.join(known)}")
        _CHECKED.add(sql)

    def may_return_rows(self, sql: str) -> bool:
        """Whether *sql* returns rows; always true for large snapshots, for which it is not evaluated.

        Most rules find nothing, and grouping what they find costs half as much as finding it.
        """
        if not self._is_tiny:
            return True
        if sql not in self._returns_rows:
            self._returns_rows[sql] = bool(self.rows(f"from ({sql}) limit 1"))
        return self._returns_rows[sql]

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows that *sql*, one SELECT statement, selects. Raises :exc:`StoreError` if it fails."""
        try:
            return self._connection.execute(sql).fetchall()  # a relation would be planned twice
        except duckdb.Error as error:
            raise StoreError(str(error).partition("\n")[0]) from error

    def batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows that *sql* selects, in bounded memory. Raises :exc:`StoreError` if it fails."""
        try:
            yield from self._connection.sql(sql).to_arrow_reader(MAX_ROWS)
        except (duckdb.Error, pa.ArrowInvalid, OSError) as error:
            raise StoreError(str(error).partition("\n")[0]) from error

    def _load(self, snapshot: Snapshot, history: History, store: Store | None) -> None:
        ledger = snapshot.sitemaps()
        self._create("gone_sitemaps", ledger.filter(pc.is_valid(ledger["left"])))
        ledger = present_documents(snapshot)
        documents = ledger["url"].combine_chunks()
        ledger = ledger.append_column("number", pa.array(range(len(documents)), pa.int32()))
        self._create("sitemaps", ledger.append_column("key", _keys(documents.to_pylist())))
        self._create("children", _children(snapshot))
        entry = arrow_schema(UrlEntry)
        media = ("position", "loc", *_MEDIA)
        for name, columns in (("all_urls", _URLS), ("media", media)):
            self._create(name, pa.schema([_DOCUMENT, *map(entry.field, columns)]).empty_table())
        self._create("all_alternates", _ALTERNATES.empty_table())
        self._connection.begin()  # in one transaction, DuckDB writes each row only once
        for rows in _chunks(snapshot.urls(["sitemap", *_URLS, "alternates", *_MEDIA], pending=False)):
            chunk = rows.set_column(0, _DOCUMENT, pc.index_in(rows["sitemap"], documents))
            self._insert("all_urls", chunk.select(["document", *_URLS]))
            if chunk["alternates"].null_count < len(chunk):
                self._insert("all_alternates", _alternates(chunk))
            if any(chunk[name].null_count < len(chunk) for name in _MEDIA):
                self._insert("media", chunk.select(["document", *media]))
        self._connection.commit()
        self._create("pending", pa.schema([("key", _TEXT)]).empty_table())
        for batch in snapshot.rows(snapshot.pending.row_ranges.intervals(), ["key"]):
            self._insert("pending", pa.table({"key": batch["key"]}))
        self._connection.execute(f"create table repeated as {_REPEATED}")
        runs = [run for run in history.runs if run.id <= snapshot.run.id]
        self._create("changes", CHANGES.empty_table())
        for rows in _chunks(changes_of(history, runs)):  # DuckDB would replace reading errors with its own
            self._insert("changes", rows)
        self._create("runs", table_of_runs(history, runs))
        dates = [
            dict(zip(_INDEX_DATES.names, (key, *counts), strict=True)) for key, counts in snapshot.run.trust.items()
        ]
        self._create("index_dates", pa.Table.from_pylist(dates, _INDEX_DATES))
        robots = robots_of(ledger, snapshot.robots_texts())
        if store is not None:
            robots = with_others(robots, [site for (site,) in self.rows(_SITES)], snapshot.run, store)
        self._create("robots", robots)
        self._create("authorized", authorized(robots))
        for name, expression in _MACROS.items():
            self._connection.execute(f"create macro {name} as {expression}")
        for name, query in {**_VIEWS, "disallowed_urls": disallowed_urls(robots)}.items():
            is_table = self._is_tiny and name not in _SOURCES  # a view is planned again for each query
            self._connection.execute(f"create {'table' if is_table else 'view'} {name} as {query}")

    def _load_pages(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Load the pages: one record for each key, that of the crawl export if it requested the page."""
        self._create("pages", _PAGES.empty_table())
        self._connection.begin()
        for batch in batches:
            canonical = address_columns(pc.fill_null(batch["canonical"], ""), None).key
            final = address_columns(pc.fill_null(batch["final_url"], ""), None).key
            columns = [*batch, address_columns(batch["url"], None).site, canonical, final]
            self._insert("pages", pa.Table.from_arrays(columns, schema=_PAGES))
        self._connection.commit()
        self._connection.execute(f"delete from pages where key_hash is null or rowid in ({_OTHER_RECORDS})")  # noqa: S608
        self._connection.execute(f"create table listed_pages as {_LISTED_PAGES}")
        has_export = self.rows("select count(*) > 0 from pages where source = 'crawl-export'")[0][0]
        self._connection.execute(f"create table coverage as {_COVERAGE} {'' if has_export else 'limit 0'}")

    def _create(self, name: str, rows: pa.Table) -> None:
        self._connection.from_arrow(rows).project(_STORED.get(name, "*")).create(name)

    def _insert(self, name: str, rows: pa.Table) -> None:
        self._connection.from_arrow(rows).project(_STORED.get(name, "*")).insert_into(name)


def _chunks(reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """Yield the rows of *reader* in tables of some :data:`_CHUNK_ROWS` rows: DuckDB inserts few large ones faster."""
    waiting: list[pa.RecordBatch] = []
    for batch in reader:
        waiting.append(batch)
        if sum(map(len, waiting)) >= _CHUNK_ROWS:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def _keys(urls: list[str]) -> pa.Array:
    return pa.array([document_key(url) for url in urls], _TEXT)


def _children(snapshot: Snapshot) -> pa.Table:
    """Return the references of all documents of *snapshot*, each with its document and its key."""
    names = arrow_schema(SitemapRef).names
    rows = [
        {"sitemap": url, "key": document_key(ref.loc), **{name: getattr(ref, name) for name in names}}
        for url, references in snapshot.references().items()
        for ref in references
    ]
    return pa.Table.from_pylist(rows, _CHILDREN)


def _alternates(chunk: pa.Table) -> pa.Table:
    """Return one row for each alternate of the URLs in *chunk*, with the canonical key of its ``href``."""
    batch = chunk.combine_chunks().to_batches()[0]
    parents = pc.list_parent_indices(batch["alternates"])
    found = pc.list_flatten(batch["alternates"])
    href = pc.utf8_trim_whitespace(found.field("href"))
    keys = address_columns(pc.fill_null(href, ""), None).key
    columns = [batch[name].take(parents) for name in ("document", "position", "loc", "key")]
    columns += [found.field("hreflang"), found.field("media"), href, keys]
    return pa.Table.from_arrays(columns, schema=_ALTERNATES)
