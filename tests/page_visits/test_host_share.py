from __future__ import annotations

import pytest

from sitemap_harvest.page_visits.host_turns import host_share


@pytest.mark.parametrize(
    ("concurrency", "of_host", "sites", "share"),
    [
        pytest.param(16, 8, 1, 16, id="alone-it-has-all"),
        pytest.param(100, 8, 1, 16, id="no-more-than-twice-what-it-takes"),
        pytest.param(16, 8, 3, 6, id="its-share-rounded-up"),
        pytest.param(16, 8, 1000, 1, id="never-none"),
        pytest.param(16, 1, 1, 2, id="one-at-a-time-and-one-that-stands-ready"),
        pytest.param(0, 8, 5, 16, id="no-limit"),
        pytest.param(16, 0, 5, 1, id="a-host-that-takes-none"),
        pytest.param(16, 8, 0, 16, id="nobody-waits"),
    ],
)
def test_host_share(concurrency, of_host, sites, share):
    assert host_share(concurrency=concurrency, of_host=of_host, sites=sites) == share
