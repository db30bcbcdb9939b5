"""``CrawlExport``: the pages in a file of another crawler, such as Screaming Frog, as records of pages.

Reads CSV with any delimiter, JSON Lines and Parquet, also compressed, in bounded
memory, and checks the whole file before anything else is done with it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sitemap_harvest.audit.crawl_columns import FIELDS, columns_of
from sitemap_harvest.audit.crawl_file import CrawlFile, in_words
from sitemap_harvest.audit.temporary_database import TemporaryDatabase
from sitemap_harvest.errors import CrawlExportError
from sitemap_harvest.formats.html.headings import says_not_found
from sitemap_harvest.model import PageRecord, PageSource, arrow_schema
from sitemap_harvest.urls import address_columns, join

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ROWS = 10_000
_MAX_REDIRECTS = 10
_DATES = ("%a, %d %b %Y %H:%M:%S GMT", "%a, %d %b %Y %H:%M:%S UTC", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ")
_ADVICE = "name the columns with --crawl-column FIELD=COLUMN"
_RECORD = arrow_schema(PageRecord)
_RAW = pa.schema([*list(_RECORD)[2:], ("target", pa.string()), ("target_key", pa.string())])
_FOLLOWED = f"""
    with recursive redirects as materialized (
        select key, min(target) as target, arg_min(target_key, target) as target_key, arg_min(status, target) as status
        from pages where target_key is not null group by key
    ), steps as (
        select key as start, [target] as urls, [status] as statuses, target_key as next from redirects
        union all
        select start, urls || [target], statuses || [status], target_key from steps join redirects on key = next
        where len(urls) < {_MAX_REDIRECTS} and not list_contains(urls, target)
    ), ends as (
        select start, arg_max(urls, len(urls)) as urls, arg_max(statuses, len(urls)) as statuses,
            arg_max(next, len(urls)) as next from steps group by start
    ), targets as (
        select key, bool_or(target_key is not null) as is_redirect,
            if(is_redirect, null, any_value(status)) as status,
            if(is_redirect, 'redirect loop, or too many redirects', any_value(error)) as error
        from pages where key in (select next from ends) group by key
    )
    select start, urls, list_filter(statuses, lambda one: one is not null) as statuses, status, error
    from ends left join targets on key = next
"""  # noqa: S608 - our own number; the redirects of each page that has some, to the last one in the file
_PAGES = """
    select pages.* exclude (target, target_key) replace (
        if(start is null, pages.status, followed.status) as status,
        if(start is null, pages.error, followed.error) as error,
        if(start is null, redirects, urls) as redirects,
        if(start is null, redirect_statuses, statuses) as redirect_statuses,
        if(start is null, final_url, if(followed.status is null, null, urls[-1])) as final_url
    )
    from pages left join followed on start = key
"""


class CrawlExport(TemporaryDatabase):
    """The pages of one file. A context manager: the pages are in a temporary folder."""

    def __init__(self, path: str, columns: Mapping[str, str] | None = None) -> None:
        """Read *path*. *columns* are names of columns by field, for those that are not recognized.

        Raises :exc:`CrawlExportError` if the file cannot be read completely, or has no pages.
        """
        self.path = path
        self.columns: dict[str, list[str]] = {}
        """The columns of each field, by the names in the file."""
        self.pages = 0
        """The number of pages."""
        self.skipped = 0
        """The number of rows without a URL."""
        super().__init__()
        self._pages = f"{self._files.name}/pages.parquet"
        try:
            self._load(columns or {})
        except BaseException as error:
            self.close()
            if isinstance(error, CrawlExportError | duckdb.Error | pa.ArrowException | OSError | EOFError | ValueError):
                raise CrawlExportError(f"{path}: {in_words(error)}") from error
            raise

    def batches(self, site: str, run: str) -> Iterator[pa.RecordBatch]:
        """Yield the pages, rows of :class:`PageRecord`, for the audit of *run* of *site*."""
        for batch in self._connection.sql(_PAGES).to_arrow_reader(_ROWS):
            columns = [batch.column(name) for name in _RECORD.names[2:]]
            names = [pa.repeat(pa.scalar(text), len(batch)) for text in (site, run)]
            yield pa.RecordBatch.from_arrays([*names, *columns], schema=_RECORD)

    def _load(self, given: Mapping[str, str]) -> None:
        source = CrawlFile(Path(self.path), Path(self._files.name), given, self._connection)
        header = source.header
        found = columns_of(header, given)
        self.columns = {field: [header[column] for column in columns] for field, columns in found.items()}
        relation = source.table({column for columns in found.values() for column in columns})
        text = self._wrong_status(relation, found)
        if missing := [field for field in ("url", "status") if field not in found]:
            example = " ".join(f"--crawl-column {field}=COLUMN" for field in missing + ["status"] * bool(text))
            raise CrawlExportError(
                f"no column of the {' and the '.join(missing)} was recognized{f', and {text}' if text else ''}; "
                f"{_ADVICE}, for example {example}. The columns are: {', '.join(header)}"
            )
        if text:
            raise CrawlExportError(f"{text}; {_ADVICE}, for example --crawl-column status=COLUMN")
        with pq.ParquetWriter(self._pages, _RAW) as writer:
            for batch in self._connection.sql(_query(relation, found)).to_arrow_reader(_ROWS):
                pages = _pages(batch)
                self.pages += len(pages)
                self.skipped += len(batch) - len(pages)
                writer.write_batch(pages)
        if not self.pages:
            raise CrawlExportError(
                f"no row has a URL in the column {self.columns['url'][0]!r}"
                if self.skipped
                else "the file has a header, but no rows"
            )
        self._connection.read_parquet(self._pages).create_view("pages")
        self._connection.execute(f"create table followed as {_FOLLOWED}")

    def _wrong_status(self, relation: str, found: Mapping[str, list[int]]) -> str | None:
        """Return that the column of the status has texts instead of numbers; ``None`` if not, or without one."""
        if "status" not in found:
            return None
        status = _text(found["status"])
        sample = f"select {status} as status from {relation} where {status} is not null limit {_ROWS}"  # noqa: S608
        values = self._connection.sql(f"select min(status), count({_code('status')}) from ({sample})").fetchall()  # noqa: S608
        if values[0][0] is None or values[0][1]:
            return None
        return f"the column {self.columns['status'][0]!r} has no HTTP status, but {values[0][0]!r}"


def _cells(columns: list[int]) -> str:
    """Return the texts of *columns*, separated by commas, each null if it is blank or ``--``, as in Sitebulb."""
    return ", ".join(f"nullif(nullif(trim(c{column}), ''), '--')" for column in columns)


def _text(columns: list[int]) -> str:
    """Return the first text of *columns* that is not blank, or null."""
    return f"coalesce({_cells(columns)})"


def _texts(columns: list[int]) -> str:
    """Return the texts of *columns* that are not blank, joined by commas, or null; advertools joins texts by ``@@``."""
    return f"nullif(replace(concat_ws(', ', {_cells(columns)}), '@@', ', '), '')"


def _code(status: str) -> str:
    """Return the number in *status*, such as ``200``, ``200.0`` or ``404 Not Found``; null if there is none."""
    return rf"try_cast(regexp_extract({status}, '^([0-9]+)(?:[.]0+)?(?:[^0-9.]|$)', 1) as bigint)"


def _query(relation: str, found: Mapping[str, list[int]]) -> str:
    """Return the query for the facts of each page in *relation*."""
    text = {field: _text(found[field]) if field in found else "null::varchar" for field in FIELDS}
    joined = {field: _texts(found[field]) if field in found else "null::varchar" for field in FIELDS}
    plain = "'requested_url': url, 'redirects': []::varchar[], 'redirect_statuses': []::bigint[], 'final_url': url"
    dates = "[" + ", ".join(f"'{one}'" for one in _DATES) + "]"
    return rf"""
        with cells as (
            select {", ".join(f"{text[field]} as {field}" for field in FIELDS)},
                {joined["x_robots_tag"]} as x_robots, {joined["meta_robots"]} as robots, {joined["reason"]} as reasons
            from {relation}
        ), facts as (
            select *, {_code("status")} as number, if(number between 100 and 999, number, null) as code,
                string_split(redirect_urls, '@@') as chain,
                coalesce([one::bigint for one in regexp_extract_all(redirect_reasons, '[0-9]+')], []) as statuses,
                -- A page without a status and a reason was not requested, nor one that robots.txt forbids.
                code is not null or (coalesce(status, reason) is not null
                    and not contains(lower(coalesce(reasons, '')), 'robots.txt')) as requested
            from cells
        )
        select unnest(if(chain is null, [{{{plain}}}], [{{
                'requested_url': chain[1], 'redirects': chain[2:] || [url], 'redirect_statuses': statuses,
                'final_url': url
            }}, {{{plain}}}]), recursive := true),
            try_strptime(regexp_replace(requested_at, '[.+].*$', ''), {dates})::timestamptz as requested_at,
            if(requested, 'GET', null) as method, code as status,
            if(code is null, coalesce(reason, 'no response'), null) as error,
            if(redirect_url <> url or code between 300 and 399, redirect_url, null) as target, content_type,
            x_robots as x_robots_tag, nullif(concat_ws(', ', robots,
                if(lower(noindex) in ('yes', 'true', '1'), 'noindex', null)), '') as meta_robots,
            split_part(canonical, '@@', 1) as canonical,
            try_strptime(last_modified, {dates})::timestamptz as last_modified, split_part(title, '@@', 1) as title,
            case when regexp_matches(lower(indexable), '^(?:no|nicht|n.o|false|0)') then false
                when regexp_matches(lower(indexable), '^(?:index|indic|yes|true|1)') then true end as indexable
        from facts
    """  # noqa: S608 - our own expressions


def _pages(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows of *batch* that have a URL as pages."""
    address = address_columns(pc.fill_null(batch["requested_url"], ""), None)
    has_url = pc.is_valid(address.key)
    batch, loc, key = batch.filter(has_url), address.loc.filter(has_url), address.key.filter(has_url)
    is_there = pc.fill_null(pc.equal(batch["status"], 200), fill_value=False)
    target = _absolute(batch["target"], loc)
    length = len(batch)
    values: dict[str, Any] = {
        **{name: batch[name] for name in batch.schema.names},
        "url": loc,
        "key": key,
        "source": pa.repeat(pa.scalar(str(PageSource.CRAWL_EXPORT)), length),
        "final_url": pc.if_else(pc.is_valid(batch["status"]), batch["final_url"], None),
        "canonical": _absolute(batch["canonical"], loc),
        "soft_404": _soft_404(pc.if_else(is_there, batch["title"], None)),
        "target": target,
        "target_key": address_columns(pc.fill_null(target, ""), None).key,
    }
    arrays = [values.get(field.name, pa.nulls(length, field.type)).cast(field.type) for field in _RAW]
    return pa.RecordBatch.from_arrays(arrays, schema=_RAW)


def _absolute(urls: pa.StringArray, bases: pa.StringArray) -> pa.StringArray:
    """Return *urls* resolved against *bases*; only relative ones, which are rare, one by one."""
    is_relative = pc.invert(pc.match_substring_regex(urls, "^[A-Za-z][A-Za-z0-9+.-]*:"))
    pairs = zip(bases.filter(is_relative).to_pylist(), urls.filter(is_relative).to_pylist(), strict=True)
    resolved = pa.array([join(base, url) for base, url in pairs], pa.string())
    return pc.replace_with_mask(urls, pc.fill_null(is_relative, fill_value=False), resolved)


def _soft_404(titles: pa.StringArray) -> pa.StringArray:
    """Return those of *titles* that say that there is nothing, and null for the others."""
    empty = [title for title in pc.unique(titles).to_pylist() if title and says_not_found(title)]
    return pc.if_else(pc.is_in(titles, pa.array(empty, pa.string())), titles, None)
