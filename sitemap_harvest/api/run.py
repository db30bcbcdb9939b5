"""The function ``harvest()``: checks its arguments, runs the crawl in a process, and returns its result."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from inspect import Parameter, Signature, signature
from typing import Any

from sitemap_harvest.api.crawl_process import packed, run_job
from sitemap_harvest.api.result import HarvestProcessError, HarvestResult, ResultFolder
from sitemap_harvest.config.arguments import ARGUMENTS, RunConfig, check_filters, check_names, check_store, plain
from sitemap_harvest.config.named_targets import arguments_of, notes_on
from sitemap_harvest.config.settings import HarvestSettings
from sitemap_harvest.engine.exit_codes import RunOutcome
from sitemap_harvest.errors import ArgumentError, HarvestError, OptionError

logger = logging.getLogger(__name__)

_CONSUMER = "consumer"
_ARGUMENTS = {name: argument for name, argument in ARGUMENTS.items() if name != _CONSUMER}
_EMIT = ("urls", "sitemaps", "sites")
_TARGETS = "a text or a path, or several"
_STORE, _CLOSING = "SITEMAP_HARVEST_STORE", "SITEMAP_HARVEST_CLOSING"
_FILES = frozenset({"FEEDS", _CLOSING})


def harvest(
    targets: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    *,
    settings: Mapping[str, Any] | None = None,
    **arguments: Any,
) -> HarvestResult:
    """Harvest *targets*, and return the result when the run has ended.

    *targets*: a site, the URL of a sitemap, or a file, or several, as for the command ``crawl``. *arguments* are
    the arguments of the spider but ``consumer``, such as ``since="7d"`` or ``store="snapshots"``; ``True`` and
    ``False`` are the ``yes`` and ``no`` of the arguments that take them. *settings* are settings of Scrapy and of
    this package; of the settings of a project (``get_project_settings()``), ``FEEDS`` and
    ``SITEMAP_HARVEST_CLOSING`` have no effect. ``emit`` is ``urls,sitemaps,sites`` unless given, and also
    ``changes`` with a store and ``pages`` with ``probe``; pipelines then get only the URLs.

    The run has its own process. Its log goes to :mod:`logging`, so only warnings are shown unless you configure it.
    Exceptions such as :exc:`KeyboardInterrupt` end the run. Raises :exc:`ArgumentError` and :exc:`OptionError` for an
    invalid argument or setting, and :exc:`HarvestProcessError` if the process was killed or has failed. Failed
    documents and sites raise no exception: see :attr:`HarvestResult.complete` and :attr:`HarvestResult.summary`.
    """
    options = _checked_settings(settings)
    if (consumer := arguments.pop(_CONSUMER, None)) is not None:
        message = "argument consumer: a result is temporary, and is no delivery; use baseline, or a run with an output"
        raise ArgumentError(_CONSUMER, consumer, "given to a run with an output", message=message)
    check_names(arguments, _ARGUMENTS)
    given = _arguments(targets, arguments, has_store=bool(options.get(_STORE)))
    config = RunConfig.of(given)
    for note in notes_on(given, arguments):
        logger.info("%s", note)
    check_filters(config)
    check_store(config, config.store or HarvestSettings.from_settings(options).store)
    folder = ResultFolder()
    try:
        job = _job(given, options, config, folder)
        if arguments.get("emit") is None:  # pipelines get what they get in a crawl
            job["without_pipelines"] = [kind for kind in config.emit if kind != "urls"]
        code, log = run_job(packed(job))
    except BaseException:
        folder.remove()
        raise
    if code == RunOutcome.WRONG_USAGE.exit_code:
        folder.remove()
        raise OptionError(log.rpartition("\n")[2])
    result = HarvestResult(folder, config.emit)
    if code != 0 or result.was_killed:
        raise HarvestProcessError(_failure(code, log), log=log, result=result)
    report = result.summary
    if report.refused:
        result.close()
        raise HarvestError(report.refused)
    if report.finish_reason == "output_failed":
        message = f"the result could not be written to {folder.path}; set TMPDIR to a folder on a larger disk"
        if config.archive is not None:
            message = f"the archive {config.archive} could not be written, or {message.removeprefix('the ')}"
        raise HarvestProcessError(message, log=log, result=result)
    return result


def _job(
    given: Mapping[str, Any], options: Mapping[str, Any], config: RunConfig, folder: ResultFolder
) -> dict[str, Any]:
    return {
        "arguments": given,
        "settings": options,
        "files": {kind: str(folder.file(kind)) for kind in config.emit},
        "without_pipelines": [],
        "folder": str(folder.path),
        "closing": str(folder.report),
        "log_level": min(logging.INFO, logger.getEffectiveLevel()),
    }


def _signature() -> Signature:
    """Return the signature with the spider's arguments by name, for notebooks and ``help()``."""
    own = [one for one in signature(harvest).parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
    defaults = {name: argument.default for name, argument in _ARGUMENTS.items()}
    defaults["emit"] = ",".join(_EMIT)
    named = [Parameter(name, Parameter.KEYWORD_ONLY, default=default) for name, default in defaults.items()]
    return Signature([*own, *named], return_annotation="HarvestResult")


setattr(harvest, "__signature__", _signature())  # noqa: B010 - functions have no such attribute for mypy


def _checked_settings(settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return *settings* as a dictionary; of a ``Settings`` object of Scrapy, those that are not Scrapy's defaults.

    The files that a project writes in its runs are not those of this run.
    """
    if settings is None:
        return {}
    if not isinstance(settings, Mapping):
        raise OptionError(f"settings is {settings!r}; it must be a dictionary of names and values")
    options = dict(settings)
    if (priority := getattr(settings, "getpriority", None)) is not None:
        options = {name: value for name, value in settings.items() if priority(name) and name not in _FILES}
    elif _CLOSING in settings:
        raise OptionError(f"{_CLOSING} cannot be set here: the attribute summary of the result has the closing record")
    HarvestSettings.from_settings(options)
    return options


def _arguments(targets: Any, arguments: Mapping[str, Any], *, has_store: bool) -> dict[str, Any]:
    """Return the arguments of the spider."""
    if isinstance(targets, (str, os.PathLike)):
        targets = [targets]
    elif not isinstance(targets, Iterable) or isinstance(targets, bytes):
        raise ArgumentError("targets", targets, _TARGETS)
    for target in (targets := list(targets)):
        if not isinstance(target, (str, os.PathLike)):
            raise ArgumentError("targets", target, _TARGETS)
    given = {name: plain(name, value) for name, value in arguments.items() if value is not None}
    given = arguments_of([str(os.fspath(target)) for target in targets], given)
    kinds = {"changes": has_store or "store" in given, "pages": "probe" in given}
    given.setdefault("emit", [*_EMIT, *(kind for kind, is_emitted in kinds.items() if is_emitted)])
    return given


def _failure(code: int, log: str) -> str:
    how = f"was killed by signal {-code}" if code < 0 else f"has failed with exit code {code}"
    return f"the process of the run {how}; the last lines of its log:\n{log or '(none)'}"
