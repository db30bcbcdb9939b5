"""The script of docs/howto/send-a-report-each-monday.md, with a real mail server."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from email import message_from_bytes, policy
from typing import TYPE_CHECKING

import pytest
from aiosmtpd.controller import Controller

from tests.docs.howtos import Does, read_page
from tests.docs.places import ROOT
from tests.forked_program import scrapy_program
from tests.services.programs import systemd_analyze
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from email.message import EmailMessage
    from pathlib import Path

PAGE = ROOT / "docs" / "howto" / "send-a-report-each-monday.md"
FILES = {step.value: step.body for step in read_page(PAGE.read_text()).steps if step.does is Does.FILE}


class Inbox:
    """Keeps the messages that arrive, for Aiosmtpd."""

    def __init__(self) -> None:
        self.messages: list[EmailMessage] = []

    async def handle_DATA(self, _server: object, _session: object, envelope: object) -> str:  # noqa: N802
        self.messages.append(message_from_bytes(envelope.content, policy=policy.default))
        return "250 OK"


def mailed(folder: Path, *arguments: str) -> tuple[int, EmailMessage]:
    """Run the script in *folder*; return its exit code, and the message."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    server = Controller(inbox := Inbox(), hostname="127.0.0.1", port=port)
    server.start()
    try:
        (folder / "monday.py").write_text(FILES["monday.py"].replace('"localhost", 8025', f'"127.0.0.1", {port}'))
        environment = {**os.environ, "PATH": f"{scrapy_program().parent}{os.pathsep}{os.environ['PATH']}"}
        command = [sys.executable, "monday.py", *arguments]
        code = subprocess.run(command, cwd=folder, env=environment, check=False).returncode
    finally:
        server.stop()
    (message,) = inbox.messages
    return code, message


@pytest.mark.thorough
def test_the_report_is_sent(tmp_path: Path) -> None:
    code, message = mailed(tmp_path, "https://www.example.com", "-a", f"root={ROOT / 'fixtures' / 'demo'}")
    assert code == 4
    assert message["Subject"] == "Sitemaps of https://www.example.com: errors"
    assert message["To"] == "team@example.com, client@example.org"
    assert "│ loc/relative " in message.get_body().get_content()
    (report,) = message.iter_attachments()
    assert (report.get_filename(), report.get_content_type()) == ("audit.html", "text/html")
    assert report.get_content().splitlines() == (tmp_path / "audit.html").read_text("utf-8").splitlines()


@pytest.mark.thorough
def test_a_failure_is_sent_without_the_report_of_last_week(tmp_path: Path) -> None:
    (tmp_path / "audit.html").write_text("last week")
    code, message = mailed(tmp_path, "https://www.example.com", "-a", "root=nothing")
    assert code == 2
    assert message["Subject"] == "Sitemaps of https://www.example.com: not audited"
    assert "it must be an existing folder" in message.get_content()


def test_the_units_are_valid_for_systemd(tmp_path: Path) -> None:
    names = ["audit.service", "audit.timer"]
    for name in names:
        (tmp_path / name).write_text(FILES[name].replace("/srv/audit/venv/bin/python", "/bin/true"))
    run = subprocess.run(
        [systemd_analyze(), "verify", "--man=no", "--recursive-errors=no", *(tmp_path / name for name in names)],
        env={"SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
        capture_output=True,
        check=False,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert (run.returncode, run.stderr) == (0, "")


def test_the_line_for_cron_is_valid() -> None:
    (job,) = [line for line in FILES["crontab"].splitlines() if line and "=" not in line]
    *moment, command = job.split(maxsplit=5)
    assert moment == ["17", "6", "*", "*", "1"]
    assert command == "cd /srv/audit && python monday.py https://www.example.com"
