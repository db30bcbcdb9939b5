"""Projects of other people, side by side: with the add-on and without."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.host.project import Project
from tests.site import Page, Site, index, moved, numbered, robots, urlset

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a new project, which is only copied."""
    return Project.made(tmp_path_factory.mktemp("made") / "project")


@pytest.fixture
def project(made: Project, tmp_path: Path) -> Project:
    """Return a project with the lines of the how-to."""
    return made.copied(tmp_path / "with", with_addon=True)


@pytest.fixture
def plain(made: Project, tmp_path: Path) -> Project:
    """Return the same project without them."""
    return made.copied(tmp_path / "without", with_addon=False)


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """Serve a site with three sitemaps and some pages."""
    with Site(pages()) as served:
        yield served


def pages() -> dict[str, object]:
    """Return the pages of the site."""
    return {
        "/robots.txt": robots("/index.xml", disallow=["/forbidden"]),
        "/index.xml": index("/a.xml", "/b.xml"),
        "/a.xml": urlset(*numbered(3)),
        "/b.xml": urlset(*numbered(3, start=4)),
        "/moved": moved("{site}/other"),
        "/other": "other",
        "/flaky": Page(status=503),
        **{path: Page(f"<p>{path}", headers={"Content-Type": "text/html"}) for path in numbered(6)},
    }
