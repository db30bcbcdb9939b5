"""Blocks of a site share what its host may get."""

from __future__ import annotations

import pytest
from scrapy.settings import Settings

from sitemap_harvest.config.settings import HarvestSettings
from sitemap_harvest.jobs.crawl_settings import most_sharers, share


@pytest.mark.parametrize(
    ("per_host", "wanted", "most"), [(8, 1, 1), (8, 4, 4), (8, 16, 8), (1, 4, 1), (0, 4, 4)]
)  # fmt: skip
def test_there_are_no_more_blocks_than_requests_at_a_time(per_host, wanted, most):
    assert most_sharers(Settings({"CONCURRENT_REQUESTS_PER_DOMAIN": per_host}), wanted) == most


def test_blocks_together_send_no_more_requests_than_one_job():
    settings = Settings(
        {
            "CONCURRENT_REQUESTS_PER_DOMAIN": "9",
            "DOWNLOAD_DELAY": "0.5",
            "AUTOTHROTTLE_TARGET_CONCURRENCY": 2,
            "DOWNLOAD_SLOTS": {"a.example": {"concurrency": 2, "delay": 3, "randomize_delay": False}, "b.example": {}},
        }
    )
    share(settings, HarvestSettings(max_documents=50_000, max_site_bytes=10), 4)
    assert (settings["SITEMAP_HARVEST_MAX_DOCUMENTS"], settings["SITEMAP_HARVEST_MAX_SITE_BYTES"]) == (12_500, 3)
    names = ("CONCURRENT_REQUESTS_PER_DOMAIN", "DOWNLOAD_DELAY", "AUTOTHROTTLE_TARGET_CONCURRENCY", "DOWNLOAD_SLOTS")
    assert [settings[name] for name in names] == [
        2,
        2.0,
        0.5,
        {"a.example": {"concurrency": 1, "delay": 12, "randomize_delay": False}, "b.example": {}},
    ]
    assert (settings["AUTOTHROTTLE_START_DELAY"], settings["AUTOTHROTTLE_MAX_DELAY"]) == (20.0, 240.0)


@pytest.mark.parametrize(("per_host", "own"), [(4, 1), (0, 0), (17, 2)])
def test_each_block_sends_one_request_at_a_time_at_least(per_host, own):
    settings = Settings({"CONCURRENT_REQUESTS_PER_DOMAIN": per_host})
    share(settings, HarvestSettings(), 8)
    assert settings["CONCURRENT_REQUESTS_PER_DOMAIN"] == own
    assert settings["SITEMAP_HARVEST_MAX_SITE_BYTES"] is None
