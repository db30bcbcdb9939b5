"""The Twisted resource of the service, which Scrapyd serves at ``/ping.json`` or as its section ``[services]`` says."""

from __future__ import annotations

import os
import uuid
from configparser import InterpolationError
from ipaddress import ip_address
from socket import SOCK_STREAM, getaddrinfo
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread
from twisted.logger import Logger
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET

from sitemap_harvest.errors import OptionError
from sitemap_harvest.escape import ascii_json
from sitemap_harvest.scrapyd_ping.request import (
    STATUS,
    PingConfig,
    PingError,
    check_token,
    job_settings,
    ping_target,
    read_form,
)
from sitemap_harvest.urls import site_of, url_key

if TYPE_CHECKING:
    from sitemap_harvest.network import IPAddress
    from sitemap_harvest.scrapyd_ping.request import PingTarget

_SECTION = "sitemap_harvest"
_PREFIX = "ping-"  # of the ids of its jobs
_MOST_BYTES = 16 * 1024  # of a body: a percent-encoded URL of 2,048 characters, and a token
_HEADERS = {405: ("Allow", "POST"), 503: ("Retry-After", "60")}
_log = Logger()


class Ping(Resource):
    """The ping resource.

    Not based on Scrapyd's own resources, which respond 200 to errors, and allow any web
    page to read it.
    """

    isLeaf = True  # noqa: N815 - Twisted's name; also redacts the URLs of requests below it in logs

    def __init__(self, root: Any) -> None:
        """*root* is Scrapyd's. An invalid configuration ends Scrapyd's start with one line."""
        super().__init__()  # type: ignore[no-untyped-call]  # Twisted has types for some of it
        self._root = root
        try:
            self._config = PingConfig.read(root.scheduler.config.items(_SECTION, default=[]))
        except (OptionError, InterpolationError) as error:
            # The text of an InterpolationError quotes the value, which may be a token.
            why = str(error) if isinstance(error, OptionError) else f"{error.option}: write each % twice, as %%"
            raise SystemExit(f"scrapyd.conf, section [{_SECTION}]: {why}") from None

    def render(self, request: Any) -> int:
        """Respond to *request* asynchronously, because the host has to be resolved."""
        request.uri, sign, _ = request.uri.partition(b"?")  # Twisted logs it after the response
        disconnected: list[object] = []
        request.notifyFinish().addErrback(disconnected.append)
        answered = Deferred.fromCoroutine(self._answer(request, has_query=bool(sign)))
        answered.addCallback(lambda body: None if disconnected else _send(request, body))
        answered.addErrback(lambda failure: _log.failure("A ping could not be answered", failure=failure))
        return NOT_DONE_YET

    async def _answer(self, request: Any, *, has_query: bool) -> dict[str, Any]:
        try:
            return await self._accept(_form(request, has_query=has_query))
        except PingError as error:
            refused = error
        except Exception:  # noqa: BLE001 - the sender gets no traceback
            _log.failure("A ping failed")
            refused = PingError("internal", "the service failed: the operator can find the reason in Scrapyd's log")
        status = STATUS[refused.code]
        request.setResponseCode(status)
        if status in _HEADERS:
            request.setHeader(*_HEADERS[status])
        return {"status": "error", "code": refused.code, "message": str(refused)}

    async def _accept(self, form: dict[str, str]) -> dict[str, Any]:
        check_token(form.get("token", ""), self._config.tokens)
        target = ping_target(form.get("sitemap", ""), self._config)
        settings = job_settings(target, await deferToThread(_addresses_of, target.host, target.port))
        job = self._current_job(target)  # nothing else runs from here until the job is queued
        is_repeated = job is not None
        if job is None:
            job = _PREFIX + uuid.uuid4().hex
            config = self._config
            self._root.scheduler.schedule(
                config.project, config.spider, settings=settings, _job=job, sitemap=target.url
            )
        return {"status": "ok", "jobid": job, "repeated": is_repeated, "node_name": self._root.node_name}

    def _current_job(self, target: PingTarget) -> str | None:
        """Return the pending or running job for *target*. Raises :exc:`PingError` if its site has another one."""
        project = self._config.project
        if (queue := self._root.poller.queues.get(project)) is None:
            message = f"Scrapyd has no project {project!r}: the operator must deploy it or correct scrapyd.conf"
            raise PingError("unavailable", message)
        # The sitemap of each job; empty for jobs without one.
        jobs: dict[str, str] = {message["_job"]: str(message.get("sitemap", "")) for message in queue.list()}
        jobs |= {process.job: _sitemap_of(process.args) for process in self._root.launcher.processes.values()}
        for job, url in jobs.items():
            if job.startswith(_PREFIX) and site_of(url) == site_of(target.url):
                if url_key(url) == url_key(target.url):
                    return job
                state = f"the job {job}, for another sitemap of {site_of(url)}, is queued or running"
                raise PingError("busy", f"{state}: retry when it has ended")
        return None


def _form(request: Any, *, has_query: bool) -> dict[str, str]:
    if request.method != b"POST":
        raise PingError("method-not-allowed", f"the method is {request.method.decode('latin-1')[:20]!r}: send a POST")
    if (length := request.content.seek(0, os.SEEK_END)) > _MOST_BYTES:
        raise PingError("body-too-long", f"the body is {length} bytes long: send at most {_MOST_BYTES}")
    if has_query:
        raise PingError(
            "bad-form", "the URL has a query string, which would appear in logs: send the fields in the body"
        )
    return read_form(request.args)


def _addresses_of(host: str, port: int) -> list[IPAddress]:
    """Return the addresses of *host*; none if the lookup fails."""
    try:
        return [ip_address(found[4][0]) for found in getaddrinfo(host, port, type=SOCK_STREAM)]
    except OSError:
        return []


def _sitemap_of(words: list[str]) -> str:
    """Return the sitemap of a job from the words of its command."""
    return next((word.removeprefix("sitemap=") for word in words if word.startswith("sitemap=")), "")


def _send(request: Any, body: dict[str, Any]) -> None:
    content = ascii_json(body).encode() + b"\n"
    request.setHeader("Cache-Control", "no-store")
    request.setHeader("Content-Type", "application/json")
    request.setHeader("Content-Length", str(len(content)))
    request.write(content)
    request.finish()
