"""The closing record: what a run has come to, as one JSON object for who has started it."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.extensions.feedexport import FeedExporter

from sitemap_harvest import __version__
from sitemap_harvest.crawl.watching.hidden import without_credentials
from sitemap_harvest.crawl.watching.outputs import Outputs
from sitemap_harvest.crawl.watching.put_file import check_place, path_of, put_file
from sitemap_harvest.crawl.watching.run_end import AtRunEnd, End, peak_memory
from sitemap_harvest.errors import OptionError, without_login
from sitemap_harvest.escape import ascii_json
from sitemap_harvest.model.closing import ClosingRecord, Counts, Output

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedSlot
    from scrapy.settings import BaseSettings

    from sitemap_harvest.crawl.run import Harvest
    from sitemap_harvest.crawl.watching.run_mark import Mark

SETTING = "SITEMAP_HARVEST_CLOSING"
_LONGEST = 16 * 1024 * 1024  # bytes of a record: more than all that it may tell
_STANDARD_OUTPUT = "-"


class ClosingRecords(AtRunEnd):
    """Scrapy extension: writes the closing record of a run."""

    def __init__(self, crawler: Crawler, harvest: Harvest) -> None:
        super().__init__(crawler, harvest)
        self._outputs = Outputs()  # for a feed exporter that is not ours

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the extension, and let it hear of the outputs."""
        extension = super().from_crawler(crawler)
        crawler.signals.connect(extension.output_closed, signal=signals.feed_slot_closed)
        return extension

    def output_closed(self, slot: FeedSlot) -> None:
        """Note that an output was closed."""
        self._known_outputs().note_closed(slot)

    def ended(self, end: End) -> None:
        """Write the record. Where that is not possible, the log has an error."""
        try:
            tell(end, self.crawler.settings, arguments=self.harvest.given.all, outputs=self._known_outputs().told())
        except (OSError, OptionError) as error:
            if SETTING not in (end.refused or ""):  # else that is why it was refused
                self.harvest.logger.error("The closing record cannot be written: %s", error)  # noqa: TRY400 - one line

    def _known_outputs(self) -> Outputs:
        try:
            outputs = getattr(self.crawler.get_extension(FeedExporter), "outputs", None)
        except RuntimeError:  # Scrapy could not make them
            outputs = None
        return outputs if isinstance(outputs, Outputs) else self._outputs


def check(settings: BaseSettings, mark: Mark) -> Path | None:
    """Return where the record of the run of *mark* goes; ``None`` if to standard output.

    Raises :exc:`OptionError` if it cannot be written there, or something else is there.
    """
    if (path := _path(settings, mark)) is not None:
        check_place(SETTING, path)
        _check_content(path)
    return path


def _check_content(path: Path) -> None:
    if path.is_file() and not _is_record(path):
        raise OptionError(f"{SETTING}: {path} is there, and no closing record; give it a file of its own")


def _is_record(path: Path) -> bool:
    """Whether a record is at *path*, or nothing that could be lost."""
    try:
        with path.open("rb") as file:
            text = file.read(_LONGEST)
        return not text or json.loads(text).keys() >= {"format", "run", "verdict"}
    except (OSError, ValueError, AttributeError, RecursionError):
        return False


def tell(
    end: End,
    settings: BaseSettings,
    *,
    arguments: Mapping[str, Any],
    outputs: Iterable[Output] = (),
) -> None:
    """Write the record of *end* to where the *settings* say. Raises :exc:`OSError` and :exc:`OptionError`."""
    path = _path(settings, end.mark)
    store = arguments.get("store") or settings.get("SITEMAP_HARVEST_STORE")
    record = record_of(end, arguments=arguments, outputs=outputs, store=str(store) if store else None)
    text = ascii_json(without_credentials(asdict(record)), default=_plain) + "\n"
    if path is not None:
        _check_content(path)
        put_file(path, text.encode("ascii"))
    elif sys.__stdout__ is not None:
        sys.__stdout__.write(text)  # not sys.stdout, which Scrapy may have turned into its log (LOG_STDOUT)
        sys.__stdout__.flush()


def _path(settings: BaseSettings, mark: Mark) -> Path | None:
    """Return where the record is written; ``None`` if to standard output."""
    template = str(settings.get(SETTING))
    if template == _STANDARD_OUTPUT:
        return None
    run = str(mark.run)
    return path_of(SETTING, template, {"run": run, "job": mark.job or run, "name": mark.spider})


def record_of(
    end: End, *, arguments: Mapping[str, Any], outputs: Iterable[Output] = (), store: str | None = None
) -> ClosingRecord:
    """Return the closing record of *end*."""
    summary = end.summary
    return ClosingRecord(
        version=__version__,
        run=str(end.mark.run),
        job=end.mark.job,
        spider=end.mark.spider,
        arguments={name: _given(value, end) for name, value in arguments.items() if not name.startswith("_")},
        started_at=end.started_at,
        ended_at=end.ended_at,
        seconds=end.seconds,
        finish_reason=end.stats.get("finish_reason"),
        verdict=end.verdict,
        exit_code=end.verdict.exit_code,
        refused=end.refused,
        counts=Counts(
            documents={str(outcome): tally.documents for outcome, tally in summary.tallies.items()},
            urls=summary.urls,
            dropped=_counted(summary.dropped),
            sites=_counted(summary.sites),
            changes=_counted(summary.changes),
            problems=_counted(summary.problems),
            errors=end.errors,
            queued=summary.queued,
        ),
        failed_sites=tuple(summary.failed_sites),
        outputs=tuple(outputs),
        store=store,
        snapshots=tuple(summary.snapshots),
        peak_memory_bytes=peak_memory(),
    )


def _counted(counts: Mapping[Any, int]) -> dict[str, int]:
    return {str(word): count for word, count in counts.items() if count}


def _given(value: Any, end: End) -> Any:
    if isinstance(value, list | tuple):
        return [_given(one, end) for one in value]
    # Where it is what the run was refused for, nobody knows where in an address the login ends.
    return without_login(str(value)) if end.refused else str(value)


def _plain(value: object) -> str:
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else str(value)
