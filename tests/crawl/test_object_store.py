"""A store in a real object store, by ``s3://``, holds what one on disk holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from sitemap_harvest.errors import StoreError
from sitemap_harvest.snapshots.store import SiteLocks, open_store
from sitemap_harvest.snapshots.store.cursors import Cursor, cursor_of, cursors, drop, move
from tests.services.object_store import BUCKET, object_store
from tests.site import index, numbered, robots, urlset

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.service
STORE = f"s3://{BUCKET}/kept/snapshots"


@pytest.fixture(scope="module")
def reached(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    yield from object_store(tmp_path_factory.mktemp("object-store"))


@pytest.fixture
def access(reached: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    for name, value in reached.items():
        monkeypatch.setenv(name, value)
    return reached


def crawled(crawl, site, store: str, access: dict[str, str]) -> list[dict[str, object]]:
    """Return the changes that a crawl into *store* finds, without fields that differ from run to run."""
    feeds = {f"{crawl.folder}/changes.jsonl": {"format": "jsonl", "overwrite": True}}
    crawl(spider="changes", site=site.url, store=store, feeds=feeds, environment=access)
    rows = [json.loads(line) for line in (crawl.folder / "changes.jsonl").read_text().splitlines()]
    return [{name: row[name] for name in ("kind", "loc", "sitemap", "fields", "reason")} for row in rows]


def listed(store: str, site: str) -> list[dict[str, object]]:
    return open_store(store).latest(site).urls().read_all().sort_by("loc").to_pylist()


def test_crawls_into_an_object_store_find_the_same_changes_as_on_disk(serve, crawl, access, tmp_path: Path) -> None:
    site = serve(
        {
            "/robots.txt": robots("/index.xml"),
            "/index.xml": index("/a.xml", "/b.xml"),
            "/a.xml": urlset(*numbered(3)),
            "/b.xml": urlset(*numbered(3, start=10)),
        }
    )
    stores = (STORE, str(tmp_path / "snapshots"))
    assert [crawled(crawl, site, store, access) for store in stores] == [[], []]
    site.pages["/a.xml"] = urlset(*numbered(3, start=2))
    here, there = (crawled(crawl, site, store, access) for store in stores)
    assert here == there
    assert [row["kind"] for row in here] == ["removed", "added"]
    assert listed(stores[0], site.url) == listed(stores[1], site.url)
    assert [crawled(crawl, site, store, access) for store in stores] == [[], []]


@pytest.mark.quick
def test_a_site_in_use_by_another_run_is_locked(access) -> None:
    store = open_store(STORE, create=True)
    site = store.history("https://claimed.example").folder
    first, second = SiteLocks(store.folder, "first"), SiteLocks(store.folder, "second")
    assert first.take(site) is None
    assert second.take(site) == "first"
    first.release(site)
    assert second.take(site) is None
    second.release(site)
    first.close()
    second.close()


@pytest.mark.quick
def test_cursors_of_consumers_are_kept_there(access) -> None:
    history = open_store(STORE, create=True).history("https://consumed.example")
    assert (cursors(history), cursor_of(history, "a")) == ([], None)
    for run in ("", "20261101T030000Z-000001", "20261101T030000Z-000000"):
        move(history, Cursor("a", run))
    assert cursors(history) == [Cursor("a", "20261101T030000Z-000001")]
    assert [drop(history, "a"), drop(history, "a")] == [True, False]


@pytest.mark.quick
def test_a_missing_bucket_is_reported_in_one_line(access) -> None:
    with pytest.raises(StoreError, match="store 's3://no-such-bucket/x': ") as raised:
        open_store("s3://no-such-bucket/x")
    assert "\n" not in str(raised.value)


@pytest.mark.quick
def test_wrong_credentials_are_reported_and_not_shown(access, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another-secret-key")
    with pytest.raises(StoreError) as raised:
        open_store(STORE)
    assert "(SignatureDoesNotMatch)" in str(raised.value)
    assert "secret" not in str(raised.value)


def test_credentials_in_an_address_are_not_shown() -> None:
    with pytest.raises(StoreError) as raised:
        open_store("s3://mine:of-mine@no-such-bucket/x?endpoint_override=127.0.0.1:9&scheme=http")
    assert "of-mine" not in str(raised.value)
