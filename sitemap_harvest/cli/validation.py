"""``validate``: the validation of one document as a record for programs, also used for the report."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sitemap_harvest.escape import ascii_json
from sitemap_harvest.formats import Document
from sitemap_harvest.formats.protocol import Listed, check
from sitemap_harvest.integration.fetch import Fetched
from sitemap_harvest.model import CATALOGUE, Kind

if TYPE_CHECKING:
    from datetime import datetime

    from sitemap_harvest.cli.validation_targets import Target
    from sitemap_harvest.formats import Limits
    from sitemap_harvest.model import Problem, Severity

CUT = "the connection was closed early; the partial data was read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """The facts about one document, and its problems."""

    target: str
    """The document as named by the user."""
    url: str
    """Its URL: ``file:`` for a file, ``-`` for standard input."""
    final_url: str | None = None
    """The URL after redirects; ``None`` if nothing was fetched."""
    reason: str | None = None
    """Why it could not be read, or not completely, as text; ``None`` if it could."""
    kind: Kind | None = None
    """Its kind. ``None`` if it could not be read, like the following fields."""
    encoding: str | None = None
    """The encoding that it was decoded with."""
    layers: tuple[str, ...] = ()
    """Its compression layers, outermost first."""
    bytes: int | None = None
    """Its size in bytes after decompression."""
    listed: Listed | None = None
    """Numbers of URLs, references, alternates, images, videos and news articles that it lists."""
    complete: bool = False
    """Whether it lists URLs or sitemaps and was read completely."""
    problems: tuple[Problem, ...] = ()
    """Its problems, worst first."""

    @property
    def worst(self) -> Severity | None:
        """The severity of the worst problem; ``None`` if there is none."""
        return self.problems[0].severity if self.problems else None

    def to_json(self) -> str:
        """Return the record as one line of JSON."""
        record = asdict(self)
        record["severity"] = self.worst
        record["problems"] = [_explained(problem) for problem in self.problems]
        return ascii_json(record)


def _explained(problem: Problem) -> dict[str, Any]:
    record = asdict(problem)
    del record["document"]  # the same as in the record
    known = CATALOGUE[problem.code]
    texts = {name: getattr(known, name) for name in ("meaning", "cause", "consequence", "fix")}
    return {"code": record.pop("code"), "severity": known.severity, **record, **texts, "loses": known.loses}


def validate(
    body: bytes, target: Target, *, now: datetime, limits: Limits, fetched: Fetched | None = None
) -> Validation:
    """Return the validation of *body*, the document *target*; *fetched* has the response, if it was downloaded."""
    response = fetched or Fetched()
    served_at = response.final_url or target.served_at
    document = Document(
        body,
        url=target.url,
        base=served_at,
        content_type=response.content_type,
        content_encodings=response.content_encodings,
        limits=limits,
        was_cut=response.was_cut,
    )
    verdict = check(document, now=now, location=served_at)
    return Validation(
        target=target.name,
        url=target.url,
        final_url=response.final_url,
        reason=CUT if response.was_cut else None,
        kind=document.kind,
        encoding=document.encoding,
        layers=document.layers,
        bytes=document.bytes_unpacked,
        listed=verdict.listed,
        complete=document.complete,
        problems=tuple(sorted((*document.problems, *verdict.problems), key=_rank)),
    )


def _rank(problem: Problem) -> tuple[int, bool]:
    """Return a sort key: worst first, and the problem that only sums up the others last."""
    return problem.severity.rank, problem.code == "xml/not-well-formed"
