"""The histories of real sitemaps: each version is served in turn, crawled into a store, and compared."""

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
    """Return the body that is served in a *run*: the last version once all were served."""
    return (CORPUS / VERSIONS[site][min(run, len(VERSIONS[site])) - 1]).read_bytes()


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """Return the changes that each run reports, by site."""
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
def test_changes_between_versions_match_those_of_the_script(reported, site):
    known = None
    for run in range(1, RUNS + 1):
        now = histories.listed(body(site, run))
        found = [(row["kind"], histories.key(row["loc"]), _fields(row)) for row in reported[run][site]]
        assert Counter(found) == Counter(histories.changes(known, now)), f"version {run}"
        known = known if now is None else now


def _fields(row):
    return tuple(sorted(row["fields"] or ())) if row["kind"] == "changed" else ()


def test_the_histories_contain_changes(reported):
    kinds = Counter(row["kind"] for sites in reported.values() for rows in sites.values() for row in rows)
    assert kinds.keys() == {"added", "removed", "changed", "expired"}
