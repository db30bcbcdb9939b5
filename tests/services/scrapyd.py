"""A real Scrapyd on loopback, in a separate folder, and a small client of its web interface.

>>> with running(folder, sections={"services": {"ping.json": "..."}}) as scrapyd:
...     job = scrapyd.schedule("sitemap", site=site.url)
...     scrapyd.finished(job)
...     print(scrapyd.log(job))
"""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import time
from configparser import ConfigParser
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener

from tests.services.programs import ROOT, scrapyd
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

PROJECT = "harvest"
USER, PASSWORD = "operator", "a-secret-word"
_LOOK_SECONDS = 0.1
_OPENER = build_opener(ProxyHandler({}))  # an http_proxy of the machine is not meant for loopback
_SETTINGS = """\
from sitemap_harvest.integration import default_settings as defaults

globals().update(defaults.ALL)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A response of the web interface."""

    status: int
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def text(self) -> str:
        """The body, as text."""
        return self.body.decode()

    @property
    def json(self) -> Any:
        """The body, as JSON."""
        return json.loads(self.body)


@dataclass(slots=True, kw_only=True)
class Scrapyd:
    """A running Scrapyd."""

    url: str
    folder: Path
    """Its working folder, and that of its jobs."""
    process: subprocess.Popen[bytes]
    environment: dict[str, str] = field(repr=False)
    """The environment variables of its programs."""
    project: str = PROJECT

    def ask(
        self,
        path: str,
        *,
        data: Mapping[str, Any] | bytes | None = None,
        headers: Mapping[str, str] | None = None,
        user: str | None = USER,
        password: str = PASSWORD,
        method: str | None = None,
    ) -> Answer:
        """Request *path*, with POST if there are *data*, as *user*, or without a login if that is ``None``."""
        body = data if isinstance(data, bytes | None) else urlencode(data, doseq=True).encode()
        request = Request(f"{self.url}/{path}", data=body, headers=dict(headers or {}), method=method)
        if user is not None:
            token = base64.b64encode(f"{user}:{password}".encode()).decode()
            request.add_header("Authorization", f"Basic {token}")
        try:
            with _OPENER.open(request, timeout=30) as answer:
                return Answer(status=answer.status, body=answer.read(), headers=dict(answer.headers))
        except HTTPError as error:
            with error:
                return Answer(status=error.code, body=error.read(), headers=dict(error.headers))

    def get(self, service: str, **parameters: Any) -> dict[str, Any]:
        """Return the response of a service, such as ``listjobs``, which must succeed."""
        return self._well(self.ask(f"{service}.json?{urlencode(parameters)}"))

    def post(self, service: str, **parameters: Any) -> dict[str, Any]:
        """Return the response of a service, such as ``cancel``, which must succeed; a list is a repeated parameter."""
        return self._well(self.ask(f"{service}.json", data=parameters))

    @staticmethod
    def _well(answer: Answer) -> dict[str, Any]:
        assert (answer.status, answer.json["status"]) == (200, "ok"), answer.text
        return answer.json

    def schedule(self, spider: str, *, settings: Mapping[str, Any] | None = None, **arguments: Any) -> str:
        """Schedule a job and return its id. *arguments* may include Scrapyd's own, such as ``jobid``, ``_version``."""
        texts = (
            f"{name}={value if isinstance(value, str) else json.dumps(value)}"
            for name, value in (settings or {}).items()
        )
        parameters = {"project": self.project, "spider": spider, "setting": [*texts], **arguments}
        return str(self.post("schedule", **parameters)["jobid"])

    def jobs(self) -> dict[str, list[dict[str, Any]]]:
        """Return the jobs that are pending, running and finished."""
        found = self.get("listjobs")
        return {state: found[state] for state in ("pending", "running", "finished")}

    def state(self, job: str) -> str | None:
        """Return the state of *job*: pending, running or finished; ``None`` between two of them."""
        state: str | None = self.get("status", job=job)["currstate"]
        return state

    def finished(self, *jobs: str, patience: float = PATIENCE_SECONDS) -> None:
        """Wait until *jobs* are finished."""
        until = time.monotonic() + patience
        for job in jobs:
            while self.state(job) != "finished":
                if time.monotonic() > until:
                    raise TimeoutError(
                        f"job {job} is {self.state(job)}:\n{self.log(job)[-3000:]}\n{self.own_log[-2000:]}"
                    )
                time.sleep(_LOOK_SECONDS)

    def log(self, job: str) -> str:
        """Return the log of *job*; an empty one until it has one."""
        found = sorted((self.folder / "logs").glob(f"*/*/{job}.log"))
        return found[0].read_text(encoding="utf-8", errors="replace") if found else ""

    @property
    def own_log(self) -> str:
        """The log of Scrapyd itself."""
        return (self.folder / "scrapyd.log").read_text(errors="replace")

    def program(self, name: str, *arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a program of Scrapyd's environment, such as ``scrapyd-deploy``, in *folder*."""
        return subprocess.run(
            [scrapyd() / name, *arguments],
            cwd=folder or self.folder,
            env=self.environment,
            text=True,
            capture_output=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )


@contextmanager
def running(
    folder: Path,
    *,
    sections: Mapping[str, Mapping[str, str]] | None = None,
    settings: str | None = _SETTINGS,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Scrapyd]:
    """Start a Scrapyd in *folder*, which is made, and stop it and its jobs at the end.

    *sections* are more lines for its ``scrapyd.conf``: those for ``[scrapyd]`` replace ours. *settings* are those of a
    project without an egg, :data:`PROJECT`; with ``None`` there is no such project.
    """
    programs = scrapyd()
    folder.mkdir(parents=True, exist_ok=True)
    port = _free_port()
    _configure(folder, port, sections or {})
    if settings is not None:
        (folder / "harvest_settings.py").write_text(settings, encoding="utf-8")
        (folder / "scrapy.cfg").write_text(f"[settings]\ndefault = harvest_settings\n{PROJECT} = harvest_settings\n")
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(("SCRAPY", "PYTHON"))}
    environ = kept | {
        "HOME": str(folder),  # where .scrapyd.conf, .scrapy.cfg and .netrc are looked for
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),  # this checkout, whichever is installed
        "PYTHONDONTWRITEBYTECODE": "1",
        "NO_PROXY": "*",
        "no_proxy": "*",
        **(environment or {}),
    }
    with (folder / "scrapyd.log").open("wb") as log:
        process = subprocess.Popen(
            [programs / "scrapyd", "--pidfile="],
            cwd=folder,
            env=environ,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    found = Scrapyd(url=f"http://127.0.0.1:{port}", folder=folder, process=process, environment=environ)
    try:
        _wait_until_it_answers(found)
        yield found
    finally:
        _stop(found)


def _configure(folder: Path, port: int, sections: Mapping[str, Mapping[str, str]]) -> None:
    config = ConfigParser(interpolation=None)
    config["scrapyd"] = {
        "bind_address": "127.0.0.1",
        "http_port": str(port),
        "username": USER,
        "password": PASSWORD,
        "jobstorage": "scrapyd.jobstorage.SqliteJobStorage",
        "eggs_dir": "eggs",
        "logs_dir": "logs",
        "dbs_dir": "dbs",
        "items_dir": "",
        "poll_interval": "0.2",
        "max_proc": "4",
        "jobs_to_keep": "1000",
        "finished_to_keep": "1000",
    }
    for name, lines in sections.items():
        if not config.has_section(name):
            config.add_section(name)
        config[name].update(lines)
    with (folder / "scrapyd.conf").open("w", encoding="utf-8") as file:
        config.write(file)


def _wait_until_it_answers(found: Scrapyd) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        with suppress(OSError):
            if found.ask("daemonstatus.json").status == 200:
                return
        if found.process.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"Scrapyd does not start:\n{found.own_log[-3000:]}")
        time.sleep(_LOOK_SECONDS)


def _stop(found: Scrapyd) -> None:
    """End Scrapyd and its running jobs: they are in its process group, even after it was killed."""
    found.process.terminate()
    try:
        found.process.wait(timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        found.process.kill()
        found.process.wait(timeout=PATIENCE_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(found.process.pid, signal.SIGKILL)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
