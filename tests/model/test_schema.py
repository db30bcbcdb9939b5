from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import pytest

from sitemap_harvest.model import (
    SCHEMA_VERSION,
    Change,
    ChangeSummary,
    Problem,
    SitemapRecord,
    SitemapRef,
    SiteRecord,
    UrlEntry,
    arrow_schema,
)

_EXTRA = "list<item: struct<name: string not null, value: string> not null>"

# A change here changes every snapshot and feed: SCHEMA_VERSION increases with it.
URLS = f"""\
loc: string not null
loc_raw: string
key: string
site: string
sitemap: string not null
position: int64 not null
lastmod: timestamp[us, tz=UTC]
lastmod_text: string
lastmod_precision: string
lastmod_zoned: bool
changefreq: string
priority: double
priority_text: string
title: string
alternates: list<item: struct<href: string, hreflang: string, media: string, type: string> not null>
images: list<item: struct<loc: string, caption: string, title: string, geo_location: string, license: string> not null>
videos: list<item: struct<thumbnail_loc: string, title: string, description: string, content_loc: string, \
player_loc: string, duration: string, expiration_date: string, rating: string, view_count: string, \
publication_date: string, family_friendly: string, restriction: struct<relationship: string, value: string>, \
platform: struct<relationship: string, value: string>, prices: list<item: struct<value: string, currency: string, \
type: string, resolution: string> not null>, requires_subscription: string, uploader: string, uploader_info: string, \
live: string, tags: list<item: string not null>, category: string, gallery_loc: string, gallery_title: string, \
other: {_EXTRA}> not null>
news: list<item: struct<publication_name: string, publication_language: string, title: string, \
publication_date: string, keywords: string, genres: string, access: string, stock_tickers: string, \
geo_locations: string> not null>
mobile: bool
pagemap: list<item: struct<type: string, id: string, attributes: {_EXTRA}> not null>
extra: list<item: struct<name: string not null, depth: int64 not null, text: string, attributes: {_EXTRA}> not null>
in_scope: bool
scope_reason: string
"""

SAMPLES = "list<item: struct<entry: int64, line: int64, byte: int64, excerpt: string> not null> not null"
SITEMAPS = f"""\
url: string not null
final_url: string
parent: string
root: string not null
depth: int64 not null
found_by: string not null
kind: string
outcome: string not null
reason: string
cause: string
via: string
status: int64
content_type: string
etag: string
last_modified: string
bytes_downloaded: int64
bytes_unpacked: int64
layers: list<item: string not null> not null
encoding: string
entries: int64 not null
out_of_scope: int64
problems: list<item: struct<code: string not null, document: string not null, detail: string not null, \
count: int64 not null, samples: {SAMPLES}> not null> not null
sha256: string
fetched_at: timestamp[us, tz=UTC]
seconds: double
lastmod: timestamp[us, tz=UTC]
lastmod_text: string
complete: bool not null
rows_from: string
fresh_at: timestamp[us, tz=UTC]
fresh_run: string
read_at: timestamp[us, tz=UTC]
absent_runs: int64 not null
left: string
"""

SITES = """\
root: string not null
base: string
result: string not null
cause: string
reason: string not null
found_by: string
evidence: list<item: struct<url: string not null, found_by: string not null, outcome: string not null, \
reason: string, cause: string> not null> not null
documents: int64 not null
read: int64 not null
urls: int64 not null
bytes_downloaded: int64 not null
limits: list<item: string not null> not null
complete: bool not null
started_at: timestamp[us, tz=UTC]
seconds: double
"""

REFS = """\
loc: string not null
position: int64 not null
lastmod: timestamp[us, tz=UTC]
lastmod_text: string
found_by: string
"""

CHANGES = """\
kind: string not null
loc: string not null
key: string
site: string not null
sitemap: string not null
sitemap_before: string
fields: list<item: string not null> not null
before: map<string, string>
after: map<string, string>
reason: string
pattern: string
counterpart: string
score: double
run: string not null
baseline: string not null
"""

SUMMARIES = """\
site: string not null
run: string not null
baseline: string
added: int64 not null
removed: int64 not null
changed: int64 not null
moved: int64 not null
expired: int64 not null
unchanged: int64 not null
newly_known: int64 not null
retracted: int64 not null
pending: int64 not null
urls_before: int64 not null
urls_after: int64 not null
stale: int64 not null
stale_share: double not null
stale_sitemaps: list<item: struct<url: string not null, outcome: string not null, reason: string, \
fresh_at: timestamp[us, tz=UTC]> not null> not null
unread: int64 not null
sitemaps_came: list<item: string not null> not null
sitemaps_left: list<item: struct<url: string not null, reason: string not null> not null> not null
sitemaps_emptied: list<item: string not null> not null
patterns: list<item: struct<name: string not null, count: int64 not null, share: double not null, \
detail: string not null> not null> not null
renames: list<item: struct<removed: string not null, added: string not null, score: double not null> not null> not null
differences: list<item: struct<name: string not null, before: string, after: string> not null> not null
"""


def pinned(record: type) -> str:
    fields = arrow_schema(record)
    return "".join(f"{field.name}: {field.type}{'' if field.nullable else ' not null'}\n" for field in fields)


@pytest.mark.parametrize(
    ("record", "schema"),
    [
        pytest.param(UrlEntry, URLS, id="urls"),
        pytest.param(SitemapRecord, SITEMAPS, id="sitemaps"),
        pytest.param(SitemapRef, REFS, id="refs"),
        pytest.param(SiteRecord, SITES, id="sites"),
        pytest.param(Change, CHANGES, id="changes"),
        pytest.param(ChangeSummary, SUMMARIES, id="summaries"),
    ],
)
def test_the_schema_is_pinned(record: type, schema: str) -> None:
    assert SCHEMA_VERSION == 6
    assert pinned(record) == schema


@pytest.mark.parametrize("record", [UrlEntry, SitemapRecord, SitemapRef, SiteRecord, Problem, Change, ChangeSummary])
def test_columns_are_the_fields_in_their_order(record: type) -> None:
    assert arrow_schema(record).names == [field.name for field in dataclasses.fields(record)]


def test_optional_columns_are_null_by_default() -> None:
    nullable = {field.name for field in arrow_schema(UrlEntry) if field.nullable}
    assert nullable == {field.name for field in dataclasses.fields(UrlEntry) if field.default is None}


def test_the_schema_carries_the_version() -> None:
    assert arrow_schema(UrlEntry).metadata == {b"sitemap_harvest.schema": b"6"}


@dataclass
class Unusual:
    field: list[str]


def test_a_field_without_a_column_type_is_an_error() -> None:
    with pytest.raises(TypeError, match="no Arrow type"):
        arrow_schema(Unusual)
