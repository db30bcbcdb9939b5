from __future__ import annotations

from unittest.mock import Mock

import pytest
from twisted.internet.defer import Deferred

from sitemap_harvest.crawl.connections import FewIdleConnections


@pytest.mark.parametrize("is_late", [False, True], ids=["after-the-last-connection", "before-it"])
def test_the_timeout_of_scrapy_and_the_end_of_the_last_connection_may_both_come(is_late):
    pool, connection, results = FewIdleConnections(Mock()), Mock(), []
    connection.abort.return_value = ended = Deferred()
    pool._connections = {"host": [connection]}
    closed = pool.closeCachedConnections()
    closed.addBoth(results.append)
    for one in (closed, ended) if is_late else (ended, closed):  # Scrapy's handler calls *closed* back
        one.callback(None)
    assert results == [None]
