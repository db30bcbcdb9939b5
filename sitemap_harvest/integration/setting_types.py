"""The types of Scrapy's own settings, checked before Scrapy reads them deep inside a run."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.settings import default_settings

from sitemap_harvest.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.settings import BaseSettings

_FRACTIONS = frozenset({"DNS_TIMEOUT", "DOWNLOAD_DELAY", "DOWNLOAD_TIMEOUT"})  # their defaults are whole numbers
_SWITCHES = frozenset({"TELNETCONSOLE_ENABLED"})  # the same
_LEVELS = ("CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG")


def check_setting_types(settings: BaseSettings) -> None:
    """Raise :exc:`OptionError` if a number, a switch or the log level of Scrapy has a value that Scrapy cannot read.

    ``None`` passes: for some settings it means no limit.
    """
    for name, default in vars(default_settings).items():
        if not name.isupper() or not isinstance(default, int | float) or (value := settings.get(name)) is None:
            continue
        read: Callable[[str], object]
        if isinstance(default, bool) or name in _SWITCHES:
            read, accepted = settings.getbool, "True or False"
        elif isinstance(default, float) or name in _FRACTIONS:
            read, accepted = settings.getfloat, "a number"
        else:
            read, accepted = settings.getint, "a whole number"
        try:
            read(name)
        except (TypeError, ValueError, OverflowError) as error:
            raise OptionError(f"{name} is {value!r}; it must be {accepted}") from error
    level = settings.get("LOG_LEVEL")
    if not isinstance(level, int) and level not in list(logging.getLevelNamesMapping()):
        raise OptionError(f"LOG_LEVEL is {level!r}; it must be one of {', '.join(_LEVELS)}")
