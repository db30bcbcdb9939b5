from __future__ import annotations

import os
import signal
import subprocess
from contextlib import contextmanager

import pytest

from tests.forked_program import scrapy_program
from tests.site import Manner, Page, Site
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.thorough  # as the how-tos are, which use it


@pytest.fixture(scope="module")
def environment():
    return os.environ | {"PATH": f"{scrapy_program().parent}{os.pathsep}{os.environ['PATH']}", "MINE": "ä"}


@pytest.fixture
def shell(environment, tmp_path):
    def run(commands):
        done = subprocess.run(
            ["bash", "-c", commands],
            cwd=tmp_path, env=environment, check=False, capture_output=True, text=True, timeout=PATIENCE_SECONDS,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    return run


def test_the_program_has_the_folder_the_environment_and_the_standard_files_of_the_shell(shell):
    code, out, err = shell(
        "mkdir sub; cd sub; echo given >in; echo before >out\n"
        "cat >p.py <<'END'\n"
        "import os, sys, scrapy\n"
        "class Mine(scrapy.Spider):\n"
        "    name = 'mine'\n"
        "    async def start(self):\n"
        "        print(os.getcwd(), os.environ['MINE'], sys.stdin.read(), self.word)\n"
        "        print('told', file=sys.stderr)\n"
        "        return\n"
        "        yield\n"
        "END\n"
        "scrapy runspider p.py -a word='a b' --nolog <in >>out\n"
        "cat out"
    )
    folder = out.splitlines()[1].split()[0]
    assert (code, out, err) == (0, f"before\n{folder} ä given\n a b\n", "told\n")
    assert folder.endswith("/sub")


@pytest.mark.parametrize(
    ("command", "code"),
    [
        pytest.param("scrapy version", 0, id="well"),
        pytest.param("scrapy crawl", 2, id="usage"),
        pytest.param("set -o pipefail; scrapy crawl | cat", 2, id="pipe"),
    ],
)
def test_the_program_ends_as_scrapy_does(shell, command, code):
    assert shell(command)[0] == code


@contextmanager
def crawling(environment, folder):
    with (
        Site({"/robots.txt": Page(manner=Manner.HANG)}) as site,
        subprocess.Popen(
            [scrapy_program(), "harvest", "crawl", site.url],
            cwd=folder, env=environment | {"no_proxy": "*"}, stderr=subprocess.PIPE, text=True,
        ) as program,
    ):  # fmt: skip
        try:
            wait_until(lambda: site.requests)
            yield site, program
        finally:
            program.kill()


def test_a_signal_reaches_the_crawl(environment, tmp_path):
    with crawling(environment, tmp_path) as (site, program):
        program.send_signal(signal.SIGTERM)
        wait_until(lambda: "Closing spider (shutdown)" in program.stderr.readline())
        site.stop()
        assert "Spider closed (shutdown)" in program.stderr.read()


def test_with_the_program_the_crawl_is_killed(environment, tmp_path):
    with crawling(environment, tmp_path) as (_, program):
        program.kill()
        assert "Spider closed" not in program.stderr.read()  # which ends when the crawl has ended
    assert program.returncode == -signal.SIGKILL


def test_a_program_whose_process_was_killed_ends_so_too(shell):
    kill = "__import__('os').kill(__import__('os').getpid(), 9)"
    assert shell(f'scrapy shell -c "{kill}" --nolog; exit $?')[0] == 128 + signal.SIGKILL
