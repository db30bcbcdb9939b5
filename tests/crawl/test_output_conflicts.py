"""Each file of a run has one use."""

from __future__ import annotations

import json

import pytest

from tests import forked
from tests.crawl.crawling import lines
from tests.site import urlset

URLS = ["https://a.example/1", "https://a.example/2"]
_CLOSING, _METRICS = "SITEMAP_HARVEST_CLOSING", "SITEMAP_HARVEST_METRICS"


@pytest.fixture
def harvest(tmp_path):
    (tmp_path / "s.xml").write_text(urlset(*URLS))
    (tmp_path / "sites.txt").write_text("https://a.example\n")
    (tmp_path / "notes.txt").write_text("# precious\n")

    def run(*options):
        return forked.scrapy("harvest", "crawl", *options, cwd=tmp_path)

    return run


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param(["s.xml", "-O", "s.xml"], "the output ", id="sitemap-and-output"),
        pytest.param(["s.xml", "-O", "./s.xml:jsonl"], "is the same file as an input of the run", id="spelt-otherwise"),
        pytest.param(["-a", "sites=sites.txt", "-O", "sites.txt:jsonl"], "--sites 'sites.txt'", id="sites"),
        pytest.param(["s.xml", "-O", "x.jsonl", "-s", f"{_CLOSING}=x.jsonl"], f"{_CLOSING} is the same", id="closing"),
        pytest.param(
            ["s.xml", "-O", "x.prom:csv", "-s", f"{_METRICS}=x.prom"], f"{_METRICS} is the same", id="metrics"
        ),
        pytest.param(["s.xml", "-s", f"{_CLOSING}=x.prom", "-s", f"{_METRICS}=x.prom"], "is the same file", id="both"),
        pytest.param(["s.xml", "-s", f"{_CLOSING}=notes.txt"], "exists and is not a closing record", id="other-file"),
    ],
)
def test_a_file_with_two_uses_is_rejected_and_its_content_stays(harvest, tmp_path, options, words):
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    run = harvest(*options)
    assert run.returncode == 2, run.stderr
    assert words in run.stderr
    assert "Traceback" not in run.stderr
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


def test_a_closing_record_replaces_the_last_one(harvest, tmp_path):
    ids = set()
    for _ in range(2):
        assert harvest("s.xml", "-O", "urls.jsonl", "-s", f"{_CLOSING}=closing.json").returncode == 0
        ids.add(json.loads((tmp_path / "closing.json").read_bytes())["run"])
    assert len(ids) == 2
    assert [row["loc"] for row in lines(tmp_path / "urls.jsonl")] == URLS


@pytest.mark.quick
def test_a_device_may_be_named_twice(harvest):
    assert harvest("s.xml", "-O", "/dev/null:jsonl", "-s", f"{_CLOSING}=/dev/null").returncode == 0


def test_a_rejected_run_leaves_files_unchanged_even_without_the_addon(tmp_path):
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = theirs\n")
    (tmp_path / "theirs.py").write_text("SPIDER_MODULES = ['sitemap_harvest.spiders']\n")
    (tmp_path / "urls.jsonl").write_text("those of yesterday\n")
    run = forked.scrapy("crawl", "sitemap", "-a", "limt=3", "-O", "urls.jsonl", cwd=tmp_path)
    assert "argument limt: unknown argument; did you mean limit? Valid arguments: site, sites," in run.stderr
    assert (tmp_path / "urls.jsonl").read_text() == "those of yesterday\n"


@pytest.mark.parametrize(
    ("feeds", "words"),
    [
        pytest.param('{"a.jsonl": "jsonl"}', "the options of a.jsonl are 'jsonl'; they must be", id="text"),
        pytest.param('{"a.x": {"format": "jsonll"}}', "FEEDS: a.x: unknown format; did you mean jsonl?", id="format"),
        pytest.param(
            '{"a.jsonl": {"item_classes": ["sitemap_harvest.UrlEnty"]}}', "item_classes of a.jsonl: Module", id="class"
        ),
    ],
)
def test_feeds_that_scrapy_cannot_read_are_one_line(harvest, feeds, words):
    run = harvest("s.xml", "-s", f"FEEDS={feeds}")
    assert run.returncode == 2, run.stderr
    assert words in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param({"overwite": True}, "unknown option overwite; did you mean overwrite?", id="option"),
        pytest.param(
            {"item_classes": ["sitemap_harvest.SitemapRecord"]},
            "gets no items: its item_classes are not those of emit=urls; to add them, use emit=urls,sitemaps",
            id="class",
        ),
    ],
)
def test_what_is_probably_a_mistake_in_feeds_is_a_warning(harvest, options, words):
    run = harvest("s.xml", "-s", "FEEDS=" + json.dumps({"a.jsonl": {"format": "jsonl", **options}}))
    assert run.returncode == 0, run.stderr
    assert f"FEEDS: a.jsonl {words}".replace("jsonl unknown", "jsonl: unknown") in run.stderr
