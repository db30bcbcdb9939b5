"""The histories of real sitemaps: each version served after the other, crawled into a store, and compared."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from tests.corpus import histories
from tests.corpus.test_corpus import CORPUS, FILES
from tests.crawl.crawling import Runner, lines
from tests.site import Site

VERSIONS: dict[str, list[str]] = defaultdict(list)
for _path, _file in FILES.items():
    if _file["kind"] == "history":
        VERSIONS[_file["site"]].append(_path)
RUNS = max(map(len, VERSIONS.values()), default=0)

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not FILES, reason="there is no corpus: name its folder in HARVEST_CORPUS"),
]


def address(site: str) -> str:
    return f"/{site}/{'sitemap' + VERSIONS[site][0].rpartition('/')[2].lstrip('1')}"


def body(site: str, run: int) -> bytes:
    """Return what is served in a *run*, which is the last version once all were served."""
    return (CORPUS / VERSIONS[site][min(run, len(VERSIONS[site])) - 1]).read_bytes()


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Return the changes that each run tells, by site."""
    folder = tmp_path_factory.mktemp("histories")
    found = {}
    with Site() as served:
        named = " ".join(served.url + address(site) for site in VERSIONS)
        for run in range(1, RUNS + 1):
            served.pages = {address(site): body(site, run) for site in VERSIONS}
            feed = {f"{folder}/{run}.jsonl": {"format": "jsonl", "item_classes": ["sitemap_harvest.Change"]}}
            crawled = Runner(folder)(spider="changes", sitemap=named, store=folder / "store", feeds=feed)
            assert crawled.code == 0
            rows = lines(folder / f"{run}.jsonl")
            found[run] = {site: [row for row in rows if f"/{site}/" in row["site"]] for site in VERSIONS}
    return found


@pytest.mark.parametrize("site", VERSIONS)
def test_the_changes_between_versions_are_those_that_a_script_finds(told, site):
    known = None
    for run in range(1, RUNS + 1):
        now = histories.listed(body(site, run))
        found = [(row["kind"], histories.key(row["loc"]), _fields(row)) for row in told[run][site]]
        assert Counter(found) == Counter(histories.changes(known, now)), f"version {run}"
        known = known if now is None else now


def _fields(row):
    return tuple(sorted(row["fields"] or ())) if row["kind"] == "changed" else ()


def test_there_is_something_to_find(told):
    kinds = Counter(row["kind"] for sites in told.values() for rows in sites.values() for row in rows)
    assert kinds.keys() == {"added", "removed", "changed", "expired"}
