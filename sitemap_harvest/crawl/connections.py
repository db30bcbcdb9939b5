"""Connections that wait to be used again: a few of them, however many hosts a run asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from twisted.web.client import HTTPConnectionPool

if TYPE_CHECKING:
    from collections.abc import Hashable

_MOST_IDLE = 100  # of all hosts; a process may often have no more than 1,024 files open, and a connection is one


class FewIdleConnections(HTTPConnectionPool):
    """Twisted's pool, which keeps each connection open for four minutes, but closes what has waited longest."""

    @classmethod
    def like(cls, pool: HTTPConnectionPool) -> Self:
        """Return a pool that makes its connections as *pool* does."""
        made = cls(pool._reactor, persistent=pool.persistent)  # noqa: SLF001 - Twisted's pool tells it to nobody
        made.maxPersistentPerHost = pool.maxPersistentPerHost
        made.retryAutomatically = pool.retryAutomatically
        made._factory = pool._factory  # noqa: SLF001 - as Scrapy does
        return made

    def _putConnection(self, key: Hashable, connection: Any) -> None:  # noqa: N802 - Twisted's name
        super()._putConnection(key, connection)  # type: ignore[no-untyped-call]  # Twisted has no types for it
        while len(self._timeouts) > _MOST_IDLE:
            ending = next(iter(self._timeouts.values()))  # they stand in the order in which they came
            end, arguments = ending.func, ending.args
            ending.cancel()
            end(*arguments)
