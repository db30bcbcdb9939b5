"""The closing record: the report of a run as one JSON object, for the program that started it."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

from sitemap_harvest.errors import OptionError
from sitemap_harvest.escape import ascii_json
from sitemap_harvest.files import check_place, path_of, put_file
from sitemap_harvest.redact import without_credentials

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.settings import BaseSettings

    from sitemap_harvest.model.run import RunReport
    from sitemap_harvest.reporting.json_log import RunContext

NAME = "closing record"
_SETTING = "SITEMAP_HARVEST_CLOSING"
_LONGEST = 16 * 1024 * 1024  # bytes of a record: more than its largest contents


def check(settings: BaseSettings, context: RunContext) -> Path | None:
    """Return the path of the record; ``None`` for standard output.

    Raises :exc:`OptionError` if it cannot be written there, or the path holds something
    else.
    """
    if (path := _path(settings, context)) is not None:
        check_place(_SETTING, path)
        _check_content(path)
    return path


def write(report: RunReport, settings: BaseSettings) -> None:
    """Write the record. Raises :exc:`OSError` and :exc:`OptionError`."""
    path = _path(settings, report)
    text = ascii_json(without_credentials(asdict(report)), default=_text) + "\n"
    if path is not None:
        _check_content(path)
        put_file(path, text.encode("ascii"))
    elif sys.__stdout__ is not None:
        sys.__stdout__.write(text)  # not sys.stdout, which Scrapy may have redirected to its log (LOG_STDOUT)
        sys.__stdout__.flush()


def _check_content(path: Path) -> None:
    """Raise :exc:`OptionError` if *path* holds anything but a record."""
    if not path.is_file():
        return
    with suppress(OSError, ValueError, AttributeError, RecursionError), path.open("rb") as file:
        if not (text := file.read(_LONGEST)) or json.loads(text).keys() >= {"format", "run", "verdict"}:
            return
    raise OptionError(f"{_SETTING}: {path} exists and is not a closing record; use a different file")


def _path(settings: BaseSettings, run: RunContext | RunReport) -> Path | None:
    if (template := str(settings.get(_SETTING))) == "-":
        return None
    return path_of(_SETTING, template, {"run": str(run.run), "job": run.job or str(run.run), "name": run.spider})


def _text(value: object) -> str:
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else str(value)
