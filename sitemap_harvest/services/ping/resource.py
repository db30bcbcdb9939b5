"""The resource that Scrapyd puts at ``/ping.json``, or under whatever name its section ``[services]`` gives it."""

from __future__ import annotations

import json
import os
import time
import uuid
from configparser import Error as ConfigError
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET

from sitemap_harvest.errors import OptionError
from sitemap_harvest.services.ping.access_log import AccessLog, Line
from sitemap_harvest.services.ping.address import job_settings
from sitemap_harvest.services.ping.config import PingConfig
from sitemap_harvest.services.ping.desk import Desk
from sitemap_harvest.services.ping.form import MAX_BODY_BYTES, Received, allowed, loggable_address
from sitemap_harvest.services.ping.lookup import addresses_of
from sitemap_harvest.services.ping.memory import PREFIX, Jobs
from sitemap_harvest.services.ping.refusal import Code, Refused

if TYPE_CHECKING:
    from sitemap_harvest.services.ping.address import Pinged

_SECTION = "sitemap_harvest"
_log = Logger()
_offices: WeakKeyDictionary[Any, tuple[Desk, AccessLog]] = WeakKeyDictionary()


class Ping(Resource):
    """Takes pings. Not one of Scrapyd's own resources: those answer 200 to errors, and let any web page read them."""

    isLeaf = True  # noqa: N815 - Twisted's name; below it the address of a request is kept out of logs too

    def __init__(self, root: Any) -> None:
        """*root* is Scrapyd's. Ends Scrapyd's start with one line if the configuration is wrong."""
        super().__init__()  # type: ignore[no-untyped-call]  # Twisted has types for some of it
        self._root = root
        try:
            self._desk, self._access_log = _office(root)
        except OptionError as error:
            raise SystemExit(f"scrapyd.conf, section [{_SECTION}]: {error}") from None

    def render(self, request: Any) -> int:
        """Answer *request*, later: a host may have to be looked up."""
        address, _, query = request.uri.partition(b"?")
        request.uri = loggable_address(address, query)  # Twisted logs it when the answer has been sent
        line = Line(
            time=datetime.now(UTC).isoformat(timespec="milliseconds"),
            peer=self._peer(request),
            method=request.method.decode("ascii", "replace"),
        )
        has_gone: list[object] = []
        request.notifyFinish().addErrback(has_gone.append)
        answered = Deferred.fromCoroutine(self._answer(request, query, line))
        answered.addErrback(lambda failure: _log.failure("A ping could not be answered", failure=failure))
        answered.addCallback(lambda body: None if has_gone else _send(request, body))
        return NOT_DONE_YET

    async def _answer(self, request: Any, query: bytes, line: Line) -> dict[str, Any]:
        try:
            if request.method == b"OPTIONS":
                body = self._options(request, line)
            else:
                body = await self._take(_received(request, query, line.peer), line)
        except Refused as refused:
            body = _refuse(request, refused, line)
        except Exception:  # noqa: BLE001 - who sends a ping gets no traceback
            _log.failure("A ping failed")
            body = _refuse(request, Refused(Code.INTERNAL, "a fault of this service"), line)
        request.setResponseCode(line.status)
        self._access_log.write(line)
        return body

    def _options(self, request: Any, line: Line) -> dict[str, Any]:
        # Without a word on who may read the answer from a page of another site: nobody may.
        line.status, line.result = 204, "options"
        request.setHeader("Allow", allowed(get=self._desk.config.get))
        return {}

    async def _take(self, received: Received, line: Line) -> dict[str, Any]:
        from twisted.internet import reactor  # it is installed by who imports it first, which is not for us to do

        line.token, form = self._desk.enter(received, time.monotonic())
        line.sitemap = form.sitemap or None
        sitemap = self._desk.sitemap(form)
        line.host = sitemap.host
        job = self._desk.job_of(sitemap, self._jobs(), time.monotonic())
        if job is None:
            settings = job_settings(sitemap, await addresses_of(sitemap.host, sitemap.port, reactor))
            # Another ping for the same sitemap may have been taken while the host was looked up.
            job = self._desk.job_of(sitemap, self._jobs(), time.monotonic())
        is_repeated = job is not None
        if job is None:
            job = self._schedule(sitemap, settings)
        line.status, line.result, line.job = 200, "repeated" if is_repeated else "scheduled", job
        return {"status": "ok", "jobid": job, "repeated": is_repeated, "node_name": self._root.node_name}

    def _jobs(self) -> Jobs:
        project = self._desk.config.project
        if (queue := self._root.poller.queues.get(project)) is None:
            _log.error("scrapyd.conf, section [sitemap_harvest]: Scrapyd has no project {project!r}", project=project)
            raise Refused(Code.UNAVAILABLE, "there is no project as the configuration names it", Retry_After="60")
        try:
            pending = {each["_job"]: str(each.get("sitemap", "")) for each in queue.list()}
        except Exception as error:
            _log.failure("The queue of the project {project} cannot be read", project=project)
            raise Refused(Code.UNAVAILABLE, "the queue of jobs cannot be read", Retry_After="60") from error
        running = {process.job: _sitemap_of(process.args) for process in self._root.launcher.processes.values()}
        return Jobs(pending=_of_pings(pending), running=_of_pings(running))

    def _schedule(self, sitemap: Pinged, settings: dict[str, str]) -> str:
        config = self._desk.config
        job = PREFIX + uuid.uuid4().hex
        arguments = {**config.arguments, "sitemap": sitemap.url}
        try:
            self._root.scheduler.schedule(
                config.project, config.spider, settings={**config.settings, **settings}, _job=job, **arguments
            )
        except Exception as error:
            _log.failure("The job of a ping could not be scheduled")
            raise Refused(Code.UNAVAILABLE, "the job could not be queued", Retry_After="60") from error
        self._desk.note(sitemap, job, time.monotonic())
        return job

    def _peer(self, request: Any) -> str:
        if self._desk.config.forwarded and (values := request.requestHeaders.getRawHeaders("x-forwarded-for")):
            return str(values[-1].rpartition(",")[2].strip())
        return str(getattr(request.getClientAddress(), "host", "unix"))


def _office(root: Any) -> tuple[Desk, AccessLog]:
    """Return what all the names of the service in one Scrapyd share."""
    if (office := _offices.get(root)) is None:
        try:
            items = root.scheduler.config.items(_SECTION, default=[])
        except ConfigError as error:
            raise OptionError(str(error).splitlines()[0]) from None
        config = PingConfig.read(items)
        desk = Desk(config, os.environ)
        office = _offices[root] = desk, AccessLog(config.access_log)
        if not desk.is_open:
            _log.warn("Pings are refused: no token is configured")
    return office


def _of_pings(jobs: dict[str, str]) -> dict[str, str]:
    return {job: sitemap for job, sitemap in jobs.items() if job.startswith(PREFIX)}


def _sitemap_of(words: list[str]) -> str:
    """Return the sitemap that a job was started with, from the words of its command."""
    return next((word.removeprefix("sitemap=") for word in words if word.startswith("sitemap=")), "")


def _received(request: Any, query: bytes, peer: str) -> Received:
    headers = {
        name.decode("latin-1").lower(): [value.decode("latin-1") for value in values]
        for name, values in request.requestHeaders.getAllRawHeaders()
    }
    content = request.content
    length = content.seek(0, os.SEEK_END) if content else 0
    body = None if length > MAX_BODY_BYTES else b""
    if content and body is not None:
        content.seek(0)
        body = content.read()
    return Received(
        method=request.method.decode("ascii", "replace"), query=query, headers=headers, body=body, peer=peer
    )


def _refuse(request: Any, refused: Refused, line: Line) -> dict[str, Any]:
    line.status, line.result = refused.code.status, refused.code.value
    for name, value in refused.headers.items():
        request.setHeader(name, value)
    return {"status": "error", "code": refused.code.value, "message": refused.message}


def _send(request: Any, body: dict[str, Any] | None) -> None:
    request.setHeader("Cache-Control", "no-store")
    if body:
        content = json.dumps(body).encode() + b"\n"
        request.setHeader("Content-Type", "application/json")
        request.setHeader("Content-Length", str(len(content)))
        request.write(content)
    request.finish()
