"""``HarvestResult``: what ``harvest()`` returns, and the temporary folder that holds it."""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from contextlib import suppress
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.api.result_display import result_as_html, result_as_text
from sitemap_harvest.api.table import ResultTable
from sitemap_harvest.config.arguments import EMIT
from sitemap_harvest.errors import HarvestError
from sitemap_harvest.model import (
    CATALOGUE,
    Batch,
    Change,
    Problem,
    SitemapRecord,
    SiteRecord,
    UrlEntry,
    arrow_schema,
)
from sitemap_harvest.model.run import Counts, FailedDocument, FailedSite, KeptSnapshot, Output, RunReport

if TYPE_CHECKING:
    from collections.abc import Mapping

_PARTS = {
    "failed_sites": FailedSite,
    "failed_documents": FailedDocument,
    "outputs": Output,
    "snapshots": KeptSnapshot,
}
WHOLE = "whole"
"""The result of a run that found URLs, and in which nothing failed."""


class HarvestProcessError(HarvestError):
    """The process of :func:`~sitemap_harvest.harvest` was killed or has failed, so the run is incomplete."""

    def __init__(self, message: str, *, log: str, result: HarvestResult) -> None:
        super().__init__(message)
        self.log = log  #: The last lines of its log.
        self.result = result  #: What it had harvested until then. Missing if the exception comes from another process.

    def __reduce__(self) -> tuple[Any, ...]:
        make, given, state = super().__reduce__()
        return make, given, {name: value for name, value in state.items() if name != "result"}


class ProblemBatch(Batch[Problem]):
    """Problems of documents as columns."""

    row_type = Problem


class ResultFolder:
    """A temporary folder, which is removed when nothing refers to it, or when Python ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="sitemap_harvest-"))
        self.remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a result of harvest() cannot be pickled, because its files are removed with it; "
            "return a table of it, such as result.urls.to_arrow() or to_pandas(), or write it to a file"
        )

    @property
    def report(self) -> Path:
        """The closing record of the run."""
        return self.path / "closing.json"

    def file(self, kind: str) -> Path:
        """Return the file of the records of *kind*."""
        return self.path / f"{kind}.arrow"

    def read(self, kind: str) -> pa.Table:
        """Return the records of *kind*, mapped into memory; of a file that is cut, those in its whole batches.

        Raises :exc:`HarvestError` if the folder was removed.
        """
        if not self.remove.alive:
            raise HarvestError("the result was closed, and its files are removed")
        schema, batches = EMIT[kind].schema(), []
        with suppress(pa.ArrowInvalid, OSError):
            reader = pa.ipc.open_stream(pa.memory_map(str(self.file(kind))))
            schema = reader.schema
            batches.extend(reader)
        return pa.Table.from_batches(batches, schema)


class HarvestResult:
    """The result of a run: tables on disk, and its summary.

    The files are removed when the result and its tables are no longer used, by :meth:`close`, or at the end of a
    ``with`` block.
    """

    def __init__(self, folder: ResultFolder, kinds: Mapping[str, type[Batch[Any]]]) -> None:
        """Read the result in *folder* of a run that has emitted *kinds*."""
        self._folder = folder
        self._kinds = kinds

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return result_as_text(self)

    def _repr_html_(self) -> str:
        return result_as_html(self)

    def close(self) -> None:
        """Remove the files. The tables can no longer be read; data frames that were made of them can."""
        for table in self.tables.values():
            table.unload()
        self._folder.remove()

    @cached_property
    def tables(self) -> Mapping[str, ResultTable[Any]]:
        """The tables by kind, in the order of the argument ``emit``; ``problems`` if there are ``sitemaps``."""
        tables: dict[str, ResultTable[Any]] = {
            kind: ResultTable(kind, batch_type, partial(self._folder.read, kind))
            for kind, batch_type in self._kinds.items()
        }
        if (sitemaps := tables.get("sitemaps")) is not None:
            tables["problems"] = ResultTable("problems", ProblemBatch, partial(_problems, sitemaps))
        return tables

    def __getattr__(self, name: str) -> ResultTable[Any]:
        """Return the table of another kind, such as ``findings``."""
        if name in EMIT:
            return self._of_kind(name)
        known = "" if name.startswith("_") else f"; it has {', '.join(dir(self))}"
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{known}")

    def __dir__(self) -> list[str]:
        """Return the public attributes, and the tables."""
        tables = {*EMIT, "problems"}  # of other kinds, there is none
        return [*self.tables, *(name for name in dir(type(self)) if name[0] != "_" and name not in tables)]

    def _of_kind(self, kind: str) -> ResultTable[Any]:
        if kind in self.tables:
            return self.tables[kind]
        needed = "sitemaps" if kind == "problems" else kind
        store = ", and a store" if kind in {"changes", "summaries"} else ""
        raise HarvestError(f"the run has not emitted {kind}: add {needed} to the argument emit{store}")

    @property
    def urls(self) -> ResultTable[UrlEntry]:
        """The URLs: one :class:`UrlEntry` for each time that a document lists one."""
        return self._of_kind("urls")

    @property
    def sitemaps(self) -> ResultTable[SitemapRecord]:
        """The documents, read or not: one :class:`SitemapRecord` each."""
        return self._of_kind("sitemaps")

    @property
    def problems(self) -> ResultTable[Problem]:
        """The problems of the documents: one :class:`Problem` for each document and code, and its ``severity``."""
        return self._of_kind("problems")

    @property
    def sites(self) -> ResultTable[SiteRecord]:
        """The targets: one :class:`SiteRecord` each."""
        return self._of_kind("sites")

    @property
    def changes(self) -> ResultTable[Change]:
        """The changes since the last snapshot, of a run with a store: one :class:`Change` each."""
        return self._of_kind("changes")

    @cached_property
    def _report(self) -> RunReport | None:
        try:
            record = json.loads(self._folder.report.read_bytes())
        except FileNotFoundError:
            return None
        own = self._folder.path.as_uri().partition(":")[2]
        record["outputs"] = [one for one in record["outputs"] if not one["uri"].startswith(f"stream:{own}")]
        return _report_of(record)

    @property
    def was_killed(self) -> bool:
        """Whether its process was killed, or failed, before it had a summary."""
        return self._report is None

    @property
    def summary(self) -> RunReport:
        """The counts of the run, and what failed. Raises :exc:`HarvestError` if there is none."""
        if self._report is None:
            raise HarvestError("the run has no summary, because its process was killed or has failed")
        return self._report

    @property
    def complete(self) -> bool:
        """Whether URLs were found, and nothing failed. A reached ``limit`` is no failure: the site may list more."""
        return not self.was_killed and self.summary.verdict == WHOLE


def _problems(sitemaps: ResultTable[Any]) -> pa.Table:
    """Return the problems of all documents, with their severities."""
    schema = arrow_schema(Problem)
    lists = sitemaps["problems"].combine_chunks()
    table = pa.Table.from_struct_array(pc.list_flatten(lists)).cast(schema)
    severities = pa.array([CATALOGUE[code].severity for code in table.column("code").to_pylist()], pa.string())
    return table.add_column(1, "severity", severities)


def _report_of(record: dict[str, Any]) -> RunReport:
    """Return the report in a closing record."""
    parts: dict[str, Any] = {"counts": Counts(**record["counts"])}
    for name, part in _PARTS.items():
        parts[name] = tuple(part(**one) for one in record[name])
    times = {name: datetime.fromisoformat(record[name]) for name in ("started_at", "ended_at")}
    return RunReport(**{**record, **parts, **times})
