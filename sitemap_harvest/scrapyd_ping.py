"""Ping service for Scrapyd: an HTTP request with the URL of a sitemap schedules a crawl of it.

Spec: https://www.sitemaps.org/protocol.html#submit_ping. :class:`Ping` is the resource,
which Scrapyd serves at ``/ping.json`` or as its section ``[services]`` says. The checks
of a ping do no lookups. Rate limits and access logs belong to the reverse proxy.
"""

from __future__ import annotations

import hmac
import os
import re
import uuid
from configparser import ConfigParser, InterpolationError
from dataclasses import dataclass, field
from hashlib import sha256
from ipaddress import ip_address
from socket import SOCK_STREAM, getaddrinfo
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread
from twisted.logger import Logger
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET

from sitemap_harvest.errors import OptionError, there_is_no
from sitemap_harvest.escape import ascii_json
from sitemap_harvest.network import WEB_PORTS, AddressPolicy, IPAddress, PrivateAddresses, host_key, kind_of, literal
from sitemap_harvest.redact import without_login
from sitemap_harvest.urls import site_of, url_key

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

_SECTION = "sitemap_harvest"
_PREFIX = "ping-"  # of the ids of its jobs
_MOST_BYTES = 16 * 1024  # of a body: a percent-encoded URL of 2,048 characters, and a token
_HEADERS = {405: ("Allow", "POST"), 503: ("Retry-After", "60")}
STATUS = {
    "bad-form": 400,
    "bad-sitemap": 400,
    "wrong-token": 403,
    "host-not-allowed": 403,
    "private-address": 403,
    "method-not-allowed": 405,
    "body-too-long": 413,
    "internal": 500,
    "busy": 503,
    "lookup-failed": 503,
    "unavailable": 503,
}
"""The HTTP status of each error code."""
_LABEL = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"  # RFC 1035, 2.3.4; underscores occur
_NAME_AND_PORT = rf"(\[[0-9a-f:.]+\]|{_LABEL}(?:\.{_LABEL})*)(?::([0-9]{{1,5}}))?"
_HOST = re.compile(rf"(\*\.)?{_NAME_AND_PORT}", re.IGNORECASE | re.ASCII)
_SHORTEST_TOKEN = 16
_MOST_CHARACTERS = 2048
_MOST_SHOWN = 200
_URL = re.compile(  # RFC 3986, without a user name or a fragment
    rf"(https?)://{_NAME_AND_PORT}(?:[/?](?:[a-z0-9\-._~:/?\[\]@!$&'()*+,;=]|%[0-9a-f]{{2}})*)?",
    re.IGNORECASE | re.ASCII,
)
_log = Logger()


class AllowedHost(NamedTuple):
    """A host whose sitemaps may be crawled."""

    host: str
    """In canonical form."""
    is_parent: bool
    """Whether it matches all hosts below it, but not itself."""
    ports: tuple[int, ...]

    def allows(self, host: str, port: int) -> bool:
        """Whether *host*, in canonical form, may be requested at *port*."""
        return port in self.ports and (host.endswith(f".{self.host}") if self.is_parent else host == self.host)


@dataclass(frozen=True, slots=True, kw_only=True)
class PingConfig:
    """The options, read and validated only here."""

    project: str
    """The Scrapyd project whose spider is run. Required."""
    hosts: tuple[AllowedHost, ...]
    """Hosts whose sitemaps may be crawled, separated by whitespace. Required. ``www.example.com``; ``*.example.com``
    for all hosts below it, but not itself; ``www.example.com:8080`` for this port only, instead of 80 and 443. Write
    international names in punycode."""
    tokens: tuple[str, ...] = field(repr=False)
    """Tokens that authorize pings, separated by whitespace, each of 16 characters or more. Required. With one per
    sender, you can withdraw one alone."""
    spider: str = "changes"
    """The spider, which must accept the argument ``sitemap``: ``changes`` (the default), ``sitemap``, or your own."""
    allow_private: bool = False
    """``yes`` if a host that is listed literally in ``hosts`` may be in a private network; ``no`` by default."""

    @classmethod
    def read(cls, items: Iterable[tuple[str, str]]) -> Self:
        """Read the options. Raises :exc:`OptionError`, which names the option, its value and the accepted values."""
        given, options = dict(items), {}
        for required in ("project", "hosts", "tokens"):  # after the options given, which are checked first
            given.setdefault(required, "")
        for name, value in given.items():
            if name not in _PARSERS:
                raise OptionError(f"{name}: {there_is_no('option', name, _PARSERS)}")
            text = value.strip()
            try:
                options[name] = _PARSERS[name](text)
            except ValueError as error:
                shown = "" if name == "tokens" and text else f" is {text[:200]!r}"
                raise OptionError(f"{name}{shown}: {error}") from None
        return cls(**options)


def _name(text: str) -> str:
    if not text:
        raise ValueError("it must not be empty")
    return text


def _hosts(text: str) -> tuple[AllowedHost, ...]:
    if not text:
        raise ValueError("it must name the hosts whose sitemaps may be crawled, such as www.example.com *.example.org")
    return tuple(map(_host, text.split()))


def _host(word: str) -> AllowedHost:
    match = _HOST.fullmatch(word)
    host = host_key(match[2].strip("[]")) if match else ""
    ports = (int(match[3]),) if match and match[3] else tuple(WEB_PORTS.values())
    is_address = literal(host) is not None
    if not match or (is_address and match[1]) or (":" in host and not is_address) or not 0 < ports[0] < 65536:
        raise ValueError(f"{word!r} must be of the form www.example.com, *.example.com or www.example.com:8080")
    return AllowedHost(host, bool(match[1]), ports)


def _tokens(text: str) -> tuple[str, ...]:
    tokens = tuple(text.split())
    if not tokens or not all(len(each) >= _SHORTEST_TOKEN and each.isascii() for each in tokens):
        raise ValueError(
            f"each token must have {_SHORTEST_TOKEN} ASCII characters or more; generate one with "
            "python -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    return tokens


def _flag(text: str) -> bool:
    if (value := ConfigParser.BOOLEAN_STATES.get(text.lower())) is None:
        raise ValueError("it must be yes or no")
    return value


_PARSERS: dict[str, Callable[[str], Any]] = {
    "project": _name,
    "hosts": _hosts,
    "tokens": _tokens,
    "spider": _name,
    "allow_private": _flag,
}


class PingError(Exception):
    """A ping is refused: *code* is one of :data:`STATUS`, and *message* is for the sender."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class PingTarget(NamedTuple):
    """A sitemap that may be crawled, judged by its URL."""

    url: str
    """The URL as sent, decoded once."""
    host: str
    """The host in canonical form."""
    port: int
    may_be_private: bool
    """Whether the operator has listed this host, and allows private addresses for such hosts."""


def read_form(args: Mapping[bytes, Sequence[bytes]]) -> dict[str, str]:
    """Return the fields of a form, of which *args* are the decoded bytes. Raises :exc:`PingError`."""
    form = {}
    for name, values in args.items():
        shown = repr(name[:_MOST_SHOWN].decode("utf-8", "backslashreplace"))
        if name not in {b"sitemap", b"token"}:
            message = f"the form has an unknown field {shown}: send sitemap and token, with %26 for & in the URL"
            raise PingError("bad-form", message)
        if len(values) > 1:
            raise PingError("bad-form", f"the form has {len(values)} {shown} fields: send only one")
        try:
            form[name.decode()] = values[0].decode()
        except UnicodeDecodeError:
            raise PingError("bad-form", f"the field {shown} is not UTF-8: encode it as UTF-8") from None
    return form


def check_token(token: str, known: Collection[str]) -> None:
    """Raise :exc:`PingError` if *token* is not *known*. Takes the same time for every token."""
    digest, *digests = (sha256(each.encode()).digest() for each in (token, *known))
    if not sum(hmac.compare_digest(each, digest) for each in digests):  # any() would stop at the first
        why = "is unknown: ask the operator for a valid one" if token else "is missing: send it in the form field token"
        raise PingError("wrong-token", f"the token {why}")


def ping_target(url: str, config: PingConfig) -> PingTarget:
    """Return the sitemap at *url*. Raises :exc:`PingError` if it is not an HTTP URL, or its host is not allowed."""
    match = _URL.fullmatch(url) if len(url) <= _MOST_CHARACTERS else None
    port = int(match[3] or WEB_PORTS[match[1].lower()]) if match else 0
    if not match or not 0 < port < 65536 or url_key(url) is None:
        raise PingError(
            "bad-sitemap",
            f"sitemap={without_login(url)[:_MOST_SHOWN]!r}: it must be an absolute URL such as "
            f"https://www.example.com/sitemap.xml, percent-encoded, without a user name or fragment, of at most "
            f"{_MOST_CHARACTERS} characters",
        )
    host = host_key(match[2].strip("[]"))
    allowing = [each for each in config.hosts if each.allows(host, port)]
    if not allowing:
        message = f"{host} is not allowed on port {port}: the operator can add it to hosts in scrapyd.conf"
        raise PingError("host-not-allowed", message)
    is_listed = any(not each.is_parent for each in allowing)
    return PingTarget(url, host, port, may_be_private=config.allow_private and is_listed)


def job_settings(target: PingTarget, found: Sequence[IPAddress]) -> dict[str, str]:
    """Return the job settings that restrict the crawl of *target*; *found* is the result of a lookup of its host.

    Raises :exc:`PingError` if no address may be connected to. The crawl resolves the
    host again, so it applies the same rule.
    """
    if not found:
        raise PingError("lookup-failed", f"{target.host} does not resolve at present: check the name, or retry later")
    policy = AddressPolicy(PrivateAddresses.NAMED if target.may_be_private else PrivateAddresses.NEVER)
    policy.name(target.url)
    allowed = [] if policy.refuse_url(target.url) else policy.allow(target.host, target.port, found)
    if not allowed:
        message = f"{target.host} is in a private network: the operator can list it in hosts and set allow_private"
        raise PingError("private-address", message)
    is_public = all(kind_of(address) is None for address in allowed)
    return {"SITEMAP_HARVEST_PRIVATE": PrivateAddresses.NEVER.value if is_public else "False"}


class Ping(Resource):
    """Not based on Scrapyd's own resources, which respond 200 to errors, and allow any web page to read it."""

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
        """Respond to *request* later, because the host has to be resolved."""
        disconnected: list[object] = []
        request.notifyFinish().addErrback(disconnected.append)
        answered = Deferred.fromCoroutine(self._answer(request))
        answered.addCallback(lambda body: None if disconnected else _send(request, body))
        answered.addErrback(lambda failure: _log.failure("A ping could not be answered", failure=failure))
        return NOT_DONE_YET

    async def _answer(self, request: Any) -> dict[str, Any]:
        try:
            return await self._accept(_form(request))
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
            where = self._config.project, self._config.spider
            self._root.scheduler.schedule(*where, settings=settings, _job=job, sitemap=target.url)
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


def _form(request: Any) -> dict[str, str]:
    request.uri, has_query, _ = request.uri.partition(b"?")  # Twisted logs it after the response
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
