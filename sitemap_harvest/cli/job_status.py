"""``sitemap-harvest jobs status``: the state of the queue, as lines, JSON, metrics or a page."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rich.live import Live
from rich.text import Text

from sitemap_harvest.cli import output
from sitemap_harvest.cli.closed_pipe import write
from sitemap_harvest.engine.exit_codes import RunOutcome
from sitemap_harvest.escape import ascii_json, visible
from sitemap_harvest.files import put_file
from sitemap_harvest.jobs import status

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from sitemap_harvest.jobs.job_queue import JobQueue

_WATCH_SECONDS = 2.0


def prepared(opts: Namespace) -> Callable[[JobQueue], RunOutcome]:
    """Return the function that shows the state of the queue."""
    return lambda queue: _show(opts, queue)


def _show(opts: Namespace, queue: JobQueue) -> RunOutcome:
    if opts.watch:
        _watch(queue)
    if opts.sites or opts.failed:
        for site in queue.sites(failed=opts.failed):
            output.say(str(site))
        return RunOutcome.WHOLE
    found = queue.status()
    if opts.html:
        output.make_folder("--html", opts.html, opts.html)
        put_file(Path(opts.html), status.as_html(found).encode())
    elif opts.prometheus:
        write(status.as_prometheus(found), sys.stdout)
    elif opts.json:
        write(f"{ascii_json(status.as_json(found))}\n", sys.stdout)
    else:
        for line in status.as_lines(found):
            output.say(line)
    return RunOutcome.WHOLE


def _watch(queue: JobQueue) -> NoReturn:
    """Show the state of the queue again and again, until Ctrl-C."""

    def lines() -> Text:
        return Text("\n".join(map(visible, status.as_lines(queue.status()))))

    with Live(lines(), console=output.PipeConsole(), auto_refresh=False, screen=sys.stdout.isatty()) as live:
        while True:
            time.sleep(_WATCH_SECONDS)
            live.update(lines(), refresh=True)
