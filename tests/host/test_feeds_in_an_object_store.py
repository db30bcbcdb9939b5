"""Scrapy's own feed storage for S3, with a real object store, in a project with the add-on."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from tests.services.object_store import BUCKET, object_store

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.service
BATCHES = """
SPIDER_MIDDLEWARES = {}
ITEM_PIPELINES = {}
EXTENSIONS = {"myproject.parts.Look": 0}
"""


@pytest.fixture(scope="module")
def access(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    yield from object_store(tmp_path_factory.mktemp("object-store"))


@pytest.fixture
def files(access: dict[str, str]) -> fs.FileSystem:
    return fs.S3FileSystem(
        access_key=access["AWS_ACCESS_KEY_ID"],
        secret_key=access["AWS_SECRET_ACCESS_KEY"],
        region=access["AWS_DEFAULT_REGION"],
        endpoint_override=access["AWS_ENDPOINT_URL"].removeprefix("http://"),
        scheme="http",
    )


def read(files: fs.FileSystem, path: str) -> bytes:
    with files.open_input_stream(path, compression=None) as file:
        return file.read()


@pytest.mark.quick
def test_each_kind_goes_to_its_feed_in_the_store_and_on_disk(project, site, access, files):
    store, urls = f"s3://{BUCKET}/%(name)s", ["sitemap_harvest.UrlEntry"]
    feeds = {
        f"{store}/urls.parquet": {"format": "parquet", "item_classes": urls},
        f"{store}/ledger.csv": {"format": "csv", "item_classes": ["sitemap_harvest.SitemapRecord"]},
        f"{store}/part-%(batch_id)d.jsonl.gz": {
            "format": "jsonl",
            "item_classes": urls,
            "batch_item_count": 4,
            "postprocessing": ["scrapy.extensions.postprocessing.GzipPlugin"],
        },
        "urls.jsonl": {"format": "jsonl", "item_classes": urls},
    }
    project.configure(
        f"{BATCHES}\nFEEDS = {feeds!r}\nAWS_ENDPOINT_URL = {access['AWS_ENDPOINT_URL']!r}\n"
        f"AWS_ACCESS_KEY_ID = {access['AWS_ACCESS_KEY_ID']!r}\n"
        f"AWS_SECRET_ACCESS_KEY = {access['AWS_SECRET_ACCESS_KEY']!r}\nAWS_REGION_NAME = 'us-east-1'\n"
    )
    ran = project.crawl("sitemap", "-a", f"site={site.url}", "-a", "emit=urls,sitemaps")
    locs = [row["loc"] for row in ran.rows("urls.jsonl")]
    assert len(locs) == 6
    folder = f"{BUCKET}/sitemap"
    with files.open_input_file(f"{folder}/urls.parquet") as file:
        assert pq.read_table(file)["loc"].to_pylist() == locs
    parts = [gzip.decompress(read(files, f"{folder}/part-{number}.jsonl.gz")).splitlines() for number in (1, 2)]
    assert [len(part) for part in parts] == [4, 2]
    assert [json.loads(line)["loc"] for part in parts for line in part] == locs
    assert len(read(files, f"{folder}/ledger.csv").splitlines()) == 1 + 4
    assert ran.stats["feedexport/success_count/S3FeedStorage"] == 4
    assert "one by one" not in ran.log


def test_wrong_credentials_fail_only_that_feed_and_are_not_shown(project, site, access):
    feeds = {f"s3://{BUCKET}/urls.csv": {"format": "csv"}, "urls.jsonl": {"format": "jsonl"}}
    project.configure(f"FEEDS = {feeds!r}\nAWS_ENDPOINT_URL = {access['AWS_ENDPOINT_URL']!r}\nLOG_LEVEL = 'INFO'")
    environment = access | {"AWS_SECRET_ACCESS_KEY": "another-secret-key"}
    ran = project.crawl("sitemap", "-a", f"site={site.url}", calm=False, environment=environment)
    assert len(ran.rows("urls.jsonl")) == 5
    assert ran.stats["feedexport/failed_count/S3FeedStorage"] == 1
    assert "Error storing csv feed (5 items) in: s3://bucket/urls.csv" in ran.log
    assert "another-secret-key" not in ran.log
