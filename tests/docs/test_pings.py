"""The pages on pings and on recrawls, compared with the code and the programs that they describe."""

from __future__ import annotations

import configparser
import dataclasses
import re
import subprocess
from pathlib import Path

import pytest

from sitemap_harvest.scrapyd_ping import STATUS, PingConfig
from tests.docs.howtos import Does, read_page
from tests.services.programs import systemd_analyze
from tests.services.scrapyd import running
from tests.site import Site, robots, urlset
from tests.waiting import PATIENCE_SECONDS

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = (DOCS / "reference/ping.md").read_text("utf-8")
PINGS = read_page((DOCS / "howto/receive-pings.md").read_text("utf-8"))
SCHEDULE = read_page((DOCS / "howto/recrawl-on-schedule.md").read_text("utf-8"))


def test_every_code_is_in_the_reference_with_its_status():
    rows = re.findall(r"^\| `([a-z-]+)` \| (\d{3}) \|", REFERENCE, re.MULTILINE)
    assert rows == [(code, str(status)) for code, status in STATUS.items()]


def test_every_option_is_in_the_reference():
    names = [field.name for field in dataclasses.fields(PingConfig)]
    assert re.findall(r"^\| `(\w+)` \| `", REFERENCE, re.MULTILINE) == names


def test_the_configurations_in_the_how_to_are_valid():
    found = [step.body for step in PINGS.steps if "[sitemap_harvest]" in step.body]
    assert len(found) == 2
    for text in found:
        parser = configparser.ConfigParser()
        parser.read_string(text)
        appended = {"tokens": "0123456789abcdef"}  # a command in the page appends it to the first
        assert PingConfig.read((appended | dict(parser.items("sitemap_harvest"))).items()).hosts


def files(page):
    """Return the files that *page* asks its reader to write."""
    written = {}
    for step in page.steps:
        if step.does is Does.FILE:
            written[step.value] = step.body
        elif step.does is Does.APPEND:
            written[step.value] += step.body
    return written


def test_the_units_are_valid_for_systemd(tmp_path):
    program = systemd_analyze()
    units = {name: body for name, body in files(SCHEDULE).items() if name.endswith((".service", ".timer"))}
    assert set(units) == {"recrawl.service", "recrawl.timer", "recrawl-failed.service"}
    for name, body in units.items():
        # The script and its folder do not exist here; all else is as on the page.
        (tmp_path / name).write_text(body.replace("/srv/harvest/recrawl", "/bin/true"), "utf-8")
    run = subprocess.run(
        [program, "verify", "--man=no", "--recursive-errors=no", *(tmp_path / name for name in units)],
        capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False,
        env={"SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
    )  # fmt: skip
    assert (run.returncode, run.stderr) == (0, "")


def test_the_lines_for_cron_are_valid():
    lines = files(SCHEDULE)["crontab"].split("\n")
    jobs = [line for line in lines if line and not re.fullmatch(r"[A-Z]+=\S+", line)]
    assert len(jobs) == 2
    for job in jobs:
        *moment, command = re.split(r" +", job, maxsplit=5)
        assert all(re.fullmatch(r"\*|\d{1,2}", part) for part in moment)
        assert command.startswith("/srv/harvest/recrawl ")
        assert "%" not in job


@pytest.mark.thorough
@pytest.mark.service
def test_the_loop_for_scrapyd_schedules_a_job_for_each_site(tmp_path):
    [loop] = [step.body for step in SCHEDULE.steps if "schedule.json" in step.body]
    (tmp_path / "sites").mkdir()
    with (
        Site({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/a")}) as site,
        running(tmp_path / "scrapyd", sections={"scrapyd": {"username": ""}}) as scrapyd,
    ):
        (tmp_path / "sites.txt").write_text(f"# mine\n\n{site.url}  # this\n{site.url}/\n", "utf-8")
        here = {
            "http://localhost:6800": scrapyd.url,
            "/srv/harvest": str(tmp_path),
            "project=harvest": "project=harvest",
        }
        for before, after in here.items():
            assert before in loop
            loop = loop.replace(before, after)
        run = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", loop],
            cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False,
            env={"PATH": "/usr/bin:/bin", "no_proxy": "*"},
        )  # fmt: skip
        assert (run.returncode, run.stderr, run.stdout.count('"status": "ok"')) == (0, "", 2)
        jobs = [job["id"] for state in scrapyd.jobs().values() for job in state]
        scrapyd.finished(*jobs)
    assert len(jobs) == 2
    assert (tmp_path / "snapshots").is_dir()
