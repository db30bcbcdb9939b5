"""The process from which the processes of jobs are forked imports this module: what they need is imported once."""

from __future__ import annotations

import gc
import signal
from contextlib import suppress
from importlib import import_module

import pyarrow as pa
from scrapy.settings import default_settings
from scrapy.utils.misc import load_object
from scrapy.utils.versions import get_versions

from sitemap_harvest.snapshots.store import object_store

_OURS = ("addon", "engine.snapshot_session", "integration.download_handler", "integration.items.delivery",
         "jobs.job_process")  # fmt: skip


def _preload() -> None:
    """Import what a job imports when it begins, except for the reactor, which each process needs for itself."""
    for name in _OURS:
        import_module(f"sitemap_harvest.{name}")
    for value in vars(default_settings).values():
        for path in [*value, *value.values()] if isinstance(value, dict) else [value]:
            if isinstance(path, str) and path.startswith("scrapy.") and not path.endswith(".reactor"):
                with suppress(ImportError):  # of packages that are optional
                    load_object(path)
    object_store.preload()
    get_versions()  # for the log: Scrapy looks for them again at each start, then in a cache
    pa.scalar(None)  # imports pandas, if it is installed: once, and not in each process


signal.signal(signal.SIGTERM, signal.SIG_IGN)  # systemd sends it to all processes; the worker ends those of its jobs
_preload()
gc.collect()
gc.freeze()  # so that collections in the processes do not copy the memory that they share
