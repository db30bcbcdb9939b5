"""The settings of a run, Scrapy's own and those of the package, checked before it begins."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from scrapy.settings import default_settings
from scrapy.utils.misc import load_object

from sitemap_harvest.config.settings import HarvestSettings
from sitemap_harvest.errors import OptionError
from sitemap_harvest.redact import without_login

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.settings import BaseSettings

_FRACTIONS = frozenset({"DNS_TIMEOUT", "DOWNLOAD_DELAY", "DOWNLOAD_TIMEOUT"})  # their defaults are whole numbers
_SWITCHES = frozenset({"TELNETCONSOLE_ENABLED"})  # the same
_DICTIONARIES = ("FEEDS", "ITEM_PIPELINES", "EXTENSIONS", "DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "ADDONS")
_LEVELS = ("CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG")


def checked_settings(settings: BaseSettings) -> HarvestSettings:
    """Return the settings of the package. Raises :exc:`OptionError` if one of these or of Scrapy's is invalid."""
    options = HarvestSettings.from_settings(settings)
    check_setting_types(settings)
    return options


def check_setting_types(settings: BaseSettings) -> None:
    """Raise :exc:`OptionError` if a setting of Scrapy has a value that Scrapy cannot read.

    Checks numbers, switches, dictionaries and the log level. ``None`` passes: for some settings it means no limit.
    """
    _check_dictionaries(settings)
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


def _check_dictionaries(settings: BaseSettings) -> None:
    for name in _DICTIONARIES:
        try:
            settings.getdict(name)
        except (TypeError, ValueError) as error:
            raise OptionError(f"{name} is {settings.get(name)!r}; it must be a dictionary") from error
    for uri, options in settings.getdict("FEEDS").items():
        if not isinstance(options, Mapping):
            raise OptionError(
                without_login(f"FEEDS: the options of {uri} are {options!r}; they must be a dictionary, such as ")
                + "{'format': 'jsonl'}"
            )
        for item_class in options.get("item_classes") or ():
            try:
                load_object(item_class)
            except (ImportError, NameError, TypeError, ValueError) as error:
                raise OptionError(without_login(f"FEEDS: item_classes of {uri}: {error}")) from error
