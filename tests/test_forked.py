from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tests.forked import FORKSERVER, PRELOADED

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


def test_a_forked_process_has_imported_what_a_crawl_needs_and_no_reactor() -> None:
    ours, theirs = FORKSERVER.Pipe(duplex=False)
    process = FORKSERVER.Process(target=_print_modules, args=(theirs,))
    process.start()
    theirs.close()
    loaded = ours.recv()
    process.join()
    assert {*PRELOADED, "scrapy.core.scheduler"} <= loaded  # modules that are missing are skipped silently
    assert "twisted.internet.reactor" not in loaded


def _print_modules(pipe: Connection) -> None:
    pipe.send(set(sys.modules))
