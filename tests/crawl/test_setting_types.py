"""Scrapy's own settings are checked as Scrapy reads them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import scrapy
from scrapy.settings import Settings, default_settings

from sitemap_harvest.errors import OptionError
from sitemap_harvest.integration.default_settings import ALL
from sitemap_harvest.integration.setting_types import check_setting_types

READ = re.compile(r'\.get(bool|int|float)\(\s*"([A-Z_]+)"')


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("DOWNLOAD_TIMEOUT", "abc", "a number"),
        ("DOWNLOAD_TIMEOUT", "", "a number"),
        ("DOWNLOAD_DELAY", [1], "a number"),
        ("AUTOTHROTTLE_MAX_DELAY", "1s", "a number"),
        ("CONCURRENT_REQUESTS", "many", "a whole number"),
        ("CONCURRENT_REQUESTS", "1.5", "a whole number"),
        ("RETRY_TIMES", float("inf"), "a whole number"),
        ("HTTPCACHE_ENABLED", "maybe", "True or False"),
        ("TELNETCONSOLE_ENABLED", "yes", "True or False"),
        ("LOG_LEVEL", "LOUD", "one of CRITICAL, ERROR, WARNING, INFO, DEBUG"),
        ("LOG_LEVEL", "debug", "one of CRITICAL, ERROR, WARNING, INFO, DEBUG"),
        ("LOG_LEVEL", ["INFO"], "one of CRITICAL, ERROR, WARNING, INFO, DEBUG"),
        ("LOG_LEVEL", None, "one of CRITICAL, ERROR, WARNING, INFO, DEBUG"),
    ],
)
def test_a_value_that_scrapy_cannot_read_is_an_error(name: str, value: Any, accepted: str) -> None:
    with pytest.raises(OptionError) as raised:
        check_setting_types(Settings({name: value}))
    assert str(raised.value) == f"{name} is {value!r}; it must be {accepted}"


def test_what_scrapy_can_read_is_no_error() -> None:
    texts = {"DOWNLOAD_TIMEOUT": "1.5", "CONCURRENT_REQUESTS": " 8 ", "RETRY_PRIORITY_ADJUST": "-1"}
    switches = {"HTTPCACHE_ENABLED": "true", "COOKIES_ENABLED": "0", "TELNETCONSOLE_ENABLED": "False"}
    others = {"LOG_LEVEL": 10, "FEED_EXPORT_INDENT": None, "MY_TIMEOUT": "abc"}
    check_setting_types(Settings())
    check_setting_types(Settings({**ALL, **texts, **switches, **others}))


def test_each_setting_is_read_as_in_scrapy() -> None:
    sources = [path.read_text("utf-8") for path in Path(scrapy.__file__).parent.rglob("*.py")]
    kinds = {name: kind for source in sources for kind, name in READ.findall(source)}
    defaults = vars(default_settings)
    kinds = {name: kind for name, kind in kinds.items() if isinstance(defaults.get(name), int | float)}
    assert len(kinds) > 50
    samples = {"bool": "True", "int": "7", "float": "7.5"}
    wrong = {"bool": "7.5", "int": "7.5", "float": "True"}
    check_setting_types(Settings({name: samples[kind] for name, kind in kinds.items()}))
    for name, kind in kinds.items():
        with pytest.raises(OptionError):
            check_setting_types(Settings({name: wrong[kind]}))
