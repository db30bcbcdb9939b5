"""Checks of the outputs of a run before it begins."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.extensions import feedexport
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object
from w3lib.url import file_uri_to_path

from sitemap_harvest.config.arguments import EMIT
from sitemap_harvest.errors import ArgumentError, OptionError, probably_meant, there_is_no
from sitemap_harvest.redact import without_login

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from sitemap_harvest.config.arguments import RunConfig
    from sitemap_harvest.discovery.candidate import Candidate
    from sitemap_harvest.model import Batch


logger = logging.getLogger(__name__)

_OPTIONS = (
    "format", "batch_item_count", "encoding", "fields", "indent", "item_classes", "item_export_kwargs", "item_filter",
    "overwrite", "postprocessing", "store_empty", "uri_params",
)  # fmt: skip


def check_outputs(crawler: Crawler, config: RunConfig, *, sites: object, reports: Mapping[str, Path | None]) -> None:
    """Raise :exc:`ArgumentError` or :exc:`OptionError` if the settings of *crawler* do not allow the run of *config*.

    *sites* is the argument of that name, *reports* has the files of the reports.
    """
    settings, feeds = crawler.settings, crawler.settings.getdict("FEEDS")
    for uri, options in feeds.items() if len(config.emit) > 1 else ():  # their columns are different
        has_filter = options.get("item_classes") or options.get("item_filter")
        if not has_filter and not _holds_all_kinds(settings, str(options.get("format"))):
            given = ",".join(config.emit)
            each = json.dumps({f"{name}.jsonl": _feed_of(kind) for name, kind in config.emit.items()})
            message = (
                f"the feed {uri} would contain several kinds of items ({given}); choose one kind with emit, write a "
                f"workbook (-O FILE.xlsx), or set item_classes for each feed, which the setting FEEDS can, but not "
                f"-o and -O: FEEDS='{each}'"
            )
            raise ArgumentError("emit", given, " or ".join(EMIT), message=message)
    _check_encodings(settings)
    _check_options(settings, config)
    if feeds or settings["FEED_URI"]:
        enabled = build_component_list(settings.get_component_priority_dict_with_base("EXTENSIONS"))
        is_wanted = any(issubclass(load_object(extension), feedexport.FeedExporter) for extension in enabled)
        if is_wanted and crawler.get_extension(feedexport.FeedExporter) is None:
            raise OptionError("FEEDS: Scrapy cannot write to one of the outputs; see its error message in the log")
    _check_conflicts(feeds, config.candidates, sites=sites, reports=reports)


def _holds_all_kinds(settings: BaseSettings, name: str) -> bool:
    """Whether a file in the format *name* can hold several kinds of items."""
    exporter = settings.getwithbase("FEED_EXPORTERS").get(name)
    return exporter is not None and getattr(load_object(exporter), "holds_all_kinds", False)


def _feed_of(kind: type[Batch[Any]]) -> dict[str, Any]:
    """Return the options of a feed for items of *kind* alone."""
    return {"format": "jsonl", "overwrite": True, "item_classes": [f"sitemap_harvest.{kind.row_type.__name__}"]}


def _check_options(settings: BaseSettings, config: RunConfig) -> None:
    """Raise :exc:`OptionError` for an unknown format, and log what is probably a mistake."""
    formats = settings.getwithbase("FEED_EXPORTERS")
    emitted = [kind.row_type for kind in config.emit.values()]
    for uri, options in settings.getdict("FEEDS").items():
        shown = without_login(f"FEEDS: {uri}")
        if (name := options.get("format")) is not None and name not in formats:
            raise OptionError(f"{shown}: {there_is_no('format', str(name), filter(None, formats))}")
        for option in options:
            if option not in _OPTIONS and (meant := probably_meant(str(option), _OPTIONS)):
                logger.warning("%s: unknown option %s; did you mean %s?", shown, option, meant)
        classes = [load_object(one) for one in options.get("item_classes") or ()]
        others = [name for name, kind in EMIT.items() if kind.row_type in classes]
        if len(others) == len(classes) > 0 and not any(issubclass(one, tuple(classes)) for one in emitted):
            given, missing = ",".join(config.emit), ",".join([*config.emit, *others])
            logger.warning(
                "%s gets no items: its item_classes are not those of emit=%s; to add them, use emit=%s",
                shown, given or "none", missing,
            )  # fmt: skip


def _check_encodings(settings: BaseSettings) -> None:
    given = {"FEED_EXPORT_ENCODING": settings["FEED_EXPORT_ENCODING"]}
    given |= {f"FEEDS: encoding of {uri}": feed.get("encoding") for uri, feed in settings.getdict("FEEDS").items()}
    for name, encoding in given.items():
        try:
            "".encode(encoding or "utf-8")
        except LookupError as error:
            message = f"{name} is {encoding!r}; it must be an encoding, such as utf-8"
            raise OptionError(without_login(message)) from error


def _check_conflicts(
    feeds: Iterable[object], candidates: Iterable[Candidate], *, sites: object, reports: Mapping[str, Path | None]
) -> None:
    """Raise :exc:`OptionError` if an output of the run, or a report, is an input or the same file as another one."""
    inputs = [file_uri_to_path(one.url) for one in candidates if one.url.startswith("file:")]
    users = {_real(path): "an input of the run" for path in inputs}
    files = sites if isinstance(sites, list) else [] if sites is None else [sites]
    users |= {_real(str(file)): f"the argument sites={str(file)!r}" for file in files}
    outputs = [(f"the output {uri}", uri) for uri in map(str, feeds) if urlsplit(uri).scheme in {"", "file"}]
    for user, name in [*outputs, *reports.items()]:
        if name is None:
            continue
        path = _real(file_uri_to_path(name) if isinstance(name, str) and name.startswith("file:") else name)
        if path.exists() and not path.is_file():  # a device or a pipe, which several outputs may share
            continue
        if (other := users.setdefault(path, user)) != user:
            raise OptionError(without_login(f"{user} is the same file as {other}; use a different file for each"))


def _real(path: str | Path) -> Path:
    return Path(os.path.realpath(path))
