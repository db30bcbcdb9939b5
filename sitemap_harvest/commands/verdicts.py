"""What a validation finds out about one document: a record for programs, which people are shown too."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sitemap_harvest.escape import ascii_json
from sitemap_harvest.formats import Document
from sitemap_harvest.formats.protocol import Listed, check
from sitemap_harvest.model import CATALOGUE, Kind

if TYPE_CHECKING:
    from datetime import datetime

    from sitemap_harvest.commands.targets import Target
    from sitemap_harvest.crawl.fetch import Fetched
    from sitemap_harvest.formats import Limits
    from sitemap_harvest.model import Problem, Severity

CUT = "the connection was cut; what came before was read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """One document, as far as it could be had, and what is wrong with it."""

    target: str
    """The document as the user named it."""
    url: str
    """Its address: of a file one that begins with ``file:``, of standard input ``-``."""
    final_url: str | None = None
    """The address after redirects; ``None`` where nothing was fetched."""
    reason: str | None = None
    """Why it could not be had, or not whole, in words; ``None`` if it could."""
    kind: Kind | None = None
    """What it turned out to be. ``None`` if it could not be had, and so for what follows."""
    encoding: str | None = None
    """The encoding that it was read with."""
    layers: tuple[str, ...] = ()
    """How it is packed, outermost first."""
    bytes: int | None = None
    """Its size in bytes, unpacked."""
    listed: Listed | None = None
    """How many URLs, references, alternates, images, videos and news articles it lists."""
    complete: bool = False
    """Whether it lists URLs or sitemaps and was read whole."""
    problems: tuple[Problem, ...] = ()
    """What is wrong with it, the worst first."""

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
    del record["document"]  # it is the record's own
    told = CATALOGUE[problem.code]
    texts = {name: getattr(told, name) for name in ("meaning", "cause", "consequence", "mend")}
    return {"code": record.pop("code"), "severity": told.severity, **record, **texts, "loses": told.loses}


def validate(
    body: bytes, target: Target, *, now: datetime, limits: Limits, fetched: Fetched | None = None
) -> Validation:
    """Return what is to be said of *body*, the document *target*; *fetched* tells how it came, if from a server."""
    served_at = fetched.final_url if fetched else target.served_at
    was_cut = fetched is not None and fetched.was_cut
    document = Document(
        body,
        url=target.url,
        base=served_at,
        content_type=fetched.content_type if fetched else None,
        content_encodings=fetched.content_encodings if fetched else (),
        limits=limits,
        was_cut=was_cut,
    )
    verdict = check(document, now=now, location=served_at)
    return Validation(
        target=target.name,
        url=target.url,
        final_url=fetched.final_url if fetched else None,
        reason=CUT if was_cut else None,
        kind=document.kind,
        encoding=document.encoding,
        layers=document.layers,
        bytes=document.bytes_unpacked,
        listed=verdict.listed,
        complete=document.complete,
        problems=tuple(sorted((*document.problems, *verdict.problems), key=_rank)),
    )


def _rank(problem: Problem) -> tuple[int, bool]:
    """Return what sorts the worst first, and of those behind all others the one that only sums them up."""
    return problem.severity.rank, problem.code == "xml/not-well-formed"
