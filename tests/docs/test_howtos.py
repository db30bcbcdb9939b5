"""Every how-to is followed from its own text: the tests run the commands of the page."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from contextlib import contextmanager

import pytest

from tests.docs.following import PageFailedError, follow
from tests.docs.howtos import SERVICES, Does, PageError, read_page
from tests.docs.places import ROOT, build_wheel, make_environment, make_place, make_web
from tests.forked_program import scrapy_program
from tests.services.object_store import object_store
from tests.standin import StandIn

PAGES = {
    page.stem: page
    for page in (ROOT / "README.md", ROOT / "docs" / "start.md", *sorted((ROOT / "docs" / "howto").glob("*.md")))
}
NOT_RUN = {
    "README": [
        "it makes the environment that the tests run in; the command at its end is in docs/start.md",
        "it is the command that runs the tests",
    ],
    "run-in-docker": ["needs Docker"] * 3,
    "crawl-on-many-machines": [
        "these are examples, each without the others",
        "needs a PostgreSQL server",
        "needs a PostgreSQL server",
        "starts a unit of the system",
        "needs Docker",
    ],
    "use-on-windows-and-macos": ["needs Windows", "needs macOS"],
    "run-on-scrapyd": ["it would change the services of the machine"],
    "receive-pings": ["needs nginx and a certificate"],
    "watch-runs": ["Prometheus need not be installed where the harvest runs", "jq need not be installed"],
    "send-a-report-each-monday": ["starts a unit of the system", "needs a store that Scrapyd has written"],
    "recrawl-on-schedule": ["starts a unit of the system", "needs a Scrapyd"],
    "pass-a-browser-challenge": ["it installs a package of the system", "it downloads a browser"],
    "from-ultimate-sitemap-parser": ["ultimate-sitemap-parser is not installed"] * 3,
    "use-in-a-notebook": ["it installs packages into the environment of the tests"],
    "write-to-databases": ["needs a PostgreSQL server", "needs credentials of an object store"],
    "from-advertools": ["advertools is not installed"] * 2,
}
"""The blocks that are not run, with their reasons, page by page."""
INSTALLED = {"start", "crawl-on-many-machines"}
"""The pages whose ``scrapy`` is the installed program: that of the others is forked, for its start takes most time, and
cannot start processes of its own, as a worker does."""


def page_of(name):
    return read_page(PAGES[name].read_text("utf-8"))


def marked(name):
    try:
        is_service = page_of(name).needs & SERVICES
    except PageError:
        is_service = False  # the test reports the error
    return pytest.param(name, marks=[pytest.mark.service] if is_service else [], id=name)


@pytest.fixture(scope="session")
def wheels(tmp_path_factory):
    """Return a function that builds the wheel of this checkout once."""
    built = []

    def build():
        if not built:
            built.append(build_wheel(tmp_path_factory.mktemp("wheels")))
        return built[0]

    return build


@contextmanager
def objects(page, folder):
    """Yield the environment variables of an object store, if *page* needs one."""
    if "object-store" not in page.needs:
        yield {}
        return
    (folder / "objects").mkdir()
    yield from object_store(folder / "objects")


@pytest.mark.thorough
@pytest.mark.parametrize("name", [marked(name) for name in PAGES])
def test_the_page_does_what_it_says(name, tmp_path, wheels):
    page = page_of(name)
    make_web(tmp_path / "web")
    failed = ""
    with StandIn(tmp_path / "web") as web, objects(page, tmp_path) as reached:
        wheel = wheels() if page.makes_an_environment else None
        first = None if name in INSTALLED else scrapy_program().parent
        environment = make_environment(page, tmp_path, web, wheels=wheel, commands=first) | reached
        try:
            follow(page, make_place(page, tmp_path), environment)
        except PageFailedError as error:
            failed = f"{PAGES[name].relative_to(ROOT)}, {error}\n  requested: {web.requests[-20:]}"
    if failed:
        pytest.fail(failed, pytrace=False)
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_blocks_that_are_not_run_are_listed():
    found = {name: [step.value for step in page_of(name).steps if step.does is Does.EXCUSED] for name in PAGES}
    assert {name: reasons for name, reasons in found.items() if reasons} == NOT_RUN


@pytest.mark.parametrize("name", PAGES)
def test_blocks_that_are_not_run_are_valid(name):
    for step in page_of(name).steps:
        if step.does is Does.EXCUSED and step.language in {"shell", "sh"}:
            subprocess.run(["bash", "-n"], input=step.body, text=True, check=True, timeout=10)
        elif step.does is Does.EXCUSED and step.language == "python":
            compile(step.body, name, "exec")
        elif step.language == "ini":
            configparser.ConfigParser(strict=False, interpolation=None).read_string(step.body)
