"""Data goes up, imports go down: a floor knows those below it, and only the top knows Scrapy."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import sitemap_harvest

PACKAGE = Path(sitemap_harvest.__file__).parent
FLOORS = {
    **dict.fromkeys(("errors", "escape", "dates", "urls", "model"), 1),
    **dict.fromkeys(("formats", "plan", "store", "export"), 2),
    **dict.fromkeys(("diff", "audit"), 3),
    **dict.fromkeys(("report",), 4),
    **dict.fromkeys(("crawl", "commands", "services", "jobs"), 5),
}
KNOW_SCRAPY = frozenset(name for name, floor in FLOORS.items() if floor == 5)
MODULES = sorted(PACKAGE.rglob("*.py"))


def imports(module: Path) -> set[str]:
    """Return the dotted names that *module* imports, wherever in it, also for types only."""
    names = set()
    for node in ast.walk(ast.parse(module.read_bytes())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: a relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def room(module: Path) -> str:
    """Return the first folder (or the name) of *module* in the package; the face of the package has none."""
    first = module.relative_to(PACKAGE).parts[0]
    return "" if first == "__init__.py" else first.removesuffix(".py")


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(PACKAGE)))
def test_imports_go_down(module: Path) -> None:
    own = room(module)
    used = {name.split(".")[1] for name in imports(module) if name.startswith("sitemap_harvest.")}
    used &= FLOORS.keys()
    if own:
        assert own in FLOORS, f"{own} is on no floor"
        assert {name for name in used if FLOORS[name] > FLOORS[own]} == set()
    else:
        assert not used & KNOW_SCRAPY, "the library face never needs Scrapy"


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(PACKAGE)))
def test_only_the_top_floor_knows_scrapy(module: Path) -> None:
    if room(module) not in KNOW_SCRAPY:
        assert not {name.split(".")[0] for name in imports(module)} & {"scrapy", "twisted"}
