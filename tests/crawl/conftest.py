"""Real crawls of real (local) sites, each in a separate process."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.crawl.crawling import Runner
from tests.crawl.storing import Keeping
from tests.site import Site

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.server import Answers


@pytest.fixture
def serve() -> Iterator[Callable[..., Site]]:
    """Return a function that starts a site with the given pages; it is stopped at the end of the test."""
    with ExitStack() as stack:

        def start(
            pages: dict[str, Answers] | None = None, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
        ) -> Site:
            return stack.enter_context(Site(pages, host=host, tls=tls))

        yield start


@pytest.fixture
def crawl(tmp_path: Path) -> Runner:
    """Return a function that runs ``scrapy crawl`` with its output below *tmp_path*."""
    return Runner(tmp_path)


@pytest.fixture
def keep(crawl: Runner, tmp_path: Path) -> Keeping:
    """Return a function that crawls a site into a store below *tmp_path* and reports the changes."""
    return Keeping(crawl, tmp_path / "snapshots")
