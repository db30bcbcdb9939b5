"""A spider of the project's own does with the add-on what it does without it."""

from __future__ import annotations

import re

import pytest

from tests.host.project import Project

FORMATS = {
    "jsonl": {"indent": None},
    "json": {"indent": 2},
    "csv": {"fields": ["url", "title", "price", "seen"]},
    "xml": {"indent": 0},
    "pickle": {},
    "marshal": {"item_classes": ["builtins.dict"]},
    "jl": {"item_classes": ["myproject.spiders.own.Link"], "encoding": "ascii"},
}


@pytest.fixture(scope="module")
def both(made, site, tmp_path_factory):
    """The same crawl without the add-on and with it."""
    folder = tmp_path_factory.mktemp("both")
    feeds = {f"out.{name}": {"format": name, "overwrite": True, **options} for name, options in FORMATS.items()}
    feeds["part-%(batch_id)d.csv.gz"] = {
        "format": "csv",
        "batch_item_count": 4,
        "postprocessing": ["scrapy.extensions.postprocessing.GzipPlugin"],
    }
    runs = []
    for with_addon in (False, True):
        project = made.copied(folder / str(with_addon), with_addon=with_addon)
        project.configure(f"FEEDS = {feeds!r}\nCLOSESPIDER_ITEMCOUNT = 1000\nLOG_LEVEL = 'DEBUG'")
        runs.append(project.crawl("own", "-a", f"site={site.url}", calm=False))
    return runs


def test_feeds_are_the_same_to_the_byte(both):
    contents = [
        {path.name: path.read_bytes() for path in run.folder.iterdir() if re.match("(out|part-)", path.name)}
        for run in both
    ]
    assert len(contents[0]) > len(FORMATS) + 3
    assert contents[0] == contents[1]


def test_x(both):
    import json, difflib
    a, b = both
    for k in ("settings", "parts", "stats"):
        for n in sorted(a.dump[k].keys() | b.dump[k].keys()):
            if a.dump[k].get(n) != b.dump[k].get(n): print(k, n, a.dump[k].get(n), b.dump[k].get(n))
    print("\n".join(difflib.unified_diff(a.log.splitlines(), b.log.splitlines())))
    assert 0
