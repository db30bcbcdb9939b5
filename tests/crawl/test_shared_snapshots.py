"""Documents that several sites of a run name are requested once, and are part of the snapshot of each."""

from __future__ import annotations

from sitemap_harvest.snapshots.store import open_store
from tests.site import index, numbered, robots, urlset


def test_a_document_that_three_sites_name_is_in_the_snapshot_of_each(serve, crawl):
    site = serve(
        {
            "/robots.txt": robots("/index.xml", "/own.xml"),
            "/index.xml": index("/a.xml", "/b.xml"),
            "/a.xml": urlset(*numbered(3)),
            "/b.xml": urlset(*numbered(3, start=10)),
            "/own.xml": urlset("/own"),
        }
    )
    kept = str(crawl.folder / "snapshots")
    named = {"site": site.url, "sitemap": f"{site.url}/index.xml {site.url}/b.xml", "store": kept}

    def snapshots() -> dict[str, list[str]]:
        crawl(**named)
        store = open_store(kept)
        return {
            name.removeprefix(site.url): sorted(
                loc.removeprefix(site.url) for loc in store.latest(name).urls(["loc"]).read_all()["loc"].to_pylist()
            )
            for name in store.sites()
        }

    def changes(name: str) -> dict[str, int]:
        counts = open_store(kept).latest(site.url + name).run.changes
        return {kind: count for kind, count in counts.items() if count}

    listed = {"/index.xml": [*numbered(3), *numbered(3, start=10)], "/b.xml": numbered(3, start=10)}
    listed = {"": sorted([*listed["/index.xml"], "/own"])} | {name: sorted(locs) for name, locs in listed.items()}
    assert snapshots() == listed
    assert snapshots() == listed
    assert all(changes(name) == {} for name in listed)
    assert sorted(site.requests) == sorted(2 * ["/robots.txt", "/index.xml", "/own.xml", "/a.xml", "/b.xml"])

    site.pages["/b.xml"] = urlset(*numbered(3, start=11))
    assert snapshots()["/b.xml"] == numbered(3, start=11)
    assert all(changes(name) == {"added": 1, "removed": 1} for name in listed)
