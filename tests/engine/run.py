"""Runs of the engine against a web in memory: no reactor, no sockets, no Scrapy."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from sitemap_harvest import Cause, ChangeBatch, Outcome, SitemapRecord, SiteRecord, UrlBatch
from sitemap_harvest.config.arguments import RunConfig
from sitemap_harvest.config.settings import HarvestSettings
from sitemap_harvest.discovery.candidate import NotFetched
from sitemap_harvest.engine.crawl_loop import CrawlLoop
from sitemap_harvest.engine.in_flight import InFlight
from sitemap_harvest.engine.interfaces import DocumentResponse, Transfer
from sitemap_harvest.engine.run_state import RunParts, site_queue
from sitemap_harvest.engine.run_summary import Summary
from sitemap_harvest.engine.snapshot_session import SnapshotSession
from sitemap_harvest.model.run import new_run_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sitemap_harvest.discovery.candidate import Candidate
    from sitemap_harvest.engine.site_parts import SitePart

Web = dict[str, "bytes | int | str | NotFetched | None"]
"""The answer at each URL: a body, a status without one, the URL that the URL redirects to, or why it is not requested;
``None``: no answer. All others are a 404."""
_REFUSED = NotFetched(Outcome.FAILED, "the connection was refused", Cause.REFUSED)


class Cut(bytes):
    """The part of a body that came before the connection was closed."""


class Tagged(bytes):
    """A body with an entity tag: a request with the tag gets a 304."""


@dataclass(frozen=True)
class Request:
    """The request for a document."""

    candidate: Candidate
    headers: Mapping[str, str]


@dataclass
class Result:
    """The output of a run."""

    requests: list[str] = field(default_factory=list)
    """The URLs that were requested, in order."""
    urls: list[str] = field(default_factory=list)
    records: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    """The outcome and the reason of each document."""
    statuses: dict[str, int | None] = field(default_factory=dict, compare=False)
    """The HTTP status of each document."""
    sites: dict[str, str] = field(default_factory=dict)
    """The result of each site."""
    complete: set[str] = field(default_factory=set, compare=False)
    """The sites with a complete record."""
    changes: set[tuple[str, str]] = field(default_factory=set)
    """The kind and the URL of each change."""

    def add(self, item: object) -> None:
        match item:
            case UrlBatch():
                self.urls += item["loc"].to_pylist()
            case ChangeBatch():
                self.changes |= {(str(change.kind), change.loc) for change in item.rows()}
            case SitemapRecord():
                assert item.url not in self.records, "one record for each document"
                self.records[item.url] = (str(item.outcome), item.reason)
                self.statuses[item.url] = item.status
            case SiteRecord():
                self.sites[item.root] = str(item.result)
                self.complete |= {item.root} if item.complete else set()


def harvest(
    web: Web,
    *,
    session: SnapshotSession | None = None,
    result: Result | None = None,
    summary: Summary | None = None,
    last: str | None = None,
    options: HarvestSettings | None = None,
    at: datetime | None = None,
    **arguments: str,
) -> Result:
    """Run the engine with *arguments* against *web*, and return *result* with its output; *summary* counts it.

    *last*: the URL of the document after whose response the run is interrupted. *at*: when all requests are sent, if
    not now.
    """
    sent_at = time.time() if at is None else at.timestamp()
    result = result or Result()
    parts = run_parts(session, options or HarvestSettings(), summary or Summary(), **arguments)
    parts.sites.begin(parts.config.candidates)
    loop = CrawlLoop(parts)
    for step in loop.steps():
        assert step is not None, "a web in memory never has to be waited for"
        if not isinstance(step, Request):
            result.add(step)
            continue
        result.requests.append(step.candidate.url)
        candidate, transfer = step.candidate, Transfer(sent_at, 0.0)
        answer = _REFUSED if (given := web.get(candidate.url, 404)) is None else given
        if isinstance(answer, NotFetched):
            output = loop.failed(answer, candidate, transfer, url=candidate.url)
        else:
            output = loop.answered(replace(respond(web, step), transfer=transfer), candidate)
        for item in output:
            result.add(item)
        if candidate.url == last:
            for item in loop.left_over():
                result.add(item)
            break
    if session is not None:
        session.close()
    return result


def run_parts(
    session: SnapshotSession | None,
    options: HarvestSettings,
    summary: Summary,
    *,
    part: SitePart | None = None,
    **arguments: str,
) -> RunParts:
    """Return the parts of a run. *part*: of the site that it reads, without a session."""
    config = RunConfig.of(arguments) if session is None else session.config
    return RunParts(
        config=config,
        options=options,
        summary=summary,
        sites=site_queue(config, options, per_host=8, depth_limit=0),
        in_flight=InFlight(most=options.bodies, small=options.bodies // 64),
        session=session,
        build_request=Request,
        pages=None,
        children=lambda refs, _kind: ((ref, None) for ref in refs),  # every child is wanted
        needs_rows=lambda: False,
        max_in_flight=16,
        max_attempts=2,
        part=part if session is None else session.part,
    )


def session_of(
    arguments: Mapping[str, str],
    now: datetime | None = None,
    *,
    options: HarvestSettings | None = None,
    intervals: tuple[float, float] | None = None,
    part: SitePart | None = None,
) -> SnapshotSession:
    """Return the session of a run with *arguments*, which name the store. *now*: when it begins, if not now.

    *intervals*: the multiplier and the ceiling of a job of a plan with a budget. *part*: the part of the site that it
    reads; ``None``: all of it.
    """
    now = now or datetime.now(UTC)
    return SnapshotSession(
        arguments["store"],
        replace(RunConfig.of(arguments), intervals=intervals),
        options or HarvestSettings(),
        lambda _name, _by: None,
        run_id=new_run_id(now),
        started_at=now,
        fail=lambda: pytest.fail("the store cannot be written"),
        part=part,
    )


def respond(web: Web, request: Request) -> DocumentResponse:
    """Return the response of *web* to *request*, after redirects."""
    url, redirected = request.candidate.url, []
    while isinstance(answer := web.get(url, 404), str):
        redirected.append(url)
        url = answer
    assert answer is not None, f"{url} redirects to a host without an answer"
    status, body = (200, answer) if isinstance(answer, bytes) else (answer, b"")
    tag = f'"{sha256(body).hexdigest()[:8]}"' if isinstance(body, Tagged) else ""
    if tag and tag in request.headers.get("If-None-Match", ""):
        status, body = 304, b""
    return DocumentResponse(
        url=url,
        status=status,
        headers={"etag": [tag]} if tag else {},
        body=body,
        redirect_urls=tuple(redirected),
        is_conditional=bool(request.headers),
        was_cut=isinstance(body, Cut),
    )
