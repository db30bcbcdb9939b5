from __future__ import annotations

from unittest.mock import Mock

import pytest
from twisted.internet.defer import Deferred

from sitemap_harvest.integration.download_handler import FewIdleConnections

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("is_late", [False, True], ids=["after-the-last-connection", "before-it"])
def test_the_timeout_of_scrapy_and_the_end_of_the_last_connection_may_coincide(is_late):
    row_store, connection, results = FewIdleConnections(Mock()), Mock(), []
    connection.abort.return_value = ended = Deferred()
    row_store._connections = {"host": [connection]}
    closed = row_store.closeCachedConnections()
    closed.addBoth(results.append)
    for one in (closed, ended) if is_late else (ended, closed):  # Scrapy's handler calls *closed* again
        one.callback(None)
    assert results == [None]
